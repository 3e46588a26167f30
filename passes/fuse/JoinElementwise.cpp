// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- JoinElementwise.cpp - One operation on all parts of a tensor -------===//
//
// Additions of a bias to each gate become one addition to all gates.
//
// Exactness: the same operations on the same elements; the same bits.
//
//===----------------------------------------------------------------------===//

#include "mlir/IR/OperationSupport.h"
#include "passes/fuse/Gates.h"

using namespace mlir;
using namespace gatefold;

namespace {
/// Operations that do the same, each to another part of one tensor.
class Join {
public:
  Join(const Origins &origins, const Partition &partition, OpOperand &first)
      : origins(origins), partition(partition), use(first.getOperandNumber()) {
    operations.push_back(cast<linalg::GenericOp>(first.getOwner()));
  }

  bool match();
  Partition rewrite(RewriterBase &rewriter);

private:
  linalg::GenericOp front() { return operations.front(); }
  bool isAlike(linalg::GenericOp other, Value part);
  /// Where an input runs along the parts, or none.
  std::optional<int64_t> partDim(unsigned input);
  bool canJoinInput(unsigned input);
  bool areSlicesOfOne(unsigned input, int64_t dim);
  Value joinInput(RewriterBase &rewriter, unsigned input);

  const Origins &origins;
  const Partition &partition;
  unsigned use;
  SmallVector<linalg::GenericOp> operations;
  /// The loop that runs along the parts.
  AffineExpr loop;
};
} // namespace

/// Whether an operation computes each element from those at its place, from
/// nothing that its destination held.
static bool isElementwise(linalg::GenericOp op) {
  return op.hasPureTensorSemantics() && op->getNumResults() == 1 &&
         op.getNumReductionLoops() == 0 &&
         op.getIndexingMapsArray().back().isIdentity() &&
         !op.payloadUsesValueFromOperand(op.getDpsInitOperand(0)) &&
         op.getOutputs()[0].getDefiningOp<tensor::EmptyOp>() &&
         op.getBody()->getOps<linalg::IndexOp>().empty() &&
         llvm::all_of(op.getIndexingMapsArray(), [](AffineMap map) {
           return map.isProjectedPermutation();
         });
}

std::optional<int64_t> Join::partDim(unsigned input) {
  std::optional<unsigned> position =
      front().getIndexingMapsArray()[input].getResultPosition(loop);
  return position ? std::optional<int64_t>(*position) : std::nullopt;
}

bool Join::isAlike(linalg::GenericOp other, Value part) {
  return other->getBlock() == front()->getBlock() && isElementwise(other) &&
         other.getNumDpsInputs() == front().getNumDpsInputs() &&
         other.getOperand(use) == part &&
         llvm::count(other.getInputs(), part) == 1 &&
         other.getIndexingMaps() == front().getIndexingMaps() &&
         OperationEquivalence::isRegionEquivalentTo(
             &other.getRegion(), &front().getRegion(),
             OperationEquivalence::IgnoreLocations) &&
         !llvm::is_contained(operations, other);
}

/// Whether the inputs are slices of one tensor that lie as the parts do.
bool Join::areSlicesOfOne(unsigned input, int64_t dim) {
  auto first =
      front().getOperand(input).getDefiningOp<tensor::ExtractSliceOp>();
  if (!first || first.getSourceType().getRank() != first.getType().getRank())
    return false;
  int64_t offset = first.getStaticOffset(dim);
  for (auto [op, size] : llvm::zip(operations, partition.sizes)) {
    auto slice = op.getOperand(input).getDefiningOp<tensor::ExtractSliceOp>();
    if (!slice || slice.getSource() != first.getSource() ||
        slice.getType().getRank() != first.getType().getRank() ||
        !slice.hasUnitStride() || slice.isDynamicOffset(dim) ||
        slice.getStaticOffset(dim) != offset ||
        slice.getStaticSize(dim) != size)
      return false;
    SmallVector<OpFoldResult> offsets = slice.getMixedOffsets(),
                              sizes = slice.getMixedSizes(),
                              firstOffsets = first.getMixedOffsets(),
                              firstSizes = first.getMixedSizes();
    for (int64_t other = 0, rank = offsets.size(); other < rank; ++other)
      if (other != dim && (offsets[other] != firstOffsets[other] ||
                           sizes[other] != firstSizes[other]))
        return false;
    offset += size;
  }
  return true;
}

bool Join::canJoinInput(unsigned input) {
  std::optional<int64_t> dim = partDim(input);
  if (!dim)
    return llvm::all_of(operations, [&](linalg::GenericOp op) {
      return op.getOperand(input) == front().getOperand(input);
    });
  if (areSlicesOfOne(input, *dim))
    return true;
  // A size of 1 there is one of the parts.
  return llvm::all_of(llvm::zip(operations, partition.sizes), [&](auto pair) {
    auto [op, size] = pair;
    Value value = op.getOperand(input);
    return origins.isWeight(value) &&
           cast<RankedTensorType>(value.getType()).getDimSize(*dim) == size;
  });
}

bool Join::match() {
  linalg::GenericOp first = front();
  if (!isElementwise(first) || use >= first.getNumDpsInputs() ||
      llvm::count(first.getInputs(), partition.parts.front()) != 1)
    return false;
  loop = first.getIndexingMapsArray()[use].getResult(partition.dim);
  for (Value part : ArrayRef(partition.parts).drop_front()) {
    linalg::GenericOp found;
    for (Operation *user : part.getUsers()) {
      auto other = dyn_cast<linalg::GenericOp>(user);
      if (!other || !isAlike(other, part))
        continue;
      if (found)
        return false; // which one belongs to which is a matter of chance
      found = other;
    }
    if (!found)
      return false;
    operations.push_back(found);
  }
  for (unsigned input = 0; input < first.getNumDpsInputs(); ++input)
    if (!canJoinInput(input))
      return false;
  return true;
}

Value Join::joinInput(RewriterBase &rewriter, unsigned input) {
  Value value = front().getOperand(input);
  if (input == use)
    return partition.whole;
  std::optional<int64_t> dim = partDim(input);
  if (!dim)
    return value;
  if (!areSlicesOfOne(input, *dim)) {
    SmallVector<Value> weights;
    for (linalg::GenericOp op : operations)
      weights.push_back(op.getOperand(input));
    return concatWeights(rewriter, front(), *dim, weights);
  }
  auto slice = value.getDefiningOp<tensor::ExtractSliceOp>();
  SmallVector<OpFoldResult> sizes = slice.getMixedSizes();
  sizes[*dim] = rewriter.getIndexAttr(partition.total);
  // All of the source, where these are the sizes that it was made with.
  RankedTensorType source = slice.getSourceType();
  bool isWhole = source.getDimSize(*dim) == partition.total;
  for (int64_t other = 0; isWhole && other < source.getRank(); ++other)
    isWhole = other == *dim ||
              (source.getDimSize(other) == slice.getType().getDimSize(other) &&
               isZeroInteger(slice.getMixedOffsets()[other]));
  auto destination =
      slice.getSource().getDefiningOp<DestinationStyleOpInterface>();
  if (isWhole && destination) {
    Value init =
        destination.getTiedOpOperand(cast<OpResult>(slice.getSource()))->get();
    if (auto fill = init.getDefiningOp<linalg::FillOp>())
      init = fill.getOutputs()[0];
    auto empty = init.getDefiningOp<tensor::EmptyOp>();
    if (empty && empty.getMixedSizes() == sizes)
      return slice.getSource();
  }
  return tensor::ExtractSliceOp::create(
      rewriter, slice.getLoc(), slice.getSource(), slice.getMixedOffsets(),
      sizes, slice.getMixedStrides());
}

Partition Join::rewrite(RewriterBase &rewriter) {
  linalg::GenericOp earliest = front();
  SmallVector<Location> locations;
  for (linalg::GenericOp op : operations) {
    if (op->isBeforeInBlock(earliest))
      earliest = op;
    locations.push_back(op.getLoc());
  }
  rewriter.setInsertionPoint(earliest);
  Location loc = rewriter.getFusedLoc(locations);
  SmallVector<Value> inputs;
  for (unsigned input = 0; input < front().getNumDpsInputs(); ++input)
    inputs.push_back(joinInput(rewriter, input));
  int64_t dim = cast<AffineDimExpr>(loop).getPosition();
  Value empty = makeEmptyLike(rewriter, loc, earliest.getOutputs()[0], dim,
                              partition.total);
  auto made = linalg::GenericOp::create(
      rewriter, loc, TypeRange(empty.getType()), inputs, empty,
      front().getIndexingMapsArray(), front().getIteratorTypesArray());
  rewriter.cloneRegionBefore(front().getRegion(), made.getRegion(),
                             made.getRegion().end());
  Partition result{
      made.getResult(0), dim, {}, partition.sizes, partition.total};
  makeParts(rewriter, loc, result);
  for (auto [op, part] : llvm::zip(operations, result.parts))
    rewriter.replaceOp(op, part);
  return result;
}

unsigned gatefold::joinElementwise(RewriterBase &rewriter,
                                   const Origins &origins,
                                   Partition partition) {
  unsigned saved = 0;
  SmallVector<Partition> pending = {std::move(partition)};
  while (!pending.empty()) {
    Partition next = pending.pop_back_val();
    bool changed = true;
    while (changed) {
      changed = false;
      for (OpOperand &use : next.parts.front().getUses()) {
        if (!isa<linalg::GenericOp>(use.getOwner()))
          continue;
        Join join(origins, next, use);
        if (!join.match())
          continue;
        pending.push_back(join.rewrite(rewriter));
        saved += next.parts.size() - 1;
        changed = true;
        break;
      }
    }
    // The whole has taken their place.
    for (Value part : next.parts)
      if (part.use_empty())
        rewriter.eraseOp(part.getDefiningOp());
  }
  return saved;
}
