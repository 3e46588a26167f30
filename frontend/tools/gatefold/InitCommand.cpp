// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- InitCommand.cpp - gatefold init ------------------------------------===//

#include "frontend/tools/gatefold/Commands.h"
#include "frontend/tools/gatefold/Session.h"
#include "frontend/tools/gatefold/Weights.h"
#include "runtime/files/Write.h"

using namespace llvm;

namespace gatefold::tool {

ExitStatus runInit(const CommandLine &line) {
  if (line.output.empty()) {
    fail("init needs -o FILE.safetensors");
    return CommandLineFault;
  }
  if (!StringRef(line.output).ends_with(".safetensors")) {
    fail("init writes safetensors, found -o " + line.output,
         "-o NAME.safetensors");
    return CommandLineFault;
  }
  Session session(line);
  if (ExitStatus status = session.open())
    return status;
  std::vector<Weight> weights;
  int64_t values = 0;
  for (const WantedWeight &wanted : wantedWeights(session.description())) {
    auto made = randomWeight(wanted, line.seed.value_or(0));
    if (!made) {
      fail(toString(made.takeError()));
      return InputFault;
    }
    values += made->tensor.count();
    weights.push_back(std::move(*made));
  }
  std::vector<files::FileTensor> tensors;
  for (Weight &weight : weights)
    tensors.push_back(weight.tensor.toFile(weight.name));
  if (auto problem = files::writeSafetensors(line.output, tensors)) {
    fail(toString(toError(*problem)));
    return InputFault;
  }
  if (line.json)
    printJson(json::Object{{"file", line.output},
                           {"parameters", int64_t(weights.size())},
                           {"values", values}});
  else
    outs() << line.output << ": " << weights.size() << " parameters, "
           << grouped(values) << " values\n";
  return Done;
}

} // namespace gatefold::tool
