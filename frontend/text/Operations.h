// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- Operations.h - What operators and built-in names share ---*- C++ -*-===//
//
// Used by Operations*.cpp, Builtin*.cpp and Attention*.cpp only: numbers,
// common element types, and what may stand in the body of an attention.
//
//===----------------------------------------------------------------------===//

#ifndef FRONTEND_TEXT_OPERATIONS_H
#define FRONTEND_TEXT_OPERATIONS_H

#include "frontend/text/Checker.h"

namespace gatefold::text {

//===----------------------------------------------------------------------===//
// Items and numbers
//===----------------------------------------------------------------------===//

template <typename T> Item makeItem(T value, Range range) {
  Item item;
  item.value = std::move(value);
  item.range = range;
  return item;
}
inline Item erroneous(Range range) { return makeItem(Erroneous(), range); }

Number wholeNumber(int64_t value);
/// Stays a Real, also where its value is whole (the literal 2.0).
Number realNumber(double value);
/// What arithmetic gives: a result that is whole counts as whole.
Number resultNumber(double value);
/// A Whole where the size is known when compiling.
Number sizeNumber(const Size &size);
/// Nothing for numbers that are not whole.
std::optional<Size> asSize(const Number &number);
/// The value of a fixed number.
double fixedValue(const Number &number);
/// As it is written: `3`, `0.5`, `inf`, `2*T`.
std::string text(const Number &number);

/// Arithmetic and comparisons of numbers; Erroneous after an error.
Item numberBinary(Checker &checker, BinaryOperator op, const Number &left,
                  const Number &right, Range place);
Item numberNegate(Checker &checker, const Number &number, Range place);
/// exp, sqrt, ... and Maximum, Minimum of two.
Item numberFunction(Checker &checker, ElementwiseOp op, const Number &number,
                    Range place);
Item numberExtreme(Checker &checker, bool maximum, const Number &left,
                   const Number &right, Range place);

/// The operation on f64 scalars of the run.
Item runFunction(Checker &checker, ElementwiseOp op,
                 llvm::ArrayRef<Number> numbers, Range place);
/// Of an operator that is elementwise (not `and`, `or`, `@`).
ElementwiseOp elementwiseOp(BinaryOperator op);

/// A size, or 0 after reporting that it does not fit.
Size sizeOrError(Checker &checker, std::optional<Size> size, Range place);
/// The product of sizes; nothing where it does not fit.
std::optional<Size> product(llvm::ArrayRef<Size> shape);
/// requireEqual, but for sizes made of T and S of an attention's body, which
/// equal nothing else there even where a run has them so.
bool requireSame(Checker &checker, const Size &left, const Size &right,
                 Range place, const llvm::Twine &message,
                 llvm::function_ref<void()> report);

/// 0 <= value <= most in every run: `message` is reported where that cannot be,
/// and recorded where it depends on the run. False after an error.
bool requireWithin(Checker &checker, const Size &value,
                   std::optional<Size> most, Range place,
                   const llvm::Twine &message);

//===----------------------------------------------------------------------===//
// Tensors
//===----------------------------------------------------------------------===//

/// `what` needs tensors, found ...; with the hint for tuples. Reports nothing
/// for an item that is an error already.
void reportNotTensor(Checker &checker, llvm::StringRef what, const Item &item,
                     Range place);
/// `what` does not apply to bool.
void reportBool(Checker &checker, llvm::StringRef what, Range place);

enum class BoolUse {
  Refuse,
  Alone, // all operands are bool, or none is
};
struct CommonTensors {
  Element element = Element::F32;
  llvm::SmallVector<Tensor, 3> tensors;
};
/// Items (tensors, numbers, booleans) as tensors of one element type, by the
/// rules for numbers that meet tensors. Nothing after an error. Where there is
/// no tensor, numbers are of the model's float type. `givesFloat`: integers
/// become floats.
std::optional<CommonTensors> commonTensors(Checker &checker,
                                           llvm::StringRef what,
                                           llvm::ArrayRef<const Item *> items,
                                           Range place, bool givesFloat = false,
                                           BoolUse boolUse = BoolUse::Refuse);
/// The common own shape of tensors under broadcasting; reports that they do not
/// fit. A size that is 0 or 1, as of `x[:1]`, beside another one has to be 1:
/// a run compares it, and the tensor becomes one with a 1.
std::optional<Shape> commonOwnShape(Checker &checker, llvm::StringRef what,
                                    llvm::MutableArrayRef<Tensor> tensors,
                                    Range place);
/// The common lead of tensors of one body. It exists: leads come from one
/// mapping.
Shape commonLead(llvm::ArrayRef<Tensor> tensors);
/// Inserts 1s between the lead and the own shape up to a rank, so that whole
/// shapes align at the right.
Tensor alignOwn(Checker &checker, const Tensor &tensor, unsigned ownRank,
                Range place);
/// Broadcasts own shapes, computes, and checks what an attention allows.
Item elementwiseItem(Checker &checker, llvm::StringRef what, ElementwiseOp op,
                     CommonTensors operands, Element element, Range place);
/// One elementwise node on one tensor, or on two whose shapes agree already or
/// where the second is a scalar.
Tensor apply(Checker &checker, ElementwiseOp op, const Tensor &operand,
             Range place);
Tensor apply(Checker &checker, ElementwiseOp op, const Tensor &left,
             const Tensor &right, Range place);
Item matrixMultiply(Checker &checker, const Item &left, const Item &right,
                    Range place);
/// Sum, mean, ... over an own axis.
Tensor reduce(Checker &checker, ReduceKind kind, const Tensor &tensor,
              unsigned ownAxis, Range place,
              std::optional<Tensor> lengths = std::nullopt);
/// 0, 1, .. as i64[size].
Tensor iota(Checker &checker, const Size &size, Range place);
/// Contracts by labels of whole shapes (see ContractNode).
Tensor contract(Checker &checker, const Tensor &left, const Tensor &right,
                llvm::ArrayRef<int64_t> leftLabels,
                llvm::ArrayRef<int64_t> rightLabels,
                llvm::ArrayRef<int64_t> resultLabels, Shape resultShape,
                unsigned leadRank, Range place);

//===----------------------------------------------------------------------===//
// Inside an attention
//===----------------------------------------------------------------------===//

/// The axes of a whole shape that are T, that are S, and that hold them in a
/// longer expression.
struct RowAxes {
  unsigned queries = 0, keys = 0, mixed = 0;
  bool transposed = false; // an S before a T
  bool isMap() const { return queries && keys; }
  bool any() const { return queries || keys || mixed; }
};
RowAxes rowAxes(Checker &checker, llvm::ArrayRef<Size> shape);
bool isQueryAxis(Checker &checker, const Size &size);
bool isKeyAxis(Checker &checker, const Size &size);
/// Whether a value of this shape may exist in the body; reports. True outside.
bool checkRowShape(Checker &checker, llvm::ArrayRef<Size> shape, Range place);
/// Whether `what` may work along an own axis: not along T or S. True outside.
bool checkFreeAxis(Checker &checker, llvm::StringRef what, const Tensor &tensor,
                   unsigned ownAxis, Range place);
/// The same for an operation on the whole own shape.
bool checkNoRowAxes(Checker &checker, llvm::StringRef what,
                    const Tensor &tensor, Range place);
/// "the whole score map [T, S] would be needed here: " + why.
void reportWholeMap(Checker &checker, const llvm::Twine &why, Range place);
void reportMixesQueries(Checker &checker, llvm::StringRef what, Range place);
void reportKeysAlone(Checker &checker, llvm::StringRef what, Range place);
/// Runs checkRowShape on an item that is a tensor.
Item checkedItem(Checker &checker, Item item, Range place);

} // namespace gatefold::text

#endif // FRONTEND_TEXT_OPERATIONS_H
