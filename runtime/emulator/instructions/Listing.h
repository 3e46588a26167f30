// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- Listing.h - A text of PTX instructions -------------------*- C++ -*-===//
//
// `{ .reg .pred p; setp.ne.b32 p, $2, 0; @p st.global.f32 [$0], $1; }` as
// operations on numbered registers. The first registers are what the text's
// `$0`, `$1`, ... stand for; then come the ones that it declares and its
// constants.
//
//===----------------------------------------------------------------------===//

#ifndef RUNTIME_EMULATOR_INSTRUCTIONS_LISTING_H
#define RUNTIME_EMULATOR_INSTRUCTIONS_LISTING_H

#include "runtime/emulator/instructions/Operation.h"
#include <string>
#include <vector>

namespace gatefold::emulator::ptx {

struct Source {
  unsigned number = 0;
  /// Of an address `[a+16]`.
  uint64_t offset = 0;
  /// `!p`.
  bool negated = false;
};

struct Statement {
  /// As it is written: `cp.async.cg.shared.global`; empty where a special
  /// register is read for the next one.
  std::string opcode;
  Operation operation;
  /// Registers; -1: the result is dropped (`_`).
  llvm::SmallVector<int, 4> results;
  llvm::SmallVector<Source, 8> sources;
  /// `@p`: executed by threads where it holds.
  std::optional<Source> predicate;
  /// The statement that a branch goes to; a branch has no operation.
  std::optional<size_t> target;
};

struct Listing {
  std::vector<Statement> statements;
  /// What the registers hold at first: constants, and zeros.
  std::vector<uint64_t> registers;
};

/// Reads a text. `predicates`: for each `$i`, whether it is a predicate. None,
/// and what is not known in `unknown`.
std::optional<Listing> parseListing(llvm::StringRef text,
                                    llvm::ArrayRef<bool> predicates,
                                    std::string &unknown);

/// What `$0`, `$1`, ... are: first the results, then the operands.
struct Binding {
  struct Value {
    unsigned bytes = 0;
    bool predicate = false;
    /// Of a result, in the instruction's.
    unsigned offset = 0;
  };
  llvm::SmallVector<Value, 8> results, operands;
  /// Results that begin as an operand.
  llvm::SmallVector<std::pair<unsigned, unsigned>, 2> tied;
};

/// The listing as an instruction of a thread or, if one of its statements is
/// of a warp, of a warp.
std::optional<Instruction> bind(Listing listing, Binding binding,
                                std::string &unknown);

} // namespace gatefold::emulator::ptx

#endif // RUNTIME_EMULATOR_INSTRUCTIONS_LISTING_H
