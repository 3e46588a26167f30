// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- CommandLine.cpp - What the user typed ------------------------------===//

#include "frontend/tools/gatefold/CommandLine.h"
#include "frontend/tools/gatefold/CommandLineValues.h"
#include "frontend/tools/gatefold/Messages.h"
#include "runtime/Team.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

using namespace llvm;

namespace gatefold::tool {
namespace {

cl::SubCommand checkCommand("check",
                            "parse and type-check; list entries, inputs, "
                            "results, parameters, algorithms");
cl::SubCommand formatCommand("fmt", "print in the standard layout");
cl::SubCommand initCommand("init", "random weights for every parameter");
cl::SubCommand runCommand("run", "compute results from inputs");
cl::SubCommand compileCommand("compile",
                              "make a shared library and header, an object, "
                              "LLVM IR, ...");
cl::SubCommand benchCommand("bench", "time it: median, spread, FLOP/s");
cl::SubCommand reportCommand("report", "parameters, operations, bytes, what "
                                       "was scheduled and fused, arena");
cl::SubCommand doctorCommand("doctor", "versions, CPU features, tools found");

cl::OptionCategory category("Gatefold options");

// Groups of commands that share an option.
#define ON_ALL                                                                 \
  cl::cat(category), cl::sub(checkCommand), cl::sub(formatCommand),            \
      cl::sub(initCommand), cl::sub(runCommand), cl::sub(compileCommand),      \
      cl::sub(benchCommand), cl::sub(reportCommand), cl::sub(doctorCommand)
#define ON_PROGRAM                                                             \
  cl::cat(category), cl::sub(checkCommand), cl::sub(initCommand),              \
      cl::sub(runCommand), cl::sub(compileCommand), cl::sub(benchCommand),     \
      cl::sub(reportCommand)
#define ON_CODE                                                                \
  cl::cat(category), cl::sub(runCommand), cl::sub(compileCommand),             \
      cl::sub(benchCommand), cl::sub(reportCommand)
#define ON_TARGET                                                              \
  cl::cat(category), cl::sub(checkCommand), cl::sub(runCommand),               \
      cl::sub(compileCommand), cl::sub(benchCommand), cl::sub(reportCommand)
#define ON_WEIGHTS                                                             \
  cl::cat(category), cl::sub(runCommand), cl::sub(compileCommand),             \
      cl::sub(benchCommand)
#define ON_RUN cl::cat(category), cl::sub(runCommand), cl::sub(benchCommand)

cl::list<std::string> files(cl::Positional, cl::desc("FILE..."), ON_ALL);
cl::opt<std::string> entry("entry",
                           cl::desc("which model, func, cell or attention"),
                           cl::value_desc("NAME"), ON_PROGRAM);
cl::list<std::string>
    importFolders("I", cl::Prefix,
                  cl::desc("further places where import looks"),
                  cl::value_desc("DIR"), ON_PROGRAM);
cl::list<std::string> dimensions("dim", cl::CommaSeparated,
                                 cl::desc("fix dimensions"),
                                 cl::value_desc("H=128,T=64"), ON_PROGRAM);
cl::list<std::string> arguments("arg", cl::desc("give a setting"),
                                cl::value_desc("NAME=VALUE"), ON_PROGRAM);
cl::opt<unsigned> lead("lead",
                       cl::desc("leading dimensions of each input, where the "
                                "entry is a cell, func or attention"),
                       cl::value_desc("N"), cl::init(0), ON_PROGRAM);
cl::list<std::string> tensorOptions(
    "with-input",
    cl::desc("an option of a cell or attention entry that is to be an input "
             "(lengths, mask, bias, ...), with its rank; `run` takes what "
             "--input gives"),
    cl::value_desc("NAME[:RANK]"), ON_PROGRAM);
cl::opt<std::string> floatType("float", cl::desc("the model's float type"),
                               cl::value_desc("f16|bf16|f32|f64"),
                               cl::init("f32"), ON_PROGRAM);
cl::list<std::string> target("target",
                             cl::desc("native, x86-64-v3, x86-64-v4, aarch64, "
                                      "or a GPU: sm_80, sm_90, ...; `compile` "
                                      "takes several"),
                             cl::value_desc("T"), ON_TARGET);
cl::opt<bool> naive("naive", cl::desc("without fusion, tiling or reduced work"),
                    ON_CODE);
cl::opt<bool>
    fastMath("fast-math",
             cl::desc("less exact arithmetic: maps of weight 0 left out; on a "
                      "GPU, products of f32 in tf32 and approximate "
                      "exponentials"),
             ON_CODE);
cl::list<std::string> schedule(
    "schedule",
    cl::desc("algorithms and their sizes in place of those chosen: "
             "recurrence.algorithm=naive|steps|scan, recurrence.step_rows, "
             "recurrence.directions=joined|apart, "
             "attention.algorithm=naive|resident|online|registers "
             "(the last of a GPU), "
             "attention.query_block, attention.key_block, "
             "product.panel_width"),
    cl::value_desc("KEY=VALUE,..."), ON_CODE);
cl::opt<bool> locations("locations",
                        cl::desc("print a phase's module with the places in "
                                 "the text that its operations come from"),
                        cl::cat(category), cl::sub(compileCommand));
cl::opt<std::string>
    emit("emit",
         cl::desc("a phase (import, simplify, fuse, schedule, "
                  "tile, split, bufferize, then cpu or gpu and nvvm), or "
                  "llvm, asm, object, library, ptx, cubin, fatbin"),
         cl::value_desc("WHAT"), cl::cat(category), cl::sub(compileCommand));
cl::opt<std::string> output("o", cl::desc("output file; - is standard output"),
                            cl::value_desc("OUT"), cl::cat(category),
                            cl::sub(compileCommand), cl::sub(initCommand));
cl::list<std::string> weights("weights",
                              cl::desc(".safetensors, .safetensors.index.json, "
                                       ".npz, or a folder of .npy"),
                              cl::value_desc("W"), ON_WEIGHTS);
cl::opt<std::string> strip("strip", cl::desc("take a prefix off weight names"),
                           cl::value_desc("PREFIX"), ON_WEIGHTS);
cl::opt<uint64_t> seed("seed", cl::desc("random numbers for what is missing"),
                       cl::value_desc("N"), cl::cat(category),
                       cl::sub(initCommand), cl::sub(runCommand),
                       cl::sub(benchCommand));
cl::list<std::string> inputs("input",
                             cl::desc("an input, or a file of several"),
                             cl::value_desc("[NAME=]X.npy"), ON_RUN);
cl::list<std::string> outputs("output", cl::desc("where a result goes"),
                              cl::value_desc("NAME=Y.npy"), cl::cat(category),
                              cl::sub(runCommand));
cl::opt<std::string> outputFolder("output-dir",
                                  cl::desc("writes every result as D/NAME.npy"),
                                  cl::value_desc("D"), cl::cat(category),
                                  cl::sub(runCommand));
cl::opt<std::string> compare("compare",
                             cl::desc("compare results with an .npz; exit 3 "
                                      "where they differ"),
                             cl::value_desc("FILE"), cl::cat(category),
                             cl::sub(runCommand));
cl::opt<std::string>
    relativeTolerance("rtol",
                      cl::desc("of --compare: how much floats may differ, as a "
                               "part of what is expected"),
                      cl::value_desc("X"), cl::cat(category),
                      cl::sub(runCommand));
cl::opt<std::string>
    absoluteTolerance("atol",
                      cl::desc("of --compare: how much more, whatever is "
                               "expected"),
                      cl::value_desc("X"), cl::cat(category),
                      cl::sub(runCommand));
cl::opt<std::string> device("device",
                            cl::desc("cpu, cuda, or emulator: of a GPU"),
                            cl::value_desc("DEVICE"), cl::init("cpu"), ON_RUN);
cl::opt<unsigned>
    threads("threads",
            cl::desc("threads of a run, at most; else as many as cores"),
            cl::value_desc("N"), cl::init(0), ON_RUN);
cl::opt<std::string> copies("copies",
                            cl::desc("of the emulator: late, or early"),
                            cl::value_desc("WHEN"), cl::init("late"),
                            cl::cat(category), cl::sub(runCommand));
cl::opt<bool> inPlace("i", cl::desc("rewrite the file"), cl::cat(category),
                      cl::sub(formatCommand));
cl::opt<bool> checkOnly("check",
                        cl::desc("only ask whether the layout is standard; "
                                 "exit 3 where it is not"),
                        cl::cat(category), cl::sub(formatCommand));
cl::opt<bool> remarks("remarks",
                      cl::desc("what each pass chose or did, why, and where"),
                      ON_CODE);
cl::opt<bool> timing("timing",
                     cl::desc("time of each phase of the compilation"),
                     ON_CODE);
cl::opt<bool> json("json", cl::desc("output for programs: one JSON document"),
                   ON_ALL);

/// The first fault that LLVM's parser found, in the form of all other messages.
void failAsParser(StringRef problems) {
  // Some it prints itself, whatever stream it is given.
  if (problems.empty())
    return fail("the command line is at fault, as said above");
  auto [first, rest] = problems.split('\n');
  StringRef message = first.split(".  Try: ").first;
  message = message.substr(message.find(": ") + 2);
  // It suggests the nearest one, however far away that is.
  StringRef given = message.split('\'').second.split('\'').first;
  StringRef suggestion = rest.split('\n').first;
  suggestion = suggestion.substr(suggestion.find("Did you mean "));
  StringRef nearest = suggestion.split('\'').second.split('\'').first;
  bool isNear = !nearest.empty() && given.edit_distance(nearest) <= 2;
  fail(message, isNear
                    ? suggestion
                    : StringRef("`gatefold COMMAND --help` lists the options"));
}

} // namespace

ExitStatus refuseTextOptions(const CommandLine &line, const std::string &what) {
  if (line.textOptions.empty())
    return Done;
  fail(line.textOptions.front() + " is for texts: " + line.files.front() +
       " is " + what);
  return CommandLineFault;
}

std::string libraryFolder() {
  std::string program = sys::fs::getMainExecutable(nullptr, nullptr);
  SmallString<256> folder(
      sys::path::parent_path(sys::path::parent_path(program)));
  sys::path::append(folder, "share", "gatefold", "library");
  return folder.str().str();
}

std::optional<CommandLine> parseCommandLine(int argc, char **argv,
                                            int &exitStatus) {
  for (cl::SubCommand *command :
       {&checkCommand, &formatCommand, &initCommand, &runCommand,
        &compileCommand, &benchCommand, &reportCommand, &doctorCommand})
    cl::HideUnrelatedOptions(category, *command);
  cl::HideUnrelatedOptions(category);
  cl::SetVersionPrinter(
      [](raw_ostream &out) { out << "gatefold " GATEFOLD_VERSION "\n"; });

  std::string problems;
  raw_string_ostream errors(problems);
  exitStatus = CommandLineFault;
  if (!cl::ParseCommandLineOptions(argc, argv,
                                   "Gatefold: sequence models from their "
                                   "equations to native code\n",
                                   &errors)) {
    failAsParser(problems);
    return std::nullopt;
  }

  CommandLine line;
  const std::pair<cl::SubCommand *, Command> commands[] = {
      {&checkCommand, Command::Check},     {&formatCommand, Command::Format},
      {&initCommand, Command::Init},       {&runCommand, Command::Run},
      {&compileCommand, Command::Compile}, {&benchCommand, Command::Bench},
      {&reportCommand, Command::Report},   {&doctorCommand, Command::Doctor}};
  bool found = false;
  for (auto [subcommand, command] : commands)
    if (*subcommand) {
      line.command = command;
      found = true;
    }
  if (!found) {
    fail("which command? check, fmt, init, run, compile, bench, report or "
         "doctor; `gatefold --help` says more");
    return std::nullopt;
  }
  line.files = files;
  line.entry.entry = entry;
  line.entry.leadRank = lead;
  line.leadGiven = lead.getNumOccurrences() != 0;
  auto element = StringSwitch<std::optional<text::Element>>(floatType)
                     .Case("f16", text::Element::F16)
                     .Case("bf16", text::Element::BF16)
                     .Case("f32", text::Element::F32)
                     .Case("f64", text::Element::F64)
                     .Default(std::nullopt);
  if (!element) {
    fail("--float is f16, bf16, f32 or f64, found `" + floatType + "`");
    return std::nullopt;
  }
  line.entry.floatType = *element;
  if (lead > 8) {
    fail("--lead is at most 8, found " + std::to_string(lead));
    return std::nullopt;
  }
  line.naive = naive;
  if (!readDimensions(dimensions, line) || !readArguments(arguments, line) ||
      !readTensorOptions(tensorOptions, line) ||
      (schedule.getNumOccurrences() && !readSchedule(schedule, line)) ||
      !readOutputs(outputs, line) || !readTargets(target, line))
    return std::nullopt;
  const std::pair<const cl::Option &, const char *> ofTexts[] = {
      {entry, "--entry"},    {arguments, "--arg"},
      {lead, "--lead"},      {tensorOptions, "--with-input"},
      {importFolders, "-I"}, {floatType, "--float"}};
  for (const std::string &folder : importFolders)
    if (!sys::fs::is_directory(folder)) {
      fail("-I " + folder + ": not a folder");
      return std::nullopt;
    }
  for (const auto &[option, name] : ofTexts)
    if (option.getNumOccurrences())
      line.textOptions.push_back(name);
  line.importFolders = importFolders;
  line.importFolders.push_back(libraryFolder());
  line.device = device;
  line.fastMath = fastMath;
  line.emit = emit;
  line.locations = locations;
  line.output = output;
  line.weights = weights;
  line.strip = strip;
  if (seed.getNumOccurrences())
    line.seed = seed;
  line.inputs = inputs;
  line.outputFolder = outputFolder;
  line.compare = compare;
  line.threads = threads;
  line.inPlace = inPlace;
  line.checkOnly = checkOnly;
  line.timing = timing;
  line.remarks = remarks;
  line.json = json;

  if (line.files.empty() && line.command != Command::Doctor) {
    fail("no FILE is given");
    return std::nullopt;
  }
  bool several =
      line.command == Command::Check || line.command == Command::Format;
  if (line.files.size() > 1 && !several) {
    fail("this command takes one FILE, found " +
         std::to_string(line.files.size()));
    return std::nullopt;
  }
  if (!checkDevice(line))
    return std::nullopt;
  if (threads.getNumOccurrences() && threads == 0) {
    fail("--threads is at least 1");
    return std::nullopt;
  }
  if (relativeTolerance.getNumOccurrences() &&
      !readTolerance("--rtol", relativeTolerance, line.relativeTolerance))
    return std::nullopt;
  if (absoluteTolerance.getNumOccurrences() &&
      !readTolerance("--atol", absoluteTolerance, line.absoluteTolerance))
    return std::nullopt;
  if ((line.relativeTolerance || line.absoluteTolerance) &&
      line.compare.empty()) {
    fail("--rtol and --atol are for --compare alone");
    return std::nullopt;
  }
  // Those of the emulator are blocks, of which a model's own threads decide.
  if (threads > gatefold_team_maximum && line.device != "emulator") {
    fail("--threads is at most " + std::to_string(gatefold_team_maximum) +
         ", found " + std::to_string(threads));
    return std::nullopt;
  }
  line.hasEarlyCopies = copies == "early";
  if (!line.hasEarlyCopies && copies != "late") {
    fail("--copies " + copies + ": there are late and early");
    return std::nullopt;
  }
  if (copies.getNumOccurrences() && line.device != "emulator") {
    fail("--copies is for --device emulator alone");
    return std::nullopt;
  }
  exitStatus = Done;
  return line;
}

} // namespace gatefold::tool
