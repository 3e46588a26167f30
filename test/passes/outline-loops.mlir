// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: gatefold-opt %s --gf-outline-loops | FileCheck %s

func.func private @kernel(%a: memref<?xf32>, %i: index)

// Two loops differ in what they use; the larger one around the third loop goes
// nowhere, having no equal.
// CHECK-LABEL: func @equal
// CHECK-SAME: %[[N:.*]]: index, %[[A:.*]]: memref<?xf32>, %[[B:.*]]: memref<?xf32>
func.func @equal(%n: index, %a: memref<?xf32>, %b: memref<?xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  // CHECK-NOT: scf.for
  // CHECK: call @[[LOOP:gatefold_loop.*]](%[[N]], %[[A]]) : (index, memref<?xf32>) -> ()
  scf.for %i = %c0 to %n step %c1 {
    func.call @kernel(%a, %i) : (memref<?xf32>, index) -> ()
    func.call @kernel(%a, %n) : (memref<?xf32>, index) -> ()
    func.call @kernel(%a, %i) : (memref<?xf32>, index) -> ()
  }
  // CHECK: scf.for %[[J:.*]] =
  // CHECK-NEXT: call @kernel(%[[B]], %[[J]])
  // CHECK-NEXT: call @[[LOOP]](%[[J]], %[[B]])
  scf.for %j = %c0 to %n step %c1 {
    func.call @kernel(%b, %j) : (memref<?xf32>, index) -> ()
    scf.for %i = %c0 to %j step %c1 {
      func.call @kernel(%b, %i) : (memref<?xf32>, index) -> ()
      func.call @kernel(%b, %j) : (memref<?xf32>, index) -> ()
      func.call @kernel(%b, %i) : (memref<?xf32>, index) -> ()
    }
  }
  return
}

// A barrier, an assertion and little work keep loops where they are.
// CHECK-LABEL: func @stay
// CHECK-COUNT-6: scf.for
// CHECK: return
func.func @stay(%n: index, %a: memref<?xf32>, %c: i1) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %n step %c1 {
    func.call @kernel(%a, %i) : (memref<?xf32>, index) -> ()
    func.call @kernel(%a, %i) : (memref<?xf32>, index) -> ()
    func.call @kernel(%a, %i) : (memref<?xf32>, index) -> ()
    gf.team_barrier
  }
  scf.for %i = %c0 to %n step %c1 {
    func.call @kernel(%a, %i) : (memref<?xf32>, index) -> ()
    func.call @kernel(%a, %i) : (memref<?xf32>, index) -> ()
    func.call @kernel(%a, %i) : (memref<?xf32>, index) -> ()
    gf.team_barrier
  }
  scf.for %i = %c0 to %n step %c1 {
    func.call @kernel(%a, %i) : (memref<?xf32>, index) -> ()
    func.call @kernel(%a, %i) : (memref<?xf32>, index) -> ()
    func.call @kernel(%a, %i) : (memref<?xf32>, index) -> ()
    cf.assert %c, "no"
  }
  scf.for %i = %c0 to %n step %c1 {
    func.call @kernel(%a, %i) : (memref<?xf32>, index) -> ()
    func.call @kernel(%a, %i) : (memref<?xf32>, index) -> ()
    func.call @kernel(%a, %i) : (memref<?xf32>, index) -> ()
    cf.assert %c, "no"
  }
  scf.for %i = %c0 to %n step %c1 {
    func.call @kernel(%a, %i) : (memref<?xf32>, index) -> ()
  }
  scf.for %i = %c0 to %n step %c1 {
    func.call @kernel(%a, %i) : (memref<?xf32>, index) -> ()
  }
  return
}

// CHECK: func private @[[LOOP]](%{{.*}}: index, %{{.*}}: memref<?xf32>) attributes {passthrough = ["noinline"]}
// CHECK: scf.for
// CHECK-NOT: func private @gatefold_loop
