/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * CudaTest.c - models on a GPU, over the fake driver; with `none` as argument,
 * what is said where there is no driver.
 */
#include "CudaSample.h"

#include "test/runtime/Harness.h"

#include <stdio.h>
#include <string.h>

static int testNone(void) {
  gatefold_model *model = NULL;
  CHECK(gatefold_create_cuda(&cudaSample, 0, &model) == GATEFOLD_NO_DEVICE);
  static const char begin[] =
      "no GPU: the CUDA driver cannot be opened: libcuda.so.1: ";
  CHECK(!strncmp(gatefold_message(model), begin, strlen(begin)));
  char text[300];
  CHECK(gatefold_cuda_devices(text, sizeof(text)) == 0);
  CHECK(!strcmp(text, gatefold_message(model)));
  gatefold_destroy(model);
  /* The CPU is there. */
  CHECK(gatefold_create(&cudaSample, &model) == GATEFOLD_OK);
  gatefold_destroy(model);
  return finish();
}

int main(int count, char **arguments) {
  if (count > 1 && !strcmp(arguments[1], "none"))
    return testNone();
  if (!openDriver()) {
    printf("libcuda.so.1 is not the fake driver: see test/cuda/README.md\n");
    return 1;
  }
  testDevices();
  testVariants();
  testCudaPrepare();
  testCudaRun();
  testCudaValues();
  testGraphs();
  testFaults();
  return finish();
}
