// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- ImportContract.cpp - Sums of products ------------------------------===//

#include "frontend/text/Importer.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace gatefold::text;
using llvm::LogicalResult;
using llvm::success;
using mlir::utils::IteratorType;
namespace arith = mlir::arith;
namespace linalg = mlir::linalg;

mlir::Value Importer::dropUnlabelled(Value value,
                                     llvm::ArrayRef<int64_t> labels,
                                     llvm::SmallVectorImpl<int64_t> &kept) {
  Shape from, to;
  for (unsigned axis : keptAxes(value.type().shape)) {
    from.push_back(value.type().shape[axis]);
    if (labels[axis] < 0)
      continue;
    to.push_back(value.type().shape[axis]);
    kept.push_back(labels[axis]);
  }
  return reshape(get(value), from, to);
}

/// acc + x * y
static mlir::Value multiplyAdd(mlir::OpBuilder &builder,
                               mlir::Location location,
                               mlir::ValueRange operands) {
  if (llvm::isa<mlir::FloatType>(operands[2].getType())) {
    mlir::Value product =
        arith::MulFOp::create(builder, location, operands[0], operands[1]);
    return arith::AddFOp::create(builder, location, operands[2], product);
  }
  mlir::Value product =
      arith::MulIOp::create(builder, location, operands[0], operands[1]);
  return arith::AddIOp::create(builder, location, operands[2], product);
}

static void multiplyAddBody(mlir::OpBuilder &builder, mlir::Location location,
                            mlir::ValueRange operands) {
  linalg::YieldOp::create(builder, location,
                          multiplyAdd(builder, location, operands));
}

LogicalResult Importer::visit(const ContractNode &node) {
  const TensorType &type = node.results[0];
  // The axis T stands in the result if it stands in an operand.
  for (auto [operand, labels] :
       {std::pair(node.operands[0], llvm::ArrayRef(node.leftLabels)),
        std::pair(node.operands[1], llvm::ArrayRef(node.rightLabels))})
    for (auto [size, label] : llvm::zip(operand.type().shape, labels)) {
      const int64_t *place = llvm::find(node.resultLabels, label);
      bool inResult =
          place != node.resultLabels.end() &&
          isQueryAxis(type.shape[place - node.resultLabels.begin()]);
      if (isQueryAxis(size) && !inResult)
        return refuseQueries(node, "a sum over");
      // gf.row_values sums over the keys, and stops where they end.
      assert(
          (!isKeyAxis(size) || place != node.resultLabels.end() || label < 0) &&
          "only a map and its values have the keys in common");
    }

  llvm::SmallVector<int64_t> leftLabels, rightLabels, resultLabels, loops;
  mlir::Value left =
      dropUnlabelled(node.operands[0], node.leftLabels, leftLabels);
  mlir::Value right =
      dropUnlabelled(node.operands[1], node.rightLabels, rightLabels);
  TensorType labelled{type.element, {}};
  for (unsigned axis : keptAxes(type.shape))
    if (node.resultLabels[axis] >= 0) {
      labelled.shape.push_back(type.shape[axis]);
      resultLabels.push_back(node.resultLabels[axis]);
    }

  // Loops over the result first, then those of the sum, in order.
  loops = resultLabels;
  llvm::SmallVector<IteratorType> iterators(loops.size(),
                                            IteratorType::parallel);
  bool isContraction = true;
  for (llvm::ArrayRef<int64_t> labels : {llvm::ArrayRef<int64_t>(leftLabels),
                                         llvm::ArrayRef<int64_t>(rightLabels)})
    for (int64_t label : labels) {
      bool isSummed = !llvm::is_contained(resultLabels, label);
      isContraction &= !isSummed || (llvm::is_contained(leftLabels, label) &&
                                     llvm::is_contained(rightLabels, label));
      if (llvm::is_contained(loops, label))
        continue;
      loops.push_back(label);
      iterators.push_back(IteratorType::reduction);
    }
  auto map = [&](llvm::ArrayRef<int64_t> labels) {
    llvm::SmallVector<mlir::AffineExpr> indices;
    for (int64_t label : labels)
      indices.push_back(
          b.getAffineDimExpr(llvm::find(loops, label) - loops.begin()));
    return mlir::AffineMap::get(loops.size(), 0, indices, &context);
  };
  Maps maps = {map(leftLabels), map(rightLabels), map(resultLabels)};

  mlir::Value zero = filled(labelled, number(elementType(type.element), 0));
  auto isNothing = [&](mlir::Value operand) {
    return llvm::is_contained(
        llvm::cast<mlir::RankedTensorType>(operand.getType()).getShape(), 0);
  };
  mlir::Value result;
  if (isNothing(left) || isNothing(right)) // a sum of nothing
    result = zero;
  else if (isContraction)
    result = linalg::ContractOp::create(b, zero.getType(),
                                        mlir::ValueRange{left, right}, zero,
                                        b.getAffineMapArrayAttr(maps))
                 .getResult(0);
  else
    result = linalg::GenericOp::create(b, zero.getType(),
                                       mlir::ValueRange{left, right}, zero,
                                       maps, iterators, multiplyAddBody)
                 .getResult(0);
  define(node, reshape(result, labelled.shape, keptShape(type.shape)));
  return success();
}

LogicalResult Importer::visit(const ConvolutionNode &node) {
  const TensorType &type = node.results[0];
  Value input = node.operands[0], weight = node.operands[1];
  llvm::ArrayRef<Size> inputShape = input.type().shape;
  llvm::ArrayRef<Size> weightShape = weight.type().shape;
  llvm::ArrayRef<Size> lead = inputShape.drop_back(2);
  unsigned leadRank = lead.size();

  std::optional<Size> perGroup =
      Size::divideExactly(type.shape[leadRank], node.groups);
  std::optional<Size> padded = Size::add(inputShape.back(), 2 * node.padding);
  if (!perGroup || !padded || type.rank() != keptAxes(type.shape).size())
    return refuse(node,
                  "a convolution to " + type.shape[leadRank].str() +
                      " channels in " + llvm::Twine(node.groups) + " groups",
                  "give their number: `--dim NAME=SIZE`");

  mlir::Value x = get(input);
  TensorType paddedType = input.type();
  paddedType.shape.back() = *padded;
  if (node.padding != 0)
    x = padZero(x, leadRank + 1, b.getIndexAttr(node.padding),
                b.getIndexAttr(node.padding), typeOf(paddedType));

  // With groups, each of N and C is the pair (group, within the group).
  bool grouped = node.groups != 1;
  mlir::Value w = get(weight);
  TensorType resultType = type;
  if (grouped) {
    Shape shape(lead.begin(), lead.end());
    shape.append({Size(node.groups), weightShape[1], *padded});
    x = reshape(x, paddedType.shape, shape);
    w = reshape(w, weightShape,
                {Size(node.groups), *perGroup, weightShape[1], weightShape[2]});
    resultType.shape.assign(lead.begin(), lead.end());
    resultType.shape.append({Size(node.groups), *perGroup, type.shape.back()});
  }

  // Loops: lead, group, n, l, then the sum over c and k.
  unsigned groupRank = grouped ? 1 : 0;
  unsigned parallel = leadRank + groupRank + 2;
  auto loop = [&](unsigned number) { return b.getAffineDimExpr(number); };
  mlir::AffineExpr n = loop(parallel - 2), l = loop(parallel - 1),
                   c = loop(parallel), k = loop(parallel + 1);
  llvm::SmallVector<mlir::AffineExpr> inputIndices, weightIndices,
      resultIndices;
  for (unsigned i = 0; i < leadRank; ++i)
    inputIndices.push_back(loop(i));
  if (grouped) {
    inputIndices.push_back(loop(leadRank));
    weightIndices.push_back(loop(leadRank));
  }
  resultIndices = inputIndices;
  inputIndices.append({c, l * node.stride + k * node.dilation});
  weightIndices.append({n, c, k});
  resultIndices.append({n, l});
  auto map = [&](llvm::ArrayRef<mlir::AffineExpr> indices) {
    return mlir::AffineMap::get(parallel + 2, 0, indices, &context);
  };
  Maps maps = {map(inputIndices), map(weightIndices), map(resultIndices)};
  llvm::SmallVector<IteratorType> iterators(parallel, IteratorType::parallel);
  iterators.append(2, IteratorType::reduction);

  mlir::Value zero = filled(resultType, number(elementType(type.element), 0));
  mlir::Value result =
      linalg::GenericOp::create(b, zero.getType(), mlir::ValueRange{x, w}, zero,
                                maps, iterators, multiplyAddBody)
          .getResult(0);
  define(node, reshape(result, resultType.shape, type.shape));
  return success();
}
