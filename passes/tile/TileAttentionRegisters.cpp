// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- TileAttentionRegisters.cpp - Attention in registers ----------------===//
//
// For a block of queries, code on vectors: what needs the queries alone, a loop
// over blocks of keys that carries the maximum and the sum of each softmax and
// the sum of each product with the values, then the rest of the region. A
// thread block of a GPU executes it; no tensor but the results is written.
//
// Exactness: as in TileAttentionOnline. Where keys or values are 16-bit floats
// their products are exact and summed in f32; powers are rounded to 16 bits
// before they meet 16-bit values, after they went into the sum.
//
//===----------------------------------------------------------------------===//

#include "passes/tile/TileAttentionRegisters.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Transforms/RegionUtils.h"

using namespace mlir;
using namespace gatefold;
using linalg::GenericOp;

/// The operation that rounds a result to 16 bits, if nothing else reads it but
/// its sizes.
static GenericOp findRounding(OpResult result) {
  GenericOp rounding;
  for (Operation *user : result.getUsers()) {
    if (isa<tensor::DimOp>(user))
      continue;
    auto generic = dyn_cast<GenericOp>(user);
    if (rounding || !generic || generic.getNumDpsInputs() != 1 ||
        generic.getNumResults() != 1 || generic.getInputs()[0] != result ||
        generic.getOutputs()[0] == result ||
        generic.getNumParallelLoops() != generic.getNumLoops() ||
        !llvm::all_of(generic.getIndexingMapsArray(),
                      [](AffineMap map) { return map.isIdentity(); }))
      return {};
    auto truncation = generic.getBody()
                          ->getTerminator()
                          ->getOperand(0)
                          .getDefiningOp<arith::TruncFOp>();
    if (!truncation || truncation.getIn() != generic.getBody()->getArgument(0))
      return {};
    rounding = generic;
  }
  return rounding;
}

AttentionRegisters::AttentionRegisters(AttentionOp op, IRRewriter &rewriter,
                                       const TargetDescription &target,
                                       int64_t queryBlock, int64_t keyBlock)
    : AttentionTiling(op, rewriter, target, queryBlock, keyBlock) {
  this->keyBlock = keyStep = keyBlock;
  packs = false;
  narrowsBlocks = skipsHidden;
  for (Value operand : op->getOperands())
    if (Value given = getExtended(operand))
      narrow[operand] = given;
  for (OpResult result : op->getResults())
    if (GenericOp rounding = findRounding(result))
      roundings[result] = rounding;
}

//===----------------------------------------------------------------------===//
// Loops and results
//===----------------------------------------------------------------------===//

/// Blocks have as many rows as a vector.
Value AttentionRegisters::spreadQueries(Value) { return constant(queryBlock); }

Type AttentionRegisters::getResultElement(OpResult result) {
  GenericOp rounding = roundings.lookup(result);
  return getElementTypeOrSelf(rounding ? rounding->getResult(0) : result);
}

void AttentionRegisters::replaceResults(ValueRange results) {
  for (auto [number, value] : llvm::enumerate(results)) {
    OpResult result = op->getResult(number);
    GenericOp rounding = roundings.lookup(result);
    if (!rounding) {
      replaceResult(number, value);
      continue;
    }
    for (OpOperand &use : llvm::make_early_inc_range(result.getUses()))
      if (isa<tensor::DimOp>(use.getOwner()))
        rewriter.modifyOpInPlace(use.getOwner(),
                                 [&use, value = value] { use.set(value); });
    rewriter.replaceOp(rounding, castTo(rewriter, loc, value,
                                        rounding->getResult(0).getType()));
  }
  rewriter.eraseOp(op);
}

Value AttentionRegisters::makePart(unsigned number, Value result, Value row) {
  auto type = cast<RankedTensorType>(result.getType());
  Type element = type.getElementType();
  int64_t columns = columnsOf(row), rank = type.getRank();
  Value vector = stretch(vectorOf(row), queryBlock, columns);
  if (getElementTypeOrSelf(vector) != element)
    vector = arith::TruncFOp::create(
        rewriter, loc, vectorType(queryBlock, columns, element), vector);
  auto [offsets, sizes] = findBlockOf(number, result);
  SmallVector<OpFoldResult> strides(rank, rewriter.getIndexAttr(1));
  int64_t rows = getConstantIntValue(block.rows).value_or(ShapedType::kDynamic);
  SmallVector<int64_t> shape = {rows};
  if (auto column = *RegistersForm::getColumnDim(row, body))
    shape.push_back(type.getDimSize(leadRank + 1 + *column));
  else if (rank == leadRank + 2)
    shape.push_back(1);
  Value part = tensor::ExtractSliceOp::create(
      rewriter, loc, RankedTensorType::get(shape, element), result, offsets,
      sizes, strides);
  bool isNumber = shape.size() == 1;
  SmallVector<ReassociationIndices> both = {{0, 1}};
  if (isNumber)
    part = tensor::ExpandShapeOp::create(
        rewriter, loc, RankedTensorType::get({rows, 1}, element), part, both,
        {block.rows, rewriter.getIndexAttr(1)});
  Value none = constant(0);
  SmallVector<bool> inBounds = {rows == queryBlock,
                                isNumber || shape[1] == columns};
  part = vector::TransferWriteOp::create(rewriter, loc, vector, part,
                                         ValueRange{none, none},
                                         ArrayRef<bool>(inBounds))
             .getResult();
  if (isNumber)
    part = tensor::CollapseShapeOp::create(
        rewriter, loc, RankedTensorType::get(shape, element), part, both);
  return part;
}

//===----------------------------------------------------------------------===//
// The region
//===----------------------------------------------------------------------===//

Value AttentionRegisters::headOf(Value matrix) {
  if (auto argument = dyn_cast<BlockArgument>(matrix)) {
    Value operand = op->getOperand(argument.getArgNumber());
    if (Value given = narrow.lookup(operand))
      return takeSlice(
          rewriter, loc, given,
          fixLead(given,
                  cast<RankedTensorType>(given.getType()).getRank() - 2));
  }
  return uniformOf(matrix);
}

/// The keys or values of the head that some query sees: what lies behind or
/// before them is not read.
void AttentionRegisters::findMatrix(Value matrix) {
  Value &known = matrices[matrix];
  if (known)
    return;
  Value source = headOf(matrix);
  known = source;
  if (!reach.first && !reach.last && !reach.hasLength)
    return;
  auto type = cast<RankedTensorType>(source.getType());
  Value first = reach.first ? reach.reachFirst : constant(0);
  OpFoldResult none = rewriter.getIndexAttr(0), one = rewriter.getIndexAttr(1),
               width = rewriter.getIndexAttr(type.getDimSize(1));
  known = tensor::ExtractSliceOp::create(
      rewriter, loc, source, {getAsOpFoldResult(first), none},
      {getAsOpFoldResult(minus(reach.reachEnd, first)), width}, {one, one});
}

/// Values that operations read, without sinks: these are needed at the end.
static SetVector<Value> valuesOf(Operation *inner) {
  SetVector<Value> used;
  if (auto softmax = dyn_cast<RowSoftmaxOp>(inner)) {
    used.insert(softmax.getScores());
    if (softmax.getWhere())
      used.insert(softmax.getWhere());
    return used;
  }
  used.insert(inner->operand_begin(), inner->operand_end());
  getUsedValuesDefinedAbove(inner->getRegions(), used);
  return used;
}

/// Values that operations in the loop over keys read behind it.
static ValueRange endOperandsOf(Operation *inner) {
  auto softmax = dyn_cast<RowSoftmaxOp>(inner);
  return softmax ? ValueRange(softmax->getOperands()) : ValueRange();
}

LogicalResult AttentionRegisters::makeBlock(SmallVectorImpl<Value> &carried) {
  OnlineForm form(op, body);
  Block &region = op.getBody().front();
  vectors.clear();
  matrices.clear();
  forKeysAlone.clear();
  SmallVector<Operation *> before, inside, after;
  // By the loop over keys, and behind it.
  llvm::DenseSet<Value> needed, neededAfter;
  neededAfter.insert_range(op.getYield().getValues());
  for (Operation &inner : llvm::reverse(region.without_terminator())) {
    if (!body.isPerQuery(inner.getResult(0)))
      continue;
    OnlineForm::Place place = form.getPlace(&inner);
    bool isNeeded = place == OnlineForm::Place::InKeys ||
                    llvm::any_of(inner.getResults(), [&](Value result) {
                      return needed.contains(result);
                    });
    if (place != OnlineForm::Place::AfterKeys && isNeeded)
      needed.insert_range(valuesOf(&inner));
    if (place == OnlineForm::Place::InKeys)
      neededAfter.insert_range(endOperandsOf(&inner));
    else if (!isNeeded || llvm::any_of(inner.getResults(), [&](Value result) {
               return neededAfter.contains(result);
             }))
      neededAfter.insert_range(valuesOf(&inner));
    else
      forKeysAlone.insert(&inner);
    (place == OnlineForm::Place::InKeys ? inside
     : isNeeded                         ? before
                                        : after)
        .push_back(&inner);
  }
  for (Operation *inner : llvm::reverse(before))
    lift(inner);
  // What the loop reads of the queries is read before it.
  for (BlockArgument argument : region.getArguments())
    if (needed.contains(argument) && body.isPerQuery(argument) &&
        !body.getKeyDim(argument) &&
        RegistersForm::getColumnDim(argument, body))
      vectorOf(argument);
  loc = op.getLoc();
  makeKeys(llvm::to_vector(llvm::reverse(inside)), after);
  loc = op.getLoc();
  SmallVector<Value> parts;
  for (auto [number, row] : llvm::enumerate(op.getYield().getValues()))
    parts.push_back(makePart(number, carried[number], row));
  // Behind all of them: what becomes a copy would part the code on vectors.
  for (auto [number, part] : llvm::enumerate(parts)) {
    Value &result = carried[number];
    auto [offsets, sizes] = findBlockOf(number, result);
    SmallVector<OpFoldResult> strides(sizes.size(), rewriter.getIndexAttr(1));
    result = tensor::InsertSliceOp::create(rewriter, loc, part, result, offsets,
                                           sizes, strides);
  }
  return success();
}

void AttentionRegisters::makeKeys(ArrayRef<Operation *> inside,
                                  ArrayRef<Operation *> after) {
  Block &region = op.getBody().front();
  OnlineForm form(op, body);
  auto liftAfter = [&](bool readsSums) {
    for (Operation *inner : llvm::reverse(after))
      if ((form.getPlace(inner) == OnlineForm::Place::AfterKeys) == readsSums)
        lift(inner);
  };
  SmallVector<RowSoftmaxOp> softmaxes(region.getOps<RowSoftmaxOp>());
  SmallVector<RowValuesOp> products(region.getOps<RowValuesOp>());
  for (RowScoresOp scores : region.getOps<RowScoresOp>())
    if (!body.isPerQuery(scores.getKeys()))
      findMatrix(scores.getKeys());
  SmallVector<Value> state;
  for (RowSoftmaxOp softmax : softmaxes) {
    Type element = softmax.getType().getElementType();
    state.push_back(
        splat(negativeInfinity(rewriter, loc, element), queryBlock, 1));
    state.push_back(splat(number(element, 0.0), queryBlock, 1));
  }
  for (RowValuesOp product : products) {
    findMatrix(product.getValues());
    state.push_back(splat(number(product.getType().getElementType(), 0.0),
                          queryBlock, sumColumns(product)));
  }
  // A region that looks at no key has nothing to go through.
  if (state.empty()) {
    liftAfter(/*readsSums=*/false);
    return liftAfter(/*readsSums=*/true);
  }

  Value size = constant(keyBlock);
  Value first = rewriter.createOrFold<arith::MulIOp>(
      loc, rewriter.createOrFold<arith::DivUIOp>(loc, block.first, size), size);
  auto loop = scf::ForOp::create(rewriter, loc, first, block.end, size, state);
  auto outside = vectors;
  {
    OpBuilder::InsertionGuard guard(rewriter);
    rewriter.setInsertionPointToEnd(loop.getBody());
    keyStart = loop.getInductionVar();
    keyRow = reach.first ? minus(keyStart, reach.reachFirst) : keyStart;
    ValueRange carried = loop.getRegionIterArgs();
    llvm::DenseMap<Value, RunningSoftmax> running;
    llvm::DenseMap<Value, Value> factors, sums;
    rowsOfBlock.clear();
    for (auto [index, softmax] : llvm::enumerate(softmaxes))
      running[softmax.getResult()] = {carried[2 * index],
                                      carried[2 * index + 1]};
    for (auto [product, sum] :
         llvm::zip(products, carried.drop_front(2 * softmaxes.size())))
      sums[product.getResult()] = sum;
    scf::IfOp seen;
    if (skipsHidden) {
      // What is read is on its way to shared memory before it is known whether
      // the block is seen.
      for (Operation *inner : inside)
        if (isa<RowScoresOp, RowValuesOp>(inner))
          readBlock(inner->getOperand(1));
      Value end = least(plus(keyStart, size), block.end);
      seen = enterSeen(carried.getTypes(), keyStart, end);
    }
    for (Operation *inner : inside) {
      loc = inner->getLoc();
      if (auto softmax = dyn_cast<RowSoftmaxOp>(inner)) {
        factors[softmax.getResult()] =
            passKeys(softmax, running[softmax.getResult()]);
      } else if (auto product = dyn_cast<RowValuesOp>(inner)) {
        Value values = readBlock(product.getValues());
        Value &sum = sums[product.getResult()];
        sum = passValues(product, values, factors.lookup(product.getWeights()),
                         sum);
      } else {
        lift(inner);
      }
    }
    state.clear();
    for (RowSoftmaxOp softmax : softmaxes) {
      RunningSoftmax known = running.lookup(softmax.getResult());
      state.append({known.largest, known.sum});
    }
    for (RowValuesOp product : products)
      state.push_back(sums.lookup(product.getResult()));
    if (seen) {
      leaveSeen(seen, state, carried);
      state = seen.getResults();
    }
    scf::YieldOp::create(rewriter, loc, state);
  }
  vectors = std::move(outside);
  keyStart = keyRow = {};

  liftAfter(/*readsSums=*/false);
  llvm::DenseMap<Value, Value> inverses;
  for (auto [index, softmax] : llvm::enumerate(softmaxes)) {
    loc = softmax.getLoc();
    RunningSoftmax known = {loop.getResult(2 * index),
                            loop.getResult(2 * index + 1)};
    giveLogSumExp(softmax, known);
    inverses[softmax.getResult()] = invert(softmax, known);
  }
  for (auto [product, sum] : llvm::zip(
           products, loop.getResults().drop_front(2 * softmaxes.size()))) {
    loc = product.getLoc();
    Value result = sum;
    if (Value inverse = inverses.lookup(product.getWeights()))
      result = arith::MulFOp::create(
          rewriter, loc, sum,
          stretch(inverse, queryBlock, sumColumns(product)));
    // Values of one column: the others are 0.
    if (columnsOf(product.getResult()) == 1)
      result = reduce(vector::CombiningKind::ADD, result,
                      number(product.getType().getElementType(), 0.0));
    setVector(product.getResult(), result);
  }
  liftAfter(/*readsSums=*/true);
}

/// The rows of keys or values of the block of keys. Products of the same ones
/// stand together, so that these are in registers once.
Value AttentionRegisters::readBlock(Value matrix) {
  Value &rows = rowsOfBlock[matrix];
  if (!rows)
    rows = readMatrix(matrices.lookup(matrix), keyRow, keyBlock);
  return rows;
}

/// Columns of the vector that a product with the values is summed up in.
int64_t AttentionRegisters::sumColumns(RowValuesOp product) {
  return llvm::alignTo(product.getValues().getType().getDimSize(1),
                       registerTile);
}

/// `sum` times what the sum of its softmax was multiplied by, if it has one,
/// and the values of a block of keys, weighed.
Value AttentionRegisters::passValues(RowValuesOp product, Value values,
                                     Value factor, Value sum) {
  Value powers = vectorOf(product.getWeights());
  auto type = cast<VectorType>(values.getType());
  Type element = product.getType().getElementType();
  // Powers are rounded as probabilities may be; other weights are any numbers.
  if (type.getElementType() != element && factor)
    powers = arith::TruncFOp::create(
        rewriter, loc, vectorType(queryBlock, keyBlock, type), powers);
  else if (type.getElementType() != element)
    values = arith::ExtFOp::create(
        rewriter, loc, vectorType(keyBlock, type.getDimSize(1), element),
        values);
  if (factor)
    sum = arith::MulFOp::create(
        rewriter, loc, sum, stretch(factor, queryBlock, sumColumns(product)));
  return multiply(powers, values, /*alongRows=*/false, sum);
}
