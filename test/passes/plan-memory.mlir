// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: gatefold-opt %s --gf-plan-memory --canonicalize --cse --split-input-file --verify-diagnostics | FileCheck %s

#shape = affine_map<()[s0] -> (s0)>
module attributes {gf.description = {dimensions = ["N"], entry = "f", equal = [], messages = [],
    tensors = [{name = "x", role = 0 : i64, shape = #shape, type = tensor<?xf32>}]}} {
  // The third takes the place of the first, which has died; the one of the loop does not grow.
  // CHECK-LABEL: func @gatefold_run_entry
  // CHECK-SAME: %[[X:.*]]: memref<?xf32>, %[[ARENA:.*]]: memref<?xi8>
  func.func @gatefold_run_entry(%x: memref<?xf32>) {
    // CHECK-NOT: memref.alloc
    // CHECK-DAG: %[[ZERO:.*]] = arith.constant 0 : index
    // CHECK-DAG: %[[N:.*]] = memref.dim %[[X]], %[[ZERO]]
    // CHECK-DAG: %[[FIRST:.*]] = memref.view %[[ARENA]][%[[ZERO]]][%[[N]]]
    // CHECK-DAG: %[[SECOND:.*]] = memref.view %[[ARENA]][%[[OFFSET:.*]]][%[[N]]]
    // CHECK: linalg.copy ins(%[[X]] : {{.*}}) outs(%[[FIRST]]
    // CHECK: linalg.copy ins(%[[FIRST]] : {{.*}}) outs(%[[SECOND]]
    // CHECK: linalg.copy ins(%[[SECOND]] : {{.*}}) outs(%[[FIRST]]
    // CHECK: linalg.copy ins(%[[FIRST]] : {{.*}}) outs(%[[X]]
    %zero = arith.constant 0 : index
    %one = arith.constant 1 : index
    %n = memref.dim %x, %zero : memref<?xf32>
    %a = memref.alloc(%n) : memref<?xf32>
    linalg.copy ins(%x : memref<?xf32>) outs(%a : memref<?xf32>)
    %b = memref.alloc(%n) : memref<?xf32>
    linalg.copy ins(%a : memref<?xf32>) outs(%b : memref<?xf32>)
    %c = memref.alloc(%n) : memref<?xf32>
    linalg.copy ins(%b : memref<?xf32>) outs(%c : memref<?xf32>)
    linalg.copy ins(%c : memref<?xf32>) outs(%x : memref<?xf32>)
    // CHECK: scf.for
    scf.for %i = %zero to %n step %one {
      // CHECK-NOT: memref.view
      // CHECK: memref.store %{{.*}}, %{{.*}}[] : memref<f32>
      %d = memref.alloc() : memref<f32>
      %v = memref.load %x[%i] : memref<?xf32>
      memref.store %v, %d[] : memref<f32>
      %w = memref.load %d[] : memref<f32>
      memref.store %w, %x[%i] : memref<?xf32>
    }
    return
  }
  // Negative sizes and overflow give -1.
  // CHECK-LABEL: func @gatefold_arena_bytes
  // CHECK: %[[SYMBOL:.*]] = llvm.load
  // CHECK: arith.cmpi slt, %[[SYMBOL]]
  // CHECK: arith.mulsi_extended %[[SYMBOL]]
  // CHECK: %[[RESULT:.*]] = arith.select %{{.*}}, %c-1_i64, %{{.*}} : i64
  // CHECK: return %[[RESULT]]
}

// -----

// What is left of a size behind a place that the loop finds is at most all of it.
#shape = affine_map<()[s0] -> (s0)>
module attributes {gf.description = {dimensions = ["N"], entry = "f", equal = [], messages = [],
    tensors = [{name = "x", role = 0 : i64, shape = #shape, type = tensor<?xf32>}]}} {
  // CHECK-LABEL: func @gatefold_run_entry
  // CHECK: scf.for
  // CHECK: %[[FROM:.*]] = arith.maxsi
  // CHECK: %[[REST:.*]] = arith.subi %{{.*}}, %[[FROM]]
  // CHECK: memref.view %{{.*}}[%{{.*}}][%[[REST]]] : memref<?xi8> to memref<?xf32>
  func.func @gatefold_run_entry(%x: memref<?xf32>) {
    %zero = arith.constant 0 : index
    %one = arith.constant 1 : index
    %two = arith.constant 2 : index
    %n = memref.dim %x, %zero : memref<?xf32>
    scf.for %i = %zero to %n step %one {
      %back = arith.subi %i, %two : index
      %from = arith.maxsi %back, %zero : index
      %rest = arith.subi %n, %from : index
      %part = memref.alloc(%rest) : memref<?xf32>
      %of_x = memref.subview %x[%from] [%rest] [1] : memref<?xf32> to memref<?xf32, strided<[1], offset: ?>>
      linalg.copy ins(%of_x : memref<?xf32, strided<[1], offset: ?>>) outs(%part : memref<?xf32>)
      linalg.copy ins(%part : memref<?xf32>) outs(%of_x : memref<?xf32, strided<[1], offset: ?>>)
    }
    return
  }
  // CHECK-LABEL: func @gatefold_arena_bytes
  // CHECK: %[[SYMBOL:.*]] = llvm.load
  // CHECK: arith.mulsi_extended %[[SYMBOL]]
}

// -----

// It may be more than all of it where the place may be negative.
#shape = affine_map<()[s0] -> (s0)>
module attributes {gf.description = {dimensions = ["N"], entry = "f", equal = [], messages = [],
    tensors = [{name = "x", role = 0 : i64, shape = #shape, type = tensor<?xf32>}]}} {
  func.func @gatefold_run_entry(%x: memref<?xf32>) {
    %zero = arith.constant 0 : index
    %one = arith.constant 1 : index
    %n = memref.dim %x, %zero : memref<?xf32>
    // expected-note @+1 {{this is not known before a run}}
    scf.for %i = %zero to %n step %one {
      %before = arith.subi %i, %one : index
      %rest = arith.subi %n, %before : index
      // expected-error @+1 {{not compiled yet: a buffer whose size depends on data}}
      %part = memref.alloc(%rest) : memref<?xf32>
      linalg.copy ins(%part : memref<?xf32>) outs(%part : memref<?xf32>)
    }
    return
  }
}

// -----

#shape = affine_map<() -> (4)>
module attributes {gf.description = {dimensions = [], entry = "f", equal = [], messages = [],
    tensors = [{name = "x", role = 0 : i64, shape = #shape, type = tensor<4xindex>}]}} {
  func.func @gatefold_run_entry(%x: memref<4xindex>) {
    %zero = arith.constant 0 : index
    // expected-note @+1 {{this is not known before a run}}
    %n = memref.load %x[%zero] : memref<4xindex>
    // expected-error @+1 {{not compiled yet: a buffer whose size depends on data}}
    %a = memref.alloc(%n) : memref<?xindex>
    memref.store %n, %a[%zero] : memref<?xindex>
    return
  }
}

// -----

#shape = affine_map<() -> (4)>
module attributes {gf.description = {dimensions = [], entry = "f", equal = [], messages = [],
    tensors = [{name = "x", role = 0 : i64, shape = #shape, type = tensor<4xf32>}]}} {
  func.func @gatefold_run_entry(%x: memref<4xf32>) {
    %zero = arith.constant 0 : index
    %one = arith.constant 1 : index
    %first = memref.alloc() : memref<4xf32>
    %last = scf.for %i = %zero to %one step %one iter_args(%a = %first) -> memref<4xf32> {
      // expected-error @+1 {{not compiled yet: a buffer yielded by the loop that makes it}}
      %next = memref.alloc() : memref<4xf32>
      linalg.copy ins(%a : memref<4xf32>) outs(%next : memref<4xf32>)
      scf.yield %next : memref<4xf32>
    }
    linalg.copy ins(%last : memref<4xf32>) outs(%x : memref<4xf32>)
    return
  }
}

// -----

// Nothing uses it behind the loop, but the next iteration reads it before it is made anew:
// the first buffer of the body must not take its place.
#shape = affine_map<() -> (4)>
module attributes {gf.description = {dimensions = [], entry = "f", equal = [], messages = [],
    tensors = [{name = "x", role = 0 : i64, shape = #shape, type = tensor<4xf32>}]}} {
  func.func @gatefold_run_entry(%x: memref<4xf32>) {
    %zero = arith.constant 0 : index
    %one = arith.constant 1 : index
    %two = arith.constant 2 : index
    %first = memref.alloc() : memref<4xf32>
    %last = scf.for %i = %zero to %two step %one iter_args(%a = %first) -> memref<4xf32> {
      %scratch = memref.alloc() : memref<4xf32>
      linalg.copy ins(%x : memref<4xf32>) outs(%scratch : memref<4xf32>)
      linalg.copy ins(%a : memref<4xf32>) outs(%x : memref<4xf32>)
      // expected-error @+1 {{not compiled yet: a buffer yielded by the loop that makes it}}
      %next = memref.alloc() : memref<4xf32>
      linalg.copy ins(%x : memref<4xf32>) outs(%next : memref<4xf32>)
      scf.yield %next : memref<4xf32>
    }
    return
  }
}

// -----

// One made before the loop lives until its end, whichever argument it becomes.
#shape = affine_map<() -> (4)>
module attributes {gf.description = {dimensions = [], entry = "f", equal = [], messages = [],
    tensors = [{name = "x", role = 0 : i64, shape = #shape, type = tensor<4xf32>}]}} {
  // CHECK-LABEL: func @gatefold_run_entry
  // CHECK-SAME: %[[X:.*]]: memref<4xf32>, %[[ARENA:.*]]: memref<?xi8>
  func.func @gatefold_run_entry(%x: memref<4xf32>) {
    // CHECK-DAG: %[[LEFT:.*]] = memref.view %[[ARENA]][%c0]
    // CHECK-DAG: %[[RIGHT:.*]] = memref.view %[[ARENA]][%c64]
    // CHECK-DAG: %[[INNER:.*]] = memref.view %[[ARENA]][%c128]
    // CHECK: scf.for {{.*}} iter_args(%{{.*}} = %[[LEFT]], %{{.*}} = %[[RIGHT]])
    %zero = arith.constant 0 : index
    %one = arith.constant 1 : index
    %two = arith.constant 2 : index
    %left = memref.alloc() : memref<4xf32>
    %right = memref.alloc() : memref<4xf32>
    %last:2 = scf.for %i = %zero to %two step %one iter_args(%a = %left, %b = %right) -> (memref<4xf32>, memref<4xf32>) {
      // CHECK: linalg.copy ins(%[[X]] : {{.*}}) outs(%[[INNER]]
      %scratch = memref.alloc() : memref<4xf32>
      linalg.copy ins(%x : memref<4xf32>) outs(%scratch : memref<4xf32>)
      linalg.copy ins(%scratch : memref<4xf32>) outs(%a : memref<4xf32>)
      scf.yield %b, %a : memref<4xf32>, memref<4xf32>
    }
    return
  }
}

// -----

#shape = affine_map<() -> (4)>
module attributes {gf.description = {dimensions = [], entry = "f", equal = [], messages = [],
    tensors = [{name = "x", role = 0 : i64, shape = #shape, type = tensor<4xf32>}]}} {
  // A buffer made in a parallel loop is each rank's own, behind the shared ones.
  // CHECK-LABEL: func @gatefold_run_entry
  // CHECK-SAME: %[[X:.*]]: memref<4xf32>, %[[ARENA:.*]]: memref<?xi8>
  // CHECK-DAG: %[[RANK:.*]] = gf.team_rank
  // CHECK-DAG: %[[NUMBER:.*]] = arith.index_cast %[[RANK]]
  // CHECK-DAG: %[[OWN:.*]] = arith.muli %[[NUMBER]], %c128_i64
  // CHECK-DAG: %[[PLACE:.*]] = arith.addi %[[OWN]], %c64_i64
  // CHECK-DAG: %[[OFFSET:.*]] = arith.index_cast %[[PLACE]]
  // CHECK-DAG: memref.view %[[ARENA]][%[[OFFSET]]][] : memref<?xi8> to memref<32xf32>
  // CHECK-DAG: memref.view %[[ARENA]][%c0][] : memref<?xi8> to memref<4xf32>
  func.func @gatefold_run_entry(%x: memref<4xf32>) {
    %one = arith.constant 1.0 : f32
    %shared = memref.alloc() : memref<4xf32>
    linalg.copy ins(%x : memref<4xf32>) outs(%shared : memref<4xf32>)
    scf.forall (%i) in (4) {
      %own = memref.alloc() : memref<32xf32>
      linalg.fill ins(%one : f32) outs(%own : memref<32xf32>)
      %v = memref.load %own[%i] : memref<32xf32>
      memref.store %v, %x[%i] : memref<4xf32>
    }
    linalg.copy ins(%shared : memref<4xf32>) outs(%x : memref<4xf32>)
    return
  }
  // CHECK-LABEL: func @gatefold_arena_bytes(
  // CHECK-SAME: %{{.*}}: !llvm.ptr, %[[RANKS:.*]]: i64) -> i64
  // CHECK: arith.mulsi_extended %[[RANKS]], %c128_i64
}

// -----

#open = affine_map<()[s0] -> (s0, 3)>
// What ranks share, and what each has, as text: a slot is as large as the larger of
// its buffers, rounded up.
// CHECK: module attributes {gf.arena_formula = "64*B*max(3, ceil(B / 8)) + round64(12*B)"
// CHECK-SAME: gf.rank_arena_formula = "128"
module attributes {gf.description = {dimensions = ["B"], entry = "f", equal = [], messages = [],
    tensors = [{name = "x", role = 0 : i64, shape = #open, type = tensor<?x3xf32>}]}} {
  func.func @gatefold_run_entry(%x: memref<?x3xf32>) {
    %c0 = arith.constant 0 : index
    %c7 = arith.constant 7 : index
    %c8 = arith.constant 8 : index
    %one = arith.constant 1.0 : f32
    %rows = memref.dim %x, %c0 : memref<?x3xf32>
    %kept = memref.alloc(%rows) : memref<?x3xf32>
    linalg.copy ins(%x : memref<?x3xf32>) outs(%kept : memref<?x3xf32>)
    %first = memref.alloc(%rows) : memref<?x48xf32>
    linalg.fill ins(%one : f32) outs(%first : memref<?x48xf32>)
    %more = arith.addi %rows, %c7 : index
    %eighths = arith.divui %more, %c8 : index
    %second = memref.alloc(%rows, %eighths) : memref<?x?x16xf32>
    linalg.fill ins(%one : f32) outs(%second : memref<?x?x16xf32>)
    scf.forall (%i) in (4) {
      %own = memref.alloc() : memref<32xf32>
      linalg.fill ins(%one : f32) outs(%own : memref<32xf32>)
    }
    linalg.copy ins(%kept : memref<?x3xf32>) outs(%x : memref<?x3xf32>)
    return
  }
}

// -----

#shape = affine_map<() -> (4)>
module attributes {gf.description = {dimensions = [], entry = "f", equal = [], messages = [],
    tensors = [{name = "x", role = 0 : i64, shape = #shape, type = tensor<4xf32>}]}} {
  func.func @gatefold_run_entry(%x: memref<4xf32>) {
    // expected-error @+1 {{not compiled yet: a buffer with a layout}}
    %a = memref.alloc() : memref<4xf32, strided<[2]>>
    %zero = arith.constant 0.0 : f32
    linalg.fill ins(%zero : f32) outs(%a : memref<4xf32, strided<[2]>>)
    return
  }
}

// -----

#shape = affine_map<() -> (4)>
module attributes {gf.description = {dimensions = [], entry = "f", equal = [], messages = [],
    tensors = [{name = "x", role = 0 : i64, shape = #shape, type = tensor<4xf32>}]}} {
  func.func @gatefold_run_entry(%x: memref<4xf32>) {
    // expected-error @+1 {{not compiled yet: memory that is not planned}}
    %a = memref.alloca() : memref<4xf32>
    linalg.copy ins(%x : memref<4xf32>) outs(%a : memref<4xf32>)
    linalg.copy ins(%a : memref<4xf32>) outs(%x : memref<4xf32>)
    return
  }
}

// -----

// The loop yields it through a branch.
#shape = affine_map<() -> (4)>
module attributes {gf.description = {dimensions = [], entry = "f", equal = [], messages = [],
    tensors = [{name = "x", role = 0 : i64, shape = #shape, type = tensor<4xf32>}]}} {
  func.func @gatefold_run_entry(%x: memref<4xf32>) {
    %zero = arith.constant 0 : index
    %one = arith.constant 1 : index
    %first = memref.alloc() : memref<4xf32>
    %last = scf.for %i = %zero to %one step %one iter_args(%a = %first) -> memref<4xf32> {
      %is_first = arith.cmpi eq, %i, %zero : index
      %next = scf.if %is_first -> memref<4xf32> {
        // expected-error @+1 {{not compiled yet: a buffer yielded by the loop that makes it}}
        %b = memref.alloc() : memref<4xf32>
        linalg.copy ins(%a : memref<4xf32>) outs(%b : memref<4xf32>)
        scf.yield %b : memref<4xf32>
      } else {
        scf.yield %a : memref<4xf32>
      }
      scf.yield %next : memref<4xf32>
    }
    linalg.copy ins(%last : memref<4xf32>) outs(%x : memref<4xf32>)
    return
  }
}

// -----

#shape = affine_map<() -> (4)>
module attributes {gf.description = {dimensions = [], entry = "f", equal = [], messages = [],
    tensors = [{name = "x", role = 0 : i64, shape = #shape, type = tensor<4xf32>}]}} {
  // expected-error @+1 {{has more than one block}}
  func.func @gatefold_run_entry(%x: memref<4xf32>) {
    %a = memref.alloc() : memref<4xf32>
    cf.br ^next
  ^next:
    linalg.copy ins(%x : memref<4xf32>) outs(%a : memref<4xf32>)
    return
  }
}

// -----

#shape = affine_map<()[s0] -> (s0)>
module attributes {gf.description = {dimensions = ["N"], entry = "f", equal = [], messages = [],
    tensors = [{name = "x", role = 0 : i64, shape = #shape, type = tensor<?xf32>}]}} {
  func.func @gatefold_run_entry(%x: memref<?xf32>) {
    %minus = arith.constant -1 : index
    // expected-note @+1 {{this is not known before a run}}
    %n = memref.dim %x, %minus : memref<?xf32>
    // expected-error @+1 {{not compiled yet: a buffer whose size depends on data}}
    %b = memref.alloc(%n) : memref<?xf32>
    linalg.copy ins(%x : memref<?xf32>) outs(%b : memref<?xf32>)
    linalg.copy ins(%b : memref<?xf32>) outs(%x : memref<?xf32>)
    return
  }
}
