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

/// The function of an operation on one value; none if it is not one of ours.
using Function = Value (MathBuilder::*)(Value);

static Function getFunction(Operation *op) {
  return TypeSwitch<Operation *, Function>(op)
      .Case([](math::ExpOp) { return &MathBuilder::exp; })
      .Case([](math::Exp2Op) { return &MathBuilder::exp2; })
      .Case([](math::ExpM1Op) { return &MathBuilder::expm1; })
      .Case([](math::LogOp) { return &MathBuilder::log; })
      .Case([](math::Log2Op) { return &MathBuilder::log2; })
      .Case([](math::Log10Op) { return &MathBuilder::log10; })
      .Case([](math::Log1pOp) { return &MathBuilder::log1p; })
      .Case([](math::TanhOp) { return &MathBuilder::tanh; })
      .Case([](math::ErfOp) { return &MathBuilder::erf; })
      .Case([](math::SinOp) { return &MathBuilder::sin; })
      .Case([](math::CosOp) { return &MathBuilder::cos; })
      .Default(Function());
}

/// Whether MathBuilder has a function for an element type: all in f32, and so
/// in 16 bits; in f64 those of rotary positions.
static bool isCovered(Function function, Type element) {
  if (element.isF64())
    return function == &MathBuilder::sin || function == &MathBuilder::cos;
  return element.isF32() || element.isF16() || element.isBF16();
}

/// The function; of 16 bits the argument is extended and the result
/// rounded.
static Value build(ImplicitLocOpBuilder &b, Function function, Value x) {
  Type type = x.getType();
  bool isNarrow = getElementTypeOrSelf(type).getIntOrFloatBitWidth() < 32;
  if (isNarrow) {
    Type wide = b.getF32Type();
    if (auto shaped = dyn_cast<ShapedType>(type))
      wide = shaped.clone(wide);
    x = arith::ExtFOp::create(b, wide, x);
  }
  Value result = (MathBuilder(b).*function)(x);
  return isNarrow ? arith::TruncFOp::create(b, type, result) : result;
}

namespace {
struct ExpandMath : gatefold::impl::ExpandMathBase<ExpandMath> {
  void runOnOperation() override {
    struct Call {
      Operation *op;
      Function function;
      Value operand;
    };
    SmallVector<Call> calls;
    getOperation().walk([&](Operation *op) {
      if (auto division = dyn_cast<arith::DivFOp>(op)) {
        if (Value x = getSigmoidOperand(division))
          calls.push_back({op, &MathBuilder::sigmoid, x});
      } else if (Function function = getFunction(op)) {
        calls.push_back({op, function, op->getOperand(0)});
      }
    });
    // Last ones first, so that what only a sigmoid read is gone when its turn
    // comes.
    IRRewriter rewriter(&getContext());
    for (Call &call : llvm::reverse(calls)) {
      Type type = getElementTypeOrSelf(call.operand.getType());
      if (call.op->use_empty()) {
        rewriter.eraseOp(call.op);
        continue;
      }
      if (!isCovered(call.function, type)) {
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
      Value result = build(b, call.function, call.operand);
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
