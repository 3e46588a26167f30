// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Makes every kind of fault with libsmall.so and prints what the interface says.

#include "small.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static DLTensor tensor(void *data, uint8_t bits, int64_t *shape, int32_t rank) {
  DLTensor result = {0};
  result.data = data;
  result.device.device_type = kDLCPU;
  result.ndim = rank;
  result.dtype.code = kDLFloat;
  result.dtype.bits = bits;
  result.dtype.lanes = 1;
  result.shape = shape;
  return result;
}

int main(void) {
  small_model *model = NULL;
  small_context *context = NULL;
  if (small_create(&model) != SMALL_OK ||
      small_context_create(model, &context) != SMALL_OK)
    return 1;

  float x[] = {1, 1, 1, 1}, y[2] = {0, 0};
  int64_t xShape[] = {1, 3}, yShape[] = {1, 2};
  DLTensor input = tensor(x, 32, xShape, 2), result = tensor(y, 32, yShape, 2);
  const DLTensor *inputs[] = {&input};
  DLTensor *results[] = {&result};
  printf("run before prepare: %d\n", (int)small_run(context, inputs, results, NULL, 0));

  float weight[] = {1, 2, 3, -4, 5, 0.5f};
  int64_t weightShape[] = {2, 3};
  DLTensor weightTensor = tensor(weight, 32, weightShape, 2);
  const DLTensor *weights[] = {&weightTensor};
  const char *misspelt[] = {"wieght"}, *names[] = {"weight"};
  int status = (int)small_prepare(model, 0, NULL, NULL);
  printf("missing weight: %d %s\n", status, small_message(model));
  printf("misspelt weight: %d\n", (int)small_prepare(model, 1, misspelt, weights));
  printf("prepare: %d\n", (int)small_prepare(model, 1, names, weights));
  printf("prepare again: %d\n", (int)small_prepare(model, 1, names, weights));

  xShape[1] = 4;
  status = (int)small_run(context, inputs, results, NULL, 0);
  printf("wrong shape: %d %s\n", status, small_context_message(context));
  xShape[1] = 3;
  input.dtype.bits = 64;
  printf("wrong type: %d\n", (int)small_run(context, inputs, results, NULL, 0));
  input.dtype.bits = 32;

  status = (int)small_run(context, inputs, results, NULL, 0);
  printf("run: %d %g %g\n", status, y[0], y[1]);
  size_t bytes = 0;
  if (small_workspace_size(context, inputs, &bytes) != SMALL_OK)
    return 1;
  void *workspace = malloc(bytes + 1);
  memset(y, 0, sizeof(y));
  status = (int)small_run(context, inputs, results, workspace, bytes);
  printf("run in a workspace: %d %g %g\n", status, y[0], y[1]);
  free(workspace);
  small_context_destroy(context);
  small_destroy(model);
  return 0;
}
