# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: not gatefold check %s 2>&1 | FileCheck %s --strict-whitespace \
# RUN:   --implicit-check-not=error:
# Brackets that do not close; what stands below is read again.

func f(x: [M]) -> [M] {
  y = exp((x + 1
# CHECK: {{^.*}}unclosed_parenthesis.gf:[[@LINE+7]]:3: error: expected `,` or `)`, found `y`{{$}}
# CHECK-NEXT: {{^}}  y = = x{{$}}
# CHECK-NEXT: {{^}}  ^{{$}}
# CHECK-NEXT: {{^}}hint: opened at [[@LINE-4]]:11{{$}}
# CHECK: {{^.*}}unclosed_parenthesis.gf:[[@LINE+3]]:7: error: expected an expression, found `=`{{$}}
# CHECK-NEXT: {{^}}  y = = x{{$}}
# CHECK-NEXT: {{^}}      ^{{$}}
  y = = x
  y = exp(x +
          1,
          x
# CHECK: {{^.*}}unclosed_parenthesis.gf:[[@LINE+7]]:3: error: expected `,` or `)`, found `y`{{$}}
# CHECK-NEXT: {{^}}  y = = x{{$}}
# CHECK-NEXT: {{^}}  ^{{$}}
# CHECK-NEXT: {{^}}hint: opened at [[@LINE-6]]:10{{$}}
# CHECK: {{^.*}}unclosed_parenthesis.gf:[[@LINE+3]]:7: error: expected an expression, found `=`{{$}}
# CHECK-NEXT: {{^}}  y = = x{{$}}
# CHECK-NEXT: {{^}}      ^{{$}}
  y = = x
# CHECK: {{^.*}}unclosed_parenthesis.gf:[[@LINE+4]]:14: error: expected `,` or `)`, found `]`{{$}}
# CHECK-NEXT: {{^}}  y = x[0, (1]{{$}}
# CHECK-NEXT: {{^}}             ^{{$}}
# CHECK-NEXT: {{^}}hint: opened at [[@LINE+1]]:12{{$}}
  y = x[0, (1]
# CHECK: {{^.*}}unclosed_parenthesis.gf:[[@LINE+3]]:7: error: expected an expression, found `=`{{$}}
# CHECK-NEXT: {{^}}  y = = x{{$}}
# CHECK-NEXT: {{^}}      ^{{$}}
  y = = x
  return exp(x
# CHECK: {{^.*}}unclosed_parenthesis.gf:[[@LINE+4]]:1: error: expected `,` or `)`, found `}`{{$}}
# CHECK-NEXT: {{^}}}{{$}}
# CHECK-NEXT: {{^}}^{{$}}
# CHECK-NEXT: {{^}}hint: opened at [[@LINE-4]]:13{{$}}
}

func g(x: [M],
# CHECK: {{^.*}}unclosed_parenthesis.gf:[[@LINE+4]]:15: error: expected `,` or `)`, found `->`{{$}}
# CHECK-NEXT: {{^}}       y: [M] -> [M] {{{$}}
# CHECK-NEXT: {{^}}              ^~{{$}}
# CHECK-NEXT: {{^}}hint: opened at [[@LINE-4]]:7{{$}}
       y: [M] -> [M] {
# CHECK: {{^.*}}unclosed_parenthesis.gf:[[@LINE+3]]:7: error: expected an expression, found `=`{{$}}
# CHECK-NEXT: {{^}}  y = = x{{$}}
# CHECK-NEXT: {{^}}      ^{{$}}
  y = = x
}

func h(x: [M]) -> [M] {
  return x + (
# CHECK: {{^.*}}unclosed_parenthesis.gf:[[@LINE+3]]:1: error: expected an expression, found the end of the file{{$}}
# CHECK-EMPTY:
# CHECK-NEXT: {{^}}^{{$}}
