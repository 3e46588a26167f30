// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- MatrixMove.cpp - Matrices between memory and a warp's registers ----===//
//
// PTX ISA, "Warp Level Matrix Instructions": ldmatrix, stmatrix of 8x8 matrices
// of 16 bits. Lane 8 * m + r holds the address of row r of matrix m; lane l
// then holds the two elements (l / 4, l % 4 * 2) and the next of each matrix,
// or of its transpose.
//
//===----------------------------------------------------------------------===//

#include "runtime/emulator/instructions/Operation.h"

using namespace llvm;
using namespace gatefold::emulator;
using namespace gatefold::emulator::ptx;

static constexpr unsigned rows = 8, rowBytes = 16;

namespace {

/// Where lane and half of a register are in a matrix.
struct Element {
  unsigned row, column;
  Element(unsigned lane, unsigned half, bool transposed)
      : row(lane / 4), column(lane % 4 * 2 + half) {
    if (transposed)
      std::swap(row, column);
  }
};

} // namespace

/// The rows of all matrices, after the machine's checks; false: the launch has
/// ended.
static bool accessRows(Machine &machine, ArrayRef<Frame *> lanes,
                       unsigned matrices, Space space, AccessKind kind,
                       uint16_t **memory) {
  for (unsigned index = 0; index < matrices * rows; ++index) {
    Frame &frame = *lanes[index];
    uint64_t address = frame.sources[0];
    if (!checkSpace(machine, *frame.thread, address, space))
      return false;
    memory[index] = static_cast<uint16_t *>(
        machine.access(*frame.thread, address, rowBytes, rowBytes, kind));
    if (!memory[index])
      return false;
  }
  return true;
}

static bool load(Machine &machine, ArrayRef<Frame *> lanes, unsigned matrices,
                 bool transposed, Space space) {
  uint16_t *memory[4 * rows];
  if (!accessRows(machine, lanes, matrices, space, AccessKind::Read, memory))
    return false;
  for (unsigned lane = 0; lane < warpSize; ++lane)
    for (unsigned matrix = 0; matrix < matrices; ++matrix) {
      Element low(lane, 0, transposed), high(lane, 1, transposed);
      uint16_t **row = memory + matrix * rows;
      lanes[lane]->results[matrix] =
          row[low.row][low.column] | uint32_t(row[high.row][high.column]) << 16;
    }
  return true;
}

static bool store(Machine &machine, ArrayRef<Frame *> lanes, unsigned matrices,
                  bool transposed, Space space) {
  uint16_t *memory[4 * rows];
  if (!accessRows(machine, lanes, matrices, space, AccessKind::Write, memory))
    return false;
  for (unsigned lane = 0; lane < warpSize; ++lane)
    for (unsigned matrix = 0; matrix < matrices; ++matrix)
      for (unsigned half = 0; half < 2; ++half) {
        Element element(lane, half, transposed);
        memory[matrix * rows + element.row][element.column] =
            uint16_t(lanes[lane]->word(1 + matrix) >> (16 * half));
      }
  return true;
}

/// {ld,st}matrix.sync.aligned.m8n8{.x1,.x2,.x4}{.trans}{.shared}.b16
std::optional<Operation>
gatefold::emulator::ptx::findMatrixMove(Name name, const Syntax &) {
  bool loads = name.take("ldmatrix");
  if ((!loads && !name.take("stmatrix")) || !name.take("sync") ||
      !name.take("aligned") || !name.take("m8n8"))
    return std::nullopt;
  std::optional<StringRef> count = name.takeOneOf({"x1", "x2", "x4"});
  bool transposed = name.take("trans");
  if (!count)
    return std::nullopt;
  // A generic address is in shared memory, too.
  Space space = takeSpace(name);
  if (space == Space::Generic)
    space = Space::Shared;
  if (space != Space::Shared || !name.take("b16") || !name.done())
    return std::nullopt;
  unsigned matrices = count->back() - '0';
  Operation operation;
  operation.results = loads ? matrices : 0;
  operation.sources = loads ? 1 : 1 + matrices;
  operation.executeWarp = [=](Machine &machine, ArrayRef<Frame *> lanes) {
    return (loads ? load : store)(machine, lanes, matrices, transposed, space);
  };
  return operation;
}
