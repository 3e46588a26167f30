# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: not gatefold check %s 2>&1 | FileCheck %s --strict-whitespace \
# RUN:   --implicit-check-not=error:
# param and state.

model f(x: [M]) -> [M] {
# CHECK: {{^.*}}parameters.gf:[[@LINE+3]]:8: error: expected the name of a parameter, found the end of the line{{$}}
# CHECK-NEXT: {{^}}  param{{$}}
# CHECK-NEXT: {{^}}       ^{{$}}
  param
# CHECK: {{^.*}}parameters.gf:[[@LINE+3]]:10: error: expected `:` after the name of a parameter, found the end of the line{{$}}
# CHECK-NEXT: {{^}}  param w{{$}}
# CHECK-NEXT: {{^}}         ^{{$}}
  param w
# CHECK: {{^.*}}parameters.gf:[[@LINE+4]]:18: error: expected `(` or `[` after `linear`, found the end of the line{{$}}
# CHECK-NEXT: {{^}}  param w: linear{{$}}
# CHECK-NEXT: {{^}}                 ^{{$}}
# CHECK-NEXT: {{^}}hint: a tensor is `w: [H, I]`, a layer `fc: linear(N=H)`{{$}}
  param w: linear
# CHECK: {{^.*}}parameters.gf:[[@LINE+4]]:12: error: expected a shape or a layer, found `3`{{$}}
# CHECK-NEXT: {{^}}  param w: 3{{$}}
# CHECK-NEXT: {{^}}           ^{{$}}
# CHECK-NEXT: {{^}}hint: a tensor is `w: [H, I]`, a layer `fc: linear(N=H)`{{$}}
  param w: 3
# CHECK: {{^.*}}parameters.gf:[[@LINE+3]]:18: error: expected a string after `as`, found the end of the line{{$}}
# CHECK-NEXT: {{^}}  param w: [M] as{{$}}
# CHECK-NEXT: {{^}}                 ^{{$}}
  param w: [M] as
# CHECK: {{^.*}}parameters.gf:[[@LINE+3]]:19: error: expected a string after `as`, found `w`{{$}}
# CHECK-NEXT: {{^}}  param w: [M] as w{{$}}
# CHECK-NEXT: {{^}}                  ^{{$}}
  param w: [M] as w
# CHECK: {{^.*}}parameters.gf:[[@LINE+4]]:21: error: unknown escape `\n` in a string{{$}}
# CHECK-NEXT: {{^}}  param w: [M] as "a\n"{{$}}
# CHECK-NEXT: {{^}}                    ^~{{$}}
# CHECK-NEXT: {{^}}hint: a string knows `\"` and `\\`{{$}}
  param w: [M] as "a\n"
  param w: [M] =
# CHECK: {{^.*}}parameters.gf:[[@LINE+6]]:3: error: expected an expression, found `param`{{$}}
# CHECK-NEXT: {{^}}  param w: [M] x{{$}}
# CHECK-NEXT: {{^}}  ^~~~~{{$}}
# CHECK: {{^.*}}parameters.gf:[[@LINE+3]]:16: error: expected the end of the statement, found `x`{{$}}
# CHECK-NEXT: {{^}}  param w: [M] x{{$}}
# CHECK-NEXT: {{^}}               ^{{$}}
  param w: [M] x
  param w: [M],
# CHECK: {{^.*}}parameters.gf:[[@LINE+7]]:3: error: expected the name of a parameter, found `param`{{$}}
# CHECK-NEXT: {{^}}  param for: [M]{{$}}
# CHECK-NEXT: {{^}}  ^~~~~{{$}}
# CHECK: {{^.*}}parameters.gf:[[@LINE+4]]:9: error: expected the name of a parameter, found `for`{{$}}
# CHECK-NEXT: {{^}}  param for: [M]{{$}}
# CHECK-NEXT: {{^}}        ^~~{{$}}
# CHECK-NEXT: {{^}}hint: `for` is reserved and cannot be a name{{$}}
  param for: [M]
# CHECK: {{^.*}}parameters.gf:[[@LINE+3]]:22: error: expected an expression, found `,`{{$}}
# CHECK-NEXT: {{^}}  param fc: linear(N=, bias=false){{$}}
# CHECK-NEXT: {{^}}                     ^{{$}}
  param fc: linear(N=, bias=false)
# CHECK: {{^.*}}parameters.gf:[[@LINE+4]]:22: error: expected `,` or `)`, found `3`{{$}}
# CHECK-NEXT: {{^}}  param fc: linear(N 3){{$}}
# CHECK-NEXT: {{^}}                     ^{{$}}
# CHECK-NEXT: {{^}}hint: opened at [[@LINE+1]]:19{{$}}
  param fc: linear(N 3)
# CHECK: {{^.*}}parameters.gf:[[@LINE+4]]:19: error: expected `(` or `[` after `linear`, found `.`{{$}}
# CHECK-NEXT: {{^}}  param fc: linear.weight{{$}}
# CHECK-NEXT: {{^}}                  ^{{$}}
# CHECK-NEXT: {{^}}hint: a tensor is `w: [H, I]`, a layer `fc: linear(N=H)`{{$}}
  param fc: linear.weight
# CHECK: {{^.*}}parameters.gf:[[@LINE+3]]:8: error: expected the name of a state, found the end of the line{{$}}
# CHECK-NEXT: {{^}}  state{{$}}
# CHECK-NEXT: {{^}}       ^{{$}}
  state
# CHECK: {{^.*}}parameters.gf:[[@LINE+3]]:10: error: expected `:` after the name of a state, found the end of the line{{$}}
# CHECK-NEXT: {{^}}  state h{{$}}
# CHECK-NEXT: {{^}}         ^{{$}}
  state h
# CHECK: {{^.*}}parameters.gf:[[@LINE+4]]:12: error: expected a type, found `linear`{{$}}
# CHECK-NEXT: {{^}}  state h: linear(N=3){{$}}
# CHECK-NEXT: {{^}}           ^~~~~~{{$}}
# CHECK-NEXT: {{^}}hint: a type is a shape, `[B, T]`, or `i64[B, T]`{{$}}
  state h: linear(N=3)
# CHECK: {{^.*}}parameters.gf:[[@LINE+3]]:9: error: expected the name of a state, found `h'`{{$}}
# CHECK-NEXT: {{^}}  state h': [M]{{$}}
# CHECK-NEXT: {{^}}        ^~{{$}}
  state h': [M]
# CHECK: {{^.*}}parameters.gf:[[@LINE+3]]:20: error: expected the end of the statement, found `0`{{$}}
# CHECK-NEXT: {{^}}  state h: [M] = 0 0{{$}}
# CHECK-NEXT: {{^}}                   ^{{$}}
  state h: [M] = 0 0
  return x
}
