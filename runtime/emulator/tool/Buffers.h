// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- Buffers.h - A kernel's arguments as the user writes them -*- C++ -*-===//

#ifndef RUNTIME_EMULATOR_TOOL_BUFFERS_H
#define RUNTIME_EMULATOR_TOOL_BUFFERS_H

#include "runtime/emulator/Emulator.h"
#include "runtime/files/Tensor.h"

namespace gatefold::emulator {

/// Memory of the device that an argument names.
struct Buffer {
  std::string name;
  files::ElementKind element = files::ElementKind::f32;
  std::vector<int64_t> shape;
  uint64_t bytes = 0, alignment = 256;
  /// What it holds at first; nothing: nobody has written it.
  std::vector<uint8_t> values;
  bool isInput = false;
  /// On the device of the run.
  uint64_t address = 0;
};

/// One argument: a buffer's address, or a number.
struct ArgumentText {
  std::string text;
  /// Of `Arguments::buffers`.
  std::optional<size_t> buffer;
  uint64_t offset = 0;
  Argument number;
};

/// All arguments of a kernel, in their order.
struct Arguments {
  std::vector<Buffer> buffers;
  std::vector<ArgumentText> list;

  /// Reads `i32:5`, `null`, `x.npy`, `NAME=FILE.npy`, `NAME=f32[4,128]`,
  /// `NAME=f32[4,128]:0`, with `@ALIGNMENT` behind what becomes a buffer, or
  /// `NAME` and `NAME+BYTES` of a buffer that was given before.
  llvm::Error add(llvm::StringRef text);
  /// Makes the buffers on a device and gives the arguments.
  llvm::Expected<std::vector<Argument>> place(Device &device);
  Buffer *find(llvm::StringRef name);
};

/// The value of one element; floats and integers alike.
double elementValue(const Buffer &buffer, const uint8_t *element);

} // namespace gatefold::emulator

#endif // RUNTIME_EMULATOR_TOOL_BUFFERS_H
