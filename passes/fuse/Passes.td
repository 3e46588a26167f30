// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- Passes.td - The passes of phase fuse ----------------*- tablegen -*-===//

#ifndef GATEFOLD_FUSE_PASSES_TD
#define GATEFOLD_FUSE_PASSES_TD

include "mlir/Pass/PassBase.td"

// Passes that share work between operations. Each says in a remark what it did,
// or why it did not.

def HoistInvariant : Pass<"gf-hoist-invariant", "::mlir::func::FuncOp"> {
  let summary = "What is the same at every step, once before the steps";
  let description = [{
    Moves operations of a recurrence's step, and of an attention's row, that depend on
    nothing of it before the recurrence or attention. Constants, fills and empty
    tensors stay, and are made anew for what moves; views of weights move without a
    remark. Columns that an attention's row takes of each key (`k[:, :D]`) become a key
    operand of their own, a view of the whole.

    ```mlir
    ^step(%x_t: tensor<4xf32>, %s: tensor<4xf32>):
      %k = linalg.contract ... ins(%memory, %w) outs(%zero) // moves out
    ```
  }];
  let dependentDialects = [
    "::mlir::linalg::LinalgDialect", "::mlir::tensor::TensorDialect"
  ];
  let statistics = [
    Statistic<"operationsHoisted", "operations", "Operations hoisted">
  ];
}

def HoistInputProjection
    : Pass<"gf-hoist-input-projection", "::mlir::func::FuncOp"> {
  let summary = "Products of a step's input, once for all steps";
  let description = [{
    A product of the step whose operands depend on its sequences and on what is the
    same at every step becomes one product over all steps, and its result a sequence:

    `p[t] = W x[t]` for each t  becomes  `P = X W^T`, `p[t] = P[t]`

    What is computed from such products alone (a bias, a gate, a norm) leaves with
    them, as far as that makes the sequences no larger; views stay in the step. At a
    concatenation a product is split, and the half that is known leaves:

    `W [x; h] = W_x x + W_h h`

    ```mlir
    ^step(%x_t: tensor<?x40xf32>, %h: tensor<?x8xf32>):
      %p = linalg.contract ... ins(%w, %x_t)  // of tensor<?x?x40xf32> before the recurrence
      %q = linalg.contract ... ins(%u, %h)    // stays: depends on the state
    ```

    Padding is computed too, and never read. The memory grows by the sequence; phase
    `tile` computes it block by block.
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::linalg::LinalgDialect",
    "::mlir::tensor::TensorDialect"
  ];
  let statistics = [
    Statistic<"productsHoisted", "hoisted", "Products hoisted">,
    Statistic<"productsSplit", "split", "Products split at a concatenation">
  ];
}

def SinkOutputProjection
    : Pass<"gf-sink-output-projection", "::mlir::func::FuncOp"> {
  let summary = "Products that only outputs need, once for all steps";
  let description = [{
    A product of the step that only outputs need leaves it with what is computed from
    it: the step yields what they read, and one product over all steps follows.

    `y[t] = W h[t] + b` for each t  becomes  `Y = H W^T + b`, behind the end 0

    Not where all steps of what it reads have more than four times the elements of
    what it gives, unless they are outputs anyway.

    ```mlir
    %y, %last = gf.recurrence ... {
    ^step(%x_t: tensor<?x4xf32>, %s: tensor<?x4xf32>):
      %next = math.tanh ...
      %p = linalg.contract ... ins(%next, %w : tensor<?x4xf32>, tensor<3x4xf32>)
      gf.yield %p, %next
    }
    // becomes
    %states, %last = gf.recurrence ... { ... gf.yield %next, %next }
    %y = linalg.contract ... ins(%states, %w : tensor<?x?x4xf32>, tensor<3x4xf32>)
    ```
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::linalg::LinalgDialect",
    "::mlir::tensor::TensorDialect"
  ];
  let statistics = [
    Statistic<"productsSunk", "sunk", "Products sunk">
  ];
}

def FuseGates : Pass<"gf-fuse-gates", "::mlir::func::FuncOp"> {
  let summary = "Products of one operand as one product";
  let description = [{
    Products of one block that read the same operand with weights of the same depth
    become one; its weights are put together once, in `prepare`:

    `f = W_f x, i = W_i x`  becomes  `[f; i] = [W_f; W_i] x`

    What is done alike to each part (adding a bias that depends on parameters, or the
    same part of another product) becomes one operation on the whole, where every
    part has it. So a cell of eight matrices has the step of one with two:

    ```mlir
    %f = linalg.contract ... ins(%w_f, %x : tensor<64x40xf32>, tensor<?x40xf32>)
    %i = linalg.contract ... ins(%w_i, %x : tensor<64x40xf32>, tensor<?x40xf32>)
    // becomes
    %w = tensor.concat dim(0) %w_f, %w_i : ... -> tensor<128x40xf32>
    %p = linalg.contract ... ins(%w, %x : tensor<128x40xf32>, tensor<?x40xf32>)
    %f = tensor.extract_slice %p[0, 0] ...
    %i = tensor.extract_slice %p[0, 64] ...
    ```

    First, parameters that are added to a product are added to each other, and then to
    a product that does not depend on a state: `W x + b + U h + c` becomes
    `W x + (b + c) + U h`.

    Products of all steps stay apart where they are sequences of different recurrences,
    such as two directions, each of which computes its own block by block. With
    `across-directions` (of the driver, `--schedule recurrence.directions=joined`) they
    become one as well, which is then computed whole:

    `P = X W_f^T, R = X W_r^T`  becomes  `[P R] = X [W_f; W_r]^T`

    A weight of more than 1 MiB that is read elsewhere too is not kept twice: its product
    stays apart.
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::linalg::LinalgDialect",
    "::mlir::tensor::TensorDialect"
  ];
  let options = [
    Option<"acrossDirections", "across-directions", "bool", /*default=*/"false",
           "Products that are sequences of different recurrences, too">,
    Option<"afterHoisting", "after-hoisting", "bool", /*default=*/"false",
           "Products have left the steps: say which sequences stay apart and why, instead "
           "of which other products do">
  ];
  let statistics = [
    Statistic<"productsFused", "fused", "Products fused">,
    Statistic<"productsMade", "products", "Products that they became">,
    Statistic<"operationsJoined", "joined", "Elementwise operations saved">,
    Statistic<"biasesSummed", "biases", "Sums with parameters added first">
  ];
}

def FoldDiffWindow : Pass<"gf-fold-diff-window", "::mlir::func::FuncOp"> {
  let summary = "Score differences folded into the keys";
  let description = [{
    Scores plus their differences from neighbouring scores are linear in the keys:

    `s[j] + sum_n (s[j] - s[n]) = q . ((1 + N) k[j] - sum_n k[n])`, s[j] = q . k[j]

    The stencil is computed for each key of a head, before the attention, which then costs
    what one without differences costs.

    ```mlir
    %s = gf.row_scores %q, %k : ...
    %d = gf.row_neighbours %s width 3 scope all : tensor<?xf32>
    %t = linalg.generic { addf } ins(%s, %d)
    // becomes, with another key operand %folded
    %t = gf.row_scores %q, %folded : ...
    ```

    Under scope `visible` the keys at the ends of what a query sees have fewer neighbours:
    (width - 1) / 2 at the end with causality or a window to the right, as many at the beginning
    with a window to the left. Their scores are computed by themselves, from those of the
    width - 1 keys at that end, and replace those of the product. An end by lengths alone is
    the same for all queries: the stencil knows it, unless keys have several lengths.

    Not where what is visible is said per element (a mask, segments), where the score is not
    linear, or where keys that are not seen matter; nor where more than 8 scores of each query,
    4 with a window to the left, would be computed by themselves: the differences cost
    less then.
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::linalg::LinalgDialect",
    "::mlir::tensor::TensorDialect"
  ];
  let statistics = [
    Statistic<"windowsFolded", "folded", "Diff-windows folded">
  ];
}

def RaiseAttention : Pass<"gf-raise-attention", "::mlir::func::FuncOp"> {
  let summary = "Attention written out on whole tensors as gf.attention";
  let description = [{
    `softmax(q k^T * scale) v`, written on whole tensors, becomes one attention, so that
    its scores are not stored: memory grows with the queries, not with queries times keys. So
    do weights that come of scores element by element, `sigmoid(q k^T) v` or
    `((q k^T) * decay) v`, where the keys are open, or more than four times what
    each weight is made of.

    ```mlir
    %s = linalg.contract ... ins(%q, %k : tensor<?x64xf32>, tensor<64x?xf32>)
    %p = ... // softmax along the last axis of %s, in four operations
    %y = linalg.contract ... ins(%p, %v : tensor<?x?xf32>, tensor<?x64xf32>)
    // becomes
    %y = gf.attention queries(%q : ...) keys(%k_t, %v : ...) -> tensor<?x64xf32> {
      %s = gf.row_scores ...
      %p = gf.row_softmax %s : tensor<?xf32>
      %y = gf.row_values %p, %vr : ...
      gf.yield %y : tensor<64xf32>
    }
    ```

    Any leading dimensions may stand in front, and axes in any order: transpositions and
    axes of one element are looked through. What is done to each score before the softmax
    (a scale, a bias, a select with -inf), and to each weight behind it, becomes part of the
    row; what it reads beside them becomes a pair, a query or a capture by the dimensions
    that it has. There may be several products and softmaxes. What is computed for each
    query and key without a product, as a mask from indices or what is looked up in a table
    of each head, is computed in the row as well, so that nothing of that size is stored but
    what was given. Operands are transposed, or given a dimension of 1, where an attention has
    another order.

    Not where the scores, the weights, or a row's maximum or sum have a reader that is in no
    such attention, where the softmax runs along another axis than the keys, or where the
    keys, or without a softmax the values, are a parameter: a product packs it once. Weights
    without a softmax stay in the step of a recurrence, where they are few.
  }];
  let dependentDialects = [
    "::gatefold::GfDialect", "::mlir::arith::ArithDialect",
    "::mlir::linalg::LinalgDialect", "::mlir::tensor::TensorDialect"
  ];
  let statistics = [
    Statistic<"attentionsRaised", "raised", "Attentions raised">
  ];
}

def RaiseVisibility : Pass<"gf-raise-visibility", "::mlir::func::FuncOp"> {
  let summary = "Comparisons of indices that hide keys as clauses of an attention";
  let description = [{
    A comparison of the indices of query and key that hides keys from every softmax of an
    attention, by a score of -inf or `where`, becomes `causal`, `window`, `offset`,
    `lengths` or `query_segments` and `key_segments`, so that hidden keys are not looked at:

    | visible | becomes |
    | --- | --- |
    | `key <= query + n` | `causal`, with the offset n |
    | and `query + n - key <= w` | `window = array<i64: w, -1>` |
    | `key < n` | `lengths(n)` |
    | `a[query] == b[key]` | `query_segments(a) key_segments(b)` |

    ```mlir
    %s = gf.row_scores ...
    %seen = linalg.generic ... // %key <= %row
    %p = gf.row_softmax %s where(%seen : tensor<?xi1>) : tensor<?xf32>
    // becomes, with the clauses offset(%zero : tensor<i64>) causal,
    %p = gf.row_softmax %s : tensor<?xf32>
    ```

    n may be any sum of sizes and of numbers that are one for each leading index. Terms of
    a conjunction count each, and `|query - key| <= w` is two of them. Not where hidden keys
    matter to something else in the row, or where clauses of the kind are there already.
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::linalg::LinalgDialect",
    "::mlir::tensor::TensorDialect"
  ];
  let statistics = [
    Statistic<"attentionsRestricted", "restricted", "Attentions restricted">
  ];
}

def FoldKeyScales : Pass<"gf-fold-key-scales", "::mlir::func::FuncOp"> {
  let summary = "Elementwise scales of queries and keys, on the row of the query";
  let description = [{
    Where keys are multiplied element by element by what is the same for all of them, the
    query is multiplied instead:

    `(q * a) . (k[j] * b) = (q * (a * b)) . k[j]`

    So keys are read as they were given, once for all maps that differ by scales alone, and
    are scaled nowhere. The scale is a number, a row for all or for each head or sequence, or
    one of the query's own; it stands in the attention's region or, on whole tensors, before
    the attention and before heads are split. There a scale of the queries moves into the
    rows as well, where both meet.

    ```mlir
    %qa = linalg.generic { mulf } ins(%q, %a : tensor<8xf32>, tensor<8xf32>)
    %kb = linalg.generic { mulf } ins(%k, %b : tensor<?x8xf32>, tensor<8xf32>)
    %s = gf.row_scores %qa, %kb : ...
    // becomes, with another capture %ab, which is computed before the attention
    %qab = linalg.generic { mulf } ins(%q, %ab : tensor<8xf32>, tensor<8xf32>)
    %s = gf.row_scores %qab, %k : ...
    ```

    Not where the scale is another one for each key, or as large as the queries are, or where
    what is scaled has another reader.
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::linalg::LinalgDialect",
    "::mlir::tensor::TensorDialect"
  ];
  let statistics = [
    Statistic<"scalesFolded", "folded", "Scales of keys folded">
  ];
}

def DropZeroMaps : Pass<"gf-drop-zero-maps", "::mlir::func::FuncOp"> {
  let summary = "Maps whose weight is 0 left out";
  let description = [{
    What is multiplied by a constant 0 in an attention's region counts as 0, and a sum leaves it
    out; a softmax that nothing else reads is then not computed:

    `(softmax(s1) - 0 * softmax(s2)) v = softmax(s1) v`

    A part of `--fast-math` alone: 0 times NaN or infinity is NaN otherwise.

    ```mlir
    %z = linalg.generic { mulf } ins(%zero, %p2 : tensor<f32>, tensor<?xf32>)
    %w = linalg.generic { subf } ins(%p1, %z : tensor<?xf32>, tensor<?xf32>)
    %y = gf.row_values %w, %v : ...
    // becomes
    %y = gf.row_values %p1, %v : ...
    ```
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::linalg::LinalgDialect",
    "::mlir::tensor::TensorDialect"
  ];
  let statistics = [
    Statistic<"mapsDropped", "dropped", "Maps left out">
  ];
}

def SinkIntoAttention : Pass<"gf-sink-into-attention", "::mlir::func::FuncOp"> {
  let summary = "What follows an attention row by row, in its rows";
  let description = [{
    Elementwise operations and reductions that follow an attention and look at no more than one
    query's row of its result (a norm of each head, a gate, a scale) move into the
    attention's region. The result of the attention itself is then not stored.

    What they read beside the result becomes a query, where it has a row for each query, or a
    capture. Transpositions and reshapings, as the merging of heads, may stand between: what
    is read is then looked at by heads, and heads are merged behind the rest. An element by
    element operation that makes a gate is done with it.

    ```mlir
    %y = gf.attention queries(%q : ...) keys(%k, %v : ...) -> tensor<2x?x8xf32> { ... }
    %z = linalg.generic { mulf } ins(%y, %gate : tensor<2x?x8xf32>, tensor<2x?x8xf32>)
    // becomes
    %z = gf.attention queries(%q, %gate : ...) keys(%k, %v : ...) -> tensor<2x?x8xf32> {
      ...
      %zr = linalg.generic { mulf } ins(%yr, %gater : tensor<8xf32>, tensor<8xf32>)
      gf.yield %zr : tensor<8xf32>
    }
    ```

    As many operations as leave one result, no larger than what it is made of. Not where an
    operation looks at several heads (a norm over all of them), where the result has another
    reader, in the step of a recurrence, or where the attention would lose its form in blocks
    of keys or in registers.
  }];
  let dependentDialects = [
    "::gatefold::GfDialect", "::mlir::arith::ArithDialect",
    "::mlir::linalg::LinalgDialect", "::mlir::tensor::TensorDialect"
  ];
  let statistics = [
    Statistic<"operationsSunk", "sunk", "Operations moved into rows">
  ];
}

#endif // GATEFOLD_FUSE_PASSES_TD
