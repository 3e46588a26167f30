// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- Compilation.h - From a file to code ----------------------*- C++ -*-===//

#ifndef FRONTEND_TOOLS_GATEFOLD_COMPILATION_H
#define FRONTEND_TOOLS_GATEFOLD_COMPILATION_H

#include "frontend/text/Check.h"
#include "frontend/tools/gatefold/CommandLine.h"
#include "frontend/tools/gatefold/InputFiles.h"
#include "frontend/tools/gatefold/Messages.h"
#include "frontend/tools/gatefold/ModuleDiagnostics.h"
#include "mlir/IR/MLIRContext.h"
#include "passes/emit/Emit.h"
#include "passes/emit/EmitKernels.h"

namespace gatefold {
struct ScheduledSize;
} // namespace gatefold

namespace gatefold::tool {

/// A warning where an assembler could not hold all registers of code for a GPU
/// (MachineCode::spills).
void warnOfSpills(llvm::StringRef target, llvm::StringRef spills);

/// One file on its way to code. Every step reports its own faults and gives an
/// exit status; after one that is not Done the rest must not be called.
class Compilation {
public:
  /// A recurrence or an attention, and how it is computed.
  struct Scheduled {
    std::string what;
    mlir::Location location;
    std::string algorithm;
    /// Those that the algorithm has: `step_rows`, or `query_block`, ..
    std::vector<std::pair<const ScheduledSize *, int64_t>> sizes;
  };

  explicit Compilation(const CommandLine &line);
  ~Compilation();

  /// Reads the text or the module and checks it. Inputs, where there are any,
  /// tell what the command line leaves open about a cell, func or attention.
  ExitStatus load(std::vector<OfferedInput> *inputs = nullptr);
  /// In place of `load`, a program that the caller has checked. What is not
  /// compiled yet goes to `refusals`, and the answer is false.
  bool importChecked(const text::Program &checked, text::Diagnostics &refusals);
  /// Runs the phases up to and with `last`, or all of them: of the target, and
  /// before them those of the GPUs beside it.
  ExitStatus lower(llvm::StringRef last = "");
  /// After `schedule`: the first pass of the phase `tile`, which alone knows
  /// the attentions that cannot be computed as they are scheduled.
  ExitStatus tileAttentions();
  /// Prints the module as it stands.
  void print(llvm::raw_ostream &out);
  ExitStatus emit(CodeForm form, std::unique_ptr<llvm::MemoryBuffer> &code);
  /// The kernels, where the target is a GPU.
  ExitStatus emit(KernelForm form, std::unique_ptr<llvm::MemoryBuffer> &code);
  /// Code for the GPUs beside the target, which objects then hold.
  ExitStatus emitVariants();

  bool isText() const { return text; }
  /// The checked program; null for a module.
  const text::Program *getProgram() const { return program.get(); }
  /// As the last phase left it.
  mlir::ModuleOp getModule() { return *module; }
  EmitOptions &emitOptions() { return options; }
  /// The texts that the program's places are in.
  const text::Sources &getSources() const { return sources; }

  /// For `report` and `check`, after the phases: each recurrence and attention,
  /// and what the passes said.
  const std::vector<Scheduled> &getScheduled() const { return scheduled; }
  const std::vector<PassRemark> &getRemarks() const { return remarks; }

  /// --timing: the phases so far, in seconds.
  void printTiming() const;
  llvm::json::Value timingJson() const;

private:
  void createContext();
  ExitStatus loadText(std::vector<OfferedInput> *inputs);
  ExitStatus loadModule();
  ExitStatus runPhases(mlir::ModuleOp program, llvm::StringRef target,
                       llvm::StringRef last,
                       mlir::OwningOpRef<mlir::ModuleOp> *host);
  void collectScheduled(mlir::ModuleOp program);
  ExitStatus lowerHost(mlir::ModuleOp host, llvm::StringRef target);
  std::string describePhase(llvm::StringRef phase,
                            llvm::StringRef target) const;
  template <typename Work> auto timed(llvm::StringRef phase, Work work);

  const CommandLine &line;
  bool text = false;
  Progress progress;
  text::Sources sources;
  text::Diagnostics diagnostics;
  std::unique_ptr<text::Package> package;
  std::unique_ptr<text::Program> program;
  std::vector<PassRemark> remarks; // outlives the context
  std::unique_ptr<mlir::MLIRContext> context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  /// Of a GPU that is emulated: what this machine does for it.
  mlir::OwningOpRef<mlir::ModuleOp> hostModule;
  /// A GPU beside the target: its kernels, and what a machine does for it.
  struct Variant {
    std::string target;
    mlir::OwningOpRef<mlir::ModuleOp> kernels, host;
  };
  std::vector<Variant> variants;
  bool isScheduleCollected = false;
  std::vector<Scheduled> scheduled;
  EmitOptions options;
  std::vector<std::pair<std::string, double>> timing;
};

/// Prints diagnostics on standard error, or collects them for --json; their
/// errors make InputFault.
ExitStatus report(const text::Diagnostics &diagnostics, bool json);

} // namespace gatefold::tool

#endif // FRONTEND_TOOLS_GATEFOLD_COMPILATION_H
