/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * CudaSample.h - a model with kernels as compiled code would describe it,
 * written by hand.
 *
 *   inputs   x [B, T] f32, lengths [B] i32 in 0..T, keep [B] bool, h [B] f32
 *            (a state, from 0.5)
 *   results  y [B, T] f32, h [B] f32
 *   weights  w [1] f32, read by `prepare` alone, and b [1] f32 = 0.25
 *   prepared 2 w [1]
 *
 * y[b, t] = 2 w x[b, t] + b where t < lengths[b] and keep[b], else 0; h' = h +
 * the sum of y[b].
 */
#ifndef GATEFOLD_TEST_CUDA_CUDASAMPLE_H
#define GATEFOLD_TEST_CUDA_CUDASAMPLE_H

#include "runtime/Runtime.h"

enum { X, LENGTHS, KEEP, STATE, INPUT_COUNT };
enum { Y, NEW_STATE, RESULT_COUNT };
enum { BATCH = 3, TIME = 4 };

/* The kernels, as text of LLVM IR. */
extern const char sampleKernels[];

/* For the CPU and for sm_80, sm_90 and sm_90a. */
extern gatefold_description cudaSample;
extern gatefold_variant cudaVariants[3];

/* The driver's functions that tests call, and those of the fake one. */
typedef struct Driver {
  int (*failAt)(int);
  int (*calls)(void);
  int (*report)(char *, int);
  int (*createStream)(void **, unsigned);
  int (*destroyStream)(void *);
  int (*beginCapture)(void *, int);
  int (*endCapture)(void *, void **);
  int (*instantiate)(void **, void *, uint64_t);
  int (*launchGraph)(void *, void *);
  int (*allocatePinned)(void **, size_t);
  int (*freePinned)(void *);
} Driver;
extern Driver driver;
/* False where the driver that is found is not the fake one. */
int openDriver(void);

/* Nothing was complained of, and everything given back. */
void checkReport(const char *file, int line);
#define CHECK_REPORT() checkReport(__FILE__, __LINE__)

/* Sets what GPU there is, as in "count=2 capability=80". */
void setGpu(const char *settings);

/* Inputs and results on a GPU and on the host, of a model that is made for it
 * and prepared with w = 3, and a context. */
typedef struct CudaCase {
  gatefold_model *model;
  gatefold_context *context;
  float x[BATCH * TIME], y[BATCH * TIME], state[BATCH], newState[BATCH];
  int32_t lengths[BATCH];
  uint8_t keep[BATCH];
  DLTensor host[INPUT_COUNT + RESULT_COUNT], gpu[INPUT_COUNT + RESULT_COUNT];
  int64_t shapes[INPUT_COUNT + RESULT_COUNT][2];
  const DLTensor *inputs[INPUT_COUNT];
  DLTensor *results[RESULT_COUNT];
} CudaCase;

gatefold_model *createPrepared(void);
/* With memory for T steps, in which rows of x and y have `pitch` elements. */
gatefold_status setUpCuda(CudaCase *data, int64_t time);
void tearDownCuda(CudaCase *data);
/* Copies inputs to the GPU; results from it. */
gatefold_status giveInputs(CudaCase *data);
gatefold_status takeResults(CudaCase *data);
gatefold_status runCuda(CudaCase *data);
/* Whether y and the new state are what they should be. */
int isCudaRight(const CudaCase *data, const float *state);

/* The parts of the test. */
void testDevices(void);
void testVariants(void);
void testCudaPrepare(void);
void testCudaRun(void);
void testCudaValues(void);
void testGraphs(void);
void testFaults(void);

#endif /* GATEFOLD_TEST_CUDA_CUDASAMPLE_H */
