// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- RecurrenceScanForm.cpp - Recurrences linear in their states --------===//
//
// Algebra on the step of a recurrence, and what of it stands where in a scan.
//
//===----------------------------------------------------------------------===//

#include "passes/tile/RecurrenceScanForm.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "passes/fuse/StepConditions.h"
#include "llvm/ADT/EquivalenceClasses.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace gatefold;
using linalg::LinalgOp;

//===----------------------------------------------------------------------===//
// What a user calls it
//===----------------------------------------------------------------------===//

/// The name that a text gives to a value.
static StringRef findName(Location loc) {
  if (auto name = dyn_cast<NameLoc>(loc))
    return name.getName();
  if (auto call = dyn_cast<CallSiteLoc>(loc))
    return findName(call.getCallee());
  return "";
}

/// Whether an exponential is that of 1 / (1 + exp(-x)).
static bool isOfSigmoid(math::ExpOp op) {
  if (!op.getOperand().getDefiningOp<arith::NegFOp>() || !op->hasOneUse())
    return false;
  auto sum = dyn_cast<arith::AddFOp>(*op->user_begin());
  if (!sum || !sum->hasOneUse())
    return false;
  auto quotient = dyn_cast<arith::DivFOp>(*sum->user_begin());
  return quotient && quotient.getRhs() == sum &&
         matchPattern(quotient.getLhs(), m_OneFloat());
}

/// `tanh of`, `a comparison of`.
static std::string describe(Operation *op) {
  StringRef name =
      TypeSwitch<Operation *, StringRef>(op)
          .Case([](math::ExpOp exp) {
            return isOfSigmoid(exp) ? "sigmoid" : "exp";
          })
          .Case<arith::MaximumFOp, arith::MaxNumFOp, arith::MaxSIOp,
                arith::MaxUIOp>([](Operation *) { return "max"; })
          .Case<arith::MinimumFOp, arith::MinNumFOp, arith::MinSIOp,
                arith::MinUIOp>([](Operation *) { return "min"; })
          .Case<math::AbsFOp, math::AbsIOp>([](Operation *) { return "abs"; })
          .Case<math::PowFOp, math::FPowIOp, math::IPowIOp>(
              [](Operation *) { return "a power of"; })
          .Case<arith::CmpFOp, arith::CmpIOp>(
              [](Operation *) { return "a comparison of"; })
          .Case<tensor::ExpandShapeOp, tensor::CollapseShapeOp>(
              [](Operation *) { return "a reshape of"; })
          .Default([](Operation *other) -> StringRef {
            // Functions have the names that a text gives them.
            bool isFunction = isa<math::MathDialect>(other->getDialect());
            return isFunction ? other->getName().stripDialect()
                              : StringRef("what is made of");
          });
  return name.ends_with(" of") ? name.str() : (name + " of").str();
}

std::string ScanForm::nameOf(unsigned state) const {
  RecurrenceOp recurrence = op;
  StringRef name = findName(recurrence.getStateArguments()[state].getLoc());
  return name.empty() ? "state #" + std::to_string(state)
                      : ("\"" + name + "\"").str();
}

//===----------------------------------------------------------------------===//
// Algebra
//===----------------------------------------------------------------------===//

StateTerm ScanForm::termOf(Value value) const { return terms.lookup(value); }

StateTerm ScanForm::other(Operation *at, unsigned state,
                          std::string text) const {
  return {Kind::Other, state, at, std::move(text)};
}

/// What an operation on numbers makes of numbers.
StateTerm ScanForm::combine(Operation *at, ArrayRef<StateTerm> operands) const {
  const StateTerm *linear = nullptr, *result = nullptr;
  auto isLinear = [&](unsigned operand) {
    return operands[operand].kind == Kind::Linear;
  };
  for (const StateTerm &term : operands) {
    if (term.kind == Kind::Other)
      return term;
    if (term.kind == Kind::Linear && linear && linear->state != term.state)
      return other(at, term.state,
                   nameOf(linear->state) + " beside " + nameOf(term.state));
    if (term.kind == Kind::Linear)
      linear = &term;
    if (term.kind == Kind::Resolved)
      result = &term;
  }
  if (!linear)
    return result ? *result : StateTerm();
  std::string name = nameOf(linear->state);
  auto refuse = [&](const Twine &what) {
    return other(at, linear->state, (what + " " + name).str());
  };
  return TypeSwitch<Operation *, StateTerm>(at)
      .Case<arith::AddFOp, arith::SubFOp, arith::NegFOp, arith::AddIOp,
            arith::SubIOp, arith::ExtFOp, arith::TruncFOp, arith::ExtSIOp>(
          [&](Operation *) { return *linear; })
      .Case<arith::MulFOp, arith::MulIOp>([&](Operation *) {
        return isLinear(0) && isLinear(1)
                   ? other(at, linear->state,
                           "a product of " + name + " with itself")
                   : *linear;
      })
      .Case([&](math::FmaOp) {
        return isLinear(0) && isLinear(1)
                   ? other(at, linear->state,
                           "a product of " + name + " with itself")
                   : *linear;
      })
      .Case([&](arith::DivFOp) {
        return isLinear(1) ? refuse("a division by") : *linear;
      })
      .Case([&](arith::SelectOp) {
        return isLinear(0) ? refuse("a choice by") : *linear;
      })
      .Default([&](Operation *inner) { return refuse(describe(inner)); });
}

void ScanForm::setTerms(Operation *inner, const StateTerm &term) {
  for (Value result : inner->getResults())
    terms[result] = term;
}

/// An operation that mixes elements, of states of which `term` is one: no
/// linear state may be among them, and no scan can have it.
void ScanForm::setMixed(Operation *inner, const StateTerm &term,
                        const std::string &text) {
  if (term.kind == Kind::Linear)
    return setTerms(inner, other(inner, term.state, text));
  setTerms(inner, {Kind::Resolved, term.state, nullptr, ""});
  mixed.try_emplace(inner, text);
}

/// The results of an operation that reads states, of which `state` is one; a
/// linear one if there is any.
void ScanForm::addLinalgTerms(LinalgOp inner, const StateTerm &state) {
  std::string name = nameOf(state.state);
  if (linalg::isaContractionOpInterface(inner))
    return setMixed(inner, state, "a product with " + name);
  if (inner.getNumReductionLoops())
    return setMixed(inner, state, "a reduction of " + name);
  // Element by element: each result is of the elements at its place.
  llvm::DenseMap<Value, StateTerm> numbers;
  for (OpOperand &operand : inner->getOpOperands()) {
    AffineMap map = inner.getMatchingIndexingMap(&operand);
    StateTerm term = termOf(operand.get());
    if (!map.isIdentity() &&
        (inner.isDpsInit(&operand) || term.kind == Kind::Linear))
      return setMixed(inner, state, "elements of " + name + " at other places");
    numbers[inner.getMatchingBlockArgument(&operand)] = term;
    if (term.kind == Kind::Resolved && !map.isIdentity())
      mixed.try_emplace(inner, "elements of " + nameOf(term.state) +
                                   " at other places");
    if (term.kind != Kind::Known ||
        isSameAtEachStep(operand.get(), op.getBody()))
      continue;
    // Rows stay apart, so that the operand has its time behind the leading
    // dimensions.
    bool isTensor = isa<RankedTensorType>(operand.get().getType());
    for (unsigned dim = 0; dim < leadRank; ++dim)
      isTensor &=
          map.getNumResults() > dim &&
          map.getResult(dim) == getAffineDimExpr(dim, inner->getContext());
    if (!isTensor)
      mixed.try_emplace(inner, "what is of other rows beside " + name);
  }
  for (Operation &number : inner.getBlock()->without_terminator()) {
    SmallVector<StateTerm> operands;
    for (Value operand : number.getOperands()) {
      operands.push_back(numbers.lookup(operand));
      if (operand.getParentBlock() != inner.getBlock() &&
          !isSameAtEachStep(operand, op.getBody()))
        mixed.try_emplace(inner, "a number of the step beside " + name);
    }
    if (number.getNumRegions() || !isMemoryEffectFree(&number) ||
        isa<tensor::ExtractOp>(number))
      return setMixed(inner, state, describe(&number) + " " + name);
    StateTerm term = combine(&number, operands);
    for (Value result : number.getResults())
      numbers[result] = term;
  }
  for (auto [result, yielded] :
       llvm::zip(inner->getResults(),
                 inner.getBlock()->getTerminator()->getOperands()))
    if (StateTerm term = numbers.lookup(yielded); term.kind != Kind::Known)
      terms[result] = term;
}

void ScanForm::addTerms(Operation *inner) {
  StateTerm found;
  inner->walk([&](Operation *part) {
    for (Value operand : part->getOperands())
      if (StateTerm term = termOf(operand);
          static_cast<int>(term.kind) > static_cast<int>(found.kind))
        found = term;
  });
  // A size is the same before and behind a step.
  if (found.kind == Kind::Known || isa<tensor::DimOp>(inner))
    return;
  if (found.kind == Kind::Other || isa<tensor::CastOp>(inner))
    return setTerms(inner, found);
  if (auto linalgOp = dyn_cast<LinalgOp>(inner))
    return addLinalgTerms(linalgOp, found);
  if (!OpTrait::hasElementwiseMappableTraits(inner) ||
      inner->getNumResults() != 1)
    return setMixed(inner, found, describe(inner) + " " + nameOf(found.state));
  SmallVector<StateTerm> operands;
  bool isElementwise = isa<RankedTensorType>(inner->getResultTypes()[0]);
  for (Value operand : inner->getOperands()) {
    operands.push_back(termOf(operand));
    isElementwise &= isa<RankedTensorType>(operand.getType()) ||
                     isSameAtEachStep(operand, op.getBody());
  }
  if (!isElementwise)
    mixed.try_emplace(inner,
                      "a number of the step beside " + nameOf(found.state));
  setTerms(inner, combine(inner, operands));
}

void ScanForm::computeTerms() {
  terms.clear();
  mixed.clear();
  for (auto [number, argument] : llvm::enumerate(op.getStateArguments()))
    terms[argument] = {resolved[number] ? Kind::Resolved : Kind::Linear,
                       unsigned(number), nullptr, ""};
  for (Operation &inner : body.without_terminator())
    addTerms(&inner);
}

/// Resolves states as long as there are any that can be; false, and the reason,
/// where some are left.
bool ScanForm::resolveStates() {
  ValueRange next = op.getYield().getValues().drop_front(op.getNumOutputs());
  resolved.assign(next.size(), false);
  bool changed = true;
  while (changed) {
    changed = false;
    computeTerms();
    for (auto [number, value] : llvm::enumerate(next)) {
      StateTerm term = termOf(value);
      if (resolved[number] || term.kind == Kind::Other ||
          (term.kind == Kind::Linear && term.state != number))
        continue;
      resolved[number] = changed = true;
    }
  }
  for (auto [number, value] : llvm::enumerate(next)) {
    if (resolved[number])
      continue;
    StateTerm term = termOf(value);
    Operation *at = term.obstacle ? term.obstacle : value.getDefiningOp();
    return refuse(
        at ? at : op.getOperation(),
        "the next " + nameOf(number) + " holds " +
            (term.kind == Kind::Other
                 ? term.text
                 : nameOf(term.state) + ", which is not known before it"));
  }
  return true;
}

bool ScanForm::refuse(Operation *at, const Twine &why) {
  reason = why.str();
  place = at->getLoc();
  return false;
}

bool ScanForm::refuseSteps(Operation *at) {
  return refuse(at, "'" + at->getName().getStringRef() +
                        "' is not computed for all steps at once");
}

//===----------------------------------------------------------------------===//
// What stands where
//===----------------------------------------------------------------------===//

SmallVector<Value> gatefold::getReadOperands(Operation *op) {
  auto linalgOp = dyn_cast<LinalgOp>(op);
  if (!linalgOp)
    return SmallVector<Value>(op->getOperands());
  SmallVector<Value> read(linalgOp.getDpsInputs());
  for (OpOperand &init : linalgOp.getDpsInitsMutable())
    if (linalgOp.payloadUsesValueFromOperand(&init))
      read.push_back(init.get());
  return read;
}

std::optional<ScanForm::StateValue>
ScanForm::findStateValue(Value value) const {
  RecurrenceOp recurrence = op;
  auto states = recurrence.getStateArguments();
  if (auto argument = dyn_cast<BlockArgument>(value);
      argument && argument.getOwner() == &body &&
      argument.getArgNumber() >= recurrence.getSequences().size())
    return StateValue{
        unsigned(argument.getArgNumber() - recurrence.getSequences().size()),
        /*isNext=*/false};
  if (!isOfState(value))
    return std::nullopt;
  ValueRange next = recurrence.getYield().getValues().take_back(states.size());
  auto found = llvm::find(next, value);
  if (found == next.end())
    return std::nullopt;
  return StateValue{unsigned(found - next.begin()), /*isNext=*/true};
}

/// What can be computed for all steps at once, without and with the states.
bool ScanForm::findKnown() {
  for (BlockArgument argument : op.getStepArguments())
    known.insert(argument);
  knownBehind = known;
  for (BlockArgument argument : op.getStateArguments())
    knownBehind.insert(argument);
  auto isKnown = [&](Value value) { return known.contains(value); };
  auto isKnownBehind = [&](Value value) { return knownBehind.contains(value); };
  for (Operation &inner : body.without_terminator()) {
    if (!isMemoryEffectFree(&inner))
      return refuse(&inner, "'" + inner.getName().getStringRef() +
                                "' is to be executed step by step");
    if (canComputeAllSteps(op, &inner, isKnown))
      known.insert(inner.result_begin(), inner.result_end());
    if (canComputeAllSteps(op, &inner, isKnownBehind))
      knownBehind.insert(inner.result_begin(), inner.result_end());
    for (Value result : inner.getResults())
      if (findStateValue(result))
        knownBehind.insert(result);
  }
  return true;
}

/// Adds what a value is computed from for all steps, before the states.
bool ScanForm::addBefore(Value value) {
  SmallVector<Value> left = {value};
  while (!left.empty()) {
    Value next = left.pop_back_val();
    if (isSameAtEachStep(next, op.getBody()) || isa<BlockArgument>(next) ||
        !isa<RankedTensorType>(next.getType()))
      continue;
    Operation *inner = next.getDefiningOp();
    if (!known.contains(next))
      return refuseSteps(inner);
    if (needed.insert(inner))
      llvm::append_range(left, inner->getOperands());
  }
  return true;
}

/// The operations from states to next states, and which states they join.
bool ScanForm::formGroups() {
  ValueRange next = op.getYield().getValues().drop_front(op.getNumOutputs());
  llvm::EquivalenceClasses<unsigned> joined;
  SmallVector<llvm::SetVector<Operation *>> slices(next.size());
  for (auto [number, value] : llvm::enumerate(next)) {
    joined.insert(number);
    SmallVector<Value> left = {value};
    while (!left.empty()) {
      Value part = left.pop_back_val();
      if (!isOfState(part)) {
        if (isa<RankedTensorType>(part.getType()) && !addBefore(part))
          return false;
        continue;
      }
      Operation *inner = part.getDefiningOp();
      if (!inner)
        joined.unionSets(number, termOf(part).state);
      else if (auto why = mixed.find(inner); why != mixed.end())
        return refuse(inner,
                      "the next " + nameOf(number) + " takes " + why->second);
      else if (slices[number].insert(inner))
        llvm::append_range(left, getReadOperands(inner));
    }
  }
  llvm::DenseMap<unsigned, unsigned> places;
  SmallVector<llvm::SmallPtrSet<Operation *, 8>> operations;
  for (unsigned number = 0; number < next.size(); ++number) {
    auto [found, isNew] =
        places.try_emplace(joined.getLeaderValue(number), groups.size());
    if (isNew) {
      groups.emplace_back();
      operations.emplace_back();
    }
    groups[found->second].states.push_back(number);
    operations[found->second].insert(slices[number].begin(),
                                     slices[number].end());
  }
  for (auto [group, inside] : llvm::zip(groups, operations))
    for (Operation &inner : body)
      if (inside.contains(&inner))
        group.operations.push_back(&inner);
  return true;
}

/// What outputs are computed from.
bool ScanForm::placeOutputs() {
  llvm::SmallPtrSet<Operation *, 16> inside;
  for (Value output :
       op.getYield().getValues().take_front(op.getNumOutputs())) {
    // The scan writes a state's steps where they belong.
    if (findStateValue(output))
      continue;
    // What comes last is what the others are computed from.
    Operation *obstacle = nullptr;
    SmallVector<Value> left = {output};
    while (!left.empty()) {
      Value value = left.pop_back_val();
      if (!isa<RankedTensorType>(value.getType()))
        continue;
      if (findStateValue(value)) {
        statesRead.insert(value);
        continue;
      }
      if (!isOfState(value)) {
        if (!addBefore(value))
          return false;
        continue;
      }
      Operation *inner = value.getDefiningOp();
      if (!knownBehind.contains(value))
        obstacle = inner;
      if (inside.insert(inner).second)
        llvm::append_range(left, inner->getOperands());
    }
    if (obstacle)
      return refuseSteps(obstacle);
  }
  for (Operation &inner : body) {
    if (needed.contains(&inner))
      before.push_back(&inner);
    if (inside.contains(&inner))
      behind.push_back(&inner);
  }
  return true;
}

/// Whether a block of steps takes about as much memory as what it reads and
/// gives: products of vectors would be much larger for all steps.
bool ScanForm::isSmall() {
  constexpr int64_t mostTimes = 4;
  int64_t given = 0, made = 0;
  for (BlockArgument argument : op.getStepArguments())
    given += countElements(argument, leadRank);
  for (Value output : op.getYield().getValues().take_front(op.getNumOutputs()))
    given += countElements(output, leadRank);
  for (Value value : statesRead)
    made += countElements(value, leadRank);
  for (ArrayRef<Operation *> list : {ArrayRef(before), ArrayRef(behind)})
    for (Operation *inner : list)
      for (Value result : inner->getResults()) {
        int64_t elements = countElements(result, leadRank);
        if (elements > mostTimes * given)
          made += elements;
      }
  if (made <= mostTimes * given)
    return true;
  return refuse(op, "a block of steps would take " +
                        Twine(made / std::max<int64_t>(given, 1)) +
                        " times the memory of what it reads and gives");
}

ScanForm::ScanForm(RecurrenceOp recurrence)
    : op(recurrence), body(recurrence.getBody().front()),
      leadRank(recurrence.getTimeAxisAttr().getInt()) {
  if (op.getInitials().empty()) {
    refuse(op, "there is no state");
    return;
  }
  linear = resolveStates();
  if (linear)
    (void)(findKnown() && formGroups() && placeOutputs() && isSmall());
}
