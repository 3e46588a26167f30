// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- ConstantBuilder.h - Structures of C as constants ---------*- C++ -*-===//
//
// Internal to the emission.
//
//===----------------------------------------------------------------------===//

#ifndef PASSES_EMIT_CONSTANTBUILDER_H
#define PASSES_EMIT_CONSTANTBUILDER_H

#include "llvm/IR/Constants.h"
#include "llvm/IR/Module.h"

namespace gatefold {

class ConstantBuilder {
public:
  explicit ConstantBuilder(llvm::Module &module)
      : module(module), context(module.getContext()),
        pointer(llvm::PointerType::getUnqual(context)) {}

  llvm::Constant *integer(unsigned bits, int64_t value) {
    return llvm::ConstantInt::get(llvm::Type::getIntNTy(context, bits), value,
                                  /*IsSigned=*/true);
  }
  llvm::Constant *null() { return llvm::ConstantPointerNull::get(pointer); }
  llvm::Constant *structure(llvm::ArrayRef<llvm::Constant *> fields) {
    return llvm::ConstantStruct::getAnon(context, fields);
  }
  /// A private constant; its address.
  llvm::GlobalVariable *global(llvm::Constant *value, unsigned alignment = 8) {
    auto *variable = new llvm::GlobalVariable(
        module, value->getType(), /*isConstant=*/true,
        llvm::GlobalValue::PrivateLinkage, value, "gatefold.constant");
    variable->setAlignment(llvm::Align(alignment));
    variable->setUnnamedAddr(llvm::GlobalValue::UnnamedAddr::Global);
    return variable;
  }
  llvm::Constant *text(llvm::StringRef value) {
    return global(llvm::ConstantDataArray::getString(context, value),
                  /*alignment=*/1);
  }
  llvm::Constant *bytes(llvm::StringRef value, unsigned alignment) {
    return global(llvm::ConstantDataArray::getRaw(
                      value, value.size(), llvm::Type::getInt8Ty(context)),
                  alignment);
  }
  /// The address of an array, null where it is empty.
  llvm::Constant *array(llvm::ArrayRef<llvm::Constant *> elements) {
    if (elements.empty())
      return null();
    return global(llvm::ConstantArray::get(
        llvm::ArrayType::get(elements.front()->getType(), elements.size()),
        elements));
  }

protected:
  llvm::Module &module;
  llvm::LLVMContext &context;
  llvm::PointerType *pointer;
};

} // namespace gatefold

#endif // PASSES_EMIT_CONSTANTBUILDER_H
