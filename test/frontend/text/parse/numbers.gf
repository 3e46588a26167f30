# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: not gatefold check %s 2>&1 | FileCheck %s --strict-whitespace \
# RUN:   --implicit-check-not=error:
# Numbers.

func f(x: [M]) -> [M] {
# CHECK: {{^.*}}numbers.gf:[[@LINE+4]]:7: error: `1.` is not a number{{$}}
# CHECK-NEXT: {{^}}  y = 1.{{$}}
# CHECK-NEXT: {{^}}      ^~{{$}}
# CHECK-NEXT: {{^}}hint: a digit stands on both sides of a point{{$}}
  y = 1.
# CHECK: {{^.*}}numbers.gf:[[@LINE+4]]:7: error: `.5` is not a number{{$}}
# CHECK-NEXT: {{^}}  y = .5{{$}}
# CHECK-NEXT: {{^}}      ^~{{$}}
# CHECK-NEXT: {{^}}hint: a digit stands on both sides of a point{{$}}
  y = .5
# CHECK: {{^.*}}numbers.gf:[[@LINE+4]]:7: error: `1.` is not a number{{$}}
# CHECK-NEXT: {{^}}  y = 1.e5{{$}}
# CHECK-NEXT: {{^}}      ^~{{$}}
# CHECK-NEXT: {{^}}hint: a digit stands on both sides of a point{{$}}
  y = 1.e5
# CHECK: {{^.*}}numbers.gf:[[@LINE+3]]:9: error: expected a name after `.`, found `.2`{{$}}
# CHECK-NEXT: {{^}}  y = 1..2{{$}}
# CHECK-NEXT: {{^}}        ^~{{$}}
  y = 1..2
# CHECK: {{^.*}}numbers.gf:[[@LINE+4]]:7: error: `1.2.3` is not a number{{$}}
# CHECK-NEXT: {{^}}  y = 1.2.3{{$}}
# CHECK-NEXT: {{^}}      ^~~~~{{$}}
# CHECK-NEXT: {{^}}hint: a number has one point{{$}}
  y = 1.2.3
# CHECK: {{^.*}}numbers.gf:[[@LINE+4]]:7: error: `1.` is not a number{{$}}
# CHECK-NEXT: {{^}}  y = 1.T{{$}}
# CHECK-NEXT: {{^}}      ^~{{$}}
# CHECK-NEXT: {{^}}hint: a digit stands on both sides of a point{{$}}
  y = 1.T
# CHECK: {{^.*}}numbers.gf:[[@LINE+4]]:9: error: `1.` is not a number{{$}}
# CHECK-NEXT: {{^}}  y = x[1.:2]{{$}}
# CHECK-NEXT: {{^}}        ^~{{$}}
# CHECK-NEXT: {{^}}hint: a digit stands on both sides of a point{{$}}
  y = x[1.:2]
# CHECK: {{^.*}}numbers.gf:[[@LINE+4]]:7: error: `1__0` is not a number{{$}}
# CHECK-NEXT: {{^}}  y = 1__0{{$}}
# CHECK-NEXT: {{^}}      ^~~~{{$}}
# CHECK-NEXT: {{^}}hint: a `_` stands between two digits{{$}}
  y = 1__0
# CHECK: {{^.*}}numbers.gf:[[@LINE+4]]:7: error: `10_` is not a number{{$}}
# CHECK-NEXT: {{^}}  y = 10_{{$}}
# CHECK-NEXT: {{^}}      ^~~{{$}}
# CHECK-NEXT: {{^}}hint: a `_` stands between two digits{{$}}
  y = 10_
# CHECK: {{^.*}}numbers.gf:[[@LINE+4]]:7: error: `1_.5` is not a number{{$}}
# CHECK-NEXT: {{^}}  y = 1_.5{{$}}
# CHECK-NEXT: {{^}}      ^~~~{{$}}
# CHECK-NEXT: {{^}}hint: a `_` stands between two digits{{$}}
  y = 1_.5
# CHECK: {{^.*}}numbers.gf:[[@LINE+4]]:7: error: `1e` is not a number{{$}}
# CHECK-NEXT: {{^}}  y = 1e{{$}}
# CHECK-NEXT: {{^}}      ^~{{$}}
# CHECK-NEXT: {{^}}hint: digits follow the `e` of an exponent{{$}}
  y = 1e
# CHECK: {{^.*}}numbers.gf:[[@LINE+4]]:7: error: `1e` is not a number{{$}}
# CHECK-NEXT: {{^}}  y = 1e+{{$}}
# CHECK-NEXT: {{^}}      ^~{{$}}
# CHECK-NEXT: {{^}}hint: digits follow the `e` of an exponent{{$}}
  y = 1e+
# CHECK: {{^.*}}numbers.gf:[[@LINE+4]]:7: error: `1e5_` is not a number{{$}}
# CHECK-NEXT: {{^}}  y = 1e5_{{$}}
# CHECK-NEXT: {{^}}      ^~~~{{$}}
# CHECK-NEXT: {{^}}hint: a `_` stands between two digits{{$}}
  y = 1e5_
# CHECK: {{^.*}}numbers.gf:[[@LINE+4]]:7: error: `3x` is not a number{{$}}
# CHECK-NEXT: {{^}}  y = 3x{{$}}
# CHECK-NEXT: {{^}}      ^~{{$}}
# CHECK-NEXT: {{^}}hint: a name does not begin with a digit{{$}}
  y = 3x
# CHECK: {{^.*}}numbers.gf:[[@LINE+4]]:7: error: `0x10` is not a number{{$}}
# CHECK-NEXT: {{^}}  y = 0x10{{$}}
# CHECK-NEXT: {{^}}      ^~~~{{$}}
# CHECK-NEXT: {{^}}hint: a name does not begin with a digit{{$}}
  y = 0x10
# CHECK: {{^.*}}numbers.gf:[[@LINE+4]]:7: error: the whole number `9223372036854775808` is too large{{$}}
# CHECK-NEXT: {{^}}  y = 9223372036854775808{{$}}
# CHECK-NEXT: {{^}}      ^~~~~~~~~~~~~~~~~~~{{$}}
# CHECK-NEXT: {{^}}hint: whole numbers go up to 9223372036854775807{{$}}
  y = 9223372036854775808
# CHECK: {{^.*}}numbers.gf:[[@LINE+4]]:8: error: the whole number `9223372036854775808` is too large{{$}}
# CHECK-NEXT: {{^}}  y = -9223372036854775808{{$}}
# CHECK-NEXT: {{^}}       ^~~~~~~~~~~~~~~~~~~{{$}}
# CHECK-NEXT: {{^}}hint: whole numbers go up to 9223372036854775807{{$}}
  y = -9223372036854775808
# CHECK: {{^.*}}numbers.gf:[[@LINE+4]]:7: error: the whole number `99_999_999_999_999_999_999` is too large{{$}}
# CHECK-NEXT: {{^}}  y = 99_999_999_999_999_999_999{{$}}
# CHECK-NEXT: {{^}}      ^~~~~~~~~~~~~~~~~~~~~~~~~~{{$}}
# CHECK-NEXT: {{^}}hint: whole numbers go up to 9223372036854775807{{$}}
  y = 99_999_999_999_999_999_999
# CHECK: {{^.*}}numbers.gf:[[@LINE+4]]:7: error: the number `1e309` is too large{{$}}
# CHECK-NEXT: {{^}}  y = 1e309{{$}}
# CHECK-NEXT: {{^}}      ^~~~~{{$}}
# CHECK-NEXT: {{^}}hint: write `inf` for infinity{{$}}
  y = 1e309
# CHECK: {{^.*}}numbers.gf:[[@LINE+4]]:7: error: the number `1e-400` is too small{{$}}
# CHECK-NEXT: {{^}}  y = 1e-400{{$}}
# CHECK-NEXT: {{^}}      ^~~~~~{{$}}
# CHECK-NEXT: {{^}}hint: write `0.0`{{$}}
  y = 1e-400
  return x
}
