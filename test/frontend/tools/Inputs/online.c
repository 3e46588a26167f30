// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Runs libonline.so on two chunks, the state carried over, and writes y, y, h as
// raw floats. The argument is the folder of the weights and inputs.

#include "online.h"

#include <stdio.h>
#include <stdlib.h>

enum { B = 2, T = 5, I = 3, H = 4 };

static void check(online_status status, const char *message) {
  if (status == ONLINE_OK)
    return;
  fprintf(stderr, "status %d: %s\n", (int)status, message);
  exit(1);
}

static void readFloats(const char *folder, const char *name, float *values, size_t count) {
  char path[4096];
  snprintf(path, sizeof(path), "%s/%s.raw", folder, name);
  FILE *file = fopen(path, "rb");
  if (!file || fread(values, sizeof(float), count, file) != count) {
    fprintf(stderr, "cannot read %s\n", path);
    exit(1);
  }
  fclose(file);
}

static DLTensor tensor(void *data, uint8_t code, uint8_t bits, int32_t rank, int64_t *shape) {
  DLTensor result = {0};
  result.data = data;
  result.device.device_type = kDLCPU;
  result.ndim = rank;
  result.dtype.code = code;
  result.dtype.bits = bits;
  result.dtype.lanes = 1;
  result.shape = shape;
  return result;
}

int main(int argc, char **argv) {
  if (argc != 2)
    return 2;
  online_model *model = NULL;
  check(online_create(&model), "create");

  static float weightIh[3 * H * I], weightHh[3 * H * H], biasIh[3 * H], biasHh[3 * H];
  const char *names[] = {"rnn.weight_ih_l0", "rnn.weight_hh_l0", "rnn.bias_ih_l0",
                         "rnn.bias_hh_l0"};
  float *values[] = {weightIh, weightHh, biasIh, biasHh};
  int64_t shapes[][2] = {{3 * H, I}, {3 * H, H}, {3 * H, 0}, {3 * H, 0}};
  DLTensor weights[4];
  const DLTensor *weightPointers[4];
  for (int i = 0; i < 4; ++i) {
    int32_t rank = i < 2 ? 2 : 1;
    size_t count = (size_t)shapes[i][0] * (rank == 2 ? (size_t)shapes[i][1] : 1);
    readFloats(argv[1], names[i], values[i], count);
    weights[i] = tensor(values[i], kDLFloat, 32, rank, shapes[i]);
    weightPointers[i] = &weights[i];
  }
  check(online_prepare(model, 4, names, weightPointers), online_message(model));
  // Prepared weights are copies.
  weightIh[0] = weightHh[0] = biasIh[0] = biasHh[0] = 1e30f;

  online_context *context = NULL;
  check(online_context_create(model, &context), online_message(model));

  static float x[B * T * I], y[B * T * H], h[B * H];
  int64_t lengths[B] = {5, 2};
  int64_t xShape[] = {B, T, I}, lengthsShape[] = {B}, hShape[] = {1, B, H}, yShape[] = {0, 0, 0};
  DLTensor inputs[ONLINE_INPUT_COUNT], results[ONLINE_RESULT_COUNT];
  const DLTensor *inputPointers[ONLINE_INPUT_COUNT];
  DLTensor *resultPointers[ONLINE_RESULT_COUNT];
  inputs[ONLINE_INPUT_X] = tensor(x, kDLFloat, 32, 3, xShape);
  inputs[ONLINE_INPUT_LENGTHS] = tensor(lengths, kDLInt, 64, 1, lengthsShape);
  inputs[ONLINE_INPUT_H] = tensor(h, kDLFloat, 32, 3, hShape);
  results[ONLINE_RESULT_Y] = tensor(y, kDLFloat, 32, 3, yShape);
  results[ONLINE_RESULT_H] = tensor(h, kDLFloat, 32, 3, hShape);
  for (int i = 0; i < ONLINE_INPUT_COUNT; ++i)
    inputPointers[i] = &inputs[i];
  for (int i = 0; i < ONLINE_RESULT_COUNT; ++i)
    resultPointers[i] = &results[i];

  int64_t stateShape[3];
  int64_t *resultShapes[ONLINE_RESULT_COUNT];
  resultShapes[ONLINE_RESULT_Y] = yShape;
  resultShapes[ONLINE_RESULT_H] = stateShape;
  check(online_result_shapes(context, inputPointers, resultShapes),
        online_context_message(context));
  if (yShape[0] != B || yShape[1] != T || yShape[2] != H || stateShape[2] != H)
    return 3;
  h[0] = 7;
  check(online_initial_state(context, ONLINE_INPUT_H, &inputs[ONLINE_INPUT_H]),
        online_context_message(context));
  if (h[0] != 0)
    return 4;

  const char *chunks[] = {"chunk0", "chunk1"};
  for (int i = 0; i < 2; ++i) {
    readFloats(argv[1], chunks[i], x, B * T * I);
    check(online_run(context, inputPointers, resultPointers, NULL, 0),
          online_context_message(context));
    fwrite(y, sizeof(float), B * T * H, stdout);
  }
  fwrite(h, sizeof(float), B * H, stdout);
  online_context_destroy(context);
  online_destroy(model);
  return 0;
}
