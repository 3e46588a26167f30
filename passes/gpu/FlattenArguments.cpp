// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- FlattenArguments.cpp - Buffers of a kernel as pointers and sizes ---===//
//
// Upstream passes each buffer as two pointers, an offset, all sizes and all
// strides. What its type says need not be passed: parameters of a kernel are
// few bytes, and a model may have hundreds of tensors.
//
//===----------------------------------------------------------------------===//

#include "passes/gpu/Kernels.h"
#include "passes/gpu/Passes.h"

namespace gatefold {
#define GEN_PASS_DEF_FLATTENARGUMENTS
#include "passes/gpu/Passes.h.inc"
} // namespace gatefold

using namespace mlir;
using namespace gatefold;

namespace {
/// Replaces the arguments of one kernel.
class Flattening {
public:
  explicit Flattening(gpu::GPUFuncOp kernel)
      : kernel(kernel), body(kernel.getBody().front()),
        builder(OpBuilder::atBlockBegin(&body)) {}
  LogicalResult run();

private:
  LogicalResult flatten(BlockArgument argument);
  Value addArgument(Type type, Location loc) {
    types.push_back(type);
    return body.addArgument(type, loc);
  }

  gpu::GPUFuncOp kernel;
  Block &body;
  OpBuilder builder;
  SmallVector<Type> types;
  /// Of each buffer: what of its descriptor is passed.
  SmallVector<Attribute> words;
};
} // namespace

/// A pointer, the open sizes and the open strides, and of them the struct that
/// stands for the buffer in the llvm dialect.
LogicalResult Flattening::flatten(BlockArgument argument) {
  auto type = cast<MemRefType>(argument.getType());
  Location loc = argument.getLoc();
  MLIRContext *context = builder.getContext();
  SmallVector<int64_t> strides;
  int64_t offset;
  if (failed(type.getStridesAndOffset(strides, offset)))
    return kernel.emitOpError("takes a buffer without strides: ") << type;
  if (!ShapedType::isDynamic(offset) && offset != 0)
    return kernel.emitOpError("takes a buffer that begins behind its pointer: ")
           << type;
  Type i64 = builder.getI64Type();
  auto pointer = LLVM::LLVMPointerType::get(
      context, static_cast<unsigned>(NVVM::NVVMMemorySpace::Global));
  SmallVector<Type> fields = {pointer, pointer, i64};
  if (type.getRank() > 0)
    fields.append(2, LLVM::LLVMArrayType::get(i64, type.getRank()));
  auto structure = LLVM::LLVMStructType::getLiteral(context, fields);
  Value whole = LLVM::PoisonOp::create(builder, loc, structure);
  auto insert = [&](Value value, ArrayRef<int64_t> place) {
    whole = LLVM::InsertValueOp::create(builder, loc, whole, value, place);
  };
  SmallVector<int64_t> passed = {1};
  auto number = [&](int64_t value, int64_t word) -> Value {
    if (!ShapedType::isDynamic(value))
      return LLVM::ConstantOp::create(builder, loc, i64, value);
    passed.push_back(word);
    return addArgument(i64, loc);
  };
  Value first = addArgument(pointer, loc);
  insert(first, {0});
  insert(first, {1});
  insert(LLVM::ConstantOp::create(builder, loc, i64, 0), {2});
  for (auto [dim, size] : llvm::enumerate(type.getShape()))
    insert(number(size, 3 + dim), {3, int64_t(dim)});
  for (auto [dim, stride] : llvm::enumerate(strides))
    insert(number(stride, 3 + type.getRank() + dim), {4, int64_t(dim)});
  words.push_back(builder.getDenseI64ArrayAttr(passed));
  auto buffer = UnrealizedConversionCastOp::create(builder, loc, type, whole);
  argument.replaceAllUsesWith(buffer.getResult(0));
  return success();
}

LogicalResult Flattening::run() {
  unsigned count = kernel.getNumArguments();
  for (unsigned i = 0; i < count; ++i) {
    BlockArgument argument = body.getArgument(i);
    if (isa<MemRefType>(argument.getType())) {
      if (failed(flatten(argument)))
        return failure();
    } else {
      argument.replaceAllUsesWith(
          addArgument(argument.getType(), argument.getLoc()));
    }
  }
  body.eraseArguments(0, count);
  int64_t bytes = 0;
  for (Type type : types)
    bytes += isa<LLVM::LLVMPointerType>(type)
                 ? 8
                 : llvm::divideCeil(type.getIntOrFloatBitWidth(), 8);
  if (bytes > mostParameterBytes)
    return kernel.emitOpError("takes ")
           << bytes << " bytes of parameters for its tensors, a kernel at most "
           << mostParameterBytes;
  kernel.setFunctionType(builder.getFunctionType(types, {}));
  kernel.removeArgAttrsAttr();
  kernel->setAttr(argumentWordsName, builder.getArrayAttr(words));
  return success();
}

namespace {
struct FlattenArguments
    : gatefold::impl::FlattenArgumentsBase<FlattenArguments> {
  void runOnOperation() override {
    gpu::GPUFuncOp kernel = getOperation();
    if (kernel.isKernel() && failed(Flattening(kernel).run()))
      signalPassFailure();
  }
};
} // namespace
