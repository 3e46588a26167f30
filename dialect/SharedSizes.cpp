// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- SharedSizes.cpp - Sizes that several operands share ----------------===//
//
// Comparison of sizes for the verifiers.
//
//===----------------------------------------------------------------------===//

#include "dialect/SharedSizes.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace gatefold;

bool gatefold::agree(ArrayRef<int64_t> a, ArrayRef<int64_t> b) {
  return a.size() == b.size() && llvm::all_of(llvm::zip(a, b), [](auto sizes) {
           return agree(std::get<0>(sizes), std::get<1>(sizes));
         });
}

LogicalResult SharedSize::join(Operation *op, int64_t other,
                               const Twine &owner) {
  if (ShapedType::isDynamic(other) || other == size)
    return success();
  if (!ShapedType::isDynamic(size))
    return op->emitOpError() << name << " is " << other << " in " << owner
                             << ", but " << size << " in " << firstOwner;
  size = other;
  firstOwner = owner.str();
  return success();
}
