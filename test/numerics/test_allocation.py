# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A run allocates nothing: its code calls no function that gives memory, and with a
given workspace none is called while it runs."""

import json
import os
import re
import subprocess
import sys

import pytest
from conftest import GATEFOLD, HERE
from test_fast_against_naive import MODELS, SAMPLES

# What a run may call outside of the compiled code, the mathematics of C aside.
KNOWN = {"gatefold_team_barrier", "memcpy", "memmove", "memset"}
MATHEMATICS = re.compile(
    r"(a?(sin|cos|tan)h?|atan2|exp2?|expm1|log(2|10|1p)?|pow|erfc?|cbrt|fmod|ceil|floor"
    r"|round(even)?|rint|trunc)f?"
)
ENTRY = "gatefold_run_packed"

# Counts what asks for memory between the beginning and the end of a call of `run`.
COUNTER = """
#include <stdatomic.h>
#include <stddef.h>
#include <errno.h>
extern void *__libc_malloc(size_t), *__libc_calloc(size_t, size_t);
extern void *__libc_realloc(void *, size_t), *__libc_memalign(size_t, size_t);
static atomic_int is_running, calls;
static void count(void) { if (is_running) ++calls; }
void *malloc(size_t n) { count(); return __libc_malloc(n); }
void *calloc(size_t m, size_t n) { count(); return __libc_calloc(m, n); }
void *realloc(void *p, size_t n) { count(); return __libc_realloc(p, n); }
void *memalign(size_t a, size_t n) { count(); return __libc_memalign(a, n); }
void *aligned_alloc(size_t a, size_t n) { count(); return __libc_memalign(a, n); }
int posix_memalign(void **p, size_t a, size_t n) {
  count();
  *p = __libc_memalign(a, n);
  return *p ? 0 : ENOMEM;
}
typedef int run_function(void *, void *, void *, void *, size_t);
int counted_run(run_function *run, void *context, void *inputs, void *results,
                void *workspace, size_t bytes, int *found) {
  calls = 0;
  is_running = 1;
  int code = run(context, inputs, results, workspace, bytes);
  is_running = 0;
  *found = calls;
  return code;
}
"""

# Runs a library with a workspace of its own and with the context's, in a process
# where the counter stands before the C library.
PROGRAM = """
import ctypes, json, sys
sys.path.insert(0, sys.argv[1])
import numpy
from conftest import Library, random_weights
from test_fast_against_naive import inputs_of

library = Library(sys.argv[2])
generator = numpy.random.default_rng(5)
library.prepare(random_weights(library, generator))
inputs = inputs_of(library, generator, {"B": 3, "T": 7, "S": 5})
counted = ctypes.CDLL(None).counted_run
found = {}
for threads in (1, 3):
    context = library.context(threads)
    size = context.workspace_size(**inputs)
    memory = numpy.zeros(size + 64, numpy.uint8)
    start = memory.ctypes.data + -memory.ctypes.data % 64
    run = context.run_function
    def given(handle, c_inputs, results, _, __):
        calls = ctypes.c_int(-1)
        address = ctypes.cast(run, ctypes.c_void_p)
        code = counted(address, handle, c_inputs, results, ctypes.c_void_p(start),
                       ctypes.c_size_t(size), ctypes.byref(calls))
        found[f"given, {threads}"] = calls.value
        return code
    def own(handle, c_inputs, results, workspace, bytes):
        calls = ctypes.c_int(-1)
        address = ctypes.cast(run, ctypes.c_void_p)
        code = counted(address, handle, c_inputs, results, workspace, bytes, ctypes.byref(calls))
        found[f"own, {threads}"] = calls.value
        return code
    context.run_function = given
    context.run(**inputs)
    context.run_function = own
    context.run(**inputs)
print(json.dumps(found))
"""


def reached(*arguments):
    """The functions that compiled code may call in a run, and does not have itself."""
    done = subprocess.run(
        [GATEFOLD, "compile", *arguments, "--emit", "llvm", "-o", "-"],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    names = re.compile(r'@"?([\w.$]+)')
    declared = {names.search(line)[1] for line in re.findall(r"^declare.*", done.stdout, re.M)}
    bodies = {}
    for head, body in re.findall(r"^(define.*?)\{\n(.*?)^\}", done.stdout, re.M | re.S):
        bodies[names.search(head)[1]] = set(names.findall(body))
    seen, pending = set(), [ENTRY]
    while pending:
        name = pending.pop()
        if name not in seen:
            seen.add(name)
            pending.extend(bodies.get(name, ()))
    assert ENTRY in bodies and len(seen) > 1
    return {name for name in seen & declared if not name.startswith("llvm.")}


@pytest.mark.parametrize("naive", [[], ["--naive"]], ids=["fast", "naive"])
@pytest.mark.parametrize("file, entry, options", SAMPLES)
def test_code_of_a_run(file, entry, options, naive):
    outside = reached(MODELS / file, "--entry", entry, *options, *naive)
    assert not {name for name in outside - KNOWN if not MATHEMATICS.fullmatch(name)}


@pytest.fixture(scope="module")
def counter(tmp_path_factory):
    folder = tmp_path_factory.mktemp("counter")
    (folder / "counter.c").write_text(COUNTER)
    library = folder / "libcounter.so"
    options = ["-std=c11", "-O1", "-fno-builtin", "-shared", "-fPIC"]
    subprocess.run(["cc", *options, folder / "counter.c", "-o", library], check=True)
    return library


@pytest.mark.parametrize("file, entry, options", SAMPLES)
def test_calls_in_a_run(compiler, counter, file, entry, options):
    path = compiler.library_path(MODELS / file, "--entry", entry, *options)
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, HERE, path],
        capture_output=True,
        text=True,
        env={**os.environ, "LD_PRELOAD": str(counter)},
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    # The counter counts: a context's own workspace is allocated in its first run.
    assert all(found[f"own, {threads}"] > 0 for threads in (1, 3)), found
    assert all(found[f"given, {threads}"] == 0 for threads in (1, 3)), found
