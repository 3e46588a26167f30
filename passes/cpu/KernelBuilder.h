// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- KernelBuilder.h - Short names for what kernels hold ------*- C++ -*-===//
//
// Index arithmetic, loops and choices for functions that are built by hand.
//
//===----------------------------------------------------------------------===//

#ifndef PASSES_CPU_KERNELBUILDER_H
#define PASSES_CPU_KERNELBUILDER_H

#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "passes/PassCommon.h"
#include "passes/support/Target.h"

namespace gatefold {

/// A place in a buffer of rows.
struct Rectangle {
  mlir::Value buffer, row, column;
};

class KernelBuilder : public mlir::ImplicitLocOpBuilder {
public:
  using Value = mlir::Value;
  using mlir::ImplicitLocOpBuilder::ImplicitLocOpBuilder;

  Value index(int64_t value);
  Value add(Value left, Value right);
  Value subtract(Value left, Value right);
  Value multiply(Value left, Value right);
  /// Quotients of numbers that are not negative by positive ones.
  Value divide(Value left, Value right);
  Value divideUp(Value left, Value right);
  Value remainder(Value left, Value right);
  Value minimum(Value left, Value right);
  Value compare(mlir::arith::CmpIPredicate predicate, Value left, Value right);
  Value choose(Value condition, Value ifTrue, Value ifFalse);
  Value size(Value buffer, int64_t dim);

  /// for index in begin..end step: body(index)
  void loop(Value begin, Value end, int64_t step,
            llvm::function_ref<void(Value)> body);
  /// The same with carried values, which the body gives anew.
  llvm::SmallVector<Value>
  loop(Value begin, Value end, int64_t step, mlir::ValueRange carried,
       llvm::function_ref<llvm::SmallVector<Value>(Value, mlir::ValueRange)>
           body);
  void when(Value condition, llvm::function_ref<void()> body);
  llvm::SmallVector<Value>
  either(Value condition, mlir::TypeRange types,
         llvm::function_ref<llvm::SmallVector<Value>()> ifTrue,
         llvm::function_ref<llvm::SmallVector<Value>()> ifFalse);

  /// `value` in the type of sums, or a sum in a type of storage.
  Value convertFloat(Value value, mlir::Type element);
  /// a * b + c, rounded once where the target can.
  Value multiplyAdd(const TargetDescription &target, Value a, Value b, Value c);

  /// rows x columns elements from one place to another, columns at most
  /// `vectors` times `lanes`.
  void copyRectangle(const TargetDescription &target, int64_t lanes,
                     int64_t vectors, const Rectangle &from,
                     const Rectangle &to, Value rows, Value columns);
};

/// The type of a buffer with open sizes and an open offset, whose last
/// `contiguous` dimensions lie without gaps; sizes[0] is unknown where < 0.
mlir::MemRefType getOpenBuffer(mlir::Type element,
                               llvm::ArrayRef<int64_t> sizes,
                               int64_t contiguous);

/// Whether the last `contiguous` dimensions of a buffer lie without gaps.
bool isContiguous(mlir::MemRefType type, int64_t contiguous);

/// A private function that LLVM leaves a function, with an empty body.
mlir::func::FuncOp makeKernelFunction(mlir::Location loc, llvm::StringRef name,
                                      mlir::TypeRange arguments);

} // namespace gatefold

#endif // PASSES_CPU_KERNELBUILDER_H
