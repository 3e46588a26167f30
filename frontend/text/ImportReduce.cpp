// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- ImportReduce.cpp - Reductions and softmax --------------------------===//

#include "dialect/GatefoldOps.h"
#include "frontend/text/Importer.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include <limits>

using namespace gatefold::text;
using llvm::failed;
using llvm::LogicalResult;
using llvm::success;
using mlir::utils::IteratorType;
namespace arith = mlir::arith;
namespace linalg = mlir::linalg;

/// The map of a reduced tensor over (the result's loops, the reduced one).
static mlir::AffineMap sourceMap(mlir::Builder &builder, unsigned rank,
                                 unsigned axis) {
  llvm::SmallVector<mlir::AffineExpr> indices;
  for (unsigned i = 0; i + 1 < rank; ++i)
    indices.push_back(builder.getAffineDimExpr(i));
  indices.insert(indices.begin() + axis, builder.getAffineDimExpr(rank - 1));
  return mlir::AffineMap::get(rank, 0, indices, builder.getContext());
}

/// The map of the result of that reduction.
static mlir::AffineMap resultMap(mlir::Builder &builder, unsigned rank) {
  return builder.getMultiDimIdentityMap(rank).dropResult(rank - 1);
}

mlir::Value Importer::reduce(mlir::Value source, unsigned axis,
                             mlir::Value initial, mlir::Value other,
                             mlir::AffineMap otherMap, ScalarBody body) {
  auto type = llvm::cast<mlir::RankedTensorType>(source.getType());
  unsigned rank = type.getRank();
  Values inputs = {source};
  Maps maps = {sourceMap(b, rank, axis)};
  if (other) {
    inputs.push_back(other);
    maps.push_back(otherMap);
  }
  maps.push_back(resultMap(b, rank));
  llvm::SmallVector<IteratorType> iterators(rank, IteratorType::parallel);
  iterators.back() = IteratorType::reduction;
  return linalg::GenericOp::create(
             b, initial.getType(), inputs, initial, maps, iterators,
             [&](mlir::OpBuilder &nested, mlir::Location,
                 mlir::ValueRange arguments) {
               mlir::OpBuilder::InsertionGuard guard(b);
               b.restoreInsertionPoint(nested.saveInsertionPoint());
               linalg::YieldOp::create(b, body(arguments));
             })
      .getResult(0);
}

/// The value that changes no maximum or minimum.
static mlir::TypedAttr extremeIdentity(mlir::Builder &builder, mlir::Type type,
                                       bool isMaximum) {
  double infinity = std::numeric_limits<double>::infinity();
  if (llvm::isa<mlir::FloatType>(type))
    return builder.getFloatAttr(type, isMaximum ? -infinity : infinity);
  unsigned width = type.getIntOrFloatBitWidth();
  return builder.getIntegerAttr(
      type, isMaximum ? llvm::APInt::getSignedMinValue(width)
                      : llvm::APInt::getSignedMaxValue(width));
}

mlir::Value Importer::isBefore(unsigned loop, mlir::Value length) {
  mlir::Value place = arith::IndexCastOp::create(
      b, length.getType(), linalg::IndexOp::create(b, loop));
  return arith::CmpIOp::create(b, arith::CmpIPredicate::slt, place, length);
}

LogicalResult Importer::visit(const ReduceNode &node) {
  Value source = node.operands[0];
  Value lengths = node.operands.size() > 1 ? node.operands[1] : Value();
  const TensorType &type = node.results[0];
  llvm::ArrayRef<Size> shape = source.type().shape;
  std::optional<unsigned> axis = axisOf(shape, node.axis);
  if (!axis)
    return refuseQueries(node, "a reduction over");
  Size count = shape[node.axis];
  mlir::Type element = elementType(type.element);
  static constexpr llvm::StringLiteral spellings[] = {"sum", "mean", "max",
                                                      "min", "argmax"};
  llvm::StringRef name = spellings[static_cast<unsigned>(node.reduce)];

  bool needsElements =
      node.reduce != ReduceKind::Sum && node.reduce != ReduceKind::Mean;
  mlir::Value counts;
  if (lengths) {
    counts = get(lengths);
    if (!isBounded(lengths, count, /*inclusive=*/true))
      counts = checkedLengths(node, counts, lengths.type().shape, count);
  }
  bool overKeys = isKeyAxis(count);
  if (overKeys && resolve(count).isConstant(0)) {
    define(node, filled(type, number(element, 0)));
    return success();
  }
  if (needsElements && !overKeys &&
      failed(requireElements(node, count, counts, name)))
    return llvm::failure();
  if (node.reduce == ReduceKind::ArgMaximum) {
    define(node, argMaximum(node, *axis, counts));
    return success();
  }

  bool isReal = isFloat(type.element);
  bool isExtreme =
      node.reduce == ReduceKind::Maximum || node.reduce == ReduceKind::Minimum;
  bool isMaximum = node.reduce == ReduceKind::Maximum;
  mlir::TypedAttr identity = isExtreme ? extremeIdentity(b, element, isMaximum)
                                       : numberAttribute(type.element, 0, 0);
  mlir::Value initial = filled(type, arith::ConstantOp::create(b, identity));
  auto combine = [&](mlir::Value x, mlir::Value y) -> mlir::Value {
    if (!isExtreme)
      return isReal ? mlir::Value(arith::AddFOp::create(b, y, x))
                    : mlir::Value(arith::AddIOp::create(b, y, x));
    if (isMaximum)
      return isReal ? mlir::Value(arith::MaximumFOp::create(b, y, x))
                    : mlir::Value(arith::MaxSIOp::create(b, y, x));
    return isReal ? mlir::Value(arith::MinimumFOp::create(b, y, x))
                  : mlir::Value(arith::MinSIOp::create(b, y, x));
  };

  unsigned rank = typeOf(source).getRank();
  mlir::Value other;
  mlir::AffineMap otherMap, lengthsMap;
  if (lengths) {
    other = counts;
    // Lengths have the dimensions before the axis, which lead the result's.
    unsigned before = typeOf(lengths).getRank();
    otherMap = leadingMap(rank, before);
    lengthsMap = leadingMap(rank - 1, before);
  } else if (overKeys && (other = reachedKeys(count))) {
    otherMap = mlir::AffineMap::get(rank, 0, b.getAffineDimExpr(rank - 1));
  }
  mlir::Value result = reduce(
      get(source), *axis, initial, other, otherMap,
      [&](mlir::ValueRange arguments) -> mlir::Value {
        mlir::Value x = arguments.front(), accumulator = arguments.back();
        if (other) {
          // What stands behind the length is not read, NaN included.
          mlir::Value counts =
              lengths ? isBefore(rank - 1, arguments[1]) : arguments[1];
          x = arith::SelectOp::create(b, counts, x,
                                      arith::ConstantOp::create(b, identity));
        }
        return combine(x, accumulator);
      });
  bool mayBeEmpty = isExtreme && overKeys && (other || !isAtLeast(count, 1));
  if (node.reduce != ReduceKind::Mean && !mayBeEmpty) {
    define(node, result);
    return success();
  }

  // The mean of nothing is 0, so that its sum is divided by 1.
  auto divisorOf = [&](mlir::Value elements) -> mlir::Value {
    elements =
        arith::MaxSIOp::create(b, elements, number(elements.getType(), 1));
    return arith::SIToFPOp::create(b, element, elements);
  };
  Values inputs = {result};
  Maps maps = {b.getMultiDimIdentityMap(rank - 1)};
  mlir::Value divisor, isEmpty;
  std::optional<int64_t> constant = resolve(count).constant();
  if (lengths) {
    inputs.push_back(other);
    maps.push_back(lengthsMap);
  } else if (!other && constant) {
    divisor = number(element, std::max<int64_t>(*constant, 1));
  } else {
    mlir::Value total =
        other ? countTrue(other)
              : arith::IndexCastOp::create(b, b.getI64Type(), sizeValue(count));
    if (isExtreme)
      isEmpty = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, total,
                                      number(total.getType(), 0));
    else
      divisor = divisorOf(total);
  }
  define(node, generic(type, inputs, maps,
                       [&](mlir::ValueRange arguments) -> mlir::Value {
                         // A row that no key reaches is 0.
                         if (isExtreme)
                           return arith::SelectOp::create(
                               b, isEmpty, number(element, 0), arguments[0]);
                         return arith::DivFOp::create(
                             b, arguments[0],
                             lengths ? divisorOf(arguments[1]) : divisor);
                       }));
  return success();
}

mlir::Value Importer::countTrue(mlir::Value row) {
  mlir::Value zero = filled({Element::I64, {}}, number(b.getI64Type(), 0));
  mlir::Value count = reduce(
      row, 0, zero, {}, {}, [&](mlir::ValueRange arguments) -> mlir::Value {
        mlir::Value step =
            arith::ExtUIOp::create(b, b.getI64Type(), arguments[0]);
        return arith::AddIOp::create(b, arguments[1], step);
      });
  return mlir::tensor::ExtractOp::create(b, count, mlir::ValueRange());
}

LogicalResult Importer::requireElements(const ReduceNode &node,
                                        const Size &count, mlir::Value lengths,
                                        llvm::StringRef name) {
  if (!lengths && resolve(count).isConstant(0)) {
    diagnostics.error(node.trace.place, name + " of nothing: dimension " +
                                            llvm::Twine(node.axis) + " of " +
                                            str(node.operands[0].type()) +
                                            " is 0");
    return llvm::failure();
  }
  if (!lengths && isAtLeast(count, 1))
    return success();

  // No results, no failure. A body that does not run has found nothing.
  std::string message = failureAt(node, name + " of no elements");
  llvm::ArrayRef<Size> shape = node.results[0].shape;
  Shape around;
  llvm::ArrayRef<Size> counted;
  if (lengths) {
    counted = node.operands[1].type().shape;
    llvm::append_range(around, shape.drop_front(counted.size()));
  } else {
    around = repetitions;
    llvm::append_range(around, shape);
  }
  Values results;
  for (const Size &size : around)
    if (!isAtLeast(size, 1))
      results.push_back(sizeValue(size));
  auto hasNone = [&](mlir::Value size, int64_t least) -> mlir::Value {
    return arith::CmpIOp::create(b, arith::CmpIPredicate::slt, size,
                                 number(size.getType(), least));
  };
  if (!lengths) {
    mlir::Value size = sizeValue(count);
    inPrologue([&] {
      mlir::Value holds = arith::CmpIOp::create(b, arith::CmpIPredicate::sge,
                                                size, indexNumber(1));
      for (mlir::Value result : results)
        holds = arith::OrIOp::create(b, holds, hasNone(result, 1));
      mlir::cf::AssertOp::create(b, holds, message);
      return holds;
    });
    return success();
  }

  mlir::Value wrong =
      generic({Element::Bool, Shape(counted)}, lengths,
              b.getMultiDimIdentityMap(keptAxes(counted).size()),
              [&](mlir::ValueRange elements) {
                mlir::Value isWrong = hasNone(elements[0], 1);
                for (mlir::Value result : results) {
                  mlir::Value hasSome = arith::CmpIOp::create(
                      b, arith::CmpIPredicate::sge, result, indexNumber(1));
                  isWrong = arith::AndIOp::create(b, isWrong, hasSome);
                }
                return isWrong;
              });
  failWhere(wrong, counted, message);
  return success();
}

mlir::Value Importer::reachedKeys(const Size &count) {
  if (!attention->lengths && !attention->causal && !attention->window)
    return {};
  return gatefold::RowVisibleOp::create(b, typeOf({Element::Bool, {count}}),
                                        /*any_query=*/true);
}

/// The first place of the largest; the first NaN, if there is one.
mlir::Value Importer::argMaximum(const ReduceNode &node, unsigned axis,
                                 mlir::Value lengths) {
  const TensorType &type = node.results[0];
  Value operand = node.operands[0];
  mlir::Value source = get(operand);
  mlir::Type element = elementType(operand.type().element);
  bool isReal = isFloat(operand.type().element);
  unsigned rank = typeOf(operand).getRank();
  TensorType largestType{operand.type().element, type.shape};
  mlir::Value largest =
      filled(largestType,
             arith::ConstantOp::create(b, extremeIdentity(b, element, true)));
  mlir::Value place = filled(type, number(elementType(type.element), 0));
  Values inputs = {source};
  Maps maps = {sourceMap(b, rank, axis)};
  if (lengths) {
    inputs.push_back(lengths);
    unsigned counted =
        llvm::cast<mlir::RankedTensorType>(lengths.getType()).getRank();
    maps.push_back(leadingMap(rank, counted));
  }
  maps.append(2, resultMap(b, rank));
  llvm::SmallVector<IteratorType> iterators(rank, IteratorType::parallel);
  iterators.back() = IteratorType::reduction;
  auto operation = linalg::GenericOp::create(
      b, mlir::TypeRange{largest.getType(), place.getType()}, inputs,
      mlir::ValueRange{largest, place}, maps, iterators,
      [&](mlir::OpBuilder &nested, mlir::Location, mlir::ValueRange arguments) {
        mlir::OpBuilder::InsertionGuard guard(b);
        b.restoreInsertionPoint(nested.saveInsertionPoint());
        mlir::Value x = arguments[0], best = arguments.drop_back().back();
        mlir::Value found = arguments.back(), better;
        if (isReal) {
          mlir::Value larger =
              arith::CmpFOp::create(b, arith::CmpFPredicate::OGT, x, best);
          mlir::Value isNaN =
              arith::CmpFOp::create(b, arith::CmpFPredicate::UNO, x, x);
          mlir::Value isFirst =
              arith::CmpFOp::create(b, arith::CmpFPredicate::ORD, best, best);
          better = arith::OrIOp::create(
              b, larger, arith::AndIOp::create(b, isNaN, isFirst));
        } else {
          better = arith::CmpIOp::create(b, arith::CmpIPredicate::sgt, x, best);
        }
        if (lengths)
          better = arith::AndIOp::create(b, better,
                                         isBefore(rank - 1, arguments[1]));
        mlir::Value here = arith::IndexCastOp::create(
            b, found.getType(), linalg::IndexOp::create(b, rank - 1));
        mlir::Value next[] = {arith::SelectOp::create(b, better, x, best),
                              arith::SelectOp::create(b, better, here, found)};
        linalg::YieldOp::create(b, next);
      });
  return operation.getResult(1);
}

/// exp(x - m) / sum exp(x - m) over the elements for which `where` holds, m the
/// largest of them; all 0 where there is none, or where each is -inf.
LogicalResult Importer::visit(const SoftmaxNode &node) {
  const TensorType &type = node.results[0];
  std::optional<unsigned> axis = axisOf(type.shape, node.axis);
  if (!axis)
    return refuseQueries(node, "a softmax over");
  mlir::Type element = elementType(type.element);
  mlir::Value x = broadcast(node.operands[0], type);
  unsigned rank = typeOf(type).getRank();
  TensorType rowType = type;
  rowType.shape.erase(rowType.shape.begin() + node.axis);
  mlir::AffineMap identityMap = b.getMultiDimIdentityMap(rank);
  mlir::AffineMap rowMap = identityMap.dropResult(*axis);
  mlir::Value infinity = arith::ConstantOp::create(
      b, extremeIdentity(b, element, /*isMaximum=*/true));
  mlir::Value zero = number(element, 0);

  if (node.operands.size() > 1) {
    Value where = node.operands[1];
    mlir::Value inputs[] = {x, get(where)};
    x = generic(type, inputs,
                {identityMap, broadcastMap(where.type().shape, type.shape)},
                [&](mlir::ValueRange arguments) -> mlir::Value {
                  return arith::SelectOp::create(b, arguments[1], arguments[0],
                                                 infinity);
                });
  }
  mlir::Value largest =
      reduce(x, *axis, filled(rowType, infinity), {}, {},
             [&](mlir::ValueRange arguments) -> mlir::Value {
               return arith::MaximumFOp::create(b, arguments[1], arguments[0]);
             });
  mlir::Value inputs[] = {x, largest};
  mlir::Value powers =
      generic(type, inputs, {identityMap, rowMap},
              [&](mlir::ValueRange arguments) -> mlir::Value {
                // -inf - -inf would be NaN.
                mlir::Value isEmpty = arith::CmpFOp::create(
                    b, arith::CmpFPredicate::OEQ, arguments[1], infinity);
                mlir::Value shift =
                    arith::SelectOp::create(b, isEmpty, zero, arguments[1]);
                return mlir::math::ExpOp::create(
                    b, arith::SubFOp::create(b, arguments[0], shift));
              });
  mlir::Value sum =
      reduce(powers, *axis, filled(rowType, zero), {}, {},
             [&](mlir::ValueRange arguments) -> mlir::Value {
               return arith::AddFOp::create(b, arguments[1], arguments[0]);
             });
  mlir::Value shares[] = {powers, sum};
  define(node, generic(type, shares, {identityMap, rowMap},
                       [&](mlir::ValueRange arguments) -> mlir::Value {
                         mlir::Value isEmpty = arith::CmpFOp::create(
                             b, arith::CmpFPredicate::OEQ, arguments[1], zero);
                         mlir::Value divisor = arith::SelectOp::create(
                             b, isEmpty, number(element, 1), arguments[1]);
                         return arith::DivFOp::create(b, arguments[0], divisor);
                       }));
  return success();
}
