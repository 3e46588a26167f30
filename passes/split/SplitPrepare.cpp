// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- SplitPrepare.cpp - What depends on parameters alone ----------------===//
//
// Moves what is the same in every run to a function that runs once.
//
// Exactness: the same operations compute the same values, in the same order,
// only earlier, under the same floating-point mode; the same bits.
//
//===----------------------------------------------------------------------===//

#include "dialect/GatefoldOps.h"
#include "mlir/IR/Remarks.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Transforms/RegionUtils.h"
#include "passes/split/Passes.h"
#include "passes/support/Entry.h"
#include "llvm/ADT/MapVector.h"

namespace gatefold {
#define GEN_PASS_DEF_SPLITPREPARE
#include "passes/split/Passes.h.inc"
} // namespace gatefold

using namespace mlir;
using namespace gatefold;

/// A prepared tensor may be this many times as large as what it is made from,
/// or as large as this: the panels of a narrow matrix are mostly padding.
static constexpr int64_t largestGrowth = 4;
static constexpr int64_t smallBytes = 1 << 20;

/// Bytes of a tensor of fixed size with a type of the interface, else none.
static std::optional<int64_t> getBytes(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor || !tensor.hasStaticShape())
    return std::nullopt;
  Type element = tensor.getElementType();
  if (!element.isF16() && !element.isBF16() && !element.isF32() &&
      !element.isF64() && !element.isInteger(32) && !element.isInteger(64) &&
      !element.isInteger(1))
    return std::nullopt;
  int64_t bytes = llvm::divideCeil(element.getIntOrFloatBitWidth(), 8);
  for (int64_t size : tensor.getShape())
    if (llvm::MulOverflow(bytes, size, bytes))
      return std::nullopt;
  return bytes;
}

static bool isFixed(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor ? tensor.hasStaticShape() : type.isIntOrIndexOrFloat();
}

/// The values of other operations that an operation takes.
static SetVector<Value> getSources(Operation *op) {
  SetVector<Value> sources;
  sources.insert(op->operand_begin(), op->operand_end());
  getUsedValuesDefinedAbove(op->getRegions(), sources);
  return sources;
}

/// Whether a structured operation only repeats the elements of its inputs.
static bool isBroadcast(Operation *op) {
  auto linalgOp = dyn_cast<linalg::LinalgOp>(op);
  if (!linalgOp || op->getNumResults() != 1)
    return false;
  auto yield = cast<linalg::YieldOp>(linalgOp.getBlock()->getTerminator());
  if (yield.getNumOperands() != 1 || !isa<BlockArgument>(yield.getOperand(0)))
    return false;
  int64_t largest = 1;
  for (OpOperand *input : linalgOp.getDpsInputOperands())
    if (auto type = dyn_cast<RankedTensorType>(input->get().getType()))
      largest = std::max(largest, type.getNumElements());
  return cast<RankedTensorType>(op->getResult(0).getType()).getNumElements() >
         largest;
}

namespace {
/// A tensor that `prepare` makes.
struct PreparedTensor {
  Value value;
  /// The parameters that it is made from, in their order, and their names.
  SmallVector<BlockArgument> parameters;
  std::string name;
  /// What was done to them.
  StringRef verb;
  int64_t bytes = 0;
  Location loc;
};

class Preparation {
public:
  Preparation(func::FuncOp entry) : entry(entry) {}

  void collect();
  void choose();
  LogicalResult split();
  void report();
  ArrayRef<PreparedTensor> getPrepared() { return prepared; }

private:
  bool isParameter(Value value);
  bool isConstant(Operation *op);
  bool isWork(Operation *op);
  bool isWorthKeeping(const PreparedTensor &tensor);
  void need(Value value);
  PreparedTensor describe(Value value);
  std::string getName(ArrayRef<BlockArgument> parameters);
  StringAttr getName(BlockArgument parameter) {
    return entry.getArgAttrOfType<StringAttr>(parameter.getArgNumber(),
                                              attribute_names::name);
  }

  func::FuncOp entry;
  /// What depends on parameters and constants alone, in program order; and on
  /// which a parameter has an influence.
  SetVector<Operation *> constant;
  llvm::SmallPtrSet<Operation *, 16> influenced;
  /// What the run needs of it, and which of that `prepare` makes.
  llvm::SmallPtrSet<Value, 16> needed;
  std::vector<PreparedTensor> prepared;
};
} // namespace

bool Preparation::isParameter(Value value) {
  auto argument = dyn_cast<BlockArgument>(value);
  return argument && argument.getOwner() == &entry.getBody().front() &&
         entry.getArgAttr(argument.getArgNumber(), attribute_names::parameter);
}

bool Preparation::isConstant(Operation *op) {
  if (op->hasTrait<OpTrait::IsTerminator>() || op->getNumResults() == 0 ||
      !llvm::all_of(op->getResultTypes(), isFixed) || !isMemoryEffectFree(op))
    return false;
  // Inside of a region it may not be reached.
  if (op->getParentOp() != entry && !isSpeculatable(op))
    return false;
  return llvm::all_of(getSources(op), [&](Value source) {
    Operation *maker = source.getDefiningOp();
    return maker ? constant.contains(maker) : isParameter(source);
  });
}

void Preparation::collect() {
  entry.walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (op == entry || !isConstant(op))
      return WalkResult::advance();
    constant.insert(op);
    if (llvm::any_of(getSources(op), [&](Value source) {
          Operation *maker = source.getDefiningOp();
          return !maker || influenced.contains(maker);
        }))
      influenced.insert(op);
    return WalkResult::skip();
  });
}

/// Whether a run gains by not doing it: views are free, and what repeats few
/// elements is read faster from these.
bool Preparation::isWork(Operation *op) {
  if (op->hasTrait<OpTrait::ConstantLike>() || isBroadcast(op) ||
      isa<tensor::EmptyOp, tensor::ExtractSliceOp, tensor::ExpandShapeOp,
          tensor::CollapseShapeOp, tensor::CastOp, tensor::SplatOp,
          linalg::FillOp>(op) ||
      llvm::none_of(op->getResultTypes(), llvm::IsaPred<RankedTensorType>))
    return false;
  if (influenced.contains(op))
    return true;
  // Of constants alone: positions cost less than to load them, their sines
  // more.
  return op
      ->walk([](Operation *inner) {
        return isa<math::MathDialect>(inner->getDialect())
                   ? WalkResult::interrupt()
                   : WalkResult::advance();
      })
      .wasInterrupted();
}

/// The first names, and how many more there are.
std::string Preparation::getName(ArrayRef<BlockArgument> parameters) {
  constexpr size_t shown = 2;
  if (parameters.empty())
    return "constants";
  std::string names;
  size_t count = std::min(shown, parameters.size());
  for (auto [index, parameter] :
       llvm::enumerate(parameters.take_front(count))) {
    bool isLast = index + 1 == parameters.size();
    names += index == 0 ? "" : isLast ? " and " : ", ";
    names += getName(parameter).getValue();
  }
  if (parameters.size() > count)
    names += " and " + std::to_string(parameters.size() - count) + " more";
  return names;
}

static StringRef getVerb(Operation *op) {
  return isa<PackOp>(op)                  ? "packed"
         : isa<tensor::InsertSliceOp>(op) ? "put together"
         : isa<linalg::TransposeOp>(op)   ? "transposed"
                                          : "computed";
}

PreparedTensor Preparation::describe(Value value) {
  PreparedTensor tensor{value,
                        {},
                        {},
                        getVerb(value.getDefiningOp()),
                        getBytes(value.getType()).value_or(0),
                        value.getLoc()};
  SmallVector<Value> pending = {value};
  llvm::SmallPtrSet<Operation *, 16> seen;
  while (!pending.empty()) {
    Value next = pending.pop_back_val();
    Operation *op = next.getDefiningOp();
    if (op) {
      if (seen.insert(op).second)
        llvm::append_range(pending, getSources(op));
    } else if (!llvm::is_contained(tensor.parameters, next)) {
      tensor.parameters.push_back(cast<BlockArgument>(next));
    }
  }
  llvm::sort(tensor.parameters, [](BlockArgument left, BlockArgument right) {
    return left.getArgNumber() < right.getArgNumber();
  });
  tensor.name = getName(tensor.parameters);
  return tensor;
}

static remark::RemarkOpts remarkOptions(StringRef name) {
  return remark::RemarkOpts::name(name).category("gf-split-prepare");
}

bool Preparation::isWorthKeeping(const PreparedTensor &tensor) {
  int64_t sourceBytes = 0;
  for (BlockArgument parameter : tensor.parameters)
    sourceBytes += getBytes(parameter.getType()).value_or(0);
  return getBytes(tensor.value.getType()) &&
         (tensor.bytes <= smallBytes ||
          tensor.bytes / largestGrowth <= sourceBytes);
}

/// Has the value for the run: prepared, or computed there from what is.
void Preparation::need(Value value) {
  SmallVector<Value> pending = {value};
  while (!pending.empty()) {
    value = pending.pop_back_val();
    Operation *op = value.getDefiningOp();
    if (!op || !constant.contains(op) || !needed.insert(value).second)
      continue;
    if (isWork(op)) {
      PreparedTensor tensor = describe(value);
      if (isWorthKeeping(tensor)) {
        prepared.push_back(std::move(tensor));
        continue;
      }
      remark::missed(op->getLoc(), remarkOptions("kept"))
          << ("computed in each run: " + Twine(tensor.bytes) +
              " bytes would be kept for " + tensor.name)
                 .str();
    }
    llvm::append_range(pending, getSources(op));
  }
}

void Preparation::choose() {
  entry.walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (constant.contains(op))
      return WalkResult::skip();
    for (Value operand : op->getOperands())
      need(operand);
    return WalkResult::advance();
  });
}

/// `prepare` with copies of the operations; their results are arguments of the
/// entry from then on.
LogicalResult Preparation::split() {
  auto module = entry->getParentOfType<ModuleOp>();
  if (Operation *other = module.lookupSymbol(prepareFunction))
    return other->emitError("the module has a '")
           << prepareFunction << "' already";
  SmallVector<BlockArgument> parameters;
  for (BlockArgument argument : entry.getArguments())
    if (isParameter(argument))
      parameters.push_back(argument);
  SmallVector<Value> values;
  for (const PreparedTensor &tensor : prepared)
    values.push_back(tensor.value);
  llvm::SmallPtrSet<Operation *, 16> moved;
  SmallVector<Value> pending = values;
  while (!pending.empty())
    if (Operation *op = pending.pop_back_val().getDefiningOp())
      if (moved.insert(op).second)
        llvm::append_range(pending, getSources(op));

  OpBuilder builder(entry);
  auto function = func::FuncOp::create(
      builder, entry.getLoc(), prepareFunction,
      builder.getFunctionType(ValueRange(parameters).getTypes(),
                              ValueRange(values).getTypes()));
  Block *block = function.addEntryBlock();
  builder.setInsertionPointToStart(block);
  IRMapping mapping;
  for (auto [parameter, argument] :
       llvm::zip(parameters, block->getArguments()))
    mapping.map(parameter, argument);
  for (Operation *op : constant)
    if (moved.contains(op))
      builder.clone(*op, mapping);
  SmallVector<Value> results;
  for (Value value : values)
    results.push_back(mapping.lookup(value));
  func::ReturnOp::create(builder, entry.getLoc(), results);

  auto dimensions =
      entry->getAttrOfType<ArrayAttr>(attribute_names::dimensions);
  unsigned position = parameters.size();
  for (PreparedTensor &tensor : prepared) {
    SmallVector<AffineExpr> shape;
    for (int64_t size :
         cast<RankedTensorType>(tensor.value.getType()).getShape())
      shape.push_back(builder.getAffineConstantExpr(size));
    NamedAttrList attributes;
    attributes.set(preparedName, builder.getStringAttr(tensor.name));
    attributes.set(
        attribute_names::shape,
        AffineMapAttr::get(AffineMap::get(0, dimensions ? dimensions.size() : 0,
                                          shape, builder.getContext())));
    if (failed(
            entry.insertArgument(position, tensor.value.getType(),
                                 attributes.getDictionary(builder.getContext()),
                                 tensor.value.getLoc())))
      return failure();
    tensor.value.replaceAllUsesWith(entry.getArgument(position++));
  }
  for (Operation *op : llvm::reverse(constant.getArrayRef()))
    if (op->use_empty())
      op->erase();
  return success();
}

/// Says of each prepared tensor what it is, and of each weight in how many
/// layouts it is kept.
void Preparation::report() {
  llvm::MapVector<BlockArgument, unsigned> layouts;
  for (const PreparedTensor &tensor : prepared) {
    remark::passed(tensor.loc, remarkOptions("prepared"))
        << ("prepare: " + tensor.name + " " + tensor.verb + ", " +
            Twine(tensor.bytes) + " bytes")
               .str();
    for (BlockArgument parameter : tensor.parameters)
      ++layouts[parameter];
  }
  for (auto [parameter, count] : layouts) {
    count += !parameter.use_empty();
    if (count > 1)
      remark::analysis(parameter.getLoc(), remarkOptions("layouts"))
          << ("prepare: " + getName(parameter).getValue() + " is kept in " +
              Twine(count) + " layouts")
                 .str();
  }
}

namespace {
struct SplitPrepare : gatefold::impl::SplitPrepareBase<SplitPrepare> {
  void runOnOperation() override {
    FailureOr<func::FuncOp> entry = findEntry(getOperation());
    if (failed(entry))
      return signalPassFailure();
    Preparation preparation(*entry);
    preparation.collect();
    preparation.choose();
    if (preparation.getPrepared().empty())
      return;
    if (failed(preparation.split()))
      return signalPassFailure();
    preparation.report();
    tensorsPrepared += preparation.getPrepared().size();
    for (const PreparedTensor &tensor : preparation.getPrepared())
      bytesPrepared += tensor.bytes;
  }
};
} // namespace
