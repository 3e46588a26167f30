// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- Passes.td - The passes of phase tile ----------------*- tablegen -*-===//

#ifndef GATEFOLD_TILE_PASSES_TD
#define GATEFOLD_TILE_PASSES_TD

include "mlir/Pass/PassBase.td"

def LowerAttention : Pass<"gf-lower-attention", "::mlir::func::FuncOp"> {
  let summary = "Attention, row by row, to loops and linalg";
  let description = [{
    `gf.attention` with `gf.algorithm = "naive"` becomes loops over the leading
    indices and the queries; the region stands in the innermost loop, its row
    operations become `linalg` on rows of the keys' length.

    `gf.row_values` reads only the keys that lengths, causal, window and offset
    leave to some query of the head; what is hidden from this query alone is
    weighed by 0 in the softmax.

    ```mlir
    %s = gf.row_scores %q, %k : tensor<64xf32>, tensor<?x64xf32> -> tensor<?xf32>
    // becomes a product of matrix and vector
    %s = linalg.generic ... ins(%q, %k) outs(%zero)
    ```

    Rows of 16-bit floats are refused: they are to accumulate in f32.
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::linalg::LinalgDialect",
    "::mlir::math::MathDialect", "::mlir::scf::SCFDialect",
    "::mlir::tensor::TensorDialect"
  ];
  let statistics = [
    Statistic<"attentionsLowered", "attentions", "Attentions lowered">
  ];
}

def TileAttention : Pass<"gf-tile-attention", "::mlir::func::FuncOp"> {
  let summary = "Attention, a block of queries at a time";
  let description = [{
    `gf.attention` with `gf.algorithm = "resident"`, `"online"` or `"registers"` becomes loops over the leading
    indices and over blocks of `gf.query_block` queries. A row of the region, over the keys
    [S], becomes a tile [queries, keys] for the block: scores and values are products
    with packed panels, everything else is `linalg` on tiles. What does not depend
    on the query is computed once per leading index, in as few loops as it can.

    - A block looks at the keys only that some query of it sees by lengths, causal, window
      and offset, unless the region sums over others, or yields a row of them; and of these no
      parts that `where`, scores of -inf or weights of 0 hide from all queries of the block.
    - One or two queries multiply keys and values as they are. Of queries of an open number,
      whose keys are a state with rows written into it, one block packs what it looks at.
    - Scores are hidden only where queries of the block differ by place; a mask, segments,
      a bias, and `where` take a pass over the tile.
    - A softmax is not divided by its sum: who uses it divides once per query, after the
      product with the values, or after what is linear in the softmaxes:
      `p1 - l * p2 = (e1 - l * e2 * (s1 / s2)) / s1`.

    ```mlir
    %s = gf.row_scores %q, %k : tensor<64xf32>, tensor<?x64xf32> -> tensor<?xf32>
    // becomes
    %panels = gf.pack %k along 0 into %e : tensor<?x64xf32> into tensor<?x64x64xf32> -> ...
    %s = gf.linear %block, %panels outs(%t) : tensor<?x64xf32>, tensor<?x64x64xf32> -> tensor<?x?xf32>
    ```

    With `gf.algorithm = "online"` an inner loop goes over blocks of `gf.key_block` keys,
    with a running maximum m and sum l of each softmax, and a sum a for each product with
    the values; c is 1 where the maximum stays:

    ```
    m' = max(m, s),  c = exp(m - m'),  e = exp(s - m'),  l' = c l + sum e,  a' = c a + e V
    ```

    ```mlir
    %all:3 = scf.for %key = %first to %end step %c512 iter_args(%m, %l, %a) -> (tensor<?xf32>, tensor<?xf32>, tensor<?x64xf32>) {
      %s = gf.linear %block, %part outs(%t) : tensor<?x64xf32>, tensor<?x64x64xf32> -> tensor<?x?xf32>
      ...
      %b = gf.linear %e, %values initial(%r) outs(%r) : tensor<?x?xf32>, tensor<1x?x64xf32> -> tensor<?x64xf32>
    ```

    With `gf.algorithm = "registers"`, of a GPU, the same loop is on vectors of `gf.query_block`
    rows, which a thread block holds in its registers: scores and values are `vector.contract` of
    tiles that are read where the keys are, 16-bit ones as such.

    ```mlir
    %all:3 = scf.for %key = %first to %end step %c32 iter_args(%m, %l, %a) -> (vector<128x1xf32>, vector<128x1xf32>, vector<128x64xf32>) {
      %k = vector.transfer_read %keys[%key, %c0], %zero : tensor<?x64xf16>, vector<32x64xf16>
      %s = vector.contract ... %q, %k, %none : vector<128x64xf16>, vector<32x64xf16> into vector<128x32xf32>
    ```

    An attention whose region holds what has no form for a block becomes `naive`, with
    a remark.
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect",
    "::mlir::bufferization::BufferizationDialect", "::gatefold::GfDialect",
    "::mlir::linalg::LinalgDialect", "::mlir::math::MathDialect",
    "::mlir::scf::SCFDialect", "::mlir::tensor::TensorDialect",
    "::mlir::vector::VectorDialect"
  ];
  let statistics = [
    Statistic<"attentionsTiled", "attentions", "Attentions tiled">
  ];
}

def LowerRecurrence : Pass<"gf-lower-recurrence", "::mlir::func::FuncOp"> {
  let summary = "Recurrence to a loop over time";
  let description = [{
    `gf.recurrence` with `gf.algorithm = "naive"` becomes an `scf.for` over time
    that carries the outputs and the states. Each step takes its slice of the
    sequences, and puts its outputs into their place; a state is written once all
    of the step has been computed. Under `lengths` a step behind the end selects 0
    and the old state, so that nothing computed from padding is ever kept.

    An inner recurrence is lowered before the one around it.

    ```mlir
    %y, %last = gf.recurrence sequences(%x : tensor<?x?x4xf32>) states(%h : tensor<?x4xf32>) time_axis 1 ... {
    ^step(%x_t: tensor<?x4xf32>, %s: tensor<?x4xf32>):
      %next = arith.addf %x_t, %s : tensor<?x4xf32>
      gf.yield %next, %next
    }
    // becomes
    %y, %last = scf.for %t = %c0 to %steps step %c1 iter_args(%out = %empty, %s = %h) {
      %x_t = tensor.extract_slice %x[0, %t, 0] ...
      %next = arith.addf %x_t, %s : tensor<?x4xf32>
      %put = tensor.insert_slice %next into %out[0, %t, 0] ...
      %written = bufferization.materialize_in_destination %next in %s
      scf.yield %put, %written
    }
    ```
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::bufferization::BufferizationDialect",
    "::mlir::linalg::LinalgDialect", "::mlir::scf::SCFDialect",
    "::mlir::tensor::TensorDialect"
  ];
  let statistics = [
    Statistic<"recurrencesLowered", "recurrences", "Recurrences lowered">
  ];
}

def TileRecurrence : Pass<"gf-tile-recurrence", "::mlir::func::FuncOp"> {
  let summary = "Recurrence to loops over blocks of steps";
  let description = [{
    `gf.recurrence` with `gf.algorithm = "steps"` becomes an `scf.for` over time, as by
    `gf-lower-recurrence`. Where sequences come from operations that nothing else needs,
    a product among them, a second loop stands around it, over blocks of
    `gf.step_rows` rows (steps times batch): it computes the block of the sequences, so
    that all of them never exist at once. In reverse the blocks come from the end.
    With lengths the loops end at the greatest one, or begin there in reverse; outputs
    behind it are filled with zeros.

    ```mlir
    %p = linalg.contract ... ins(%x, %w) outs(%e : tensor<?x512xf32>)
    gf.recurrence sequences(%p : tensor<?x512xf32>) ...
    // becomes
    scf.for %b = %c0 to %steps step %block {
      %part = linalg.contract ... ins(%x_block, %w) outs(%f : tensor<?x512xf32>)
      scf.for %i = %c0 to %size step %c1 {
        %p_t = tensor.extract_slice %part[%i, 0] ...
    ```

    With `gf.algorithm = "scan"` a recurrence that is linear in its states,
    `s[t+1] = a[t] * s[t] + b[t]` element by element, has blocks alone. In each what does not
    depend on the states is computed for all of its steps; then the states go through them, each
    element on its own, in the step's own operations; then what depends on them is computed for all
    steps.

    ```mlir
    ^step(%a: tensor<?x4xf32>, %b: tensor<?x4xf32>, %s: tensor<?x4xf32>):
      %m = arith.mulf %a, %s : tensor<?x4xf32>
      %next = arith.addf %m, %b : tensor<?x4xf32>
      gf.yield %next, %next : tensor<?x4xf32>, tensor<?x4xf32>
    // becomes a reduction along time, d1, with a result at each step
    %y, %last = linalg.generic {iterator_types = ["parallel", "reduction", "parallel"]}
        ins(%a_block, %b_block : tensor<?x?x4xf32>, tensor<?x?x4xf32>) outs(%y_block, %s : tensor<?x?x4xf32>, tensor<?x4xf32>) {
    ^bb0(%a: f32, %b: f32, %y: f32, %s: f32):
      %m = arith.mulf %a, %s : f32
      %next = arith.addf %m, %b : f32
      linalg.yield %next, %next : f32, f32
    }
    ```
  }];
  let dependentDialects = [
    "::mlir::affine::AffineDialect",
    "::mlir::arith::ArithDialect", "::mlir::bufferization::BufferizationDialect",
    "::mlir::linalg::LinalgDialect", "::mlir::scf::SCFDialect",
    "::mlir::tensor::TensorDialect"
  ];
  let statistics = [
    Statistic<"recurrencesTiled", "recurrences", "Recurrences lowered">,
    Statistic<"recurrencesBlocked", "blocked",
              "Recurrences whose sequences are computed block by block">,
    Statistic<"recurrencesScanned", "scanned", "Recurrences lowered as scans">
  ];
}

def TileLinear : Pass<"gf-tile-linear", "::mlir::func::FuncOp"> {
  let summary = "Sums of products to packed products";
  let description = [{
    A sum of products of two tensors, of any maps, becomes `gf.pack` of one and
    `gf.linear` of the other with it. Dimensions of the result that both have are loops
    around the products, those that only the packed one has lie across the panels. What
    depends on parameters alone is packed, so that packing moves to `prepare`; else what
    more rows share. Windows of a convolution are gathered, once. A transposition
    of the result moves behind what follows it element by element, and a value
    added to the product becomes the beginning of its sum.

    ```mlir
    %p = linalg.contract indexing_maps = [(m, n, k) -> (m, k), (m, n, k) -> (n, k), (m, n, k) -> (m, n)]
        ins(%x, %w : tensor<?x40xf32>, tensor<100x40xf32>) outs(%zero : tensor<?x100xf32>)
    %y = linalg.generic { add } ins(%p, %b : tensor<?x100xf32>, tensor<100xf32>)
    // becomes
    %panels = gf.pack %w along 0 into %e : tensor<100x40xf32> into tensor<2x40x64xf32>
    %y = gf.linear %x, %panels initial(%b) outs(%e2) : tensor<?x40xf32>, tensor<2x40x64xf32> -> tensor<?x100xf32>
    ```

    What stays says in a remark why: few columns, few rows of a matrix that would be packed
    in each run, sums over one operand alone, integers. `gf.tile = WIDTH` on a product says
    instead what it is to be: panels of this width, or with 0 a plain loop; `panel-width`
    (of the driver, `--schedule product.panel_width=WIDTH`) says it of every product, above
    what they say. Products within an attention, marked `gf.attention_product`, keep what
    suits the target: sizes of theirs may depend on data.
  }];
  let options = [
    Option<"panelWidth", "panel-width", "int64_t", /*default=*/"-1",
           "Width of the panels of every product, 0 for plain loops; -1: chosen">
  ];
  let dependentDialects = [
    "::mlir::affine::AffineDialect", "::mlir::arith::ArithDialect",
    "::gatefold::GfDialect", "::mlir::linalg::LinalgDialect",
    "::mlir::scf::SCFDialect", "::mlir::tensor::TensorDialect"
  ];
  let statistics = [
    Statistic<"productsPacked", "products", "Products packed">,
    Statistic<"initialsFolded", "initials", "Additions that sums begin with">
  ];
}

def NarrowProducts : Pass<"gf-narrow-products", "::mlir::func::FuncOp"> {
  let summary = "Products on 16 bits where their operands are extensions";
  let description = [{
    A `gf.linear` whose rows or panels are f16 or bf16 extended to f32 reads the 16 bits
    themselves. It looks through slices, reshapes, packings, and through concatenations,
    paddings and copies that nothing else reads. The terms are the same numbers, so the
    bits of the result are. Weights then stay 16 bits in memory, and tensor cores of 16 bits
    compute products of two such operands.

    ```mlir
    %w = linalg.generic { extf } ins(%h : tensor<100x40xbf16>) outs(%e : tensor<100x40xf32>)
    %p = gf.pack %w along 0 into %e2 : tensor<100x40xf32> into tensor<2x40x64xf32>
    %y = gf.linear %x, %p outs(%e3) : tensor<?x40xf32>, tensor<2x40x64xf32> -> tensor<?x100xf32>
    // becomes
    %p = gf.pack %h along 0 into %e2 : tensor<100x40xbf16> into tensor<2x40x64xbf16>
    %y = gf.linear %x, %p outs(%e3) : tensor<?x40xf32>, tensor<2x40x64xbf16> -> tensor<?x100xf32>
    ```
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::gatefold::GfDialect",
    "::mlir::linalg::LinalgDialect", "::mlir::tensor::TensorDialect"
  ];
  let statistics = [
    Statistic<"operandsNarrowed", "operands", "Operands of products narrowed">
  ];
}

def InterleaveGates : Pass<"gf-interleave-gates", "::mlir::func::FuncOp"> {
  let summary = "Panels of a step's product hold the same columns of all gates";
  let description = [{
    For a GPU. A `gf.linear` with `gf.step` whose columns are read in parts of one size and
    no other way, as the gates of a cell, gives `[m.., gates, n]`, and its panels are packed
    so that each has the same columns of all gates. A rank that computes a panel then has all
    gates of its columns, and what is done with them element by element needs nothing that
    another rank has computed: `gf-distribute` shares both by the same columns, without a
    barrier between them.

    `schedule/StepPanels.h` chooses how many columns of each gate a panel has. Left as they are:
    products some columns of which are read together with others, gates for which a tile of 64
    columns has no room (more than 8), two operands of the same 16 bits, and panels whose
    width the text gives.

    ```mlir
    %p = gf.pack %w along 0 into %e : tensor<96x24xf32> into tensor<6x24x16xf32>
    %y = gf.linear %h, %p outs(%f) {gf.step} : tensor<?x24xf32>, tensor<6x24x16xf32> -> tensor<?x96xf32>
    %i = tensor.extract_slice %y[0, 0] [%b, 24] [1, 1] : tensor<?x96xf32> to tensor<?x24xf32>
    ...
    // becomes
    %v = tensor.expand_shape %w [[0, 1], [2]] : tensor<96x24xf32> into tensor<4x24x24xf32>
    %p = gf.pack %v along 0 into %e : tensor<4x24x24xf32> into tensor<3x24x32xf32>
    %y = gf.linear %h, %p outs(%f) {gf.step} : tensor<?x24xf32>, tensor<3x24x32xf32> -> tensor<?x4x24xf32>
    %i = tensor.extract_slice %y[0, 0, 0] [%b, 1, 24] [1, 1, 1] : tensor<?x4x24xf32> to tensor<?x24xf32>
    ```
  }];
  let dependentDialects = [
    "::gatefold::GfDialect", "::mlir::tensor::TensorDialect"
  ];
  let statistics = [
    Statistic<"productsInterleaved", "interleaved", "Products whose gates share panels">
  ];
}

def FusePointwise : Pass<"gf-fuse-pointwise", "::mlir::func::FuncOp"> {
  let summary = "One pass over memory for many element by element operations";
  let description = [{
    Element by element operations of one block and one iteration space become one
    operation with the inputs of all and the results that others use; a sum or a maximum over
    the last dimension joins those whose elements it takes. Copies and broadcasts are
    read where they come from. Nothing else is computed twice, so a value on a smaller
    space stays its own. At most 64 operations and 16 operands come together.

    ```mlir
    %a = linalg.generic { sigmoid } ins(%f : tensor<?x8xf32>)
    %b = linalg.generic { mulf } ins(%a, %c : tensor<?x8xf32>, tensor<?x8xf32>)
    %t = linalg.generic { tanh } ins(%b : tensor<?x8xf32>)
    // becomes
    %b, %t = linalg.generic { sigmoid, mulf, tanh } ins(%f, %c) outs(%e1, %e2)
    ```
  }];
  let dependentDialects = [
    "::mlir::affine::AffineDialect",
    "::mlir::bufferization::BufferizationDialect",
    "::mlir::linalg::LinalgDialect", "::mlir::tensor::TensorDialect"
  ];
  let statistics = [
    Statistic<"groupsFused", "groups", "Groups made one operation">,
    Statistic<"operationsFused", "operations", "Operations in these groups">
  ];
}

def DecomposeTensors : Pass<"gf-decompose-tensors", "::mlir::func::FuncOp"> {
  let summary = "Tensor operations that have no buffers to slices and linalg";
  let description = [{
    `tensor.concat` becomes insertions into one tensor; elementwise `arith` and `math`
    on tensors become `linalg`; a constant of one repeated value, above 64 KiB, becomes
    a fill, so that no short text makes a large object. What is filled over a concatenation
    begins from nothing.

    ```mlir
    %c = tensor.concat dim(1) %a, %b : (tensor<2x?xf32>, tensor<2x?xf32>) -> tensor<2x?xf32>
    %t = math.tanh %x : tensor<?xf32>
    // becomes
    %f = tensor.insert_slice %a into %e[0, 0] ...
    %c = tensor.insert_slice %b into %f[0, %size] ...
    %t = linalg.generic { math.tanh : f32 } ins(%x : tensor<?xf32>) ...
    ```
  }];
  let dependentDialects = [
    "::mlir::linalg::LinalgDialect", "::mlir::tensor::TensorDialect"
  ];
}

#endif // GATEFOLD_TILE_PASSES_TD
