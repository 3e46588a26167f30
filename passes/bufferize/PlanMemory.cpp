// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- PlanMemory.cpp - All buffers of a run in one arena -----------------===//
//
// Gives each buffer of a run, and of prepare, its place in one arena, and
// computes the arena's size.
//
//===----------------------------------------------------------------------===//

#include "dialect/GatefoldOps.h"
#include "mlir/Dialect/Bufferization/Transforms/BufferViewFlowAnalysis.h"
#include "mlir/Interfaces/LoopLikeInterface.h"
#include "passes/bufferize/Passes.h"
#include "passes/bufferize/SizeFormula.h"
#include "passes/support/CheckedSizes.h"
#include "passes/support/Entry.h"
#include "passes/support/SizeResolver.h"

namespace gatefold {
#define GEN_PASS_DEF_PLANMEMORY
#include "passes/bufferize/Passes.h.inc"
} // namespace gatefold

using namespace mlir;
using namespace gatefold;

namespace {
/// A buffer, and the span of operations, in program order, over which it lives.
struct PlannedBuffer {
  memref::AllocOp alloc;
  int64_t start, end;
  /// It is made in a parallel loop: each rank has its own.
  bool isPrivate = false;
  unsigned slot = 0;
};

/// Where in program order an operation, with all that it holds, begins and
/// ends.
class ProgramOrder {
public:
  explicit ProgramOrder(Operation *root) { number(root); }
  int64_t start(Operation *op) const { return spans.lookup(op).first; }
  int64_t end(Operation *op) const { return spans.lookup(op).second; }

private:
  void number(Operation *op) {
    int64_t first = next++;
    for (Region &region : op->getRegions())
      for (Block &block : region)
        for (Operation &inner : block)
          number(&inner);
    spans[op] = {first, next - 1};
  }

  llvm::DenseMap<Operation *, std::pair<int64_t, int64_t>> spans;
  int64_t next = 0;
};

/// Offsets of slots, as i64: those that ranks share from the start of the
/// arena, private ones from the start of the rank's own part; and the bytes of
/// both.
struct ArenaLayout {
  SmallVector<Value> offsets;
  Value shared, own;
  /// The bytes of each slot, before they are rounded up.
  SmallVector<Value> bytes;
};

class MemoryPlan {
public:
  MemoryPlan(const EntryFunction &function, const Interface &interface)
      : entry(function.function), function(function), interface(interface) {}

  LogicalResult collect();
  void assignSlots();
  LogicalResult rewrite();
  LogicalResult makeArenaFunction(ModuleOp module);
  void describeArena(ModuleOp module, const ArenaLayout &layout,
                     ArrayRef<Value> symbols);

  unsigned getBufferCount() const { return buffers.size(); }
  unsigned getSlotCount() const { return isPrivate.size(); }

private:
  LogicalResult measure(PlannedBuffer &buffer, const ProgramOrder &order,
                        const BufferViewFlowAnalysis &aliases);
  FailureOr<ArenaLayout> layOut(OpBuilder &builder, SizeResolver &resolver,
                                CheckedSizes &sizes);

  func::FuncOp entry;
  const EntryFunction &function;
  const Interface &interface;
  SmallVector<PlannedBuffer> buffers;
  /// For each slot, whether each rank has its own.
  SmallVector<bool> isPrivate;
};
} // namespace

/// Bytes of one element in memory.
static int64_t elementBytes(Type element) {
  if (element.isIndex())
    return 8;
  return llvm::divideCeil(element.getIntOrFloatBitWidth(), 8);
}

/// Finds the last use, of the buffer or of any view of it.
LogicalResult MemoryPlan::measure(PlannedBuffer &buffer,
                                  const ProgramOrder &order,
                                  const BufferViewFlowAnalysis &aliases) {
  memref::AllocOp alloc = buffer.alloc;
  SmallVector<Operation *> users;
  for (Value alias : aliases.resolve(alloc.getResult()))
    llvm::append_range(users, alias.getUsers());
  // The block that holds all uses is that of the buffer, unless it is the
  // result of a branch.
  Block *block = alloc->getBlock();
  buffer.start = order.start(alloc);
  buffer.end = buffer.start;
  // The next iteration would use it before the place where it is made.
  for (Operation *user : users) {
    auto loop = dyn_cast<LoopLikeOpInterface>(user->getParentOp());
    if (loop && user->hasTrait<OpTrait::IsTerminator>() &&
        loop->isProperAncestor(alloc))
      return alloc.emitError(
          "not compiled yet: a buffer yielded by the loop that makes it");
  }
  for (Operation *user : users) {
    Operation *ancestor = block->findAncestorOpInBlock(*user);
    while (!ancestor) {
      Operation *parent = block->getParentOp();
      assert(!isa<LoopLikeOpInterface>(parent) && parent != entry &&
             "a buffer leaves a loop by its terminator alone");
      block = parent->getBlock();
      ancestor = block->findAncestorOpInBlock(*user);
    }
    buffer.end = std::max(buffer.end, order.end(ancestor));
  }
  return success();
}

LogicalResult MemoryPlan::collect() {
  if (!llvm::hasSingleElement(entry.getBody()))
    return entry.emitError("has more than one block");
  ProgramOrder order(entry);
  BufferViewFlowAnalysis aliases(entry);
  WalkResult result = entry.walk([&](Operation *op) {
    if (auto alloc = dyn_cast<memref::AllocOp>(op)) {
      if (!alloc.getType().getLayout().isIdentity() ||
          !alloc.getSymbolOperands().empty()) {
        alloc.emitError("not compiled yet: a buffer with a layout");
        return WalkResult::interrupt();
      }
      PlannedBuffer buffer{alloc, 0, 0};
      buffer.isPrivate = alloc->getParentOfType<scf::ForallOp>() != nullptr;
      if (buffer.isPrivate && !function.hasOpenArena) {
        alloc.emitError("not compiled yet: a buffer of each rank in what "
                        "depends on parameters alone");
        return WalkResult::interrupt();
      }
      if (failed(measure(buffer, order, aliases)))
        return WalkResult::interrupt();
      buffers.push_back(buffer);
    } else if (isa<memref::AllocaOp, memref::ReallocOp, memref::DeallocOp>(
                   op)) {
      op->emitError("not compiled yet: memory that is not planned");
      return WalkResult::interrupt();
    }
    return WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}

/// First fit in program order: a buffer takes the slot of one that has died,
/// preferably of its own type and sizes. What a parallel loop uses lives until
/// its end at least, so that it does not matter how far each rank is in it.
void MemoryPlan::assignSlots() {
  struct Slot {
    int64_t lastUse;
    memref::AllocOp sample;
  };
  SmallVector<Slot> slots;
  auto isAlike = [](memref::AllocOp left, memref::AllocOp right) {
    return left.getType() == right.getType() &&
           left.getDynamicSizes() == right.getDynamicSizes();
  };
  for (PlannedBuffer &buffer : buffers) {
    Slot *chosen = nullptr;
    for (Slot &slot : slots) {
      if (slot.lastUse >= buffer.start ||
          isPrivate[&slot - slots.begin()] != buffer.isPrivate)
        continue;
      bool alike = isAlike(slot.sample, buffer.alloc);
      if (!chosen || alike)
        chosen = &slot;
      if (alike)
        break;
    }
    if (!chosen) {
      chosen = &slots.emplace_back(Slot{0, buffer.alloc});
      isPrivate.push_back(buffer.isPrivate);
    }
    chosen->lastUse = buffer.end;
    buffer.slot = chosen - slots.begin();
  }
}

FailureOr<ArenaLayout> MemoryPlan::layOut(OpBuilder &builder,
                                          SizeResolver &resolver,
                                          CheckedSizes &sizes) {
  SmallVector<Value> bytesOfSlot(isPrivate.size());
  for (const PlannedBuffer &buffer : buffers) {
    memref::AllocOp alloc = buffer.alloc;
    Location loc = alloc.getLoc();
    MemRefType type = alloc.getType();
    Value bytes = sizes.constant(elementBytes(type.getElementType()));
    for (int64_t dim = 0; dim < type.getRank(); ++dim) {
      Value size = resolver.size(alloc, dim);
      if (!size) {
        InFlightDiagnostic error = alloc.emitError(
            "not compiled yet: a buffer whose size depends on data");
        if (Value culprit = resolver.getCulprit())
          error.attachNote(culprit.getLoc())
              << "this is not known before a run";
        return error;
      }
      size =
          arith::IndexCastOp::create(builder, loc, builder.getI64Type(), size);
      sizes.requireNonNegative(size);
      bytes = sizes.multiply(bytes, size);
    }
    Value &slot = bytesOfSlot[buffer.slot];
    slot = slot ? arith::MaxSIOp::create(builder, loc, slot, bytes).getResult()
                : bytes;
  }

  ArenaLayout layout;
  layout.bytes = bytesOfSlot;
  layout.shared = sizes.constant(0);
  layout.own = layout.shared;
  Location loc = entry.getLoc();
  for (auto [bytes, isOwn] : llvm::zip(bytesOfSlot, isPrivate)) {
    Value &total = isOwn ? layout.own : layout.shared;
    layout.offsets.push_back(total);
    Value padded = sizes.add(bytes, sizes.constant(arenaAlignment - 1));
    padded = arith::AndIOp::create(builder, loc, padded,
                                   sizes.constant(-arenaAlignment));
    total = sizes.add(total, padded);
  }
  return layout;
}

/// Replaces each buffer by a view at the start of the entry.
LogicalResult MemoryPlan::rewrite() {
  Block &block = entry.getBody().front();
  OpBuilder builder(entry.getContext());
  Location loc = entry.getLoc();
  // Made up here, so that the arena's views and their sizes stand before
  // everything else.
  Operation *first = &block.front();
  builder.setInsertionPoint(first);
  auto sizeLeaf = [&](Value shaped, int64_t dim) -> Value {
    auto argument = dyn_cast<BlockArgument>(shaped);
    if (!argument || argument.getOwner() != &block)
      return {};
    return memref::DimOp::create(builder, loc, shaped, dim);
  };
  auto indexLeaf = [](Value) { return Value(); };
  SizeResolver resolver(builder, sizeLeaf, indexLeaf);
  SizeResolver exact(builder, sizeLeaf, indexLeaf);
  resolver.boundBuffers();
  CheckedSizes sizes(builder, loc);
  FailureOr<ArenaLayout> layout = layOut(builder, resolver, sizes);
  if (failed(layout))
    return failure();

  auto arenaType = MemRefType::get({ShapedType::kDynamic}, builder.getI8Type());
  if (failed(entry.insertArgument(entry.getNumArguments(), arenaType, {}, loc)))
    return failure();
  Value arena = entry.getArguments().back();
  Value ownPlace;
  if (llvm::is_contained(isPrivate, true)) {
    Value rank = arith::IndexCastOp::create(builder, loc, builder.getI64Type(),
                                            TeamRankOp::create(builder, loc));
    ownPlace = arith::MulIOp::create(builder, loc, rank, layout->own);
    ownPlace = arith::AddIOp::create(builder, loc, ownPlace, layout->shared);
  }
  SmallVector<Value> views;
  for (const PlannedBuffer &buffer : buffers) {
    memref::AllocOp alloc = buffer.alloc;
    MemRefType type = alloc.getType();
    SmallVector<Value> dynamicSizes;
    for (int64_t dim = 0; dim < type.getRank(); ++dim)
      if (type.isDynamicDim(dim))
        dynamicSizes.push_back(exact.size(alloc, dim));
    Value offset = layout->offsets[buffer.slot];
    if (buffer.isPrivate)
      offset = arith::AddIOp::create(builder, alloc.getLoc(), offset, ownPlace);
    offset = arith::IndexCastOp::create(builder, alloc.getLoc(),
                                        builder.getIndexType(), offset);
    // Of a buffer that is at most so large, the size is known where it is made.
    OpBuilder::InsertionGuard guard(builder);
    if (llvm::is_contained(dynamicSizes, Value())) {
      builder.setInsertionPoint(alloc);
      dynamicSizes.assign(alloc.getDynamicSizes().begin(),
                          alloc.getDynamicSizes().end());
    }
    views.push_back(memref::ViewOp::create(builder, alloc.getLoc(), type, arena,
                                           offset, dynamicSizes));
  }
  for (auto [buffer, view] : llvm::zip(buffers, views)) {
    buffer.alloc.replaceAllUsesWith(view);
    buffer.alloc.erase();
  }
  return success();
}

/// Leaves the arena's size as text, where it is made of plain arithmetic.
void MemoryPlan::describeArena(ModuleOp module, const ArenaLayout &layout,
                               ArrayRef<Value> symbols) {
  auto nameOf = [&](Value value) -> std::string {
    auto found = llvm::find(symbols, value);
    return found == symbols.end()
               ? ""
               : interface.dimensions[found - symbols.begin()];
  };
  SizeFormula shared, own;
  for (auto [bytes, isOwn] : llvm::zip(layout.bytes, isPrivate)) {
    std::optional<SizeFormula> formula = SizeFormula::of(bytes, nameOf);
    if (!formula)
      return;
    SizeFormula &total = isOwn ? own : shared;
    total = total + formula->roundedUp(arenaAlignment);
  }
  Builder builder(module.getContext());
  module->setAttr(arenaFormulaName, builder.getStringAttr(shared.text()));
  module->setAttr(rankFormulaName, builder.getStringAttr(own.text()));
}

/// gatefold_arena_bytes(symbols, ranks), gatefold_prepare_arena_bytes(). Runs
/// before `rewrite`.
LogicalResult MemoryPlan::makeArenaFunction(ModuleOp module) {
  MLIRContext *context = module.getContext();
  Location loc = entry.getLoc();
  OpBuilder builder(context);
  builder.setInsertionPointToEnd(module.getBody());
  auto pointer = LLVM::LLVMPointerType::get(context);
  Type i64 = builder.getI64Type();
  SmallVector<Type> argumentTypes;
  if (function.hasOpenArena)
    argumentTypes = {pointer, i64};
  auto arenaBytes =
      func::FuncOp::create(builder, loc, function.arenaFunction,
                           builder.getFunctionType(argumentTypes, {i64}));
  builder.setInsertionPointToStart(arenaBytes.addEntryBlock());

  CheckedSizes sizes(builder, loc);
  SmallVector<Value> symbols;
  for (int32_t i = 0, e = interface.dimensions.size();
       function.hasOpenArena && i < e; ++i) {
    Value place = LLVM::GEPOp::create(builder, loc, pointer, i64,
                                      arenaBytes.getArgument(0),
                                      ArrayRef<LLVM::GEPArg>{LLVM::GEPArg(i)});
    symbols.push_back(LLVM::LoadOp::create(builder, loc, i64, place));
    sizes.requireNonNegative(symbols.back());
  }
  SizeResolver resolver(
      builder,
      [&](Value shaped, int64_t dim) -> Value {
        auto argument = dyn_cast<BlockArgument>(shaped);
        if (!argument || argument.getOwner() != &entry.getBody().front())
          return {};
        AffineMap shape = function.tensors[argument.getArgNumber()]->shape;
        Value size = sizes.evaluate(shape.getResult(dim), symbols);
        return arith::IndexCastOp::create(builder, loc, builder.getIndexType(),
                                          size);
      },
      [](Value) { return Value(); });
  resolver.boundBuffers();
  resolver.checkWith(&sizes);
  FailureOr<ArenaLayout> layout = layOut(builder, resolver, sizes);
  if (failed(layout))
    return failure();
  Value total = layout->shared;
  if (function.hasOpenArena) {
    describeArena(module, *layout, symbols);
    total = sizes.add(total,
                      sizes.multiply(layout->own, arenaBytes.getArgument(1)));
  }
  func::ReturnOp::create(builder, loc, sizes.orMinusOne(total));
  return success();
}

namespace {
struct PlanMemory : gatefold::impl::PlanMemoryBase<PlanMemory> {
  void runOnOperation() override {
    auto visit = [&](EntryFunction &function, const Interface &interface) {
      MemoryPlan plan(function, interface);
      if (failed(plan.collect()))
        return failure();
      plan.assignSlots();
      if (failed(plan.makeArenaFunction(getOperation())) ||
          failed(plan.rewrite()))
        return failure();
      buffersPlanned += plan.getBufferCount();
      slotsUsed += plan.getSlotCount();
      return success();
    };
    if (failed(visitEntryFunctions(getOperation(), /*haveArena=*/false, visit)))
      signalPassFailure();
  }
};
} // namespace
