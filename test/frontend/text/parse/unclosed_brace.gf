# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: not gatefold check %s 2>&1 | FileCheck %s --strict-whitespace \
# RUN:   --implicit-check-not=error:
# A block that does not end.

func f(x: [M]) -> [M] {
  for i in 3 {
    x = x + 1
  return x
# CHECK: {{^.*}}unclosed_brace.gf:[[@LINE+4]]:1: error: expected `}`, found the end of the file{{$}}
# CHECK-EMPTY:
# CHECK-NEXT: {{^}}^{{$}}
# CHECK-NEXT: {{^}}hint: opened at [[@LINE-6]]:14{{$}}
