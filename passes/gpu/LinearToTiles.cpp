// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- LinearToTiles.cpp - Products as calls of functions on vectors ------===//
//
// Each gf.linear on buffers becomes a call of the function for its types.
//
//===----------------------------------------------------------------------===//

#include "passes/gpu/LinearToTiles.h"
#include "mlir/IR/Remarks.h"
#include "passes/cpu/KernelBuilder.h"
#include "passes/cpu/ProductCalls.h"
#include "passes/gpu/Kernels.h"
#include "passes/gpu/Passes.h"
#include "passes/schedule/StepPanels.h"

namespace gatefold {
#define GEN_PASS_DEF_LINEARTOTILES
#include "passes/gpu/Passes.h.inc"
} // namespace gatefold

using namespace mlir;
using namespace gatefold;

StringRef gatefold::getTileObstacle(LinearOp op) {
  ProductTypes types = getProductTypes(op);
  // gf-keep-weights has asked before.
  if (cast<MemRefType>(op.getPanels().getType()).getMemorySpace())
    return "";
  if (types.output.isF64())
    return "tensor cores have no f64";
  if (getTileColumns(types.width) == 0)
    return "its panels do not consist of groups of 8 columns";
  if (op.hasGates() && (getTileColumns(types.width) != types.width ||
                        types.width / op.getGates() % 8 != 0))
    return "a tile has no whole groups of 8 columns of each gate";
  return getLayoutObstacle(op);
}

/// The types of a product, and where its panels lie.
static LinearTileTypes getTileTypes(LinearOp op) {
  ProductTypes types = getProductTypes(op);
  auto panels = cast<MemRefType>(op.getPanels().getType());
  constexpr int64_t open = ShapedType::kDynamic;
  MemRefType openPanels =
      getOpenBuffer(types.panels, {open, open, types.width}, 2);
  if (Attribute space = panels.getMemorySpace())
    openPanels = MemRefType::get(openPanels.getShape(), types.panels,
                                 openPanels.getLayout(), space);
  LinearTileTypes product = {types, openPanels};
  product.gates = op.hasGates() ? op.getGates() : 0;
  product.sharesTerms = op->hasAttr(stepProductName) && mayShareTerms(types);
  for (auto loop = op->getParentOfType<scf::ForOp>(); loop;
       loop = loop->getParentOfType<scf::ForOp>())
    if (auto bytes = loop->getAttrOfType<IntegerAttr>(keptBytesName))
      product.keptBytes = bytes.getInt();
  return product;
}

/// The function that shares out the rows to `tileFunctions`, one for each of
/// the product's tiles: (x, panels, initial, whether to add it, output).
///
/// As many rows as they take in tiles of most rows, then the fewest that take
/// the rest.
static func::FuncOp makeLinearFunction(Location loc,
                                       const LinearTileTypes &product,
                                       ArrayRef<func::FuncOp> tileFunctions,
                                       StringRef name) {
  func::FuncOp largest = tileFunctions.front();
  // But for the first row and the end of the rows.
  func::FuncOp function =
      makeKernelFunction(loc, name, largest.getArgumentTypes().drop_back(2));
  KernelBuilder builder(loc, loc.getContext());
  builder.setInsertionPointToStart(&function.getBody().front());
  ValueRange arguments = function.getArguments();
  Value rows = builder.size(arguments[4], 0);
  auto call = [&](func::FuncOp callee, Value begin, Value end) {
    SmallVector<Value> operands(arguments);
    operands.append({begin, end});
    func::CallOp::create(builder, callee, operands);
  };
  ArrayRef<LinearTile> tiles = product.getTiles();
  // A tile that is more than half full is a whole one.
  Value most = builder.index(tiles[0].rows);
  Value whole = builder.divide(
      builder.add(rows, builder.index(tiles[0].rows - tiles[1].rows - 1)),
      most);
  Value first = builder.minimum(builder.multiply(whole, most), rows);
  Value zero = builder.index(0);
  builder.when(builder.compare(arith::CmpIPredicate::ugt, first, zero),
               [&] { call(largest, zero, first); });
  // Where it has to be told apart: more rows than the next tile has.
  auto callRest = [&](auto &self, unsigned tile) -> void {
    Value least = builder.add(
        first,
        builder.index(tile + 1 < tiles.size() ? tiles[tile + 1].rows : 0));
    auto choice = scf::IfOp::create(
        builder, builder.compare(arith::CmpIPredicate::ugt, rows, least),
        /*withElseRegion=*/tile + 1 < tiles.size());
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(choice.thenBlock());
    call(tileFunctions[tile], first, rows);
    if (tile + 1 == tiles.size())
      return;
    builder.setInsertionPointToStart(choice.elseBlock());
    self(self, tile + 1);
  };
  callRest(callRest, 1);
  func::ReturnOp::create(builder);
  return function;
}

namespace {
struct LinearToTiles : gatefold::impl::LinearToTilesBase<LinearToTiles> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    FailureOr<SmallVector<LinearOp>> products = collectProducts(module);
    if (failed(products))
      return signalPassFailure();
    SymbolTable symbols(module);
    llvm::StringMap<func::FuncOp> functions;
    for (LinearOp op : *products) {
      StringRef obstacle = getTileObstacle(op);
      if (!obstacle.empty()) {
        remark::missed(op.getLoc(), remark::RemarkOpts::name("LinearToTiles")
                                        .category("gf-linear-to-tiles"))
            << ("product: element by element, since " + obstacle).str();
        continue;
      }
      func::FuncOp function =
          getFunction(op.getLoc(), getTileTypes(op), symbols, functions);
      callProductKernel(op, function, symbols, functions);
      op.erase();
      ++productsLowered;
    }
  }

  /// The function of all products of the same types.
  func::FuncOp getFunction(Location loc, const LinearTileTypes &product,
                           SymbolTable &symbols,
                           llvm::StringMap<func::FuncOp> &functions) {
    std::string name = product.getName();
    if (func::FuncOp known = functions.lookup(name))
      return known;
    SmallVector<func::FuncOp> tileFunctions;
    for (const LinearTile &tile : product.getTiles()) {
      tileFunctions.push_back(makeLinearTileFunction(
          loc, product, tile, name + "_rows" + std::to_string(tile.rows)));
      symbols.insert(tileFunctions.back());
      ++functionsMade;
    }
    func::FuncOp function =
        makeLinearFunction(loc, product, tileFunctions, name);
    symbols.insert(function);
    functions[name] = function;
    return function;
  }
};
} // namespace
