// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- LinalgToVectorsPlan.cpp - Where an operation has its lanes ---------===//
//
// Weighs the loops of an operation against each other and against scalars.
//
//===----------------------------------------------------------------------===//

#include "mlir/Analysis/SliceAnalysis.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Transforms/RegionUtils.h"
#include "passes/cpu/LinalgToVectors.h"
#include "passes/cpu/Passes.h"

using namespace mlir;
using namespace gatefold;
using linalg::LinalgOp;

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

static bool isLaneType(Type type) {
  return type.isF32() || type.isF64() || type.isF16() || type.isBF16() ||
         type.isIndex() || type.isInteger(1) || type.isInteger(8) ||
         type.isInteger(16) || type.isInteger(32) || type.isInteger(64);
}

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

bool gatefold::isLanePlace(Value index, const VectorPlan &plan, Value &addend) {
  addend = {};
  auto isLane = [&](Value value) {
    auto place = value.getDefiningOp<linalg::IndexOp>();
    return place && place.getDim() == plan.dim;
  };
  if (isLane(index))
    return true;
  auto sum = index.getDefiningOp<arith::AddIOp>();
  if (!sum)
    return false;
  for (auto [lane, other] : {std::pair(sum.getLhs(), sum.getRhs()),
                             std::pair(sum.getRhs(), sum.getLhs())})
    if (isLane(lane) && !plan.varying.contains(other)) {
      addend = other;
      return true;
    }
  return false;
}

/// Values that combining leaves as they are, the zeros' signs included.
static TypedAttr getNeutral(Operation *combine) {
  Type type = combine->getResult(0).getType();
  OpBuilder builder(combine->getContext());
  if (auto floating = dyn_cast<FloatType>(type)) {
    const llvm::fltSemantics &semantics = floating.getFloatSemantics();
    auto attribute = [&](APFloat value) {
      return TypedAttr(builder.getFloatAttr(type, value));
    };
    return TypeSwitch<Operation *, TypedAttr>(combine)
        .Case<arith::AddFOp, math::FmaOp>([&](auto) {
          return attribute(APFloat::getZero(semantics, /*Negative=*/true));
        })
        .Case<arith::MulFOp>(
            [&](auto) { return attribute(APFloat::getOne(semantics)); })
        .Case<arith::MaximumFOp, arith::MaxNumFOp>([&](auto) {
          return attribute(APFloat::getInf(semantics, /*Negative=*/true));
        })
        .Case<arith::MinimumFOp, arith::MinNumFOp>(
            [&](auto) { return attribute(APFloat::getInf(semantics)); })
        .Default([](auto) { return TypedAttr(); });
  }
  if (!type.isIntOrIndex())
    return {};
  unsigned width = type.isIndex() ? 64 : type.getIntOrFloatBitWidth();
  auto attribute = [&](APInt value) {
    return TypedAttr(builder.getIntegerAttr(type, value));
  };
  return TypeSwitch<Operation *, TypedAttr>(combine)
      .Case<arith::AddIOp, arith::OrIOp, arith::XOrIOp, arith::MaxUIOp>(
          [&](auto) { return attribute(APInt::getZero(width)); })
      .Case<arith::MulIOp>([&](auto) { return attribute(APInt(width, 1)); })
      .Case<arith::AndIOp, arith::MinUIOp>(
          [&](auto) { return attribute(APInt::getAllOnes(width)); })
      .Case<arith::MaxSIOp>(
          [&](auto) { return attribute(APInt::getSignedMinValue(width)); })
      .Case<arith::MinSIOp>(
          [&](auto) { return attribute(APInt::getSignedMaxValue(width)); })
      .Default([](auto) { return TypedAttr(); });
}

/// The one operation through which `argument` reaches `yielded`.
static std::optional<LaneCombiner> findCombiner(BlockArgument argument,
                                                Value yielded) {
  Operation *combine = yielded.getDefiningOp();
  if (!combine || combine->getBlock() != argument.getOwner() ||
      combine->getNumResults() != 1 || !yielded.hasOneUse() ||
      !argument.hasOneUse() || *argument.user_begin() != combine)
    return std::nullopt;
  unsigned accumulator = argument.use_begin()->getOperandNumber();
  TypedAttr neutral = getNeutral(combine);
  if (!neutral || (isa<math::FmaOp>(combine) && accumulator != 2))
    return std::nullopt;
  return LaneCombiner{combine, accumulator, neutral};
}

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

/// Whether nothing is written, and so an operation may run once for all lanes.
static bool onlyReads(Operation &inner) {
  std::optional<SmallVector<MemoryEffects::EffectInstance>> effects =
      getEffectsRecursively(&inner);
  return effects && llvm::all_of(*effects, [](auto &effect) {
           return isa<MemoryEffects::Read>(effect.getEffect());
         });
}

/// Finds what varies between lanes; empty if all of it has a vector form, else
/// the reason.
static std::string analyzeBody(LinalgOp op, VectorPlan &plan) {
  Block *block = op.getBlock();
  for (OpOperand &operand : op->getOpOperands()) {
    BlockArgument argument = op.getMatchingBlockArgument(&operand);
    if (op.isDpsInit(&operand) ||
        plan.accesses[operand.getOperandNumber()] != LaneAccess::Same)
      plan.varying.insert(argument);
  }
  for (Operation &inner : block->without_terminator()) {
    if (!onlyReads(inner))
      return ("'" + inner.getName().getStringRef() + "' has effects").str();
    auto index = dyn_cast<linalg::IndexOp>(inner);
    SetVector<Value> used;
    used.insert(inner.operand_begin(), inner.operand_end());
    getUsedValuesDefinedAbove(inner.getRegions(), used);
    bool varies = index ? index.getDim() == plan.dim
                        : llvm::any_of(used, [&](Value value) {
                            return plan.varying.contains(value);
                          });
    // An index within a region stands for the loop's index.
    inner.walk(
        [&](linalg::IndexOp nested) { varies |= nested.getDim() == plan.dim; });
    if (!varies)
      continue;
    plan.varying.insert(inner.result_begin(), inner.result_end());
    bool hasForm = index || isa<memref::LoadOp>(inner) ||
                   (OpTrait::hasElementwiseMappableTraits(&inner) &&
                    inner.getNumRegions() == 0);
    if (!hasForm || !llvm::all_of(inner.getResultTypes(), isLaneType))
      return ("no vector form of '" + inner.getName().getStringRef() + "'")
          .str();
  }
  return {};
}

//===----------------------------------------------------------------------===//
// Choice
//===----------------------------------------------------------------------===//

/// A load or store whose lanes are apart, against one of an element alone.
static constexpr double gatherWeight = 2;
/// The instructions that combine the lanes at the end of a row.
static constexpr double combineWeight = 16;

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

/// Instructions for all lanes of one vector without (`lanes` is 1) or with
/// vectors.
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
    else
      cost += isLoaded * 0.25;
  }
  for (Operation &inner : op.getBlock()->without_terminator()) {
    bool varies = llvm::any_of(inner.getResults(), [&](Value result) {
      return plan.varying.contains(result);
    });
    double weight = getWeight(inner);
    if (auto load = dyn_cast<memref::LoadOp>(inner); load && varies) {
      Value addend;
      bool isAdjacent =
          !load.getIndices().empty() &&
          isLanePlace(load.getIndices().back(), plan, addend) &&
          llvm::none_of(load.getIndices().drop_back(), [&](Value index) {
            return plan.varying.contains(index);
          });
      if (!isAdjacent)
        weight = gatherWeight * plan.lanes;
    }
    if (isScalar)
      cost += getWeight(inner);
    else if (varies)
      cost += weight;
  }
  return cost;
}

static std::string describe(OpOperand &operand) {
  LinalgOp op = cast<LinalgOp>(operand.getOwner());
  return "result " +
         std::to_string(operand.getOperandNumber() - op.getNumDpsInputs());
}

/// The plan along one loop; empty `reason` if there is one.
static VectorPlan planAlong(LinalgOp op, unsigned dim, int64_t size,
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
  for (OpOperand &init : op.getDpsInitsMutable()) {
    AffineMap map = op.getMatchingIndexingMap(&init);
    bool isCarried = reduces;
    for (auto [other, kind] : llvm::enumerate(kinds))
      if (kind == utils::IteratorType::reduction && map.isFunctionOfDim(other))
        isCarried = false;
    plan.isCarried.push_back(isCarried);
    plan.combiners.emplace_back();
    LaneAccess access = plan.accesses[init.getOperandNumber()];
    if (plan.isReduction && isCarried) {
      plan.combiners.back() =
          findCombiner(op.getMatchingBlockArgument(&init),
                       op.getMatchingYieldValue(&init)->get());
      if (!plan.combiners.back())
        reason = describe(init) + " is not a sum, product, maximum or such";
    } else if (access != LaneAccess::Adjacent) {
      reason = describe(init) + " is not contiguous";
    }
    if (!reason.empty())
      return plan;
  }
  reason = analyzeBody(op, plan);
  if (!reason.empty())
    return plan;
  plan.lanes = getLanes(op, plan, target);

  double weight = getCost(op, plan, /*isScalar=*/false);
  // Few instructions in a step: its time would be that of one sum.
  unsigned carried = llvm::count(plan.isCarried, true);
  if (carried > 0 && weight <= 6 &&
      carried * laneAccumulators <= target.vectorRegisters / 2)
    plan.vectorsAtOnce = laneAccumulators;
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
    VectorPlan plan = planAlong(op, dim, sizes[dim], target, problem);
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
