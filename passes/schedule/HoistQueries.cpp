// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- HoistQueries.cpp - Computed queries before an attention ------------===//
//
// A row of D numbers that an attention in registers computes and multiplies
// with keys takes D / 2 registers of each thread as long as keys pass. Rows
// that are read stay in shared memory. So where registers do not suffice for a
// block that could otherwise be larger, elementwise operations on queries and
// captures become operations on whole tensors before the attention.
//
// Exactness: the same operations on the same numbers.
//
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Remarks.h"
#include "passes/fuse/RowOperands.h"
#include "passes/schedule/CostModel.h"
#include "passes/schedule/Passes.h"
#include "passes/support/Target.h"

namespace gatefold {
#define GEN_PASS_DEF_HOISTQUERIES
#include "passes/schedule/Passes.h.inc"
} // namespace gatefold

using namespace mlir;
using namespace gatefold;
using linalg::GenericOp;

/// Whether the operation works on one row, element by element, and what it
/// reads is given before the attention, or made so. `seen`: of others that were
/// asked.
static bool canHoist(AttentionOp op, GenericOp row,
                     llvm::DenseSet<Operation *> &seen) {
  if (!seen.insert(row).second)
    return true;
  OpOperand *init = row.getDpsInitOperand(0);
  if (row.getNumLoops() != 1 || row.getNumParallelLoops() != 1 ||
      row.getNumDpsInits() != 1 || row.hasIndexSemantics() ||
      row.payloadUsesValueFromOperand(init) ||
      !row.getMatchingIndexingMap(init).isIdentity() ||
      !cast<RankedTensorType>(row.getResult(0).getType()).hasStaticShape() ||
      !llvm::all_of(row.getBody()->without_terminator(), [](Operation &inner) {
        return OpTrait::hasElementwiseMappableTraits(&inner) ||
               isa<arith::ConstantOp>(inner);
      }))
    return false;
  bool hasColumn = false;
  for (OpOperand *input : row.getDpsInputOperands()) {
    AffineMap map = row.getMatchingIndexingMap(input);
    auto type = dyn_cast<RankedTensorType>(input->get().getType());
    if (!type)
      return false;
    for (auto [size, place] : llvm::zip(type.getShape(), map.getResults())) {
      bool isColumn = isa<AffineDimExpr>(place);
      hasColumn |= isColumn;
      if (!isColumn && size != 1)
        return false;
    }
    if (auto before = input->get().getDefiningOp<GenericOp>()) {
      if (before->getBlock() != row->getBlock() || !canHoist(op, before, seen))
        return false;
      continue;
    }
    auto argument = dyn_cast<BlockArgument>(input->get());
    if (!argument || !(llvm::is_contained(op.getQueryArguments(), argument) ||
                       llvm::is_contained(op.getCaptureArguments(), argument)))
      return false;
  }
  return hasColumn;
}

namespace {
/// An operation that can be hoisted, over leading indices, queries and columns.
class WholeRows {
public:
  WholeRows(AttentionOp op, GenericOp row);
  /// Its result becomes a query of the attention; a capture, where no input has
  /// queries.
  void hoist(IRRewriter &rewriter);

private:
  void addInput(OpOperand &input);

  AttentionOp op;
  GenericOp row;
  unsigned loops;
  SmallVector<Value> inputs;
  /// Of each input, what its dimensions are along: a loop or none.
  SmallVector<SmallVector<std::optional<unsigned>>> places;
  /// An input and its dimension that says how long a loop is.
  SmallVector<std::optional<std::pair<unsigned, int64_t>>> sizes;
};
} // namespace

WholeRows::WholeRows(AttentionOp op, GenericOp row)
    : op(op), row(row), loops(op.getLeadRank() + 2), sizes(loops) {
  for (OpOperand *input : row.getDpsInputOperands())
    addInput(*input);
}

void WholeRows::addInput(OpOperand &input) {
  auto argument = cast<BlockArgument>(input.get());
  // Outer dimensions are the last of the leading ones; queries have one more.
  unsigned end =
      op.getLeadRank() + llvm::is_contained(op.getQueryArguments(), argument);
  Value tensor = op->getOperand(argument.getArgNumber());
  auto type = cast<RankedTensorType>(tensor.getType());
  AffineMap map = row.getMatchingIndexingMap(&input);
  unsigned outer = type.getRank() - map.getNumResults();
  SmallVector<std::optional<unsigned>> &along = places.emplace_back();
  for (int64_t dim = 0; dim < type.getRank(); ++dim) {
    std::optional<unsigned> loop;
    // The attention repeats what has one element along an outer dimension.
    if (dim < outer && type.getDimSize(dim) != 1)
      loop = end - outer + dim;
    else if (dim >= outer && isa<AffineDimExpr>(map.getResult(dim - outer)))
      loop = loops - 1;
    if (loop && !sizes[*loop])
      sizes[*loop] = std::pair(inputs.size(), dim);
    along.push_back(loop);
  }
  inputs.push_back(tensor);
}

void WholeRows::hoist(IRRewriter &rewriter) {
  Location loc = row.getLoc();
  rewriter.setInsertionPoint(op);
  SmallVector<OpFoldResult> shape;
  SmallVector<int64_t> kept;
  DenseMap<unsigned, AffineExpr> loopOf;
  for (auto [loop, known] : llvm::enumerate(sizes)) {
    if (!known)
      continue;
    loopOf[loop] = rewriter.getAffineDimExpr(kept.size());
    kept.push_back(loop);
    shape.push_back(tensor::getMixedSize(rewriter, loc, inputs[known->first],
                                         known->second));
  }
  SmallVector<AffineMap> maps;
  for (ArrayRef<std::optional<unsigned>> along : places)
    maps.push_back(AffineMap::get(
        kept.size(), 0,
        llvm::map_to_vector(along,
                            [&](std::optional<unsigned> loop) -> AffineExpr {
                              return loop ? loopOf.lookup(*loop)
                                          : rewriter.getAffineConstantExpr(0);
                            }),
        rewriter.getContext()));
  maps.push_back(rewriter.getMultiDimIdentityMap(kept.size()));
  Value empty = tensor::EmptyOp::create(rewriter, loc, shape,
                                        getElementTypeOrSelf(row.getResult(0)));
  auto whole =
      GenericOp::create(rewriter, loc, TypeRange(empty.getType()), inputs,
                        ValueRange(empty), maps,
                        SmallVector<utils::IteratorType>(
                            kept.size(), utils::IteratorType::parallel));
  rewriter.cloneRegionBefore(row.getRegion(), whole.getRegion(),
                             whole.getRegion().end());
  RowOperand operand = {whole.getResult(0), {}, op.getLeadRank()};
  for (int64_t axis : kept)
    operand.axes.push_back({axis});
  rewriter.replaceOp(row, operand.addTo(rewriter, op));
}

/// Hoists what it reads first.
static void hoistAll(AttentionOp op, GenericOp row, IRRewriter &rewriter) {
  for (Value input : row.getInputs())
    if (auto before = input.getDefiningOp<GenericOp>())
      hoistAll(op, before, rewriter);
  WholeRows(op, row).hoist(rewriter);
}

namespace {
struct HoistQueries : gatefold::impl::HoistQueriesBase<HoistQueries> {
  void runOnOperation() override {
    auto target = TargetDescription::fromModule(
        getOperation()->getParentOfType<ModuleOp>());
    if (!target.isGpu())
      return;
    SmallVector<AttentionOp> all;
    getOperation().walk([&](AttentionOp op) { all.push_back(op); });
    IRRewriter rewriter(&getContext());
    for (AttentionOp op : all)
      if (lacksRegistersForQueries(op, target))
        hoistFrom(op, rewriter);
  }

  void hoistFrom(AttentionOp op, IRRewriter &rewriter) {
    auto options =
        remark::RemarkOpts::name("query").category("gf-hoist-queries");
    for (RowScoresOp scores :
         llvm::to_vector(op.getBody().front().getOps<RowScoresOp>())) {
      auto row = scores.getQuery().getDefiningOp<GenericOp>();
      if (!row)
        continue;
      Location loc = row.getLoc();
      llvm::DenseSet<Operation *> seen;
      if (!canHoist(op, row, seen)) {
        remark::missed(loc, options)
            << "computed query takes registers as long as keys pass: it is "
               "made of more than numbers that are given before the attention";
        continue;
      }
      hoistAll(op, row, rewriter);
      ++queriesHoisted;
      remark::passed(loc, options) << "query computed before the attention, "
                                      "which lacks registers for it";
    }
  }
};
} // namespace
