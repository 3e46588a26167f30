/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Description.h - what compiled code tells the runtime about itself.
 *
 * The compiler emits one constant `gatefold_description` into each object,
 * beside the compiled functions that it points to; the runtime, linked into the
 * library or into the program that runs the object by JIT, checks, binds and
 * calls by it. C, no dependence on anything but the C library. A change of
 * layout or meaning raises GATEFOLD_ABI_VERSION.
 */
#ifndef GATEFOLD_RUNTIME_DESCRIPTION_H
#define GATEFOLD_RUNTIME_DESCRIPTION_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define GATEFOLD_ABI_VERSION 6

enum gatefold_role {
  GATEFOLD_INPUT = 0,
  GATEFOLD_STATE = 1, /* an input that is a state; or a result that is one */
  GATEFOLD_RESULT = 2,
  GATEFOLD_PARAMETER = 3,
  GATEFOLD_PREPARED = 4 /* made from parameters by `prepare` */
};

/* Element types, by DLPack's code and bits: f16 {2, 16}, bf16 {4, 16},
 * f32 {2, 32}, f64 {2, 64}, i32 {0, 32}, i64 {0, 64}, bool {6, 8}. */
typedef struct gatefold_element {
  uint8_t code, bits;
} gatefold_element;

/* How one dimension of an input binds an open dimension: size = scale * symbol
 * + offset, scale > 0. symbol -1: it binds none and is only checked. */
typedef struct gatefold_binding {
  int32_t symbol;
  int32_t unused;
  int64_t scale, offset;
} gatefold_binding;

typedef struct gatefold_tensor {
  const char *name;
  int32_t role; /* gatefold_role */
  int32_t rank;
  gatefold_element element;
  uint8_t has_initial;  /* a state's start, a parameter's default */
  uint8_t prepare_only; /* a parameter that the run does not read */
  /* A state, as an input and as a result: compiled code finds it in the memory
   * of the result alone, and writes over a part of it. */
  uint8_t in_place;
  uint8_t unused[3];
  double initial;
  /* rank entries; inputs and states only, else null */
  const gatefold_binding *bindings;
  /* rank entries, as the text writes each: "B", "2*T + 1", "40" */
  const char *const *dimension_names;
  /* Place of its first dimension among the sizes that `sizes` computes. */
  int64_t first_size;
} gatefold_tensor;

/* Every value v of an integer input lies in 0 <= v < bound, or in 0 <= v <=
 * bound if `inclusive`; bound is sizes[bound_size]. */
typedef struct gatefold_value_check {
  int32_t input;
  int32_t inclusive;
  int64_t bound_size;
} gatefold_value_check;

/* sizes[left] == sizes[right], or the run is refused with `message`. */
typedef struct gatefold_size_check {
  int64_t left, right;
  const char *message;
} gatefold_size_check;

struct gatefold_team;
struct gatefold_variant;

typedef struct gatefold_description {
  int32_t abi_version;
  int32_t symbol_count;
  const char *name; /* of the entry */
  const char *json; /* all of this for programs, see runtime/README.md */
  const char *const *symbols; /* names of the open dimensions */

  int64_t input_count, result_count, parameter_count, prepared_count;
  const gatefold_tensor *inputs;  /* tensors, then states */
  const gatefold_tensor *results; /* results, then states */
  const gatefold_tensor *parameters;
  const gatefold_tensor *prepared; /* named by what they are made from */

  int64_t value_check_count, size_check_count;
  const gatefold_value_check *value_checks;
  const gatefold_size_check *size_checks;

  /* From the open dimensions (each 0..2^31 - 1) to all sizes (of inputs,
   * results, parameters, prepared tensors in order, then bounds and the sides
   * of checks; -1 where one overflows), and to the bytes of the arena of a run
   * by so many ranks (-1 where that overflows). Pure; the sizes of parameters
   * and of prepared tensors do not depend on the symbols. */
  int64_t size_count;
  void (*sizes)(const int64_t *symbols, int64_t *sizes);
  int64_t (*arena_bytes)(const int64_t *symbols, int64_t ranks);

  /* How many ranks at most are worth their start. Null: a run is one rank's. */
  int64_t (*useful_ranks)(const int64_t *symbols);

  /* Computes. `arguments` holds pointers to MLIR memref descriptors (allocated,
   * aligned, offset, sizes[rank], strides[rank]; all i64/pointers): parameters
   * and prepared tensors (contiguous, 64-byte aligned; the data of a parameter
   * that is `prepare_only` may be null), then inputs, then results (no overlap
   * with anything else), both with a last stride of 1 and any others. `arena`
   * is 64-byte aligned. Returns 0, or the code of an error of the run: see
   * gatefold_run_error. Flush-to-zero is the runtime's business.
   *
   * All ranks 0 .. ranks - 1 of a team call it at the same time with the same
   * arguments and arena (runtime/Team.h); they share the work and meet at
   * barriers. `team` is null for one rank. The results do not depend on the
   * number of ranks. */
  int32_t (*run)(void *const *arguments, void *arena, int64_t rank,
                 int64_t ranks, struct gatefold_team *team);

  /* Makes the prepared tensors, once. `arguments` holds the descriptors of
   * parameters, then prepared tensors (contiguous, 64-byte aligned), which it
   * writes; `arena` has prepare_arena_bytes() bytes (-1 where that overflows)
   * and is 64-byte aligned. Returns as `run` does. Null, both, where there are
   * no prepared tensors. */
  int64_t (*prepare_arena_bytes)(void);
  int32_t (*prepare)(void *const *arguments, void *arena);

  /* Embedded weights: parameter_count pointers to contiguous data, or null; an
   * entry is null where that parameter has none. What is 64-byte aligned is
   * used where it is, the rest is copied in `prepare`. */
  const void *const *embedded;

  /* The same program as kernels for GPUs, in any order; 0 and null for none. */
  int64_t variant_count;
  const struct gatefold_variant *variants;

  /* What `run` and `prepare` check on the way; a code of GATEFOLD_RUN_FAILURE
   * + k says that failures[k] has happened: "m.gf:3:11: max of no elements". */
  int64_t failure_count;
  const char *const *failures;
} gatefold_description;

/* One parameter of a kernel, 8 bytes: word `word` of the memref descriptor of
 * argument number `tensor`, in the order of `arguments` above. Word 1 is a
 * device's address of the first element. */
typedef struct gatefold_kernel_word {
  int32_t tensor; /* or one of gatefold_kernel_memory */
  int32_t word;
} gatefold_kernel_word;

enum gatefold_kernel_memory {
  GATEFOLD_KERNEL_ARENA = -1, /* rank 1: word 3 is its bytes */
  GATEFOLD_KERNEL_TEAM = -2   /* word 1 alone */
};

/* A kernel for a grid of one dimension, its blocks being the ranks of a run. */
typedef struct gatefold_kernel {
  const char *name;     /* in the image; null: there is none */
  int32_t threads;      /* of a block */
  int32_t shared_bytes; /* dynamic shared memory of a block */
  int64_t word_count;
  const gatefold_kernel_word *words; /* its parameters, in order */
} gatefold_kernel;

/* The words of 32 bits that the blocks of a launch share. All are 0 when a
 * launch begins, but that a run may find a code of gatefold_run_error: then it
 * leaves at once and writes nothing. */
enum gatefold_team_word {
  GATEFOLD_TEAM_ARRIVALS = 0,
  GATEFOLD_TEAM_STATUS = 1, /* 0, or the code of an error of the run */
  GATEFOLD_TEAM_WORDS = 2
};

/* A program as it was compiled for one kind of GPU. */
typedef struct gatefold_variant {
  /* "sm_90"; "sm_90a" runs on that kind alone, "sm_100f" on its family. */
  const char *target;
  /* What cuModuleLoadData takes: a fatbin, a cubin, or PTX that ends in 0. */
  const void *image;
  uint64_t image_bytes;
  /* Its own description: the inputs, results, parameters, symbols and checks
   * are those of the program for the CPU; sizes, arena, useful ranks, prepared
   * tensors, failures and which parameters the run reads are those of this
   * schedule.
   * `run`, `prepare` and `variants` are null, since kernels take their place:
   * `prepare_arena_bytes` is null just where there is no such kernel. `json`
   * may be null. */
  const gatefold_description *program;
  /* Cooperative, with as many blocks as are resident at once and are useful. */
  gatefold_kernel run;
  /* Takes parameters, prepared tensors, arena and team; as many blocks as are
   * resident at once. */
  gatefold_kernel prepare;
} gatefold_variant;

enum gatefold_run_error {
  GATEFOLD_RUN_OK = 0,
  GATEFOLD_RUN_BAD_VALUE = 2, /* an input's value, found on a GPU */
  GATEFOLD_RUN_FAILURE = 16   /* and all above: see `failures` */
};

#ifdef __cplusplus
}
#endif

#endif /* GATEFOLD_RUNTIME_DESCRIPTION_H */
