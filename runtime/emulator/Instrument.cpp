// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- Instrument.cpp - What the emulator hears of ------------------------===//
//
// Accesses call a hook before they are made, and only if it returns are they
// made. Bulk copies are made by the hook. Local memory is not on the CPU's
// stack, so that its bounds and its bytes are known. Each turn of a loop, each
// call and each division that could end the CPU's process is checked.
//
//===----------------------------------------------------------------------===//

#include "runtime/emulator/Retarget.h"
#include "llvm/Analysis/CFG.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/Transforms/Utils/LowerAtomic.h"

using namespace llvm;
using namespace gatefold::emulator;

static std::string withType(const Twine &what, const Type *type) {
  std::string text = what.str() + " ";
  raw_string_ostream(text) << *type;
  return text;
}

static Space spaceOf(const Value *pointer) {
  return Space(pointer->getType()->getPointerAddressSpace());
}

static Scope scopeIn(LLVMContext &context, SyncScope::ID scope) {
  return scopeOf(context.getSyncScopeName(scope).value_or(""));
}

/// Loads and stores, volatile ones included: on a GPU those are relaxed atomic
/// accesses of the widest scope.
void Retarget::instrumentMemory(llvm::Instruction &instruction) {
  auto *load = dyn_cast<LoadInst>(&instruction);
  auto *store = dyn_cast<StoreInst>(&instruction);
  Value *pointer = getLoadStorePointerOperand(&instruction);
  Type *type = getLoadStoreType(&instruction);
  Site access;
  access.bytes = layout.getTypeStoreSize(type);
  // No access needs more than its own size.
  access.alignment =
      std::min<uint64_t>(getLoadStoreAlignment(&instruction).value(),
                         PowerOf2Ceil(std::max<uint64_t>(access.bytes, 1)));
  access.space = spaceOf(pointer);
  access.reads = load;
  access.writes = store;
  bool isAtomic = load ? load->isAtomic() : store->isAtomic();
  access.atomic = isAtomic || instruction.isVolatile();
  if (isAtomic) {
    access.ordering =
        orderingOf(load ? load->getOrdering() : store->getOrdering());
    access.scope = scopeIn(context, load ? load->getSyncScopeID()
                                         : store->getSyncScopeID());
  }
  StringRef kind = isAtomic                   ? "atomic "
                   : instruction.isVolatile() ? "volatile "
                                              : "";
  IRBuilder<> builder(&instruction);
  callHook(builder, access.atomic ? Hook::atomic : Hook::access,
           {generic(builder, pointer),
            site(instruction, withType(kind + (load ? "load" : "store"), type),
                 access)});
  // One thread runs at a time. The CPU need not have such an access.
  if (load)
    load->setAtomic(AtomicOrdering::NotAtomic);
  else
    store->setAtomic(AtomicOrdering::NotAtomic);
}

void Retarget::instrumentAtomic(llvm::Instruction &instruction) {
  auto *update = dyn_cast<AtomicRMWInst>(&instruction);
  auto *exchange = dyn_cast<AtomicCmpXchgInst>(&instruction);
  Value *pointer =
      update ? update->getPointerOperand() : exchange->getPointerOperand();
  Type *type =
      update ? update->getType() : exchange->getCompareOperand()->getType();
  Site access;
  access.bytes = layout.getTypeStoreSize(type);
  access.alignment = PowerOf2Ceil(access.bytes);
  access.space = spaceOf(pointer);
  access.reads = access.writes = access.atomic = true;
  access.scope = scopeIn(context, update ? update->getSyncScopeID()
                                         : exchange->getSyncScopeID());
  // The backend drops the ordering of `atomicrmw`, whatever it is.
  if (exchange)
    access.ordering = orderingOf(exchange->getMergedOrdering());
  std::string what =
      update ? withType("atomicrmw " + AtomicRMWInst::getOperationName(
                                           update->getOperation()),
                        type)
             : withType("cmpxchg", type);
  IRBuilder<> builder(&instruction);
  Value *address = generic(builder, pointer);
  callHook(builder, Hook::atomic, {address, site(instruction, what, access)});
  // Whether a loop that does this again and again gets anywhere: not if memory
  // holds what it held before.
  builder.SetInsertPoint(std::next(instruction.getIterator()));
  Value *old =
      update ? &instruction : builder.CreateExtractValue(&instruction, 0);
  Type *bits = builder.getIntNTy(layout.getTypeSizeInBits(type));
  auto asBits = [&](Value *value) -> Value * {
    return type->isPointerTy() ? builder.CreatePtrToInt(value, bits)
                               : builder.CreateBitCast(value, bits);
  };
  Value *now = builder.CreateAlignedLoad(type, address, Align(1));
  callHook(builder, Hook::updated,
           {builder.CreateICmpNE(asBits(old), asBits(now))});
  // One thread runs at a time. The CPU need not have such an update.
  if (update)
    lowerAtomicRMWInst(update);
  else
    lowerAtomicCmpXchgInst(exchange);
}

/// `memcpy` and its like.
void Retarget::instrumentBulk(CallInst &call) {
  IRBuilder<> builder(&call);
  auto sizeOf = [&](MemIntrinsic &bulk) {
    return builder.CreateZExtOrTrunc(bulk.getLength(), builder.getInt64Ty());
  };
  Site write;
  write.writes = true;
  if (auto *fill = dyn_cast<MemSetInst>(&call)) {
    write.space = spaceOf(fill->getRawDest());
    write.alignment = fill->getDestAlign().valueOrOne().value();
    callHook(builder, Hook::fill,
             {generic(builder, fill->getRawDest()), fill->getValue(),
              sizeOf(*fill), site(call, "memset", write)});
  } else {
    auto &copy = cast<MemTransferInst>(call);
    Site read;
    read.reads = true;
    read.space = spaceOf(copy.getRawSource());
    read.alignment = copy.getSourceAlign().valueOrOne().value();
    write.space = spaceOf(copy.getRawDest());
    write.alignment = copy.getDestAlign().valueOrOne().value();
    callHook(builder, Hook::copy,
             {generic(builder, copy.getRawDest()),
              generic(builder, copy.getRawSource()), sizeOf(copy),
              site(call, "memcpy", write), site(call, "memcpy", read)});
  }
  call.eraseFromParent();
}

/// Calls of the module's own functions and through pointers, and the intrinsics
/// that are neither arithmetic nor of the GPU.
void Retarget::instrumentCall(CallInst &call) {
  if (call.isInlineAsm())
    return;
  Function *callee = call.getCalledFunction();
  IRBuilder<> builder(&call);
  if (callee && callee->isIntrinsic()) {
    switch (callee->getIntrinsicID()) {
    case Intrinsic::trap:
    case Intrinsic::debugtrap:
    case Intrinsic::ubsantrap:
      callHook(builder, Hook::trap, {site(call, "trap")});
      call.eraseFromParent();
      return;
    // Of use to an optimiser only.
    case Intrinsic::assume:
    case Intrinsic::lifetime_start:
    case Intrinsic::lifetime_end:
    case Intrinsic::donothing:
    case Intrinsic::sideeffect:
    case Intrinsic::prefetch:
    case Intrinsic::experimental_noalias_scope_decl:
    case Intrinsic::invariant_end:
      call.eraseFromParent();
      return;
    case Intrinsic::invariant_start:
      if (call.use_empty())
        call.eraseFromParent();
      return;
    case Intrinsic::launder_invariant_group:
    case Intrinsic::strip_invariant_group:
      call.replaceAllUsesWith(call.getArgOperand(0));
      call.eraseFromParent();
      return;
    // Not every CPU's code generator has it.
    case Intrinsic::canonicalize:
      call.replaceAllUsesWith(builder.CreateFMul(
          call.getArgOperand(0), ConstantFP::get(call.getType(), 1)));
      call.eraseFromParent();
      return;
    default:
      if (isa<MemCpyInst, MemMoveInst, MemSetInst>(call))
        instrumentBulk(call);
      return;
    }
  }
  if (callee && callee->isDeclaration())
    return;
  if (!callee)
    callHook(builder, Hook::call,
             {generic(builder, call.getCalledOperand()),
              typeNumber(call.getFunctionType()),
              site(call, "call through a pointer")});
  // The callee's own copies of arguments: local memory of the caller.
  Value *mark = nullptr;
  for (unsigned i = 0, end = call.arg_size(); i != end; ++i) {
    Type *type = call.isByValArgument(i) ? call.getParamByValType(i) : nullptr;
    if (!type)
      continue;
    if (!mark)
      mark = callHook(builder, Hook::mark, {});
    Value *bytes = builder.getInt64(layout.getTypeAllocSize(type));
    uint64_t alignment =
        call.getParamAlign(i).value_or(layout.getABITypeAlign(type)).value();
    Site read, write;
    read.reads = write.writes = true;
    Value *argument = call.getArgOperand(i);
    Value *copy = callHook(
        builder, Hook::allocate,
        {bytes, builder.getInt64(alignment), site(call, "argument of a call")});
    callHook(builder, Hook::copy,
             {copy, generic(builder, argument), bytes,
              site(call, "copy of an argument", write),
              site(call, "copy of an argument", read)});
    if (copy->getType() != argument->getType())
      copy = builder.CreateAddrSpaceCast(copy, argument->getType());
    call.setArgOperand(i, copy);
  }
  if (mark) {
    builder.SetInsertPoint(std::next(call.getIterator()));
    callHook(builder, Hook::leave, {mark});
  }
}

/// Local variables, and the marks that they are taken back to.
void Retarget::instrumentLocal(Function &function) {
  SmallVector<AllocaInst *> variables;
  SmallVector<IntrinsicInst *> marks;
  for (llvm::Instruction &instruction : instructions(function)) {
    if (auto *variable = dyn_cast<AllocaInst>(&instruction))
      variables.push_back(variable);
    if (auto *intrinsic = dyn_cast<IntrinsicInst>(&instruction))
      if (intrinsic->getIntrinsicID() == Intrinsic::stacksave ||
          intrinsic->getIntrinsicID() == Intrinsic::stackrestore)
        marks.push_back(intrinsic);
  }
  if (variables.empty() && marks.empty())
    return;
  for (IntrinsicInst *intrinsic : marks) {
    IRBuilder<> builder(intrinsic);
    if (intrinsic->getIntrinsicID() == Intrinsic::stacksave) {
      Value *mark = callHook(builder, Hook::mark, {});
      intrinsic->replaceAllUsesWith(
          builder.CreateIntToPtr(mark, intrinsic->getType()));
    } else {
      callHook(builder, Hook::leave,
               {builder.CreatePtrToInt(intrinsic->getArgOperand(0),
                                       builder.getInt64Ty())});
    }
    intrinsic->eraseFromParent();
  }
  BasicBlock &entry = function.getEntryBlock();
  IRBuilder<> atEntry(&entry, entry.begin());
  Value *mark = callHook(atEntry, Hook::mark, {});
  for (llvm::Instruction &instruction : instructions(function))
    if (isa<ReturnInst>(instruction)) {
      IRBuilder<> builder(&instruction);
      callHook(builder, Hook::leave, {mark});
    }
  for (AllocaInst *variable : variables) {
    IRBuilder<> builder(variable);
    Type *type = variable->getAllocatedType();
    Value *count = builder.CreateZExtOrTrunc(variable->getArraySize(),
                                             builder.getInt64Ty());
    Value *bytes = builder.CreateMul(
        count, builder.getInt64(layout.getTypeAllocSize(type)));
    std::string what = variable->hasName() ? variable->getName().str()
                                           : withType("alloca", type);
    Value *address =
        callHook(builder, Hook::allocate,
                 {bytes, builder.getInt64(variable->getAlign().value()),
                  site(*variable, what)});
    if (address->getType() != variable->getType())
      address = builder.CreateAddrSpaceCast(address, variable->getType());
    variable->replaceAllUsesWith(address);
    variable->eraseFromParent();
  }
}

/// By 0 a CPU ends the process, and so it does for the least number by -1; a
/// GPU does neither. Division by 0 is a finding, the other has the GPU's
/// result.
void Retarget::instrumentDivision(BinaryOperator &division) {
  Value *divisor = division.getOperand(1);
  Type *type = division.getType();
  bool isSigned = division.getOpcode() == llvm::Instruction::SDiv ||
                  division.getOpcode() == llvm::Instruction::SRem;
  if (auto *number = dyn_cast<ConstantInt>(divisor);
      number && !number->isZero() && !(isSigned && number->isMinusOne()))
    return;
  IRBuilder<> builder(&division);
  Value *zero = builder.CreateICmpEQ(divisor, Constant::getNullValue(type));
  Value *any = type->isVectorTy() ? builder.CreateOrReduce(zero) : zero;
  callHook(builder, Hook::divisor,
           {any, site(division, withType(division.getOpcodeName(), type))});
  if (!isSigned)
    return;
  unsigned width = type->getScalarSizeInBits();
  Value *least = ConstantInt::get(type, APInt::getSignedMinValue(width));
  Value *overflows = builder.CreateAnd(
      builder.CreateICmpEQ(division.getOperand(0), least),
      builder.CreateICmpEQ(divisor, Constant::getAllOnesValue(type)));
  division.setOperand(
      1, builder.CreateSelect(overflows, ConstantInt::get(type, 1), divisor));
}

void Retarget::instrumentFunction(Function &function) {
  SmallVector<std::pair<const BasicBlock *, const BasicBlock *>> loops;
  FindFunctionBackedges(function, loops);
  SmallPtrSet<const BasicBlock *, 8> latches;
  for (auto [from, to] : loops)
    latches.insert(from);

  SmallVector<llvm::Instruction *> all;
  for (llvm::Instruction &instruction : instructions(function)) {
    // What the optimiser was promised lets the code generator move a load to
    // before its check.
    instruction.dropUnknownNonDebugMetadata();
    all.push_back(&instruction);
  }
  for (llvm::Instruction *instruction : all) {
    if (instruction->isTerminator() &&
        latches.contains(instruction->getParent())) {
      IRBuilder<> builder(instruction);
      callHook(builder, Hook::step, {site(*instruction, "loop")});
    }
    if (isa<LoadInst, StoreInst>(instruction)) {
      instrumentMemory(*instruction);
    } else if (isa<AtomicRMWInst, AtomicCmpXchgInst>(instruction)) {
      instrumentAtomic(*instruction);
    } else if (auto *fence = dyn_cast<FenceInst>(instruction)) {
      Site order;
      order.ordering = orderingOf(fence->getOrdering());
      order.scope = scopeIn(context, fence->getSyncScopeID());
      IRBuilder<> builder(fence);
      callHook(builder, Hook::fence, {site(*fence, "fence", order)});
      fence->eraseFromParent();
    } else if (auto *call = dyn_cast<CallInst>(instruction)) {
      instrumentCall(*call);
    } else if (instruction->isIntDivRem()) {
      instrumentDivision(cast<BinaryOperator>(*instruction));
    } else if (isOfQuads(*instruction)) {
      replaceUnknown(*instruction, withType(instruction->getOpcodeName(),
                                            instruction->getType()));
    } else if (isa<UnreachableInst>(instruction)) {
      IRBuilder<> builder(instruction);
      callHook(builder, Hook::trap, {site(*instruction, "unreachable")});
    }
  }
  instrumentLocal(function);
  BasicBlock &entry = function.getEntryBlock();
  IRBuilder<> builder(&entry, entry.begin());
  callHook(builder, Hook::enter, {site(entry.front(), "call")});
}

void Retarget::instrument() {
  for (Function &function : module)
    if (!function.isDeclaration())
      instrumentFunction(function);
}
