// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- Name.h - The parts of an instruction's name --------------*- C++ -*-===//
//
// `fma.rn.ftz.f32` is read part by part, as PTX's grammar has them: each
// reader takes what it knows, and a name with parts left is not known.
//
//===----------------------------------------------------------------------===//

#ifndef RUNTIME_EMULATOR_INSTRUCTIONS_NAME_H
#define RUNTIME_EMULATOR_INSTRUCTIONS_NAME_H

#include "runtime/emulator/Instruction.h"
#include "runtime/emulator/instructions/Number.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include <initializer_list>
#include <optional>

namespace gatefold::emulator::ptx {

/// The type of an instruction, `f16x2`: of what is in a register.
struct Type {
  enum class Kind { Bits, Unsigned, Signed, Float, Predicate };
  Kind kind = Kind::Bits;
  /// Of one element, of which the register holds several.
  unsigned bits = 0, elements = 1;
  /// Of `Float`.
  const Format *format = nullptr;

  bool isFloat() const { return kind == Kind::Float; }
  bool isSigned() const { return kind == Kind::Signed; }
  /// Integers that instructions calculate with.
  bool isInteger() const {
    return (kind == Kind::Signed || kind == Kind::Unsigned) && bits >= 16 &&
           elements == 1;
  }
  bool is(const Format &other, unsigned count = 1) const {
    return format == &other && elements == count;
  }
  unsigned registerBits() const { return bits * elements; }
};

/// `f32`, `u16`, `bf16x2`, ...; none for other words.
std::optional<Type> parseType(llvm::StringRef text);

class Name {
public:
  explicit Name(llvm::StringRef text);

  llvm::StringRef text() const { return whole; }
  bool done() const { return next == parts.size(); }
  /// Takes the next part if it is this.
  bool take(llvm::StringRef part);
  /// The next part if it is one of these.
  std::optional<llvm::StringRef>
  takeOneOf(std::initializer_list<llvm::StringRef> choices);
  std::optional<Type> takeType();
  /// `rn`, `rz`, `rm`, `rp`.
  std::optional<Rounding> takeRounding();
  /// `cta`, `cluster`, `gpu`, `sys`.
  std::optional<Scope> takeScope();

private:
  llvm::StringRef whole;
  llvm::SmallVector<llvm::StringRef, 12> parts;
  size_t next = 0;
};

} // namespace gatefold::emulator::ptx

#endif // RUNTIME_EMULATOR_INSTRUCTIONS_NAME_H
