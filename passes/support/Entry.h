// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- Entry.h - The entry of a program and its interface -------*- C++ -*-===//
//
// Names of what the passes leave for each other: the algorithm of an
// operation, and the description of the entry's interface.
//
//===----------------------------------------------------------------------===//

#ifndef PASSES_SUPPORT_ENTRY_H
#define PASSES_SUPPORT_ENTRY_H

#include "dialect/GatefoldDialect.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/AffineMap.h"
#include "mlir/IR/BuiltinOps.h"
#include <optional>
#include <string>

namespace gatefold {

/// Attribute of a gf.recurrence or gf.attention: how it is to be computed.
inline constexpr llvm::StringLiteral algorithmName = "gf.algorithm";
inline constexpr llvm::StringLiteral naiveAlgorithm = "naive";

/// Attribute of an scf.for without results: its iterations are independent of
/// each other, and may be executed in any order, at the same time.
inline constexpr llvm::StringLiteral parallelName = "gf.parallel";

/// Attribute of the module: the interface of the entry.
inline constexpr llvm::StringLiteral descriptionName = "gf.description";

/// Attribute of a function until its parameters are arguments: a dictionary of
/// `name`, `type` and maybe `initial` for each of them, read or not.
inline constexpr llvm::StringLiteral parametersName = "gf.parameters";

/// The name that the entry takes, so that none is that of a function of libm.
inline constexpr llvm::StringLiteral runFunction = "gatefold_run_entry";

/// Functions beside the entry, as runtime/Description.h has them.
inline constexpr llvm::StringLiteral sizesFunction = "gatefold_sizes";
inline constexpr llvm::StringLiteral arenaFunction = "gatefold_arena_bytes";
/// A module may be without it: then one rank executes the entry.
inline constexpr llvm::StringLiteral usefulRanksFunction =
    "gatefold_useful_ranks";

/// The function that makes what depends on parameters alone, and the bytes of
/// its arena. A module may be without it.
inline constexpr llvm::StringLiteral prepareFunction = "gatefold_prepare_entry";
inline constexpr llvm::StringLiteral prepareArenaFunction =
    "gatefold_prepare_arena_bytes";

/// Attributes of the module: the bytes of the arena as text in the names of the
/// open dimensions, for what all ranks share and for each rank. Missing where
/// they are not a formula that people can read.
inline constexpr llvm::StringLiteral arenaFormulaName = "gf.arena_formula";
inline constexpr llvm::StringLiteral rankFormulaName = "gf.rank_arena_formula";

/// Attribute of an argument of the entry: what it is made from, in `prepare`.
inline constexpr llvm::StringLiteral preparedName = "gf.prepared";

/// Attribute of a cf.assert: the place of its message among the failures of the
/// interface.
inline constexpr llvm::StringLiteral failureName = "gf.failure";

/// Alignment of the arena and of what lies in it, in bytes.
inline constexpr int64_t arenaAlignment = 64;

/// The function with gf.entry, or the only public function with a body; else a
/// diagnostic.
llvm::FailureOr<mlir::func::FuncOp> findEntry(mlir::ModuleOp module);

/// size = scale * symbol + offset, scale > 0.
struct SizeBinding {
  unsigned symbol;
  int64_t scale, offset;
};

/// The open dimension that a size of an input gives, if it depends on one
/// alone, and linearly.
std::optional<SizeBinding> getSizeBinding(mlir::AffineExpr size,
                                          unsigned symbolCount);

/// One tensor at the interface of an entry.
struct InterfaceTensor {
  enum class Role { Input, State, Result, Parameter, Prepared };
  Role role = Role::Input;
  /// It is a result, or the state that follows.
  bool isResult = false;
  /// A parameter that nothing but `prepare` reads.
  bool isPrepareOnly = false;
  /// A state of which a run writes over a part: as an argument and as a result,
  /// whose memory holds it when the run begins.
  bool isInPlace = false;

  /// Made before any run; contiguous.
  bool isConstant() const {
    return role == Role::Parameter || role == Role::Prepared;
  }
  std::string name;
  mlir::RankedTensorType type;
  /// () [open dimensions] -> (sizes)
  mlir::AffineMap shape;
  /// The first value of a state, the default of a parameter.
  std::optional<double> initial;
  /// Bounds of the values of an integer tensor, or null.
  mlir::AffineMap below, atMost;
};

/// The interface of an entry: in the order of the arguments of a run.
struct Interface {
  std::string entry;
  llvm::SmallVector<std::string> dimensions;
  /// Parameters, prepared tensors, inputs, states; results, states that follow.
  llvm::SmallVector<InterfaceTensor> tensors;
  /// Pairs of sizes that must be equal, with what to say where they are not.
  llvm::SmallVector<mlir::AffineMap> equal;
  llvm::SmallVector<std::string> equalMessages;
  /// What the run and `prepare` may find on their way: messages of assertions.
  llvm::SmallVector<std::string> failures;

  /// Every size, in the order of runtime/Description.h: of inputs, results,
  /// parameters, prepared tensors; then bounds; then both sides of each check.
  llvm::SmallVector<mlir::AffineExpr> getSizes() const;
  /// The tensors of one kind, in order.
  llvm::SmallVector<const InterfaceTensor *> getInputs() const;
  llvm::SmallVector<const InterfaceTensor *> getResults() const;
  llvm::SmallVector<const InterfaceTensor *> getParameters() const;
  llvm::SmallVector<const InterfaceTensor *> getPrepared() const;

  /// The attribute that holds all of this, and back.
  mlir::DictionaryAttr toAttribute(mlir::MLIRContext *context) const;
  static llvm::FailureOr<Interface> fromModule(mlir::ModuleOp module);
};

/// A function that the runtime calls with a list of tensors: `prepare` or the
/// run.
struct EntryFunction {
  mlir::func::FuncOp function;
  /// The tensors of its arguments and then of its results; all are arguments
  /// once gf-destination-arguments has run.
  llvm::SmallVector<const InterfaceTensor *> tensors;
  /// How many of them it reads; it writes the others.
  unsigned argumentCount;
  /// The function of its arena's size, and whether that depends on the open
  /// dimensions.
  llvm::StringRef arenaFunction;
  bool hasOpenArena;
};

/// `prepare`, where there is one, and the run; a diagnostic where one is
/// missing, or its arguments and results do not count as many as the interface
/// has tensors, and one more if they have an arena.
llvm::FailureOr<llvm::SmallVector<EntryFunction, 2>>
findEntryFunctions(mlir::ModuleOp module, const Interface &interface,
                   bool haveArena = false);

/// Calls `visit` with each of them; a failure of it ends that.
llvm::LogicalResult visitEntryFunctions(
    mlir::ModuleOp module, bool haveArena,
    llvm::function_ref<llvm::LogicalResult(EntryFunction &, const Interface &)>
        visit);

/// The code that a run returns where the assertion does not hold, see
/// runtime/Description.h; a diagnostic where it has no place among the
/// failures.
llvm::FailureOr<int32_t> failureCode(mlir::cf::AssertOp assertion);

/// The run, whatever its arguments; a diagnostic where there is none.
llvm::FailureOr<mlir::func::FuncOp> findRun(mlir::ModuleOp module);

} // namespace gatefold

#endif // PASSES_SUPPORT_ENTRY_H
