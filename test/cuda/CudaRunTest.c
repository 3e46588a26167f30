/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * CudaRunTest.c - runs on a GPU: streams, workspaces, strides, states in place,
 * and tensors that it cannot take.
 */
#include "CudaSample.h"

#include "test/runtime/Harness.h"

#include <string.h>

static void setUp(CudaCase *data, int64_t time) {
  setGpu("");
  CHECK_STATUS(data->context, setUpCuda(data, time), GATEFOLD_OK, "");
}

static void checkRun(CudaCase *data, const float *state) {
  CHECK_STATUS(data->context, runCuda(data), GATEFOLD_OK, "");
  CHECK_STATUS(data->context, gatefold_context_finish(data->context),
               GATEFOLD_OK, "");
  CHECK_STATUS(data->context, takeResults(data), GATEFOLD_OK, "");
  CHECK(isCudaRight(data, state));
}

/* Sizes 0 and 1 too, and runs of other sizes in one context. */
static void testSizes(void) {
  for (int64_t time = 0; time <= TIME; ++time) {
    CudaCase data;
    setUp(&data, time);
    CHECK(gatefold_context_reserve(data.context, data.inputs) == GATEFOLD_OK);
    checkRun(&data, data.state);
    checkRun(&data, data.state);
    tearDownCuda(&data);
    CHECK_REPORT();
  }
}

/* The bits do not depend on how many blocks there are. */
static void testBlocks(void) {
  const char *settings[] = {"multiprocessors=1", "multiprocessors=2",
                            "multiprocessors=1 blocks=3"};
  for (int i = 0; i < 3; ++i) {
    CudaCase data;
    setGpu(settings[i]);
    CHECK(setUpCuda(&data, TIME) == GATEFOLD_OK);
    CHECK(gatefold_context_reserve(data.context, data.inputs) == GATEFOLD_OK);
    checkRun(&data, data.state);
    tearDownCuda(&data);
    CHECK_REPORT();
  }
}

static void testWorkspace(void) {
  CudaCase data;
  setUp(&data, TIME);
  /* The team's 8 bytes and 24 of each check, the arena's 12 and the state's,
   * each at a multiple of 64, and slack. */
  size_t bytes;
  CHECK_STATUS(data.context,
               gatefold_workspace_size(data.context, data.inputs, &bytes),
               GATEFOLD_OK, "");
  CHECK(bytes == 3 * 64 + 63);
  CHECK_STATUS(data.context, runCuda(&data), GATEFOLD_INVALID_ARGUMENT,
               "the context has a workspace of 0 bytes, this run needs 255: "
               "reserve it before");
  void *workspace;
  CHECK(gatefold_allocate(data.model, bytes + 1, &workspace) == GATEFOLD_OK);
  /* At any alignment. */
  CHECK_STATUS(data.context,
               gatefold_run(data.context, data.inputs, data.results,
                            (char *)workspace + 1, bytes),
               GATEFOLD_OK, "");
  CHECK_STATUS(data.context, gatefold_context_finish(data.context), GATEFOLD_OK,
               "");
  CHECK(takeResults(&data) == GATEFOLD_OK && isCudaRight(&data, data.state));
  CHECK_STATUS(data.context,
               gatefold_run(data.context, data.inputs, data.results, workspace,
                            bytes - 1),
               GATEFOLD_INVALID_ARGUMENT,
               "the workspace has 254 bytes, this run needs 255");
  CHECK_STATUS(data.context,
               gatefold_run(data.context, data.inputs, data.results,
                            data.gpu[X].data, bytes),
               GATEFOLD_INVALID_ARGUMENT,
               "the workspace overlaps the input `x`");
  gatefold_free(data.model, workspace);
  tearDownCuda(&data);
  CHECK_REPORT();
}

/* A state that its result overwrites, again and again. */
static void testInPlace(void) {
  CudaCase data;
  setUp(&data, TIME);
  CHECK(gatefold_context_reserve(data.context, data.inputs) == GATEFOLD_OK);
  data.results[NEW_STATE] = &data.gpu[STATE];
  float state[BATCH];
  memcpy(state, data.state, sizeof(state));
  for (int run = 0; run < 3; ++run) {
    checkRun(&data, state);
    memcpy(state, data.newState, sizeof(state));
  }
  tearDownCuda(&data);
  CHECK_REPORT();
}

static void testStreams(void) {
  CudaCase data;
  setUp(&data, TIME);
  void *stream;
  CHECK(driver.createStream(&stream, 1) == 0);
  CHECK_STATUS(data.context, gatefold_context_stream(data.context, stream),
               GATEFOLD_OK, "");
  CHECK(gatefold_context_reserve(data.context, data.inputs) == GATEFOLD_OK);
  /* Copies of a context are in order with its runs. */
  CHECK(runCuda(&data) == GATEFOLD_OK);
  CHECK(takeResults(&data) == GATEFOLD_OK && isCudaRight(&data, data.state));
  /* Nothing was launched that `finish` could tell about before the first. */
  gatefold_context *other;
  CHECK(gatefold_context_create(data.model, &other) == GATEFOLD_OK);
  CHECK_STATUS(other, gatefold_context_finish(other), GATEFOLD_OK, "");
  CHECK_STATUS(other, gatefold_context_threads(other, 8), GATEFOLD_OK, "");
  gatefold_context_destroy(other);
  tearDownCuda(&data);
  CHECK(driver.destroyStream(stream) == 0);
  CHECK_REPORT();
}

/* Rows with a distance; what is not taken. */
static void testStrides(void) {
  CudaCase data;
  setUp(&data, 1);
  CHECK(gatefold_context_reserve(data.context, data.inputs) == GATEFOLD_OK);
  data.shapes[X][1] = TIME;
  CHECK(gatefold_copy(data.context, &data.gpu[X], &data.host[X]) ==
        GATEFOLD_OK);
  data.shapes[X][1] = 1;
  int64_t pitch[] = {TIME, 1};
  data.gpu[X].strides = pitch;
  data.gpu[INPUT_COUNT + Y].strides = pitch;
  CHECK_STATUS(data.context, runCuda(&data), GATEFOLD_OK, "");
  CHECK_STATUS(data.context, gatefold_context_finish(data.context), GATEFOLD_OK,
               "");
  data.gpu[X].strides = data.gpu[INPUT_COUNT + Y].strides = NULL;
  /* x[b, 0] and y[b, 0] stand at 4 b now. */
  data.shapes[INPUT_COUNT + Y][1] = TIME;
  CHECK(takeResults(&data) == GATEFOLD_OK);
  data.shapes[INPUT_COUNT + Y][1] = 1;
  for (int b = 0; b < BATCH; ++b)
    CHECK(data.y[b * TIME] == (b == 0 ? 0 : 6 * data.x[b * TIME] + 0.25f));

  int64_t apart[] = {1, 2};
  data.shapes[X][1] = data.shapes[INPUT_COUNT + Y][1] = 2;
  data.gpu[X].strides = apart;
  CHECK_STATUS(data.context, runCuda(&data), GATEFOLD_INVALID_ARGUMENT,
               "`x` has a last dimension that is not contiguous: on a GPU "
               "nothing is copied");
  data.gpu[X].strides = NULL;
  data.gpu[INPUT_COUNT + Y].byte_offset = 2;
  CHECK_STATUS(data.context, runCuda(&data), GATEFOLD_INVALID_ARGUMENT,
               "result `y` does not stand at a multiple of its elements' size, "
               "4 bytes: on a GPU nothing is copied");
  data.gpu[INPUT_COUNT + Y].byte_offset = 0;

  int64_t two = 2;
  data.gpu[STATE].strides = &two;
  DLTensor newState = data.gpu[STATE];
  data.results[NEW_STATE] = &newState;
  CHECK_STATUS(data.context, runCuda(&data), GATEFOLD_INVALID_ARGUMENT,
               "`h` has a last dimension that is not contiguous: on a GPU "
               "nothing is copied");
  tearDownCuda(&data);
  CHECK_REPORT();
}

static void testMemory(void) {
  CudaCase data;
  setUp(&data, TIME);
  CHECK(gatefold_context_reserve(data.context, data.inputs) == GATEFOLD_OK);
  data.inputs[X] = &data.host[X];
  CHECK_STATUS(data.context, runCuda(&data), GATEFOLD_INVALID_ARGUMENT,
               "`x` is on a device of type 1 (the CPU), expected GPU 0 "
               "(kDLCUDA) or pinned memory (kDLCUDAHost)");
  data.inputs[X] = &data.gpu[X];
  data.gpu[X].device.device_id = 1;
  CHECK_STATUS(data.context, runCuda(&data), GATEFOLD_INVALID_ARGUMENT,
               "`x` is on GPU 1, expected GPU 0 (kDLCUDA) or pinned memory "
               "(kDLCUDAHost)");
  data.gpu[X].device.device_id = 0;
  data.results[Y] = &data.gpu[X];
  CHECK_STATUS(data.context, runCuda(&data), GATEFOLD_INVALID_ARGUMENT,
               "result `y` overlaps the input `x`");
  data.results[Y] = &data.gpu[INPUT_COUNT + Y];
  data.shapes[INPUT_COUNT + Y][1] = TIME - 1;
  CHECK_STATUS(data.context, runCuda(&data), GATEFOLD_INVALID_ARGUMENT,
               "result `y` is [3, 3], expected [B, T] with B=3 from `x`, T=4 "
               "from `x`");
  data.shapes[INPUT_COUNT + Y][1] = TIME;

  CHECK_STATUS(data.context,
               gatefold_initial_state(data.context, STATE, &data.gpu[STATE]),
               GATEFOLD_OK, "");
  CHECK_STATUS(data.context,
               gatefold_copy(data.context, &data.host[INPUT_COUNT + NEW_STATE],
                             &data.gpu[STATE]),
               GATEFOLD_OK, "");
  CHECK(data.newState[0] == 0.5f && data.newState[BATCH - 1] == 0.5f);
  CHECK_STATUS(data.context,
               gatefold_initial_state(data.context, STATE, &data.host[STATE]),
               GATEFOLD_OK, "");
  CHECK(data.state[1] == 0.5f);

  /* Copies that cannot be. */
  CHECK_STATUS(data.context,
               gatefold_copy(data.context, &data.gpu[X], &data.host[STATE]),
               GATEFOLD_INVALID_ARGUMENT,
               "cannot copy: the tensors are not of one type and shape");
  CHECK_STATUS(data.context, gatefold_copy(data.context, NULL, &data.host[X]),
               GATEFOLD_INVALID_ARGUMENT, "cannot copy: a tensor is null");
  DLTensor other = data.gpu[X];
  other.device.device_id = 3;
  CHECK_STATUS(data.context, gatefold_copy(data.context, &other, &data.host[X]),
               GATEFOLD_INVALID_ARGUMENT,
               "cannot copy: a tensor is neither on the host nor on the "
               "model's device");
  other = data.gpu[X];
  int64_t strides[] = {8, 1};
  other.strides = strides;
  CHECK_STATUS(data.context, gatefold_copy(data.context, &other, &data.host[X]),
               GATEFOLD_INVALID_ARGUMENT,
               "cannot copy: a tensor is not contiguous");
  other = data.gpu[X];
  other.data = NULL;
  CHECK_STATUS(data.context, gatefold_copy(data.context, &data.host[X], &other),
               GATEFOLD_INVALID_ARGUMENT,
               "cannot copy: the data of a tensor are null");
  CHECK_STATUS(
      data.context,
      gatefold_copy(data.context, &data.gpu[INPUT_COUNT + Y], &data.gpu[X]),
      GATEFOLD_OK, "");
  CHECK(takeResults(&data) == GATEFOLD_OK);
  CHECK(!memcmp(data.y, data.x, sizeof(data.x)));
  tearDownCuda(&data);
  CHECK_REPORT();
}

/* The same functions on the CPU. */
static void testCpu(void) {
  gatefold_model *model;
  gatefold_context *context;
  CHECK(gatefold_create(&cudaSample, &model) == GATEFOLD_OK);
  CHECK(!strcmp(gatefold_device(model), "CPU"));
  CHECK(!strcmp(gatefold_device(NULL), "CPU"));
  CHECK(gatefold_context_create(model, &context) == GATEFOLD_OK);
  CHECK_STATUS(context, gatefold_context_stream(context, NULL),
               GATEFOLD_INVALID_ARGUMENT,
               "the model is one for the CPU: it has no streams");
  CHECK_STATUS(context, gatefold_context_finish(context), GATEFOLD_OK, "");
  void *memory;
  CHECK(gatefold_allocate(model, 8, &memory) == GATEFOLD_OK && memory);
  memset(memory, 0, 8);
  gatefold_free(model, memory);
  gatefold_context_destroy(context);
  gatefold_destroy(model);
  CHECK(gatefold_context_stream(NULL, NULL) == GATEFOLD_INVALID_ARGUMENT);
  CHECK(gatefold_context_finish(NULL) == GATEFOLD_INVALID_ARGUMENT);
  CHECK(gatefold_context_reserve(NULL, NULL) == GATEFOLD_INVALID_ARGUMENT);
  CHECK(gatefold_copy(NULL, NULL, NULL) == GATEFOLD_INVALID_ARGUMENT);
  CHECK(gatefold_allocate(NULL, 1, &memory) == GATEFOLD_INVALID_ARGUMENT);
  gatefold_free(NULL, NULL);
}

void testCudaRun(void) {
  testSizes();
  testBlocks();
  testWorkspace();
  testInPlace();
  testStreams();
  testStrides();
  testMemory();
  testCpu();
}
