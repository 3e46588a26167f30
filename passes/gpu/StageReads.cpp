// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- StageReads.cpp - Operands of products through shared memory --------===//
//
// Rewrites what StageReadsPlan chose. A loop with S stages copies the tiles of
// iteration i + S - 1 while it computes iteration i:
//
//   copies of iterations 0 to S - 2, a group of each
//   for i:
//     wait until at most S - 2 groups are under way: those of i are there
//     barrier: for all threads; and nobody computes iteration i - 1 any more
//     copies of iteration i + S - 1, to the stage of i - 1, a group
//     compute on stage i modulo S
//
// Groups beyond the last iteration are empty, so none is under way behind a
// loop.
//
//===----------------------------------------------------------------------===//

#include "mlir/IR/Remarks.h"
#include "passes/gpu/Kernels.h"
#include "passes/gpu/Passes.h"
#include "passes/gpu/StageReadsCopy.h"
#include "passes/gpu/StageReadsPlan.h"
#include "passes/gpu/VectorsToThreads.h"
#include "passes/support/Target.h"

namespace gatefold {
#define GEN_PASS_DEF_STAGEREADS
#include "passes/gpu/Passes.h.inc"
} // namespace gatefold

using namespace mlir;
using namespace gatefold;

namespace {
class Staging {
public:
  Staging(func::FuncOp function, int64_t threads)
      : rewriter(function.getContext()), function(function), threads(threads) {}
  /// Places the tiles of a function from byte `begin` on.
  void run(StagingScope &scope, int64_t begin);

private:
  /// A tile and its buffer.
  using Placed = std::pair<StagedTile *, Value>;

  Value makeBuffers(const StagedTile &tile, int64_t stages, int64_t &begin);
  Value takeStage(Location loc, Value buffers, OpFoldResult stage);
  void copy(const StagedTile &tile, Value buffer, const IRMapping &places);
  void commit(Location loc) {
    NVVM::CpAsyncCommitGroupOp::create(rewriter, loc);
  }
  void meet(Location loc, int64_t underWay);
  void replace(const StagedTile &tile, Value buffer);

  void stage(StagingScope &scope, int64_t begin, bool isFresh);
  void stageAtOnce(StagingScope &scope, int64_t &begin);
  void stageAhead(StagingScope &scope, int64_t &begin, bool isFresh);
  void copyIteration(StagingScope &scope, ArrayRef<Value> buffers,
                     Value counter, OpFoldResult stage);

  IRRewriter rewriter;
  func::FuncOp function;
  int64_t threads;
  Value memory;
  /// Of a loop's body with tiles ahead: those that were copied before it and
  /// are used in it first.
  llvm::DenseMap<Block *, SmallVector<Placed>> awaited;
};
} // namespace

/// Where the tile of each stage lies, one behind another.
Value Staging::makeBuffers(const StagedTile &tile, int64_t stages,
                           int64_t &begin) {
  OpBuilder::InsertionGuard guard(rewriter);
  rewriter.setInsertionPointAfterValue(memory);
  Location loc = tile.first().getLoc();
  VectorType type = tile.first().getVectorType();
  SmallVector<int64_t> shape(type.getShape());
  if (stages > 1)
    shape.insert(shape.begin(), stages);
  auto buffers =
      MemRefType::get(shape, type.getElementType(), MemRefLayoutAttrInterface(),
                      cast<MemRefType>(memory.getType()).getMemorySpace());
  Value place = arith::ConstantIndexOp::create(rewriter, loc, begin);
  begin += stages * tile.bytes();
  return memref::ViewOp::create(rewriter, loc, buffers, memory, place,
                                ValueRange());
}

Value Staging::takeStage(Location loc, Value buffers, OpFoldResult stage) {
  auto type = cast<MemRefType>(buffers.getType());
  auto index = [&](int64_t value) -> OpFoldResult {
    return rewriter.getIndexAttr(value);
  };
  SmallVector<OpFoldResult> offsets = {stage, index(0), index(0)};
  SmallVector<OpFoldResult> sizes = {index(1), index(type.getDimSize(1)),
                                     index(type.getDimSize(2))};
  SmallVector<OpFoldResult> strides(3, index(1));
  MemRefType one = memref::SubViewOp::inferRankReducedResultType(
      type.getShape().drop_front(), type, offsets, sizes, strides);
  return memref::SubViewOp::create(rewriter, loc, one, buffers, offsets, sizes,
                                   strides);
}

/// `places` has what the read's place is computed from.
void Staging::copy(const StagedTile &tile, Value buffer,
                   const IRMapping &places) {
  Location loc = tile.first().getLoc();
  TileSource source = TileSource::of(tile.first());
  source.buffer = places.lookupOrDefault(source.buffer);
  for (Value &index : source.indices)
    index = places.lookupOrDefault(index);
  buildTileCopy(rewriter, loc, source, tile.layout(),
                SharedTile::buildBase(rewriter, loc, buffer), threads);
}

/// Waits until all groups but the last `underWay` are there, for all threads.
void Staging::meet(Location loc, int64_t underWay) {
  NVVM::CpAsyncWaitGroupOp::create(rewriter, loc, underWay);
  gpu::BarrierOp::create(rewriter, loc);
}

/// Reads of shared memory, here, in place of the tile's.
void Staging::replace(const StagedTile &tile, Value buffer) {
  vector::TransferReadOp first = tile.first();
  Location loc = first.getLoc();
  Value zero = arith::ConstantIndexOp::create(rewriter, loc, 0);
  auto read = vector::TransferReadOp::create(
      rewriter, loc, first.getVectorType(), buffer, ValueRange{zero, zero},
      first.getPadding(), ArrayRef<bool>{true, true});
  for (vector::TransferReadOp old : tile.reads) {
    for (Operation *user : llvm::make_early_inc_range(old->getUsers()))
      if (isa<arith::ExtFOp>(user) && user->getBlock() == read->getBlock() &&
          user->isBeforeInBlock(read))
        user->moveAfter(read);
    rewriter.replaceOp(old, read);
  }
}

/// The first operation of the tile's block that needs it, or that has in it
/// what does. Conversions are moved with the read.
static Operation *findFirstUse(const StagedTile &tile) {
  Operation *firstUse = nullptr;
  Block *block = tile.first()->getBlock();
  SmallVector<Operation *> users;
  for (vector::TransferReadOp read : tile.reads)
    llvm::append_range(users, read->getUsers());
  while (!users.empty()) {
    Operation *user = users.pop_back_val();
    if (isa<arith::ExtFOp>(user) && user->getBlock() == block) {
      llvm::append_range(users, user->getUsers());
      continue;
    }
    Operation *inBlock = block->findAncestorOpInBlock(*user);
    if (!firstUse || inBlock->isBeforeInBlock(firstUse))
      firstUse = inBlock;
  }
  return firstUse;
}

void Staging::stageAtOnce(StagingScope &scope, int64_t &begin) {
  // In the order of the block.
  llvm::MapVector<Operation *, SmallVector<Placed>> uses;
  for (StagedTile &tile : scope.atOnce) {
    Location loc = tile.first().getLoc();
    Value buffer = makeBuffers(tile, 1, begin);
    Operation *firstUse = findFirstUse(tile);
    rewriter.setInsertionPoint(tile.first());
    copy(tile, buffer, IRMapping());
    commit(loc);
    // Loops begin with copies, which this one need not wait for.
    auto loop = llvm::find_if(scope.inner, [&](StagingScope &inner) {
      return !inner.ahead.empty() && inner.loop() == firstUse;
    });
    if (loop != scope.inner.end())
      awaited[loop->block].push_back({&tile, buffer});
    else
      uses[firstUse].push_back({&tile, buffer});
  }
  for (auto &[firstUse, tiles] : uses) {
    rewriter.setInsertionPoint(firstUse);
    meet(firstUse->getLoc(), 0);
    for (auto [tile, buffer] : tiles)
      replace(*tile, buffer);
  }
}

/// Copies the tiles of the iteration in which the counter is `counter`, if
/// there is one. It is a group, an empty one too.
void Staging::copyIteration(StagingScope &scope, ArrayRef<Value> buffers,
                            Value counter, OpFoldResult stage) {
  scf::ForOp loop = scope.loop();
  Location loc = loop.getLoc();
  auto predicate = loop.getUnsignedCmp() ? arith::CmpIPredicate::ult
                                         : arith::CmpIPredicate::slt;
  Value exists = arith::CmpIOp::create(rewriter, loc, predicate, counter,
                                       loop.getUpperBound());
  auto choice = scf::IfOp::create(rewriter, loc, exists,
                                  /*withElseRegion=*/false);
  {
    OpBuilder::InsertionGuard guard(rewriter);
    rewriter.setInsertionPointToStart(choice.thenBlock());
    IRMapping places;
    places.map(loop.getInductionVar(), counter);
    for (Operation &op : *scope.block)
      if (scope.places.contains(&op))
        rewriter.clone(op, places);
    for (auto [tile, tileBuffers] : llvm::zip(scope.ahead, buffers))
      copy(tile, takeStage(loc, tileBuffers, stage), places);
  }
  commit(loc);
}

void Staging::stageAhead(StagingScope &scope, int64_t &begin, bool isFresh) {
  scf::ForOp loop = scope.loop();
  Location loc = loop.getLoc();
  int64_t stages = scope.stages;
  SmallVector<Value> buffers;
  for (const StagedTile &tile : scope.ahead)
    buffers.push_back(makeBuffers(tile, stages, begin));
  auto advance = [&](Value counter, int64_t iterations) -> Value {
    if (iterations == 0)
      return counter;
    Value factor = arith::ConstantOp::create(
        rewriter, loc, rewriter.getIntegerAttr(counter.getType(), iterations));
    Value distance =
        arith::MulIOp::create(rewriter, loc, loop.getStep(), factor);
    return arith::AddIOp::create(rewriter, loc, counter, distance);
  };

  rewriter.setInsertionPoint(loop);
  if (!isFresh)
    gpu::BarrierOp::create(rewriter, loc);
  for (int64_t stage = 0; stage + 1 < stages; ++stage)
    copyIteration(scope, buffers, advance(loop.getLowerBound(), stage),
                  rewriter.getIndexAttr(stage));
  if (auto found = awaited.find(scope.block); found != awaited.end()) {
    meet(loc, stages - 1);
    for (auto [tile, buffer] : found->second)
      replace(*tile, buffer);
  }

  // The stage that an iteration computes on goes round.
  auto index = [&](int64_t value) -> Value {
    return arith::ConstantIndexOp::create(rewriter, loc, value);
  };
  Value zero = index(0), last = index(stages - 1);
  auto replaced = loop.replaceWithAdditionalYields(
      rewriter, zero, /*replaceInitOperandUsesInLoop=*/false,
      [&](OpBuilder &inner, Location loc, ArrayRef<BlockArgument> arguments) {
        Value stage = arguments.front();
        Value one = arith::ConstantIndexOp::create(inner, loc, 1);
        Value isLast = arith::CmpIOp::create(
            inner, loc, arith::CmpIPredicate::eq, stage, last);
        Value next = arith::AddIOp::create(inner, loc, stage, one);
        return SmallVector<Value>{
            arith::SelectOp::create(inner, loc, isLast, zero, next)};
      });
  assert(succeeded(replaced) && "a loop takes one more value");
  auto staged = cast<scf::ForOp>(replaced->getOperation());
  staged->setAttr(stagesName, rewriter.getI64IntegerAttr(stages));
  scope.block = staged.getBody();
  loop = staged;

  rewriter.setInsertionPointToStart(staged.getBody());
  Value stage = staged.getRegionIterArgs().back();
  meet(loc, stages - 2);
  Value isFirst = arith::CmpIOp::create(rewriter, loc, arith::CmpIPredicate::eq,
                                        stage, zero);
  Value before = arith::SubIOp::create(rewriter, loc, stage, index(1));
  Value freed = arith::SelectOp::create(rewriter, loc, isFirst, last, before);
  copyIteration(scope, buffers, advance(staged.getInductionVar(), stages - 1),
                freed);
  for (auto [tile, tileBuffers] : llvm::zip(scope.ahead, buffers)) {
    rewriter.setInsertionPoint(tile.first());
    replace(tile, takeStage(loc, tileBuffers, stage));
  }
}

/// `isFresh`: since the last barrier nobody used shared memory from `begin` on.
void Staging::stage(StagingScope &scope, int64_t begin, bool isFresh) {
  if (!scope.ahead.empty()) {
    stageAhead(scope, begin, isFresh);
    isFresh = true;
  } else if (scope.loop()) {
    // The iteration before did.
    isFresh = false;
  }
  if (!scope.atOnce.empty() && !isFresh) {
    rewriter.setInsertionPointToStart(scope.block);
    gpu::BarrierOp::create(rewriter, scope.block->getParentOp()->getLoc());
    isFresh = true;
  }
  stageAtOnce(scope, begin);
  for (StagingScope &inner : scope.inner) {
    stage(inner, begin, isFresh);
    isFresh = false;
  }
}

void Staging::run(StagingScope &scope, int64_t begin) {
  Location loc = function.getLoc();
  rewriter.setInsertionPointToStart(scope.block);
  auto space = gpu::AddressSpaceAttr::get(rewriter.getContext(),
                                          gpu::AddressSpace::Workgroup);
  auto type = MemRefType::get({ShapedType::kDynamic}, rewriter.getI8Type(),
                              MemRefLayoutAttrInterface(), Attribute(space));
  memory = gpu::DynamicSharedMemoryOp::create(rewriter, loc, type);
  gpu::BarrierOp::create(rewriter, loc);
  stage(scope, begin, /*isFresh=*/true);
}

static void remarkStages(const StagingScope &scope) {
  if (!scope.ahead.empty())
    remark::passed(
        scope.block->getParentOp()->getLoc(),
        remark::RemarkOpts::name("staged").category("gf-stage-reads"))
        << "operands of products are copied to shared memory ahead, in " +
               Twine(scope.stages).str() + " stages";
  for (const StagingScope &inner : scope.inner)
    remarkStages(inner);
}

namespace {
struct StageReads : gatefold::impl::StageReadsBase<StageReads> {
  using Base::Base;
  void runOnOperation() override {
    auto target = TargetDescription::fromModule(
        getOperation()->getParentOfType<ModuleOp>());
    Builder builder(&getContext());
    for (auto function : getOperation().getOps<func::FuncOp>()) {
      if (!function->hasAttr(vectorsName) || function.isExternal())
        continue;
      if (!function.getBody().hasOneBlock()) {
        function.emitOpError("has more than one block");
        return signalPassFailure();
      }
      auto used = function->getAttrOfType<IntegerAttr>(sharedBytesName);
      int64_t begin =
          llvm::alignTo(used ? used.getInt() : 0, SharedTile::alignment);
      auto kept = function->getAttrOfType<IntegerAttr>(keptBytesName);
      int64_t end = target.blockSharedBytes - (kept ? kept.getInt() : 0);
      FailureOr<std::optional<WarpGrid>> warps = getWarps(function);
      if (failed(warps))
        return signalPassFailure();
      WarpGrid grid = warps->value_or(WarpGrid());
      if (grid.terms > 1)
        end -= getJoinBytes(grid);
      StagingScope scope =
          planStaging(function, std::max<int64_t>(end - begin, 0), stages,
                      /*leavesRight=*/grid.terms > 1);
      int64_t bytes = scope.bytes();
      if (bytes == 0)
        continue;
      remarkStages(scope);
      Staging(function, target.blockThreads).run(scope, begin);
      function->setAttr(sharedBytesName,
                        builder.getI64IntegerAttr(begin + bytes));
      ++functionsStaged;
    }
  }
};
} // namespace
