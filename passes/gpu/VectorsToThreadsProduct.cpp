// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- VectorsToThreadsProduct.cpp - Products with mma.sync ---------------===//
//
// vector.contract as instructions of tensor cores: m16n8k16 of 16 bits, or
// m16n8k8 of the 19 bits of tf32. Of an f32 that is more than these, x = hi +
// lo, and a product is hi * hi + hi * lo + lo * hi.
//
//===----------------------------------------------------------------------===//

#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "passes/gpu/SharedTile.h"
#include "passes/gpu/VectorsToThreadsOperands.h"

using namespace mlir;
using namespace gatefold;

vector::TransferReadOp gatefold::getOperandRead(Value operand) {
  if (auto extension = operand.getDefiningOp<arith::ExtFOp>())
    operand = extension.getIn();
  return operand.getDefiningOp<vector::TransferReadOp>();
}

/// Whether products alone use the value, as factors.
static bool isFactorOnly(Value value) {
  return !value.use_empty() &&
         llvm::all_of(value.getUses(), [](OpOperand &use) {
           auto product = dyn_cast<vector::ContractionOp>(use.getOwner());
           return product && (use.getOperandNumber() < 2);
         });
}

bool gatefold::isOperandRead(Operation *op) {
  if (auto extension = dyn_cast<arith::ExtFOp>(op))
    return extension.getIn().getDefiningOp<vector::TransferReadOp>() &&
           isFactorOnly(extension);
  auto read = dyn_cast<vector::TransferReadOp>(op);
  return read && !read->use_empty() &&
         llvm::all_of(read->getUses(), [](OpOperand &use) {
           if (auto extension = dyn_cast<arith::ExtFOp>(use.getOwner()))
             return isFactorOnly(extension);
           return isa<vector::ContractionOp>(use.getOwner()) &&
                  use.getOperandNumber() < 2;
         });
}

//===----------------------------------------------------------------------===//
// Forms of elements
//===----------------------------------------------------------------------===//

static Value number(OpBuilder &builder, Location loc, int64_t value) {
  return arith::ConstantIntOp::create(builder, loc, builder.getI32Type(),
                                      value);
}

static Value buildPair(OpBuilder &builder, Location loc, Value first,
                       Value second) {
  Value pair =
      LLVM::PoisonOp::create(builder, loc, VectorType::get(2, first.getType()));
  pair = LLVM::InsertElementOp::create(builder, loc, pair, first,
                                       number(builder, loc, 0));
  return LLVM::InsertElementOp::create(builder, loc, pair, second,
                                       number(builder, loc, 1));
}

/// The number in f32 that was rounded to this one; null if none was.
static Value getRounded(Value value) {
  auto rounding = value.getDefiningOp<arith::TruncFOp>();
  return rounding && rounding.getIn().getType().isF32() ? rounding.getIn()
                                                        : Value();
}

/// A pair of 16 bits in a register (i32). Two that were rounded are rounded
/// together, which is one instruction.
static Value getPacked(OpBuilder &builder, Location loc,
                       const OperandPair &pair) {
  if (pair.packed)
    return pair.packed;
  Value both;
  Value first = getRounded(pair.first), second = getRounded(pair.second);
  if (first && second)
    both = arith::TruncFOp::create(builder, loc,
                                   VectorType::get(2, pair.first.getType()),
                                   buildPair(builder, loc, first, second));
  else
    both = buildPair(builder, loc, pair.first, pair.second);
  return LLVM::BitcastOp::create(builder, loc, builder.getI32Type(), both);
}

/// The two elements in f32, `element` is their type.
static std::pair<Value, Value> getFloats(OpBuilder &builder, Location loc,
                                         OperandPair pair, Type element) {
  if (pair.packed) {
    Value both = LLVM::BitcastOp::create(
        builder, loc, VectorType::get(2, element), pair.packed);
    pair.first = LLVM::ExtractElementOp::create(builder, loc, both,
                                                number(builder, loc, 0));
    pair.second = LLVM::ExtractElementOp::create(builder, loc, both,
                                                 number(builder, loc, 1));
  }
  auto extend = [&](Value value) -> Value {
    if (value.getType().isF32())
      return value;
    return arith::ExtFOp::create(builder, loc, builder.getF32Type(), value);
  };
  Value first = extend(pair.first);
  return {first, extend(pair.second)};
}

namespace {
/// An f32 as one or two numbers of tf32, in i32.
struct SplitFloat {
  Value high;
  /// Null if it is 0 or left out.
  Value low;
};
} // namespace

static Value roundToTf32(OpBuilder &builder, Location loc, Value value) {
  return NVVM::ConvertFloatToTF32Op::create(builder, loc, builder.getI32Type(),
                                            value, NVVM::FPRoundingMode::RNA,
                                            NVVM::SaturationMode::NONE, false);
}

/// One that is known to be a tf32, or whose low part is left out, has none.
static SplitFloat split(OpBuilder &builder, Location loc, Value value,
                        bool isExact, bool isShort) {
  if (isExact)
    return {LLVM::BitcastOp::create(builder, loc, builder.getI32Type(), value),
            {}};
  Value high = roundToTf32(builder, loc, value);
  if (isShort)
    return {high, {}};
  Value rest = arith::SubFOp::create(
      builder, loc, value,
      LLVM::BitcastOp::create(builder, loc, builder.getF32Type(), high));
  return {high, roundToTf32(builder, loc, rest)};
}

//===----------------------------------------------------------------------===//
// Product
//===----------------------------------------------------------------------===//

namespace {
using Accumulators = std::array<Value, 4>;

/// An operand of a product while it is lowered.
struct Operand {
  std::shared_ptr<OperandLoader> loader;
  /// Type of the elements that are loaded.
  Type element;
  /// Whether they have no more bits than a tf32.
  bool isExact;
};

class LowerProduct : public VectorPattern<vector::ContractionOp> {
public:
  using VectorPattern::VectorPattern;
  LogicalResult
  matchAndRewrite(vector::ContractionOp op, OneToNOpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override;

private:
  Operand makeOperand(vector::ContractionOp op, OperandRole role,
                      ValueRange values,
                      ConversionPatternRewriter &rewriter) const;
};

/// Adds the products of two squares to accumulators.
class SquareProduct {
public:
  SquareProduct(OpBuilder &builder, Location loc, Type element,
                const Operand &left, const Operand &right, bool isShort)
      : builder(builder), loc(loc), element(element), left(left), right(right),
        isShort(isShort) {}

  /// Registers of an operand: of each the high and the low part in tf32.
  using Registers = SmallVector<SplitFloat>;
  Registers getLeft(const OperandSquare &square) {
    return getRegisters(square, left, /*isLeft=*/true);
  }
  Registers getRight(ArrayRef<OperandPair> half) {
    return getRegisters(half, right, /*isLeft=*/false);
  }
  void add(Accumulators &sums, const Registers &a, const Registers &b);

private:
  Registers getRegisters(ArrayRef<OperandPair> pairs, const Operand &operand,
                         bool isLeft);
  void multiply(Accumulators &sums, ArrayRef<Value> a, ArrayRef<Value> b);

  OpBuilder &builder;
  Location loc;
  Type element;
  const Operand &left, &right;
  bool isShort;
};
} // namespace

/// In 16 bits a register holds a pair. In tf32 it holds an element: the first
/// of a pair stands for k = t of an instruction, the second for k = t + 4, in
/// both operands alike, so that sums are those of the same products.
SquareProduct::Registers
SquareProduct::getRegisters(ArrayRef<OperandPair> pairs, const Operand &operand,
                            bool isLeft) {
  Registers registers;
  if (!element.isF32()) {
    for (const OperandPair &pair : pairs)
      registers.push_back({getPacked(builder, loc, pair), {}});
    return registers;
  }
  // One instruction after the other: of A two pairs each, of B one.
  size_t step = isLeft ? 2 : 1;
  for (size_t begin = 0; begin < pairs.size(); begin += step) {
    SmallVector<std::pair<Value, Value>> floats;
    for (const OperandPair &pair : pairs.slice(begin, step))
      floats.push_back(getFloats(builder, loc, pair, operand.element));
    for (auto &[first, second] : floats)
      registers.push_back(split(builder, loc, first, operand.isExact, isShort));
    for (auto &[first, second] : floats)
      registers.push_back(
          split(builder, loc, second, operand.isExact, isShort));
  }
  return registers;
}

void SquareProduct::multiply(Accumulators &sums, ArrayRef<Value> a,
                             ArrayRef<Value> b) {
  Type f32 = builder.getF32Type();
  auto type = LLVM::LLVMStructType::getLiteral(builder.getContext(),
                                               {f32, f32, f32, f32});
  auto as = [&](ArrayRef<Value> values) {
    SmallVector<Value> result(values);
    // Upstream takes bf16 as words, f16 as vectors.
    if (element.isF16())
      for (Value &value : result)
        value = LLVM::BitcastOp::create(builder, loc,
                                        VectorType::get(2, element), value);
    return result;
  };
  NVVM::MMATypes kind = element.isF32()    ? NVVM::MMATypes::tf32
                        : element.isBF16() ? NVVM::MMATypes::bf16
                                           : NVVM::MMATypes::f16;
  std::array<NVVM::MMATypes, 2> kinds = {kind, kind};
  std::array<NVVM::MMALayout, 2> layouts = {NVVM::MMALayout::row,
                                            NVVM::MMALayout::col};
  Value result =
      NVVM::MmaOp::create(builder, loc, type, as(a), as(b), ValueRange(sums),
                          ArrayRef<int64_t>{16, 8, element.isF32() ? 8 : 16},
                          std::nullopt, std::nullopt, kinds, layouts);
  for (auto [i, sum] : llvm::enumerate(sums))
    sum = LLVM::ExtractValueOp::create(builder, loc, result, i);
}

void SquareProduct::add(Accumulators &sums, const Registers &a,
                        const Registers &b) {
  size_t leftCount = 4, rightCount = 2;
  for (size_t i = 0; i * leftCount < a.size(); ++i) {
    auto getParts = [&](const Registers &all, size_t count, bool isLow) {
      SmallVector<Value> parts;
      for (const SplitFloat &part :
           ArrayRef<SplitFloat>(all).slice(i * count, count))
        parts.push_back(isLow ? part.low : part.high);
      return parts;
    };
    SmallVector<Value> high = getParts(a, leftCount, false);
    SmallVector<Value> rightHigh = getParts(b, rightCount, false);
    // Small ones first.
    if (a[i * leftCount].low)
      multiply(sums, getParts(a, leftCount, true), rightHigh);
    if (b[i * rightCount].low)
      multiply(sums, high, getParts(b, rightCount, true));
    multiply(sums, high, rightHigh);
  }
}

/// Registers of what loops carry and of operands that are kept through them
/// together; an operand for which there is no room is loaded in each turn. The
/// others are for scores, for operands on their way, and for places.
static constexpr int64_t mostKeptRegisters = 100;

static bool isSixteenBits(Type type) { return type.isF16() || type.isBF16(); }

/// Whether something between the read and the product may write to the memory.
/// A tile in shared memory stays as it is for all that reads it.
static bool mayBeOverwritten(vector::TransferReadOp read, Operation *product) {
  if (succeeded(SharedTile::get(cast<MemRefType>(read.getBase().getType()))))
    return false;
  Operation *end = read->getBlock()->findAncestorOpInBlock(*product);
  for (Operation *op = read->getNextNode(); op != end; op = op->getNextNode())
    if (mightHaveEffect<MemoryEffects::Write>(op))
      return true;
  return end != product && mightHaveEffect<MemoryEffects::Write>(end);
}

/// Whether the operand is loaded where it is read, and not by each product.
static bool isKept(vector::TransferReadOp read, Operation *product,
                   int64_t squares, int64_t &registers) {
  if (mayBeOverwritten(read, product))
    return true;
  if (read->getBlock() == product->getBlock())
    return false;
  // Of 32 bits the parts that are multiplied are kept: they do not change.
  bool isNarrow = isSixteenBits(read.getVectorType().getElementType());
  int64_t needed = squares * (isNarrow ? 4 : 16);
  if (registers + needed > mostKeptRegisters)
    return false;
  registers += needed;
  return true;
}

Operand LowerProduct::makeOperand(vector::ContractionOp op, OperandRole role,
                                  ValueRange values,
                                  ConversionPatternRewriter &rewriter) const {
  bool isLeft = role == OperandRole::Left;
  Value value = isLeft ? op.getLhs() : op.getRhs();
  auto type = cast<VectorType>(value.getType());
  vector::TransferReadOp read = getOperandRead(value);
  if (isLeft && (!read || !isOperandRead(read))) {
    auto extension = value.getDefiningOp<arith::ExtFOp>();
    Type exact =
        getElementTypeOrSelf(extension ? extension.getIn().getType() : type);
    return {makeValuesLoader(function.place.getLayout(type), values),
            type.getElementType(), isSixteenBits(exact)};
  }
  // What stays where it is read, the loops around it may be new ones already.
  auto makeLoader = [&]() {
    SmallVector<Value> indices;
    for (Value index : read.getIndices())
      indices.push_back(rewriter.getRemappedValue(index));
    return makeMemoryLoader(rewriter, op.getLoc(), function, role, read,
                            rewriter.getRemappedValue(read.getBase()), indices);
  };
  Type element = read.getVectorType().getElementType();
  WarpGrid grid = function.place.getGrid();
  int64_t outer = type.getDimSize(role == OperandRole::RightColumns ? 1 : 0) /
                  (isLeft ? grid.rows : grid.columns);
  int64_t squaresOfK =
      type.getDimSize(role == OperandRole::RightColumns ? 0 : 1) / 16;
  int64_t squaresOfOuter = llvm::divideCeil(outer, 16);
  std::pair<Operation *, int> key(read, int(role));
  if (function.kept.count(key) == 0 &&
      !isKept(read, op, squaresOfOuter * squaresOfK, function.registers))
    return {makeLoader(), element, isSixteenBits(element)};
  std::shared_ptr<OperandLoader> &kept = function.kept[key];
  if (!kept) {
    OpBuilder::InsertionGuard guard(rewriter);
    rewriter.setInsertionPointAfter(read);
    kept =
        makeKeptLoader(rewriter, op.getLoc(), *makeLoader(), outer, squaresOfK);
  }
  return {kept, element, isSixteenBits(element)};
}

LogicalResult
LowerProduct::matchAndRewrite(vector::ContractionOp op, OneToNOpAdaptor adaptor,
                              ConversionPatternRewriter &rewriter) const {
  Location loc = op.getLoc();
  auto type = cast<VectorType>(op.getResultType());
  VectorLayout layout = function.place.getLayout(type);
  Type element = op.getLhsType().getElementType();
  AffineMap rightMap = op.getIndexingMapsArray()[1];
  bool hasRowsOfK = rightMap.getResult(0) == rewriter.getAffineDimExpr(2);
  Operand left = makeOperand(op, OperandRole::Left, adaptor.getLhs(), rewriter);
  Operand right = makeOperand(
      op, hasRowsOfK ? OperandRole::RightColumns : OperandRole::RightRows, {},
      rewriter);
  SmallVector<Value> sums(adaptor.getAcc());
  SquareProduct product(rewriter, loc, element, left, right,
                        function.hasFastProducts);
  int64_t rowTiles = layout.getRowTiles();
  int64_t columnTiles = layout.getColumnTiles();
  for (int64_t k = 0, end = op.getLhsType().getDimSize(1) / 16; k < end; ++k) {
    SmallVector<SquareProduct::Registers> rows;
    for (int64_t i = 0; i < rowTiles; ++i)
      rows.push_back(product.getLeft(
          left.loader->load(rewriter, loc, i, k, /*isHalf=*/false)));
    for (int64_t j = 0; j < columnTiles; j += 2) {
      bool isHalf = j + 1 == columnTiles;
      OperandSquare square =
          right.loader->load(rewriter, loc, j / 2, k, isHalf);
      for (int64_t half = 0; half < (isHalf ? 1 : 2); ++half) {
        SquareProduct::Registers columns =
            product.getRight(ArrayRef<OperandPair>(square).slice(2 * half, 2));
        for (int64_t i = 0; i < rowTiles; ++i) {
          int64_t first = layout.getIndex(2 * i, 2 * (j + half));
          int64_t second = layout.getIndex(2 * i + 1, 2 * (j + half));
          Accumulators part = {sums[first], sums[first + 1], sums[second],
                               sums[second + 1]};
          product.add(part, rows[i], columns);
          sums[first] = part[0];
          sums[first + 1] = part[1];
          sums[second] = part[2];
          sums[second + 1] = part[3];
        }
      }
    }
  }
  rewriter.replaceOpWithMultiple(op, {sums});
  return success();
}

void gatefold::populateProductPatterns(const VectorFunction &function,
                                       RewritePatternSet &patterns) {
  patterns.add<LowerProduct>(patterns.getContext(), function);
}
