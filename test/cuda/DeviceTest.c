/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * DeviceTest.c - which GPU and which kernels a model gets, and what it says
 * where there are none.
 */
#include "CudaSample.h"

#include "test/runtime/Harness.h"

#include <string.h>

/* What gatefold_create_cuda gives with such a GPU, and with what message. */
static void checkCreate(const char *settings, int32_t device,
                        gatefold_status wanted, const char *message) {
  setGpu(settings);
  gatefold_model *model = NULL;
  gatefold_status status = gatefold_create_cuda(&cudaSample, device, &model);
  CHECK_MODEL_STATUS(model, status, wanted, message);
  /* It holds the message and nothing else. */
  if (status != GATEFOLD_OK) {
    gatefold_context *context;
    CHECK(gatefold_prepare(model, 0, NULL, NULL) == status);
    CHECK(gatefold_context_create(model, &context) == status && !context);
    CHECK(!strcmp(gatefold_device(model), "CPU"));
  }
  gatefold_destroy(model);
  CHECK_REPORT();
}

static void checkDevice(const char *settings, const char *text) {
  setGpu(settings);
  gatefold_model *model = NULL;
  CHECK(gatefold_create_cuda(&cudaSample, 0, &model) == GATEFOLD_OK);
  if (strcmp(gatefold_device(model), text))
    CHECK_MODEL_STATUS(model, GATEFOLD_OK, GATEFOLD_OK, gatefold_device(model));
  CHECK(!strcmp(gatefold_device(model), text));
  gatefold_destroy(model);
  CHECK_REPORT();
}

void testDevices(void) {
  checkCreate("", 0, GATEFOLD_OK, "");
  checkCreate("count=2", 1, GATEFOLD_OK, "");
  checkCreate("count=2", 2, GATEFOLD_NO_DEVICE,
              "no GPU number 2: the CUDA driver finds 2, from 0");
  checkCreate("", -1, GATEFOLD_NO_DEVICE,
              "no GPU number -1: the CUDA driver finds 1, from 0");
  checkCreate("count=0", 0, GATEFOLD_NO_DEVICE,
              "no GPU: the CUDA driver finds none");
  checkCreate("initialise=100", 0, GATEFOLD_NO_DEVICE,
              "no GPU: libcuda.so.1 says: no CUDA-capable device is detected "
              "(100)");
  checkCreate("initialise=34", 0, GATEFOLD_NO_DEVICE,
              "no GPU: libcuda.so.1 is the stub of a CUDA toolkit, no driver");
  checkCreate("initialise=803", 0, GATEFOLD_NO_DEVICE,
              "no GPU: libcuda.so.1 says: an error without a text (803)");
  checkCreate("cooperative=0", 0, GATEFOLD_NO_DEVICE,
              "no GPU: Fake GPU (sm_90) cannot launch blocks that wait for "
              "each other");
  checkCreate("capability=75", 0, GATEFOLD_NO_DEVICE,
              "no kernels for Fake GPU (sm_75): the program has kernels for "
              "sm_90, sm_80, sm_90a");
  checkCreate(
      "blocks=0", 0, GATEFOLD_DEVICE_ERROR,
      "kernel `run`, 64 threads and 0 bytes of shared memory a block, on "
      "Fake GPU (sm_90), kernels for sm_90a: no block fits on a "
      "multiprocessor");

  gatefold_model *model = NULL;
  CHECK(gatefold_create_cuda(NULL, 0, &model) == GATEFOLD_INVALID_ARGUMENT);
  CHECK(!model);
  CHECK(gatefold_create_cuda(&cudaSample, 0, NULL) ==
        GATEFOLD_INVALID_ARGUMENT);

  char text[200];
  setGpu("count=2 version=12040");
  CHECK(gatefold_cuda_devices(text, sizeof(text)) == 2);
  CHECK(!strcmp(text, "CUDA driver 12.4\n"
                      "GPU 0: Fake GPU (sm_90), 4 multiprocessors\n"
                      "GPU 1: Fake GPU (sm_90), 4 multiprocessors"));
  CHECK(gatefold_cuda_devices(text, 5) == 2 && !strcmp(text, "CUDA"));
  CHECK(gatefold_cuda_devices(NULL, 0) == 2);
  setGpu("count=0");
  CHECK(gatefold_cuda_devices(text, sizeof(text)) == 0);
  CHECK(!strcmp(text, "no GPU: the CUDA driver finds none"));
  setGpu("initialise=34");
  CHECK(gatefold_cuda_devices(text, sizeof(text)) == 0);
  CHECK(!strcmp(text, "no GPU: libcuda.so.1 is the stub of a CUDA toolkit, no "
                      "driver"));
  CHECK_REPORT();
}

void testVariants(void) {
  checkDevice("capability=80", "Fake GPU (sm_80), kernels for sm_80");
  checkDevice("capability=89", "Fake GPU (sm_89), kernels for sm_80");
  checkDevice("capability=90", "Fake GPU (sm_90), kernels for sm_90a");
  checkDevice("capability=100", "Fake GPU (sm_100), kernels for sm_90");
  checkDevice("capability=120", "Fake GPU (sm_120), kernels for sm_90");

  /* An image that is not for the GPU: the next one that suits it. */
  cudaVariants[2].image = "no binary";
  checkDevice("capability=90", "Fake GPU (sm_90), kernels for sm_90");
  cudaVariants[0].image = "new ptx";
  checkDevice("capability=90", "Fake GPU (sm_90), kernels for sm_80");
  cudaVariants[1].image = "no binary";
  checkCreate("capability=90", 0, GATEFOLD_NO_DEVICE,
              "no kernels for Fake GPU (sm_90): the program has kernels for "
              "sm_90, sm_80, sm_90a; of those for sm_80 the CUDA driver says: "
              "no kernel image is available for execution on the device (209)");
  for (int i = 0; i < 3; ++i)
    cudaVariants[i].image = sampleKernels;

  /* A family's are for newer ones of it. */
  cudaVariants[2].target = "sm_100f";
  checkDevice("capability=103", "Fake GPU (sm_103), kernels for sm_100f");
  checkDevice("capability=110", "Fake GPU (sm_110), kernels for sm_90");
  cudaVariants[2].target = "sm_x";
  checkDevice("capability=90", "Fake GPU (sm_90), kernels for sm_90");
  cudaVariants[2].target = "sm_90a";

  cudaSample.variant_count = 0;
  checkCreate("", 0, GATEFOLD_NO_DEVICE,
              "no kernels for Fake GPU (sm_90): the program has no kernels for "
              "GPUs");
  cudaSample.variant_count = 3;

  /* Shared memory beyond what every GPU has, and beyond what any has. */
  cudaVariants[2].run.shared_bytes = 100 << 10;
  checkDevice("", "Fake GPU (sm_90), kernels for sm_90a");
  cudaVariants[2].run.shared_bytes = 300 << 10;
  checkCreate(
      "", 0, GATEFOLD_DEVICE_ERROR,
      "kernel `run`, 64 threads and 307200 bytes of shared memory a block, "
      "on Fake GPU (sm_90), kernels for sm_90a: invalid argument (1)");
  cudaVariants[2].run.shared_bytes = 0;
  cudaVariants[2].run.name = "walk";
  checkCreate(
      "", 0, GATEFOLD_DEVICE_ERROR,
      "kernel `walk`, 64 threads and 0 bytes of shared memory a block, on "
      "Fake GPU (sm_90), kernels for sm_90a: named symbol not found "
      "(500)");
  cudaVariants[2].run.name = "run";

  /* A compiler's faults. */
  const char prefix[] = "malformed description: kernels for sm_90a: ";
  char message[200];
  gatefold_variant right = cudaVariants[2];
#define CHECK_FAULT(change, what)                                              \
  change;                                                                      \
  strcpy(message, prefix);                                                     \
  strcat(message, what);                                                       \
  checkCreate("", 0, GATEFOLD_INVALID_ARGUMENT, message);                      \
  cudaVariants[2] = right
  CHECK_FAULT(cudaVariants[2].image = NULL, "a part is missing");
  CHECK_FAULT(cudaVariants[2].run.threads = 0,
              "the threads or the shared memory of a block");
  CHECK_FAULT(cudaVariants[2].run.word_count = 1 << 20,
              "the number of a kernel's parameters");
  CHECK_FAULT(cudaVariants[2].prepare.words = right.run.words,
              "a parameter of a kernel");
  CHECK_FAULT(cudaVariants[2].prepare.name = NULL, "the kernel of `prepare`");
  gatefold_description other = *right.program;
  --other.input_count;
  other.value_check_count = 0;
  CHECK_FAULT(cudaVariants[2].program = &other,
              "its interface is not that of the program");
}
