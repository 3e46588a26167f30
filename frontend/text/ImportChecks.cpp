// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- ImportChecks.cpp - What a run finds on its way ---------------------===//
//
// A check that only a run can make is a tensor of bools, true where the run
// must fail. In the body of a recurrence or an attention nothing fails: what
// was found there is one more result, which holds for steps that are taken and
// keys that are seen, and the run fails behind the whole. So a body stays
// without side effects, and every pass treats it as any other.
//
//===----------------------------------------------------------------------===//

#include "dialect/GatefoldOps.h"
#include "frontend/text/Importer.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/Support/Path.h"

using namespace gatefold::text;
using mlir::utils::IteratorType;
namespace arith = mlir::arith;
namespace linalg = mlir::linalg;
namespace tensor = mlir::tensor;

std::string Importer::failureAt(const Node &node, const llvm::Twine &what) {
  return failureAt(node.trace.place, what);
}

std::string Importer::failureAt(Range range, const llvm::Twine &what) {
  Sources &sources = diagnostics.getSources();
  if (range.file >= sources.size())
    return what.str();
  // The message is part of the compiled model: no folder of this machine.
  Position position = sources.position(range);
  return (llvm::sys::path::filename(sources.name(range.file)) + ":" +
          llvm::Twine(position.line) + ":" + llvm::Twine(position.column) +
          ": " + what)
      .str();
}

mlir::Value Importer::anyOf(mlir::Value bools, unsigned kept) {
  auto type = llvm::cast<mlir::RankedTensorType>(bools.getType());
  unsigned rank = type.getRank();
  if (rank == kept)
    return bools;
  Values open;
  for (unsigned axis = 0; axis < kept; ++axis)
    if (type.isDynamicDim(axis))
      open.push_back(tensor::DimOp::create(b, bools, axis));
  mlir::Value none = tensor::EmptyOp::create(
      b, type.getShape().take_front(kept), b.getI1Type(), open);
  none = linalg::FillOp::create(b, number(b.getI1Type(), 0), none).getResult(0);
  llvm::SmallVector<IteratorType> iterators(rank, IteratorType::reduction);
  std::fill_n(iterators.begin(), kept, IteratorType::parallel);
  return linalg::GenericOp::create(
             b, none.getType(), bools, none,
             Maps{b.getMultiDimIdentityMap(rank), leadingMap(rank, kept)},
             iterators,
             [](mlir::OpBuilder &nested, mlir::Location location,
                mlir::ValueRange arguments) {
               linalg::YieldOp::create(nested, location,
                                       arith::OrIOp::create(nested, location,
                                                            arguments[1],
                                                            arguments[0])
                                           .getResult());
             })
      .getResult(0);
}

void Importer::failWhere(mlir::Value wrong, llvm::ArrayRef<Size> shape,
                         llvm::StringRef message) {
  if (llvm::is_contained(
          llvm::cast<mlir::RankedTensorType>(wrong.getType()).getShape(), 0))
    return;
  if (attention &&
      llvm::any_of(shape, [&](const Size &size) { return isKeyAxis(size); })) {
    // What stands at a key that the query does not see counts for nothing.
    llvm::SmallVector<Size> kept(keptShape(shape));
    TensorType type{Element::Bool, Shape(shape)};
    TensorType keys{Element::Bool, {Size(attention->keySymbol)}};
    unsigned axis =
        llvm::find_if(kept, [&](const Size &size) { return isKeyAxis(size); }) -
        kept.begin();
    mlir::AffineMap map = b.getMultiDimIdentityMap(kept.size());
    mlir::Value visible = gatefold::RowVisibleOp::create(b, typeOf(keys));
    mlir::Value inputs[] = {wrong, visible};
    wrong = generic(type, inputs, {map, map.getSubMap({axis})},
                    [&](mlir::ValueRange elements) -> mlir::Value {
                      return arith::AndIOp::create(b, elements[0], elements[1]);
                    });
  }
  if (findings) {
    findings->push_back({wrong, message.str(), b.getLoc()});
    return;
  }
  mlir::Value any =
      tensor::ExtractOp::create(b, anyOf(wrong, 0), mlir::ValueRange());
  mlir::Value holds = arith::XOrIOp::create(b, any, number(b.getI1Type(), 1));
  mlir::cf::AssertOp::create(b, holds, message);
}

void Importer::failOutside(const Node &node, mlir::Value integers,
                           llvm::ArrayRef<Size> shape, const Size &last,
                           const llvm::Twine &what) {
  auto type = llvm::cast<mlir::RankedTensorType>(integers.getType());
  mlir::Value most =
      arith::IndexCastOp::create(b, type.getElementType(), sizeValue(last));
  mlir::Value wrong =
      generic({Element::Bool, Shape(shape)}, integers,
              b.getMultiDimIdentityMap(type.getRank()),
              [&](mlir::ValueRange elements) -> mlir::Value {
                mlir::Value isNegative = arith::CmpIOp::create(
                    b, arith::CmpIPredicate::slt, elements[0],
                    number(type.getElementType(), 0));
                mlir::Value isLarge = arith::CmpIOp::create(
                    b, arith::CmpIPredicate::sgt, elements[0], most);
                return arith::OrIOp::create(b, isNegative, isLarge);
              });
  failWhere(wrong, shape, failureAt(node, what));
}

mlir::Value Importer::clampTo(mlir::Value integer, mlir::Value last) {
  return arith::MaxSIOp::create(b, arith::MinSIOp::create(b, integer, last),
                                number(integer.getType(), 0));
}

mlir::Value Importer::checkedLengths(const Node &node, mlir::Value lengths,
                                     llvm::ArrayRef<Size> shape,
                                     const Size &most) {
  Size last = resolve(most);
  shape = shape.take_front(
      llvm::cast<mlir::RankedTensorType>(lengths.getType()).getRank());
  failOutside(node, lengths, shape, last,
              "a length that the run computed is not in 0.." + last.str());
  auto type = llvm::cast<mlir::RankedTensorType>(lengths.getType());
  mlir::Value limit =
      arith::IndexCastOp::create(b, type.getElementType(), sizeValue(last));
  TensorType result{type.getElementType().isInteger(32) ? Element::I32
                                                        : Element::I64,
                    Shape(shape)};
  return generic(
      result, lengths, b.getMultiDimIdentityMap(type.getRank()),
      [&](mlir::ValueRange elements) { return clampTo(elements[0], limit); });
}

//===----------------------------------------------------------------------===//
// Bodies
//===----------------------------------------------------------------------===//

/// Whether a value of a body depends on its arguments, those of bodies inside
/// apart.
static bool dependsOnArguments(mlir::Value value, mlir::Block *body) {
  llvm::SmallVector<mlir::Value> open{value};
  llvm::DenseSet<mlir::Operation *> seen;
  while (!open.empty()) {
    mlir::Value next = open.pop_back_val();
    if (next.getParentBlock() == body && llvm::isa<mlir::BlockArgument>(next))
      return true;
    mlir::Operation *op = next.getDefiningOp();
    if (!op || !body->getParent()->isAncestor(op->getParentRegion()) ||
        !seen.insert(op).second)
      continue;
    op->walk([&](mlir::Operation *inner) {
      llvm::append_range(open, inner->getOperands());
    });
  }
  return false;
}

void Importer::yieldFindings(llvm::ArrayRef<Finding> found,
                             llvm::ArrayRef<Size> lead, Values &results,
                             unsigned place) {
  mlir::RankedTensorType type = typeOf({Element::Bool, Shape(lead)});
  mlir::Block *body = b.getInsertionBlock();
  Values flags;
  for (const Finding &finding : found) {
    // What steps compute has the whole lead in front, and counts for the
    // sequences that take the step.
    bool isOfEach =
        !lead.empty() && dependsOnArguments(finding.wrong, body) &&
        llvm::cast<mlir::RankedTensorType>(finding.wrong.getType()).getRank() >=
            type.getRank();
    mlir::Value flag = anyOf(finding.wrong, isOfEach ? type.getRank() : 0);
    if (!lead.empty() && !isOfEach)
      flag = filled({Element::Bool, Shape(lead)},
                    tensor::ExtractOp::create(b, flag, mlir::ValueRange()));
    flags.push_back(cast(flag, type));
  }
  results.insert(results.begin() + place, flags.begin(), flags.end());
}
