/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * RunTest.c - runs: strides, alignment, empty sizes, workspaces, floating-point
 * mode.
 */
#include "Harness.h"
#include "Sample.h"

#include <stdlib.h>
#include <string.h>

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

static void testSizes(gatefold_context *context, Case *data) {
  for (int64_t b = 0; b <= MAXIMAL_B; ++b)
    for (int64_t t = 0; t <= MAXIMAL_T; ++t) {
      setUp(data, b, t);
      CHECK_STATUS(context, runCase(context, data), GATEFOLD_OK, "");
      CHECK(isRight(data, data->state));
    }
  /* Empty tensors need no data. */
  setUp(data, 0, 3);
  for (int i = 0; i < INPUT_COUNT + RESULT_COUNT; ++i)
    if (i != PADDED && i != INPUT_COUNT + TOTAL)
      data->tensors[i].data = NULL;
  data->tensors[X].byte_offset = 8;
  CHECK_STATUS(context, runCase(context, data), GATEFOLD_OK, "");
  CHECK(data->total == 21);
}

/* The state in the other order of dimensions, and x from behind with a
 * broadcast. */
static void testStrides(gatefold_context *context, Case *data) {
  setUp(data, 2, 3);
  float columns[] = {0, 0.5f, 0.25f, 0.75f};
  int64_t columnStrides[] = {1, 2};
  data->tensors[STATE].data = columns;
  data->tensors[STATE].strides = columnStrides;
  float wide[2 * 3 * 2 * 2] = {0};
  int64_t wideStrides[] = {12, -4, 2};
  data->tensors[INPUT_COUNT + Y].data = wide;
  data->tensors[INPUT_COUNT + Y].strides = wideStrides;
  data->tensors[INPUT_COUNT + Y].byte_offset = 8 * sizeof(float);
  CHECK_STATUS(context, runCase(context, data), GATEFOLD_OK, "");
  for (int b = 0; b < 2; ++b)
    for (int t = 0; t < 3; ++t)
      for (int i = 0; i < 2; ++i) {
        const float *y = &wide[8 + 12 * b - 4 * t + 2 * i];
        data->y[(b * 3 + t) * 2 + i] = *y;
        CHECK(y[1] == 0); /* what lies between is left alone */
      }
  CHECK(isRight(data, data->state));

  setUp(data, 2, 3);
  int64_t broadcast[] = {0, 0, 1};
  data->tensors[X].strides = broadcast;
  CHECK_STATUS(context, runCase(context, data), GATEFOLD_OK, "");
  for (int i = 2; i < 12; ++i)
    data->x[i] = data->x[i - 2];
  CHECK(isRight(data, data->state));
}

/* Where the last dimension is not contiguous, and only there, the run works on
 * a copy in the workspace. */
static void testLastDimension(gatefold_context *context, Case *data) {
  setUp(data, 2, 3);
  int64_t rowsApart[] = {50, 9, 1}, everySecond[] = {12, 4, 2};
  float x[2 * 50] = {0}, wide[2 * 12] = {0};
  for (int place = 0; place < 12; ++place)
    x[place / 6 * 50 + place / 2 % 3 * 9 + place % 2] = data->x[place];
  data->tensors[X].data = x;
  data->tensors[X].strides = rowsApart;
  size_t bytes = 0;
  const DLTensor *const *inputs = (const DLTensor *const *)data->inputs;
  CHECK_STATUS(context, gatefold_workspace_size(context, inputs, &bytes),
               GATEFOLD_OK, "");
  CHECK(bytes == 64 + 64 + 63); /* the arena, the state, slack */
  CHECK_STATUS(context, runCase(context, data), GATEFOLD_OK, "");
  CHECK(isRight(data, data->state));

  for (int place = 0; place < 12; ++place)
    wide[2 * place] = data->x[place];
  data->tensors[X].data = wide;
  data->tensors[X].strides = everySecond;
  memset(data->y, 0, sizeof(data->y));
  CHECK_STATUS(context, gatefold_workspace_size(context, inputs, &bytes),
               GATEFOLD_OK, "");
  CHECK(bytes == 64 + 64 + 64 + 63); /* x too */
  char *workspace = malloc(bytes + 64);
  CHECK_STATUS(context,
               gatefold_run(context, inputs, data->results, workspace, bytes),
               GATEFOLD_OK, "");
  CHECK(isRight(data, data->state));

  /* A result of that kind needs its own room. */
  float y[2 * 12] = {0};
  data->tensors[INPUT_COUNT + Y].data = y;
  data->tensors[INPUT_COUNT + Y].strides = everySecond;
  CHECK_STATUS(context,
               gatefold_run(context, inputs, data->results, workspace, bytes),
               GATEFOLD_INVALID_ARGUMENT,
               "the workspace has 255 bytes, this run needs 319");
  CHECK_STATUS(
      context,
      gatefold_run(context, inputs, data->results, workspace, bytes + 64),
      GATEFOLD_OK, "");
  for (int place = 0; place < 12; ++place) {
    data->y[place] = y[2 * place];
    CHECK(y[2 * place + 1] == 0);
  }
  CHECK(isRight(data, data->state));
  free(workspace);
}

/* A dimension of size 1 may have any stride. */
static void testUnusedStrides(gatefold_context *context, Case *data) {
  setUp(data, 1, 1);
  int64_t strides[INPUT_COUNT + RESULT_COUNT][3] = {{INT64_MIN, INT64_MAX, 1},
                                                    {INT64_MAX},
                                                    {INT64_MAX, INT64_MIN},
                                                    {INT64_MIN},
                                                    {1},
                                                    {INT64_MAX, 1},
                                                    {INT64_MAX, INT64_MIN, 1},
                                                    {0},
                                                    {INT64_MIN, 1}};
  for (int i = 0; i < INPUT_COUNT + RESULT_COUNT; ++i)
    data->tensors[i].strides = strides[i];
  CHECK_STATUS(context, runCase(context, data), GATEFOLD_OK, "");
  CHECK(isRight(data, data->state));
}

/* Every tensor one byte off its alignment. */
static void testAlignment(gatefold_context *context, Case *data) {
  setUp(data, 2, 3);
  static char memory[INPUT_COUNT + RESULT_COUNT][256];
  size_t misalignedResults = 0;
  for (int i = 0; i < INPUT_COUNT + RESULT_COUNT; ++i) {
    DLTensor *tensor = &data->tensors[i];
    memcpy(memory[i] + 1, tensor->data, 96);
    tensor->data = memory[i];
    tensor->byte_offset = 1;
    if (i >= INPUT_COUNT)
      misalignedResults += 64;
  }
  size_t bytes = 0;
  CHECK_STATUS(context,
               gatefold_workspace_size(
                   context, (const DLTensor *const *)data->inputs, &bytes),
               GATEFOLD_OK, "");
  CHECK(bytes == 64 + 5 * 64 + 63); /* the arena, all inputs but the mask */
  char *workspace = malloc(bytes + misalignedResults);
  CHECK_STATUS(context,
               gatefold_run(context, (const DLTensor *const *)data->inputs,
                            data->results, workspace, bytes),
               GATEFOLD_INVALID_ARGUMENT,
               "the workspace has 447 bytes, this run needs 639");
  for (int round = 0; round < 2; ++round) {
    CHECK_STATUS(context,
                 gatefold_run(context, (const DLTensor *const *)data->inputs,
                              data->results, round ? workspace : NULL,
                              bytes + misalignedResults),
                 GATEFOLD_OK, "");
    memcpy(data->y, memory[INPUT_COUNT + Y] + 1, sizeof(data->y));
    memcpy(&data->total, memory[INPUT_COUNT + TOTAL] + 1, 8);
    memcpy(data->newState, memory[INPUT_COUNT + NEW_STATE] + 1, 16);
    CHECK(isRight(data, data->state));
    memset(memory[INPUT_COUNT + Y], 0, 256);
  }
  free(workspace);
}

/* A workspace of exactly the size, at every place modulo 64; a sanitizer or the
 * bytes around it tell of writes outside. */
static void testWorkspace(gatefold_context *context, Case *data) {
  setUp(data, 2, 3);
  size_t bytes = 0;
  CHECK_STATUS(context,
               gatefold_workspace_size(
                   context, (const DLTensor *const *)data->inputs, &bytes),
               GATEFOLD_OK, "");
  CHECK(bytes == 64 + 64 + 63); /* the arena, the state, slack */
  for (size_t place = 0; place < 64; ++place) {
    unsigned char *memory = malloc(place + bytes + 1);
    memory[place + bytes] = 0x5C;
    if (place)
      memory[place - 1] = 0x5C;
    CHECK_STATUS(context,
                 gatefold_run(context, (const DLTensor *const *)data->inputs,
                              data->results, memory + place, bytes),
                 GATEFOLD_OK, "");
    CHECK(isRight(data, data->state));
    CHECK(memory[place + bytes] == 0x5C &&
          (!place || memory[place - 1] == 0x5C));
    free(memory);
  }
  char small[16];
  CHECK_STATUS(context,
               gatefold_run(context, (const DLTensor *const *)data->inputs,
                            data->results, small, sizeof(small)),
               GATEFOLD_INVALID_ARGUMENT,
               "the workspace has 16 bytes, this run needs 191");
}

/*===-- The floating-point mode
 * ---------------------------------------------===*/

static double seen;

static void noSizes(const int64_t *symbols, int64_t *sizes) {
  (void)symbols;
  (void)sizes;
}

static int64_t noArena(const int64_t *symbols, int64_t ranks) {
  (void)ranks;
  (void)symbols;
  return 0;
}

static int32_t divideDenormal(void *const *arguments, void *arena, int64_t rank,
                              int64_t ranks, struct gatefold_team *team) {
  (void)rank;
  (void)ranks;
  (void)team;
  (void)arguments;
  (void)arena;
  volatile double zero = 0, least = 2.2250738585072014e-308;
  /* With an unmasked exception the division would end the process. */
  volatile double infinite = 1 / zero;
  seen = infinite > 0 ? least / 4 : -1;
  return seen < 0 ? 5 : GATEFOLD_RUN_FAILURE;
}

static void testMode(void) {
#if defined(__x86_64__)
  gatefold_description description = sample;
  description.run = divideDenormal;
  description.symbol_count = 0;
  description.sizes = noSizes;
  description.arena_bytes = noArena;
  description.input_count = description.result_count = 0;
  description.parameter_count = description.value_check_count = 0;
  gatefold_model *model = NULL;
  gatefold_context *context = NULL;
  CHECK(gatefold_create(&description, &model) == GATEFOLD_OK);
  CHECK(gatefold_prepare(model, 0, NULL, NULL) == GATEFOLD_OK);
  CHECK(gatefold_context_create(model, &context) == GATEFOLD_OK);
  unsigned before = _mm_getcsr();
  /* The caller rounds up and traps division by zero. */
  unsigned special = (before & ~0x200u) | 0x4000u;
  _mm_setcsr(special);
  seen = 1;
  gatefold_status status = gatefold_run(context, NULL, NULL, NULL, 0);
  unsigned after = _mm_getcsr();
  _mm_setcsr(before);
  CHECK(after == special); /* given back, though the run reports an error */
  checkStatus(status, GATEFOLD_BAD_DATA, gatefold_context_message(context),
              "m.gf:3:11: max of no elements", __FILE__, __LINE__);
  CHECK(seen == 0);
  gatefold_context_destroy(context);
  gatefold_destroy(model);
#endif
}

void testRun(void) {
  gatefold_model *model = prepareSample();
  gatefold_context *context = NULL;
  CHECK(gatefold_context_create(model, &context) == GATEFOLD_OK);
  Case data;
  testSizes(context, &data);
  testStrides(context, &data);
  testLastDimension(context, &data);
  testUnusedStrides(context, &data);
  testAlignment(context, &data);
  testWorkspace(context, &data);
  testMode();
  gatefold_context_destroy(context);
  gatefold_destroy(model);
}
