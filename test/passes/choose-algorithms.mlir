// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: gatefold-opt %s --gf-choose-algorithms --verify-diagnostics --split-input-file | FileCheck %s
// RUN: gatefold-opt %s --gf-choose-algorithms=naive --verify-diagnostics --split-input-file | FileCheck %s --check-prefix=NAIVE
// RUN: not gatefold-opt %s --gf-choose-algorithms --split-input-file --remark-format=emitRemark --remarks-filter=gf-choose-algorithms 2>&1 | FileCheck %s --check-prefix=REMARK
// RUN: gatefold-opt %s --gf-choose-algorithms=schedule=recurrence.step_rows=64,attention.algorithm=naive --verify-diagnostics --split-input-file | FileCheck %s --check-prefix=GIVEN
// RUN: not gatefold-opt %s --gf-choose-algorithms=schedule=recurrence.step_rows=0 2>&1 | FileCheck %s --check-prefix=RANGE
// RUN: not gatefold-opt %s --gf-choose-algorithms=schedule=attention.algorithm=magic 2>&1 | FileCheck %s --check-prefix=NAME
// RUN: not gatefold-opt %s --gf-choose-algorithms=schedule=attention.rows=1 2>&1 | FileCheck %s --check-prefix=KEY
// RUN: not gatefold-opt %s --gf-choose-algorithms="naive schedule=attention.query_block=1" 2>&1 | FileCheck %s --check-prefix=NOTHING

// What a user chooses has a name and a range.
// RANGE: error: schedule: `recurrence.step_rows` is a number from 1 to 1048576, found `0`; there are recurrence.algorithm=naive|steps|scan, recurrence.step_rows=1...1048576, attention.algorithm=naive|resident|online|registers, attention.query_block=1...65536, attention.key_block=1...1048576
// NAME: error: schedule: `attention.algorithm` is naive, resident, online or registers, found `magic`
// KEY: error: schedule: no choice is named `attention.rows`
// NOTHING: error: schedule: `naive` leaves nothing to choose

// CHECK-LABEL: func @chosen
func.func @chosen(%x: tensor<?x4xf32>) -> tensor<?x4xf32> {
  // CHECK: gf.recurrence {{.*}} attributes {gf.algorithm = "steps", gf.step_rows = {{[0-9]+}} : i64}
  // NAIVE: gf.recurrence {{.*}} attributes {gf.algorithm = "naive"}
  // GIVEN: gf.recurrence {{.*}} attributes {gf.algorithm = "steps", gf.algorithm_given, gf.step_rows = 64 : i64}
  // REMARK: :[[# @LINE + 1]]:8: remark: {{.*}}recurrence: steps, one after another
  %y = gf.recurrence sequences(%x : tensor<?x4xf32>) time_axis 0 -> (tensor<?x4xf32>) {
  ^step(%x_t: tensor<4xf32>):
    gf.yield %x_t : tensor<4xf32>
  }
  return %y : tensor<?x4xf32>
}

// -----

// The wider the sequences, the fewer steps make a block. A module's choice stays, unless
// the user makes another.
module attributes {gf.target = {first_cache_bytes = 32768 : i64, second_cache_bytes = 1048576 : i64,
    vector_bytes = 64 : i64, vector_registers = 32 : i64}} {
  // CHECK-LABEL: func @rows_of_a_block
  func.func @rows_of_a_block(%x: tensor<?x?x512xf32>, %wide: tensor<?x?x4096xf32>) {
    // CHECK: gf.recurrence {{.*}} gf.step_rows = 126 : i64
    gf.recurrence sequences(%x : tensor<?x?x512xf32>) time_axis 1 {
    ^step(%x_t: tensor<?x512xf32>):
      gf.yield
    }
    // CHECK: gf.recurrence {{.*}} gf.step_rows = 30 : i64
    gf.recurrence sequences(%wide : tensor<?x?x4096xf32>) time_axis 1 {
    ^step(%x_t: tensor<?x4096xf32>):
      gf.yield
    }
    // CHECK: gf.recurrence {{.*}} gf.step_rows = 7 : i64
    // GIVEN-COUNT-3: gf.recurrence {{.*}} gf.step_rows = 64 : i64
    gf.recurrence sequences(%x : tensor<?x?x512xf32>) time_axis 1 attributes {gf.step_rows = 7 : i64} {
    ^step(%x_t: tensor<?x512xf32>):
      gf.yield
    }
    return
  }
}

// -----

func.func @unknown(%x: tensor<?x4xf32>) -> tensor<?x4xf32> {
  // expected-error @+1 {{no lowering for algorithm "magic"; there is: "naive", "steps"}}
  %y = gf.recurrence sequences(%x : tensor<?x4xf32>) time_axis 0
      attributes {gf.algorithm = "magic"} -> (tensor<?x4xf32>) {
  ^step(%x_t: tensor<4xf32>):
    gf.yield %x_t : tensor<4xf32>
  }
  return %y : tensor<?x4xf32>
}

// -----

// CHECK-LABEL: func @attention
// CHECK: attributes {gf.algorithm = "resident", gf.block_scores = 153600 : i64, gf.query_block = {{[0-9]+}} : i64}
// GIVEN-LABEL: func @attention
// GIVEN: attributes {gf.algorithm = "naive"}
func.func @attention(%q: tensor<?x4xf32>) -> tensor<?x4xf32> {
  %y = gf.attention queries(%q : tensor<?x4xf32>) keys(%q : tensor<?x4xf32>) -> tensor<?x4xf32> {
  ^row(%query: tensor<4xf32>, %key: tensor<?x4xf32>, %row: index, %position: index):
    gf.yield %query : tensor<4xf32>
  }
  return %y : tensor<?x4xf32>
}

// -----

// Rows of scores far longer than the second cache go through it a block of keys at a time,
// unless that takes more products, or has no form. 24 rows of 32768 keys are three times the cache.
module attributes {gf.target = {first_cache_bytes = 49152 : i64, second_cache_bytes = 1048576 : i64,
    vector_bytes = 64 : i64, vector_registers = 32 : i64}} {
  // CHECK-LABEL: func @long_rows
  // GIVEN-LABEL: func @long_rows
  func.func @long_rows(%q: tensor<?x4xf32>, %k: tensor<32768x4xf32>, %short: tensor<16384x4xf32>,
                       %step: tensor<1x4xf32>) {
    // CHECK: gf.attention {{.*}}gf.algorithm = "online", gf.key_block = 512 : i64, gf.query_block = 192 : i64
    // GIVEN-COUNT-5: gf.attention {{.*}}gf.algorithm = "naive"
    // REMARK: remark: {{.*}}attention: online, a block of queries and a block of keys at a time
    gf.attention queries(%q : tensor<?x4xf32>) keys(%k : tensor<32768x4xf32>) -> tensor<?x4xf32> {
    ^row(%qr: tensor<4xf32>, %kr: tensor<32768x4xf32>, %row: index, %position: index):
      %s = gf.row_scores %qr, %kr : tensor<4xf32>, tensor<32768x4xf32> -> tensor<32768xf32>
      %p = gf.row_softmax %s : tensor<32768xf32>
      %y = gf.row_values %p, %kr : tensor<32768xf32>, tensor<32768x4xf32> -> tensor<4xf32>
      gf.yield %y : tensor<4xf32>
    }
    // CHECK: gf.attention {{.*}}gf.algorithm = "resident"
    gf.attention queries(%q : tensor<?x4xf32>) keys(%short : tensor<16384x4xf32>) -> tensor<?x4xf32> {
    ^row(%qr: tensor<4xf32>, %kr: tensor<16384x4xf32>, %row: index, %position: index):
      %s = gf.row_scores %qr, %kr : tensor<4xf32>, tensor<16384x4xf32> -> tensor<16384xf32>
      %p = gf.row_softmax %s : tensor<16384xf32>
      %y = gf.row_values %p, %kr : tensor<16384xf32>, tensor<16384x4xf32> -> tensor<4xf32>
      gf.yield %y : tensor<4xf32>
    }
    // One query has one row.
    // CHECK: gf.attention {{.*}}gf.algorithm = "resident"
    gf.attention queries(%step : tensor<1x4xf32>) keys(%k : tensor<32768x4xf32>) -> tensor<1x4xf32> {
    ^row(%qr: tensor<4xf32>, %kr: tensor<32768x4xf32>, %row: index, %position: index):
      %s = gf.row_scores %qr, %kr : tensor<4xf32>, tensor<32768x4xf32> -> tensor<32768xf32>
      %p = gf.row_softmax %s : tensor<32768xf32>
      %y = gf.row_values %p, %kr : tensor<32768xf32>, tensor<32768x4xf32> -> tensor<4xf32>
      gf.yield %y : tensor<4xf32>
    }
    // Two maps, one product with the values.
    // CHECK: gf.attention {{.*}}gf.algorithm = "resident"
    gf.attention queries(%q : tensor<?x4xf32>) keys(%k : tensor<32768x4xf32>) -> tensor<?x4xf32> {
    ^row(%qr: tensor<4xf32>, %kr: tensor<32768x4xf32>, %row: index, %position: index):
      %s = gf.row_scores %qr, %kr : tensor<4xf32>, tensor<32768x4xf32> -> tensor<32768xf32>
      %p = gf.row_softmax %s : tensor<32768xf32>
      %e = tensor.empty() : tensor<32768xf32>
      %n = linalg.negf ins(%s : tensor<32768xf32>) outs(%e : tensor<32768xf32>) -> tensor<32768xf32>
      %o = gf.row_softmax %n : tensor<32768xf32>
      %w = linalg.sub ins(%p, %o : tensor<32768xf32>, tensor<32768xf32>)
          outs(%e : tensor<32768xf32>) -> tensor<32768xf32>
      %y = gf.row_values %w, %kr : tensor<32768xf32>, tensor<32768x4xf32> -> tensor<4xf32>
      gf.yield %y : tensor<4xf32>
    }
    // No form.
    // CHECK: gf.attention {{.*}}gf.algorithm = "resident"
    gf.attention queries(%q : tensor<?x4xf32>) keys(%k : tensor<32768x4xf32>) -> tensor<?x4xf32> {
    ^row(%qr: tensor<4xf32>, %kr: tensor<32768x4xf32>, %row: index, %position: index):
      %s = gf.row_scores %qr, %kr : tensor<4xf32>, tensor<32768x4xf32> -> tensor<32768xf32>
      %t = gf.row_top_k %s fraction 0.5 : tensor<32768xf32> -> tensor<32768xi1>
      %p = gf.row_softmax %s where(%t : tensor<32768xi1>) : tensor<32768xf32>
      %y = gf.row_values %p, %kr : tensor<32768xf32>, tensor<32768x4xf32> -> tensor<4xf32>
      gf.yield %y : tensor<4xf32>
    }
    return
  }
}

// -----

#row = affine_map<(d0) -> (d0)>

// A block of queries has as many as leave its rows small: a row of scores that nothing else reads
// becomes that of its powers, one that is read again stays beside it.
// CHECK-LABEL: func @one_row
// CHECK: gf.attention {{.*}}gf.query_block = 18 : i64
func.func @one_row(%q: tensor<?x64xf32>, %k: tensor<8192x64xf32>) -> tensor<?x64xf32> {
  %y = gf.attention queries(%q : tensor<?x64xf32>) keys(%k : tensor<8192x64xf32>)
      attributes {gf.algorithm = "resident"} -> tensor<?x64xf32> {
  ^row(%query: tensor<64xf32>, %key: tensor<8192x64xf32>, %row: index, %position: index):
    %s = gf.row_scores %query, %key : tensor<64xf32>, tensor<8192x64xf32> -> tensor<8192xf32>
    %p = gf.row_softmax %s : tensor<8192xf32>
    %o = gf.row_values %p, %key : tensor<8192xf32>, tensor<8192x64xf32> -> tensor<64xf32>
    gf.yield %o : tensor<64xf32>
  }
  return %y : tensor<?x64xf32>
}

// CHECK-LABEL: func @two_rows
// CHECK: gf.attention {{.*}}gf.query_block = 6 : i64
func.func @two_rows(%q: tensor<?x64xf32>, %k: tensor<8192x64xf32>) -> tensor<?x64xf32> {
  %y = gf.attention queries(%q : tensor<?x64xf32>) keys(%k : tensor<8192x64xf32>)
      attributes {gf.algorithm = "resident"} -> tensor<?x64xf32> {
  ^row(%query: tensor<64xf32>, %key: tensor<8192x64xf32>, %row: index, %position: index):
    %s = gf.row_scores %query, %key : tensor<64xf32>, tensor<8192x64xf32> -> tensor<8192xf32>
    %p = gf.row_softmax %s : tensor<8192xf32>
    %e = tensor.empty() : tensor<8192xf32>
    %w = linalg.generic {indexing_maps = [#row, #row, #row], iterator_types = ["parallel"]}
        ins(%p, %s : tensor<8192xf32>, tensor<8192xf32>) outs(%e : tensor<8192xf32>) {
    ^bb0(%a: f32, %b: f32, %out: f32):
      %m = arith.mulf %a, %b : f32
      linalg.yield %m : f32
    } -> tensor<8192xf32>
    %o = gf.row_values %w, %key : tensor<8192xf32>, tensor<8192x64xf32> -> tensor<64xf32>
    gf.yield %o : tensor<64xf32>
  }
  return %y : tensor<?x64xf32>
}
