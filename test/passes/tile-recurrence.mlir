// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: gatefold-opt %s --gf-tile-recurrence --canonicalize --cse --split-input-file | FileCheck %s
// RUN: gatefold-opt %s --gf-tile-recurrence --split-input-file --remark-format=emitRemark --remarks-filter=gf-tile-recurrence 2>&1 | FileCheck %s --check-prefix=REMARK

#rows = affine_map<(d0, d1, d2) -> (d0, d2)>
#w = affine_map<(d0, d1, d2) -> (d1, d2)>
#y = affine_map<(d0, d1, d2) -> (d0, d1)>

// A product that nothing else needs is computed block by block: the last block is smaller,
// in reverse the blocks come from the end.
// CHECK-LABEL: func @blocks
// CHECK-SAME: %[[X:.*]]: tensor<?x5xf32>, %[[W:.*]]: tensor<4x5xf32>, %[[H:.*]]: tensor<4xf32>
// CHECK-DAG: %[[ZERO:.*]] = arith.constant 0 : index
// CHECK-DAG: %[[ONE:.*]] = arith.constant 1 : index
// CHECK-DAG: %[[ROWS:.*]] = arith.constant 60 : index
// CHECK: %[[T:.*]] = tensor.dim %[[X]], %[[ZERO]]
// CHECK: %[[MOST:.*]] = arith.minsi %[[T]], %[[ROWS]]
// CHECK: %[[BLOCK:.*]] = arith.maxsi %[[MOST]], %[[ONE]]
// CHECK-NOT: linalg.contract
// CHECK: scf.for %[[B:.*]] = %[[ZERO]] to %[[T]] step %[[BLOCK]]
// CHECK-NEXT: %[[LEFT:.*]] = arith.subi %[[T]], %[[B]]
// CHECK-NEXT: %[[SIZE:.*]] = arith.minsi %[[LEFT]], %[[MOST]]
// CHECK-NEXT: %[[START:.*]] = arith.subi %[[LEFT]], %[[SIZE]]
// CHECK: %[[PART:.*]] = tensor.extract_slice %[[X]][%[[START]], 0] [%[[SIZE]], 5] [1, 1]
// CHECK: tensor.empty(%[[SIZE]])
// CHECK: %[[P:.*]] = linalg.contract {{.*}} ins(%[[PART]], %[[W]]
// CHECK-NEXT: scf.for %[[I:.*]] = %[[ZERO]] to %[[SIZE]] step %[[ONE]] iter_args(%[[Y:.*]] = %{{.*}}, %[[S:.*]] = %{{.*}})
// CHECK-NEXT: %[[LAST:.*]] = arith.subi %[[SIZE]], %[[ONE]]
// CHECK-NEXT: %[[HERE:.*]] = arith.subi %[[LAST]], %[[I]]
// CHECK-NEXT: %[[TIME:.*]] = arith.addi %[[START]], %[[HERE]]
// CHECK-NEXT: %[[P_T:.*]] = tensor.extract_slice %[[P]][%[[HERE]], 0] [1, 4] [1, 1]
// CHECK-NEXT: %[[NEXT:.*]] = arith.addf %[[P_T]], %[[S]]
// CHECK-NEXT: %[[PUT:.*]] = tensor.insert_slice %[[NEXT]] into %[[Y]][%[[TIME]], 0]
// CHECK-NEXT: %[[STATE:.*]] = bufferization.materialize_in_destination %[[NEXT]] in %[[S]]
// CHECK-NEXT: scf.yield %[[PUT]], %[[STATE]]
// REMARK: remark: [Passed] {{.*}}products of all steps computed block by block, none kept whole
func.func @blocks(%x: tensor<?x5xf32>, %w: tensor<4x5xf32>, %h: tensor<4xf32>) -> (tensor<?x4xf32>, tensor<4xf32>) {
  %zero = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %steps = tensor.dim %x, %c0 : tensor<?x5xf32>
  %e = tensor.empty(%steps) : tensor<?x4xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<?x4xf32>) -> tensor<?x4xf32>
  %p = linalg.contract indexing_maps = [#rows, #w, #y]
      ins(%x, %w : tensor<?x5xf32>, tensor<4x5xf32>) outs(%f : tensor<?x4xf32>) -> tensor<?x4xf32>
  %r:2 = gf.recurrence sequences(%p : tensor<?x4xf32>) states(%h : tensor<4xf32>) time_axis 0 reverse
      attributes {gf.algorithm = "steps", gf.step_rows = 60} -> (tensor<?x4xf32>) {
  ^step(%p_t: tensor<4xf32>, %s: tensor<4xf32>):
    %next = arith.addf %p_t, %s : tensor<4xf32>
    gf.yield %next, %next : tensor<4xf32>, tensor<4xf32>
  }
  return %r#0, %r#1 : tensor<?x4xf32>, tensor<4xf32>
}

// -----

#rows = affine_map<(d0, d1, d2, d3) -> (d0, d1, d3)>
#w = affine_map<(d0, d1, d2, d3) -> (d2, d3)>
#y = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>
#i = affine_map<(d0, d1, d2) -> (d0, d1, d2)>

// Views and elementwise operations around the product come along, the index of time among
// them; the product is computed once for both halves. Rows are steps times batch.
// CHECK-LABEL: func @views_and_neighbours
// CHECK-SAME: %[[X:.*]]: tensor<2x100x5xf32>, %[[W:.*]]: tensor<8x5xf32>
// CHECK-DAG: %[[BLOCK:.*]] = arith.constant 30 : index
// CHECK: scf.for %[[B:.*]] = %{{.*}} to %{{.*}} step %[[BLOCK]]
// CHECK: %[[PART:.*]] = tensor.extract_slice %[[X]][0, %[[B]], 0] [2, %{{.*}}, 5]
// CHECK: %[[P:.*]] = linalg.contract {{.*}} ins(%[[PART]], %[[W]]
// CHECK-NOT: linalg.contract
// CHECK: %[[LEFT:.*]] = tensor.extract_slice %[[P]][0, 0, 0] [2, %{{.*}}, 4]
// CHECK: linalg.generic
// CHECK: %[[LOCAL:.*]] = linalg.index 1
// CHECK: affine.apply {{.*}}(%[[B]])[%[[LOCAL]]]
// CHECK: %[[RIGHT:.*]] = tensor.extract_slice %[[P]][0, 0, 4] [2, %{{.*}}, 4]
// CHECK: scf.for
func.func @views_and_neighbours(%x: tensor<2x100x5xf32>, %w: tensor<8x5xf32>, %h: tensor<2x4xf32>) -> tensor<2x4xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<2x100x8xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<2x100x8xf32>) -> tensor<2x100x8xf32>
  %p = linalg.contract indexing_maps = [#rows, #w, #y]
      ins(%x, %w : tensor<2x100x5xf32>, tensor<8x5xf32>) outs(%f : tensor<2x100x8xf32>) -> tensor<2x100x8xf32>
  %left = tensor.extract_slice %p[0, 0, 0] [2, 100, 4] [1, 1, 1] : tensor<2x100x8xf32> to tensor<2x100x4xf32>
  %right = tensor.extract_slice %p[0, 0, 4] [2, 100, 4] [1, 1, 1] : tensor<2x100x8xf32> to tensor<2x100x4xf32>
  %g = tensor.empty() : tensor<2x100x4xf32>
  %q = linalg.generic {indexing_maps = [#i, #i], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%left : tensor<2x100x4xf32>) outs(%g : tensor<2x100x4xf32>) {
  ^bb0(%a: f32, %out: f32):
    %time = linalg.index 1 : index
    %cast = arith.index_cast %time : index to i32
    %float = arith.sitofp %cast : i32 to f32
    %sum = arith.addf %a, %float : f32
    linalg.yield %sum : f32
  } -> tensor<2x100x4xf32>
  %r = gf.recurrence sequences(%q, %right : tensor<2x100x4xf32>, tensor<2x100x4xf32>) states(%h : tensor<2x4xf32>)
      time_axis 1 attributes {gf.algorithm = "steps", gf.step_rows = 60} {
  ^step(%a: tensor<2x4xf32>, %b: tensor<2x4xf32>, %s: tensor<2x4xf32>):
    %sum = arith.addf %a, %b : tensor<2x4xf32>
    %next = arith.addf %sum, %s : tensor<2x4xf32>
    gf.yield %next : tensor<2x4xf32>
  }
  return %r : tensor<2x4xf32>
}

// -----

#rows = affine_map<(d0, d1, d2) -> (d0, d2)>
#w = affine_map<(d0, d1, d2) -> (d1, d2)>
#y = affine_map<(d0, d1, d2) -> (d0, d1)>

// What something else needs is there as a whole, and so are the steps. Selects by length
// and reset read the old state, and each has a place of its own. A step resets what the next
// one begins with, and the first begins with what is reset before the loop, if there is a step. The loop ends at the
// greatest length; outputs behind it are zeros.
// CHECK-LABEL: func @needed_elsewhere
// CHECK-SAME: %{{.*}}: tensor<2x?x4xf32>, %[[H:.*]]: tensor<2x4xf32>, %[[N:.*]]: tensor<2xi64>, %[[STARTS:.*]]: tensor<2x?xi1>
// CHECK: %[[P:.*]] = math.tanh
// CHECK: %[[STEPS:.*]] = tensor.dim %[[P]],
// CHECK: %[[LARGEST:.*]] = linalg.reduce ins(%[[N]] :
// CHECK: arith.maxsi
// CHECK: %[[FOUND:.*]] = tensor.extract %[[LARGEST]][]
// CHECK: %[[LENGTH:.*]] = arith.index_cast %[[FOUND]]
// CHECK: %[[END:.*]] = arith.minsi %[[STEPS]], %[[LENGTH]]
// CHECK: %[[ONE:.*]] = arith.minsi %[[STEPS]], %c1
// CHECK: %[[FIRST:.*]] = tensor.extract_slice %[[STARTS]][0, 0] [2, %[[ONE]]]
// CHECK: %[[ANY:.*]] = linalg.reduce ins(%[[FIRST]] : tensor<2x?xi1>) {{.*}} dimensions = [1]
// CHECK: %[[FRESH:.*]] = linalg.generic {{.*}} ins(%[[ANY]], %[[H]], %[[N]], %[[H]] : {{.*}}) outs(%{{.*}}
// CHECK: %[[DONE:.*]]:2 = scf.for %[[T:.*]] = %{{.*}} to %[[END]] {{.*}} iter_args(%[[Y:.*]] = %{{.*}}, %[[S:.*]] = %[[FRESH]])
// CHECK-NOT: scf.for
// CHECK: %[[NEXT:.*]] = arith.addf %{{.*}}, %[[S]]
// CHECK: %[[OUT:.*]] = linalg.generic {{.*}} ins(%[[N]], %[[NEXT]] :
// CHECK: tensor.insert_slice %[[OUT]] into %[[Y]]
// CHECK: %[[FOLLOWING:.*]] = arith.addi %[[T]], %c1
// CHECK: %[[FOLLOWS:.*]] = arith.cmpi slt, %[[FOLLOWING]], %[[STEPS]]
// CHECK: %[[BORDER:.*]] = arith.minsi %[[FOLLOWING]], %{{.*}}
// CHECK: %[[THERE:.*]] = tensor.extract_slice %[[STARTS]][0, %[[BORDER]]] [2, 1]
// CHECK: %[[KEPT:.*]] = linalg.generic {{.*}} ins(%[[N]], %[[NEXT]], %[[S]] :
// CHECK: %[[LATER:.*]] = linalg.generic {{.*}} ins(%[[THERE]], %[[H]], %[[N]], %[[KEPT]] :
// CHECK: arith.andi %{{.*}}, %[[FOLLOWS]] : i1
// CHECK: bufferization.materialize_in_destination %[[LATER]] in %[[S]]
// CHECK: %[[LEFT:.*]] = arith.subi %[[STEPS]], %[[END]]
// CHECK: %[[REST:.*]] = tensor.extract_slice %[[DONE]]#0[0, %[[END]], 0] [2, %[[LEFT]], 4]
// CHECK: %[[ZEROS:.*]] = linalg.fill ins(%{{.*}}) outs(%[[REST]] :
// CHECK: tensor.insert_slice %[[ZEROS]] into %[[DONE]]#0[0, %[[END]], 0]
// REMARK: remark: [Missed] {{.*}}no blocks of steps: no sequence is a product that nothing else needs
func.func @needed_elsewhere(%x: tensor<2x?x4xf32>, %h: tensor<2x4xf32>, %n: tensor<2xi64>, %first: tensor<2x?xi1>)
    -> (tensor<2x?x4xf32>, tensor<2x?x4xf32>) {
  %p = math.tanh %x : tensor<2x?x4xf32>
  %r:2 = gf.recurrence sequences(%p : tensor<2x?x4xf32>) states(%h : tensor<2x4xf32>) lengths(%n : tensor<2xi64>)
      resets(%first : tensor<2x?xi1>) reset_states(%h : tensor<2x4xf32>)
      time_axis 1 attributes {gf.algorithm = "steps", gf.step_rows = 60} -> (tensor<2x?x4xf32>) {
  ^step(%p_t: tensor<2x4xf32>, %s: tensor<2x4xf32>):
    %next = arith.addf %p_t, %s : tensor<2x4xf32>
    gf.yield %next, %next : tensor<2x4xf32>, tensor<2x4xf32>
  }
  return %r#0, %p : tensor<2x?x4xf32>, tensor<2x?x4xf32>
}

// -----

// Rows are written into a state where they belong. Behind the end of a sequence what is there is
// written again, so that nothing looks at the whole state.
// CHECK-LABEL: func @rows
// CHECK-SAME: %[[X:.*]]: tensor<2x5x3xf32>, %[[N:.*]]: tensor<2xi64>, %[[ROWS:.*]]: tensor<2x7x3xf32>
func.func @rows(%x: tensor<2x5x3xf32>, %n: tensor<2xi64>, %rows: tensor<2x7x3xf32>) -> (tensor<2x5x3xf32>, tensor<2x7x3xf32>) {
  // CHECK: scf.for %[[TIME:.*]] = {{.*}} iter_args(%{{.*}} = %{{.*}}, %[[OLD:.*]] = %[[ROWS]])
  // CHECK: %[[THERE:.*]] = tensor.extract_slice %[[OLD]][0, 4, 0] [2, 1, 3]
  // CHECK: %[[KEPT:.*]] = linalg.generic {{.*}} ins(%[[N]], %{{.*}} : {{.*}}) outs(%[[THERE]] : tensor<2x1x3xf32>)
  // CHECK: arith.cmpi slt, %[[TIME]]
  // CHECK: arith.select
  // CHECK: %[[NEXT:.*]] = tensor.insert_slice %[[KEPT]] into %[[OLD]][0, 4, 0] [2, 1, 3]
  // CHECK-NOT: tensor<2x7x3xf32>) outs
  // CHECK: scf.yield %{{.*}}, %[[NEXT]]
  %y, %last = gf.recurrence sequences(%x : tensor<2x5x3xf32>) states(%rows : tensor<2x7x3xf32>) lengths(%n : tensor<2xi64>) time_axis 1 attributes {gf.algorithm = "steps"} -> (tensor<2x5x3xf32>) {
  ^step(%x_t: tensor<2x3xf32>, %old: tensor<2x7x3xf32>):
    %row = tensor.expand_shape %x_t [[0], [1, 2]] output_shape [2, 1, 3] : tensor<2x3xf32> into tensor<2x1x3xf32>
    %new = tensor.insert_slice %row into %old[0, 4, 0] [2, 1, 3] [1, 1, 1] : tensor<2x1x3xf32> into tensor<2x7x3xf32>
    gf.yield %x_t, %new : tensor<2x3xf32>, tensor<2x7x3xf32>
  }
  return %y, %last : tensor<2x5x3xf32>, tensor<2x7x3xf32>
}

// -----

// The same state with resets: all of it is looked at where a sequence starts alone.
// CHECK-LABEL: func @reset_rows
// CHECK-SAME: %{{.*}}: tensor<2x5x3xf32>, %[[FIRST:.*]]: tensor<2x5xi1>
func.func @reset_rows(%x: tensor<2x5x3xf32>, %first: tensor<2x5xi1>, %rows: tensor<2x7x3xf32>) -> (tensor<2x5x3xf32>, tensor<2x7x3xf32>) {
  // CHECK: scf.for %[[TIME:.*]] = {{.*}} iter_args(%{{.*}} = %{{.*}}, %[[OLD:.*]] = %{{.*}})
  // CHECK: %[[HERE:.*]] = tensor.extract_slice %[[FIRST]][0, %[[TIME]]]
  // CHECK: linalg.reduce ins(%[[HERE]]
  // CHECK: arith.ori
  // CHECK: %[[ANY:.*]] = tensor.extract
  // CHECK: %[[STATE:.*]] = scf.if %[[ANY]]
  // CHECK:   linalg.generic {{.*}} outs(%[[OLD]] : tensor<2x7x3xf32>)
  // CHECK: } else {
  // CHECK-NEXT: scf.yield %[[OLD]]
  // CHECK: %[[NEXT:.*]] = tensor.insert_slice %{{.*}} into %[[STATE]][0, 4, 0] [2, 1, 3]
  // CHECK: scf.yield %{{.*}}, %[[NEXT]]
  %y, %last = gf.recurrence sequences(%x : tensor<2x5x3xf32>) states(%rows : tensor<2x7x3xf32>)
      resets(%first : tensor<2x5xi1>) reset_states(%rows : tensor<2x7x3xf32>) time_axis 1 attributes {gf.algorithm = "steps"} -> (tensor<2x5x3xf32>) {
  ^step(%x_t: tensor<2x3xf32>, %old: tensor<2x7x3xf32>):
    %row = tensor.expand_shape %x_t [[0], [1, 2]] output_shape [2, 1, 3] : tensor<2x3xf32> into tensor<2x1x3xf32>
    %new = tensor.insert_slice %row into %old[0, 4, 0] [2, 1, 3] [1, 1, 1] : tensor<2x1x3xf32> into tensor<2x7x3xf32>
    gf.yield %x_t, %new : tensor<2x3xf32>, tensor<2x7x3xf32>
  }
  return %y, %last : tensor<2x5x3xf32>, tensor<2x7x3xf32>
}

// -----

#all = affine_map<(d0, d1) -> (d0, d1)>
#one = affine_map<(d0, d1) -> (d0)>
#each = affine_map<(d0) -> (d0)>
#rows = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
#first = affine_map<(d0, d1, d2) -> (d0)>

// Where a state is true for all sequences a step would give 0 and leave all states as they are,
// rows that it writes too: it is not taken.
// CHECK-LABEL: func @ended
// CHECK-SAME: %[[H0:.*]]: tensor<2x3xf32>, %[[DONE0:.*]]: tensor<2xi1>, %[[ROWS0:.*]]: tensor<2x7x3xf32>
func.func @ended(%h: tensor<2x3xf32>, %done: tensor<2xi1>, %rows: tensor<2x7x3xf32>, %n: index) -> (tensor<2x?x3xf32>, tensor<2x7x3xf32>) {
  // CHECK: scf.for %[[TIME:.*]] = {{.*}} iter_args(%[[Y:.*]] = %{{.*}}, %[[H:.*]] = %[[H0]], %[[DONE:.*]] = %[[DONE0]], %[[ROWS:.*]] = %[[ROWS0]])
  // CHECK: linalg.reduce ins(%[[DONE]]
  // CHECK: arith.andi
  // CHECK: %[[ENDED:.*]] = tensor.extract
  // CHECK: %[[NEXT:.*]]:4 = scf.if %[[ENDED]]
  // CHECK: %[[ZERO:.*]] = linalg.fill
  // CHECK: %[[OUTPUT:.*]] = tensor.insert_slice %[[ZERO]] into %[[Y]][0, %[[TIME]], 0]
  // CHECK: scf.yield %[[OUTPUT]], %[[H]], %[[DONE]], %[[ROWS]]
  // CHECK: } else {
  // CHECK: tensor.insert_slice %{{.*}} into %[[ROWS]][0, 4, 0]
  // CHECK: scf.yield %[[NEXT]]#0, %[[NEXT]]#1, %[[NEXT]]#2, %[[NEXT]]#3
  %y, %h_last, %done_last, %last = gf.recurrence states(%h, %done, %rows : tensor<2x3xf32>, tensor<2xi1>, tensor<2x7x3xf32>)
      steps(%n) time_axis 1 attributes {gf.algorithm = "steps"} -> (tensor<2x?x3xf32>) {
  ^step(%s: tensor<2x3xf32>, %d: tensor<2xi1>, %old: tensor<2x7x3xf32>):
    %zero = arith.constant 0.0 : f32
    %half = arith.constant 0.5 : f32
    %e = tensor.empty() : tensor<2x3xf32>
    %out, %next = linalg.generic {indexing_maps = [#one, #all, #all, #all], iterator_types = ["parallel", "parallel"]}
        ins(%d, %s : tensor<2xi1>, tensor<2x3xf32>) outs(%e, %e : tensor<2x3xf32>, tensor<2x3xf32>) {
    ^bb0(%stop: i1, %in: f32, %o: f32, %p: f32):
      %new = arith.mulf %in, %half : f32
      %result = arith.select %stop, %zero, %new : f32
      %state = arith.select %stop, %in, %new : f32
      linalg.yield %result, %state : f32, f32
    } -> (tensor<2x3xf32>, tensor<2x3xf32>)
    %b = tensor.empty() : tensor<2xi1>
    %ends = linalg.generic {indexing_maps = [#each, #each], iterator_types = ["parallel"]} ins(%d : tensor<2xi1>) outs(%b : tensor<2xi1>) {
    ^bb0(%stop: i1, %o: i1):
      %i = linalg.index 0 : index
      %c1 = arith.constant 1 : index
      %is = arith.cmpi eq, %i, %c1 : index
      %or = arith.ori %stop, %is : i1
      linalg.yield %or : i1
    } -> tensor<2xi1>
    %there = tensor.extract_slice %old[0, 4, 0] [2, 1, 3] [1, 1, 1] : tensor<2x7x3xf32> to tensor<2x1x3xf32>
    %row = tensor.expand_shape %s [[0], [1, 2]] output_shape [2, 1, 3] : tensor<2x3xf32> into tensor<2x1x3xf32>
    %f = tensor.empty() : tensor<2x1x3xf32>
    %kept = linalg.generic {indexing_maps = [#first, #rows, #rows, #rows], iterator_types = ["parallel", "parallel", "parallel"]}
        ins(%d, %there, %row : tensor<2xi1>, tensor<2x1x3xf32>, tensor<2x1x3xf32>) outs(%f : tensor<2x1x3xf32>) {
    ^bb0(%stop: i1, %before: f32, %in: f32, %o: f32):
      %chosen = arith.select %stop, %before, %in : f32
      linalg.yield %chosen : f32
    } -> tensor<2x1x3xf32>
    %written = tensor.insert_slice %kept into %old[0, 4, 0] [2, 1, 3] [1, 1, 1] : tensor<2x1x3xf32> into tensor<2x7x3xf32>
    gf.yield %out, %next, %ends, %written : tensor<2x3xf32>, tensor<2x3xf32>, tensor<2xi1>, tensor<2x7x3xf32>
  }
  return %y, %last : tensor<2x?x3xf32>, tensor<2x7x3xf32>
}

// -----

// A step that counts on for sequences that have ended is taken.
// CHECK-LABEL: func @counting
// CHECK-NOT: scf.if
// CHECK: return
func.func @counting(%h: tensor<2xi64>, %done: tensor<2xi1>, %n: index) -> tensor<2xi64> {
  %last, %done_last = gf.recurrence states(%h, %done : tensor<2xi64>, tensor<2xi1>) steps(%n) time_axis 1 attributes {gf.algorithm = "steps"} {
  ^step(%s: tensor<2xi64>, %d: tensor<2xi1>):
    %one = arith.constant dense<1> : tensor<2xi64>
    %next = arith.addi %s, %one : tensor<2xi64>
    gf.yield %next, %d : tensor<2xi64>, tensor<2xi1>
  }
  return %last : tensor<2xi64>
}
