// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- OutlineKernels.cpp - One function for equal operations -------------===//
//
// Moves structured operations into functions, equal ones into the same.
//
//===----------------------------------------------------------------------===//

#include "mlir/IR/OperationSupport.h"
#include "mlir/Transforms/RegionUtils.h"
#include "passes/cpu/Passes.h"
#include <unordered_map>

namespace gatefold {
#define GEN_PASS_DEF_OUTLINEKERNELS
#include "passes/cpu/Passes.h.inc"
} // namespace gatefold

using namespace mlir;
using linalg::LinalgOp;

/// Where source locations differ, code does not.
static constexpr auto equivalence = OperationEquivalence::IgnoreLocations;

static llvm::hash_code hashBody(func::FuncOp function) {
  llvm::hash_code hash = hash_value(Type(function.getFunctionType()));
  function.getBody().walk([&](Operation *op) {
    hash = llvm::hash_combine(
        hash, OperationEquivalence::computeHash(
                  op, OperationEquivalence::ignoreHashValue,
                  OperationEquivalence::ignoreHashValue, equivalence));
  });
  return hash;
}

static bool isConstant(Value value) {
  Operation *op = value.getDefiningOp();
  return op && op->hasTrait<OpTrait::ConstantLike>();
}

/// A function, not yet in the module, that does what the operation does with
/// `arguments`, the values it takes from around it that are not constants.
static func::FuncOp makeKernel(LinalgOp op, SetVector<Value> &arguments) {
  SetVector<Value> used;
  used.insert(op->operand_begin(), op->operand_end());
  getUsedValuesDefinedAbove(op->getRegions(), used);
  SmallVector<Value> constants;
  for (Value value : used) {
    if (isConstant(value))
      constants.push_back(value);
    else
      arguments.insert(value);
  }
  Location loc = op.getLoc();
  OpBuilder builder(op.getContext());
  SmallVector<Type> types(ValueRange(arguments.getArrayRef()).getTypes());
  auto function = func::FuncOp::create(loc, "gatefold_kernel",
                                       builder.getFunctionType(types, {}));
  function.setPrivate();
  // Inlined again, nothing would be won.
  function->setAttr("passthrough", builder.getStrArrayAttr({"noinline"}));
  Block *block = function.addEntryBlock();
  builder.setInsertionPointToStart(block);
  IRMapping mapping;
  mapping.map(arguments.getArrayRef(), block->getArguments());
  for (Value constant : constants)
    builder.clone(*constant.getDefiningOp(), mapping);
  builder.clone(*op, mapping);
  func::ReturnOp::create(builder, loc);
  return function;
}

namespace {
struct OutlineKernels : gatefold::impl::OutlineKernelsBase<OutlineKernels> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    SmallVector<LinalgOp> operations;
    for (auto function : module.getOps<func::FuncOp>())
      function.walk([&](LinalgOp op) {
        if (op.hasPureBufferSemantics() && op.getNumLoops() > 0)
          operations.push_back(op);
      });
    SymbolTable symbols(module);
    std::unordered_multimap<size_t, func::FuncOp> kernels;
    for (LinalgOp op : operations) {
      SetVector<Value> arguments;
      func::FuncOp kernel = makeKernel(op, arguments);
      size_t hash = hashBody(kernel);
      auto [first, last] = kernels.equal_range(hash);
      auto equal = std::find_if(first, last, [&](auto &entry) {
        func::FuncOp other = entry.second;
        return other.getFunctionType() == kernel.getFunctionType() &&
               OperationEquivalence::isRegionEquivalentTo(
                   &other.getBody(), &kernel.getBody(), equivalence);
      });
      if (equal != last) {
        kernel.erase();
        kernel = equal->second;
      } else {
        symbols.insert(kernel);
        kernels.emplace(hash, kernel);
        ++kernelsMade;
      }
      OpBuilder builder(op);
      func::CallOp::create(builder, op.getLoc(), kernel,
                           arguments.getArrayRef());
      op.erase();
      ++operationsOutlined;
    }
  }
};
} // namespace
