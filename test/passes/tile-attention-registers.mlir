// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: gatefold-opt %s --gf-attach-target=target=sm_80 --gf-tile-attention --canonicalize --cse --split-input-file | FileCheck %s
// RUN: gatefold-opt %s --gf-attach-target=target=sm_80 --gf-tile-attention --split-input-file --remark-format=emitRemark --remarks-filter=gf-tile-attention -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK

// Two maps of 16-bit floats: what is extended is read as it is, the values once for both
// products; powers are rounded to 16 bits; the result is written in 16 bits. Nothing but the
// result is in memory. What is largest is found before scores are scaled, here of both maps at
// once. Only blocks of keys where queries differ look at places.
// REMARK: remark: {{.*}}attention: registers, 128 query rows, 32 keys at a time, 2 maps"
// CHECK-LABEL: func @differential
// CHECK-SAME: (%[[Q:[a-z0-9]*]]: tensor<2x?x64xf16>, %[[K:[a-z0-9]*]]: tensor<2x?x64xf16>, %[[V:[a-z0-9]*]]: tensor<2x?x100xf16>, %[[L:[a-z0-9]*]]: tensor<2x?x1xf32>)
// CHECK-NOT: linalg
// CHECK: scf.for %[[HEAD:.*]] = {{.*}} iter_args(%{{.*}}) -> (tensor<2x?x100xf16>)
// CHECK: scf.for %[[BLOCK:.*]] = {{.*}} iter_args(%[[RESULT:.*]] = %{{.*}}) -> (tensor<2x?x100xf16>)
// CHECK: %[[START:.*]] = arith.muli %[[BLOCK]], %c128
// CHECK: %[[QUERY:.*]] = vector.transfer_read %{{.*}}[%[[START]], %c0], %{{.*}} {in_bounds = [false, true]} : tensor<?x64xf16>, vector<128x64xf16>
// CHECK: %[[KEYS:.*]] = tensor.extract_slice %{{.*}}[0, 0] [%{{.*}}, 64] [1, 1] : tensor<?x64xf16> to tensor<?x64xf16>
// CHECK: %[[VALUES:.*]] = tensor.extract_slice %{{.*}}[0, 0] [%{{.*}}, 100] [1, 1] : tensor<?x100xf16> to tensor<?x100xf16>
// CHECK: %[[SUMS:.*]]:6 = scf.for %[[KEY:.*]] = %c0 to %{{.*}} step %c32 iter_args(
// CHECK: %[[TILE:.*]] = vector.transfer_read %[[KEYS]][%[[KEY]], %c0]{{.*}} {in_bounds = [false, true]} : tensor<?x64xf16>, vector<32x64xf16>
// CHECK: %[[PRODUCT:.*]] = vector.contract {{.*}} %[[QUERY]], %[[TILE]], %{{.*}} : vector<128x64xf16>, vector<32x64xf16> into vector<128x32xf32>
// CHECK: %[[SEEN:.*]] = scf.if
// CHECK: arith.cmpi slt
// CHECK: arith.cmpi sle
// CHECK: arith.select
// CHECK: } else {
// CHECK-NEXT: scf.yield %[[PRODUCT]]
// CHECK: vector.multi_reduction <maximumf>, %[[SEEN]], %{{.*}} [1] : vector<128x32xf32> to vector<128xf32>
// CHECK: %[[SCALED:.*]] = arith.mulf %[[SEEN]]
// CHECK: %[[DIFFERENCE:.*]] = arith.subf %[[SCALED]]
// CHECK: %[[POWERS:.*]] = math.exp %[[DIFFERENCE]] : vector<128x32xf32>
// CHECK: vector.multi_reduction <add>, %[[POWERS]]
// CHECK-NOT: scf.if
// CHECK: %[[OTHERS:.*]] = math.exp %{{.*}} : vector<128x32xf32>
// CHECK: %[[VALUE:.*]] = vector.transfer_read %[[VALUES]][%[[KEY]], %c0]{{.*}} : tensor<?x100xf16>, vector<32x112xf16>
// CHECK-NOT: vector.transfer_read %[[VALUES]]
// CHECK: %[[ROUNDED:.*]] = arith.truncf %[[POWERS]] : vector<128x32xf32> to vector<128x32xf16>
// CHECK: vector.contract {{.*}} %[[ROUNDED]], %[[VALUE]], %{{.*}} : vector<128x32xf16>, vector<32x112xf16> into vector<128x112xf32>
// CHECK: arith.truncf %[[OTHERS]]
// CHECK: vector.contract {{.*}} %[[VALUE]], %{{.*}} into vector<128x112xf32>
// CHECK: scf.yield
// CHECK: vector.transfer_read %{{.*}}[%[[START]]]{{.*}} {in_bounds = [false, true], permutation_map = #{{.*}}} : tensor<?xf32>, vector<128x1xf32>
// CHECK: arith.subf %{{.*}} : vector<128x112xf32>
// CHECK: %[[LAST:.*]] = arith.truncf %{{.*}} : vector<128x112xf32> to vector<128x112xf16>
// CHECK: vector.transfer_write %[[LAST]], %{{.*}}[%c0, %c0] : vector<128x112xf16>, tensor<?x100xf16>
// CHECK: tensor.insert_slice
// CHECK: gf.parallel
// CHECK: gf.parallel
// CHECK-NOT: linalg
#id = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
#row = affine_map<(d0) -> (d0)>
#first = affine_map<(d0) -> (0)>
func.func @differential(%q: tensor<2x?x64xf16>, %k: tensor<2x?x64xf16>, %v: tensor<2x?x100xf16>, %l: tensor<2x?x1xf32>) -> tensor<2x?x100xf16> {
  %c1 = arith.constant 1 : index
  %scale = arith.constant 0.125 : f32
  %queries = tensor.dim %q, %c1 : tensor<2x?x64xf16>
  %keys = tensor.dim %k, %c1 : tensor<2x?x64xf16>
  %e0 = tensor.empty(%queries) : tensor<2x?x64xf32>
  %e1 = tensor.empty(%keys) : tensor<2x?x64xf32>
  %e2 = tensor.empty(%keys) : tensor<2x?x100xf32>
  %wq = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel", "parallel"]} ins(%q : tensor<2x?x64xf16>) outs(%e0 : tensor<2x?x64xf32>) {
  ^bb0(%in: f16, %out: f32):
    %x = arith.extf %in : f16 to f32
    linalg.yield %x : f32
  } -> tensor<2x?x64xf32>
  %wk = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel", "parallel"]} ins(%k : tensor<2x?x64xf16>) outs(%e1 : tensor<2x?x64xf32>) {
  ^bb0(%in: f16, %out: f32):
    %x = arith.extf %in : f16 to f32
    linalg.yield %x : f32
  } -> tensor<2x?x64xf32>
  %wv = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel", "parallel"]} ins(%v : tensor<2x?x100xf16>) outs(%e2 : tensor<2x?x100xf32>) {
  ^bb0(%in: f16, %out: f32):
    %x = arith.extf %in : f16 to f32
    linalg.yield %x : f32
  } -> tensor<2x?x100xf32>
  %y = gf.attention queries(%wq, %l : tensor<2x?x64xf32>, tensor<2x?x1xf32>) keys(%wk, %wv : tensor<2x?x64xf32>, tensor<2x?x100xf32>) causal
      attributes {gf.algorithm = "registers", gf.query_block = 128, gf.key_block = 32} -> tensor<2x?x100xf32> {
  ^row(%qr: tensor<64xf32>, %lr: tensor<1xf32>, %kr: tensor<?x64xf32>, %vr: tensor<?x100xf32>, %r: index, %position: index):
    %e = tensor.empty(%keys) : tensor<?xf32>
    %s = gf.row_scores %qr, %kr : tensor<64xf32>, tensor<?x64xf32> -> tensor<?xf32>
    %scaled = linalg.generic {indexing_maps = [#row, #row], iterator_types = ["parallel"]} ins(%s : tensor<?xf32>) outs(%e : tensor<?xf32>) {
    ^bb0(%in: f32, %out: f32):
      %x = arith.mulf %in, %scale : f32
      linalg.yield %x : f32
    } -> tensor<?xf32>
    %p = gf.row_softmax %scaled : tensor<?xf32>
    %p2 = gf.row_softmax %s : tensor<?xf32>
    %w = linalg.generic {indexing_maps = [#row, #row, #first, #row], iterator_types = ["parallel"]} ins(%p, %p2, %lr : tensor<?xf32>, tensor<?xf32>, tensor<1xf32>) outs(%e : tensor<?xf32>) {
    ^bb0(%a: f32, %b: f32, %c: f32, %out: f32):
      %x = arith.mulf %c, %b : f32
      %d = arith.subf %a, %x : f32
      linalg.yield %d : f32
    } -> tensor<?xf32>
    %y = gf.row_values %w, %vr : tensor<?xf32>, tensor<?x100xf32> -> tensor<100xf32>
    gf.yield %y : tensor<100xf32>
  }
  %e3 = tensor.empty(%queries) : tensor<2x?x100xf16>
  %ny = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel", "parallel"]} ins(%y : tensor<2x?x100xf32>) outs(%e3 : tensor<2x?x100xf16>) {
  ^bb0(%in: f32, %out: f16):
    %x = arith.truncf %in : f32 to f16
    linalg.yield %x : f16
  } -> tensor<2x?x100xf16>
  return %ny : tensor<2x?x100xf16>
}

// -----

// A window: keys before what the first query sees are not read, which makes the first row of
// a block negative; both ends are hidden. Norms of results reduce whole tiles. A sink joins
// the sum at the end.
// REMARK: remark: {{.*}}attention: registers, 64 query rows, 16 keys at a time, 1 map"
// CHECK-LABEL: func @window
// CHECK: %[[FIRST:.*]] = arith.maxsi
// CHECK: scf.for %[[KEY:.*]] = %{{.*}} to %{{.*}} step %c16 iter_args(
// CHECK: %[[ROW:.*]] = arith.subi %[[KEY]], %{{.*}} : index
// CHECK: vector.transfer_read %{{.*}}[%[[ROW]], %c0]{{.*}} : tensor<?x8xf32>, vector<16x16xf32>
// CHECK: arith.ori
// CHECK: scf.if
// CHECK: arith.cmpi sge
// CHECK: arith.cmpi sle
// CHECK-NOT: vector.transfer_read
// CHECK-NOT: arith.truncf
// CHECK: vector.contract {{.*}} : vector<64x16xf32>, vector<16x16xf32> into vector<64x16xf32>
// CHECK: scf.yield
// CHECK: math.exp %{{.*}} : vector<64x1xf32>
// CHECK: arith.minimumf
// CHECK: %[[INSIDE:.*]] = arith.cmpi slt
// CHECK: arith.select
// CHECK: vector.multi_reduction <add>
// CHECK: vector.transfer_write %{{.*}}[%c0, %c0] {in_bounds = [false, true]} : vector<64x1xf32>, tensor<?x1xf32>
#all = affine_map<(d0) -> (d0)>
#none = affine_map<(d0) -> ()>
func.func @window(%q: tensor<?x8xf32>, %k: tensor<?x8xf32>, %z: tensor<f32>) -> tensor<?xf32> {
  %zero = arith.constant 0.0 : f32
  %y = gf.attention queries(%q : tensor<?x8xf32>) keys(%k : tensor<?x8xf32>) captures(%z : tensor<f32>) window(3, 0)
      attributes {gf.algorithm = "registers", gf.query_block = 64, gf.key_block = 16} -> tensor<?xf32> {
  ^row(%qr: tensor<8xf32>, %kr: tensor<?x8xf32>, %zr: tensor<f32>, %r: index, %position: index):
    %sink = tensor.extract %zr[] : tensor<f32>
    %s = gf.row_scores %qr, %kr : tensor<8xf32>, tensor<?x8xf32> -> tensor<?xf32>
    %p = gf.row_softmax %s sink(%sink : f32) : tensor<?xf32>
    %y = gf.row_values %p, %kr : tensor<?xf32>, tensor<?x8xf32> -> tensor<8xf32>
    %e = tensor.empty() : tensor<f32>
    %f = linalg.fill ins(%zero : f32) outs(%e : tensor<f32>) -> tensor<f32>
    %n = linalg.generic {indexing_maps = [#all, #none], iterator_types = ["reduction"]} ins(%y : tensor<8xf32>) outs(%f : tensor<f32>) {
    ^bb0(%in: f32, %out: f32):
      %x = arith.mulf %in, %in : f32
      %t = arith.addf %out, %x : f32
      linalg.yield %t : f32
    } -> tensor<f32>
    gf.yield %n : tensor<f32>
  }
  return %y : tensor<?xf32>
}

// -----

// The log-sum-exp is known when all keys have passed, in registers as the rest.
// CHECK-LABEL: func @log_sum_exp
// CHECK: %[[SUMS:.*]]:3 = scf.for
// CHECK: %[[LOG:.*]] = math.log %[[SUMS]]#1 : vector<128x1xf32>
// CHECK: %[[ALL:.*]] = arith.addf %{{.*}}, %[[LOG]]
// CHECK: %[[NONE:.*]] = arith.cmpf oeq, %[[SUMS]]#1
// CHECK: %[[RESULT:.*]] = arith.select %[[NONE]], %{{.*}}, %[[ALL]]
// CHECK: vector.transfer_write %[[RESULT]], %{{.*}} : vector<128x1xf32>, tensor<?x1xf32>
func.func @log_sum_exp(%q: tensor<?x8xf32>, %k: tensor<?x8xf32>) -> (tensor<?x8xf32>, tensor<?xf32>) {
  %y, %l = gf.attention queries(%q : tensor<?x8xf32>) keys(%k : tensor<?x8xf32>)
      attributes {gf.algorithm = "registers", gf.query_block = 128, gf.key_block = 32}
      -> (tensor<?x8xf32>, tensor<?xf32>) {
  ^row(%qr: tensor<8xf32>, %kr: tensor<?x8xf32>, %row: index, %position: index):
    %s = gf.row_scores %qr, %kr : tensor<8xf32>, tensor<?x8xf32> -> tensor<?xf32>
    %p, %l = gf.row_softmax %s : tensor<?xf32>, tensor<f32>
    %y = gf.row_values %p, %kr : tensor<?xf32>, tensor<?x8xf32> -> tensor<8xf32>
    gf.yield %y, %l : tensor<8xf32>, tensor<f32>
  }
  return %y, %l : tensor<?x8xf32>, tensor<?xf32>
}

// -----

// Of a row with one element the result is written as it lies, so that it is no copy.
// CHECK-LABEL: func @place
// CHECK: %[[PART:.*]] = tensor.extract_slice %[[RESULT:.*]][%[[ROW:.*]], 0] [%{{.*}}, 1] [1, 1] : tensor<?x1xf32> to tensor<?x1xf32>
// CHECK-NEXT: %[[WRITTEN:.*]] = vector.transfer_write %{{.*}}, %[[PART]][%c0, %c0] {in_bounds = [false, true]} : vector<128x1xf32>, tensor<?x1xf32>
// CHECK: tensor.insert_slice %[[WRITTEN]] into %[[RESULT]][%[[ROW]], 0]
func.func @place(%q: tensor<?x8xf32>, %k: tensor<?x8xf32>) -> (tensor<?x8xf32>, tensor<?x1xf32>) {
  %y, %n = gf.attention queries(%q : tensor<?x8xf32>) keys(%k : tensor<?x8xf32>)
      attributes {gf.algorithm = "registers", gf.query_block = 128, gf.key_block = 32}
      -> (tensor<?x8xf32>, tensor<?x1xf32>) {
  ^row(%qr: tensor<8xf32>, %kr: tensor<?x8xf32>, %row: index, %position: index):
    %s = gf.row_scores %qr, %kr : tensor<8xf32>, tensor<?x8xf32> -> tensor<?xf32>
    %p = gf.row_softmax %s : tensor<?xf32>
    %y = gf.row_values %p, %kr : tensor<?xf32>, tensor<?x8xf32> -> tensor<8xf32>
    %i = arith.index_cast %position : index to i64
    %f = arith.sitofp %i : i64 to f32
    %n = tensor.from_elements %f : tensor<1xf32>
    gf.yield %y, %n : tensor<8xf32>, tensor<1xf32>
  }
  return %y, %n : tensor<?x8xf32>, tensor<?x1xf32>
}

// -----

#row = affine_map<(d0) -> (d0)>
#none = affine_map<(d0) -> ()>

// Each query has a key of its own, whose score is another one: elements of its row are gathered
// before the loop, if there is a key at all. Blocks of keys without such a place take the product.
// CHECK-LABEL: func @own_key
// CHECK: %[[SOME:.*]] = arith.cmpi ne, %{{.*}}, %c0 : index
// CHECK: %[[OWN:.*]] = scf.if %[[SOME]] -> (vector<128x1xf32>) {
// CHECK: %[[ROW:.*]] = arith.muli %{{.*}} : vector<128x16xindex>
// CHECK: %[[ELEMENT:.*]] = arith.addi %[[ROW]], %{{.*}} : vector<128x16xindex>
// CHECK: vector.gather %{{.*}}[%c0, %c0] [%[[ELEMENT]]]{{.*}} : tensor<?x8xf32>{{.*}} into vector<128x16xf32>
// CHECK: vector.multi_reduction <add>
// CHECK: } else {
// CHECK: %[[SUMS:.*]]:3 = scf.for
// CHECK: %[[PRODUCT:.*]] = vector.contract
// CHECK: %[[HERE:.*]] = arith.andi
// CHECK: %[[SCORES:.*]] = scf.if %[[HERE]] -> (vector<128x32xf32>) {
// CHECK: %[[IS:.*]] = arith.cmpi eq, %{{.*}} : vector<128x32xindex>
// CHECK: %[[WIDE:.*]] = vector.broadcast %[[OWN]] : vector<128x1xf32> to vector<128x32xf32>
// CHECK: arith.select %[[IS]], %[[WIDE]], %[[PRODUCT]]
// CHECK: } else {
// CHECK-NEXT: scf.yield %[[PRODUCT]]
func.func @own_key(%q: tensor<?x8xf32>, %k: tensor<?x8xf32>) -> tensor<?x8xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %zero = arith.constant 0.0 : f32
  %n = tensor.dim %k, %c0 : tensor<?x8xf32>
  %y = gf.attention queries(%q : tensor<?x8xf32>) keys(%k : tensor<?x8xf32>) causal
      attributes {gf.algorithm = "registers", gf.query_block = 128, gf.key_block = 32}
      -> tensor<?x8xf32> {
  ^row(%qr: tensor<8xf32>, %kr: tensor<?x8xf32>, %row: index, %position: index):
    %s = gf.row_scores %qr, %kr : tensor<8xf32>, tensor<?x8xf32> -> tensor<?xf32>
    %isEmpty = arith.cmpi eq, %n, %c0 : index
    %size = arith.select %isEmpty, %c0, %c8 : index
    %some = tensor.extract_slice %qr[0] [%size] [1] : tensor<8xf32> to tensor<?xf32>
    %last = arith.subi %n, %c1 : index
    %place = arith.minsi %position, %last : index
    %e = tensor.empty() : tensor<f32>
    %f = linalg.fill ins(%zero : f32) outs(%e : tensor<f32>) -> tensor<f32>
    %own = linalg.generic {indexing_maps = [#row, #none], iterator_types = ["reduction"]} ins(%some : tensor<?xf32>) outs(%f : tensor<f32>) {
    ^bb0(%in: f32, %out: f32):
      %i = linalg.index 0 : index
      %key = tensor.extract %kr[%place, %i] : tensor<?x8xf32>
      %x = arith.mulf %in, %key : f32
      %t = arith.addf %out, %x : f32
      linalg.yield %t : f32
    } -> tensor<f32>
    %es = tensor.empty(%n) : tensor<?xf32>
    %t = linalg.generic {indexing_maps = [#row, #none, #row], iterator_types = ["parallel"]} ins(%s, %own : tensor<?xf32>, tensor<f32>) outs(%es : tensor<?xf32>) {
    ^bb0(%in: f32, %other: f32, %out: f32):
      %i = linalg.index 0 : index
      %is = arith.cmpi eq, %i, %place : index
      %x = arith.select %is, %other, %in : f32
      linalg.yield %x : f32
    } -> tensor<?xf32>
    %p = gf.row_softmax %t : tensor<?xf32>
    %y = gf.row_values %p, %kr : tensor<?xf32>, tensor<?x8xf32> -> tensor<8xf32>
    gf.yield %y : tensor<8xf32>
  }
  return %y : tensor<?x8xf32>
}

// -----

#row = affine_map<(d0) -> (d0)>
#none = affine_map<(d0) -> ()>

// Of a known number of keys, the sum is made where the block of queries sees a key. What is read
// behind the loop, too, is made in any case.
// CHECK-LABEL: func @known_keys
// CHECK: %[[SEES:.*]] = arith.cmpi slt, %[[FIRST:.*]], %[[END:.*]] : index
// CHECK: %[[OWN:.*]] = scf.if %[[SEES]] -> (vector<128x1xf32>) {
// CHECK: vector.gather
// CHECK: } else {
// CHECK-NOT: scf.if
// CHECK: vector.gather
// CHECK: scf.for %{{.*}} = %{{.*}} to %[[END]]
func.func @known_keys(%q: tensor<?x8xf32>, %k: tensor<77x8xf32>) -> (tensor<?x8xf32>, tensor<?xf32>) {
  %c0 = arith.constant 0 : index
  %c76 = arith.constant 76 : index
  %zero = arith.constant 0.0 : f32
  %y, %n = gf.attention queries(%q : tensor<?x8xf32>) keys(%k : tensor<77x8xf32>) window(3, 2)
      attributes {gf.algorithm = "registers", gf.query_block = 128, gf.key_block = 32}
      -> (tensor<?x8xf32>, tensor<?xf32>) {
  ^row(%qr: tensor<8xf32>, %kr: tensor<77x8xf32>, %row: index, %position: index):
    %s = gf.row_scores %qr, %kr : tensor<8xf32>, tensor<77x8xf32> -> tensor<77xf32>
    %least = arith.maxsi %position, %c0 : index
    %place = arith.minsi %least, %c76 : index
    %e = tensor.empty() : tensor<f32>
    %f = linalg.fill ins(%zero : f32) outs(%e : tensor<f32>) -> tensor<f32>
    %own = linalg.generic {indexing_maps = [#row, #none], iterator_types = ["reduction"]} ins(%qr : tensor<8xf32>) outs(%f : tensor<f32>) {
    ^bb0(%in: f32, %out: f32):
      %i = linalg.index 0 : index
      %key = tensor.extract %kr[%place, %i] : tensor<77x8xf32>
      %x = arith.mulf %in, %key : f32
      %t = arith.addf %out, %x : f32
      linalg.yield %t : f32
    } -> tensor<f32>
    %result = linalg.generic {indexing_maps = [#row, #none], iterator_types = ["reduction"]} ins(%qr : tensor<8xf32>) outs(%f : tensor<f32>) {
    ^bb0(%in: f32, %out: f32):
      %i = linalg.index 0 : index
      %key = tensor.extract %kr[%place, %i] : tensor<77x8xf32>
      %x = arith.addf %in, %key : f32
      %t = arith.addf %out, %x : f32
      linalg.yield %t : f32
    } -> tensor<f32>
    %es = tensor.empty() : tensor<77xf32>
    %t = linalg.generic {indexing_maps = [#row, #none, #none, #row], iterator_types = ["parallel"]} ins(%s, %own, %result : tensor<77xf32>, tensor<f32>, tensor<f32>) outs(%es : tensor<77xf32>) {
    ^bb0(%in: f32, %other: f32, %more: f32, %out: f32):
      %x = arith.addf %in, %other : f32
      %y = arith.addf %x, %more : f32
      linalg.yield %y : f32
    } -> tensor<77xf32>
    %p = gf.row_softmax %t : tensor<77xf32>
    %y = gf.row_values %p, %kr : tensor<77xf32>, tensor<77x8xf32> -> tensor<8xf32>
    gf.yield %y, %result : tensor<8xf32>, tensor<f32>
  }
  return %y, %n : tensor<?x8xf32>, tensor<?xf32>
}
