# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: not gatefold check %s 2>&1 | FileCheck %s --strict-whitespace \
# RUN:   --implicit-check-not=error:
# Files and declarations.

# CHECK: {{^.*}}declarations.gf:[[@LINE+3]]:14: error: expected `,` or the end of the line, found `attention`{{$}}
# CHECK-NEXT: {{^}}import cells attention{{$}}
# CHECK-NEXT: {{^}}             ^~~~~~~~~{{$}}
import cells attention
# CHECK: {{^.*}}declarations.gf:[[@LINE+3]]:7: error: expected the name of a file to import, found the end of the line{{$}}
# CHECK-NEXT: {{^}}import{{$}}
# CHECK-NEXT: {{^}}      ^{{$}}
import
# CHECK: {{^.*}}declarations.gf:[[@LINE+3]]:8: error: expected the name of a file to import, found `3`{{$}}
# CHECK-NEXT: {{^}}import 3{{$}}
# CHECK-NEXT: {{^}}       ^{{$}}
import 3
# CHECK: {{^.*}}declarations.gf:[[@LINE+3]]:8: error: expected the name of a file to import, found `"cells"`{{$}}
# CHECK-NEXT: {{^}}import "cells"{{$}}
# CHECK-NEXT: {{^}}       ^~~~~~~{{$}}
import "cells"

# CHECK: {{^.*}}declarations.gf:[[@LINE+4]]:1: error: expected `cell`, `attention`, `func`, `model` or `import`, found `fun`{{$}}
# CHECK-NEXT: {{^}}fun a(x: [M]) -> [M] {{{$}}
# CHECK-NEXT: {{^}}^~~{{$}}
# CHECK-NEXT: {{^}}hint: did you mean `func`?{{$}}
fun a(x: [M]) -> [M] {
  return x
}

# CHECK: {{^.*}}declarations.gf:[[@LINE+3]]:1: error: expected `cell`, `attention`, `func`, `model` or `import`, found `x`{{$}}
# CHECK-NEXT: {{^}}x = 3{{$}}
# CHECK-NEXT: {{^}}^{{$}}
x = 3

# CHECK: {{^.*}}declarations.gf:[[@LINE+3]]:6: error: expected a name after `func`, found `(`{{$}}
# CHECK-NEXT: {{^}}func (x: [M]) -> [M] {{{$}}
# CHECK-NEXT: {{^}}     ^{{$}}
func (x: [M]) -> [M] {
  return x
}

# CHECK: {{^.*}}declarations.gf:[[@LINE+4]]:6: error: expected a name after `func`, found `for`{{$}}
# CHECK-NEXT: {{^}}func for(x: [M]) -> [M] {{{$}}
# CHECK-NEXT: {{^}}     ^~~{{$}}
# CHECK-NEXT: {{^}}hint: `for` is reserved and cannot be a name{{$}}
func for(x: [M]) -> [M] {
  return x
}

# CHECK: {{^.*}}declarations.gf:[[@LINE+3]]:8: error: expected `(` after the name of a declaration, found `->`{{$}}
# CHECK-NEXT: {{^}}func c -> [M] {{{$}}
# CHECK-NEXT: {{^}}       ^~{{$}}
func c -> [M] {
  return x
}

# CHECK: {{^.*}}declarations.gf:[[@LINE+3]]:16: error: expected `->` after the inputs, found `[`{{$}}
# CHECK-NEXT: {{^}}func d(x: [M]) [M] {{{$}}
# CHECK-NEXT: {{^}}               ^{{$}}
func d(x: [M]) [M] {
  return x
}

func e(x: [M]) ->
# CHECK: {{^.*}}declarations.gf:[[@LINE+3]]:4: error: expected `{` after the results, found the end of the line{{$}}
# CHECK-NEXT: {{^}}[M]{{$}}
# CHECK-NEXT: {{^}}   ^{{$}}
[M]
{
  return x
}

# CHECK: {{^.*}}declarations.gf:[[@LINE+4]]:19: error: expected a type, found `{`{{$}}
# CHECK-NEXT: {{^}}func f(x: [M]) -> {{{$}}
# CHECK-NEXT: {{^}}                  ^{{$}}
# CHECK-NEXT: {{^}}hint: a type is a shape, `[B, T]`, or `i64[B, T]`{{$}}
func f(x: [M]) -> {
  return x
}

# CHECK: {{^.*}}declarations.gf:[[@LINE+4]]:15: error: a tensor input has no default, found `=`{{$}}
# CHECK-NEXT: {{^}}func g(x: [M] = 3) -> [M] {{{$}}
# CHECK-NEXT: {{^}}              ^{{$}}
# CHECK-NEXT: {{^}}hint: an input without a type is a setting and may have one{{$}}
func g(x: [M] = 3) -> [M] {
  return x
}

# CHECK: {{^.*}}declarations.gf:[[@LINE+4]]:10: error: expected `,` or `)`, found `y`{{$}}
# CHECK-NEXT: {{^}}func h(x y) -> [M] {{{$}}
# CHECK-NEXT: {{^}}         ^{{$}}
# CHECK-NEXT: {{^}}hint: opened at [[@LINE+1]]:7{{$}}
func h(x y) -> [M] {
  return x
}

# CHECK: {{^.*}}declarations.gf:[[@LINE+3]]:11: error: expected the name of an input, found `,`{{$}}
# CHECK-NEXT: {{^}}func i(x, , y) -> [M] {{{$}}
# CHECK-NEXT: {{^}}          ^{{$}}
func i(x, , y) -> [M] {
  return x
}

# CHECK: {{^.*}}declarations.gf:[[@LINE+3]]:12: error: expected an expression, found `)`{{$}}
# CHECK-NEXT: {{^}}func j(x = ) -> [M] {{{$}}
# CHECK-NEXT: {{^}}           ^{{$}}
func j(x = ) -> [M] {
  return x
}

# CHECK: {{^.*}}declarations.gf:[[@LINE+4]]:32: error: expected `,` or `)`, found `{`{{$}}
# CHECK-NEXT: {{^}}func k(x: [M]) -> ([M], y: [M] {{{$}}
# CHECK-NEXT: {{^}}                               ^{{$}}
# CHECK-NEXT: {{^}}hint: opened at [[@LINE+1]]:19{{$}}
func k(x: [M]) -> ([M], y: [M] {
# CHECK: {{^.*}}declarations.gf:[[@LINE+3]]:7: error: expected an expression, found `=`{{$}}
# CHECK-NEXT: {{^}}  y = = x{{$}}
# CHECK-NEXT: {{^}}      ^{{$}}
  y = = x
  return x
}

# CHECK: {{^.*}}declarations.gf:[[@LINE+4]]:20: error: expected a type, found `)`{{$}}
# CHECK-NEXT: {{^}}func l(x: [M]) -> () {{{$}}
# CHECK-NEXT: {{^}}                   ^{{$}}
# CHECK-NEXT: {{^}}hint: a type is a shape, `[B, T]`, or `i64[B, T]`{{$}}
func l(x: [M]) -> () {
  return x
}

# CHECK: {{^.*}}declarations.gf:[[@LINE+3]]:22: error: expected `{` after the results, found the end of the line{{$}}
# CHECK-NEXT: {{^}}func m(x: [M]) -> [M]{{$}}
# CHECK-NEXT: {{^}}                     ^{{$}}
func m(x: [M]) -> [M]
  return x
}

# CHECK: {{^.*}}declarations.gf:[[@LINE+3]]:35: error: expected `cell`, `attention`, `func`, `model` or `import`, found `}`{{$}}
# CHECK-NEXT: {{^}}func n(x: [M]) -> [M] { return x }}{{$}}
# CHECK-NEXT: {{^}}                                  ^{{$}}
func n(x: [M]) -> [M] { return x }}

func o(x: [M]) -> [M] {
  return x

# CHECK: {{^.*}}declarations.gf:[[@LINE+4]]:1: error: expected `}`, found `func`{{$}}
# CHECK-NEXT: {{^}}func p(x: [M]) -> [M] {{{$}}
# CHECK-NEXT: {{^}}^~~~{{$}}
# CHECK-NEXT: {{^}}hint: opened at [[@LINE-6]]:23{{$}}
func p(x: [M]) -> [M] {
  return x
}
# CHECK: {{^.*}}declarations.gf:[[@LINE+3]]:1: error: an import stands before the declarations{{$}}
# CHECK-NEXT: {{^}}import cells{{$}}
# CHECK-NEXT: {{^}}^~~~~~{{$}}
import cells
