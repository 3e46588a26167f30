// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// DescriptionCheck.cpp - refuses descriptions that contradict themselves.

#include "runtime/Element.h"
#include "runtime/Model.h"
#include "runtime/View.h"

namespace gatefold::runtime {

static bool isSizePlace(const gatefold_description &description,
                        int64_t place) {
  return place >= 0 && place < description.size_count;
}

/// What is wrong with one tensor, or null.
static const char *faultOf(const gatefold_description &description,
                           const gatefold_tensor &tensor, bool isBound) {
  if (tensor.rank < 0 || tensor.rank > maximalRank)
    return "its rank is not in 0..32";
  if (!isSupported(tensor.element))
    return "its element type is not known";
  if (tensor.rank > 0 && !tensor.dimension_names)
    return "it has no dimension names";
  if (tensor.first_size < 0 ||
      tensor.first_size > description.size_count - tensor.rank)
    return "its sizes are not among the sizes";
  if (tensor.has_initial && !canHold(tensor.element, tensor.initial))
    return "its type cannot hold its initial value";
  for (int32_t d = 0; d < tensor.rank; ++d)
    if (!tensor.dimension_names[d])
      return "a dimension has no name";
  if (!isBound)
    return nullptr;
  if (tensor.rank > 0 && !tensor.bindings)
    return "it has no bindings";
  for (int32_t d = 0; d < tensor.rank; ++d) {
    const gatefold_binding &binding = tensor.bindings[d];
    if (binding.symbol < -1 || binding.symbol >= description.symbol_count ||
        (binding.symbol >= 0 && binding.scale < 1))
      return "a binding is not one of an open dimension";
  }
  return nullptr;
}

static bool checkTensors(const gatefold_description &description,
                         const gatefold_tensor *tensors, int64_t count,
                         bool isBound, Message &message) {
  if (count < 0 || (count > 0 && !tensors)) {
    message.append("malformed description: no tensors where some are counted");
    return false;
  }
  for (int64_t i = 0; i < count; ++i) {
    const char *fault = tensors[i].name
                            ? faultOf(description, tensors[i], isBound)
                            : "it has no name";
    if (!fault)
      continue;
    message.append("malformed description: tensor %lld ", (long long)i);
    message.appendName(tensors[i].name ? tensors[i].name : "");
    message.append(": %s", fault);
    return false;
  }
  return true;
}

static bool isBoundByAnInput(const gatefold_description &description,
                             int32_t symbol) {
  for (int64_t i = 0; i < description.input_count; ++i)
    for (int32_t d = 0; d < description.inputs[i].rank; ++d)
      if (description.inputs[i].bindings[d].symbol == symbol)
        return true;
  return false;
}

static bool checkSymbols(const gatefold_description &description,
                         Message &message) {
  for (int32_t s = 0; s < description.symbol_count; ++s) {
    const char *name = description.symbols[s];
    if (name && isBoundByAnInput(description, s))
      continue;
    message.append("malformed description: no input binds the open dimension ");
    message.appendName(name ? name : "");
    return false;
  }
  return true;
}

static bool checkRunChecks(const gatefold_description &description,
                           Message &message) {
  for (int64_t f = 0; f < description.failure_count; ++f) {
    if (description.failures && description.failures[f])
      continue;
    message.append("malformed description: failure %lld", (long long)f);
    return false;
  }
  for (int64_t c = 0; c < description.value_check_count; ++c) {
    const gatefold_value_check &check = description.value_checks[c];
    if (check.input >= 0 && check.input < description.input_count &&
        isInteger(description.inputs[check.input].element) &&
        isSizePlace(description, check.bound_size))
      continue;
    message.append("malformed description: value check %lld", (long long)c);
    return false;
  }
  for (int64_t c = 0; c < description.size_check_count; ++c) {
    const gatefold_size_check &check = description.size_checks[c];
    if (isSizePlace(description, check.left) &&
        isSizePlace(description, check.right) && check.message)
      continue;
    message.append("malformed description: size check %lld", (long long)c);
    return false;
  }
  return true;
}

bool checkDescription(const gatefold_description &description, bool isForCpu,
                      Message &message) {
  if (description.symbol_count < 0 ||
      (description.symbol_count > 0 && !description.symbols) ||
      description.size_count < 0 || description.value_check_count < 0 ||
      (description.value_check_count > 0 && !description.value_checks) ||
      description.size_check_count < 0 ||
      (description.size_check_count > 0 && !description.size_checks) ||
      !description.sizes || !description.arena_bytes ||
      (isForCpu &&
       (!description.run ||
        !description.prepare != !description.prepare_arena_bytes ||
        (description.prepared_count > 0 && !description.prepare))) ||
      description.variant_count < 0 ||
      (description.variant_count > 0 && !description.variants)) {
    message.append("malformed description: a part is missing");
    return false;
  }
  return checkTensors(description, description.inputs, description.input_count,
                      /*isBound=*/true, message) &&
         checkTensors(description, description.results,
                      description.result_count, /*isBound=*/false, message) &&
         checkTensors(description, description.parameters,
                      description.parameter_count, /*isBound=*/false,
                      message) &&
         checkTensors(description, description.prepared,
                      description.prepared_count, /*isBound=*/false, message) &&
         checkSymbols(description, message) &&
         checkRunChecks(description, message);
}

} // namespace gatefold::runtime
