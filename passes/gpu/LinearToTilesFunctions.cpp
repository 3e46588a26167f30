// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- LinearToTilesFunctions.cpp - The tiles of a product on a GPU -------===//
//
// A tile's sums stay in registers while k runs. Whatever the tile, an element
// is the sum of the same steps of k in the same order, so that its bits do not
// depend on how many rows there are.
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

static bool isNarrow(const ProductTypes &types) {
  return !types.x.isF32() && types.x == types.panels;
}

ArrayRef<LinearTile> LinearTileTypes::getTiles() const {
  if (keptBytes)
    return smallTiles;
  return isNarrow(types) ? ArrayRef(narrowTiles) : ArrayRef(wideTiles);
}

std::string LinearTileTypes::getName() const {
  return types.getName() + (isKept() ? "_kept" : keptBytes ? "_beside" : "");
}

int64_t gatefold::getTileColumns(int64_t width) {
  constexpr int64_t most = 64, group = 8;
  for (int64_t columns = most; columns >= group; columns -= group)
    if (width % columns == 0)
      return columns;
  return 0;
}

// A row of 64 bytes: longer ones take registers.
int64_t gatefold::getTileStep(const ProductTypes &types) {
  return isNarrow(types) ? 32 : 16;
}

namespace {
/// Emits the function of one tile.
class TileFunction {
public:
  TileFunction(func::FuncOp function, const LinearTileTypes &product,
               const LinearTile &tile)
      : builder(function.getLoc(), function.getContext()), types(product.types),
        isKept(product.isKept()), tile(tile),
        columns(getTileColumns(types.width)), step(getTileStep(types)) {
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
  /// Columns of the output that a tile has from one panel, as a part of it.
  struct Strip {
    Value panel, lane, column;
  };
  Strip getStrip(Value number);
  void makeTiles(Value begin, Value end, int64_t strips);
  void makeTile(Value row, ArrayRef<Strip> strips);
  SmallVector<Value> sumProducts(Value row, ArrayRef<Strip> strips);
  Value read(Value buffer, ValueRange place, VectorType type,
             ArrayRef<bool> inBounds, Type wanted);
  Value readPanel(const Strip &strip, Value at);
  Value getZero(Type element) {
    return arith::ConstantOp::create(builder, builder.getZeroAttr(element));
  }

  KernelBuilder builder;
  const ProductTypes &types;
  bool isKept;
  const LinearTile &tile;
  int64_t columns, step;
  Type element;
  Value x, panels, initial, hasInitial, output, firstRow, endRow;
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
  Value column = builder.multiply(number, builder.index(columns));
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

/// The products of the tile's rows with each strip, over all of k.
SmallVector<Value> TileFunction::sumProducts(Value row,
                                             ArrayRef<Strip> strips) {
  auto sumType = VectorType::get({tile.rows, columns}, builder.getF32Type());
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
  Value zero = arith::ConstantOp::create(builder, builder.getZeroAttr(sumType));
  SmallVector<Value> start(strips.size(), zero);
  return builder.loop(
      builder.index(0), builder.size(panels, 1), step, start,
      [&](Value at, ValueRange sums) {
        Value rows = read(x, {row, at}, xType, {false, false}, element);
        SmallVector<Value> next;
        for (auto [strip, sum] : llvm::zip(strips, sums)) {
          Value weights = readPanel(strip, at);
          next.push_back(vector::ContractionOp::create(
              builder, rows, weights, sum, builder.getAffineMapArrayAttr(maps),
              iterators));
        }
        return next;
      });
}

void TileFunction::makeTile(Value row, ArrayRef<Strip> strips) {
  SmallVector<Value> sums = sumProducts(row, strips);
  auto startType = VectorType::get({tile.rows, columns}, types.initial);
  for (auto [strip, sum] : llvm::zip(strips, sums)) {
    Value begun = builder.either(
        hasInitial, sum.getType(),
        [&, &strip = strip, &sum = sum]() -> SmallVector<Value> {
          Value start = read(initial, {row, strip.column}, startType,
                             {false, false}, builder.getF32Type());
          return {arith::AddFOp::create(builder, start, sum)};
        },
        [&sum = sum]() -> SmallVector<Value> { return {sum}; })[0];
    vector::TransferWriteOp::create(
        builder, builder.convertFloat(begun, types.output), output,
        ValueRange{row, strip.column}, ArrayRef<bool>{false, false});
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
  auto getRows = [](Type element) {
    return getOpenBuffer(element, {ShapedType::kDynamic, ShapedType::kDynamic},
                         1);
  };
  const ProductTypes &types = product.types;
  return {getRows(types.x), product.panels, getRows(types.initial),
          IntegerType::get(types.x.getContext(), 1), getRows(types.output)};
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
  // Each warp has whole groups of 8 columns.
  int64_t warpColumns = tile.warpColumns;
  while (getTileColumns(product.types.width) % (8 * warpColumns) != 0)
    --warpColumns;
  function->setAttr(warpsName,
                    builder.getDenseI64ArrayAttr({tile.warpRows, warpColumns}));
  if (product.keptBytes)
    function->setAttr(keptBytesName,
                      builder.getI64IntegerAttr(product.keptBytes));
  TileFunction(function, product, tile).make();
  return function;
}

/// As many rows as they take in tiles of most rows, then the fewest that take
/// the rest.
func::FuncOp gatefold::makeLinearFunction(Location loc,
                                          const LinearTileTypes &product,
                                          ArrayRef<func::FuncOp> tileFunctions,
                                          StringRef name) {
  func::FuncOp function = makeKernelFunction(loc, name, getArguments(product));
  KernelBuilder builder(loc, loc.getContext());
  builder.setInsertionPointToStart(&function.getBody().front());
  ValueRange arguments = function.getArguments();
  Value rows = builder.size(arguments[4], 0);
  auto call = [&](func::FuncOp callee, Value begin, Value end) {
    SmallVector<Value> operands(arguments);
    operands.append({begin, end});
    func::CallOp::create(builder, callee, operands);
  };
  ArrayRef<LinearTile> tiles = product.getTiles();
  // A tile that is more than half full is a whole one.
  Value most = builder.index(tiles[0].rows);
  Value whole = builder.divide(
      builder.add(rows, builder.index(tiles[0].rows - tiles[1].rows - 1)),
      most);
  Value first = builder.minimum(builder.multiply(whole, most), rows);
  Value zero = builder.index(0);
  builder.when(builder.compare(arith::CmpIPredicate::ugt, first, zero),
               [&] { call(tileFunctions[0], zero, first); });
  // Where it has to be told apart: more rows than the next tile has.
  auto callRest = [&](auto &self, unsigned tile) -> void {
    Value least = builder.add(
        first,
        builder.index(tile + 1 < tiles.size() ? tiles[tile + 1].rows : 0));
    auto choice = scf::IfOp::create(
        builder, builder.compare(arith::CmpIPredicate::ugt, rows, least),
        /*withElseRegion=*/tile + 1 < tiles.size());
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(choice.thenBlock());
    call(tileFunctions[tile], first, rows);
    if (tile + 1 == tiles.size())
      return;
    builder.setInsertionPointToStart(choice.elseBlock());
    self(self, tile + 1);
  };
  callRest(callRest, 1);
  func::ReturnOp::create(builder);
  return function;
}
