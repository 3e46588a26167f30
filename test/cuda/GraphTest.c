/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * GraphTest.c - runs that a stream captures into a graph.
 */
#include "CudaSample.h"

#include "test/runtime/Harness.h"

#include <string.h>

void testGraphs(void) {
  setGpu("");
  CudaCase data;
  CHECK(setUpCuda(&data, TIME) == GATEFOLD_OK);
  CHECK(gatefold_context_reserve(data.context, data.inputs) == GATEFOLD_OK);
  void *stream, *graph, *instance;
  CHECK(driver.createStream(&stream, 1) == 0);
  CHECK(gatefold_context_stream(data.context, stream) == GATEFOLD_OK);
  float zeros[BATCH * TIME] = {0}, state[BATCH];
  data.results[NEW_STATE] = &data.gpu[STATE];

  /* Two steps, the second of which begins with the first one's state. */
  CHECK(driver.beginCapture(stream, 0) == 0);
  CHECK_STATUS(data.context, runCuda(&data), GATEFOLD_OK, "");
  CHECK_STATUS(data.context, runCuda(&data), GATEFOLD_OK, "");
  CHECK(driver.endCapture(stream, &graph) == 0);
  CHECK(driver.instantiate(&instance, graph, 0) == 0);

  /* Nothing has run yet. */
  memcpy(data.y, zeros, sizeof(zeros));
  memcpy(state, data.state, sizeof(state));
  for (int replay = 0; replay < 3; ++replay) {
    /* Other values at the same place. */
    data.x[TIME + 0] = (float)replay;
    CHECK(gatefold_copy(data.context, &data.gpu[X], &data.host[X]) ==
          GATEFOLD_OK);
    CHECK(driver.launchGraph(instance, stream) == 0);
    CHECK_STATUS(data.context, gatefold_context_finish(data.context),
                 GATEFOLD_OK, "");
    CHECK(takeResults(&data) == GATEFOLD_OK);
    for (int b = 0; b < BATCH; ++b)
      for (int t = 0; t < TIME; ++t)
        state[b] += data.y[b * TIME + t];
    CHECK(isCudaRight(&data, state));
    memcpy(state, data.newState, sizeof(state));
  }

  /* What a replay finds. */
  data.lengths[2] = 77;
  CHECK(gatefold_copy(data.context, &data.gpu[LENGTHS], &data.host[LENGTHS]) ==
        GATEFOLD_OK);
  CHECK(driver.launchGraph(instance, stream) == 0);
  CHECK_STATUS(data.context, gatefold_context_finish(data.context),
               GATEFOLD_BAD_DATA, "`lengths`[2] is 77, expected 0..4");

  /* What waits or allocates is refused while a stream captures, and breaks the
   * capture. */
  char text[400];
  CHECK(driver.beginCapture(stream, 0) == 0);
  CHECK_STATUS(data.context, gatefold_context_finish(data.context),
               GATEFOLD_DEVICE_ERROR,
               "cannot finish the run: operation not permitted when stream is "
               "capturing (900)");
  CHECK(driver.endCapture(stream, &graph) == 901);
  CHECK(driver.report(text, sizeof(text)));
  CHECK(strstr(text, "cuStreamSynchronize while a stream captures"));
  CHECK(driver.beginCapture(stream, 0) == 0);
  void *memory;
  CHECK_MODEL_STATUS(data.model, gatefold_allocate(data.model, 64, &memory),
                     GATEFOLD_DEVICE_ERROR,
                     "no memory on the GPU for a tensor, 64 bytes: operation "
                     "not permitted when stream is capturing (900)");
  CHECK(!memory);
  CHECK(driver.endCapture(stream, &graph) == 901);
  CHECK(driver.report(text, sizeof(text)));
  tearDownCuda(&data);
  CHECK(driver.destroyStream(stream) == 0);
  CHECK_REPORT();
}
