// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- TileAttentionRegistersLift.cpp - Operations on a block's vectors ---===//
//
// What an operation of the region becomes for all queries of a block: the same
// scalar operations on vectors, which are as small as their operands allow.
//
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Transforms/RegionUtils.h"
#include "passes/tile/TileAttentionRegisters.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace gatefold;
using linalg::GenericOp;

static VectorType asVector(Value value) {
  return dyn_cast<VectorType>(value.getType());
}

//===----------------------------------------------------------------------===//
// Scalar operations
//===----------------------------------------------------------------------===//

/// A number of a table at another place for each element, or of rows of keys
/// that each query has another one of. Places of elements that are padding are
/// brought into the table.
Value AttentionRegisters::gather(tensor::ExtractOp extract,
                                 IRMapping &mapping) {
  Value table = extract.getTensor();
  if (body.isPerQuery(table))
    return vectorOf(table);
  Type wide = getElementTypeOrSelf(table);
  SmallVector<FixedIndex> fixed;
  SmallVector<Value> place;
  SmallVector<int64_t> varying;
  for (auto [dim, index] : llvm::enumerate(extract.getIndices())) {
    place.push_back(mapping.lookupOrDefault(index));
    if (asVector(place.back()))
      varying.push_back(dim);
    else
      fixed.emplace_back(dim, place.back());
  }
  bool hasRows = varying.size() == 2;
  table = hasRows ? headOf(table) : uniformOf(table);
  if (varying.empty())
    return tensor::ExtractOp::create(rewriter, loc, table, place);
  int64_t rows = 0, columns = 0;
  for (int64_t dim : varying) {
    rows = std::max(rows, asVector(place[dim]).getDimSize(0));
    columns = std::max(columns, asVector(place[dim]).getDimSize(1));
  }
  for (int64_t dim : varying) {
    Value last = minus(getSize(rewriter, loc, table, dim), constant(1));
    Value &index = place[dim];
    int64_t height = asVector(index).getDimSize(0),
            width = asVector(index).getDimSize(1);
    index = arith::MinSIOp::create(rewriter, loc, index,
                                   splat(last, height, width));
    index = arith::MaxSIOp::create(rewriter, loc, index,
                                   splat(constant(0), height, width));
    index = stretch(index, rows, columns);
  }
  Value number = place[varying.front()];
  if (hasRows) {
    int64_t width = cast<RankedTensorType>(table.getType()).getDimSize(1);
    number = arith::MulIOp::create(rewriter, loc, number,
                                   splat(constant(width), rows, columns));
    number = arith::AddIOp::create(rewriter, loc, number, place[1]);
  }
  Value row = takeSlice(rewriter, loc, table, fixed);
  Type element = getElementTypeOrSelf(table);
  Value all =
      arith::ConstantIntOp::create(rewriter, loc, rewriter.getI1Type(), 1);
  Value none =
      arith::ConstantOp::create(rewriter, loc, rewriter.getZeroAttr(element));
  Value found = vector::GatherOp::create(
      rewriter, loc, vectorType(rows, columns, element), row,
      SmallVector<Value>(varying.size(), constant(0)), number,
      splat(all, rows, columns), splat(none, rows, columns));
  if (element != wide)
    found = arith::ExtFOp::create(rewriter, loc,
                                  vectorType(rows, columns, wide), found);
  return found;
}

/// A product with the inverse is at most one unit in the last place from the
/// quotient, and takes a tenth of the time.
std::optional<APFloat> gatefold::getInverse(const APFloat &number) {
  APFloat inverse(number.getSemantics(), 1);
  inverse.divide(number, APFloat::rmNearestTiesToEven);
  if (!number.isFiniteNonZero() || number.isDenormal() ||
      !inverse.isFiniteNonZero() || inverse.isDenormal())
    return std::nullopt;
  return inverse;
}

/// The operation on numbers or vectors.
Value AttentionRegisters::evaluate(Operation *inner, IRMapping &mapping) {
  if (auto extract = dyn_cast<tensor::ExtractOp>(inner))
    return gather(extract, mapping);
  int64_t rows = 0, columns = 0;
  for (Value operand : inner->getOperands())
    if (VectorType type = asVector(mapping.lookupOrDefault(operand))) {
      rows = std::max(rows, type.getDimSize(0));
      columns = std::max(columns, type.getDimSize(1));
    }
  if (rows == 0)
    return rewriter.clone(*inner, mapping)->getResult(0);
  APFloat divisor(0.0f);
  std::optional<APFloat> inverse;
  if (isa<arith::DivFOp>(inner) &&
      matchPattern(inner->getOperand(1), m_ConstantFloat(&divisor)) &&
      (inverse = getInverse(divisor))) {
    Value factor = arith::ConstantOp::create(
        rewriter, loc,
        rewriter.getFloatAttr(inner->getOperand(1).getType(), *inverse));
    return arith::MulFOp::create(
        rewriter, loc,
        stretch(mapping.lookupOrDefault(inner->getOperand(0)), rows, columns),
        splat(factor, rows, columns));
  }
  IRMapping stretched;
  for (Value operand : inner->getOperands())
    stretched.map(operand,
                  stretch(mapping.lookupOrDefault(operand), rows, columns));
  Operation *copy = rewriter.clone(*inner, stretched);
  Value result = copy->getResult(0);
  result.setType(vectorType(rows, columns, result.getType()));
  return result;
}

//===----------------------------------------------------------------------===//
// Structured operations
//===----------------------------------------------------------------------===//

/// Conditions that hold for one key of each query: most blocks of keys have
/// none of these.
static SmallVector<arith::CmpIOp> findPlaces(GenericOp generic,
                                             const RowLoops &loops) {
  SmallVector<arith::CmpIOp> places;
  if (!loops.runsAlongKeys || loops.reduces)
    return places;
  auto isKey = [&](Value value) {
    auto index = value.getDefiningOp<linalg::IndexOp>();
    return index && index.getDim() == *loops.column;
  };
  for (auto comparison : generic.getBody()->getOps<arith::CmpIOp>())
    if (comparison.getPredicate() == arith::CmpIPredicate::eq &&
        isKey(comparison.getLhs()) != isKey(comparison.getRhs()))
      places.push_back(comparison);
  return places;
}

/// A run that has nothing of what is added up reads nothing of it, and a block
/// of queries that sees no key needs no sum over a key of each query. Each of
/// these is a part of code of its own, so that the assembler does not begin all
/// of them at once, which takes more registers than there are.
Value AttentionRegisters::hasTerms(GenericOp generic, const RowLoops &loops) {
  if (!loops.reducesColumn)
    return {};
  for (Value input : generic.getInputs())
    if (Value chosen = RegistersForm::getChosenSize(input))
      return arith::CmpIOp::create(rewriter, loc, arith::CmpIPredicate::ne,
                                   uniformOf(chosen), constant(0));
  bool readsKeys = llvm::any_of(generic.getBody()->getOps<tensor::ExtractOp>(),
                                [&](tensor::ExtractOp extract) {
                                  return !body.isPerQuery(extract.getTensor());
                                });
  if (!readsKeys || !forKeysAlone.contains(generic))
    return {};
  return arith::CmpIOp::create(rewriter, loc, arith::CmpIPredicate::slt,
                               block.first, block.end);
}

void AttentionRegisters::liftGeneric(GenericOp generic) {
  RowLoops loops = *RegistersForm::getLoops(generic, body);
  IRMapping mapping;
  SetVector<Value> captured;
  getUsedValuesDefinedAbove(generic.getRegion(), captured);
  for (Value value : captured)
    if (!isa<RankedTensorType>(value.getType()))
      mapping.map(value, vectorOf(value));
  for (OpOperand &operand : generic->getOpOperands())
    if (generic.payloadUsesValueFromOperand(&operand))
      mapping.map(generic.getMatchingBlockArgument(&operand),
                  vectorOf(operand.get()));
  auto evaluateAll = [&] { evaluateGeneric(generic, loops, mapping); };
  if (Value condition = hasTerms(generic, loops))
    return liftBranches(generic, condition, evaluateAll, [&] {
      for (auto [result, output] :
           llvm::zip(generic->getResults(), generic.getRegionOutputArgs()))
        setVector(result, stretch(mapping.lookup(output), queryBlock,
                                  columnsOf(result)));
    });
  SmallVector<arith::CmpIOp> places = findPlaces(generic, loops);
  if (places.empty())
    return evaluateAll();
  Value some;
  for (arith::CmpIOp place : places) {
    Value holds = mayHold(place, generic, *loops.column, keyStart,
                          plus(keyStart, constant(keyBlock)));
    some = some ? rewriter.createOrFold<arith::OrIOp>(loc, some, holds) : holds;
  }
  IRMapping elsewhere = mapping;
  Value never =
      arith::ConstantIntOp::create(rewriter, loc, rewriter.getI1Type(), 0);
  for (arith::CmpIOp place : places)
    elsewhere.map(place.getResult(), never);
  liftBranches(generic, some, evaluateAll,
               [&] { evaluateGeneric(generic, loops, elsewhere); });
}

void AttentionRegisters::liftBranches(GenericOp generic, Value condition,
                                      llvm::function_ref<void()> makeThen,
                                      llvm::function_ref<void()> makeElse) {
  SmallVector<Type> types;
  for (Value result : generic->getResults())
    types.push_back(
        vectorType(queryBlock, columnsOf(result), result.getType()));
  auto choice = scf::IfOp::create(rewriter, loc, types, condition,
                                  /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(rewriter);
  auto outside = vectors;
  auto fill = [&](Block *block, llvm::function_ref<void()> make) {
    rewriter.setInsertionPointToEnd(block);
    vectors = outside;
    make();
    SmallVector<Value> made;
    for (Value result : generic->getResults())
      made.push_back(vectorOf(result));
    scf::YieldOp::create(rewriter, loc, made);
  };
  fill(choice.thenBlock(), makeThen);
  fill(choice.elseBlock(), makeElse);
  vectors = std::move(outside);
  for (auto [result, made] :
       llvm::zip(generic->getResults(), choice.getResults()))
    setVector(result, made);
}

/// The results of a structured operation, from what its operands are.
void AttentionRegisters::evaluateGeneric(GenericOp generic,
                                         const RowLoops &loops,
                                         IRMapping &mapping) {
  Block *block = generic.getBody();
  int64_t count = loops.column && !loops.runsAlongKeys
                      ? RegistersForm::getRange(generic, *loops.column)
                      : 1;
  int64_t columns =
      loops.runsAlongKeys ? keyBlock : llvm::alignTo(count, registerTile);
  SmallVector<Operation *> combiners(generic.getNumResults());
  if (loops.reduces)
    for (auto [index, yielded] :
         llvm::enumerate(block->getTerminator()->getOperands()))
      combiners[index] = yielded.getDefiningOp();
  for (Operation &inner : block->without_terminator()) {
    if (llvm::is_contained(combiners, &inner))
      continue;
    if (mapping.contains(inner.getResult(0)))
      continue;
    auto index = dyn_cast<linalg::IndexOp>(inner);
    if (!index) {
      mapping.map(inner.getResult(0), evaluate(&inner, mapping));
      continue;
    }
    Value place = constant(0);
    if (loops.column == index.getDim()) {
      place = countColumns(columns, rewriter.getIndexType());
      if (loops.runsAlongKeys)
        place = arith::AddIOp::create(rewriter, loc, place,
                                      splat(keyStart, 1, columns));
    }
    mapping.map(index.getResult(), place);
  }
  for (auto [index, result] : llvm::enumerate(generic->getResults())) {
    Operation *combiner = combiners[index];
    if (!combiner) {
      Value made =
          mapping.lookupOrDefault(block->getTerminator()->getOperand(index));
      setVector(result, stretch(made, queryBlock, columnsOf(result)));
      continue;
    }
    Value output = generic.getRegionOutputArgs()[index];
    bool isFirst = combiner->getOperand(0) == output;
    Value element = combiner->getOperand(isFirst ? 1 : 0);
    Value term = mapping.lookupOrDefault(element);
    TypedAttr neutral = *arith::getNeutralElement(combiner);
    if (loops.reducesColumn) {
      Value nothing = arith::ConstantOp::create(rewriter, loc, neutral);
      term = stretch(term, queryBlock, columns);
      if (columns != count) {
        Type i32 = rewriter.getI32Type();
        Value isInside = arith::CmpIOp::create(
            rewriter, loc, arith::CmpIPredicate::slt,
            countColumns(columns, i32),
            splat(arith::ConstantIntOp::create(rewriter, loc, i32, count), 1,
                  columns));
        term = arith::SelectOp::create(
            rewriter, loc, stretch(isInside, queryBlock, columns), term,
            splat(nothing, queryBlock, columns));
      }
      term = reduce(*linalg::getCombinerOpKind(combiner), term, nothing);
    }
    Attribute begin;
    if (matchPattern(mapping.lookup(output), m_Constant(&begin)) &&
        begin == neutral) {
      setVector(result, stretch(term, queryBlock, columnsOf(result)));
      continue;
    }
    mapping.map(element, term);
    setVector(result, stretch(evaluate(combiner, mapping), queryBlock,
                              columnsOf(result)));
  }
}

/// left [queries, terms] times right, whose rows are the columns of the result,
/// or whose columns are.
Value AttentionRegisters::multiply(Value left, Value right, bool alongRows,
                                   Value sum) {
  AffineExpr m = rewriter.getAffineDimExpr(0), n = rewriter.getAffineDimExpr(1),
             k = rewriter.getAffineDimExpr(2);
  auto map = [&](AffineExpr row, AffineExpr column) {
    return AffineMap::get(3, 0, {row, column}, rewriter.getContext());
  };
  SmallVector<AffineMap> maps = {map(m, k), alongRows ? map(n, k) : map(k, n),
                                 map(m, n)};
  auto kinds = [&](ArrayRef<vector::IteratorType> types) {
    return rewriter.getArrayAttr(
        llvm::map_to_vector(types, [&](vector::IteratorType type) -> Attribute {
          return vector::IteratorTypeAttr::get(rewriter.getContext(), type);
        }));
  };
  using vector::IteratorType;
  return vector::ContractionOp::create(
      rewriter, loc, left, right, sum, rewriter.getAffineMapArrayAttr(maps),
      kinds({IteratorType::parallel, IteratorType::parallel,
             IteratorType::reduction}));
}

/// A product of a row and a matrix that is the same for all queries.
void AttentionRegisters::liftContract(linalg::ContractOp contract) {
  Value row = contract.getInputs()[0], matrix = contract.getInputs()[1];
  AffineMap map =
      contract.getMatchingIndexingMap(contract.getDpsInputOperand(1));
  bool alongRows =
      map.getDimPosition(0) ==
      contract.getMatchingIndexingMap(contract.getDpsInitOperand(0))
          .getDimPosition(0);
  auto type = cast<RankedTensorType>(matrix.getType());
  auto whole = [](int64_t size) { return llvm::alignTo(size, registerTile); };
  int64_t terms = whole(type.getDimSize(alongRows ? 1 : 0)),
          columns = whole(type.getDimSize(alongRows ? 0 : 1));
  Value right =
      readMatrix(uniformOf(matrix), constant(0), whole(type.getDimSize(0)));
  Value sum = stretch(vectorOf(contract.getOutputs()[0]), queryBlock, columns);
  Value result = multiply(productOperand(row, terms), right, alongRows, sum);
  if (columnsOf(contract->getResult(0)) == 1)
    result = reduce(vector::CombiningKind::ADD, result,
                    number(rewriter.getF32Type(), 0.0));
  setVector(contract->getResult(0), result);
}

void AttentionRegisters::lift(Operation *inner) {
  loc = inner->getLoc();
  TypeSwitch<Operation *>(inner)
      .Case([&](RowScoresOp scores) {
        Value keys = readBlock(scores.getKeys());
        int64_t terms = cast<VectorType>(keys.getType()).getDimSize(1);
        Value query = productOperand(scores.getQuery(), terms);
        Type element = scores.getType().getElementType();
        auto read = query.getDefiningOp<arith::ExtFOp>();
        // 16 bits times 16 bits, or f32 times f32.
        if (read && asVector(read.getIn()).getElementType() ==
                        asVector(keys).getElementType())
          query = read.getIn();
        else if (getElementTypeOrSelf(keys) != element)
          keys = arith::ExtFOp::create(
              rewriter, loc, vectorType(keyBlock, terms, element), keys);
        Value zero = splat(number(element, 0.0), queryBlock, keyBlock);
        setVector(scores.getResult(),
                  multiply(query, keys, /*alongRows=*/true, zero));
      })
      .Case([&](RowVisibleOp visible) {
        setVector(visible.getResult(), makeVisible());
      })
      .Case([&](GenericOp generic) { liftGeneric(generic); })
      .Case([&](linalg::ContractOp contract) { liftContract(contract); })
      .Case<tensor::CastOp, tensor::ExpandShapeOp, tensor::CollapseShapeOp,
            tensor::FromElementsOp>([&](auto view) {
        setVector(view->getResult(0), vectorOf(view->getOperand(0)));
      })
      .Case([&](tensor::ExtractSliceOp slice) { liftSlice(slice); })
      .Default([&](Operation *other) {
        IRMapping mapping;
        for (Value operand : other->getOperands())
          if (!isa<RankedTensorType>(operand.getType()))
            mapping.map(operand, vectorOf(operand));
        Value value = evaluate(other, mapping);
        setVector(other->getResult(0), stretch(value, queryBlock, 1));
      });
}

/// A part of each query.
void AttentionRegisters::liftSlice(tensor::ExtractSliceOp slice) {
  auto argument = cast<BlockArgument>(slice.getSource());
  Value operand = op->getOperand(argument.getArgNumber());
  if (Value given = narrow.lookup(operand))
    operand = given;
  auto type = cast<RankedTensorType>(operand.getType());
  int64_t rest = cast<RankedTensorType>(argument.getType()).getRank();
  int64_t operandLead = type.getRank() - rest - 1;
  SmallVector<OpFoldResult> offsets(type.getRank(), rewriter.getIndexAttr(0));
  SmallVector<OpFoldResult> strides(type.getRank(), rewriter.getIndexAttr(1));
  SmallVector<OpFoldResult> sizes =
      tensor::getMixedSizes(rewriter, loc, operand);
  for (auto [dim, index] : fixLead(operand, operandLead)) {
    offsets[dim] = index;
    sizes[dim] = rewriter.getIndexAttr(1);
  }
  auto column = *RegistersForm::getColumnDim(slice.getResult(), body);
  SmallVector<int64_t> shape = {type.getDimSize(operandLead)};
  for (int64_t dim = 0; dim < rest; ++dim) {
    OpFoldResult offset = slice.getMixedOffsets()[dim];
    if (auto value = dyn_cast<Value>(offset))
      offset = uniformOf(value);
    offsets[operandLead + 1 + dim] = offset;
    OpFoldResult size = slice.getMixedSizes()[dim];
    if (auto value = dyn_cast<Value>(size))
      size = uniformOf(value);
    sizes[operandLead + 1 + dim] = size;
  }
  if (column)
    shape.push_back(slice.getType().getDimSize(*column));
  Value rows = tensor::ExtractSliceOp::create(
      rewriter, loc, RankedTensorType::get(shape, type.getElementType()),
      operand, offsets, sizes, strides);
  Value vector = read(rows, block.start, column ? constant(0) : Value(),
                      queryBlock, columnsOf(slice.getResult()));
  Type wide = slice.getType().getElementType();
  if (type.getElementType() != wide)
    vector = arith::ExtFOp::create(
        rewriter, loc, asVector(vector).cloneWith(std::nullopt, wide), vector);
  setVector(slice.getResult(), vector);
}
