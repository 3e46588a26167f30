/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * PreparedTest.c - tensors that compiled code makes from the weights, once.
 *
 * parameters  w [4] f32, v [2] f32 = 3 (both read by `prepare` alone), u [] f32
 * prepared    doubled [4] = 2 * w + v[0], negated [4] = -w
 * result      y [4] = doubled + negated + u, y of no input
 */
#include "Harness.h"
#include "Sample.h"

#include <stdlib.h>
#include <string.h>

typedef struct Vector {
  float *allocated, *aligned;
  int64_t offset, size, stride;
} Vector;

enum { W, V, U, DOUBLED, NEGATED, RESULT };

/* What `prepare` was called with, and what it is to return. */
static const float *seenW, *seenV;
static float *seenDoubled;
static int32_t prepareResult;
static int prepareCalls;

static const char *const fourNames[] = {"4"};
static const char *const twoNames[] = {"2"};
static const gatefold_tensor parameters[] = {
    {"w", GATEFOLD_PARAMETER, 1, {2, 32}, 0, 1, 0, {0}, 0, NULL, fourNames, 1},
    {"v", GATEFOLD_PARAMETER, 1, {2, 32}, 1, 1, 0, {0}, 3, NULL, twoNames, 2},
    {"u", GATEFOLD_PARAMETER, 0, {2, 32}, 0, 0, 0, {0}, 0, NULL, NULL, 3}};
static const gatefold_tensor prepared[] = {
    {"w and v",
     GATEFOLD_PREPARED,
     1,
     {2, 32},
     0,
     0,
     0,
     {0},
     0,
     NULL,
     fourNames,
     3},
    {"w", GATEFOLD_PREPARED, 1, {2, 32}, 0, 0, 0, {0}, 0, NULL, fourNames, 4}};
static const gatefold_tensor results[] = {
    {"y", GATEFOLD_RESULT, 1, {2, 32}, 0, 0, 0, {0}, 0, NULL, fourNames, 0}};

static void sizes(const int64_t *symbols, int64_t *out) {
  (void)symbols;
  const int64_t all[] = {4, 4, 2, 4, 4};
  memcpy(out, all, sizeof(all));
}

static void overflowingSizes(const int64_t *symbols, int64_t *out) {
  sizes(symbols, out);
  out[4] = INT64_MAX / 2;
}

static int64_t noArena(const int64_t *symbols, int64_t ranks) {
  (void)ranks;
  (void)symbols;
  return 0;
}

static int64_t prepareArena(void) { return 4 * sizeof(float); }
static int64_t overflowingArena(void) { return -1; }

static int32_t prepare(void *const *arguments, void *arena) {
  const Vector *const *a = (const Vector *const *)arguments;
  const float *w = seenW = a[W]->aligned, *v = seenV = a[V]->aligned;
  ++prepareCalls;
  for (int i = 0; i < RESULT; ++i)
    CHECK((uintptr_t)a[i]->aligned % 64 == 0 && a[i]->offset == 0);
  CHECK(a[W]->size == 4 && a[W]->stride == 1 && a[V]->size == 2);
  CHECK((uintptr_t)arena % 64 == 0);
  /* Denormal numbers are 0 here as in a run. */
  volatile float tiny = 1e-40f;
#if defined(__SSE__) || defined(__aarch64__)
  CHECK(tiny * 1.0f == 0.0f);
#endif
  float *scratch = arena;
  memset(scratch, 0xAA, 4 * sizeof(float));
  for (int i = 0; i < 4; ++i)
    scratch[i] = 2 * w[i];
  seenDoubled = a[DOUBLED]->aligned;
  for (int i = 0; i < 4; ++i) {
    a[DOUBLED]->aligned[i] = scratch[i] + v[0];
    a[NEGATED]->aligned[i] = -w[i];
  }
  return prepareResult;
}

static int32_t run(void *const *arguments, void *arena, int64_t rank,
                   int64_t ranks, struct gatefold_team *team) {
  (void)rank;
  (void)ranks;
  (void)team;
  (void)arena;
  const Vector *const *a = (const Vector *const *)arguments;
  CHECK(a[W]->aligned == NULL && a[W]->size == 4);
  CHECK(a[V]->aligned == NULL);
  CHECK(a[DOUBLED]->aligned == seenDoubled);
  for (int i = 0; i < 4; ++i)
    a[RESULT]->aligned[i] =
        a[DOUBLED]->aligned[i] + a[NEGATED]->aligned[i] + *a[U]->aligned;
  return GATEFOLD_RUN_OK;
}

static const char *const failures[] = {"m.gf:3:11: max of no elements"};

static const gatefold_description description = {
    .abi_version = GATEFOLD_ABI_VERSION,
    .name = "prepared",
    .json = "{}",
    .result_count = 1,
    .parameter_count = 3,
    .prepared_count = 2,
    .results = results,
    .parameters = parameters,
    .prepared = prepared,
    .size_count = 5,
    .sizes = sizes,
    .arena_bytes = noArena,
    .run = run,
    .prepare_arena_bytes = prepareArena,
    .prepare = prepare,
    .failure_count = 1,
    .failures = failures};

/* Weights, and a model that has not got them. */
typedef struct Weights {
  _Alignas(64) float w[16];
  float u;
  int64_t four, stride;
  DLTensor wTensor, uTensor;
  const char *names[2];
  const DLTensor *tensors[2];
  gatefold_model *model;
} Weights;

static void setUpWeights(Weights *weights, const gatefold_description *from) {
  memset(weights, 0, sizeof(*weights));
  for (int i = 0; i < 16; ++i)
    weights->w[i] = (float)i;
  weights->u = 100;
  weights->four = 4;
  weights->stride = 1;
  weights->wTensor = makeTensor(weights->w, kDLFloat, 32, 1, &weights->four);
  weights->wTensor.strides = &weights->stride;
  weights->uTensor = makeTensor(&weights->u, kDLFloat, 32, 0, NULL);
  weights->names[0] = "w";
  weights->names[1] = "u";
  weights->tensors[0] = &weights->wTensor;
  weights->tensors[1] = &weights->uTensor;
  prepareResult = GATEFOLD_RUN_OK;
  prepareCalls = 0;
  CHECK(gatefold_create(from, &weights->model) == GATEFOLD_OK);
}

static gatefold_status giveWeights(Weights *weights) {
  return gatefold_prepare(weights->model, 2, weights->names, weights->tensors);
}

/* y[i] = w[i] + 103, where w[i] = first + i * step. */
static void checkRun(Weights *weights, float first, float step) {
  gatefold_context *context = NULL;
  CHECK(gatefold_context_create(weights->model, &context) == GATEFOLD_OK);
  float y[4];
  DLTensor yTensor = makeTensor(y, kDLFloat, 32, 1, &weights->four);
  DLTensor *runResults[] = {&yTensor};
  CHECK_STATUS(context, gatefold_run(context, NULL, runResults, NULL, 0),
               GATEFOLD_OK, "");
  for (int i = 0; i < 4; ++i)
    CHECK(y[i] == first + (float)i * step + 103);
  gatefold_context_destroy(context);
}

/* Given weights: read where they are if that is possible, and needed no more
 * afterwards. */
static void testGiven(Weights *w) {
  setUpWeights(w, &description);
  CHECK_MODEL_STATUS(w->model, giveWeights(w), GATEFOLD_OK, "");
  CHECK(seenW == w->w && prepareCalls == 1);
  memset(w->w, 0xFF, sizeof(w->w));
  w->u = 0;
  checkRun(w, 0, 1);
  checkRun(w, 0, 1);
  CHECK(prepareCalls == 1);
  gatefold_destroy(w->model);

  setUpWeights(w, &description);
  w->wTensor.byte_offset = sizeof(float);
  CHECK_MODEL_STATUS(w->model, giveWeights(w), GATEFOLD_OK, "");
  CHECK(seenW != w->w + 1);
  checkRun(w, 1, 1);
  gatefold_destroy(w->model);

  setUpWeights(w, &description);
  w->stride = 3;
  CHECK_MODEL_STATUS(w->model, giveWeights(w), GATEFOLD_OK, "");
  CHECK(seenW != w->w);
  checkRun(w, 0, 3);
  gatefold_destroy(w->model);
}

/* Embedded weights are read where they are; the initial value of `v` is not
 * asked for where it is embedded. */
static void testEmbedded(Weights *w) {
  static const _Alignas(64) float embeddedW[] = {5, 6, 7, 8};
  static const _Alignas(64) float embeddedV[] = {3, 0};
  static const float embeddedU = 100;
  const void *const embedded[] = {embeddedW, embeddedV, &embeddedU};
  gatefold_description with = description;
  with.embedded = embedded;
  setUpWeights(w, &with);
  CHECK_MODEL_STATUS(w->model, gatefold_prepare(w->model, 0, NULL, NULL),
                     GATEFOLD_OK, "");
  CHECK(seenW == embeddedW && seenV == embeddedV);
  checkRun(w, 5, 1);
  gatefold_destroy(w->model);
}

/* After an error the model is as before. */
static void testErrors(Weights *w) {
  setUpWeights(w, &description);
  prepareResult = GATEFOLD_RUN_FAILURE;
  CHECK_MODEL_STATUS(w->model, giveWeights(w), GATEFOLD_BAD_DATA,
                     "m.gf:3:11: max of no elements");
  prepareResult = 77;
  CHECK_MODEL_STATUS(w->model, giveWeights(w), GATEFOLD_BAD_DATA,
                     "the compiled code reports the unknown error 77");
  gatefold_context *context = NULL;
  CHECK(gatefold_context_create(w->model, &context) == GATEFOLD_OK);
  CHECK_STATUS(context, gatefold_run(context, NULL, NULL, NULL, 0),
               GATEFOLD_NOT_PREPARED,
               "the model has no weights yet: prepare it first");
  gatefold_context_destroy(context);
  prepareResult = GATEFOLD_RUN_OK;
  CHECK_MODEL_STATUS(w->model, giveWeights(w), GATEFOLD_OK, "");
  checkRun(w, 0, 1);
  gatefold_destroy(w->model);

  gatefold_description overflowing = description;
  overflowing.prepare_arena_bytes = overflowingArena;
  setUpWeights(w, &overflowing);
  CHECK_MODEL_STATUS(w->model, giveWeights(w), GATEFOLD_OUT_OF_MEMORY,
                     "no memory for the weights");
  gatefold_destroy(w->model);
  overflowing = description;
  overflowing.sizes = overflowingSizes;
  setUpWeights(w, &overflowing);
  CHECK_MODEL_STATUS(w->model, giveWeights(w), GATEFOLD_OUT_OF_MEMORY,
                     "no memory for the weights");
  CHECK(prepareCalls == 0);
  gatefold_destroy(w->model);
}

static void testMalformed(void) {
  gatefold_description without = description;
  without.prepare = NULL;
  without.prepare_arena_bytes = NULL;
  gatefold_description half = description;
  half.prepare_arena_bytes = NULL;
  half.prepared_count = 0;
  const gatefold_description *const malformed[] = {&without, &half};
  for (int i = 0; i < 2; ++i) {
    gatefold_model *model = NULL;
    CHECK_MODEL_STATUS(model, gatefold_create(malformed[i], &model),
                       GATEFOLD_INVALID_ARGUMENT,
                       "malformed description: a part is missing");
    gatefold_destroy(model);
  }
}

void testPrepared(void) {
  static Weights weights;
  testGiven(&weights);
  testEmbedded(&weights);
  testErrors(&weights);
  testMalformed();
}
