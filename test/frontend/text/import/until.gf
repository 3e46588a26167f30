# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: gatefold compile %s --entry spell --emit import | FileCheck %s
# RUN: gatefold compile %s --entry list --emit import | FileCheck %s --check-prefix=ROWS
# A sample that is done takes no further step; a state of small numbers may be an
# index.
import cells

cell writer(start: [H], V, end = 0) -> i64[] {
  state token: i64[] = 1, h: [H] = start, done: bool[] = false
  param embed: embedding(V=V, N=H), rnn: gru(H=H), head: linear(N=V)
  _, h' = step(rnn, embed(token), h)
  token' = argmax(head(h'))
  done' = done or token' == end
  return token'
}

model spell(start: [B, 8]) -> i64[B, 20] {
  param decoder: writer(V=74, end=3)
  y, _ = scan(decoder, with=start, steps=20, until="done")
  return y
}

# CHECK: gf.recurrence states(%{{.*}}, %arg0, %{{.*}} : tensor<?xi64>, tensor<?x8xf32>, tensor<?xi1>) steps(%{{.*}}) time_axis 1 -> (tensor<?x20xi64>)
# CHECK-NEXT: ^step(%[[TOKEN:.*]]: tensor<?xi64>, %[[H:.*]]: tensor<?x8xf32>, %[[DONE:.*]]: tensor<?xi1>):
# CHECK: tensor.extract
# The output is 0, the states are those before the step.
# CHECK: %[[OUTPUT:.*]] = linalg.generic {{.*}} ins(%[[DONE]], %{{.*}} : tensor<?xi1>, tensor<?xi64>)
# CHECK: arith.constant 0 : i64
# CHECK: arith.select
# CHECK: linalg.generic {{.*}} ins(%[[DONE]], %{{.*}}, %[[TOKEN]] : tensor<?xi1>, tensor<?xi64>, tensor<?xi64>)
# CHECK: linalg.generic {{.*}} ins(%[[DONE]], %{{.*}}, %[[H]] : tensor<?xi1>, tensor<?x8xf32>, tensor<?x8xf32>)
# CHECK: gf.yield %[[OUTPUT]],

# Rows that a sequence would write into a state are those that are there where it is done, so that
# nothing is made of the whole state.
cell listing(x: [2]) -> [2] {
  state rows: [9, 2], n: i64[], done: bool[]
  rows' = append(rows, x[None], at=n)
  n' = n + 1
  done' = done or x[0] > 0
  return sum(rows', axis=0)
}

model list(x: [B, 9, 2]) -> (y: [B, 9, 2], rows: [B, 9, 2]) {
  param c: listing()
  y, (rows, _, _) = scan(c, x, until="done")
  return y, rows
}

# ROWS-LABEL: func.func @list
# ROWS: ^step(%{{.*}}: tensor<?x2xf32>, %[[ROWS:.*]]: tensor<?x9x2xf32>, %{{.*}}: tensor<?xi64>, %[[DONE:.*]]: tensor<?xi1>):
# ROWS: %[[NEXT:.*]] = scf.for %[[B:.*]] = {{.*}} iter_args(%[[OLD:.*]] = %[[ROWS]])
# ROWS: %[[NEW:.*]] = tensor.extract_slice
# ROWS: %[[THERE:.*]] = tensor.extract_slice %[[OLD]][%[[B]], %[[N:.*]], 0] [1, 1, 2]
# ROWS: %[[STOP:.*]] = tensor.extract_slice %[[DONE]][%[[B]]] [1] [1]
# ROWS: %[[ROW:.*]] = linalg.generic {{.*}} ins(%[[STOP]], %[[THERE]], %[[NEW]] :
# ROWS: arith.select
# ROWS: tensor.insert_slice %[[ROW]] into %[[OLD]][%[[B]], %[[N]], 0] [1, 1, 2]
# ROWS-NOT: outs(%{{.*}} : tensor<?x9x2xf32>)
# ROWS: gf.yield %{{.*}}, %[[NEXT]],
