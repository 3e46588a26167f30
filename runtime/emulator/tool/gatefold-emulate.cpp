// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- gatefold-emulate.cpp - Runs a kernel for GPUs on the CPU -----------===//

#include "runtime/emulator/tool/Report.h"
#include "runtime/files/Write.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/IRReader/IRReader.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/CrashRecoveryContext.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/PrettyStackTrace.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/raw_ostream.h"
#include <algorithm>
#include <tuple>

using namespace llvm;
using namespace gatefold;
using namespace gatefold::emulator;

namespace {

/// As those of the other programs.
enum ExitStatus { Done = 0, InputFault = 1, CommandLineFault = 2, Found = 3 };

enum class Copies { Late, Early, Both };

constexpr uint64_t mostModuleBytes = 64 << 20;

cl::OptionCategory category("gatefold-emulate options");

cl::opt<std::string> file(cl::Positional, cl::Required,
                          cl::desc("FILE.bc or FILE.ll"), cl::cat(category));
cl::opt<std::string> kernelName("kernel",
                                cl::desc("which kernel, where there are "
                                         "several"),
                                cl::value_desc("NAME"), cl::cat(category));
cl::opt<bool> listsKernels("kernels",
                           cl::desc("list the kernels and their parameters"),
                           cl::cat(category));
cl::opt<std::string> grid("grid", cl::desc("blocks"), cl::value_desc("X,Y,Z"),
                          cl::init("1"), cl::cat(category));
cl::opt<std::string> block("block", cl::desc("threads of a block"),
                           cl::value_desc("X,Y,Z"), cl::init("1"),
                           cl::cat(category));
cl::opt<uint64_t> shared("shared", cl::desc("bytes of dynamic shared memory"),
                         cl::value_desc("BYTES"), cl::init(0),
                         cl::cat(category));
cl::opt<bool> cooperative("cooperative",
                          cl::desc("all blocks are alive at once and may wait "
                                   "for each other"),
                          cl::cat(category));
cl::opt<Copies> copies(
    "copies", cl::desc("when asynchronous copies take place"),
    cl::values(clEnumValN(Copies::Late, "late", "when they are waited for"),
               clEnumValN(Copies::Early, "early", "at once"),
               clEnumValN(Copies::Both, "both", "one run of each")),
    cl::init(Copies::Both), cl::cat(category));
cl::opt<ThreadOrder> order(
    "order", cl::desc("whose turn it is"),
    cl::values(clEnumValN(ThreadOrder::Forward, "forward", "from the first"),
               clEnumValN(ThreadOrder::Reverse, "reverse", "from the last"),
               clEnumValN(ThreadOrder::Shuffled, "shuffled",
                          "at random, see --seed")),
    cl::init(ThreadOrder::Forward), cl::cat(category));
cl::opt<uint64_t> seed("seed", cl::desc("of --order shuffled"),
                       cl::value_desc("N"), cl::init(0), cl::cat(category));
cl::list<std::string> arguments(
    "argument",
    cl::desc("an argument, in the order of the kernel's parameters: i32:5, "
             "null, x=x.npy, y=f32[4,128], y=f32[4,128]:0, x, x+64"),
    cl::value_desc("A"), cl::cat(category));
cl::list<std::string> outputs("output", cl::desc("where a buffer goes"),
                              cl::value_desc("NAME=FILE.npy"),
                              cl::cat(category));
cl::opt<uint64_t> maxSteps("max-steps",
                           cl::desc("turns through loops, of one thread; if "
                                    "not given, 2^30, or 2^28 in which it "
                                    "looks at no memory that others see"),
                           cl::value_desc("N"), cl::init(Limits().steps),
                           cl::cat(category));
cl::opt<unsigned> maxFindings("max-findings",
                              cl::desc("after so many at different places the "
                                       "run ends"),
                              cl::value_desc("N"), cl::init(Limits().findings),
                              cl::cat(category));
cl::opt<bool> printsJson("json", cl::desc("print one JSON document"),
                         cl::cat(category));

/// What is said at the end, of all runs.
struct Outcome {
  json::Object document;
  json::Array messages;
  int status = Done;

  int fail(Error error, int asStatus = InputFault) {
    std::string message = toString(std::move(error));
    if (printsJson)
      messages.push_back(messageJson("error", message));
    else
      say("error", message);
    return status = asStatus;
  }
  int finish() {
    if (!printsJson)
      return status;
    if (!messages.empty())
      document["messages"] = std::move(messages);
    outs() << formatv("{0:2}", json::Value(std::move(document))) << "\n";
    return status;
  }
};

} // namespace

static Expected<Extent> parseExtent(StringRef option, StringRef text) {
  SmallVector<StringRef> parts;
  text.split(parts, ',');
  uint32_t sizes[3] = {1, 1, 1};
  if (parts.size() > 3)
    return createStringError("--" + option + " has up to 3 sizes, not `" +
                             text + "`");
  for (auto [part, size] : zip(parts, sizes))
    if (part.trim().getAsInteger(10, size))
      return createStringError("--" + option + ": `" + part +
                               "` is no number\nhint: --" + option + " 2,1,1");
  return Extent{sizes[0], sizes[1], sizes[2]};
}

static Error writeOutput(StringRef option, Arguments &given,
                         ArrayRef<Summary> summaries) {
  auto [name, path] = option.split('=');
  for (const Summary &summary : summaries) {
    if (summary.buffer->name != name)
      continue;
    files::FileTensor tensor;
    tensor.name = name.str();
    tensor.element = summary.buffer->element;
    tensor.shape = summary.buffer->shape;
    tensor.data = summary.values.data();
    tensor.bytes = summary.values.size();
    if (auto error = files::writeNpy(path.str(), tensor))
      return createStringError(
          error->message +
          (error->hint.empty() ? "" : "\nhint: " + error->hint));
    return Error::success();
  }
  return Error::success();
}

/// LLVM's readers end the process where a module breaks its rules, and damaged
/// bitcode may make them fail by a signal. Then the file is at fault, not this
/// program.
static Error checkReadable(MemoryBufferRef module) {
  CrashRecoveryContext::Enable();
  CrashRecoveryContext recovery;
  bool survived = recovery.RunSafely([&] {
    LLVMContext context;
    SMDiagnostic diagnostic;
    parseIR(module, diagnostic, context);
  });
  CrashRecoveryContext::Disable();
  if (survived)
    return Error::success();
  return createStringError("`" + file + "` is broken: LLVM cannot read it");
}

/// Whether two runs found the same thing: which threads it was may differ.
static bool isSame(const Finding &left, const Finding &right) {
  auto isSameFrame = [](const Place::Frame &one, const Place::Frame &other) {
    return std::tie(one.file, one.function, one.line, one.column) ==
           std::tie(other.file, other.function, other.line, other.column);
  };
  auto isSamePlace = [&](const Event &one, const Event &other) {
    return one.place.instruction == other.place.instruction &&
           std::equal(one.place.frames.begin(), one.place.frames.end(),
                      other.place.frames.begin(), other.place.frames.end(),
                      isSameFrame);
  };
  return left.kind == right.kind &&
         std::equal(left.events.begin(), left.events.end(),
                    right.events.begin(), right.events.end(), isSamePlace);
}

/// One run on a device of its own; adds what it finds to `findings`. One that
/// reached a limit is made the last: another one would take as long.
static Error runOnce(MemoryBufferRef module, Arguments &given,
                     LaunchOptions options, std::vector<Finding> &findings,
                     Outcome &outcome, bool &isLast) {
  Expected<std::unique_ptr<Device>> device = Device::create();
  if (!device)
    return device.takeError();
  Expected<std::unique_ptr<Program>> program = Program::load(**device, module);
  if (!program)
    return program.takeError();
  ArrayRef<Kernel> kernels = (*program)->kernels();
  if (listsKernels) {
    if (printsJson)
      outcome.document["kernels"] = kernelsJson(kernels);
    else
      printKernels(kernels);
    return Error::success();
  }
  std::string name = kernelName;
  if (name.empty() && kernels.size() > 1)
    return createStringError("the module has " + Twine(kernels.size()) +
                             " kernels\nhint: choose one with --kernel; "
                             "--kernels lists them");
  if (name.empty())
    name = kernels.front().name;
  Expected<std::vector<emulator::Argument>> values = given.place(**device);
  if (!values)
    return values.takeError();
  Expected<LaunchResult> result = (*program)->launch(name, *values, options);
  if (!result)
    return result.takeError();
  isLast |= !result->finished && !result->findings.empty() &&
            result->findings.back().kind == FindingKind::Limit;
  for (Finding &finding : result->findings)
    if (none_of(findings,
                [&](const Finding &old) { return isSame(old, finding); })) {
      if (!printsJson)
        printFinding(finding);
      findings.push_back(std::move(finding));
    }
  if (!isLast)
    return Error::success();

  std::vector<Summary> summaries;
  for (const Buffer &buffer : given.buffers) {
    Expected<Summary> summary = summarise(**device, buffer);
    if (!summary)
      return summary.takeError();
    summaries.push_back(std::move(*summary));
  }
  for (StringRef output : outputs)
    if (Error error = writeOutput(output, given, summaries))
      return error;
  json::Array results;
  if (!printsJson)
    outs() << result->printed;
  for (const Summary &summary : summaries) {
    if (printsJson)
      results.push_back(summaryJson(summary));
    else if (!summary.buffer->isInput)
      printSummary(summary);
  }
  outcome.document["finished"] = result->finished;
  outcome.document["printed"] = json::fixUTF8(result->printed);
  outcome.document["results"] = std::move(results);
  outcome.document["statistics"] = statisticsJson(result->statistics);
  return Error::success();
}

static int run() {
  Outcome outcome;
  LaunchOptions options;
  Arguments given;
  Expected<Extent> gridSize = parseExtent("grid", grid);
  if (!gridSize) {
    outcome.fail(gridSize.takeError(), CommandLineFault);
    return outcome.finish();
  }
  Expected<Extent> blockSize = parseExtent("block", block);
  if (!blockSize) {
    outcome.fail(blockSize.takeError(), CommandLineFault);
    return outcome.finish();
  }
  options.grid = *gridSize;
  options.block = *blockSize;
  options.dynamicSharedBytes = shared;
  options.cooperative = cooperative;
  options.order = order;
  options.seed = seed;
  options.limits.steps = maxSteps;
  if (maxSteps.getNumOccurrences())
    options.limits.quietSteps = maxSteps;
  options.limits.findings = std::max(1u, maxFindings.getValue());
  for (StringRef text : arguments)
    if (Error error = given.add(text)) {
      outcome.fail(std::move(error), CommandLineFault);
      return outcome.finish();
    }
  for (StringRef output : outputs) {
    auto [name, path] = output.split('=');
    if (!path.empty() && given.find(name))
      continue;
    outcome.fail(createStringError("--output " + output +
                                   ": no buffer of the arguments is called `" +
                                   name + "`\nhint: --output NAME=FILE.npy"),
                 CommandLineFault);
    return outcome.finish();
  }

  ErrorOr<std::unique_ptr<MemoryBuffer>> module =
      MemoryBuffer::getFileOrSTDIN(file);
  if (!module || (*module)->getBufferSize() > mostModuleBytes) {
    outcome.fail(createStringError(
        "`" + file +
        "`: " + (module ? "more than 64 MiB" : module.getError().message())));
    return outcome.finish();
  }
  if (Error error = checkReadable(**module)) {
    outcome.fail(std::move(error));
    return outcome.finish();
  }
  std::vector<CopyTime> times;
  if (copies != Copies::Early || listsKernels)
    times.push_back(CopyTime::Late);
  if (copies != Copies::Late && !listsKernels)
    times.push_back(CopyTime::Early);
  std::vector<Finding> findings;
  for (CopyTime time : times) {
    options.copies = time;
    bool isLast = time == times.back();
    if (Error error =
            runOnce(**module, given, options, findings, outcome, isLast))
      outcome.fail(std::move(error));
    if (isLast || outcome.status != Done)
      break;
  }
  if (!listsKernels) {
    json::Array found;
    for (const Finding &finding : findings)
      found.push_back(findingJson(finding));
    outcome.document["findings"] = std::move(found);
  }
  if (!findings.empty() && outcome.status == Done)
    outcome.status = Found;
  return outcome.finish();
}

int main(int argc, char **argv) {
  setBugReportMsg("This is a fault of Gatefold. Please report it with the "
                  "file and the command line below.\n");
  InitLLVM initialise(argc, argv);
  cl::HideUnrelatedOptions(category);
  std::string faults;
  raw_string_ostream stream(faults);
  if (!cl::ParseCommandLineOptions(argc, argv,
                                   "runs a kernel for GPUs on the CPU and "
                                   "checks what it does\n",
                                   &stream)) {
    errs() << faults;
    return CommandLineFault;
  }
  return run();
}
