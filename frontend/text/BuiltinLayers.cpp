// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- BuiltinLayers.cpp - linear, embedding, conv1d, norms ---------------===//
//
// Settings are checked where an instance is declared; dimensions are found
// where it is called. Parameters have PyTorch's names and layouts.
//
//===----------------------------------------------------------------------===//

#include "frontend/text/BuiltinLayers.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace gatefold::text;
using llvm::ArrayRef;
using llvm::SmallVector;
using llvm::StringRef;
using llvm::Twine;

//===----------------------------------------------------------------------===//
// Parts
//===----------------------------------------------------------------------===//

/// The parameter, if it came out with the shape that this call needs. (A
/// parameter keeps the shape of its first use; another one was reported.)
static std::optional<Tensor> parameter(Checker &checker, Instance &instance,
                                       StringRef name, ArrayRef<Size> shape,
                                       Range use) {
  Tensor tensor =
      checker.layerParameter(instance, name, shape, std::nullopt, use);
  if (!tensor.value || tensor.own() != shape)
    return std::nullopt;
  return tensor;
}

/// Float operands under a parameter: of its element type.
static Tensor asElement(Checker &checker, const Tensor &tensor, Range place) {
  return isFloat(tensor.element())
             ? tensor
             : checker.convert(tensor, checker.floatType(), place);
}

static Item callLinear(Checker &checker, Instance &instance,
                       const LayerSettings &settings, const Tensor &given,
                       Range place) {
  Tensor x = asElement(checker, given, place);
  Size outputs = settings.dimensions.at("N"), inputs = x.own().back();
  std::optional<Tensor> weight =
      parameter(checker, instance, "weight", {outputs, inputs}, place);
  if (!weight)
    return erroneous(place);
  SmallVector<int64_t> labels;
  unsigned rank = x.value.type().rank();
  for (unsigned axis = 0; axis < rank; ++axis)
    labels.push_back(axis);
  SmallVector<int64_t> resultLabels(labels);
  resultLabels.back() = rank;
  Shape shape = x.value.type().shape;
  shape.back() = outputs;
  Tensor result =
      contract(checker, x, *weight, labels, {int64_t(rank), rank - 1},
               resultLabels, shape, x.leadRank, place);
  if (settings.flags.at("bias")) {
    std::optional<Tensor> bias =
        parameter(checker, instance, "bias", outputs, place);
    if (!bias)
      return erroneous(place);
    result = apply(checker, ElementwiseOp::Add, result, *bias, place);
  }
  return makeItem(result, place);
}

static Item callEmbedding(Checker &checker, Instance &instance,
                          const LayerSettings &settings, const Tensor &given,
                          Range place) {
  std::optional<Tensor> weight = parameter(
      checker, instance, "weight",
      {settings.dimensions.at("V"), settings.dimensions.at("N")}, place);
  if (!weight)
    return erroneous(place);
  return takeItem(checker, "embedding", *weight, makeItem(given, place), place);
}

static Item callConvolution(Checker &checker, Instance &instance,
                            const LayerSettings &settings, const Tensor &given,
                            Range place) {
  Tensor x = asElement(checker, given, place);
  Size outputs = settings.dimensions.at("N");
  Size channels = x.own()[x.own().size() - 2], length = x.own().back();
  int64_t kernel = settings.wholes.at("kernel");
  int64_t stride = settings.wholes.at("stride");
  int64_t padding = settings.wholes.at("padding");
  int64_t dilation = settings.wholes.at("dilation");
  int64_t groups = settings.wholes.at("groups");
  auto divides = [&](const Size &size, StringRef what) {
    return equalPart(checker, size, Size(groups), place,
                     Twine("`conv1d`: ") + Twine(groups) +
                         " groups do not divide " + size.str() + " " + what);
  };
  std::optional<Size> perGroup = divides(channels, "channels");
  if (!perGroup || !divides(outputs, "outputs"))
    return erroneous(place);

  // L' = (L + 2 padding - dilation (kernel - 1) - 1) // stride + 1
  int64_t reach = dilation * (kernel - 1) + 1;
  std::optional<Size> room = Size::add(length, Size(2 * padding - reach));
  std::optional<Size> steps =
      room ? Size::floorDivide(*room, Size(stride)) : std::nullopt;
  std::optional<Size> count = steps ? Size::add(*steps, Size(1)) : std::nullopt;
  std::string message = "`conv1d`: a length of " + length.str() +
                        (padding ? " with its padding" : "") +
                        " is less than the kernel's reach of " +
                        llvm::itostr(reach);
  auto report = [&] { checker.diagnostics.error(place, message); };
  // No column is a size like others: a chunk of a stream may be short.
  std::optional<Size> enough =
      count ? Size::maximum(*count, Size()) : std::nullopt;
  if (!count || !enough) {
    sizeOrError(checker, std::nullopt, place);
    return erroneous(place);
  }
  if (!checker.isUnknown(*count) &&
      !checker.requireEqual(*enough, *count, place, message, report))
    return erroneous(place);

  std::optional<Tensor> weight = parameter(
      checker, instance, "weight", {outputs, *perGroup, Size(kernel)}, place);
  if (!weight)
    return erroneous(place);
  TensorType type = x.value.type();
  type.shape[type.rank() - 2] = outputs;
  type.shape.back() = *count;
  auto &node = checker.make<ConvolutionNode>(place);
  node.stride = stride;
  node.padding = padding;
  node.dilation = dilation;
  node.groups = groups;
  node.operands = {x.value, weight->value};
  node.results.push_back(type);
  Tensor result{Value{&node, 0}, x.leadRank};
  if (settings.flags.at("bias")) {
    std::optional<Tensor> bias =
        parameter(checker, instance, "bias", outputs, place);
    if (!bias)
      return erroneous(place);
    Tensor column = checker.reshapeOwn(*bias, {outputs, Size(1)}, place);
    result = apply(checker, ElementwiseOp::Add, result, column, place);
  }
  return makeItem(result, place);
}

/// x / sqrt(mean(x**2) + eps) * weight, of x less its mean and with a bias
/// where `centre`. Statistics of short floats are f32, and the result rounds
/// once.
static Item normalise(Checker &checker, Instance &instance,
                      const LayerSettings &settings, const Tensor &given,
                      bool centre, Range place) {
  Tensor x = asElement(checker, given, place);
  Element outer = x.element();
  Element inner = outer == Element::F64 ? Element::F64 : Element::F32;
  x = checker.convert(x, inner, place);
  Size width = x.own().back();
  unsigned axis = x.own().size() - 1;
  Shape column(x.own());
  column.back() = Size(1);
  auto mean = [&](const Tensor &tensor) {
    Tensor value = reduce(checker, ReduceKind::Mean, tensor, axis, place);
    return checker.reshapeOwn(value, column, place);
  };
  if (centre)
    x = apply(checker, ElementwiseOp::Subtract, x, mean(x), place);
  Tensor variance = mean(apply(checker, ElementwiseOp::Multiply, x, x, place));
  Tensor epsilon = checker.constant(settings.reals.at("eps"), inner, place);
  Tensor scale = apply(checker, ElementwiseOp::Add, variance, epsilon, place);
  scale = apply(checker, ElementwiseOp::Sqrt, scale, place);
  Tensor result = checker.elementwise(ElementwiseOp::Divide, {x, scale},
                                      Shape(x.own()), inner, place);
  if (settings.flags.at("affine")) {
    std::optional<Tensor> weight =
        parameter(checker, instance, "weight", width, place);
    if (!weight)
      return erroneous(place);
    result = apply(checker, ElementwiseOp::Multiply, result,
                   checker.convert(*weight, inner, place), place);
    if (centre) {
      std::optional<Tensor> bias =
          parameter(checker, instance, "bias", width, place);
      if (!bias)
        return erroneous(place);
      result = apply(checker, ElementwiseOp::Add, result,
                     checker.convert(*bias, inner, place), place);
    }
  }
  return makeItem(checker.convert(result, outer, place), place);
}

static Item callRmsNorm(Checker &checker, Instance &instance,
                        const LayerSettings &settings, const Tensor &x,
                        Range place) {
  return normalise(checker, instance, settings, x, false, place);
}

static Item callLayerNorm(Checker &checker, Instance &instance,
                          const LayerSettings &settings, const Tensor &x,
                          Range place) {
  return normalise(checker, instance, settings, x, true, place);
}

//===----------------------------------------------------------------------===//
// Calls
//===----------------------------------------------------------------------===//

ArrayRef<Layer> gatefold::text::layers() {
  using Kind = LayerSetting::Kind;
  static const std::vector<Layer> list = {
      {"linear",
       {{"N", Kind::Dimension}, {"bias", Kind::Flag, 1}},
       callLinear,
       1,
       false},
      {"embedding",
       {{"V", Kind::Dimension}, {"N", Kind::Dimension}},
       callEmbedding,
       0,
       true},
      {"conv1d",
       {{"N", Kind::Dimension},
        {"kernel", Kind::Whole, 0, 1},
        {"stride", Kind::Whole, 1, 1},
        {"padding", Kind::Whole, 0, 0},
        {"dilation", Kind::Whole, 1, 1},
        {"groups", Kind::Whole, 1, 1},
        {"bias", Kind::Flag, 1}},
       callConvolution,
       2,
       false},
      {"rms_norm",
       {{"eps", Kind::Real, 1e-5}, {"affine", Kind::Flag, 1}},
       callRmsNorm,
       1,
       false},
      {"layer_norm",
       {{"eps", Kind::Real, 1e-5}, {"affine", Kind::Flag, 1}},
       callLayerNorm,
       1,
       false},
  };
  return list;
}

Item Checker::callLayer(Instance &instance,
                        ArrayRef<EvaluatedArgument> arguments, Range range) {
  const Layer *layer = findLayer(instance.calleeName);
  Identifier callee{instance.name.name, range};
  if (!layer)
    return erroneous(range);
  Arguments matched(*this, callee, arguments, {{"x"}, 1, {}});
  std::optional<LayerSettings> settings = readSettings(*this, *layer, instance);
  if (!matched.ok() || !settings)
    return erroneous(range);

  const Item &item = *matched.find("x");
  std::optional<Tensor> x;
  if (layer->takesIntegers) {
    // takeItem reports what is not an integer; a number is one where it is
    // whole.
    x = item.tensor() ? matched.tensor("x") : std::nullopt;
    if (!x && item.number()) {
      const Size &rows = settings->dimensions.at("V");
      std::optional<Size> index = asSize(*item.number());
      if (index && !requireWithin(
                       *this, *index, Size::subtract(rows, Size(1)), item.range,
                       "index " + index->str() +
                           " is out of range for a size of " + rows.str()))
        return erroneous(range);
      if (index)
        x = numberTensor(*item.number(), Element::I64, range);
    }
    if (!x || !isInteger(x->element())) {
      diagnostics.error(item.range, Twine("`") + instance.name.name +
                                        "` needs integers, found " +
                                        describe(item));
      return erroneous(range);
    }
  } else {
    x = matched.tensor("x", false);
    if (!x)
      return erroneous(range);
    if (isFloat(x->element()) && x->element() != floatType()) {
      diagnostics
          .error(item.range, Twine(spelling(x->element())) + " and " +
                                 spelling(floatType()) + " do not mix")
          .hint(Twine("convert it: `") + spelling(floatType()) + "(x)`");
      return erroneous(range);
    }
  }
  if (x->own().size() < layer->rank) {
    Diagnostic &error = diagnostics.error(
        item.range,
        Twine("`x` of `") + instance.name.name + "` is " + describe(item) +
            ", expected " + Twine(layer->rank) +
            (layer->rank == 1 ? " dimension or more" : " dimensions or more"));
    if (layer->rank == x->own().size() + 1)
      error.hint(layer->rank == 1 ? "a new dimension: `x[None]`"
                                  : "a new dimension: `x[None, :]`");
    return erroneous(range);
  }
  instance.used = true;
  Item result = layer->call(*this, instance, *settings, *x, range);
  result.range = range;
  return result;
}
