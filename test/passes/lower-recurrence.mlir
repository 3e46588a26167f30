// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: gatefold-opt %s --gf-choose-algorithms=naive --gf-lower-recurrence --canonicalize --cse --split-input-file --verify-diagnostics | FileCheck %s

// A step is taken from the sequence, its output put back, the state written last.
// CHECK-LABEL: func @forward
// CHECK-SAME: %[[X:.*]]: tensor<?x?x4xf32>, %[[H:.*]]: tensor<?x4xf32>
func.func @forward(%x: tensor<?x?x4xf32>, %h: tensor<?x4xf32>)
    -> (tensor<?x?x4xf32>, tensor<?x4xf32>) {
  // CHECK-DAG: %[[ONE:.*]] = arith.constant 1 : index
  // CHECK-DAG: %[[T:.*]] = tensor.dim %[[X]], %[[ONE]]
  // CHECK: %[[OUT:.*]] = tensor.empty(%{{.*}}, %[[T]])
  // CHECK: scf.for %[[I:.*]] = %{{.*}} to %[[T]] step %[[ONE]] iter_args(%[[Y:.*]] = %[[OUT]], %[[S:.*]] = %[[H]])
  // CHECK-NEXT: %[[STEP:.*]] = tensor.extract_slice %[[X]][0, %[[I]], 0]
  // CHECK-NEXT: %[[NEXT:.*]] = arith.addf %[[STEP]], %[[S]]
  // CHECK: %[[PUT:.*]] = tensor.insert_slice %[[NEXT]] into %[[Y]][0, %[[I]], 0]
  // CHECK-NEXT: %[[WRITTEN:.*]] = bufferization.materialize_in_destination %[[NEXT]] in %[[S]]
  // CHECK-NEXT: scf.yield %[[PUT]], %[[WRITTEN]]
  %y, %last = gf.recurrence sequences(%x : tensor<?x?x4xf32>) states(%h : tensor<?x4xf32>)
      time_axis 1 -> (tensor<?x?x4xf32>) {
  ^step(%x_t: tensor<?x4xf32>, %s: tensor<?x4xf32>):
    %next = arith.addf %x_t, %s : tensor<?x4xf32>
    gf.yield %next, %next : tensor<?x4xf32>, tensor<?x4xf32>
  }
  return %y, %last : tensor<?x?x4xf32>, tensor<?x4xf32>
}

// -----

// Behind the end the output is 0 and the state stays; in reverse the last step is first.
// CHECK-LABEL: func @lengths_in_reverse
// CHECK-SAME: %[[X:.*]]: tensor<?x9x4xf32>, %[[H:.*]]: tensor<?x4xf32>, %[[N:.*]]: tensor<?xi32>
func.func @lengths_in_reverse(%x: tensor<?x9x4xf32>, %h: tensor<?x4xf32>, %n: tensor<?xi32>)
    -> (tensor<?x9x4xf32>, tensor<?x4xf32>) {
  // CHECK-DAG: %[[LAST:.*]] = arith.constant 8 : index
  // CHECK-DAG: %[[ZERO:.*]] = arith.constant 0.0
  // CHECK: scf.for %[[I:.*]] = {{.*}} iter_args(%{{.*}}, %[[S:.*]] = %[[H]])
  // CHECK: %[[TIME:.*]] = arith.subi %[[LAST]], %[[I]]
  // CHECK: tensor.extract_slice %[[X]][0, %[[TIME]], 0]
  // CHECK: %[[ZEROS:.*]] = linalg.fill ins(%[[ZERO]]
  // CHECK: %[[OUT:.*]] = linalg.generic {{.*}} ins(%[[N]], %[[NEXT:.*]] : {{.*}}) outs(%[[ZEROS]]
  // CHECK: ^bb0(%[[LENGTH:.*]]: i32, %[[NEW:.*]]: f32, %[[OLD:.*]]: f32):
  // CHECK: %[[END:.*]] = arith.index_cast %[[LENGTH]]
  // CHECK: %[[VALID:.*]] = arith.cmpi slt, %[[TIME]], %[[END]]
  // CHECK: arith.select %[[VALID]], %[[NEW]], %[[OLD]]
  // CHECK: tensor.insert_slice %[[OUT]] into %{{.*}}[0, %[[TIME]], 0]
  // CHECK: linalg.generic {{.*}} ins(%[[N]], %[[NEXT]] : {{.*}}) outs(%[[S]]
  %y, %last = gf.recurrence sequences(%x : tensor<?x9x4xf32>) states(%h : tensor<?x4xf32>)
      lengths(%n : tensor<?xi32>) time_axis 1 reverse -> (tensor<?x9x4xf32>) {
  ^step(%x_t: tensor<?x4xf32>, %s: tensor<?x4xf32>):
    %next = arith.addf %x_t, %s : tensor<?x4xf32>
    gf.yield %next, %next : tensor<?x4xf32>, tensor<?x4xf32>
  }
  return %y, %last : tensor<?x9x4xf32>, tensor<?x4xf32>
}

// -----

// In reverse the border of the step that comes later in time resets, if there is one.
// CHECK-LABEL: func @resets_in_reverse
// CHECK-SAME: %[[X:.*]]: tensor<?x4xf32>, %[[H:.*]]: tensor<4xf32>, %[[R:.*]]: tensor<?xi1>, %[[F:.*]]: tensor<4xf32>
func.func @resets_in_reverse(%x: tensor<?x4xf32>, %h: tensor<4xf32>, %r: tensor<?xi1>,
    %f: tensor<4xf32>) -> tensor<4xf32> {
  // CHECK: scf.for
  // CHECK: %[[LAST:.*]] = arith.subi
  // CHECK-NEXT: %[[TIME:.*]] = arith.subi %[[LAST]]
  // CHECK: %[[LATER:.*]] = arith.addi %[[TIME]], %{{.*}}
  // CHECK: %[[EXISTS:.*]] = arith.cmpi slt, %[[LATER]]
  // CHECK: %[[BORDER:.*]] = arith.minsi %[[LATER]]
  // CHECK: %[[RESET:.*]] = tensor.extract_slice %[[R]][%[[BORDER]]]
  // CHECK: linalg.generic {{.*}} ins(%[[RESET]], %[[F]]
  // CHECK: arith.andi %{{.*}}, %[[EXISTS]]
  %last = gf.recurrence sequences(%x : tensor<?x4xf32>) states(%h : tensor<4xf32>)
      resets(%r : tensor<?xi1>) reset_states(%f : tensor<4xf32>) time_axis 0 reverse {
  ^step(%x_t: tensor<4xf32>, %s: tensor<4xf32>):
    %next = arith.addf %x_t, %s : tensor<4xf32>
    gf.yield %next : tensor<4xf32>
  }
  return %last : tensor<4xf32>
}

// -----

// The size that only the step knows is computed before the loop.
// CHECK-LABEL: func @size_of_the_step
// CHECK-SAME: %[[X:.*]]: tensor<?x?xf32>, %[[K:.*]]: index
func.func @size_of_the_step(%x: tensor<?x?xf32>, %k: index) -> tensor<?x?xf32> {
  // CHECK: %[[T:.*]] = tensor.dim %[[X]], %{{.*}}
  // CHECK: tensor.empty(%[[T]], %[[K]])
  // CHECK: scf.for
  %y = gf.recurrence sequences(%x : tensor<?x?xf32>) time_axis 0 -> (tensor<?x?xf32>) {
  ^step(%x_t: tensor<?xf32>):
    %part = tensor.extract_slice %x_t[0] [%k] [1] : tensor<?xf32> to tensor<?xf32>
    gf.yield %part : tensor<?xf32>
  }
  return %y : tensor<?x?xf32>
}

// -----

// A state that becomes what another one was is copied before that one is overwritten.
// CHECK-LABEL: func @states_change_places
// CHECK: scf.for {{.*}} iter_args(%[[A:.*]] = %{{.*}}, %[[B:.*]] = %{{.*}})
// CHECK-DAG: %[[OLD_A:.*]] = bufferization.alloc_tensor() copy(%[[A]])
// CHECK-DAG: %[[OLD_B:.*]] = bufferization.alloc_tensor() copy(%[[B]])
// CHECK: bufferization.materialize_in_destination %[[OLD_B]] in %[[A]]
// CHECK: bufferization.materialize_in_destination %[[OLD_A]] in %[[B]]
func.func @states_change_places(%a: tensor<4xf32>, %b: tensor<4xf32>, %n: index)
    -> (tensor<4xf32>, tensor<4xf32>) {
  %last:2 = gf.recurrence states(%a, %b : tensor<4xf32>, tensor<4xf32>) steps(%n) time_axis 0 {
  ^step(%s: tensor<4xf32>, %t: tensor<4xf32>):
    gf.yield %t, %s : tensor<4xf32>, tensor<4xf32>
  }
  return %last#0, %last#1 : tensor<4xf32>, tensor<4xf32>
}

// -----

func.func @size_of_data(%x: tensor<?x4xindex>) -> tensor<?x?xindex> {
  // expected-error @+1 {{not compiled yet: dimension 1 of result #0 has a size that only the region knows}}
  %y = gf.recurrence sequences(%x : tensor<?x4xindex>) time_axis 0 -> (tensor<?x?xindex>) {
  ^step(%x_t: tensor<4xindex>):
    %zero = arith.constant 0 : index
    %size = tensor.extract %x_t[%zero] : tensor<4xindex>
    %part = tensor.extract_slice %x_t[0] [%size] [1] : tensor<4xindex> to tensor<?xindex>
    gf.yield %part : tensor<?xindex>
  }
  return %y : tensor<?x?xindex>
}

// -----

// A state that a loop writes over stays there: there is no write at the end. If the old one is
// read as well, the loop works on a copy.
// CHECK-LABEL: func @written_over
func.func @written_over(%x: tensor<2x9x4xf32>, %a: tensor<2x7x4xf32>, %b: tensor<2x7x4xf32>, %n: tensor<2xindex>)
    -> (tensor<2x9x7x4xf32>, tensor<2x7x4xf32>, tensor<2x7x4xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  // CHECK: scf.for {{.*}} iter_args(%{{.*}} = %{{.*}}, %[[A:.*]] = %{{.*}}, %[[B:.*]] = %{{.*}})
  // CHECK: %[[NEXT_A:.*]] = scf.for {{.*}} iter_args(%{{.*}} = %[[A]])
  // CHECK: %[[COPY:.*]] = bufferization.alloc_tensor() copy(%[[B]])
  // CHECK: %[[NEXT_B:.*]] = scf.for {{.*}} iter_args(%{{.*}} = %[[COPY]])
  // CHECK: tensor.insert_slice %[[B]]
  // CHECK-NOT: bufferization.materialize_in_destination %[[NEXT_A]]
  // CHECK: %[[WRITTEN:.*]] = bufferization.materialize_in_destination %[[NEXT_B]] in %[[B]]
  // CHECK-NEXT: scf.yield %{{.*}}, %[[NEXT_A]], %[[WRITTEN]]
  %y, %last_a, %last_b = gf.recurrence sequences(%x : tensor<2x9x4xf32>) states(%a, %b : tensor<2x7x4xf32>, tensor<2x7x4xf32>)
      time_axis 1 -> (tensor<2x9x7x4xf32>) {
  ^step(%x_t: tensor<2x4xf32>, %sa: tensor<2x7x4xf32>, %sb: tensor<2x7x4xf32>):
    %next_a = scf.for %i = %c0 to %c2 step %c1 iter_args(%into = %sa) -> tensor<2x7x4xf32> {
      %place = tensor.extract %n[%i] : tensor<2xindex>
      %row = tensor.extract_slice %x_t[%i, 0] [1, 4] [1, 1] : tensor<2x4xf32> to tensor<4xf32>
      %put = tensor.insert_slice %row into %into[%i, %place, 0] [1, 1, 4] [1, 1, 1] : tensor<4xf32> into tensor<2x7x4xf32>
      scf.yield %put : tensor<2x7x4xf32>
    }
    %next_b = scf.for %i = %c0 to %c2 step %c1 iter_args(%into = %sb) -> tensor<2x7x4xf32> {
      %row = tensor.extract_slice %x_t[%i, 0] [1, 4] [1, 1] : tensor<2x4xf32> to tensor<4xf32>
      %put = tensor.insert_slice %row into %into[%i, 3, 0] [1, 1, 4] [1, 1, 1] : tensor<4xf32> into tensor<2x7x4xf32>
      scf.yield %put : tensor<2x7x4xf32>
    }
    gf.yield %sb, %next_a, %next_b : tensor<2x7x4xf32>, tensor<2x7x4xf32>, tensor<2x7x4xf32>
  }
  return %y, %last_a, %last_b : tensor<2x9x7x4xf32>, tensor<2x7x4xf32>, tensor<2x7x4xf32>
}
