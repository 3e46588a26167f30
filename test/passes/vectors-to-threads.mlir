// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What is computed is tested in test/gpu/vectors.test.
// RUN: gatefold-opt %s --split-input-file --pass-pipeline='builtin.module(gpu.module(gf-vectors-to-threads{threads=256},canonicalize,cse))' | FileCheck %s --implicit-check-not='vector<16' --implicit-check-not='vector<32'

// A thread has two rows and two columns of each 16 x 8. Seven warps of eight
// have nothing to write.
gpu.module @kernels {
  // CHECK-LABEL: func @copy
  // CHECK-SAME: %[[X:[^:]*]]: memref<16x8xf32>
  func.func @copy(%x: memref<16x8xf32>, %y: memref<16x8xf32>) attributes {gf.vectors} {
    %c0 = arith.constant 0 : index
    %zero = arith.constant 0.0 : f32
    // CHECK: gpu.thread_id x
    // CHECK-COUNT-4: memref.load %[[X]]
    %v = vector.transfer_read %x[%c0, %c0], %zero {in_bounds = [true, true]} : memref<16x8xf32>, vector<16x8xf32>
    // CHECK-COUNT-4: arith.addf
    %sum = arith.addf %v, %v : vector<16x8xf32>
    // CHECK: scf.if
    // CHECK-COUNT-4: memref.store
    vector.transfer_write %sum, %y[%c0, %c0] {in_bounds = [true, true]} : vector<16x8xf32>, memref<16x8xf32>
    // CHECK: return
    return
  }
}

// -----

// Of 32 columns a thread has eight; of the last 8 the last two of them.
gpu.module @kernels {
  // CHECK-LABEL: func @slice
  // CHECK-SAME: %[[X:[^:]*]]: memref<16x32xf32>, %[[Y:[^:]*]]: memref<16x8xf32>
  func.func @slice(%x: memref<16x32xf32>, %y: memref<16x8xf32>) attributes {gf.vectors} {
    %c0 = arith.constant 0 : index
    %zero = arith.constant 0.0 : f32
    // CHECK: %[[FIRST:.*]] = arith.addi %{{.*}}, %c24
    // CHECK: %[[NEXT:.*]] = arith.addi %{{.*}}, %c25
    // CHECK: %[[A:.*]] = memref.load %[[X]][%[[ROW:.*]], %[[FIRST]]]
    // CHECK: %[[B:.*]] = memref.load %[[X]][%[[ROW]], %[[NEXT]]]
    // CHECK: %[[C:.*]] = memref.load %[[X]]
    // CHECK: %[[D:.*]] = memref.load %[[X]]
    // CHECK-NOT: memref.load
    %v = vector.transfer_read %x[%c0, %c0], %zero {in_bounds = [true, true]} : memref<16x32xf32>, vector<16x32xf32>
    %s = vector.extract_strided_slice %v {offsets = [0, 24], sizes = [16, 8], strides = [1, 1]} : vector<16x32xf32> to vector<16x8xf32>
    // CHECK: memref.store %[[A]], %[[Y]]
    // CHECK: memref.store %[[B]], %[[Y]]
    // CHECK: memref.store %[[C]], %[[Y]]
    // CHECK: memref.store %[[D]], %[[Y]]
    vector.transfer_write %s, %y[%c0, %c0] {in_bounds = [true, true]} : vector<16x8xf32>, memref<16x8xf32>
    return
  }
}

// -----

// Memory may end before the vector does: all of it at once, or each element.
gpu.module @kernels {
  // CHECK-LABEL: func @bounds
  func.func @bounds(%x: memref<?x?xf32>, %y: memref<?x?xf32>) attributes {gf.vectors} {
    %c0 = arith.constant 0 : index
    %zero = arith.constant 0.0 : f32
    // CHECK: scf.if %{{.*}} -> (f32, f32, f32, f32, f32, f32, f32, f32)
    // CHECK-COUNT-8: memref.load
    // CHECK: scf.yield
    // CHECK-COUNT-8: scf.if
    // CHECK: scf.yield
    %v = vector.transfer_read %x[%c0, %c0], %zero : memref<?x?xf32>, vector<16x16xf32>
    vector.transfer_write %v, %y[%c0, %c0] : vector<16x16xf32>, memref<?x?xf32>
    return
  }
}

// -----

// One value of a row is the same in four lanes, of which one writes it; one of
// a column the same in eight.
gpu.module @kernels {
  // CHECK-LABEL: func @rows
  // CHECK-SAME: %[[X:[^:]*]]: memref<?xf32>, %[[Y:[^:]*]]: memref<?xf32>
  func.func @rows(%x: memref<?xf32>, %y: memref<?xf32>, %z: memref<?x?xf32>) attributes {gf.vectors} {
    %c0 = arith.constant 0 : index
    %zero = arith.constant 0.0 : f32
    // CHECK-COUNT-2: memref.load %[[X]]
    %row = vector.transfer_read %x[%c0], %zero {permutation_map = affine_map<(i) -> (i, 0)>, in_bounds = [true, true]} : memref<?xf32>, vector<16x1xf32>
    // CHECK-COUNT-2: memref.load %[[Y]]
    %column = vector.transfer_read %y[%c0], %zero {permutation_map = affine_map<(i) -> (0, i)>, in_bounds = [true, true]} : memref<?xf32>, vector<1x8xf32>
    %rows = vector.broadcast %row : vector<16x1xf32> to vector<16x8xf32>
    %columns = vector.broadcast %column : vector<1x8xf32> to vector<16x8xf32>
    // CHECK-COUNT-4: arith.mulf
    %product = arith.mulf %rows, %columns : vector<16x8xf32>
    // CHECK-NOT: arith.mulf
    vector.transfer_write %product, %z[%c0, %c0] {in_bounds = [true, true]} : vector<16x8xf32>, memref<?x?xf32>
    return
  }
}

// -----

// Along a row: three sums in the lane, then lanes 1 and 2 apart, then what was
// there before. Rows are as many as numbers.
gpu.module @kernels {
  // CHECK-LABEL: func @reduce
  func.func @reduce(%y: memref<?x1xf32>) attributes {gf.vectors} {
    %c0 = arith.constant 0 : index
    %none = arith.constant dense<0.0> : vector<16xf32>
    %step = vector.step : vector<16xindex>
    %rows = vector.shape_cast %step : vector<16xindex> to vector<16x1xindex>
    %columns = vector.shape_cast %step : vector<16xindex> to vector<1x16xindex>
    %all = vector.broadcast %rows : vector<16x1xindex> to vector<16x16xindex>
    %other = vector.broadcast %columns : vector<1x16xindex> to vector<16x16xindex>
    %sum = arith.addi %all, %other : vector<16x16xindex>
    %number = arith.index_cast %sum : vector<16x16xindex> to vector<16x16xi32>
    %float = arith.sitofp %number : vector<16x16xi32> to vector<16x16xf32>
    // CHECK-COUNT-3: arith.addf
    // CHECK: nvvm.shfl.sync bfly
    // CHECK: arith.addf
    // CHECK: nvvm.shfl.sync bfly
    // CHECK-COUNT-2: arith.addf
    // CHECK-COUNT-3: arith.addf
    // CHECK: nvvm.shfl.sync bfly
    // CHECK: arith.addf
    // CHECK: nvvm.shfl.sync bfly
    // CHECK-COUNT-2: arith.addf
    %total = vector.multi_reduction <add>, %float, %none [1] : vector<16x16xf32> to vector<16xf32>
    %out = vector.shape_cast %total : vector<16xf32> to vector<16x1xf32>
    // CHECK-COUNT-2: memref.store
    vector.transfer_write %out, %y[%c0, %c0] {in_bounds = [true, true]} : vector<16x1xf32>, memref<?x1xf32>
    // CHECK-NOT: memref.store
    return
  }
}

// -----

// 64 x 32 x 32 in four warps: (64 / 16 / 4) * (32 / 8) * (32 / 16) products, A
// by one ldmatrix for each 16 x 16, B by one for each 16 columns and 16 of k.
gpu.module @kernels {
  // CHECK-LABEL: func @product
  func.func @product(%a: memref<64x32xf16, #gpu.address_space<workgroup>>, %b: memref<32x32xf16, #gpu.address_space<workgroup>>, %y: memref<?x?xf32>) attributes {gf.vectors, gf.warps = array<i64: 4, 1>} {
    %c0 = arith.constant 0 : index
    %zero = arith.constant 0.0 : f16
    %none = arith.constant dense<0.0> : vector<64x32xf32>
    %left = vector.transfer_read %a[%c0, %c0], %zero {in_bounds = [true, true]} : memref<64x32xf16, #gpu.address_space<workgroup>>, vector<64x32xf16>
    %right = vector.transfer_read %b[%c0, %c0], %zero {in_bounds = [true, true]} : memref<32x32xf16, #gpu.address_space<workgroup>>, vector<32x32xf16>
    // CHECK: nvvm.ldmatrix %{{.*}} {eltType = #nvvm.ld_st_matrix_elt_type<b16>, layout = #nvvm.mma_layout<row>, num = 4
    // CHECK: nvvm.ldmatrix %{{.*}} {eltType = #nvvm.ld_st_matrix_elt_type<b16>, layout = #nvvm.mma_layout<row>, num = 4
    // CHECK-COUNT-2: nvvm.mma.sync {{.*}}k = 16
    // CHECK: nvvm.ldmatrix
    // CHECK-COUNT-2: nvvm.mma.sync
    // CHECK-COUNT-2: nvvm.ldmatrix
    // CHECK-COUNT-2: nvvm.mma.sync
    // CHECK: nvvm.ldmatrix
    // CHECK-COUNT-2: nvvm.mma.sync
    // CHECK-NOT: nvvm.mma.sync
    %sum = vector.contract {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (n, k)>, affine_map<(m, n, k) -> (m, n)>], iterator_types = ["parallel", "parallel", "reduction"], kind = #vector.kind<add>} %left, %right, %none : vector<64x32xf16>, vector<32x32xf16> into vector<64x32xf32>
    vector.transfer_write %sum, %y[%c0, %c0] {in_bounds = [true, true]} : vector<64x32xf32>, memref<?x?xf32>
    return
  }
}

// -----

// Rows of k are transposed as they are loaded; three of 8 columns are one of
// four matrices and one of two. A computed operand is packed where it is.
gpu.module @kernels {
  // CHECK-LABEL: func @computed
  func.func @computed(%a: memref<16x16xf32>, %b: memref<16x24xbf16, #gpu.address_space<workgroup>>, %y: memref<?x?xf32>) attributes {gf.vectors} {
    %c0 = arith.constant 0 : index
    %zero = arith.constant 0.0 : bf16
    %zero32 = arith.constant 0.0 : f32
    %none = arith.constant dense<0.0> : vector<16x24xf32>
    %x = vector.transfer_read %a[%c0, %c0], %zero32 {in_bounds = [true, true]} : memref<16x16xf32>, vector<16x16xf32>
    // CHECK-COUNT-8: llvm.call_intrinsic "llvm.nvvm.ex2.approx.ftz.f32"
    %exp = math.exp %x : vector<16x16xf32>
    %left = arith.truncf %exp : vector<16x16xf32> to vector<16x16xbf16>
    %right = vector.transfer_read %b[%c0, %c0], %zero {in_bounds = [true, true]} : memref<16x24xbf16, #gpu.address_space<workgroup>>, vector<16x24xbf16>
    // CHECK-COUNT-4: arith.truncf %{{.*}} : vector<2xf32> to vector<2xbf16>
    // CHECK: nvvm.ldmatrix %{{.*}} layout = #nvvm.mma_layout<col>, num = 4
    // CHECK-COUNT-2: nvvm.mma.sync {{.*}}#nvvm.mma_type<bf16>
    // CHECK: nvvm.ldmatrix %{{.*}} layout = #nvvm.mma_layout<col>, num = 2
    // CHECK: nvvm.mma.sync
    // CHECK-NOT: nvvm.mma.sync
    %sum = vector.contract {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>], iterator_types = ["parallel", "parallel", "reduction"], kind = #vector.kind<add>} %left, %right, %none : vector<16x16xbf16>, vector<16x24xbf16> into vector<16x24xf32>
    vector.transfer_write %sum, %y[%c0, %c0] {in_bounds = [true, true]} : vector<16x24xf32>, memref<?x?xf32>
    return
  }
}

// -----

// An f32 is two of tf32, and a product three; what was extended from 16 bits is
// one, and the product two. What is read before a loop and takes few registers
// is loaded before it; the loop carries scalars.
gpu.module @kernels {
  // CHECK-LABEL: func @loop
  func.func @loop(%a: memref<16x16xf32, #gpu.address_space<workgroup>>, %b: memref<8x16xf16, #gpu.address_space<workgroup>>, %y: memref<?x?xf32>, %n: index) attributes {gf.vectors} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %zero = arith.constant 0.0 : f32
    %zero16 = arith.constant 0.0 : f16
    %none = arith.constant dense<0.0> : vector<16x8xf32>
    // CHECK-COUNT-4: llvm.load %{{.*}} {alignment = 8 : i64} : !llvm.ptr<3> -> vector<2xf32>
    %left = vector.transfer_read %a[%c0, %c0], %zero {in_bounds = [true, true]} : memref<16x16xf32, #gpu.address_space<workgroup>>, vector<16x16xf32>
    // CHECK: scf.for {{.*}} -> (f32, f32, f32, f32)
    %sum = scf.for %i = %c0 to %n step %c1 iter_args(%s = %none) -> vector<16x8xf32> {
      %narrow = vector.transfer_read %b[%c0, %c0], %zero16 {in_bounds = [true, true]} : memref<8x16xf16, #gpu.address_space<workgroup>>, vector<8x16xf16>
      %right = arith.extf %narrow : vector<8x16xf16> to vector<8x16xf32>
      // CHECK: llvm.intr.fabs
      // CHECK: arith.subf
      // CHECK: nvvm.ldmatrix %{{.*}} num = 2
      // CHECK-COUNT-4: nvvm.mma.sync {{.*}}k = 8
      // CHECK-NOT: nvvm.mma.sync
      %next = vector.contract {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (n, k)>, affine_map<(m, n, k) -> (m, n)>], iterator_types = ["parallel", "parallel", "reduction"], kind = #vector.kind<add>} %left, %right, %s : vector<16x16xf32>, vector<8x16xf32> into vector<16x8xf32>
      // CHECK: scf.yield
      scf.yield %next : vector<16x8xf32>
    }
    vector.transfer_write %sum, %y[%c0, %c0] {in_bounds = [true, true]} : vector<16x8xf32>, memref<?x?xf32>
    return
  }
}

// -----

// Two products with one right operand are walked together: each part of it is loaded
// once, and both are multiplied by it before the next. What is needed between them stands behind.
gpu.module @kernels {
  // CHECK-LABEL: func @joined
  func.func @joined(%a: memref<16x16xf16, #gpu.address_space<workgroup>>, %b: memref<32x16xf16, #gpu.address_space<workgroup>>, %y: memref<?x?xf32>) attributes {gf.vectors} {
    %c0 = arith.constant 0 : index
    %zero = arith.constant 0.0 : f16
    %none = arith.constant dense<0.0> : vector<16x32xf32>
    %left = vector.transfer_read %a[%c0, %c0], %zero {in_bounds = [true, true]} : memref<16x16xf16, #gpu.address_space<workgroup>>, vector<16x16xf16>
    %right = vector.transfer_read %b[%c0, %c0], %zero {in_bounds = [true, true]} : memref<32x16xf16, #gpu.address_space<workgroup>>, vector<32x16xf16>
    // CHECK-COUNT-2: nvvm.ldmatrix %{{.*}} layout = #nvvm.mma_layout<row>, num = 4
    // CHECK: nvvm.ldmatrix %{{.*}} num = 4
    // CHECK-NOT: nvvm.ldmatrix
    // CHECK-COUNT-4: nvvm.mma.sync
    // CHECK: nvvm.ldmatrix %{{.*}} num = 4
    // CHECK-NOT: nvvm.ldmatrix
    // CHECK-COUNT-4: nvvm.mma.sync
    // CHECK-NOT: nvvm.mma.sync
    // CHECK-COUNT-16: llvm.call_intrinsic "llvm.nvvm.ex2.approx.ftz.f32"
    %first = vector.contract {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (n, k)>, affine_map<(m, n, k) -> (m, n)>], iterator_types = ["parallel", "parallel", "reduction"], kind = #vector.kind<add>} %left, %right, %none : vector<16x16xf16>, vector<32x16xf16> into vector<16x32xf32>
    %exp = math.exp %first : vector<16x32xf32>
    %second = vector.contract {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (n, k)>, affine_map<(m, n, k) -> (m, n)>], iterator_types = ["parallel", "parallel", "reduction"], kind = #vector.kind<add>} %left, %right, %none : vector<16x16xf16>, vector<32x16xf16> into vector<16x32xf32>
    %sum = arith.addf %exp, %second : vector<16x32xf32>
    vector.transfer_write %sum, %y[%c0, %c0] {in_bounds = [true, true]} : vector<16x32xf32>, memref<?x?xf32>
    return
  }

  // One that the other is made of waits for it.
  // CHECK-LABEL: func @in_turn
  func.func @in_turn(%a: memref<16x16xf16, #gpu.address_space<workgroup>>, %b: memref<8x16xf16, #gpu.address_space<workgroup>>, %y: memref<?x?xf32>) attributes {gf.vectors} {
    %c0 = arith.constant 0 : index
    %zero = arith.constant 0.0 : f16
    %none = arith.constant dense<0.0> : vector<16x8xf32>
    %left = vector.transfer_read %a[%c0, %c0], %zero {in_bounds = [true, true]} : memref<16x16xf16, #gpu.address_space<workgroup>>, vector<16x16xf16>
    %right = vector.transfer_read %b[%c0, %c0], %zero {in_bounds = [true, true]} : memref<8x16xf16, #gpu.address_space<workgroup>>, vector<8x16xf16>
    // CHECK: nvvm.mma.sync
    // CHECK-COUNT-4: llvm.call_intrinsic "llvm.nvvm.ex2.approx.ftz.f32"
    // CHECK: nvvm.mma.sync
    %first = vector.contract {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (n, k)>, affine_map<(m, n, k) -> (m, n)>], iterator_types = ["parallel", "parallel", "reduction"], kind = #vector.kind<add>} %left, %right, %none : vector<16x16xf16>, vector<8x16xf16> into vector<16x8xf32>
    %exp = math.exp %first : vector<16x8xf32>
    %second = vector.contract {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (n, k)>, affine_map<(m, n, k) -> (m, n)>], iterator_types = ["parallel", "parallel", "reduction"], kind = #vector.kind<add>} %left, %right, %exp : vector<16x16xf16>, vector<8x16xf16> into vector<16x8xf32>
    vector.transfer_write %second, %y[%c0, %c0] {in_bounds = [true, true]} : vector<16x8xf32>, memref<?x?xf32>
    return
  }
}

// -----

// CHECK-LABEL: module attributes {gf.fast_math}
module attributes {gf.fast_math} {
  gpu.module @kernels {
    func.func @unchanged(%x: f32) -> f32 {
      // CHECK: math.exp
      %y = math.exp %x : f32
      return %y : f32
    }
  }
}

// -----

// Eight warps share 128 terms: each has one square of them, and a sum of its own until the loop ends. The
// parts are joined in shared memory, behind what the function uses already: a warp adds up one
// pair of eight.
gpu.module @kernels {
  // CHECK-LABEL: func @terms
  // CHECK-SAME: gf.shared_bytes = 20480 : i64
  func.func @terms(%a: memref<16x128xf16, #gpu.address_space<workgroup>>, %b: memref<128x32xf16, #gpu.address_space<workgroup>>, %y: memref<?x?xf32>, %n: index) attributes {gf.vectors, gf.shared_bytes = 4000 : i64, gf.warps = array<i64: 1, 1, 8>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %zero = arith.constant 0.0 : f16
    %none = arith.constant dense<0.0> : vector<16x32xf32>
    // CHECK-DAG: memref.view %{{.*}}[%c4096{{.*}}][] : {{.*}} to memref<4096xf32, #gpu.address_space<workgroup>>
    // CHECK: scf.for
    %sum = scf.for %i = %c0 to %n step %c1 iter_args(%s = %none) -> vector<16x32xf32> {
      %left = vector.transfer_read %a[%c0, %c0], %zero {in_bounds = [true, true]} : memref<16x128xf16, #gpu.address_space<workgroup>>, vector<16x128xf16>
      %right = vector.transfer_read %b[%c0, %c0], %zero {in_bounds = [true, true]} : memref<128x32xf16, #gpu.address_space<workgroup>>, vector<128x32xf16>
      // CHECK-COUNT-4: nvvm.mma.sync
      // CHECK-NOT: nvvm.mma.sync
      %next = vector.contract {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>], iterator_types = ["parallel", "parallel", "reduction"], kind = #vector.kind<add>} %left, %right, %s : vector<16x128xf16>, vector<128x32xf16> into vector<16x32xf32>
      // CHECK: scf.yield
      scf.yield %next : vector<16x32xf32>
    }
    // CHECK: gpu.barrier
    // CHECK-COUNT-8: llvm.store %{{.*}} : vector<2xf32>, !llvm.ptr<3>
    // CHECK: gpu.barrier
    // CHECK-COUNT-8: llvm.fadd
    // CHECK-NEXT: llvm.store
    // CHECK-NEXT: gpu.barrier
    // CHECK-COUNT-8: llvm.load
    // CHECK-NOT: llvm.load
    // One of the warps writes.
    // CHECK: scf.if
    // CHECK: memref.store
    vector.transfer_write %sum, %y[%c0, %c0] {in_bounds = [true, true]} : vector<16x32xf32>, memref<?x?xf32>
    return
  }
}

// -----

// Elements of a matrix are counted row by row, whatever lies between the rows.
gpu.module @kernels {
  // CHECK-LABEL: func @gather
  // CHECK-SAME: %[[X:[^:]*]]: memref<?x24xf32, strided<[100, 1]>>
  func.func @gather(%x: memref<?x24xf32, strided<[100, 1]>>, %n: index, %y: memref<16x8xf32>) attributes {gf.vectors} {
    %c0 = arith.constant 0 : index
    %all = arith.constant dense<true> : vector<16x8xi1>
    %none = arith.constant dense<0.0> : vector<16x8xf32>
    // CHECK: %[[ROW:.*]] = arith.divui %[[N:.*]], %c24
    // CHECK: %[[COLUMN:.*]] = arith.remui %[[N]], %c24
    // CHECK: memref.load %[[X]][%[[ROW]], %[[COLUMN]]]
    %places = vector.broadcast %n : index to vector<16x8xindex>
    %v = vector.gather %x[%c0, %c0] [%places], %all, %none : memref<?x24xf32, strided<[100, 1]>>, vector<16x8xindex>, vector<16x8xi1>, vector<16x8xf32> into vector<16x8xf32>
    vector.transfer_write %v, %y[%c0, %c0] {in_bounds = [true, true]} : vector<16x8xf32>, memref<16x8xf32>
    return
  }
}

// -----

// Rows before the first do not exist, whatever in_bounds says: upstream's folder asks of a known
// index for the end of the vector alone.
gpu.module @kernels {
  // CHECK-LABEL: func @before_the_first
  func.func @before_the_first(%x: memref<9x8xf32>, %y: memref<16x8xf32>) attributes {gf.vectors} {
    %c0 = arith.constant 0 : index
    %before = arith.constant -7 : index
    %pad = arith.constant 0.0 : f32
    // CHECK: %[[ROW:.*]] = arith.addi %{{.*}}, %c-7
    // CHECK: %[[EXISTS:.*]] = arith.cmpi ult, %[[ROW]], %c9
    // CHECK: scf.if %[[EXISTS]]
    // CHECK: memref.load
    %v = vector.transfer_read %x[%before, %c0], %pad {in_bounds = [true, true]} : memref<9x8xf32>, vector<16x8xf32>
    vector.transfer_write %v, %y[%c0, %c0] {in_bounds = [true, true]} : vector<16x8xf32>, memref<16x8xf32>
    return
  }
}
