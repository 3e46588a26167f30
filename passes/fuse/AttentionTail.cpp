// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- AttentionTail.cpp - What follows an attention row by row -----------===//
//
// Which operations follow an attention row by row, and how many of them leave
// one result.
//
//===----------------------------------------------------------------------===//

#include "passes/fuse/AttentionTail.h"
#include "mlir/Transforms/RegionUtils.h"

using namespace mlir;
using namespace gatefold;
using linalg::GenericOp;

// More are not a norm or a gate; the number of ways to end is looked through.
static constexpr unsigned mostOperations = 64;

static RankedTensorType tensorType(Value value) {
  return cast<RankedTensorType>(value.getType());
}

//===----------------------------------------------------------------------===//
// Finding
//===----------------------------------------------------------------------===//

AttentionTail::AttentionTail(AttentionOp op, IRRewriter &rewriter)
    : op(op), rewriter(rewriter), leadRank(op.getLeadRank()) {
  findHeads();
  for (Operation *next = op->getNextNode();
       next && operations.size() < mostOperations; next = next->getNextNode())
    if (!llvm::is_contained(operations, next) &&
        llvm::any_of(next->getOperands(),
                     [&](Value value) { return isRow(value); }) &&
        canSink(next)) {
      operations.push_back(next);
      rows.insert_range(next->getResults());
    }
}

/// Dimensions of `type` that a reshaping brings together, if they are leading
/// ones of known sizes alone.
static bool bringsHeadsTogether(tensor::CollapseShapeOp collapse,
                                unsigned leadRank) {
  bool isSplit = false;
  for (const ReassociationIndices &group : collapse.getReassociationIndices()) {
    if (group.size() == 1)
      continue;
    isSplit = true;
    for (int64_t dim : group)
      if (dim >= leadRank || collapse.getSrcType().isDynamicDim(dim))
        return false;
  }
  return isSplit;
}

/// Where results follow with their heads together, these are the rows.
void AttentionTail::findHeads() {
  for (OpResult result : op.getResults()) {
    tensor::CollapseShapeOp found;
    for (Operation *user : result.getUsers())
      if (auto collapse = dyn_cast<tensor::CollapseShapeOp>(user);
          collapse && collapse->getBlock() == op->getBlock() &&
          bringsHeadsTogether(collapse, leadRank))
        found = collapse;
    if (!found)
      continue;
    auto groups = found.getReassociationIndices();
    unsigned count = 0;
    while (groups[count].back() < leadRank)
      ++count;
    auto heads = ArrayRef(groups).take_front(count + 1);
    if (outer.empty()) {
      outer.assign(heads.begin(), heads.end());
      outerShape.assign(found.getResultType().getShape().take_front(count + 1));
    }
    if (heads != ArrayRef(outer))
      continue;
    operations.push_back(found);
    rows.insert(found.getResult());
  }
  llvm::sort(operations, [](Operation *left, Operation *right) {
    return left->isBeforeInBlock(right);
  });
  if (!outer.empty())
    return;
  for (int64_t dim = 0; dim <= leadRank; ++dim)
    outer.push_back({dim});
  outerShape.assign(
      tensorType(op.getResult(0)).getShape().take_front(leadRank + 1));
  for (Value result : op.getResults())
    rows.insert(result);
}

/// `[lead.., T, rest..]` with the sizes of the attention's results.
bool AttentionTail::hasRows(RankedTensorType type) const {
  return type && type.getRank() >= int64_t(outer.size()) &&
         type.getShape().take_front(outer.size()) == ArrayRef(outerShape);
}

ArrayRef<int64_t> AttentionTail::getRest(Value value) const {
  return tensorType(value).getShape().drop_front(
      value.getDefiningOp() == AttentionOp(op).getOperation() ? leadRank + 1
                                                              : outer.size());
}

/// Reshapes that add or take away dimensions of 1 behind the queries.
static bool keepsRows(ArrayRef<ReassociationIndices> groups,
                      RankedTensorType wide, unsigned outer) {
  if (groups.size() < outer)
    return false;
  for (auto [number, group] : llvm::enumerate(groups)) {
    if (number + 1 < outer && group.size() != 1)
      return false;
    bool isQueries = number + 1 == outer;
    unsigned count = llvm::count_if(
        group, [&](int64_t dim) { return wide.getDimSize(dim) != 1; });
    if (isQueries ? llvm::any_of(
                        ArrayRef(group).drop_front(),
                        [&](int64_t dim) { return wide.getDimSize(dim) != 1; })
                  : number >= outer && count > 1)
      return false;
  }
  return true;
}

bool AttentionTail::canSink(Operation *next) const {
  if (!llvm::all_of(next->getResultTypes(), [&](Type type) {
        return hasRows(dyn_cast<RankedTensorType>(type));
      }))
    return false;
  if (auto expand = dyn_cast<tensor::ExpandShapeOp>(next))
    return keepsRows(expand.getReassociationIndices(), expand.getResultType(),
                     outer.size());
  if (auto collapse = dyn_cast<tensor::CollapseShapeOp>(next))
    return keepsRows(collapse.getReassociationIndices(), collapse.getSrcType(),
                     outer.size());
  // A rounding to 16 bits is part of the write.
  auto generic = dyn_cast<GenericOp>(next);
  return generic && canSinkGeneric(generic) &&
         llvm::none_of(generic.getResultTypes(), [](Type type) {
           Type element = getElementTypeOrSelf(type);
           return element.isF16() || element.isBF16();
         });
}

std::optional<SmallVector<unsigned>>
AttentionTail::findRowLoops(GenericOp generic) const {
  SmallVector<unsigned> loops;
  AffineMap result =
      generic.getMatchingIndexingMap(generic.getDpsInitOperand(0));
  for (AffineExpr expression : result.getResults().take_front(outer.size())) {
    auto loop = dyn_cast<AffineDimExpr>(expression);
    if (!loop || llvm::is_contained(loops, loop.getPosition()) ||
        generic.getIteratorTypesArray()[loop.getPosition()] !=
            utils::IteratorType::parallel)
      return std::nullopt;
    loops.push_back(loop.getPosition());
  }
  return loops;
}

/// Of what is no row; places are those of rows, with heads together.
RowOperand AttentionTail::findPlaces(GenericOp generic,
                                     OpOperand *operand) const {
  SmallVector<unsigned> loops = *findRowLoops(generic);
  RowOperand found = {operand->get(), {}, unsigned(outer.size()) - 1};
  AffineMap map = generic.getMatchingIndexingMap(operand);
  for (auto [dim, expression] : llvm::enumerate(map.getResults())) {
    auto loop = dyn_cast<AffineDimExpr>(expression);
    if (!loop || tensorType(found.tensor).getDimSize(dim) == 1) {
      found.places.push_back(RowOperand::unit);
      continue;
    }
    auto *place = llvm::find(loops, loop.getPosition());
    found.places.push_back(place - loops.begin());
  }
  return found;
}

bool AttentionTail::canSinkGeneric(GenericOp generic) const {
  if (!generic.hasPureTensorSemantics() || generic.getNumDpsInits() == 0)
    return false;
  std::optional<SmallVector<unsigned>> loops = findRowLoops(generic);
  if (!loops)
    return false;
  for (OpOperand &operand : generic->getOpOperands()) {
    auto type = dyn_cast<RankedTensorType>(operand.get().getType());
    if (!type)
      continue;
    AffineMap map = generic.getMatchingIndexingMap(&operand);
    for (auto [dim, expression] : llvm::enumerate(map.getResults())) {
      auto loop = dyn_cast<AffineDimExpr>(expression);
      if (!loop &&
          (type.getDimSize(dim) != 1 || !isa<AffineConstantExpr>(expression)))
        return false;
    }
    bool isResult = generic.isDpsInit(&operand);
    if (isRow(operand.get()) || isResult) {
      for (auto [dim, loop] : llvm::enumerate(*loops)) {
        auto found = dyn_cast<AffineDimExpr>(map.getResult(dim));
        if (!found || found.getPosition() != loop)
          return false;
      }
      // The others run over the row.
      for (AffineExpr expression : map.getResults().drop_front(loops->size()))
        if (auto loop = dyn_cast<AffineDimExpr>(expression);
            loop && llvm::is_contained(*loops, loop.getPosition()))
          return false;
    }
    if (isRow(operand.get()))
      continue;
    Operation *made = operand.get().getDefiningOp();
    bool isBeginning = isa_and_present<tensor::EmptyOp, linalg::FillOp>(made);
    if (isResult &&
        (isBeginning || !generic.payloadUsesValueFromOperand(&operand))) {
      // Sizes of the row come from the empty tensor.
      if (auto fill = dyn_cast_or_null<linalg::FillOp>(made))
        made = fill.getOutputs()[0].getDefiningOp();
      if (!isa_and_present<tensor::EmptyOp>(made) &&
          llvm::any_of(type.getShape().drop_front(loops->size()),
                       ShapedType::isDynamic))
        return false;
      continue;
    }
    if (isBeginning || !findPlaces(generic, &operand).isOrdered())
      return false;
  }
  // Any element of another row may be read by its place.
  SetVector<Value> captured;
  getUsedValuesDefinedAbove(generic.getRegion(), captured);
  if (llvm::any_of(captured, [&](Value value) { return isRow(value); }))
    return false;
  return llvm::all_of(*generic.getBody(), [&](Operation &inner) {
    auto index = dyn_cast<linalg::IndexOp>(inner);
    return inner.getNumRegions() == 0 &&
           !(index && llvm::is_contained(ArrayRef(*loops).drop_back(),
                                         unsigned(index.getDim())));
  });
}

//===----------------------------------------------------------------------===//
// How far
//===----------------------------------------------------------------------===//

/// A size of leading dimensions or queries is that of an operand of the
/// attention.
bool AttentionTail::isOuterSize(Value value, Operation *user) const {
  auto dim = dyn_cast<tensor::DimOp>(user);
  if (!dim || !dim.getConstantIndex())
    return false;
  int64_t number = *dim.getConstantIndex();
  int64_t count = tensorType(value).getRank() - int64_t(getRest(value).size());
  if (number < 0 || number >= count)
    return false;
  if (!tensorType(value).isDynamicDim(number))
    return true;
  AttentionOp attention = op;
  int64_t place =
      count == int64_t(leadRank) + 1 ? number : outer[number].front();
  return place == leadRank ||
         llvm::any_of(
             llvm::seq<unsigned>(0, attention.getBody().getNumArguments() - 2),
             [&](unsigned operand) {
               return attention.getLeadAxis(operand, place).has_value();
             });
}

bool AttentionTail::isUsedOutside(Value value, unsigned count) const {
  ArrayRef<Operation *> inside = ArrayRef(operations).take_front(count);
  return llvm::any_of(value.getUsers(), [&](Operation *user) {
    return !isOuterSize(value, user) && !llvm::is_contained(inside, user);
  });
}

SmallVector<Value> AttentionTail::findLeaving(unsigned count) const {
  SmallVector<Value> leaving;
  for (Operation *inner : ArrayRef(operations).take_front(count))
    for (Value result : inner->getResults())
      if (isUsedOutside(result, count))
        leaving.push_back(result);
  return leaving;
}

const char *AttentionTail::whyNot(unsigned count) const {
  SmallVector<Value> leaving = findLeaving(count);
  // The last operation's result, or nobody needs it.
  if (leaving.size() != 1 ||
      leaving[0].getDefiningOp() != operations[count - 1])
    return "more than one result leaves the row";
  if (llvm::none_of(ArrayRef(operations).take_front(count),
                    llvm::IsaPred<GenericOp>))
    return "nothing is computed from it alone";
  ArrayRef<int64_t> rest = getRest(leaving[0]);
  if (llvm::is_contained(rest, 1))
    return "the result has dimensions of 1";
  Operation *last = operations[count - 1];
  bool isReplaced = false;
  for (Value result : AttentionOp(op).getResults()) {
    bool isRead = llvm::any_of(
        ArrayRef(operations).take_front(count), [&](Operation *inner) {
          return llvm::is_contained(inner->getOperands(), result);
        });
    if (isRead && llvm::is_contained(getRest(result), 1))
      return "the result has dimensions of 1";
    if (!isUsedOutside(result, count)) {
      // The same sizes, or no more of them.
      bool fits = getRest(result) == rest || rest.empty();
      isReplaced |=
          isRead && fits &&
          getElementTypeOrSelf(result) == getElementTypeOrSelf(leaving[0]);
      continue;
    }
    // The attention moves to where the last operation stands.
    for (Operation *user : result.getUsers()) {
      Operation *beside = op->getBlock()->findAncestorOpInBlock(*user);
      if (!beside || beside->isBeforeInBlock(last))
        return "its results are read before what follows is known";
    }
  }
  return isReplaced ? nullptr
                    : "the attention's result is read elsewhere too, or has "
                      "other sizes";
}
