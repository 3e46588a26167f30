// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- CheckLead.cpp - Mapping over leading dimensions --------------------===//
//
// The dimensions that an argument has beyond those declared become part of the
// callee's lead, behind the lead of the caller; leads align at the right.
//
//===----------------------------------------------------------------------===//

#include "frontend/text/CheckBody.h"

using namespace gatefold::text;
using llvm::ArrayRef;
using llvm::StringRef;
using llvm::Twine;

Tensor Checker::enterCallee(const Tensor &given, unsigned extraRank,
                            unsigned fullExtraRank, ArrayRef<Size> own,
                            Range place) {
  Tensor tensor = given;
  unsigned ones = 0;
  if (given.leadRank && fullExtraRank > extraRank) {
    ones = fullExtraRank - extraRank;
    Shape shape(ones, Size(1));
    llvm::append_range(shape, given.own());
    tensor = reshapeOwn(given, shape, place);
  }
  tensor.leadRank += ones + extraRank;
  if (tensor.own() == own)
    return tensor;
  Shape lead(tensor.lead().begin(), tensor.lead().end());
  return broadcast(tensor, lead, own, place);
}

Tensor Checker::leaveCallee(const Tensor &result, ArrayRef<Size> extras,
                            Range place) {
  ArrayRef<Size> lead = result.lead();
  size_t callerRank =
      lead.size() > extras.size() ? lead.size() - extras.size() : 0;
  Tensor tensor = result;
  if (lead.drop_front(callerRank) != extras) {
    Shape full(lead.begin(), lead.begin() + callerRank);
    llvm::append_range(full, extras);
    Shape own(result.own().begin(), result.own().end());
    tensor = broadcast(result, full, own, place);
  }
  tensor.leadRank = callerRank;
  return tensor;
}

std::optional<Shape>
Checker::Implementation::commonShape(ArrayRef<ArrayRef<Size>> shapes,
                                     StringRef callee, Range range) {
  std::string list;
  for (ArrayRef<Size> shape : shapes)
    if (!shape.empty())
      list += (list.empty() ? "" : " and ") + checker.describe(shape);
  std::string message = "the leading dimensions of the arguments of `" +
                        callee.str() + "` do not fit: " + list;
  return checker.broadcastShapes(shapes, range, message,
                                 [&] { error(range, message); });
}

std::optional<Shape>
Checker::Implementation::commonExtras(ArrayRef<Tensor> tensors,
                                      ArrayRef<unsigned> extraRanks,
                                      StringRef callee, Range range) {
  llvm::SmallVector<ArrayRef<Size>> shapes;
  for (auto [tensor, rank] : llvm::zip(tensors, extraRanks))
    shapes.push_back(tensor.own().take_front(rank));
  return commonShape(shapes, callee, range);
}
