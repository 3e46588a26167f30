# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: not gatefold check %s 2>&1 | FileCheck %s --strict-whitespace \
# RUN:   --implicit-check-not=error:
# Where a line ends a statement, and where it does not.

func f(x: [M],
       k = 3
       ,
       ) -> (
         a: [M],
         b: [M],
       ) {
  # after a comma, an operator, `=` and inside brackets
  param w: [M],
    v: [M]
  y =
    x +
    x and
    x
  a, b = x,
    y
  z = (x
       + x)[
         0
       ]
  for i in 2 { z = x
    z = x }
  return a, b }

func g(x: [M]) ->
    [M] { return x } func h(x: [M]) -> [M] { return x }

func i(x: [M]) -> [M] {
  y = x
# CHECK: {{^.*}}lines.gf:[[@LINE+3]]:5: error: expected a statement, found `+`{{$}}
# CHECK-NEXT: {{^}}    + x{{$}}
# CHECK-NEXT: {{^}}    ^{{$}}
    + x
# CHECK: {{^.*}}lines.gf:[[@LINE+3]]:10: error: expected an expression, found the end of the line{{$}}
# CHECK-NEXT: {{^}}  y = not{{$}}
# CHECK-NEXT: {{^}}         ^{{$}}
  y = not
# CHECK: {{^.*}}lines.gf:[[@LINE+3]]:6: error: expected `=` after the target of an assignment, found the end of the line{{$}}
# CHECK-NEXT: {{^}}    x{{$}}
# CHECK-NEXT: {{^}}     ^{{$}}
    x
  y = x
# CHECK: {{^.*}}lines.gf:[[@LINE+3]]:5: error: expected a statement, found `.`{{$}}
# CHECK-NEXT: {{^}}    .T{{$}}
# CHECK-NEXT: {{^}}    ^{{$}}
    .T
  y = exp
# CHECK: {{^.*}}lines.gf:[[@LINE+3]]:8: error: expected `=` after the target of an assignment, found the end of the line{{$}}
# CHECK-NEXT: {{^}}    (x){{$}}
# CHECK-NEXT: {{^}}       ^{{$}}
    (x)
  return x
}
