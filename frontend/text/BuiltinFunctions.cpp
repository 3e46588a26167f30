// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- BuiltinFunctions.cpp - Built-in functions by name ------------------===//
//
// The dispatch by name, and the elementwise functions.
//
//===----------------------------------------------------------------------===//

#include "frontend/text/Builtins.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSwitch.h"

using namespace gatefold::text;
using llvm::ArrayRef;
using llvm::SmallVector;
using llvm::StringRef;
using llvm::Twine;

//===----------------------------------------------------------------------===//
// Elementwise
//===----------------------------------------------------------------------===//

static Item callElementwise(Arguments &arguments) {
  Checker &checker = arguments.checker;
  Range place = arguments.place();
  ElementwiseOp op = llvm::StringSwitch<ElementwiseOp>(arguments.function())
                         .Case("exp", ElementwiseOp::Exp)
                         .Case("log", ElementwiseOp::Log)
                         .Case("sqrt", ElementwiseOp::Sqrt)
                         .Case("sin", ElementwiseOp::Sin)
                         .Case("cos", ElementwiseOp::Cos)
                         .Case("tanh", ElementwiseOp::Tanh)
                         .Case("erf", ElementwiseOp::Erf)
                         .Case("abs", ElementwiseOp::Abs)
                         .Case("sigmoid", ElementwiseOp::Sigmoid)
                         .Case("log_sigmoid", ElementwiseOp::LogSigmoid)
                         .Case("softplus", ElementwiseOp::Softplus)
                         .Case("relu", ElementwiseOp::Relu)
                         .Case("silu", ElementwiseOp::Silu)
                         .Default(ElementwiseOp::Gelu);
  const Item *x = arguments.find("x");
  if (const Number *number = x->number())
    return numberFunction(checker, op, *number, place);
  bool keepsIntegers = op == ElementwiseOp::Abs || op == ElementwiseOp::Relu;
  std::optional<CommonTensors> common =
      commonTensors(checker, arguments.function(), x, place, !keepsIntegers);
  if (!common)
    return erroneous(place);
  return makeItem(apply(checker, op, common->tensors[0], place), place);
}

/// max(a, b), min(a, b).
static Item callPair(Checker &checker, StringRef what, bool maximum,
                     const Item &a, const Item &b, Range place) {
  if (a.number() && b.number())
    return numberExtreme(checker, maximum, *a.number(), *b.number(), place);
  std::optional<CommonTensors> common =
      commonTensors(checker, what, {&a, &b}, place);
  if (!common)
    return erroneous(place);
  return elementwiseItem(
      checker, what, maximum ? ElementwiseOp::Maximum : ElementwiseOp::Minimum,
      *common, common->element, place);
}

static Item callClamp(Arguments &arguments) {
  Checker &checker = arguments.checker;
  Range place = arguments.place();
  Item raised = callPair(checker, "clamp", true, *arguments.find("x"),
                         *arguments.find("low"), place);
  if (raised.isError())
    return raised;
  return callPair(checker, "clamp", false, raised, *arguments.find("high"),
                  place);
}

static Item callWhere(Arguments &arguments) {
  Checker &checker = arguments.checker;
  Range place = arguments.place();
  const Item *c = arguments.find("c");
  const Item *a = arguments.find("a"), *b = arguments.find("b");
  const Tensor *condition = c->tensor();
  if (!c->boolean() && !(condition && condition->element() == Element::Bool)) {
    checker.diagnostics.error(c->range, "`where` needs bool, found " +
                                            checker.describe(*c));
    return erroneous(place);
  }
  // A choice that is known when compiling.
  if (c->boolean() && !a->tensor() && !b->tensor())
    return *c->boolean() ? *a : *b;
  std::optional<CommonTensors> common =
      commonTensors(checker, "where", {a, b}, place, false, BoolUse::Alone);
  if (!common)
    return erroneous(place);
  Tensor chosen = condition ? *condition
                            : checker.numberTensor(wholeNumber(*c->boolean()),
                                                   Element::Bool, place);
  common->tensors.insert(common->tensors.begin(), chosen);
  return elementwiseItem(checker, "where", ElementwiseOp::Select, *common,
                         common->element, place);
}

static Item callConvert(Arguments &arguments) {
  Checker &checker = arguments.checker;
  Range place = arguments.place();
  Element element = llvm::StringSwitch<Element>(arguments.function())
                        .Case("f16", Element::F16)
                        .Case("bf16", Element::BF16)
                        .Case("f32", Element::F32)
                        .Case("f64", Element::F64)
                        .Case("i32", Element::I32)
                        .Case("i64", Element::I64)
                        .Default(Element::Bool);
  const Item *x = arguments.find("x");
  if (const Number *number = x->number())
    return makeItem(checker.numberTensor(*number, element, place), place);
  if (const bool *value = x->boolean())
    return makeItem(checker.numberTensor(wholeNumber(*value), element, place),
                    place);
  std::optional<Tensor> tensor = arguments.tensor("x");
  if (!tensor)
    return erroneous(place);
  Tensor converted = checker.convert(*tensor, element, place);
  if (auto *node = llvm::dyn_cast<ElementwiseNode>(converted.value.node);
      node && node != tensor->value.node)
    node->rounds = isHalf(element);
  return makeItem(converted, place);
}

ArrayRef<BuiltinFunction> gatefold::text::elementwiseFunctions() {
  static const std::vector<BuiltinFunction> functions = [] {
    std::vector<BuiltinFunction> list;
    for (StringRef name :
         {"exp", "log", "sqrt", "sin", "cos", "tanh", "erf", "abs", "sigmoid",
          "log_sigmoid", "softplus", "relu", "silu", "gelu"})
      list.push_back({name, {{"x"}, 1, {}}, callElementwise});
    for (StringRef name : {"f16", "bf16", "f32", "f64", "i32", "i64", "bool"})
      list.push_back({name, {{"x"}, 1, {}}, callConvert});
    list.push_back({"clamp", {{"x", "low", "high"}, 3, {}}, callClamp});
    list.push_back({"where", {{"c", "a", "b"}, 3, {}}, callWhere});
    return list;
  }();
  return functions;
}

//===----------------------------------------------------------------------===//
// By name
//===----------------------------------------------------------------------===//

namespace {
struct FunctionTable {
  FunctionTable() {
    for (ArrayRef<BuiltinFunction> group :
         {elementwiseFunctions(), reductionFunctions(), shapeFunctions(),
          headFunctions(), cacheFunctions()})
      for (const BuiltinFunction &function : group)
        add(function.name, &function);
    for (const BuiltinFunction &function : rowFunctions()) {
      rows[function.name] = &function;
      if (!functions.count(function.name))
        add(function.name, nullptr);
    }
    // Two forms each; and what the evaluation of calls treats itself.
    for (StringRef name : {"max", "min", "scan", "step"})
      add(name, nullptr);
  }
  void add(StringRef name, const BuiltinFunction *function) {
    functions[name] = function;
    names.push_back(name);
  }
  llvm::StringMap<const BuiltinFunction *> functions; // null: not by signature
  llvm::StringMap<const BuiltinFunction *> rows;
  std::vector<StringRef> names;
};
} // namespace

static const FunctionTable &functionTable() {
  static const FunctionTable table;
  return table;
}

bool Checker::isBuiltinFunction(StringRef name) {
  return functionTable().functions.count(name);
}

ArrayRef<StringRef> Checker::builtinFunctionNames() {
  return functionTable().names;
}

Item gatefold::text::callExtreme(Checker &checker, Identifier callee,
                                 ArrayRef<EvaluatedArgument> arguments,
                                 Range range) {
  unsigned values = 0;
  for (const EvaluatedArgument &argument : arguments)
    values += !argument.name || argument.name->name == "a" ||
              argument.name->name == "b";
  if (values >= 2) {
    Arguments two(checker, callee, arguments, {{"a", "b"}, 2, {}});
    if (!two.ok())
      return erroneous(range);
    return callPair(checker, callee.name, callee.name == "max", *two.find("a"),
                    *two.find("b"), callee.range);
  }
  for (const BuiltinFunction &function : reductionFunctions())
    if (function.name == "mean") { // the same signature
      Arguments one(checker, callee, arguments, function.signature);
      return one.ok() ? function.call(one) : erroneous(range);
    }
  return erroneous(range);
}

Item Checker::callBuiltin(Identifier callee,
                          ArrayRef<EvaluatedArgument> arguments, Range range) {
  unsigned errorsBefore = diagnostics.errorCount();
  Item result = erroneous(range);
  const FunctionTable &table = functionTable();
  const BuiltinFunction *function = table.functions.lookup(callee.name);
  const BuiltinFunction *row = table.rows.lookup(callee.name);
  if (row && attention()) {
    if (attention()->functionDepth) {
      diagnostics
          .error(callee.range,
                 Twine("`") + callee.name +
                     "` stands in a func that an attention calls; the options "
                     "of the attention would not reach it")
          .hint("write it in the body of the attention");
      return result;
    }
    function = row;
  } else if (row && !function) {
    diagnostics.error(callee.range, Twine("`") + callee.name +
                                        "` works in an attention only");
    return result;
  }
  if (callee.name == "max" || callee.name == "min") {
    result = callExtreme(*this, callee, arguments, range);
  } else if (function) {
    Arguments matched(*this, callee, arguments, function->signature);
    if (matched.ok())
      result = function->call(matched);
  } else {
    diagnostics
        .error(callee.range,
               Twine("no function is named `") + callee.name + "`")
        .suggest(callee.name, builtinFunctionNames());
  }
  if (diagnostics.errorCount() != errorsBefore)
    return erroneous(range);
  result.range = range;
  return checkedItem(*this, std::move(result), callee.range);
}
