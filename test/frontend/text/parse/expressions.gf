# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: not gatefold check %s 2>&1 | FileCheck %s --strict-whitespace \
# RUN:   --implicit-check-not=error:
# Expressions.

func f(x: [M]) -> [M] {
# CHECK: {{^.*}}expressions.gf:[[@LINE+4]]:13: error: comparisons do not chain{{$}}
# CHECK-NEXT: {{^}}  y = a < b < c{{$}}
# CHECK-NEXT: {{^}}            ^{{$}}
# CHECK-NEXT: {{^}}hint: write `a < b and b < c`{{$}}
  y = a < b < c
# CHECK: {{^.*}}expressions.gf:[[@LINE+4]]:18: error: comparisons do not chain{{$}}
# CHECK-NEXT: {{^}}  y = a == b + 1 != c{{$}}
# CHECK-NEXT: {{^}}                 ^~{{$}}
# CHECK-NEXT: {{^}}hint: write `a == b + 1 and b + 1 != c`{{$}}
  y = a == b + 1 != c
# CHECK: {{^.*}}expressions.gf:[[@LINE+4]]:28: error: comparisons do not chain{{$}}
# CHECK-NEXT: {{^}}  y = x @ a >= 3 and a < b <= c{{$}}
# CHECK-NEXT: {{^}}                           ^~{{$}}
# CHECK-NEXT: {{^}}hint: write `a < b and b <= c`{{$}}
  y = x @ a >= 3 and a < b <= c
# CHECK: {{^.*}}expressions.gf:[[@LINE+3]]:9: error: expected an index, found `]`{{$}}
# CHECK-NEXT: {{^}}  y = x[]{{$}}
# CHECK-NEXT: {{^}}        ^{{$}}
  y = x[]
# CHECK: {{^.*}}expressions.gf:[[@LINE+3]]:11: error: expected an expression, found `,`{{$}}
# CHECK-NEXT: {{^}}  y = x[0,,1]{{$}}
# CHECK-NEXT: {{^}}          ^{{$}}
  y = x[0,,1]
# CHECK: {{^.*}}expressions.gf:[[@LINE+4]]:11: error: expected `,` or `]`, found `1`{{$}}
# CHECK-NEXT: {{^}}  y = x[0 1]{{$}}
# CHECK-NEXT: {{^}}          ^{{$}}
# CHECK-NEXT: {{^}}hint: opened at [[@LINE+1]]:8{{$}}
  y = x[0 1]
# CHECK: {{^.*}}expressions.gf:[[@LINE+4]]:14: error: expected `,` or `]`, found `:`{{$}}
# CHECK-NEXT: {{^}}  y = x[0:1:2:3]{{$}}
# CHECK-NEXT: {{^}}             ^{{$}}
# CHECK-NEXT: {{^}}hint: opened at [[@LINE+1]]:8{{$}}
  y = x[0:1:2:3]
# CHECK: {{^.*}}expressions.gf:[[@LINE+4]]:12: error: expected `,` or `]`, found `:`{{$}}
# CHECK-NEXT: {{^}}  y = x[...:2]{{$}}
# CHECK-NEXT: {{^}}           ^{{$}}
# CHECK-NEXT: {{^}}hint: opened at [[@LINE+1]]:8{{$}}
  y = x[...:2]
# CHECK: {{^.*}}expressions.gf:[[@LINE+3]]:12: error: expected an expression, found `,`{{$}}
# CHECK-NEXT: {{^}}  y = f(x, , x){{$}}
# CHECK-NEXT: {{^}}           ^{{$}}
  y = f(x, , x)
# CHECK: {{^.*}}expressions.gf:[[@LINE+3]]:11: error: expected an expression, found `)`{{$}}
# CHECK-NEXT: {{^}}  y = f(x=){{$}}
# CHECK-NEXT: {{^}}          ^{{$}}
  y = f(x=)
# CHECK: {{^.*}}expressions.gf:[[@LINE+4]]:11: error: expected `,` or `)`, found `x`{{$}}
# CHECK-NEXT: {{^}}  y = f(x x){{$}}
# CHECK-NEXT: {{^}}          ^{{$}}
# CHECK-NEXT: {{^}}hint: opened at [[@LINE+1]]:8{{$}}
  y = f(x x)
# CHECK: {{^.*}}expressions.gf:[[@LINE+4]]:10: error: expected `,` or `)`, found `=`{{$}}
# CHECK-NEXT: {{^}}  y = f(3=x){{$}}
# CHECK-NEXT: {{^}}         ^{{$}}
# CHECK-NEXT: {{^}}hint: opened at [[@LINE+1]]:8{{$}}
  y = f(3=x)
# CHECK: {{^.*}}expressions.gf:[[@LINE+4]]:10: error: only a name can be called{{$}}
# CHECK-NEXT: {{^}}  y = (x)(x){{$}}
# CHECK-NEXT: {{^}}         ^{{$}}
# CHECK-NEXT: {{^}}hint: give the value before `(` a name first{{$}}
  y = (x)(x)
# CHECK: {{^.*}}expressions.gf:[[@LINE+4]]:10: error: only a name can be called{{$}}
# CHECK-NEXT: {{^}}  y = x.T(x){{$}}
# CHECK-NEXT: {{^}}         ^{{$}}
# CHECK-NEXT: {{^}}hint: give the value before `(` a name first{{$}}
  y = x.T(x)
# CHECK: {{^.*}}expressions.gf:[[@LINE+4]]:11: error: only a name can be called{{$}}
# CHECK-NEXT: {{^}}  y = x[0](x){{$}}
# CHECK-NEXT: {{^}}          ^{{$}}
# CHECK-NEXT: {{^}}hint: give the value before `(` a name first{{$}}
  y = x[0](x)
# CHECK: {{^.*}}expressions.gf:[[@LINE+4]]:7: error: expected an expression, found `[`{{$}}
# CHECK-NEXT: {{^}}  y = [1, 2]{{$}}
# CHECK-NEXT: {{^}}      ^{{$}}
# CHECK-NEXT: {{^}}hint: a tuple is written `(a, b)`{{$}}
  y = [1, 2]
# CHECK: {{^.*}}expressions.gf:[[@LINE+3]]:7: error: `None` stands in an index only{{$}}
# CHECK-NEXT: {{^}}  y = None{{$}}
# CHECK-NEXT: {{^}}      ^~~~{{$}}
  y = None
# CHECK: {{^.*}}expressions.gf:[[@LINE+3]]:11: error: `None` stands in an index only{{$}}
# CHECK-NEXT: {{^}}  y = x + None{{$}}
# CHECK-NEXT: {{^}}          ^~~~{{$}}
  y = x + None
# CHECK: {{^.*}}expressions.gf:[[@LINE+3]]:10: error: expected an expression, found `)`{{$}}
# CHECK-NEXT: {{^}}  y = (x,){{$}}
# CHECK-NEXT: {{^}}         ^{{$}}
  y = (x,)
# CHECK: {{^.*}}expressions.gf:[[@LINE+3]]:8: error: expected an expression, found `)`{{$}}
# CHECK-NEXT: {{^}}  y = (){{$}}
# CHECK-NEXT: {{^}}       ^{{$}}
  y = ()
# CHECK: {{^.*}}expressions.gf:[[@LINE+3]]:9: error: expected a name after `.`, found the end of the line{{$}}
# CHECK-NEXT: {{^}}  y = x.{{$}}
# CHECK-NEXT: {{^}}        ^{{$}}
  y = x.
# CHECK: {{^.*}}expressions.gf:[[@LINE+3]]:8: error: expected the end of the statement, found `.3`{{$}}
# CHECK-NEXT: {{^}}  y = x.3{{$}}
# CHECK-NEXT: {{^}}       ^~{{$}}
  y = x.3
# CHECK: {{^.*}}expressions.gf:[[@LINE+4]]:9: error: expected a name after `.`, found `for`{{$}}
# CHECK-NEXT: {{^}}  y = x.for{{$}}
# CHECK-NEXT: {{^}}        ^~~{{$}}
# CHECK-NEXT: {{^}}hint: `for` is reserved and cannot be a name{{$}}
  y = x.for
# CHECK: {{^.*}}expressions.gf:[[@LINE+3]]:7: error: expected an expression, found `+`{{$}}
# CHECK-NEXT: {{^}}  y = +x{{$}}
# CHECK-NEXT: {{^}}      ^{{$}}
  y = +x
# CHECK: {{^.*}}expressions.gf:[[@LINE+3]]:11: error: expected an expression, found `*`{{$}}
# CHECK-NEXT: {{^}}  y = x + * x{{$}}
# CHECK-NEXT: {{^}}          ^{{$}}
  y = x + * x
# CHECK: {{^.*}}expressions.gf:[[@LINE+4]]:11: error: expected an expression, found `not`{{$}}
# CHECK-NEXT: {{^}}  y = x * not x{{$}}
# CHECK-NEXT: {{^}}          ^~~{{$}}
# CHECK-NEXT: {{^}}hint: `not` is reserved and cannot be a name{{$}}
  y = x * not x
# CHECK: {{^.*}}expressions.gf:[[@LINE+4]]:7: error: expected an expression, found `return`{{$}}
# CHECK-NEXT: {{^}}  y = return{{$}}
# CHECK-NEXT: {{^}}      ^~~~~~{{$}}
# CHECK-NEXT: {{^}}hint: `return` is reserved and cannot be a name{{$}}
  y = return
# CHECK: {{^.*}}expressions.gf:[[@LINE+4]]:7: error: expected an expression, found `state`{{$}}
# CHECK-NEXT: {{^}}  y = state'{{$}}
# CHECK-NEXT: {{^}}      ^~~~~{{$}}
# CHECK-NEXT: {{^}}hint: `state` is reserved and cannot be a name{{$}}
  y = state'
# CHECK: {{^.*}}expressions.gf:[[@LINE+3]]:10: error: expected an expression, found the end of the line{{$}}
# CHECK-NEXT: {{^}}  y = not{{$}}
# CHECK-NEXT: {{^}}         ^{{$}}
  y = not
# CHECK: {{^.*}}expressions.gf:[[@LINE+3]]:7: error: expected an expression, found `...`{{$}}
# CHECK-NEXT: {{^}}  y = ...{{$}}
# CHECK-NEXT: {{^}}      ^~~{{$}}
  y = ...
# CHECK: {{^.*}}expressions.gf:[[@LINE+3]]:14: error: expected the end of the statement, found `x`{{$}}
# CHECK-NEXT: {{^}}  y = lambda x: x{{$}}
# CHECK-NEXT: {{^}}             ^{{$}}
  y = lambda x: x
  return x
}
