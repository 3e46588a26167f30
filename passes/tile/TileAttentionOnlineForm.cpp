// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- TileAttentionOnlineForm.cpp - What one pass over keys can compute --===//
//
// Finds out whether a row program has a form in one pass over blocks of keys,
// and gives each softmax its own product with the values.
//
// Exactness of the latter: sums of products are added up in the same order, and
// combined once at the end instead of once for each key.
//
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Transforms/RegionUtils.h"
#include "passes/tile/TileAttentionOnline.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace gatefold;
using linalg::GenericOp;

bool gatefold::isHomogeneous(Block *block, ArrayRef<Value> marked) {
  llvm::DenseSet<Value> scaled(marked.begin(), marked.end());
  for (Operation &inner : block->without_terminator()) {
    auto isScaled = [&](unsigned operand) {
      return scaled.contains(inner.getOperand(operand));
    };
    // 0 times any number is 0: it counts as a sum of no terms.
    auto isTerm = [&](unsigned operand) {
      return isScaled(operand) ||
             matchPattern(inner.getOperand(operand), m_AnyZeroFloat());
    };
    unsigned count = llvm::count_if(inner.getOperands(), [&](Value operand) {
      return scaled.contains(operand);
    });
    if (inner.getNumRegions() != 0)
      return false;
    if (count == 0)
      continue;
    bool holds =
        (isa<arith::MulFOp>(inner) && count == 1) ||
        (isa<arith::DivFOp>(inner) && count == 1 && isScaled(0)) ||
        (isa<arith::AddFOp, arith::SubFOp>(inner) && isTerm(0) && isTerm(1)) ||
        isa<arith::NegFOp>(inner) ||
        (isa<arith::SelectOp>(inner) && !isScaled(0) && isTerm(1) && isTerm(2));
    if (!holds)
      return false;
    scaled.insert(inner.getResult(0));
  }
  return llvm::all_of(block->getTerminator()->getOperands(),
                      [&](Value yielded) { return scaled.contains(yielded); });
}

/// Whether the operation is a sum of weights, each times a factor that does not
/// run along the keys.
static bool isSumOfWeights(GenericOp generic,
                           llvm::function_ref<bool(OpOperand *)> isOfWeights) {
  if (!generic || generic.getNumLoops() != 1 ||
      generic.getNumParallelLoops() != 1 || generic.getNumResults() != 1 ||
      generic.payloadUsesValueFromOperand(generic.getDpsInitOperand(0)) ||
      !generic.getMatchingIndexingMap(generic.getDpsInitOperand(0))
           .isIdentity())
    return false;
  SmallVector<Value> marked;
  for (OpOperand *input : generic.getDpsInputOperands()) {
    AffineMap map = generic.getMatchingIndexingMap(input);
    if (!isOfWeights(input)) {
      if (map.isFunctionOfDim(0))
        return false;
      continue;
    }
    if (!map.isIdentity())
      return false;
    marked.push_back(generic.getMatchingBlockArgument(input));
  }
  return generic.getBody()->getOps<linalg::IndexOp>().empty() &&
         isHomogeneous(generic.getBody(), marked);
}

//===----------------------------------------------------------------------===//
// The form
//===----------------------------------------------------------------------===//

OnlineForm::OnlineForm(AttentionOp op, const AttentionBody &body) : body(body) {
  for (Operation &inner : op.getBody().front().without_terminator())
    if (!obstacle && inner.getNumResults() != 0 &&
        body.isPerQuery(inner.getResult(0)))
      place(&inner);
  // A product with weights of keys that are not seen has them block by block.
  Operation *all = body.getNeedsAllKeys();
  if (!obstacle && all && !isa<RowValuesOp>(all))
    refuse(all, "all keys of a row at once");
}

void OnlineForm::refuse(Operation *inner, StringRef what) {
  obstacle = inner;
  need = what;
}

void OnlineForm::place(Operation *inner) {
  SetVector<Value> captured;
  getUsedValuesDefinedAbove(inner->getRegions(), captured);
  bool hasKeys = false, readsWeights = false, readsSums = false;
  auto read = [&](Value value, bool isWhole) {
    readsWeights |= isWeights(value);
    readsSums |= sums.contains(value);
    // Of what is the same for all queries, the whole is there.
    hasKeys |= body.getKeyDim(value) && !(isWhole && !body.isPerQuery(value));
  };
  for (Value value : inner->getOperands())
    read(value, /*isWhole=*/false);
  for (Value value : captured)
    read(value, /*isWhole=*/true);
  bool makesKeys = llvm::any_of(inner->getResults(), [&](Value result) {
    return body.getKeyDim(result).has_value();
  });
  hasKeys |= makesKeys;
  places[inner] = hasKeys     ? Place::InKeys
                  : readsSums ? Place::AfterKeys
                              : Place::BeforeKeys;
  if (!hasKeys) {
    if (readsSums)
      sums.insert(inner->result_begin(), inner->result_end());
    return;
  }
  if (isa<RowTopKOp>(inner))
    return refuse(inner, "the scores of all keys at once");
  if (isa<RowNeighboursOp>(inner))
    return refuse(inner, "scores of keys in other blocks");

  if (auto values = dyn_cast<RowValuesOp>(inner)) {
    auto terms = weights.find(values.getWeights());
    bool isOfSoftmaxes = terms != weights.end();
    if (!isOfSoftmaxes && (readsSums || !body.isPerQuery(values.getWeights())))
      return refuse(inner, "weights that are made of each key as it passes");
    if (body.isPerQuery(values.getValues()))
      return refuse(inner, "values that are the same for all queries");
    ++products;
    if (isOfSoftmaxes)
      for (Value softmax : terms->second)
        separate.insert({softmax, values.getValues()});
    else
      // Added up as they are.
      separate.insert({values.getWeights(), values.getValues()});
    sums.insert(values.getResult());
    return;
  }
  // The factor of a softmax may be known when all keys have passed.
  bool isOfWeights = readsWeights && !isa<RowSoftmaxOp>(inner);
  if (readsSums && !isOfWeights)
    return refuse(inner, "a second pass over the keys");
  if (isa<RowSoftmaxOp>(inner)) {
    if (readsWeights)
      return refuse(inner, "the sum of another softmax");
    weights[inner->getResult(0)].insert(inner->getResult(0));
    sums.insert_range(inner->getResults().drop_front());
    return;
  }
  if (readsWeights) {
    SetVector<Value> terms;
    for (Value operand : inner->getOperands())
      if (auto found = weights.find(operand); found != weights.end())
        terms.insert_range(found->second);
    auto isTerm = [&](OpOperand *input) { return isWeights(input->get()); };
    if (!isa<tensor::CastOp>(inner) &&
        !isSumOfWeights(dyn_cast<GenericOp>(inner), isTerm))
      return refuse(inner, "the sum of a softmax before its values");
    weights[inner->getResult(0)] = std::move(terms);
    return;
  }
  if (!makesKeys)
    refuse(inner, "a running form of what it makes of all keys");
}

//===----------------------------------------------------------------------===//
// One product for each softmax
//===----------------------------------------------------------------------===//

namespace {
class WeightSeparation {
public:
  explicit WeightSeparation(RewriterBase &rewriter) : rewriter(rewriter) {}

  /// What `product` would be with these weights, where the rewriter stands.
  Value multiply(RowValuesOp product, Value weights);

  /// Whether a value along the keys is made of a softmax.
  static bool isOfSoftmax(Value value);

private:
  Value multiplySum(RowValuesOp product, GenericOp generic);

  RewriterBase &rewriter;
  /// By weights and values: earlier products stand before later ones.
  llvm::DenseMap<std::pair<Value, Value>, Value> made;
};
} // namespace

bool WeightSeparation::isOfSoftmax(Value value) {
  SmallVector<Value> work = {value};
  llvm::DenseSet<Value> seen;
  while (!work.empty()) {
    Value next = work.pop_back_val();
    Operation *by = next.getDefiningOp();
    if (isa_and_present<RowSoftmaxOp>(by))
      return true;
    if (isa_and_present<GenericOp, tensor::CastOp>(by) &&
        isa<RankedTensorType>(next.getType()) && seen.insert(next).second)
      llvm::append_range(work, by->getOperands());
  }
  return false;
}

Value WeightSeparation::multiplySum(RowValuesOp product, GenericOp generic) {
  Location loc = product.getLoc();
  RankedTensorType type = product.getType();
  SmallVector<Value> inputs;
  for (Value input : generic.getInputs())
    inputs.push_back(isOfSoftmax(input) ? multiply(product, input) : input);
  OpFoldResult size =
      type.isDynamicDim(0)
          ? OpFoldResult(
                tensor::DimOp::create(rewriter, loc, product.getValues(), 1)
                    .getResult())
          : OpFoldResult(rewriter.getIndexAttr(type.getDimSize(0)));
  Value empty = tensor::EmptyOp::create(
      rewriter, loc, ArrayRef<OpFoldResult>{size}, type.getElementType());
  auto copy = GenericOp::create(
      rewriter, generic.getLoc(), TypeRange(empty.getType()), inputs,
      ValueRange(empty), generic.getIndexingMapsArray(),
      generic.getIteratorTypesArray(),
      [&](OpBuilder &builder, Location, ValueRange values) {
        IRMapping mapping;
        mapping.map(generic.getBody()->getArguments(), values);
        for (Operation &inner : *generic.getBody())
          builder.clone(inner, mapping);
      });
  Value result = copy.getResult(0);
  return result.getType() == type
             ? result
             : tensor::CastOp::create(rewriter, loc, type, result).getResult();
}

Value WeightSeparation::multiply(RowValuesOp product, Value weights) {
  std::pair<Value, Value> key(weights, product.getValues());
  if (Value result = made.lookup(key))
    return result;
  Value result;
  if (auto cast = weights.getDefiningOp<tensor::CastOp>())
    result = multiply(product, cast.getSource());
  else if (auto generic = weights.getDefiningOp<GenericOp>())
    result = multiplySum(product, generic);
  else
    result = RowValuesOp::create(rewriter, product.getLoc(), product.getType(),
                                 weights, product.getValues());
  return made[key] = result;
}

void gatefold::separateWeights(AttentionOp op, RewriterBase &rewriter) {
  Block &block = op.getBody().front();
  WeightSeparation separation(rewriter);
  SmallVector<RowValuesOp> products(block.getOps<RowValuesOp>());
  for (RowValuesOp product : products) {
    if (!WeightSeparation::isOfSoftmax(product.getWeights()))
      continue;
    rewriter.setInsertionPoint(product);
    Value result = separation.multiply(product, product.getWeights());
    rewriter.replaceOp(product, result);
  }
  for (Operation &inner : llvm::make_early_inc_range(llvm::reverse(block)))
    if (isOpTriviallyDead(&inner))
      rewriter.eraseOp(&inner);
}

std::optional<OnlineProducts> gatefold::countOnlineProducts(AttentionOp op) {
  IRRewriter rewriter(op.getContext());
  rewriter.setInsertionPoint(op);
  auto copy = cast<AttentionOp>(rewriter.clone(*op));
  prepareAttentionBody(copy, rewriter);
  std::optional<OnlineProducts> result;
  {
    AttentionBody body(copy);
    OnlineForm form(copy, body);
    if (!form.getObstacle())
      result = {form.getProducts(), form.getSeparateProducts()};
  }
  rewriter.eraseOp(copy);
  return result;
}
