// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- OutlineVectors.cpp - Code on vectors in functions ------------------===//
//
// Vectors become values of threads that live through whole loops. In a function
// of their own they have all registers; beside them would stand every size and
// pointer that the run keeps.
//
//===----------------------------------------------------------------------===//

#include "mlir/IR/IRMapping.h"
#include "mlir/Transforms/RegionUtils.h"
#include "passes/gpu/Kernels.h"
#include "passes/gpu/Passes.h"
#include "passes/support/Entry.h"
#include "llvm/ADT/SetVector.h"

namespace gatefold {
#define GEN_PASS_DEF_OUTLINEVECTORS
#include "passes/gpu/Passes.h.inc"
} // namespace gatefold

using namespace mlir;
using namespace gatefold;

static bool isVector(Type type) { return isa<VectorType>(type); }

/// Whether vectors go into the operation or come out of it. Constants are
/// cloned into each function that uses them.
static bool usesVectors(Operation *op) {
  if (llvm::any_of(op->getOperandTypes(), isVector) ||
      llvm::any_of(op->getResultTypes(), isVector))
    return true;
  if (op->getNumRegions() == 0)
    return false;
  SetVector<Value> captured;
  getUsedValuesDefinedAbove(op->getRegions(), captured);
  return llvm::any_of(captured, [](Value value) {
    Operation *source = value.getDefiningOp();
    return isVector(value.getType()) &&
           !(source && source->hasTrait<OpTrait::ConstantLike>());
  });
}

/// Whether a function on vectors may hold the operation: it computes scalars,
/// reads, or is on vectors.
static bool isAllowed(Operation *op) {
  return !op->walk([](Operation *inner) {
              bool isKnown = isa<arith::ArithDialect, math::MathDialect,
                                 vector::VectorDialect>(inner->getDialect()) ||
                             isa<scf::ForOp, scf::IfOp, scf::YieldOp,
                                 memref::LoadOp, memref::DimOp>(inner) ||
                             (isa<memref::MemRefDialect>(inner->getDialect()) &&
                              isMemoryEffectFree(inner));
              return isKnown ? WalkResult::advance() : WalkResult::interrupt();
            }).wasInterrupted();
}

namespace {
/// Operations of one block that follow one another.
class Stretch {
public:
  explicit Stretch(ArrayRef<Operation *> operations)
      : operations(operations.begin(), operations.end()) {}
  LogicalResult outline(SymbolTable &symbols);

private:
  bool isInside(Operation *op) const {
    Operation *ancestor =
        operations.front()->getBlock()->findAncestorOpInBlock(*op);
    return ancestor && llvm::is_contained(operations, ancestor);
  }
  LogicalResult moveScalarsOut();
  void collectArguments(SetVector<Value> &arguments,
                        SetVector<Value> &constants);

  SmallVector<Operation *> operations;
};
} // namespace

/// What is used behind the stretch, too, is computed in front of it.
LogicalResult Stretch::moveScalarsOut() {
  SetVector<Operation *> wanted;
  for (Operation *op : llvm::reverse(operations)) {
    bool isUsedBehind = llvm::any_of(op->getUsers(), [&](Operation *user) {
      return !isInside(user) || wanted.contains(user);
    });
    if (!isUsedBehind)
      continue;
    if (usesVectors(op))
      return op->emitError("vectors live through code that a function on "
                           "vectors cannot hold");
    if (!isMemoryEffectFree(op))
      return op->emitError("is read among vectors and used behind them");
    wanted.insert(op);
  }
  // Others that they need move, too.
  for (size_t i = 0; i < wanted.size(); ++i)
    for (Value operand : wanted[i]->getOperands())
      if (Operation *op = operand.getDefiningOp();
          op && llvm::is_contained(operations, op) && !wanted.contains(op)) {
        if (usesVectors(op) || !isMemoryEffectFree(op))
          return op->emitError("is read among vectors and used behind them");
        wanted.insert(op);
      }
  Operation *first = operations.front();
  SmallVector<Operation *> rest;
  for (Operation *op : operations) {
    if (wanted.contains(op))
      op->moveBefore(first);
    else
      rest.push_back(op);
  }
  operations = std::move(rest);
  return success();
}

void Stretch::collectArguments(SetVector<Value> &arguments,
                               SetVector<Value> &constants) {
  auto collect = [&](Value value) {
    Operation *op = value.getDefiningOp();
    if (op && op->hasTrait<OpTrait::ConstantLike>())
      constants.insert(value);
    else
      arguments.insert(value);
  };
  for (Operation *op : operations)
    op->walk([&](Operation *inner) {
      for (Value operand : inner->getOperands()) {
        Operation *owner = operand.getParentBlock()->getParentOp();
        bool isMadeInside = operand.getDefiningOp()
                                ? isInside(operand.getDefiningOp())
                                : isInside(owner);
        if (!isMadeInside)
          collect(operand);
      }
    });
}

LogicalResult Stretch::outline(SymbolTable &symbols) {
  if (failed(moveScalarsOut()))
    return failure();
  SetVector<Value> arguments, constants;
  collectArguments(arguments, constants);
  Location loc = operations.front()->getLoc();
  OpBuilder builder(operations.front());
  SmallVector<Type> types(ValueRange(arguments.getArrayRef()).getTypes());
  auto function = func::FuncOp::create(loc, "gatefold_vectors",
                                       builder.getFunctionType(types, {}));
  function.setPrivate();
  function->setAttr(vectorsName, builder.getUnitAttr());
  // Inlined again, nothing would be won.
  function->setAttr("passthrough", builder.getStrArrayAttr({"noinline"}));
  symbols.insert(function);
  func::CallOp::create(builder, loc, function, arguments.getArrayRef());
  Block *body = function.addEntryBlock();
  builder.setInsertionPointToStart(body);
  IRMapping mapping;
  mapping.map(arguments.getArrayRef(), body->getArguments());
  for (Value constant : constants)
    builder.clone(*constant.getDefiningOp(), mapping);
  for (Operation *op : operations) {
    op->moveBefore(body, body->end());
    op->walk([&](Operation *inner) {
      for (OpOperand &operand : inner->getOpOperands())
        operand.set(mapping.lookupOrDefault(operand.get()));
    });
  }
  builder.setInsertionPointToEnd(body);
  func::ReturnOp::create(builder, loc);
  return success();
}

/// Finds the stretches of a block, and of the blocks in it.
static LogicalResult outlineBlock(Block &block, SymbolTable &symbols,
                                  unsigned &made) {
  SmallVector<SmallVector<Operation *>> stretches;
  SmallVector<Operation *> current;
  size_t used = 0;
  auto close = [&]() {
    current.truncate(used);
    if (!current.empty())
      stretches.push_back(current);
    current.clear();
    used = 0;
  };
  for (Operation &op : block.without_terminator()) {
    if (op.hasTrait<OpTrait::ConstantLike>())
      continue;
    bool isUser = usesVectors(&op);
    if (!isAllowed(&op)) {
      if (isUser)
        return op.emitError("a function on vectors cannot hold '")
               << op.getName() << "', which uses one, or what is in it";
      close();
      continue;
    }
    if (current.empty() && !isUser)
      continue;
    current.push_back(&op);
    if (isUser)
      used = current.size();
  }
  close();
  for (ArrayRef<Operation *> stretch : stretches) {
    if (failed(Stretch(stretch).outline(symbols)))
      return failure();
    ++made;
  }
  for (Operation &op : block)
    for (Region &region : op.getRegions())
      for (Block &inner : region)
        if (failed(outlineBlock(inner, symbols, made)))
          return failure();
  return success();
}

namespace {
struct OutlineVectors : gatefold::impl::OutlineVectorsBase<OutlineVectors> {
  void runOnOperation() override {
    SymbolTable symbols(getOperation());
    unsigned made = 0;
    for (StringRef name : {runFunction, prepareFunction}) {
      auto entry = symbols.lookup<func::FuncOp>(name);
      if (!entry)
        continue;
      for (Block &block : entry.getBody())
        if (failed(outlineBlock(block, symbols, made)))
          return signalPassFailure();
    }
    functionsMade += made;
  }
};
} // namespace
