/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Runtime.h - the C interface of a compiled model, over its description.
 *
 * A compiled library exports each function below as NAME_... without the
 * `gatefold_` and, for those that make something from nothing
 * (gatefold_create, gatefold_create_cuda, gatefold_describe), without the
 * description.
 *
 * A model holds prepared weights; after `prepare` it does not change and any
 * number of threads may use it at once. A context belongs to one thread at a
 * time and holds that thread's messages and, if asked to, its workspace. Every
 * status other than GATEFOLD_OK comes with a message that names input, place
 * and value, and lives until the next call on that handle. Nothing aborts the
 * process.
 */
#ifndef GATEFOLD_RUNTIME_RUNTIME_H
#define GATEFOLD_RUNTIME_RUNTIME_H

#include "runtime/Description.h"
#include "runtime/dlpack.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum gatefold_status {
  GATEFOLD_OK = 0,
  GATEFOLD_INVALID_ARGUMENT = 1, /* a null, a wrong type, shape, device, name */
  GATEFOLD_BAD_DATA = 2,         /* a length or token out of range */
  GATEFOLD_MISSING_WEIGHT = 3,
  GATEFOLD_NOT_PREPARED = 4,
  GATEFOLD_OUT_OF_MEMORY = 5,
  GATEFOLD_VERSION_MISMATCH = 6,
  GATEFOLD_NO_DEVICE = 7,   /* no GPU that the program has kernels for */
  GATEFOLD_DEVICE_ERROR = 8 /* what the driver refused, in its words */
} gatefold_status;

typedef struct gatefold_model gatefold_model;
typedef struct gatefold_context gatefold_context;

/* The description of the compiled entry; its json is for programs. */
const gatefold_description *
gatefold_describe(const gatefold_description *description);

/* A model without weights. Destroy it also where the status is
 * GATEFOLD_VERSION_MISMATCH or the description contradicts itself
 * (GATEFOLD_INVALID_ARGUMENT): it then holds the message, and every other call
 * on it gives that status again. It is null only where an argument is null or
 * memory ran out; the message of a null is a fixed text. */
gatefold_status gatefold_create(const gatefold_description *description,
                                gatefold_model **model);
void gatefold_destroy(gatefold_model *model);
const char *gatefold_message(const gatefold_model *model);

/* Takes `count` weights by name, once: copies and packs them, so they may be
 * freed afterwards. Parameters that are not named take their embedded weight,
 * else the initial value; one without either is GATEFOLD_MISSING_WEIGHT, with
 * the nearest name that was given. A name that no parameter has is an error.
 * Types and shapes must be the parameter's; strides and alignment are free.
 * After an error the model is as before, and prepare may be called again. No
 * other call on the model or its contexts may go on at the same time. */
gatefold_status gatefold_prepare(gatefold_model *model, size_t count,
                                 const char *const *names,
                                 const DLTensor *const *tensors);

/* A context of a model, prepared or not, which must outlive it. On an error it
 * is null. */
gatefold_status gatefold_context_create(const gatefold_model *model,
                                        gatefold_context **context);
void gatefold_context_destroy(gatefold_context *context);
const char *gatefold_context_message(const gatefold_context *context);

/* How many threads a run of this context may use, the caller's among them: 1
 * to 1024, at first 1; 0 stands for the cores that this process may use. The
 * threads start here and belong to the context; between runs they sleep.
 * Results are the same bits for any number. If they cannot be started
 * (GATEFOLD_OUT_OF_MEMORY) the context has one. Threads need room in the
 * workspace: ask for its size afterwards. A process that is forked from this
 * one has none of them and runs on one thread, until it calls this again. */
gatefold_status gatefold_context_threads(gatefold_context *context,
                                         size_t threads);

/* The shape of each result for these inputs (only their shapes are read):
 * shapes[k] has room for the rank of result k. */
gatefold_status gatefold_result_shapes(gatefold_context *context,
                                       const DLTensor *const *inputs,
                                       int64_t *const *shapes);

/* Bytes of workspace that `run` needs for these inputs. This counts a copy of
 * each state but those of which a run writes over a part, and of each input
 * whose data do not stand at a multiple of the element's size, or whose last
 * dimension is not contiguous (a stride other than 1, in a dimension of 2 or
 * more); a result of that kind needs a copy more, and `run` says how many bytes
 * it needs then. */
gatefold_status gatefold_workspace_size(gatefold_context *context,
                                        const DLTensor *const *inputs,
                                        size_t *bytes);

/* Fills `state` with the values with which input number `input`, a state,
 * starts. Its shape is checked as far as it can be without the other inputs. */
gatefold_status gatefold_initial_state(gatefold_context *context, size_t input,
                                       DLTensor *state);

/* Checks sizes and values, then computes every result. A result that is a state
 * may be the same memory as its input state (same data, same strides), and for
 * a cache should be: a state of which a run writes over a part is then not
 * copied. Otherwise no result may overlap an input, a result, itself or the
 * workspace. `workspace` (any alignment) has `bytes` bytes; if it is null the
 * context's own is used, which grows when a run needs more than any before.
 * Else nothing is allocated. Unless the status is GATEFOLD_OK nothing was
 * computed, but for what compiled code finds on its way: max, min or argmax of
 * nothing, or an index, a length or a place for rows that the run itself
 * computed and that is out of range (GATEFOLD_BAD_DATA; results and states then
 * hold anything). */
gatefold_status gatefold_run(gatefold_context *context,
                             const DLTensor *const *inputs,
                             DLTensor *const *results, void *workspace,
                             size_t bytes);

/*===-- On a GPU ----------------------------------------------------------===*/

/* As gatefold_create, for a GPU: `device` counts as CUDA does. The driver is
 * opened here, and of the program's variants the one that suits the GPU best is
 * loaded. Where there is none (no driver, no GPU, no kernels for this one) the
 * status is GATEFOLD_NO_DEVICE and the model holds a message that says why, and
 * nothing else: destroy it, and make one for the CPU.
 *
 * All functions above then speak of the GPU. `prepare` takes weights in the
 * host's memory, or contiguous ones on the GPU, and returns when they are
 * packed. Inputs and results of `run` are on the GPU (kDLCUDA of this device,
 * kDLCUDAManaged) or in pinned host memory that it reaches (kDLCUDAHost); the
 * last dimension is contiguous, and so is a state that its result overwrites.
 *
 * `run` puts work on the context's stream and returns: it waits for nothing,
 * allocates nothing and copies nothing from or to the host, so a stream may
 * capture it into a graph. The workspace is memory of the GPU, at any
 * alignment, or null for the context's own, which gatefold_context_reserve
 * makes. Inputs, results and workspace stay alive until that work is done.
 * Shapes are checked before anything is launched; values of integers and bools
 * on the GPU by the GPU, ahead of the run, in pinned memory by the host at this
 * call. What the GPU finds, gatefold_context_finish tells: results then hold
 * what they did. */
gatefold_status gatefold_create_cuda(const gatefold_description *description,
                                     int32_t device, gatefold_model **model);

/* "NVIDIA H200 (sm_90), kernels for sm_90"; "CPU" for a model of the CPU. Lives
 * as long as the model. */
const char *gatefold_device(const gatefold_model *model);

/* What a program finds where it asks for a GPU: writes a text of at most
 * `bytes` bytes, its end included, a line for the driver and one for each
 * GPU, or one that says why there is none. Returns the number of GPUs. */
int32_t gatefold_cuda_devices(char *text, size_t bytes);

/* The stream (CUstream, cudaStream_t) that runs of this context go to; at first
 * null, the default one. It belongs to the caller and is of the model's
 * device's primary context. */
gatefold_status gatefold_context_stream(gatefold_context *context,
                                        void *stream);

/* Makes the context's own workspace large enough for such inputs, on the CPU
 * too; one that has to grow waits until the device is idle. */
gatefold_status gatefold_context_reserve(gatefold_context *context,
                                         const DLTensor *const *inputs);

/* Waits until all work on the context's stream is done, and tells how the last
 * run ended: a value out of range (GATEFOLD_BAD_DATA), max, min or argmax of
 * nothing, a fault of the device (GATEFOLD_DEVICE_ERROR). Not while the stream
 * captures. Of a graph it tells about the last replay. At once and
 * GATEFOLD_OK on the CPU. */
gatefold_status gatefold_context_finish(gatefold_context *context);

/* For programs without an allocator of their own: memory of the model's device,
 * and a copy between tensors of one shape and type, each contiguous, on the
 * host or the device, in order with the context's stream; it waits. */
gatefold_status gatefold_allocate(gatefold_model *model, size_t bytes,
                                  void **memory);
void gatefold_free(gatefold_model *model, void *memory);
gatefold_status gatefold_copy(gatefold_context *context, DLTensor *to,
                              const DLTensor *from);

#ifdef __cplusplus
}
#endif

#endif /* GATEFOLD_RUNTIME_RUNTIME_H */
