// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Launch.cpp - a run on a stream: checks of values, the team's memory, copies
// of states, and the kernel. Nothing here waits, allocates, or copies from or
// to the host.

#include "runtime/Arguments.h"
#include "runtime/Element.h"
#include "runtime/cuda/Gpu.h"
#include "runtime/cuda/Launches.h"

#include <string.h>

namespace gatefold::runtime::cuda {

void fillParameters(const gatefold_kernel &kernel, void *const *descriptors,
                    Address arena, int64_t arenaBytes, Address team,
                    int64_t *words, void **parameters) {
  const int64_t arenaWords[] = {(int64_t)arena, (int64_t)arena, 0, arenaBytes,
                                1};
  const int64_t teamWords[] = {(int64_t)team, (int64_t)team};
  for (int64_t w = 0; w < kernel.word_count; ++w) {
    const gatefold_kernel_word &word = kernel.words[w];
    const int64_t *from = word.tensor == GATEFOLD_KERNEL_ARENA ? arenaWords
                          : word.tensor == GATEFOLD_KERNEL_TEAM
                              ? teamWords
                              : (const int64_t *)descriptors[word.tensor];
    words[w] = from[word.word];
    parameters[w] = &words[w];
  }
}

namespace {

/// The work of one run.
class Launch {
public:
  Launch(gatefold_context &context, char *base)
      : context(context), model(*context.model),
        description(*model.description), device(*model.device),
        driver(device.driver), launches(*context.gpu), base(base) {}

  gatefold_status run();

private:
  bool checkMatrices();
  void findChecks(bool isCaptured);
  void addCheck(int64_t number, int64_t input, int64_t last, bool isCaptured);
  Result isCaptured(bool &answer) const;
  Result launchChecks();
  Result copyStates();
  Result launchRun();

  Address control() const { return (Address)base; }
  Address finding(int64_t number) const {
    return control() + GATEFOLD_TEAM_WORDS * sizeof(int32_t) +
           (Address)number * sizeof(Finding);
  }

  gatefold_context &context;
  const gatefold_model &model;
  const gatefold_description &description;
  const Device &device;
  const Driver &driver;
  Launches &launches;
  char *base;
};

} // namespace

//===----------------------------------------------------------------------===//
// Arguments that a kernel cannot take
//===----------------------------------------------------------------------===//

/// Of what must be copied, only a state is, and only as one piece.
static bool checkCopy(Message &message, const Subject &subject,
                      const Argument &argument) {
  const View &view = argument.view;
  if (!argument.isCopied || view.isEmpty())
    return true;
  if (view.isAligned() && view.hasContiguousRows() && isContiguous(view))
    return true;
  appendSubject(message, subject);
  if (!view.isAligned())
    message.append(" does not stand at a multiple of its elements' size, %lld "
                   "bytes: on a GPU nothing is copied",
                   (long long)view.elementBytes);
  else if (!view.hasContiguousRows())
    message.append(" has a last dimension that is not contiguous: on a GPU "
                   "nothing is copied");
  else
    message.append(" is overwritten by its result and not contiguous: give the "
                   "result other memory");
  return false;
}

bool checkArguments(gatefold_context &context) {
  const gatefold_description &description = *context.model->description;
  for (int64_t i = 0; i < description.input_count; ++i)
    if (!checkCopy(context.message, {Kind::Input, description.inputs[i]},
                   context.arguments[i]))
      return false;
  for (int64_t r = 0; r < description.result_count; ++r)
    if (!checkCopy(context.message, {Kind::Result, description.results[r]},
                   context.arguments[description.input_count + r]))
      return false;
  for (int64_t r = 0; r < description.result_count; ++r) {
    const Argument *state = stateToMove(context, r);
    const View &place = context.arguments[description.input_count + r].view;
    if (!state || (isContiguous(state->view) && isContiguous(place)))
      continue;
    appendSubject(context.message, {Kind::Result, description.results[r]});
    context.message.append(" is not the memory of its state, and one of them "
                           "is not contiguous: give it the same memory");
    return false;
  }
  return true;
}

//===----------------------------------------------------------------------===//
// Checks of values
//===----------------------------------------------------------------------===//

void Launch::addCheck(int64_t number, int64_t input, int64_t last,
                      bool isCaptured) {
  ValueCheck &check = launches.checks[number];
  const Argument &argument = context.arguments[input];
  check.input = input;
  check.last = last;
  // A graph reads pinned memory again whenever it is launched.
  check.isLaunched =
      (!argument.isOfHost || isCaptured) && !argument.view.isEmpty();
  memcpy(check.shape, argument.view.shape,
         (size_t)argument.view.rank * sizeof(int64_t));
}

void Launch::findChecks(bool isCaptured) {
  int64_t number = 0;
  for (int64_t c = 0; c < description.value_check_count; ++c) {
    const gatefold_value_check &check = description.value_checks[c];
    addCheck(number++, check.input, lastValue(context, check), isCaptured);
  }
  for (int64_t i = 0; i < description.input_count; ++i)
    if (isBool(description.inputs[i].element))
      addCheck(number++, i, /*last=*/1, isCaptured);
}

/// Refuses strides that the kernel which checks values does not know.
bool Launch::checkMatrices() {
  for (int64_t c = 0; c < launches.checkCount; ++c) {
    const ValueCheck &check = launches.checks[c];
    Matrix matrix;
    if (!check.isLaunched ||
        asMatrix(context.arguments[check.input].view, matrix))
      continue;
    appendSubject(context.message,
                  {Kind::Input, description.inputs[check.input]});
    context.message.append(
        " has strides that do not make rows of one distance: "
        "its values cannot be checked on a GPU");
    return false;
  }
  return true;
}

/// Whether the stream captures; asked only where it matters.
Result Launch::isCaptured(bool &answer) const {
  answer = false;
  bool matters = false;
  for (int64_t i = 0; i < description.input_count; ++i)
    matters |= context.arguments[i].isOfHost;
  if (!matters || launches.checkCount == 0)
    return Success;
  CaptureStatus status = NoCapture;
  Result result = driver.getCapture(launches.stream, &status);
  answer = status != NoCapture;
  return result;
}

Result Launch::launchChecks() {
  for (int64_t c = 0; c < launches.checkCount; ++c) {
    const ValueCheck &check = launches.checks[c];
    if (!check.isLaunched)
      continue;
    const View &view = context.arguments[check.input].view;
    Matrix matrix;
    asMatrix(view, matrix);
    int64_t words[] = {(int64_t)(intptr_t)view.data,
                       matrix.rows,
                       matrix.columns,
                       matrix.rowStride,
                       matrix.columnStride,
                       view.elementBytes,
                       check.last,
                       (int64_t)finding(c),
                       (int64_t)control()};
    constexpr size_t count = sizeof(words) / sizeof(*words);
    void *parameters[count];
    for (size_t w = 0; w < count; ++w)
      parameters[w] = &words[w];
    Result result =
        driver.launch(device.check, 1, 1, 1, checkThreads, 1, 1,
                      /*sharedBytes=*/0, launches.stream, parameters, nullptr);
    if (result != Success)
      return result;
  }
  return Success;
}

//===----------------------------------------------------------------------===//
// The run
//===----------------------------------------------------------------------===//

Result Launch::copyStates() {
  for (int64_t i = 0; i < description.input_count; ++i) {
    const Argument &argument = context.arguments[i];
    if (!argument.isCopied || argument.view.isEmpty())
      continue;
    Result result = driver.copyLater(
        (Address)base + argument.copyPlace, (Address)argument.view.data,
        (size_t)argument.view.packedBytes(), launches.stream);
    if (result != Success)
      return result;
  }
  for (int64_t r = 0; r < description.result_count; ++r) {
    const Argument *state = stateToMove(context, r);
    if (!state)
      continue;
    const View &place = context.arguments[description.input_count + r].view;
    Result result =
        driver.copyLater((Address)place.data, (Address)state->view.data,
                         (size_t)state->view.packedBytes(), launches.stream);
    if (result != Success)
      return result;
  }
  return Success;
}

Result Launch::launchRun() {
  const gatefold_kernel &kernel = device.variant->run;
  describeArguments(context, base);
  int64_t arenaBytes = description.arena_bytes(context.symbols, context.ranks);
  fillParameters(kernel, context.pointers, (Address)base + context.arenaPlace,
                 arenaBytes, control(), launches.words, launches.parameters);
  return driver.launchTogether(
      device.run, (uint32_t)context.ranks, 1, 1, (uint32_t)kernel.threads, 1, 1,
      (uint32_t)kernel.shared_bytes, launches.stream, launches.parameters);
}

gatefold_status Launch::run() {
  CurrentContext current(driver, device.context);
  Result result = current.get();
  bool captured = false;
  if (result == Success)
    result = isCaptured(captured);
  if (result == Success) {
    findChecks(captured);
    if (!checkMatrices())
      return GATEFOLD_INVALID_ARGUMENT;
    // Whatever comes of what follows, this is the run that `finish` tells of.
    launches.control = control();
    result = driver.fillLater(control(), 0,
                              (size_t)controlBytes(context) / sizeof(int32_t),
                              launches.stream);
  }
  if (result == Success)
    result = launchChecks();
  if (result == Success)
    result = copyStates();
  if (result == Success)
    result = launchRun();
  if (result != Success)
    launches.control = 0;
  return driver.check(context.message, result, "launch the run");
}

gatefold_status run(gatefold_context &context, char *base) {
  return Launch(context, base).run();
}

} // namespace gatefold::runtime::cuda
