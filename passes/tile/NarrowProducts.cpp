// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- NarrowProducts.cpp - Products on what was extended -----------------===//
//
// A product reads the floats of 16 bits that its operand is the extension of.
//
// Exactness: an extension is exact, and a product takes its terms and sums in
// f32 whatever its operands are, so that no bit of a result changes.
//
//===----------------------------------------------------------------------===//

#include "dialect/GatefoldOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/IR/Remarks.h"
#include "passes/tile/Passes.h"

namespace gatefold {
#define GEN_PASS_DEF_NARROWPRODUCTS
#include "passes/tile/Passes.h.inc"
} // namespace gatefold

using namespace mlir;
using namespace gatefold;

static bool isHalf(Type element) { return element.isF16() || element.isBF16(); }

/// What a copy, element by element, gives: its input (as a map of the result's
/// dimensions says), or that input extended.
namespace {
struct Copy {
  linalg::GenericOp op;
  Value source;
  AffineMap map;
  bool extends;

  static std::optional<Copy> match(Value value) {
    auto op = value.getDefiningOp<linalg::GenericOp>();
    if (!op || op.getNumDpsInputs() != 1 || op.getNumDpsInits() != 1 ||
        op.getNumReductionLoops() != 0 ||
        !op.getIndexingMapsArray()[1].isIdentity())
      return std::nullopt;
    Value yielded = op.getBody()->getTerminator()->getOperand(0);
    auto extension = yielded.getDefiningOp<arith::ExtFOp>();
    if (extension)
      yielded = extension.getIn();
    if (yielded != op.getBody()->getArgument(0))
      return std::nullopt;
    return Copy{op, op.getDpsInputs()[0], op.getIndexingMapsArray()[0],
                extension != nullptr};
  }
};

/// Finds and makes the tensors of 16 bits whose extensions tensors of f32 are.
class Narrowing {
public:
  explicit Narrowing(MLIRContext *context) : builder(context) {}

  /// The tensor that `wide` is the extension of, made where there is none; null
  /// if `wide` is no extension or if one more tensor would be in memory.
  Value narrow(Value wide) {
    Type element;
    if (!getElementTypeOrSelf(wide.getType()).isF32() || !find(wide, element) ||
        !element)
      return {};
    return make(wide, element);
  }

private:
  bool find(Value wide, Type &element);
  bool findConstant(Value number, Type element);
  Value make(Value wide, Type element);
  Value makeNew(Value wide, Type element);
  Value convertConstant(Value number, Type element);

  OpBuilder builder;
  DenseMap<Value, Value> made;
};
} // namespace

static bool isReadByProductsOnly(Value panels) {
  return llvm::all_of(panels.getUsers(), [](Operation *user) {
    return isa<LinearOp>(user) || (isa<tensor::ExtractSliceOp>(user) &&
                                   isReadByProductsOnly(user->getResult(0)));
  });
}

/// Whether a constant is one of the type's numbers; of any type as long as none
/// is known.
bool Narrowing::findConstant(Value number, Type element) {
  FloatAttr value;
  if (!matchPattern(number, m_Constant(&value)))
    return false;
  if (!element)
    return value.getValue().isZero();
  bool loses;
  APFloat converted = value.getValue();
  converted.convert(cast<FloatType>(element).getFloatSemantics(),
                    APFloat::rmNearestTiesToEven, &loses);
  return !loses;
}

/// Whether a tensor holds nothing but numbers of one type of 16 bits, which is
/// left in `element`. What takes memory of its own must have no other reader:
/// the wide tensor is then gone.
bool Narrowing::find(Value wide, Type &element) {
  Operation *op = wide.getDefiningOp();
  if (!op)
    return false;
  if (std::optional<Copy> copy = Copy::match(wide)) {
    if (!copy->map.isIdentity() && !wide.hasOneUse())
      return false;
    if (!copy->extends)
      return wide.hasOneUse() && find(copy->source, element);
    Type found = getElementTypeOrSelf(copy->source.getType());
    if (!isHalf(found) || (element && element != found))
      return false;
    element = found;
    return true;
  }
  if (isa<tensor::EmptyOp>(op))
    return true;
  if (isa<tensor::ExtractSliceOp, tensor::CollapseShapeOp,
          tensor::ExpandShapeOp, tensor::CastOp>(op))
    return find(op->getOperand(0), element);
  if (auto pack = dyn_cast<PackOp>(op))
    return isReadByProductsOnly(wide) && find(pack.getSource(), element);
  if (!wide.hasOneUse())
    return false;
  if (auto insert = dyn_cast<tensor::InsertSliceOp>(op))
    return find(insert.getSource(), element) && find(insert.getDest(), element);
  if (auto pad = dyn_cast<tensor::PadOp>(op)) {
    Value value = pad.getConstantPaddingValue();
    return value && find(pad.getSource(), element) &&
           findConstant(value, element);
  }
  if (auto fill = dyn_cast<linalg::FillOp>(op))
    return findConstant(fill.value(), element);
  return false;
}

Value Narrowing::convertConstant(Value number, Type element) {
  FloatAttr value;
  matchPattern(number, m_Constant(&value));
  return arith::ConstantOp::create(
      builder, number.getLoc(),
      FloatAttr::get(element, value.getValueAsDouble()));
}

Value Narrowing::make(Value wide, Type element) {
  Value &known = made[wide];
  if (known)
    return known;
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPoint(wide.getDefiningOp());
  Value narrow = makeNew(wide, element);
  // What was made meanwhile may have moved the entry.
  return made[wide] = narrow;
}

Value Narrowing::makeNew(Value wide, Type element) {
  Operation *op = wide.getDefiningOp();
  Location loc = op->getLoc();
  Type type = cast<RankedTensorType>(wide.getType()).clone(element);
  std::optional<Copy> copy = Copy::match(wide);
  if (copy && copy->extends && copy->map.isIdentity())
    return copy->source;
  if (copy) {
    Value source = copy->extends ? copy->source : make(copy->source, element);
    Value empty = tensor::EmptyOp::create(
        builder, loc,
        tensor::getMixedSizes(builder, loc, copy->op.getDpsInits()[0]),
        element);
    return linalg::GenericOp::create(
               builder, loc, type, source, empty,
               copy->op.getIndexingMapsArray(),
               copy->op.getIteratorTypesArray(),
               [](OpBuilder &inner, Location bodyLoc, ValueRange arguments) {
                 linalg::YieldOp::create(inner, bodyLoc, arguments[0]);
               })
        .getResult(0);
  }
  if (auto fill = dyn_cast<linalg::FillOp>(op)) {
    Value empty = tensor::EmptyOp::create(
        builder, loc, tensor::getMixedSizes(builder, loc, fill.output()),
        element);
    return linalg::FillOp::create(builder, loc,
                                  convertConstant(fill.value(), element), empty)
        .getResult(0);
  }
  IRMapping mapping;
  if (auto pad = dyn_cast<tensor::PadOp>(op))
    return tensor::PadOp::create(
        builder, loc, type, make(pad.getSource(), element),
        pad.getMixedLowPad(), pad.getMixedHighPad(),
        convertConstant(pad.getConstantPaddingValue(), element));
  if (auto pack = dyn_cast<PackOp>(op))
    mapping.map(pack.getSource(), make(pack.getSource(), element));
  if (auto insert = dyn_cast<tensor::InsertSliceOp>(op))
    for (Value operand : {insert.getSource(), insert.getDest()})
      mapping.map(operand, make(operand, element));
  if (isa<tensor::ExtractSliceOp, tensor::CollapseShapeOp,
          tensor::ExpandShapeOp, tensor::CastOp>(op))
    mapping.map(op->getOperand(0), make(op->getOperand(0), element));
  if (auto pack = dyn_cast<PackOp>(op))
    // Of the destination nothing is read.
    mapping.map(pack.getOutput(),
                tensor::EmptyOp::create(
                    builder, loc,
                    tensor::getMixedSizes(builder, loc, pack.getOutput()),
                    element));
  Operation *narrow = builder.clone(*op, mapping);
  narrow->getResult(0).setType(type);
  return narrow->getResult(0);
}

namespace {
struct NarrowProducts : gatefold::impl::NarrowProductsBase<NarrowProducts> {
  void runOnOperation() override {
    Narrowing narrowing(&getContext());
    getOperation().walk([&](LinearOp op) {
      if (!op.getResult())
        return;
      for (auto [operand, name] :
           {std::pair(&op.getXMutable(), "rows"),
            std::pair(&op.getPanelsMutable(), "columns")}) {
        Value narrow = narrowing.narrow(operand->get());
        if (!narrow)
          continue;
        operand->set(narrow);
        ++operandsNarrowed;
        std::string message = std::string("product: its ") + name + " stay ";
        llvm::raw_string_ostream(message)
            << getElementTypeOrSelf(narrow.getType());
        remark::passed(
            op.getLoc(),
            remark::RemarkOpts::name("product").category("gf-narrow-products"))
            << message;
      }
    });
  }
};
} // namespace
