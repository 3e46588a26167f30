// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- EmitHeader.cpp - The C header of a library -------------------------===//
//
// Writes NAME.h: everything that a C or C++ program needs, in one file.
//
//===----------------------------------------------------------------------===//

#include "passes/emit/Emit.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/raw_ostream.h"

using namespace gatefold;

/// Words that cannot end the comment that they stand in, nor bring other
/// characters than a header may hold.
static std::string forComment(llvm::StringRef text) {
  std::string safe;
  for (char c : text) {
    bool ends = !safe.empty() && ((safe.back() == '*' && c == '/') ||
                                  (safe.back() == '/' && c == '*'));
    if (ends)
      safe += ' ';
    safe += llvm::isPrint(c) ? c : '?';
  }
  return safe;
}

static const char *elementName(gatefold_element element) {
  if (element.code == 2)
    return element.bits == 64 ? "f64" : element.bits == 32 ? "f32" : "f16";
  if (element.code == 4)
    return "bf16";
  if (element.code == 6)
    return "bool";
  return element.bits == 64 ? "i64" : "i32";
}

/// The part of an enumerator that stands for a name: capitals, digits and _.
static std::string constantName(llvm::StringRef name) {
  std::string result;
  for (char c : name)
    result += llvm::isAlnum(c) ? llvm::toUpper(c) : '_';
  return result;
}

static void printTensors(llvm::raw_ostream &out, llvm::StringRef prefix,
                         llvm::StringRef kind,
                         llvm::ArrayRef<gatefold_tensor> tensors) {
  std::string upper = constantName(prefix) + "_" + constantName(kind);
  out << "enum {\n";
  llvm::StringSet<> taken;
  taken.insert(upper + "_COUNT");
  for (auto [index, tensor] : llvm::enumerate(tensors)) {
    std::string name = upper + "_" + constantName(tensor.name);
    while (!taken.insert(name).second)
      name += "_";
    out << "  " << name << " = " << index << ", /* " << forComment(tensor.name)
        << ": " << elementName(tensor.element) << "[";
    for (int32_t dim = 0; dim < tensor.rank; ++dim)
      out << (dim ? ", " : "") << forComment(tensor.dimension_names[dim]);
    out << "]";
    if (tensor.role == GATEFOLD_STATE)
      out << ", a state";
    if (tensor.has_initial)
      out << ", " << (tensor.role == GATEFOLD_PARAMETER ? "else" : "at first")
          << " " << llvm::format("%g", tensor.initial);
    out << " */\n";
  }
  out << "  " << upper << "_COUNT = " << tensors.size() << "\n};\n\n";
}

// The types of DLPack that the interface uses, under its guard.
static constexpr llvm::StringLiteral dlpackText = R"(
/* DLPack 1.0, its types that are used here; dlpack/dlpack.h may come first. */
#ifndef DLPACK_DLPACK_H_
#define DLPACK_DLPACK_H_
#ifdef __cplusplus
extern "C" {
#endif
typedef enum {
  kDLCPU = 1,
  kDLCUDA = 2,       /* a GPU; device_id counts them */
  kDLCUDAHost = 3,   /* pinned memory of the host */
  kDLCUDAManaged = 13
} DLDeviceType;
typedef struct {
  DLDeviceType device_type;
  int32_t device_id;
} DLDevice;
/* f16: {kDLFloat, 16, 1}; bf16: {kDLBfloat, 16, 1}; f32: {kDLFloat, 32, 1};
 * f64: {kDLFloat, 64, 1}; i32: {kDLInt, 32, 1}; i64: {kDLInt, 64, 1};
 * bool: {kDLBool, 8, 1} */
typedef enum {
  kDLInt = 0U,
  kDLUInt = 1U,
  kDLFloat = 2U,
  kDLBfloat = 4U,
  kDLBool = 6U
} DLDataTypeCode;
typedef struct {
  uint8_t code;
  uint8_t bits;
  uint16_t lanes;
} DLDataType;
typedef struct {
  void *data;
  DLDevice device;
  int32_t ndim;
  DLDataType dtype;
  int64_t *shape;
  int64_t *strides; /* in elements; null: contiguous */
  uint64_t byte_offset;
} DLTensor;
#ifdef __cplusplus
}
#endif
#endif /* DLPACK_DLPACK_H_ */
)";

// @ stands for the prefix, % for the prefix in capitals.
static constexpr llvm::StringLiteral declarations = R"(
/* Every status other than %_OK comes with a message, which lives until the next
 * call on that handle. */
typedef enum @_status {
  %_OK = 0,
  %_INVALID_ARGUMENT = 1, /* a null, a wrong type, shape, device, name */
  %_BAD_DATA = 2,         /* a length or token out of range */
  %_MISSING_WEIGHT = 3,
  %_NOT_PREPARED = 4,
  %_OUT_OF_MEMORY = 5,
  %_VERSION_MISMATCH = 6,
  %_NO_DEVICE = 7,        /* no GPU that this library has kernels for */
  %_DEVICE_ERROR = 8      /* what the driver refused, in its words */
} @_status;

/* Holds prepared weights. After @_prepare it does not change, and any number of
 * threads may use it at once. */
typedef struct gatefold_model @_model;

/* Belongs to one thread at a time: its messages and its workspace. */
typedef struct gatefold_context @_context;

/* What this library is, for programs: a structure that begins with the version of its
 * layout. */
struct gatefold_description;
const struct gatefold_description *@_describe(void);

/* A model without weights. */
@_status @_create(@_model **model);
void @_destroy(@_model *model);
const char *@_message(const @_model *model);

/* Takes `count` weights by name, once: copies them, so they may be freed
 * afterwards. A parameter that is not named takes the weight in this library, else its
 * initial value; one without either is %_MISSING_WEIGHT. */
@_status @_prepare(@_model *model, size_t count, const char *const *names,
                   const DLTensor *const *tensors);

@_status @_context_create(const @_model *model, @_context **context);
void @_context_destroy(@_context *context);
const char *@_context_message(const @_context *context);

/* How many threads a run of this context may use, the caller's among them: 1 to
 * 1024, at first 1; 0 stands for the cores that this process may use. They start
 * here, belong to the context and sleep between runs. Results are the same bits for any
 * number. Threads need room in the workspace: ask for its size afterwards. */
@_status @_context_threads(@_context *context, size_t threads);

/* The shape of each result for these inputs, of which only the shapes are read:
 * shapes[k] has room for the rank of result k. */
@_status @_result_shapes(@_context *context, const DLTensor *const *inputs,
                         int64_t *const *shapes);

/* Bytes of workspace that @_run needs for these inputs. */
@_status @_workspace_size(@_context *context, const DLTensor *const *inputs,
                          size_t *bytes);

/* Fills `state` with the values with which input number `input`, a state,
 * starts. */
@_status @_initial_state(@_context *context, size_t input, DLTensor *state);

/* Checks sizes and values, then computes every result. `inputs` and `results` are in
 * the order of the numbers above; any strides. A result that is a state may be the
 * same memory as its input; no other result may overlap anything. `workspace`
 * has `bytes` bytes, at any alignment; if it is null, the context's own is used, which
 * grows when a run needs more than any before. Else nothing is allocated. */
@_status @_run(@_context *context, const DLTensor *const *inputs,
               DLTensor *const *results, void *workspace, size_t bytes);
)";

// The same for a library that has code for GPUs; it follows the declarations.
static constexpr llvm::StringLiteral deviceDeclarations = R"(
/* ---- On a GPU ----
 *
 * As @_create, for a GPU: `device` counts as CUDA does. The driver is opened here: this
 * library is linked to nothing of CUDA. Where there is no driver, no GPU or no kernel for
 * it the status is %_NO_DEVICE, and the model holds a message that says why, and nothing
 * else: destroy it, and make one for the CPU.
 *
 * All functions above then speak of the GPU. @_prepare takes weights in the host's memory,
 * or contiguous ones on the GPU, and returns when they are packed. Inputs and results of
 * @_run are on the GPU (kDLCUDA of this device, kDLCUDAManaged) or in pinned memory of the
 * host that it reaches (kDLCUDAHost); the last dimension is contiguous, and so is a state
 * that its result overwrites.
 *
 * @_run puts work on the context's stream and returns: it waits for nothing, allocates
 * nothing and copies nothing from or to the host, so a stream may capture it into a
 * graph. The workspace is memory of the GPU at any alignment, or null for the context's
 * own, which @_context_reserve makes. Inputs, results and workspace stay alive until that work
 * is done. Shapes are checked before anything is launched, values on the GPU by the GPU, ahead
 * of the run: what it finds, @_context_finish tells. */
@_status @_create_cuda(int32_t device, @_model **model);

/* "NVIDIA H200 (sm_90), kernels for sm_90"; "CPU" for a model of the CPU. Lives as long as the
 * model. */
const char *@_device(const @_model *model);

/* Writes a text of at most `bytes` bytes, its end included: a line for the driver and one
 * for each GPU, or one that says why there is none. Returns the number of GPUs. */
int32_t @_cuda_devices(char *text, size_t bytes);

/* The stream (cudaStream_t, CUstream) that runs of this context go to; at first null, the
 * default one. It belongs to the caller. */
@_status @_context_stream(@_context *context, void *stream);

/* Makes the context's own workspace large enough for such inputs, on the CPU too; one
 * that has to grow waits until the device is idle. */
@_status @_context_reserve(@_context *context, const DLTensor *const *inputs);

/* Waits until all work on the context's stream is done, and tells how the last run ended: a
 * value out of range, what the run found on its way (%_BAD_DATA), a fault of the device. Not
 * while the stream captures. Of a graph it tells about the last replay. At once and %_OK on
 * the CPU. */
@_status @_context_finish(@_context *context);

/* For programs without an allocator of their own: memory of the model's device, and a copy
 * between tensors of one shape and type, each contiguous, on the host or the device, in order
 * with the context's stream; it waits. */
@_status @_allocate(@_model *model, size_t bytes, void **memory);
void @_free(@_model *model, void *memory);
@_status @_copy(@_context *context, DLTensor *to, const DLTensor *from);
)";

static void printTemplate(llvm::raw_ostream &out, llvm::StringRef text,
                          llvm::StringRef prefix) {
  std::string upper = constantName(prefix);
  for (char c : text)
    if (c == '@')
      out << prefix;
    else if (c == '%')
      out << upper;
    else
      out << c;
}

std::string gatefold::emitHeader(const gatefold_description &description,
                                 llvm::StringRef name) {
  std::string text;
  llvm::raw_string_ostream out(text);
  std::string guard = constantName(name) + "_H";
  out << "/* " << name << ".h - the C interface of lib" << name
      << ".so, the compiled " << forComment(description.name) << ".\n"
      << " * Made by gatefold. C11 and C++; needs the library and nothing "
         "else.\n";
  if (description.variant_count > 0) {
    out << " * It computes on the CPU, and has code for GPUs:";
    for (int64_t i = 0; i < description.variant_count; ++i)
      out << (i ? ", " : " ") << description.variants[i].target;
    out << ".\n";
  }
  if (description.symbol_count > 0) {
    out << " *\n * Open dimensions, which may differ in each run:";
    for (int32_t i = 0; i < description.symbol_count; ++i)
      out << (i ? ", " : " ") << forComment(description.symbols[i]);
    out << ".\n";
  }
  out << " */\n#ifndef " << guard << "\n#define " << guard
      << "\n\n#include <stddef.h>\n#include <stdint.h>\n"
      << dlpackText << "\n#ifdef __cplusplus\nextern \"C\" {\n#endif\n\n";

  out << "/* Inputs of a run, by number. */\n";
  printTensors(out, name, "INPUT",
               {description.inputs, size_t(description.input_count)});
  out << "/* Results of a run, by number. */\n";
  printTensors(out, name, "RESULT",
               {description.results, size_t(description.result_count)});
  if (description.parameter_count > 0) {
    out << "/* Weights that " << name << "_prepare takes by name:\n";
    for (int64_t i = 0; i < description.parameter_count; ++i) {
      const gatefold_tensor &tensor = description.parameters[i];
      out << " *   " << forComment(tensor.name) << ": "
          << elementName(tensor.element) << "[";
      for (int32_t dim = 0; dim < tensor.rank; ++dim)
        out << (dim ? ", " : "") << forComment(tensor.dimension_names[dim]);
      out << "]";
      if (description.embedded && description.embedded[i])
        out << ", in this library";
      else if (tensor.has_initial)
        out << ", " << llvm::format("%g", tensor.initial) << " if not given";
      out << "\n";
    }
    out << " */\n";
  }
  printTemplate(out, declarations, name);
  if (description.variant_count > 0)
    printTemplate(out, deviceDeclarations, name);
  out << "\n#ifdef __cplusplus\n}\n#endif\n\n#endif /* " << guard << " */\n";
  return text;
}
