// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- TileLinearInitial.cpp - Additions as beginnings of sums ------------===//
//
// x * W + b is a sum that begins with b. The sum has the same terms in another
// order: within the rounding of the sum, and one operation less.
//
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "passes/support/ParameterValues.h"
#include "passes/tile/TileLinear.h"

using namespace mlir;
using namespace gatefold;

/// Whether an operation is a + b of its two inputs.
static bool isAddition(linalg::GenericOp op) {
  if (!op.hasPureTensorSemantics() || op.getNumDpsInputs() != 2 ||
      op.getNumDpsInits() != 1 || op.getNumReductionLoops() != 0 ||
      !op.getIndexingMapsArray()[2].isIdentity())
    return false;
  auto sum = op.getBody()
                 ->getTerminator()
                 ->getOperand(0)
                 .getDefiningOp<arith::AddFOp>();
  Value a = op.getBody()->getArgument(0), b = op.getBody()->getArgument(1);
  return sum && ((sum.getLhs() == a && sum.getRhs() == b) ||
                 (sum.getLhs() == b && sum.getRhs() == a));
}

/// The operand as [n], if it is the same in each row of `[m.., n]`.
static Value asBias(OpBuilder &builder, Value operand, AffineMap map,
                    ArrayRef<int64_t> shape) {
  auto type = dyn_cast<RankedTensorType>(operand.getType());
  unsigned last = map.getNumDims() - 1;
  if (!type)
    return {};
  // Its other dimensions have one index each.
  std::optional<unsigned> column;
  for (auto [place, expression] : llvm::enumerate(map.getResults())) {
    auto dim = dyn_cast<AffineDimExpr>(expression);
    if (dim && dim.getPosition() == last)
      column = place;
    else if (type.getDimSize(place) != 1)
      return {};
  }
  if (!column || type.getDimSize(*column) != shape.back())
    return {};
  if (type.getRank() == 1)
    return operand;
  if (auto expand = operand.getDefiningOp<tensor::ExpandShapeOp>())
    if (expand.getSrcType().getRank() == 1)
      return expand.getSrc();
  ReassociationIndices all =
      llvm::to_vector<2>(llvm::seq<int64_t>(0, type.getRank()));
  return tensor::CollapseShapeOp::create(
      builder, operand.getLoc(), operand,
      SmallVector<ReassociationIndices>{all});
}

static bool isBias(Value initial) {
  return initial && cast<ShapedType>(initial.getType()).getRank() == 1;
}

/// a + b, of two biases.
static Value addBiases(OpBuilder &builder, Location loc, Value a, Value b) {
  auto type = cast<RankedTensorType>(a.getType());
  Value empty = tensor::EmptyOp::create(builder, loc,
                                        tensor::getMixedSizes(builder, loc, a),
                                        type.getElementType());
  AffineMap map = builder.getMultiDimIdentityMap(1);
  return linalg::GenericOp::create(
             builder, loc, empty.getType(), ValueRange{a, b}, empty,
             ArrayRef<AffineMap>{map, map, map},
             ArrayRef<utils::IteratorType>{utils::IteratorType::parallel},
             [](OpBuilder &inner, Location bodyLoc, ValueRange arguments) {
               Value sum = arith::AddFOp::create(inner, bodyLoc, arguments[0],
                                                 arguments[1]);
               linalg::YieldOp::create(inner, bodyLoc, sum);
             })
      .getResult(0);
}

namespace {
/// One addition to a product, and what it is to become.
class InitialFolding {
public:
  InitialFolding(IRRewriter &rewriter, linalg::GenericOp addition)
      : rewriter(rewriter), addition(addition) {}
  bool run();

private:
  /// The product that `operand` is, with no other use, in the order of the
  /// result.
  LinearOp productOf(unsigned operand);
  bool fold(LinearOp product, unsigned other);
  bool addBias(LinearOp product, Value bias);
  /// The products that begin with each other, the last of which is `product`.
  SmallVector<LinearOp> chainOf(LinearOp product);

  IRRewriter &rewriter;
  linalg::GenericOp addition;
};
} // namespace

LinearOp InitialFolding::productOf(unsigned operand) {
  OpOperand *input = addition.getDpsInputOperand(operand);
  auto product = input->get().getDefiningOp<LinearOp>();
  if (!product || !product.getResult().hasOneUse() ||
      product->getBlock() != addition->getBlock() ||
      product.getResult().getType() != addition.getResult(0).getType() ||
      !addition.getMatchingIndexingMap(input).isIdentity())
    return {};
  return product;
}

SmallVector<LinearOp> InitialFolding::chainOf(LinearOp product) {
  SmallVector<LinearOp> chain = {product};
  while (Value initial = chain.back().getInitial()) {
    auto before = initial.getDefiningOp<LinearOp>();
    if (!before || !initial.hasOneUse() ||
        before->getBlock() != addition->getBlock())
      break;
    chain.push_back(before);
  }
  return chain;
}

/// A product that takes `initial`, where the addition is.
static LinearOp withInitial(IRRewriter &rewriter, LinearOp product,
                            Value initial) {
  auto result = LinearOp::create(
      rewriter, product.getLoc(), product.getResult().getType(), product.getX(),
      product.getPanels(), initial, product.getOutput());
  result->setDiscardableAttrs(product->getDiscardableAttrDictionary());
  return result;
}

/// Adds a bias to the first of the products that begin with each other.
bool InitialFolding::addBias(LinearOp product, Value bias) {
  SmallVector<LinearOp> chain = chainOf(product);
  Value initial = chain.back().getInitial();
  rewriter.setInsertionPoint(addition);
  if (initial) {
    // The sum of two biases is computed once only if no run changes them.
    if (!isBias(initial) || !dependsOnParametersOnly(initial) ||
        !dependsOnParametersOnly(bias) || initial.getType() != bias.getType())
      return false;
    bias = addBiases(rewriter, addition.getLoc(), initial, bias);
  }
  Value begin = bias;
  for (LinearOp link : llvm::reverse(chain))
    begin = withInitial(rewriter, link, begin).getResult();
  rewriter.replaceOp(addition, begin);
  for (LinearOp link : chain)
    rewriter.eraseOp(link);
  return true;
}

bool InitialFolding::fold(LinearOp product, unsigned other) {
  OpOperand *operand = addition.getDpsInputOperand(other);
  Value value = operand->get();
  auto type = cast<RankedTensorType>(product.getResult().getType());
  if (!isa<RankedTensorType>(value.getType()))
    return false;
  AffineMap map = addition.getMatchingIndexingMap(operand);
  rewriter.setInsertionPoint(addition);
  if (map.isIdentity() && type.getRank() != 1) {
    if (value.getType() != type || product.getInitial())
      return false;
    LinearOp folded = withInitial(rewriter, product, value);
    rewriter.replaceOp(addition, folded.getResult());
    rewriter.eraseOp(product);
    return true;
  }
  Value bias = asBias(rewriter, value, map, type.getShape());
  return bias && getElementTypeOrSelf(bias) == type.getElementType() &&
         addBias(product, bias);
}

bool InitialFolding::run() {
  // Of two products, the one that begins with nothing takes the other.
  for (bool mayBegin : {false, true})
    for (unsigned operand : {1u, 0u})
      if (LinearOp product = productOf(operand))
        if (mayBegin == (product.getInitial() != nullptr) &&
            fold(product, 1 - operand))
          return true;
  // (x A + a) + (h B + b) is ((a + b) + x A) + h B. On the left there may be
  // several products, and nothing that they begin with.
  LinearOp left = productOf(0), right = productOf(1);
  if (!left || !right || left == right || !isBias(right.getInitial()) ||
      !dependsOnParametersOnly(right.getInitial()))
    return false;
  SmallVector<LinearOp> chain = chainOf(left);
  Value first = chain.back().getInitial();
  if (first && (!isBias(first) || !dependsOnParametersOnly(first) ||
                first.getType() != right.getInitial().getType()))
    return false;
  rewriter.setInsertionPoint(addition);
  Value begin = right.getInitial();
  if (first)
    begin = addBiases(rewriter, addition.getLoc(), first, begin);
  for (LinearOp link : llvm::reverse(chain))
    begin = withInitial(rewriter, link, begin).getResult();
  rewriter.replaceOp(addition, withInitial(rewriter, right, begin).getResult());
  rewriter.eraseOp(right);
  for (LinearOp link : chain)
    rewriter.eraseOp(link);
  return true;
}

unsigned gatefold::foldInitials(IRRewriter &rewriter, Operation *root) {
  SmallVector<linalg::GenericOp> additions;
  root->walk([&](linalg::GenericOp op) {
    if (isAddition(op))
      additions.push_back(op);
  });
  unsigned folded = 0;
  for (linalg::GenericOp addition : additions)
    folded += InitialFolding(rewriter, addition).run();
  return folded;
}
