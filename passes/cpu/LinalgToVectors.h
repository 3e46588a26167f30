// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- LinalgToVectors.h - Parts of gf-linalg-to-vectors --------*- C++ -*-===//
//
// A plan says along which dimension an operation has its lanes; a body is
// written for one vector of them; loops go over the vectors.
//
//===----------------------------------------------------------------------===//

#ifndef PASSES_CPU_LINALGTOVECTORS_H
#define PASSES_CPU_LINALGTOVECTORS_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/PatternMatch.h"
#include "passes/support/Target.h"
#include "llvm/ADT/DenseSet.h"
#include <optional>
#include <string>

namespace gatefold {

//===----------------------------------------------------------------------===//
// Plan
//===----------------------------------------------------------------------===//

/// Where an operand has the element of the next lane. Turned: apart, but side
/// by side along another loop, so that blocks are turned over in registers.
enum class LaneAccess { Same, Adjacent, Apart, Turned };

/// How the body adds a term to a result that all lanes share.
struct LaneCombiner {
  mlir::Operation *combine;
  /// The operand that is the result so far.
  unsigned accumulator;
  /// Changes nothing where it is combined.
  mlir::TypedAttr neutral;
};

/// Two results of which one is the largest (or least) element and the other its
/// place, the first one if several are equal.
struct LaneChoice {
  unsigned best, place;
  /// Compares an element with the best so far, which is operand `bestOperand`.
  mlir::Operation *compare;
  unsigned bestOperand;
  /// NaN comes before every number.
  bool prefersNaN;
};

/// Accumulators of a result that is reduced across lanes: the vector at place v
/// of a row goes to accumulator v mod 4.
inline constexpr unsigned laneAccumulators = 4;

struct VectorPlan {
  /// The loop whose steps are lanes, and lanes of a vector.
  unsigned dim = 0;
  int64_t lanes = 1;
  bool isReduction = false;
  /// The body costs about as much as the loop around it.
  bool isCheap = false;
  /// Vectors in one step of the innermost loop, as copies of the body.
  int64_t vectorsAtOnce = 1;
  /// Of each operand.
  llvm::SmallVector<LaneAccess> accesses;
  /// Of each result: whether it stays at one place through all reductions, and
  /// how lanes are combined into it.
  llvm::SmallVector<bool> isCarried;
  llvm::SmallVector<std::optional<LaneCombiner>> combiners;
  /// Results that have no combiner of their own.
  std::optional<LaneChoice> choice;
  /// If operands are turned: along which loop they are side by side, and of how
  /// many of its steps a block is.
  std::optional<unsigned> turnedDim;
  int64_t turnedSteps = 1;
  /// Values of the body that differ between lanes.
  llvm::DenseSet<mlir::Value> varying;
  /// Instructions for an element, roughly.
  double cost = 0;
};

/// The cheapest plan of an operation on buffers; or none, and the reason.
std::optional<VectorPlan> planVectors(mlir::linalg::LinalgOp op,
                                      const TargetDescription &target,
                                      std::string &reason);

/// Whether there are vectors of a type.
bool isLaneType(mlir::Type type);

/// The one operation through which `argument` reaches `yielded`, if it
/// combines.
std::optional<LaneCombiner> findLaneCombiner(mlir::BlockArgument argument,
                                             mlir::Value yielded);

/// The results of an arg max or arg min along a loop.
std::optional<LaneChoice> findLaneChoice(mlir::linalg::LinalgOp op,
                                         unsigned dim);

/// Whether a result that stays at one place through all reductions is read by
/// another result, as in a scan: then one step comes after the other. What
/// `choice` is made of does not count.
bool isInOrder(mlir::linalg::LinalgOp op, llvm::ArrayRef<bool> isCarried,
               const std::optional<LaneChoice> &choice);

/// The type of an element in memory: a vector of i1 has a bit for each, and
/// masked vectors of halves are taken apart by conversions where there is no
/// instruction.
mlir::Type memoryType(mlir::Type element);

/// Fills in what varies between the lanes of a plan. Empty if all of it has a
/// vector form, else the reason.
std::string findVarying(mlir::linalg::LinalgOp op, VectorPlan &plan);

/// If an index in the body is that of the lane's loop plus something that all
/// lanes share: true, and what that is (null for nothing).
bool isLanePlace(mlir::Value index, const VectorPlan &plan,
                 mlir::Value &addend);

//===----------------------------------------------------------------------===//
// Body
//===----------------------------------------------------------------------===//

/// Writes the body of an operation for a vector of lanes.
class VectorBody {
public:
  VectorBody(mlir::linalg::LinalgOp op, const VectorPlan &plan);

  /// What is the same in all lanes, for indices of all other loops. Full
  /// vectors and the tail then read one value, so that the compiler treats them
  /// alike: a product that it moves out of the one loop alone would be fused
  /// with a sum there and not here.
  mlir::IRMapping makeUniform(mlir::OpBuilder &builder,
                              llvm::ArrayRef<mlir::Value> indices);

  /// The body for the lanes from indices[plan.dim] on; those that `mask` (null
  /// for none) excludes are neither read nor written. Takes and gives vectors
  /// of the carried results, and stores the others.
  llvm::SmallVector<mlir::Value> make(mlir::OpBuilder &builder,
                                      llvm::ArrayRef<mlir::Value> indices,
                                      mlir::Value mask,
                                      mlir::ValueRange carried,
                                      const mlir::IRMapping &uniform);

  mlir::Value load(mlir::OpBuilder &builder, mlir::OpOperand &operand,
                   llvm::ArrayRef<mlir::Value> indices, mlir::Value mask);
  void store(mlir::OpBuilder &builder, mlir::OpOperand &operand,
             mlir::Value value, llvm::ArrayRef<mlir::Value> indices,
             mlir::Value mask);
  /// The indices of an operand's element.
  llvm::SmallVector<mlir::Value> placeOf(mlir::OpBuilder &builder,
                                         mlir::OpOperand &operand,
                                         llvm::ArrayRef<mlir::Value> indices);
  /// Reads the turned operands for the next `plan.turnedSteps` steps of their
  /// loop; lanes from `end` on (null for none) are not read.
  void loadTurned(mlir::OpBuilder &builder, llvm::ArrayRef<mlir::Value> indices,
                  mlir::Value end);
  /// The step of which load() then gives them; none: each on its own.
  void useTurned(std::optional<int64_t> step) { turnedStep = step; }
  mlir::VectorType vectorOf(mlir::Type element) const {
    return mlir::VectorType::get({plan.lanes}, element);
  }

private:
  mlir::Value loadAdjacent(mlir::OpBuilder &builder, mlir::Value buffer,
                           mlir::ValueRange place, mlir::Value mask);
  mlir::Value gather(mlir::OpBuilder &builder, mlir::Value buffer,
                     mlir::ValueRange place, mlir::Value mask);
  /// The values of the body so far, as far as they are made: what all lanes
  /// share, what differs, and which lanes there are.
  struct Lanes {
    mlir::IRMapping scalars, vectors;
    llvm::ArrayRef<mlir::Value> indices;
    mlir::Value mask;
  };
  mlir::Value asVector(mlir::OpBuilder &builder, mlir::Value value,
                       const Lanes &lanes);
  void makeAll(mlir::OpBuilder &builder, mlir::Block &block, Lanes &lanes);
  void makeLoop(mlir::OpBuilder &builder, mlir::scf::ForOp loop, Lanes &lanes);
  mlir::Value makeLoad(mlir::OpBuilder &builder, mlir::memref::LoadOp load,
                       const Lanes &lanes);
  mlir::Value broadcast(mlir::OpBuilder &builder, mlir::Value scalar);
  bool isVarying(mlir::Operation &inner) const;

  mlir::linalg::LinalgOp op;
  const VectorPlan &plan;
  mlir::Location loc;
  llvm::SmallVector<mlir::AffineMap> maps;
  /// Of each operand, if it is turned, the vectors for the steps of a block.
  llvm::SmallVector<llvm::SmallVector<mlir::Value>> turned;
  std::optional<int64_t> turnedStep;
};

//===----------------------------------------------------------------------===//
// Combining lanes
//===----------------------------------------------------------------------===//

/// Combines partial results of a reduction.
class LaneCombination {
public:
  LaneCombination(mlir::linalg::LinalgOp op, const VectorPlan &plan);

  /// The results that loops carry, in order: those that stay at one place.
  llvm::ArrayRef<mlir::OpOperand *> getCarried() const { return carried; }
  /// Combines two partial results of all carried ones, scalars or vectors.
  llvm::SmallVector<mlir::Value> combine(mlir::OpBuilder &builder,
                                         mlir::ValueRange left,
                                         mlir::ValueRange right);
  /// Halves vectors until one lane is left.
  llvm::SmallVector<mlir::Value>
  combineLanes(mlir::OpBuilder &builder, llvm::SmallVector<mlir::Value> lanes);

private:
  mlir::Value isRightBetter(mlir::OpBuilder &builder, mlir::ValueRange left,
                            mlir::ValueRange right);

  mlir::linalg::LinalgOp op;
  const VectorPlan &plan;
  mlir::Location loc;
  llvm::SmallVector<mlir::OpOperand *> carried;
};

//===----------------------------------------------------------------------===//
// Loops
//===----------------------------------------------------------------------===//

/// Replaces an operation by loops over its vectors. The size of the lanes' loop
/// is known to be a multiple of `multiple`.
void makeVectorLoops(mlir::linalg::LinalgOp op, const VectorPlan &plan,
                     int64_t multiple, mlir::IRRewriter &rewriter);

} // namespace gatefold

#endif // PASSES_CPU_LINALGTOVECTORS_H
