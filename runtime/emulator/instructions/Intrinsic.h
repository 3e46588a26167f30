// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- Intrinsic.h - Names of LLVM's intrinsics as PTX ----------*- C++ -*-===//
//
// An intrinsic is the text of one PTX instruction, so that it and inline
// assembly have the same implementation.
//
//===----------------------------------------------------------------------===//

#ifndef RUNTIME_EMULATOR_INSTRUCTIONS_INTRINSIC_H
#define RUNTIME_EMULATOR_INSTRUCTIONS_INTRINSIC_H

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include <optional>
#include <string>

namespace gatefold::emulator::ptx {

/// The parts of a name after `llvm.nvvm.`, without the types that LLVM adds to
/// overloaded ones, and how many results and operands there are.
struct IntrinsicName {
  llvm::StringRef text;
  llvm::SmallVector<llvm::StringRef, 12> parts;
  unsigned results, operands;

  bool is(size_t index, llvm::StringRef part) const {
    return index < parts.size() && parts[index] == part;
  }
  /// `$0, $1, ...` from one to before another.
  std::string range(unsigned first, unsigned end) const;
  /// An opcode with all results and operands in order.
  std::string plain(llvm::StringRef opcode) const;
};

/// A text in which `$0`, ... are the results and then the operands; none if the
/// intrinsic is not known. What it says may still be no known instruction.
std::optional<std::string> translate(const IntrinsicName &name);

//===- The parts of `translate` -------------------------------------------===//

using Translation = std::optional<std::string>(const IntrinsicName &name);
Translation translateArithmetic, translateConversion, translateWarp,
    translateBarrier, translateMemory;

} // namespace gatefold::emulator::ptx

#endif // RUNTIME_EMULATOR_INSTRUCTIONS_INTRINSIC_H
