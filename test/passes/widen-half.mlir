// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: gatefold-opt %s --gf-widen-half --split-input-file --verify-diagnostics | FileCheck %s
// RUN: gatefold-opt %s --gf-widen-half --gf-widen-half --split-input-file --verify-diagnostics | FileCheck %s --check-prefix=TWICE

#map = affine_map<(d0) -> (d0)>
#shape = affine_map<()[s0] -> (s0)>

// Elementwise operations read what is narrow themselves; a result rounds once.
// CHECK-LABEL: func @elementwise
// CHECK-SAME: (%[[x:.*]]: tensor<?xbf16> {{.*}}) -> (tensor<?xbf16>
func.func @elementwise(%x: tensor<?xbf16> {gf.name = "x", gf.shape = #shape})
    -> (tensor<?xbf16> {gf.name = "y", gf.shape = #shape}) attributes {gf.entry, gf.dimensions = ["N"]} {
  // CHECK: %[[y:.*]] = linalg.generic {{.*}} ins(%[[x]] : tensor<?xbf16>) outs(%{{.*}} : tensor<?xf32>)
  // CHECK-NEXT: ^bb0(%[[in:.*]]: bf16, %{{.*}}: f32):
  // CHECK: %[[wide:.*]] = arith.extf %[[in]] : bf16 to f32
  // CHECK: %[[tenth:.*]] = arith.constant 1.000000e-01 : f32
  // CHECK: arith.mulf %[[wide]], %[[tenth]] : f32
  // CHECK: linalg.generic {{.*}} ins(%[[y]] : tensor<?xf32>) outs(%{{.*}} : tensor<?xbf16>)
  // CHECK: arith.truncf %{{.*}} : f32 to bf16
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : tensor<?xbf16>
  %init = tensor.empty(%n) : tensor<?xbf16>
  %y = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel"]}
      ins(%x : tensor<?xbf16>) outs(%init : tensor<?xbf16>) {
  ^bb0(%a: bf16, %b: bf16):
    %digits = arith.constant 0.1 : f32
    %tenth = arith.truncf %digits : f32 to bf16
    %c = arith.mulf %a, %tenth : bf16
    linalg.yield %c : bf16
  } -> tensor<?xbf16>
  return %y : tensor<?xbf16>
}

// -----

// What is asked to round does, in f32 before and after.
// CHECK-LABEL: func private @conversions
// CHECK-SAME: (%[[x:.*]]: f32, %[[d:.*]]: f64) -> (f32, f32, f64, i16, f32)
func.func private @conversions(%x: f16, %d: f64) -> (f16, f16, f64, i16, f16) {
  // CHECK: %[[single:.*]] = arith.truncf %[[d]] : f64 to f32
  // CHECK: %[[half:.*]] = arith.truncf %[[single]] to_nearest_even : f32 to f16
  // CHECK: %[[rounded:.*]] = arith.extf %[[half]] : f16 to f32
  // A second run keeps it.
  // TWICE: arith.truncf %{{.*}} to_nearest_even : f32 to f16
  // TWICE-NEXT: arith.extf
  %rounded = arith.truncf %d to_nearest_even : f64 to f16
  // CHECK: %[[kept:.*]] = arith.truncf %[[d]] : f64 to f32
  %kept = arith.truncf %d : f64 to f16
  %single = arith.extf %x : f16 to f32
  // CHECK: %[[double:.*]] = arith.extf %[[x]] : f32 to f64
  %double = arith.extf %single : f32 to f64
  // CHECK: %[[narrow:.*]] = arith.truncf %[[x]] : f32 to f16
  // CHECK: %[[bits:.*]] = arith.bitcast %[[narrow]] : f16 to i16
  %bits = arith.bitcast %x : f16 to i16
  // CHECK: %[[of:.*]] = arith.bitcast %[[bits]] : i16 to f16
  // CHECK: %[[back:.*]] = arith.extf %[[of]] : f16 to f32
  %back = arith.bitcast %bits : i16 to f16
  // CHECK: return %[[rounded]], %[[kept]], %[[double]], %[[bits]], %[[back]]
  return %rounded, %kept, %double, %bits, %back : f16, f16, f64, i16, f16
}

// -----

// States are f32, also at the interface, and in the loops between.
// CHECK-LABEL: func @states
// CHECK-SAME: %[[x:.*]]: tensor<5x4xf16>
// CHECK-SAME: %[[h:.*]]: tensor<4xf32> {gf.initial = 5.000000e-01 : f32, gf.name = "h", gf.state}
// CHECK-SAME: -> (tensor<5x4xf16> {gf.name = "y"}, tensor<4xf32> {gf.name = "h", gf.state})
func.func @states(%x: tensor<5x4xf16> {gf.name = "x"},
                  %h: tensor<4xf16> {gf.name = "h", gf.state, gf.initial = 0.5 : f16})
    -> (tensor<5x4xf16> {gf.name = "y"}, tensor<4xf16> {gf.name = "h", gf.state}) attributes {gf.entry} {
  // CHECK: %[[wide:.*]] = linalg.generic {{.*}} ins(%[[x]] : tensor<5x4xf16>)
  // CHECK: %[[y:.*]]:2 = gf.recurrence sequences(%[[wide]] : tensor<5x4xf32>) states(%[[h]] : tensor<4xf32>)
  // CHECK: ^step(%{{.*}}: tensor<4xf32>, %{{.*}}: tensor<4xf32>):
  // CHECK: gf.yield %{{.*}} : tensor<4xf32>, tensor<4xf32>
  // CHECK: %[[narrow:.*]] = linalg.generic {{.*}} ins(%[[y]]#0 : tensor<5x4xf32>) outs(%{{.*}} : tensor<5x4xf16>)
  // CHECK: return %[[narrow]], %[[y]]#1 : tensor<5x4xf16>, tensor<4xf32>
  %y, %last = gf.recurrence sequences(%x : tensor<5x4xf16>) states(%h : tensor<4xf16>) time_axis 0
      -> (tensor<5x4xf16>) {
  ^step(%x_t: tensor<4xf16>, %old: tensor<4xf16>):
    %sum = linalg.add ins(%x_t, %old : tensor<4xf16>, tensor<4xf16>) outs(%x_t : tensor<4xf16>) -> tensor<4xf16>
    gf.yield %sum, %sum : tensor<4xf16>, tensor<4xf16>
  }
  return %y, %last : tensor<5x4xf16>, tensor<4xf16>
}

// -----

#map = affine_map<(d0, d1) -> (d0, d1)>

// A state that becomes itself with rows written into it stays narrow: rows are rounded, one
// after another in a loop too, and who reads it extends.
// CHECK-LABEL: func @cache
// CHECK-SAME: %[[x:.*]]: tensor<3x4xf16>, %[[c:.*]]: tensor<8x4xf16> {gf.initial = 5.000000e-01 : f16, gf.name = "c", gf.state}
// CHECK-SAME: -> (tensor<8x4xf32>, tensor<8x4xf16> {gf.name = "c", gf.state})
func.func @cache(%x: tensor<3x4xf16>, %c: tensor<8x4xf16> {gf.name = "c", gf.state, gf.initial = 0.5 : f16})
    -> (tensor<8x4xf32>, tensor<8x4xf16> {gf.name = "c", gf.state}) attributes {gf.entry} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  // CHECK: %[[double:.*]] = linalg.generic {{.*}} ins(%[[x]] : tensor<3x4xf16>)
  %e = tensor.empty() : tensor<3x4xf16>
  %y = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<3x4xf16>) outs(%e : tensor<3x4xf16>) {
  ^bb0(%in: f16, %out: f16):
    %sum = arith.addf %in, %in : f16
    linalg.yield %sum : f16
  } -> tensor<3x4xf16>
  // CHECK: %[[next:.*]] = scf.for {{.*}} iter_args(%[[old:.*]] = %[[c]]) -> (tensor<8x4xf16>)
  // CHECK:   %[[row:.*]] = tensor.extract_slice %[[double]]{{.*}} : tensor<3x4xf32> to tensor<1x4xf32>
  // CHECK:   %[[rounded:.*]] = linalg.generic {{.*}} ins(%[[row]] : tensor<1x4xf32>) outs(%{{.*}} : tensor<1x4xf16>)
  // CHECK:   tensor.insert_slice %[[rounded]] into %[[old]]
  %new = scf.for %i = %c0 to %c3 step %c1 iter_args(%old = %c) -> (tensor<8x4xf16>) {
    %row = tensor.extract_slice %y[%i, 0] [1, 4] [1, 1] : tensor<3x4xf16> to tensor<1x4xf16>
    %put = tensor.insert_slice %row into %old[%i, 0] [1, 4] [1, 1] : tensor<1x4xf16> into tensor<8x4xf16>
    scf.yield %put : tensor<8x4xf16>
  }
  // CHECK: %[[read:.*]] = linalg.generic {{.*}} ins(%[[next]] : tensor<8x4xf16>) outs(%{{.*}} : tensor<8x4xf32>)
  // CHECK: arith.extf
  // CHECK: return %{{.*}}, %[[next]] : tensor<8x4xf32>, tensor<8x4xf16>
  %wide = tensor.empty() : tensor<8x4xf32>
  %all = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel"]}
      ins(%new : tensor<8x4xf16>) outs(%wide : tensor<8x4xf32>) {
  ^bb0(%in: f16, %out: f32):
    %w = arith.extf %in : f16 to f32
    linalg.yield %w : f32
  } -> tensor<8x4xf32>
  return %all, %new : tensor<8x4xf32>, tensor<8x4xf16>
}

// -----

#map = affine_map<(d0, d1) -> (d0, d1)>

// A recurrence's state has 16 bits where what is written into it was rounded, so that this loses nothing.
// CHECK-LABEL: func @cell
// CHECK: %[[zeros:.*]] = linalg.fill ins(%{{.*}} : f16) outs(%{{.*}} : tensor<8x4xf16>)
// CHECK: gf.recurrence sequences(%{{.*}} : tensor<5x4xf32>) states(%[[zeros]], %{{.*}} : tensor<8x4xf16>, tensor<8x4xf32>)
// CHECK: ^step(%{{.*}}: tensor<4xf32>, %[[old:.*]]: tensor<8x4xf16>, %[[other:.*]]: tensor<8x4xf32>):
// CHECK: %[[row:.*]] = linalg.generic {{.*}} outs(%{{.*}} : tensor<1x4xf16>)
// CHECK: %[[next:.*]] = tensor.insert_slice %[[row]] into %[[old]][2, 0] [1, 4]
// CHECK: %[[wide:.*]] = linalg.generic {{.*}} ins(%[[next]] : tensor<8x4xf16>) outs(%{{.*}} : tensor<8x4xf32>)
// CHECK: %[[not_rounded:.*]] = tensor.insert_slice %{{.*}} into %[[other]][2, 0] [1, 4] [1, 1] : tensor<1x4xf32>
// CHECK: gf.yield %[[wide]], %[[next]], %[[not_rounded]]
func.func @cell(%x: tensor<5x4xf16>) -> tensor<5x8x4xf16> attributes {gf.entry} {
  %zero = arith.constant 0.0 : f16
  %e = tensor.empty() : tensor<8x4xf16>
  %start = linalg.fill ins(%zero : f16) outs(%e : tensor<8x4xf16>) -> tensor<8x4xf16>
  %y, %last, %other = gf.recurrence sequences(%x : tensor<5x4xf16>) states(%start, %start : tensor<8x4xf16>, tensor<8x4xf16>) time_axis 0 -> (tensor<5x8x4xf16>) {
  ^step(%x_t: tensor<4xf16>, %s: tensor<8x4xf16>, %t: tensor<8x4xf16>):
    %row = tensor.expand_shape %x_t [[0, 1]] output_shape [1, 4] : tensor<4xf16> into tensor<1x4xf16>
    %f = tensor.empty() : tensor<1x4xf16>
    %rounded = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel"]}
        ins(%row : tensor<1x4xf16>) outs(%f : tensor<1x4xf16>) {
    ^bb0(%in: f16, %out: f16):
      %double = arith.addf %in, %in : f16
      %w = arith.extf %double : f16 to f32
      %r = arith.truncf %w to_nearest_even : f32 to f16
      linalg.yield %r : f16
    } -> tensor<1x4xf16>
    %next = tensor.insert_slice %rounded into %s[2, 0] [1, 4] [1, 1] : tensor<1x4xf16> into tensor<8x4xf16>
    %as_it_is = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel"]}
        ins(%row : tensor<1x4xf16>) outs(%f : tensor<1x4xf16>) {
    ^bb0(%in: f16, %out: f16):
      %double = arith.addf %in, %in : f16
      linalg.yield %double : f16
    } -> tensor<1x4xf16>
    %also = tensor.insert_slice %as_it_is into %t[2, 0] [1, 4] [1, 1] : tensor<1x4xf16> into tensor<8x4xf16>
    gf.yield %next, %next, %also : tensor<8x4xf16>, tensor<8x4xf16>, tensor<8x4xf16>
  }
  return %y : tensor<5x8x4xf16>
}

// -----

#map = affine_map<(d0, d1) -> (d0, d1)>
#rows = affine_map<(d0, d1) -> (d0)>

// A table is read narrow, row by row; so are slices of weights.
// CHECK-LABEL: func @table
// CHECK-NOT: tensor<100x8xf32>
// CHECK: %[[table:.*]] = gf.parameter "table" : tensor<100x8xbf16>
// CHECK: %[[number:.*]] = tensor.extract %[[table]]
// CHECK-NEXT: arith.extf %[[number]] : bf16 to f32
// CHECK: tensor.extract_slice %[[table]][0, 0] [2, 8] [1, 1] : tensor<100x8xbf16> to tensor<2x8xbf16>
func.func @table(%i: tensor<2xindex>) -> (tensor<2x8xf32>, tensor<2x8xf32>) attributes {gf.entry} {
  %table = gf.parameter "table" : tensor<100x8xbf16>
  %init = tensor.empty() : tensor<2x8xbf16>
  %rows = linalg.generic {indexing_maps = [#rows, #map], iterator_types = ["parallel", "parallel"]}
      ins(%i : tensor<2xindex>) outs(%init : tensor<2x8xbf16>) {
  ^bb0(%row: index, %old: bf16):
    %column = linalg.index 1 : index
    %number = tensor.extract %table[%row, %column] : tensor<100x8xbf16>
    linalg.yield %number : bf16
  } -> tensor<2x8xbf16>
  %first = tensor.extract_slice %table[0, 0] [2, 8] [1, 1] : tensor<100x8xbf16> to tensor<2x8xbf16>
  %wide = tensor.empty() : tensor<2x8xf32>
  %a = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel"]}
      ins(%rows : tensor<2x8xbf16>) outs(%wide : tensor<2x8xf32>) {
  ^bb0(%in: bf16, %out: f32):
    %e = arith.extf %in : bf16 to f32
    linalg.yield %e : f32
  } -> tensor<2x8xf32>
  %b = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel"]}
      ins(%first : tensor<2x8xbf16>) outs(%wide : tensor<2x8xf32>) {
  ^bb0(%in: bf16, %out: f32):
    %e = arith.extf %in : bf16 to f32
    linalg.yield %e : f32
  } -> tensor<2x8xf32>
  return %a, %b : tensor<2x8xf32>, tensor<2x8xf32>
}

// -----

// Calls pass what the callee takes; constants keep their values.
// CHECK-LABEL: func private @outside(tensor<3xf16>) -> tensor<3xf16>
func.func private @outside(%x: tensor<3xf16>) -> tensor<3xf16>

// CHECK-LABEL: func private @inside
// CHECK-SAME: (%{{.*}}: tensor<3xf32>) -> tensor<3xf32>
func.func private @inside(%x: tensor<3xf16>) -> tensor<3xf16> {
  return %x : tensor<3xf16>
}

// CHECK-LABEL: func @calls
func.func @calls() -> tensor<3xf16> {
  // CHECK: %[[numbers:.*]] = arith.constant dense<[1.000000e+00, 0.0999755859, 0x7F800000]> : tensor<3xf32>
  %numbers = arith.constant dense<[1.0, 0.1, 0x7C00]> : tensor<3xf16>
  // CHECK: %[[inner:.*]] = call @inside(%[[numbers]]) : (tensor<3xf32>) -> tensor<3xf32>
  %inner = call @inside(%numbers) : (tensor<3xf16>) -> tensor<3xf16>
  // CHECK: %[[narrow:.*]] = linalg.generic {{.*}} ins(%[[inner]] : tensor<3xf32>) outs(%{{.*}} : tensor<3xf16>)
  // CHECK: %[[outer:.*]] = call @outside(%[[narrow]]) : (tensor<3xf16>) -> tensor<3xf16>
  // CHECK: linalg.generic {{.*}} ins(%[[outer]] : tensor<3xf16>) outs(%{{.*}} : tensor<3xf32>)
  %outer = call @outside(%inner) : (tensor<3xf16>) -> tensor<3xf16>
  return %outer : tensor<3xf16>
}

// -----

// Code on buffers or vectors of 16 bits stays as it is.
// CHECK-LABEL: func @vectors
func.func @vectors(%x: vector<4xf16>) -> vector<4xf16> {
  // CHECK: arith.addf {{.*}} : vector<4xf16>
  %y = arith.addf %x, %x : vector<4xf16>
  return %y : vector<4xf16>
}

// -----

func.func @resource() -> tensor<2xf16> {
  // expected-error @+1 {{not compiled yet: a constant of 'tensor<2xf16>' that is not written out}}
  %0 = arith.constant dense_resource<numbers> : tensor<2xf16>
  return %0 : tensor<2xf16>
}

{-#
  dialect_resources: {
    builtin: {
      numbers: "0x08000000003C0040"
    }
  }
#-}
