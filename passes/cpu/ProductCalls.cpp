// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- ProductCalls.cpp - Products as calls of a function of rows ---------===//
//
// A product of any rank as calls of a function on matrices.
//
//===----------------------------------------------------------------------===//

#include "passes/cpu/ProductCalls.h"
#include "passes/cpu/KernelBuilder.h"

using namespace mlir;
using namespace gatefold;

static MemRefType getBuffer(Value value) {
  return cast<MemRefType>(value.getType());
}

FailureOr<SmallVector<LinearOp>> gatefold::collectProducts(ModuleOp module) {
  SmallVector<LinearOp> products;
  WalkResult result = module.walk([&](LinearOp op) {
    if (op.getResult()) {
      op.emitOpError("is on tensors; products are lowered on buffers");
      return WalkResult::interrupt();
    }
    products.push_back(op);
    return WalkResult::advance();
  });
  if (result.wasInterrupted())
    return failure();
  return products;
}

ProductTypes gatefold::getProductTypes(LinearOp op) {
  auto getElement = [](Value buffer) {
    return getElementTypeOrSelf(buffer.getType());
  };
  Type output = getElement(op.getOutput());
  Value initial = op.getInitial();
  return {getElement(op.getX()), getElement(op.getPanels()),
          initial ? getElement(initial) : output, output, op.getWidth()};
}

StringRef gatefold::getLayoutObstacle(LinearOp op) {
  if (!isContiguous(getBuffer(op.getPanels()), 2))
    return "the panels have gaps";
  if (!isContiguous(getBuffer(op.getX()), 1))
    return "elements along k are not next to each other";
  if (!isContiguous(getBuffer(op.getOutput()), 1) ||
      (op.getInitial() && !isContiguous(getBuffer(op.getInitial()), 1)))
    return "columns are not next to each other";
  return "";
}

namespace {
/// A buffer [m.., n] or [m.., gates, n] as rows: its leading dimensions are
/// joined as far as a stride joins them, the others are looped over.
class RowView {
public:
  RowView(KernelBuilder &builder, Value buffer, bool hasGates)
      : type(getBuffer(buffer)), hasGates(hasGates) {
    auto parts = memref::ExtractStridedMetadataOp::create(builder, buffer);
    base = parts.getBaseBuffer();
    offset = parts.getOffset();
    llvm::append_range(strides, parts.getStrides());
    columns = builder.size(buffer, type.getRank() - 1);
  }

  /// The rows [rows, n] or [rows, gates, n] that begin at `offset`.
  Value make(KernelBuilder &builder, Value rows, Value at) const {
    SmallVector<int64_t> shape(2, ShapedType::kDynamic);
    SmallVector<OpFoldResult> sizes = {rows, columns};
    SmallVector<OpFoldResult> rowStrides = {stride, builder.getIndexAttr(1)};
    if (hasGates) {
      int64_t dim = type.getRank() - 2, gates = type.getDimSize(dim);
      shape.insert(shape.begin() + 1, gates);
      sizes.insert(sizes.begin() + 1, builder.getIndexAttr(gates));
      rowStrides.insert(rowStrides.begin() + 1, strides[dim]);
    }
    MemRefType open = getOpenBuffer(type.getElementType(), shape, 1);
    return memref::ReinterpretCastOp::create(
        builder, open, base, OpFoldResult(at), sizes, rowStrides);
  }

  MemRefType type;
  bool hasGates;
  Value base, offset, columns;
  /// Between rows.
  Value stride;
  SmallVector<Value> strides;
};

/// Lowers one product to calls.
class ProductCalls {
public:
  ProductCalls(LinearOp op, func::FuncOp kernel)
      : builder(op.getLoc(), op), op(op), kernel(kernel) {}
  void make();

private:
  void joinRows(SmallVectorImpl<RowView> &views);
  void loopAndCall(unsigned dim, SmallVector<Value> offsets);
  void call(ArrayRef<Value> offsets);

  KernelBuilder builder;
  LinearOp op;
  func::FuncOp kernel;
  /// Of x, the output, and a whole initial value.
  SmallVector<RowView> views;
  /// Rows of one call; of the leading dimensions, how often to call.
  Value rows;
  SmallVector<Value> calls;
};
} // namespace

/// Finds how many rows lie at one distance from each other in all views.
void ProductCalls::joinRows(SmallVectorImpl<RowView> &views) {
  Value output = op.getOutput();
  // Without a dimension of gates.
  int64_t rank = getBuffer(op.getX()).getRank();
  Value one = builder.index(1);
  if (rank == 1) {
    rows = one;
    for (RowView &view : views)
      view.stride = view.columns;
    return;
  }
  rows = builder.size(output, rank - 2);
  for (RowView &view : views)
    view.stride = view.strides[rank - 2];
  calls.assign(rank - 2, one);
  Value joined = arith::ConstantOp::create(builder, builder.getBoolAttr(true));
  for (int64_t dim = rank - 3; dim >= 0; --dim) {
    Value size = builder.size(output, dim);
    auto isEqual = [&](Value left, Value right) {
      return builder.compare(arith::CmpIPredicate::eq, left, right);
    };
    // One row has any distance; so has a dimension of size 1.
    Value isOneRow = isEqual(rows, one), isOneSize = isEqual(size, one);
    Value fits = isOneRow;
    Value follows =
        arith::ConstantOp::create(builder, builder.getBoolAttr(true));
    for (RowView &view : views)
      follows = builder.createOrFold<arith::AndIOp>(
          follows,
          isEqual(view.strides[dim], builder.multiply(rows, view.stride)));
    fits = builder.createOrFold<arith::OrIOp>(
        builder.createOrFold<arith::OrIOp>(fits, isOneSize), follows);
    joined = builder.createOrFold<arith::AndIOp>(joined, fits);
    Value takesStride = builder.createOrFold<arith::AndIOp>(joined, isOneRow);
    for (RowView &view : views)
      view.stride = builder.choose(takesStride, view.strides[dim], view.stride);
    rows = builder.choose(joined, builder.multiply(rows, size), rows);
    calls[dim] = builder.choose(joined, one, size);
  }
}

void ProductCalls::call(ArrayRef<Value> offsets) {
  ArrayRef<Type> types = kernel.getArgumentTypes();
  Value panels = memref::CastOp::create(builder, types[1], op.getPanels());
  Value x = views[0].make(builder, rows, offsets[0]);
  Value output = views[1].make(builder, rows, offsets[1]);
  Value initial = output;
  if (views.size() > 2) {
    initial = views[2].make(builder, rows, offsets[2]);
  } else if (op.getInitial()) {
    // The same row for each.
    RowView row(builder, op.getInitial(), op.hasGates());
    row.stride = builder.index(0);
    initial = row.make(builder, rows, row.offset);
  }
  Value hasInitial = arith::ConstantOp::create(
      builder, builder.getBoolAttr(bool(op.getInitial())));
  func::CallOp::create(builder, kernel,
                       ValueRange{x, panels, initial, hasInitial, output});
}

void ProductCalls::loopAndCall(unsigned dim, SmallVector<Value> offsets) {
  if (dim == calls.size())
    return call(offsets);
  builder.loop(builder.index(0), calls[dim], 1, [&](Value index) {
    SmallVector<Value> inner;
    for (auto [view, offset] : llvm::zip(views, offsets))
      inner.push_back(
          builder.add(offset, builder.multiply(index, view.strides[dim])));
    loopAndCall(dim + 1, inner);
  });
}

void ProductCalls::make() {
  views.emplace_back(builder, op.getX(), /*hasGates=*/false);
  views.emplace_back(builder, op.getOutput(), op.hasGates());
  Value initial = op.getInitial();
  if (initial &&
      (initial == op.getOutput() ||
       getBuffer(initial).getRank() == getBuffer(op.getOutput()).getRank()))
    views.emplace_back(builder, initial, op.hasGates());
  joinRows(views);
  SmallVector<Value> offsets;
  for (RowView &view : views)
    offsets.push_back(view.offset);
  loopAndCall(0, offsets);
}

/// Of more than two dimensions: a call of a function that finds which rows lie
/// at one distance, and loops over the others; one for all such products.
static void callManyDimensional(LinearOp op, func::FuncOp kernel,
                                SymbolTable &symbols,
                                llvm::StringMap<func::FuncOp> &kernels) {
  int64_t rank = getBuffer(op.getX()).getRank();
  int64_t outputRank = getBuffer(op.getOutput()).getRank();
  Value initial = op.getInitial();
  bool isSum = initial && initial == op.getOutput();
  int64_t initialRank = initial && !isSum ? getBuffer(initial).getRank() : 0;
  std::string name =
      (kernel.getSymName() + "_of_" + std::to_string(rank)).str();
  if (initial)
    name += isSum ? "_sum" : initialRank < outputRank ? "_row" : "_from";
  auto getType = [&](Value operand, bool hasGates) {
    SmallVector<int64_t> shape(getBuffer(operand).getRank(),
                               ShapedType::kDynamic);
    if (hasGates)
      shape[shape.size() - 2] = op.getGates();
    return getOpenBuffer(getElementTypeOrSelf(operand.getType()), shape, 1);
  };
  SmallVector<Value> operands = {op.getX(), op.getPanels(), op.getOutput()};
  SmallVector<Type> operandTypes = {getType(op.getX(), false),
                                    kernel.getArgumentTypes()[1],
                                    getType(op.getOutput(), op.hasGates())};
  if (initialRank > 0) {
    operands.push_back(initial);
    operandTypes.push_back(getType(initial, op.hasGates()));
  }
  func::FuncOp &function = kernels[name];
  if (!function) {
    function = makeKernelFunction(op.getLoc(), name, operandTypes);
    symbols.insert(function);
    Block &body = function.getBody().front();
    auto builder = OpBuilder::atBlockEnd(&body);
    ValueRange values = body.getArguments();
    Value from = initialRank > 0 ? values[3] : isSum ? values[2] : Value();
    auto product = LinearOp::create(builder, op.getLoc(), Type(), values[0],
                                    values[1], from, values[2]);
    func::ReturnOp::create(builder, op.getLoc());
    ProductCalls(product, kernel).make();
    product.erase();
  }
  KernelBuilder builder(op.getLoc(), op);
  for (auto [operand, type] : llvm::zip(operands, operandTypes))
    operand = memref::CastOp::create(builder, type, operand);
  func::CallOp::create(builder, function, operands);
}

void gatefold::callProductKernel(LinearOp op, func::FuncOp kernel,
                                 SymbolTable &symbols,
                                 llvm::StringMap<func::FuncOp> &kernels) {
  if (getBuffer(op.getX()).getRank() > 2)
    callManyDimensional(op, kernel, symbols, kernels);
  else
    ProductCalls(op, kernel).make();
}
