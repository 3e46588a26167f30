// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Variant.cpp - which kernels of a program suit a GPU.

#include "runtime/cuda/Variant.h"
#include "runtime/Call.h"
#include "runtime/Model.h"

#include <string.h>

namespace gatefold::runtime::cuda {

int32_t suitability(const char *target, int32_t capability) {
  if (strncmp(target, "sm_", 3))
    return 0;
  int32_t number = 0;
  const char *digit = target + 3;
  for (; *digit >= '0' && *digit <= '9' && number < 1000; ++digit)
    number = number * 10 + (*digit - '0');
  if (number == 0 || number > capability)
    return 0;
  if (!strcmp(digit, "a"))
    return number == capability ? number * 3 + 2 : 0;
  if (!strcmp(digit, "f"))
    return number / 10 == capability / 10 ? number * 3 + 1 : 0;
  return *digit ? 0 : number * 3;
}

//===----------------------------------------------------------------------===//
// Variants that contradict themselves
//===----------------------------------------------------------------------===//

/// Whether both lists of tensors look alike from outside.
static bool isSameInterface(const gatefold_tensor *a, int64_t aCount,
                            const gatefold_tensor *b, int64_t bCount) {
  if (aCount != bCount)
    return false;
  for (int64_t i = 0; i < aCount; ++i)
    if (strcmp(a[i].name, b[i].name) || a[i].role != b[i].role ||
        a[i].rank != b[i].rank || a[i].element.code != b[i].element.code ||
        a[i].element.bits != b[i].element.bits)
      return false;
  return true;
}

/// What is wrong with a kernel whose arguments are `count` tensors in up to
/// four lists, or null.
static const char *faultOf(const gatefold_kernel &kernel,
                           const gatefold_tensor *const *lists,
                           const int64_t *counts) {
  if (kernel.threads < 1 || kernel.threads > 1024 || kernel.shared_bytes < 0)
    return "the threads or the shared memory of a block";
  if (kernel.word_count < 0 || kernel.word_count > mostKernelWords ||
      (kernel.word_count > 0 && !kernel.words))
    return "the number of a kernel's parameters";
  for (int64_t w = 0; w < kernel.word_count; ++w) {
    const gatefold_kernel_word &word = kernel.words[w];
    int64_t tensor = word.tensor, words = 0;
    if (tensor == GATEFOLD_KERNEL_ARENA)
      words = (int64_t)descriptorWords(1);
    else if (tensor == GATEFOLD_KERNEL_TEAM)
      words = 2;
    for (int list = 0; tensor >= 0 && list < 4; ++list) {
      if (tensor < counts[list])
        words = (int64_t)descriptorWords(lists[list][tensor].rank);
      tensor -= counts[list];
    }
    if (word.word < 1 || word.word >= words)
      return "a parameter of a kernel";
  }
  return nullptr;
}

static const char *faultOf(const gatefold_description &description,
                           const gatefold_variant &variant) {
  if (!variant.image || !variant.program || !variant.run.name)
    return "a part is missing";
  const gatefold_description &program = *variant.program;
  if (program.abi_version != description.abi_version ||
      program.symbol_count != description.symbol_count ||
      !isSameInterface(program.inputs, program.input_count, description.inputs,
                       description.input_count) ||
      !isSameInterface(program.results, program.result_count,
                       description.results, description.result_count) ||
      !isSameInterface(program.parameters, program.parameter_count,
                       description.parameters, description.parameter_count))
    return "its interface is not that of the program";
  if (!variant.prepare.name != !program.prepare_arena_bytes ||
      (program.prepared_count > 0 && !variant.prepare.name))
    return "the kernel of `prepare`";
  const gatefold_tensor *lists[] = {program.parameters, program.prepared,
                                    program.inputs, program.results};
  const int64_t counts[] = {program.parameter_count, program.prepared_count,
                            program.input_count, program.result_count};
  if (const char *fault = faultOf(variant.run, lists, counts))
    return fault;
  const int64_t prepareCounts[] = {counts[0], counts[1], 0, 0};
  return variant.prepare.name ? faultOf(variant.prepare, lists, prepareCounts)
                              : nullptr;
}

bool checkVariant(const gatefold_description &description,
                  const gatefold_variant &variant, Message &message) {
  if (variant.program && !checkDescription(*variant.program,
                                           /*isForCpu=*/false, message))
    return false;
  const char *fault = faultOf(description, variant);
  if (!fault)
    return true;
  message.append("malformed description: kernels for %s: %s", variant.target,
                 fault);
  return false;
}

} // namespace gatefold::runtime::cuda
