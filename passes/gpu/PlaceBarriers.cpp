// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- PlaceBarriers.cpp - Barriers of a block between operations ---------===//
//
// The threads of a block share each operation on buffers, so what one operation
// wrote is there for the next behind a barrier alone.
//
// Walks the code in the order of its execution with the accesses since the last
// barrier. A loop is walked until nothing new comes around its end. A function
// on vectors is to its caller one operation, which uses all that is used in it.
//
//===----------------------------------------------------------------------===//

#include "mlir/Interfaces/ViewLikeInterface.h"
#include "passes/gpu/Passes.h"
#include "passes/support/Entry.h"

namespace gatefold {
#define GEN_PASS_DEF_PLACEBARRIERS
#include "passes/gpu/Passes.h.inc"
} // namespace gatefold

using namespace mlir;
using namespace gatefold;

namespace {
/// One operation's use of a buffer.
struct Access {
  /// The argument of the function that holds the buffer; null if unknown.
  Value root;
  /// The memref.view that gives it a place there; null if it is the whole root.
  Value place;
  bool isWrite;

  bool operator==(const Access &other) const {
    return root == other.root && place == other.place &&
           isWrite == other.isWrite;
  }
};

using Accesses = SmallVector<Access>;

class BarrierPlacement {
public:
  explicit BarrierPlacement(func::FuncOp function) : function(function) {}
  LogicalResult run() {
    Accesses pending;
    for (Block &block : function.getBody())
      if (failed(walk(block, pending)))
        return failure();
    return success();
  }
  unsigned placed = 0;

private:
  LogicalResult walk(Block &block, Accesses &pending);
  LogicalResult walkRegions(Operation &op, Accesses &pending);
  LogicalResult walkCall(func::CallOp call, Accesses &pending);
  void placeBefore(Operation *op, const Accesses &accesses, Accesses &pending);
  Access makeAccess(Value buffer, bool isWrite);
  void collect(Operation *op, Accesses &accesses);
  bool areApart(Value place, Value other);
  bool areInConflict(const Access &access, const Access &other);

  func::FuncOp function;
  /// Of each function that is walked, the call that it is walked for.
  llvm::DenseMap<Operation *, func::CallOp> calls;
};
} // namespace

static void addOnce(Accesses &accesses, const Access &access) {
  if (!llvm::is_contained(accesses, access))
    accesses.push_back(access);
}

Access BarrierPlacement::makeAccess(Value buffer, bool isWrite) {
  Value place;
  while (true) {
    if (auto view = buffer.getDefiningOp<ViewLikeOpInterface>()) {
      if (isa<memref::ViewOp>(view))
        place = buffer;
      buffer = view.getViewSource();
      continue;
    }
    auto argument = dyn_cast<BlockArgument>(buffer);
    Operation *owner = argument ? argument.getOwner()->getParentOp() : nullptr;
    func::CallOp call = calls.lookup(owner);
    if (!call)
      return {owner == function ? buffer : Value(), place, isWrite};
    buffer = call.getOperand(argument.getArgNumber());
  }
}

/// What the operation reads and writes, with what stands in its body.
void BarrierPlacement::collect(Operation *op, Accesses &accesses) {
  op->walk([&](Operation *inner) {
    if (isa<ViewLikeOpInterface>(inner))
      return;
    auto effects = dyn_cast<MemoryEffectOpInterface>(inner);
    if (!effects) {
      // What does not say what it does may do anything with its buffers.
      if (inner->hasTrait<OpTrait::HasRecursiveMemoryEffects>())
        return;
      for (Value operand : inner->getOperands())
        if (isa<MemRefType>(operand.getType()))
          for (bool isWrite : {false, true})
            addOnce(accesses, makeAccess(operand, isWrite));
      return;
    }
    SmallVector<MemoryEffects::EffectInstance> found;
    effects.getEffects(found);
    for (const MemoryEffects::EffectInstance &effect : found) {
      bool isWrite = isa<MemoryEffects::Write>(effect.getEffect());
      if (!isWrite && !isa<MemoryEffects::Read>(effect.getEffect()))
        continue;
      addOnce(accesses, effect.getValue()
                            ? makeAccess(effect.getValue(), isWrite)
                            : Access{Value(), Value(), isWrite});
    }
  });
}

/// First byte and end of a part of the arena that does not depend on the run.
static std::optional<std::pair<int64_t, int64_t>> getExtent(Value place) {
  auto view = place.getDefiningOp<memref::ViewOp>();
  auto type = cast<MemRefType>(place.getType());
  std::optional<int64_t> start =
      view ? getConstantIntValue(view.getByteShift()) : std::nullopt;
  if (!start || !type.hasStaticShape() ||
      !type.getElementType().isIntOrIndexOrFloat())
    return std::nullopt;
  Type element = type.getElementType();
  int64_t bytes = element.isIndex()
                      ? 8
                      : llvm::divideCeil(element.getIntOrFloatBitWidth(), 8);
  return std::make_pair(*start, *start + type.getNumElements() * bytes);
}

/// Whether two places in one root have no byte in common for certain. Places
/// that are computed when it runs may be the same.
bool BarrierPlacement::areApart(Value place, Value other) {
  if (!place || !other)
    return false;
  auto first = getExtent(place), second = getExtent(other);
  return first && second &&
         (first->second <= second->first || second->second <= first->first);
}

bool BarrierPlacement::areInConflict(const Access &access,
                                     const Access &other) {
  if (!access.isWrite && !other.isWrite)
    return false;
  if (!access.root || !other.root)
    return true;
  // Arguments may be the same memory: a state and the one that follows it. The
  // arena, of which there are places, is no argument's memory.
  if (access.root != other.root)
    return !access.place && !other.place;
  return !areApart(access.place, other.place);
}

/// A branch that is taken, and what follows it, sees what was before it.
LogicalResult BarrierPlacement::walkRegions(Operation &op, Accesses &pending) {
  auto walkRegion = [&](Region &region, Accesses &accesses) -> LogicalResult {
    for (Block &block : region)
      if (failed(walk(block, accesses)))
        return failure();
    return success();
  };
  auto join = [](Accesses &into, const Accesses &from) {
    for (const Access &access : from)
      addOnce(into, access);
  };
  if (isa<scf::IfOp, scf::IndexSwitchOp>(op)) {
    Accesses before = pending, after;
    for (Region &region : op.getRegions()) {
      Accesses branch = before;
      if (failed(walkRegion(region, branch)))
        return failure();
      join(after, branch);
    }
    if (op.getNumRegions() == 0 || op.getRegions().back().empty())
      join(after, before);
    pending = std::move(after);
    return success();
  }
  if (isa<scf::ForOp, scf::WhileOp, scf::ExecuteRegionOp>(op)) {
    size_t known;
    do {
      known = pending.size();
      Accesses turn = pending;
      for (Region &region : op.getRegions())
        if (failed(walkRegion(region, turn)))
          return failure();
      join(pending, turn);
    } while (pending.size() > known);
    return success();
  }
  return op.emitOpError("is not known to be executed by all threads alike");
}

/// A barrier before the operation if it needs one, and what it uses.
void BarrierPlacement::placeBefore(Operation *op, const Accesses &accesses,
                                   Accesses &pending) {
  bool needsBarrier = llvm::any_of(accesses, [&](const Access &access) {
    return llvm::any_of(pending, [&](const Access &other) {
      return areInConflict(access, other);
    });
  });
  if (needsBarrier) {
    OpBuilder builder(op);
    gpu::BarrierOp::create(builder, op->getLoc());
    pending.clear();
    ++placed;
  }
  for (const Access &access : accesses)
    addOnce(pending, access);
}

LogicalResult BarrierPlacement::walkCall(func::CallOp call, Accesses &pending) {
  auto callee = SymbolTable::lookupNearestSymbolFrom<func::FuncOp>(
      call, call.getCalleeAttr());
  Accesses accesses;
  if (!callee || callee.isExternal() || calls.contains(callee)) {
    collect(call, accesses);
    placeBefore(call, accesses, pending);
    return success();
  }
  calls[callee] = call;
  collect(callee, accesses);
  placeBefore(call, accesses, pending);
  Accesses inside;
  for (Block &block : callee.getBody())
    if (failed(walk(block, inside)))
      return failure();
  calls.erase(callee);
  return success();
}

LogicalResult BarrierPlacement::walk(Block &block, Accesses &pending) {
  for (Operation &op : llvm::make_early_inc_range(block)) {
    if (isa<gpu::BarrierOp, TeamBarrierOp>(op)) {
      pending.clear();
      continue;
    }
    bool isControl = op.getNumRegions() != 0 && !isa<linalg::LinalgOp>(op);
    if (isControl) {
      if (failed(walkRegions(op, pending)))
        return failure();
      continue;
    }
    if (isa<cf::AssertOp>(op))
      continue;
    if (auto call = dyn_cast<func::CallOp>(op)) {
      if (failed(walkCall(call, pending)))
        return failure();
      continue;
    }
    Accesses accesses;
    collect(&op, accesses);
    placeBefore(&op, accesses, pending);
  }
  return success();
}

namespace {
struct PlaceBarriers : gatefold::impl::PlaceBarriersBase<PlaceBarriers> {
  void runOnOperation() override {
    for (StringRef name : {runFunction, prepareFunction}) {
      auto entry = getOperation().lookupSymbol<func::FuncOp>(name);
      if (!entry)
        continue;
      BarrierPlacement placement(entry);
      if (failed(placement.run()))
        return signalPassFailure();
      barriersPlaced += placement.placed;
    }
  }
};
} // namespace
