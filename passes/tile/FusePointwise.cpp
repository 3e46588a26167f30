// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- FusePointwise.cpp - One pass over memory for many operations -------===//
//
// Element by element operations of one iteration space become one operation
// with several inputs and several results; sums and maxima over the last
// dimension join those whose elements they take. Nothing is computed twice but
// copies, broadcasts and constants. Each element is the result of the same
// operations on the same values: the same bits, but that a product and a sum
// that meet may become one FMA.
//
//===----------------------------------------------------------------------===//

#include "mlir/IR/Remarks.h"
#include "passes/tile/Passes.h"
#include "passes/tile/PointwiseGroups.h"

namespace gatefold {
#define GEN_PASS_DEF_FUSEPOINTWISE
#include "passes/tile/Passes.h.inc"
} // namespace gatefold

using namespace mlir;
using namespace gatefold;
using linalg::GenericOp;
using linalg::LinalgOp;

namespace {
/// Makes one operation of a group.
class GroupFusion {
public:
  GroupFusion(IRRewriter &rewriter, PointwiseGroup &group)
      : rewriter(rewriter), group(group) {}

  /// Empty, or why it could not be done.
  StringRef run();

private:
  bool moveReadersBehind();
  bool overtakesWrite(const llvm::SetVector<Operation *> &readers);
  void collectOperands();
  Value makeInit(OpResult result);
  void makeBody(GenericOp fused);
  void writeStates(GenericOp fused);
  bool isMember(Operation *op) const {
    return llvm::is_contained(group.members, op);
  }

  IRRewriter &rewriter;
  PointwiseGroup &group;
  llvm::SetVector<std::pair<Value, AffineMap>> inputs;
  /// Results that are used outside.
  SmallVector<OpResult> results;
  /// Those of them that overwrite what nothing else reads.
  llvm::SmallDenseSet<Value> overwriting;
};
} // namespace

/// The tensor that a view shows.
static Value rootOf(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    if (!isa<tensor::ExtractSliceOp, tensor::CastOp, tensor::CollapseShapeOp,
             tensor::ExpandShapeOp>(op))
      break;
    value = op->getOperand(0);
  }
  return value;
}

/// What an operation may write in place: none of its own making.
static SmallVector<Value> rootsWrittenBy(Operation *op) {
  SmallVector<Value> roots;
  auto add = [&](Value value) {
    value = rootOf(value);
    if (!isa_and_nonnull<tensor::EmptyOp, linalg::FillOp>(
            value.getDefiningOp()))
      roots.push_back(value);
  };
  if (auto destination = dyn_cast<DestinationStyleOpInterface>(op))
    llvm::for_each(destination.getDpsInits(), add);
  else if (auto insertion = dyn_cast<tensor::InsertSliceOp>(op))
    add(insertion.getDest());
  else if (auto loop = dyn_cast<LoopLikeOpInterface>(op))
    llvm::for_each(loop.getInits(), add);
  return roots;
}

/// Whether a member or a reader would come to stand behind an operation that
/// writes where it reads: that would cost a copy, and a state its place.
bool GroupFusion::overtakesWrite(const llvm::SetVector<Operation *> &readers) {
  llvm::SmallPtrSet<Value, 16> read;
  Operation *last = group.members.back();
  for (Operation *op = group.members.front(); op != last;
       op = op->getNextNode()) {
    if (isMember(op) || readers.contains(op)) {
      for (Value value : valuesReadBy(op))
        read.insert(rootOf(value));
      continue;
    }
    for (Value root : rootsWrittenBy(op))
      if (read.contains(root))
        return true;
  }
  return false;
}

/// What needs a member and stands before the last one moves behind it; the
/// group was chosen so that none of it is needed by a member.
bool GroupFusion::moveReadersBehind() {
  llvm::SetVector<Operation *> readers;
  Operation *last = group.members.back();
  for (Operation *op = group.members.front(); op != last;
       op = op->getNextNode()) {
    if (isMember(op))
      continue;
    bool reads = llvm::any_of(valuesReadBy(op), [&](Value value) {
      Operation *source = value.getDefiningOp();
      source = source ? op->getBlock()->findAncestorOpInBlock(*source) : source;
      return source && (isMember(source) || readers.contains(source));
    });
    if (reads)
      readers.insert(op);
  }
  if (!llvm::all_of(readers,
                    [](Operation *op) { return isMemoryEffectFree(op); }) ||
      overtakesWrite(readers))
    return false;
  Operation *place = last;
  for (Operation *op : readers) {
    rewriter.moveOpAfter(op, place);
    place = op;
  }
  return true;
}

static OpOperand &initOf(OpResult result) {
  auto member = cast<GenericOp>(result.getOwner());
  return *member.getDpsInitOperand(result.getResultNumber());
}

static bool isReduced(OpResult result) {
  auto member = cast<GenericOp>(result.getOwner());
  return !member.getIndexingMapMatchingResult(result).isIdentity();
}

/// Whether a tensor is in memory that was made for it.
static bool hasOwnMemory(Value value) {
  while (true) {
    value = rootOf(value);
    Operation *op = value.getDefiningOp();
    if (isa_and_nonnull<tensor::EmptyOp, bufferization::AllocTensorOp>(op))
      return true;
    auto made = dyn_cast_or_null<DestinationStyleOpInterface>(op);
    if (!made)
      return false;
    value = made.getTiedOpOperand(cast<OpResult>(value))->get();
  }
}

/// Whether a member overwrites what nothing else reads: the group may do so,
/// too, and needs no second place.
static bool overwritesOwn(OpResult result) {
  Value before = initOf(result).get();
  Operation *made = before.getDefiningOp();
  return made && made->getBlock() == result.getOwner()->getBlock() &&
         before.hasOneUse() && hasOwnMemory(before);
}

void GroupFusion::collectOperands() {
  for (GenericOp member : group.members) {
    for (OpOperand *input : member.getDpsInputOperands())
      if (!isMember(input->get().getDefiningOp()))
        inputs.insert({input->get(), member.getMatchingIndexingMap(input)});
    for (OpResult result : member->getResults()) {
      OpOperand &init = initOf(result);
      bool isResult = isReduced(result) ||
                      !llvm::all_of(result.getUsers(), [&](Operation *user) {
                        return isMember(user);
                      });
      if (isResult)
        results.push_back(result);
      if (isReduced(result) || !member.payloadUsesValueFromOperand(&init))
        continue;
      // An element that is read before it is written is one more input, unless
      // it is overwritten.
      if (isResult && !isMember(init.get().getDefiningOp()) &&
          overwritesOwn(result))
        overwriting.insert(result);
      else
        inputs.insert({init.get(), member.getMatchingIndexingMap(&init)});
    }
  }
}

/// What the operation writes into: not into a state, which others may read.
Value GroupFusion::makeInit(OpResult result) {
  Value init = initOf(result).get();
  if (isReduced(result) || init.getDefiningOp<tensor::EmptyOp>() ||
      overwriting.contains(result))
    return init;
  return tensor::EmptyOp::create(
      rewriter, result.getLoc(),
      tensor::getMixedSizes(rewriter, result.getLoc(), init),
      getElementTypeOrSelf(init.getType()));
}

/// A value that the block hands on in the place of another, as a loop does its
/// states, is written there at the end of the block.
void GroupFusion::writeStates(GenericOp fused) {
  Operation *end = fused->getBlock()->getTerminator();
  if (!isa<LoopLikeOpInterface>(end->getParentOp()))
    return;
  for (auto [result, value] : llvm::zip(results, fused.getResults())) {
    Value init = initOf(result).get();
    if (isReduced(result) || init.getDefiningOp<tensor::EmptyOp>() ||
        overwriting.contains(result) ||
        !llvm::is_contained(value.getUsers(), end))
      continue;
    rewriter.setInsertionPoint(end);
    Value written = bufferization::MaterializeInDestinationOp::create(
                        rewriter, result.getLoc(), value, init)
                        .getResult();
    rewriter.replaceUsesWithIf(
        value, written, [&](OpOperand &use) { return use.getOwner() == end; });
  }
}

void GroupFusion::makeBody(GenericOp fused) {
  Block *body = fused.getBody();
  body->clear();
  rewriter.setInsertionPointToStart(body);
  IRMapping elements;
  auto inputArgument = [&](OpOperand &operand) {
    auto member = cast<GenericOp>(operand.getOwner());
    auto place =
        llvm::find(inputs, std::pair(operand.get(),
                                     member.getMatchingIndexingMap(&operand)));
    return body->getArgument(place - inputs.begin());
  };
  for (GenericOp member : group.members) {
    IRMapping mapping;
    for (OpOperand &operand : member->getOpOperands()) {
      BlockArgument argument = member.getMatchingBlockArgument(&operand);
      if (member.isDpsInput(&operand)) {
        if (Value element = elements.lookupOrNull(operand.get());
            element && isMember(operand.get().getDefiningOp())) {
          mapping.map(argument, element);
          continue;
        }
        mapping.map(argument, inputArgument(operand));
        continue;
      }
      OpResult result = member.getTiedOpResult(&operand);
      if (isReduced(result) || overwriting.contains(result))
        mapping.map(argument, body->getArgument(inputs.size() +
                                                (llvm::find(results, result) -
                                                 results.begin())));
      else if (member.payloadUsesValueFromOperand(&operand))
        mapping.map(argument, inputArgument(operand));
    }
    for (Operation &inner : member.getBody()->without_terminator())
      rewriter.clone(inner, mapping);
    for (auto [result, value] :
         llvm::zip(member->getResults(),
                   member.getBody()->getTerminator()->getOperands()))
      elements.map(result, mapping.lookupOrDefault(value));
  }
  SmallVector<Value> yielded;
  for (OpResult result : results)
    yielded.push_back(elements.lookup(result));
  linalg::YieldOp::create(rewriter, fused.getLoc(), yielded);
}

StringRef GroupFusion::run() {
  // Another group may have moved some.
  llvm::sort(group.members, [](GenericOp left, GenericOp right) {
    return left->isBeforeInBlock(right);
  });
  collectOperands();
  SmallVector<AffineMap> maps;
  for (auto [value, map] : inputs)
    maps.push_back(map);
  for (OpResult result : results)
    maps.push_back(cast<GenericOp>(result.getOwner())
                       .getIndexingMapMatchingResult(result));
  if (!inversePermutation(concatAffineMaps(maps, rewriter.getContext())))
    return "no operand would have all dimensions";
  if (!moveReadersBehind())
    return "what stands between writes what they read";
  SmallVector<Value> operands, inits;
  SmallVector<Location> locations;
  for (auto [value, map] : inputs)
    operands.push_back(value);
  rewriter.setInsertionPoint(group.members.back());
  SmallVector<Type> types;
  for (OpResult result : results) {
    inits.push_back(makeInit(result));
    types.push_back(result.getType());
  }
  auto iterators = group.members.front().getIteratorTypesArray();
  for (GenericOp member : group.members) {
    locations.push_back(member.getLoc());
    if (member.getNumReductionLoops() != 0)
      iterators.back() = utils::IteratorType::reduction;
  }
  auto fused = GenericOp::create(
      rewriter, rewriter.getFusedLoc(locations), types, operands, inits, maps,
      iterators, [](OpBuilder &builder, Location loc, ValueRange) {
        linalg::YieldOp::create(builder, loc, ValueRange());
      });
  makeBody(fused);
  for (auto [result, value] : llvm::zip(results, fused.getResults()))
    rewriter.replaceAllUsesExcept(result, value, fused);
  writeStates(fused);
  for (GenericOp member : llvm::reverse(group.members))
    rewriter.eraseOp(member);
  return "";
}

namespace {
struct FusePointwise : gatefold::impl::FusePointwiseBase<FusePointwise> {
  void runOnOperation() override;

private:
  void fuse(IRRewriter &rewriter, Block &block);
};
} // namespace

void FusePointwise::fuse(IRRewriter &rewriter, Block &block) {
  PointwiseGroups groups(block);
  for (PointwiseGroup *group : groups.get()) {
    Location loc = group->members.back().getLoc();
    size_t members = group->members.size();
    auto options =
        remark::RemarkOpts::name("pointwise").category("gf-fuse-pointwise");
    StringRef reason = GroupFusion(rewriter, *group).run();
    if (!reason.empty()) {
      remark::missed(loc, options) << ("not fused: " + reason).str();
      continue;
    }
    ++groupsFused;
    operationsFused += members;
    remark::passed(loc, options)
        << (std::to_string(members) + " operations in one pass over memory");
  }
}

void FusePointwise::runOnOperation() {
  func::FuncOp function = getOperation();
  if (failed(preparePointwise(function)))
    return signalPassFailure();
  IRRewriter rewriter(&getContext());
  SmallVector<Block *> blocks;
  function.walk([&](Block *block) {
    if (!isa<LinalgOp>(block->getParentOp()))
      blocks.push_back(block);
  });
  for (Block *block : blocks)
    fuse(rewriter, *block);
}
