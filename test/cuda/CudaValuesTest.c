/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * CudaValuesTest.c - values that are out of range: found by the GPU where it
 * alone can read them, by the host in pinned memory.
 */
#include "CudaSample.h"

#include "test/runtime/Harness.h"

#include <string.h>

static void setUp(CudaCase *data) {
  setGpu("");
  CHECK_STATUS(data->context, setUpCuda(data, TIME), GATEFOLD_OK, "");
  CHECK(gatefold_context_reserve(data->context, data->inputs) == GATEFOLD_OK);
}

/* The run is refused, and computes nothing. */
static void checkRefused(CudaCase *data, const char *message) {
  memset(data->y, 0x11, sizeof(data->y));
  memset(data->newState, 0x11, sizeof(data->newState));
  for (int r = 0; r < RESULT_COUNT; ++r)
    CHECK(gatefold_copy(data->context, data->results[r],
                        &data->host[INPUT_COUNT + r]) == GATEFOLD_OK);
  CHECK(giveInputs(data) == GATEFOLD_OK);
  CHECK_STATUS(data->context, runCuda(data), GATEFOLD_OK, "");
  CHECK_STATUS(data->context, gatefold_context_finish(data->context),
               GATEFOLD_BAD_DATA, message);
  CHECK(takeResults(data) == GATEFOLD_OK);
  for (size_t i = 0; i < sizeof(data->y); ++i)
    CHECK(((char *)data->y)[i] == 0x11);
  for (size_t i = 0; i < sizeof(data->newState); ++i)
    CHECK(((char *)data->newState)[i] == 0x11);
}

static void checkRight(CudaCase *data) {
  CHECK(giveInputs(data) == GATEFOLD_OK);
  CHECK_STATUS(data->context, runCuda(data), GATEFOLD_OK, "");
  CHECK_STATUS(data->context, gatefold_context_finish(data->context),
               GATEFOLD_OK, "");
  CHECK(takeResults(data) == GATEFOLD_OK && isCudaRight(data, data->state));
}

static void testOnGpu(void) {
  CudaCase data;
  setUp(&data);
  data.lengths[1] = 5;
  data.lengths[2] = -9;
  checkRefused(&data, "`lengths`[1] is 5, expected 0..4");
  data.lengths[1] = 4;
  checkRefused(&data, "`lengths`[2] is -9, expected 0..4");
  data.lengths[2] = 0;
  data.keep[2] = 255;
  checkRefused(&data, "`keep`[2] is the byte 255, expected a bool: 0 or 1");
  data.lengths[0] = 100;
  checkRefused(&data, "`lengths`[0] is 100, expected 0..4");
  data.lengths[0] = 4;
  data.keep[2] = 1;
  checkRight(&data);
  tearDownCuda(&data);
  CHECK_REPORT();
}

/* The host looks at the call. */
static void testPinned(void) {
  CudaCase data;
  setUp(&data);
  void *pinned;
  CHECK(driver.allocatePinned(&pinned, BATCH * 4) == 0);
  DLTensor lengths = data.gpu[LENGTHS];
  lengths.device.device_type = kDLCUDAHost;
  lengths.data = pinned;
  data.inputs[LENGTHS] = &lengths;
  data.lengths[1] = 7;
  memcpy(pinned, data.lengths, sizeof(data.lengths));
  CHECK_STATUS(data.context, runCuda(&data), GATEFOLD_BAD_DATA,
               "`lengths`[1] is 7, expected 0..4");
  data.lengths[1] = 3;
  memcpy(pinned, data.lengths, sizeof(data.lengths));
  checkRight(&data);

  /* A graph reads them whenever it is launched, so there the GPU looks. */
  void *stream, *graph, *instance;
  CHECK(driver.createStream(&stream, 1) == 0);
  CHECK(gatefold_context_stream(data.context, stream) == GATEFOLD_OK);
  CHECK(driver.beginCapture(stream, 0) == 0);
  CHECK_STATUS(data.context, runCuda(&data), GATEFOLD_OK, "");
  CHECK(driver.endCapture(stream, &graph) == 0);
  CHECK(driver.instantiate(&instance, graph, 0) == 0);
  ((int32_t *)pinned)[2] = 8;
  CHECK(driver.launchGraph(instance, stream) == 0);
  CHECK_STATUS(data.context, gatefold_context_finish(data.context),
               GATEFOLD_BAD_DATA, "`lengths`[2] is 8, expected 0..4");
  tearDownCuda(&data);
  CHECK(driver.destroyStream(stream) == 0);
  CHECK(driver.freePinned(pinned) == 0);
  CHECK_REPORT();
}

void testCudaValues(void) {
  testOnGpu();
  testPinned();
}
