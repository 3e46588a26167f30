// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- SharedTileTest.cpp - Where elements of a shared tile lie -----------===//
//
// The layout keeps rows apart and frees what a warp reads at once of bank
// conflicts; the code that computes a place computes what the layout says.
//
//===----------------------------------------------------------------------===//

#include "passes/gpu/SharedTile.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/raw_ostream.h"
#include <map>
#include <set>

using namespace mlir;
using namespace gatefold;

static unsigned failures = 0;

static void expect(bool condition, const SharedTile &tile, const Twine &what) {
  if (condition)
    return;
  ++failures;
  llvm::errs() << "rows of " << tile.getRowBytes() << " bytes, elements of "
               << tile.getElementBytes() << ": " << what << "\n";
}

/// Each element has a place of its own in its row.
static void testPlaces(const SharedTile &tile, int64_t columns) {
  for (int64_t row = 0; row < tile.getRows(); ++row) {
    std::set<int64_t> places;
    for (int64_t column = 0; column < columns; ++column) {
      int64_t place = tile.getByte(row, column);
      places.insert(place);
      expect(place / tile.getRowBytes() == row, tile, "leaves its row");
      expect(place % tile.getElementBytes() == 0, tile, "is cut");
      int64_t inChunk = column * tile.getElementBytes();
      expect(place % SharedTile::chunkBytes == inChunk % SharedTile::chunkBytes,
             tile, "is moved in its chunk");
    }
    expect(int64_t(places.size()) == columns, tile, "two in one place");
  }
}

/// A phase of ldmatrix reads a chunk of each of 8 rows: of all 8 groups of
/// 4 banks one.
static void testMatrixPhases(const SharedTile &tile) {
  int64_t chunkElements = SharedTile::chunkBytes / tile.getElementBytes();
  for (int64_t first = 0; first + 8 <= tile.getRows(); first += 8)
    for (int64_t chunk = 0; chunk < tile.getRowChunks(); ++chunk) {
      std::set<int64_t> groups;
      for (int64_t row = 0; row < 8; ++row)
        groups.insert(tile.getByte(first + row, chunk * chunkElements) / 16 %
                      8);
      expect(groups.size() == 8, tile, "ldmatrix meets a bank twice");
    }
}

/// Lane 4 g + t reads a word of row 2 t (or 2 t + 1) and column g, as a product
/// does of values in f32. Of rows that are shorter than all banks, pairs of
/// rows share some.
static void testWordReads(const SharedTile &tile, int64_t columns) {
  size_t most = tile.getRowBytes() % 128 == 0 ? 1 : 2;
  for (int64_t first = 0; first + 8 <= tile.getRows(); first += 8)
    for (int64_t odd = 0; odd < 2; ++odd)
      for (int64_t left = 0; left + 8 <= columns; left += 8) {
        std::map<int64_t, std::set<int64_t>> wordsOfBank;
        for (int64_t lane = 0; lane < 32; ++lane) {
          int64_t word =
              tile.getByte(first + 2 * (lane % 4) + odd, left + lane / 4) / 4;
          wordsOfBank[word % 32].insert(word);
        }
        for (auto &[bank, words] : wordsOfBank)
          expect(words.size() <= most, tile, "words meet in a bank");
      }
}

namespace {
/// Code that is built, and evaluated.
class Code {
public:
  explicit Code(MLIRContext *context)
      : builder(context), loc(builder.getUnknownLoc()),
        module(ModuleOp::create(loc)) {
    builder.setInsertionPointToStart(module->getBody());
    base = LLVM::ZeroOp::create(builder, loc,
                                LLVM::LLVMPointerType::get(context, 3));
  }
  Value number(int64_t value) {
    return arith::ConstantIntOp::create(builder, loc, builder.getI32Type(),
                                        value);
  }
  static int64_t evaluate(Value value);

  OpBuilder builder;
  Location loc;
  OwningOpRef<ModuleOp> module;
  Value base;
};
} // namespace

int64_t Code::evaluate(Value value) {
  Operation *op = value.getDefiningOp();
  auto operand = [&](unsigned i) { return evaluate(op->getOperand(i)); };
  return llvm::TypeSwitch<Operation *, int64_t>(op)
      .Case([](arith::ConstantIntOp op) { return op.value(); })
      .Case([&](arith::AddIOp) { return operand(0) + operand(1); })
      .Case([&](arith::MulIOp) { return operand(0) * operand(1); })
      .Case([&](arith::ShLIOp) { return operand(0) << operand(1); })
      .Case([&](arith::ShRUIOp) { return operand(0) >> operand(1); })
      .Case([&](arith::AndIOp) { return operand(0) & operand(1); })
      .Case([&](arith::XOrIOp) { return operand(0) ^ operand(1); })
      .Case([](LLVM::ZeroOp) { return 0; })
      .Case([&](LLVM::GEPOp op) {
        int32_t constant = op.getRawConstantIndices()[0];
        return operand(0) + (constant == LLVM::GEPOp::kDynamicIndex
                                 ? operand(1)
                                 : int64_t(constant));
      })
      .DefaultUnreachable("code has other operations than are evaluated here");
}

/// Of an element at a place that a lane computes, steps away by constants.
static void testSteps(const SharedTile &tile, int64_t columns,
                      MLIRContext *context) {
  Code code(context);
  for (int64_t laneRow = 0; laneRow < 9; ++laneRow)
    for (int64_t laneColumn : {int64_t(0), int64_t(1), columns / 2}) {
      Value offset =
          tile.buildOffset(code.builder, code.loc, code.number(laneRow),
                           code.number(laneColumn));
      expect(Code::evaluate(offset) == tile.getByte(laneRow, laneColumn), tile,
             "an offset differs");
      for (int64_t rows = 0; laneRow + rows < tile.getRows(); ++rows)
        for (int64_t step = 0; laneColumn + step < columns; ++step) {
          if ((laneRow & rows) != 0 || (laneColumn & step) != 0)
            continue;
          Value pointer = tile.buildPointer(code.builder, code.loc, code.base,
                                            offset, rows, step);
          expect(Code::evaluate(pointer) ==
                     tile.getByte(laneRow + rows, laneColumn + step),
                 tile, "a step differs");
        }
    }
}

static void testMatrixOffsets(const SharedTile &tile, MLIRContext *context) {
  Code code(context);
  int64_t chunkElements = SharedTile::chunkBytes / tile.getElementBytes();
  for (int64_t lane = 0; lane < 32; ++lane) {
    int64_t second = lane / 8 % 2, pair = lane / 16;
    auto offset = [&](SharedTile::MatrixOrder order) {
      return Code::evaluate(tile.buildMatrixOffset(code.builder, code.loc,
                                                   code.number(lane), order));
    };
    expect(offset(SharedTile::MatrixOrder::Down) ==
               tile.getByte(lane % 8 + 8 * second, pair * chunkElements),
           tile, "matrices one below another");
    expect(offset(SharedTile::MatrixOrder::Across) ==
               tile.getByte(lane % 8 + 8 * pair, second * chunkElements),
           tile, "matrices side by side");
  }
}

int main() {
  MLIRContext context;
  context.loadDialect<arith::ArithDialect, gpu::GPUDialect, LLVM::LLVMDialect,
                      NVVM::NVVMDialect>();
  // Powers of two, and 96 columns of 16 bits and others that are none.
  for (int64_t bytes : {32, 64, 128, 256, 512, 48, 80, 96, 192, 320}) {
    for (int64_t elementBytes : {2, 4}) {
      int64_t columns = bytes / elementBytes;
      SharedTile tile(32, columns, elementBytes);
      testPlaces(tile, columns);
      testMatrixPhases(tile);
      if (elementBytes == 4)
        testWordReads(tile, columns);
      testSteps(tile, columns, &context);
      testMatrixOffsets(tile, &context);
    }
  }
  if (failures == 0)
    llvm::outs() << "all tests passed\n";
  return failures != 0;
}
