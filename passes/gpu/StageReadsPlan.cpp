// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- StageReadsPlan.cpp - Which reads are staged, and where -------------===//

#include "passes/gpu/StageReadsPlan.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/Remarks.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace gatefold;

/// Stages of a loop unless an option says so. A product of two tiles is done
/// before memory answers, so that more blocks must be on their way; between
/// two blocks of keys there is enough to do.
static constexpr int64_t stagesOfProduct = 4;
static constexpr int64_t stagesOfOther = 2;

SharedTile StagedTile::layout() const {
  VectorType type = first().getVectorType();
  return SharedTile(type.getDimSize(0), type.getDimSize(1),
                    type.getElementTypeBitWidth() / 8);
}

int64_t StagedTile::bytes() const {
  return llvm::alignTo(layout().getBytes(), SharedTile::alignment);
}

int64_t StagingScope::bytes() const {
  int64_t own = 0, most = 0;
  for (const StagedTile &tile : atOnce)
    own += tile.bytes();
  for (const StagedTile &tile : ahead)
    own += stages * tile.bytes();
  for (const StagingScope &scope : inner)
    most = std::max(most, scope.bytes());
  return own + most;
}

static void remarkMissed(vector::TransferReadOp read, StringRef why) {
  remark::missed(
      read.getLoc(),
      remark::RemarkOpts::name("not-staged").category("gf-stage-reads"))
      << "a product's operand stays in global memory: " + why.str();
}

/// Whether a value is an operand of products and nothing else, no right one
/// unless `mayBeRight`.
static bool isOnlyFactor(Value value, bool mayExtend, bool mayBeRight) {
  return !value.use_empty() &&
         llvm::all_of(value.getUses(), [&](OpOperand &use) {
           Operation *user = use.getOwner();
           if (isa<vector::ContractionOp>(user))
             return use.getOperandNumber() < (mayBeRight ? 2 : 1);
           return mayExtend && isa<arith::ExtFOp>(user) &&
                  isOnlyFactor(user->getResult(0), false, mayBeRight);
         });
}

static bool isInSharedMemory(Type type) {
  auto buffer = dyn_cast<MemRefType>(type);
  return buffer && gpu::GPUDialect::hasWorkgroupMemoryAddressSpace(buffer);
}

namespace {
/// Fills a scope with what is in its block.
class Search {
public:
  explicit Search(bool leavesRight) : leavesRight(leavesRight) {}
  StagingScope find(Block *block);

private:
  std::optional<StringRef> findObstacle(vector::TransferReadOp read);
  void add(SmallVectorImpl<StagedTile> &tiles, vector::TransferReadOp read);
  bool followsCounter(vector::TransferReadOp read, StagingScope &scope);

  bool leavesRight;
};
} // namespace

/// Why a factor is not staged.
std::optional<StringRef> Search::findObstacle(vector::TransferReadOp read) {
  auto buffer = dyn_cast<MemRefType>(read.getShapedType());
  VectorType type = read.getVectorType();
  if (!buffer || type.getRank() != 2 || type.isScalable() ||
      !read.getPermutationMap().isMinorIdentity() || read.getMask())
    return "is no matrix of a buffer";
  Type element = type.getElementType();
  if (!element.isF16() && !element.isBF16() && !element.isF32())
    return "its elements are of another type than f16, bf16 and f32";
  if (buffer.getElementType() != element || !buffer.isStrided())
    return "its buffer has no strides";
  if (!matchPattern(read.getPadding(), m_AnyZeroFloat()))
    return "what stands for elements that do not exist is not 0";
  if (type.getDimSize(1) * type.getElementTypeBitWidth() %
          (8 * SharedTile::chunkBytes) !=
      0)
    return "its rows are no multiple of 16 bytes";
  return std::nullopt;
}

void Search::add(SmallVectorImpl<StagedTile> &tiles,
                 vector::TransferReadOp read) {
  for (StagedTile &tile : tiles) {
    vector::TransferReadOp other = tile.first();
    if (other.getBase() == read.getBase() &&
        other.getIndices() == read.getIndices() &&
        other.getVectorType() == read.getVectorType() &&
        other.getInBounds() == read.getInBounds())
      return tile.reads.push_back(read);
  }
  tiles.push_back({{read}});
}

/// Whether the place of a read is computed from the loop's counter and from
/// what does not change in it, so that it can be computed for a later
/// iteration; if so, `places` gets what computes it.
bool Search::followsCounter(vector::TransferReadOp read, StagingScope &scope) {
  scf::ForOp loop = scope.loop();
  llvm::SetVector<Operation *> found;
  SmallVector<Value> open(read.getIndices());
  open.push_back(read.getBase());
  bool follows = false;
  while (!open.empty()) {
    Value value = open.pop_back_val();
    if (value == loop.getInductionVar()) {
      follows = true;
      continue;
    }
    if (loop.isDefinedOutsideOfLoop(value))
      continue;
    Operation *op = value.getDefiningOp();
    if (!op || op->getNumRegions() != 0 || !isPure(op))
      return false;
    if (found.insert(op))
      llvm::append_range(open, op->getOperands());
  }
  if (!follows)
    return false;
  scope.places.insert_range(found);
  return true;
}

/// Whether a loop writes to memory from which it might read in a later
/// iteration.
static bool mayWriteGlobalMemory(scf::ForOp loop) {
  return loop
      .walk([](Operation *op) {
        if (op->hasTrait<OpTrait::HasRecursiveMemoryEffects>() ||
            isa<gpu::BarrierOp>(op))
          return WalkResult::advance();
        auto effects = getEffectsRecursively(op);
        if (!effects)
          return WalkResult::interrupt();
        for (const MemoryEffects::EffectInstance &effect : *effects)
          if (isa<MemoryEffects::Write>(effect.getEffect()) &&
              (!effect.getValue() ||
               !isInSharedMemory(effect.getValue().getType())))
            return WalkResult::interrupt();
        return WalkResult::advance();
      })
      .wasInterrupted();
}

StagingScope Search::find(Block *block) {
  StagingScope scope;
  scope.block = block;
  scf::ForOp loop = scope.loop();
  bool canLookAhead = loop && !mayWriteGlobalMemory(loop);
  for (Operation &op : *block) {
    if (auto read = dyn_cast<vector::TransferReadOp>(op)) {
      if (isInSharedMemory(read.getShapedType()) ||
          !isOnlyFactor(read.getVector(), /*mayExtend=*/true, !leavesRight))
        continue;
      if (std::optional<StringRef> obstacle = findObstacle(read))
        remarkMissed(read, *obstacle);
      else if (canLookAhead && followsCounter(read, scope))
        add(scope.ahead, read);
      else
        add(scope.atOnce, read);
      continue;
    }
    for (Region &region : op.getRegions())
      for (Block &body : region) {
        StagingScope inner = find(&body);
        if (inner.bytes() != 0)
          scope.inner.push_back(std::move(inner));
      }
  }
  return scope;
}

/// Sets the stages of all loops, at most `most` of them, and whether anything
/// is copied outside of these.
static void setStages(StagingScope &scope, int64_t most, int64_t wanted) {
  if (!scope.ahead.empty()) {
    // Products of what is read ahead alone, where there is a condition too.
    SmallVector<vector::ContractionOp> products;
    scope.block->walk(
        [&](vector::ContractionOp op) { products.push_back(op); });
    bool isProduct = llvm::all_of(products, [&](vector::ContractionOp op) {
      return llvm::all_of(ValueRange{op.getLhs(), op.getRhs()}, [&](Value v) {
        if (auto extended = v.getDefiningOp<arith::ExtFOp>())
          v = extended.getIn();
        return llvm::any_of(scope.ahead, [&](const StagedTile &tile) {
          return llvm::is_contained(tile.reads, v.getDefiningOp());
        });
      });
    });
    int64_t suits = wanted      ? wanted
                    : isProduct ? stagesOfProduct
                                : stagesOfOther;
    // No more than there are iterations, if that is known.
    if (std::optional<APInt> trips = scope.loop().getStaticTripCount())
      suits = std::min<int64_t>(
          suits, std::max<int64_t>(trips->getLimitedValue(suits), 1));
    scope.stages = std::min(suits, most);
  }
  for (StagingScope &inner : scope.inner)
    setStages(inner, most, wanted);
}

/// Drops what is copied outside of loops: it is read once anyway.
static void dropOutermost(StagingScope &scope,
                          SmallVectorImpl<StagedTile> &dropped) {
  if (scope.loop())
    return;
  llvm::append_range(dropped, scope.atOnce);
  scope.atOnce.clear();
  for (StagingScope &inner : scope.inner)
    dropOutermost(inner, dropped);
}

static void dropAll(StagingScope &scope, SmallVectorImpl<StagedTile> &dropped) {
  llvm::append_range(dropped, scope.atOnce);
  llvm::append_range(dropped, scope.ahead);
  scope.atOnce.clear();
  scope.ahead.clear();
  for (StagingScope &inner : scope.inner)
    dropAll(inner, dropped);
}

/// Of a loop with one stage all is copied where it is read.
static void joinSingleStages(StagingScope &scope) {
  if (scope.stages == 1) {
    llvm::append_range(scope.atOnce, scope.ahead);
    scope.ahead.clear();
  }
  for (StagingScope &inner : scope.inner)
    joinSingleStages(inner);
}

StagingScope gatefold::planStaging(func::FuncOp function, int64_t available,
                                   int64_t wanted, bool leavesRight) {
  StagingScope scope = Search(leavesRight).find(&function.getBody().front());
  // What costs least is given up first: a third stage, tiles that are read
  // once, copying while another block computes.
  int64_t most = std::max(wanted, stagesOfProduct);
  auto fits = [&](int64_t least) {
    for (int64_t stages = most; stages >= least; --stages) {
      setStages(scope, stages, wanted);
      if (scope.bytes() <= available)
        return true;
    }
    return false;
  };
  SmallVector<StagedTile> dropped;
  if (!fits(2)) {
    StagingScope whole = scope;
    dropOutermost(scope, dropped);
    if (!fits(2)) {
      dropped.clear();
      scope = std::move(whole);
      if (!fits(1)) {
        dropOutermost(scope, dropped);
        if (!fits(1))
          dropAll(scope, dropped);
      }
    }
  }
  for (const StagedTile &tile : dropped)
    remarkMissed(tile.first(), "a block's shared memory is too small");
  joinSingleStages(scope);
  return scope;
}
