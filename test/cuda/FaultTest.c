/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * FaultTest.c - every call of the driver fails once: there is a message,
 * nothing is leaked, and what was done before the fault is of use after it.
 */
#include "CudaSample.h"

#include "test/runtime/Harness.h"

#include <string.h>

/* From the driver to a result; what failed first. */
static gatefold_status runAll(CudaCase *data, char *message) {
  gatefold_status status = setUpCuda(data, TIME);
  if (!data->model || !data->context) {
    if (data->model)
      strcpy(message, gatefold_message(data->model));
    return status;
  }
  if (!status)
    status = gatefold_context_reserve(data->context, data->inputs);
  if (!status)
    status = runCuda(data);
  if (!status)
    status = gatefold_context_finish(data->context);
  if (!status)
    status = takeResults(data);
  const char *texts[] = {gatefold_context_message(data->context),
                         gatefold_message(data->model)};
  for (int i = 0; i < 2 && status; ++i)
    if (*texts[i])
      strcpy(message, texts[i]);
  return status;
}

void testFaults(void) {
  setGpu("");
  CudaCase data;
  char message[5000];
  driver.failAt(0);
  CHECK(runAll(&data, message) == GATEFOLD_OK);
  CHECK(isCudaRight(&data, data.state));
  int calls = driver.calls();
  tearDownCuda(&data);
  CHECK(calls > 40);
  CHECK_REPORT();

  int faults = 0;
  for (int number = 1; number <= calls; ++number) {
    message[0] = '\0';
    driver.failAt(number);
    gatefold_status status = runAll(&data, message);
    driver.failAt(0);
    /* Those that give something back are not heard. */
    if (status == GATEFOLD_OK) {
      CHECK(isCudaRight(&data, data.state));
    } else {
      ++faults;
      CHECK(status == GATEFOLD_DEVICE_ERROR || status == GATEFOLD_NO_DEVICE ||
            status == GATEFOLD_NOT_PREPARED);
      CHECK(status == GATEFOLD_NOT_PREPARED ||
            strstr(message, "unknown error (999)"));
    }
    tearDownCuda(&data);
    CHECK_REPORT();
  }
  CHECK(faults > calls / 2);
}
