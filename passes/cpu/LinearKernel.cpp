// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- LinearKernel.cpp - The register tile of a product ------------------===//
//
// Builds the function that all products of the same types and width of panel
// call.
//
// A tile of rows x strips of columns keeps its sums in registers while k runs:
// for each k the vectors of one row of the panel are loaded, then for each row
// one element of x meets all of them. No sum is ever split, so its terms are
// added in the order of k: which tile computes it does not change its bits.
// Nor does the blocking of k, where a sum rests in the output between blocks,
// since it is stored in the type of sums.
//
// The tile knows no edges. Where strips stand over the last column, the tile
// reads initial values from scratch memory, writes to it, and what exists is
// copied. A strip behind the last one is computed like the last one and left.
//
//===----------------------------------------------------------------------===//

#include "passes/cpu/LinearKernel.h"
#include "passes/cpu/KernelBuilder.h"
#include "llvm/Support/SaveAndRestore.h"

using namespace mlir;
using namespace gatefold;

namespace {
/// Buffers that a tile reads its initial values from and writes to, and the
/// place in them of its first element.
struct TileBuffers {
  Value initial, output, row, column;
};

class LinearKernel {
public:
  LinearKernel(func::FuncOp function, const TargetDescription &target,
               const ProductTile &tile, const ProductTypes &types);
  void build();

private:
  void makeBlocks(Value tileCount);
  void makeFewRows(int64_t rows);
  void makeManyRows(Value tileCount);
  void makeSwitch(Value rows, int64_t least, int64_t most,
                  function_ref<void(int64_t)> body);
  void makePlacedTile(int64_t strips, Value rows, Value row, Value strip,
                      function_ref<void(const TileBuffers &)> body);
  void makeTile(int64_t rows, int64_t strips, Value row, Value strip,
                const TileBuffers &buffers);
  SmallVector<Value> makeSums(int64_t rows, int64_t strips, Value row,
                              Value strip, ValueRange sums);
  int64_t getTermsPerBlock() const;

  KernelBuilder builder;
  const TargetDescription &target;
  const ProductTile &tile;
  const ProductTypes &types;
  Type sumType;
  VectorType vectorType;
  Value zero, x, panels, initial, hasInitial, output;
  Value rowCount, columnCount, termCount, stripCount;
  Value scratchInitial, scratchOutput;
  /// Up to this many rows take more strips.
  int64_t fewRows = 0;
  /// The block of k.
  Value firstTerm, endTerm;
};
} // namespace

LinearKernel::LinearKernel(func::FuncOp function,
                           const TargetDescription &target,
                           const ProductTile &tile, const ProductTypes &types)
    : builder(function.getLoc(), function.getContext()), target(target),
      tile(tile), types(types), sumType(types.getSum()),
      vectorType(VectorType::get(tile.lanes, sumType)) {
  Block &block = function.getBody().front();
  builder.setInsertionPointToStart(&block);
  x = block.getArgument(0);
  panels = block.getArgument(1);
  initial = block.getArgument(2);
  hasInitial = block.getArgument(3);
  output = block.getArgument(4);
}

/// Terms after which the sums rest in the output: as many as leave a strip of
/// panels in the first cache while all rows meet it.
int64_t LinearKernel::getTermsPerBlock() const {
  int64_t bytes = target.getTileVectors() * tile.lanes *
                  types.panels.getIntOrFloatBitWidth() / 8;
  return std::clamp<int64_t>(target.firstCacheBytes / bytes, 128, 512);
}

/// The sums of one tile over the block of k.
SmallVector<Value> LinearKernel::makeSums(int64_t rows, int64_t strips,
                                          Value row, Value strip,
                                          ValueRange sums) {
  int64_t columns = strips * tile.vectors;
  SmallVector<Value> rowIndices, panelIndices, laneIndices;
  for (int64_t i = 0; i < rows; ++i)
    rowIndices.push_back(builder.add(row, builder.index(i)));
  Value last = builder.subtract(stripCount, builder.index(1));
  for (int64_t s = 0; s < strips; ++s) {
    Value index = builder.add(strip, builder.index(s));
    if (s > 0)
      index = builder.minimum(index, last);
    Value perPanel = builder.index(tile.stripsPerPanel);
    Value lane = builder.multiply(builder.remainder(index, perPanel),
                                  builder.index(tile.getStripWidth()));
    for (int64_t v = 0; v < tile.vectors; ++v) {
      panelIndices.push_back(builder.divide(index, perPanel));
      laneIndices.push_back(builder.add(lane, builder.index(v * tile.lanes)));
    }
  }
  auto storedType = VectorType::get(tile.lanes, types.panels);
  return builder.loop(
      firstTerm, endTerm, 1, sums,
      [&](Value k, ValueRange sums) -> SmallVector<Value> {
        auto loadColumn = [&](int64_t c) {
          Value stored = vector::LoadOp::create(
              builder, storedType, panels,
              ValueRange{panelIndices[c], k, laneIndices[c]});
          return builder.convertFloat(stored, sumType);
        };
        auto loadRow = [&](int64_t r) {
          Value stored =
              memref::LoadOp::create(builder, x, ValueRange{rowIndices[r], k});
          return vector::BroadcastOp::create(
                     builder, vectorType, builder.convertFloat(stored, sumType))
              .getResult();
        };
        SmallVector<Value> next(sums);
        auto accumulate = [&](int64_t r, int64_t c, Value a, Value b) {
          Value &sum = next[r * columns + c];
          sum = builder.multiplyAdd(target, a, b, sum);
        };
        // What there is less of is held in registers while the other is read.
        if (columns <= rows ||
            rows * columns + columns < target.vectorRegisters) {
          SmallVector<Value> held;
          for (int64_t c = 0; c < columns; ++c)
            held.push_back(loadColumn(c));
          for (int64_t r = 0; r < rows; ++r) {
            Value a = loadRow(r);
            for (int64_t c = 0; c < columns; ++c)
              accumulate(r, c, a, held[c]);
          }
          return next;
        }
        SmallVector<Value> held;
        for (int64_t r = 0; r < rows; ++r)
          held.push_back(loadRow(r));
        for (int64_t c = 0; c < columns; ++c) {
          Value b = loadColumn(c);
          for (int64_t r = 0; r < rows; ++r)
            accumulate(r, c, held[r], b);
        }
        return next;
      });
}

/// Initial values, sums, stores.
void LinearKernel::makeTile(int64_t rows, int64_t strips, Value row,
                            Value strip, const TileBuffers &buffers) {
  int64_t columns = strips * tile.vectors;
  SmallVector<Value> rowIndices, columnIndices;
  for (int64_t r = 0; r < rows; ++r)
    rowIndices.push_back(builder.add(buffers.row, builder.index(r)));
  for (int64_t c = 0; c < columns; ++c)
    columnIndices.push_back(
        builder.add(buffers.column, builder.index(c * tile.lanes)));
  SmallVector<Type> sumTypes(rows * columns, vectorType);
  SmallVector<Value> sums = builder.either(
      hasInitial, sumTypes,
      [&] {
        auto storedType = VectorType::get(tile.lanes, types.initial);
        SmallVector<Value> loaded;
        for (Value r : rowIndices)
          for (Value c : columnIndices) {
            Value stored = vector::LoadOp::create(
                builder, storedType, buffers.initial, ValueRange{r, c});
            loaded.push_back(builder.convertFloat(stored, sumType));
          }
        return loaded;
      },
      [&] {
        Value zeros =
            arith::ConstantOp::create(builder, builder.getZeroAttr(vectorType));
        return SmallVector<Value>(rows * columns, zeros);
      });
  sums = makeSums(rows, strips, row, strip, sums);
  auto sum = sums.begin();
  for (Value r : rowIndices)
    for (Value c : columnIndices)
      vector::StoreOp::create(builder,
                              builder.convertFloat(*sum++, types.output),
                              buffers.output, ValueRange{r, c});
}

/// A tile where its columns exist, else one in scratch memory.
void LinearKernel::makePlacedTile(
    int64_t strips, Value rows, Value row, Value strip,
    function_ref<void(const TileBuffers &)> body) {
  Value column = builder.multiply(strip, builder.index(tile.getStripWidth()));
  Value left = builder.subtract(columnCount, column);
  Value isEdge = builder.compare(arith::CmpIPredicate::slt, left,
                                 builder.index(strips * tile.getStripWidth()));
  auto copy = [&](const Rectangle &from, const Rectangle &to) {
    builder.copyRectangle(target, tile.lanes, strips * tile.vectors, from, to,
                          rows, left);
  };
  TileBuffers buffers = {builder.choose(isEdge, scratchInitial, initial),
                         builder.choose(isEdge, scratchOutput, output),
                         builder.choose(isEdge, zero, row),
                         builder.choose(isEdge, zero, column)};
  builder.when(arith::AndIOp::create(builder, isEdge, hasInitial), [&] {
    copy({initial, row, column}, {scratchInitial, zero, zero});
  });
  body(buffers);
  builder.when(isEdge, [&] {
    copy({scratchOutput, zero, zero}, {output, row, column});
  });
}

/// All rows, fewer than a tile holds: one tile over more strips.
void LinearKernel::makeFewRows(int64_t rows) {
  int64_t strips = tile.getStrips(target, rows);
  builder.loop(zero, stripCount, strips, [&](Value strip) {
    makePlacedTile(strips, builder.index(rows), zero, strip,
                   [&](const TileBuffers &buffers) {
                     makeTile(rows, strips, zero, strip, buffers);
                   });
  });
}

/// Blocks of rows, in each all strips, for each all tiles. Tiles differ by at
/// most one row: a last one of few rows would wait for its additions.
void LinearKernel::makeManyRows(Value tileCount) {
  int64_t strips = tile.getStrips(target);
  Value smaller = builder.divide(rowCount, tileCount);
  Value larger = builder.remainder(rowCount, tileCount);
  // What fewer strips hold, and half of what is just too much for one tile.
  int64_t leastRows = std::min(fewRows + 1, (tile.rows + 1) / 2);
  int64_t tilesPerBlock =
      std::max<int64_t>(1, target.secondCacheBytes / 2 /
                               (getTermsPerBlock() * tile.rows *
                                types.x.getIntOrFloatBitWidth() / 8));
  builder.loop(zero, tileCount, tilesPerBlock, [&](Value firstTile) {
    Value endTile = builder.minimum(
        tileCount, builder.add(firstTile, builder.index(tilesPerBlock)));
    builder.loop(zero, stripCount, strips, [&](Value strip) {
      builder.loop(firstTile, endTile, 1, [&](Value index) {
        Value row = builder.add(builder.multiply(index, smaller),
                                builder.minimum(index, larger));
        Value isLarger =
            builder.compare(arith::CmpIPredicate::slt, index, larger);
        Value rows = builder.add(
            smaller, builder.choose(isLarger, builder.index(1), zero));
        makePlacedTile(
            strips, rows, row, strip, [&](const TileBuffers &buffers) {
              makeSwitch(rows, leastRows, tile.rows, [&](int64_t count) {
                makeTile(count, strips, row, strip, buffers);
              });
            });
      });
    });
  });
}

/// The body for the value that `rows` has of `least` to `most`.
void LinearKernel::makeSwitch(Value rows, int64_t least, int64_t most,
                              function_ref<void(int64_t)> body) {
  SmallVector<int64_t> cases;
  for (int64_t count = least; count < most; ++count)
    cases.push_back(count);
  auto choice = scf::IndexSwitchOp::create(builder, TypeRange(), rows, cases,
                                           cases.size());
  auto fill = [&](Region &region, int64_t count) {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(&region.emplaceBlock());
    body(count);
    scf::YieldOp::create(builder);
  };
  for (auto [region, count] : llvm::zip(choice.getCaseRegions(), cases))
    fill(region, count);
  fill(choice.getDefaultRegion(), most);
}

void LinearKernel::build() {
  zero = builder.index(0);
  rowCount = builder.size(output, 0);
  columnCount = builder.size(output, 1);
  termCount = builder.size(panels, 1);
  stripCount =
      builder.divideUp(columnCount, builder.index(tile.getStripWidth()));
  int64_t scratchColumns = 0;
  for (int64_t rows = 1; rows <= tile.rows; ++rows) {
    int64_t strips = tile.getStrips(target, rows);
    if (strips > tile.getStrips(target))
      fewRows = rows;
    scratchColumns = std::max(scratchColumns, strips * tile.getStripWidth());
  }
  auto makeScratch = [&](Type element, MemRefType type) {
    Value made = memref::AllocaOp::create(
        builder, MemRefType::get({tile.rows, scratchColumns}, element));
    return memref::CastOp::create(builder, type, made).getResult();
  };
  scratchInitial =
      makeScratch(types.initial, cast<MemRefType>(initial.getType()));
  scratchOutput = makeScratch(types.output, cast<MemRefType>(output.getType()));
  Value tileCount = builder.divideUp(rowCount, builder.index(tile.rows));

  firstTerm = zero;
  endTerm = termCount;
  auto makeFew = [&] {
    makeSwitch(rowCount, 1, fewRows, [&](int64_t rows) { makeFewRows(rows); });
  };
  Value isMany = builder.compare(arith::CmpIPredicate::sgt, rowCount,
                                 builder.index(fewRows));
  auto choice = scf::IfOp::create(builder, isMany, fewRows > 0);
  {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(choice.thenBlock());
    makeBlocks(tileCount);
    if (fewRows > 0) {
      builder.setInsertionPointToStart(choice.elseBlock());
      // The switch takes any other number for the largest.
      Value isSome = builder.compare(arith::CmpIPredicate::sgt, rowCount, zero);
      builder.when(isSome, makeFew);
    }
  }
  func::ReturnOp::create(builder);
}

/// Blocks of k of nearly equal size, where sums may rest in the output.
void LinearKernel::makeBlocks(Value tileCount) {
  if (types.output != sumType || types.initial != sumType)
    return makeManyRows(tileCount);
  Value one = builder.index(1);
  // One tile reads a strip once: nothing would be won.
  Value blocks = builder.divideUp(termCount, builder.index(getTermsPerBlock()));
  blocks = arith::MaxSIOp::create(builder, blocks, one);
  Value isSingle = builder.compare(arith::CmpIPredicate::eq, tileCount, one);
  blocks = builder.choose(isSingle, one, blocks);
  Value terms = builder.divideUp(termCount, blocks);
  llvm::SaveAndRestore keepInitial(initial), keepFlag(hasInitial),
      keepFirst(firstTerm), keepEnd(endTerm);
  builder.loop(
      zero, blocks, 1, {initial, hasInitial},
      [&](Value block, ValueRange carried) -> SmallVector<Value> {
        initial = carried[0];
        hasInitial = carried[1];
        firstTerm = builder.minimum(builder.multiply(block, terms), termCount);
        endTerm = builder.minimum(builder.add(firstTerm, terms), termCount);
        makeManyRows(tileCount);
        Value isTrue =
            arith::ConstantOp::create(builder, builder.getBoolAttr(true));
        return {output, isTrue};
      });
}

func::FuncOp gatefold::makeLinearKernel(Location loc,
                                        const TargetDescription &target,
                                        const ProductTile &tile,
                                        const ProductTypes &types) {
  constexpr int64_t open = ShapedType::kDynamic;
  MLIRContext *context = loc.getContext();
  Type arguments[] = {getOpenBuffer(types.x, {open, open}, 1),
                      getOpenBuffer(types.panels, {open, open, types.width}, 2),
                      getOpenBuffer(types.initial, {open, open}, 1),
                      IntegerType::get(context, 1),
                      getOpenBuffer(types.output, {open, open}, 1)};
  func::FuncOp function = makeKernelFunction(loc, types.getName(), arguments);
  LinearKernel(function, target, tile, types).build();
  return function;
}
