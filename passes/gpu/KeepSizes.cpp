// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- KeepSizes.cpp - Sizes and places of a run in shared memory ---------===//
//
// A kernel computes sizes, and places of buffers in the arena, where it begins,
// and needs them to its end. In a model of some layers they are more than the
// registers that its operations leave, though all threads have the same. So
// they are kept once for a block, and what uses them reads them anew.
//
//===----------------------------------------------------------------------===//

#include "mlir/Interfaces/ViewLikeInterface.h"
#include "passes/gpu/Kernels.h"
#include "passes/gpu/Passes.h"
#include "passes/support/Target.h"

namespace gatefold {
#define GEN_PASS_DEF_KEEPSIZES
#include "passes/gpu/Passes.h.inc"
} // namespace gatefold

using namespace mlir;
using namespace gatefold;

/// A number that a kernel computes from its parameters, alike for all threads
/// of a block.
static bool isNumber(Operation *op) {
  if (op->getNumResults() != 1 || op->getNumRegions() != 0 ||
      !op->getResult(0).getType().isIntOrIndex())
    return false;
  return isa<arith::ArithDialect>(op->getDialect()) ||
         isa<memref::DimOp, affine::AffineApplyOp, TeamRankOp, TeamSizeOp>(op);
}

static bool isView(Operation *op) {
  return isa<ViewLikeOpInterface>(op) && op->getNumResults() == 1 &&
         isa<MemRefType>(op->getResult(0).getType()) && isMemoryEffectFree(op);
}

/// Whether it costs no more than to read it: parameters of a kernel are in
/// memory already.
static bool isCheap(Operation *op) {
  return isa<arith::ConstantOp, arith::IndexCastOp, arith::IndexCastUIOp,
             arith::ExtUIOp, arith::TruncIOp, TeamRankOp, TeamSizeOp>(op) ||
         (isa<memref::DimOp>(op) && isa<BlockArgument>(op->getOperand(0)));
}

/// Whether something in it may take registers for itself, so that what is read
/// before it would have to be kept through it.
static bool isPart(Operation *op) {
  return op
      ->walk([](Operation *inner) {
        return isa<CallOpInterface, gpu::BarrierOp, TeamBarrierOp>(inner)
                   ? WalkResult::interrupt()
                   : WalkResult::advance();
      })
      .wasInterrupted();
}

/// Those of a table.
static constexpr size_t mostNumbers =
    TargetDescription::keptSizesBytes / sizeof(int64_t);

namespace {
/// The table of one kernel.
class SizeTable {
public:
  explicit SizeTable(gpu::GPUFuncOp kernel)
      : kernel(kernel), entry(kernel.getBody().front()),
        builder(kernel.getContext()) {}
  void run(int64_t leastNumbers, gpu::GPUModuleOp kernels);

  int64_t kept = 0;

private:
  void collect();
  void collectLeaves(Value value);
  Value create(gpu::GPUModuleOp kernels);
  void replace(OpOperand &use);
  Value read(Value value, Operation *place);

  gpu::GPUFuncOp kernel;
  Block &entry;
  OpBuilder builder;
  /// What computes numbers and views from parameters alone.
  llvm::SetVector<Operation *> known;
  /// The first operation that does more than compute a value.
  Operation *start = nullptr;
  llvm::MapVector<Value, int64_t> places;
  Value table;
  llvm::DenseMap<std::pair<Operation *, Value>, Value> reads;
};
} // namespace

/// Numbers are moved in front of what is no number: they need nothing of it.
void SizeTable::collect() {
  for (Operation &op : llvm::make_early_inc_range(entry.without_terminator())) {
    bool isKnown = (isNumber(&op) || isView(&op)) && (!start || isPure(&op)) &&
                   llvm::all_of(op.getOperands(), [&](Value operand) {
                     Operation *source = operand.getDefiningOp();
                     return source ? known.contains(source)
                                   : operand.getParentBlock() == &entry;
                   });
    if (!isKnown) {
      if (!start && (op.getNumRegions() != 0 || !isMemoryEffectFree(&op)))
        start = &op;
      continue;
    }
    known.insert(&op);
    if (start)
      op.moveBefore(start);
  }
}

/// The numbers that a value is made of where it is used.
void SizeTable::collectLeaves(Value value) {
  Operation *op = value.getDefiningOp();
  if (!op || !known.contains(op))
    return;
  if (!isView(op) && !isCheap(op)) {
    if (places.size() < mostNumbers)
      places.insert({value, places.size()});
    return;
  }
  for (Value operand : op->getOperands())
    collectLeaves(operand);
}

/// One thread writes it.
Value SizeTable::create(gpu::GPUModuleOp kernels) {
  Location loc = kernel.getLoc();
  auto space = gpu::AddressSpaceAttr::get(kernel.getContext(),
                                          gpu::AddressSpace::Workgroup);
  auto type =
      MemRefType::get({static_cast<int64_t>(places.size())},
                      builder.getI64Type(), MemRefLayoutAttrInterface(), space);
  std::string name = (kernel.getName() + "_sizes").str();
  builder.setInsertionPointToStart(kernels.getBody());
  memref::GlobalOp::create(builder, loc, name, builder.getStringAttr("private"),
                           type, builder.getUnitAttr(), /*constant=*/false,
                           /*alignment=*/nullptr);
  builder.setInsertionPoint(start);
  Value result = memref::GetGlobalOp::create(builder, loc, type, name);
  Value thread = gpu::ThreadIdOp::create(builder, loc, gpu::Dimension::x);
  Value zero = arith::ConstantIndexOp::create(builder, loc, 0);
  Value isFirst = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq,
                                        thread, zero);
  auto writes = scf::IfOp::create(builder, loc, isFirst);
  builder.setInsertionPointToStart(writes.thenBlock());
  for (auto [value, place] : places) {
    Type i64 = builder.getI64Type();
    Value number = value;
    if (number.getType().isIndex())
      number = arith::IndexCastOp::create(builder, loc, i64, number);
    else if (number.getType() != i64)
      number = arith::ExtUIOp::create(builder, loc, i64, number);
    Value index = arith::ConstantIndexOp::create(builder, loc, place);
    memref::StoreOp::create(builder, loc, number, result, index);
  }
  builder.setInsertionPoint(start);
  gpu::BarrierOp::create(builder, loc);
  return result;
}

/// The value in front of `place`.
Value SizeTable::read(Value value, Operation *place) {
  Operation *op = value.getDefiningOp();
  if (!op || !known.contains(op) || op->hasTrait<OpTrait::ConstantLike>())
    return value;
  if (Value result = reads.lookup({place, value}))
    return result;
  builder.setInsertionPoint(place);
  Location loc = place->getLoc();
  if (auto found = places.find(value); found != places.end()) {
    Value index = arith::ConstantIndexOp::create(builder, loc, found->second);
    Value number = memref::LoadOp::create(builder, loc, table, index);
    Type type = value.getType();
    if (type.isIndex())
      number = arith::IndexCastOp::create(builder, loc, type, number);
    else if (type != number.getType())
      number = arith::TruncIOp::create(builder, loc, type, number);
    return reads[{place, value}] = number;
  }
  if (!isView(op) && !isCheap(op))
    return value;
  IRMapping mapping;
  for (Value operand : op->getOperands())
    mapping.map(operand, read(operand, place));
  builder.setInsertionPoint(place);
  return reads[{place, value}] = builder.clone(*op, mapping)->getResult(0);
}

/// In front of all that the use is part of and that needs no other part of the
/// run: there it is needed only for as long as registers are for it alone.
void SizeTable::replace(OpOperand &use) {
  Operation *place = use.getOwner();
  for (Operation *parent = place->getParentOp();
       parent != kernel && !isPart(parent); parent = parent->getParentOp())
    place = parent;
  use.set(read(use.get(), place));
}

void SizeTable::run(int64_t leastNumbers, gpu::GPUModuleOp kernels) {
  collect();
  if (!start)
    return;
  SmallVector<OpOperand *> uses;
  // What computes other values than numbers in front of the table stays so.
  auto isBefore = [&](Operation *op) {
    return op->getBlock() == &entry && op->isBeforeInBlock(start);
  };
  for (Operation *op : known)
    for (OpOperand &use : op->getUses())
      if (!known.contains(use.getOwner()) && !isBefore(use.getOwner()) &&
          !op->hasTrait<OpTrait::ConstantLike>())
        uses.push_back(&use);
  for (OpOperand *use : uses)
    collectLeaves(use->get());
  if (static_cast<int64_t>(places.size()) < leastNumbers)
    return;
  table = create(kernels);
  for (OpOperand *use : uses)
    replace(*use);
  kept = places.size();
}

/// Whether the kernel calls code on vectors, which takes all registers there
/// are: then nothing is left for what is needed behind the call.
static bool callsVectors(gpu::GPUFuncOp kernel, gpu::GPUModuleOp kernels) {
  return kernel
      .walk([&](func::CallOp call) {
        Operation *callee = kernels.lookupSymbol(call.getCallee());
        return callee && callee->hasAttr(vectorsName) ? WalkResult::interrupt()
                                                      : WalkResult::advance();
      })
      .wasInterrupted();
}

namespace {
struct KeepSizes : gatefold::impl::KeepSizesBase<KeepSizes> {
  using Base::Base;
  void runOnOperation() override {
    gpu::GPUModuleOp kernels = getOperation();
    for (auto kernel : llvm::to_vector(kernels.getOps<gpu::GPUFuncOp>())) {
      SizeTable table(kernel);
      table.run(callsVectors(kernel, kernels) ? 1 : least, kernels);
      numbersKept += table.kept;
    }
  }
};
} // namespace
