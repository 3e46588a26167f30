// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- RaiseAttention.cpp - Written-out attention as gf.attention ---------===//
//
// softmax(q k^T ..) v, or other weights in place of the softmax, on whole
// tensors becomes the row program of one query, so that no tensor of queries by
// keys is stored and phase tile sees an attention.
//
// Exactness: what is done to a score or a weight stays, operation by operation,
// on the same elements in the same order. The sums of a product, of a softmax
// and with the values are taken in another order, block by block, each within
// the bound that holds for any order; the quotient by the sum of the powers may
// be taken once for a row of the result instead of once for each weight. What
// several attentions read is computed by each of them.
//
// A row whose scores are all -inf is 0 in both forms: the softmax that is
// written out replaces the maximum -inf by 0 and the sum 0 by 1, and
// gf.row_softmax gives 0 to keys with the score -inf. So is a row over no key.
// No clause restricts the keys: behind a softmax all values are read in both
// forms, and 0 times a value that is NaN is NaN. Other weights that are 0 for
// all queries of a block, by comparisons of indices, are left out with their
// keys, so that what is infinite or NaN there need not reach the result.
//
//===----------------------------------------------------------------------===//

#include "dialect/GatefoldDialect.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/IndexingUtils.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/IR/Remarks.h"
#include "passes/fuse/Passes.h"
#include "passes/fuse/WrittenAttention.h"
#include "passes/support/TensorAxes.h"

namespace gatefold {
#define GEN_PASS_DEF_RAISEATTENTION
#include "passes/fuse/Passes.h.inc"
} // namespace gatefold

using namespace mlir;
using namespace gatefold;
using linalg::ContractOp;
using linalg::GenericOp;

static RankedTensorType tensorType(Value value) {
  return cast<RankedTensorType>(value.getType());
}

namespace {
/// Makes the attention that is planned.
class AttentionRaise {
public:
  AttentionRaise(WrittenAttention &plan, IRRewriter &rewriter)
      : plan(plan), rewriter(rewriter), loc(plan.getRoot().getLoc()) {}
  void raise();

private:
  Value arrange(const WrittenElement &operand, ArrayRef<int64_t> last);
  Value arrange(const WrittenNode &node);
  void makeRow(OpBuilder &builder, ValueRange arguments, Value keyCount);
  Value hideUnseen(OpBuilder &builder, Value weights, OpFoldResult keyCount);
  Value makeStep(OpBuilder &builder, const WrittenNode &step, Value query,
                 OpFoldResult keyCount);

  WrittenAttention &plan;
  IRRewriter &rewriter;
  Location loc;
  /// The region argument of each operand, and in the region the value of each
  /// node.
  SmallVector<unsigned> arguments;
  SmallVector<Value> made;
};
} // namespace

//===----------------------------------------------------------------------===//
// Operands
//===----------------------------------------------------------------------===//

/// The operand with its leading axes and the `last` ones in order, and 1 where
/// it lacks one; leading axes that it lacks at the front are left out.
Value AttentionRaise::arrange(const WrittenElement &operand,
                              ArrayRef<int64_t> last) {
  TensorAxes axes;
  for (AffineExpr place : operand.map.getResults()) {
    axes.emplace_back();
    if (auto dim = dyn_cast<AffineDimExpr>(place))
      axes.back().push_back(dim.getPosition());
  }
  unsigned leadRank = plan.getLeadRank();
  auto wanted = llvm::to_vector(llvm::seq<int64_t>(0, leadRank));
  llvm::append_range(wanted, last);
  return arrangeAxes(rewriter, loc, operand.value, axes, wanted, leadRank,
                     [](int64_t) { return ShapedType::kDynamic; });
}

/// How many dimensions of an operand a row has.
static int64_t rowRank(const WrittenNode &operand) {
  switch (operand.role) {
  case WrittenRole::QueryRow:
  case WrittenRole::Pair:
  case WrittenRole::Table:
    return 1;
  case WrittenRole::KeyRows:
    return 2;
  case WrittenRole::QueryNumber:
  case WrittenRole::Capture:
    return 0;
  }
  llvm_unreachable("unknown operand of an attention");
}

Value AttentionRaise::arrange(const WrittenNode &node) {
  int64_t query = plan.getQueryDim(), key = plan.getKeyDim(),
          row = plan.getRowDim();
  switch (node.role) {
  case WrittenRole::QueryRow:
    return arrange(node.element, {query, row});
  case WrittenRole::QueryNumber:
    return arrange(node.element, {query});
  case WrittenRole::KeyRows:
    return arrange(node.element, {key, row});
  case WrittenRole::Pair:
    return arrange(node.element, {query, key});
  case WrittenRole::Capture:
    return arrange(node.element, {});
  case WrittenRole::Table:
    return arrange(node.element, {row});
  }
  llvm_unreachable("unknown operand of an attention");
}

//===----------------------------------------------------------------------===//
// The row
//===----------------------------------------------------------------------===//

static RankedTensorType rowType(OpFoldResult keyCount, Type element) {
  return RankedTensorType::get(
      getConstantIntValue(keyCount).value_or(ShapedType::kDynamic), element);
}

/// The step for one query: for each key, or once.
Value AttentionRaise::makeStep(OpBuilder &builder, const WrittenNode &step,
                               Value query, OpFoldResult keyCount) {
  auto whole = cast<GenericOp>(step.op);
  Location at = whole.getLoc();
  SmallVector<OpFoldResult> sizes;
  SmallVector<utils::IteratorType> iterators;
  if (step.isAlongKeys) {
    sizes.push_back(keyCount);
    iterators.push_back(utils::IteratorType::parallel);
  }
  unsigned loops = sizes.size();
  AffineMap asOne = AffineMap::get(loops, 0, builder.getContext()),
            alongKeys = builder.getMultiDimIdentityMap(loops);
  // A number is no operand.
  IRMapping mapping;
  SmallVector<Value> inputs;
  SmallVector<AffineMap> maps;
  SmallVector<BlockArgument> elements;
  unsigned inputCount = whole.getNumDpsInputs();
  for (unsigned number = 0; number < inputCount; ++number) {
    unsigned node = step.inputs[number];
    BlockArgument element = whole.getBody()->getArgument(number);
    if (plan.getNodes()[node].kind == WrittenNode::Number) {
      mapping.map(element, made[node]);
      continue;
    }
    inputs.push_back(made[node]);
    maps.push_back(plan.getNodes()[node].isAlongKeys ? alongKeys : asOne);
    elements.push_back(element);
  }
  maps.push_back(alongKeys);
  Value empty = tensor::EmptyOp::create(
      builder, at, sizes, tensorType(whole.getResult(0)).getElementType());
  unsigned nextTable = inputCount;
  auto repeated = GenericOp::create(
      builder, at, TypeRange(empty.getType()), inputs, ValueRange(empty), maps,
      iterators, [&](OpBuilder &inner, Location, ValueRange values) {
        mapping.map(elements, values.drop_back());
        for (Operation &op : *whole.getBody()) {
          if (auto index = dyn_cast<linalg::IndexOp>(op)) {
            auto place = dyn_cast<AffineDimExpr>(step.loops[index.getDim()]);
            // A leading index says which table it is, which the row has.
            if (place && place.getPosition() < plan.getLeadRank())
              continue;
            mapping.map(
                index.getResult(),
                !place ? arith::ConstantIndexOp::create(inner, op.getLoc(), 0)
                             .getResult()
                : place.getPosition() == plan.getQueryDim()
                    ? query
                    : linalg::IndexOp::create(inner, op.getLoc(), 0)
                          .getResult());
            continue;
          }
          if (auto extract = dyn_cast<tensor::ExtractOp>(op)) {
            unsigned own = *findTableIndex(extract, [&](unsigned loop) {
              auto place = dyn_cast<AffineDimExpr>(step.loops[loop]);
              return place && place.getPosition() < plan.getLeadRank();
            });
            mapping.map(extract.getResult(),
                        tensor::ExtractOp::create(
                            inner, op.getLoc(), made[step.inputs[nextTable++]],
                            mapping.lookupOrDefault(extract.getIndices()[own]))
                            .getResult());
            continue;
          }
          inner.clone(op, mapping);
        }
      });
  return repeated.getResult(0);
}

/// Weights that no softmax makes 0 where a key is not seen. All keys are, but a
/// block of them may end behind the last one.
Value AttentionRaise::hideUnseen(OpBuilder &builder, Value weights,
                                 OpFoldResult keyCount) {
  Type element = plan.getElement();
  Value visible = RowVisibleOp::create(builder, loc,
                                       rowType(keyCount, builder.getI1Type()));
  Value empty = tensor::EmptyOp::create(builder, loc, {keyCount}, element);
  return GenericOp::create(
             builder, loc, TypeRange(empty.getType()),
             ValueRange{visible, weights}, ValueRange(empty),
             SmallVector<AffineMap>(3, builder.getMultiDimIdentityMap(1)),
             {utils::IteratorType::parallel},
             [&](OpBuilder &inner, Location, ValueRange elements) {
               Value none = arith::ConstantOp::create(
                   inner, loc, inner.getZeroAttr(element));
               Value weight = arith::SelectOp::create(inner, loc, elements[0],
                                                      elements[1], none);
               linalg::YieldOp::create(inner, loc, weight);
             })
      .getResult(0);
}

void AttentionRaise::makeRow(OpBuilder &builder, ValueRange rowArguments,
                             Value keyCount) {
  int64_t staticCount = plan.getKeyCount();
  OpFoldResult count = ShapedType::isDynamic(staticCount)
                           ? OpFoldResult(keyCount)
                           : OpFoldResult(builder.getIndexAttr(staticCount));
  Value query = rowArguments.drop_back().back();
  RankedTensorType type = rowType(count, plan.getElement());
  for (auto [number, node] : llvm::enumerate(plan.getNodes())) {
    switch (node.kind) {
    case WrittenNode::Operand:
      made.push_back(rowArguments[arguments[number]]);
      break;
    case WrittenNode::Number: {
      Value scalar = node.element.value;
      DenseElementsAttr splat;
      if (isa<ShapedType>(scalar.getType()) &&
          matchPattern(scalar, m_Constant(&splat)))
        scalar = arith::ConstantOp::create(
            builder, loc, cast<TypedAttr>(splat.getSplatValue<Attribute>()));
      made.push_back(scalar);
      break;
    }
    case WrittenNode::Product:
      made.push_back(RowScoresOp::create(builder, node.op->getLoc(), type,
                                         made[node.inputs[0]],
                                         made[node.inputs[1]]));
      break;
    case WrittenNode::Softmax:
      made.push_back(RowSoftmaxOp::create(builder, node.op->getLoc(),
                                          made[node.inputs[0]],
                                          /*where=*/Value(), /*sink=*/Value())
                         .getResult());
      break;
    case WrittenNode::Step:
      made.push_back(makeStep(builder, node, query, count));
      break;
    }
  }
  Value weights = made[plan.getWeights()], values = made[plan.getValues()];
  if (!plan.hasSoftmax())
    weights = hideUnseen(builder, weights, count);
  Value row = RowValuesOp::create(
      builder, loc,
      RankedTensorType::get(tensorType(values).getDimSize(1),
                            plan.getElement()),
      weights, values);
  YieldOp::create(builder, loc, row);
}

void AttentionRaise::raise() {
  ContractOp root = plan.getRoot();
  rewriter.setInsertionPoint(root);
  SmallVector<Value> tensors[4];
  SmallVector<Type> bodyTypes;
  arguments.resize(plan.getNodes().size());
  auto add = [&](ArrayRef<WrittenRole> roles, SmallVector<Value> &operands) {
    for (auto [number, node] : llvm::enumerate(plan.getNodes())) {
      if (node.kind != WrittenNode::Operand ||
          !llvm::is_contained(roles, node.role))
        continue;
      arguments[number] = bodyTypes.size();
      operands.push_back(arrange(node));
      RankedTensorType type = tensorType(operands.back());
      bodyTypes.push_back(RankedTensorType::get(
          type.getShape().take_back(rowRank(node)), type.getElementType()));
    }
  };
  add({WrittenRole::QueryRow, WrittenRole::QueryNumber}, tensors[0]);
  add({WrittenRole::KeyRows}, tensors[1]);
  add({WrittenRole::Pair}, tensors[2]);
  add({WrittenRole::Capture, WrittenRole::Table}, tensors[3]);

  Value keys = tensors[1].front();
  Value keyCount = rewriter.createOrFold<tensor::DimOp>(
      loc, keys, tensorType(keys).getRank() - 2);
  // The axes of the result in the order of the frame.
  SmallVector<int64_t> order;
  for (unsigned dim = 0; dim <= plan.getRowDim(); ++dim)
    if (auto *found = llvm::find(plan.getResultDims(), dim);
        found != plan.getResultDims().end())
      order.push_back(found - plan.getResultDims().begin());
  RankedTensorType type = tensorType(root.getResult(0));
  Type arranged = RankedTensorType::get(
      applyPermutation(type.getShape(), order), type.getElementType());
  auto attention = AttentionOp::create(
      rewriter, loc, arranged, tensors[0], tensors[1], tensors[2], tensors[3],
      bodyTypes, [&](OpBuilder &builder, Location, ValueRange arguments) {
        makeRow(builder, arguments, keyCount);
      });
  Value result = attention.getResult(0);
  if (!llvm::is_sorted(order)) {
    // The permutation back.
    Value empty = root.getOutputs()[0].getDefiningOp()->getOperand(1);
    result = linalg::TransposeOp::create(rewriter, loc, result, empty,
                                         invertPermutationVector(order))
                 ->getResult(0);
  }
  rewriter.replaceOp(root, result);
  for (Operation *op : llvm::reverse(plan.getCovered()))
    if (op->use_empty())
      rewriter.eraseOp(op);
}

namespace {
struct RaiseAttention : gatefold::impl::RaiseAttentionBase<RaiseAttention> {
  void runOnOperation() override;
};
} // namespace

void RaiseAttention::runOnOperation() {
  auto options = remark::RemarkOpts::name("written-attention")
                     .category("gf-raise-attention");
  auto refuse = [&](Location at, const char *reason) {
    remark::missed(at, options)
        << (std::string("attention stays written out: ") + reason);
  };
  std::deque<WrittenAttention> all;
  SmallVector<const WrittenAttention *> raised;
  getOperation().walk([&](ContractOp op) {
    WrittenAttention attention(op);
    if (!attention.find())
      return;
    if (const char *reason = attention.plan())
      return refuse(op.getLoc(), reason);
    all.push_back(std::move(attention));
  });
  for (WrittenAttention &attention : all)
    raised.push_back(&attention);
  // One that stays may read what another one takes in.
  for (unsigned next = 0; next < raised.size();) {
    const char *reason = raised[next]->findOtherReader(raised);
    if (!reason) {
      ++next;
      continue;
    }
    refuse(raised[next]->getRoot().getLoc(), reason);
    raised.erase(raised.begin() + next);
    next = 0;
  }
  IRRewriter rewriter(&getContext());
  SmallVector<ContractOp> roots;
  for (const WrittenAttention *attention : raised)
    roots.push_back(attention->getRoot());
  for (ContractOp root : roots) {
    // Operands may be results of one before it.
    WrittenAttention attention(root);
    if (!attention.find() || attention.plan())
      continue;
    Location loc = root.getLoc();
    AttentionRaise(attention, rewriter).raise();
    ++attentionsRaised;
    remark::passed(loc, options)
        << "attention that was written out runs over tiles of keys";
  }
}
