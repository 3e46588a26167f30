// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- KernelEdits.cpp - Small changes of the code of kernels -------------===//

#include "passes/emit/KernelEdits.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/IntrinsicsNVPTX.h"
#include "llvm/IR/Module.h"
#include "llvm/Transforms/Utils/BasicBlockUtils.h"

using namespace gatefold;
using namespace llvm;

static constexpr unsigned sharedSpace = 3;

SharedWords::SharedWords(Module &module, StringRef name)
    : word(Type::getInt64Ty(module.getContext())),
      array(new GlobalVariable(
          module, ArrayType::get(word, 0), false, GlobalValue::InternalLinkage,
          nullptr, name, nullptr, GlobalValue::NotThreadLocal, sharedSpace)) {}

Constant *SharedWords::getPlace(unsigned index) {
  count = std::max(count, index + 1);
  return ConstantExpr::getGetElementPtr(
      word, array, ConstantInt::get(word, static_cast<uint64_t>(index)));
}

void SharedWords::finish() {
  auto *type = ArrayType::get(word, count);
  if (count != 0) {
    auto *whole = new GlobalVariable(*array->getParent(), type, false,
                                     GlobalValue::InternalLinkage,
                                     PoisonValue::get(type), "", nullptr,
                                     GlobalValue::NotThreadLocal, sharedSpace);
    whole->setAlignment(Align(bytes));
    whole->takeName(array);
    array->replaceAllUsesWith(whole);
  }
  array->eraseFromParent();
}

bool SharedWords::fits(Type *type) {
  return type->isPointerTy() || type->isFloatTy() || type->isDoubleTy() ||
         (type->isIntegerTy() && type->getIntegerBitWidth() <= 64);
}

void gatefold::writeBefore(Instruction *place, ArrayRef<WordValue> values) {
  IRBuilder<> builder(place);
  Value *thread = builder.CreateIntrinsic(Intrinsic::nvvm_read_ptx_sreg_tid_x,
                                          ArrayRef<Type *>(), {});
  Value *isFirst = builder.CreateICmpEQ(thread, builder.getInt32(0));
  Instruction *writes =
      SplitBlockAndInsertIfThen(isFirst, place->getIterator(), false);
  builder.SetInsertPoint(writes);
  for (const WordValue &kept : values) {
    Value *word = kept.value;
    if (word->getType()->isIntegerTy())
      word = builder.CreateZExt(word, builder.getInt64Ty());
    builder.CreateAlignedStore(word, kept.place, Align(SharedWords::bytes));
  }
}

Instruction *gatefold::readBefore(Instruction *place, const WordValue &kept) {
  IRBuilder<> builder(place);
  Type *type = kept.value->getType();
  Value *word = builder.CreateAlignedLoad(
      type->isIntegerTy() ? builder.getInt64Ty() : type, kept.place,
      Align(SharedWords::bytes));
  if (type->isIntegerTy())
    word = builder.CreateTrunc(word, type);
  return cast<Instruction>(word);
}

static bool isBarrier(const Instruction &instruction) {
  auto *call = dyn_cast<IntrinsicInst>(&instruction);
  return call &&
         call->getIntrinsicID() == Intrinsic::nvvm_barrier_cta_sync_aligned_all;
}

void gatefold::createBarrier(IRBuilder<> &builder) {
  builder.CreateIntrinsic(Intrinsic::nvvm_barrier_cta_sync_aligned_all, {},
                          {builder.getInt32(0)});
}

bool gatefold::followsBarrier(const Instruction &call) {
  for (const Instruction *before = call.getPrevNode(); before;
       before = before->getPrevNode()) {
    if (isBarrier(*before))
      return true;
    if (before->mayWriteToMemory())
      return false;
  }
  return false;
}

void gatefold::dropFirstBarrier(Function &function) {
  for (Instruction &instruction :
       make_early_inc_range(function.getEntryBlock())) {
    if (isBarrier(instruction)) {
      instruction.eraseFromParent();
      return;
    }
    auto *load = dyn_cast<LoadInst>(&instruction);
    bool isWord = load && load->getPointerAddressSpace() == sharedSpace &&
                  isa<Constant>(load->getPointerOperand());
    if (instruction.mayReadOrWriteMemory() && !isWord)
      return;
  }
}

void gatefold::dropParameters(Function &function) {
  Module &module = *function.getParent();
  LLVMContext &context = module.getContext();
  auto *type = FunctionType::get(function.getReturnType(), false);
  Function *result = Function::Create(type, function.getLinkage(),
                                      function.getAddressSpace(), "", &module);
  module.getFunctionList().remove(result);
  module.getFunctionList().insert(function.getIterator(), result);
  result->setCallingConv(function.getCallingConv());
  result->setAttributes(AttributeList::get(
      context, function.getAttributes().getFnAttrs(), {}, {}));
  result->removeFnAttr(Attribute::Memory);
  result->splice(result->begin(), &function);
  result->setSubprogram(function.getSubprogram());
  function.setSubprogram(nullptr);
  result->takeName(&function);
  for (User *user : make_early_inc_range(function.users())) {
    auto *call = cast<CallInst>(user);
    auto *next = CallInst::Create(type, result, "", call->getIterator());
    next->setCallingConv(call->getCallingConv());
    next->setDebugLoc(call->getDebugLoc());
    next->setTailCallKind(call->getTailCallKind());
    call->replaceAllUsesWith(next);
    call->eraseFromParent();
  }
  function.eraseFromParent();
}
