// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- ImportElementwise.cpp - Elementwise nodes and broadcasts -----------===//

#include "frontend/text/Importer.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace gatefold::text;
using llvm::LogicalResult;
using llvm::success;
namespace linalg = mlir::linalg;
namespace tensor = mlir::tensor;

mlir::Value Importer::empty(const TensorType &type) {
  return tensor::EmptyOp::create(b, foldedShape(type),
                                 elementType(type.element));
}

mlir::Value Importer::filled(const TensorType &type, mlir::Value scalar) {
  return linalg::FillOp::create(b, scalar, empty(type)).getResult(0);
}

mlir::Value Importer::generic(const TensorType &result, mlir::ValueRange inputs,
                              llvm::ArrayRef<mlir::AffineMap> maps,
                              ScalarBody body) {
  mlir::RankedTensorType type = typeOf(result);
  Maps allMaps(maps);
  allMaps.push_back(b.getMultiDimIdentityMap(type.getRank()));
  llvm::SmallVector<mlir::utils::IteratorType> iterators(
      type.getRank(), mlir::utils::IteratorType::parallel);
  mlir::Value init = empty(result);
  auto operation = linalg::GenericOp::create(
      b, mlir::TypeRange(type), inputs, init, allMaps, iterators,
      [&](mlir::OpBuilder &nested, mlir::Location, mlir::ValueRange arguments) {
        mlir::OpBuilder::InsertionGuard guard(b);
        b.restoreInsertionPoint(nested.saveInsertionPoint());
        linalg::YieldOp::create(b, body(arguments.drop_back()));
      });
  return operation.getResult(0);
}

mlir::AffineMap Importer::broadcastMap(llvm::ArrayRef<Size> operand,
                                       llvm::ArrayRef<Size> result) {
  unsigned missing = result.size() - operand.size();
  unsigned loops = keptAxes(result).size();
  llvm::SmallVector<mlir::AffineExpr> indices;
  for (unsigned axis : keptAxes(operand)) {
    std::optional<unsigned> loop = axisOf(result, axis + missing);
    bool stretches = !loop || (resolve(operand[axis]).isConstant(1) &&
                               !resolve(result[axis + missing]).isConstant(1));
    indices.push_back(stretches ? b.getAffineConstantExpr(0)
                                : b.getAffineDimExpr(*loop));
  }
  return mlir::AffineMap::get(loops, 0, indices, &context);
}

mlir::Value Importer::broadcast(Value value, const TensorType &type) {
  if (isScalar(value))
    return filled(type, scalar(value));
  mlir::Value source = get(value);
  mlir::AffineMap map = broadcastMap(value.type().shape, type.shape);
  if (map.isIdentity())
    return cast(source, typeOf(type));
  return generic(type, source, map,
                 [](mlir::ValueRange elements) { return elements[0]; });
}

LogicalResult Importer::visit(const BroadcastNode &node) {
  define(node, broadcast(node.operands[0], node.results[0]));
  return success();
}

LogicalResult Importer::visit(const ElementwiseNode &node) {
  const TensorType &type = node.results[0];
  bool allScalars = llvm::all_of(
      node.operands, [&](Value operand) { return isScalar(operand); });
  if (allScalars && type.rank() == 0) {
    Values operands;
    for (Value operand : node.operands)
      operands.push_back(scalar(operand));
    scalars[&node] = scalarOperation(node, operands);
    return success();
  }

  Values inputs;
  Maps maps;
  for (Value operand : node.operands) {
    if (isScalar(operand))
      continue;
    inputs.push_back(get(operand));
    maps.push_back(broadcastMap(operand.type().shape, type.shape));
  }
  mlir::Value result =
      generic(type, inputs, maps, [&](mlir::ValueRange elements) {
        Values operands;
        for (Value operand : node.operands) {
          if (isScalar(operand)) {
            operands.push_back(scalar(operand));
          } else {
            operands.push_back(elements.front());
            elements = elements.drop_front();
          }
        }
        return scalarOperation(node, operands);
      });
  define(node, result);
  return success();
}
