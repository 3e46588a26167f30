# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Every operation carries its place in the text, and the calls around it.
# RUN: gatefold compile %s --emit import --locations | FileCheck %s

func half(x: [M]) -> [M] {
  return 0.5 * tanh(x)
}

# The place of the tanh is that of its name, called from the return of `m`.
# CHECK: #[[PLACE:loc[0-9]*]] = loc("{{.*}}locations.gf":6:16)
# CHECK: #[[CALL:loc[0-9]*]] = loc("{{.*}}locations.gf":17:10)
# CHECK: #[[OUTER:loc[0-9]*]] = loc(callsite(#[[CALL]] at
# CHECK: #[[INNER:loc[0-9]*]] = loc(callsite(#[[PLACE]] at #[[OUTER]]))
# CHECK: math.tanh {{.*}} loc(#[[INNER]])

model m(x: [B, 4]) -> [B, 4] {
  return half(x)
}
