/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Harness.h - counts checks and prints those that fail.
 */
#ifndef GATEFOLD_TEST_RUNTIME_HARNESS_H
#define GATEFOLD_TEST_RUNTIME_HARNESS_H

#include "runtime/Runtime.h"

#include <stdbool.h>

void checkThat(bool holds, const char *what, const char *file, int line);
void checkStatus(gatefold_status got, gatefold_status wanted,
                 const char *gotMessage, const char *wantedMessage,
                 const char *file, int line);
/* Prints a summary; the exit status. */
int finish(void);

#define CHECK(condition) checkThat((condition), #condition, __FILE__, __LINE__)

/* The call on a context gives the status with exactly this message. */
#define CHECK_STATUS(context, call, wanted, message)                           \
  do {                                                                         \
    gatefold_status statusGot = (call);                                        \
    checkStatus(statusGot, wanted, gatefold_context_message(context), message, \
                __FILE__, __LINE__);                                           \
  } while (0)

/* The same for a call on a model. */
#define CHECK_MODEL_STATUS(model, call, wanted, message)                       \
  do {                                                                         \
    gatefold_status statusGot = (call);                                        \
    checkStatus(statusGot, wanted, gatefold_message(model), message, __FILE__, \
                __LINE__);                                                     \
  } while (0)

/* The parts of the test. */
void testModel(void);
void testPrepare(void);
void testPrepared(void);
void testShapes(void);
void testChecks(void);
void testRun(void);
void testOverlap(void);
void testHalf(void);
void testThreads(void);
void testTeam(void);

#endif /* GATEFOLD_TEST_RUNTIME_HARNESS_H */
