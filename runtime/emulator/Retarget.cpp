// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- Retarget.cpp - From NVPTX to the CPU: what can be run, entries -----===//

#include "runtime/emulator/Retarget.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/Verifier.h"

using namespace llvm;
using namespace gatefold::emulator;

namespace {
// Beyond these a module is an attempt to exhaust something.
constexpr uint64_t mostBytesOfVariable = uint64_t(1) << 31;
constexpr uint64_t mostBytesOfValue = 1 << 16;
} // namespace

Retarget::Retarget(Module &module, Code &code)
    : module(module), context(module.getContext()),
      layout(module.getDataLayout()), code(code) {}

FunctionCallee Retarget::hook(Hook hook) {
  Type *none = Type::getVoidTy(context),
       *pointer = PointerType::get(context, 0), *i1 = Type::getInt1Ty(context),
       *i8 = Type::getInt8Ty(context), *i32 = Type::getInt32Ty(context),
       *i64 = Type::getInt64Ty(context);
  auto declare = [&](StringRef name, Type *result, ArrayRef<Type *> operands) {
    return module.getOrInsertFunction(
        ("gatefold." + name).str(),
        FunctionType::get(result, operands, /*isVarArg=*/false));
  };
  switch (hook) {
  case Hook::access:
    return declare("access", none, {pointer, i32});
  case Hook::atomic:
    return declare("atomic", none, {pointer, i32});
  case Hook::updated:
    return declare("updated", none, {i1});
  case Hook::fence:
    return declare("fence", none, {i32});
  case Hook::fill:
    return declare("fill", none, {pointer, i8, i64, i32});
  case Hook::copy:
    return declare("copy", none, {pointer, pointer, i64, i32, i32});
  case Hook::mark:
    return declare("mark", i64, {});
  case Hook::allocate:
    return declare("allocate", pointer, {i64, i64, i32});
  case Hook::leave:
    return declare("leave", none, {i64});
  case Hook::parameter:
    return declare("parameter", none, {pointer, pointer, i64});
  case Hook::step:
    return declare("step", none, {i32});
  case Hook::enter:
    return declare("enter", none, {i32});
  case Hook::divisor:
    return declare("divisor", none, {i1, i32});
  case Hook::call:
    return declare("call", none, {pointer, i32, i32});
  case Hook::trap:
    return declare("trap", none, {i32});
  case Hook::shared:
    return declare("shared", pointer, {});
  case Hook::execute:
    return declare("execute", none, {i32, i32, pointer, pointer});
  case Hook::unknown:
    return declare("unknown", none, {i32, i32});
  }
  llvm_unreachable("all hooks are above");
}

CallInst *Retarget::callHook(IRBuilder<> &builder, Hook hook,
                             ArrayRef<Value *> operands) {
  CallInst *call = builder.CreateCall(this->hook(hook), operands);
  call->setDoesNotThrow();
  return call;
}

ConstantInt *Retarget::site(const llvm::Instruction &at, StringRef what,
                            Site site) {
  site.place = placeOf(at, what);
  code.sites.push_back(std::move(site));
  return ConstantInt::get(Type::getInt32Ty(context), code.sites.size() - 1);
}

ConstantInt *Retarget::typeNumber(FunctionType *type) {
  return ConstantInt::get(
      Type::getInt32Ty(context),
      functionTypes.insert({type, functionTypes.size()}).first->second);
}

Value *Retarget::generic(IRBuilder<> &builder, Value *pointer) {
  if (pointer->getType()->getPointerAddressSpace() == 0)
    return pointer;
  return builder.CreateAddrSpaceCast(pointer, builder.getPtrTy());
}

//===----------------------------------------------------------------------===//
// What can be run
//===----------------------------------------------------------------------===//

static Error refuse(const Function &function, const Twine &what) {
  return createStringError("`" + function.getName() + "` " + what);
}

/// The first type of a value that is no value of a GPU, or is unreasonably
/// large.
static bool isOrdinary(Type *type, const DataLayout &layout) {
  if (type->isVoidTy() || type->isLabelTy() || type->isMetadataTy())
    return true;
  Type *scalar = type->getScalarType();
  if (type->isScalableTy() || !type->isSized() || type->isTokenTy() ||
      type->isX86_AMXTy() || type->isTargetExtTy() || scalar->isX86_FP80Ty() ||
      scalar->isPPC_FP128Ty())
    return false;
  return layout.getTypeAllocSize(type).getFixedValue() <= mostBytesOfValue;
}

Error Retarget::checkFunction(Function &function) {
  if (function.isVarArg())
    return refuse(function, "takes a variable number of arguments");
  for (llvm::Argument &argument : function.args())
    if (!isOrdinary(argument.getType(), layout))
      return refuse(function, "has an argument that no GPU has");
  for (llvm::Instruction &instruction : instructions(function)) {
    if (!isOrdinary(instruction.getType(), layout))
      return refuse(function, "has a value that no GPU has: `" +
                                  Twine(instruction.getOpcodeName()) + "`");
    switch (instruction.getOpcode()) {
    case llvm::Instruction::Invoke:
    case llvm::Instruction::CallBr:
    case llvm::Instruction::IndirectBr:
    case llvm::Instruction::Resume:
    case llvm::Instruction::LandingPad:
    case llvm::Instruction::CatchSwitch:
    case llvm::Instruction::CatchPad:
    case llvm::Instruction::CatchRet:
    case llvm::Instruction::CleanupPad:
    case llvm::Instruction::CleanupRet:
    case llvm::Instruction::VAArg:
      return refuse(function, "uses `" + Twine(instruction.getOpcodeName()) +
                                  "`, which no GPU has");
    default:
      break;
    }
    // What an assumption is about stands in bundles; it is dropped.
    if (auto *call = dyn_cast<CallInst>(&instruction))
      if ((call->getNumOperandBundles() && !isa<AssumeInst>(call)) ||
          call->isMustTailCall())
        return refuse(function, "has a call that no GPU has");
  }
  return Error::success();
}

Error Retarget::checkModule() {
  if (!module.getModuleInlineAsm().empty())
    return createStringError("the module has inline assembly of its own, which "
                             "is not run");
  if (!module.ifunc_empty())
    return createStringError("the module has functions that are chosen when it "
                             "is loaded");
  for (GlobalValue &value : module.global_values())
    if (value.getName().starts_with("gatefold."))
      return createStringError("`" + value.getName() +
                               "` has a name of the emulator's own");
  SmallVector<StringRef> unresolved;
  for (Function &function : module) {
    if (function.isDeclaration()) {
      if (!function.isIntrinsic() && !function.use_empty() &&
          !findIntrinsic(function.getName(), function.getFunctionType()))
        unresolved.push_back(function.getName());
      continue;
    }
    if (Error error = checkFunction(function))
      return error;
    if (function.getCallingConv() == CallingConv::PTX_Kernel) {
      if (!function.getReturnType()->isVoidTy())
        return refuse(function, "is a kernel and has a result");
      kernels.push_back(&function);
    }
  }
  if (!unresolved.empty()) {
    std::string names = ("`" + unresolved.front() + "`").str();
    for (StringRef name : ArrayRef(unresolved).drop_front().take_front(9))
      names += (", `" + name + "`").str();
    if (unresolved.size() > 10)
      names += " and " + std::to_string(unresolved.size() - 10) + " more";
    bool ofLibdevice = any_of(
        unresolved, [](StringRef name) { return name.starts_with("__nv_"); });
    return createStringError(
        "functions are called that the module does not have: " + names +
        (ofLibdevice ? "\nhint: link libdevice before" : ""));
  }
  if (kernels.empty())
    return createStringError("the module has no kernel");
  for (GlobalVariable &variable : module.globals()) {
    if (variable.isThreadLocal() || variable.hasExternalWeakLinkage())
      return createStringError("`" + variable.getName() +
                               "` is a variable that no GPU has");
    Type *type = variable.getValueType();
    if (!type->isSized() || type->isScalableTy() || type->isTargetExtTy() ||
        layout.getTypeAllocSize(type).getFixedValue() > mostBytesOfVariable)
      return createStringError("`" + variable.getName() + "` is too large");
  }
  return Error::success();
}

//===----------------------------------------------------------------------===//
// Entries
//===----------------------------------------------------------------------===//

static Extent extentOf(const Function &function, StringRef attribute) {
  uint32_t sizes[3] = {0, 0, 0};
  if (function.hasFnAttribute(attribute)) {
    StringRef rest = function.getFnAttribute(attribute).getValueAsString();
    for (uint32_t &size : sizes) {
      auto [text, next] = rest.split(',');
      // Sizes that are left out are 1.
      if (text.trim().getAsInteger(10, size))
        size = 1;
      rest = next;
    }
  }
  return {sizes[0], sizes[1], sizes[2]};
}

void Retarget::makeEntries() {
  for (auto [number, function] : enumerate(kernels)) {
    KernelCode entry;
    entry.kernel.name = function->getName().str();
    entry.kernel.mostThreads = extentOf(*function, "nvvm.maxntid");
    entry.kernel.exactThreads = extentOf(*function, "nvvm.reqntid");
    entry.symbol = "gatefold.entry." + std::to_string(number);
    auto *thunk = Function::Create(
        FunctionType::get(Type::getVoidTy(context),
                          {PointerType::get(context, 0)}, false),
        GlobalValue::ExternalLinkage, entry.symbol, module);
    IRBuilder<> builder(BasicBlock::Create(context, "", thunk));
    SmallVector<Value *> operands;
    for (llvm::Argument &argument : function->args()) {
      Type *type = argument.getParamByValType();
      bool byValue = type;
      if (!type)
        type = argument.getType();
      Parameter parameter;
      parameter.name = argument.getName().str();
      raw_string_ostream(parameter.type) << *type;
      parameter.bytes = layout.getTypeAllocSize(type);
      parameter.alignment = layout.getABITypeAlign(type).value();
      if (byValue)
        parameter.alignment = argument.getParamAlign()
                                  .value_or(Align(parameter.alignment))
                                  .value();
      uint64_t offset = alignTo(entry.argumentBytes, parameter.alignment);
      entry.offsets.push_back(offset);
      entry.argumentBytes = offset + parameter.bytes;
      Value *from = builder.CreateConstInBoundsGEP1_64(
          builder.getInt8Ty(), thunk->getArg(0), offset);
      if (byValue) {
        // Each thread has its own copy, which it may change.
        llvm::Instruction *at = &function->getEntryBlock().front();
        Value *copy = callHook(builder, Hook::allocate,
                               {builder.getInt64(parameter.bytes),
                                builder.getInt64(parameter.alignment),
                                site(*at, "parameter " + parameter.name)});
        callHook(builder, Hook::parameter,
                 {copy, from, builder.getInt64(parameter.bytes)});
        if (argument.getType() != copy->getType())
          copy = builder.CreateAddrSpaceCast(copy, argument.getType());
        operands.push_back(copy);
      } else {
        operands.push_back(
            builder.CreateAlignedLoad(type, from, MaybeAlign(1)));
      }
      entry.kernel.parameters.push_back(std::move(parameter));
    }
    CallInst *call = builder.CreateCall(function, operands);
    call->setCallingConv(CallingConv::C);
    builder.CreateRetVoid();
    code.kernels.push_back(std::move(entry));
  }
  // Nothing of the old target, no promise that the hooks break (a function that
  // only reads), and no names that could meet one of this program.
  for (Function &function : module) {
    bool isEntry = function.getName().starts_with("gatefold.entry.");
    if (function.isIntrinsic())
      continue;
    function.setCallingConv(CallingConv::C);
    function.setAttributes(AttributeList());
    function.addFnAttr(Attribute::NoUnwind);
    if (function.isDeclaration())
      continue;
    function.setSection("");
    function.setComdat(nullptr);
    function.setVisibility(GlobalValue::DefaultVisibility);
    if (!isEntry) {
      function.setLinkage(GlobalValue::InternalLinkage);
      // The code generator would call a kernel's `fmodf` for its own.
      function.setName("gatefold.code." + function.getName());
    }
    function.setGC("");
    function.clearGC();
    if (function.hasPrefixData())
      function.setPrefixData(nullptr);
    if (function.hasPrologueData())
      function.setPrologueData(nullptr);
    if (function.hasPersonalityFn())
      function.setPersonalityFn(nullptr);
    for (llvm::Instruction &instruction : instructions(function)) {
      if (auto *call = dyn_cast<CallInst>(&instruction)) {
        Function *callee = call->getCalledFunction();
        if (callee && callee->isIntrinsic())
          continue;
        call->setCallingConv(CallingConv::C);
        call->setAttributes(AttributeList());
        call->setTailCallKind(CallInst::TCK_None);
      }
    }
  }
}
