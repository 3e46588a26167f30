// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- SumBiases.cpp - Parameters are added to each other first -----------===//
//
// (W x + b) + U h + c  becomes  (W x + (b + c)) + U h, where b + c is computed
// once, in prepare.
//
// Exactness: a sum of the same terms in another order, which differs by the
// rounding of one addition.
//
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "passes/fuse/Gates.h"

using namespace mlir;
using namespace gatefold;

namespace {
/// A term of a sum, and how the sum reads it.
struct Term {
  Value value;
  AffineMap map;
};

class Sum {
public:
  Sum(const Origins &origins, linalg::GenericOp root)
      : origins(origins), root(root) {}

  /// Finds the terms; whether adding the parameters first changes anything.
  bool match();
  void rewrite(RewriterBase &rewriter);

private:
  void flatten(linalg::GenericOp add);
  unsigned chooseProduct();
  Term add(RewriterBase &rewriter, Location loc, Term left, Term right);
  Term addParameters(RewriterBase &rewriter);

  const Origins &origins;
  linalg::GenericOp root;
  SmallVector<Term> terms, parameters;
  /// The sums that the terms were found in, each before its own.
  SmallVector<linalg::GenericOp> sums;
  unsigned product = 0;
};
} // namespace

/// An elementwise sum of two floats of at least 32 bits: where values have
/// fewer, each rounding is visible.
static bool isAdd(linalg::GenericOp op) {
  if (!op || !op.hasPureTensorSemantics() || op.getNumDpsInputs() != 2 ||
      op.getNumResults() != 1 || op.getNumReductionLoops() != 0 ||
      !op.getIndexingMapsArray().back().isIdentity())
    return false;
  Block &body = op.getRegion().front();
  auto add = dyn_cast<arith::AddFOp>(body.front());
  auto yield = dyn_cast<linalg::YieldOp>(body.back());
  return add && yield && body.getOperations().size() == 2 &&
         yield.getOperand(0) == add &&
         ((add.getLhs() == body.getArgument(0) &&
           add.getRhs() == body.getArgument(1)) ||
          (add.getLhs() == body.getArgument(1) &&
           add.getRhs() == body.getArgument(0))) &&
         add.getType().getIntOrFloatBitWidth() >= 32;
}

/// A sum that nothing but another one of the same block reads, as a whole.
static bool isInner(linalg::GenericOp op) {
  if (!op->hasOneUse())
    return false;
  OpOperand &use = *op->use_begin();
  auto outer = dyn_cast<linalg::GenericOp>(use.getOwner());
  return outer && isAdd(outer) && outer->getBlock() == op->getBlock() &&
         outer.isDpsInput(&use) &&
         outer.getMatchingIndexingMap(&use).isIdentity();
}

static bool isProduct(const Term &term) {
  auto contract = term.value.getDefiningOp<linalg::ContractOp>();
  return contract && contract->hasOneUse() && term.map.isIdentity();
}

void Sum::flatten(linalg::GenericOp op) {
  sums.push_back(op);
  for (OpOperand *input : op.getDpsInputOperands()) {
    AffineMap map = op.getMatchingIndexingMap(input);
    auto inner = input->get().getDefiningOp<linalg::GenericOp>();
    if (inner && isAdd(inner) && isInner(inner)) {
      flatten(inner);
      continue;
    }
    Term term{input->get(), map};
    (origins.isWeight(term.value) ? parameters : terms).push_back(term);
  }
}

/// The product to add the parameters to: one that can leave the step with
/// them, else the first.
unsigned Sum::chooseProduct() {
  unsigned first = terms.size();
  for (auto [index, term] : llvm::enumerate(terms)) {
    if (!isProduct(term))
      continue;
    if (!origins.dependsOnState(term.value))
      return index;
    first = std::min<unsigned>(first, index);
  }
  return first;
}

bool Sum::match() {
  flatten(root);
  if (parameters.empty())
    return false;
  product = chooseProduct();
  if (product == terms.size())
    return false;
  if (parameters.size() > 1)
    return true;
  // Nothing to do where the only parameter is added to that product.
  return llvm::none_of(parameters[0].value.getUsers(), [&](Operation *user) {
    auto sum = dyn_cast<linalg::GenericOp>(user);
    return sum && isAdd(sum) &&
           llvm::is_contained(sum.getInputs(), terms[product].value);
  });
}

Term Sum::add(RewriterBase &rewriter, Location loc, Term left, Term right) {
  AffineMap identity = root.getIndexingMapsArray().back();
  auto made = linalg::GenericOp::create(
      rewriter, loc, TypeRange(root.getResultTypes()),
      ValueRange{left.value, right.value}, root.getOutputs(),
      ArrayRef{left.map, right.map, identity}, root.getIteratorTypesArray(),
      [](OpBuilder &builder, Location loc, ValueRange arguments) {
        Value sum =
            arith::AddFOp::create(builder, loc, arguments[0], arguments[1]);
        linalg::YieldOp::create(builder, loc, sum);
      });
  return {made.getResult(0), identity};
}

/// Adds parameters that are read in the same way, once, before the function's
/// operation that the sum stands in; then each of these to the product.
Term Sum::addParameters(RewriterBase &rewriter) {
  Operation *anchor = getOutermost(root);
  Term result = terms[product];
  while (!parameters.empty()) {
    Term sum = parameters.front();
    SmallVector<Term> others;
    for (const Term &next : ArrayRef(parameters).drop_front()) {
      if (next.map != sum.map || next.value.getType() != sum.value.getType()) {
        others.push_back(next);
        continue;
      }
      OpBuilder::InsertionGuard guard(rewriter);
      moveWeight(rewriter, sum.value, anchor);
      moveWeight(rewriter, next.value, anchor);
      rewriter.setInsertionPoint(anchor);
      // The place of the sum, not of the parameters: that is where it is
      // called from.
      Location loc = root.getLoc();
      auto type = cast<RankedTensorType>(sum.value.getType());
      Value empty = tensor::EmptyOp::create(rewriter, loc, type.getShape(),
                                            type.getElementType());
      SmallVector<AffineMap> maps(
          3, rewriter.getMultiDimIdentityMap(type.getRank()));
      SmallVector<utils::IteratorType> iterators(type.getRank(),
                                                 utils::IteratorType::parallel);
      sum.value =
          linalg::GenericOp::create(
              rewriter, loc, TypeRange(type), ValueRange{sum.value, next.value},
              empty, maps, iterators,
              [](OpBuilder &builder, Location loc, ValueRange arguments) {
                Value sum = arith::AddFOp::create(builder, loc, arguments[0],
                                                  arguments[1]);
                linalg::YieldOp::create(builder, loc, sum);
              })
              .getResult(0);
    }
    result = add(rewriter, root.getLoc(), result, sum);
    parameters = std::move(others);
  }
  return result;
}

void Sum::rewrite(RewriterBase &rewriter) {
  rewriter.setInsertionPoint(root);
  remark::passed(root.getLoc(), gateRemark("biases"))
      << (parameters.size() == 1 ? "1 bias added to a product first"
                                 : std::to_string(parameters.size()) +
                                       " biases added to each other first");
  terms[product] = addParameters(rewriter);
  Term result = terms.front();
  for (const Term &term : ArrayRef(terms).drop_front())
    result = add(rewriter, root.getLoc(), result, term);
  rewriter.replaceAllUsesWith(root.getResult(0), result.value);
  for (linalg::GenericOp sum : sums)
    rewriter.eraseOp(sum);
}

unsigned gatefold::sumBiases(RewriterBase &rewriter, const Origins &origins,
                             Operation *top) {
  SmallVector<linalg::GenericOp> roots;
  top->walk([&](linalg::GenericOp op) {
    if (isAdd(op) && !isInner(op))
      roots.push_back(op);
  });
  unsigned count = 0;
  for (linalg::GenericOp root : roots) {
    Sum sum(origins, root);
    if (!sum.match())
      continue;
    sum.rewrite(rewriter);
    ++count;
  }
  return count;
}
