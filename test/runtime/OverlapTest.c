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

/* Random places of a state and its successor in one small array: never is one
 * computed into the other, and what shares nothing and does not even interleave
 * is taken. */
static void testRandomPlaces(gatefold_context *context, Case *data) {
  enum { length = 40 };
  uint32_t random = 12345;
  int accepted = 0, refused = 0;
  for (int round = 0; round < 20000; ++round) {
    float array[length] = {0};
    int64_t strides[2][2];
    int places[2][4], least[2] = {length, length}, largest[2] = {0, 0};
    for (int side = 0; side < 2; ++side) {
      int number[3];
      for (int i = 0; i < 3; ++i) {
        random = random * 1664525u + 1013904223u;
        number[i] = (int)(random >> 16) % 13 - 6;
      }
      strides[side][0] = number[0];
      strides[side][1] = number[1];
      for (int e = 0; e < 4; ++e) {
        int place = 18 + number[2] + e / 2 * number[0] + e % 2 * number[1];
        places[side][e] = place;
        least[side] = place < least[side] ? place : least[side];
        largest[side] = place > largest[side] ? place : largest[side];
      }
    }
    bool isShared = false, isSame = true, isSelfShared = false;
    for (int e = 0; e < 4; ++e)
      for (int f = 0; f < 4; ++f) {
        isShared |= places[0][e] == places[1][f];
        isSame &= e != f || places[0][e] == places[1][e];
        isSelfShared |= e != f && places[1][e] == places[1][f];
      }
    bool isApart = largest[0] < least[1] || largest[1] < least[0];

    setUp(data, 2, 3);
    for (int e = 0; e < 4; ++e)
      array[places[0][e]] = (float)e;
    float before[4];
    for (int e = 0; e < 4; ++e)
      before[e] = array[places[0][e]];
    for (int side = 0; side < 2; ++side) {
      DLTensor *tensor = side ? data->results[NEW_STATE] : data->inputs[STATE];
      tensor->data = array + places[side][0];
      tensor->strides = strides[side];
    }
    gatefold_status status = runCase(context, data);
    if (isSelfShared || (isShared && !isSame))
      CHECK(status == GATEFOLD_INVALID_ARGUMENT);
    if (status != GATEFOLD_OK) {
      /* A result whose strides interleave may be refused to be on the safe
       * side. */
      ++refused;
      continue;
    }
    accepted += !isApart;
    for (int e = 0; e < 4; ++e)
      data->newState[e] = array[places[1][e]];
    CHECK(isRight(data, before));
  }
  CHECK(accepted > 500 && refused > 500);
}

void testOverlap(void) {
  gatefold_model *model = prepareSample();
  gatefold_context *context = NULL;
  CHECK(gatefold_context_create(model, &context) == GATEFOLD_OK);
  Case data;
  testInPlace(context, &data);
  testRefused(context, &data);
  testNeighbours(context, &data);
  testRandomPlaces(context, &data);
  gatefold_context_destroy(context);
  gatefold_destroy(model);
}
