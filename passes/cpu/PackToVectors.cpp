// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- PackToVectors.cpp - Packings as calls of a kernel ------------------===//
//
// Each gf.pack on buffers becomes a call of the function for its type.
//
// Along 1 vectors of the source are vectors of the panels. Along 0 the source
// is turned over in registers.
//
//===----------------------------------------------------------------------===//

#include "dialect/GatefoldOps.h"
#include "mlir/IR/Remarks.h"
#include "passes/cpu/Passes.h"
#include "passes/cpu/ProductLoops.h"
#include "passes/cpu/Turn.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/bit.h"
#include "llvm/Support/raw_ostream.h"

namespace gatefold {
#define GEN_PASS_DEF_PACKTOVECTORS
#include "passes/cpu/Passes.h.inc"
} // namespace gatefold

using namespace mlir;
using namespace gatefold;

namespace {
class PackKernel {
public:
  PackKernel(func::FuncOp function, const TargetDescription &target,
             int64_t lanes, bool isAcross);
  void build();

private:
  void makeCopies(Value panel);
  void makeTurned(Value panel);
  void makeTurnedElements(Value panel);
  void fetchRowsBehind(Value row, Value k);
  SmallVector<Value> loadTurned(Value row, Value k);

  KernelBuilder builder;
  /// Of a vector; of 16 bytes; of a panel.
  int64_t lanes, pieceLanes, width;
  bool isAcross, hasMasks;
  Type element;
  VectorType vectorType;
  Value zero, source, panels, columnCount, termCount, padding;
};
} // namespace

PackKernel::PackKernel(func::FuncOp function, const TargetDescription &target,
                       int64_t lanes, bool isAcross)
    : builder(function.getLoc(), function.getContext()), lanes(lanes),
      isAcross(isAcross) {
  Block &block = function.getBody().front();
  builder.setInsertionPointToStart(&block);
  source = block.getArgument(0);
  panels = block.getArgument(1);
  auto type = cast<MemRefType>(panels.getType());
  element = type.getElementType();
  width = type.getDimSize(2);
  vectorType = VectorType::get(lanes, element);
  int64_t bits = element.getIntOrFloatBitWidth();
  pieceLanes = getPieceLanes(lanes, element);
  // Others would take a masked vector apart.
  hasMasks = target.vectorBytes >= 32 && bits >= 32;
}

/// Rows of the source to rows of a panel.
void PackKernel::makeCopies(Value panel) {
  Value first = builder.multiply(panel, builder.index(width));
  Value left = builder.subtract(columnCount, first);
  Value isWhole =
      builder.compare(arith::CmpIPredicate::sge, left, builder.index(width));
  auto at = [&](int64_t lane) { return builder.index(lane); };
  auto copyVectors = [&](ArrayRef<Value> masks) {
    builder.loop(zero, termCount, 1, [&](Value k) {
      for (int64_t lane = 0; lane < width; lane += lanes) {
        Value place[] = {k, builder.add(first, at(lane))};
        Value value =
            masks.empty()
                ? vector::LoadOp::create(builder, vectorType, source, place)
                      .getResult()
                : vector::MaskedLoadOp::create(builder, vectorType, source,
                                               place, masks[lane / lanes],
                                               padding)
                      .getResult();
        vector::StoreOp::create(builder, value, panels,
                                ValueRange{panel, k, at(lane)});
      }
    });
  };
  builder.either(
      isWhole, {},
      [&] {
        copyVectors({});
        return SmallVector<Value>();
      },
      [&] {
        if (hasMasks) {
          auto maskType = VectorType::get(lanes, builder.getI1Type());
          SmallVector<Value> masks;
          for (int64_t lane = 0; lane < width; lane += lanes)
            masks.push_back(vector::CreateMaskOp::create(
                builder, maskType, builder.subtract(left, at(lane))));
          copyVectors(masks);
          return SmallVector<Value>();
        }
        Value nothing =
            arith::ConstantOp::create(builder, builder.getZeroAttr(element));
        builder.loop(zero, termCount, 1, [&](Value k) {
          builder.loop(zero, left, 1, [&](Value lane) {
            Value value = memref::LoadOp::create(
                builder, source, ValueRange{k, builder.add(first, lane)});
            memref::StoreOp::create(builder, value, panels,
                                    ValueRange{panel, k, lane});
          });
          builder.loop(left, builder.index(width), 1, [&](Value lane) {
            memref::StoreOp::create(builder, nothing, panels,
                                    ValueRange{panel, k, lane});
          });
        });
        return SmallVector<Value>();
      });
}

/// The columns of 16 bytes of a vector's rows of the source.
SmallVector<Value> PackKernel::loadTurned(Value row, Value k) {
  auto pieceType = VectorType::get(pieceLanes, element);
  Value last = builder.subtract(columnCount, builder.index(1));
  return turnRows(
      builder, builder.getLoc(), lanes, pieceLanes, [&](int64_t lane) {
        // Rows behind the last are not there; what stands in for
        // them is masked.
        Value from =
            builder.minimum(builder.add(row, builder.index(lane)), last);
        return vector::LoadOp::create(builder, pieceType, source,
                                      ValueRange{from, k})
            .getResult();
      });
}

/// Where a line of the cache begins, has that of the rows behind a vector's
/// fetched: rows that are not in a cache would be waited for one vector's at a
/// time.
void PackKernel::fetchRowsBehind(Value row, Value k) {
  int64_t lineElements = 64 / (element.getIntOrFloatBitWidth() / 8);
  Value place = builder.remainder(k, builder.index(lineElements));
  builder.either(
      builder.compare(arith::CmpIPredicate::eq, place, zero), {},
      [&] {
        Value last = builder.subtract(columnCount, builder.index(1));
        for (int64_t lane = lanes; lane < 2 * lanes; ++lane) {
          Value from =
              builder.minimum(builder.add(row, builder.index(lane)), last);
          memref::PrefetchOp::create(builder, source, ValueRange{from, k},
                                     /*isWrite=*/false, /*localityHint=*/3,
                                     /*isDataCache=*/true);
        }
        return SmallVector<Value>();
      },
      [] { return SmallVector<Value>(); });
}

/// Rows of the source to columns of a panel, one after another.
void PackKernel::makeTurnedElements(Value panel) {
  Value first = builder.multiply(panel, builder.index(width));
  Value nothing =
      arith::ConstantOp::create(builder, builder.getZeroAttr(element));
  builder.loop(zero, builder.index(width), 1, [&](Value lane) {
    Value row = builder.add(first, lane);
    Value isInside =
        builder.compare(arith::CmpIPredicate::slt, row, columnCount);
    builder.loop(zero, termCount, 1, [&](Value k) {
      Value value = builder.either(
          isInside, element,
          [&]() -> SmallVector<Value> {
            return {
                memref::LoadOp::create(builder, source, ValueRange{row, k})};
          },
          [&]() -> SmallVector<Value> { return {nothing}; })[0];
      memref::StoreOp::create(builder, value, panels,
                              ValueRange{panel, k, lane});
    });
  });
}

/// The same by vectors, where a row has 16 bytes.
void PackKernel::makeTurned(Value panel) {
  Value first = builder.multiply(panel, builder.index(width));
  auto maskType = VectorType::get(lanes, builder.getI1Type());
  builder.loop(zero, builder.index(width), lanes, [&](Value lane) {
    Value row = builder.add(first, lane);
    Value left = builder.subtract(columnCount, row);
    Value mask = vector::CreateMaskOp::create(builder, maskType, left);
    Value lastStart = builder.subtract(termCount, builder.index(pieceLanes));
    builder.loop(zero, termCount, pieceLanes, [&](Value start) {
      // The last piece moves back over the one before.
      Value k = builder.minimum(start, lastStart);
      fetchRowsBehind(row, k);
      for (auto [i, vector] : llvm::enumerate(loadTurned(row, k))) {
        Value kept = builder.choose(mask, vector, padding);
        vector::StoreOp::create(
            builder, kept, panels,
            ValueRange{panel, builder.add(k, builder.index(i)), lane});
      }
    });
  });
}

void PackKernel::build() {
  zero = builder.index(0);
  padding = arith::ConstantOp::create(builder, builder.getZeroAttr(vectorType));
  columnCount = builder.size(source, isAcross ? 0 : 1);
  termCount = builder.size(panels, 1);
  Value isLong = builder.compare(arith::CmpIPredicate::sge, termCount,
                                 builder.index(pieceLanes));
  builder.loop(zero, builder.size(panels, 0), 1, [&](Value panel) {
    if (!isAcross)
      return makeCopies(panel);
    builder.either(
        isLong, {},
        [&] {
          makeTurned(panel);
          return SmallVector<Value>();
        },
        [&] {
          makeTurnedElements(panel);
          return SmallVector<Value>();
        });
  });
  func::ReturnOp::create(builder);
}

namespace {
struct PackToVectors : gatefold::impl::PackToVectorsBase<PackToVectors> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    auto target = TargetDescription::fromModule(module);
    SmallVector<PackOp> packings;
    WalkResult result = module.walk([&](PackOp op) {
      if (op.getResult()) {
        op.emitError("not compiled yet: 'gf.pack' on tensors");
        return WalkResult::interrupt();
      }
      packings.push_back(op);
      return WalkResult::advance();
    });
    if (result.wasInterrupted())
      return signalPassFailure();
    SymbolTable symbols(module);
    llvm::StringMap<func::FuncOp> kernels;
    for (PackOp op : packings) {
      lower(op, target, symbols, kernels);
      op.erase();
      ++matricesPacked;
    }
  }

  void lower(PackOp op, const TargetDescription &target, SymbolTable &symbols,
             llvm::StringMap<func::FuncOp> &kernels) {
    KernelBuilder builder(op.getLoc(), op);
    auto source = cast<MemRefType>(op.getSource().getType());
    auto panels = cast<MemRefType>(op.getOutput().getType());
    int64_t width = op.getWidth();
    int64_t lanes =
        llvm::bit_floor<uint64_t>(target.getLanes(source.getElementType()));
    while (width % lanes != 0)
      lanes /= 2;
    // Of a row of a panel each vector has its own instructions.
    constexpr int64_t mostVectors = 64;
    StringRef obstacle =
        lanes < 2                     ? "vectors do not fill the panels"
        : width / lanes > mostVectors ? "the panels are too wide"
        : source.getRank() != 2       ? "a panel has columns of several gates"
        : !isContiguous(panels, 2)    ? "the panels have gaps"
        : !isContiguous(source, 1)    ? "the elements of a row have gaps"
                                      : "";
    if (!obstacle.empty()) {
      remark::missed(op.getLoc(), remark::RemarkOpts::name("PackToVectors")
                                      .category("gf-pack-to-vectors"))
          << ("packing: element by element, since " + obstacle).str();
      makePackLoops(builder, op);
      ++packingsInLoops;
      return;
    }
    bool isAcross = op.getAlongAttr().getInt() == 0;
    std::string name;
    llvm::raw_string_ostream(name)
        << (isAcross ? "gatefold_pack_rows_" : "gatefold_pack_columns_")
        << source.getElementType() << '_' << width;
    func::FuncOp &kernel = kernels[name];
    if (!kernel) {
      constexpr int64_t open = ShapedType::kDynamic;
      Type element = source.getElementType();
      Type arguments[] = {getOpenBuffer(element, {open, open}, 1),
                          getOpenBuffer(element, {open, open, width}, 2)};
      kernel = makeKernelFunction(op.getLoc(), name, arguments);
      PackKernel(kernel, target, lanes, isAcross).build();
      symbols.insert(kernel);
      ++kernelsMade;
    }
    ArrayRef<Type> types = kernel.getArgumentTypes();
    Value from = memref::CastOp::create(builder, types[0], op.getSource());
    Value to = memref::CastOp::create(builder, types[1], op.getOutput());
    func::CallOp::create(builder, kernel, ValueRange{from, to});
  }
};
} // namespace
