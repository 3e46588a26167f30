// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- FoldKeyScales.cpp - Scales of the keys on the query ----------------===//
//
// A scale of the queries, as in q = split_heads(linear(x) * 0.125), is done in
// the rows, on the same elements, and meets there what comes of the keys.
//
// Each term of a score is a product of three numbers, q[d] * (k[j, d] * b[d]),
// and becomes (q[d] * b[d]) * k[j, d]. The keys are then what was given, for
// all maps that scale them differently.
//
// Exactness: a term is rounded as often as before, each time by 2^-24 of
// itself, in another order; where the query has a scale a of its own, q * (a *
// b) is rounded once less than (q * a) * (k * b). So a score's error keeps its
// bound. The sum over d is taken as before.
//
// Zeros, infinities and NaN: a product of three numbers is NaN if one of them
// is, or if one is 0 and one infinite; else it is infinite if one is, and 0 if
// one is. None of this depends on the order, so that a scale of 0 makes a key
// that is infinite NaN in both forms. What differs is where a product leaves
// the range on the way: q * b, or a * b, may be beyond 2^128 (or below 2^-126,
// which counts as 0) where k * b is not, and the other way round. That takes
// factors of more than 2^63, or less than 2^-63, on one side.
//
// Keys that no query sees reach nothing in both forms.
//
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Remarks.h"
#include "passes/fuse/OperandScale.h"
#include "passes/fuse/Passes.h"

namespace gatefold {
#define GEN_PASS_DEF_FOLDKEYSCALES
#include "passes/fuse/Passes.h.inc"
} // namespace gatefold

using namespace mlir;
using namespace gatefold;
using linalg::GenericOp;

static RankedTensorType tensorType(Value value) {
  return cast<RankedTensorType>(value.getType());
}

namespace {
/// Scales of the keys of one attention.
class KeyScaleFold {
public:
  KeyScaleFold(AttentionOp op, IRRewriter &rewriter)
      : op(op), rewriter(rewriter) {}
  /// The number of scales that are gone.
  unsigned run();

private:
  static remark::RemarkOpts options() {
    return remark::RemarkOpts::name("key-scale").category("gf-fold-key-scales");
  }
  void miss(GenericOp scale, const char *reason, const char *scaled = "keys");
  bool foldInside(GenericOp scale);
  bool foldOutside(BlockArgument keys);
  bool foldQuery(unsigned number);
  bool areProductsAlone(Value keys);
  void scaleQueries(const KeyScale &scale, Value keys, Value given,
                    ArrayRef<Value> factors, ArrayRef<AffineMap> maps);
  Value joinScales(RowScoresOp scores, Value factor);

  AttentionOp op;
  IRRewriter &rewriter;
  /// Those of which it was said why they stay.
  llvm::DenseSet<Operation *> missed;
};
} // namespace

void KeyScaleFold::miss(GenericOp scale, const char *reason,
                        const char *scaled) {
  if (missed.insert(scale).second)
    remark::missed(scale.getLoc(), options())
        << (std::string("scale of the ") + scaled + " stays: " + reason);
}

/// Whether nothing but scores reads the keys.
bool KeyScaleFold::areProductsAlone(Value keys) {
  return llvm::all_of(keys.getUses(), [&](OpOperand &use) {
    auto scores = dyn_cast<RowScoresOp>(use.getOwner());
    return (scores && scores.getKeys() == keys &&
            scores->getParentOp() == op.getOperation()) ||
           isa<tensor::DimOp>(use.getOwner());
  });
}

/// Where the query has a scale already, and both are captures of one shape:
/// their product, which is computed before the attention, as a capture.
Value KeyScaleFold::joinScales(RowScoresOp scores, Value factor) {
  auto capture = [&](Value value) -> Value {
    auto argument = dyn_cast<BlockArgument>(value);
    return argument && llvm::is_contained(op.getCaptureArguments(), argument)
               ? op->getOperand(argument.getArgNumber())
               : Value();
  };
  auto found = matchRowProduct(scores.getQuery());
  Value other = capture(factor);
  if (!found || !other)
    return {};
  auto [query, own] = *found;
  if (!capture(own))
    std::swap(query, own);
  if (!capture(own) || capture(own).getType() != other.getType() ||
      own.getType() != factor.getType() || capture(query))
    return {};

  Location loc = scores.getLoc();
  rewriter.setInsertionPoint(op);
  unsigned rank = tensorType(other).getRank();
  auto multiply = [&](ValueRange inputs) -> Value {
    unsigned loops = tensorType(inputs[0]).getRank();
    Value empty = tensor::EmptyOp::create(
        rewriter, loc, tensor::getMixedSizes(rewriter, loc, inputs[0]),
        tensorType(inputs[0]).getElementType());
    return GenericOp::create(
               rewriter, loc, TypeRange(empty.getType()), inputs,
               ValueRange(empty),
               SmallVector<AffineMap>(3,
                                      rewriter.getMultiDimIdentityMap(loops)),
               SmallVector<utils::IteratorType>(loops,
                                                utils::IteratorType::parallel),
               [&](OpBuilder &builder, Location, ValueRange elements) {
                 Value product = arith::MulFOp::create(
                     builder, loc, elements[0], elements[1]);
                 linalg::YieldOp::create(builder, loc, product);
               })
        .getResult(0);
  };
  Value product = multiply({capture(own), other});
  if (product.getType() != other.getType())
    return {};
  RowOperand operand = {product, {}, op.getLeadRank()};
  int64_t seen = tensorType(factor).getRank(), lead = rank - seen;
  for (int64_t dim = 0; dim < lead; ++dim)
    operand.axes.push_back(tensorType(product).getDimSize(dim) == 1
                               ? DimensionAxes()
                               : DimensionAxes{operand.leadRank - lead + dim});
  for (int64_t dim = 0; dim < seen; ++dim)
    operand.axes.push_back({operand.leadRank + 1 + dim});
  BlockArgument joined = operand.addTo(rewriter, op);
  rewriter.setInsertionPoint(scores);
  Value scaled = multiply({query, joined});
  return scaled.getType() == scores.getQuery().getType() ? scaled : Value();
}

/// Scores of `keys` become scores of `given`, with the query scaled.
void KeyScaleFold::scaleQueries(const KeyScale &scale, Value keys, Value given,
                                ArrayRef<Value> factors,
                                ArrayRef<AffineMap> maps) {
  // A plain product with one row, which may be joined with the query's.
  Value factor;
  if (factors.size() == 2) {
    unsigned other = factors[0] ? 0 : 1;
    Block *body = scale.getBody();
    if (maps[other].isIdentity() && tensorType(factors[other]).getRank() == 1 &&
        llvm::hasSingleElement(body->without_terminator()) &&
        isa<arith::MulFOp>(body->front()) &&
        llvm::all_of(body->front().getOperands(), [&](Value operand) {
          return operand == body->getArgument(0) ||
                 operand == body->getArgument(1);
        }))
      factor = factors[other];
  }
  for (Operation *user : llvm::to_vector(keys.getUsers())) {
    auto scores = dyn_cast<RowScoresOp>(user);
    if (!scores) {
      rewriter.modifyOpInPlace(user,
                               [&] { user->replaceUsesOfWith(keys, given); });
      continue;
    }
    Value query = factor ? joinScales(scores, factor) : Value();
    rewriter.setInsertionPoint(scores);
    if (!query)
      query = scale.scaleQuery(rewriter, scores.getQuery(), factors, maps);
    Operation *before = scores.getQuery().getDefiningOp();
    rewriter.modifyOpInPlace(scores, [&] {
      scores.getQueryMutable().assign(query);
      scores.getKeysMutable().assign(given);
    });
    if (before && isOpTriviallyDead(before))
      rewriter.eraseOp(before);
  }
}

/// A scale in the region.
bool KeyScaleFold::foldInside(GenericOp generic) {
  std::optional<KeyScale> scale = KeyScale::match(generic);
  if (!scale || generic.getNumLoops() != 2)
    return false;
  if (scale->variesAlong(0)) {
    miss(generic, "it is another one for each key");
    return false;
  }
  Value keys = generic.getResult(0);
  if (!areProductsAlone(keys)) {
    miss(generic, "the scaled keys are read elsewhere too");
    return false;
  }
  // Of the two loops the one along the keys is gone.
  SmallVector<Value> factors;
  SmallVector<AffineMap> maps;
  for (OpOperand *input : generic.getDpsInputOperands()) {
    factors.push_back(input->get() == scale->getKeys() ? Value()
                                                       : input->get());
    maps.push_back(generic.getMatchingIndexingMap(input).replaceDimsAndSymbols(
        {rewriter.getAffineConstantExpr(0), rewriter.getAffineDimExpr(0)}, {},
        1, 0));
  }
  scaleQueries(*scale, keys, scale->getKeys(), factors, maps);
  remark::passed(generic.getLoc(), options())
      << "scale of the keys moved to the query";
  rewriter.eraseOp(generic);
  return true;
}

/// A scale of whole keys before the attention.
bool KeyScaleFold::foldOutside(BlockArgument keys) {
  unsigned number = keys.getArgNumber();
  std::optional<OperandScale> found = OperandScale::find(op, number);
  if (!found)
    return false;
  GenericOp generic = found->getOperation();
  if (found->variesAlongKeys()) {
    miss(generic, "it is another one for each key");
    return false;
  }
  if (!areProductsAlone(keys) || found->hasOtherReader()) {
    miss(generic, "the scaled keys are read elsewhere too");
    return false;
  }
  if (!found->canFold())
    return false;
  SmallVector<Value> factors;
  SmallVector<AffineMap> maps;
  found->fold(rewriter, factors, maps);
  keys = op.getBody().getArgument(number);
  scaleQueries(found->getScale(), keys, keys, factors, maps);
  remark::passed(generic.getLoc(), options())
      << "scale of the keys, before the attention, moved to the query";
  rewriter.eraseOp(generic);
  return true;
}

/// A scale of whole queries before the attention.
bool KeyScaleFold::foldQuery(unsigned number) {
  std::optional<OperandScale> found = OperandScale::find(op, number);
  if (!found || found->isOfQueryElements() || !found->canFold())
    return false;
  GenericOp generic = found->getOperation();
  // Once for all steps is better than in each.
  if (generic->getBlock() != op->getBlock())
    return false;
  if (found->hasOtherReader()) {
    miss(generic, "the scaled queries are read elsewhere too", "queries");
    return false;
  }
  SmallVector<Value> factors;
  SmallVector<AffineMap> maps;
  found->fold(rewriter, factors, maps);
  rewriter.setInsertionPointToStart(&op.getBody().front());
  Value query = op.getBody().getArgument(number);
  SmallVector<OpOperand *> uses =
      llvm::map_to_vector(query.getUses(), [](OpOperand &use) { return &use; });
  Value scaled = found->getScale().scaleQuery(rewriter, query, factors, maps);
  for (OpOperand *use : uses)
    rewriter.modifyOpInPlace(use->getOwner(), [&] { use->set(scaled); });
  remark::passed(generic.getLoc(), options())
      << "scale of the queries, before the attention, done in its rows";
  rewriter.eraseOp(generic);
  return true;
}

unsigned KeyScaleFold::run() {
  unsigned count = 0;
  for (unsigned query = 0, end = op.getQueries().size(); query < end; ++query)
    while (foldQuery(query))
      ++count;
  bool changes = true;
  while (changes) {
    changes = false;
    for (RowScoresOp scores :
         llvm::to_vector(op.getBody().front().getOps<RowScoresOp>())) {
      Value keys = scores.getKeys();
      bool isFolded = false;
      if (auto generic = keys.getDefiningOp<GenericOp>())
        isFolded = foldInside(generic);
      else if (auto argument = dyn_cast<BlockArgument>(keys);
               argument && argument.getOwner() == &op.getBody().front())
        isFolded = foldOutside(argument);
      changes |= isFolded;
      count += isFolded;
    }
  }
  return count;
}

namespace {
struct FoldKeyScales : gatefold::impl::FoldKeyScalesBase<FoldKeyScales> {
  void runOnOperation() override {
    SmallVector<AttentionOp> all;
    getOperation().walk([&](AttentionOp op) { all.push_back(op); });
    IRRewriter rewriter(&getContext());
    for (AttentionOp op : all)
      scalesFolded += KeyScaleFold(op, rewriter).run();
  }
};
} // namespace
