/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * ModelTest.c - making models and contexts, and descriptions that are refused.
 */
#include "Harness.h"
#include "Sample.h"

#include <string.h>

static void testNulls(void) {
  gatefold_model *model = NULL;
  gatefold_context *context = NULL;
  CHECK(gatefold_describe(&sample) == &sample);
  CHECK(gatefold_create(NULL, &model) == GATEFOLD_INVALID_ARGUMENT);
  CHECK(model == NULL);
  CHECK(gatefold_create(&sample, NULL) == GATEFOLD_INVALID_ARGUMENT);
  CHECK(strstr(gatefold_message(NULL), "there is no model"));
  CHECK(gatefold_context_create(NULL, &context) == GATEFOLD_INVALID_ARGUMENT);
  CHECK(context == NULL);
  CHECK(strstr(gatefold_context_message(NULL), "there is no context"));
  CHECK(gatefold_prepare(NULL, 0, NULL, NULL) == GATEFOLD_INVALID_ARGUMENT);
  CHECK(gatefold_run(NULL, NULL, NULL, NULL, 0) == GATEFOLD_INVALID_ARGUMENT);
  gatefold_destroy(NULL);
  gatefold_context_destroy(NULL);
}

static void testVersion(void) {
  gatefold_description other = sample;
  other.abi_version = 7;
  /* Nothing but the version may be looked at. */
  memset((char *)&other + sizeof(int32_t), 0xFF,
         sizeof(other) - sizeof(int32_t));
  gatefold_model *model = NULL;
  gatefold_context *context = NULL;
  static const char message[] =
      "the model was compiled for version 7 of the interface, this runtime has "
      "version 6: compile it again";
  CHECK(gatefold_create(&other, &model) == GATEFOLD_VERSION_MISMATCH);
  CHECK(!strcmp(gatefold_message(model), message));
  CHECK_MODEL_STATUS(model, gatefold_prepare(model, 0, NULL, NULL),
                     GATEFOLD_VERSION_MISMATCH, message);
  CHECK(gatefold_context_create(model, &context) == GATEFOLD_VERSION_MISMATCH);
  CHECK(context == NULL);
  gatefold_destroy(model);
}

static void refuse(const gatefold_description *description,
                   const char *message) {
  gatefold_model *model = NULL;
  CHECK_MODEL_STATUS(model, gatefold_create(description, &model),
                     GATEFOLD_INVALID_ARGUMENT, message);
  gatefold_destroy(model);
}

static void testMalformed(void) {
  gatefold_description other = sample;
  other.run = NULL;
  refuse(&other, "malformed description: a part is missing");

  other = sample;
  other.input_count = 1;
  other.value_check_count = 0;
  static const char *const three[] = {"B", "T", "U"};
  other.symbol_count = 3;
  other.symbols = three;
  refuse(&other,
         "malformed description: no input binds the open dimension `U`");

  gatefold_tensor input = sample.inputs[X];
  other = sample;
  other.inputs = &input;
  other.input_count = 1;
  input.element.bits = 24;
  refuse(&other, "malformed description: tensor 0 `x`: its element type is not "
                 "known");
  input = sample.inputs[X];
  input.rank = 33;
  refuse(&other,
         "malformed description: tensor 0 `x`: its rank is not in 0..32");
  input = sample.inputs[X];
  input.first_size = 20;
  refuse(&other, "malformed description: tensor 0 `x`: its sizes are not among "
                 "the sizes");
  input = sample.inputs[X];
  input.element = sample.inputs[LENGTHS].element;
  input.has_initial = 1;
  input.initial = 0.5;
  refuse(&other, "malformed description: tensor 0 `x`: its type cannot hold "
                 "its initial value");
  input = sample.inputs[X];
  refuse(&other, "malformed description: value check 0");
}

void testModel(void) {
  testNulls();
  testVersion();
  testMalformed();
}
