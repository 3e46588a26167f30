/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * PrepareTest.c - weights: names, shapes, types, defaults, embedded ones.
 */
#include "Harness.h"
#include "Sample.h"

#include <stdio.h>
#include <string.h>

/* Weights that fit, for a test to spoil. */
typedef struct Weights {
  float weight[16];
  int64_t scale;
  int64_t weightShape[2], scaleShape[1], weightStrides[2];
  DLTensor weightTensor, scaleTensor;
  const char *names[4];
  const DLTensor *tensors[4];
} Weights;

static void setUpWeights(Weights *w) {
  memset(w, 0, sizeof(*w));
  w->weightShape[0] = w->weightShape[1] = 2;
  w->scaleShape[0] = 1;
  w->scale = 2;
  for (int i = 0; i < 16; ++i)
    w->weight[i] = (float)(i + 1);
  w->weightTensor = makeTensor(w->weight, kDLFloat, 32, 2, w->weightShape);
  w->scaleTensor = makeTensor(&w->scale, kDLInt, 64, 1, w->scaleShape);
  w->names[0] = "fc.weight";
  w->names[1] = "scale";
  w->tensors[0] = &w->weightTensor;
  w->tensors[1] = &w->scaleTensor;
}

static void refuse(Weights *w, size_t count, gatefold_status status,
                   const char *message) {
  gatefold_model *model = NULL;
  CHECK(gatefold_create(&sample, &model) == GATEFOLD_OK);
  CHECK_MODEL_STATUS(model,
                     gatefold_prepare(model, count, w->names, w->tensors),
                     status, message);
  /* An error leaves the model to be prepared. */
  setUpWeights(w);
  CHECK_MODEL_STATUS(model, gatefold_prepare(model, 2, w->names, w->tensors),
                     GATEFOLD_OK, "");
  gatefold_destroy(model);
}

static void testNames(Weights *w) {
  setUpWeights(w);
  w->names[0] = "fc.wieght";
  refuse(w, 2, GATEFOLD_MISSING_WEIGHT,
         "parameter `fc.weight` [2, 2] is not in the weights; did you mean "
         "`fc.wieght`?");
  setUpWeights(w);
  refuse(w, 0, GATEFOLD_MISSING_WEIGHT,
         "parameter `fc.weight` [2, 2] is not in the weights\n"
         "parameter `scale` [1] is not in the weights");
  setUpWeights(w);
  w->names[2] = "fc.bais";
  w->tensors[2] = &w->weightTensor;
  w->names[3] = "unlike\nanything";
  w->tensors[3] = &w->weightTensor;
  refuse(w, 4, GATEFOLD_INVALID_ARGUMENT,
         "no parameter has the name `fc.bais`; did you mean `fc.bias`?\n"
         "no parameter has the name `unlike?anything`");
  setUpWeights(w);
  w->names[2] = "fc.weight";
  w->tensors[2] = &w->weightTensor;
  refuse(w, 3, GATEFOLD_INVALID_ARGUMENT,
         "the weight `fc.weight` is given twice");
  setUpWeights(w);
  w->names[1] = NULL;
  refuse(w, 2, GATEFOLD_INVALID_ARGUMENT,
         "weight number 1 has no name or no tensor: it is null");
}

static void testTensors(Weights *w) {
  setUpWeights(w);
  w->weightShape[1] = 3;
  refuse(w, 2, GATEFOLD_INVALID_ARGUMENT,
         "parameter `fc.weight` is [2, 3] in the weights, expected [2, 2]");
  setUpWeights(w);
  w->weightTensor.ndim = 1;
  refuse(w, 2, GATEFOLD_INVALID_ARGUMENT,
         "parameter `fc.weight` has 1 dimension in the weights, expected 2: "
         "[2, 2]");
  setUpWeights(w);
  w->weightTensor.dtype.bits = 16;
  refuse(w, 2, GATEFOLD_INVALID_ARGUMENT,
         "parameter `fc.weight` is f16 in the weights, expected f32");
  setUpWeights(w);
  w->scaleTensor.dtype.code = kDLUInt;
  refuse(w, 2, GATEFOLD_INVALID_ARGUMENT,
         "parameter `scale` is u64 in the weights, expected i64");
  setUpWeights(w);
  w->scaleTensor.device.device_type = kDLCUDA;
  refuse(w, 2, GATEFOLD_INVALID_ARGUMENT,
         "parameter `scale` is on a device of type 2 (CUDA) in the weights, "
         "expected the CPU");
  setUpWeights(w);
  w->scaleTensor.data = NULL;
  refuse(w, 2, GATEFOLD_INVALID_ARGUMENT,
         "parameter `scale` is [1] in the weights, but its data is null");
}

static void testTwice(void) {
  gatefold_model *model = prepareSample();
  CHECK_MODEL_STATUS(model, gatefold_prepare(model, 0, NULL, NULL),
                     GATEFOLD_INVALID_ARGUMENT,
                     "the model is prepared already: make another one for "
                     "other weights");
  gatefold_destroy(model);
}

/* Runs the sample, whose results tell the weights. */
static int computesRight(gatefold_model *model) {
  gatefold_context *context = NULL;
  CHECK(gatefold_context_create(model, &context) == GATEFOLD_OK);
  Case data;
  setUp(&data, 2, 3);
  CHECK_STATUS(context, runCase(context, &data), GATEFOLD_OK, "");
  int right = isRight(&data, data.state);
  gatefold_context_destroy(context);
  return right;
}

/* A transposed, misaligned weight, freed (here: spoilt) after prepare. */
static void testStrides(Weights *w) {
  setUpWeights(w);
  static const float transposed[] = {1, 3, 2, 4};
  char *bytes = (char *)w->weight + 1;
  memcpy(bytes, transposed, sizeof(transposed));
  w->weightTensor.byte_offset = 1;
  w->weightStrides[0] = 1;
  w->weightStrides[1] = 2;
  w->weightTensor.strides = w->weightStrides;
  gatefold_model *model = NULL;
  CHECK(gatefold_create(&sample, &model) == GATEFOLD_OK);
  CHECK_MODEL_STATUS(model, gatefold_prepare(model, 2, w->names, w->tensors),
                     GATEFOLD_OK, "");
  memset(w->weight, 0, sizeof(w->weight));
  w->scale = 0;
  CHECK(computesRight(model));
  gatefold_destroy(model);
}

/* Embedded weights: one aligned, which is used where it is, one not, one null;
 * and a weight that is given wins over the embedded one. */
static void testEmbedded(Weights *w) {
  static _Alignas(64) float weight[] = {1, 2, 3, 4};
  static _Alignas(64) char scaleMemory[24];
  int64_t scale = 2;
  memcpy(scaleMemory + 8, &scale, 8);
  const void *embedded[] = {weight, NULL, scaleMemory + 8};
  gatefold_description description = sample;
  description.embedded = embedded;
  gatefold_model *model = NULL;
  CHECK(gatefold_create(&description, &model) == GATEFOLD_OK);
  CHECK_MODEL_STATUS(model, gatefold_prepare(model, 0, NULL, NULL), GATEFOLD_OK,
                     "");
  CHECK(computesRight(model));
  weight[0] = 9;
  CHECK(!computesRight(model)); /* not a copy */
  gatefold_destroy(model);

  setUpWeights(w);
  CHECK(gatefold_create(&description, &model) == GATEFOLD_OK);
  CHECK_MODEL_STATUS(model, gatefold_prepare(model, 1, w->names, w->tensors),
                     GATEFOLD_OK, "");
  CHECK(computesRight(model));
  gatefold_destroy(model);
}

/* More are missing than are listed, and names are longer than a message. */
static void testManyMissing(void) {
  enum { count = 14 };
  static char names[count][600];
  gatefold_tensor parameters[count];
  for (int i = 0; i < count; ++i) {
    memset(names[i], 'a' + i, sizeof(names[i]) - 1);
    parameters[i] = sample.parameters[WEIGHT];
    parameters[i].name = names[i];
  }
  gatefold_description description = sample;
  description.parameters = parameters;
  description.parameter_count = count;
  gatefold_model *model = NULL;
  CHECK(gatefold_create(&description, &model) == GATEFOLD_OK);
  CHECK(gatefold_prepare(model, 0, NULL, NULL) == GATEFOLD_MISSING_WEIGHT);
  const char *message = gatefold_message(model);
  CHECK(strlen(message) < 4096);
  CHECK(
      strstr(message, "aaa...` [2, 2] is not in the weights\nparameter `bbb"));
  CHECK(strstr(message, "\nparameter `jjj"));
  CHECK(!strstr(message, "\nparameter `kkk"));
  CHECK(strstr(message, "\nand 4 more parameters"));
  /* Names no parameter has, and so many that looking for the nearest is cut. */
  enum { given = 5000 };
  static char givenNames[given][12];
  static const char *givenPointers[given];
  static const DLTensor *tensors[given];
  static DLTensor tensor;
  for (int i = 0; i < given; ++i) {
    snprintf(givenNames[i], sizeof(givenNames[i]), "%d", i);
    givenPointers[i] = givenNames[i];
    tensors[i] = &tensor;
  }
  CHECK(gatefold_prepare(model, given, givenPointers, tensors) ==
        GATEFOLD_MISSING_WEIGHT);
  description.parameter_count = 0;
  gatefold_destroy(model);
  CHECK(gatefold_create(&description, &model) == GATEFOLD_OK);
  CHECK(gatefold_prepare(model, given, givenPointers, tensors) ==
        GATEFOLD_INVALID_ARGUMENT);
  CHECK(strstr(gatefold_message(model), "\nand 4990 more names"));
  gatefold_destroy(model);
}

void testPrepare(void) {
  Weights weights;
  testNames(&weights);
  testTensors(&weights);
  testTwice();
  testStrides(&weights);
  testEmbedded(&weights);
  testManyMissing();
}
