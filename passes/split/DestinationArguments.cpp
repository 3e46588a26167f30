// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- DestinationArguments.cpp - Results are written into arguments ------===//
//
// Makes the entry a function of buffers that returns nothing.
//
//===----------------------------------------------------------------------===//

#include "passes/split/Passes.h"
#include "passes/support/Entry.h"

namespace gatefold {
#define GEN_PASS_DEF_DESTINATIONARGUMENTS
#include "passes/split/Passes.h.inc"
} // namespace gatefold

using namespace mlir;
using namespace gatefold;

/// The buffer of a tensor at the interface: a parameter is contiguous, the
/// rest has any strides.
static MemRefType bufferType(const InterfaceTensor &tensor) {
  RankedTensorType type = tensor.type;
  if (tensor.role == InterfaceTensor::Role::Parameter)
    return MemRefType::get(type.getShape(), type.getElementType());
  SmallVector<int64_t> strides(type.getRank(), ShapedType::kDynamic);
  auto layout =
      StridedLayoutAttr::get(type.getContext(), ShapedType::kDynamic, strides);
  return MemRefType::get(type.getShape(), type.getElementType(), layout);
}

namespace {
struct DestinationArguments
    : gatefold::impl::DestinationArgumentsBase<DestinationArguments> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    FailureOr<Interface> interface = Interface::fromModule(module);
    if (failed(interface))
      return signalPassFailure();
    auto entry = module.lookupSymbol<func::FuncOp>(runFunction);
    if (!entry || entry.getNumArguments() + entry.getNumResults() !=
                      interface->tensors.size()) {
      module.emitError("has no entry that agrees with ") << descriptionName;
      return signalPassFailure();
    }
    Block &block = entry.getBody().front();
    Location loc = entry.getLoc();
    OpBuilder builder(&getContext());
    SmallVector<Type> types;

    unsigned arguments = entry.getNumArguments();
    builder.setInsertionPointToStart(&block);
    for (unsigned i = 0; i < arguments; ++i) {
      BlockArgument argument = block.getArgument(i);
      MemRefType type = bufferType(interface->tensors[i]);
      types.push_back(type);
      auto tensor = bufferization::ToTensorOp::create(
          builder, argument.getLoc(), argument.getType(), argument,
          /*restrict=*/true, /*writable=*/false);
      argument.replaceAllUsesExcept(tensor, tensor);
      argument.setType(type);
    }

    Operation *terminator = block.getTerminator();
    builder.setInsertionPoint(terminator);
    SmallVector<Value> results(terminator->getOperands());
    SmallVector<Value> destinations;
    // A following state may be the memory of the state itself, which may be
    // read up to here: nothing is computed in its place.
    for (auto [index, result] : llvm::enumerate(results)) {
      const InterfaceTensor &tensor = interface->tensors[arguments + index];
      MemRefType type = bufferType(tensor);
      types.push_back(type);
      destinations.push_back(block.addArgument(type, loc));
      if (tensor.role == InterfaceTensor::Role::State)
        result = bufferization::AllocTensorOp::create(
            builder, loc, cast<RankedTensorType>(result.getType()),
            ValueRange(), /*copy=*/result);
    }
    for (auto [result, destination] : llvm::zip(results, destinations))
      bufferization::MaterializeInDestinationOp::create(
          builder, loc, /*result=*/Type(), result, destination,
          /*restrict=*/true, /*writable=*/true);
    terminator->setOperands({});
    entry.setFunctionType(builder.getFunctionType(types, {}));
  }
};
} // namespace
