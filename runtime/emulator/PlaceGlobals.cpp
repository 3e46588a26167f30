// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- PlaceGlobals.cpp - Variables of blocks and of the device -----------===//
//
// A block's variables are at an offset from where its shared memory begins,
// which each function asks for. A variable of the device is an address that is
// known when the code is linked; what it holds at first is copied there.
//
//===----------------------------------------------------------------------===//

#include "runtime/emulator/Retarget.h"
#include "llvm/IR/ReplaceConstant.h"

using namespace llvm;
using namespace gatefold::emulator;

/// Free bytes between two variables, so that an index one beyond the end of one
/// does not fall into the next.
static constexpr uint64_t gapBytes = 16;
static constexpr uint64_t mostSharedBytes = 1 << 20;

/// The least offset from `from` on that is a multiple of `alignment` and of
/// nothing greater.
static uint64_t alignExactly(uint64_t from, uint64_t alignment) {
  uint64_t offset = alignTo(from, alignment);
  return offset % (2 * alignment) ? offset : offset + alignment;
}

Error Retarget::placeShared() {
  SmallVector<std::pair<GlobalVariable *, uint64_t>> placed;
  SmallVector<GlobalVariable *> dynamic;
  uint64_t end = 0, dynamicAlignment = 16;
  for (GlobalVariable &variable : module.globals()) {
    if (variable.getAddressSpace() != unsigned(Space::Shared))
      continue;
    Type *type = variable.getValueType();
    uint64_t bytes = layout.getTypeAllocSize(type);
    uint64_t alignment =
        variable.getAlign().value_or(layout.getABITypeAlign(type)).value();
    if (variable.isDeclaration() || bytes == 0) {
      if (bytes != 0)
        return createStringError("`" + variable.getName() +
                                 "` is a variable of another module");
      dynamic.push_back(&variable);
      dynamicAlignment = std::max(dynamicAlignment, alignment);
      continue;
    }
    // As the backend has it: a zero is what languages write for no value.
    if (variable.hasInitializer() &&
        !isa<UndefValue>(variable.getInitializer()) &&
        !variable.getInitializer()->isNullValue())
      return createStringError("`" + variable.getName() +
                               "` is shared memory and has an initial value");
    uint64_t offset = alignExactly(end, alignment);
    placed.push_back({&variable, offset});
    code.sharedVariables.push_back({variable.getName().str(), offset, bytes});
    end = offset + bytes + gapBytes;
    code.staticSharedBytes += bytes;
    if (end > mostSharedBytes)
      return createStringError("the variables of a block need more than " +
                               Twine(mostSharedBytes) + " bytes");
  }
  code.dynamicSharedOffset = alignExactly(end, dynamicAlignment);
  code.usesDynamicShared = !dynamic.empty();
  // They all begin where dynamic shared memory does.
  for (GlobalVariable *variable : dynamic)
    placed.push_back({variable, code.dynamicSharedOffset});

  DenseMap<Function *, Value *> begin;
  for (auto [variable, offset] : placed) {
    convertUsersOfConstantsToInstructions({variable});
    for (Use &use : make_early_inc_range(variable->uses())) {
      auto *user = dyn_cast<llvm::Instruction>(use.getUser());
      if (!user)
        return createStringError("the address of `" + variable->getName() +
                                 "`, shared memory, is in a variable");
      Function *function = user->getFunction();
      Value *&base = begin[function];
      BasicBlock &entry = function->getEntryBlock();
      if (!base) {
        IRBuilder<> builder(&entry, entry.begin());
        base = callHook(builder, Hook::shared, {});
      }
      IRBuilder<> builder(&entry,
                          std::next(cast<CallInst>(base)->getIterator()));
      Value *address =
          builder.CreateConstGEP1_64(builder.getInt8Ty(), base, offset);
      use.set(builder.CreateAddrSpaceCast(address, variable->getType()));
    }
    variable->eraseFromParent();
  }
  return Error::success();
}

Error Retarget::placeDevice() {
  SmallVector<GlobalVariable *> variables;
  for (GlobalVariable &variable : module.globals())
    if (!variable.getName().starts_with("gatefold."))
      variables.push_back(&variable);
  for (GlobalVariable *variable : variables) {
    unsigned space = variable->getAddressSpace();
    if (variable->use_empty())
      continue;
    if (space != unsigned(Space::Generic) && space != unsigned(Space::Global) &&
        space != unsigned(Space::Constant))
      return createStringError("`" + variable->getName() +
                               "` is in address space " + Twine(space) +
                               ", where no variables are");
    if (variable->isDeclaration())
      return createStringError("`" + variable->getName() +
                               "` is a variable of another module");
    Type *type = variable->getValueType();
    DeviceVariable entry;
    std::string number = std::to_string(deviceVariables.size());
    entry.name = variable->getName().str();
    entry.symbol = "gatefold.device." + number;
    entry.image = "gatefold.image." + number;
    entry.bytes = layout.getTypeAllocSize(type);
    entry.alignment =
        variable->getAlign().value_or(layout.getABITypeAlign(type)).value();
    entry.readOnly =
        space == unsigned(Space::Constant) || variable->isConstant();
    auto *address = new GlobalVariable(
        module, type, false, GlobalValue::ExternalLinkage, nullptr,
        entry.symbol, nullptr, GlobalValue::NotThreadLocal, space);
    variable->replaceAllUsesWith(address);
    variable->setName(entry.image);
    variable->setLinkage(GlobalValue::ExternalLinkage);
    variable->setVisibility(GlobalValue::DefaultVisibility);
    variable->setUnnamedAddr(GlobalValue::UnnamedAddr::None);
    variable->setSection("");
    variable->setComdat(nullptr);
    deviceVariables.push_back(std::move(entry));
  }
  return Error::success();
}

/// Calls through pointers are checked against the functions whose address the
/// module takes.
void Retarget::nameFunctions() {
  SmallVector<Constant *> taken;
  for (Function &function : module)
    if (!function.isDeclaration() && function.hasAddressTaken())
      taken.push_back(&function);
  if (taken.empty())
    return;
  auto *type = ArrayType::get(PointerType::get(context, 0), taken.size());
  new GlobalVariable(module, type, true, GlobalValue::ExternalLinkage,
                     ConstantArray::get(type, taken), "gatefold.functions");
  for (Constant *function : taken)
    takenTypes.push_back(typeNumber(cast<Function>(function)->getFunctionType())
                             ->getZExtValue());
}

Error Retarget::placeGlobals() {
  // Bookkeeping of the compiler (`llvm.used`, constructors), not memory.
  for (GlobalVariable &variable : make_early_inc_range(module.globals()))
    if (variable.getName().starts_with("llvm."))
      variable.eraseFromParent();
  for (GlobalAlias &alias : make_early_inc_range(module.aliases())) {
    alias.replaceAllUsesWith(alias.getAliasee());
    alias.eraseFromParent();
  }
  nameFunctions();
  if (Error error = placeShared())
    return error;
  return placeDevice();
}
