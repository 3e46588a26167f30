// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- VectorsToThreadsOperands.cpp - Operands of products ----------------===//
//
// Loads squares of operands from where they are.
//
//===----------------------------------------------------------------------===//

#include "passes/gpu/VectorsToThreadsOperands.h"
#include "passes/gpu/SharedTile.h"

using namespace mlir;
using namespace gatefold;

OperandLoader::~OperandLoader() = default;

/// How far a pair lies behind the square's first one, along the outer dimension
/// and along k, in steps of 8.
static std::pair<int64_t, int64_t> getPairStep(OperandRole role, int64_t pair) {
  if (role == OperandRole::Left)
    return {pair % 2, pair / 2};
  return {pair / 2, pair % 2};
}

static Value number(OpBuilder &builder, Location loc, int64_t value) {
  return arith::ConstantIntOp::create(builder, loc, builder.getI32Type(),
                                      value);
}

static Value plus(OpBuilder &builder, Location loc, Value value, int64_t step) {
  if (step == 0)
    return value;
  return arith::AddIOp::create(builder, loc, value, number(builder, loc, step));
}

/// Where the warp's part of the operand begins along its outer dimension.
static Value getOuterStart(OpBuilder &builder, Location loc,
                           const VectorFunction &function, OperandRole role,
                           VectorType type) {
  const ThreadPlace &place = function.place;
  bool isLeft = role == OperandRole::Left;
  int64_t length = type.getDimSize(role == OperandRole::RightColumns ? 1 : 0);
  int64_t warps = isLeft ? place.getGrid().rows : place.getGrid().columns;
  if (warps == 1)
    return {};
  return arith::MulIOp::create(
      builder, loc, isLeft ? place.getWarpRow() : place.getWarpColumn(),
      number(builder, loc, length / warps));
}

/// The terms of the product that the warp has.
static int64_t countTerms(const VectorFunction &function, OperandRole role,
                          VectorType type) {
  return type.getDimSize(role == OperandRole::RightColumns ? 0 : 1) /
         function.place.getGrid().terms;
}

/// Where they begin, along k; null if it has all.
static Value getTermStart(OpBuilder &builder, Location loc,
                          const VectorFunction &function, OperandRole role,
                          VectorType type) {
  const ThreadPlace &place = function.place;
  if (place.getGrid().terms == 1)
    return {};
  return arith::MulIOp::create(
      builder, loc, place.getWarpTerm(),
      number(builder, loc, countTerms(function, role, type)));
}

//===----------------------------------------------------------------------===//
// Shared memory
//===----------------------------------------------------------------------===//

namespace {
/// A tile in shared memory. Of 16 bits one ldmatrix loads a square; where k are
/// rows it transposes it. Of 32 bits each lane loads its pairs.
class SharedLoader : public OperandLoader {
public:
  SharedLoader(OpBuilder &builder, Location loc, const VectorFunction &function,
               OperandRole role, vector::TransferReadOp read, Value memory,
               ValueRange indices);
  OperandSquare load(OpBuilder &builder, Location loc, int64_t outer, int64_t k,
                     bool isHalf) override;

private:
  Value getPointer(OpBuilder &builder, Location loc, int64_t outer, int64_t k);
  OperandSquare loadMatrices(OpBuilder &builder, Location loc, int64_t outer,
                             int64_t k, bool isHalf);
  OperandPair loadWords(OpBuilder &builder, Location loc, int64_t outer,
                        int64_t k);

  OperandRole role;
  Type element;
  SharedTile tile;
  Value base;
  /// The row and column of the tile that this lane names or loads first; all
  /// others are constant steps away.
  Value row, column;
  /// The place of these; null if steps must be computed one by one, since they
  /// do not begin where the tile's chunks do.
  Value offset;
};
} // namespace

SharedLoader::SharedLoader(OpBuilder &builder, Location loc,
                           const VectorFunction &function, OperandRole role,
                           vector::TransferReadOp read, Value memory,
                           ValueRange indices)
    : role(role), element(read.getVectorType().getElementType()),
      tile(*SharedTile::get(cast<MemRefType>(memory.getType()))),
      base(SharedTile::buildBase(builder, loc, memory)) {
  Type i32 = builder.getI32Type();
  const ThreadPlace &place = function.place;
  bool isMatrix = element.getIntOrFloatBitWidth() == 16;
  bool hasColumnsOfK = role != OperandRole::RightColumns;
  if (isMatrix) {
    // A lane names a row: 0 to 15 by its number, or by its place among those of
    // the first and the third matrix.
    Value lane = place.getLane();
    Value low =
        arith::AndIOp::create(builder, loc, lane, number(builder, loc, 7));
    auto bit = [&](int64_t which) -> Value {
      Value shifted = arith::ShRUIOp::create(builder, loc, lane,
                                             number(builder, loc, which));
      Value masked =
          arith::AndIOp::create(builder, loc, shifted, number(builder, loc, 1));
      return arith::MulIOp::create(builder, loc, masked,
                                   number(builder, loc, 8));
    };
    bool isAcross = role == OperandRole::RightRows;
    row = arith::AddIOp::create(builder, loc, low, bit(isAcross ? 4 : 3));
    column = bit(isAcross ? 3 : 4);
  } else {
    Value pair = arith::MulIOp::create(builder, loc, place.getInQuad(),
                                       number(builder, loc, 2));
    row = hasColumnsOfK ? place.getQuad() : pair;
    column = hasColumnsOfK ? pair : place.getQuad();
  }
  bool isAligned = true;
  auto add = [&](Value &to, Value step) {
    to = arith::AddIOp::create(builder, loc, to, step);
    isAligned = false;
  };
  // Whole groups of rows that have the same order of chunks.
  auto skipRows = [&](Value rows) {
    Value bytes = arith::MulIOp::create(
        builder, loc, rows, number(builder, loc, tile.getRowBytes()));
    base =
        LLVM::GEPOp::create(builder, loc, base.getType(), builder.getI8Type(),
                            base, ArrayRef<LLVM::GEPArg>{bytes});
  };
  VectorType type = read.getVectorType();
  if (Value start = getOuterStart(builder, loc, function, role, type)) {
    if (role == OperandRole::Left)
      skipRows(start);
    else
      add(hasColumnsOfK ? row : column, start);
  }
  if (Value start = getTermStart(builder, loc, function, role, type)) {
    if (!hasColumnsOfK)
      skipRows(start);
    else if (llvm::isPowerOf2_64(countTerms(function, role, type)))
      // No step within the warp's terms has a bit of it.
      column = arith::AddIOp::create(builder, loc, column, start);
    else
      add(column, start);
  }
  for (auto [to, index] : {std::pair<Value *, Value>{&row, indices[0]},
                           std::pair<Value *, Value>{&column, indices[1]}})
    if (!isConstantIntValue(index, 0))
      add(*to, arith::IndexCastUIOp::create(builder, loc, i32, index));
  if (isAligned)
    offset = tile.buildOffset(builder, loc, row, column);
}

Value SharedLoader::getPointer(OpBuilder &builder, Location loc, int64_t outer,
                               int64_t k) {
  bool hasColumnsOfK = role != OperandRole::RightColumns;
  int64_t rows = hasColumnsOfK ? outer : k;
  int64_t columns = hasColumnsOfK ? k : outer;
  if (offset)
    return tile.buildPointer(builder, loc, base, offset, rows, columns);
  return tile.buildPointer(
      builder, loc, base,
      tile.buildOffset(builder, loc, plus(builder, loc, row, rows),
                       plus(builder, loc, column, columns)));
}

OperandSquare SharedLoader::loadMatrices(OpBuilder &builder, Location loc,
                                         int64_t outer, int64_t k,
                                         bool isHalf) {
  Type i32 = builder.getI32Type();
  int64_t count = isHalf ? 2 : 4;
  auto type = LLVM::LLVMStructType::getLiteral(builder.getContext(),
                                               SmallVector<Type>(count, i32));
  auto layout = role == OperandRole::RightColumns ? NVVM::MMALayout::col
                                                  : NVVM::MMALayout::row;
  Value matrices = NVVM::LdMatrixOp::create(
      builder, loc, type, getPointer(builder, loc, 16 * outer, 16 * k),
      uint32_t(count), layout,
      NVVM::LdStMatrixShapeAttr::get(builder.getContext(), 8, 8),
      NVVM::LdStMatrixEltType::B16);
  OperandSquare square;
  for (int64_t i = 0; i < count; ++i)
    square.push_back(
        {LLVM::ExtractValueOp::create(builder, loc, matrices, i), {}, {}});
  return square;
}

OperandPair SharedLoader::loadWords(OpBuilder &builder, Location loc,
                                    int64_t outer, int64_t k) {
  if (role == OperandRole::RightColumns) {
    auto load = [&](int64_t step) -> Value {
      return LLVM::LoadOp::create(builder, loc, element,
                                  getPointer(builder, loc, outer, k + step));
    };
    Value first = load(0);
    return {{}, first, load(1)};
  }
  Value both = LLVM::LoadOp::create(builder, loc, VectorType::get(2, element),
                                    getPointer(builder, loc, outer, k),
                                    /*alignment=*/8);
  auto extract = [&](int64_t which) -> Value {
    return LLVM::ExtractElementOp::create(builder, loc, both,
                                          number(builder, loc, which));
  };
  Value first = extract(0);
  return {{}, first, extract(1)};
}

OperandSquare SharedLoader::load(OpBuilder &builder, Location loc,
                                 int64_t outer, int64_t k, bool isHalf) {
  if (element.getIntOrFloatBitWidth() == 16)
    return loadMatrices(builder, loc, outer, k, isHalf);
  OperandSquare square;
  for (int64_t pair = 0; pair < (isHalf ? 2 : 4); ++pair) {
    auto [outerStep, step] = getPairStep(role, pair);
    square.push_back(
        loadWords(builder, loc, 16 * outer + 8 * outerStep, 16 * k + 8 * step));
  }
  return square;
}

//===----------------------------------------------------------------------===//
// Other memory
//===----------------------------------------------------------------------===//

namespace {
class ElementLoader : public OperandLoader {
public:
  ElementLoader(OpBuilder &builder, Location loc,
                const VectorFunction &function, OperandRole role,
                vector::TransferReadOp read, Value memory, ValueRange indices)
      : role(role), memory(read, memory, indices), padding(read.getPadding()) {
    const ThreadPlace &place = function.place;
    outerFirst = place.getQuad();
    if (Value start =
            getOuterStart(builder, loc, function, role, read.getVectorType()))
      outerFirst = arith::AddIOp::create(builder, loc, outerFirst, start);
    kFirst = arith::MulIOp::create(builder, loc, place.getInQuad(),
                                   number(builder, loc, 2));
    if (Value start =
            getTermStart(builder, loc, function, role, read.getVectorType()))
      kFirst = arith::AddIOp::create(builder, loc, kFirst, start);
  }
  OperandSquare load(OpBuilder &builder, Location loc, int64_t outer, int64_t k,
                     bool isHalf) override;

private:
  Value loadOne(OpBuilder &builder, Location loc, int64_t outer, int64_t k) {
    auto at = [&](Value first, int64_t step) -> Value {
      return arith::IndexCastUIOp::create(builder, loc, builder.getIndexType(),
                                          plus(builder, loc, first, step));
    };
    Value outerPlace = at(outerFirst, outer), kPlace = at(kFirst, k);
    if (role == OperandRole::RightColumns)
      std::swap(outerPlace, kPlace);
    return memory.load(builder, loc, outerPlace, kPlace, padding);
  }

  OperandRole role;
  VectorMemory memory;
  Value padding;
  Value outerFirst, kFirst;
};
} // namespace

OperandSquare ElementLoader::load(OpBuilder &builder, Location loc,
                                  int64_t outer, int64_t k, bool isHalf) {
  OperandSquare square;
  for (int64_t pair = 0; pair < (isHalf ? 2 : 4); ++pair) {
    auto [outerStep, step] = getPairStep(role, pair);
    int64_t outerAt = 16 * outer + 8 * outerStep, at = 16 * k + 8 * step;
    Value first = loadOne(builder, loc, outerAt, at);
    square.push_back({{}, first, loadOne(builder, loc, outerAt, at + 1)});
  }
  return square;
}

std::shared_ptr<OperandLoader>
gatefold::makeMemoryLoader(OpBuilder &builder, Location loc,
                           const VectorFunction &function, OperandRole role,
                           vector::TransferReadOp read, Value memory,
                           ValueRange indices) {
  if (succeeded(SharedTile::get(cast<MemRefType>(memory.getType()))))
    return std::make_shared<SharedLoader>(builder, loc, function, role, read,
                                          memory, indices);
  return std::make_shared<ElementLoader>(builder, loc, function, role, read,
                                         memory, indices);
}

//===----------------------------------------------------------------------===//
// Values of threads
//===----------------------------------------------------------------------===//

namespace {
/// An accumulator's columns are k in the order that an operand has them.
class ValuesLoader : public OperandLoader {
public:
  ValuesLoader(const VectorLayout &layout, ValueRange values)
      : layout(layout), values(values.begin(), values.end()) {}
  OperandSquare load(OpBuilder &, Location, int64_t outer, int64_t k,
                     bool) override {
    OperandSquare square;
    for (int64_t pair = 0; pair < 4; ++pair) {
      auto [outerStep, step] = getPairStep(OperandRole::Left, pair);
      int64_t index =
          layout.getIndex(2 * outer + outerStep, 2 * (2 * k + step));
      square.push_back({{}, values[index], values[index + 1]});
    }
    return square;
  }

private:
  VectorLayout layout;
  SmallVector<Value> values;
};
} // namespace

std::shared_ptr<OperandLoader>
gatefold::makeValuesLoader(const VectorLayout &layout, ValueRange values) {
  return std::make_shared<ValuesLoader>(layout, values);
}

//===----------------------------------------------------------------------===//
// Registers
//===----------------------------------------------------------------------===//

namespace {
class KeptLoader : public OperandLoader {
public:
  KeptLoader(SmallVector<OperandSquare> squares, int64_t squaresOfK)
      : squares(std::move(squares)), squaresOfK(squaresOfK) {}
  OperandSquare load(OpBuilder &, Location, int64_t outer, int64_t k,
                     bool) override {
    return squares[outer * squaresOfK + k];
  }

private:
  SmallVector<OperandSquare> squares;
  int64_t squaresOfK;
};
} // namespace

std::shared_ptr<OperandLoader> gatefold::makeKeptLoader(OpBuilder &builder,
                                                        Location loc,
                                                        OperandLoader &loader,
                                                        int64_t outer,
                                                        int64_t squaresOfK) {
  SmallVector<OperandSquare> squares;
  for (int64_t begin = 0; begin < outer; begin += 16)
    for (int64_t k = 0; k < squaresOfK; ++k)
      squares.push_back(loader.load(builder, loc, begin / 16, k,
                                    /*isHalf=*/outer - begin < 16));
  return std::make_shared<KeptLoader>(std::move(squares), squaresOfK);
}
