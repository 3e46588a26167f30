// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- LinalgToVectorsLanes.cpp - What differs between lanes --------------===//
//
// Follows through the body of an operation what depends on the lane.
//
//===----------------------------------------------------------------------===//

#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Transforms/RegionUtils.h"
#include "passes/cpu/LinalgToVectors.h"
#include "passes/cpu/Passes.h"

using namespace mlir;
using namespace gatefold;
using linalg::LinalgOp;

bool gatefold::isLaneType(Type type) {
  return type.isF32() || type.isF64() || type.isF16() || type.isBF16() ||
         type.isIndex() || type.isInteger(1) || type.isInteger(8) ||
         type.isInteger(16) || type.isInteger(32) || type.isInteger(64);
}

//===----------------------------------------------------------------------===//
// Combiners
//===----------------------------------------------------------------------===//

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
std::optional<LaneCombiner> gatefold::findLaneCombiner(BlockArgument argument,
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

//===----------------------------------------------------------------------===//
// Choices
//===----------------------------------------------------------------------===//

/// x better than `best`: greater or less, or NaN where `best` is a number.
static std::optional<LaneChoice> matchBetter(Value condition, Value x,
                                             Value best) {
  LaneChoice choice = {};
  if (auto either = condition.getDefiningOp<arith::OrIOp>()) {
    auto both = either.getRhs().getDefiningOp<arith::AndIOp>();
    auto isNaN =
        both ? both.getLhs().getDefiningOp<arith::CmpFOp>() : arith::CmpFOp();
    auto isNumber =
        both ? both.getRhs().getDefiningOp<arith::CmpFOp>() : arith::CmpFOp();
    if (!isNaN || !isNumber ||
        isNaN.getPredicate() != arith::CmpFPredicate::UNO ||
        isNumber.getPredicate() != arith::CmpFPredicate::ORD ||
        isNaN.getLhs() != x || isNaN.getRhs() != x ||
        isNumber.getLhs() != best || isNumber.getRhs() != best)
      return std::nullopt;
    choice.prefersNaN = true;
    condition = either.getLhs();
  }
  choice.compare = condition.getDefiningOp();
  bool isStrict =
      TypeSwitch<Operation *, bool>(choice.compare)
          .Case([](arith::CmpFOp op) {
            return llvm::is_contained(
                {arith::CmpFPredicate::OGT, arith::CmpFPredicate::OLT},
                op.getPredicate());
          })
          .Case([](arith::CmpIOp op) {
            return llvm::is_contained(
                {arith::CmpIPredicate::sgt, arith::CmpIPredicate::slt,
                 arith::CmpIPredicate::ugt, arith::CmpIPredicate::ult},
                op.getPredicate());
          })
          .Default(false);
  if (!isStrict)
    return std::nullopt;
  Value left = choice.compare->getOperand(0);
  Value right = choice.compare->getOperand(1);
  choice.bestOperand = right == best ? 1 : 0;
  if ((left != x || right != best) && (left != best || right != x))
    return std::nullopt;
  return choice;
}

std::optional<LaneChoice> gatefold::findLaneChoice(LinalgOp op, unsigned dim) {
  // With a second loop the first place would not be the least index.
  if (op.getNumReductionLoops() != 1)
    return std::nullopt;
  auto select = [&](unsigned result) {
    OpOperand *init = op.getDpsInitOperand(result);
    auto choice =
        op.getMatchingYieldValue(init)->get().getDefiningOp<arith::SelectOp>();
    return choice && choice.getFalseValue() == op.getMatchingBlockArgument(init)
               ? choice
               : arith::SelectOp();
  };
  auto isPlace = [&](Value value) {
    if (auto converted = value.getDefiningOp<arith::IndexCastOp>())
      value = converted.getIn();
    auto index = value.getDefiningOp<linalg::IndexOp>();
    return index && index.getDim() == dim;
  };
  for (unsigned first = 0; first < op.getNumDpsInits(); ++first) {
    for (unsigned second = 0; second < op.getNumDpsInits(); ++second) {
      arith::SelectOp element = select(first), place = select(second);
      if (first == second || !element || !place ||
          element.getCondition() != place.getCondition() ||
          !isPlace(place.getTrueValue()))
        continue;
      BlockArgument best =
          op.getMatchingBlockArgument(op.getDpsInitOperand(first));
      BlockArgument found =
          op.getMatchingBlockArgument(op.getDpsInitOperand(second));
      Value x = element.getTrueValue(), condition = element.getCondition();
      std::optional<LaneChoice> choice = matchBetter(condition, x, best);
      unsigned uses = 1;
      if (auto both = condition.getDefiningOp<arith::AndIOp>();
          !choice && both) {
        // What else must hold of an element.
        choice = matchBetter(both.getLhs(), x, best);
        if (!choice)
          choice = matchBetter(both.getRhs(), x, best);
      }
      if (!choice)
        continue;
      uses += choice->prefersNaN ? 3 : 1;
      if (!found.hasOneUse() || !best.hasNUses(uses))
        continue;
      choice->best = first;
      choice->place = second;
      return choice;
    }
  }
  return std::nullopt;
}

bool gatefold::isInOrder(LinalgOp op, ArrayRef<bool> isCarried,
                         const std::optional<LaneChoice> &choice) {
  Block *block = op.getBlock();
  for (auto [number, carried] : llvm::enumerate(isCarried)) {
    if (!carried ||
        (choice && (number == choice->best || number == choice->place)))
      continue;
    llvm::DenseSet<Value> soFar = {
        op.getMatchingBlockArgument(op.getDpsInitOperand(number))};
    for (Operation &inner : block->without_terminator()) {
      WalkResult reads = inner.walk([&](Operation *part) {
        return llvm::any_of(part->getOperands(),
                            [&](Value value) { return soFar.contains(value); })
                   ? WalkResult::interrupt()
                   : WalkResult::advance();
      });
      if (reads.wasInterrupted())
        soFar.insert(inner.result_begin(), inner.result_end());
    }
    for (auto [other, yielded] :
         llvm::enumerate(block->getTerminator()->getOperands()))
      if (other != number && soFar.contains(yielded))
        return true;
  }
  return false;
}

//===----------------------------------------------------------------------===//
// What varies
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

/// Whether nothing is written, and so an operation may run once for all lanes.
static bool onlyReads(Operation &inner) {
  std::optional<SmallVector<MemoryEffects::EffectInstance>> effects =
      getEffectsRecursively(&inner);
  return effects && llvm::all_of(*effects, [](auto &effect) {
           return isa<MemoryEffects::Read>(effect.getEffect());
         });
}

static bool isVarying(Operation &inner, const VectorPlan &plan) {
  SetVector<Value> used;
  used.insert(inner.operand_begin(), inner.operand_end());
  getUsedValuesDefinedAbove(inner.getRegions(), used);
  bool varies = llvm::any_of(
      used, [&](Value value) { return plan.varying.contains(value); });
  // An index within a region is that of the operation's loop, too.
  inner.walk(
      [&](linalg::IndexOp index) { varies |= index.getDim() == plan.dim; });
  return varies;
}

static std::string findVaryingIn(Block &block, VectorPlan &plan);

/// A loop of the body steps for all lanes at once. A value that it carries
/// varies if it begins so, or becomes so.
static std::string findVaryingIn(scf::ForOp loop, VectorPlan &plan) {
  for (Value bound :
       {loop.getLowerBound(), loop.getUpperBound(), loop.getStep()})
    if (plan.varying.contains(bound))
      return "the lanes' loops in the body differ in length";
  for (auto [argument, init] :
       llvm::zip(loop.getRegionIterArgs(), loop.getInitArgs()))
    if (plan.varying.contains(init))
      plan.varying.insert(argument);
  for (bool isKnown = false; !isKnown;) {
    std::string reason = findVaryingIn(*loop.getBody(), plan);
    if (!reason.empty())
      return reason;
    isKnown = true;
    for (auto [argument, next] :
         llvm::zip(loop.getRegionIterArgs(), loop.getYieldedValues()))
      if (plan.varying.contains(next) && plan.varying.insert(argument).second)
        isKnown = false;
  }
  for (auto [argument, result] :
       llvm::zip(loop.getRegionIterArgs(), loop.getResults()))
    if (plan.varying.contains(argument))
      plan.varying.insert(result);
  return {};
}

static std::string findVaryingIn(Block &block, VectorPlan &plan) {
  for (Operation &inner : block.without_terminator()) {
    if (!isVarying(inner, plan)) {
      if (inner.getNumRegions() != 0 &&
          inner.walk([](linalg::IndexOp) { return WalkResult::interrupt(); })
              .wasInterrupted())
        return "an index within a region";
      continue;
    }
    if (auto loop = dyn_cast<scf::ForOp>(inner)) {
      std::string reason = findVaryingIn(loop, plan);
      if (!reason.empty())
        return reason;
      if (llvm::none_of(loop.getResults(), [&](Value result) {
            return plan.varying.contains(result);
          }))
        return "a loop in the body whose results no lane changes";
    } else {
      bool hasForm = isa<linalg::IndexOp, memref::LoadOp>(inner) ||
                     (OpTrait::hasElementwiseMappableTraits(&inner) &&
                      inner.getNumRegions() == 0);
      if (!hasForm)
        return ("no vector form of '" + inner.getName().getStringRef() + "'")
            .str();
      plan.varying.insert(inner.result_begin(), inner.result_end());
    }
    if (!llvm::all_of(inner.getResultTypes(), isLaneType))
      return ("no vectors of what '" + inner.getName().getStringRef() +
              "' gives")
          .str();
  }
  return {};
}

std::string gatefold::findVarying(LinalgOp op, VectorPlan &plan) {
  for (OpOperand &operand : op->getOpOperands()) {
    BlockArgument argument = op.getMatchingBlockArgument(&operand);
    if (op.isDpsInit(&operand) ||
        plan.accesses[operand.getOperandNumber()] != LaneAccess::Same)
      plan.varying.insert(argument);
  }
  for (Operation &inner : op.getBlock()->without_terminator())
    if (!onlyReads(inner))
      return ("'" + inner.getName().getStringRef() + "' has effects").str();
  return findVaryingIn(*op.getBlock(), plan);
}
