/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * ShapesTest.c - open dimensions: binding, comparing, results, initial states.
 */
#include "Harness.h"
#include "Sample.h"

#include <string.h>

static gatefold_status shapesOf(gatefold_context *context, Case *data,
                                int64_t shapes[RESULT_COUNT][3]) {
  int64_t *places[] = {shapes[Y], NULL, shapes[NEW_STATE]};
  return gatefold_result_shapes(context, (const DLTensor *const *)data->inputs,
                                places);
}

static void refuse(gatefold_context *context, Case *data, const char *message) {
  int64_t shapes[RESULT_COUNT][3];
  size_t bytes = 1;
  CHECK_STATUS(context, shapesOf(context, data, shapes),
               GATEFOLD_INVALID_ARGUMENT, message);
  CHECK_STATUS(context,
               gatefold_workspace_size(
                   context, (const DLTensor *const *)data->inputs, &bytes),
               GATEFOLD_INVALID_ARGUMENT, message);
  CHECK_STATUS(context, runCase(context, data), GATEFOLD_INVALID_ARGUMENT,
               message);
  CHECK(data->y[0] == 0); /* nothing was computed */
  setUp(data, 2, 3);
}

static void testBinding(gatefold_context *context, Case *data) {
  int64_t shapes[RESULT_COUNT][3] = {{0}};
  setUp(data, 2, 3);
  for (int i = 0; i < INPUT_COUNT; ++i)
    data->tensors[i].data = NULL; /* only shapes are read */
  CHECK_STATUS(context, shapesOf(context, data, shapes), GATEFOLD_OK, "");
  CHECK(shapes[Y][0] == 2 && shapes[Y][1] == 3 && shapes[Y][2] == 2);
  CHECK(shapes[NEW_STATE][0] == 2 && shapes[NEW_STATE][1] == 2);

  setUp(data, 2, 3);
  data->shapes[LENGTHS][0] = 3;
  refuse(context, data, "`lengths` is [3], expected [B] with B=2 from `x`");
  data->shapes[TOKENS][1] = 4;
  refuse(context, data,
         "`tokens` is [2, 4], expected [B, T] with B=2 from `x`, T=3 from `x`");
  data->shapes[PADDED][0] = 9;
  refuse(context, data,
         "`padded` is [9], expected [2*T + 1] = [7] with T=3 from `x`");
  data->shapes[X][2] = 3;
  refuse(context, data,
         "`x` is [2, 3, 3], expected [B, T, 2] with B=2 from `x`, T=3 from "
         "`x`");
  data->tensors[TOKENS].ndim = 3;
  refuse(context, data, "`tokens` has 3 dimensions, expected 2: [B, T]");
  data->shapes[X][1] = -3;
  refuse(context, data, "`x` is [2, -3, 2]: dimension 1 is negative");
  data->shapes[X][0] = data->shapes[X][1] = INT64_MAX / 2;
  refuse(context, data,
         "`x` is [4611686018427387903, 4611686018427387903, 2]: more bytes "
         "than can be addressed");
  data->tensors[STATE].shape = NULL;
  refuse(context, data, "`h` has no shape: it is null");
  data->inputs[MASK] = NULL;
  refuse(context, data, "`mask` is missing: its tensor is null");
  /* Empty, so that its bytes can be counted, but beyond the limit. */
  data->shapes[X][0] = 0;
  data->shapes[X][1] = (int64_t)1 << 31;
  refuse(context, data,
         "`x` is [0, 2147483648, 2], expected [B, T, 2]: dimension 1 is "
         "2147483648, but no T in 0..2147483647 gives that");

  CHECK_STATUS(context, gatefold_result_shapes(context, NULL, NULL),
               GATEFOLD_INVALID_ARGUMENT, "the array of inputs is null");
  int64_t *noRoom[RESULT_COUNT] = {NULL};
  CHECK_STATUS(context,
               gatefold_result_shapes(
                   context, (const DLTensor *const *)data->inputs, noRoom),
               GATEFOLD_INVALID_ARGUMENT,
               "result `y` has no room for its shape: it is null");
  CHECK_STATUS(context,
               gatefold_workspace_size(
                   context, (const DLTensor *const *)data->inputs, NULL),
               GATEFOLD_INVALID_ARGUMENT,
               "the place for the size of the workspace is null");
}

static void testResults(gatefold_context *context, Case *data) {
  setUp(data, 2, 3);
  data->shapes[INPUT_COUNT + Y][1] = 2;
  CHECK_STATUS(context, runCase(context, data), GATEFOLD_INVALID_ARGUMENT,
               "result `y` is [2, 2, 2], expected [B, T, 2] with B=2 from `x`, "
               "T=3 from `x`");
  setUp(data, 2, 3);
  data->tensors[INPUT_COUNT + TOTAL].ndim = 1;
  CHECK_STATUS(context, runCase(context, data), GATEFOLD_INVALID_ARGUMENT,
               "result `total` has 1 dimension, expected 0: []");
  setUp(data, 2, 3);
  CHECK_STATUS(context,
               gatefold_run(context, (const DLTensor *const *)data->inputs,
                            NULL, NULL, 0),
               GATEFOLD_INVALID_ARGUMENT, "the array of results is null");
}

/*===-- A description whose first binding is not plain
 * -----------------------===*/

static void oddSizes(const int64_t *s, int64_t *out) {
  int64_t product;
  out[0] = 2 * s[0] + 1;
  out[1] = s[1];
  out[2] = __builtin_mul_overflow(s[0] - 1, s[1], &product) ? -1 : product;
  out[3] = s[0] % 2;
  out[4] = 0;
}

static void testExpressions(void) {
  static const char *const names[] = {"2*T + 1", "Time", "Time*(T - 1)"};
  static const char *const symbols[] = {"T", "Time"};
  static const gatefold_binding bindings[] = {{0, 0, 2, 1}, {1, 0, 1, 0}};
  static const gatefold_tensor input = {
      "x", GATEFOLD_INPUT, 2, {kDLFloat, 32}, 0, 0, 0, {0}, 0, bindings, names, 0};
  static const gatefold_tensor result = {
      "z", GATEFOLD_RESULT, 1, {kDLFloat, 32}, 0, 0, 0, {0}, 0, NULL, names + 2, 2};
  static const gatefold_size_check check = {3, 4,
                                            "the halves of `x` differ in size"};
  gatefold_description description = sample;
  description.symbols = symbols;
  description.inputs = &input;
  description.input_count = 1;
  description.results = &result;
  description.result_count = 1;
  description.parameter_count = 0;
  description.value_check_count = 0;
  description.size_check_count = 1;
  description.size_checks = &check;
  description.size_count = 5;
  description.sizes = oddSizes;
  gatefold_model *model = NULL;
  gatefold_context *context = NULL;
  CHECK(gatefold_create(&description, &model) == GATEFOLD_OK);
  CHECK(gatefold_context_create(model, &context) == GATEFOLD_OK);

  int64_t shape[] = {9, 5}, room[1];
  int64_t *const shapes[] = {room};
  DLTensor tensor = makeTensor(NULL, kDLFloat, 32, 2, shape);
  const DLTensor *const inputs[] = {&tensor};
  CHECK_STATUS(context, gatefold_result_shapes(context, inputs, shapes),
               GATEFOLD_OK, "");
  CHECK(room[0] == 15);
  shape[0] = 8;
  CHECK_STATUS(context, gatefold_result_shapes(context, inputs, shapes),
               GATEFOLD_INVALID_ARGUMENT,
               "`x` is [8, 5], expected [2*T + 1, Time]: dimension 0 is 8, but "
               "no T in 0..2147483647 gives that");
  shape[0] = 0;
  CHECK_STATUS(context, gatefold_result_shapes(context, inputs, shapes),
               GATEFOLD_INVALID_ARGUMENT,
               "`x` is [0, 5], expected [2*T + 1, Time]: dimension 0 is 0, but "
               "no T in 0..2147483647 gives that");
  shape[0] = 1;
  CHECK_STATUS(context, gatefold_result_shapes(context, inputs, shapes),
               GATEFOLD_INVALID_ARGUMENT,
               "result `z` would have a negative size, or one too large: "
               "[Time*(T - 1)] with T=0 from `x`, Time=5 from `x`");
  shape[0] = 7;
  CHECK_STATUS(context, gatefold_result_shapes(context, inputs, shapes),
               GATEFOLD_INVALID_ARGUMENT,
               "the halves of `x` differ in size (1 and 0 with T=3 from `x`, "
               "Time=5 from `x`)");
  gatefold_context_destroy(context);
  gatefold_destroy(model);
}

static void testInitialStates(gatefold_context *context, Case *data) {
  setUp(data, 2, 3);
  int64_t strides[] = {3, 1};
  float memory[6] = {0};
  DLTensor *state = data->inputs[STATE];
  state->data = memory;
  state->strides = strides;
  CHECK_STATUS(context, gatefold_initial_state(context, STATE, state),
               GATEFOLD_OK, "");
  CHECK(memory[0] == 0.5f && memory[1] == 0.5f && memory[2] == 0 &&
        memory[3] == 0.5f && memory[4] == 0.5f && memory[5] == 0);
  CHECK_STATUS(context, gatefold_initial_state(context, X, data->inputs[X]),
               GATEFOLD_INVALID_ARGUMENT, "`x` is not a state");
  CHECK_STATUS(context, gatefold_initial_state(context, 6, state),
               GATEFOLD_INVALID_ARGUMENT,
               "there is no input number 6: there are 6");
  CHECK_STATUS(context, gatefold_initial_state(context, STATE, NULL),
               GATEFOLD_INVALID_ARGUMENT, "`h` is missing: its tensor is null");
  data->shapes[STATE][1] = 3;
  CHECK_STATUS(context, gatefold_initial_state(context, STATE, state),
               GATEFOLD_INVALID_ARGUMENT, "`h` is [2, 3], expected [B, 2]");
  data->shapes[STATE][1] = 2;
  state->dtype.bits = 64;
  CHECK_STATUS(context, gatefold_initial_state(context, STATE, state),
               GATEFOLD_INVALID_ARGUMENT, "`h` is f64, expected f32");
}

void testShapes(void) {
  gatefold_model *model = prepareSample();
  gatefold_context *context = NULL;
  CHECK(gatefold_context_create(model, &context) == GATEFOLD_OK);
  Case data;
  testBinding(context, &data);
  testResults(context, &data);
  testInitialStates(context, &data);
  testExpressions();
  gatefold_context_destroy(context);
  gatefold_destroy(model);
}
