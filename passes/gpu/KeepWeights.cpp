// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- KeepWeights.cpp - Weights of a recurrence in shared memory ---------===//
//
// Each step of a recurrence multiplies the states with the same panels. A rank
// copies its part of them once, before the loop, to the end of its block's
// shared memory; steps read them there. Whether the part fits is known when
// the code runs, since its size depends on how many ranks there are.
//
//===----------------------------------------------------------------------===//

#include "mlir/IR/Remarks.h"
#include "mlir/Interfaces/ViewLikeInterface.h"
#include "passes/cpu/KernelBuilder.h"
#include "passes/cpu/ProductCalls.h"
#include "passes/gpu/Kernels.h"
#include "passes/gpu/LinearToTiles.h"
#include "passes/gpu/Passes.h"
#include "passes/gpu/SharedTile.h"
#include "passes/schedule/StepPanels.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

namespace gatefold {
#define GEN_PASS_DEF_KEEPWEIGHTS
#include "passes/gpu/Passes.h.inc"
} // namespace gatefold

using namespace mlir;
using namespace gatefold;

/// A copy costs what reading the panels in one step costs.
static constexpr int64_t leastSteps = 4;

/// Elements along k that a tile of the product takes at a time.
static int64_t getStep(LinearOp op) {
  ProductTypes types = getProductTypes(op);
  return getTileStep(types,
                     op->hasAttr(stepProductName) && mayShareTerms(types));
}

/// The buffer that a view shows: a place in the arena, or an argument.
static Value getBuffer(Value view) {
  while (auto op = view.getDefiningOp<ViewLikeOpInterface>()) {
    if (isa<memref::ViewOp>(op.getOperation()))
      break;
    view = op.getViewSource();
  }
  return view;
}

/// The buffers that operations in a loop write, in order; null for one that is
/// not known.
static SmallVector<std::pair<Operation *, Value>> findWrites(scf::ForOp loop) {
  SmallVector<std::pair<Operation *, Value>> writes;
  loop.walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (auto call = dyn_cast<func::CallOp>(op)) {
      // A function of an operation may write each buffer that it takes.
      for (Value operand : call.getOperands())
        if (isa<MemRefType>(operand.getType()))
          writes.emplace_back(op, getBuffer(operand));
      return;
    }
    if (isa<gpu::BarrierOp, TeamBarrierOp>(op))
      return;
    auto effects = dyn_cast<MemoryEffectOpInterface>(op);
    if (!effects)
      return;
    SmallVector<MemoryEffects::EffectInstance> found;
    effects.getEffects(found);
    for (const MemoryEffects::EffectInstance &effect : found)
      if (isa<MemoryEffects::Write>(effect.getEffect()))
        writes.emplace_back(op, effect.getValue() ? getBuffer(effect.getValue())
                                                  : Value());
  });
  return writes;
}

namespace {
/// Panels that are the same in all iterations of a loop.
struct KeptPanels {
  /// The products that read them.
  SmallVector<LinearOp> products;
  /// What computes the panels, before the loop.
  Value source;
  /// Whether they are kept, and what they are there.
  Value isKept, shared;

  LinearOp first() const { return products.front(); }
};

/// Keeps the panels of the products of one loop.
class Keeping {
public:
  Keeping(scf::ForOp loop, const TargetDescription &target, int64_t keptBytes)
      : builder(loop.getLoc(), loop), loop(loop), keptBytes(keptBytes),
        firstByte(target.blockSharedBytes - keptBytes) {}
  void keep(MutableArrayRef<KeptPanels> all);

private:
  Value cloneBefore(Value value);
  Value makeIsReached(LinearOp op);
  void place(KeptPanels &panels, Value &end);
  void copy(const KeptPanels &panels, Value memory, Value depth);
  void replace(LinearOp op, const KeptPanels &panels);

  KernelBuilder builder;
  scf::ForOp loop;
  int64_t keptBytes, firstByte;
  Value shared, isLong;
  IRMapping mapping;
};
} // namespace

/// Whether an operation may be executed where it would not have been. There is
/// at least one rank to divide by.
static bool isSafe(Operation *op) {
  if (isPure(op))
    return true;
  return isa<arith::DivUIOp, arith::CeilDivUIOp, arith::RemUIOp>(op) &&
         op->getOperand(1).getDefiningOp<TeamSizeOp>();
}

/// Whether a value can be computed before the loop, from what is known there.
static bool isKnownBefore(Value value, scf::ForOp loop) {
  if (loop.isDefinedOutsideOfLoop(value))
    return true;
  Operation *op = value.getDefiningOp();
  return op && op->getNumRegions() == 0 && isSafe(op) &&
         llvm::all_of(op->getOperands(), [&](Value operand) {
           return isKnownBefore(operand, loop);
         });
}

Value Keeping::cloneBefore(Value value) {
  if (loop.isDefinedOutsideOfLoop(value))
    return value;
  if (Value known = mapping.lookupOrNull(value))
    return known;
  Operation *op = value.getDefiningOp();
  for (Value operand : op->getOperands())
    mapping.map(operand, cloneBefore(operand));
  builder.clone(*op, mapping);
  return mapping.lookup(value);
}

/// Whether the loop comes to the product, as far as that is known before it.
Value Keeping::makeIsReached(LinearOp op) {
  Value isReached = isLong;
  Region *region = op->getParentRegion();
  for (Operation *parent = op->getParentOp(); parent != loop;
       region = parent->getParentRegion(), parent = parent->getParentOp()) {
    auto choice = dyn_cast<scf::IfOp>(parent);
    if (!choice || !isKnownBefore(choice.getCondition(), loop))
      continue;
    Value condition = cloneBefore(choice.getCondition());
    if (region == &choice.getElseRegion())
      condition = builder.createOrFold<arith::XOrIOp>(
          condition,
          arith::ConstantOp::create(builder, builder.getBoolAttr(true)));
    isReached = builder.createOrFold<arith::AndIOp>(isReached, condition);
  }
  return isReached;
}

/// The panels tile by tile, zeros behind the end of k; by all threads.
void Keeping::copy(const KeptPanels &panels, Value memory, Value depth) {
  ProductTypes types = getProductTypes(panels.first());
  int64_t step = getStep(panels.first()), width = types.width;
  SharedTile tile(step, width, types.panels.getIntOrFloatBitWidth() / 8);
  Value zero = builder.index(0), one = builder.index(1);
  Value size = builder.size(panels.source, 1);
  auto elements = scf::ParallelOp::create(
      builder, ValueRange{zero, zero, zero},
      ValueRange{builder.size(panels.source, 0), depth, builder.index(width)},
      ValueRange{one, one, one});
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(elements.getBody());
  SmallVector<Value> at(elements.getInductionVars());
  Value value = builder.either(
      builder.compare(arith::CmpIPredicate::ult, at[1], size), types.panels,
      [&]() -> SmallVector<Value> {
        return {memref::LoadOp::create(builder, panels.source, at)};
      },
      [&]() -> SmallVector<Value> {
        return {arith::ConstantOp::create(builder,
                                          builder.getZeroAttr(types.panels))};
      })[0];
  auto toWord = [&](Value index) -> Value {
    return arith::IndexCastOp::create(builder, builder.getI32Type(), index);
  };
  Value row = builder.remainder(at[1], builder.index(step));
  Value byte =
      tile.buildOffset(builder, builder.getLoc(), toWord(row), toWord(at[2]));
  Value inTile = builder.divide(
      arith::IndexCastOp::create(builder, builder.getIndexType(), byte),
      builder.index(tile.getElementBytes()));
  Value tileRow =
      builder.subtract(builder.add(builder.multiply(at[0], depth), at[1]), row);
  memref::StoreOp::create(
      builder, value, memory,
      builder.add(builder.multiply(tileRow, builder.index(width)), inTile));
}

/// Finds a place in the kept memory from `end` on, copies the panels there if
/// they fit, and moves `end` behind them.
void Keeping::place(KeptPanels &panels, Value &end) {
  ProductTypes types = getProductTypes(panels.first());
  panels.source = cloneBefore(panels.first().getPanels());
  Value isReached = makeIsReached(panels.first());
  for (LinearOp op : ArrayRef(panels.products).drop_front())
    isReached =
        builder.createOrFold<arith::OrIOp>(isReached, makeIsReached(op));
  Value step = builder.index(getStep(panels.first()));
  Value count = builder.size(panels.source, 0);
  Value size = builder.size(panels.source, 1);
  Value depth = builder.multiply(builder.divideUp(size, step), step);
  Value elements = builder.multiply(builder.multiply(count, depth),
                                    builder.index(types.width));
  // A tile has at least 16 rows of 16 bytes, so that the next one is aligned.
  Value bytes = builder.multiply(
      elements, builder.index(types.panels.getIntOrFloatBitWidth() / 8));
  Value after = builder.add(end, bytes);
  Value fits = builder.compare(arith::CmpIPredicate::ule, after,
                               builder.index(keptBytes));
  panels.isKept = builder.createOrFold<arith::AndIOp>(fits, isReached);
  Value at = builder.add(end, builder.index(firstByte));
  constexpr int64_t open = ShapedType::kDynamic;
  auto getType = [&](ArrayRef<int64_t> sizes) {
    return MemRefType::get(sizes, types.panels, MemRefLayoutAttrInterface(),
                           cast<MemRefType>(shared.getType()).getMemorySpace());
  };
  builder.when(panels.isKept, [&] {
    Value memory = memref::ViewOp::create(builder, getType({open}), shared, at,
                                          ValueRange{elements});
    copy(panels, memory, depth);
  });
  Value whole =
      memref::ViewOp::create(builder, getType({open, open, types.width}),
                             shared, at, ValueRange{count, depth});
  SmallVector<OpFoldResult> offsets(3, builder.getIndexAttr(0));
  SmallVector<OpFoldResult> strides(3, builder.getIndexAttr(1));
  SmallVector<OpFoldResult> sizes = {count, size,
                                     builder.getIndexAttr(types.width)};
  panels.shared =
      memref::SubViewOp::create(builder, whole, offsets, sizes, strides);
  end = builder.choose(panels.isKept, after, end);
}

/// The product on the kept panels where they are kept.
void Keeping::replace(LinearOp op, const KeptPanels &panels) {
  KernelBuilder inside(op.getLoc(), op);
  auto choice = scf::IfOp::create(inside, panels.isKept,
                                  /*withElseRegion=*/true);
  IRMapping kept;
  kept.map(op.getPanels(), panels.shared);
  OpBuilder body = choice.getThenBodyBuilder();
  body.clone(*op, kept);
  op->moveBefore(choice.elseBlock()->getTerminator());
}

void Keeping::keep(MutableArrayRef<KeptPanels> all) {
  // The counter runs over steps, in a loop over blocks of steps too.
  Value span = builder.subtract(loop.getUpperBound(), loop.getLowerBound());
  isLong = builder.compare(arith::CmpIPredicate::sge, span,
                           builder.index(leastSteps));
  auto space = gpu::AddressSpaceAttr::get(builder.getContext(),
                                          gpu::AddressSpace::Workgroup);
  shared = gpu::DynamicSharedMemoryOp::create(
      builder, MemRefType::get({ShapedType::kDynamic}, builder.getI8Type(),
                               MemRefLayoutAttrInterface(), Attribute(space)));
  // What came before may still read there.
  gpu::BarrierOp::create(builder);
  Value end = builder.index(0);
  for (KeptPanels &panels : all)
    place(panels, end);
  gpu::BarrierOp::create(builder);
  for (const KeptPanels &panels : all)
    for (LinearOp op : panels.products)
      replace(op, panels);
  loop->setAttr(keptBytesName, builder.getI64IntegerAttr(keptBytes));
}

/// Whether a product of the loop, of no loop in it, hands its x from one
/// iteration to a later one: what it holds is written behind the product, and
/// not before it.
static bool isRecurrence(scf::ForOp loop) {
  llvm::SmallPtrSet<Value, 4> read, written;
  for (auto [writer, buffer] : findWrites(loop)) {
    auto op = dyn_cast<LinearOp>(writer);
    Value x = op ? getBuffer(op.getX()) : Value();
    if (op && op->getParentOfType<scf::ForOp>() == loop && !written.contains(x))
      read.insert(x);
    if (read.contains(buffer))
      return true;
    written.insert(buffer);
  }
  return false;
}

/// The outermost loop around `step`, itself included, in all of whose
/// iterations the panels are the same; null if they are not even there.
static scf::ForOp findLoop(LinearOp op, scf::ForOp step) {
  scf::ForOp found;
  Value buffer = getBuffer(op.getPanels());
  for (scf::ForOp loop = step; loop;
       loop = loop->getParentOfType<scf::ForOp>()) {
    bool isSame = isKnownBefore(op.getPanels(), loop) &&
                  llvm::none_of(findWrites(loop), [&](const auto &write) {
                    return !write.second || write.second == buffer;
                  });
    if (!isSame)
      break;
    found = loop;
  }
  return found;
}

/// Shared memory for weights: what the tiles of functions beside them leave.
static int64_t getKeptBytes(const TargetDescription &target) {
  // Two stages of 32 rows of x, of 64 bytes along k for each warp, and sums
  // that are joined; or four stages of the largest tiles of another product; or
  // what an operation of another kind needs.
  int64_t tiles = 48 << 10;
  return (target.blockSharedBytes - tiles) / SharedTile::alignment *
         SharedTile::alignment;
}

/// Why the panels of a product do not fit, whatever the sizes of a run; nothing
/// where they may.
static std::string getRoomObstacle(LinearOp op, const TargetDescription &target,
                                   int64_t keptBytes) {
  ProductTypes types = getProductTypes(op);
  auto panels = cast<MemRefType>(op.getPanels().getType());
  auto all = dyn_cast<MemRefType>(getBuffer(op.getPanels()).getType());
  int64_t count = panels.getDimSize(0), depth = panels.getDimSize(1);
  if (ShapedType::isDynamic(depth))
    return "";
  bool isShared = ShapedType::isDynamic(count);
  if (isShared) {
    count = 1;
    // Of as many blocks as there are multiprocessors some have so many.
    if (all && all.getRank() == 3 && !all.isDynamicDim(0) &&
        target.multiprocessors > 0)
      count = llvm::divideCeil(all.getDimSize(0), target.multiprocessors);
  }
  int64_t bytes = count * llvm::alignTo(depth, getStep(op)) * types.width *
                  (types.panels.getIntOrFloatBitWidth() / 8);
  if (bytes <= keptBytes)
    return "";
  return std::string(isShared ? "a block's part takes at least "
                              : "a block that has all of them needs ") +
         std::to_string(bytes) + " bytes of shared memory, and has " +
         std::to_string(keptBytes) + " for them";
}

namespace {
struct KeepWeights : gatefold::impl::KeepWeightsBase<KeepWeights> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    auto target = TargetDescription::fromModule(module);
    int64_t keptBytes = getKeptBytes(target);
    if (keptBytes <= 0)
      return;
    // Of each loop, its panels, by their value and the rows of their tiles.
    llvm::MapVector<Operation *,
                    llvm::MapVector<std::pair<Value, int64_t>, KeptPanels>>
        loops;
    SmallVector<Operation *> withoutRoom;
    module.walk([&](LinearOp op) {
      auto step = op->getParentOfType<scf::ForOp>();
      if (op.getResult() || !step ||
          !(op->hasAttr(stepProductName) || isRecurrence(step)))
        return;
      scf::ForOp loop = findLoop(op, step);
      std::string obstacle = getTileObstacle(op).str();
      if (obstacle.empty() && getTileColumns(op.getWidth()) != op.getWidth())
        obstacle = "its panels are wider than a tile";
      if (obstacle.empty() && !loop)
        obstacle = "they are others in each step";
      if (obstacle.empty()) {
        obstacle = getRoomObstacle(op, target, keptBytes);
        if (!obstacle.empty())
          withoutRoom.push_back(loop);
      }
      auto options =
          remark::RemarkOpts::name("KeepWeights").category("gf-keep-weights");
      if (!obstacle.empty()) {
        remark::missed(op.getLoc(), options)
            << "weights are read from global memory in each step, since " +
                   obstacle;
        return;
      }
      loops[loop][{op.getPanels(), getStep(op)}].products.push_back(op);
      remark::passed(op.getLoc(), options)
          << "weights stay in shared memory from step to step where a "
             "block's part fits in " +
                 std::to_string(keptBytes) + " bytes";
      ++productsKept;
    });
    // What has no room takes the same functions as what may turn out to have
    // none, instead of others that differ by how much memory they leave alone.
    if (!loops.empty())
      for (Operation *loop : withoutRoom)
        loop->setAttr(keptBytesName,
                      Builder(&getContext()).getI64IntegerAttr(keptBytes));
    for (auto &[loop, byValue] : loops) {
      // The loop around it has the room.
      if (llvm::any_of(loops, [&, loop = loop](auto &other) {
            return other.first->isProperAncestor(loop);
          }))
        continue;
      SmallVector<KeptPanels> all;
      for (auto &[key, panels] : byValue)
        all.push_back(panels);
      Keeping(cast<scf::ForOp>(loop), target, keptBytes).keep(all);
      markFunctions(loop, keptBytes);
    }
  }

  /// Other functions on vectors that are called in the loop leave the kept
  /// memory alone.
  void markFunctions(Operation *loop, int64_t keptBytes) {
    llvm::SetVector<Operation *> open;
    open.insert(loop);
    Builder builder(&getContext());
    for (unsigned i = 0; i < open.size(); ++i)
      open[i]->walk([&](func::CallOp call) {
        auto callee =
            getOperation().lookupSymbol<func::FuncOp>(call.getCallee());
        if (!callee || !open.insert(callee))
          return;
        if (callee->hasAttr(vectorsName))
          callee->setAttr(keptBytesName, builder.getI64IntegerAttr(keptBytes));
      });
  }
};
} // namespace
