/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * ChecksTest.c - types, devices, data and values that a run refuses.
 */
#include "Harness.h"
#include "Sample.h"

static void refuse(gatefold_context *context, Case *data,
                   gatefold_status status, const char *message) {
  CHECK_STATUS(context, runCase(context, data), status, message);
  CHECK(data->y[0] == 0 && data->total == 0); /* nothing was computed */
  setUp(data, 2, 3);
}

static void testTypes(gatefold_context *context, Case *data) {
  setUp(data, 2, 3);
  data->tensors[X].dtype.bits = 64;
  refuse(context, data, GATEFOLD_INVALID_ARGUMENT, "`x` is f64, expected f32");
  data->tensors[LENGTHS].dtype.bits = 64;
  refuse(context, data, GATEFOLD_INVALID_ARGUMENT,
         "`lengths` is i64, expected i32");
  data->tensors[MASK].dtype.code = kDLUInt;
  refuse(context, data, GATEFOLD_INVALID_ARGUMENT,
         "`mask` is u8, expected bool");
  data->tensors[X].dtype.code = kDLBfloat;
  data->tensors[X].dtype.bits = 16;
  refuse(context, data, GATEFOLD_INVALID_ARGUMENT, "`x` is bf16, expected f32");
  data->tensors[X].dtype.lanes = 4;
  refuse(context, data, GATEFOLD_INVALID_ARGUMENT,
         "`x` is f32 in vectors of 4, expected f32");
  data->tensors[X].dtype.code = 99;
  refuse(context, data, GATEFOLD_INVALID_ARGUMENT,
         "`x` is of type code 99 and 32 bits, expected f32");
  data->tensors[INPUT_COUNT + TOTAL].dtype.bits = 32;
  refuse(context, data, GATEFOLD_INVALID_ARGUMENT,
         "result `total` is f32, expected f64");
}

static void testMemory(gatefold_context *context, Case *data) {
  setUp(data, 2, 3);
  data->tensors[X].device.device_type = kDLMetal;
  refuse(context, data, GATEFOLD_INVALID_ARGUMENT,
         "`x` is on a device of type 8 (Metal), expected the CPU");
  data->tensors[STATE].data = NULL;
  refuse(context, data, GATEFOLD_INVALID_ARGUMENT,
         "`h` is [2, 2], but its data is null");
  data->tensors[INPUT_COUNT + NEW_STATE].data = NULL;
  refuse(context, data, GATEFOLD_INVALID_ARGUMENT,
         "result `h` is [2, 2], but its data is null");
  int64_t strides[] = {INT64_MAX / 2, 1};
  data->tensors[STATE].strides = strides;
  refuse(context, data, GATEFOLD_INVALID_ARGUMENT,
         "`h` has strides that lead out of memory: [4611686018427387903, 1]");
  strides[0] = INT64_MIN / 4;
  data->tensors[STATE].strides = strides;
  refuse(context, data, GATEFOLD_INVALID_ARGUMENT,
         "`h` has strides that lead out of memory: [-2305843009213693952, 1]");
  data->tensors[STATE].byte_offset = UINT64_MAX - 7;
  refuse(
      context, data, GATEFOLD_INVALID_ARGUMENT,
      "`h` has a byte offset that leads out of memory: 18446744073709551608");
}

static void testValues(gatefold_context *context, Case *data) {
  setUp(data, 2, 3);
  data->lengths[1] = 9;
  refuse(context, data, GATEFOLD_BAD_DATA, "`lengths`[1] is 9, expected 0..3");
  data->lengths[0] = -1;
  refuse(context, data, GATEFOLD_BAD_DATA, "`lengths`[0] is -1, expected 0..3");
  data->tokens[5] = 5;
  refuse(context, data, GATEFOLD_BAD_DATA,
         "`tokens`[1, 2] is 5, expected 0..4");
  data->tokens[1] = INT64_MIN;
  refuse(context, data, GATEFOLD_BAD_DATA,
         "`tokens`[0, 1] is -9223372036854775808, expected 0..4");
  data->mask[1] = 2;
  refuse(context, data, GATEFOLD_BAD_DATA,
         "`mask`[1] is the byte 2, expected a bool: 0 or 1");

  /* Through strides: every second length, from behind, and one read only there.
   */
  int32_t lengths[] = {99, 3, 99, 4, 99};
  int64_t strides[] = {-2};
  data->tensors[LENGTHS].data = lengths;
  data->tensors[LENGTHS].byte_offset = 12;
  data->tensors[LENGTHS].strides = strides;
  refuse(context, data, GATEFOLD_BAD_DATA, "`lengths`[0] is 4, expected 0..3");
  lengths[3] = 2;
  lengths[1] = 7;
  data->tensors[LENGTHS].data = lengths;
  data->tensors[LENGTHS].byte_offset = 12;
  data->tensors[LENGTHS].strides = strides;
  refuse(context, data, GATEFOLD_BAD_DATA, "`lengths`[1] is 7, expected 0..3");

  /* Of an empty range nothing is in it, and nothing is all right. */
  setUp(data, 2, 0);
  data->lengths[1] = 1;
  refuse(context, data, GATEFOLD_BAD_DATA, "`lengths`[1] is 1, expected 0..0");
}

/*===-- A scalar position in a table without rows
 * ---------------------------===*/

static void emptyTable(const int64_t *s, int64_t *out) { out[0] = s[0] * 0; }
static int64_t noArena(const int64_t *s, int64_t ranks) {
  (void)ranks;
  return s[0] * 0;
}
static int64_t hugeArena(const int64_t *s, int64_t ranks) {
  (void)ranks;
  return s[0] * 0 - 1;
}
static int32_t failing(void *const *arguments, void *arena, int64_t rank,
                       int64_t ranks, struct gatefold_team *team) {
  (void)rank;
  (void)ranks;
  (void)team;
  return arena && arguments ? GATEFOLD_RUN_FAILURE : GATEFOLD_RUN_OK;
}
static int32_t strange(void *const *arguments, void *arena, int64_t rank,
                       int64_t ranks, struct gatefold_team *team) {
  (void)rank;
  (void)ranks;
  (void)team;
  return arena && arguments ? 77 : GATEFOLD_RUN_OK;
}

static void runScalar(const gatefold_description *description,
                      const DLTensor *input, gatefold_status status,
                      const char *message) {
  gatefold_model *model = NULL;
  gatefold_context *context = NULL;
  CHECK(gatefold_create(description, &model) == GATEFOLD_OK);
  CHECK(gatefold_context_create(model, &context) == GATEFOLD_OK);
  CHECK_STATUS(context, gatefold_run(context, &input, NULL, NULL, 0),
               GATEFOLD_NOT_PREPARED,
               "the model has no weights yet: prepare it first");
  CHECK(gatefold_prepare(model, 0, NULL, NULL) == GATEFOLD_OK);
  CHECK_STATUS(context, gatefold_run(context, &input, NULL, NULL, 0), status,
               message);
  gatefold_context_destroy(context);
  gatefold_destroy(model);
}

static void testScalar(void) {
  static const gatefold_tensor input = {
      "position", GATEFOLD_INPUT, 0, {kDLInt, 32}, 0, 0, 0, {0}, 0, NULL, NULL, 0};
  static const gatefold_value_check check = {0, 0, 0};
  gatefold_description description = sample;
  description.symbol_count = 0;
  description.inputs = &input;
  description.input_count = 1;
  description.result_count = description.parameter_count = 0;
  description.value_check_count = 1;
  description.value_checks = &check;
  description.size_count = 1;
  description.sizes = emptyTable;
  description.arena_bytes = noArena;
  description.run = failing;
  int32_t position = 0;
  DLTensor tensor = makeTensor(&position, kDLInt, 32, 0, NULL);
  runScalar(&description, &tensor, GATEFOLD_BAD_DATA,
            "`position` is 0, but no value is allowed: its range is empty");
  description.value_check_count = 0;
  runScalar(&description, &tensor, GATEFOLD_BAD_DATA,
            "m.gf:3:11: max of no elements");
  description.run = strange;
  runScalar(&description, &tensor, GATEFOLD_BAD_DATA,
            "the compiled code reports the unknown error 77");
  description.failures = NULL;
  gatefold_model *model = NULL;
  CHECK_MODEL_STATUS(model, gatefold_create(&description, &model),
                     GATEFOLD_INVALID_ARGUMENT,
                     "malformed description: failure 0");
  gatefold_destroy(model);
  description.failure_count = 0;
  description.arena_bytes = hugeArena;
  runScalar(&description, &tensor, GATEFOLD_OUT_OF_MEMORY,
            "these sizes need a workspace larger than can be addressed");
}

void testChecks(void) {
  gatefold_model *model = prepareSample();
  gatefold_context *context = NULL;
  CHECK(gatefold_context_create(model, &context) == GATEFOLD_OK);
  Case data;
  testTypes(context, &data);
  testMemory(context, &data);
  testValues(context, &data);
  testScalar();
  gatefold_context_destroy(context);
  gatefold_destroy(model);
}
