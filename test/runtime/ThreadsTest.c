/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * ThreadsTest.c - many threads run one model, each with its own context.
 */
#include "Harness.h"
#include "Sample.h"

#include <pthread.h>
#include <string.h>

enum { threadCount = 8, runsPerThread = 200 };

typedef struct Job {
  pthread_t thread;
  const gatefold_model *model;
  int number, wrong;
} Job;

static void *work(void *argument) {
  Job *job = argument;
  gatefold_context *context = NULL;
  if (gatefold_context_create(job->model, &context) != GATEFOLD_OK) {
    ++job->wrong;
    return NULL;
  }
  for (int run = 0; run < runsPerThread; ++run) {
    Case data;
    /* Sizes grow and shrink, and so may the context's workspace. */
    setUp(&data, (job->number + run) % (MAXIMAL_B + 1), run % (MAXIMAL_T + 1));
    for (int i = 0; i < MAXIMAL_B * MAXIMAL_T * 2; ++i)
      data.x[i] = (float)(job->number + i);
    if (runCase(context, &data) != GATEFOLD_OK || !isRight(&data, data.state))
      ++job->wrong;
    /* Messages do not mix either. */
    setUp(&data, 1, 1);
    data.lengths[0] = 10 + job->number;
    char expected[] = "`lengths`[0] is 10, expected 0..1";
    expected[17] = (char)('0' + job->number);
    if (runCase(context, &data) != GATEFOLD_BAD_DATA ||
        strcmp(gatefold_context_message(context), expected))
      ++job->wrong;
  }
  gatefold_context_destroy(context);
  return NULL;
}

void testThreads(void) {
  gatefold_model *model = prepareSample();
  Job jobs[threadCount];
  for (int i = 0; i < threadCount; ++i) {
    Job job = {.model = model, .number = i};
    jobs[i] = job;
    CHECK(!pthread_create(&jobs[i].thread, NULL, work, &jobs[i]));
  }
  for (int i = 0; i < threadCount; ++i) {
    CHECK(!pthread_join(jobs[i].thread, NULL));
    CHECK(jobs[i].wrong == 0);
  }
  gatefold_destroy(model);
}
