/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Main.c - all parts of the test.
 */
#include "Harness.h"

int main(void) {
  testModel();
  testPrepare();
  testPrepared();
  testShapes();
  testChecks();
  testRun();
  testOverlap();
  testHalf();
  testThreads();
  testTeam();
  return finish();
}
