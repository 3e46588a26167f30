// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- Retarget.h - From NVPTX to the CPU -----------------------*- C++ -*-===//
//
// Changes a module for `nvptx64` so that the CPU can run it: every access to
// memory, loop, call and instruction of the GPU calls one of the hooks below
// before, or in place of, doing anything. The steps, in this order:
//
//   checkModule      refuses what cannot be run, with the reason
//   placeGlobals     variables of a block and of the device
//   instrument       accesses, loops, local memory, division, ends
//   wrapInstructions intrinsics and inline assembly
//   makeEntries      a function for each kernel that takes a block of arguments
//   defineArithmetic functions that the compiler's own library may lack
//
//===----------------------------------------------------------------------===//

#ifndef RUNTIME_EMULATOR_RETARGET_H
#define RUNTIME_EMULATOR_RETARGET_H

#include "runtime/emulator/Code.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Module.h"

namespace gatefold::emulator {

/// The hooks, by what they take. Each is `gatefold.NAME` in the module. A site
/// is an `i32`, the number of a `Site`.
#define GATEFOLD_HOOKS(HOOK)                                                   \
  HOOK(access)    /* void (ptr address, site) */                               \
  HOOK(atomic)    /* void (ptr address, site) */                               \
  HOOK(updated)   /* void (i32 changed): after an atomic update */             \
  HOOK(fence)     /* void (site) */                                            \
  HOOK(fill)      /* void (ptr, i8 value, i64 bytes, site) */                  \
  HOOK(copy)      /* void (ptr to, ptr from, i64 bytes, site to, from) */      \
  HOOK(mark)      /* i64 (): how much local memory is in use */                \
  HOOK(allocate)  /* ptr (i64 bytes, i64 alignment, site) */                   \
  HOOK(leave)     /* void (i64 mark) */                                        \
  HOOK(parameter) /* void (ptr local, ptr host, i64 bytes) */                  \
  HOOK(step)      /* void (site): a turn of a loop */                          \
  HOOK(enter)     /* void (site): the begin of a function */                   \
  HOOK(divisor)   /* void (i1 zero, site) */                                   \
  HOOK(call)      /* void (ptr function, i32 type, site) */                    \
  HOOK(trap)      /* void (site) */                                            \
  HOOK(shared)    /* ptr (): where the block's shared memory begins */         \
  HOOK(execute)   /* void (i32 instruction, site, ptr operands, ptr result) */ \
  HOOK(unknown)   /* void (i32 number, site) */

enum class Hook {
#define HOOK(name) name,
  GATEFOLD_HOOKS(HOOK)
#undef HOOK
};

/// A global variable of the device: its memory has the name `symbol`, what it
/// holds at first is the variable `image`.
struct DeviceVariable {
  std::string name, symbol, image;
  uint64_t bytes = 0, alignment = 1;
  bool readOnly = false;
};

/// What the steps share.
class Retarget {
public:
  Retarget(llvm::Module &module, Code &code);

  llvm::Error checkModule();
  llvm::Error placeGlobals();
  void instrument();
  void wrapInstructions();
  void makeEntries();
  /// Roundings to bf16, which GCC's library has from version 13 on.
  void defineArithmetic();

  std::vector<DeviceVariable> deviceVariables;
  /// The numbers of the types of the functions in the table
  /// `gatefold.functions`: those that can be called through a pointer.
  std::vector<uint32_t> takenTypes;

private:
  llvm::FunctionCallee hook(Hook hook);
  llvm::CallInst *callHook(llvm::IRBuilder<> &builder, Hook hook,
                           llvm::ArrayRef<llvm::Value *> operands);
  /// A site for `at`, as the value that hooks take.
  llvm::ConstantInt *site(const llvm::Instruction &at, llvm::StringRef what,
                          Site site = {});
  llvm::ConstantInt *typeNumber(llvm::FunctionType *type);
  llvm::Value *generic(llvm::IRBuilder<> &builder, llvm::Value *pointer);

  llvm::Error checkFunction(llvm::Function &function);
  llvm::Error placeShared();
  llvm::Error placeDevice();
  void nameFunctions();

  void instrumentFunction(llvm::Function &function);
  void instrumentMemory(llvm::Instruction &instruction);
  void instrumentAtomic(llvm::Instruction &instruction);
  void instrumentCall(llvm::CallInst &call);
  void instrumentBulk(llvm::CallInst &call);
  void instrumentLocal(llvm::Function &function);
  void instrumentDivision(llvm::BinaryOperator &division);

  std::optional<Instruction> findInstruction(llvm::CallInst &call,
                                             std::string &text);
  void wrapCall(llvm::CallInst &call, unsigned instruction);
  llvm::Function *makeWrapper(llvm::FunctionType *type, unsigned instruction);
  void replaceUnknown(llvm::Instruction &instruction, const llvm::Twine &text);

  llvm::Module &module;
  llvm::LLVMContext &context;
  const llvm::DataLayout &layout;
  Code &code;
  llvm::SmallVector<llvm::Function *> kernels;
  llvm::DenseMap<llvm::FunctionType *, uint32_t> functionTypes;
  /// For each of `code.instructions`.
  llvm::SmallVector<llvm::Function *> wrappers;
};

/// Where an instruction stands in the program's text, through what was inlined.
Place placeOf(const llvm::Instruction &instruction, llvm::StringRef what);

/// Whether the emulator leaves a call of this function as it is: an intrinsic
/// of arithmetic that the CPU has, too.
bool isArithmetic(const llvm::Function &function);
/// Whether this calculates with numbers of 128 bits, which GPUs can only move.
bool isOfQuads(const llvm::Instruction &instruction);
/// Whether the code generator calls this function for arithmetic that the CPU
/// has no instruction for.
bool isArithmeticSymbol(llvm::StringRef name);

Scope scopeOf(llvm::StringRef syncScope);
Ordering orderingOf(llvm::AtomicOrdering ordering);

} // namespace gatefold::emulator

#endif // RUNTIME_EMULATOR_RETARGET_H
