# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: not gatefold check %s 2>&1 | FileCheck %s --implicit-check-not=error:
# Names that an import would bring.

func f(x: [T, M]) -> [T, M] {
  # CHECK: forgotten_import.gf:[[@LINE+5]]:12: error: no cell, func or layer is named `gru`
  # CHECK: hint: `gru` comes by `import cells`
  # CHECK: forgotten_import.gf:[[@LINE+3]]:25: error: no cell, func or layer is named `lstn`
  # CHECK: hint: did you mean `lstm`?
  # CHECK: hint: `lstm` comes by `import cells`
  param a: gru(H=3), b: lstn(H=3)
  # CHECK: forgotten_import.gf:[[@LINE+2]]:10: error: no function is named `dot_product`
  # CHECK: hint: `dot_product` comes by `import attention`
  return dot_product(x, x, x)
}
