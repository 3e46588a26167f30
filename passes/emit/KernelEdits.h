// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- KernelEdits.h - Small changes of the code of kernels -----*- C++ -*-===//
//
// What passes on the LLVM IR of kernels insert and take away.
//
//===----------------------------------------------------------------------===//

#ifndef PASSES_EMIT_KERNELEDITS_H
#define PASSES_EMIT_KERNELEDITS_H

#include "llvm/IR/IRBuilder.h"

namespace gatefold {

/// Words of 64 bits in shared memory, handed out one after another.
class SharedWords {
public:
  SharedWords(llvm::Module &module, llvm::StringRef name);
  llvm::Constant *getPlace(unsigned index);
  unsigned size() const { return count; }
  /// Gives them their memory, no more than was asked for. Places that were
  /// handed out before are no longer valid but in the code.
  void finish();

  static constexpr unsigned bytes = 8;
  /// Whether one word holds it.
  static bool fits(llvm::Type *type);

private:
  llvm::Type *word;
  llvm::GlobalVariable *array;
  unsigned count = 0;
};

/// A value and the word in which it is to be found.
struct WordValue {
  llvm::Value *value;
  llvm::Constant *place;
};

/// One thread of a block writes the values, in front of `place`.
void writeBefore(llvm::Instruction *place, llvm::ArrayRef<WordValue> values);
/// The value as its word has it, in front of `place`.
llvm::Instruction *readBefore(llvm::Instruction *place, const WordValue &kept);

/// Whether the value is what a special register holds, as a thread's number, or
/// made of such and of constants by an operation or two.
bool isOfRegisters(const llvm::Value &value);
/// Makes it again, in front of `place`. LLVM would make one read of all that a
/// function has of a register, in front of its loops and calls; of this one it
/// knows nothing.
llvm::Instruction *remakeBefore(llvm::Instruction *place,
                                const llvm::Instruction &value);

/// All threads of a block meet.
void createBarrier(llvm::IRBuilder<> &builder);
/// Whether they meet between the begin of its block and the call, and nothing
/// is written behind.
bool followsBarrier(const llvm::Instruction &call);
/// Takes away the barrier at which a function begins, if nothing but shared
/// words is read in front of it.
void dropFirstBarrier(llvm::Function &function);

/// Makes a function one without parameters, and its calls such ones. They have
/// no uses.
void dropParameters(llvm::Function &function);

} // namespace gatefold

#endif // PASSES_EMIT_KERNELEDITS_H
