// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- PointwiseGroups.cpp - What may become one pass over memory ---------===//
//
// Grows groups along the block: an operation joins the groups whose elements it
// reads, or with which it shares an operand, where the order of the block can
// still be kept.
//
//===----------------------------------------------------------------------===//

#include "passes/tile/PointwiseGroups.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Transforms/RegionUtils.h"

using namespace mlir;
using namespace gatefold;
using linalg::GenericOp;

// Beyond these a kernel runs out of registers and takes long to compile.
static constexpr unsigned mostOperations = 64;
static constexpr unsigned mostOperands = 16;

/// (d0, .., dn) -> (d0, .., dn-1)
static bool isAllButLast(AffineMap map) {
  return map.getNumDims() > 0 && map.isIdentity() == false &&
         map == AffineMap::getMultiDimIdentityMap(map.getNumDims(),
                                                  map.getContext())
                    .dropResult(map.getNumDims() - 1);
}

bool gatefold::isPointwise(GenericOp op) {
  if (!op.hasPureTensorSemantics() || op.getNumLoops() == 0)
    return false;
  SmallVector<utils::IteratorType> iterators = op.getIteratorTypesArray();
  if (!llvm::all_of(ArrayRef(iterators).drop_back(),
                    [](utils::IteratorType type) {
                      return type == utils::IteratorType::parallel;
                    }))
    return false;
  bool reduces = iterators.back() == utils::IteratorType::reduction;
  for (OpOperand &init : op.getDpsInitsMutable()) {
    AffineMap map = op.getMatchingIndexingMap(&init);
    if (!map.isIdentity() && !(reduces && isAllButLast(map)))
      return false;
  }
  return true;
}

bool gatefold::isElementOfSameIteration(OpOperand &operand) {
  auto user = cast<GenericOp>(operand.getOwner());
  auto result = dyn_cast<OpResult>(operand.get());
  auto producer = operand.get().getDefiningOp<GenericOp>();
  return producer && user.isDpsInput(&operand) &&
         user.getMatchingIndexingMap(&operand).isIdentity() &&
         producer.getIndexingMapMatchingResult(result).isIdentity();
}

SmallVector<Value> gatefold::valuesReadBy(Operation *op) {
  SmallVector<Value> values(op->getOperands());
  llvm::SetVector<Value> captured;
  getUsedValuesDefinedAbove(op->getRegions(), captured);
  llvm::append_range(values, captured);
  return values;
}

/// Where a size comes from, through operations that keep it.
static LoopSize findSize(Value tensor, int64_t dim) {
  while (true) {
    auto type = cast<RankedTensorType>(tensor.getType());
    // tensor.dim of a dimension that is not there is valid, and undefined.
    if (dim < 0 || dim >= type.getRank())
      return {ShapedType::kDynamic, tensor, dim};
    if (!type.isDynamicDim(dim))
      return {type.getDimSize(dim), {}, 0};
    Operation *op = tensor.getDefiningOp();
    if (auto empty = dyn_cast_or_null<tensor::EmptyOp>(op)) {
      Value size = empty.getDynamicSize(dim);
      auto source = size.getDefiningOp<tensor::DimOp>();
      std::optional<int64_t> index;
      if (source)
        index = source.getConstantIndex();
      if (!index || !isa<RankedTensorType>(source.getSource().getType()))
        return {ShapedType::kDynamic, size, 0};
      tensor = source.getSource();
      dim = *index;
      continue;
    }
    if (auto destination = dyn_cast_or_null<DestinationStyleOpInterface>(op)) {
      tensor = destination.getTiedOpOperand(cast<OpResult>(tensor))->get();
      continue;
    }
    if (auto cast = dyn_cast_or_null<tensor::CastOp>(op)) {
      if (!isa<RankedTensorType>(cast.getSource().getType()))
        return {ShapedType::kDynamic, tensor, dim};
      tensor = cast.getSource();
      continue;
    }
    if (auto slice = dyn_cast_or_null<tensor::ExtractSliceOp>(op)) {
      llvm::SmallBitVector dropped = slice.getDroppedDims();
      int64_t place = dim;
      for (int64_t source = 0; source <= place; ++source)
        place += dropped.test(source);
      OpFoldResult size = slice.getMixedSizes()[place];
      auto value = dyn_cast<Value>(size);
      if (!value)
        return {ShapedType::kDynamic, tensor, dim};
      auto source = value.getDefiningOp<tensor::DimOp>();
      std::optional<int64_t> index;
      if (source)
        index = source.getConstantIndex();
      if (!index || !isa<RankedTensorType>(source.getSource().getType()))
        return {ShapedType::kDynamic, value, 0};
      tensor = source.getSource();
      dim = *index;
      continue;
    }
    return {ShapedType::kDynamic, tensor, dim};
  }
}

static SmallVector<LoopSize> findSpace(GenericOp op) {
  SmallVector<LoopSize> space;
  for (unsigned loop = 0; loop < op.getNumLoops(); ++loop) {
    AffineExpr dim = getAffineDimExpr(loop, op.getContext());
    LoopSize size;
    for (OpOperand &operand : llvm::reverse(op->getOpOperands())) {
      std::optional<unsigned> place =
          op.getMatchingIndexingMap(&operand).getResultPosition(dim);
      if (!place || !isa<RankedTensorType>(operand.get().getType()))
        continue;
      size = findSize(operand.get(), *place);
      if (!ShapedType::isDynamic(size.number))
        break;
    }
    space.push_back(size);
  }
  return space;
}

PointwiseGroups::PointwiseGroups(Block &block) : block(block) {
  for (Operation &op : block)
    if (auto generic = dyn_cast<GenericOp>(op))
      if (isPointwise(generic))
        add(generic);
}

bool PointwiseGroups::hasSameSpace(PointwiseGroup &early,
                                   PointwiseGroup &late) {
  if (early.space.size() != late.space.size())
    return false;
  if (early.space == late.space)
    return true;
  // What reads each element of the other has its sizes.
  for (auto [left, right] : llvm::zip(early.space, late.space))
    if (left.number != right.number)
      return false;
  for (GenericOp member : late.members)
    for (OpOperand *input : member.getDpsInputOperands())
      if (isElementOfSameIteration(*input) &&
          groupOf.lookup(input->get().getDefiningOp()) == &early)
        return true;
  return false;
}

/// What one operation made of both would have in its body, and as operands.
bool PointwiseGroups::isWithinLimits(PointwiseGroup &early,
                                     PointwiseGroup &late) {
  if (early.size + late.size > mostOperations)
    return false;
  llvm::SetVector<std::pair<Value, AffineMap>> operands;
  unsigned results = 0;
  for (PointwiseGroup *group : {&early, &late})
    for (GenericOp member : group->members) {
      for (OpOperand *input : member.getDpsInputOperands()) {
        PointwiseGroup *source = groupOf.lookup(input->get().getDefiningOp());
        if (source != &early && source != &late)
          operands.insert({input->get(), member.getMatchingIndexingMap(input)});
      }
      for (Value result : member.getResults())
        results += llvm::any_of(result.getUsers(), [&](Operation *user) {
          PointwiseGroup *reader = groupOf.lookup(user);
          return !reader || (reader != &early && reader != &late);
        });
    }
  return operands.size() + results <= mostOperands;
}

/// Whether something outside both needs `from` and is needed by `to`.
bool PointwiseGroups::hasPathAround(PointwiseGroup &from, PointwiseGroup &to) {
  SmallVector<Operation *> pending;
  llvm::SmallPtrSet<Operation *, 16> seen;
  // What stands before both needs neither, unless it reads a group that is
  // computed behind `from`.
  Operation *first = from.members.front();
  for (bool grows = true; grows;) {
    grows = false;
    for (std::unique_ptr<PointwiseGroup> &group : groups)
      if (group->members.size() > 1 &&
          group->members.front()->isBeforeInBlock(first) &&
          !group->members.back()->isBeforeInBlock(first)) {
        first = group->members.front();
        grows = true;
      }
  }
  auto follow = [&](Operation *op) {
    bool reaches = false;
    for (Value value : valuesReadBy(op)) {
      Operation *source =
          value.getDefiningOp()
              ? block.findAncestorOpInBlock(*value.getDefiningOp())
              : nullptr;
      if (!source)
        continue;
      PointwiseGroup *group = groupOf.lookup(source);
      reaches |= group == &from;
      if (group == &from || group == &to)
        continue;
      // All of a group is computed where its last operation is.
      SmallVector<Operation *> unit = {source};
      if (group)
        unit.assign(group->members.begin(), group->members.end());
      for (Operation *member : unit)
        if (!member->isBeforeInBlock(first) && seen.insert(member).second)
          pending.push_back(member);
    }
    return reaches;
  };
  for (GenericOp member : to.members)
    (void)follow(member);
  while (!pending.empty())
    if (follow(pending.pop_back_val()))
      return true;
  return false;
}

bool PointwiseGroups::canMerge(PointwiseGroup &early, PointwiseGroup &late) {
  if (!hasSameSpace(early, late) || !isWithinLimits(early, late))
    return false;
  // What they read of each other must be an element of the same iteration.
  for (auto [reader, source] :
       {std::pair(&late, &early), std::pair(&early, &late)})
    for (GenericOp member : reader->members) {
      llvm::SmallPtrSet<Value, 8> elements;
      for (OpOperand &operand : member->getOpOperands()) {
        if (groupOf.lookup(operand.get().getDefiningOp()) != source)
          continue;
        if (!isElementOfSameIteration(operand))
          return false;
        elements.insert(operand.get());
      }
      llvm::SetVector<Value> captured;
      getUsedValuesDefinedAbove(member->getRegions(), captured);
      for (Value value : captured)
        if (value.getDefiningOp() &&
            groupOf.lookup(value.getDefiningOp()) == source)
          return false;
    }
  return !hasPathAround(early, late) && !hasPathAround(late, early);
}

void PointwiseGroups::merge(PointwiseGroup &into, PointwiseGroup &from) {
  for (GenericOp member : from.members)
    groupOf[member] = &into;
  llvm::append_range(into.members, from.members);
  llvm::sort(into.members, [](GenericOp left, GenericOp right) {
    return left->isBeforeInBlock(right);
  });
  into.size += from.size;
  from.members.clear();
}

void PointwiseGroups::add(GenericOp op) {
  groups.push_back(std::make_unique<PointwiseGroup>());
  PointwiseGroup &own = *groups.back();
  own.members.push_back(op);
  own.space = findSpace(op);
  own.size = llvm::range_size(op.getBody()->without_terminator());
  groupOf[op] = &own;
  // Groups that it reads, then those that read the same.
  llvm::SetVector<PointwiseGroup *> related;
  for (OpOperand *input : op.getDpsInputOperands())
    if (Operation *source = input->get().getDefiningOp())
      if (PointwiseGroup *group = groupOf.lookup(source))
        related.insert(group);
  for (OpOperand *input : op.getDpsInputOperands())
    if (isa<RankedTensorType>(input->get().getType()))
      for (OpOperand &use : input->get().getUses())
        if (auto user = dyn_cast<GenericOp>(use.getOwner()))
          if (PointwiseGroup *group = groupOf.lookup(user))
            if (user.getMatchingIndexingMap(&use) ==
                op.getMatchingIndexingMap(input))
              related.insert(group);
  for (PointwiseGroup *group : related)
    if (group != &own && !group->members.empty() && canMerge(*group, own))
      merge(own, *group);
}

SmallVector<PointwiseGroup *> PointwiseGroups::get() {
  SmallVector<PointwiseGroup *> found;
  for (std::unique_ptr<PointwiseGroup> &group : groups)
    if (group->members.size() > 1)
      found.push_back(group.get());
  return found;
}
