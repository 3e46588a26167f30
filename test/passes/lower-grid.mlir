// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: gatefold-opt %s --allow-unregistered-dialect --pass-pipeline='builtin.module(gpu.module(gf-lower-grid))' --split-input-file --verify-diagnostics | FileCheck %s

gpu.module @kernels {
  // Fences of all the device stand on both sides of the addition, whose order the
  // back end would drop.
  // CHECK: llvm.func internal @gatefold_grid_barrier(%[[TEAM:.*]]: !llvm.ptr<1>) -> i32 attributes {convergent, no_inline}
  // CHECK: nvvm.barrier
  // CHECK: llvm.fence syncscope("device") acq_rel
  // CHECK: %[[BEFORE:.*]] = llvm.atomicrmw add %{{.*}}, %{{.*}} syncscope("device") monotonic
  // CHECK: ^bb[[WAIT:.*]](%{{.*}}: i32):
  // CHECK: llvm.load %{{.*}} atomic syncscope("device") acquire
  // CHECK: llvm.load %{{.*}} atomic syncscope("device") monotonic
  // CHECK: llvm.cond_br %{{.*}}, ^{{.*}}, ^bb[[WAIT]]
  // CHECK: llvm.fence syncscope("device") acq_rel
  // CHECK: %[[ANY:.*]] = nvvm.barrier #nvvm.reduction<or> %{{.*}} -> i32
  // CHECK: llvm.return %[[ANY]]

  // CHECK-LABEL: gpu.func @run
  // CHECK-SAME: , %[[T:[^:]*]]: !llvm.ptr<1>
  gpu.func @run(%x: memref<?xf32>, %team: !llvm.ptr<1>) kernel {
    // CHECK: %[[RANK:.*]] = gpu.block_id x
    // CHECK: %[[RANKS:.*]] = gpu.grid_dim x
    // CHECK: "use"(%[[RANK]], %[[RANKS]])
    %rank = gf.team_rank
    %ranks = gf.team_size
    "use"(%rank, %ranks) : (index, index) -> ()
    // Who finds that another block has failed leaves.
    // CHECK: %[[CODE:.*]] = llvm.call @gatefold_grid_barrier(%[[T]]) {convergent}
    // CHECK: %[[LEAVES:.*]] = arith.cmpi ne, %[[CODE]]
    // CHECK: cf.cond_br %[[LEAVES]], ^bb[[END:[0-9]+]], ^
    gf.team_barrier
    %c0 = arith.constant 0 : index
    %size = memref.dim %x, %c0 : memref<?xf32>
    %holds = arith.cmpi ne, %size, %c0 : index
    // Where an assertion fails the block writes the code and leaves.
    // CHECK: cf.cond_br %{{.*}}, ^bb[[REST:[0-9]+]], ^bb[[FAILED:[0-9]+]]
    // CHECK: ^bb[[FAILED]]:
    // CHECK: llvm.store %{{.*}}, %{{.*}} atomic syncscope("device") monotonic
    // CHECK: cf.br ^bb[[END]]
    cf.assert %holds, "max of nothing" {gf.failure = 0 : i32}
    gpu.return
    // CHECK: ^bb[[END]]:
    // CHECK-NEXT: gpu.return
  }
}

// -----

gpu.module @kernels {
  gpu.func @region(%flag: i1, %team: !llvm.ptr<1>) kernel {
    scf.if %flag {
      // expected-error @below {{stands in a region; run this after scf-to-cf}}
      gf.team_barrier
    }
    gpu.return
  }
}

// -----

gpu.module @kernels {
  // expected-error @below {{takes no memory of a team as last argument}}
  gpu.func @teamless() kernel {
    gf.team_barrier
    gpu.return
  }
}

// -----

// A function of a part takes the team's memory and says whether to leave.
gpu.module @kernels {
  // CHECK-LABEL: func.func private @part
  // CHECK-SAME: (%{{.*}}: index, %[[T:.*]]: !llvm.ptr<1>) -> i1 attributes {passthrough = ["noinline", "convergent"]}
  func.func private @part(%x: index) attributes {passthrough = ["noinline"]} {
    // CHECK: llvm.call @gatefold_grid_barrier(%[[T]])
    // CHECK: cf.cond_br %{{.*}}, ^bb[[END:[0-9]+]], ^
    // CHECK: %[[FALSE:.*]] = arith.constant false
    // CHECK-NEXT: return %[[FALSE]]
    gf.team_barrier
    return
    // CHECK: ^bb[[END]]:
    // CHECK-NEXT: %[[TRUE:.*]] = arith.constant true
    // CHECK-NEXT: return %[[TRUE]]
  }

  // CHECK-LABEL: gpu.func @run
  gpu.func @run(%x: index, %team: !llvm.ptr<1>) kernel {
    // CHECK: %[[FAILED:.*]] = func.call @part(%{{.*}}, %{{.*}}) : (index, !llvm.ptr<1>) -> i1
    // CHECK: cf.cond_br %[[FAILED]]
    func.call @part(%x) : (index) -> ()
    gpu.return
  }
}

// -----

gpu.module @kernels {
  // expected-error @below {{returns something already}}
  func.func private @part(%x: index) -> index {
    gf.team_barrier
    return %x : index
  }
}

// -----

// The run looks first whether what was launched before it has found a value that is
// out of range; all threads of a block see the same.
gpu.module @kernels {
  // CHECK-LABEL: gpu.func @gatefold_run_kernel
  // CHECK-SAME: , %[[T:[^:]*]]: !llvm.ptr<1>
  gpu.func @gatefold_run_kernel(%x: index, %team: !llvm.ptr<1>) kernel {
    // CHECK: %[[STATUS:.*]] = llvm.getelementptr %[[T]][1]
    // CHECK: %[[CODE:.*]] = llvm.load %[[STATUS]] atomic syncscope("device") monotonic
    // CHECK: %[[ANY:.*]] = nvvm.barrier #nvvm.reduction<or> %[[CODE]] -> i32
    // CHECK: %[[LEAVES:.*]] = arith.cmpi ne, %[[ANY]]
    // CHECK: cf.cond_br %[[LEAVES]], ^bb[[END:[0-9]+]], ^bb[[REST:[0-9]+]]
    // CHECK: ^bb[[REST]]:
    // CHECK-NEXT: "use"
    "use"(%x) : (index) -> ()
    gpu.return
    // CHECK: ^bb[[END]]:
    // CHECK-NEXT: gpu.return
  }
}
