// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- Report.h - What a run found and computed -----------------*- C++ -*-===//

#ifndef RUNTIME_EMULATOR_TOOL_REPORT_H
#define RUNTIME_EMULATOR_TOOL_REPORT_H

#include "runtime/emulator/tool/Buffers.h"
#include "llvm/Support/JSON.h"

namespace gatefold::emulator {

/// `gatefold-emulate: error: MESSAGE`, then the hint that stands in its next
/// line.
void say(llvm::StringRef severity, const llvm::Twine &message);
llvm::json::Object messageJson(llvm::StringRef severity,
                               llvm::StringRef message);

/// As compilers print errors.
void printFinding(const Finding &finding);
llvm::json::Object findingJson(const Finding &finding);

/// What a buffer holds after a run.
struct Summary {
  const Buffer *buffer = nullptr;
  std::vector<uint8_t> values;
  /// Elements with a byte that nobody has written.
  uint64_t unwritten = 0;
};
llvm::Expected<Summary> summarise(const Device &device, const Buffer &buffer);
void printSummary(const Summary &summary);
llvm::json::Object summaryJson(const Summary &summary);

llvm::json::Object statisticsJson(const Statistics &statistics);
void printKernels(llvm::ArrayRef<Kernel> kernels);
llvm::json::Array kernelsJson(llvm::ArrayRef<Kernel> kernels);

} // namespace gatefold::emulator

#endif // RUNTIME_EMULATOR_TOOL_REPORT_H
