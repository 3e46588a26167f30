// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- Attentions.h - One call of an attention ------------------*- C++ -*-===//
//
// Used by Attention*.cpp only. A call binds its inputs, finds the shape over
// which it maps, gives each input a role by its declared type, reads the
// options, and then evaluates the body once, over symbols T and S of its own.
//
//===----------------------------------------------------------------------===//

#ifndef FRONTEND_TEXT_ATTENTIONS_H
#define FRONTEND_TEXT_ATTENTIONS_H

#include "frontend/text/Builtins.h"

namespace gatefold::text {

/// Names that no input of an attention may have; the first ones are the
/// options.
llvm::ArrayRef<llvm::StringRef> attentionOptionNames();
llvm::ArrayRef<llvm::StringRef> attentionReservedNames();

/// Where T and S stand in the declared type of an input.
struct DeclaredAxes {
  std::optional<unsigned> query, key;
};

class AttentionCall {
public:
  AttentionCall(Checker &checker, const Declaration &declaration,
                Package::File &file, Identifier callee, Range range)
      : checker(checker), declaration(declaration), file(file), callee(callee),
        range(range) {}

  Item make(llvm::ArrayRef<EvaluatedArgument> arguments);

private:
  /// A tensor that the call gives: an input, a mask or a bias.
  struct Given {
    std::string name;
    Range range;
    Tensor tensor;      // as it was given
    unsigned extra = 0; // its own dimensions that are mapped
    Shape own;          // the others: declared sizes, or 1 where it stretches
    Tensor entered;     // [lead.., own..]
  };
  enum class Role { Query, Key, Pair, Capture };
  /// An input of the declaration on its way into the body.
  struct Input {
    size_t index; // among the declaration's inputs
    Given given;
    Role role = Role::Capture;
    unsigned front = 0; // the axis that was moved to the front outside
    Shape bodyOwn;      // shape of the body's argument
    Shape declared;     // over the body's T and S
    /// A number: it is made anew in the body, so that the body shows it.
    bool isConstant() const {
      return role == Role::Capture &&
             llvm::isa<ConstantNode>(given.tensor.value.node);
    }
  };

  // AttentionDeclaration.cpp
  bool checkDeclaration();
  std::optional<DeclaredAxes> declaredAxes(const TypeSyntax &type,
                                           bool isInput);

  // Attentions.cpp
  bool bindInputs();
  /// The mapped shape, from all that is given.
  bool findLead();
  void moveToFront(Input &input);
  Item bodyInput(const Input &input);
  bool evaluate();
  Item results();
  Item result(unsigned index, llvm::ArrayRef<Size> own);
  Shape outside(llvm::ArrayRef<Size> shape) const;

  // AttentionOptions.cpp
  bool readOptions();
  bool readFlag(const EvaluatedArgument &option, bool &flag);
  bool readWindow(const EvaluatedArgument &option);
  bool readMask(const EvaluatedArgument &option, bool isBias);
  bool readTensors();
  std::optional<Tensor> firstLeads(llvm::StringRef name, const Item &item,
                                   std::optional<Size> trailing);
  bool readSegments(const EvaluatedArgument &option);
  bool checkEffects();

  // AttentionHeads.cpp: the last mapped dimension as a pair (key heads, group).
  bool groupHeads();
  Tensor grouped(const Given &given);

  Checker &checker;
  const Declaration &declaration;
  Package::File &file;
  Identifier callee;
  Range range;

  Checker::BoundCall call;
  std::vector<Input> inputs; // tensors, in the order of the declaration
  std::optional<Given> mask, bias;
  std::map<llvm::StringRef, const EvaluatedArgument *> options;
  bool causal = false, gqa = false, logSumExp = false, weights = false;
  std::optional<std::pair<std::optional<int64_t>, std::optional<int64_t>>>
      window;
  Value lengths, offset, querySegments, keySegments;

  Shape callerLead; // of the body that calls
  Shape extras;     // mapped by this call
  unsigned fullExtraRank = 0;
  bool isGrouped = false;
  Size heads, keyHeads, group; // if isGrouped
  Size querySize, keySize;
  const Symbol *querySymbol = nullptr, *keySymbol = nullptr;
  AttentionNode *node = nullptr;
  llvm::SmallVector<Node *> softmaxes; // of the body
  AttentionContext context;
};

} // namespace gatefold::text

#endif // FRONTEND_TEXT_ATTENTIONS_H
