// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- Import.cpp - The entry and its graphs as MLIR ----------------------===//

#include "dialect/GatefoldOps.h"
#include "frontend/text/Importer.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Verifier.h"
#include <cmath>

using namespace gatefold::text;
using llvm::failed;
using llvm::failure;
using llvm::LogicalResult;
using llvm::success;
namespace names = gatefold::attribute_names;

mlir::OwningOpRef<mlir::ModuleOp>
gatefold::text::importProgram(const Program &program, Diagnostics &diagnostics,
                              mlir::MLIRContext &context) {
  context.loadDialect<gatefold::GfDialect, mlir::arith::ArithDialect,
                      mlir::cf::ControlFlowDialect, mlir::func::FuncDialect,
                      mlir::linalg::LinalgDialect, mlir::math::MathDialect,
                      mlir::scf::SCFDialect, mlir::tensor::TensorDialect>();
  return Importer(program, diagnostics, context).run();
}

Importer::Importer(const Program &program, Diagnostics &diagnostics,
                   mlir::MLIRContext &context)
    : program(program), diagnostics(diagnostics), context(context),
      b(mlir::UnknownLoc::get(&context), &context) {}

LogicalResult Importer::refuse(Range range, const llvm::Twine &what,
                               const llvm::Twine &hint) {
  Diagnostic &error = diagnostics.error(range, "not compiled yet: " + what);
  if (!hint.isTriviallyEmpty())
    error.hint(hint);
  return failure();
}

LogicalResult Importer::refuseQueries(const Node &node,
                                      const llvm::Twine &what) {
  return refuse(node, what + " the queries of an attention",
                "a body computes the row of one query: what goes over all of "
                "them stands before the attention or behind it");
}

LogicalResult Importer::refuse(const Node &node, const llvm::Twine &what,
                               const llvm::Twine &hint) {
  Diagnostic &error =
      diagnostics.error(node.trace.place, "not compiled yet: " + what);
  if (!hint.isTriviallyEmpty())
    error.hint(hint);
  // The outermost one is the entry itself.
  uint32_t last = node.trace.place.begin;
  for (const Trace *caller = node.trace.caller.get(); caller && caller->caller;
       caller = caller->caller.get()) {
    if (caller->place.begin != last)
      error.note(caller->place, "called from here");
    last = caller->place.begin;
  }
  return failure();
}

mlir::Location Importer::locationOf(Range range) {
  Sources &sources = diagnostics.getSources();
  if (range.file >= sources.size())
    return mlir::UnknownLoc::get(&context);
  Position position = sources.position(range);
  return mlir::FileLineColLoc::get(&context, sources.name(range.file),
                                   position.line, position.column);
}

mlir::Location Importer::locationOf(const Trace &trace) {
  llvm::SmallVector<mlir::Location> places;
  for (const Trace *at = &trace; at; at = at->caller.get())
    places.push_back(locationOf(at->place));
  mlir::Location location = places.pop_back_val();
  while (!places.empty())
    location = mlir::CallSiteLoc::get(places.pop_back_val(), location);
  return location;
}

mlir::OwningOpRef<mlir::ModuleOp> Importer::run() {
  Range start;
  if (!program.results.empty())
    start.file = program.results.front().range.file;
  mlir::OwningOpRef<mlir::ModuleOp> module =
      mlir::ModuleOp::create(locationOf(start));
  if (failed(importFunction(*module)))
    return nullptr;

  std::string fault;
  mlir::ScopedDiagnosticHandler handler(&context,
                                        [&](mlir::Diagnostic &diagnostic) {
                                          if (fault.empty())
                                            fault = diagnostic.str();
                                        });
  if (failed(mlir::verify(*module))) {
    diagnostics.error(start, "the imported program is not valid")
        .note(fault)
        .note("this is a fault of the compiler; please report it");
    return nullptr;
  }
  return module;
}

//===----------------------------------------------------------------------===//
// The entry
//===----------------------------------------------------------------------===//

/// A state keeps the shape in which it comes in; a run compares sizes of what
/// it becomes that are not known to be these.
TensorType Importer::typeOfResult(const ProgramResult &result) const {
  TensorType type = result.value.type();
  for (const ProgramInput &input : program.inputs)
    if (result.isState && input.isState && input.name == result.name)
      type.shape = input.type.shape;
  return type;
}

LogicalResult Importer::importFunction(mlir::ModuleOp module) {
  llvm::SmallVector<mlir::Type> inputs, results;
  llvm::SmallVector<mlir::Location> locations;
  for (const ProgramInput &input : program.inputs) {
    inputs.push_back(typeOf(input.type));
    locations.push_back(locationOf(input.range));
  }
  for (const ProgramResult &result : program.results)
    results.push_back(typeOf(typeOfResult(result)));

  b.setLoc(module.getLoc());
  b.setInsertionPointToEnd(module.getBody());
  // Functions that later phases add are gatefold_NAME.
  std::string name = program.name;
  if (llvm::StringRef(name).starts_with("gatefold_"))
    name.insert(0, "_");
  function =
      mlir::func::FuncOp::create(b, name, b.getFunctionType(inputs, results));
  mlir::Block *entry = function.addEntryBlock();
  for (auto [argument, location] : llvm::zip(entry->getArguments(), locations))
    argument.setLoc(location);
  b.setInsertionPointToStart(entry);

  if (failed(bindSymbols()))
    return failure();
  importParameters();
  if (failed(importGraph(program.body)))
    return failure();
  Values returned;
  for (auto [result, type] : llvm::zip(program.results, results)) {
    b.setLoc(locationOf(result.range));
    returned.push_back(
        cast(get(result.value), llvm::cast<mlir::RankedTensorType>(type)));
  }
  mlir::func::ReturnOp::create(b, returned);
  return setAttributes();
}

/// All of them, in the order of the text: whether one is read or not, the
/// compiled model has it.
void Importer::importParameters() {
  for (const ProgramParameter &parameter : program.parameters)
    parameters.push_back(inPrologue([&]() -> mlir::Value {
      b.setLoc(locationOf(parameter.range));
      mlir::FloatAttr initial;
      if (parameter.initial)
        initial = b.getF64FloatAttr(*parameter.initial);
      return gatefold::ParameterOp::create(b, typeOf(parameter.type),
                                           parameter.name, initial);
    }));
}

LogicalResult Importer::setAttributes() {
  llvm::SmallVector<llvm::StringRef> dimensions;
  for (const Symbol &symbol : program.symbols)
    dimensions.push_back(symbol.name);
  function->setAttr(names::entry, b.getUnitAttr());
  function->setAttr(names::dimensions, b.getStrArrayAttr(dimensions));

  auto shapeOf = [&](const TensorType &type, Range range,
                     llvm::StringRef what) -> mlir::FailureOr<mlir::Attribute> {
    llvm::SmallVector<mlir::AffineExpr> sizes;
    for (const Size &size : type.shape) {
      sizes.push_back(affineSize(size));
      if (!sizes.back())
        return refuse(range, what + " whose size is " + size.str(),
                      "give what it is divided by: `--dim NAME=SIZE`");
    }
    return mlir::Attribute(mlir::AffineMapAttr::get(affineMap(sizes)));
  };
  for (auto [index, input] : llvm::enumerate(program.inputs)) {
    mlir::FailureOr<mlir::Attribute> shape =
        shapeOf(input.type, input.range, "an input");
    if (failed(shape))
      return failure();
    function.setArgAttr(index, names::name, b.getStringAttr(input.name));
    function.setArgAttr(index, names::shape, *shape);
    for (auto [name, bound] : {std::pair(names::below, input.below),
                               std::pair(names::atMost, input.atMost)}) {
      if (!bound)
        continue;
      mlir::AffineExpr size = affineSize(*bound);
      if (!size)
        return refuse(input.range, "a bound of values that is " + bound->str(),
                      "give what it is divided by: `--dim NAME=SIZE`");
      function.setArgAttr(index, name,
                          mlir::AffineMapAttr::get(affineMap(size)));
    }
    if (!input.isState)
      continue;
    function.setArgAttr(index, names::state, b.getUnitAttr());
    // A description holds it as f64.
    if (input.hasInitial && isInteger(input.type.element) &&
        std::abs(input.initial) >= double(int64_t(1) << 53))
      return refuse(input.range,
                    "an integer of 2**53 or more as the start of a state",
                    "begin nearer to 0, and add the rest where the state is "
                    "read");
    if (input.hasInitial)
      function.setArgAttr(index, names::initial,
                          numberAttribute(input.type.element, input.initial,
                                          static_cast<int64_t>(input.initial)));
  }
  for (auto [index, result] : llvm::enumerate(program.results)) {
    mlir::FailureOr<mlir::Attribute> shape =
        shapeOf(typeOfResult(result), result.range, "a result");
    if (failed(shape))
      return failure();
    function.setResultAttr(index, names::name, b.getStringAttr(result.name));
    function.setResultAttr(index, names::shape, *shape);
    if (result.isState)
      function.setResultAttr(index, names::state, b.getUnitAttr());
  }

  // The program's own come before others: their messages say more.
  llvm::SmallVector<mlir::Attribute> maps, messages;
  for (const SizeEquality &equality : program.equalities) {
    mlir::AffineExpr left = affineSize(equality.left),
                     right = affineSize(equality.right);
    if (!left || !right)
      return refuse(equality.range,
                    "the comparison of " + equality.left.str() + " and " +
                        equality.right.str() + " when a run starts",
                    "give what they are divided by: `--dim NAME=SIZE`");
    maps.push_back(mlir::AffineMapAttr::get(affineMap({left, right})));
    messages.push_back(
        b.getStringAttr(failureAt(equality.range, equality.message)));
  }
  maps.insert(maps.begin(), divisors.begin(), divisors.end());
  messages.insert(messages.begin(), divisorMessages.begin(),
                  divisorMessages.end());
  maps.append(equalities);
  messages.append(equalityMessages);
  if (!maps.empty()) {
    function->setAttr(names::equal, b.getArrayAttr(maps));
    function->setAttr(names::equalMessages, b.getArrayAttr(messages));
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Graphs
//===----------------------------------------------------------------------===//

LogicalResult Importer::importGraph(const Graph &graph) {
  for (const auto &node : graph.nodes) {
    for (const TensorType &type : node->results)
      if (failed(requireNonNegative(*node, type)))
        return failure();
    b.setLoc(locationOf(node->trace));
    if (holdsNothing(*node)) {
      define(*node, empty(node->results[0]));
      continue;
    }
    if (failed(importNode(*node)))
      return failure();
  }
  return success();
}

/// Whether a node computes one tensor with a size that is known to be 0.
/// Upstream verifies and lowers operations on such tensors only in part.
bool Importer::holdsNothing(const Node &node) {
  if (llvm::isa<InputNode, ParameterNode>(node) ||
      node.kind == Node::Kind::Argument || node.results.size() != 1)
    return false;
  return llvm::is_contained(typeOf(node.results[0]).getShape(), 0);
}

LogicalResult Importer::importNode(const Node &node) {
  switch (node.kind) {
  case Node::Kind::Input:
    define(node, function.getArgument(llvm::cast<InputNode>(node).input));
    return success();
  case Node::Kind::Parameter:
    define(node, parameters[llvm::cast<ParameterNode>(node).parameter]);
    return success();
  case Node::Kind::Argument: // bound when its body is entered
  case Node::Kind::Constant: // made where they are used
  case Node::Kind::SizeValue:
    return success();
  case Node::Kind::Elementwise:
    return visit(llvm::cast<ElementwiseNode>(node));
  case Node::Kind::Contract:
    return visit(llvm::cast<ContractNode>(node));
  case Node::Kind::Reduce:
    return visit(llvm::cast<ReduceNode>(node));
  case Node::Kind::Softmax:
    return visit(llvm::cast<SoftmaxNode>(node));
  case Node::Kind::Reshape:
    return visit(llvm::cast<ReshapeNode>(node));
  case Node::Kind::Permute:
    return visit(llvm::cast<PermuteNode>(node));
  case Node::Kind::Slice:
    return visit(llvm::cast<SliceNode>(node));
  case Node::Kind::Broadcast:
    return visit(llvm::cast<BroadcastNode>(node));
  case Node::Kind::Concat:
    return visit(llvm::cast<ConcatNode>(node));
  case Node::Kind::Pad:
    return visit(llvm::cast<PadNode>(node));
  case Node::Kind::Flip:
    return visit(llvm::cast<FlipNode>(node));
  case Node::Kind::Take:
    return visit(llvm::cast<TakeNode>(node));
  case Node::Kind::Append:
    return visit(llvm::cast<AppendNode>(node));
  case Node::Kind::Convolution:
    return visit(llvm::cast<ConvolutionNode>(node));
  case Node::Kind::Iota:
    return visit(llvm::cast<IotaNode>(node));
  case Node::Kind::Recurrence:
    return visit(llvm::cast<RecurrenceNode>(node));
  case Node::Kind::Attention:
    return visit(llvm::cast<AttentionNode>(node));
  case Node::Kind::RowIndex:
  case Node::Kind::RowPosition:
  case Node::Kind::RowVisible:
  case Node::Kind::RowScores:
  case Node::Kind::RowSoftmax:
  case Node::Kind::RowNeighbours:
  case Node::Kind::RowTopK:
  case Node::Kind::RowValues:
    return visitRow(node);
  }
  llvm_unreachable("unknown kind of node");
}

mlir::Value Importer::cast(mlir::Value value, mlir::RankedTensorType type) {
  if (value.getType() == type)
    return value;
  return mlir::tensor::CastOp::create(b, type, value);
}

void Importer::define(const Node &node, mlir::Value value, unsigned index) {
  values[{&node, index}] = cast(value, typeOf(node.results[index]));
}

mlir::Value Importer::get(Value value) {
  if (auto found = values.find({value.node, value.index});
      found != values.end())
    return found->second;
  assert(isScalar(value) && "an operand stands before its user");
  mlir::RankedTensorType type = typeOf(value);
  if (auto *constant = llvm::dyn_cast<ConstantNode>(value.node)) {
    // A half keeps the digits of f32, in which it is computed.
    Element element = value.type().element;
    Element written = isHalf(element) ? Element::F32 : element;
    mlir::Value tensor = mlir::arith::ConstantOp::create(
        b, mlir::DenseElementsAttr::get(
               type.clone(elementType(written)),
               mlir::Attribute(numberAttribute(written, constant->real,
                                               constant->integer))));
    return isHalf(element)
               ? mlir::Value(mlir::arith::TruncFOp::create(b, type, tensor))
               : tensor;
  }
  return mlir::tensor::FromElementsOp::create(b, type, scalar(value));
}

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

mlir::Type Importer::elementType(Element element) {
  switch (element) {
  case Element::F16:
    return b.getF16Type();
  case Element::BF16:
    return b.getBF16Type();
  case Element::F32:
    return b.getF32Type();
  case Element::F64:
    return b.getF64Type();
  case Element::I32:
    return b.getI32Type();
  case Element::I64:
    return b.getI64Type();
  case Element::Bool:
    return b.getI1Type();
  }
  llvm_unreachable("unknown element type");
}

llvm::SmallVector<unsigned>
Importer::keptAxes(llvm::ArrayRef<Size> shape) const {
  llvm::SmallVector<unsigned> axes;
  for (auto [axis, size] : llvm::enumerate(shape))
    if (!isQueryAxis(size))
      axes.push_back(axis);
  return axes;
}

std::optional<unsigned> Importer::axisOf(llvm::ArrayRef<Size> shape,
                                         unsigned axis) const {
  if (isQueryAxis(shape[axis]))
    return std::nullopt;
  return keptAxes(shape.take_front(axis)).size();
}

Shape Importer::keptShape(llvm::ArrayRef<Size> shape) const {
  Shape kept;
  for (unsigned axis : keptAxes(shape))
    kept.push_back(shape[axis]);
  return kept;
}

mlir::RankedTensorType Importer::typeOf(const TensorType &type) {
  llvm::SmallVector<int64_t> shape;
  for (const Size &size : keptShape(type.shape))
    shape.push_back(staticSize(size));
  return mlir::RankedTensorType::get(shape, elementType(type.element));
}
