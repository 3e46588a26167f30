// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- Weights.h - Parameters from files ------------------------*- C++ -*-===//

#ifndef FRONTEND_TOOLS_GATEFOLD_WEIGHTS_H
#define FRONTEND_TOOLS_GATEFOLD_WEIGHTS_H

#include "frontend/tools/gatefold/CommandLine.h"
#include "frontend/tools/gatefold/Tensors.h"
#include "passes/support/Entry.h"

namespace gatefold::tool {

struct Weight {
  std::string name; // the parameter's
  HostTensor tensor;
};

/// What a parameter needs.
struct WantedWeight {
  std::string name;
  gatefold_element element;
  std::vector<int64_t> shape;
  std::optional<double> initial;
  bool embedded = false;
};

/// The parameters of a description, with their fixed shapes.
std::vector<WantedWeight>
wantedWeights(const gatefold_description &description);
/// The same of a program before there is code for it.
std::vector<WantedWeight> wantedWeights(const Interface &interface);

/// Finds every parameter in the files of --weights, converts it to the element
/// that is wanted; what is missing takes its initial value (a note) or, with
/// --seed, random values. Reports missing, misspelled, misshaped and unclaimed
/// tensors.
ExitStatus gatherWeights(const CommandLine &line,
                         const std::vector<WantedWeight> &wanted,
                         std::vector<Weight> &weights);
ExitStatus gatherWeights(const CommandLine &line,
                         const gatefold_description &description,
                         std::vector<Weight> &weights);

/// As `init` makes a parameter: its initial value, else uniform within ±1/√K, K
/// the last dimension.
llvm::Expected<Weight> randomWeight(const WantedWeight &wanted, uint64_t seed);

/// Every element `value`.
void fill(HostTensor &tensor, double value);

/// Floats of unit variance, integers below `bound`, booleans.
void fillRandomly(HostTensor &tensor, uint64_t seed, int64_t bound);

} // namespace gatefold::tool

#endif // FRONTEND_TOOLS_GATEFOLD_WEIGHTS_H
