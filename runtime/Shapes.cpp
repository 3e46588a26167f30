// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Shapes.cpp - open dimensions from the shapes of inputs, and all sizes from
// them.

#include "runtime/Shapes.h"

#include "runtime/Checks.h"
#include "runtime/Element.h"

#include <string.h>

namespace gatefold::runtime {

static bool isWordByte(char byte) {
  unsigned char value = (unsigned char)byte;
  return (value >= '0' && value <= '9') || (value >= 'a' && value <= 'z') ||
         (value >= 'A' && value <= 'Z') || value == '_' || value >= 0x80;
}

/// True if an expression such as "2*T + 1" has the symbol as a word.
static bool mentions(const char *expression, const char *symbol) {
  size_t length = strlen(symbol);
  for (const char *at = expression; (at = strstr(at, symbol)); ++at)
    if ((at == expression || !isWordByte(at[-1])) && !isWordByte(at[length]))
      return true;
  return false;
}

static bool isOneWord(const char *expression) {
  for (; *expression; ++expression)
    if (!isWordByte(*expression))
      return false;
  return true;
}

/// Appends " with B=2 from `x`, T=3 from `y`" for the bound open dimensions
/// that the expressions mention.
static void appendOrigins(gatefold_context &context,
                          const char *const *expressions, int32_t count) {
  const gatefold_description &description = *context.model->description;
  const char *before = " with ";
  for (int32_t s = 0; s < description.symbol_count; ++s) {
    bool isMentioned = false;
    for (int32_t d = 0; d < count; ++d)
      isMentioned |= mentions(expressions[d], description.symbols[s]);
    if (!isMentioned || !context.origins[s].isBound)
      continue;
    context.message.append("%s%s=%lld from ", before, description.symbols[s],
                           (long long)context.symbols[s]);
    context.message.appendName(
        description.inputs[context.origins[s].input].name);
    before = ", ";
  }
}

/// Appends "expected [B, 2*T + 1] = [2, 7] with B=2 from `x`, T=3 from `y`".
static void appendExpected(gatefold_context &context,
                           const gatefold_tensor &tensor) {
  context.message.append("expected ");
  context.message.appendNames(tensor.dimension_names, tensor.rank);
  bool isPlain = true;
  for (int32_t d = 0; d < tensor.rank; ++d)
    isPlain &= isOneWord(tensor.dimension_names[d]);
  if (!isPlain) {
    context.message.append(" = ");
    context.message.appendSizes(sizesOf(context, tensor), tensor.rank);
  }
  appendOrigins(context, tensor.dimension_names, tensor.rank);
}

/// Compares a tensor's shape with the computed sizes.
static bool compareSizes(gatefold_context &context, const Subject &subject,
                         const DLTensor &tensor) {
  const int64_t *sizes = sizesOf(context, subject.tensor);
  int32_t rank = subject.tensor.rank;
  for (int32_t d = 0; d < rank; ++d) {
    if (tensor.shape[d] == sizes[d])
      continue;
    appendSubject(context.message, subject);
    context.message.append(" is ");
    context.message.appendSizes(tensor.shape, rank);
    context.message.append(", ");
    appendExpected(context, subject.tensor);
    return false;
  }
  return true;
}

bool solveBinding(const gatefold_binding &binding, int64_t size,
                  int64_t &value) {
  int64_t difference;
  if (__builtin_sub_overflow(size, binding.offset, &difference) ||
      difference < 0 || difference % binding.scale != 0)
    return false;
  value = difference / binding.scale;
  return value <= INT32_MAX;
}

/// Binds what input number `number` is the first to bind.
static bool bindFrom(gatefold_context &context, int64_t number,
                     const DLTensor &tensor) {
  const gatefold_description &description = *context.model->description;
  const gatefold_tensor &input = description.inputs[number];
  for (int32_t d = 0; d < input.rank; ++d) {
    const gatefold_binding &binding = input.bindings[d];
    if (binding.symbol < 0 || context.origins[binding.symbol].isBound)
      continue;
    int64_t value;
    if (!solveBinding(binding, tensor.shape[d], value)) {
      Message &message = context.message;
      message.appendName(input.name);
      message.append(" is ");
      message.appendSizes(tensor.shape, input.rank);
      message.append(", expected ");
      message.appendNames(input.dimension_names, input.rank);
      message.append(": dimension %d is %lld, but no %s in 0..%d gives that", d,
                     (long long)tensor.shape[d],
                     description.symbols[binding.symbol], INT32_MAX);
      return false;
    }
    context.symbols[binding.symbol] = value;
    context.origins[binding.symbol] = {number, true};
  }
  return true;
}

/// Refuses sizes that the inputs' shapes make negative, or too large to count.
static bool checkResultSizes(gatefold_context &context) {
  const gatefold_description &description = *context.model->description;
  for (int64_t r = 0; r < description.result_count; ++r) {
    const gatefold_tensor &result = description.results[r];
    const int64_t *sizes = sizesOf(context, result);
    int64_t bytes;
    bool isLegal = true;
    for (int32_t d = 0; d < result.rank; ++d)
      isLegal &= sizes[d] >= 0;
    if (isLegal &&
        checkedBytes(sizes, result.rank, elementBytes(result.element), bytes))
      continue;
    appendSubject(context.message, {Kind::Result, result});
    context.message.append(" would have a negative size, or one too large: ");
    context.message.appendNames(result.dimension_names, result.rank);
    appendOrigins(context, result.dimension_names, result.rank);
    return false;
  }
  return true;
}

static bool checkSizeChecks(gatefold_context &context) {
  const gatefold_description &description = *context.model->description;
  for (int64_t c = 0; c < description.size_check_count; ++c) {
    const gatefold_size_check &check = description.size_checks[c];
    int64_t left = context.sizes[check.left];
    int64_t right = context.sizes[check.right];
    if (left == right)
      continue;
    context.message.appendText(check.message);
    context.message.append(" (%lld and %lld", (long long)left,
                           (long long)right);
    appendOrigins(context, description.symbols, description.symbol_count);
    context.message.append(")");
    return false;
  }
  return true;
}

bool resolveShapes(gatefold_context &context, const DLTensor *const *inputs) {
  const gatefold_description &description = *context.model->description;
  for (int32_t s = 0; s < description.symbol_count; ++s)
    context.origins[s].isBound = false;
  if (!inputs && description.input_count > 0) {
    context.message.append("the array of inputs is null");
    return false;
  }
  for (int64_t i = 0; i < description.input_count; ++i)
    if (!checkShape(context.message, {Kind::Input, description.inputs[i]},
                    inputs[i]) ||
        !bindFrom(context, i, *inputs[i]))
      return false;
  description.sizes(context.symbols, context.sizes);
  for (int64_t i = 0; i < description.input_count; ++i)
    if (!compareSizes(context, {Kind::Input, description.inputs[i]},
                      *inputs[i]))
      return false;
  return checkSizeChecks(context) && checkResultSizes(context);
}

bool checkResultShape(gatefold_context &context, int64_t number,
                      const DLTensor *result) {
  const gatefold_tensor &expected = context.model->description->results[number];
  Subject subject = {Kind::Result, expected};
  return checkShape(context.message, subject, result) &&
         compareSizes(context, subject, *result);
}

} // namespace gatefold::runtime

using namespace gatefold::runtime;

gatefold_status gatefold_result_shapes(gatefold_context *context,
                                       const DLTensor *const *inputs,
                                       int64_t *const *shapes) {
  if (!context)
    return GATEFOLD_INVALID_ARGUMENT;
  context->message.clear();
  if (!resolveShapes(*context, inputs))
    return GATEFOLD_INVALID_ARGUMENT;
  const gatefold_description &description = *context->model->description;
  for (int64_t r = 0; r < description.result_count; ++r) {
    const gatefold_tensor &result = description.results[r];
    if (result.rank == 0)
      continue;
    if (!shapes || !shapes[r]) {
      appendSubject(context->message, {Kind::Result, result});
      context->message.append(" has no room for its shape: it is null");
      return GATEFOLD_INVALID_ARGUMENT;
    }
    memcpy(shapes[r], sizesOf(*context, result),
           (size_t)result.rank * sizeof(int64_t));
  }
  return GATEFOLD_OK;
}
