# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: not gatefold check %s 2>&1 | FileCheck %s --strict-whitespace \
# RUN:   --implicit-check-not=error:
# Characters that no token begins with.

func f(x: [M]) -> [M] {
# CHECK: {{^.*}}characters.gf:[[@LINE+3]]:7: error: unexpected character `$`{{$}}
# CHECK-NEXT: {{^}}  y = $x{{$}}
# CHECK-NEXT: {{^}}      ^{{$}}
  y = $x
# CHECK: {{^.*}}characters.gf:[[@LINE+4]]:9: error: unexpected character `&`{{$}}
# CHECK-NEXT: {{^}}  y = x & x{{$}}
# CHECK-NEXT: {{^}}        ^{{$}}
# CHECK-NEXT: {{^}}hint: write `and`{{$}}
  y = x & x
# CHECK: {{^.*}}characters.gf:[[@LINE+4]]:9: error: unexpected character `|`{{$}}
# CHECK-NEXT: {{^}}  y = x | x{{$}}
# CHECK-NEXT: {{^}}        ^{{$}}
# CHECK-NEXT: {{^}}hint: write `or`{{$}}
  y = x | x
# CHECK: {{^.*}}characters.gf:[[@LINE+4]]:7: error: unexpected character `!`{{$}}
# CHECK-NEXT: {{^}}  y = !x{{$}}
# CHECK-NEXT: {{^}}      ^{{$}}
# CHECK-NEXT: {{^}}hint: write `not`{{$}}
  y = !x
# CHECK: {{^.*}}characters.gf:[[@LINE+4]]:9: error: unexpected character `^`{{$}}
# CHECK-NEXT: {{^}}  y = x ^ 2{{$}}
# CHECK-NEXT: {{^}}        ^{{$}}
# CHECK-NEXT: {{^}}hint: a power is written `**`{{$}}
  y = x ^ 2
# CHECK: {{^.*}}characters.gf:[[@LINE+3]]:9: error: unexpected character `?`{{$}}
# CHECK-NEXT: {{^}}  y = x ? x{{$}}
# CHECK-NEXT: {{^}}        ^{{$}}
  y = x ? x
# CHECK: {{^.*}}characters.gf:[[@LINE+3]]:7: error: unexpected character ```{{$}}
# CHECK-NEXT: {{^}}  y = `x`{{$}}
# CHECK-NEXT: {{^}}      ^{{$}}
  y = `x`
# CHECK: {{^.*}}characters.gf:[[@LINE+3]]:9: error: unexpected character `−`{{$}}
# CHECK-NEXT: {{^}}  y = x − x{{$}}
# CHECK-NEXT: {{^}}        ^{{$}}
  y = x − x
# CHECK: {{^.*}}characters.gf:[[@LINE+3]]:3: error: unexpected character `ε`{{$}}
# CHECK-NEXT: {{^}}  ε = 1e-5{{$}}
# CHECK-NEXT: {{^}}  ^{{$}}
  ε = 1e-5
# CHECK: {{^.*}}characters.gf:[[@LINE+4]]:9: error: unexpected character `'`{{$}}
# CHECK-NEXT: {{^}}  y = h''{{$}}
# CHECK-NEXT: {{^}}        ^{{$}}
# CHECK-NEXT: {{^}}hint: a string stands in `"`; `h'` is the next value of a state `h`{{$}}
  y = h''
  return x
}
# CHECK: {{^.*}}characters.gf:[[@LINE+3]]:1: error: unexpected character `$`{{$}}
# CHECK-NEXT: {{^}}${{$}}
# CHECK-NEXT: {{^}}^{{$}}
$
