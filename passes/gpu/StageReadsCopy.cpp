// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- StageReadsCopy.cpp - From global to shared memory ------------------===//
//
// Threads of a block take the 16-byte chunks of a matrix in turns. Whether its
// rows begin at multiples of 16 bytes is known when the code runs, and all
// threads find the same; where they do not, threads take elements in turns.
//
//===----------------------------------------------------------------------===//

#include "passes/gpu/StageReadsCopy.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace gatefold;

/// Chunks that a thread copies in straight code; more become a loop.
static constexpr int64_t mostUnrolled = 16;

bool gatefold::isSurelyInBounds(VectorTransferOpInterface transfer,
                                unsigned dim) {
  auto counted =
      dyn_cast<AffineDimExpr>(transfer.getPermutationMap().getResult(dim));
  std::optional<int64_t> begin;
  if (counted)
    begin = getConstantIntValue(transfer.getIndices()[counted.getPosition()]);
  return transfer.isDimInBounds(dim) && begin.value_or(0) >= 0;
}

TileSource TileSource::of(vector::TransferReadOp read) {
  return {read.getBase(), SmallVector<Value>(read.getIndices()),
          read.getVectorType(), isSurelyInBounds(read, 0),
          isSurelyInBounds(read, 1)};
}

namespace {
class TileCopy {
public:
  TileCopy(OpBuilder &builder, Location loc, const TileSource &source,
           const SharedTile &tile, Value base, int64_t threads)
      : builder(loc, builder), source(source), tile(tile), base(base),
        threads(threads), i32(builder.getI32Type()), i64(builder.getI64Type()),
        elementBytes(tile.getElementBytes()) {}
  void build();

private:
  Value number(int64_t value) {
    return arith::ConstantIntOp::create(builder, i32, value);
  }
  Value wide(int64_t value) {
    return arith::ConstantIntOp::create(builder, i64, value);
  }
  Value widen(Value value) {
    return arith::ExtUIOp::create(builder, i64, value);
  }
  Value toWide(OpFoldResult value);
  Value add(Value a, Value b) { return arith::AddIOp::create(builder, a, b); }
  Value times(Value a, Value b) { return arith::MulIOp::create(builder, a, b); }
  Value compare(arith::CmpIPredicate predicate, Value a, Value b) {
    return arith::CmpIOp::create(builder, predicate, a, b);
  }
  Value choose(Value condition, Value a, Value b) {
    return arith::SelectOp::create(builder, condition, a, b);
  }
  Value behind(Value pointer, Value bytes) {
    return LLVM::GEPOp::create(builder, pointer.getType(), builder.getI8Type(),
                               pointer, ArrayRef<LLVM::GEPArg>{bytes});
  }
  void findSource();
  Value countExisting(int64_t dim, int64_t most);
  void findRows(int64_t dim);
  /// Whether chunks of rows begin at multiples of their size.
  Value areRowsAligned();
  void copyAsync(Value to, Value from, int64_t bytes, Value existing);
  Value existingBytes(Value row, Value byte, int64_t bytes);
  void copyChunks();
  void copyChunk(Value row, Value chunk, Value to, Value from);
  void copyChunkNumber(Value number);
  void copyElements();
  void copyElement(Value row, Value column);

  ImplicitLocOpBuilder builder;
  const TileSource &source;
  const SharedTile &tile;
  Value base;
  int64_t threads;
  Type i32, i64;
  int64_t elementBytes;

  Value thread;
  /// The first element that is read; bytes from row to row and from column to
  /// column; how many rows, and bytes of a row, exist, null for all.
  Value first, rowStride, columnStride, rows, rowBytes;
  /// The first row that exists, where it may be another than the tile's: what
  /// is read from an index below 0 begins before the buffer.
  Value firstRow;
  int64_t staticRowStride, staticColumnStride;
};
} // namespace

Value TileCopy::toWide(OpFoldResult value) {
  if (std::optional<int64_t> known = getConstantIntValue(value))
    return wide(*known);
  return arith::IndexCastOp::create(builder, i64, cast<Value>(value));
}

/// How many of a row's or column's elements exist behind the first one, at
/// most `most`; as i32.
Value TileCopy::countExisting(int64_t dim, int64_t most) {
  auto type = cast<MemRefType>(source.buffer.getType());
  OpFoldResult size = builder.getIndexAttr(type.getDimSize(dim));
  if (type.isDynamicDim(dim))
    size = memref::DimOp::create(builder, source.buffer, dim).getResult();
  Value rest =
      arith::SubIOp::create(builder, toWide(size), toWide(source.indices[dim]));
  rest = arith::MaxSIOp::create(builder, rest, wide(0));
  rest = arith::MinSIOp::create(builder, rest, wide(most));
  return arith::TruncIOp::create(builder, i32, rest);
}

/// Whether an index may be below 0: a difference, also where it was folded to a
/// number or to the sum with one. Counters, sizes and products of these are
/// not.
static bool mayBeBelowZero(Value index) {
  SetVector<Value> parts;
  parts.insert(index);
  for (size_t next = 0; next < parts.size(); ++next) {
    Value part = parts[next];
    if (std::optional<int64_t> known = getConstantIntValue(part)) {
      if (*known < 0)
        return true;
      continue;
    }
    if (part.getDefiningOp<arith::SubIOp>())
      return true;
    Operation *op = part.getDefiningOp();
    if (isa_and_nonnull<arith::AddIOp, arith::MulIOp, arith::MinSIOp>(op))
      parts.insert_range(op->getOperands());
  }
  return false;
}

void TileCopy::findRows(int64_t dim) {
  int64_t most = source.tile.getDimSize(0);
  rows = countExisting(dim, most);
  if (!mayBeBelowZero(source.indices[dim]))
    return;
  Value before =
      arith::SubIOp::create(builder, wide(0), toWide(source.indices[dim]));
  before = arith::MaxSIOp::create(builder, before, wide(0));
  before = arith::MinSIOp::create(builder, before, wide(most));
  firstRow = arith::TruncIOp::create(builder, i32, before);
  rows = arith::SubIOp::create(builder, rows, firstRow);
  rows = arith::MaxSIOp::create(builder, rows, number(0));
}

void TileCopy::findSource() {
  auto type = cast<MemRefType>(source.buffer.getType());
  int64_t rank = type.getRank();
  SmallVector<int64_t> strides;
  int64_t offset;
  [[maybe_unused]] LogicalResult isStrided =
      type.getStridesAndOffset(strides, offset);
  assert(succeeded(isStrided) && "read of a buffer without strides");
  auto whole = memref::ExtractStridedMetadataOp::create(builder, source.buffer);
  auto stride = [&](int64_t dim) {
    return ShapedType::isDynamic(strides[dim]) ? toWide(whole.getStrides()[dim])
                                               : wide(strides[dim]);
  };
  Value element =
      ShapedType::isDynamic(offset) ? toWide(whole.getOffset()) : wide(offset);
  for (int64_t dim = 0; dim < rank; ++dim)
    if (!isZeroInteger(source.indices[dim]))
      element = add(element, times(toWide(source.indices[dim]), stride(dim)));
  first = behind(buildBufferPointer(builder, builder.getLoc(), source.buffer),
                 times(element, wide(elementBytes)));
  rowStride = times(stride(rank - 2), wide(elementBytes));
  columnStride = times(stride(rank - 1), wide(elementBytes));
  staticRowStride = strides[rank - 2];
  staticColumnStride = strides[rank - 1];
  if (!source.hasAllRows)
    findRows(rank - 2);
  if (!source.hasAllColumns)
    rowBytes = times(countExisting(rank - 1, source.tile.getDimSize(1)),
                     number(elementBytes));
}

Value TileCopy::areRowsAligned() {
  int64_t chunk = SharedTile::chunkBytes;
  if (staticColumnStride != 1 || (!ShapedType::isDynamic(staticRowStride) &&
                                  staticRowStride * elementBytes % chunk != 0))
    return Value();
  Value place = LLVM::PtrToIntOp::create(builder, i64, first);
  if (ShapedType::isDynamic(staticRowStride))
    place = arith::OrIOp::create(builder, place, rowStride);
  Value rest = arith::AndIOp::create(builder, place, wide(chunk - 1));
  return compare(arith::CmpIPredicate::eq, rest, wide(0));
}

/// Of `bytes` bytes of a row, from `byte` on, those that exist; null for all.
Value TileCopy::existingBytes(Value row, Value byte, int64_t bytes) {
  Value existing;
  if (rowBytes) {
    Value rest = arith::SubIOp::create(builder, rowBytes, byte);
    rest = arith::MaxSIOp::create(builder, rest, number(0));
    existing = arith::MinSIOp::create(builder, rest, number(bytes));
  }
  if (!rows)
    return existing;
  if (firstRow)
    row = arith::SubIOp::create(builder, row, firstRow);
  return choose(compare(arith::CmpIPredicate::ult, row, rows),
                existing ? existing : number(bytes), number(0));
}

void TileCopy::copyAsync(Value to, Value from, int64_t bytes, Value existing) {
  // What is copied in whole chunks needs no first cache: it is read once.
  auto cache = bytes == SharedTile::chunkBytes
                   ? NVVM::LoadCacheModifierKind::CG
                   : NVVM::LoadCacheModifierKind::CA;
  NVVM::CpAsyncOp::create(builder, to, from, bytes, cache, existing);
}

void TileCopy::copyChunk(Value row, Value chunk, Value to, Value from) {
  Value byte;
  if (rowBytes)
    byte = times(chunk, number(SharedTile::chunkBytes));
  copyAsync(to, from, SharedTile::chunkBytes,
            existingBytes(row, byte, SharedTile::chunkBytes));
}

/// The chunk of any number.
void TileCopy::copyChunkNumber(Value chunkNumber) {
  Value chunks = number(tile.getRowChunks());
  Value row = arith::DivUIOp::create(builder, chunkNumber, chunks);
  Value chunk = arith::RemUIOp::create(builder, chunkNumber, chunks);
  int64_t chunkElements = SharedTile::chunkBytes / elementBytes;
  Value offset = tile.buildOffset(builder, builder.getLoc(), row,
                                  times(chunk, number(chunkElements)));
  Value from = behind(behind(first, times(widen(row), rowStride)),
                      widen(times(chunk, number(SharedTile::chunkBytes))));
  copyChunk(row, chunk,
            tile.buildPointer(builder, builder.getLoc(), base, offset), from);
}

void TileCopy::copyChunks() {
  int64_t rowChunks = tile.getRowChunks();
  int64_t total = tile.getRows() * rowChunks;
  int64_t turns = llvm::divideCeil(total, threads);
  // In each turn a thread is at the same chunk of a row that is some rows
  // further down, where nothing but constants changes.
  int64_t turnRows = threads / rowChunks;
  bool isRegular = threads % rowChunks == 0 && llvm::isPowerOf2_64(turnRows);
  auto inTurn = [&](int64_t turn, function_ref<void()> copy) {
    int64_t rest = total - turn * threads;
    if (rest >= threads)
      return copy();
    Value hasOne = compare(arith::CmpIPredicate::ult, thread, number(rest));
    auto choice = scf::IfOp::create(builder, hasOne, /*withElseRegion=*/false);
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(choice.thenBlock());
    copy();
  };
  if (turns > mostUnrolled) {
    auto loop =
        scf::ForOp::create(builder, thread, number(total), number(threads));
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(loop.getBody());
    return copyChunkNumber(loop.getInductionVar());
  }
  if (!isRegular) {
    for (int64_t turn = 0; turn < turns; ++turn)
      inTurn(turn,
             [&] { copyChunkNumber(add(thread, number(turn * threads))); });
    return;
  }
  Location loc = builder.getLoc();
  Value row = arith::DivUIOp::create(builder, thread, number(rowChunks));
  Value chunk = arith::RemUIOp::create(builder, thread, number(rowChunks));
  int64_t chunkElements = SharedTile::chunkBytes / elementBytes;
  Value offset =
      tile.buildOffset(builder, loc, row, times(chunk, number(chunkElements)));
  Value from =
      behind(first, add(times(widen(row), rowStride),
                        widen(times(chunk, number(SharedTile::chunkBytes)))));
  for (int64_t turn = 0; turn < turns; ++turn)
    inTurn(turn, [&] {
      int64_t down = turn * turnRows;
      copyChunk(turn ? add(row, number(down)) : row, chunk,
                tile.buildPointer(builder, loc, base, offset, down),
                turn ? behind(from, times(rowStride, wide(down))) : from);
    });
}

void TileCopy::copyElement(Value row, Value column) {
  Location loc = builder.getLoc();
  Value to = tile.buildPointer(builder, loc, base,
                               tile.buildOffset(builder, loc, row, column));
  Value from = behind(behind(first, times(widen(row), rowStride)),
                      times(widen(column), columnStride));
  Value existing =
      existingBytes(row, times(column, number(elementBytes)), elementBytes);
  if (elementBytes == 4)
    return copyAsync(to, from, elementBytes, existing);
  // Bits, whatever they mean.
  Type type = builder.getIntegerType(8 * elementBytes);
  auto load = [&](OpBuilder &inner) -> Value {
    return LLVM::LoadOp::create(inner, loc, type, from, elementBytes);
  };
  Value value;
  if (!existing) {
    value = load(builder);
  } else {
    Value exists = compare(arith::CmpIPredicate::ne, existing, number(0));
    auto choice = scf::IfOp::create(builder, loc, type, exists,
                                    /*withElseRegion=*/true);
    OpBuilder inner = choice.getThenBodyBuilder();
    scf::YieldOp::create(inner, loc, load(inner));
    inner = choice.getElseBodyBuilder();
    Value zero = arith::ConstantOp::create(inner, loc, inner.getZeroAttr(type));
    scf::YieldOp::create(inner, loc, zero);
    value = choice.getResult(0);
  }
  LLVM::StoreOp::create(builder, value, to, elementBytes);
}

void TileCopy::copyElements() {
  int64_t columns = source.tile.getDimSize(1);
  auto loop = scf::ForOp::create(
      builder, thread, number(source.tile.getNumElements()), number(threads));
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(loop.getBody());
  Value place = loop.getInductionVar();
  copyElement(arith::DivUIOp::create(builder, place, number(columns)),
              arith::RemUIOp::create(builder, place, number(columns)));
}

void TileCopy::build() {
  thread = arith::IndexCastOp::create(
      builder, i32, gpu::ThreadIdOp::create(builder, gpu::Dimension::x));
  findSource();
  Value aligned = areRowsAligned();
  if (!aligned)
    return copyElements();
  auto choice = scf::IfOp::create(builder, aligned, /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(choice.thenBlock());
  copyChunks();
  builder.setInsertionPointToStart(choice.elseBlock());
  copyElements();
}

void gatefold::buildTileCopy(OpBuilder &builder, Location loc,
                             const TileSource &source, const SharedTile &tile,
                             Value base, int64_t threads) {
  TileCopy(builder, loc, source, tile, base, threads).build();
}
