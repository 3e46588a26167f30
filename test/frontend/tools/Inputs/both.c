// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Two libraries in one process: prints the first value of each.

#include "small.h"
#include "twice.h"

#include <stdio.h>

static DLTensor tensor(void *data, int64_t *shape) {
  DLTensor result = {0};
  result.data = data;
  result.device.device_type = kDLCPU;
  result.ndim = 2;
  result.dtype.code = kDLFloat;
  result.dtype.bits = 32;
  result.dtype.lanes = 1;
  result.shape = shape;
  return result;
}

int main(void) {
  float weight[] = {1, 2, 3, -4, 5, 0.5f}, x[] = {1, 1, 1}, one[2], two[2];
  int64_t weightShape[] = {2, 3}, xShape[] = {1, 3}, yShape[] = {1, 2};
  DLTensor weightTensor = tensor(weight, weightShape), xTensor = tensor(x, xShape);
  DLTensor oneTensor = tensor(one, yShape), twoTensor = tensor(two, yShape);
  const DLTensor *weights[] = {&weightTensor}, *inputs[] = {&xTensor};
  DLTensor *ones[] = {&oneTensor}, *twos[] = {&twoTensor};
  const char *names[] = {"weight"};

  small_model *small = NULL;
  twice_model *twice = NULL;
  small_context *smallContext = NULL;
  twice_context *twiceContext = NULL;
  if (small_create(&small) != SMALL_OK || twice_create(&twice) != TWICE_OK ||
      small_prepare(small, 1, names, weights) != SMALL_OK ||
      twice_prepare(twice, 1, names, weights) != TWICE_OK ||
      small_context_create(small, &smallContext) != SMALL_OK ||
      twice_context_create(twice, &twiceContext) != TWICE_OK ||
      small_run(smallContext, inputs, ones, NULL, 0) != SMALL_OK ||
      twice_run(twiceContext, inputs, twos, NULL, 0) != TWICE_OK)
    return 1;
  printf("%g %g\n", one[0], two[0]);
  small_context_destroy(smallContext);
  twice_context_destroy(twiceContext);
  small_destroy(small);
  twice_destroy(twice);
  return 0;
}
