/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * CudaPrepareTest.c - weights on a GPU: from the host, from the GPU, embedded,
 * in pieces, and what the kernel of `prepare` reports.
 */
#include "CudaSample.h"

#include "test/runtime/Harness.h"

#include <string.h>

static int64_t one = 1;

static DLTensor vector(void *data, DLDeviceType type) {
  DLTensor made = {data, {type, 0}, 1, {kDLFloat, 32, 1}, &one, NULL, 0};
  return made;
}

static gatefold_model *create(void) {
  setGpu("");
  gatefold_model *model = NULL;
  CHECK(gatefold_create_cuda(&cudaSample, 0, &model) == GATEFOLD_OK);
  return model;
}

static gatefold_status give(gatefold_model *model, const DLTensor *w) {
  const char *names[] = {"w"};
  return gatefold_prepare(model, 1, names, &w);
}

/* y[2, 0] = 2 w x[2, 0] + b; the lengths of row 2 are 2. */
static void checkWeights(gatefold_model *model, float w, float b) {
  CudaCase data;
  CHECK(setUpCuda(&data, TIME) == GATEFOLD_OK);
  gatefold_model *other = data.model;
  gatefold_context *context;
  CHECK(gatefold_context_create(model, &context) == GATEFOLD_OK);
  CHECK_STATUS(context, gatefold_context_reserve(context, data.inputs),
               GATEFOLD_OK, "");
  CHECK_STATUS(context,
               gatefold_run(context, data.inputs, data.results, NULL, 0),
               GATEFOLD_OK, "");
  CHECK_STATUS(context, gatefold_context_finish(context), GATEFOLD_OK, "");
  CHECK(takeResults(&data) == GATEFOLD_OK);
  CHECK(data.y[2 * TIME] == 2 * w * data.x[2 * TIME] + b);
  gatefold_context_destroy(context);
  gatefold_destroy(model);
  CHECK(data.model == other);
  tearDownCuda(&data);
  CHECK_REPORT();
}

void testCudaPrepare(void) {
  float w = 3;
  DLTensor host = vector(&w, kDLCPU);
  gatefold_model *model = create();
  CHECK_MODEL_STATUS(model, give(model, &host), GATEFOLD_OK, "");
  w = 0;
  CHECK_MODEL_STATUS(model, give(model, &host), GATEFOLD_INVALID_ARGUMENT,
                     "the model is prepared already: make another one for "
                     "other weights");
  checkWeights(model, 3, 0.25f);

  /* What the kernel reports; afterwards the model is as before. */
  model = create();
  CHECK_MODEL_STATUS(model, give(model, &host), GATEFOLD_BAD_DATA,
                     "m.gf:3:11: max of no elements");
  CHECK_MODEL_STATUS(model, gatefold_prepare(model, 0, NULL, NULL),
                     GATEFOLD_MISSING_WEIGHT,
                     "parameter `w` [1] is not in the weights");
  CHECK_MODEL_STATUS(model, give(model, NULL), GATEFOLD_INVALID_ARGUMENT,
                     "weight number 0 has no name or no tensor: it is null");
  w = 5;
  CHECK_MODEL_STATUS(model, give(model, &host), GATEFOLD_OK, "");
  checkWeights(model, 5, 0.25f);

  /* From the GPU, and both at once. */
  model = create();
  gatefold_context *context;
  CHECK(gatefold_context_create(model, &context) == GATEFOLD_OK);
  void *memory;
  CHECK(gatefold_allocate(model, 4, &memory) == GATEFOLD_OK);
  DLTensor gpu = vector(memory, kDLCUDA);
  CHECK_STATUS(context, gatefold_copy(context, &gpu, &host), GATEFOLD_OK, "");
  float b = 7;
  DLTensor hostB = vector(&b, kDLCPU);
  const char *names[] = {"b", "w"};
  const DLTensor *tensors[] = {&hostB, &gpu};
  CHECK_MODEL_STATUS(model, gatefold_prepare(model, 2, names, tensors),
                     GATEFOLD_OK, "");
  gatefold_free(model, memory);
  gatefold_context_destroy(context);
  checkWeights(model, 5, 7);

  model = create();
  gpu.device.device_id = 1;
  CHECK_MODEL_STATUS(model, give(model, &gpu), GATEFOLD_INVALID_ARGUMENT,
                     "parameter `w` is on GPU 1 in the weights, expected GPU 0 "
                     "(kDLCUDA) or the CPU");
  gpu.device.device_type = kDLROCM;
  CHECK_MODEL_STATUS(model, give(model, &gpu), GATEFOLD_INVALID_ARGUMENT,
                     "parameter `w` is on a device of type 10 (ROCm) in the "
                     "weights, expected GPU 0 (kDLCUDA) or the CPU");
  gatefold_destroy(model);

  /* Embedded in the variant's description. */
  static const float embeddedW = 11;
  const void *const embedded[] = {&embeddedW, NULL};
  gatefold_description program = *cudaVariants[2].program;
  const gatefold_description *before = cudaVariants[2].program;
  program.embedded = embedded;
  cudaVariants[2].program = &program;
  model = create();
  CHECK_MODEL_STATUS(model, gatefold_prepare(model, 0, NULL, NULL), GATEFOLD_OK,
                     "");
  cudaVariants[2].program = before;
  checkWeights(model, 11, 0.25f);
}
