// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- FuseGates.cpp - Products of one operand as one product -------------===//
//
// Products that read the same operand with weights of the same depth become
// one, whose weights are put together in prepare, and so does what is done
// alike to all of its parts.
//
// Exactness: each element of a product keeps its own terms and their order: the
// same bits. Only sums of biases round once otherwise; see SumBiases.cpp.
//
//===----------------------------------------------------------------------===//

#include "dialect/GatefoldOps.h"
#include "mlir/IR/Matchers.h"
#include "passes/fuse/Gates.h"
#include "passes/fuse/Passes.h"
#include "llvm/ADT/MapVector.h"

namespace gatefold {
#define GEN_PASS_DEF_FUSEGATES
#include "passes/fuse/Passes.h.inc"
} // namespace gatefold

using namespace mlir;
using namespace gatefold;

/// A weight of this size may be kept twice: alone, and beside others.
static constexpr int64_t smallBytes = 1 << 20;

namespace {
/// A product of a weight with an operand.
struct Product {
  linalg::ContractOp op;
  /// Which operand is the weight; the dimension along which weights can stand
  /// side by side, in the weight and in the result.
  unsigned weightIndex;
  int64_t weightDim, resultDim;

  Value getWeight() { return op.getInputs()[weightIndex]; }
  Value getOther() { return op.getInputs()[1 - weightIndex]; }
  int64_t getSize() { return getWeightType().getDimSize(weightDim); }
  RankedTensorType getWeightType() {
    return cast<RankedTensorType>(getWeight().getType());
  }
  Value getResult() { return op->getResult(0); }
};

/// Products that may become one.
using Group = SmallVector<Product>;
} // namespace

static std::optional<Product> matchProduct(linalg::ContractOp op,
                                           const Origins &origins) {
  if (!op.hasPureTensorSemantics())
    return std::nullopt;
  auto fill = op.getOutputs()[0].getDefiningOp<linalg::FillOp>();
  if (!fill || !fill.getOutputs()[0].getDefiningOp<tensor::EmptyOp>() ||
      !(matchPattern(fill.value(), m_AnyZeroFloat()) ||
        matchPattern(fill.value(), m_Zero())))
    return std::nullopt;
  SmallVector<AffineMap> maps = op.getIndexingMapsArray();
  for (unsigned weight : {0u, 1u}) {
    if (!origins.isWeight(op.getInputs()[weight]) ||
        origins.isWeight(op.getInputs()[1 - weight]))
      continue;
    for (auto [dim, expression] : llvm::enumerate(maps[weight].getResults())) {
      auto result = maps[2].getResultPosition(expression);
      if (result && !maps[1 - weight].getResultPosition(expression))
        return Product{op, weight, static_cast<int64_t>(dim),
                       static_cast<int64_t>(*result)};
    }
  }
  return std::nullopt;
}

/// Nothing where two products differ in nothing but the weight, and this along
/// one dimension alone; else what they differ in.
static std::string findDifference(Product &left, Product &right) {
  if (left.weightIndex != right.weightIndex ||
      left.weightDim != right.weightDim ||
      left.op.getIndexingMaps() != right.op.getIndexingMaps() ||
      left.op.getCast() != right.op.getCast())
    return "their weights are read along different dimensions";
  auto sizesBut = [](RankedTensorType type, int64_t dim) {
    SmallVector<int64_t> shape(type.getShape());
    shape[dim] = 0;
    return type.clone(shape);
  };
  auto resultType = [](Product &product) {
    return cast<RankedTensorType>(product.getResult().getType());
  };
  if (sizesBut(left.getWeightType(), left.weightDim) ==
          sizesBut(right.getWeightType(), right.weightDim) &&
      sizesBut(resultType(left), left.resultDim) ==
          sizesBut(resultType(right), right.resultDim))
    return "";
  std::string text;
  llvm::raw_string_ostream(text)
      << "weights of " << left.getWeightType() << " and "
      << right.getWeightType() << " do not fit side by side";
  return text;
}

static bool areAlike(Product &left, Product &right) {
  return findDifference(left, right).empty();
}

/// The recurrence that a product of all steps is computed for, block by block:
/// a sequence, perhaps with a bias, that nothing else reads.
static Operation *getRecurrence(Value value) {
  while (value.hasOneUse()) {
    OpOperand &use = *value.use_begin();
    if (auto recurrence = dyn_cast<RecurrenceOp>(use.getOwner()))
      return llvm::is_contained(recurrence.getSequences(), value) ? recurrence
                                                                  : nullptr;
    auto next = dyn_cast<linalg::LinalgOp>(use.getOwner());
    if (!next || next.getNumReductionLoops() != 0 || next->getNumResults() != 1)
      return nullptr;
    value = next->getResult(0);
  }
  return nullptr;
}

namespace {
class GateFusion {
public:
  GateFusion(func::FuncOp function, const Origins &origins,
             bool acrossDirections)
      : function(function), origins(origins),
        acrossDirections(acrossDirections) {}

  void collect();
  void explainApart(bool ofSequences);
  void explainOthers();
  /// Products that became one, and how many these are.
  unsigned run(RewriterBase &rewriter);
  unsigned getProductCount() const { return productCount; }
  unsigned getJoined() const { return joined; }

private:
  bool haveOnePlace(Product &left, Product &right);
  std::string findObstacle(Group &group);
  void fuse(RewriterBase &rewriter, Group &group);

  func::FuncOp function;
  const Origins &origins;
  bool acrossDirections;
  std::vector<Group> groups;
  unsigned productCount = 0, joined = 0;
};
} // namespace

/// Whether what two products give is computed at one place: whole, or for the
/// blocks of one recurrence.
bool GateFusion::haveOnePlace(Product &left, Product &right) {
  Operation *one = getRecurrence(left.getResult());
  Operation *other = getRecurrence(right.getResult());
  return one == other || (acrossDirections && one && other);
}

/// Groups of one block that read the same operand in the same way, and, where
/// they are sequences, for the same recurrence.
void GateFusion::collect() {
  llvm::MapVector<std::pair<Block *, Value>, SmallVector<Product>> candidates;
  function.walk([&](linalg::ContractOp op) {
    if (auto product = matchProduct(op, origins))
      candidates[{op->getBlock(), product->getOther()}].push_back(*product);
  });
  for (auto &[key, products] : candidates) {
    size_t first = groups.size();
    for (Product &product : products) {
      auto group =
          std::find_if(groups.begin() + first, groups.end(), [&](Group &group) {
            return areAlike(group.front(), product) &&
                   haveOnePlace(group.front(), product);
          });
      if (group != groups.end())
        group->push_back(product);
      else
        groups.push_back({product});
    }
  }
}

/// Why a group is not worth it, or nothing: a large weight would be kept
/// twice.
std::string GateFusion::findObstacle(Group &group) {
  for (Product &product : group) {
    int64_t bytes = product.getWeightType().getNumElements() *
                    product.getWeightType().getElementTypeBitWidth() / 8;
    bool isShared =
        llvm::any_of(product.getWeight().getUsers(), [&](Operation *user) {
          return llvm::none_of(
              group, [&](Product &other) { return other.op == user; });
        });
    if (bytes > smallBytes && isShared)
      return "a weight of " + std::to_string(bytes) +
             " bytes is read elsewhere, and would be kept twice";
  }
  return "";
}

void GateFusion::fuse(RewriterBase &rewriter, Group &group) {
  Product &first = group.front();
  linalg::ContractOp op = first.op;
  SmallVector<Value> weights;
  SmallVector<Location> locations;
  Partition partition;
  partition.dim = first.resultDim;
  for (Product &product : group) {
    weights.push_back(product.getWeight());
    locations.push_back(product.op.getLoc());
    partition.sizes.push_back(product.getSize());
    partition.total += product.getSize();
  }
  std::string columns = std::to_string(partition.total);
  if (llvm::all_equal(partition.sizes))
    columns = (Twine(group.size()) + " x " + Twine(partition.sizes[0])).str();
  remark::passed(op.getLoc(), gateRemark("fused"))
      << ("gates fused: " + Twine(group.size()) + " products into 1 (" +
          columns + " columns)")
             .str();

  Value weight = concatWeights(rewriter, op, first.weightDim, weights);
  rewriter.setInsertionPoint(op);
  Location loc = rewriter.getFusedLoc(locations);
  auto fill = op.getOutputs()[0].getDefiningOp<linalg::FillOp>();
  Value empty = makeEmptyLike(rewriter, loc, fill.getOutputs()[0],
                              first.resultDim, partition.total);
  Value zero =
      linalg::FillOp::create(rewriter, loc, fill.value(), empty).getResult(0);
  SmallVector<Value> inputs(2);
  inputs[first.weightIndex] = weight;
  inputs[1 - first.weightIndex] = first.getOther();
  auto fused =
      linalg::ContractOp::create(rewriter, loc, TypeRange(zero.getType()),
                                 inputs, zero, op.getIndexingMaps());
  if (auto cast = op.getCastAttr())
    fused.setCastAttr(cast);
  partition.whole = fused->getResult(0);
  makeParts(rewriter, loc, partition);
  for (auto [product, part] : llvm::zip(group, partition.parts))
    rewriter.replaceOp(product.op, part);
  joined += joinElementwise(rewriter, origins, partition);
}

/// Says of products that read the same operand why they are apart: of sequences
/// of recurrences, or of all others.
void GateFusion::explainApart(bool ofSequences) {
  for (size_t index = 1; index < groups.size(); ++index) {
    Product &first = groups[index - 1].front();
    Product &next = groups[index].front();
    // Groups of one operand stand together.
    if (first.getOther() != next.getOther() ||
        first.op->getBlock() != next.op->getBlock())
      continue;
    bool isSequence =
        getRecurrence(first.getResult()) || getRecurrence(next.getResult());
    if (isSequence != ofSequences)
      continue;
    std::string difference = findDifference(first, next);
    if (difference.empty())
      difference = "each is a sequence of another recurrence, which computes "
                   "it block by block";
    remark::missed(next.op.getLoc(), gateRemark("not-fused"))
        << ("not fused with another product of the same operand: " +
            difference);
  }
}

/// Says of products that stay in the step and look like gates why they are
/// alone. That the input is not the state goes without saying.
void GateFusion::explainOthers() {
  for (Group &group : groups) {
    Product &product = group.front();
    linalg::ContractOp op = product.op;
    if (group.size() > 1 || !isa<RecurrenceOp>(op->getParentOp()) ||
        !origins.dependsOnState(product.getOther()))
      continue;
    for (Group &other : groups) {
      if (&other == &group || other.front().op->getBlock() != op->getBlock() ||
          !origins.dependsOnState(other.front().getOther()) ||
          !areAlike(product, other.front()))
        continue;
      remark::missed(op.getLoc(), gateRemark("not-fused"))
          << "not fused: operands differ";
      break;
    }
  }
}

unsigned GateFusion::run(RewriterBase &rewriter) {
  unsigned count = 0;
  for (Group &group : groups) {
    if (group.size() < 2)
      continue;
    std::string obstacle = findObstacle(group);
    if (!obstacle.empty()) {
      remark::missed(group.front().op.getLoc(), gateRemark("not-fused"))
          << ("not fused: " + obstacle);
      continue;
    }
    fuse(rewriter, group);
    productCount += group.size();
    ++count;
  }
  return count;
}

namespace {
struct FuseGates : gatefold::impl::FuseGatesBase<FuseGates> {
  using FuseGatesBase::FuseGatesBase;

  void runOnOperation() override {
    if (getOperation().isDeclaration())
      return;
    Origins origins(getOperation());
    IRRewriter rewriter(&getContext(), &origins);
    biasesSummed += sumBiases(rewriter, origins, getOperation());
    GateFusion fusion(getOperation(), origins, acrossDirections);
    fusion.collect();
    fusion.explainApart(/*ofSequences=*/afterHoisting);
    if (!afterHoisting)
      fusion.explainOthers();
    productsMade += fusion.run(rewriter);
    productsFused += fusion.getProductCount();
    operationsJoined += fusion.getJoined();
  }
};
} // namespace
