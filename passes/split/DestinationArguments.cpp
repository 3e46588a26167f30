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

/// The buffer of a tensor at the interface: what is made before any run is
/// contiguous, the rest only along its last dimension (the runtime copies what
/// is not).
static MemRefType bufferType(const InterfaceTensor &tensor) {
  RankedTensorType type = tensor.type;
  if (tensor.isConstant())
    return MemRefType::get(type.getShape(), type.getElementType());
  SmallVector<int64_t> strides(type.getRank(), ShapedType::kDynamic);
  if (!strides.empty())
    strides.back() = 1;
  auto layout =
      StridedLayoutAttr::get(type.getContext(), ShapedType::kDynamic, strides);
  return MemRefType::get(type.getShape(), type.getElementType(), layout);
}

/// What a loop would write in the place of its state need not go there where
/// the loop had one step and is gone: the place is an argument then, which
/// nobody may write, or a value that others may read.
static void releasePlaces(func::FuncOp function) {
  IRRewriter rewriter(function.getContext());
  function.walk([&](bufferization::MaterializeInDestinationOp op) {
    auto argument = dyn_cast<BlockArgument>(op.getDest());
    bool isOfLoop =
        argument ? !isa<FunctionOpInterface>(argument.getOwner()->getParentOp())
                 : op->getParentOfType<LoopLikeOpInterface>();
    if (op->getNumResults() == 0 || isOfLoop)
      return;
    rewriter.setInsertionPoint(op);
    Value value = op.getSource();
    if (value.getType() != op.getResult().getType())
      value = tensor::CastOp::create(rewriter, op.getLoc(),
                                     op.getResult().getType(), value);
    rewriter.replaceOp(op, value);
  });
}

static void useBuffers(const EntryFunction &entry) {
  func::FuncOp function = entry.function;
  releasePlaces(function);
  Block &block = function.getBody().front();
  Location loc = function.getLoc();
  OpBuilder builder(function.getContext());
  SmallVector<Type> types;

  builder.setInsertionPointToStart(&block);
  llvm::StringMap<BlockArgument> inPlace;
  for (unsigned i = 0; i < entry.argumentCount; ++i) {
    BlockArgument argument = block.getArgument(i);
    MemRefType type = bufferType(*entry.tensors[i]);
    types.push_back(type);
    if (entry.tensors[i]->isInPlace) {
      inPlace[entry.tensors[i]->name] = argument;
      continue;
    }
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
  // read up to here: nothing is computed in its place, unless it is the state
  // with a part written over, which stands there already.
  for (auto [index, result] : llvm::enumerate(results)) {
    const InterfaceTensor &tensor = *entry.tensors[entry.argumentCount + index];
    MemRefType type = bufferType(tensor);
    types.push_back(type);
    destinations.push_back(block.addArgument(type, loc));
    if (tensor.isInPlace) {
      BlockArgument argument = inPlace.lookup(tensor.name);
      OpBuilder::InsertionGuard guard(builder);
      builder.setInsertionPointToStart(&block);
      auto state = bufferization::ToTensorOp::create(
          builder, argument.getLoc(), argument.getType(), destinations.back(),
          /*restrict=*/true, /*writable=*/true);
      llvm::replace(results, Value(argument), Value(state));
      argument.replaceAllUsesWith(state);
      argument.setType(type);
    } else if (tensor.role == InterfaceTensor::Role::State) {
      result = bufferization::AllocTensorOp::create(
          builder, loc, cast<RankedTensorType>(result.getType()), ValueRange(),
          /*copy=*/result);
    }
  }
  for (auto [result, destination] : llvm::zip(results, destinations))
    bufferization::MaterializeInDestinationOp::create(
        builder, loc, /*result=*/Type(), result, destination,
        /*restrict=*/true, /*writable=*/true);
  terminator->setOperands({});
  function.setFunctionType(builder.getFunctionType(types, {}));
}

namespace {
struct DestinationArguments
    : gatefold::impl::DestinationArgumentsBase<DestinationArguments> {
  void runOnOperation() override {
    auto visit = [](EntryFunction &entry, const Interface &) -> LogicalResult {
      if (entry.function.getNumArguments() != entry.argumentCount)
        return entry.function->emitError("has no arguments that agree with ")
               << descriptionName;
      useBuffers(entry);
      return success();
    };
    if (failed(visitEntryFunctions(getOperation(), /*haveArena=*/false, visit)))
      signalPassFailure();
  }
};
} // namespace
