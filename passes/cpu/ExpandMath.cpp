// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- ExpandMath.cpp - Functions of mathematics as arithmetic ------------===//
//
// Which operations become the arithmetic of MathBuilders.
//
// The results differ from those of libm within the errors that MathBuilders.h
// states, all below what the project promises; infinities, NaN and the signs of
// zeros are IEEE's.
//
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/Remarks.h"
#include "mlir/IR/TypeUtilities.h"
#include "passes/cpu/MathBuilders.h"
#include "passes/cpu/Passes.h"
#include "passes/support/Target.h"
#include "llvm/ADT/TypeSwitch.h"

namespace gatefold {
#define GEN_PASS_DEF_EXPANDMATH
#include "passes/cpu/Passes.h.inc"
} // namespace gatefold

using namespace mlir;
using namespace gatefold;

static bool isOne(Value value) {
  if (auto broadcast = value.getDefiningOp<vector::BroadcastOp>())
    value = broadcast.getSource();
  return matchPattern(value, m_OneFloat());
}

/// x, if the operation is 1 / (1 + exp(-x)) and nothing else reads its parts.
static Value getSigmoidOperand(arith::DivFOp op) {
  auto sum = op.getRhs().getDefiningOp<arith::AddFOp>();
  if (!sum || !sum->hasOneUse() || !isOne(op.getLhs()))
    return {};
  Value other = isOne(sum.getLhs())   ? sum.getRhs()
                : isOne(sum.getRhs()) ? sum.getLhs()
                                      : Value();
  auto power = other ? other.getDefiningOp<math::ExpOp>() : math::ExpOp();
  if (!power || !power->hasOneUse())
    return {};
  auto negated = power.getOperand().getDefiningOp<arith::NegFOp>();
  return negated ? negated.getOperand() : Value();
}

/// Builds a function of an operation's operands.
using Function = Value (*)(MathBuilder &, ValueRange);

template <Value (MathBuilder::*function)(Value)>
static Value ofOne(MathBuilder &builder, ValueRange operands) {
  return (builder.*function)(operands[0]);
}

static Value ofTwo(MathBuilder &builder, ValueRange operands) {
  return builder.pow(operands[0], operands[1]);
}

/// None if an operation is not one of ours.
static Function getFunction(Operation *op) {
  return TypeSwitch<Operation *, Function>(op)
      .Case([](math::ExpOp) { return ofOne<&MathBuilder::exp>; })
      .Case([](math::Exp2Op) { return ofOne<&MathBuilder::exp2>; })
      .Case([](math::ExpM1Op) { return ofOne<&MathBuilder::expm1>; })
      .Case([](math::LogOp) { return ofOne<&MathBuilder::log>; })
      .Case([](math::Log2Op) { return ofOne<&MathBuilder::log2>; })
      .Case([](math::Log10Op) { return ofOne<&MathBuilder::log10>; })
      .Case([](math::Log1pOp) { return ofOne<&MathBuilder::log1p>; })
      .Case([](math::TanhOp) { return ofOne<&MathBuilder::tanh>; })
      .Case([](math::ErfOp) { return ofOne<&MathBuilder::erf>; })
      .Case([](math::SinOp) { return ofOne<&MathBuilder::sin>; })
      .Case([](math::CosOp) { return ofOne<&MathBuilder::cos>; })
      .Case([](math::PowFOp) { return ofTwo; })
      .Default(Function());
}

/// Whether MathBuilder has a function for an element type. Its forms in f64
/// cost a call for each fma where there is no instruction for that, more than
/// the one call of libm.
static bool isCovered(Operation *op, Type element, bool hasFma) {
  if (element.isF64())
    return hasFma && !isa<math::Exp2Op, math::Log2Op, math::Log10Op>(op);
  if (isa<math::PowFOp>(op) && !hasFma)
    return false;
  return element.isF32() || element.isF16() || element.isBF16();
}

/// The function; of 16 bits the arguments are extended and the result
/// rounded.
static Value build(ImplicitLocOpBuilder &b, Function function,
                   SmallVector<Value> operands) {
  Type type = operands[0].getType();
  bool isNarrow = getElementTypeOrSelf(type).getIntOrFloatBitWidth() < 32;
  if (isNarrow) {
    Type wide = b.getF32Type();
    if (auto shaped = dyn_cast<ShapedType>(type))
      wide = shaped.clone(wide);
    for (Value &operand : operands)
      operand = arith::ExtFOp::create(b, wide, operand);
  }
  MathBuilder builder(b);
  Value result = function(builder, operands);
  return isNarrow ? arith::TruncFOp::create(b, type, result) : result;
}

namespace {
struct ExpandMath : gatefold::impl::ExpandMathBase<ExpandMath> {
  void runOnOperation() override {
    struct Call {
      Operation *op;
      Function function;
      SmallVector<Value> operands;
    };
    bool hasFma =
        TargetDescription::fromModule(getOperation()).hasFusedMultiplyAdd();
    SmallVector<Call> calls;
    getOperation().walk([&](Operation *op) {
      if (auto division = dyn_cast<arith::DivFOp>(op)) {
        if (Value x = getSigmoidOperand(division))
          calls.push_back({op, ofOne<&MathBuilder::sigmoid>, {x}});
      } else if (Function function = getFunction(op)) {
        calls.push_back({op, function, op->getOperands()});
      }
    });
    // Last ones first, so that what only a sigmoid read is gone when its turn
    // comes.
    IRRewriter rewriter(&getContext());
    for (Call &call : llvm::reverse(calls)) {
      Type type = getElementTypeOrSelf(call.op->getResult(0));
      if (call.op->use_empty()) {
        rewriter.eraseOp(call.op);
        continue;
      }
      if (!isCovered(call.op, type, hasFma)) {
        std::string text;
        llvm::raw_string_ostream(text)
            << call.op->getName() << " of " << type << " calls libm";
        remark::missed(
            call.op->getLoc(),
            remark::RemarkOpts::name("libm").category("gf-expand-math"))
            << text;
        continue;
      }
      rewriter.setInsertionPoint(call.op);
      ImplicitLocOpBuilder b(call.op->getLoc(), rewriter);
      Value result = build(b, call.function, call.operands);
      Operation *sum = isa<arith::DivFOp>(call.op)
                           ? call.op->getOperand(1).getDefiningOp()
                           : nullptr;
      rewriter.replaceOp(call.op, result);
      if (sum)
        rewriter.eraseOp(sum);
      ++functionsExpanded;
    }
  }
};
} // namespace
