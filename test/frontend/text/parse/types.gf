# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: not gatefold check %s 2>&1 | FileCheck %s --strict-whitespace \
# RUN:   --implicit-check-not=error:
# Types.

# CHECK: {{^.*}}types.gf:[[@LINE+4]]:11: error: `fp32` is not an element type{{$}}
# CHECK-NEXT: {{^}}func a(x: fp32[M]) -> [M] {{{$}}
# CHECK-NEXT: {{^}}          ^~~~{{$}}
# CHECK-NEXT: {{^}}hint: did you mean `f32`?{{$}}
func a(x: fp32[M]) -> [M] {
  return x
}

# CHECK: {{^.*}}types.gf:[[@LINE+4]]:11: error: `float32` is not an element type{{$}}
# CHECK-NEXT: {{^}}func b(x: float32[M]) -> [M] {{{$}}
# CHECK-NEXT: {{^}}          ^~~~~~~{{$}}
# CHECK-NEXT: {{^}}hint: the element types are f16, bf16, f32, f64, i32, i64 and bool{{$}}
func b(x: float32[M]) -> [M] {
  return x
}

# CHECK: {{^.*}}types.gf:[[@LINE+4]]:14: error: expected `[` after the element type `f32`, found `)`{{$}}
# CHECK-NEXT: {{^}}func c(x: f32) -> [M] {{{$}}
# CHECK-NEXT: {{^}}             ^{{$}}
# CHECK-NEXT: {{^}}hint: a scalar is `f32[]`{{$}}
func c(x: f32) -> [M] {
  return x
}

# CHECK: {{^.*}}types.gf:[[@LINE+4]]:11: error: expected a type, found `T`{{$}}
# CHECK-NEXT: {{^}}func d(x: T) -> [M] {{{$}}
# CHECK-NEXT: {{^}}          ^{{$}}
# CHECK-NEXT: {{^}}hint: a type is a shape, `[B, T]`, or `i64[B, T]`{{$}}
func d(x: T) -> [M] {
  return x
}

# CHECK: {{^.*}}types.gf:[[@LINE+4]]:11: error: expected a type, found `3`{{$}}
# CHECK-NEXT: {{^}}func e(x: 3) -> [M] {{{$}}
# CHECK-NEXT: {{^}}          ^{{$}}
# CHECK-NEXT: {{^}}hint: a type is a shape, `[B, T]`, or `i64[B, T]`{{$}}
func e(x: 3) -> [M] {
  return x
}

# CHECK: {{^.*}}types.gf:[[@LINE+4]]:13: error: expected `,` or `]`, found `)`{{$}}
# CHECK-NEXT: {{^}}func f(x: [M) -> [M] {{{$}}
# CHECK-NEXT: {{^}}            ^{{$}}
# CHECK-NEXT: {{^}}hint: opened at [[@LINE+1]]:11{{$}}
func f(x: [M) -> [M] {
  return x
}

# CHECK: {{^.*}}types.gf:[[@LINE+4]]:14: error: expected `,` or `]`, found `N`{{$}}
# CHECK-NEXT: {{^}}func g(x: [M N]) -> [M] {{{$}}
# CHECK-NEXT: {{^}}             ^{{$}}
# CHECK-NEXT: {{^}}hint: opened at [[@LINE+1]]:11{{$}}
func g(x: [M N]) -> [M] {
  return x
}

# CHECK: {{^.*}}types.gf:[[@LINE+4]]:19: error: `int` is not an element type{{$}}
# CHECK-NEXT: {{^}}func h(x: [M]) -> int[] {{{$}}
# CHECK-NEXT: {{^}}                  ^~~{{$}}
# CHECK-NEXT: {{^}}hint: the element types are f16, bf16, f32, f64, i32, i64 and bool{{$}}
func h(x: [M]) -> int[] {
  return x
}

# CHECK: {{^.*}}types.gf:[[@LINE+3]]:12: error: expected an expression, found `,`{{$}}
# CHECK-NEXT: {{^}}func i(x: [, M]) -> [M] {{{$}}
# CHECK-NEXT: {{^}}           ^{{$}}
func i(x: [, M]) -> [M] {
  return x
}

model j(x: [M]) -> [M] {
# CHECK: {{^.*}}types.gf:[[@LINE+4]]:12: error: `bol` is not an element type{{$}}
# CHECK-NEXT: {{^}}  state h: bol[M]{{$}}
# CHECK-NEXT: {{^}}           ^~~{{$}}
# CHECK-NEXT: {{^}}hint: did you mean `bool`?{{$}}
  state h: bol[M]
  param w: [H, I
# CHECK: {{^.*}}types.gf:[[@LINE+4]]:3: error: expected `,` or `]`, found `return`{{$}}
# CHECK-NEXT: {{^}}  return x{{$}}
# CHECK-NEXT: {{^}}  ^~~~~~{{$}}
# CHECK-NEXT: {{^}}hint: opened at [[@LINE-4]]:12{{$}}
  return x
}
