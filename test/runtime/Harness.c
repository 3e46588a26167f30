/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Harness.c - counts checks and prints those that fail.
 */
#include "Harness.h"

#include <stdio.h>
#include <string.h>

static _Atomic int checks, failures; /* runs of several threads check, too */

void checkThat(bool holds, const char *what, const char *file, int line) {
  ++checks;
  if (holds)
    return;
  ++failures;
  printf("%s:%d: not so: %s\n", file, line, what);
}

void checkStatus(gatefold_status got, gatefold_status wanted,
                 const char *gotMessage, const char *wantedMessage,
                 const char *file, int line) {
  ++checks;
  if (got == wanted && !strcmp(gotMessage, wantedMessage))
    return;
  ++failures;
  printf("%s:%d: status %d, wanted %d\n  message: %s\n  wanted:  %s\n", file,
         line, got, wanted, gotMessage, wantedMessage);
}

int finish(void) {
  printf("%d checks, %d failed\n", checks, failures);
  return failures ? 1 : 0;
}
