// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- LinalgToVectorsPlan.cpp - Where an operation has its lanes ---------===//
//
// Weighs the loops of an operation against each other and against scalars.
//
//===----------------------------------------------------------------------===//

#include "passes/cpu/LinalgToVectors.h"
#include "passes/cpu/Passes.h"
#include "passes/cpu/Turn.h"

using namespace mlir;
using namespace gatefold;
using linalg::LinalgOp;

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

static bool hasDivision(AffineExpr expression) {
  bool found = false;
  expression.walk([&](AffineExpr inner) {
    found |= inner.getKind() == AffineExprKind::Mod ||
             inner.getKind() == AffineExprKind::FloorDiv ||
             inner.getKind() == AffineExprKind::CeilDiv;
  });
  return found;
}

/// None where the distance between lanes is not constant.
static std::optional<LaneAccess> getAccess(Value operand, AffineMap map,
                                           unsigned dim) {
  auto type = dyn_cast<MemRefType>(operand.getType());
  if (!type || !map.isFunctionOfDim(dim))
    return LaneAccess::Same;
  SmallVector<int64_t> strides;
  int64_t offset, position = -1;
  if (failed(type.getStridesAndOffset(strides, offset)))
    return std::nullopt;
  for (auto [index, expression] : llvm::enumerate(map.getResults())) {
    if (!expression.isFunctionOfDim(dim))
      continue;
    if (hasDivision(expression))
      return std::nullopt;
    if (position >= 0)
      return LaneAccess::Apart;
    position = index;
  }
  AffineExpr rest = simplifyAffineExpr(
      map.getResult(position) - getAffineDimExpr(dim, operand.getContext()),
      map.getNumDims(), map.getNumSymbols());
  bool isAdjacent = !rest.isFunctionOfDim(dim) && strides[position] == 1 &&
                    strides.back() == 1;
  return isAdjacent ? LaneAccess::Adjacent : LaneAccess::Apart;
}

//===----------------------------------------------------------------------===//
// Body
//===----------------------------------------------------------------------===//

/// Instructions that one application costs, roughly.
static double getWeight(Operation &inner) {
  if (isa<linalg::IndexOp>(inner) || inner.hasTrait<OpTrait::ConstantLike>())
    return 0;
  if (isa<arith::DivFOp, math::SqrtOp, math::RsqrtOp>(inner))
    return 4;
  if (isa<math::AbsFOp, math::FmaOp, math::FloorOp, math::CeilOp,
          math::RoundEvenOp, math::TruncOp, math::CopySignOp>(inner))
    return 1;
  return isa<math::MathDialect>(inner.getDialect()) ? 20 : 1;
}

//===----------------------------------------------------------------------===//
// Choice
//===----------------------------------------------------------------------===//

/// A load or store whose lanes are apart, against one of an element alone.
static constexpr double gatherWeight = 2;
/// The instructions that combine the lanes at the end of a row.
static constexpr double combineWeight = 16;
/// Steps of a loop in a body.
static constexpr double unknownSteps = 16;

/// As many lanes as the narrowest type, bools aside, has in a register.
static int64_t getLanes(LinalgOp op, const VectorPlan &plan,
                        const TargetDescription &target) {
  Type narrowest;
  auto consider = [&](Type type) {
    if (type.isInteger(1))
      return;
    if (!narrowest || target.getLanes(type) > target.getLanes(narrowest))
      narrowest = type;
  };
  for (Value value : plan.varying)
    consider(value.getType());
  if (!narrowest)
    narrowest = Float32Type::get(op.getContext());
  return std::max<int64_t>(target.getLanes(narrowest), 1);
}

/// Instructions of a block for all lanes of one vector, or for one element.
static double getCost(Block &block, const VectorPlan &plan, bool isScalar) {
  double cost = 0;
  for (Operation &inner : block.without_terminator()) {
    bool varies = llvm::any_of(inner.getResults(), [&](Value result) {
      return plan.varying.contains(result);
    });
    if (!varies && !isScalar)
      continue;
    if (auto loop = dyn_cast<scf::ForOp>(inner)) {
      cost += unknownSteps * getCost(*loop.getBody(), plan, isScalar);
      continue;
    }
    auto load = dyn_cast<memref::LoadOp>(inner);
    Value addend;
    bool isApart =
        load && !isScalar &&
        (load.getIndices().empty() ||
         !isLanePlace(load.getIndices().back(), plan, addend) ||
         llvm::any_of(load.getIndices().drop_back(), [&](Value index) {
           return plan.varying.contains(index);
         }));
    cost += isApart ? gatherWeight * plan.lanes : getWeight(inner);
  }
  return cost;
}

/// Instructions for all lanes of one vector, or for one element.
static double getCost(LinalgOp op, const VectorPlan &plan, bool isScalar) {
  double cost = 0;
  for (OpOperand &operand : op->getOpOperands()) {
    if (!isa<MemRefType>(operand.get().getType()))
      continue;
    LaneAccess access = plan.accesses[operand.getOperandNumber()];
    bool isUsed = !op.getMatchingBlockArgument(&operand).use_empty();
    bool isStored =
        op.isDpsInit(&operand) &&
        !plan.isCarried[operand.getOperandNumber() - op.getNumDpsInputs()];
    bool isLoaded = isUsed && (!op.isDpsInit(&operand) || isStored);
    if (isScalar || access == LaneAccess::Adjacent)
      cost += isLoaded + isStored;
    else if (access == LaneAccess::Apart)
      cost += gatherWeight * plan.lanes * isLoaded;
    else if (access == LaneAccess::Turned)
      cost += gatherWeight * plan.lanes / plan.turnedSteps +
              llvm::Log2_64(plan.turnedSteps);
    else
      cost += isLoaded * 0.25;
  }
  return cost + getCost(*op.getBlock(), plan, isScalar);
}

/// Finds the loop along which operands that are apart are side by side.
static void planTurn(LinalgOp op, VectorPlan &plan, ArrayRef<int64_t> sizes) {
  if (op.getNumReductionLoops() != 0)
    return;
  // Of each step of a block the body has a copy.
  constexpr double mostInstructions = 128;
  unsigned width = 0;
  for (OpOperand *input : op.getDpsInputOperands()) {
    LaneAccess &access = plan.accesses[input->getOperandNumber()];
    Type element = getElementTypeOrSelf(input->get().getType());
    if (access != LaneAccess::Apart || element.isIndex())
      continue;
    AffineMap map = op.getMatchingIndexingMap(input);
    element = memoryType(element);
    int64_t steps = getPieceLanes(plan.lanes, element);
    for (unsigned dim = 0; dim < op.getNumLoops(); ++dim) {
      int64_t size = sizes[dim];
      if (dim == plan.dim || (plan.turnedDim && plan.turnedDim != dim) ||
          (width != 0 && width != element.getIntOrFloatBitWidth()) ||
          getAccess(input->get(), map, dim) != LaneAccess::Adjacent ||
          (!ShapedType::isDynamic(size) && size < steps))
        continue;
      access = LaneAccess::Turned;
      plan.turnedDim = dim;
      plan.turnedSteps = steps;
      width = element.getIntOrFloatBitWidth();
      break;
    }
  }
  if (!plan.turnedDim ||
      getCost(*op.getBlock(), plan, /*isScalar=*/false) * plan.turnedSteps <=
          mostInstructions)
    return;
  plan.turnedDim.reset();
  for (LaneAccess &access : plan.accesses)
    if (access == LaneAccess::Turned)
      access = LaneAccess::Apart;
}

static std::string describe(OpOperand &operand) {
  LinalgOp op = cast<LinalgOp>(operand.getOwner());
  return "result " +
         std::to_string(operand.getOperandNumber() - op.getNumDpsInputs());
}

/// The plan along one loop; empty `reason` if there is one.
static VectorPlan planAlong(LinalgOp op, unsigned dim, ArrayRef<int64_t> sizes,
                            const TargetDescription &target,
                            std::string &reason) {
  VectorPlan plan;
  plan.dim = dim;
  SmallVector<utils::IteratorType> kinds = op.getIteratorTypesArray();
  plan.isReduction = kinds[dim] == utils::IteratorType::reduction;
  bool reduces = llvm::is_contained(kinds, utils::IteratorType::reduction);
  for (OpOperand &operand : op->getOpOperands()) {
    AffineMap map = op.getMatchingIndexingMap(&operand);
    std::optional<LaneAccess> access = getAccess(operand.get(), map, dim);
    Type element = getElementTypeOrSelf(operand.get().getType());
    if (!access || !isLaneType(element)) {
      reason = "an operand's elements have no vector form";
      return plan;
    }
    plan.accesses.push_back(*access);
  }
  if (plan.isReduction)
    plan.choice = findLaneChoice(op, dim);
  for (OpOperand &init : op.getDpsInitsMutable()) {
    AffineMap map = op.getMatchingIndexingMap(&init);
    bool isCarried = reduces;
    for (auto [other, kind] : llvm::enumerate(kinds))
      if (kind == utils::IteratorType::reduction && map.isFunctionOfDim(other))
        isCarried = false;
    plan.isCarried.push_back(isCarried);
    plan.combiners.emplace_back();
    LaneAccess access = plan.accesses[init.getOperandNumber()];
    unsigned number = init.getOperandNumber() - op.getNumDpsInputs();
    bool isChosen = plan.choice && (number == plan.choice->best ||
                                    number == plan.choice->place);
    if (isChosen && !isCarried) {
      reason = describe(init) + " does not stay at its place";
    } else if (isChosen) {
      // Combined together.
    } else if (plan.isReduction && isCarried) {
      plan.combiners.back() =
          findLaneCombiner(op.getMatchingBlockArgument(&init),
                           op.getMatchingYieldValue(&init)->get());
      if (!plan.combiners.back())
        reason = describe(init) + " is not a sum, product, maximum or such";
    } else if (access != LaneAccess::Adjacent) {
      reason = describe(init) + " is not contiguous";
    }
    if (!reason.empty())
      return plan;
  }
  bool isScan = isInOrder(op, plan.isCarried, plan.choice);
  if (plan.isReduction && isScan)
    reason = "its steps are in order";
  else
    reason = findVarying(op, plan);
  if (!reason.empty())
    return plan;
  plan.lanes = getLanes(op, plan, target);
  planTurn(op, plan, sizes);

  double weight = getCost(op, plan, /*isScalar=*/false);
  // Few instructions in a step: its time would be that of one sum. In a scan
  // each step waits for the one before, whatever it takes.
  unsigned carried = llvm::count(plan.isCarried, true);
  plan.isCheap = weight <= 6;
  if (carried > 0 && (plan.isCheap || isScan) &&
      carried * laneAccumulators <= target.vectorRegisters / 2)
    plan.vectorsAtOnce = laneAccumulators;
  int64_t size = sizes[dim];
  double length = ShapedType::isDynamic(size) ? 4.0 * plan.lanes : size;
  double vectors = std::ceil(length / plan.lanes);
  plan.cost = weight * vectors / std::max(length, 1.0);
  if (plan.isReduction)
    plan.cost += carried * combineWeight / std::max(length, 1.0);
  return plan;
}

std::optional<VectorPlan> gatefold::planVectors(LinalgOp op,
                                                const TargetDescription &target,
                                                std::string &reason) {
  SmallVector<int64_t> sizes = op.getStaticLoopRanges();
  std::optional<VectorPlan> best;
  std::string firstReason;
  for (int64_t dim = op.getNumLoops() - 1; dim >= 0; --dim) {
    // Nothing lies side by side along a loop of one step.
    if (sizes[dim] == 1 &&
        llvm::any_of(sizes, [](int64_t s) { return s != 1; }))
      continue;
    std::string problem;
    VectorPlan plan = planAlong(op, dim, sizes, target, problem);
    if (!problem.empty()) {
      if (firstReason.empty())
        firstReason = problem + " along dimension " + std::to_string(dim);
      continue;
    }
    if (!best || plan.cost < best->cost)
      best = std::move(plan);
  }
  if (!best) {
    reason = firstReason.empty() ? "it has no loop" : firstReason;
    return std::nullopt;
  }
  double scalarCost = getCost(op, *best, /*isScalar=*/true);
  int64_t points = 1;
  for (int64_t size : sizes)
    if (ShapedType::isDynamic(size) || ShapedType::isDynamic(points) ||
        llvm::MulOverflow(points, size, points))
      points = ShapedType::kDynamic;
  if (best->cost > 0.7 * scalarCost) {
    reason = "its elements are not contiguous";
    return std::nullopt;
  }
  if (!ShapedType::isDynamic(points) && points * scalarCost < best->lanes) {
    reason = "it is too small";
    return std::nullopt;
  }
  return best;
}
