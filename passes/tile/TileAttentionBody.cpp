// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- TileAttentionBody.cpp - What a row program depends on --------------===//
//
// Which values of an attention's region depend on the query, which of their
// dimensions run along the keys, and whether keys that are not seen matter.
//
//===----------------------------------------------------------------------===//

#include "passes/tile/TileAttentionBody.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Transforms/RegionUtils.h"
#include "passes/support/TensorAxes.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace gatefold;
using linalg::LinalgOp;

AttentionBody::AttentionBody(AttentionOp op) : op(op) {
  dims.insert(keyClass);
  findDependences();
  findKeyDims();
  findHidden();
}

StringRef gatefold::nameInText(Operation *inner) {
  return TypeSwitch<Operation *, StringRef>(inner)
      .Case([](RowScoresOp) { return "product with the keys"; })
      .Case([](RowValuesOp) { return "product with the values"; })
      .Case([](RowSoftmaxOp) { return "softmax"; })
      .Case([](RowTopKOp) { return "top_k"; })
      .Case([](RowNeighboursOp) { return "neighbour_difference"; })
      .Case([](RowVisibleOp) { return "visible"; })
      .Case([](YieldOp) { return "result"; })
      .Case([](linalg::ContractOp) { return "product"; })
      .Case([](LinalgOp) { return "arithmetic"; })
      .Case<tensor::ExtractSliceOp, tensor::InsertSliceOp>(
          [](auto) { return "slice"; })
      .Case([](tensor::ExtractOp) { return "element"; })
      .Case<AttentionOp, tensor::CastOp, tensor::ExpandShapeOp,
            tensor::CollapseShapeOp, tensor::FromElementsOp>(
          [](auto) { return "shape"; })
      .Default([](Operation *) { return "operation"; });
}

static int64_t rankOf(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  return type ? type.getRank() : 0;
}

//===----------------------------------------------------------------------===//
// Dependence on the query
//===----------------------------------------------------------------------===//

void AttentionBody::findDependences() {
  unsigned queries = op.getQueries().size(), keys = op.getKeys().size(),
           pairs = op.getPairs().size();
  unsigned leadRank = std::min(op.getLeadRank(), mostLeadRank);
  for (BlockArgument argument : op.getBody().getArguments()) {
    unsigned number = argument.getArgNumber();
    bool isIndex = number + 2 >= op.getBody().getNumArguments();
    bool isPair = number >= queries + keys && number < queries + keys + pairs;
    if (isPair) {
      auto type = cast<RankedTensorType>(op->getOperand(number).getType());
      isPair = type.getDimSize(type.getRank() - 2) != 1;
    }
    if (number < queries || isIndex || isPair) {
      perQuery.insert(argument);
      continue;
    }
    for (unsigned dim = 0; dim < leadRank; ++dim)
      if (op.getLeadAxis(number, dim))
        leads[argument] |= uint64_t(1) << dim;
  }
  // Along a dimension of size 1 it is the same for all.
  reachLead = 0;
  for (Value value : {op.getLengths(), op.getOffset()})
    if (value)
      for (auto [dim, size] :
           llvm::enumerate(cast<RankedTensorType>(value.getType()).getShape()))
        if (size != 1 && dim < leadRank)
          reachLead |= uint64_t(1) << dim;

  for (Operation &inner : op.getBody().front()) {
    SetVector<Value> used;
    used.insert(inner.operand_begin(), inner.operand_end());
    getUsedValuesDefinedAbove(inner.getRegions(), used);
    auto visible = dyn_cast<RowVisibleOp>(inner);
    bool depends =
        isa<RowSoftmaxOp, RowNeighboursOp, RowTopKOp, RowValuesOp>(inner) ||
        (visible && !visible.getAnyQuery());
    uint64_t lead = visible ? reachLead : 0;
    // A size is the same for all queries.
    if (isa<tensor::DimOp>(inner))
      used.clear();
    for (Value value : used) {
      depends |= isPerQuery(value);
      lead |= getLead(value);
    }
    for (Value result : inner.getResults()) {
      if (depends)
        perQuery.insert(result);
      else
        leads[result] = lead;
    }
  }
}

//===----------------------------------------------------------------------===//
// Dimensions along the keys
//===----------------------------------------------------------------------===//

int AttentionBody::dimOf(void *of, unsigned dim) const {
  auto [entry, isNew] =
      dimNumbers.try_emplace({of, dim}, int(dimNumbers.size()) + 1);
  if (isNew)
    dims.insert(entry->second);
  return entry->second;
}

std::optional<int64_t> AttentionBody::getKeyDim(Value value) const {
  for (int64_t dim = 0, e = rankOf(value); dim < e; ++dim)
    if (isKey(dimOf(value, dim)))
      return dim;
  return std::nullopt;
}

bool AttentionBody::isKeyLoop(LinalgOp op, unsigned loop) const {
  return isKey(dimOf(op.getOperation(), loop));
}

void AttentionBody::rearranges(Value value, Operation *by) {
  for (int64_t dim = 0, e = rankOf(value); dim < e; ++dim)
    rearranged.emplace_back(dimOf(value, dim), by);
}

void AttentionBody::findKeyDims() {
  for (Value key : op.getKeyArguments())
    join(keyClass, dimOf(key, 0));
  for (Value pair : op.getPairArguments())
    join(keyClass, dimOf(pair, 0));
  for (Operation &inner : op.getBody().front())
    joinDims(&inner);
  // A query as long as there are keys, and used like a row of them, is not cut.
  for (Value query : op.getQueryArguments())
    rearranges(query, op);
  for (auto [dim, by] : rearranged)
    if (isKey(dim) && !needsAllKeys)
      needsAllKeys = by;
  for (Value value : op.getYield().getValues())
    if (getKeyDim(value) && !needsAllKeys)
      needsAllKeys = op.getYield();
}

void AttentionBody::joinStructured(LinalgOp structured) {
  for (OpOperand &operand : structured->getOpOperands()) {
    AffineMap map = structured.getMatchingIndexingMap(&operand);
    for (auto [dim, expression] : llvm::enumerate(map.getResults())) {
      int number = dimOf(operand.get(), dim);
      if (auto loop = dyn_cast<AffineDimExpr>(expression))
        join(number, dimOf(structured.getOperation(), loop.getPosition()));
      else
        rearranged.emplace_back(number, structured);
    }
  }
  for (OpResult result : structured->getResults()) {
    Value output = structured.getTiedOpOperand(result)->get();
    for (int64_t dim = 0, e = rankOf(result); dim < e; ++dim)
      join(dimOf(result, dim), dimOf(output, dim));
  }
  // Of what is the same for all queries, the whole is there.
  structured->walk([&](tensor::ExtractOp extract) {
    if (isPerQuery(extract.getTensor()))
      rearranges(extract.getTensor(), structured);
  });
}

void AttentionBody::joinDims(Operation *inner) {
  auto joinAll = [&](Value left, Value right) {
    for (int64_t dim = 0, e = rankOf(left); dim < e; ++dim)
      join(dimOf(left, dim), dimOf(right, dim));
  };
  /// Each group of `whole` has one dimension of `groups` that is not 1.
  auto joinGroups = [&](Value whole, Value parts,
                        ArrayRef<ReassociationIndices> groups) {
    auto type = cast<RankedTensorType>(parts.getType());
    for (auto [dim, group] : llvm::enumerate(groups)) {
      std::optional<int64_t> wide = findWideDim(group, type.getShape());
      if (wide && *wide >= 0) {
        join(dimOf(whole, dim), dimOf(parts, *wide));
        continue;
      }
      rearranged.emplace_back(dimOf(whole, dim), inner);
      for (int64_t part : group)
        rearranged.emplace_back(dimOf(parts, part), inner);
    }
  };
  TypeSwitch<Operation *>(inner)
      .Case([&](LinalgOp structured) { joinStructured(structured); })
      .Case([&](RowScoresOp row) {
        join(keyClass, dimOf(row.getKeys(), 0));
        join(keyClass, dimOf(row.getResult(), 0));
        join(dimOf(row.getKeys(), 1), dimOf(row.getQuery(), 0));
      })
      .Case([&](RowValuesOp row) {
        join(keyClass, dimOf(row.getValues(), 0));
        join(keyClass, dimOf(row.getWeights(), 0));
        join(dimOf(row.getValues(), 1), dimOf(row.getResult(), 0));
      })
      .Case<RowSoftmaxOp, RowNeighboursOp, RowTopKOp, RowVisibleOp>(
          [&](Operation *row) {
            for (Value value : row->getOperands())
              if (rankOf(value) > 0)
                join(keyClass, dimOf(value, 0));
            join(keyClass, dimOf(row->getResult(0), 0));
          })
      .Case([&](tensor::ExpandShapeOp reshape) {
        joinGroups(reshape.getSrc(), reshape.getResult(),
                   reshape.getReassociationIndices());
      })
      .Case([&](tensor::CollapseShapeOp reshape) {
        joinGroups(reshape.getResult(), reshape.getSrc(),
                   reshape.getReassociationIndices());
      })
      .Case([&](tensor::CastOp cast) {
        // What comes from outside may mean something else to another.
        if (cast.getSource().getParentBlock() == cast->getBlock())
          joinAll(cast.getSource(), cast.getResult());
      })
      .Case<tensor::DimOp, tensor::EmptyOp, YieldOp>([](auto) {})
      .Default([&](Operation *other) {
        for (Value value : other->getOperands())
          rearranges(value, other);
        for (Value value : other->getResults())
          rearranges(value, other);
      });
}

//===----------------------------------------------------------------------===//
// Keys that are not seen
//===----------------------------------------------------------------------===//

static bool isZero(Attribute attribute) {
  if (auto number = dyn_cast_or_null<FloatAttr>(attribute))
    return number.getValue().isZero();
  if (auto number = dyn_cast_or_null<IntegerAttr>(attribute))
    return number.getValue().isZero();
  return false;
}

/// The result of an operation on scalars, of some of which the value is known.
static Attribute evaluate(Operation *op, ArrayRef<Attribute> operands) {
  if (op->getNumResults() != 1)
    return {};
  if (isa<arith::MulFOp, arith::MulIOp, arith::AndIOp>(op))
    for (Attribute operand : operands)
      if (isZero(operand))
        return operand;
  if (isa<arith::DivFOp>(op) && isZero(operands[0]))
    return operands[0];
  if (isa<arith::SelectOp>(op)) {
    if (auto condition = dyn_cast_or_null<IntegerAttr>(operands[0]))
      return condition.getValue().isZero() ? operands[2] : operands[1];
    return operands[1] == operands[2] ? operands[1] : Attribute();
  }
  if (op->hasTrait<OpTrait::ConstantLike>()) {
    Attribute value;
    return matchPattern(op, m_Constant(&value)) ? value : Attribute();
  }
  if (llvm::is_contained(operands, Attribute()) || op->getNumRegions() != 0)
    return {};
  SmallVector<OpFoldResult> results;
  if (failed(op->fold(operands, results)) || results.empty())
    return {};
  if (auto value = dyn_cast<Attribute>(results.front()))
    return value;
  // One of the operands, as of x - 0.
  for (auto [operand, value] : llvm::zip(op->getOperands(), operands))
    if (operand == cast<Value>(results.front()))
      return value;
  return {};
}

Attribute AttentionBody::hiddenOfBody(LinalgOp structured, Value yielded) {
  llvm::DenseMap<Value, Attribute> known;
  for (OpOperand *input : structured.getDpsInputOperands())
    if (Attribute value = hidden.lookup(input->get()))
      known[structured.getMatchingBlockArgument(input)] = value;
  auto valueOf = [&](Value value) -> Attribute {
    if (Attribute found = known.lookup(value))
      return found;
    Attribute constant;
    return matchPattern(value, m_Constant(&constant)) ? constant : Attribute();
  };
  for (Operation &inner : structured.getBlock()->without_terminator()) {
    SmallVector<Attribute> operands;
    for (Value operand : inner.getOperands())
      operands.push_back(valueOf(operand));
    if (Attribute value = evaluate(&inner, operands))
      known[inner.getResult(0)] = value;
  }
  return valueOf(yielded);
}

Attribute AttentionBody::hiddenResult(Operation *inner) {
  if (isa<RowSoftmaxOp>(inner) ||
      (isa<RowNeighboursOp>(inner) &&
       cast<RowNeighboursOp>(inner).getScope() == NeighbourScope::Visible))
    return FloatAttr::get(getElementTypeOrSelf(inner->getResult(0).getType()),
                          0.0);
  if (isa<RowVisibleOp, RowTopKOp>(inner))
    return IntegerAttr::get(IntegerType::get(op.getContext(), 1), 0);
  auto structured = dyn_cast<LinalgOp>(inner);
  if (structured && inner->getNumResults() == 1 &&
      structured.getNumParallelLoops() == structured.getNumLoops())
    return hiddenOfBody(structured,
                        structured.getBlock()->getTerminator()->getOperand(0));
  if (isa<tensor::ExpandShapeOp, tensor::CollapseShapeOp, tensor::CastOp>(
          inner))
    return hidden.lookup(inner->getOperand(0));
  return {};
}

/// Along the keys, the operation combines values that change nothing where the
/// query does not see the key.
bool AttentionBody::reducesHidden(LinalgOp structured) {
  for (auto [index, yielded] :
       llvm::enumerate(structured.getBlock()->getTerminator()->getOperands())) {
    Value output = structured.getRegionOutputArgs()[index];
    Operation *combiner = yielded.getDefiningOp();
    if (!combiner || combiner->getNumOperands() != 2 || !output.hasOneUse())
      return false;
    Value term = combiner->getOperand(0) == output   ? combiner->getOperand(1)
                 : combiner->getOperand(1) == output ? combiner->getOperand(0)
                                                     : Value();
    std::optional<TypedAttr> neutral = arith::getNeutralElement(combiner);
    if (!term || !neutral)
      return false;
    Attribute value = hiddenOfBody(structured, term);
    if (value != *neutral && !(isZero(value) && isZero(*neutral)))
      return false;
  }
  return true;
}

bool AttentionBody::ignoresHidden(OpOperand &use) {
  Operation *user = use.getOwner();
  if (isa<RowSoftmaxOp, RowTopKOp, RowScoresOp>(user))
    return true;
  if (auto values = dyn_cast<RowValuesOp>(user))
    return !isPerQuery(values.getValues()) &&
           isZero(hidden.lookup(values.getWeights()));
  if (auto neighbours = dyn_cast<RowNeighboursOp>(user))
    return neighbours.getScope() == NeighbourScope::Visible;
  if (auto structured = dyn_cast<LinalgOp>(user)) {
    for (auto [loop, kind] :
         llvm::enumerate(structured.getIteratorTypesArray()))
      if (kind != utils::IteratorType::parallel && isKeyLoop(structured, loop))
        return reducesHidden(structured);
    return true;
  }
  return true;
}

void AttentionBody::findHidden() {
  for (Operation &inner : op.getBody().front())
    for (Value result : inner.getResults())
      if (isPerQuery(result) && getKeyDim(result))
        if (Attribute value = hiddenResult(&inner))
          hidden[result] = value;
  for (Operation &inner : op.getBody().front())
    for (OpOperand &use : inner.getOpOperands())
      if (!needsAllKeys &&
          isPerQuery(inner.getNumResults() == 0 ? use.get()
                                                : Value(inner.getResult(0))) &&
          getKeyDim(use.get()) && !ignoresHidden(use))
        needsAllKeys = &inner;
}
