# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: not gatefold check %s 2>&1 | FileCheck %s --strict-whitespace \
# RUN:   --implicit-check-not=error:
# Strings.

func f(x: [M]) -> [M] {
# CHECK: {{^.*}}strings.gf:[[@LINE+3]]:7: error: expected `"` at the end of a string, found the end of the line{{$}}
# CHECK-NEXT: {{^}}  y = "abc{{$}}
# CHECK-NEXT: {{^}}      ^~~~{{$}}
  y = "abc
# CHECK: {{^.*}}strings.gf:[[@LINE+3]]:7: error: expected `"` at the end of a string, found the end of the line{{$}}
# CHECK-NEXT: {{^}}  y = "abc\"{{$}}
# CHECK-NEXT: {{^}}      ^~~~~~{{$}}
  y = "abc\"
# CHECK: {{^.*}}strings.gf:[[@LINE+3]]:19: error: expected `"` at the end of a string, found the end of the line{{$}}
# CHECK-NEXT: {{^}}  y = pad(x, mode="reflect){{$}}
# CHECK-NEXT: {{^}}                  ^~~~~~~~~{{$}}
  y = pad(x, mode="reflect)
# CHECK: {{^.*}}strings.gf:[[@LINE+4]]:9: error: unknown escape `\n` in a string{{$}}
# CHECK-NEXT: {{^}}  y = "a\nb"{{$}}
# CHECK-NEXT: {{^}}        ^~{{$}}
# CHECK-NEXT: {{^}}hint: a string knows `\"` and `\\`{{$}}
  y = "a\nb"
# CHECK: {{^.*}}strings.gf:[[@LINE+4]]:8: error: unknown escape `\é` in a string{{$}}
# CHECK-NEXT: {{^}}  y = "\é"{{$}}
# CHECK-NEXT: {{^}}       ^~{{$}}
# CHECK-NEXT: {{^}}hint: a string knows `\"` and `\\`{{$}}
  y = "\é"
# CHECK: {{^.*}}strings.gf:[[@LINE+4]]:7: error: unexpected character `'`{{$}}
# CHECK-NEXT: {{^}}  y = 'reflect'{{$}}
# CHECK-NEXT: {{^}}      ^{{$}}
# CHECK-NEXT: {{^}}hint: a string stands in `"`; `h'` is the next value of a state `h`{{$}}
  y = 'reflect'
  return x
}
