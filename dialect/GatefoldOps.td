// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- GatefoldOps.td - Operations of the gf dialect -------*- tablegen -*-===//

#ifndef GATEFOLD_OPS_TD
#define GATEFOLD_OPS_TD

include "dialect/GatefoldDialect.td"
include "mlir/IR/BuiltinAttributes.td"
include "mlir/IR/CommonAttrConstraints.td"
include "mlir/IR/CommonTypeConstraints.td"
include "mlir/IR/EnumAttr.td"
include "mlir/IR/OpAsmInterface.td"
include "mlir/Interfaces/ControlFlowInterfaces.td"
include "mlir/Interfaces/DestinationStyleOpInterface.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/LoopLikeInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Gf_FloatTensor : RankedTensorOf<[AnyFloat]>;
def Gf_IntegerTensor : RankedTensorOf<[I32, I64]>;
def Gf_BoolTensor : RankedTensorOf<[I1]>;
def Gf_Row : 1DTensorOf<[AnyFloat]>;
def Gf_BoolRow : 1DTensorOf<[I1]>;

//===----------------------------------------------------------------------===//
// parameter, yield
//===----------------------------------------------------------------------===//

def Gf_ParameterOp : Gf_Op<"parameter", [Pure]> {
  let summary = "a named weight, the same in every run";
  let description = [{
    `result = weights[name]`

    A weight that is known once `prepare` has run, and may be permuted,
    packed or folded there. Two parameters of one name are the same weight and
    have the same type. `initial` is the value of every element where the
    weights do not name it; without it a missing weight is an error.

    ```mlir
    %w = gf.parameter "encoder.weight_ih_l0" : tensor<512x128xf32>
    %b = gf.parameter "encoder.bias_ih_l0" initial 0.0 : tensor<512xf32>
    ```
  }];
  let arguments = (ins StrAttr:$name, OptionalAttr<F64Attr>:$initial);
  let results = (outs RankedTensorOf<[AnyFloat, I32, I64, I1]>:$result);
  let assemblyFormat = [{
    $name (`initial` $initial^)? attr-dict `:` type($result)
  }];
  let hasVerifier = 1;
}

def Gf_YieldOp : Gf_Op<"yield", [Pure, ReturnLike, Terminator,
    ParentOneOf<["RecurrenceOp", "AttentionOp"]>]> {
  let summary = "the values that a region gives";
  let description = [{
    In `gf.recurrence` the outputs of the step, then the next states; in
    `gf.attention` the rows of the results.

    ```mlir
    gf.yield %y, %next_h, %next_c : tensor<?x8xf32>, tensor<?x8xf32>, tensor<?x8xf32>
    ```
  }];
  let arguments = (ins Variadic<AnyType>:$values);
  let builders = [OpBuilder<(ins), [{ build($_builder, $_state, {}); }]>];
  let assemblyFormat = "attr-dict ($values^ `:` type($values))?";
}

//===----------------------------------------------------------------------===//
// recurrence
//===----------------------------------------------------------------------===//

def Gf_RecurrenceOp : Gf_Op<"recurrence", [
    AttrSizedOperandSegments, RecursiveMemoryEffects, RecursivelySpeculatable,
    SingleBlockImplicitTerminator<"YieldOp">,
    DeclareOpInterfaceMethods<LoopLikeOpInterface>,
    DeclareOpInterfaceMethods<ReifyRankedShapedTypeOpInterface,
      ["reifyResultShapes", "reifyDimOfResult"]>,
    DeclareOpInterfaceMethods<OpAsmOpInterface,
      ["getAsmBlockArgumentNames", "getAsmBlockNames"]>]> {
  let summary = "a step applied over time";
  let description = [{
    `(y[t], s[t+1]) = step(x[t], s[t])` for t = 0 .. T-1 with `s[0] = initials`;
    the results are the outputs `y` of all steps, then the last states.

    Every sequence is `[lead.., T, rest..]`, its time axis at `time_axis`, the
    number of leading (batch) dimensions. The region sees one step of each
    sequence, `[lead.., rest..]`, then each state, `[lead.., rest..]`, closes
    over weights and whatever else is the same at each step, and yields the
    outputs of the step, `[lead.., rest..]`, then the next states. An output
    gives a result `[lead.., T, rest..]`.

    - `lengths`, `[first of lead..]`: steps t >= n give 0 and leave the states;
      what the sequences hold there is not read.
    - `reverse`: t runs from the last valid step of each sequence to its first;
      outputs stay in time order.
    - `resets`, bool `[lead.., T]`: step t is the first of a new sequence, and
      the states before it are `reset_states` (in reverse, the step before a
      border is such a first step).
    - `steps`: the number of steps where there is no sequence.

    ```mlir
    %y, %last = gf.recurrence sequences(%x : tensor<?x?x40xf32>)
        states(%h0 : tensor<?x8xf32>) lengths(%n : tensor<?xi64>)
        time_axis 1 reverse -> (tensor<?x?x8xf32>) {
    ^step(%x_t: tensor<?x40xf32>, %h: tensor<?x8xf32>):
      %next = math.tanh %h : tensor<?x8xf32>
      gf.yield %next, %next : tensor<?x8xf32>, tensor<?x8xf32>
    }
    ```
  }];
  let arguments = (ins
    Variadic<AnyRankedTensor>:$sequences,
    Variadic<AnyRankedTensor>:$initials,
    Optional<Gf_IntegerTensor>:$lengths,
    Optional<Gf_BoolTensor>:$resets,
    Variadic<AnyRankedTensor>:$reset_states,
    Optional<Index>:$steps,
    I64Attr:$time_axis,
    UnitAttr:$reverse);
  // Outputs (as many as the yield has beyond the states), then one final state
  // for each initial state, of its type.
  let results = (outs Variadic<AnyRankedTensor>);
  let regions = (region SizedRegion<1>:$body);
  let skipDefaultBuilders = 1;
  let builders = [
    OpBuilder<(ins "::mlir::TypeRange":$outputTypes,
      "::mlir::ValueRange":$sequences, "::mlir::ValueRange":$initials,
      "::mlir::Value":$lengths, "::mlir::Value":$resets,
      "::mlir::ValueRange":$resetStates, "::mlir::Value":$steps,
      "int64_t":$timeAxis, "bool":$reverse,
      CArg<"::llvm::function_ref<void(::mlir::OpBuilder &, ::mlir::Location, ::mlir::ValueRange steps, ::mlir::ValueRange states)>", "nullptr">:$body)>
  ];
  let extraClassDeclaration = [{
    /// Number of outputs (results that are not final states).
    unsigned getNumOutputs() { return getNumResults() - getInitials().size(); }
    /// The final states, one for each initial state.
    ::mlir::ResultRange getFinals() {
      return getResults().drop_front(getNumOutputs());
    }
    /// The block arguments that are one step of each sequence.
    ::mlir::Block::BlockArgListType getStepArguments() {
      return getBody().getArguments().take_front(getSequences().size());
    }
    /// The block arguments that are the states before the step.
    ::mlir::Block::BlockArgListType getStateArguments() {
      return getBody().getArguments().drop_front(getSequences().size());
    }
    /// Operands of the yield: outputs, then next states.
    ::gatefold::YieldOp getYield();
  }];
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
  let hasCanonicalizer = 1;
}

//===----------------------------------------------------------------------===//
// attention
//===----------------------------------------------------------------------===//

def Gf_AttentionOp : Gf_Op<"attention", [
    AttrSizedOperandSegments, RecursiveMemoryEffects, RecursivelySpeculatable,
    SingleBlockImplicitTerminator<"YieldOp">,
    DeclareOpInterfaceMethods<ReifyRankedShapedTypeOpInterface,
      ["reifyResultShapes", "reifyDimOfResult"]>,
    DeclareOpInterfaceMethods<OpAsmOpInterface,
      ["getAsmBlockArgumentNames", "getAsmBlockNames"]>]> {
  let summary = "a program for one query's row over the keys";
  let description = [{
    `result[lead.., i] = row(queries[lead.., i], keys[lead..], pairs[lead.., i], captures[lead..])`

    for each leading index and each query i of T. The region computes one row;
    its values over the keys are rank-1 tensors over S, so no score matrix
    exists. The row operations (`gf.row_scores`, `gf.row_softmax`, ...) know
    which keys the row's query sees.

    | operands | shape | in the region |
    | --- | --- | --- |
    | `queries` | `[lead.., T, rest..]` | `[rest..]` |
    | `keys` (and values) | `[lead.., S, rest..]` | `[S, rest..]` |
    | `pairs` | `[lead.., T, S]`, 1 stretches for T | `[S]` |
    | `captures` | `[lead.., rest..]` | `[rest..]` |
    | | | `%row`, `%position`: index |

    The leading dimensions of an operand align at the right with those of the
    result; missing ones, and a static 1, stretch. Grouped heads are an expanded
    pair (key head, group) where the keys have a 1 for the group.
    How many of an operand's dimensions are leading follows from the rank
    of its region argument, which is a tensor throughout: one number is a
    `tensor<f32>`. There is at least one query and one key, which give T and S.

    Who sees whom: query i stands at `position = i + offset`, where `offset` is
    S - T unless given (`[first of lead..]`, any number of them). It sees key j if
    - `causal`: j <= position;
    - `window = array<i64: left, right>`: position - left <= j <= position + right
      (-1 for no bound);
    - `lengths`, `[first of lead..]`, one of them or more: j < n;
    - `query_segments` `[first of lead.., T]`, `key_segments` `[first of lead.., S]`,
      one of them or more: both are equal;
    - `mask`, bool `[lead.., T, S]`, right-aligned, static 1 stretches: true;
    - `bias`, `[lead.., T, S]` likewise: added to the argument of each softmax;
      -inf hides.

    ```mlir
    %o = gf.attention queries(%q : tensor<2x?x64xf32>)
        keys(%k, %v : tensor<2x?x64xf32>, tensor<2x?x64xf32>) causal
        -> tensor<2x?x64xf32> {
    ^row(%qr: tensor<64xf32>, %kr: tensor<?x64xf32>, %vr: tensor<?x64xf32>,
         %row: index, %position: index):
      %s = gf.row_scores %qr, %kr : tensor<64xf32>, tensor<?x64xf32> -> tensor<?xf32>
      %p = gf.row_softmax %s : tensor<?xf32>
      %y = gf.row_values %p, %vr : tensor<?xf32>, tensor<?x64xf32> -> tensor<64xf32>
      gf.yield %y : tensor<64xf32>
    }
    ```
  }];
  let arguments = (ins
    Variadic<AnyRankedTensor>:$queries,
    Variadic<AnyRankedTensor>:$keys,
    Variadic<AnyRankedTensor>:$pairs,
    Variadic<AnyRankedTensor>:$captures,
    Optional<Gf_IntegerTensor>:$lengths,
    Optional<Gf_BoolTensor>:$mask,
    Optional<Gf_FloatTensor>:$bias,
    Optional<Gf_IntegerTensor>:$offset,
    Optional<Gf_IntegerTensor>:$query_segments,
    Optional<Gf_IntegerTensor>:$key_segments,
    UnitAttr:$causal,
    OptionalAttr<DenseI64ArrayAttr>:$window);
  let results = (outs Variadic<AnyRankedTensor>);
  let regions = (region SizedRegion<1>:$body);
  let skipDefaultBuilders = 1;
  let builders = [
    OpBuilder<(ins "::mlir::TypeRange":$resultTypes,
      "::mlir::ValueRange":$queries, "::mlir::ValueRange":$keys,
      "::mlir::ValueRange":$pairs, "::mlir::ValueRange":$captures,
      "::mlir::TypeRange":$bodyTypes,
      CArg<"::llvm::function_ref<void(::mlir::OpBuilder &, ::mlir::Location, ::mlir::ValueRange arguments)>", "nullptr">:$body)>
  ];
  let extraClassDeclaration = [{
    /// Number of leading dimensions of the results.
    unsigned getLeadRank();
    /// The axis of a query, key, pair or capture (counted through all of them)
    /// along a leading dimension of the results; none where it stretches.
    std::optional<int64_t> getLeadAxis(unsigned operand, int64_t dimension);
    ::gatefold::YieldOp getYield();
    /// Region arguments, by role.
    ::mlir::Block::BlockArgListType getQueryArguments();
    ::mlir::Block::BlockArgListType getKeyArguments();
    ::mlir::Block::BlockArgListType getPairArguments();
    ::mlir::Block::BlockArgListType getCaptureArguments();
    ::mlir::Value getRowArgument();
    ::mlir::Value getPositionArgument();
  }];
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
  let hasCanonicalizer = 1;
}

// Row operations live in the region of an attention only: they read who sees
// whom from it.
class Gf_RowOp<string mnemonic, list<Trait> traits = []>
    : Gf_Op<mnemonic, !listconcat([Pure], traits)> {
  let hasVerifier = 1;
}

def Gf_RowScoresOp : Gf_RowOp<"row_scores"> {
  let summary = "dot product of a query with each key";
  let description = [{
    `s[j] = sum_d query[d] * keys[j, d]`, of every key, seen or not.

    ```mlir
    %s = gf.row_scores %q, %k : tensor<64xf32>, tensor<?x64xf32> -> tensor<?xf32>
    ```
  }];
  let arguments = (ins 1DTensorOf<[AnyFloat]>:$query, 2DTensorOf<[AnyFloat]>:$keys);
  let results = (outs Gf_Row:$result);
  let assemblyFormat = [{
    $query `,` $keys attr-dict `:` type($query) `,` type($keys) `->` type($result)
  }];
}

def Gf_RowSoftmaxOp : Gf_RowOp<"row_softmax", [AttrSizedOperandSegments,
    AllTypesMatch<["scores", "result"]>]> {
  let summary = "softmax over the keys that the query sees";
  let description = [{
    `p[j] = exp(s[j] + bias[j] - m) / (sum_n exp(s[n] + bias[n] - m) + exp(sink - m))`

    over the keys n that are seen, for which `where` holds and whose
    s[n] + bias[n] is not -inf; the others have p = 0. m is the largest of those
    s[n] + bias[n]. A row without such a key is 0.

    A second result is the natural logarithm of what the powers add up to,

    `log_sum_exp = log(sum_n exp(s[n] + bias[n]) + exp(sink))`

    in f32, or in f64 for scores of f64; -inf for a row without such a key, sink or not.

    ```mlir
    %p = gf.row_softmax %s where(%near : tensor<?xi1>) sink(%z : f32) : tensor<?xf32>
    ```
    ```mlir
    %p, %l = gf.row_softmax %s : tensor<?xf32>, tensor<f32>
    ```
  }];
  let arguments = (ins Gf_Row:$scores, Optional<Gf_BoolRow>:$where, Optional<AnyFloat>:$sink);
  let results = (outs Gf_Row:$result, Optional<0DTensorOf<[F32, F64]>>:$log_sum_exp);
  let assemblyFormat = [{
    $scores (`where` `(` $where^ `:` type($where) `)`)? (`sink` `(` $sink^ `:` type($sink) `)`)?
    attr-dict `:` type($scores) (`,` type($log_sum_exp)^)?
  }];
  let builders = [OpBuilder<(ins "::mlir::Value":$scores, "::mlir::Value":$where,
                                 "::mlir::Value":$sink,
                                 CArg<"::mlir::Type", "{}">:$logSumExp), [{
    build($_builder, $_state, scores.getType(), logSumExp, scores, where, sink);
  }]>];
  let extraClassDeclaration = [{
    /// The type of the weights, as of the scores.
    ::mlir::RankedTensorType getType() { return getResult().getType(); }
    /// That of a log-sum-exp of these scores.
    static ::mlir::RankedTensorType getLogSumExpType(::mlir::Type scores);
  }];
  let hasCanonicalizer = 1;
}

def Gf_NeighbourScope : I64EnumAttr<"NeighbourScope", "which neighbours count", [
    I64EnumAttrCase<"Visible", 0, "visible">, I64EnumAttrCase<"All", 1, "all">]> {
  let cppNamespace = "::gatefold";
}

def Gf_RowNeighboursOp : Gf_RowOp<"row_neighbours", [AllTypesMatch<["scores", "result"]>]> {
  let summary = "difference of each score from its neighbours";
  let description = [{
    `d[j] = sum of (s[j] - s[n]) over n with 0 < |n - j| <= (width - 1) / 2`

    where n is a key that the query sees (scope `visible`) or any key (scope
    `all`). `width` is odd; 1 gives 0. Under scope `visible`, d[j] of a key that is not
    seen is 0. Source: diff-window attention.

    ```mlir
    %d = gf.row_neighbours %s width 3 scope visible : tensor<?xf32>
    ```
  }];
  let arguments = (ins Gf_Row:$scores, I64Attr:$width, Gf_NeighbourScope:$scope);
  let results = (outs Gf_Row:$result);
  let assemblyFormat = "$scores `width` $width `scope` $scope attr-dict `:` type($scores)";
  let hasCanonicalizer = 1;
}

def Gf_RowTopKOp : Gf_RowOp<"row_top_k"> {
  let summary = "the largest scores that the query sees";
  let description = [{
    `kept[j]` for the k largest visible scores, ties to the lowest index,
    with k = `count`, or k = floor(`fraction` * visible) in f64; always
    1 <= k <= visible, and none where none is visible.

    ```mlir
    %kept = gf.row_top_k %s fraction 0.5 : tensor<?xf32> -> tensor<?xi1>
    ```
  }];
  let arguments = (ins Gf_Row:$scores, OptionalAttr<I64Attr>:$count, OptionalAttr<F64Attr>:$fraction);
  let results = (outs Gf_BoolRow:$result);
  let assemblyFormat = [{
    $scores (`count` $count^)? (`fraction` $fraction^)? attr-dict `:` type($scores) `->` type($result)
  }];
  let hasCanonicalizer = 1;
}

def Gf_RowVisibleOp : Gf_RowOp<"row_visible"> {
  let summary = "which keys the query, or any query of its head, sees";
  let description = [{
    `seen[j]` by all restrictions of the attention (a bias of -inf is not one of them).

    With `any_query` the keys that lengths, causal, window and offset leave to at
    least one query of the head, as in `gf.row_values`: no others may reach a result,
    since what stands there may be uninitialised. A reduction over the keys runs over
    these.

    ```mlir
    %seen = gf.row_visible : tensor<?xi1>
    %reached = gf.row_visible any_query : tensor<?xi1>
    ```
  }];
  let arguments = (ins UnitAttr:$any_query);
  let results = (outs Gf_BoolRow:$result);
  let builders = [OpBuilder<(ins "::mlir::Type":$result), [{
    build($_builder, $_state, result, /*any_query=*/false);
  }]>];
  let assemblyFormat = "(`any_query` $any_query^)? attr-dict `:` type($result)";
  let hasCanonicalizer = 1;
}

def Gf_RowValuesOp : Gf_RowOp<"row_values"> {
  let summary = "weighted sum of the values";
  let description = [{
    `y[e] = sum_j weights[j] * values[j, e]`

    over the keys j that lengths, causal, window and offset leave to at least
    one query of the head: what stands behind them is not read.

    ```mlir
    %y = gf.row_values %p, %v : tensor<?xf32>, tensor<?x64xf32> -> tensor<64xf32>
    ```
  }];
  let arguments = (ins Gf_Row:$weights, 2DTensorOf<[AnyFloat]>:$values);
  let results = (outs 1DTensorOf<[AnyFloat]>:$result);
  let assemblyFormat = [{
    $weights `,` $values attr-dict `:` type($weights) `,` type($values) `->` type($result)
  }];
}

//===----------------------------------------------------------------------===//
// pack, linear: products on packed panels
//===----------------------------------------------------------------------===//

// Written into a destination, on tensors or on buffers, as linalg's are.
class Gf_DestinationOp<string mnemonic, list<Trait> traits = []>
    : Gf_Op<mnemonic, !listconcat([
        DestinationStyleOpInterface,
        ConditionallySpeculatable,
        DeclareOpInterfaceMethods<MemoryEffectsOpInterface>], traits)> {
  code extraDestinationDeclaration = [{
    ::mlir::MutableOperandRange getDpsInitsMutable() { return getOutputMutable(); }
    ::mlir::Speculation::Speculatability getSpeculatability();
  }];
  let hasVerifier = 1;
}

def Gf_PackOp : Gf_DestinationOp<"pack"> {
  let summary = "the rows or columns of a matrix as packed panels";
  let description = [{
    `panels[p, k, j] = source[p * w + j, k]` with `along 0`,
    `panels[p, k, j] = source[k, p * w + j]` with `along 1`, and 0 where the source
    has no such element

    `along` is the source's dimension that lies across the lanes of a panel, w the last
    size of the panels. What `gf.linear` reads: element by element along k, a panel
    is contiguous. Weights are packed in `prepare`, once.

    A source `[gates, columns, k]`, or `[k, gates, columns]` with `along 1`, is matrices of one
    size, as the gates of a cell are. A panel then has the same w / gates columns u of each:
    `panels[p, k, g * u + j] = source[g, p * u + j, k]`.

    ```mlir
    %panels = gf.pack %w along 0 into %e : tensor<100x40xf32> into tensor<7x40x16xf32> -> tensor<7x40x16xf32>
    %gates = gf.pack %v along 0 into %f : tensor<4x100x40xf32> into tensor<13x40x32xf32> -> tensor<13x40x32xf32>
    ```
  }];
  let arguments = (ins AnyShaped:$source, I64Attr:$along, AnyShaped:$output);
  let results = (outs Optional<AnyRankedTensor>:$result);
  let assemblyFormat = [{
    $source `along` $along `into` $output attr-dict `:` type($source) `into` type($output)
    (`->` type($result)^)?
  }];
  let extraClassDeclaration = extraDestinationDeclaration # [{
    /// Lanes of a panel.
    int64_t getWidth();
    /// Matrices of the source, whose columns lie side by side in each panel.
    int64_t getGates();
    /// The dimension of the source whose indices are columns.
    int64_t getColumnDim();
    /// The dimension of the source whose indices are terms.
    int64_t getTermDim();
  }];
}

def Gf_LinearOp : Gf_DestinationOp<"linear"> {
  let summary = "product with packed panels";
  let description = [{
    `y[m.., n] = initial[m.., n] + sum_k x[m.., k] * panels[n / w, k, n mod w]`

    On a CPU the terms are added in the order of k, beginning with `initial`, each with one
    rounding where the processor has a fused multiply-add. On a GPU `initial` is added
    last, and tensor cores add the terms in blocks of k: of 16, or of f32 of 8, which
    `gf-vectors-to-threads` multiplies as three products of tf32 (one under `gf.fast_math`);
    of f32 each 16 terms belong to one of 8 parts in turn, and these are added at the end.
    Either way the order is the same whatever the number of rows: the bits of a row do not
    depend on the others. Sums are f32 below f64, whatever the operands' types. `initial`, if given, is `[n]` (a bias) or of the result's
    shape; it may be the output itself, which then accumulates. Otherwise the output's
    contents are not read.

    An output of one dimension more, `[m.., gates, n]`, is the products with matrices of one size
    that `gf.pack` has put side by side in panels: with u = w / gates,
    `y[m.., g, n] = initial[m.., g, n] + sum_k x[m.., k] * panels[n / u, k, g * u + n mod u]`. So
    whoever has a panel computes all gates of its columns. `initial` may be `[gates, n]`.

    The last panel may hold columns behind n: they are not read. Elements along k
    are next to each other in x, and so are those along n in the output.

    ```mlir
    %y = gf.linear %x, %panels initial(%b : tensor<100xf32>) outs(%e : tensor<?x100xf32>) : tensor<?x40xf32>, tensor<7x40x16xf32> -> tensor<?x100xf32>
    %g = gf.linear %x, %gates outs(%e2 : tensor<?x4x100xf32>) : tensor<?x40xf32>, tensor<13x40x32xf32> -> tensor<?x4x100xf32>
    ```
  }];
  let arguments = (ins AnyShaped:$x, AnyShaped:$panels,
    Optional<AnyShaped>:$initial, AnyShaped:$output);
  let results = (outs Optional<AnyRankedTensor>:$result);
  let assemblyFormat = [{
    $x `,` $panels (`initial` `(` $initial^ `:` type($initial) `)`)?
    `outs` `(` $output `:` type($output) `)` attr-dict
    `:` type($x) `,` type($panels) (`->` type($result)^)?
  }];
  let extraClassDeclaration = extraDestinationDeclaration # [{
    /// Lanes of a panel.
    int64_t getWidth();
    /// Whether the output has a dimension of gates.
    bool hasGates();
    /// How many gates there are; 1 without a dimension of them.
    int64_t getGates();
  }];
}

//===----------------------------------------------------------------------===//
// team_rank, team_size, team_barrier: threads side by side
//===----------------------------------------------------------------------===//

def Gf_TeamSizeOp : Gf_Op<"team_size", [Pure]> {
  let summary = "how many ranks execute this run";
  let description = [{
    At least 1, and the same on every rank throughout a run.

    ```mlir
    %ranks = gf.team_size
    ```
  }];
  let results = (outs Index:$result);
  let assemblyFormat = "attr-dict";
}

def Gf_TeamRankOp : Gf_Op<"team_rank", [Pure]> {
  let summary = "which of the ranks executes this";
  let description = [{
    `0 <= result < gf.team_size`, another one on each rank.

    ```mlir
    %rank = gf.team_rank
    ```
  }];
  let results = (outs Index:$result);
  let assemblyFormat = "attr-dict";
}

def Gf_TeamBarrierOp : Gf_Op<"team_barrier", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "waits for all ranks";
  let description = [{
    No rank leaves before each has come. What ranks wrote before, all see
    afterwards. Every rank comes to the same barriers in the same order; where one
    has failed, and will not come, the others leave the run here with its code.

    ```mlir
    gf.team_barrier
    ```
  }];
  let assemblyFormat = "attr-dict";
}

#endif // GATEFOLD_OPS_TD
