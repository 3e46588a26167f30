// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- VectorsToThreads.cpp - Vectors of a block, values of a thread ------===//
//
// A function on vectors is code of a whole block. Each vector becomes the
// elements that one thread has of it, as many scalars, so that they are in
// registers; loops and branches carry these.
//
//===----------------------------------------------------------------------===//

#include "passes/gpu/VectorsToThreads.h"
#include "mlir/Dialect/SCF/Transforms/Patterns.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/TypeUtilities.h"
#include "mlir/Transforms/RegionUtils.h"
#include "passes/gpu/Kernels.h"
#include "passes/gpu/SharedTile.h"
#include "passes/support/Target.h"
#include "llvm/ADT/SetVector.h"

namespace gatefold {
#define GEN_PASS_DEF_VECTORSTOTHREADS
#include "passes/gpu/Passes.h.inc"
} // namespace gatefold

using namespace mlir;
using namespace gatefold;

/// Rows of the tiles that the function computes.
static int64_t findRows(func::FuncOp function) {
  int64_t rows = 1;
  function.walk([&](Operation *op) {
    for (Type type : op->getResultTypes())
      if (auto vector = dyn_cast<VectorType>(type))
        if (vector.getRank() == 2 && !isOperandRead(op))
          rows = std::max(rows, vector.getDimSize(0));
  });
  return rows;
}

FailureOr<std::optional<WarpGrid>> gatefold::getWarps(func::FuncOp function) {
  Attribute attribute = function->getAttr(warpsName);
  if (!attribute)
    return std::optional<WarpGrid>();
  constexpr int64_t most = 1024; // Threads of a block.
  auto numbers = dyn_cast<DenseI64ArrayAttr>(attribute);
  if (!numbers || numbers.size() < 2 || numbers.size() > 3 ||
      llvm::any_of(numbers.asArrayRef(),
                   [&](int64_t number) { return number < 1 || number > most; }))
    return function.emitError("'")
           << warpsName
           << "' gives warps for rows, for columns and, perhaps, for terms of "
              "products; found "
           << attribute;
  return std::optional(
      WarpGrid{numbers[0], numbers[1], numbers.size() == 3 ? numbers[2] : 1});
}

/// The warps that the function asks for; else as many as there are for groups
/// of 16 rows, each of the same number.
static FailureOr<WarpGrid> findGrid(func::FuncOp function, int64_t warps) {
  FailureOr<std::optional<WarpGrid>> asked = getWarps(function);
  if (failed(asked))
    return failure();
  if (*asked) {
    if ((*asked)->size() > warps)
      return function.emitError("'")
             << warpsName << "' gives " << (*asked)->size()
             << " warps, and a block has " << warps;
    return **asked;
  }
  int64_t groups = std::max<int64_t>(findRows(function) / 16, 1);
  int64_t rows = std::min(groups, warps);
  while (groups % rows != 0)
    --rows;
  return WarpGrid{rows, 1};
}

/// Whether there are products, and all are of 16 bits.
static bool hasNarrowProducts(func::FuncOp function) {
  bool hasAny = false, hasWide = false;
  function.walk([&](vector::ContractionOp op) {
    hasAny = true;
    hasWide |= op.getLhsType().getElementType().isF32();
  });
  return hasAny && !hasWide;
}

static void addConversions(TypeConverter &converter, WarpGrid grid) {
  converter.addConversion([](Type type) { return type; });
  converter.addConversion(
      [grid](VectorType type,
             SmallVectorImpl<Type> &types) -> std::optional<LogicalResult> {
        FailureOr<VectorLayout> layout = VectorLayout::get(type, grid);
        if (failed(layout))
          return failure();
        types.append(layout->size(), type.getElementType());
        return success();
      });
}

/// Whether the operation is on vectors of a block. What a thread packs into a
/// register are pairs.
static bool hasVectors(Operation *op) {
  auto isOfBlock = [](Type type) {
    auto vector = dyn_cast<VectorType>(type);
    return vector && (vector.getRank() != 1 || vector.getDimSize(0) != 2);
  };
  return llvm::any_of(op->getOperandTypes(), isOfBlock) ||
         llvm::any_of(op->getResultTypes(), isOfBlock);
}

/// Registers that one loop carries from turn to turn in a thread, at most, and
/// of the floats of each row that it reads: a place is computed again.
static int64_t countCarriedRegisters(func::FuncOp function, WarpGrid grid) {
  int64_t most = 0;
  function.walk([&](scf::ForOp loop) {
    int64_t bits = 0;
    auto add = [&](Type type) {
      if (auto vector = dyn_cast<VectorType>(type))
        if (auto layout = VectorLayout::get(vector, grid); succeeded(layout))
          bits += layout->size() * (vector.getElementType().isIndex()
                                        ? 64
                                        : vector.getElementTypeBitWidth());
    };
    for (Type type : loop.getInitArgs().getTypes())
      add(type);
    llvm::SetVector<Value> outside;
    getUsedValuesDefinedAbove(loop.getRegion(), outside);
    for (Value value : outside) {
      auto vector = dyn_cast<VectorType>(value.getType());
      bool isOfRows = vector && vector.getRank() == 2 &&
                      vector.getDimSize(0) != 1 && vector.getDimSize(1) == 1 &&
                      isa<FloatType>(vector.getElementType());
      if (isOfRows && !matchPattern(value, m_Constant()))
        add(vector);
    }
    most = std::max<int64_t>(most, llvm::divideCeil(bits, 32));
  });
  return most;
}

/// Memory behind what the function uses already.
static Value makeJoinMemory(func::FuncOp function, int64_t bytes) {
  OpBuilder builder = OpBuilder::atBlockBegin(&function.getBody().front());
  auto used = function->getAttrOfType<IntegerAttr>(sharedBytesName);
  int64_t begin =
      llvm::alignTo(used ? used.getInt() : 0, SharedTile::alignment);
  function->setAttr(sharedBytesName, builder.getI64IntegerAttr(begin + bytes));
  auto space = gpu::AddressSpaceAttr::get(builder.getContext(),
                                          gpu::AddressSpace::Workgroup);
  Location loc = function.getLoc();
  Value memory = gpu::DynamicSharedMemoryOp::create(
      builder, loc,
      MemRefType::get({ShapedType::kDynamic}, builder.getI8Type(),
                      MemRefLayoutAttrInterface(), Attribute(space)));
  constexpr int64_t numberBytes = 4;
  return memref::ViewOp::create(
      builder, loc,
      MemRefType::get({bytes / numberBytes}, builder.getF32Type(),
                      MemRefLayoutAttrInterface(), Attribute(space)),
      memory, arith::ConstantIndexOp::create(builder, loc, begin),
      ValueRange());
}

static LogicalResult lower(func::FuncOp function, WarpGrid grid, int64_t warps,
                           bool isFast) {
  joinProducts(function);
  if (failed(markSums(function, grid)))
    return failure();
  // Read before anything changes.
  llvm::SetVector<Operation *> kept;
  function.walk([&](Operation *op) {
    if (isOperandRead(op) || isa<vector::StepOp>(op))
      kept.insert(op);
  });
  bool isNarrow = hasNarrowProducts(function);
  ThreadPlace place(function, grid, warps);
  VectorFunction context{place, isFast || isNarrow, isFast,
                         countCarriedRegisters(function, grid)};
  if (grid.terms > 1)
    context.joinMemory = makeJoinMemory(function, getJoinBytes(grid));
  TypeConverter converter;
  addConversions(converter, grid);
  ConversionTarget target(*function.getContext());
  RewritePatternSet patterns(function.getContext());
  scf::populateSCFStructuralTypeConversionsAndLegality(converter, patterns,
                                                       target);
  target.markUnknownOpDynamicallyLegal(
      [&](Operation *op) { return kept.contains(op) || !hasVectors(op); });
  populateElementPatterns(converter, context, patterns);
  populateMemoryPatterns(converter, context, patterns);
  populateProductPatterns(context, patterns);
  populateSumPatterns(converter, context, patterns);
  // Folded, operations would have forms that were not looked at.
  ConversionConfig config;
  config.foldingMode = DialectConversionFoldingMode::Never;
  if (failed(applyPartialConversion(function, target, std::move(patterns),
                                    config)))
    return failure();
  for (Operation *op : llvm::reverse(kept))
    op->erase();
  function->removeAttr(warpsName);
  return success();
}

namespace {
struct VectorsToThreads
    : gatefold::impl::VectorsToThreadsBase<VectorsToThreads> {
  using Base::Base;
  void runOnOperation() override {
    auto module = getOperation()->getParentOfType<ModuleOp>();
    int64_t blockThreads =
        threads ? threads : TargetDescription::fromModule(module).blockThreads;
    int64_t warps = blockThreads / TargetDescription::warpThreads;
    bool isFast = module->hasAttr(fastMathName);
    for (auto function : getOperation().getOps<func::FuncOp>()) {
      if (!function->hasAttr(vectorsName))
        continue;
      if (warps < 1) {
        function.emitError("is for a block of warps, and has ")
            << blockThreads << " threads";
        return signalPassFailure();
      }
      FailureOr<WarpGrid> grid = findGrid(function, warps);
      if (failed(grid) || failed(checkVectors(function, *grid)) ||
          failed(lower(function, *grid, warps, isFast)))
        return signalPassFailure();
      ++functionsLowered;
    }
  }
};
} // namespace
