// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- Builtins.h - Arguments and parts of built-in functions ---*- C++ -*-===//
//
// Used by Builtin*.cpp and Attention*.cpp only.
//
//===----------------------------------------------------------------------===//

#ifndef FRONTEND_TEXT_BUILTINS_H
#define FRONTEND_TEXT_BUILTINS_H

#include "frontend/text/Operations.h"

namespace gatefold::text {

/// What a built-in function takes.
struct Signature {
  /// Given by position or by name; the first `required` of them always.
  std::vector<llvm::StringRef> positional;
  unsigned required = 0;
  /// Given by name only.
  std::vector<llvm::StringRef> named;
  /// Any number of values by position (concat), instead of `positional`.
  bool variadic = false;
};

/// The arguments of one call, matched to a signature. Everything that does not
/// match is reported when it is made; each getter reports what its own argument
/// lacks, and gives nothing then.
class Arguments {
public:
  Arguments(Checker &checker, Identifier callee,
            llvm::ArrayRef<EvaluatedArgument> arguments,
            const Signature &signature);

  /// False after an error, and where an argument is an error already.
  bool ok() const { return valid; }
  llvm::StringRef function() const { return callee.name; }
  Range place() const { return callee.range; }

  const Item *find(llvm::StringRef name) const;
  llvm::ArrayRef<const Item *> variadic() const { return rest; }

  /// A tensor (no number) that is not bool unless `allowBool`.
  std::optional<Tensor> tensor(llvm::StringRef name, bool allowBool = true);
  /// An own axis of a tensor of `rank` dimensions (from 0; `rank` + 1 places
  /// for a new axis are the caller's matter).
  std::optional<unsigned> axis(llvm::StringRef name, int64_t otherwise,
                               unsigned rank, const Item &shown);
  std::optional<bool> flag(llvm::StringRef name, bool otherwise);
  /// Index of the string among the choices.
  std::optional<unsigned> choice(llvm::StringRef name,
                                 llvm::ArrayRef<llvm::StringRef> choices);
  std::optional<int64_t> whole(llvm::StringRef name, int64_t otherwise,
                               int64_t least);
  std::optional<double> real(llvm::StringRef name, double otherwise);
  std::optional<Size> size(llvm::StringRef name, const Size &otherwise);
  /// A tuple of dimensions, or one.
  std::optional<Shape> shape(llvm::StringRef name);

  Checker &checker;

private:
  Identifier callee;
  bool valid = true;
  std::map<llvm::StringRef, const Item *> byName;
  llvm::SmallVector<const Item *, 4> rest;
};

using BuiltinCall = Item (*)(Arguments &);
struct BuiltinFunction {
  llvm::StringRef name;
  Signature signature;
  BuiltinCall call;
};
/// The functions of each file.
llvm::ArrayRef<BuiltinFunction> elementwiseFunctions();
llvm::ArrayRef<BuiltinFunction> reductionFunctions();
llvm::ArrayRef<BuiltinFunction> shapeFunctions();
llvm::ArrayRef<BuiltinFunction> headFunctions();
llvm::ArrayRef<BuiltinFunction> cacheFunctions();
/// softmax, neighbour_difference, top_k in an attention's body.
llvm::ArrayRef<BuiltinFunction> rowFunctions();

/// max and min, which have two forms.
Item callExtreme(Checker &checker, Identifier callee,
                 llvm::ArrayRef<EvaluatedArgument> arguments, Range range);
/// Table look-up, typed: indices are integers. Reports and records what the
/// values must be.
Item takeItem(Checker &checker, llvm::StringRef what, const Tensor &table,
              const Item &indices, Range place);
/// Checks integers that count along something: of the `expected` own shape,
/// which has `shown` in the message ("[2, 8]", "the first of [2, 8]").
std::optional<Tensor> integerTensor(Checker &checker, llvm::StringRef what,
                                    const Item &item,
                                    llvm::ArrayRef<Size> expected,
                                    llvm::StringRef shown);

/// size / count, which must be whole: reported by `message` where it cannot be,
/// recorded where it depends on the run.
std::optional<Size> equalPart(Checker &checker, const Size &size,
                              const Size &count, Range place,
                              const llvm::Twine &message);

} // namespace gatefold::text

#endif // FRONTEND_TEXT_BUILTINS_H
