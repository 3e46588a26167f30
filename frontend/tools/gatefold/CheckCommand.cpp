// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- CheckCommand.cpp - gatefold check ----------------------------------===//

#include "frontend/tools/gatefold/Commands.h"
#include "frontend/tools/gatefold/Compilation.h"
#include "frontend/tools/gatefold/EntryAlgorithms.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Path.h"

using namespace llvm;

namespace gatefold::tool {
namespace {

/// The sizes of a shape as JSON: numbers, or the text of a formula.
json::Array shapeJson(const text::TensorType &type) {
  json::Array shape;
  for (const text::Size &size : type.shape) {
    if (auto known = size.constant())
      shape.push_back(*known);
    else
      shape.push_back(size.str());
  }
  return shape;
}

json::Object tensorJson(StringRef name, const text::TensorType &type) {
  return json::Object{{"name", name.str()},
                      {"element", text::spelling(type.element).str()},
                      {"shape", shapeJson(type)}};
}

std::string typeText(const text::Program &program,
                     const text::TensorType &type) {
  return text::str(type, program.floatType);
}

/// The number of values of all parameters, where every size is known.
std::optional<int64_t> parameterValues(const text::Program &program) {
  int64_t total = 0;
  for (const text::ProgramParameter &parameter : program.parameters) {
    int64_t values = 1;
    for (const text::Size &size : parameter.type.shape) {
      auto known = size.constant();
      if (!known || MulOverflow(values, *known, values))
        return std::nullopt;
    }
    if (AddOverflow(total, values, total))
      return std::nullopt;
  }
  return total;
}

json::Object programJson(const text::Program &program,
                         const std::vector<std::string> &missing) {
  json::Array inputs, results, parameters, open;
  for (const text::ProgramInput &input : program.inputs) {
    json::Object object = tensorJson(input.name, input.type);
    object["role"] = input.isState ? "state" : "input";
    inputs.push_back(std::move(object));
  }
  for (const text::ProgramResult &result : program.results) {
    json::Object object = tensorJson(result.name, result.value.type());
    object["role"] = result.isState ? "state" : "result";
    results.push_back(std::move(object));
  }
  for (const text::ProgramParameter &parameter : program.parameters) {
    json::Object object = tensorJson(parameter.name, parameter.type);
    if (parameter.initial)
      object["initial"] = jsonNumber(*parameter.initial);
    parameters.push_back(std::move(object));
  }
  for (const text::Symbol &symbol : program.symbols)
    open.push_back(symbol.name);
  return json::Object{{"kind", text::spelling(program.kind).str()},
                      {"name", program.name},
                      {"open", std::move(open)},
                      {"missing", json::Array(missing)},
                      {"inputs", std::move(inputs)},
                      {"results", std::move(results)},
                      {"parameters", std::move(parameters)}};
}

void printProgram(const text::Program &program,
                  const std::vector<std::string> &missing) {
  raw_ostream &out = outs();
  out << text::spelling(program.kind) << " " << program.name << "\n";
  if (!missing.empty())
    out << "  must be given  " << join(missing, ", ") << "\n";
  for (const text::ProgramInput &input : program.inputs) {
    out << "  " << (input.isState ? "state    " : "input    ") << "  "
        << input.name << ": " << typeText(program, input.type) << "\n";
  }
  for (const text::ProgramResult &result : program.results)
    if (!result.isState)
      out << "  result     " << result.name << ": "
          << typeText(program, result.value.type()) << "\n";
  for (const text::ProgramParameter &parameter : program.parameters) {
    out << "  parameter  " << parameter.name << ": "
        << typeText(program, parameter.type);
    if (parameter.initial)
      out << " = " << numberText(*parameter.initial);
    out << "\n";
  }
  if (auto values = parameterValues(program);
      values && !program.parameters.empty())
    out << "  " << program.parameters.size() << " parameters, "
        << grouped(*values) << " values\n";
}

/// Lists the entries of a text that has no errors.
ExitStatus listEntries(const CommandLine &line, text::Package &package,
                       EntryAlgorithms &algorithms, json::Array &entries) {
  std::vector<text::EntryOptions> wanted;
  if (!line.entry.entry.empty()) {
    wanted.push_back(line.entry);
  } else {
    for (const auto &declaration : package.main().module->declarations) {
      wanted.push_back(line.entry);
      wanted.back().entry = declaration->name.name.str();
    }
  }
  for (text::EntryOptions &options : wanted) {
    options.allowUnknown = true;
    std::vector<std::string> missing;
    std::unique_ptr<text::Program> program =
        text::checkEntry(package, options, &missing);
    if (!program)
      continue; // reported
    json::Object entry;
    if (line.json)
      entry = programJson(*program, missing);
    else
      printProgram(*program, missing);
    // What is missing keeps a program from being compiled.
    if (missing.empty())
      if (ExitStatus status =
              algorithms.list(*program, line.json ? &entry : nullptr))
        return status;
    if (line.json)
      entries.push_back(std::move(entry));
  }
  return Done;
}

ExitStatus checkText(const CommandLine &line, const std::string &path,
                     json::Array &entries) {
  text::Sources sources;
  text::Diagnostics diagnostics(sources);
  text::Package package(diagnostics, line.importFolders);
  std::string error;
  if (!package.load(path, error)) {
    fail(error);
    return InputFault;
  }
  if (line.entry.entry.empty())
    text::checkFile(package, line.entry.floatType);
  EntryAlgorithms algorithms(line, path);
  ExitStatus listed = Done;
  if (!diagnostics.hasErrors())
    listed = listEntries(line, package, algorithms, entries);
  ExitStatus status = report(diagnostics, line.json);
  return listed ? listed : status;
}

ExitStatus checkModule(const CommandLine &line, const std::string &path) {
  if (line.targetGiven) {
    fail("--target says what `check` lists of a text: " + path +
         " is a module");
    return CommandLineFault;
  }
  CommandLine one = line;
  one.files = {path};
  Compilation compilation(one);
  if (ExitStatus status = compilation.load())
    return status;
  if (!line.json)
    for (auto function : compilation.getModule().getOps<mlir::func::FuncOp>())
      outs() << "func " << function.getName() << "\n";
  return Done;
}

} // namespace

ExitStatus runCheck(const CommandLine &line) {
  ExitStatus status = Done;
  json::Array files;
  for (const std::string &path : line.files) {
    json::Array entries;
    bool isText = StringRef(path).ends_with(".gf");
    ExitStatus one =
        isText ? checkText(line, path, entries) : checkModule(line, path);
    if (one != Done)
      status = one;
    files.push_back(json::Object{{"file", path},
                                 {"correct", one == Done},
                                 {"entries", std::move(entries)}});
  }
  if (line.json)
    printJson(json::Object{{"files", std::move(files)}});
  return status;
}

} // namespace gatefold::tool
