// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- ImportRecurrence.cpp - Bodies and recurrences ----------------------===//

#include "dialect/GatefoldOps.h"
#include "frontend/text/Importer.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace gatefold::text;
using llvm::failed;
using llvm::failure;
using llvm::LogicalResult;
using llvm::success;
namespace arith = mlir::arith;
namespace linalg = mlir::linalg;
namespace tensor = mlir::tensor;

LogicalResult Importer::importBody(const Graph &body,
                                   llvm::ArrayRef<mlir::Value> arguments,
                                   llvm::ArrayRef<TensorType> yielded,
                                   llvm::function_ref<void(Values &)> finish) {
  mlir::Location location = b.getLoc();
  for (auto [argument, value] : llvm::zip(body.arguments, arguments))
    define(*argument.node, value, argument.index);
  for (const auto &node : body.nodes)
    if (auto *argument = llvm::dyn_cast<ArgumentNode>(node.get()))
      if (!values.contains({argument, 0}))
        define(*argument, arguments[argument->number]);
  if (failed(importGraph(body)))
    return failure();
  b.setLoc(location);
  Values results;
  for (auto [result, type] : llvm::zip(body.results, yielded))
    results.push_back(cast(broadcast(result, type), typeOf(type)));
  if (finish)
    finish(results);
  gatefold::YieldOp::create(b, results);
  return success();
}

mlir::Value Importer::perSequence(Value value, llvm::ArrayRef<Size> lead,
                                  unsigned ownRank) {
  if (!value)
    return {};
  // What was stretched to the whole lead may depend on its first dimensions
  // alone.
  unsigned rank = value.type().rank();
  Shape own(llvm::ArrayRef(value.type().shape).take_back(ownRank));
  unsigned leading = std::min<size_t>(lead.size(), 1);
  while (rank > leading + ownRank && value.node->kind == Node::Kind::Broadcast)
    value = value.node->operands[0];
  Shape shape(rank - value.type().rank(), Size(1));
  llvm::append_range(shape, value.type().shape);
  for (unsigned i = leading; i < rank - ownRank; ++i)
    if (!shape[i].isConstant(1))
      leading = i + 1;
  Shape kept(shape.begin(), shape.begin() + std::min(leading, rank - ownRank));
  kept.append(shape.end() - ownRank, shape.end());
  // One for all is one for each.
  TensorType full{value.type().element, {}};
  full.shape.append(lead.begin(), lead.begin() + leading);
  llvm::append_range(full.shape, own);
  if (isScalar(value))
    return filled(full, scalar(value));
  mlir::Value given = reshape(get(value), value.type().shape, kept);
  mlir::AffineMap map = broadcastMap(kept, full.shape);
  if (map.isIdentity())
    return cast(given, typeOf(full));
  return generic(full, given, map,
                 [](mlir::ValueRange elements) { return elements[0]; });
}

//===----------------------------------------------------------------------===//
// Recurrences
//===----------------------------------------------------------------------===//

bool Importer::stopWrites(mlir::Value stop, mlir::Value state,
                          mlir::Value next) {
  if (next == state)
    return true;
  if (auto loop = next.getDefiningOp<mlir::scf::ForOp>()) {
    auto result = llvm::cast<mlir::OpResult>(next);
    mlir::BlockArgument carried = loop.getTiedLoopRegionIterArg(result);
    return stopWrites(stop, state, loop.getTiedLoopInit(result)->get()) &&
           stopWrites(stop, carried,
                      loop.getTiedLoopYieldedValue(carried)->get());
  }
  auto write = next.getDefiningOp<tensor::InsertSliceOp>();
  if (!write || !stopWrites(stop, state, write.getDest()))
    return false;
  mlir::OpBuilder::InsertionGuard guard(b);
  b.setInsertionPoint(write);
  mlir::RankedTensorType type = write.getSourceType();
  unsigned rank = type.getRank();
  unsigned leadRank =
      llvm::cast<mlir::RankedTensorType>(stop.getType()).getRank();
  llvm::SmallVector<mlir::OpFoldResult> from = write.getMixedOffsets(),
                                        sizes = write.getMixedSizes(),
                                        strides = write.getMixedStrides();
  mlir::Value old = tensor::ExtractSliceOp::create(b, type, write.getDest(),
                                                   from, sizes, strides);
  stop = tensor::ExtractSliceOp::create(
      b, stop, llvm::ArrayRef(from).take_front(leadRank),
      llvm::ArrayRef(sizes).take_front(leadRank),
      llvm::ArrayRef(strides).take_front(leadRank));
  mlir::Value empty = tensor::EmptyOp::create(
      b, tensor::getMixedSizes(b, b.getLoc(), old), type.getElementType());
  mlir::AffineMap map = b.getMultiDimIdentityMap(rank);
  mlir::Value rows[] = {stop, old, write.getSource()};
  llvm::SmallVector<mlir::utils::IteratorType> iterators(
      rank, mlir::utils::IteratorType::parallel);
  auto kept = linalg::GenericOp::create(
      b, mlir::TypeRange(type), rows, empty,
      Maps{leadingMap(rank, leadRank), map, map, map}, iterators,
      [](mlir::OpBuilder &nested, mlir::Location loc, mlir::ValueRange row) {
        mlir::Value chosen =
            arith::SelectOp::create(nested, loc, row[0], row[1], row[2]);
        linalg::YieldOp::create(nested, loc, chosen);
      });
  write.getSourceMutable().assign(kept.getResult(0));
  return true;
}

void Importer::stopSteps(mlir::Value stop, llvm::ArrayRef<TensorType> types,
                         mlir::ValueRange states, Values &results) {
  unsigned outputCount = results.size() - states.size();
  unsigned leadRank =
      llvm::cast<mlir::RankedTensorType>(stop.getType()).getRank();
  for (auto [index, result] : llvm::enumerate(results)) {
    const TensorType &type = types[index];
    // Whatever else reads what is written does not count either.
    if (index >= outputCount &&
        stopWrites(stop, states[index - outputCount], result))
      continue;
    mlir::AffineMap map = b.getMultiDimIdentityMap(type.rank());
    Values inputs = {stop, result};
    Maps maps = {leadingMap(type.rank(), leadRank), map};
    if (index >= outputCount) {
      inputs.push_back(states[index - outputCount]);
      maps.push_back(map);
    }
    result = generic(
        type, inputs, maps, [&](mlir::ValueRange elements) -> mlir::Value {
          mlir::Value kept = elements.size() == 3
                                 ? elements[2]
                                 : number(elements[1].getType(), 0);
          return arith::SelectOp::create(b, elements[0], kept, elements[1]);
        });
  }
}

mlir::Value Importer::endedSteps(mlir::Value lengths, llvm::ArrayRef<Size> lead,
                                 const Size &time) {
  // The operation has lengths along the first leading dimension.
  unsigned counted =
      lengths ? llvm::cast<mlir::RankedTensorType>(lengths.getType()).getRank()
              : 0;
  if (counted <= 1)
    return {};
  TensorType type{Element::Bool, Shape(lead)};
  type.shape.push_back(time);
  return generic(type, lengths, leadingMap(type.rank(), counted),
                 [&](mlir::ValueRange elements) -> mlir::Value {
                   return arith::XOrIOp::create(
                       b, isBefore(lead.size(), elements[0]),
                       number(b.getI1Type(), 1));
                 });
}

mlir::Value Importer::withoutResets(mlir::Value resets, mlir::Value ended,
                                    llvm::ArrayRef<Size> lead,
                                    const Size &time) {
  TensorType type{Element::Bool, Shape(lead)};
  type.shape.push_back(time);
  mlir::AffineMap map = b.getMultiDimIdentityMap(type.rank());
  mlir::Value inputs[] = {resets, ended};
  return generic(type, inputs, {map, map},
                 [&](mlir::ValueRange elements) -> mlir::Value {
                   return arith::SelectOp::create(
                       b, elements[1], number(b.getI1Type(), 0), elements[0]);
                 });
}

LogicalResult Importer::visit(const RecurrenceNode &node) {
  // Outputs, then states; the first sequence or output shows the lead.
  unsigned stateCount = node.initials.size();
  unsigned outputCount = node.results.size() - stateCount;
  Size time = node.steps.value_or(Size());
  Shape lead;
  if (!node.sequences.empty()) {
    llvm::ArrayRef<Size> shape = node.sequences.front().type().shape;
    lead.assign(shape.begin(), shape.begin() + node.timeAxis);
    time = shape[node.timeAxis];
  } else if (!node.results.empty()) {
    llvm::ArrayRef<Size> shape = node.results.front().shape;
    lead.assign(shape.begin(), shape.begin() + node.timeAxis);
  }
  // No step, or steps of nothing: the states stay what they are.
  bool isEmpty = llvm::all_of(node.results, [&](const TensorType &type) {
    return llvm::is_contained(typeOf(type).getShape(), 0);
  });
  if (isEmpty || resolve(time).isConstant(0)) {
    for (auto [index, type] : llvm::enumerate(node.results))
      define(node,
             index < outputCount
                 ? empty(type)
                 : broadcast(node.initials[index - outputCount], type),
             index);
    return success();
  }
  mlir::Value lengths = perSequence(node.lengths, lead);
  // Lengths that are known were compared as sizes.
  if (node.lengths && !knownSize(node.lengths) &&
      !isBounded(node.lengths, time, /*inclusive=*/true))
    lengths = checkedLengths(node, lengths, lead, time);

  Values sequences, initials, resetStates;
  llvm::SmallVector<TensorType> yielded;
  for (Value sequence : node.sequences)
    sequences.push_back(get(sequence));
  llvm::SmallVector<mlir::Type> outputTypes;
  for (const TensorType &type :
       llvm::ArrayRef(node.results).take_front(outputCount)) {
    outputTypes.push_back(typeOf(type));
    yielded.push_back(type);
    yielded.back().shape.erase(yielded.back().shape.begin() + node.timeAxis);
  }
  for (auto [index, type] :
       llvm::enumerate(llvm::ArrayRef(node.results).drop_front(outputCount))) {
    initials.push_back(broadcast(node.initials[index], type));
    if (node.resets)
      resetStates.push_back(broadcast(node.resetStates[index], type));
    yielded.push_back(type);
  }
  mlir::Value resets, steps;
  if (node.resets) {
    TensorType type{Element::Bool, lead};
    type.shape.push_back(time);
    resets = broadcast(node.resets, type);
  }
  mlir::Value ended = endedSteps(lengths, lead, time);
  if (ended) {
    lengths = mlir::Value();
    sequences.push_back(ended);
    if (resets)
      resets = withoutResets(resets, ended, lead, time);
  } else if (node.sequences.empty()) {
    steps = sizeValue(time);
  }

  for (const auto &inner : node.body.nodes)
    if (auto *argument = llvm::dyn_cast<ArgumentNode>(inner.get()))
      if (argument->number < node.sequences.size())
        argumentSources[argument] = node.sequences[argument->number];
  for (auto [argument, sequence] :
       llvm::zip(node.body.arguments, node.sequences))
    argumentSources[argument.node] = sequence;
  for (unsigned i = 0; i < stateCount; ++i) {
    unsigned number = node.sequences.size() + i;
    stateSteps[node.body.arguments[number].node] = resolve(time);
    auto &sources = stateSources[node.body.arguments[number].node];
    sources = {node.initials[i], node.body.results[outputCount + i]};
    if (node.resets)
      sources.push_back(node.resetStates[i]);
  }

  LogicalResult imported = success();
  mlir::Location location = b.getLoc();
  Shape outerRepetitions = repetitions;
  repetitions.append(lead);
  repetitions.push_back(time);
  llvm::SmallVector<Finding> found, *outerFindings = findings;
  findings = &found;
  auto recurrence = gatefold::RecurrenceOp::create(
      b, outputTypes, sequences, initials, lengths, resets, resetStates, steps,
      node.timeAxis, node.reverse,
      [&](mlir::OpBuilder &nested, mlir::Location, mlir::ValueRange stepValues,
          mlir::ValueRange stateValues) {
        mlir::OpBuilder::InsertionGuard guard(b);
        b.restoreInsertionPoint(nested.saveInsertionPoint());
        Values arguments(stepValues.take_front(node.sequences.size()));
        llvm::append_range(arguments, stateValues);
        for (auto [argument, value] : llvm::zip(node.body.arguments, arguments))
          if (auto *made = llvm::cast<ArgumentNode>(argument.node);
              !made->name.empty())
            value.setLoc(mlir::NameLoc::get(b.getStringAttr(made->name),
                                            value.getLoc()));
        imported =
            importBody(node.body, arguments, yielded, [&](Values &results) {
              yieldFindings(found, lead, results, outputCount);
              yielded.insert(yielded.begin() + outputCount, found.size(),
                             TensorType{Element::Bool, lead});
              if (node.until)
                stopSteps(stateValues[*node.until], yielded, stateValues,
                          results);
              if (ended)
                stopSteps(stepValues.back(), yielded, stateValues, results);
            });
      });
  b.setLoc(location);
  repetitions = outerRepetitions;
  findings = outerFindings;
  if (failed(imported))
    return failure();
  if (!found.empty()) {
    TensorType ofSteps{Element::Bool, lead};
    ofSteps.shape.push_back(time);
    outputTypes.append(found.size(), typeOf(ofSteps));
    auto whole = gatefold::RecurrenceOp::create(
        b, outputTypes, sequences, initials, lengths, resets, resetStates,
        steps, node.timeAxis, node.reverse);
    whole.getBody().takeBody(recurrence.getBody());
    recurrence.erase();
    recurrence = whole;
    for (auto [index, finding] : llvm::enumerate(found))
      failWhere(whole.getResult(outputCount + index), ofSteps.shape,
                finding.message);
  }
  for (unsigned i = 0; i < outputCount; ++i)
    define(node, recurrence.getResult(i), i);
  for (auto [index, value] : llvm::enumerate(recurrence.getFinals()))
    define(node, value, outputCount + index);
  return success();
}
