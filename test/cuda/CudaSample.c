/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * CudaSample.c - a model with kernels, its data, and the fake driver.
 */
#define _POSIX_C_SOURCE 200809L /* setenv */
#include "CudaSample.h"

#include "test/runtime/Harness.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*===-- The description ---------------------------------------------------===*/

static const char *const symbols[] = {"B", "T"};
static const char *const namesBT[] = {"B", "T"};
static const char *const names1[] = {"1"};
static const gatefold_binding bindBT[] = {{0, 0, 1, 0}, {1, 0, 1, 0}};

/* clang-format off */
static const gatefold_tensor inputs[] = {
    {"x", GATEFOLD_INPUT, 2, {kDLFloat, 32}, 0, 0, 0, {0}, 0, bindBT, namesBT, 0},
    {"lengths", GATEFOLD_INPUT, 1, {kDLInt, 32}, 0, 0, 0, {0}, 0, bindBT, namesBT, 2},
    {"keep", GATEFOLD_INPUT, 1, {kDLBool, 8}, 0, 0, 0, {0}, 0, bindBT, namesBT, 3},
    {"h", GATEFOLD_STATE, 1, {kDLFloat, 32}, 1, 0, 0, {0}, 0.5, bindBT, namesBT, 4}};
static const gatefold_tensor results[] = {
    {"y", GATEFOLD_RESULT, 2, {kDLFloat, 32}, 0, 0, 0, {0}, 0, NULL, namesBT, 5},
    {"h", GATEFOLD_STATE, 1, {kDLFloat, 32}, 0, 0, 0, {0}, 0, NULL, namesBT, 7}};
static const gatefold_tensor parameters[] = {
    {"w", GATEFOLD_PARAMETER, 1, {kDLFloat, 32}, 0, 1, 0, {0}, 0, NULL, names1, 8},
    {"b", GATEFOLD_PARAMETER, 1, {kDLFloat, 32}, 1, 0, 0, {0}, 0.25, NULL, names1, 9}};
static const gatefold_tensor prepared[] = {
    {"w", GATEFOLD_PREPARED, 1, {kDLFloat, 32}, 0, 0, 0, {0}, 0, NULL, names1, 10}};
/* clang-format on */

/* 11: T. */
static const gatefold_value_check valueChecks[] = {{LENGTHS, 1, 11}};

static void sizes(const int64_t *s, int64_t *out) {
  const int64_t all[] = {s[0], s[1], s[0], s[0], s[0], s[0],
                         s[1], s[0], 1,    1,    1,    s[1]};
  memcpy(out, all, sizeof(all));
}

static int64_t arenaBytes(const int64_t *s, int64_t ranks) {
  (void)ranks;
  return s[0] * 4;
}

static int64_t usefulRanks(const int64_t *s) { return s[0]; }
static int64_t prepareArena(void) { return 4; }

/* No test runs it on the CPU. */
static int32_t run(void *const *arguments, void *arena, int64_t rank,
                   int64_t ranks, struct gatefold_team *team) {
  (void)arguments, (void)arena, (void)rank, (void)ranks, (void)team;
  return GATEFOLD_RUN_OK;
}

static int32_t prepare(void *const *arguments, void *arena) {
  (void)arguments, (void)arena;
  return GATEFOLD_RUN_OK;
}

static const char *const failures[] = {"m.gf:3:11: max of no elements"};

#define COMMON                                                                 \
  .abi_version = GATEFOLD_ABI_VERSION, .symbol_count = 2, .name = "sample",    \
  .json = "{}", .symbols = symbols, .input_count = INPUT_COUNT,                \
  .result_count = RESULT_COUNT, .parameter_count = 2, .prepared_count = 1,     \
  .inputs = inputs, .results = results, .parameters = parameters,              \
  .prepared = prepared, .value_check_count = 1, .value_checks = valueChecks,   \
  .size_count = 12, .sizes = sizes, .arena_bytes = arenaBytes,                 \
  .useful_ranks = usefulRanks, .prepare_arena_bytes = prepareArena,            \
  .failure_count = 1, .failures = failures

static const gatefold_description program = {COMMON};

/* Arguments: w, b, 2 w, x, lengths, keep, h, y, h'. */
static const gatefold_kernel_word runWords[] = {{1, 1},
                                                {2, 1},
                                                {3, 1},
                                                {3, 3},
                                                {3, 4},
                                                {3, 5},
                                                {4, 1},
                                                {5, 1},
                                                {6, 1},
                                                {7, 1},
                                                {7, 5},
                                                {8, 1},
                                                {GATEFOLD_KERNEL_ARENA, 1},
                                                {GATEFOLD_KERNEL_ARENA, 3},
                                                {GATEFOLD_KERNEL_TEAM, 1}};
static const gatefold_kernel_word prepareWords[] = {
    {0, 1}, {2, 1}, {GATEFOLD_KERNEL_ARENA, 1}, {GATEFOLD_KERNEL_TEAM, 1}};

#define VARIANT(target)                                                        \
  {                                                                            \
    target, sampleKernels, 1, &program, {"run", 64, 0, 15, runWords}, {        \
      "prepare", 64, 0, 4, prepareWords                                        \
    }                                                                          \
  }

gatefold_variant cudaVariants[3] = {VARIANT("sm_90"), VARIANT("sm_80"),
                                    VARIANT("sm_90a")};

gatefold_description cudaSample = {COMMON, .run = run, .prepare = prepare,
                                   .variant_count = 3,
                                   .variants = cudaVariants};

/*===-- The driver --------------------------------------------------------===*/

Driver driver;

int openDriver(void) {
  void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (!library)
    return 0;
  const struct {
    const char *name;
    void *function;
  } functions[] = {{"fakeFailAt", &driver.failAt},
                   {"fakeCalls", &driver.calls},
                   {"fakeReport", &driver.report},
                   {"cuStreamCreate", &driver.createStream},
                   {"cuStreamDestroy_v2", &driver.destroyStream},
                   {"cuStreamBeginCapture_v2", &driver.beginCapture},
                   {"cuStreamEndCapture", &driver.endCapture},
                   {"cuGraphInstantiateWithFlags", &driver.instantiate},
                   {"cuGraphLaunch", &driver.launchGraph},
                   {"cuMemAllocHost_v2", &driver.allocatePinned},
                   {"cuMemFreeHost", &driver.freePinned}};
  for (size_t i = 0; i < sizeof(functions) / sizeof(*functions); ++i) {
    void *found = dlsym(library, functions[i].name);
    if (!found)
      return 0;
    memcpy(functions[i].function, &found, sizeof(found));
  }
  return 1;
}

void checkReport(const char *file, int line) {
  char text[2000];
  int has = driver.report(text, sizeof(text));
  if (has)
    printf("%s:%d: %s", file, line, text);
  checkThat(!has, "the driver has no complaints", file, line);
}

void setGpu(const char *settings) {
  setenv("GATEFOLD_FAKE_GPU", settings, /*overwrite=*/1);
}

/*===-- Data --------------------------------------------------------------===*/

static DLTensor makeLike(const gatefold_tensor *tensor, void *data,
                         int64_t *shape) {
  DLTensor made = {data,
                   {kDLCPU, 0},
                   tensor->rank,
                   {tensor->element.code, tensor->element.bits, 1},
                   shape,
                   NULL,
                   0};
  return made;
}

gatefold_model *createPrepared(void) {
  gatefold_model *model = NULL;
  if (gatefold_create_cuda(&cudaSample, 0, &model) != GATEFOLD_OK)
    return model;
  float w = 3;
  int64_t one = 1;
  DLTensor tensor = makeLike(&parameters[0], &w, &one);
  const char *names[] = {"w"};
  const DLTensor *tensors[] = {&tensor};
  gatefold_prepare(model, 1, names, tensors);
  return model;
}

gatefold_status setUpCuda(CudaCase *data, int64_t time) {
  memset(data, 0, sizeof(*data));
  data->model = createPrepared();
  gatefold_status status = gatefold_context_create(data->model, &data->context);
  for (int i = 0; i < BATCH * TIME; ++i)
    data->x[i] = (float)(i % 5) - 2;
  for (int i = 0; i < BATCH; ++i) {
    data->lengths[i] = i < time ? i : (int32_t)time;
    data->keep[i] = i != 0;
    data->state[i] = (float)i / 4;
  }
  const int64_t shapes[INPUT_COUNT + RESULT_COUNT][2] = {
      {BATCH, time}, {BATCH}, {BATCH}, {BATCH}, {BATCH, time}, {BATCH}};
  memcpy(data->shapes, shapes, sizeof(shapes));
  void *memory[] = {data->x,     data->lengths, data->keep,
                    data->state, data->y,       data->newState};
  for (int i = 0; i < INPUT_COUNT + RESULT_COUNT; ++i) {
    const gatefold_tensor *tensor =
        i < INPUT_COUNT ? &inputs[i] : &results[i - INPUT_COUNT];
    data->host[i] = makeLike(tensor, memory[i], data->shapes[i]);
    data->gpu[i] = data->host[i];
    data->gpu[i].device.device_type = kDLCUDA;
    if (!status)
      status =
          gatefold_allocate(data->model, BATCH * TIME * 4, &data->gpu[i].data);
    else
      data->gpu[i].data = NULL;
    if (i < INPUT_COUNT)
      data->inputs[i] = &data->gpu[i];
    else
      data->results[i - INPUT_COUNT] = &data->gpu[i];
  }
  return status ? status : giveInputs(data);
}

void tearDownCuda(CudaCase *data) {
  for (int i = 0; i < INPUT_COUNT + RESULT_COUNT; ++i)
    gatefold_free(data->model, data->gpu[i].data);
  gatefold_context_destroy(data->context);
  gatefold_destroy(data->model);
}

gatefold_status giveInputs(CudaCase *data) {
  for (int i = 0; i < INPUT_COUNT; ++i) {
    gatefold_status status =
        gatefold_copy(data->context, &data->gpu[i], &data->host[i]);
    if (status)
      return status;
  }
  return GATEFOLD_OK;
}

gatefold_status takeResults(CudaCase *data) {
  for (int i = 0; i < RESULT_COUNT; ++i) {
    gatefold_status status = gatefold_copy(
        data->context, &data->host[INPUT_COUNT + i], data->results[i]);
    if (status)
      return status;
  }
  return GATEFOLD_OK;
}

gatefold_status runCuda(CudaCase *data) {
  return gatefold_run(data->context, data->inputs, data->results, NULL, 0);
}

int isCudaRight(const CudaCase *data, const float *state) {
  int64_t time = data->shapes[X][1];
  int right = 1;
  for (int64_t b = 0; b < BATCH; ++b) {
    float sum = state[b];
    for (int64_t t = 0; t < time; ++t) {
      float y = 0;
      if (t < data->lengths[b] && data->keep[b])
        y = 6 * data->x[b * time + t] + 0.25f;
      right &= data->y[b * time + t] == y;
      sum += y;
    }
    right &= data->newState[b] == sum;
  }
  return right;
}
