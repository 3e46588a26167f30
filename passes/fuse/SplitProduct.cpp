// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- SplitProduct.cpp - Products of concatenations, in parts ------------===//
//
// Splits a product at the seams of a concatenation.
//
//===----------------------------------------------------------------------===//

#include "passes/fuse/SplitProduct.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/Remarks.h"

using namespace mlir;
using namespace gatefold;

std::string gatefold::describeProduct(linalg::LinalgOp product) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  llvm::interleave(
      product.getDpsInputs(), stream,
      [&](Value input) {
        stream << '[';
        llvm::interleaveComma(
            cast<RankedTensorType>(input.getType()).getShape(), stream,
            [&](int64_t size) {
              if (ShapedType::isDynamic(size))
                stream << '?';
              else
                stream << size;
            });
        stream << ']';
      },
      " x ");
  return text;
}

namespace {
/// When a value is known.
enum class Known { BeforeAll, AtAllSteps, InStep };

/// Neighbours in a concatenation that are known at the same time.
struct Part {
  Known known;
  SmallVector<Value> values;
  int64_t offset, size;
};

/// One product over a concatenation.
class Splitting {
public:
  Splitting(RewriterBase &rewriter, RecurrenceOp recurrence, IsKnown isKnown,
            linalg::ContractOp product)
      : rewriter(rewriter), recurrence(recurrence), isKnown(isKnown),
        product(product) {}

  bool match();
  void apply();

private:
  bool findParts(tensor::ConcatOp concat);
  Value makePart(const Part &part);
  Value makeZero();
  Value add(Value left, Value right);

  RewriterBase &rewriter;
  RecurrenceOp recurrence;
  IsKnown isKnown;
  linalg::ContractOp product;
  /// Which operand is the concatenation, and where the dimension that is summed
  /// over stands in it and in the other operand.
  unsigned concatenated = 0;
  int64_t concatDim = 0, otherDim = 0;
  SmallVector<Part> parts;
};
} // namespace

bool Splitting::findParts(tensor::ConcatOp concat) {
  parts.clear();
  int64_t offset = 0;
  for (Value value : concat.getInputs()) {
    int64_t size =
        cast<RankedTensorType>(value.getType()).getDimSize(concat.getDim());
    if (ShapedType::isDynamic(size))
      return false;
    Known known = isSameAtEachStep(value, recurrence.getBody())
                      ? Known::BeforeAll
                  : isKnown(value) ? Known::AtAllSteps
                                   : Known::InStep;
    if (parts.empty() || parts.back().known != known)
      parts.push_back({known, {}, offset, 0});
    parts.back().values.push_back(value);
    parts.back().size += size;
    offset += size;
  }
  return parts.size() > 1;
}

bool Splitting::match() {
  // The sums of the parts are added: both begin with nothing.
  auto fill = product.getOutputs()[0].getDefiningOp<linalg::FillOp>();
  if (!fill ||
      !(matchPattern(fill.value(), m_AnyZeroFloat()) ||
        matchPattern(fill.value(), m_Zero())) ||
      !isSameAtEachStep(fill.getResult(0), recurrence.getBody()))
    return false;
  SmallVector<AffineMap> maps = product.getIndexingMapsArray();
  SmallVector<utils::IteratorType> iterators = product.getIteratorTypesArray();
  for (concatenated = 0; concatenated < 2; ++concatenated) {
    auto concat =
        product.getInputs()[concatenated].getDefiningOp<tensor::ConcatOp>();
    Value other = product.getInputs()[1 - concatenated];
    if (!concat || !isSameAtEachStep(other, recurrence.getBody()))
      continue;
    concatDim = concat.getDim();
    AffineExpr summed = maps[concatenated].getResult(concatDim);
    auto dim = dyn_cast<AffineDimExpr>(summed);
    if (!dim || iterators[dim.getPosition()] != utils::IteratorType::reduction)
      continue;
    auto position = maps[1 - concatenated].getResultPosition(summed);
    if (!position)
      continue;
    otherDim = *position;
    if (findParts(concat))
      return true;
  }
  return false;
}

Value Splitting::makeZero() {
  return makeAnew(rewriter, product.getOutputs()[0], recurrence.getBody());
}

/// The product of one part with its slice of the other operand.
Value Splitting::makePart(const Part &part) {
  Location loc = product.getLoc();
  OpBuilder::InsertionGuard guard(rewriter);
  rewriter.setInsertionPoint(recurrence);
  Value other = makeAnew(rewriter, product.getInputs()[1 - concatenated],
                         recurrence.getBody());
  SmallVector<OpFoldResult> sizes = tensor::getMixedSizes(rewriter, loc, other);
  SmallVector<OpFoldResult> offsets(sizes.size(), rewriter.getIndexAttr(0));
  SmallVector<OpFoldResult> strides(sizes.size(), rewriter.getIndexAttr(1));
  offsets[otherDim] = rewriter.getIndexAttr(part.offset);
  sizes[otherDim] = rewriter.getIndexAttr(part.size);
  Value slice = tensor::ExtractSliceOp::create(rewriter, loc, other, offsets,
                                               sizes, strides);
  Value init = product.getOutputs()[0];
  if (part.known == Known::BeforeAll)
    init = makeZero();
  else
    rewriter.setInsertionPoint(product);
  SmallVector<Value> values = part.values;
  if (part.known == Known::BeforeAll)
    for (Value &value : values)
      value = makeAnew(rewriter, value, recurrence.getBody());
  Value operand =
      values.size() == 1
          ? values[0]
          : tensor::ConcatOp::create(rewriter, loc, concatDim, values);
  SmallVector<Value> inputs(2);
  inputs[concatenated] = operand;
  inputs[1 - concatenated] = slice;
  auto result =
      linalg::ContractOp::create(rewriter, loc, TypeRange(init.getType()),
                                 inputs, init, product.getIndexingMaps());
  result.setCastAttr(product.getCastAttr());
  return result->getResult(0);
}

Value Splitting::add(Value left, Value right) {
  auto type = cast<RankedTensorType>(left.getType());
  // The fill's destination has the sizes; what it holds is not read.
  Value empty =
      product.getOutputs()[0].getDefiningOp<linalg::FillOp>().getOutputs()[0];
  AffineMap identity = rewriter.getMultiDimIdentityMap(type.getRank());
  SmallVector<AffineMap> maps(3, identity);
  SmallVector<utils::IteratorType> iterators(type.getRank(),
                                             utils::IteratorType::parallel);
  return linalg::GenericOp::create(
             rewriter, product.getLoc(), TypeRange(empty.getType()),
             ValueRange{left, right}, empty, maps, iterators,
             [&](OpBuilder &builder, Location loc, ValueRange values) {
               Value sum = isa<FloatType>(type.getElementType())
                               ? arith::AddFOp::create(builder, loc, values[0],
                                                       values[1])
                                     .getResult()
                               : arith::AddIOp::create(builder, loc, values[0],
                                                       values[1])
                                     .getResult();
               linalg::YieldOp::create(builder, loc, sum);
             })
      .getResult(0);
}

void Splitting::apply() {
  rewriter.setInsertionPoint(product);
  auto remark = remark::passed(
      product.getLoc(),
      remark::RemarkOpts::name("split").category("gf-hoist-input-projection"));
  if (remark) {
    int64_t known = 0, total = 0;
    for (const Part &part : parts) {
      total += part.size;
      known += part.known == Known::InStep ? 0 : part.size;
    }
    remark << (Twine("product split at a concatenation: ") + Twine(known) +
               " of " + Twine(total) + " terms are known before the step")
                  .str();
  }
  Value sum;
  for (const Part &part : parts) {
    Value value = makePart(part);
    sum = sum ? add(sum, value) : value;
  }
  rewriter.replaceOp(product, sum);
}

unsigned gatefold::splitProducts(RewriterBase &rewriter,
                                 RecurrenceOp recurrence, IsKnown isKnown) {
  SmallVector<linalg::ContractOp> products(
      recurrence.getBody().getOps<linalg::ContractOp>());
  unsigned count = 0;
  for (linalg::ContractOp product : products) {
    Splitting splitting(rewriter, recurrence, isKnown, product);
    if (!splitting.match())
      continue;
    splitting.apply();
    ++count;
  }
  return count;
}
