/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * OverlapTest.c - results in the memory of inputs, results and the workspace.
 */
#include "Harness.h"
#include "Sample.h"

#include <string.h>

static void refuse(gatefold_context *context, Case *data, const char *message) {
  CHECK_STATUS(context, runCase(context, data), GATEFOLD_INVALID_ARGUMENT,
               message);
  CHECK(data->total == 0); /* nothing was computed */
  setUp(data, 2, 3);
}

static void testInPlace(gatefold_context *context, Case *data) {
  setUp(data, 2, 3);
  DLTensor *newState = data->results[NEW_STATE];
  newState->data = data->state;
  float before[MAXIMAL_B * 2];
  /* Twice: the second run starts where the first one ended. */
  for (int run = 0; run < 2; ++run) {
    memcpy(before, data->state, sizeof(before));
    CHECK_STATUS(context, runCase(context, data), GATEFOLD_OK, "");
    memcpy(data->newState, data->state, sizeof(before));
    CHECK(isRight(data, before));
  }
  /* The same through strides and misaligned. */
  setUp(data, 2, 3);
  static char memory[64];
  int64_t strides[] = {3, 1};
  memcpy(memory + 1, data->state, 8);
  memcpy(memory + 13, data->state + 2, 8);
  for (int i = 0; i < 2; ++i) {
    DLTensor *tensor = i ? data->results[NEW_STATE] : data->inputs[STATE];
    tensor->data = memory + 1;
    tensor->strides = strides;
  }
  CHECK_STATUS(context, runCase(context, data), GATEFOLD_OK, "");
  memcpy(data->newState, memory + 1, 8);
  memcpy(data->newState + 2, memory + 13, 8);
  CHECK(isRight(data, data->state));
}

static void testRefused(gatefold_context *context, Case *data) {
  setUp(data, 2, 3);
  data->results[Y]->data = data->x;
  refuse(context, data, "result `y` overlaps the input `x`");
  data->results[NEW_STATE]->data = data->state + 1;
  refuse(context, data, "result `h` overlaps the input `h`");
  int64_t transposed[] = {1, 2};
  data->results[NEW_STATE]->data = data->state;
  data->results[NEW_STATE]->strides = transposed;
  refuse(context, data, "result `h` overlaps the input `h`");
  data->results[NEW_STATE]->data = data->y + 11;
  refuse(context, data, "result `h` overlaps the result `y`");
  int64_t broadcast[] = {0, 1};
  data->results[NEW_STATE]->strides = broadcast;
  refuse(context, data,
         "result `h` overlaps itself: two of its elements share "
         "memory");
  CHECK_STATUS(context,
               gatefold_run(context, (const DLTensor *const *)data->inputs,
                            data->results, data, sizeof(*data)),
               GATEFOLD_INVALID_ARGUMENT,
               "the workspace overlaps the input `x`");
}

/* What touches or interleaves without sharing a byte is no overlap. */
static void testNeighbours(gatefold_context *context, Case *data) {
  setUp(data, 2, 3);
  /* Rows of 4: the state in columns 0 and 1, its successor in 2 and 3. */
  float matrix[8] = {0, 0.25f, 0, 0, 0.5f, 0.75f, 0, 0};
  int64_t strides[] = {4, 1};
  data->inputs[STATE]->data = matrix;
  data->inputs[STATE]->strides = strides;
  data->results[NEW_STATE]->data = matrix + 2;
  data->results[NEW_STATE]->strides = strides;
  CHECK_STATUS(context, runCase(context, data), GATEFOLD_OK, "");
  memcpy(data->newState, matrix + 2, 8);
  memcpy(data->newState + 2, matrix + 6, 8);
  CHECK(isRight(data, data->state));
  /* One column further they share one. */
  setUp(data, 2, 3);
  data->inputs[STATE]->data = matrix;
  data->inputs[STATE]->strides = strides;
  data->results[NEW_STATE]->data = matrix + 1;
  data->results[NEW_STATE]->strides = strides;
  refuse(context, data, "result `h` overlaps the input `h`");
  /* End to end. */
  data->results[NEW_STATE]->data = data->y;
  data->results[Y]->data = data->y + 4;
  CHECK_STATUS(context, runCase(context, data), GATEFOLD_OK, "");
  /* Inputs may share what they like. */
  setUp(data, 2, 3);
  data->inputs[STATE]->data = data->x;
  CHECK_STATUS(context, runCase(context, data), GATEFOLD_OK, "");
  CHECK(isRight(data, data->x));
}

void testOverlap(void) {
  gatefold_model *model = prepareSample();
  gatefold_context *context = NULL;
  CHECK(gatefold_context_create(model, &context) == GATEFOLD_OK);
  Case data;
  testInPlace(context, &data);
  testRefused(context, &data);
  testNeighbours(context, &data);
  gatefold_context_destroy(context);
  gatefold_destroy(model);
}
