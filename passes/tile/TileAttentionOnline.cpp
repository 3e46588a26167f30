// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- TileAttentionOnline.cpp - Attention, a block of keys at a time -----===//
//
// For a block of queries, a loop over blocks of keys. Each softmax has a
// running maximum m and sum l, each product with the values a sum a, which take
// in a block of keys with the scores s:
//   m' = max(m, s),  c = exp(m - m'),  e = exp(s - m'),
//   l' = c l + sum e,  a' = c a + e V
// At the end the softmax of all keys is e / l, its product with them a / l.
// Weights that are no softmax are added up as they are: a' = a + w V.
//
// Exactness: where a block does not raise the maximum, c is 1 and nothing is
// rounded. Else sums are rounded once more for each block that does. Blocks of
// keys begin at multiples of their size, wherever queries begin, and a block
// of which a query sees nothing leaves it as it was, so that the bits of a
// query do not depend on which blocks are left out for others.
//
//===----------------------------------------------------------------------===//

#include "passes/tile/TileAttentionOnline.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "passes/support/Entry.h"
#include "passes/tile/TileAttention.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace gatefold;

/// The keys of a block of keys that begins at `start`, as far as `whole` has
/// them.
void AttentionTiling::findKeyBlock(const QueryBlock &whole, Value start) {
  Value size = constant(keyBlock);
  // Keys that no query sees are left out; no element of a row moves to another
  // partial result, as both are multiples of the smaller of two steps.
  block.first = greatest(start, whole.first);
  block.end = least(plus(start, size), whole.end);
  // Never more than in a block, which makes their room known before a run.
  block.columns = getAsOpFoldResult(least(size, minus(block.end, block.first)));
  block.mostKeys = rewriter.getIndexAttr(keyBlock);
  // As for rows of all keys: not all at the same place of the cache.
  block.mostColumns = rewriter.getIndexAttr(keyBlock + arenaAlignment / 4);
  block.wholeFirst = clamp(whole.wholeFirst, block.first, block.end);
  block.wholeEnd = clamp(whole.wholeEnd, block.wholeFirst, block.end);
}

/// A softmax takes in a block of keys. Gives what its sum was multiplied by.
Value AttentionTiling::passKeys(RowSoftmaxOp softmax, RunningSoftmax &known) {
  Type element = softmax.getType().getElementType();
  bool isOwned = false;
  Value scores = hide(softmax, isOwned);
  AffineMap column = mapOf({0}, 1);
  // The largest score of the block becomes what is subtracted.
  SmallVector<Value> made = makeGeneric(
      {},
      {{known.largest, column},
       {known.sum, column},
       {makeColumn(element), column},
       {findLargest(scores), column}},
      /*reducesKeys=*/false,
      [&](OpBuilder &builder, ValueRange values) -> SmallVector<Value> {
        Value largest =
            arith::MaximumFOp::create(builder, loc, values[0], values[3]);
        Value base = makeBase(builder, largest);
        Value difference = arith::SubFOp::create(builder, loc, values[0], base);
        Value factor = math::ExpOp::create(builder, loc, difference);
        Value sum = arith::MulFOp::create(builder, loc, values[1], factor);
        return {largest, sum, factor, base};
      });
  auto [powers, sum] = makePowers(scores, isOwned, made[3], made[1]);
  known = {made[0], sum};
  tiles[softmax.getResult()] = {powers, true, true, {}};
  return made[2];
}

/// Multiplies sums of products by what their softmax was multiplied by: those
/// of one shape at once, as they would else be brought together out of place.
void AttentionTiling::scaleSums(Value factor, ArrayRef<Value *> sums) {
  llvm::MapVector<Type, SmallVector<Value *>> byType;
  for (Value *sum : sums)
    byType[sum->getType()].push_back(sum);
  for (auto &[type, alike] : byType) {
    SmallVector<TileInput> outputs;
    for (Value *sum : alike)
      outputs.push_back({*sum, mapOf({0, 1})});
    SmallVector<Value> scaled =
        makeGeneric({{factor, mapOf({0})}}, outputs, /*reducesKeys=*/false,
                    [&](OpBuilder &builder, ValueRange values) {
                      SmallVector<Value> results;
                      for (Value sum : values.drop_front())
                        results.push_back(arith::MulFOp::create(
                            builder, loc, sum, values[0]));
                      return results;
                    });
    for (auto [sum, value] : llvm::zip_equal(alike, scaled))
      *sum = value;
  }
}

/// The region for a block of queries, which looks at its keys a block at a
/// time.
LogicalResult AttentionTiling::makeRowsOnline() {
  OnlineForm form(op, body);
  Block &region = op.getBody().front();
  SmallVector<Operation *> before, inside, after;
  for (Operation &inner : region.without_terminator()) {
    if (inner.getNumResults() == 0 || !body.isPerQuery(inner.getResult(0)))
      continue;
    switch (form.getPlace(&inner)) {
    case OnlineForm::Place::BeforeKeys:
      before.push_back(&inner);
      break;
    case OnlineForm::Place::InKeys:
      inside.push_back(&inner);
      break;
    case OnlineForm::Place::AfterKeys:
      after.push_back(&inner);
      break;
    }
  }
  for (Operation *inner : before)
    if (failed(lift(inner)))
      return failure();
  // What the loop makes does not exist behind it.
  for (BlockArgument argument : region.getArguments())
    if (body.isPerQuery(argument) && !body.getKeyDim(argument) &&
        !argument.use_empty())
      tileOf(argument);

  loc = op.getLoc();
  SmallVector<RowSoftmaxOp> softmaxes(region.getOps<RowSoftmaxOp>());
  SmallVector<RowValuesOp> products(region.getOps<RowValuesOp>());
  SmallVector<Value> state;
  for (RowSoftmaxOp softmax : softmaxes) {
    Type element = softmax.getType().getElementType();
    state.push_back(
        makeColumn(element, negativeInfinity(rewriter, loc, element)));
    state.push_back(makeColumn(element, number(element, 0.0)));
  }
  for (RowValuesOp product : products) {
    Value zero = number(product.getType().getElementType(), 0.0);
    state.push_back(
        linalg::FillOp::create(rewriter, loc, zero, makeValuesBuffer(product))
            .getResult(0));
  }

  // A region that looks at no key has nothing to go through.
  if (state.empty())
    return success();

  auto tilesBefore = tiles;
  auto inversesBefore = inverses;
  QueryBlock whole = block;
  Value size = constant(keyBlock);
  Value first = rewriter.createOrFold<arith::MulIOp>(
      loc, rewriter.createOrFold<arith::DivUIOp>(loc, block.first, size), size);
  auto loop = scf::ForOp::create(rewriter, loc, first, block.end, size, state);
  {
    OpBuilder::InsertionGuard guard(rewriter);
    rewriter.setInsertionPointToEnd(loop.getBody());
    ValueRange carried = loop.getRegionIterArgs();
    llvm::DenseMap<Value, RunningSoftmax> running;
    for (auto [index, softmax] : llvm::enumerate(softmaxes))
      running[softmax.getResult()] = {carried[2 * index],
                                      carried[2 * index + 1]};
    llvm::MapVector<Operation *, Value> sums;
    for (auto [product, sum] :
         llvm::zip(products, carried.drop_front(2 * softmaxes.size())))
      sums[product] = sum;
    findKeyBlock(whole, loop.getInductionVar());
    scf::IfOp seen = enterSeen(carried.getTypes(), block.first, block.end);
    narrowKeyBlock();
    for (Operation *inner : inside) {
      loc = inner->getLoc();
      if (auto softmax = dyn_cast<RowSoftmaxOp>(inner)) {
        RunningSoftmax &known = running[softmax.getResult()];
        Value factor = passKeys(softmax, known);
        SmallVector<Value *> scaled;
        for (auto &[product, sum] : sums)
          if (cast<RowValuesOp>(product).getWeights() == softmax.getResult())
            scaled.push_back(&sum);
        scaleSums(factor, scaled);
      } else if (auto product = dyn_cast<RowValuesOp>(inner)) {
        Value &sum = sums[product];
        sum = multiplyValues(product, tileOf(product.getWeights()).value,
                             /*output=*/{}, sum);
      } else if (failed(lift(inner)))
        return failure();
    }
    state.clear();
    for (RowSoftmaxOp softmax : softmaxes) {
      RunningSoftmax known = running.lookup(softmax.getResult());
      state.append({known.largest, known.sum});
    }
    for (auto &[product, sum] : sums)
      state.push_back(sum);
    if (seen) {
      leaveSeen(seen, state, carried);
      state = seen.getResults();
    }
    scf::YieldOp::create(rewriter, loc, state);
  }
  block = whole;
  tiles = std::move(tilesBefore);
  inverses = std::move(inversesBefore);

  llvm::DenseMap<Value, Value> denominators;
  for (auto [index, softmax] : llvm::enumerate(softmaxes)) {
    loc = softmax.getLoc();
    Value base = replaceEmpty(loop.getResult(2 * index));
    Value sum = loop.getResult(2 * index + 1);
    giveLogSumExp(softmax, base, sum);
    denominators[softmax.getResult()] = makeDenominator(softmax, base, sum);
  }
  for (auto [product, sum] : llvm::zip(
           products, loop.getResults().drop_front(2 * softmaxes.size()))) {
    loc = product.getLoc();
    Value denominator = denominators.lookup(product.getWeights());
    if (!denominator) {
      giveValues(product, sum);
      continue;
    }
    // What is linear in several softmaxes is divided behind it.
    bool isCombined =
        product->hasOneUse() && isa<linalg::GenericOp>(*product->user_begin());
    if (isCombined)
      tiles[product.getResult()] = {sum, true, true, denominator};
    else
      divideValues(product, sum, denominator);
  }
  for (Operation *inner : after)
    if (failed(lift(inner)))
      return failure();
  return success();
}
