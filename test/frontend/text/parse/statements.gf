# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: not gatefold check %s 2>&1 | FileCheck %s --strict-whitespace \
# RUN:   --implicit-check-not=error:
# What a statement is made of.

func f(x: [M]) -> [M] {
# CHECK: {{^.*}}statements.gf:[[@LINE+3]]:5: error: expected `=` after the target of an assignment, found `+`{{$}}
# CHECK-NEXT: {{^}}  x += 3{{$}}
# CHECK-NEXT: {{^}}    ^{{$}}
  x += 3
# CHECK: {{^.*}}statements.gf:[[@LINE+3]]:4: error: expected `=` after the target of an assignment, found `(`{{$}}
# CHECK-NEXT: {{^}}  f(x){{$}}
# CHECK-NEXT: {{^}}   ^{{$}}
  f(x)
# CHECK: {{^.*}}statements.gf:[[@LINE+3]]:5: error: expected `=` after the target of an assignment, found `b`{{$}}
# CHECK-NEXT: {{^}}  a b = x{{$}}
# CHECK-NEXT: {{^}}    ^{{$}}
  a b = x
# CHECK: {{^.*}}statements.gf:[[@LINE+3]]:4: error: expected `=` after the target of an assignment, found `[`{{$}}
# CHECK-NEXT: {{^}}  x[0] = 3{{$}}
# CHECK-NEXT: {{^}}   ^{{$}}
  x[0] = 3
# CHECK: {{^.*}}statements.gf:[[@LINE+3]]:6: error: expected a name to assign to, found `=`{{$}}
# CHECK-NEXT: {{^}}  a, = x{{$}}
# CHECK-NEXT: {{^}}     ^{{$}}
  a, = x
# CHECK: {{^.*}}statements.gf:[[@LINE+3]]:6: error: expected a name to assign to, found `3`{{$}}
# CHECK-NEXT: {{^}}  a, 3 = x{{$}}
# CHECK-NEXT: {{^}}     ^{{$}}
  a, 3 = x
# CHECK: {{^.*}}statements.gf:[[@LINE+4]]:9: error: expected `,` or `)`, found `c`{{$}}
# CHECK-NEXT: {{^}}  (a, b c) = x{{$}}
# CHECK-NEXT: {{^}}        ^{{$}}
# CHECK-NEXT: {{^}}hint: opened at [[@LINE+1]]:3{{$}}
  (a, b c) = x
# CHECK: {{^.*}}statements.gf:[[@LINE+3]]:3: error: expected a statement, found `=`{{$}}
# CHECK-NEXT: {{^}}  = 3{{$}}
# CHECK-NEXT: {{^}}  ^{{$}}
  = 3
# CHECK: {{^.*}}statements.gf:[[@LINE+3]]:3: error: expected a statement, found `in`{{$}}
# CHECK-NEXT: {{^}}  in x{{$}}
# CHECK-NEXT: {{^}}  ^~{{$}}
  in x
# CHECK: {{^.*}}statements.gf:[[@LINE+3]]:4: error: expected `cell`, `attention`, `func`, `model` or `import`, found `}`{{$}}
# CHECK-NEXT: {{^}}  }}{{$}}
# CHECK-NEXT: {{^}}   ^{{$}}
  }}
func g(x: [M]) -> [M] {
  y =
# CHECK: {{^.*}}statements.gf:[[@LINE+3]]:5: error: expected the end of the statement, found `=`{{$}}
# CHECK-NEXT: {{^}}  y = x x{{$}}
# CHECK-NEXT: {{^}}    ^{{$}}
  y = x x
# CHECK: {{^.*}}statements.gf:[[@LINE+3]]:9: error: expected the end of the statement, found `=`{{$}}
# CHECK-NEXT: {{^}}  y = x = x{{$}}
# CHECK-NEXT: {{^}}        ^{{$}}
  y = x = x
# CHECK: {{^.*}}statements.gf:[[@LINE+3]]:9: error: expected an expression, found the end of the line{{$}}
# CHECK-NEXT: {{^}}  return{{$}}
# CHECK-NEXT: {{^}}        ^{{$}}
  return
  return x,
# CHECK: {{^.*}}statements.gf:[[@LINE+3]]:5: error: expected the end of the statement, found `=`{{$}}
# CHECK-NEXT: {{^}}  x = 1; y = 2{{$}}
# CHECK-NEXT: {{^}}    ^{{$}}
  x = 1; y = 2
# CHECK: {{^.*}}statements.gf:[[@LINE+3]]:7: error: expected the name of a counter after `for`, found `=`{{$}}
# CHECK-NEXT: {{^}}  for = 3{{$}}
# CHECK-NEXT: {{^}}      ^{{$}}
  for = 3
# CHECK: {{^.*}}statements.gf:[[@LINE+4]]:7: error: expected the name of a counter after `for`, found `in`{{$}}
# CHECK-NEXT: {{^}}  for in 3 {{{$}}
# CHECK-NEXT: {{^}}      ^~{{$}}
# CHECK-NEXT: {{^}}hint: `in` is reserved and cannot be a name{{$}}
  for in 3 {
  }
# CHECK: {{^.*}}statements.gf:[[@LINE+3]]:9: error: expected `in` after the counter, found `on`{{$}}
# CHECK-NEXT: {{^}}  for i on 3 {{{$}}
# CHECK-NEXT: {{^}}        ^~{{$}}
  for i on 3 {
# CHECK: {{^.*}}statements.gf:[[@LINE+3]]:9: error: expected an expression, found `=`{{$}}
# CHECK-NEXT: {{^}}    y = = 3{{$}}
# CHECK-NEXT: {{^}}        ^{{$}}
    y = = 3
  }
# CHECK: {{^.*}}statements.gf:[[@LINE+3]]:13: error: expected `{` after the count, found the end of the line{{$}}
# CHECK-NEXT: {{^}}  for i in 3{{$}}
# CHECK-NEXT: {{^}}            ^{{$}}
  for i in 3
# CHECK: {{^.*}}statements.gf:[[@LINE+3]]:12: error: expected an expression, found `{`{{$}}
# CHECK-NEXT: {{^}}  for i in {{{$}}
# CHECK-NEXT: {{^}}           ^{{$}}
  for i in {
  }
# CHECK: {{^.*}}statements.gf:[[@LINE+3]]:24: error: expected the end of the statement, found `y`{{$}}
# CHECK-NEXT: {{^}}  for i in 3 { y = x } y = x{{$}}
# CHECK-NEXT: {{^}}                       ^{{$}}
  for i in 3 { y = x } y = x
# CHECK: {{^.*}}statements.gf:[[@LINE+3]]:6: error: expected `=` after the target of an assignment, found `x`{{$}}
# CHECK-NEXT: {{^}}  if x { y = x }{{$}}
# CHECK-NEXT: {{^}}     ^{{$}}
  if x { y = x }
  return x
}

# CHECK: {{^.*}}statements.gf:[[@LINE+3]]:1: error: expected `cell`, `attention`, `func`, `model` or `import`, found `for`{{$}}
# CHECK-NEXT: {{^}}for i in 3 {{{$}}
# CHECK-NEXT: {{^}}^~~{{$}}
for i in 3 {
}
