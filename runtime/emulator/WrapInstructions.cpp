// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- WrapInstructions.cpp - Intrinsics and inline assembly --------------===//
//
// Each becomes a function that puts its operands into memory and hands a list
// of their addresses to the emulator, so that neither side needs to know how
// the CPU passes vectors and aggregates.
//
//===----------------------------------------------------------------------===//

#include "runtime/emulator/Retarget.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"

using namespace llvm;
using namespace gatefold::emulator;

/// `RESULT wrapper(OPERANDS..., i32 site)`.
Function *Retarget::makeWrapper(FunctionType *type, unsigned instruction) {
  SmallVector<Type *> parameters(type->params());
  parameters.push_back(Type::getInt32Ty(context));
  auto *wrapper = Function::Create(
      FunctionType::get(type->getReturnType(), parameters, false),
      GlobalValue::InternalLinkage,
      "gatefold.instruction." + Twine(instruction), module);
  IRBuilder<> builder(BasicBlock::Create(context, "", wrapper));
  unsigned count = type->getNumParams();
  Value *operands = builder.CreateAlloca(
      ArrayType::get(builder.getPtrTy(), std::max(count, 1u)));
  for (unsigned i = 0; i != count; ++i) {
    Value *operand = builder.CreateAlloca(type->getParamType(i));
    builder.CreateStore(wrapper->getArg(i), operand);
    builder.CreateStore(
        operand, builder.CreateConstGEP1_32(builder.getPtrTy(), operands, i));
  }
  Type *resultType = type->getReturnType();
  Value *result = ConstantPointerNull::get(builder.getPtrTy());
  if (!resultType->isVoidTy())
    result = builder.CreateAlloca(resultType);
  callHook(builder, Hook::execute,
           {builder.getInt32(instruction), wrapper->getArg(count), operands,
            result});
  if (resultType->isVoidTy())
    builder.CreateRetVoid();
  else
    builder.CreateRet(builder.CreateLoad(resultType, result));
  return wrapper;
}

void Retarget::wrapCall(CallInst &call, unsigned instruction) {
  IRBuilder<> builder(&call);
  SmallVector<Value *> operands(call.args());
  operands.push_back(site(call, code.instructions[instruction].name));
  CallInst *replacement = builder.CreateCall(wrappers[instruction], operands);
  replacement->setDoesNotThrow();
  call.replaceAllUsesWith(replacement);
  call.eraseFromParent();
}

void Retarget::replaceUnknown(llvm::Instruction &instruction,
                              const Twine &text) {
  IRBuilder<> builder(&instruction);
  code.unknown.push_back(text.str());
  callHook(builder, Hook::unknown,
           {builder.getInt32(code.unknown.size() - 1),
            site(instruction, "unknown instruction")});
  // The hook does not return.
  if (!instruction.getType()->isVoidTy())
    instruction.replaceAllUsesWith(PoisonValue::get(instruction.getType()));
  instruction.eraseFromParent();
}

std::optional<gatefold::emulator::Instruction>
Retarget::findInstruction(CallInst &call, std::string &text) {
  FunctionType *type = call.getFunctionType();
  if (auto *assembly = dyn_cast<InlineAsm>(call.getCalledOperand())) {
    text = assembly->getAsmString();
    std::string unknown;
    std::optional<Instruction> found =
        findAssembly(text, assembly->getConstraintString(), type, unknown);
    if (!unknown.empty())
      text = unknown;
    return found;
  }
  text = call.getCalledFunction()->getName();
  if (any_of(type->params(), [](Type *type) { return type->isMetadataTy(); }))
    return std::nullopt;
  return findIntrinsic(text, type);
}

void Retarget::wrapInstructions() {
  SmallVector<CallInst *> calls;
  for (Function &function : module)
    for (llvm::Instruction &instruction : instructions(function))
      if (auto *call = dyn_cast<CallInst>(&instruction))
        calls.push_back(call);

  // One wrapper for each intrinsic and for each text with its types.
  DenseMap<Value *, unsigned> known;
  for (CallInst *call : calls) {
    Value *callee = call->getCalledOperand();
    if (!call->isInlineAsm()) {
      auto *function = dyn_cast<Function>(callee);
      if (!function || !function->isDeclaration() ||
          function->getName().starts_with("gatefold.") ||
          (function->isIntrinsic() && isArithmetic(*function)))
        continue;
    }
    auto found = known.find(callee);
    if (found == known.end()) {
      std::string text;
      std::optional<Instruction> instruction = findInstruction(*call, text);
      if (!instruction) {
        replaceUnknown(*call, text);
        continue;
      }
      unsigned number = code.instructions.size();
      code.instructions.push_back(std::move(*instruction));
      code.operandCounts.push_back(call->arg_size());
      wrappers.push_back(makeWrapper(call->getFunctionType(), number));
      found = known.insert({callee, number}).first;
    }
    wrapCall(*call, found->second);
  }
}
