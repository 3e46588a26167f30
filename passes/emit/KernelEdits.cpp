// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- KernelEdits.cpp - Small changes of the code of kernels -------------===//

#include "passes/emit/KernelEdits.h"
#include "llvm/IR/InlineAsm.h"
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

/// Its name in PTX; empty of other values.
static StringRef getSpecialRegister(const Value &value) {
  auto *read = dyn_cast<IntrinsicInst>(&value);
  switch (read ? read->getIntrinsicID() : Intrinsic::not_intrinsic) {
  case Intrinsic::nvvm_read_ptx_sreg_tid_x:
    return "%tid.x";
  case Intrinsic::nvvm_read_ptx_sreg_ntid_x:
    return "%ntid.x";
  case Intrinsic::nvvm_read_ptx_sreg_ctaid_x:
    return "%ctaid.x";
  case Intrinsic::nvvm_read_ptx_sreg_nctaid_x:
    return "%nctaid.x";
  default:
    return "";
  }
}

static constexpr unsigned mostOperations = 2;

static bool isOfRegisters(const Value &value, unsigned operations) {
  if (!getSpecialRegister(value).empty())
    return true;
  auto *made = dyn_cast<Instruction>(&value);
  return made && operations != 0 &&
         isa<CastInst, ICmpInst, BinaryOperator>(made) &&
         all_of(made->operand_values(), [&](const Value *operand) {
           return isa<Constant>(operand) ||
                  ::isOfRegisters(*operand, operations - 1);
         });
}

bool gatefold::isOfRegisters(const Value &value) {
  return ::isOfRegisters(value, mostOperations);
}

static Instruction *readRegister(IRBuilder<> &builder, StringRef name) {
  auto *type = FunctionType::get(builder.getInt32Ty(), false);
  return builder.CreateCall(InlineAsm::get(type,
                                           ("mov.u32 $0, " + name + ";").str(),
                                           "=r", /*hasSideEffects=*/true));
}

Instruction *gatefold::remakeBefore(Instruction *place,
                                    const Instruction &value) {
  IRBuilder<> builder(place);
  if (StringRef name = getSpecialRegister(value); !name.empty())
    return readRegister(builder, name);
  Instruction *again = value.clone();
  for (Use &operand : again->operands())
    if (auto *made = dyn_cast<Instruction>(operand))
      operand.set(remakeBefore(place, *made));
  again->insertBefore(place->getIterator());
  return again;
}

void gatefold::writeBefore(Instruction *place, ArrayRef<WordValue> values) {
  IRBuilder<> builder(place);
  Value *thread = readRegister(builder, "%tid.x");
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
