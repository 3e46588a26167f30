// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- ImportGather.cpp - Nodes that use computed indices -----------------===//

#include "frontend/text/Importer.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace gatefold::text;
using llvm::LogicalResult;
using llvm::success;
namespace arith = mlir::arith;
namespace linalg = mlir::linalg;
namespace tensor = mlir::tensor;

LogicalResult Importer::visit(const IotaNode &node) {
  const TensorType &type = node.results[0];
  if (typeOf(type).getRank() == 0)
    return refuseQueries(node, "`arange` over");
  define(node, generic(type, {}, {}, [&](mlir::ValueRange) -> mlir::Value {
           return arith::IndexCastOp::create(b, elementType(type.element),
                                             linalg::IndexOp::create(b, 0));
         }));
  return success();
}

LogicalResult Importer::visit(const FlipNode &node) {
  const TensorType &type = node.results[0];
  std::optional<unsigned> axis = axisOf(type.shape, node.axis);
  if (!axis)
    return refuseQueries(node, "a flip of");
  mlir::Value source = get(node.operands[0]);
  mlir::Value last = arith::SubIOp::create(b, sizeValue(type.shape[node.axis]),
                                           indexNumber(1));
  define(node, generic(type, {}, {}, [&](mlir::ValueRange) -> mlir::Value {
           Values indices;
           for (unsigned i = 0; i < typeOf(type).getRank(); ++i)
             indices.push_back(linalg::IndexOp::create(b, i));
           indices[*axis] = arith::SubIOp::create(b, last, indices[*axis]);
           return tensor::ExtractOp::create(b, source, indices);
         }));
  return success();
}

bool Importer::coversIota(const Node &node, Value indices, const Size &bound) {
  while (llvm::is_contained({Node::Kind::Reshape, Node::Kind::Permute,
                             Node::Kind::Broadcast, Node::Kind::Flip},
                            indices.node->kind))
    indices = indices.node->operands[0];
  if (indices.node->kind != Node::Kind::Iota)
    return false;
  Size count = resolve(indices.type().shape[0]), rows = resolve(bound);
  std::optional<Size> larger = Size::maximum(count, rows);
  mlir::AffineExpr left = larger ? affineSize(*larger) : mlir::AffineExpr();
  mlir::AffineExpr right = affineSize(rows);
  if (!left || !right)
    return false;
  equalities.push_back(mlir::AffineMapAttr::get(affineMap({left, right})));
  equalityMessages.push_back(b.getStringAttr(failureAt(
      node, "`arange(" + count.str() + ")` counts beyond a table of " +
                rows.str() + " rows")));
  return true;
}

LogicalResult Importer::visit(const TakeNode &node) {
  const TensorType &type = node.results[0];
  Value table = node.operands[0], indices = node.operands[1];
  llvm::ArrayRef<Size> tableShape = table.type().shape;
  if (keptAxes(tableShape).size() != tableShape.size())
    return refuseQueries(node, "a table of");
  bool isChecked = !isBounded(indices, tableShape[0], /*inclusive=*/false) &&
                   !coversIota(node, indices, tableShape[0]);

  mlir::Value source = get(table), last;
  if (isChecked) {
    Size rows = resolve(tableShape[0]);
    std::optional<Size> most = Size::subtract(rows, Size(1));
    if (!most)
      return refuse(node, "a table of " + rows.str() + " rows",
                    "give its size: `--dim NAME=SIZE`");
    failOutside(node, get(indices), indices.type().shape, *most,
                "an index that the run computed lies outside its table of " +
                    rows.str() + " rows");
    last = sizeValue(*most);
  }
  unsigned leadRank = typeOf(indices).getRank();
  unsigned rank = typeOf(type).getRank();
  mlir::AffineMap map = leadingMap(rank, leadRank);
  bool mayBeEmpty = isChecked && !isAtLeast(tableShape[0], 1);
  mlir::Value isThere;
  if (mayBeEmpty)
    isThere = arith::CmpIOp::create(b, arith::CmpIPredicate::sge, last,
                                    indexNumber(0));
  auto body = [&](mlir::ValueRange elements) -> mlir::Value {
    Values places = {
        arith::IndexCastOp::create(b, b.getIndexType(), elements[0])};
    // No memory but the table's is read, even if this comes before the run
    // ends.
    if (isChecked)
      places[0] = clampTo(places[0], last);
    for (unsigned i = leadRank; i < rank; ++i)
      places.push_back(linalg::IndexOp::create(b, i));
    auto read = [&]() -> mlir::Value {
      return tensor::ExtractOp::create(b, source, places);
    };
    return mayBeEmpty ? orZero(isThere, type.element, read) : read();
  };
  define(node, generic(type, get(indices), map, body));
  return success();
}

mlir::Value Importer::orZero(mlir::Value condition, Element element,
                             llvm::function_ref<mlir::Value()> make) {
  mlir::Type type = elementType(element);
  auto choice = mlir::scf::IfOp::create(b, mlir::TypeRange(type), condition,
                                        /*withElseRegion=*/true);
  mlir::OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(choice.thenBlock());
  mlir::scf::YieldOp::create(b, make());
  b.setInsertionPointToStart(choice.elseBlock());
  mlir::scf::YieldOp::create(b, number(type, 0));
  return choice.getResult(0);
}

LogicalResult Importer::visit(const AppendNode &node) {
  const TensorType &type = node.results[0];
  Value rows = node.operands[1], start = node.operands[2];
  std::optional<Size> last =
      Size::subtract(type.shape[node.axis], rows.type().shape[node.axis]);
  // A place that is known was compared with the capacity as a size.
  bool isChecked =
      !knownSize(start) && !(last && isBounded(start, *last, true));
  mlir::Value most;
  if (isChecked) {
    if (!last)
      return refuse(node, "a capacity of " + type.shape[node.axis].str(),
                    "give its size: `--dim NAME=SIZE`");
    Size final = resolve(*last);
    failOutside(node, get(start), start.type().shape, final,
                "`append`: a place that the run computed leaves no room for " +
                    resolve(rows.type().shape[node.axis]).str() +
                    " rows in a capacity of " +
                    resolve(type.shape[node.axis]).str());
    most = sizeValue(final);
  }

  mlir::Value whole = get(node.operands[0]), source = get(rows);
  // A slice of nothing would have no place in it to begin at.
  if (llvm::any_of(rows.type().shape, [&](const Size &size) {
        return resolve(size).isConstant(0);
      })) {
    define(node, whole);
    return success();
  }

  // Each index of the first dimensions has a place of its own.
  if (node.rounds)
    source = generic(rows.type(), source, b.getMultiDimIdentityMap(type.rank()),
                     [&](mlir::ValueRange elements) {
                       mlir::Value wide = convert(elements[0], type.element,
                                                  Element::F32, false);
                       return convert(wide, Element::F32, type.element, true);
                     });
  mlir::Value places = isScalar(start) ? mlir::Value() : get(start);
  unsigned placeRank = start.type().rank(), rank = type.rank();
  llvm::SmallVector<mlir::OpFoldResult> sizes = foldedShape(rows.type());
  llvm::SmallVector<mlir::OpFoldResult> ones(rank, b.getIndexAttr(1));
  llvm::SmallVector<mlir::OpFoldResult> from(rank, b.getIndexAttr(0));
  Values loopIndices;
  auto insert = [&](auto &&self, mlir::Value into) -> mlir::Value {
    unsigned depth = loopIndices.size();
    if (depth < placeRank) {
      auto loop = mlir::scf::ForOp::create(b, indexNumber(0),
                                           sizeValue(type.shape[depth]),
                                           indexNumber(1), into);
      mlir::OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToEnd(loop.getBody());
      loopIndices.push_back(loop.getInductionVar());
      from[depth] = loop.getInductionVar();
      sizes[depth] = b.getIndexAttr(1);
      mlir::Value made = self(self, loop.getRegionIterArg(0));
      mlir::scf::YieldOp::create(b, made);
      return loop.getResult(0);
    }
    mlir::Value place =
        places ? tensor::ExtractOp::create(b, places, loopIndices).getResult()
               : scalar(start);
    place = arith::IndexCastOp::create(b, b.getIndexType(), place);
    // No memory but that of `whole` is written, even if the run fails.
    if (isChecked)
      place = clampTo(place, most);
    llvm::SmallVector<mlir::OpFoldResult> to(from);
    to[node.axis] = place;
    mlir::Value part = source;
    if (placeRank)
      part = tensor::ExtractSliceOp::create(b, source, from, sizes, ones);
    return tensor::InsertSliceOp::create(b, part, into, to, sizes, ones);
  };
  define(node, insert(insert, whole));
  return success();
}

LogicalResult Importer::visit(const PadNode &node) {
  const TensorType &type = node.results[0];
  Value operand = node.operands[0];
  std::optional<unsigned> axis = axisOf(type.shape, node.axis);
  if (!axis)
    return refuseQueries(node, "a padding of");
  mlir::Value source = get(operand);
  if (!isAtLeast(node.left, 0) || !isAtLeast(node.right, 0))
    return refuse(node, "a padding that may be negative",
                  "`max(n, 0)` is none below 0");
  if (node.mode == PadMode::Zero) {
    define(node, padZero(source, *axis, foldedSize(node.left),
                         foldedSize(node.right), typeOf(type)));
    return success();
  }

  const Size &length = operand.type().shape[node.axis];
  mlir::Value size = sizeValue(length), left = sizeValue(node.left);
  mlir::Value zero = indexNumber(0), one = indexNumber(1);
  mlir::Value last = arith::SubIOp::create(b, size, one);
  // Reflections repeat with this period; one element is its own reflection.
  mlir::Value period = arith::MaxSIOp::create(
      b, arith::MulIOp::create(b, last, indexNumber(2)), one);
  mlir::Value isThere =
      arith::CmpIOp::create(b, arith::CmpIPredicate::sgt, size, zero);
  Values indices;
  auto read = [&]() -> mlir::Value {
    mlir::Value place = arith::SubIOp::create(b, indices[*axis], left);
    if (node.mode == PadMode::Edge) {
      place = arith::MaxSIOp::create(b, place, zero);
      place = arith::MinSIOp::create(b, place, last);
    } else {
      place = floorModulo(place, period);
      place = arith::MinSIOp::create(b, place,
                                     arith::SubIOp::create(b, period, place));
    }
    indices[*axis] = place;
    return tensor::ExtractOp::create(b, source, indices);
  };
  define(node, generic(type, {}, {}, [&](mlir::ValueRange) -> mlir::Value {
           for (unsigned i = 0; i < typeOf(type).getRank(); ++i)
             indices.push_back(linalg::IndexOp::create(b, i));
           if (isAtLeast(length, 1))
             return read();
           // There is nothing to repeat in an empty dimension.
           return orZero(isThere, type.element, read);
         }));
  return success();
}
