// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- Attentions.cpp - Calls of attentions -------------------------------===//
//
// A call becomes one node with one body, over symbols T and S that are nothing
// else, also where queries and keys are the same tensor.
//
//===----------------------------------------------------------------------===//

#include "frontend/text/Attentions.h"
#include "frontend/text/CheckBody.h"
#include "llvm/ADT/STLExtras.h"
#include <numeric>

using namespace gatefold::text;
using llvm::ArrayRef;
using llvm::SmallVector;
using llvm::StringRef;
using llvm::Twine;

//===----------------------------------------------------------------------===//
// Inputs
//===----------------------------------------------------------------------===//

bool AttentionCall::bindInputs() {
  auto query = call.dimensions.find("T"), key = call.dimensions.find("S");
  for (auto [found, name] : {std::pair(query, "T"), std::pair(key, "S")})
    if (found == call.dimensions.end()) {
      checker.diagnostics
          .error(callee.range, Twine("dimension `") + name + "` of `" +
                                   callee.name + "` is not known")
          .hint(Twine("write `") + callee.name + "(" + name + "=...)`");
      return false;
    }
  querySize = query->second.size;
  keySize = key->second.size;
  Program &program = checker.program();
  program.bodySymbols.push_back({"T", -1});
  querySymbol = &program.bodySymbols.back();
  program.bodySymbols.push_back({"S", -1});
  keySymbol = &program.bodySymbols.back();

  for (auto [index, syntax] : llvm::enumerate(declaration.inputs)) {
    const Item &item = call.inputs[index];
    if (!syntax.type)
      continue;
    if (!item.tensor())
      return false;
    Input input;
    input.index = index;
    input.given.name = syntax.name.name.str();
    input.given.range = item.range;
    input.given.tensor = *item.tensor();
    input.given.extra = call.extraRanks[index];
    std::optional<Shape> outer =
        checker.declaredShape(declaration, file, *syntax.type, call);
    std::optional<Shape> inner = checker.declaredShape(
        declaration, file, *syntax.type, call,
        {{"T", Size(querySymbol)}, {"S", Size(keySymbol)}});
    if (!outer || !inner)
      return false;
    input.declared = *inner;

    // A scalar, and a T or S that stretches, stay small until they are in the
    // body.
    DeclaredAxes axes = *declaredAxes(*syntax.type, true);
    ArrayRef<Size> own = input.given.tensor.own().drop_front(input.given.extra);
    bool scalar = own.size() < outer->size();
    auto isGiven = [&](std::optional<unsigned> axis, const Size &size) {
      return axis && !scalar &&
             (!own[*axis].isConstant(1) || size.isConstant(1));
    };
    bool hasQuery = isGiven(axes.query, querySize);
    bool hasKey = isGiven(axes.key, keySize);
    if (!scalar) {
      input.given.own = *outer;
      input.bodyOwn = *inner;
      for (auto [axis, present] :
           {std::pair(axes.query, hasQuery), std::pair(axes.key, hasKey)})
        if (axis && !present)
          input.given.own[*axis] = input.bodyOwn[*axis] = Size(1);
    }
    bool isPair = axes.query && axes.key && (hasQuery || hasKey);
    input.role = isPair     ? Role::Pair
                 : hasQuery ? Role::Query
                 : hasKey   ? Role::Key
                            : Role::Capture;
    if (input.role == Role::Query)
      input.front = *axes.query;
    if (input.role == Role::Key)
      input.front = *axes.key;
    inputs.push_back(std::move(input));
  }
  return true;
}

bool AttentionCall::findLead() {
  SmallVector<Tensor> tensors;
  SmallVector<ArrayRef<Size>> shapes;
  std::string list;
  auto add = [&](const Given &given) {
    ArrayRef<Size> extra = given.tensor.own().take_front(given.extra);
    tensors.push_back(given.tensor);
    // Fewer heads are no clash: each serves several.
    if (gqa && !extra.empty())
      extra = extra.drop_back();
    shapes.push_back(extra);
    fullExtraRank = std::max(fullExtraRank, given.extra);
    if (given.extra)
      list += (list.empty() ? "" : ", ") +
              checker.describe(given.tensor.own().take_front(given.extra)) +
              " of `" + given.name + "`";
  };
  for (const Input &input : inputs)
    add(input.given);
  for (const std::optional<Given> *given : {&mask, &bias})
    if (*given)
      add(**given);
  // What the options hold of the caller's lead counts too.
  for (StringRef name : {"lengths", "offset", "segments"}) {
    auto found = options.find(name);
    if (found == options.end())
      continue;
    const Item &item = found->second->item;
    if (const Tensor *tensor = item.tensor())
      tensors.push_back(*tensor);
    if (const Tuple *tuple = item.tuple())
      for (const Item &element : tuple->elements)
        if (const Tensor *tensor = element.tensor())
          tensors.push_back(*tensor);
  }
  callerLead = commonLead(tensors);
  std::string message = "the leading dimensions of the arguments of `" +
                        callee.name.str() + "` do not fit: " + list;
  std::optional<Shape> common =
      checker.broadcastShapes(shapes, range, message, [&] {
        checker.diagnostics.error(range, message);
      });
  if (!common)
    return false;
  extras = *common;
  if (gqa && !groupHeads())
    return false;

  auto enter = [&](Given &given) {
    given.entered = checker.enterCallee(given.tensor, given.extra,
                                        fullExtraRank, given.own, given.range);
    if (isGrouped)
      given.entered = grouped(given);
  };
  for (Input &input : inputs)
    enter(input.given);
  for (std::optional<Given> *given : {&mask, &bias})
    if (*given)
      enter(**given);
  return true;
}

/// Queries are [T, ..] and keys [S, ..] outside, wherever the declaration has T
/// or S.
void AttentionCall::moveToFront(Input &input) {
  if (!input.front)
    return;
  SmallVector<int64_t> permutation = {int64_t(input.front)};
  for (unsigned axis = 0; axis < input.bodyOwn.size(); ++axis)
    if (axis != input.front)
      permutation.push_back(axis);
  Shape moved;
  for (int64_t axis : permutation)
    moved.push_back(input.bodyOwn[axis]);
  input.bodyOwn = moved;
  input.given.entered =
      checker.permuteOwn(input.given.entered, permutation, input.given.range);
}

/// An input as the body sees it: of the declared shape.
Item AttentionCall::bodyInput(const Input &input) {
  Range place = declaration.inputs[input.index].name.range;
  if (input.isConstant()) {
    auto &given = *llvm::cast<ConstantNode>(input.given.tensor.value.node);
    auto &constant = checker.make<ConstantNode>(place);
    constant.real = given.real;
    constant.integer = given.integer;
    constant.results = given.results;
    Tensor tensor{Value{&constant, 0}, 0};
    return makeItem(checker.broadcast(tensor, {}, input.declared, place),
                    input.given.range);
  }
  auto &argument = checker.make<ArgumentNode>(place);
  argument.number = node->body.arguments.size();
  TensorType type;
  type.element = input.given.tensor.element();
  type.shape = input.bodyOwn;
  argument.results.push_back(type);
  Value value{&argument, 0};
  node->body.arguments.push_back(value);
  checker.implementation().argumentSources[&argument] =
      input.given.entered.value;
  Tensor tensor{value, 0};
  if (input.front) {
    // Back from the front.
    SmallVector<int64_t> permutation;
    for (unsigned axis = 0; axis < input.bodyOwn.size(); ++axis)
      permutation.push_back(axis == input.front  ? 0
                            : axis < input.front ? axis + 1
                                                 : axis);
    tensor = checker.permuteOwn(tensor, permutation, place);
  }
  tensor = checker.broadcast(tensor, {}, input.declared, place);
  return makeItem(tensor, input.given.range);
}

//===----------------------------------------------------------------------===//
// The body and its results
//===----------------------------------------------------------------------===//

bool AttentionCall::evaluate() {
  for (Input &input : inputs)
    moveToFront(input);
  node = &checker.make<AttentionNode>(callee.range);
  auto operands = [&](Role role) -> SmallVector<Value> & {
    return role == Role::Query  ? node->queries
           : role == Role::Key  ? node->keys
           : role == Role::Pair ? node->pairs
                                : node->captures;
  };
  for (const Input &input : inputs)
    if (!input.isConstant())
      operands(input.role).push_back(input.given.entered.value);
  node->lead = callerLead;
  node->lead.append(extras.begin(), extras.end());
  if (isGrouped) {
    node->lead.push_back(keyHeads);
    node->lead.push_back(group);
  } else if (gqa) {
    node->lead.push_back(heads);
  }
  node->lengths = lengths;
  node->offset = offset;
  node->querySegments = querySegments;
  node->keySegments = keySegments;
  if (mask)
    node->mask = mask->entered.value;
  if (bias)
    node->bias = bias->entered.value;
  node->causal = causal;
  node->window = window;
  node->logSumExp = logSumExp;
  node->weights = weights;
  node->querySymbol = querySymbol;
  node->keySymbol = keySymbol;
  node->querySize = querySize;
  node->keySize = keySize;
  node->name = declaration.name.name.str();

  context.node = node;
  context.query = querySymbol;
  context.key = keySymbol;
  std::vector<Item> items = call.inputs;
  Graph *outer = checker.setGraph(&node->body);
  for (Role role : {Role::Query, Role::Key, Role::Pair, Role::Capture})
    for (const Input &input : inputs)
      if (input.role == role)
        items[input.index] = bodyInput(input);
  checker.setGraph(outer);

  std::vector<std::pair<std::string, Size>> dimensions;
  for (const auto &[name, binding] : call.dimensions)
    if (name != "T" && name != "S")
      dimensions.push_back({name, binding.size});
  dimensions.push_back({"T", Size(querySymbol)});
  dimensions.push_back({"S", Size(keySymbol)});
  std::optional<std::vector<Item>> values = checker.evaluateBody(
      declaration, file, items, dimensions, &context, node->body, range);
  if (!values)
    return false;
  for (const Item &item : *values) {
    if (!item.tensor())
      return false;
    node->body.results.push_back(item.tensor()->value);
  }
  for (const std::unique_ptr<Node> &inner : node->body.nodes)
    if (llvm::isa<RowSoftmaxNode>(inner.get()))
      softmaxes.push_back(inner.get());
  if (logSumExp)
    for (Node *softmax : softmaxes)
      node->body.results.push_back(Value{softmax, 1});
  if (weights)
    for (Node *softmax : softmaxes)
      node->body.results.push_back(Value{softmax, 0});
  return true;
}

Shape AttentionCall::outside(ArrayRef<Size> shape) const {
  Shape result;
  for (const Size &size : shape) {
    std::optional<Size> outer =
        size.substitute([&](const Symbol *symbol) -> std::optional<Size> {
          if (symbol == querySymbol)
            return querySize;
          if (symbol == keySymbol)
            return keySize;
          return Size(symbol);
        });
    result.push_back(outer.value_or(size));
  }
  return result;
}

/// A result of the node, with the mapped dimensions as own ones in front.
Item AttentionCall::result(unsigned index, ArrayRef<Size> own) {
  Tensor tensor{Value{node, index}, unsigned(callerLead.size())};
  if (isGrouped) {
    Shape merged = extras;
    merged.push_back(heads);
    merged.append(own.begin(), own.end());
    tensor = checker.reshapeOwn(tensor, merged, callee.range);
  }
  return makeItem(tensor, range);
}

Item AttentionCall::results() {
  SmallVector<Shape> shapes; // own, of each result
  for (Value value : node->body.results) {
    TensorType type{value.type().element, node->lead};
    shapes.push_back(outside(value.type().shape));
    llvm::append_range(type.shape, shapes.back());
    node->results.push_back(std::move(type));
  }

  unsigned index = 0;
  Tuple all;
  auto take = [&](size_t count, bool asTuple) {
    Tuple part;
    for (size_t i = 0; i < count; ++i, ++index)
      part.elements.push_back(result(index, shapes[index]));
    if (asTuple && count != 1)
      all.elements.push_back(makeItem(std::move(part), range));
    else
      for (Item &item : part.elements)
        all.elements.push_back(std::move(item));
  };
  take(declaration.results.size(), false);
  if (logSumExp)
    take(softmaxes.size(), true);
  if (weights)
    take(softmaxes.size(), true);
  if (all.elements.size() == 1) {
    Item only = std::move(all.elements.front());
    return only;
  }
  return makeItem(std::move(all), range);
}

Item AttentionCall::make(ArrayRef<EvaluatedArgument> arguments) {
  if (!checkDeclaration())
    return erroneous(range);
  std::optional<Checker::BoundCall> bound = checker.bindCall(
      declaration, file, arguments, attentionOptionNames(), callee, range);
  if (!bound)
    return erroneous(range);
  call = std::move(*bound);
  for (const EvaluatedArgument &option : call.options)
    if (option.item.isError())
      return erroneous(range);
  if (!bindInputs() || !readOptions() || !findLead() || !readTensors() ||
      !evaluate() || !checkEffects())
    return erroneous(range);
  return results();
}

Item Checker::callAttention(const Declaration &declaration, Package::File &file,
                            ArrayRef<EvaluatedArgument> arguments,
                            Identifier callee, Range range) {
  if (attention()) {
    diagnostics
        .error(callee.range, Twine("the attention `") + callee.name +
                                 "` cannot stand inside an attention")
        .hint("compute it before the call, and give its result as an input");
    return erroneous(range);
  }
  return AttentionCall(*this, declaration, file, callee, range).make(arguments);
}
