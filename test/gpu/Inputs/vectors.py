# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs functions on vectors on the emulator and compares with numpy.

vectors.py FOLDER CASE...

A case writes a function in the form of passes/gpu/README.md ("Code on vectors"), lowers it and
runs it with one block.
"""

import pathlib
import re
import subprocess
import sys

import numpy

generator = numpy.random.default_rng(7)
CASES = {}


def case(function):
    CASES[function.__name__] = function
    return function


def run(command, **options):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, **options)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}\n{done.stdout}{done.stderr}")
    return done.stdout


def module(arguments, body, attributes="", fast=False):
    """A kernel that calls one function on vectors with all its buffers."""
    names = ", ".join(f"%{name}: {kind}" for name, kind in arguments)
    values = ", ".join(f"%{name}" for name, _ in arguments)
    types = ", ".join(kind for _, kind in arguments)
    return f"""
module attributes {{gpu.container_module{', gf.fast_math' if fast else ''}}} {{
  gpu.module @kernels {{
    func.func private @code({names}) attributes {{gf.vectors, passthrough = ["noinline"]{attributes}}} {{
      %c0 = arith.constant 0 : index
      {body}
      return
    }}
    gpu.func @kernel({names}, %team: !llvm.ptr<1>) kernel attributes {{nvvm.maxntid = array<i32: 256>}} {{
      func.call @code({values}) : ({types}) -> ()
      gpu.return
    }}
  }}
}}
"""


def lower(folder, name, text, staged):
    """The module as a file of LLVM's, and the bytes of shared memory that it needs."""
    source = folder / f"{name}.mlir"
    source.write_text(text)
    passes = "gf-attach-target{target=sm_80},gpu.module(" + ("gf-stage-reads," if staged else "")
    passes += "gf-vectors-to-threads,gf-share-loops),canonicalize,cse"
    threads = run(["gatefold-opt", source, f"--pass-pipeline=builtin.module({passes})"])
    (folder / f"{name}.threads.mlir").write_text(threads)
    code = run(["gatefold-opt", "--gf-nvvm", folder / f"{name}.threads.mlir"])
    # What a gpu.module holds is a module of LLVM's.
    code = re.sub(r"^module .*\n", "", code, flags=re.M).rstrip().removesuffix("}")
    code = re.sub(r"^.*gpu\.module @.*$", "module {", code, flags=re.M)
    (folder / f"{name}.nvvm.mlir").write_text(code)
    file = folder / f"{name}.ll"
    code = run(["mlir-translate", "--mlir-to-llvmir", folder / f"{name}.nvvm.mlir"])
    file.write_text('target triple = "nvptx64-nvidia-cuda"\n' + code)
    sizes = re.findall(r"gf\.shared_bytes = (\d+)", threads)
    return file, max(map(int, sizes), default=0)


def to_bits(array, element):
    """The array as the element type has it, and its values."""
    if element == "bf16":
        bits = numpy.asarray(array, numpy.float32).view(numpy.uint32)
        bits = ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype(numpy.uint16)
        return bits, (bits.astype(numpy.uint32) << 16).view(numpy.float32)
    stored = array.astype({"f32": numpy.float32, "f16": numpy.float16}[element])
    return stored, stored.astype(numpy.float32)


def execute(folder, name, text, inputs, outputs, staged):
    """Runs the kernel; `inputs` and `outputs` are in the order of its buffers."""
    file, shared = lower(folder, name, text, staged)
    command = ["gatefold-emulate", file, "--kernel", "kernel", "--block", "256"]
    command += ["--shared", shared, "--cooperative"]
    for key, array in inputs.items():
        numpy.save(folder / f"{name}.{key}.npy", array)
        command += ["--argument", f"{key}={folder / f'{name}.{key}.npy'}"]
        command += [part for size in (*array.shape, array.shape[-1]) for part in ("--argument", f"i64:{size}")]
    for key, shape in outputs.items():
        sizes = ",".join(map(str, shape))
        command += ["--argument", f"{key}=f32[{sizes}]", "--output", f"{key}={folder / f'{name}.{key}.npy'}"]
        command += [part for size in (*shape, shape[-1]) for part in ("--argument", f"i64:{size}")]
    command += ["--argument", "team=i32[2]:0"]
    run(command)
    return [numpy.load(folder / f"{name}.{key}.npy") for key in outputs]


def check(name, found, expected, tolerance):
    error = numpy.abs(found.astype(numpy.float64) - expected).max() if found.size else 0.0
    if not error <= tolerance:
        sys.exit(f"{name}: off by {error}, {tolerance} allowed")
    print(f"{name}: {error:.2e}")


GLOBAL = "#gpu.address_space<global>"


def matrix(element):
    return f"memref<?x?x{element}, strided<[?, 1]>, {GLOBAL}>"


def product(folder, name, element, wide, rows, columns, terms, form, warps, staged=False, sizes=None,
            fast=False, tolerance=1e-5):  # fmt: skip
    """out = a @ b.T or a @ b of one tile, of memory that may end before it does."""
    m, n, k = sizes or (rows, columns, terms)
    a, a_value = to_bits(generator.standard_normal((m, k)), element)
    b, b_value = to_bits(generator.standard_normal((n, k) if form == "nk" else (k, n)), element)
    b_shape = (columns, terms) if form == "nk" else (terms, columns)
    b_map = "(n, k)" if form == "nk" else "(k, n)"
    compute = "f32" if wide else element
    bounds = "" if sizes else " {in_bounds = [true, true]}"
    lines = [f"%zero = arith.constant 0.0 : {element}", "%zero32 = arith.constant 0.0 : f32"]

    def read(value, buffer, shape, kind, in_bounds):
        lines.append(
            f"%{value} = vector.transfer_read %{buffer}[%c0, %c0], %zero{in_bounds} : {kind}, "
            f"vector<{shape[0]}x{shape[1]}x{element}>"
        )

    read("va", "a", (rows, terms), matrix(element), bounds)
    read("vb", "b", b_shape, matrix(element), bounds)
    left, right = "va", "vb"
    if wide and element != "f32":
        for value, shape in (("va", (rows, terms)), ("vb", b_shape)):
            kind = f"vector<{shape[0]}x{shape[1]}x"
            lines.append(f"%{value}_wide = arith.extf %{value} : {kind}{element}> to {kind}f32>")
        left, right = "va_wide", "vb_wide"
    lines += [
        f"%none = arith.constant dense<0.0> : vector<{rows}x{columns}xf32>",
        "%sum = vector.contract {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, "
        f"affine_map<(m, n, k) -> {b_map}>, affine_map<(m, n, k) -> (m, n)>], "
        'iterator_types = ["parallel", "parallel", "reduction"], kind = #vector.kind<add>} '
        f"%{left}, %{right}, %none : vector<{rows}x{terms}x{compute}>, "
        f"vector<{b_shape[0]}x{b_shape[1]}x{compute}> into vector<{rows}x{columns}xf32>",
        f"vector.transfer_write %sum, %out[%c0, %c0]{bounds} : vector<{rows}x{columns}xf32>, {matrix('f32')}",
    ]
    arguments = [("a", matrix(element)), ("b", matrix(element)), ("out", matrix("f32"))]
    attribute = f", gf.warps = array<i64: {warps[0]}, {warps[1]}>"
    text = module(arguments, "\n      ".join(lines), attribute, fast)
    (out,) = execute(folder, name, text, {"a": a, "b": b}, {"out": (m, n)}, staged)
    b_value = b_value.T if form == "nk" else b_value
    check(name, out, a_value.astype(numpy.float64) @ b_value.astype(numpy.float64), tolerance)


@case
def products(folder):
    for form in ("nk", "kn"):
        for element in ("f16", "bf16"):
            product(folder, f"{element}-{form}", element, False, 32, 24, 32, form, (2, 1))
        product(folder, f"f32-{form}", "f32", True, 16, 16, 48, form, (1, 1))
        product(folder, f"f16-wide-{form}", "f16", True, 16, 24, 32, form, (1, 1))
        product(folder, f"f32-fast-{form}", "f32", True, 16, 16, 48, form, (1, 1), fast=True, tolerance=3e-2)
        # Sizes that leave a part of the tile out.
        product(folder, f"f16-part-{form}", "f16", False, 64, 32, 32, form, (4, 2), sizes=(37, 19, 21))
        product(folder, f"f32-part-{form}", "f32", True, 32, 32, 32, form, (1, 2), sizes=(1, 31, 32))
        product(folder, f"f32-none-{form}", "f32", True, 32, 32, 32, form, (2, 1), sizes=(0, 5, 0))


@case
def shared(folder):
    for form in ("nk", "kn"):
        for element in ("f16", "bf16", "f32"):
            wide = element == "f32"
            product(folder, f"{element}-{form}-shared", element, wide, 64, 24, 32, form, (4, 1), staged=True)
            product(folder, f"{element}-{form}-columns", element, wide, 32, 96, 64, form, (2, 2), staged=True)
        product(folder, f"f16-wide-{form}-shared", "f16", True, 32, 40, 64, form, (2, 1), staged=True)
        product(folder, f"f16-part-{form}-shared", "f16", False, 64, 32, 32, form, (4, 2), staged=True,
                sizes=(50, 9, 17))  # fmt: skip


def attention_body(element, maps, terms, width, block, rows):
    """Softmax attention of `rows` queries, keys in blocks; of two maps the difference."""
    score, out = f"{rows}x{block}", f"{rows}x{width}"
    wide = element == "f32"
    lines = f"""
      %c1 = arith.constant 1 : index
      %cblock = arith.constant {block} : index
      %pad = arith.constant 0.0 : {element}
      %keys = memref.dim %v, %c0 : {matrix(element)}
      %scale = arith.constant dense<{terms**-0.5}> : vector<{score}xf32>
      %never = arith.constant dense<0xFF800000> : vector<{score}xf32>
      %never1 = arith.constant dense<0xFF800000> : vector<{rows}x1xf32>
      %none1 = arith.constant dense<0.0> : vector<{rows}x1xf32>
      %none = arith.constant dense<0.0> : vector<{out}xf32>
      %nones = arith.constant dense<0.0> : vector<{score}xf32>
      %nonen = arith.constant dense<0.0> : vector<{rows}xf32>
      %step = vector.step : vector<{block}xindex>
      %columns = vector.shape_cast %step : vector<{block}xindex> to vector<1x{block}xindex>
      %end = vector.broadcast %keys : index to vector<1x{block}xindex>""".splitlines()
    read = "vector.transfer_read"
    for i in range(maps):
        lines.append(f"%q{i}t = {read} %q{i}[%c0, %c0], %pad : {matrix(element)}, vector<{rows}x{terms}x{element}>")
    state = [(f"%{kind}{i}", initial, shape) for i in range(maps) for kind, initial, shape in
             (("m", "%never1", f"{rows}x1"), ("l", "%none1", f"{rows}x1"), ("o", "%none", out))]  # fmt: skip
    carried = ", ".join(f"{name} = {initial}" for name, initial, _ in state)
    types = ", ".join(f"vector<{shape}xf32>" for _, _, shape in state)
    lines.append(f"%r:{len(state)} = scf.for %at = %c0 to %keys step %cblock iter_args({carried}) -> ({types}) {{")
    maps_nk = "affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (n, k)>, affine_map<(m, n, k) -> (m, n)>"
    maps_kn = maps_nk.replace("(n, k)>, affine_map<(m, n, k) -> (m, n)", "(k, n)>, affine_map<(m, n, k) -> (m, n)")
    kinds = 'iterator_types = ["parallel", "parallel", "reduction"], kind = #vector.kind<add>'
    lines += f"""
      %begin = vector.broadcast %at : index to vector<1x{block}xindex>
      %number = arith.addi %begin, %columns : vector<1x{block}xindex>
      %is1 = arith.cmpi slt, %number, %end : vector<1x{block}xindex>
      %is = vector.broadcast %is1 : vector<1x{block}xi1> to vector<{score}xi1>
      %vt = {read} %v[%at, %c0], %pad : {matrix(element)}, vector<{block}x{width}x{element}>""".splitlines()
    yields = []
    for i in range(maps):
        lines += f"""
      %kt{i} = {read} %k{i}[%at, %c0], %pad : {matrix(element)}, vector<{block}x{terms}x{element}>
      %s{i} = vector.contract {{indexing_maps = [{maps_nk}], {kinds}}} %q{i}t, %kt{i}, %nones
        : vector<{rows}x{terms}x{element}>, vector<{block}x{terms}x{element}> into vector<{score}xf32>
      %x{i} = arith.mulf %s{i}, %scale : vector<{score}xf32>
      %y{i} = arith.select %is, %x{i}, %never : vector<{score}xi1>, vector<{score}xf32>
      %mf{i} = vector.shape_cast %m{i} : vector<{rows}x1xf32> to vector<{rows}xf32>
      %mx{i} = vector.multi_reduction <maxnumf>, %y{i}, %mf{i} [1] : vector<{score}xf32> to vector<{rows}xf32>
      %mn{i} = vector.shape_cast %mx{i} : vector<{rows}xf32> to vector<{rows}x1xf32>
      %mb{i} = vector.broadcast %mn{i} : vector<{rows}x1xf32> to vector<{score}xf32>
      %d{i} = arith.subf %y{i}, %mb{i} : vector<{score}xf32>
      %p{i} = math.exp %d{i} : vector<{score}xf32>
      %g{i} = arith.subf %m{i}, %mn{i} : vector<{rows}x1xf32>
      %a{i} = math.exp %g{i} : vector<{rows}x1xf32>
      %ls{i} = vector.multi_reduction <add>, %p{i}, %nonen [1] : vector<{score}xf32> to vector<{rows}xf32>
      %lc{i} = vector.shape_cast %ls{i} : vector<{rows}xf32> to vector<{rows}x1xf32>
      %la{i} = arith.mulf %l{i}, %a{i} : vector<{rows}x1xf32>
      %ln{i} = arith.addf %la{i}, %lc{i} : vector<{rows}x1xf32>
      %ab{i} = vector.broadcast %a{i} : vector<{rows}x1xf32> to vector<{out}xf32>
      %oa{i} = arith.mulf %o{i}, %ab{i} : vector<{out}xf32>""".splitlines()
        factor = f"%p{i}"
        if not wide:
            lines.append(f"%pt{i} = arith.truncf %p{i} : vector<{score}xf32> to vector<{score}x{element}>")
            factor = f"%pt{i}"
        lines.append(
            f"%on{i} = vector.contract {{indexing_maps = [{maps_kn}], {kinds}}} {factor}, %vt, %oa{i} : "
            f"vector<{score}x{element}>, vector<{block}x{width}x{element}> into vector<{out}xf32>"
        )
        yields += [f"%mn{i}", f"%ln{i}", f"%on{i}"]
    lines.append(f"scf.yield {', '.join(yields)} : {types}\n}}")
    for i in range(maps):
        lines.append(f"%w{i} = vector.broadcast %r#{3 * i + 1} : vector<{rows}x1xf32> to vector<{out}xf32>")
        lines.append(f"%f{i} = arith.divf %r#{3 * i + 2}, %w{i} : vector<{out}xf32>")
    result = "%f0"
    if maps == 2:
        lines.append(f"%f = arith.subf %f0, %f1 : vector<{out}xf32>")
        result = "%f"
    lines.append(f"vector.transfer_write {result}, %out[%c0, %c0] : vector<{out}xf32>, {matrix('f32')}")
    return "\n      ".join(lines)


def attention_text(element, maps, terms, width, block, rows, fast=False):
    names = [f"{kind}{i}" for kind in "qk" for i in range(maps)] + ["v"]
    arguments = [(name, matrix(element)) for name in names] + [("out", matrix("f32"))]
    return module(arguments, attention_body(element, maps, terms, width, block, rows), "", fast)


def attention(folder, name, element, maps, terms, width, block, rows, queries, keys, tolerance, fast=False):
    inputs, values = {}, {}
    shapes = {f"{kind}{i}": (size, terms) for kind, size in (("q", queries), ("k", keys)) for i in range(maps)}
    for key, shape in {**shapes, "v": (keys, width)}.items():
        inputs[key], values[key] = to_bits(generator.standard_normal(shape), element)
    text = attention_text(element, maps, terms, width, block, rows, fast)
    expected = 0
    for i in range(maps):
        scores = values[f"q{i}"].astype(numpy.float64) @ values[f"k{i}"].astype(numpy.float64).T * terms**-0.5
        weights = numpy.exp(scores - scores.max(axis=1, keepdims=True))
        part = weights / weights.sum(axis=1, keepdims=True) @ values["v"].astype(numpy.float64)
        expected = expected - part if i else part
    for staged in (False, True):
        (out,) = execute(folder, f"{name}-{staged}", text, inputs, {"out": (queries, width)}, staged)
        check(f"{name} {'staged' if staged else ''}", out, expected, tolerance)


@case
def attentions(folder):
    attention(folder, "f16", "f16", 1, 32, 32, 16, 64, 50, 75, 2e-3)
    attention(folder, "bf16", "bf16", 1, 32, 48, 32, 16, 16, 33, 2e-2)
    attention(folder, "f32", "f32", 1, 32, 32, 16, 32, 31, 40, 2e-6)
    attention(folder, "f32-fast", "f32", 1, 32, 32, 16, 32, 32, 1, 5e-3, fast=True)
    attention(folder, "two", "f16", 2, 64, 128, 32, 128, 128, 65, 3e-3)


folder = pathlib.Path(sys.argv[1])
folder.mkdir(parents=True, exist_ok=True)
for wanted in sys.argv[2:]:
    CASES[wanted](folder)
