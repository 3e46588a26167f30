// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Prepare.h - taking the weights of a model, once.

#ifndef GATEFOLD_RUNTIME_PREPARE_H
#define GATEFOLD_RUNTIME_PREPARE_H

#include "runtime/Model.h"
#include "runtime/View.h"

namespace gatefold::runtime {

class Preparation {
public:
  Preparation(gatefold_model &model, size_t count, const char *const *names,
              const DLTensor *const *tensors)
      : model(model), description(*model.description), message(model.message),
        count(count), names(names), tensors(tensors) {}
  ~Preparation();

  gatefold_status run();

private:
  static constexpr int64_t none = -1;

  gatefold_status matchNames();
  gatefold_status reportMissing();
  gatefold_status reportUnknown();
  gatefold_status checkWeight(int64_t parameter);

  // PlaceWeights.cpp: in the host's memory.
  gatefold_status place();
  bool findSizes(size_t &kept, size_t &lost);
  void distribute(char *keptPlace, char *&lostPlace);
  gatefold_status allocateDescriptors();
  void describeConstants();
  void copyIn(int64_t parameter, char *target);
  gatefold_status compute(char *arena);
  const void *findInPlace(int64_t parameter) const;
  gatefold_status reportNoMemory(size_t bytes);

  // cuda/PlaceWeights.cpp: on a GPU.
  gatefold_status placeOnGpu();
  gatefold_status copyToGpu(int64_t parameter);
  gatefold_status computeOnGpu(char *lostPlace);

  bool hasUsableEmbedded(int64_t parameter) const {
    return description.embedded && description.embedded[parameter];
  }
  const int64_t *shapeOf(int64_t parameter) const {
    return model.sizes + description.parameters[parameter].first_size;
  }
  /// Adds the bytes of a tensor; false where that overflows.
  bool addBytes(size_t &total, const gatefold_tensor &tensor) const;

  gatefold_model &model;
  const gatefold_description &description;
  Message &message;
  size_t count;
  const char *const *names;
  const DLTensor *const *tensors;
  /// Per parameter the number of its weight, or none; and per weight its
  /// parameter.
  int64_t *weightOf = nullptr;
  int64_t *parameterOf = nullptr;
  /// Per parameter whether it is read where it is.
  bool *isInPlace = nullptr;
  /// Descriptors of the arguments of `prepare`.
  int64_t *descriptors = nullptr;
  void **pointers = nullptr;
};

} // namespace gatefold::runtime

#endif // GATEFOLD_RUNTIME_PREPARE_H
