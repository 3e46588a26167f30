// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- Session.cpp - A model that can be run ------------------------------===//

#include "frontend/tools/gatefold/Session.h"
#include "frontend/tools/gatefold/Library.h"
#include "frontend/tools/gatefold/Weights.h"
#include "runtime/files/Names.h"
#include "runtime/files/TensorFile.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Path.h"
#include <dlfcn.h>
#include <unistd.h>

using namespace llvm;

namespace gatefold::tool {
Session::~Session() {
  if (context)
    functions.contextDestroy(context);
  if (model)
    functions.destroy(model);
  if (library)
    dlclose(library);
}

ExitStatus Session::open() {
  StringRef path = line.files.front();
  if (ExitStatus status = openInputs(line, offers))
    return status;
  bool isLibrary = path.ends_with(".so") || sys::fs::is_directory(path);
  if (ExitStatus status = isLibrary ? openLibrary(path) : compile())
    return status;
  inputs.resize(described->input_count);
  given.resize(described->input_count);
  return Done;
}

ExitStatus Session::compile() {
  compilation = std::make_unique<Compilation>(line);
  std::unique_ptr<MemoryBuffer> object;
  if (ExitStatus status = compilation->load(&offers))
    return status;
  if (ExitStatus status = compilation->lower())
    return status;
  if (ExitStatus status = compilation->emit(CodeForm::Object, object))
    return status;
  auto result = loadObject(std::move(object), compilation->emitOptions());
  if (!result) {
    fail("the compiled object cannot be loaded: " +
             toString(result.takeError()),
         line.target == "native"
             ? ""
             : "this machine may not be of the kind that --target names");
    return InputFault;
  }
  loaded = std::move(*result);
  described = &loaded->description();
  functions = {gatefold_destroy,
               gatefold_message,
               gatefold_prepare,
               gatefold_context_create,
               gatefold_context_destroy,
               gatefold_context_message,
               gatefold_context_threads,
               gatefold_result_shapes,
               gatefold_workspace_size,
               gatefold_initial_state,
               gatefold_run};
  if (gatefold_create(described, &model) != GATEFOLD_OK) {
    fail("the compiled model cannot be created");
    return OurFault;
  }
  return Done;
}

ExitStatus Session::openLibrary(StringRef path) {
  if (ExitStatus status = refuseTextOptions(line, "a library"))
    return status;
  bool isScheduled = !line.schedule.empty();
  if (line.naive || line.targetGiven || line.remarks || isScheduled) {
    fail(Twine(line.naive         ? "--naive"
               : line.targetGiven ? "--target"
               : line.remarks     ? "--remarks"
                                  : "--schedule") +
         " is for texts and modules: " + path + " is a library");
    return CommandLineFault;
  }
  Expected<std::string> file = findLibrary(path);
  if (!file) {
    fail(toString(file.takeError()));
    return InputFault;
  }
  Expected<std::string> prefix = libraryPrefix(*file);
  if (!prefix) {
    fail(toString(prefix.takeError()));
    return InputFault;
  }
  library = dlopen(file->c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    fail(*file + ": " + dlerror());
    return InputFault;
  }
  std::string missing;
  auto find = [&](auto &function, const char *name) {
    void *symbol = dlsym(library, (*prefix + "_" + name).c_str());
    if (!symbol)
      missing = name;
    function = reinterpret_cast<std::decay_t<decltype(function)>>(symbol);
  };
  const gatefold_description *(*describe)() = nullptr;
  gatefold_status (*create)(gatefold_model **) = nullptr;
  // Those of every version; only then may it be asked for its version.
  find(describe, "describe");
  find(create, "create");
  find(functions.destroy, "destroy");
  find(functions.message, "message");
  find(functions.prepare, "prepare");
  find(functions.contextCreate, "context_create");
  find(functions.contextDestroy, "context_destroy");
  find(functions.contextMessage, "context_message");
  find(functions.resultShapes, "result_shapes");
  find(functions.workspaceSize, "workspace_size");
  find(functions.initialState, "initial_state");
  find(functions.run, "run");
  described = missing.empty() ? describe() : nullptr;
  if (described && described->abi_version != GATEFOLD_ABI_VERSION) {
    fail(*file + " was compiled for version " + Twine(described->abi_version) +
         " of the interface; this program knows version " +
         Twine(GATEFOLD_ABI_VERSION));
    return InputFault;
  }
  find(functions.contextThreads, "context_threads");
  if (!missing.empty()) {
    fail(*file + " lacks the function " + *prefix + "_" + missing);
    return InputFault;
  }
  if (!described) {
    fail(*file + ": it describes no model");
    return InputFault;
  }
  if (create(&model) != GATEFOLD_OK) {
    fail(*file + ": the model cannot be created");
    return InputFault;
  }
  return Done;
}

ExitStatus Session::prepare() {
  std::vector<Weight> weights;
  if (ExitStatus status = gatherWeights(line, *described, weights))
    return status;
  std::vector<const char *> names;
  std::vector<const DLTensor *> tensors;
  for (Weight &weight : weights) {
    names.push_back(weight.name.c_str());
    tensors.push_back(weight.tensor.dl());
  }
  if (functions.prepare(model, names.size(), names.data(), tensors.data()) !=
      GATEFOLD_OK) {
    fail(functions.message(model));
    return InputFault;
  }
  if (functions.contextCreate(model, &context) != GATEFOLD_OK) {
    fail(functions.message(model));
    return InputFault;
  }
  return contextFault(functions.contextThreads(context, line.threads));
}

ExitStatus Session::contextFault(gatefold_status status) {
  if (status == GATEFOLD_OK)
    return Done;
  fail(functions.contextMessage(context));
  return InputFault;
}

ExitStatus Session::addInput(OfferedInput &offer) {
  std::vector<std::string> names;
  for (int64_t i = 0; i < described->input_count; ++i) {
    const gatefold_tensor &wanted = described->inputs[i];
    names.push_back(wanted.name);
    if (offer.name != wanted.name)
      continue;
    Expected<const files::FileTensor &> tensor = offer.tensor();
    if (!tensor) {
      fail(toString(tensor.takeError()));
      return InputFault;
    }
    Expected<HostTensor> converted = HostTensor::convert(
        *tensor, wanted.element, offer.path() + ": input `" + offer.name + "`");
    if (!converted) {
      fail(toString(converted.takeError()));
      return InputFault;
    }
    inputs[i] = std::move(*converted);
    given[i] = true;
    return Done;
  }
  std::string hint;
  if (auto nearest = files::nearestName(offer.name, names))
    hint = "did you mean `" + *nearest + "`?";
  if (offer.named) {
    fail("the program has no input `" + offer.name + "`", hint);
    return InputFault;
  }
  warn(offer.path() + ": no input is named `" + offer.name + "`", hint);
  return Done;
}

ExitStatus Session::checkDimensions() const {
  if (compilation && compilation->isText())
    return Done; // the checker knows them
  ArrayRef symbols(described->symbols, described->symbol_count);
  std::map<std::string, int64_t> known = knownSymbols();
  for (const auto &[name, size] : line.entry.dimensions) {
    if (!llvm::is_contained(symbols, StringRef(name))) {
      fail("--dim: no open dimension is named `" + name + "`",
           symbols.empty() ? std::string()
                           : "there are: " + join(symbols, ", "));
      return CommandLineFault;
    }
    if (known.at(name) != size) {
      fail("--dim gives " + name + "=" + Twine(size) + ", the inputs have " +
           name + "=" + Twine(known.at(name)));
      return InputFault;
    }
  }
  return Done;
}

std::map<std::string, int64_t> Session::knownSymbols() const {
  std::map<std::string, int64_t> known;
  for (int64_t i = 0; i < described->input_count; ++i) {
    const gatefold_tensor &input = described->inputs[i];
    if (!given[i] || int64_t(inputs[i].shape().size()) != input.rank)
      continue; // the run reports a wrong rank
    for (int axis = 0; axis < input.rank; ++axis) {
      const gatefold_binding &binding = input.bindings[axis];
      if (binding.symbol >= 0)
        known.emplace(described->symbols[binding.symbol],
                      (inputs[i].shape()[axis] - binding.offset) /
                          binding.scale);
    }
  }
  for (const auto &[name, size] : line.entry.dimensions)
    known.emplace(name, size);
  return known;
}

/// Refuses sizes that this machine has no memory for, before any of it is
/// filled.
static ExitStatus checkMemory(const gatefold_description &description,
                              ArrayRef<int64_t> symbols,
                              ArrayRef<int64_t> sizes) {
  double bytes = description.arena_bytes(symbols.data(), 1);
  bool overflows = bytes < 0;
  auto add = [&](const gatefold_tensor *tensors, int64_t count) {
    for (const gatefold_tensor &tensor : ArrayRef(tensors, count)) {
      double size = tensor.element.bits / 8;
      for (int64_t length : sizes.slice(tensor.first_size, tensor.rank)) {
        overflows |= length < 0;
        size *= length;
      }
      bytes += size;
    }
  };
  add(description.inputs, description.input_count);
  add(description.results, description.result_count);
  double memory = double(sysconf(_SC_PHYS_PAGES)) * sysconf(_SC_PAGESIZE);
  if (!overflows && bytes <= memory)
    return Done;
  fail(overflows ? std::string("these sizes do not fit into 64 bits")
                 : formatv("this run needs {0:f1} GB, the machine has {1:f1}",
                           bytes / 1e9, memory / 1e9)
                       .str());
  return InputFault;
}

ExitStatus Session::makeMissingInputs() {
  bool missing = false;
  for (int64_t i = 0; i < described->input_count; ++i) {
    const gatefold_tensor &input = described->inputs[i];
    bool starts = input.role == GATEFOLD_STATE && input.has_initial;
    if (given[i] || starts)
      missing |= !given[i];
    else if (line.seed)
      missing = true;
    else {
      fail(Twine("the input `") + input.name + "` is not given",
           "--input " + std::string(input.name) +
               "=FILE.npy, or --seed N for random inputs");
      return InputFault;
    }
  }
  if (!missing)
    return Done;

  std::map<std::string, int64_t> known = knownSymbols();
  SmallVector<StringRef> open;
  for (int i = 0; i < described->symbol_count; ++i)
    if (!known.count(described->symbols[i]))
      open.push_back(described->symbols[i]);
  if (!open.empty()) {
    fail("the size of " + join(open, ", ") + " is not known from the inputs",
         "give --dim " + join(open, "=...,") + "=...");
    return InputFault;
  }
  std::vector<int64_t> symbols(described->symbol_count);
  for (int i = 0; i < described->symbol_count; ++i)
    symbols[i] = known[described->symbols[i]];
  std::vector<int64_t> sizes(described->size_count);
  described->sizes(symbols.data(), sizes.data());
  if (ExitStatus status = checkMemory(*described, symbols, sizes))
    return status;

  for (int64_t i = 0; i < described->input_count; ++i) {
    if (given[i])
      continue;
    const gatefold_tensor &input = described->inputs[i];
    auto first = sizes.begin() + input.first_size;
    auto made = HostTensor::create(
        input.element, std::vector<int64_t>(first, first + input.rank));
    if (!made) {
      fail(Twine("input `") + input.name + "`: " + toString(made.takeError()));
      return InputFault;
    }
    inputs[i] = std::move(*made);
    if (input.role == GATEFOLD_STATE && input.has_initial) {
      if (ExitStatus status =
              contextFault(functions.initialState(context, i, inputs[i].dl())))
        return status;
      continue;
    }
    int64_t bound = 10; // of integers that nothing bounds
    bool isLength = false;
    for (int64_t k = 0; k < described->value_check_count; ++k) {
      const gatefold_value_check &check = described->value_checks[k];
      if (check.input == i) {
        bound = sizes[check.bound_size];
        isLength = check.inclusive;
      }
    }
    // Full lengths: a run that is made up, or timed, shall do all of the work.
    if (isLength)
      fill(inputs[i], bound);
    else
      fillRandomly(inputs[i], seedFor(*line.seed, input.name), bound);
  }
  return Done;
}

ExitStatus Session::readInputs() {
  for (OfferedInput &offer : offers)
    if (ExitStatus status = addInput(offer))
      return status;
  if (ExitStatus status = checkDimensions())
    return status;
  if (ExitStatus status = makeMissingInputs())
    return status;
  inputPointers.clear();
  for (HostTensor &input : inputs)
    inputPointers.push_back(input.dl());
  return Done;
}

ExitStatus Session::allocateResults() {
  std::vector<std::vector<int64_t>> shapes;
  std::vector<int64_t *> pointers;
  for (int64_t i = 0; i < described->result_count; ++i)
    shapes.emplace_back(described->results[i].rank);
  for (auto &shape : shapes)
    pointers.push_back(shape.data());
  if (ExitStatus status = contextFault(functions.resultShapes(
          context, inputPointers.data(), pointers.data())))
    return status;
  results.clear();
  for (int64_t i = 0; i < described->result_count; ++i) {
    auto result =
        HostTensor::create(described->results[i].element, std::move(shapes[i]));
    if (!result) {
      fail(Twine("result `") + described->results[i].name +
           "`: " + toString(result.takeError()));
      return InputFault;
    }
    results.push_back(std::move(*result));
  }
  resultPointers.clear();
  for (HostTensor &result : results)
    resultPointers.push_back(result.dl());
  return Done;
}

ExitStatus Session::run() {
  return contextFault(functions.run(context, inputPointers.data(),
                                    resultPointers.data(), nullptr, 0));
}

ExitStatus Session::workspaceSize(size_t &bytes) {
  return contextFault(
      functions.workspaceSize(context, inputPointers.data(), &bytes));
}

} // namespace gatefold::tool
