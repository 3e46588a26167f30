/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Sample.h - a model as compiled code would describe it, written by hand.
 *
 *   inputs   x [B, T, 2] f32, lengths [B] i32 in 0..T, tokens [B, T] i64 in
 * 0..4, mask [B] bool, padded [2*T + 1] f32, h [B, 2] f32 (a state, from 0.5)
 *   results  y [B, T, 2] f32, total [] f64, h [B, 2] f32
 *   weights  fc.weight [2, 2] f32, fc.bias [2] f32 = 0.25, scale [1] i64
 *
 * For each b and each t < lengths[b]:
 *   y[b, t] = (fc.weight x[b, t] + fc.bias) * scale + tokens[b, t],
 * else 0; h' = h + the sum of y over t where mask, else h; total = the sum of
 * h' and of padded.
 */
#ifndef GATEFOLD_TEST_RUNTIME_SAMPLE_H
#define GATEFOLD_TEST_RUNTIME_SAMPLE_H

#include "runtime/Runtime.h"

enum { X, LENGTHS, TOKENS, MASK, PADDED, STATE, INPUT_COUNT };
enum { Y, TOTAL, NEW_STATE, RESULT_COUNT };
enum { WEIGHT, BIAS, SCALE, PARAMETER_COUNT };
enum { MAXIMAL_B = 3, MAXIMAL_T = 4 };

extern const gatefold_description sample;

/* Inputs and results with B = 2 and T = 3 unless changed, contiguous, their
 * memory and their shapes in the same structure. */
typedef struct Case {
  float x[MAXIMAL_B * MAXIMAL_T * 2];
  int32_t lengths[MAXIMAL_B];
  int64_t tokens[MAXIMAL_B * MAXIMAL_T];
  uint8_t mask[MAXIMAL_B];
  float padded[2 * MAXIMAL_T + 1];
  float state[MAXIMAL_B * 2];
  float y[MAXIMAL_B * MAXIMAL_T * 2];
  double total;
  float newState[MAXIMAL_B * 2];
  int64_t shapes[INPUT_COUNT + RESULT_COUNT][3];
  DLTensor tensors[INPUT_COUNT + RESULT_COUNT];
  DLTensor *inputs[INPUT_COUNT];
  DLTensor *results[RESULT_COUNT];
} Case;

void setUp(Case *data, int64_t b, int64_t t);

/* gatefold_run on a case. */
gatefold_status runCase(gatefold_context *context, Case *data);

/* True if y, total and the new state are what they should be for the data;
 * `state` is the state before the run. */
int isRight(const Case *data, const float *state);

/* A tensor on the CPU, contiguous. */
DLTensor makeTensor(void *data, uint8_t code, uint8_t bits, int32_t rank,
                    int64_t *shape);

/* A prepared model of the sample with weight [[1, 2], [3, 4]] and scale 2. */
gatefold_model *prepareSample(void);

#endif /* GATEFOLD_TEST_RUNTIME_SAMPLE_H */
