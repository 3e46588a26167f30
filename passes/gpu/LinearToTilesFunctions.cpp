// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- LinearToTilesFunctions.cpp - The tiles of a product on a GPU -------===//
//
// A tile's sums stay in registers while k runs. Whatever the tile, an element
// is the sum of the same steps of k in the same order, so that its bits do not
// depend on how many rows there are, nor on whether warps share its terms:
//
//   part p = step p + step p + 8 + step p + 16 + ...
//   sum    = 0 + part 0 + part 1 + ... + part 7
//
// Of a few rows each warp has a part. Else the steps of one part follow those
// of the other. Of two operands of 16 bits, of which no step of a recurrence
// has products, all steps are one part: tiles so large have no room for two
// sums.
//
//===----------------------------------------------------------------------===//

#include "passes/cpu/KernelBuilder.h"
#include "passes/gpu/Kernels.h"
#include "passes/gpu/LinearToTiles.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace gatefold;

// What a tile keeps in registers stands beside what the run does around it, so
// that f32, whose operands are two numbers each, has smaller tiles, and the
// smallest stand in loops that keep weights. Of few rows all warps have
// columns.
static constexpr LinearTile narrowTiles[] = {
    {128, 4, 2, 2}, {64, 4, 2, 1}, {16, 1, 8, 2}};
static constexpr LinearTile wideTiles[] = {{64, 4, 2, 1}, {16, 1, 8, 1}};
static constexpr LinearTile smallTiles[] = {{32, 2, 4, 1}, {16, 1, 8, 1}};

// Of a step's few rows and columns each warp has all, and of the terms a part.
static constexpr int64_t termParts = TargetDescription::productParts;
static constexpr LinearTile stepTiles[] = {{32, 1, 1, 1, termParts},
                                           {16, 1, 1, 1, termParts}};

static bool isNarrow(const ProductTypes &types) {
  return !types.x.isF32() && types.x == types.panels;
}

bool gatefold::mayShareTerms(const ProductTypes &types) {
  return !isNarrow(types);
}

ArrayRef<LinearTile> LinearTileTypes::getTiles() const {
  if (sharesTerms)
    return stepTiles;
  if (keptBytes)
    return smallTiles;
  return isNarrow(types) ? ArrayRef(narrowTiles) : ArrayRef(wideTiles);
}

std::string LinearTileTypes::getName() const {
  return types.getName() + (gates ? "_gates" + std::to_string(gates) : "") +
         (sharesTerms ? "_step" : "") +
         (isKept()    ? "_kept"
          : keptBytes ? "_beside"
                      : "");
}

int64_t gatefold::getTileColumns(int64_t width) {
  constexpr int64_t most = 64, group = 8;
  for (int64_t columns = most; columns >= group; columns -= group)
    if (width % columns == 0)
      return columns;
  return 0;
}

// A row of 64 bytes: longer ones take registers.
int64_t gatefold::getTileStep(const ProductTypes &types, bool sharesTerms) {
  return (isNarrow(types) ? 32 : 16) * (sharesTerms ? termParts : 1);
}

namespace {
/// Emits the function of one tile.
class TileFunction {
public:
  TileFunction(func::FuncOp function, const LinearTileTypes &product,
               const LinearTile &tile)
      : builder(function.getLoc(), function.getContext()), types(product.types),
        isKept(product.isKept()), gates(product.gates), tile(tile),
        columns(getTileColumns(types.width)), step(product.getStep()) {
    Block &body = function.getBody().front();
    builder.setInsertionPointToStart(&body);
    x = body.getArgument(0);
    panels = body.getArgument(1);
    initial = body.getArgument(2);
    hasInitial = body.getArgument(3);
    output = body.getArgument(4);
    firstRow = body.getArgument(5);
    endRow = body.getArgument(6);
    // What multiplies: 16 bits if both operands have the same, else f32.
    element = types.x == types.panels ? types.x : Type(builder.getF32Type());
  }
  void make();

private:
  /// Whether sums are of parts one after the other.
  bool hasParts() const { return mayShareTerms(types) && tile.warpTerms == 1; }
  /// Columns of the output that a tile has from one panel, as a part of it.
  struct Strip {
    Value panel, lane, column;
  };
  void findParts();
  Value invert(Value divisor);
  std::pair<Value, Value> getPlace(Value turn);
  SmallVector<Value> addParts(ValueRange sums);
  Strip getStrip(Value number);
  void makeTiles(Value begin, Value end, int64_t strips);
  void makeTile(Value row, ArrayRef<Strip> strips);
  Value getGate(Value buffer, int64_t gate);
  void write(Value sum, Value from, Value to, Value row, Value column);
  SmallVector<Value> multiply(Value row, ArrayRef<Strip> strips, Value at,
                              ValueRange sums);
  SmallVector<Value> sumProducts(Value row, ArrayRef<Strip> strips);
  SmallVector<Value> sumParts(Value row, ArrayRef<Strip> strips);
  Value read(Value buffer, ValueRange place, VectorType type,
             ArrayRef<bool> inBounds, Type wanted);
  Value readPanel(const Strip &strip, Value at);
  Value getZero(Type type) {
    return arith::ConstantOp::create(builder, builder.getZeroAttr(type));
  }
  Value getZeros() {
    return getZero(VectorType::get({tile.rows, columns}, builder.getF32Type()));
  }

  KernelBuilder builder;
  const ProductTypes &types;
  bool isKept;
  int64_t gates;
  const LinearTile &tile;
  int64_t columns, step;
  Type element;
  Value x, panels, initial, hasInitial, output, firstRow, endRow;
  /// All steps of k; how many the first parts have in all, which have one more
  /// than the others, and how many parts these are.
  Value stepCount, stepsInLong, longParts;
  /// Steps of a part, and 2^64 / steps.
  struct Part {
    Value steps, inverse;
  };
  Part longPart, shortPart;
};
} // namespace

Value TileFunction::read(Value buffer, ValueRange place, VectorType type,
                         ArrayRef<bool> inBounds, Type wanted) {
  Value vector = vector::TransferReadOp::create(
      builder, type, buffer, place, getZero(type.getElementType()), inBounds);
  return builder.convertFloat(vector, wanted);
}

TileFunction::Strip TileFunction::getStrip(Value number) {
  int64_t parts = types.width / columns;
  Value column = builder.multiply(
      number, builder.index(gates ? columns / gates : columns));
  if (parts == 1)
    return {number, builder.index(0), column};
  Value count = builder.index(parts);
  return {builder.divide(number, count),
          builder.multiply(builder.remainder(number, count),
                           builder.index(columns)),
          column};
}

/// The rows of a strip's panel from `at` on.
Value TileFunction::readPanel(const Strip &strip, Value at) {
  auto type = VectorType::get({step, columns}, types.panels);
  if (!isKept)
    return read(panels, {strip.panel, at, strip.lane}, type, {false, true},
                element);
  // The tile is there as a whole, whatever lies in it behind the end of k.
  SmallVector<OpFoldResult> offsets = {strip.panel, at,
                                       builder.getIndexAttr(0)};
  SmallVector<OpFoldResult> sizes = {builder.getIndexAttr(1),
                                     builder.getIndexAttr(step),
                                     builder.getIndexAttr(columns)};
  SmallVector<OpFoldResult> strides(3, builder.getIndexAttr(1));
  MemRefType one = memref::SubViewOp::inferRankReducedResultType(
      {step, columns}, cast<MemRefType>(panels.getType()), offsets, sizes,
      strides);
  Value shared =
      memref::SubViewOp::create(builder, one, panels, offsets, sizes, strides);
  Value zero = builder.index(0);
  return read(shared, {zero, zero}, type, {true, true}, element);
}

/// 2^64 / divisor, rounded up; of 1 it is not used.
Value TileFunction::invert(Value divisor) {
  Value most = arith::ConstantIndexOp::create(builder, -1);
  return builder.add(arith::DivUIOp::create(builder, most, divisor),
                     builder.index(1));
}

void TileFunction::findParts() {
  Value parts = builder.index(termParts), one = builder.index(1);
  stepCount = builder.divideUp(builder.size(panels, 1), builder.index(step));
  // Steps of the first parts; the others have one less.
  Value most =
      arith::MaxUIOp::create(builder, builder.divideUp(stepCount, parts), one);
  Value fewer = builder.subtract(most, one);
  longParts = builder.subtract(stepCount, builder.multiply(fewer, parts));
  stepsInLong = builder.multiply(longParts, most);
  longPart = {most, invert(most)};
  // There is none of no steps, and none is divided by 0.
  fewer = arith::MaxUIOp::create(builder, fewer, one);
  shortPart = {fewer, invert(fewer)};
}

/// Where the step of a turn begins, and whether its part does. A division for
/// each turn would take longer than the step: the inverse of a number is known,
/// and gives quotients of numbers below 2^32.
std::pair<Value, Value> TileFunction::getPlace(Value turn) {
  Value isLong = builder.compare(arith::CmpIPredicate::ult, turn, stepsInLong);
  Value rest =
      builder.choose(isLong, turn, builder.subtract(turn, stepsInLong));
  Value steps = builder.choose(isLong, longPart.steps, shortPart.steps);
  Value inverse = builder.choose(isLong, longPart.inverse, shortPart.inverse);
  Value quotient =
      arith::MulUIExtendedOp::create(builder, rest, inverse).getHigh();
  Value isOne =
      builder.compare(arith::CmpIPredicate::eq, steps, builder.index(1));
  quotient = builder.choose(isOne, rest, quotient);
  Value inPart = builder.subtract(rest, builder.multiply(quotient, steps));
  Value part =
      builder.choose(isLong, quotient, builder.add(quotient, longParts));
  Value number =
      builder.add(part, builder.multiply(inPart, builder.index(termParts)));
  return {builder.multiply(number, builder.index(step)),
          builder.compare(arith::CmpIPredicate::eq, inPart, builder.index(0))};
}

/// What the parts before have in all, and what this one has.
SmallVector<Value> TileFunction::addParts(ValueRange sums) {
  SmallVector<Value> whole;
  for (size_t i = 0, count = sums.size() / 2; i < count; ++i)
    whole.push_back(arith::AddFOp::create(builder, sums[i], sums[count + i]));
  return whole;
}

/// Adds the products of the tile's rows with each strip, of a step of k.
SmallVector<Value> TileFunction::multiply(Value row, ArrayRef<Strip> strips,
                                          Value at, ValueRange sums) {
  auto xType = VectorType::get({tile.rows, step}, types.x);
  AffineExpr m, n, k;
  bindDims(builder.getContext(), m, n, k);
  SmallVector<AffineMap> maps = AffineMap::inferFromExprList(
      ArrayRef<ArrayRef<AffineExpr>>{{m, k}, {k, n}, {m, n}},
      builder.getContext());
  ArrayAttr iterators = builder.getArrayAttr(llvm::map_to_vector(
      ArrayRef{vector::IteratorType::parallel, vector::IteratorType::parallel,
               vector::IteratorType::reduction},
      [&](vector::IteratorType type) -> Attribute {
        return vector::IteratorTypeAttr::get(builder.getContext(), type);
      }));
  Value rows = read(x, {row, at}, xType, {false, false}, element);
  SmallVector<Value> next;
  for (auto [strip, sum] : llvm::zip(strips, sums)) {
    Value weights = readPanel(strip, at);
    next.push_back(vector::ContractionOp::create(
        builder, rows, weights, sum, builder.getAffineMapArrayAttr(maps),
        iterators));
  }
  return next;
}

/// All of k in order, by warps that share the terms or in one part.
SmallVector<Value> TileFunction::sumProducts(Value row,
                                             ArrayRef<Strip> strips) {
  SmallVector<Value> start(strips.size(), getZeros());
  return builder.loop(builder.index(0), builder.size(panels, 1), step, start,
                      [&](Value at, ValueRange sums) {
                        return multiply(row, strips, at, sums);
                      });
}

/// One part after the other.
SmallVector<Value> TileFunction::sumParts(Value row, ArrayRef<Strip> strips) {
  size_t count = strips.size();
  // What all parts before have, and what this one has.
  SmallVector<Value> start(2 * count, getZeros());
  return addParts(builder.loop(
      builder.index(0), stepCount, 1, start,
      [&](Value turn, ValueRange carried) {
        auto [at, begins] = getPlace(turn);
        SmallVector<Value> sums = builder.either(
            begins, carried.getTypes(),
            [&]() -> SmallVector<Value> {
              SmallVector<Value> whole = addParts(carried);
              whole.append(count, getZeros());
              return whole;
            },
            [&]() -> SmallVector<Value> {
              return SmallVector<Value>(carried);
            });
        ArrayRef<Value> known = sums;
        SmallVector<Value> next(known.take_front(count));
        llvm::append_range(next,
                           multiply(row, strips, at, known.drop_front(count)));
        return next;
      }));
}

/// The rows [m, n] of one gate of a buffer [m, gates, n].
Value TileFunction::getGate(Value buffer, int64_t gate) {
  OpFoldResult zero = builder.getIndexAttr(0), one = builder.getIndexAttr(1);
  SmallVector<OpFoldResult> offsets = {zero, builder.getIndexAttr(gate), zero};
  SmallVector<OpFoldResult> sizes = {builder.size(buffer, 0), one,
                                     builder.size(buffer, 2)};
  SmallVector<OpFoldResult> strides(3, one);
  constexpr int64_t open = ShapedType::kDynamic;
  MemRefType type = memref::SubViewOp::inferRankReducedResultType(
      {open, open}, cast<MemRefType>(buffer.getType()), offsets, sizes,
      strides);
  return memref::SubViewOp::create(builder, type, buffer, offsets, sizes,
                                   strides);
}

/// Adds what is at a place of `from`, if there is something to begin with, and
/// writes to the same place of `to`.
void TileFunction::write(Value sum, Value from, Value to, Value row,
                         Value column) {
  auto startType = VectorType::get(cast<VectorType>(sum.getType()).getShape(),
                                   types.initial);
  Value begun = builder.either(
      hasInitial, sum.getType(),
      [&]() -> SmallVector<Value> {
        Value start = read(from, {row, column}, startType, {false, false},
                           builder.getF32Type());
        return {arith::AddFOp::create(builder, start, sum)};
      },
      [&]() -> SmallVector<Value> { return {sum}; })[0];
  vector::TransferWriteOp::create(
      builder, builder.convertFloat(begun, types.output), to,
      ValueRange{row, column}, ArrayRef<bool>{false, false});
}

void TileFunction::makeTile(Value row, ArrayRef<Strip> strips) {
  SmallVector<Value> sums =
      hasParts() ? sumParts(row, strips) : sumProducts(row, strips);
  for (auto [strip, sum] : llvm::zip(strips, sums)) {
    if (!gates) {
      write(sum, initial, output, row, strip.column);
      continue;
    }
    int64_t each = columns / gates;
    for (int64_t gate = 0; gate < gates; ++gate) {
      Value part = vector::ExtractStridedSliceOp::create(
          builder, sum, ArrayRef<int64_t>{0, gate * each},
          ArrayRef<int64_t>{tile.rows, each}, ArrayRef<int64_t>{1, 1});
      write(part, getGate(initial, gate), getGate(output, gate), row,
            strip.column);
    }
  }
}

/// Strips from `begin` to `end`, so many at a time.
void TileFunction::makeTiles(Value begin, Value end, int64_t strips) {
  builder.loop(begin, end, strips, [&](Value first) {
    SmallVector<Strip> together;
    for (int64_t i = 0; i < strips; ++i)
      together.push_back(getStrip(builder.add(first, builder.index(i))));
    builder.loop(firstRow, endRow, tile.rows,
                 [&](Value row) { makeTile(row, together); });
  });
}

void TileFunction::make() {
  if (hasParts())
    findParts();
  Value zero = builder.index(0);
  Value strips = builder.multiply(builder.size(panels, 0),
                                  builder.index(types.width / columns));
  Value rest = builder.remainder(strips, builder.index(tile.panels));
  Value whole = builder.subtract(strips, rest);
  makeTiles(zero, whole, tile.panels);
  if (tile.panels > 1)
    makeTiles(whole, strips, 1);
  func::ReturnOp::create(builder);
}

/// x, panels, initial, whether to add it, output.
static SmallVector<Type> getArguments(const LinearTileTypes &product) {
  constexpr int64_t open = ShapedType::kDynamic;
  auto getResults = [&](Type element) {
    return product.gates
               ? getOpenBuffer(element, {open, product.gates, open}, 1)
               : getOpenBuffer(element, {open, open}, 1);
  };
  const ProductTypes &types = product.types;
  return {getOpenBuffer(types.x, {open, open}, 1), product.panels,
          getResults(types.initial), IntegerType::get(types.x.getContext(), 1),
          getResults(types.output)};
}

func::FuncOp gatefold::makeLinearTileFunction(Location loc,
                                              const LinearTileTypes &product,
                                              const LinearTile &tile,
                                              StringRef name) {
  SmallVector<Type> arguments = getArguments(product);
  arguments.append(2, IndexType::get(loc.getContext()));
  func::FuncOp function = makeKernelFunction(loc, name, arguments);
  Builder builder(loc.getContext());
  function->setAttr(vectorsName, builder.getUnitAttr());
  function->setAttr(productName, builder.getUnitAttr());
  // Each warp has whole groups of 8 columns; of gates all, so that what it has
  // of each is a part of its own sums.
  int64_t warpColumns = product.gates ? 1 : tile.warpColumns;
  while (getTileColumns(product.types.width) % (8 * warpColumns) != 0)
    --warpColumns;
  SmallVector<int64_t> warps = {tile.warpRows, warpColumns};
  if (tile.warpTerms > 1)
    warps.push_back(tile.warpTerms);
  function->setAttr(warpsName, builder.getDenseI64ArrayAttr(warps));
  if (product.keptBytes)
    function->setAttr(keptBytesName,
                      builder.getI64IntegerAttr(product.keptBytes));
  TileFunction(function, product, tile).make();
  return function;
}
