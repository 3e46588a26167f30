// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- ImportAttention.cpp - Attentions and their rows --------------------===//

#include "dialect/GatefoldOps.h"
#include "frontend/text/Importer.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace gatefold::text;
using llvm::failed;
using llvm::failure;
using llvm::LogicalResult;
using llvm::success;
namespace arith = mlir::arith;
namespace tensor = mlir::tensor;

LogicalResult Importer::visit(const AttentionNode &node) {
  auto isNothing = [&](const TensorType &type) {
    return llvm::is_contained(typeOf(type).getShape(), 0);
  };
  if (llvm::all_of(node.results, isNothing)) {
    for (auto [index, type] : llvm::enumerate(node.results))
      define(node, empty(type), index);
    return success();
  }
  // Over no keys at all the body reads nothing of them; the operation has one
  // that nothing looks at.
  bool hasNoKeys = resolve(node.keySize).isConstant(0);

  // Roles by what the gf operation knows: a pair has an element for each key,
  // one with a 1 for the keys is a query's, one with neither belongs to all.
  struct Operand {
    unsigned number; // among the body's arguments
    Element element;
    llvm::SmallVector<Size> language; // its shape in the body
    Shape row;                        // that of the region's argument
  };
  llvm::SmallVector<Operand> queries, keys, pairs, captures;
  llvm::SmallVector<Value> all(node.queries);
  all.append(node.keys.begin(), node.keys.end());
  all.append(node.pairs.begin(), node.pairs.end());
  all.append(node.captures.begin(), node.captures.end());
  unsigned keysEnd = node.queries.size() + node.keys.size();
  unsigned pairsEnd = keysEnd + node.pairs.size();

  bodySizes[node.querySymbol] = resolve(node.querySize);
  bodySizes[node.keySymbol] = resolve(node.keySize);
  querySymbols.insert(node.querySymbol);
  Values operands;
  for (auto [index, value] : llvm::enumerate(all)) {
    unsigned number = index;
    llvm::ArrayRef<Size> shape = node.body.arguments[number].type().shape;
    Operand operand{number, node.body.arguments[number].type().element,
                    llvm::SmallVector<Size>(shape), keptShape(shape)};
    bool hasQuery = llvm::any_of(
        shape, [&](const Size &size) { return isQueryAxis(size); });
    bool hasKey = !shape.empty() && llvm::any_of(shape, [&](const Size &size) {
      return size.symbol() == node.keySymbol;
    });
    if (hasKey && hasNoKeys) {
      operands.push_back({});
      continue;
    }
    if (number < node.queries.size()) {
      (hasQuery ? queries : captures).push_back(operand);
    } else if (number < keysEnd) {
      (hasKey ? keys : captures).push_back(operand);
    } else if (number < pairsEnd) {
      if (hasKey)
        operand.row = {Size(node.keySymbol)};
      (hasKey ? pairs : hasQuery ? queries : captures).push_back(operand);
    } else {
      captures.push_back(operand);
    }
    // An operand may have a 1 where the body has T, S or a declared size. The
    // operation itself stretches the T of a pair.
    TensorType stretched = value.type();
    unsigned leadRank = stretched.rank() - shape.size();
    for (auto [axis, size] : llvm::enumerate(shape)) {
      bool ofPair = number >= keysEnd && number < pairsEnd && hasKey;
      if (!(ofPair && isQueryAxis(size)) &&
          resolve(stretched.shape[leadRank + axis]).isConstant(1))
        stretched.shape[leadRank + axis] = resolve(size);
    }
    operands.push_back(broadcast(value, stretched));
    argumentSources[node.body.arguments[number].node] = value;
  }
  // A query and a key say how many there are, even if no score is made of them.
  auto addUnread = [&](llvm::SmallVectorImpl<Operand> &role,
                       const Size &count) {
    if (!role.empty())
      return;
    Element element = program.floatType;
    llvm::SmallVector<Size> shape{count, Size(1)};
    role.push_back({static_cast<unsigned>(operands.size()), element, shape,
                    keptShape(shape)});
    operands.push_back(filled({element, {resolve(count), Size(1)}},
                              number(elementType(element), 0)));
  };
  addUnread(queries, Size(node.querySymbol));
  addUnread(keys, hasNoKeys ? Size(1) : Size(node.keySymbol));

  mlir::Value lengths = perSequence(node.lengths, node.lead);
  mlir::Value querySegments = perSequence(node.querySegments, node.lead, 1);
  mlir::Value keySegments = perSequence(node.keySegments, node.lead, 1);
  mlir::Value offset = perSequence(node.offset, node.lead);
  if (node.lengths && !knownSize(node.lengths) &&
      !isBounded(node.lengths, node.keySize, /*inclusive=*/true))
    lengths = checkedLengths(node, lengths, node.lead, node.keySize);
  mlir::Value mask = node.mask ? get(node.mask) : mlir::Value();
  mlir::Value bias = node.bias ? get(node.bias) : mlir::Value();

  auto valuesOf = [&](llvm::ArrayRef<Operand> role) {
    Values values;
    for (const Operand &operand : role)
      values.push_back(operands[operand.number]);
    return values;
  };
  llvm::SmallVector<Operand> ordered;
  for (auto &role : {queries, keys, pairs, captures})
    ordered.append(role.begin(), role.end());
  llvm::SmallVector<mlir::Type> bodyTypes, resultTypes;
  for (const Operand &operand : ordered)
    bodyTypes.push_back(typeOf(TensorType{operand.element, operand.row}));
  llvm::SmallVector<unsigned> numbers; // of results that are not empty
  llvm::SmallVector<TensorType> yielded;
  for (auto [number, type] : llvm::enumerate(node.results)) {
    yielded.push_back(node.body.results[number].type());
    if (isNothing(type)) {
      define(node, empty(type), number);
      continue;
    }
    numbers.push_back(number);
    resultTypes.push_back(typeOf(type));
  }

  LogicalResult imported = success();
  mlir::Location location = b.getLoc();
  mlir::Value outerRow = row, outerPosition = position;
  const AttentionNode *outerAttention = attention;
  Shape outerRepetitions = repetitions;
  attention = &node;
  repetitions.append(node.lead);
  repetitions.push_back(node.querySize);
  llvm::SmallVector<Finding> found, *outerFindings = findings;
  findings = &found;
  auto operation = gatefold::AttentionOp::create(
      b, resultTypes, valuesOf(queries), valuesOf(keys), valuesOf(pairs),
      valuesOf(captures), bodyTypes,
      [&](mlir::OpBuilder &nested, mlir::Location,
          mlir::ValueRange blockArguments) {
        mlir::OpBuilder::InsertionGuard guard(b);
        b.restoreInsertionPoint(nested.saveInsertionPoint());
        position = blockArguments.back();
        row = blockArguments.drop_back().back();
        Values arguments(operands.size());
        for (auto [argument, value] : llvm::zip(node.body.arguments, arguments))
          if (hasNoKeys)
            value = empty(argument.type());
        for (auto [operand, value] : llvm::zip(ordered, blockArguments))
          arguments[operand.number] =
              reshape(value, operand.row, keptShape(operand.language));
        imported =
            importBody(node.body, arguments, yielded, [&](Values &results) {
              Values kept;
              for (unsigned number : numbers)
                kept.push_back(results[number]);
              results = std::move(kept);
              yieldFindings(found, {}, results, results.size());
            });
      });
  b.setLoc(location);
  row = outerRow;
  position = outerPosition;
  attention = outerAttention;
  repetitions = outerRepetitions;
  findings = outerFindings;
  if (failed(imported))
    return failure();
  TensorType ofRows{Element::Bool, node.lead};
  ofRows.shape.push_back(node.querySize);
  if (!found.empty()) {
    resultTypes.append(found.size(), typeOf(ofRows));
    auto whole = gatefold::AttentionOp::create(
        b, resultTypes, valuesOf(queries), valuesOf(keys), valuesOf(pairs),
        valuesOf(captures), bodyTypes);
    whole.getBody().takeBody(operation.getBody());
    operation.erase();
    operation = whole;
  }

  auto give = [](mlir::MutableOperandRange place, mlir::Value value) {
    if (value)
      place.assign(value);
  };
  if (hasNoKeys && !offset) {
    // S - T, which the operation would count with its one key.
    std::optional<Size> first = Size::subtract(Size(), resolve(node.querySize));
    if (!first)
      return refuse(node,
                    "an attention of " + node.querySize.str() + " queries",
                    "say where they stand: `offset=...`");
    mlir::OpBuilder::InsertionGuard guard(b);
    b.setInsertionPoint(operation);
    mlir::Value number =
        arith::IndexCastOp::create(b, b.getI64Type(), sizeValue(*first));
    offset = filled({Element::I64, {}}, number);
  }
  give(operation.getOffsetMutable(), offset);
  if (!hasNoKeys) {
    give(operation.getLengthsMutable(), lengths);
    give(operation.getMaskMutable(), mask);
    give(operation.getBiasMutable(), bias);
    give(operation.getQuerySegmentsMutable(), querySegments);
    give(operation.getKeySegmentsMutable(), keySegments);
    operation.setCausal(node.causal);
    if (node.window)
      operation.setWindow(llvm::ArrayRef<int64_t>{
          node.window->first.value_or(-1), node.window->second.value_or(-1)});
  }
  for (auto [index, number] : llvm::enumerate(numbers))
    define(node, operation.getResult(index), number);
  for (auto [index, finding] : llvm::enumerate(found))
    failWhere(operation.getResult(numbers.size() + index), ofRows.shape,
              finding.message);
  return success();
}

LogicalResult Importer::visitRow(const Node &node) {
  mlir::RankedTensorType type = typeOf(node.results[0]);
  // Over no keys: weights are none, their sum is 0.
  if (resolve(attention->keySize).isConstant(0)) {
    if (node.kind == Node::Kind::RowValues) {
      define(node, filled(node.results[0], number(type.getElementType(), 0)));
      return success();
    }
    if (node.kind == Node::Kind::RowSoftmax) {
      define(node, empty(node.results[0]));
      if (node.results.size() > 1)
        define(node,
               filled(node.results[1],
                      number(elementType(node.results[1].element),
                             -std::numeric_limits<double>::infinity())),
               1);
      return success();
    }
  }
  auto fromIndex = [&](mlir::Value index) {
    mlir::Value element =
        arith::IndexCastOp::create(b, type.getElementType(), index);
    define(node, tensor::FromElementsOp::create(b, type, element));
    return success();
  };
  // The scores of a row, [T, S], whatever stretches in them.
  auto scores = [&]() {
    TensorType whole = node.results[0];
    whole.element = node.operands[0].type().element;
    return broadcast(node.operands[0], whole);
  };
  switch (node.kind) {
  case Node::Kind::RowIndex:
    return fromIndex(row);
  case Node::Kind::RowPosition:
    return fromIndex(position);
  case Node::Kind::RowVisible:
    define(node, gatefold::RowVisibleOp::create(b, type));
    return success();
  case Node::Kind::RowScores:
    define(node, gatefold::RowScoresOp::create(b, type, get(node.operands[0]),
                                               get(node.operands[1])));
    return success();
  case Node::Kind::RowSoftmax: {
    auto &softmax = llvm::cast<RowSoftmaxNode>(node);
    mlir::Value where, sink;
    if (softmax.hasWhere) {
      TensorType whole = node.results[0];
      whole.element = Element::Bool;
      where = broadcast(node.operands[1], whole);
    }
    if (softmax.hasSink) {
      Value operand = node.operands[softmax.hasWhere ? 2 : 1];
      if (isScalar(operand)) {
        sink = scalar(operand);
      } else {
        // [] or [T, 1]: one element for the row.
        Values zeros(typeOf(operand).getRank());
        for (mlir::Value &zero : zeros)
          zero = indexNumber(0);
        sink = tensor::ExtractOp::create(b, get(operand), zeros);
      }
    }
    mlir::Type logSumExp;
    if (node.results.size() > 1)
      logSumExp = typeOf(node.results[1]);
    auto operation =
        gatefold::RowSoftmaxOp::create(b, scores(), where, sink, logSumExp);
    for (auto [index, value] : llvm::enumerate(operation->getResults()))
      define(node, value, index);
    return success();
  }
  case Node::Kind::RowNeighbours: {
    auto &neighbours = llvm::cast<RowNeighboursNode>(node);
    define(node, gatefold::RowNeighboursOp::create(
                     b, scores(), neighbours.width,
                     neighbours.allKeys ? gatefold::NeighbourScope::All
                                        : gatefold::NeighbourScope::Visible));
    return success();
  }
  case Node::Kind::RowTopK: {
    auto &topK = llvm::cast<RowTopKNode>(node);
    mlir::IntegerAttr count;
    mlir::FloatAttr fraction;
    if (topK.count)
      count = b.getI64IntegerAttr(*topK.count);
    if (topK.fraction)
      fraction = b.getF64FloatAttr(*topK.fraction);
    define(node,
           gatefold::RowTopKOp::create(b, type, scores(), count, fraction));
    return success();
  }
  case Node::Kind::RowValues: {
    TensorType weights = node.operands[0].type();
    weights.shape = {weights.shape[0], node.operands[1].type().shape[0]};
    define(node, gatefold::RowValuesOp::create(
                     b, type, broadcast(node.operands[0], weights),
                     get(node.operands[1])));
    return success();
  }
  default:
    llvm_unreachable("not a node of an attention's body");
  }
}
