// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- TileAttentionRegistersForm.cpp - What fits in registers ------------===//
//
// Which row programs can be computed on vectors [queries, columns] of a block's
// registers, and which products they have.
//
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Transforms/RegionUtils.h"
#include "passes/tile/TileAttentionRegisters.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace gatefold;
using linalg::GenericOp;

static bool isHalf(Type type) { return type.isF16() || type.isBF16(); }

static bool isTensor(Type type) { return isa<RankedTensorType>(type); }

Value gatefold::getExtended(Value value) {
  auto generic = value.getDefiningOp<GenericOp>();
  if (!generic || generic.getNumDpsInputs() != 1 ||
      generic.getNumResults() != 1 ||
      generic.getNumParallelLoops() != generic.getNumLoops() ||
      !llvm::all_of(generic.getIndexingMapsArray(),
                    [](AffineMap map) { return map.isIdentity(); }))
    return {};
  auto extension = generic.getBody()
                       ->getTerminator()
                       ->getOperand(0)
                       .getDefiningOp<arith::ExtFOp>();
  Value narrow = generic.getInputs()[0];
  bool extends = extension &&
                 extension.getIn() == generic.getBody()->getArgument(0) &&
                 isHalf(getElementTypeOrSelf(narrow));
  return extends ? narrow : Value();
}

//===----------------------------------------------------------------------===//
// Shapes
//===----------------------------------------------------------------------===//

std::optional<std::optional<int64_t>>
RegistersForm::getColumnDim(Value value, const AttentionBody &body) {
  std::optional<int64_t> keyDim = body.getKeyDim(value), column;
  auto type = dyn_cast<RankedTensorType>(value.getType());
  if (!type)
    return column;
  for (int64_t dim = 0; dim < type.getRank(); ++dim) {
    if (type.getDimSize(dim) == 1 && keyDim != dim)
      continue;
    if (column)
      return std::nullopt;
    column = dim;
  }
  return column;
}

Value RegistersForm::getChosenSize(Value part) {
  auto slice = part.getDefiningOp<tensor::ExtractSliceOp>();
  if (!slice || slice.getType().getRank() != 1 ||
      !slice.getType().isDynamicDim(0) || slice.getSourceType().getRank() != 1)
    return {};
  auto chosen = slice.getDynamicSize(0).getDefiningOp<arith::SelectOp>();
  if (!chosen || !slice.hasUnitStride() || !slice.hasZeroOffset())
    return {};
  auto isOne = [&](Value value, Value other) {
    return isConstantIntValue(getAsOpFoldResult(value), 0) &&
           isConstantIntValue(getAsOpFoldResult(other),
                              slice.getSourceType().getDimSize(0));
  };
  Value left = chosen.getTrueValue(), right = chosen.getFalseValue();
  return isOne(left, right) || isOne(right, left) ? chosen.getResult()
                                                  : Value();
}

int64_t RegistersForm::getSize(Value value, int64_t dim) {
  if (getChosenSize(value))
    value = value.getDefiningOp<tensor::ExtractSliceOp>().getSource();
  return cast<RankedTensorType>(value.getType()).getDimSize(dim);
}

int64_t RegistersForm::getRange(GenericOp generic, unsigned loop) {
  int64_t range = generic.getStaticLoopRanges()[loop];
  for (OpOperand *input : generic.getDpsInputOperands()) {
    AffineMap map = generic.getMatchingIndexingMap(input);
    for (auto [dim, expression] : llvm::enumerate(map.getResults()))
      if (ShapedType::isDynamic(range) &&
          expression == getAffineDimExpr(loop, generic.getContext()))
        range = getSize(input->get(), dim);
  }
  return range;
}

std::optional<RowLoops> RegistersForm::getLoops(GenericOp generic,
                                                const AttentionBody &body) {
  RowLoops loops;
  for (auto [loop, kind] : llvm::enumerate(generic.getIteratorTypesArray())) {
    bool isKeys = body.isKeyLoop(generic, loop);
    bool isSum = kind != utils::IteratorType::parallel;
    loops.reduces |= isSum;
    int64_t range = getRange(generic, loop);
    if (!isKeys && range == 1)
      continue;
    if (loops.column || (isKeys && isSum) ||
        (!isKeys && ShapedType::isDynamic(range)))
      return std::nullopt;
    loops.column = loop;
    loops.runsAlongKeys = isKeys;
    loops.reducesColumn = isSum;
  }
  // What has columns has them along this loop.
  for (OpOperand &operand : generic->getOpOperands()) {
    auto column = getColumnDim(operand.get(), body);
    if (!column)
      return std::nullopt;
    AffineMap map = generic.getMatchingIndexingMap(&operand);
    for (auto [dim, expression] : llvm::enumerate(map.getResults())) {
      auto loop = dyn_cast<AffineDimExpr>(expression);
      if (*column == int64_t(dim)
              ? !loop || loop.getPosition() != loops.column
              : !loop && !isa<AffineConstantExpr>(expression))
        return std::nullopt;
    }
  }
  return loops;
}

//===----------------------------------------------------------------------===//
// The form
//===----------------------------------------------------------------------===//

RegistersForm::RegistersForm(AttentionOp op, const AttentionBody &body)
    : op(op), body(body) {
  if (op.getLeadRank() > AttentionBody::mostLeadRank)
    refuse(op, "has too many leading dimensions");
  OnlineForm online(op, body);
  if (online.getObstacle())
    refuse(online.getObstacle(), "needs " + online.getNeed());
  else if (Operation *all = body.getNeedsAllKeys())
    refuse(all, "weighs keys that are not seen");
  if (obstacle)
    return;
  Block &region = op.getBody().front();
  for (BlockArgument argument : region.getArguments())
    if (body.isPerQuery(argument) && !argument.use_empty() &&
        !llvm::all_of(argument.getUsers(), [](Operation *user) {
          return isa<tensor::ExtractSliceOp>(user);
        }))
      checkValue(argument, op);
  for (Operation &inner : region.without_terminator())
    if (inner.getNumResults() == 0)
      refuse(&inner, "has no result");
    else if (body.isPerQuery(inner.getResult(0)))
      check(&inner);
  for (Value value : op.getYield().getValues())
    checkValue(value, op.getYield());
}

void RegistersForm::refuse(Operation *inner, const Twine &why) {
  if (obstacle)
    return;
  obstacle = inner;
  reason = why.str();
}

void RegistersForm::checkValue(Value value, Operation *by) {
  auto column = getColumnDim(value, body);
  if (!column)
    return refuse(by, "makes more than a row for each query");
  if (!*column || body.getKeyDim(value))
    return;
  int64_t size = getSize(value, **column);
  if (ShapedType::isDynamic(size))
    refuse(by, "has rows of a size that is not known before a run");
  else if (size > mostColumns)
    refuse(by, "has rows of " + Twine(size) + " elements, more than " +
                   Twine(mostColumns));
}

/// A number of a tensor that is the same for all queries, at places of which
/// one is another for each element, or of one that has a number per query. Or
/// of keys: for each query a row of its own.
bool RegistersForm::checkExtract(tensor::ExtractOp extract,
                                 llvm::function_ref<bool(Value)> isVector,
                                 std::optional<unsigned> columnLoop) {
  if (body.isPerQuery(extract.getTensor())) {
    auto column = getColumnDim(extract.getTensor(), body);
    return column && !*column;
  }
  auto type = extract.getTensor().getType();
  auto index = type.getRank() == 2 && columnLoop
                   ? extract.getIndices()[1].getDefiningOp<linalg::IndexOp>()
                   : linalg::IndexOp();
  if (index && index.getDim() == *columnLoop &&
      llvm::is_contained(op.getKeyArguments(), extract.getTensor()) &&
      type.getDimSize(1) ==
          getRange(cast<GenericOp>(index->getParentOp()), *columnLoop) &&
      body.isPerQuery(extract.getIndices()[0]))
    return true;
  return llvm::count_if(extract.getIndices(), isVector) <= 1;
}

void RegistersForm::checkGeneric(GenericOp generic) {
  std::optional<RowLoops> loops = getLoops(generic, body);
  if (!loops)
    return refuse(generic, "works on more than one row of each query");
  Block *block = generic.getBody();
  // Values of the body that are vectors.
  llvm::DenseSet<Value> varying;
  for (OpOperand &operand : generic->getOpOperands()) {
    auto column = getColumnDim(operand.get(), body);
    if (body.isPerQuery(operand.get()) || *column)
      varying.insert(generic.getMatchingBlockArgument(&operand));
  }
  auto isVector = [&](Value value) {
    return varying.contains(value) || body.isPerQuery(value);
  };
  for (Operation &inner : block->without_terminator()) {
    if (inner.getNumResults() != 1 || inner.getNumRegions() != 0)
      return refuse(generic, "has a loop or branch for each element");
    bool holds = OpTrait::hasElementwiseMappableTraits(&inner) ||
                 isa<linalg::IndexOp, arith::ConstantOp>(inner);
    if (auto extract = dyn_cast<tensor::ExtractOp>(inner))
      holds = checkExtract(extract, isVector, loops->column);
    if (!holds)
      return refuse(generic, "holds an operation that has no form on vectors");
    auto index = dyn_cast<linalg::IndexOp>(inner);
    if (llvm::any_of(inner.getOperands(), isVector) ||
        (index && loops->column == index.getDim()))
      varying.insert(inner.getResult(0));
  }
  if (!loops->reduces)
    return;
  for (auto [index, yielded] :
       llvm::enumerate(block->getTerminator()->getOperands())) {
    Value output = generic.getRegionOutputArgs()[index];
    Operation *combiner = yielded.getDefiningOp();
    if (!combiner || combiner->getNumOperands() != 2 ||
        !llvm::is_contained(combiner->getOperands(), output) ||
        !output.hasOneUse() || !linalg::getCombinerOpKind(combiner) ||
        !arith::getNeutralElement(combiner))
      return refuse(generic, "combines elements in a way of its own");
  }
}

void RegistersForm::check(Operation *inner) {
  if (isa_and_present<GfDialect>(inner->getDialect()))
    for (Value value : llvm::concat<Value>(
             llvm::to_vector(inner->getOperands()),
             llvm::map_to_vector(inner->getResults(),
                                 [](Value result) { return result; }))) {
      Type element = getElementTypeOrSelf(value);
      if (isa<FloatType>(element) && !element.isF32()) {
        std::string text;
        llvm::raw_string_ostream(text) << "is in " << element << ", not in f32";
        return refuse(inner, text);
      }
    }
  for (Value result : inner->getResults())
    checkValue(result, inner);
  TypeSwitch<Operation *>(inner)
      .Case([&](RowScoresOp scores) {
        if (body.isPerQuery(scores.getKeys()))
          refuse(scores, "has other keys for each query");
        else if (!body.isPerQuery(scores.getQuery()))
          refuse(scores, "has one query for all");
        else if (ShapedType::isDynamic(
                     scores.getKeys().getType().getDimSize(1)))
          refuse(scores, "has keys of a size that is not known before a run");
      })
      .Case<RowValuesOp, RowSoftmaxOp, RowVisibleOp>([](auto) {})
      .Case([&](GenericOp generic) { checkGeneric(generic); })
      .Case([&](linalg::ContractOp contract) {
        bool isMatrix =
            contract.getNumLoops() == 2 &&
            contract.getNumReductionLoops() == 1 &&
            body.isPerQuery(contract.getInputs()[0]) &&
            !body.isPerQuery(contract.getInputs()[1]) &&
            cast<RankedTensorType>(contract.getInputs()[1].getType())
                .hasStaticShape() &&
            llvm::all_of(contract->getOperands(), [](Value operand) {
              return getElementTypeOrSelf(operand).isF32();
            });
        if (!isMatrix)
          refuse(contract, "is no product of a row and a matrix of f32");
      })
      .Case<tensor::CastOp, tensor::ExpandShapeOp, tensor::CollapseShapeOp>(
          [&](auto view) {
            auto from = getColumnDim(view->getOperand(0), body);
            auto to = getColumnDim(view->getResult(0), body);
            if (!from || !to || from->has_value() != to->has_value())
              refuse(view, "makes rows of parts of rows");
          })
      .Case([&](tensor::ExtractSliceOp slice) {
        bool isKnown =
            llvm::is_contained(op.getQueryArguments(), slice.getSource()) &&
            slice.hasUnitStride() &&
            llvm::none_of(slice->getOperands().drop_front(),
                          [&](Value place) { return body.isPerQuery(place); });
        if (!isKnown)
          refuse(slice, "is a part of a row");
      })
      .Case([&](tensor::FromElementsOp elements) {
        if (elements.getNumOperands() != 1)
          refuse(elements, "makes rows of numbers");
      })
      .Case([&](tensor::ExtractOp extract) {
        if (!checkExtract(extract,
                          [&](Value value) { return body.isPerQuery(value); }))
          refuse(extract, "takes one element of a row");
      })
      .Default([&](Operation *other) {
        if (!OpTrait::hasElementwiseMappableTraits(other) ||
            other->getNumResults() != 1 ||
            llvm::any_of(other->getOperandTypes(), isTensor))
          refuse(other, "has no form on vectors");
      });
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

/// Of an element, those that a polynomial is, too.
static int64_t countOperations(GenericOp generic) {
  constexpr int64_t polynomial = 16;
  int64_t operations = 0;
  for (Operation &inner : generic.getBody()->without_terminator())
    operations += isa<math::TanhOp, math::ErfOp, math::LogOp, math::Log1pOp,
                      math::SinOp, math::CosOp, math::PowFOp>(inner)
                      ? polynomial
                      : 1;
  return operations;
}

RegistersProducts gatefold::findRegistersProducts(AttentionOp op) {
  IRRewriter rewriter(op.getContext());
  rewriter.setInsertionPoint(op);
  auto copy = cast<AttentionOp>(rewriter.clone(*op));
  prepareAttentionBody(copy, rewriter, /*movesScales=*/false);
  RegistersProducts products;
  {
    AttentionBody body(copy);
    RegistersForm form(copy, body);
    if (Operation *inner = form.getObstacle())
      products.obstacle =
          ("its " + nameInText(inner) + " " + form.getReason()).str();
  }
  products.hasSegments = bool(copy.getQuerySegments());
  products.hasMask = copy.getMask() || products.hasSegments;
  bool hasWhere = llvm::any_of(
      copy.getBody().getOps<RowSoftmaxOp>(),
      [](RowSoftmaxOp softmax) { return bool(softmax.getWhere()); });
  bool hasPlaces = copy.getCausal() || copy.getWindow();
  // What is computed for each score takes as much again.
  products.restrictions = bool(copy.getMask()) + products.hasSegments +
                          bool(copy.getBias()) + hasPlaces + 2 * hasWhere;
  if (products.obstacle.empty()) {
    separateWeights(copy, rewriter);
    SmallVector<Value> seen;
    llvm::DenseSet<Value> computed;
    auto getSource = [](Value value) {
      while (isa_and_present<tensor::CastOp, tensor::ExpandShapeOp,
                             tensor::CollapseShapeOp, tensor::ExtractSliceOp>(
          value.getDefiningOp()))
        value = value.getDefiningOp()->getOperand(0);
      return value;
    };
    auto isReadNarrow = [&](Value value) {
      auto argument = dyn_cast<BlockArgument>(getSource(value));
      return argument && argument.getOwner()->getParentOp() == copy &&
             getExtended(copy->getOperand(argument.getArgNumber()));
    };
    // Of keys in 16 bits a query that is computed, as a scaled one, has
    // products of f32.
    auto add = [&](SmallVector<RegistersProducts::Product> &to, Value matrix,
                   Value query = {}) {
      bool isNarrow = isReadNarrow(matrix) && (!query || isReadNarrow(query));
      bool isShared = llvm::is_contained(seen, matrix);
      seen.push_back(matrix);
      int64_t columns = cast<RankedTensorType>(matrix.getType()).getDimSize(1);
      columns = llvm::alignTo(columns, registerTile);
      bool isComputed = query && !isa<BlockArgument>(getSource(query));
      to.push_back({columns, isNarrow ? 2 : 4, isShared, isComputed});
      if (isComputed && computed.insert(query).second)
        products.computedQueries.push_back(columns);
    };
    for (Operation &inner : copy.getBody().front()) {
      if (auto scores = dyn_cast<RowScoresOp>(inner))
        add(products.scores, scores.getKeys(), scores.getQuery());
      else if (auto values = dyn_cast<RowValuesOp>(inner))
        add(products.values, values.getValues());
    }
    AttentionBody body(copy);
    SetVector<Value> numbers;
    for (GenericOp generic : copy.getBody().front().getOps<GenericOp>()) {
      if (llvm::none_of(generic.getResults(), [&](Value result) {
            return body.isPerQuery(result) && body.getKeyDim(result);
          }))
        continue;
      products.scoreOperations += countOperations(generic);
      for (Value input : generic.getInputs())
        if (body.isPerQuery(input) && !body.getKeyDim(input) &&
            isa<FloatType>(getElementTypeOrSelf(input)))
          numbers.insert(input);
    }
    products.queryNumbers = numbers.size();
  }
  rewriter.eraseOp(copy);
  return products;
}
