/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Sample.c - a model as compiled code would describe it, written by hand.
 */
#include "Sample.h"

#include "Harness.h"

#include <string.h>

/*===-- The description ---------------------------------------------------===*/

#define F32                                                                    \
  { kDLFloat, 32 }
#define F64                                                                    \
  { kDLFloat, 64 }
#define I32                                                                    \
  { kDLInt, 32 }
#define I64                                                                    \
  { kDLInt, 64 }
#define BOOL                                                                   \
  { kDLBool, 8 }

static const char *const symbols[] = {"B", "T"};
static const char *const namesBT2[] = {"B", "T", "2"};
static const char *const namesPadded[] = {"2*T + 1"};
static const char *const namesB2[] = {"B", "2"};
static const char *const names22[] = {"2", "2"};
static const char *const names1[] = {"1"};

static const gatefold_binding bindBT2[] = {
    {0, 0, 1, 0}, {1, 0, 1, 0}, {-1, 0, 0, 0}};
static const gatefold_binding bindPadded[] = {{1, 0, 2, 1}};
static const gatefold_binding bindB2[] = {{0, 0, 1, 0}, {-1, 0, 0, 0}};

static const gatefold_tensor inputs[] = {
    {"x", GATEFOLD_INPUT, 3, F32, 0, 0, 0, {0}, 0, bindBT2, namesBT2, 0},
    {"lengths", GATEFOLD_INPUT, 1, I32, 0, 0, 0, {0}, 0, bindBT2, namesBT2, 3},
    {"tokens", GATEFOLD_INPUT, 2, I64, 0, 0, 0, {0}, 0, bindBT2, namesBT2, 4},
    {"mask", GATEFOLD_INPUT, 1, BOOL, 0, 0, 0, {0}, 0, bindBT2, namesBT2, 6},
    {"padded",
     GATEFOLD_INPUT,
     1,
     F32,
     0,
     0,
     0,
     {0},
     0,
     bindPadded,
     namesPadded,
     7},
    {"h", GATEFOLD_STATE, 2, F32, 1, 0, 0, {0}, 0.5, bindB2, namesB2, 8}};
static const gatefold_tensor results[] = {
    {"y", GATEFOLD_RESULT, 3, F32, 0, 0, 0, {0}, 0, NULL, namesBT2, 10},
    {"total", GATEFOLD_RESULT, 0, F64, 0, 0, 0, {0}, 0, NULL, NULL, 13},
    {"h", GATEFOLD_STATE, 2, F32, 0, 0, 0, {0}, 0, NULL, namesB2, 13}};
static const gatefold_tensor parameters[] = {
    {"fc.weight", GATEFOLD_PARAMETER, 2, F32, 0, 0, 0, {0}, 0, NULL, names22, 15},
    {"fc.bias", GATEFOLD_PARAMETER, 1, F32, 1, 0, 0, {0}, 0.25, NULL, names22, 17},
    {"scale", GATEFOLD_PARAMETER, 1, I64, 0, 0, 0, {0}, 0, NULL, names1, 18}};

/* 19: T, 20: the number of tokens. */
static const gatefold_value_check valueChecks[] = {{LENGTHS, 1, 19},
                                                   {TOKENS, 0, 20}};

static void sizes(const int64_t *s, int64_t *out) {
  const int64_t all[] = {s[0], s[1], 2,    s[0], s[0], s[1], s[0], 2 * s[1] + 1,
                         s[0], 2,    s[0], s[1], 2,    s[0], 2,    2,
                         2,    2,    1,    s[1], 5};
  memcpy(out, all, sizeof(all));
}

static int64_t arenaBytes(const int64_t *s, int64_t ranks) {
  (void)ranks;
  int64_t bytes;
  return __builtin_mul_overflow(s[0] * 8, s[1], &bytes) ? -1 : bytes;
}

/*===-- The computation ---------------------------------------------------===*/

/* A memref descriptor of rank 3; those of lower ranks end sooner. */
typedef struct Memref {
  void *allocated, *aligned;
  int64_t offset;
  int64_t numbers[6];
} Memref;

static void *at(const Memref *memref, int rank, size_t bytes, int64_t i,
                int64_t j, int64_t k) {
  const int64_t place[] = {i, j, k};
  int64_t offset = memref->offset;
  for (int d = 0; d < rank; ++d)
    offset += place[d] * memref->numbers[rank + d];
  return (char *)memref->aligned + offset * (int64_t)bytes;
}

static int32_t run(void *const *arguments, void *arena, int64_t rank,
                   int64_t ranks, struct gatefold_team *team) {
  (void)rank;
  (void)ranks;
  (void)team;
  const Memref *const *a = (const Memref *const *)arguments;
  const Memref *const *in = a + PARAMETER_COUNT;
  const Memref *const *out = in + INPUT_COUNT;
  int64_t bCount = in[X]->numbers[0], tCount = in[X]->numbers[1];
  const float *weight = a[WEIGHT]->aligned, *bias = a[BIAS]->aligned;
  float scale = (float)*(const int64_t *)a[SCALE]->aligned;
  CHECK((uintptr_t)arena % 64 == 0);
  for (int p = 0; p < PARAMETER_COUNT; ++p)
    CHECK((uintptr_t)a[p]->aligned % 64 == 0);
  CHECK(a[WEIGHT]->numbers[2] == 2 && a[WEIGHT]->numbers[3] == 1);
  /* Whatever the caller's strides are. */
  for (int i = 0; i < INPUT_COUNT; ++i)
    CHECK(in[i]->numbers[2 * inputs[i].rank - 1] == 1);
  for (int r = 0; r < RESULT_COUNT; ++r)
    CHECK(results[r].rank == 0 ||
          out[r]->numbers[2 * results[r].rank - 1] == 1);
  double total = 0;
  memset(arena, 0xAA, (size_t)(bCount * tCount * 8));
  /* Before the state that comes in is read: in place it must have been saved.
   */
  for (int64_t b = 0; b < bCount; ++b)
    for (int64_t i = 0; i < 2; ++i)
      *(float *)at(out[NEW_STATE], 2, 4, b, i, 0) = -1000;
  for (int64_t b = 0; b < bCount; ++b)
    for (int64_t i = 0; i < 2; ++i) {
      float h = *(float *)at(in[STATE], 2, 4, b, i, 0);
      for (int64_t t = 0; t < tCount; ++t) {
        float y = 0;
        if (t < *(int32_t *)at(in[LENGTHS], 1, 4, b, 0, 0))
          y = (weight[2 * i] * *(float *)at(in[X], 3, 4, b, t, 0) +
               weight[2 * i + 1] * *(float *)at(in[X], 3, 4, b, t, 1) +
               bias[i]) *
                  scale +
              (float)*(int64_t *)at(in[TOKENS], 2, 8, b, t, 0);
        *(float *)at(out[Y], 3, 4, b, t, i) = y;
        if (*(uint8_t *)at(in[MASK], 1, 1, b, 0, 0))
          h += y;
      }
      *(float *)at(out[NEW_STATE], 2, 4, b, i, 0) = h;
      total += h;
    }
  for (int64_t i = 0; i < 2 * tCount + 1; ++i)
    total += *(float *)at(in[PADDED], 1, 4, i, 0, 0);
  *(double *)at(out[TOTAL], 0, 8, 0, 0, 0) = total;
  return GATEFOLD_RUN_OK;
}

static const char *const failures[] = {"m.gf:3:11: max of no elements"};

const gatefold_description sample = {.abi_version = GATEFOLD_ABI_VERSION,
                                     .symbol_count = 2,
                                     .name = "sample",
                                     .json = "{}",
                                     .symbols = symbols,
                                     .input_count = INPUT_COUNT,
                                     .result_count = RESULT_COUNT,
                                     .parameter_count = PARAMETER_COUNT,
                                     .inputs = inputs,
                                     .results = results,
                                     .parameters = parameters,
                                     .value_check_count = 2,
                                     .value_checks = valueChecks,
                                     .size_count = 21,
                                     .sizes = sizes,
                                     .arena_bytes = arenaBytes,
                                     .run = run,
                                     .failure_count = 1,
                                     .failures = failures};

/*===-- Data
 * ----------------------------------------------------------------===*/

DLTensor makeTensor(void *data, uint8_t code, uint8_t bits, int32_t rank,
                    int64_t *shape) {
  DLTensor tensor = {data, {kDLCPU, 0}, rank, {code, bits, 1}, shape, NULL, 0};
  return tensor;
}

static DLTensor makeLike(const gatefold_tensor *tensor, void *data,
                         int64_t *shape) {
  return makeTensor(data, tensor->element.code, tensor->element.bits,
                    tensor->rank, shape);
}

void setUp(Case *data, int64_t b, int64_t t) {
  memset(data, 0, sizeof(*data));
  for (int i = 0; i < MAXIMAL_B * MAXIMAL_T * 2; ++i)
    data->x[i] = (float)(i % 7) - 3;
  for (int i = 0; i < MAXIMAL_B * MAXIMAL_T; ++i)
    data->tokens[i] = i % 5;
  for (int i = 0; i < MAXIMAL_B; ++i) {
    data->lengths[i] = (int32_t)(i % 2 ? t : t - (t > 0));
    data->mask[i] = i != 1;
  }
  for (int i = 0; i < 2 * MAXIMAL_T + 1; ++i)
    data->padded[i] = (float)i;
  for (int i = 0; i < MAXIMAL_B * 2; ++i)
    data->state[i] = (float)i / 4;
  const int64_t shapes[INPUT_COUNT + RESULT_COUNT][3] = {
      {b, t, 2}, {b}, {b, t}, {b}, {2 * t + 1}, {b, 2}, {b, t, 2}, {0}, {b, 2}};
  memcpy(data->shapes, shapes, sizeof(shapes));
  void *memory[] = {data->x,    data->lengths, data->tokens,
                    data->mask, data->padded,  data->state,
                    data->y,    &data->total,  data->newState};
  for (int i = 0; i < INPUT_COUNT; ++i) {
    data->inputs[i] = &data->tensors[i];
    *data->inputs[i] = makeLike(&inputs[i], memory[i], data->shapes[i]);
  }
  for (int i = 0, all = INPUT_COUNT; i < RESULT_COUNT; ++i, ++all) {
    data->results[i] = &data->tensors[all];
    *data->results[i] = makeLike(&results[i], memory[all], data->shapes[all]);
  }
}

gatefold_status runCase(gatefold_context *context, Case *data) {
  return gatefold_run(context, (const DLTensor *const *)data->inputs,
                      data->results, NULL, 0);
}

/* Independent of strides: from the contiguous memory of the case. */
int isRight(const Case *data, const float *state) {
  static const float weight[] = {1, 2, 3, 4};
  int64_t bCount = data->shapes[X][0], tCount = data->shapes[X][1];
  double total = 0;
  int right = 1;
  for (int64_t b = 0; b < bCount; ++b)
    for (int64_t i = 0; i < 2; ++i) {
      float h = state[2 * b + i];
      for (int64_t t = 0; t < tCount; ++t) {
        const float *x = &data->x[(b * tCount + t) * 2];
        float y = 0;
        if (t < data->lengths[b])
          y = (weight[2 * i] * x[0] + weight[2 * i + 1] * x[1] + 0.25f) * 2 +
              (float)data->tokens[b * tCount + t];
        right &= data->y[(b * tCount + t) * 2 + i] == y;
        if (data->mask[b])
          h += y;
      }
      right &= data->newState[2 * b + i] == h;
      total += h;
    }
  for (int64_t i = 0; i < 2 * tCount + 1; ++i)
    total += data->padded[i];
  return right && data->total == total;
}

gatefold_model *prepareSample(void) {
  gatefold_model *model = NULL;
  CHECK(gatefold_create(&sample, &model) == GATEFOLD_OK);
  float weight[] = {1, 2, 3, 4};
  int64_t scale = 2, weightShape[] = {2, 2}, scaleShape[] = {1};
  DLTensor weightTensor = makeTensor(weight, kDLFloat, 32, 2, weightShape);
  DLTensor scaleTensor = makeTensor(&scale, kDLInt, 64, 1, scaleShape);
  const char *names[] = {"scale", "fc.weight"};
  const DLTensor *tensors[] = {&scaleTensor, &weightTensor};
  CHECK_MODEL_STATUS(model, gatefold_prepare(model, 2, names, tensors),
                     GATEFOLD_OK, "");
  return model;
}
