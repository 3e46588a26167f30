/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * HalfTest.c - tensors of f16 and bf16 of every role. The computation moves
 * bits, so that a byte that was lost or taken from a neighbour shows.
 *
 *   inputs      a [N, 2] f16, b [N, 2] bf16; h [2] f16, g [2] bf16, states from
 *               0.1
 *   parameters  w [2] bf16 (read by `prepare` alone), scale [2] f16 = 0.1
 *   prepared    doubled [2] bf16 = 2 * w
 *   results     y [N, 2] f16, z [N, 2] bf16; h, g
 *
 * On the bits: y = a ^ scale, z = b ^ doubled, h' = h + 1, g' = g + 1.
 */
#include "Harness.h"
#include "Sample.h"

#include <string.h>

enum { A, B, H, G, INPUTS };
enum { NEW_Y, NEW_Z, NEW_H, NEW_G, RESULTS };
enum { W, FACTOR, DOUBLED, FIRST_INPUT };

/* A memref descriptor of rank 2; those of rank 1 end sooner. */
typedef struct Memref {
  uint16_t *allocated, *aligned;
  int64_t offset, numbers[4];
} Memref;

#define F16                                                                    \
  { kDLFloat, 16 }
#define BF16                                                                   \
  { kDLBfloat, 16 }

static const char *const symbols[] = {"N"};
static const char *const namesN2[] = {"N", "2"};
static const char *const names2[] = {"2"};
static const gatefold_binding bindN2[] = {{0, 0, 1, 0}, {-1, 0, 0, 0}};
static const gatefold_binding bind2[] = {{-1, 0, 0, 0}};

static const gatefold_tensor inputs[] = {
    {"a", GATEFOLD_INPUT, 2, F16, 0, 0, 0, {0}, 0, bindN2, namesN2, 0},
    {"b", GATEFOLD_INPUT, 2, BF16, 0, 0, 0, {0}, 0, bindN2, namesN2, 0},
    {"h", GATEFOLD_STATE, 1, F16, 1, 0, 0, {0}, 0.1, bind2, names2, 1},
    {"g", GATEFOLD_STATE, 1, BF16, 1, 0, 0, {0}, 0.1, bind2, names2, 1}};
static const gatefold_tensor results[] = {
    {"y", GATEFOLD_RESULT, 2, F16, 0, 0, 0, {0}, 0, NULL, namesN2, 0},
    {"z", GATEFOLD_RESULT, 2, BF16, 0, 0, 0, {0}, 0, NULL, namesN2, 0},
    {"h", GATEFOLD_STATE, 1, F16, 0, 0, 0, {0}, 0, NULL, names2, 1},
    {"g", GATEFOLD_STATE, 1, BF16, 0, 0, 0, {0}, 0, NULL, names2, 1}};
static const gatefold_tensor parameters[] = {
    {"w", GATEFOLD_PARAMETER, 1, BF16, 0, 1, 0, {0}, 0, NULL, names2, 1},
    {"scale", GATEFOLD_PARAMETER, 1, F16, 1, 0, 0, {0}, 0.1, NULL, names2, 1}};
static const gatefold_tensor prepared[] = {
    {"w", GATEFOLD_PREPARED, 1, BF16, 0, 0, 0, {0}, 0, NULL, names2, 1}};

static void sizes(const int64_t *values, int64_t *out) {
  out[0] = values[0];
  out[1] = 2;
}

static int64_t noArena(const int64_t *values, int64_t ranks) {
  (void)values;
  (void)ranks;
  return 0;
}

static int64_t noPrepareArena(void) { return 0; }

static int32_t prepare(void *const *arguments, void *arena) {
  (void)arena;
  const Memref *const *a = (const Memref *const *)arguments;
  for (int i = 0; i < FIRST_INPUT; ++i)
    CHECK((uintptr_t)a[i]->aligned % 64 == 0 && a[i]->numbers[1] == 1);
  for (int i = 0; i < 2; ++i) /* one more in the exponent */
    a[DOUBLED]->aligned[i] = (uint16_t)(a[W]->aligned[i] + 0x80);
  return GATEFOLD_RUN_OK;
}

static uint16_t *at(const Memref *memref, int64_t n, int64_t i) {
  return memref->aligned + memref->offset + n * memref->numbers[2] +
         i * memref->numbers[3];
}

static int32_t run(void *const *arguments, void *arena, int64_t rank,
                   int64_t ranks, struct gatefold_team *team) {
  (void)arena;
  (void)rank;
  (void)ranks;
  (void)team;
  const Memref *const *a = (const Memref *const *)arguments;
  const Memref *const *in = a + FIRST_INPUT, *const *out = in + INPUTS;
  for (int i = 0; i < INPUTS + RESULTS; ++i)
    CHECK((uintptr_t)in[i]->aligned % 2 == 0);
  for (int64_t n = 0; n < in[A]->numbers[0]; ++n)
    for (int64_t i = 0; i < 2; ++i) {
      *at(out[NEW_Y], n, i) =
          (uint16_t)(*at(in[A], n, i) ^ a[FACTOR]->aligned[i]);
      *at(out[NEW_Z], n, i) =
          (uint16_t)(*at(in[B], n, i) ^ a[DOUBLED]->aligned[i]);
    }
  for (int state = 0; state < 2; ++state)
    for (int64_t i = 0; i < 2; ++i) {
      const Memref *from = in[H + state], *to = out[NEW_H + state];
      to->aligned[to->offset + i * to->numbers[1]] =
          (uint16_t)(from->aligned[from->offset + i * from->numbers[1]] + 1);
    }
  return GATEFOLD_RUN_OK;
}

static const gatefold_description description = {
    .abi_version = GATEFOLD_ABI_VERSION,
    .symbol_count = 1,
    .name = "half",
    .json = "{}",
    .symbols = symbols,
    .input_count = INPUTS,
    .result_count = RESULTS,
    .parameter_count = 2,
    .prepared_count = 1,
    .inputs = inputs,
    .results = results,
    .parameters = parameters,
    .prepared = prepared,
    .size_count = 2,
    .sizes = sizes,
    .arena_bytes = noArena,
    .run = run,
    .prepare_arena_bytes = noPrepareArena,
    .prepare = prepare};

/*===-- Data --------------------------------------------------------------===*/

enum { N = 3 };

static const uint16_t givenW[] = {0x3f80, 0xc0a1}; /* 1, about -5 */
static const uint16_t doubledW[] = {0x4000, 0xc121};
static const uint16_t tenth = 0x2e66, brainTenth = 0x3dcd; /* 0.1 */

typedef struct Values {
  uint16_t inputs[INPUTS][2 * N], results[RESULTS][2 * N];
  int64_t shapes[INPUTS + RESULTS][2];
  DLTensor tensors[INPUTS + RESULTS];
  DLTensor *in[INPUTS], *out[RESULTS];
} Values;

static void setUpValues(Values *v) {
  memset(v, 0, sizeof(*v));
  for (int i = 0; i < INPUTS; ++i)
    for (int k = 0; k < 2 * N; ++k)
      v->inputs[i][k] = (uint16_t)(0x1234 + 0x1111 * i + 0x203 * k);
  for (int i = 0; i < INPUTS + RESULTS; ++i) {
    bool isResult = i >= INPUTS;
    const gatefold_tensor *tensor =
        isResult ? &results[i - INPUTS] : &inputs[i];
    v->shapes[i][0] = tensor->rank == 2 ? N : 2;
    v->shapes[i][1] = 2;
    v->tensors[i] = makeTensor(isResult ? v->results[i - INPUTS] : v->inputs[i],
                               tensor->element.code, tensor->element.bits,
                               tensor->rank, v->shapes[i]);
    *(isResult ? &v->out[i - INPUTS] : &v->in[i]) = &v->tensors[i];
  }
}

static gatefold_status runValues(gatefold_context *context, Values *v) {
  return gatefold_run(context, (const DLTensor *const *)v->in, v->out, NULL, 0);
}

/* From the contiguous memory of inputs and results. */
static bool areRight(const Values *v) {
  bool right = true;
  for (int k = 0; k < 2 * N; ++k) {
    right &= v->results[NEW_Y][k] == (v->inputs[A][k] ^ tenth);
    right &= v->results[NEW_Z][k] == (v->inputs[B][k] ^ doubledW[k % 2]);
  }
  for (int i = 0; i < 2; ++i) {
    right &= v->results[NEW_H][i] == v->inputs[H][i] + 1;
    right &= v->results[NEW_G][i] == v->inputs[G][i] + 1;
  }
  return right;
}

/* Every second of `w`. */
static gatefold_model *prepareModel(void) {
  gatefold_model *model = NULL;
  CHECK(gatefold_create(&description, &model) == GATEFOLD_OK);
  uint16_t apart[] = {givenW[0], 0xffff, givenW[1]};
  int64_t shape[] = {2}, strides[] = {2};
  DLTensor tensor = makeTensor(apart, kDLBfloat, 16, 1, shape);
  tensor.strides = strides;
  const char *name = "w";
  const DLTensor *tensors[] = {&tensor};
  CHECK_MODEL_STATUS(model, gatefold_prepare(model, 1, &name, tensors),
                     GATEFOLD_OK, "");
  return model;
}

/*===-- Tests -------------------------------------------------------------===*/

static void refuse(gatefold_context *context, Values *v, const char *message) {
  CHECK_STATUS(context, runValues(context, v), GATEFOLD_INVALID_ARGUMENT,
               message);
  CHECK(v->results[NEW_Y][0] == 0); /* nothing was computed */
  setUpValues(v);
}

/* Both have 16 bits: the code alone tells them apart. */
static void testHalfTypes(gatefold_context *context, Values *v) {
  setUpValues(v);
  v->in[A]->dtype.code = kDLBfloat;
  refuse(context, v, "`a` is bf16, expected f16");
  v->in[B]->dtype.code = kDLFloat;
  refuse(context, v, "`b` is f16, expected bf16");
  v->in[A]->dtype.bits = 32;
  refuse(context, v, "`a` is f32, expected f16");
  v->in[B]->dtype.code = kDLUInt;
  refuse(context, v, "`b` is u16, expected bf16");
  v->in[H]->dtype.code = kDLInt;
  refuse(context, v, "`h` is i16, expected f16");
  v->in[G]->dtype.bits = 32;
  refuse(context, v, "`g` is bf32, expected bf16");
  v->in[A]->dtype.lanes = 2;
  refuse(context, v, "`a` is f16 in vectors of 2, expected f16");
  v->out[NEW_Y]->dtype.code = kDLBfloat;
  refuse(context, v, "result `y` is bf16, expected f16");
  v->out[NEW_Z]->dtype.code = kDLFloat;
  refuse(context, v, "result `z` is f16, expected bf16");
  v->out[NEW_G]->dtype.code = kDLFloat;
  v->out[NEW_G]->dtype.bits = 32;
  refuse(context, v, "result `g` is f32, expected bf16");
}

static void refuseWeight(const char *name, uint8_t code, uint8_t bits,
                         const char *message) {
  gatefold_model *model = NULL;
  CHECK(gatefold_create(&description, &model) == GATEFOLD_OK);
  double data[2] = {0, 0};
  int64_t shape[] = {2};
  DLTensor w = makeTensor(data, kDLBfloat, 16, 1, shape);
  DLTensor spoiled = makeTensor(data, code, bits, 1, shape);
  const char *names[] = {name, "w"};
  const DLTensor *tensors[] = {&spoiled, &w};
  size_t count = strcmp(name, "w") ? 2 : 1;
  CHECK_MODEL_STATUS(model, gatefold_prepare(model, count, names, tensors),
                     GATEFOLD_INVALID_ARGUMENT, message);
  gatefold_destroy(model);
}

static void testWeightTypes(void) {
  refuseWeight("w", kDLFloat, 16,
               "parameter `w` is f16 in the weights, expected bf16");
  refuseWeight("w", kDLFloat, 32,
               "parameter `w` is f32 in the weights, expected bf16");
  refuseWeight("scale", kDLBfloat, 16,
               "parameter `scale` is bf16 in the weights, expected f16");
  refuseWeight("scale", kDLFloat, 64,
               "parameter `scale` is f64 in the weights, expected f16");
}

/* Where the last dimension is not contiguous the run works on copies, of both
 * bytes of each element. */
static void testStrides(gatefold_context *context, Values *v) {
  setUpValues(v);
  uint16_t columns[2 * N], apart[4 * N] = {0}, wide[4 * N] = {0}, states[6];
  uint16_t newStates[6] = {0};
  int64_t transposed[] = {1, N}, backwards[] = {-4, 2}, everyThird[] = {3};
  for (int n = 0; n < N; ++n)
    for (int i = 0; i < 2; ++i) {
      columns[i * N + n] = v->inputs[A][2 * n + i];
      apart[4 * (N - 1 - n) + 2 * i] = v->inputs[B][2 * n + i];
    }
  for (int k = 0; k < 6; ++k)
    states[k] = k % 3 ? 0xffff : v->inputs[H][k / 3];
  v->in[A]->data = columns;
  v->in[A]->strides = transposed;
  v->in[B]->data = apart;
  v->in[B]->byte_offset = 4 * (N - 1) * sizeof(uint16_t);
  v->in[B]->strides = backwards;
  v->in[H]->data = states;
  v->in[H]->strides = everyThird;
  v->out[NEW_Z]->data = wide;
  v->out[NEW_Z]->byte_offset = 4 * (N - 1) * sizeof(uint16_t);
  v->out[NEW_Z]->strides = backwards;
  v->out[NEW_H]->data = newStates;
  v->out[NEW_H]->strides = everyThird;
  size_t bytes = 0;
  CHECK_STATUS(
      context,
      gatefold_workspace_size(context, (const DLTensor *const *)v->in, &bytes),
      GATEFOLD_OK, "");
  CHECK(bytes == 4 * 64 + 63); /* a, b, h and g, slack */
  CHECK_STATUS(context, runValues(context, v), GATEFOLD_OK, "");
  for (int n = 0; n < N; ++n)
    for (int i = 0; i < 2; ++i) {
      const uint16_t *z = &wide[4 * (N - 1 - n) + 2 * i];
      v->results[NEW_Z][2 * n + i] = z[0];
      CHECK(z[1] == 0); /* what lies between is left alone */
    }
  for (int k = 0; k < 6; ++k)
    if (k % 3)
      CHECK(newStates[k] == 0);
    else
      v->results[NEW_H][k / 3] = newStates[k];
  CHECK(areRight(v));

  /* One row for all. */
  setUpValues(v);
  int64_t broadcast[] = {0, 1};
  v->in[A]->strides = broadcast;
  CHECK_STATUS(context, runValues(context, v), GATEFOLD_OK, "");
  for (int k = 2; k < 2 * N; ++k)
    v->inputs[A][k] = v->inputs[A][k - 2];
  CHECK(areRight(v));
}

/* Every tensor one byte off its alignment. */
static void testAlignment(gatefold_context *context, Values *v) {
  setUpValues(v);
  static char memory[INPUTS + RESULTS][64];
  for (int i = 0; i < INPUTS + RESULTS; ++i) {
    memcpy(memory[i] + 1, v->tensors[i].data, sizeof(v->inputs[0]));
    v->tensors[i].data = memory[i];
    v->tensors[i].byte_offset = 1;
  }
  CHECK_STATUS(context, runValues(context, v), GATEFOLD_OK, "");
  for (int r = 0; r < RESULTS; ++r)
    memcpy(v->results[r], memory[INPUTS + r] + 1, sizeof(v->results[r]));
  CHECK(areRight(v));
}

static void testSharedMemory(gatefold_context *context, Values *v) {
  /* A state's result in the memory of the state. */
  setUpValues(v);
  uint16_t before[2];
  memcpy(before, v->inputs[H], sizeof(before));
  v->out[NEW_H]->data = v->in[H]->data;
  CHECK_STATUS(context, runValues(context, v), GATEFOLD_OK, "");
  CHECK(v->inputs[H][0] == before[0] + 1 && v->inputs[H][1] == before[1] + 1);

  /* One byte of the last element; and the next bytes, which are free. */
  uint16_t memory[4 * N + 1] = {0};
  setUpValues(v);
  v->in[A]->data = memory;
  v->out[NEW_Y]->data = (char *)memory + 4 * N - 1;
  refuse(context, v, "result `y` overlaps the input `a`");
  v->in[A]->data = memory;
  v->out[NEW_Y]->data = memory + 2 * N;
  CHECK_STATUS(context, runValues(context, v), GATEFOLD_OK, "");
  for (int k = 0; k < 2 * N; ++k)
    CHECK(memory[2 * N + k] == tenth && memory[k] == 0);
}

/* Rounded to nearest even; what is too large is infinite, what is denormal in
 * f16 is kept. */
static void testInitialStates(gatefold_context *context) {
  uint16_t state[4] = {7, 7, 7, 7};
  int64_t shape[] = {2}, strides[] = {2};
  DLTensor tensor = makeTensor(state, kDLFloat, 16, 1, shape);
  tensor.strides = strides;
  CHECK_STATUS(context, gatefold_initial_state(context, H, &tensor),
               GATEFOLD_OK, "");
  CHECK(state[0] == tenth && state[1] == 7 && state[2] == tenth);
  CHECK_STATUS(context, gatefold_initial_state(context, G, &tensor),
               GATEFOLD_INVALID_ARGUMENT, "`g` is f16, expected bf16");
  tensor.dtype.code = kDLBfloat;
  CHECK_STATUS(context, gatefold_initial_state(context, G, &tensor),
               GATEFOLD_OK, "");
  CHECK(state[0] == brainTenth && state[1] == 7 && state[2] == brainTenth);

  static const struct {
    double initial;
    uint16_t half, brain;
  } cases[] = {{65504, 0x7bff, 0x4780},
               {65519.99, 0x7bff, 0x4780},
               {65520, 0x7c00, 0x4780},
               {-1e39, 0xfc00, 0xff80},
               {6e-8, 0x0001, 0x3381},
               {-0.0, 0x8000, 0x8000},
               {2049, 0x6800, 0x4500},
               {2051, 0x6802, 0x4500},
               {257, 0x5c04, 0x4380},
               {259, 0x5c0c, 0x4382},
               /* Just over the middle between two: by less than f32 tells. */
               {1 + 0x1p-11 + 0x1p-40, 0x3c01, 0x3f80},
               {1 + 0x1p-8 + 0x1p-40, 0x3c04, 0x3f81}};
  for (size_t c = 0; c < sizeof(cases) / sizeof(*cases); ++c) {
    gatefold_tensor states[INPUTS];
    memcpy(states, inputs, sizeof(inputs));
    states[H].initial = states[G].initial = cases[c].initial;
    gatefold_description with = description;
    with.inputs = states;
    gatefold_model *model = NULL;
    gatefold_context *own = NULL;
    CHECK(gatefold_create(&with, &model) == GATEFOLD_OK);
    CHECK(gatefold_context_create(model, &own) == GATEFOLD_OK);
    tensor.dtype.code = kDLFloat;
    CHECK_STATUS(own, gatefold_initial_state(own, H, &tensor), GATEFOLD_OK, "");
    CHECK(state[0] == cases[c].half && state[2] == cases[c].half);
    tensor.dtype.code = kDLBfloat;
    CHECK_STATUS(own, gatefold_initial_state(own, G, &tensor), GATEFOLD_OK, "");
    CHECK(state[0] == cases[c].brain && state[2] == cases[c].brain);
    gatefold_context_destroy(own);
    gatefold_destroy(model);
  }
}

/* No type has the code of bf16 and other bits. */
static void testMalformed(void) {
  gatefold_tensor spoiled[INPUTS];
  memcpy(spoiled, inputs, sizeof(inputs));
  spoiled[B].element.bits = 32;
  gatefold_description with = description;
  with.inputs = spoiled;
  gatefold_model *model = NULL;
  CHECK_MODEL_STATUS(model, gatefold_create(&with, &model),
                     GATEFOLD_INVALID_ARGUMENT,
                     "malformed description: tensor 1 `b`: its element type is "
                     "not known");
  gatefold_destroy(model);
}

void testHalf(void) {
  gatefold_model *model = prepareModel();
  gatefold_context *context = NULL;
  CHECK(gatefold_context_create(model, &context) == GATEFOLD_OK);
  static Values values;
  setUpValues(&values);
  CHECK_STATUS(context, runValues(context, &values), GATEFOLD_OK, "");
  CHECK(areRight(&values));
  testHalfTypes(context, &values);
  testWeightTypes();
  testStrides(context, &values);
  testAlignment(context, &values);
  testSharedMemory(context, &values);
  testInitialStates(context);
  testMalformed();
  gatefold_context_destroy(context);
  gatefold_destroy(model);
}
