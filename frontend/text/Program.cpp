// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- Program.cpp - Spellings and a listing of checked programs ----------===//

#include "frontend/text/Program.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/raw_ostream.h"

using namespace gatefold::text;
using llvm::raw_ostream;

llvm::StringRef gatefold::text::spelling(Element element) {
  switch (element) {
  case Element::F16:
    return "f16";
  case Element::BF16:
    return "bf16";
  case Element::F32:
    return "f32";
  case Element::F64:
    return "f64";
  case Element::I32:
    return "i32";
  case Element::I64:
    return "i64";
  case Element::Bool:
    return "bool";
  }
  return {};
}

static std::string shapeText(llvm::ArrayRef<Size> shape) {
  std::string text = "[";
  llvm::ListSeparator comma;
  for (const Size &size : shape)
    (text += llvm::StringRef(comma)) += size.str();
  return text + "]";
}

std::string gatefold::text::str(const TensorType &type,
                                std::optional<Element> hide) {
  std::string shape = shapeText(type.shape);
  return hide == type.element ? shape : spelling(type.element).str() + shape;
}

llvm::StringRef gatefold::text::spelling(ElementwiseOp op) {
  switch (op) {
  case ElementwiseOp::Add:
    return "+";
  case ElementwiseOp::Subtract:
    return "-";
  case ElementwiseOp::Multiply:
    return "*";
  case ElementwiseOp::Divide:
    return "/";
  case ElementwiseOp::FloorDivide:
    return "//";
  case ElementwiseOp::Modulo:
    return "%";
  case ElementwiseOp::Power:
    return "**";
  case ElementwiseOp::Maximum:
    return "max";
  case ElementwiseOp::Minimum:
    return "min";
  case ElementwiseOp::And:
    return "and";
  case ElementwiseOp::Or:
    return "or";
  case ElementwiseOp::Less:
    return "<";
  case ElementwiseOp::LessEqual:
    return "<=";
  case ElementwiseOp::Greater:
    return ">";
  case ElementwiseOp::GreaterEqual:
    return ">=";
  case ElementwiseOp::Equal:
    return "==";
  case ElementwiseOp::NotEqual:
    return "!=";
  case ElementwiseOp::Negate:
    return "negate";
  case ElementwiseOp::Not:
    return "not";
  case ElementwiseOp::Exp:
    return "exp";
  case ElementwiseOp::Log:
    return "log";
  case ElementwiseOp::Sqrt:
    return "sqrt";
  case ElementwiseOp::Sin:
    return "sin";
  case ElementwiseOp::Cos:
    return "cos";
  case ElementwiseOp::Tanh:
    return "tanh";
  case ElementwiseOp::Erf:
    return "erf";
  case ElementwiseOp::Abs:
    return "abs";
  case ElementwiseOp::Sigmoid:
    return "sigmoid";
  case ElementwiseOp::LogSigmoid:
    return "log_sigmoid";
  case ElementwiseOp::Softplus:
    return "softplus";
  case ElementwiseOp::Relu:
    return "relu";
  case ElementwiseOp::Silu:
    return "silu";
  case ElementwiseOp::Gelu:
    return "gelu";
  case ElementwiseOp::Convert:
    return "convert";
  case ElementwiseOp::Select:
    return "where";
  }
  return {};
}

std::optional<Size> gatefold::text::knownSize(Value value) {
  auto isWidening = [](const Node *node) {
    auto *convert = llvm::dyn_cast<ElementwiseNode>(node);
    return convert && convert->op == ElementwiseOp::Convert &&
           convert->results[0].element == Element::I64 &&
           isInteger(convert->operands[0].type().element);
  };
  while (value.node->kind == Node::Kind::Broadcast ||
         value.node->kind == Node::Kind::Reshape || isWidening(value.node))
    value = value.node->operands[0];
  if (auto *size = llvm::dyn_cast<SizeValueNode>(value.node))
    return size->size;
  auto *constant = llvm::dyn_cast<ConstantNode>(value.node);
  if (!constant || !isInteger(value.type().element))
    return std::nullopt;
  return Size(constant->integer);
}

//===----------------------------------------------------------------------===//
// Listing
//===----------------------------------------------------------------------===//

namespace {

llvm::StringRef spelling(Node::Kind kind) {
  static constexpr llvm::StringLiteral names[] = {
      "input",       "argument",    "parameter",   "constant",
      "size",        "elementwise", "contract",    "reduce",
      "softmax",     "reshape",     "permute",     "slice",
      "broadcast",   "concat",      "pad",         "flip",
      "take",        "append",      "convolution", "iota",
      "recurrence",  "attention",   "row_index",   "row_position",
      "row_visible", "row_scores",  "row_softmax", "row_neighbours",
      "row_top_k",   "row_values"};
  return names[static_cast<unsigned>(kind)];
}

llvm::StringRef spelling(ReduceKind kind) {
  static constexpr llvm::StringLiteral names[] = {"sum", "mean", "max", "min",
                                                  "argmax"};
  return names[static_cast<unsigned>(kind)];
}

llvm::StringRef spelling(PadMode mode) {
  static constexpr llvm::StringLiteral names[] = {"zero", "reflect", "edge"};
  return names[static_cast<unsigned>(mode)];
}

class Listing {
public:
  Listing(const Program &program, raw_ostream &out)
      : program(program), out(out) {}

  void print();

private:
  void print(const Graph &graph, unsigned indent);
  void print(const Node &node);
  void print(const RecurrenceNode &node, unsigned indent);
  void print(const AttentionNode &node, unsigned indent);
  void details(const Node &node);
  void value(Value value);
  void values(llvm::ArrayRef<Value> list) {
    llvm::interleaveComma(list, out, [&](Value v) { value(v); });
  }
  void clause(llvm::StringRef name, llvm::ArrayRef<Value> list) {
    if (list.empty())
      return;
    out << ' ' << name << '(';
    values(list);
    out << ')';
  }
  void clause(llvm::StringRef name, Value single) {
    if (single)
      clause(name, llvm::ArrayRef(single));
  }
  template <typename T> void integers(llvm::ArrayRef<T> list) {
    out << '[';
    llvm::interleaveComma(list, out);
    out << ']';
  }
  std::string text(const TensorType &type) {
    return str(type, program.floatType);
  }

  const Program &program;
  raw_ostream &out;
  llvm::DenseMap<const Node *, unsigned> numbers;
};

void Listing::value(Value value) {
  if (!value) {
    out << "null";
    return;
  }
  auto [entry, isNew] = numbers.try_emplace(value.node, numbers.size());
  out << '%' << entry->second;
  if (value.node->results.size() > 1)
    out << '#' << value.index;
}

void Listing::details(const Node &node) {
  if (auto *input = llvm::dyn_cast<InputNode>(&node))
    out << ' ' << input->input;
  else if (auto *argument = llvm::dyn_cast<ArgumentNode>(&node))
    out << ' ' << argument->number;
  else if (auto *parameter = llvm::dyn_cast<ParameterNode>(&node))
    out << ' ' << parameter->parameter;
  else if (auto *size = llvm::dyn_cast<SizeValueNode>(&node))
    out << ' ' << size->size.str();
  else if (auto *elementwise = llvm::dyn_cast<ElementwiseNode>(&node))
    out << " `" << gatefold::text::spelling(elementwise->op) << '`';
  else if (auto *reduce = llvm::dyn_cast<ReduceNode>(&node))
    out << ' ' << spelling(reduce->reduce) << " axis " << reduce->axis;
  else if (auto *softmax = llvm::dyn_cast<SoftmaxNode>(&node))
    out << " axis " << softmax->axis;
  else if (auto *concat = llvm::dyn_cast<ConcatNode>(&node))
    out << " axis " << concat->axis;
  else if (auto *flip = llvm::dyn_cast<FlipNode>(&node))
    out << " axis " << flip->axis;
  else if (auto *append = llvm::dyn_cast<AppendNode>(&node))
    out << " axis " << append->axis << (append->rounds ? " rounds" : "");
  else if (auto *softmax = llvm::dyn_cast<RowSoftmaxNode>(&node))
    out << (softmax->hasWhere ? " where" : "")
        << (softmax->hasSink ? " sink" : "");

  if (auto *constant = llvm::dyn_cast<ConstantNode>(&node)) {
    if (isFloat(constant->results.front().element))
      out << ' ' << constant->real;
    else
      out << ' ' << constant->integer;
  } else if (auto *permute = llvm::dyn_cast<PermuteNode>(&node)) {
    out << ' ';
    integers(llvm::ArrayRef<int64_t>(permute->permutation));
  } else if (auto *contract = llvm::dyn_cast<ContractNode>(&node)) {
    out << ' ';
    integers(llvm::ArrayRef<int64_t>(contract->leftLabels));
    integers(llvm::ArrayRef<int64_t>(contract->rightLabels));
    out << "->";
    integers(llvm::ArrayRef<int64_t>(contract->resultLabels));
  } else if (auto *slice = llvm::dyn_cast<SliceNode>(&node)) {
    out << " from " << shapeText(slice->starts) << " by ";
    integers(llvm::ArrayRef<int64_t>(slice->steps));
  } else if (auto *pad = llvm::dyn_cast<PadNode>(&node)) {
    out << ' ' << spelling(pad->mode) << " axis " << pad->axis << " left "
        << pad->left.str() << " right " << pad->right.str();
  } else if (auto *convolution = llvm::dyn_cast<ConvolutionNode>(&node)) {
    out << " stride " << convolution->stride << " padding "
        << convolution->padding << " dilation " << convolution->dilation
        << " groups " << convolution->groups;
  } else if (auto *neighbours = llvm::dyn_cast<RowNeighboursNode>(&node)) {
    out << " width " << neighbours->width
        << (neighbours->allKeys ? " all" : " visible");
  } else if (auto *topK = llvm::dyn_cast<RowTopKNode>(&node)) {
    if (topK->count)
      out << " count " << *topK->count;
    if (topK->fraction)
      out << " fraction " << *topK->fraction;
  }
}

void Listing::print(const RecurrenceNode &node, unsigned indent) {
  clause("sequences", node.sequences);
  clause("states", node.initials);
  clause("lengths", node.lengths);
  clause("resets", node.resets);
  clause("reset_states", node.resetStates);
  if (node.steps)
    out << " steps " << node.steps->str();
  if (node.until)
    out << " until " << *node.until;
  out << " time_axis " << node.timeAxis << (node.reverse ? " reverse" : "");
  print(node.body, indent);
}

void Listing::print(const AttentionNode &node, unsigned indent) {
  out << " `" << node.name << "` lead " << shapeText(node.lead);
  clause("queries", node.queries);
  clause("keys", node.keys);
  clause("pairs", node.pairs);
  clause("captures", node.captures);
  clause("lengths", node.lengths);
  clause("mask", node.mask);
  clause("bias", node.bias);
  clause("offset", node.offset);
  clause("query_segments", node.querySegments);
  clause("key_segments", node.keySegments);
  if (node.causal)
    out << " causal";
  if (node.window) {
    auto bound = [&](std::optional<int64_t> b) {
      if (b)
        out << *b;
      else
        out << "inf";
    };
    out << " window(";
    bound(node.window->first);
    out << ", ";
    bound(node.window->second);
    out << ')';
  }
  if (node.logSumExp)
    out << " lse";
  if (node.weights)
    out << " weights";
  out << " T=" << node.querySize.str() << " S=" << node.keySize.str();
  print(node.body, indent);
}

void Listing::print(const Graph &graph, unsigned indent) {
  out << " {\n";
  for (const auto &pointer : graph.nodes) {
    const Node &node = *pointer;
    unsigned number = numbers.try_emplace(&node, numbers.size()).first->second;
    out.indent(indent + 2) << '%' << number << " = " << spelling(node.kind);
    details(node);
    if (auto *recurrence = llvm::dyn_cast<RecurrenceNode>(&node)) {
      print(*recurrence, indent + 2);
    } else if (auto *attention = llvm::dyn_cast<AttentionNode>(&node)) {
      print(*attention, indent + 2);
    } else if (!node.operands.empty()) {
      out << ' ';
      values(node.operands);
    }
    out << " : ";
    llvm::interleaveComma(node.results, out,
                          [&](const TensorType &type) { out << text(type); });
    out << '\n';
  }
  out.indent(indent + 2) << "return ";
  values(graph.results);
  out << '\n';
  out.indent(indent) << '}';
}

void Listing::print() {
  out << spelling(program.kind) << ' ' << program.name << " float "
      << gatefold::text::spelling(program.floatType) << '\n';
  for (const Symbol &symbol : program.symbols)
    out << "dimension " << symbol.name << '\n';
  for (const ProgramInput &input : program.inputs) {
    out << (input.isState ? "state " : "input ") << input.name << ": "
        << text(input.type);
    if (input.isState && input.hasInitial)
      out << " = " << input.initial;
    if (input.below)
      out << " below " << input.below->str();
    if (input.atMost)
      out << " at most " << input.atMost->str();
    out << '\n';
  }
  for (const ProgramParameter &parameter : program.parameters) {
    out << "parameter " << parameter.name << ": " << text(parameter.type);
    if (parameter.initial)
      out << " = " << *parameter.initial;
    out << '\n';
  }
  for (const SizeEquality &equality : program.equalities)
    out << "equal " << equality.left.str() << ", " << equality.right.str()
        << '\n';
  out << "body";
  print(program.body, 0);
  out << '\n';
  for (const ProgramResult &result : program.results) {
    out << (result.isState ? "next " : "result ") << result.name << ": ";
    value(result.value);
    out << '\n';
  }
}

} // namespace

void gatefold::text::dump(const Program &program, raw_ostream &out) {
  Listing(program, out).print();
}
