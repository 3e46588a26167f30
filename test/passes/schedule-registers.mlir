// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: gatefold-opt %s --gf-schedule=target=sm_80 | FileCheck %s
// RUN: gatefold-opt %s --gf-schedule=target=sm_86 | FileCheck %s --check-prefix=LITTLE
// RUN: gatefold-opt %s --gf-schedule="target=sm_80 schedule=attention.key_block=16,attention.query_block=64" | FileCheck %s --check-prefix=GIVEN
// RUN: gatefold-opt %s --gf-schedule="target=x86-64-v4" | FileCheck %s --check-prefix=CPU
// RUN: not gatefold-opt %s --gf-schedule="target=x86-64-v4 schedule=attention.algorithm=registers" 2>&1 | FileCheck %s --check-prefix=NO-GPU
// RUN: not gatefold-opt %s --gf-schedule="target=sm_80 schedule=attention.query_block=24" 2>&1 | FileCheck %s --check-prefix=QUERIES
// RUN: not gatefold-opt %s --gf-schedule="target=sm_80 schedule=attention.key_block=24" 2>&1 | FileCheck %s --check-prefix=KEYS
// RUN: not gatefold-opt %s --gf-schedule="target=sm_86 schedule=attention.key_block=256" 2>&1 | FileCheck %s --check-prefix=SHARED

// As many keys as registers and shared memory hold beside the sums of 128 queries: fewer with
// two maps than with one, in f32 than in 16 bits. Few queries take smaller blocks.

// CPU: gf.algorithm = "resident"
// NO-GPU: :[[# @LINE + 8]]:8: error: attention cannot be scheduled as registers: this target is no GPU, whose threads share the registers of a block; there is resident or online
// QUERIES: :[[# @LINE + 7]]:8: error: attention cannot be scheduled with query_block=24, expected 16, 32, 64 or 128, whole tiles of the warps of a thread block, with the algorithm registers
// KEYS: :[[# @LINE + 6]]:8: error: attention cannot be scheduled with key_block=24, expected a multiple of 16 up to 256 with the algorithm registers
// SHARED: :[[# @LINE + 5]]:8: error: attention cannot be scheduled as registers: blocks of 128 queries and 256 keys take 425984 bytes of shared memory, and a thread block has 95232
// CHECK-LABEL: func @plain
// CHECK: gf.algorithm = "registers", gf.key_block = 32 : i64, gf.query_block = 128 : i64
// GIVEN: gf.algorithm = "registers", gf.algorithm_given, gf.key_block = 16 : i64, gf.query_block = 64 : i64
func.func @plain(%q: tensor<?x64xf32>, %k: tensor<?x64xf32>, %v: tensor<?x128xf32>) -> tensor<?x128xf32> {
  %y = gf.attention queries(%q : tensor<?x64xf32>) keys(%k, %v : tensor<?x64xf32>, tensor<?x128xf32>) -> tensor<?x128xf32> {
  ^row(%qr: tensor<64xf32>, %kr: tensor<?x64xf32>, %vr: tensor<?x128xf32>, %r: index, %position: index):
    %s = gf.row_scores %qr, %kr : tensor<64xf32>, tensor<?x64xf32> -> tensor<?xf32>
    %p = gf.row_softmax %s : tensor<?xf32>
    %y = gf.row_values %p, %vr : tensor<?xf32>, tensor<?x128xf32> -> tensor<128xf32>
    gf.yield %y : tensor<128xf32>
  }
  return %y : tensor<?x128xf32>
}

// CHECK-LABEL: @few_queries
// CHECK: gf.algorithm = "registers", gf.key_block = 32 : i64, gf.query_block = 16 : i64
func.func private @few_queries(%q: tensor<3x64xf32>, %k: tensor<20x64xf32>) -> tensor<3x64xf32> {
  %y = gf.attention queries(%q : tensor<3x64xf32>) keys(%k : tensor<20x64xf32>) -> tensor<3x64xf32> {
  ^row(%qr: tensor<64xf32>, %kr: tensor<20x64xf32>, %r: index, %position: index):
    %s = gf.row_scores %qr, %kr : tensor<64xf32>, tensor<20x64xf32> -> tensor<20xf32>
    %p = gf.row_softmax %s : tensor<20xf32>
    %y = gf.row_values %p, %kr : tensor<20xf32>, tensor<20x64xf32> -> tensor<64xf32>
    gf.yield %y : tensor<64xf32>
  }
  return %y : tensor<3x64xf32>
}

#id = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0) -> (d0)>

// CHECK-LABEL: @two_maps
// CHECK: gf.algorithm = "registers", gf.key_block = 32 : i64, gf.query_block = 128 : i64
func.func private @two_maps(%q: tensor<?x64xf32>, %k: tensor<?x64xf16>, %v: tensor<?x128xf16>) -> tensor<?x128xf32> {
  %c0 = arith.constant 0 : index
  %keys = tensor.dim %k, %c0 : tensor<?x64xf16>
  %e1 = tensor.empty(%keys) : tensor<?x64xf32>
  %e2 = tensor.empty(%keys) : tensor<?x128xf32>
  %wk = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%k : tensor<?x64xf16>) outs(%e1 : tensor<?x64xf32>) {
  ^bb0(%in: f16, %out: f32):
    %x = arith.extf %in : f16 to f32
    linalg.yield %x : f32
  } -> tensor<?x64xf32>
  %wv = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%v : tensor<?x128xf16>) outs(%e2 : tensor<?x128xf32>) {
  ^bb0(%in: f16, %out: f32):
    %x = arith.extf %in : f16 to f32
    linalg.yield %x : f32
  } -> tensor<?x128xf32>
  %y = gf.attention queries(%q, %q : tensor<?x64xf32>, tensor<?x64xf32>) keys(%wk, %wk, %wv : tensor<?x64xf32>, tensor<?x64xf32>, tensor<?x128xf32>) -> tensor<?x128xf32> {
  ^row(%qr: tensor<64xf32>, %q2: tensor<64xf32>, %kr: tensor<?x64xf32>, %k2: tensor<?x64xf32>, %vr: tensor<?x128xf32>, %r: index, %position: index):
    %s = gf.row_scores %qr, %kr : tensor<64xf32>, tensor<?x64xf32> -> tensor<?xf32>
    %s2 = gf.row_scores %q2, %k2 : tensor<64xf32>, tensor<?x64xf32> -> tensor<?xf32>
    %p = gf.row_softmax %s : tensor<?xf32>
    %p2 = gf.row_softmax %s2 : tensor<?xf32>
    %e = tensor.empty(%keys) : tensor<?xf32>
    %w = linalg.generic {indexing_maps = [#row, #row, #row], iterator_types = ["parallel"]} ins(%p, %p2 : tensor<?xf32>, tensor<?xf32>) outs(%e : tensor<?xf32>) {
    ^bb0(%a: f32, %b: f32, %out: f32):
      %d = arith.subf %a, %b : f32
      linalg.yield %d : f32
    } -> tensor<?xf32>
    %y = gf.row_values %w, %vr : tensor<?xf32>, tensor<?x128xf32> -> tensor<128xf32>
    gf.yield %y : tensor<128xf32>
  }
  return %y : tensor<?x128xf32>
}

// Three maps of one score are three powers of each key.
// CHECK-LABEL: @three_maps
// CHECK: gf.algorithm = "registers", gf.key_block = 16 : i64, gf.query_block = 128 : i64
func.func private @three_maps(%q: tensor<?x64xf32>, %k: tensor<?x64xf32>) -> tensor<?x64xf32> {
  %y = gf.attention queries(%q : tensor<?x64xf32>) keys(%k : tensor<?x64xf32>) -> tensor<?x64xf32> {
  ^row(%qr: tensor<64xf32>, %kr: tensor<?x64xf32>, %r: index, %position: index):
    %c0 = arith.constant 0 : index
    %n = tensor.dim %kr, %c0 : tensor<?x64xf32>
    %e = tensor.empty(%n) : tensor<?xf32>
    %ey = tensor.empty() : tensor<64xf32>
    %s = gf.row_scores %qr, %kr : tensor<64xf32>, tensor<?x64xf32> -> tensor<?xf32>
    %bent = linalg.generic {indexing_maps = [#row, #row], iterator_types = ["parallel"]} ins(%s : tensor<?xf32>) outs(%e : tensor<?xf32>) {
    ^bb0(%a: f32, %out: f32):
      %d = math.absf %a : f32
      linalg.yield %d : f32
    } -> tensor<?xf32>
    %turned = linalg.generic {indexing_maps = [#row, #row], iterator_types = ["parallel"]} ins(%s : tensor<?xf32>) outs(%e : tensor<?xf32>) {
    ^bb0(%a: f32, %out: f32):
      %d = arith.negf %a : f32
      linalg.yield %d : f32
    } -> tensor<?xf32>
    %p1 = gf.row_softmax %s : tensor<?xf32>
    %p2 = gf.row_softmax %bent : tensor<?xf32>
    %p3 = gf.row_softmax %turned : tensor<?xf32>
    %y1 = gf.row_values %p1, %kr : tensor<?xf32>, tensor<?x64xf32> -> tensor<64xf32>
    %y2 = gf.row_values %p2, %kr : tensor<?xf32>, tensor<?x64xf32> -> tensor<64xf32>
    %y3 = gf.row_values %p3, %kr : tensor<?xf32>, tensor<?x64xf32> -> tensor<64xf32>
    %y = linalg.generic {indexing_maps = [#row, #row, #row, #row], iterator_types = ["parallel"]} ins(%y1, %y2, %y3 : tensor<64xf32>, tensor<64xf32>, tensor<64xf32>) outs(%ey : tensor<64xf32>) {
    ^bb0(%a: f32, %b: f32, %c: f32, %out: f32):
      %d = arith.addf %a, %b : f32
      %f = arith.addf %d, %c : f32
      linalg.yield %f : f32
    } -> tensor<64xf32>
    gf.yield %y : tensor<64xf32>
  }
  return %y : tensor<?x64xf32>
}

// Queries of two maps that are too wide for registers wait in shared memory: where it is
// little, of fewer rows than there are warps for.
// CHECK-LABEL: @two_wide_maps
// CHECK: gf.algorithm = "registers", gf.key_block = 16 : i64, gf.query_block = 64 : i64
// LITTLE-LABEL: @two_wide_maps
// LITTLE: gf.algorithm = "registers", gf.key_block = 16 : i64, gf.query_block = 32 : i64
func.func private @two_wide_maps(%q: tensor<?x128xf32>, %k: tensor<?x128xf32>, %v: tensor<?x128xf32>, %keys: index) -> tensor<?x128xf32> {
  %y = gf.attention queries(%q, %q : tensor<?x128xf32>, tensor<?x128xf32>) keys(%k, %v, %v : tensor<?x128xf32>, tensor<?x128xf32>, tensor<?x128xf32>) -> tensor<?x128xf32> {
  ^row(%qr: tensor<128xf32>, %q2: tensor<128xf32>, %kr: tensor<?x128xf32>, %k2: tensor<?x128xf32>, %vr: tensor<?x128xf32>, %r: index, %position: index):
    %s = gf.row_scores %qr, %kr : tensor<128xf32>, tensor<?x128xf32> -> tensor<?xf32>
    %s2 = gf.row_scores %q2, %k2 : tensor<128xf32>, tensor<?x128xf32> -> tensor<?xf32>
    %p = gf.row_softmax %s : tensor<?xf32>
    %p2 = gf.row_softmax %s2 : tensor<?xf32>
    %e = tensor.empty(%keys) : tensor<?xf32>
    %w = linalg.generic {indexing_maps = [#row, #row, #row], iterator_types = ["parallel"]} ins(%p, %p2 : tensor<?xf32>, tensor<?xf32>) outs(%e : tensor<?xf32>) {
    ^bb0(%a: f32, %b: f32, %out: f32):
      %d = arith.subf %a, %b : f32
      linalg.yield %d : f32
    } -> tensor<?xf32>
    %y = gf.row_values %w, %vr : tensor<?xf32>, tensor<?x128xf32> -> tensor<128xf32>
    gf.yield %y : tensor<128xf32>
  }
  return %y : tensor<?x128xf32>
}
