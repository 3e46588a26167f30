// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- RaiseAttention.cpp - Written-out attention as gf.attention ---------===//
//
// softmax(q k^T ..) v on whole tensors becomes the row program of one query, so
// that no tensor of queries by keys is stored and phase tile sees an attention.
//
// Exactness: what is done to a score stays, operation by operation, on the same
// elements in the same order. The sums of a product, of a softmax and with the
// values are taken in another order, block by block, each within the bound that
// holds for any order; the quotient by the sum of the powers may be taken once
// for a row of the result instead of once for each weight.
//
// A row whose scores are all -inf is 0 in both forms: the softmax that is
// written out replaces the maximum -inf by 0 and the sum 0 by 1, and
// gf.row_softmax gives 0 to keys with the score -inf. So is a row over no key.
// No clause restricts the keys: all values are read in both forms, and 0 times
// a value that is NaN is NaN.
//
//===----------------------------------------------------------------------===//

#include "passes/fuse/RaiseAttention.h"
#include "dialect/GatefoldDialect.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/IndexingUtils.h"
#include "mlir/IR/Remarks.h"
#include "passes/fuse/Passes.h"

namespace gatefold {
#define GEN_PASS_DEF_RAISEATTENTION
#include "passes/fuse/Passes.h.inc"
} // namespace gatefold

using namespace mlir;
using namespace gatefold;
using linalg::ContractOp;
using linalg::GenericOp;

static RankedTensorType tensorType(Value value) {
  return cast<RankedTensorType>(value.getType());
}

//===----------------------------------------------------------------------===//
// Operands
//===----------------------------------------------------------------------===//

/// The operand with its leading axes and the `last` ones in order, and 1 where
/// it lacks one; leading axes that it lacks at the front are left out.
Value AttentionRaise::arrange(WrittenOperand operand, ArrayRef<unsigned> last) {
  Value value = operand.value;
  SmallVector<AffineExpr> places(operand.map.getResults());
  // A transposition may be the one that undoes this.
  while (auto transpose = value.getDefiningOp<linalg::TransposeOp>()) {
    SmallVector<AffineExpr> before(places.size());
    for (auto [axis, from] : llvm::enumerate(transpose.getPermutation()))
      before[from] = places[axis];
    places = before;
    value = transpose.getInput();
  }

  SmallVector<unsigned> wanted =
      llvm::to_vector(llvm::seq<unsigned>(0, leadRank));
  llvm::append_range(wanted, last);
  bool isArranged =
      places.size() >= last.size() && places.size() <= wanted.size() &&
      llvm::all_of_zip(places, ArrayRef(wanted).take_back(places.size()),
                       [](AffineExpr place, unsigned dim) {
                         auto found = dyn_cast<AffineDimExpr>(place);
                         return !found || found.getPosition() == dim;
                       });
  if (isArranged)
    return value;

  // Axes of one element that no index runs over are put where they belong.
  SmallVector<int64_t> shape;
  SmallVector<unsigned> dims;
  for (auto [size, place] : llvm::zip(tensorType(value).getShape(), places))
    if (auto dim = dyn_cast<AffineDimExpr>(place)) {
      shape.push_back(size);
      dims.push_back(dim.getPosition());
    }
  Type element = tensorType(value).getElementType();
  if (dims.size() != places.size())
    value = tensor::createCanonicalRankReducingExtractSliceOp(
        rewriter, loc, value, RankedTensorType::get(shape, element));

  SmallVector<int64_t> permutation;
  for (unsigned dim : wanted)
    if (auto found = llvm::find(dims, dim); found != dims.end())
      permutation.push_back(found - dims.begin());
  SmallVector<OpFoldResult> sizes = tensor::getMixedSizes(rewriter, loc, value);
  if (!llvm::is_sorted(permutation)) {
    applyPermutationToVector(sizes, permutation);
    applyPermutationToVector(dims, permutation);
    Value empty = tensor::EmptyOp::create(rewriter, loc, sizes, element);
    value =
        linalg::TransposeOp::create(rewriter, loc, value, empty, permutation)
            ->getResult(0);
  }

  SmallVector<ReassociationIndices> groups;
  SmallVector<OpFoldResult> allSizes;
  SmallVector<int64_t> allShape;
  unsigned next = 0;
  ReassociationIndices group;
  for (unsigned dim : wanted) {
    bool isThere = next < dims.size() && dims[next] == dim;
    if (!isThere && dim < leadRank && next == 0)
      continue;
    if (isThere && next > groups.size()) {
      groups.push_back(group);
      group.clear();
    }
    group.push_back(allSizes.size());
    allSizes.push_back(isThere ? sizes[next] : rewriter.getIndexAttr(1));
    allShape.push_back(isThere ? tensorType(value).getDimSize(next) : 1);
    next += isThere;
  }
  if (!group.empty())
    groups.push_back(group);
  if (allShape.size() == dims.size())
    return value;
  return tensor::ExpandShapeOp::create(rewriter, loc,
                                       RankedTensorType::get(allShape, element),
                                       value, groups, allSizes);
}

//===----------------------------------------------------------------------===//
// The row
//===----------------------------------------------------------------------===//

void AttentionRaise::makeRow(OpBuilder &builder, ValueRange arguments,
                             Value keyCount) {
  // In the order of the operands: of each product the query, then the others.
  ValueRange queryRows = arguments.take_front(products.size());
  ValueRange rest = arguments.drop_front(products.size());
  auto take = [&](unsigned count) {
    ValueRange taken = rest.take_front(count);
    rest = rest.drop_front(count);
    return taken;
  };
  ValueRange otherQueries = take(queries.size());
  ValueRange keyRows = take(products.size());
  Value valueRow = take(1)[0];
  ValueRange pairRows = take(pairs.size());
  ValueRange captureRows = take(captures.size());
  Value query = rest[0];

  int64_t keySize = tensorType(softmax.getScores()).getShape().back();
  SmallVector<OpFoldResult> sizes = {
      ShapedType::isDynamic(keySize)
          ? OpFoldResult(keyCount)
          : OpFoldResult(builder.getIndexAttr(keySize))};
  SmallVector<Value> scoresOfProducts, results;
  for (auto [queryRow, keyRow] : llvm::zip(queryRows, keyRows))
    scoresOfProducts.push_back(RowScoresOp::create(
        builder, loc, RankedTensorType::get(keySize, getElement()), queryRow,
        keyRow));
  auto valueOf = [&](RowValue value) -> Value {
    switch (value.kind) {
    case RowValue::Product:
      return scoresOfProducts[value.number];
    case RowValue::Step:
      return results[value.number];
    case RowValue::Pair:
      return pairRows[value.number];
    case RowValue::Query:
      return otherQueries[value.number];
    case RowValue::Capture:
      return captureRows[value.number];
    }
    llvm_unreachable("unknown value of a row");
  };

  AffineMap alongKeys = builder.getMultiDimIdentityMap(1);
  AffineMap asOne = AffineMap::get(1, 0, builder.getContext());
  for (RowStep &step : steps) {
    SmallVector<Value> inputs;
    SmallVector<AffineMap> maps;
    for (RowValue input : step.inputs) {
      inputs.push_back(valueOf(input));
      maps.push_back(tensorType(inputs.back()).getRank() ? alongKeys : asOne);
    }
    maps.push_back(alongKeys);
    Value empty = tensor::EmptyOp::create(
        builder, step.op.getLoc(), sizes,
        tensorType(step.op.getResult(0)).getElementType());
    auto repeated = GenericOp::create(
        builder, step.op.getLoc(), TypeRange(empty.getType()), inputs,
        ValueRange(empty), maps, {utils::IteratorType::parallel},
        [&](OpBuilder &inner, Location, ValueRange elements) {
          IRMapping mapping;
          mapping.map(step.op.getBody()->getArguments(), elements);
          for (Operation &op : *step.op.getBody()) {
            auto index = dyn_cast<linalg::IndexOp>(op);
            if (index && index.getDim() == queryDim())
              mapping.map(index.getResult(), query);
            else if (index)
              mapping.map(index.getResult(),
                          linalg::IndexOp::create(inner, op.getLoc(), 0));
            else
              inner.clone(op, mapping);
          }
        });
    results.push_back(repeated.getResult(0));
  }

  auto weights = RowSoftmaxOp::create(builder, softmax.weights.getLoc(),
                                      valueOf(scores), /*where=*/Value(),
                                      /*sink=*/Value());
  int64_t width = tensorType(valueRow).getDimSize(1);
  Value row = RowValuesOp::create(builder, loc,
                                  RankedTensorType::get(width, getElement()),
                                  weights.getResult(), valueRow);
  YieldOp::create(builder, loc, row);
}

void AttentionRaise::raise() {
  rewriter.setInsertionPoint(valuesProduct);
  SmallVector<Value> queryTensors, keyTensors, pairTensors, captureTensors;
  SmallVector<Type> bodyTypes;
  auto add = [&](SmallVector<Value> &tensors, Value tensor, int64_t rowRank) {
    tensors.push_back(tensor);
    bodyTypes.push_back(
        RankedTensorType::get(tensorType(tensor).getShape().take_back(rowRank),
                              tensorType(tensor).getElementType()));
  };
  for (WrittenProduct &product : products)
    add(queryTensors, arrange(product.query, {queryDim(), rowDim()}), 1);
  for (WrittenOperand &operand : queries)
    add(queryTensors, arrange(operand, {queryDim()}), 0);
  for (WrittenProduct &product : products)
    add(keyTensors, arrange(product.keys, {keyDim(), rowDim()}), 2);
  add(keyTensors, arrange(values, {keyDim(), rowDim()}), 2);
  for (WrittenOperand &operand : pairs)
    add(pairTensors, arrange(operand, {queryDim(), keyDim()}), 1);
  for (WrittenOperand &operand : captures)
    add(captureTensors, arrange(operand, {}), 0);

  Value keys = keyTensors.front();
  Value keyCount = rewriter.createOrFold<tensor::DimOp>(
      loc, keys, tensorType(keys).getRank() - 2);
  auto attention = AttentionOp::create(
      rewriter, loc, valuesProduct->getResultTypes(), queryTensors, keyTensors,
      pairTensors, captureTensors, bodyTypes,
      [&](OpBuilder &builder, Location, ValueRange arguments) {
        makeRow(builder, arguments, keyCount);
      });
  rewriter.replaceOp(valuesProduct, attention.getResults());
  for (GenericOp op :
       {softmax.weights, softmax.sum, softmax.powers, softmax.largest})
    rewriter.eraseOp(op);
  for (RowStep &step : llvm::reverse(steps))
    rewriter.eraseOp(step.op);
  for (WrittenProduct &product : products)
    rewriter.eraseOp(product.op);
}

namespace {
struct RaiseAttention : gatefold::impl::RaiseAttentionBase<RaiseAttention> {
  void runOnOperation() override {
    SmallVector<ContractOp> all;
    getOperation().walk([&](ContractOp op) { all.push_back(op); });
    IRRewriter rewriter(&getContext());
    auto options = remark::RemarkOpts::name("written-attention")
                       .category("gf-raise-attention");
    // What is erased stands before the product that is looked at.
    for (ContractOp op : all) {
      AttentionRaise raise(op, rewriter);
      if (!raise.find())
        continue;
      Location loc = op.getLoc();
      if (const char *reason = raise.match()) {
        remark::missed(loc, options)
            << (std::string("attention stays written out: ") + reason);
        continue;
      }
      raise.raise();
      ++attentionsRaised;
      remark::passed(loc, options)
          << "attention that was written out runs over tiles of keys";
    }
  }
};
} // namespace
