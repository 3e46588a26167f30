// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- SharedTile.cpp - A matrix in shared memory -------------------------===//

#include "passes/gpu/SharedTile.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace gatefold;

namespace {
/// Arithmetic on i32, where multiplications and divisions by powers of two are
/// shifts.
class Words {
public:
  Words(OpBuilder &builder, Location loc) : builder(builder), loc(loc) {}
  Value constant(int64_t value) {
    return arith::ConstantIntOp::create(builder, loc, builder.getI32Type(),
                                        value);
  }
  Value times(Value value, int64_t factor) {
    if (factor == 1)
      return value;
    if (llvm::isPowerOf2_64(factor))
      return arith::ShLIOp::create(builder, loc, value,
                                   constant(llvm::Log2_64(factor)));
    return arith::MulIOp::create(builder, loc, value, constant(factor));
  }
  Value right(Value value, int64_t bits) {
    if (bits == 0)
      return value;
    return arith::ShRUIOp::create(builder, loc, value, constant(bits));
  }
  Value mask(Value value, int64_t bits) {
    return arith::AndIOp::create(builder, loc, value, constant(bits));
  }
  Value add(Value a, Value b) {
    return arith::AddIOp::create(builder, loc, a, b);
  }
  Value exclusive(Value a, Value b) {
    return arith::XOrIOp::create(builder, loc, a, b);
  }

private:
  OpBuilder &builder;
  Location loc;
};
} // namespace

Value gatefold::buildBufferPointer(OpBuilder &builder, Location loc,
                                   Value buffer) {
  // The first words of a descriptor, as the llvm dialect will have it.
  auto type = cast<MemRefType>(buffer.getType());
  unsigned space = 0;
  if (auto named =
          dyn_cast_if_present<gpu::AddressSpaceAttr>(type.getMemorySpace()))
    space =
        static_cast<unsigned>(named.getValue() == gpu::AddressSpace::Workgroup
                                  ? NVVM::NVVMMemorySpace::Shared
                                  : NVVM::NVVMMemorySpace::Global);
  auto pointer = LLVM::LLVMPointerType::get(builder.getContext(), space);
  Type i64 = builder.getI64Type();
  SmallVector<Type> fields = {pointer, pointer, i64};
  if (type.getRank() > 0)
    fields.append(2, LLVM::LLVMArrayType::get(i64, type.getRank()));
  auto structure =
      LLVM::LLVMStructType::getLiteral(builder.getContext(), fields);
  Value descriptor =
      UnrealizedConversionCastOp::create(builder, loc, structure, buffer)
          .getResult(0);
  return LLVM::ExtractValueOp::create(builder, loc, descriptor, 1);
}

/// The pointer `bytes` behind another one, in the same tile.
static Value behind(OpBuilder &builder, Location loc, Value pointer,
                    LLVM::GEPArg bytes) {
  return LLVM::GEPOp::create(builder, loc, pointer.getType(),
                             builder.getI8Type(), pointer,
                             ArrayRef<LLVM::GEPArg>{bytes});
}

SharedTile::SharedTile(int64_t rows, int64_t columns, int64_t elementBytes)
    : rows(rows), rowBytes(columns * elementBytes), elementBytes(elementBytes) {
  assert(rowBytes > 0 && rowBytes % chunkBytes == 0 && "rows of whole chunks");
  // The lowest bit that is set is the greatest power of two that divides.
  int64_t chunks = getRowChunks();
  int64_t swizzled = std::min<int64_t>(chunks & -chunks, 8);
  mask = swizzled - 1;
  shift = 3 - llvm::Log2_64(swizzled);
}

FailureOr<SharedTile> SharedTile::get(MemRefType type) {
  auto space =
      dyn_cast_if_present<gpu::AddressSpaceAttr>(type.getMemorySpace());
  if (!space || space.getValue() != gpu::AddressSpace::Workgroup ||
      type.getRank() != 2 || !type.hasStaticShape() ||
      !type.getElementType().isIntOrFloat())
    return failure();
  int64_t bits = type.getElementTypeBitWidth();
  SmallVector<int64_t> strides;
  int64_t offset;
  if (bits % 8 != 0 || failed(type.getStridesAndOffset(strides, offset)) ||
      strides[0] != type.getDimSize(1) || strides[1] != 1)
    return failure();
  int64_t bytes = type.getDimSize(1) * (bits / 8);
  if (bytes == 0 || bytes % chunkBytes != 0)
    return failure();
  return SharedTile(type.getDimSize(0), type.getDimSize(1), bits / 8);
}

int64_t SharedTile::getByte(int64_t row, int64_t column) const {
  return row * rowBytes + ((column * elementBytes) ^ getSwizzle(row));
}

Value SharedTile::buildBase(OpBuilder &builder, Location loc, Value tile) {
  auto type = cast<MemRefType>(tile.getType());
  Value pointer = buildBufferPointer(builder, loc, tile);
  SmallVector<int64_t> strides;
  int64_t offset;
  if (succeeded(type.getStridesAndOffset(strides, offset)) && offset == 0)
    return pointer;
  Value elements =
      memref::ExtractStridedMetadataOp::create(builder, loc, tile).getOffset();
  // All of shared memory is counted in 32 bits.
  Words words(builder, loc);
  Value narrow =
      arith::IndexCastOp::create(builder, loc, builder.getI32Type(), elements);
  return behind(builder, loc, pointer,
                words.times(narrow, type.getElementTypeBitWidth() / 8));
}

Value SharedTile::buildOffset(OpBuilder &builder, Location loc, Value row,
                              Value column) const {
  Words words(builder, loc);
  Value bytes = words.times(column, elementBytes);
  if (mask != 0) {
    Value swizzle = words.mask(words.right(row, shift), mask);
    bytes = words.exclusive(bytes, words.times(swizzle, chunkBytes));
  }
  return words.add(words.times(row, rowBytes), bytes);
}

Value SharedTile::buildMatrixOffset(OpBuilder &builder, Location loc,
                                    Value lane, MatrixOrder order) const {
  Words words(builder, loc);
  // Bit 3 of the lane is the second of two matrices, bit 4 of two pairs.
  Value second = words.mask(words.right(lane, 3), 1);
  Value pair = words.mask(words.right(lane, 4), 1);
  bool isDown = order == MatrixOrder::Down;
  Value below = words.times(isDown ? second : pair, 8);
  Value row = words.add(words.mask(lane, 7), below);
  Value column = words.times(isDown ? pair : second, chunkBytes / elementBytes);
  return buildOffset(builder, loc, row, column);
}

Value SharedTile::buildPointer(OpBuilder &builder, Location loc, Value base,
                               Value offset, int64_t rows,
                               int64_t columns) const {
  // Bits of a row's place and of a chunk's that no carry reaches: those that
  // change places are flipped, the others are added.
  int64_t swizzled = mask * chunkBytes;
  int64_t column = columns * elementBytes;
  int64_t flipped = (column & swizzled) ^ getSwizzle(rows);
  int64_t added = rows * rowBytes + (column & ~swizzled);
  if (flipped != 0) {
    Words words(builder, loc);
    offset = words.exclusive(offset, words.constant(flipped));
  }
  Value pointer = behind(builder, loc, base, offset);
  if (added == 0)
    return pointer;
  return behind(builder, loc, pointer, static_cast<int32_t>(added));
}
