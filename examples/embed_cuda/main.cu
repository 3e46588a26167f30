// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// main.cu - a CUDA program that runs a compiled model on its own stream.
//
// The program owns the stream and the memory. The model's run is captured into
// a graph once and replayed for one batch after the other; the same library's
// code for the CPU computes each batch, too, and the results are compared.

#include "tagger.h"

#include <cuda_runtime.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

static constexpr int64_t batch = 4, steps = 50, features = 40, labels = 12;
static constexpr int batches = 8, replays = 200;

static void check(cudaError_t error, const char *what) {
  if (error == cudaSuccess)
    return;
  std::fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(error));
  std::exit(1);
}

static void fail(const char *message) {
  std::fprintf(stderr, "%s\n", message);
  std::exit(1);
}

static void check(tagger_status status, const tagger_model *model) {
  if (status != TAGGER_OK)
    fail(tagger_message(model));
}

static void check(tagger_status status, const tagger_context *context) {
  if (status != TAGGER_OK)
    fail(tagger_context_message(context));
}

/// A tensor that somebody else's memory holds; `shape` outlives it.
static DLTensor wrap(void *data, DLDeviceType device, uint8_t code,
                     uint8_t bits, std::vector<int64_t> &shape) {
  DLTensor tensor = {};
  tensor.data = data;
  tensor.device = {device, 0};
  tensor.ndim = int32_t(shape.size());
  tensor.dtype = {code, bits, 1};
  tensor.shape = shape.data();
  return tensor;
}

static std::vector<int64_t> xShape = {batch, steps, features},
                            lengthsShape = {batch},
                            resultShape = {batch, steps, labels};

/// What one run reads and writes.
struct Tensors {
  DLTensor x, lengths, result;
  const DLTensor *inputs[TAGGER_INPUT_COUNT];
  DLTensor *results[TAGGER_RESULT_COUNT];

  Tensors(float *xData, int64_t *lengthsData, float *resultData,
          DLDeviceType device)
      : x(wrap(xData, device, kDLFloat, 32, xShape)),
        lengths(wrap(lengthsData, device, kDLInt, 64, lengthsShape)),
        result(wrap(resultData, device, kDLFloat, 32, resultShape)) {
    inputs[TAGGER_INPUT_X] = &x;
    inputs[TAGGER_INPUT_LENGTHS] = &lengths;
    results[0] = &result;
  }
  Tensors(const Tensors &) = delete;
};

struct Batch {
  std::vector<float> x = std::vector<float>(batch * steps * features);
  std::vector<int64_t> lengths = std::vector<int64_t>(batch);
  std::vector<float> expected = std::vector<float>(batch * steps * labels);
};

/// Batches of any numbers, and what the CPU makes of them.
static std::vector<Batch> computeOnCpu() {
  tagger_model *model = nullptr;
  tagger_context *context = nullptr;
  tagger_status status = tagger_create(&model);
  check(status, model);
  // Its weights are in the library.
  check(tagger_prepare(model, 0, nullptr, nullptr), model);
  check(tagger_context_create(model, &context), model);
  std::vector<Batch> all(batches);
  uint32_t state = 1;
  for (Batch &each : all) {
    for (float &value : each.x) {
      state = state * 1664525u + 1013904223u;
      value = float(state >> 8) / float(1 << 23) - 1.0f;
    }
    for (int64_t &length : each.lengths) {
      state = state * 1664525u + 1013904223u;
      length = (state >> 8) % (steps + 1);
    }
    Tensors tensors(each.x.data(), each.lengths.data(), each.expected.data(),
                    kDLCPU);
    check(tagger_run(context, tensors.inputs, tensors.results, nullptr, 0),
          context);
  }
  tagger_context_destroy(context);
  tagger_destroy(model);
  return all;
}

/// Replays a graph for each batch; the largest difference from the CPU's
/// results.
static double compare(const std::vector<Batch> &all, const Tensors &tensors,
                      cudaGraphExec_t graph, cudaStream_t stream,
                      tagger_context *context) {
  double largest = 0;
  std::vector<float> found(batch * steps * labels);
  for (const Batch &each : all) {
    check(cudaMemcpyAsync(tensors.x.data, each.x.data(),
                          each.x.size() * sizeof(float), cudaMemcpyHostToDevice,
                          stream),
          "copying x");
    check(cudaMemcpyAsync(tensors.lengths.data, each.lengths.data(),
                          each.lengths.size() * sizeof(int64_t),
                          cudaMemcpyHostToDevice, stream),
          "copying lengths");
    check(cudaGraphLaunch(graph, stream), "replaying the graph");
    // Waits, and would tell of a length that is out of range.
    check(tagger_context_finish(context), context);
    check(cudaMemcpy(found.data(), tensors.result.data,
                     found.size() * sizeof(float), cudaMemcpyDeviceToHost),
          "copying the result");
    for (size_t i = 0; i < found.size(); ++i) {
      double distance = std::fabs(double(found[i]) - double(each.expected[i]));
      // A NaN is the largest difference of all.
      if (!(distance <= largest))
        largest = distance;
    }
  }
  return largest;
}

/// Microseconds of a replay.
static double time(cudaGraphExec_t graph, cudaStream_t stream) {
  cudaEvent_t begin, end;
  check(cudaEventCreate(&begin), "making an event");
  check(cudaEventCreate(&end), "making an event");
  check(cudaEventRecord(begin, stream), "recording an event");
  for (int i = 0; i < replays; ++i)
    check(cudaGraphLaunch(graph, stream), "replaying the graph");
  check(cudaEventRecord(end, stream), "recording an event");
  check(cudaEventSynchronize(end), "waiting for the graph");
  float milliseconds = 0;
  check(cudaEventElapsedTime(&milliseconds, begin, end), "reading the time");
  cudaEventDestroy(begin);
  cudaEventDestroy(end);
  return milliseconds * 1e3 / replays;
}

static int computeOnGpu(const std::vector<Batch> &all, tagger_model *model) {
  std::printf("GPU: %s\n", tagger_device(model));
  cudaStream_t stream;
  check(cudaSetDevice(0), "choosing the GPU");
  check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking),
        "making a stream");
  float *x, *result;
  int64_t *lengths;
  check(cudaMalloc(&x, batch * steps * features * sizeof(float)), "memory");
  check(cudaMalloc(&lengths, batch * sizeof(int64_t)), "memory");
  check(cudaMalloc(&result, batch * steps * labels * sizeof(float)), "memory");
  Tensors tensors(x, lengths, result, kDLCUDA);

  // Packs the weights on the GPU.
  check(tagger_prepare(model, 0, nullptr, nullptr), model);
  tagger_context *context = nullptr;
  check(tagger_context_create(model, &context), model);
  check(tagger_context_stream(context, stream), context);
  // Only shapes matter here. From now on a run allocates nothing.
  check(tagger_context_reserve(context, tensors.inputs), context);

  cudaGraph_t graph;
  cudaGraphExec_t executable;
  check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal),
        "beginning to capture");
  check(tagger_run(context, tensors.inputs, tensors.results, nullptr, 0),
        context);
  check(cudaStreamEndCapture(stream, &graph), "ending to capture");
  check(cudaGraphInstantiate(&executable, graph, 0), "making a graph");

  double largest = compare(all, tensors, executable, stream, context);
  bool agrees = largest <= 1e-4;
  std::printf("%d batches through one graph: largest difference from the CPU "
              "%.1e, %s\n",
              batches, largest, agrees ? "which agrees" : "TOO LARGE");
  std::printf("a replay takes %.1f us\n", time(executable, stream));

  cudaGraphExecDestroy(executable);
  cudaGraphDestroy(graph);
  tagger_context_destroy(context);
  cudaFree(x);
  cudaFree(lengths);
  cudaFree(result);
  cudaStreamDestroy(stream);
  return agrees ? 0 : 1;
}

int main() {
  std::vector<Batch> all = computeOnCpu();
  std::printf("CPU: %d batches of %d sequences, the first value is %.6f\n",
              batches, int(batch), all[0].expected[0]);
  tagger_model *model = nullptr;
  tagger_status status = tagger_create_cuda(0, &model);
  int code = 0;
  if (status == TAGGER_NO_DEVICE)
    std::printf("%s: only the CPU has computed\n", tagger_message(model));
  else {
    check(status, model);
    code = computeOnGpu(all, model);
  }
  tagger_destroy(model);
  return code;
}
