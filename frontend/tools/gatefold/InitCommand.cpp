// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- InitCommand.cpp - gatefold init ------------------------------------===//

#include "frontend/tools/gatefold/Commands.h"
#include "frontend/tools/gatefold/Session.h"
#include "frontend/tools/gatefold/Weights.h"
#include "runtime/files/Write.h"

using namespace llvm;

namespace gatefold::tool {

/// What the parameters of the model are.
static ExitStatus findWanted(const CommandLine &line,
                             std::vector<WantedWeight> &wanted) {
  if (Session::isLibrary(line.files.front())) {
    Session session(line);
    if (ExitStatus status = session.open())
      return status;
    wanted = wantedWeights(session.description());
    return Done;
  }
  // The interface has them all before there is code, whatever is scheduled.
  CommandLine naive = line;
  naive.naive = true;
  Compilation compilation(naive);
  if (ExitStatus status = compilation.load())
    return status;
  if (ExitStatus status = compilation.lower("split"))
    return status;
  auto interface = Interface::fromModule(compilation.getModule());
  if (failed(interface))
    return OurFault;
  wanted = wantedWeights(*interface);
  return Done;
}

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
  std::vector<WantedWeight> parameters;
  if (ExitStatus status = findWanted(line, parameters))
    return status;
  std::vector<Weight> weights;
  int64_t values = 0;
  for (const WantedWeight &wanted : parameters) {
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
