# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The gates refuse what they are there for: each check on planted faults."""

import collections
import pathlib
import shutil
import struct
import subprocess

import assembler
import cubin
import kernels
import memory_order
import occupancy
import programs
import pytest
import sampled
import tensor_counts

FOLDER = pathlib.Path(__file__).parent

LOG = """ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function 'k' for 'sm_80'
ptxas info    : Function properties for k
    {stack} bytes stack frame, {stores} bytes spill stores, {loads} bytes spill loads
ptxas info    : Used {registers} registers, used 1 barriers, 512 bytes smem, 432 bytes cmem[0]
ptxas info    : Function properties for helper
    0 bytes stack frame, 0 bytes spill stores, {inner} bytes spill loads
"""


def log(stack=0, stores=0, loads=0, registers=40, inner=0, more=""):
    return more + LOG.format(
        stack=stack, stores=stores, loads=loads, registers=registers, inner=inner
    )


class TestAssembler:
    def test_numbers(self):
        functions, complaints = assembler.parse(log())
        assert [(f.name, f.registers, f.shared_bytes) for f in functions] == [
            ("k", 40, 512),
            ("helper", None, 0),
        ]
        assert [f.is_kernel for f in functions] == [True, False]
        assert complaints == [] and assembler.spills(functions) == []

    @pytest.mark.parametrize(
        "fault, what",
        [
            ({"stack": 16}, "k: 16 bytes on the stack"),
            ({"stores": 4}, "k: 4 bytes of spill stores"),
            ({"loads": 8}, "k: 8 bytes of spill loads"),
            ({"inner": 12}, "helper: 12 bytes of spill loads"),
        ],
    )
    def test_spills(self, fault, what):
        assert assembler.spills(assembler.parse(log(**fault))[0]) == [what]

    def test_warnings(self):
        line = "ptxas warning : Registers are spilled to local memory in function 'k'\n"
        assert assembler.parse(log(more=line))[1] == [line.removeprefix("ptxas ").strip()]

    def test_nothing_assembled(self):
        with pytest.raises(ValueError, match="names no kernel"):
            assembler.parse("ptxas info    : 0 bytes gmem\n")


class TestOccupancy:
    @pytest.mark.parametrize(
        "chip, registers, shared, blocks",
        [
            ("sm_80", 255, 0, 1),
            ("sm_80", 128, 0, 2),
            ("sm_80", 129, 0, 1),
            ("sm_80", 256, 0, 0),
            ("sm_80", 32, 0, 8),
            ("sm_86", 32, 0, 6),
            ("sm_80", 32, 166912, 1),
            ("sm_80", 32, 166913, 0),
            ("sm_86", 32, 101376, 1),
            ("sm_86", 32, 101377, 0),
            ("sm_90", 64, 50000, 4),
            ("sm_120", 84, 20000, 2),
        ],
    )
    def test_blocks_of_256_threads(self, chip, registers, shared, blocks):
        assert occupancy.blocks(occupancy.CHIPS[chip], 256, registers, shared) == blocks

    def test_against_the_toolkit(self, tmp_path):
        """NVIDIA's header computes the same for every chip."""
        compiler, ptxas = shutil.which("cc"), shutil.which("ptxas")
        if not compiler or not ptxas:
            pytest.skip("no CUDA toolkit")
        include = pathlib.Path(ptxas).resolve().parents[1] / "include"
        if not (include / "cuda_occupancy.h").exists():
            pytest.skip("the toolkit has no cuda_occupancy.h")
        program = tmp_path / "occupancy"
        subprocess.run(
            [compiler, "-I", include, FOLDER / "occupancy.c", "-o", program], check=True
        )
        printed = subprocess.run([program], capture_output=True, text=True, check=True).stdout
        rows = [line.split() for line in printed.splitlines()]
        assert {row[0] for row in rows} == set(occupancy.CHIPS) - {"sm_90a"}
        for chip, *numbers in rows:
            threads, registers, shared, expected = map(int, numbers)
            found = occupancy.blocks(occupancy.CHIPS[chip], threads, registers, shared)
            assert found == expected, (chip, threads, registers, shared)


def elf(sections, functions=(), machine=cubin.CUDA_MACHINE):
    """A cubin with these sections of code, and functions as (name, section's number,
    begin, size); the first section is number 1."""
    names, data = b"\0", b""

    def name(text):
        nonlocal names
        names += text.encode() + b"\0"
        return len(names) - len(text) - 1

    headers = [struct.pack("<IIQQQQIIQQ", *[0] * 10)]
    for title, words in sections:
        code = b"".join(struct.pack("<QQ", word, 0) for word in words)
        headers.append(
            struct.pack("<IIQQQQIIQQ", name(title), 1, 0, 0, 64 + len(data), len(code), 0, 0, 0, 0)
        )
        data += code
    symbols = b""
    for title, section, begin, size in functions:
        symbols += struct.pack("<IBBHQQ", name(title), 2, 0, section, begin, size)
    strings = len(headers) + 1
    headers.append(
        struct.pack("<IIQQQQIIQQ", name(".symtab"), 2, 0, 0, 64 + len(data), len(symbols),
                    strings, 0, 0, 24)
    )  # fmt: skip
    data += symbols
    title = name(".strtab")
    headers.append(
        struct.pack("<IIQQQQIIQQ", title, 3, 0, 0, 64 + len(data), len(names), 0, 0, 0, 0)
    )
    data += names
    start = struct.pack("<16sHHIQQQIHHHHHH", b"\x7fELF\x02\x01\x01", 2, machine, 1, 0, 0,
                        64 + len(data), 0, 64, 0, 0, 64, len(headers), strings)  # fmt: skip
    return start + data + b"".join(headers)


class TestCubin:
    def test_counts_by_function(self):
        data = elf(
            [(".text.k", [0x723C, 0x7308, 0x723C, 0x7983, 0x1387]), (".text.p", [0x7308])],
            [("k", 1, 0, 80), ("$k$inner", 1, 32, 32), ("p", 2, 0, 16)],
        )
        found = {(f.kernel, f.name): (f.instructions, dict(f.counts)) for f in cubin.read(data)}
        assert found == {
            ("k", "k"): (3, {"HMMA": 1, "MUFU": 1, "STL": 1}),
            ("k", "inner"): (2, {"HMMA": 1, "LDL": 1}),
            ("p", "p"): (1, {"MUFU": 1}),
        }
        kernel = cubin.read(data)[0]
        assert (kernel.count(cubin.TENSOR), kernel.count(cubin.LOCAL)) == (1, 1)

    def test_what_is_no_cubin(self):
        for data in (b"", b"\x7fELF", elf([(".text.k", [0])], machine=62), elf([(".data", [0])])):
            with pytest.raises(cubin.NotACubin):
                cubin.read(data)


BARRIER = """.visible .func (.param .b32 r) barrier(
	.param .b64 p
)
{
	.reg .b32 	%r<9>;
	.loc	1 1 1
	bar.sync 	0;
	@%p1 bra 	$L__BB0_4;
	.loc	1 1 1
	ld.param.b64 	%rd1, [p];
	fence.acq_rel.gpu;
	atom.global.add.u32 	%r1, [%rd1], %r6; // arrive
$L__BB0_2:
	ld.acquire.gpu.global.b32 	%r7, [%rd1];
	ld.relaxed.gpu.global.b32 	%r8, [%rd1+4];
	@%p5 bra 	$L__BB0_2;
	fence.acq_rel.gpu;
$L__BB0_4:
	bar.red.or.pred 	%p6, 0, %p7;
	ret;
}
"""


class TestMemoryOrder:
    def test_the_barrier(self):
        assert memory_order.check(BARRIER) == ([], 1, 2)

    @pytest.mark.parametrize(
        "right, wrong, what",
        [
            # What the back end of LLVM 22 makes of an atomicrmw with an order.
            ("\tfence.acq_rel.gpu;\n\tatom", "\tatom", "no fence of the device before"),
            ("fence.acq_rel.gpu;\n\tatom", "fence.acq_rel.cta;\n\tatom", "no fence of the device"),
            ("\tatom", "\tst.global.b32 [%rd9], %r1;\n\tatom", "no fence of the device before"),
            ("\tatom", "$L_x:\n\tatom", "no fence of the device before"),
            ("ld.acquire.gpu.global.b32", "ld.relaxed.gpu.global.b32", "neither a fence nor"),
            ("ld.acquire.gpu.global.b32", "ld.acquire.cta.global.b32", "not seen by the device"),
            ("ld.acquire.gpu.global.b32", "ld.global.b32", "does not acquire a word"),
            ("[%rd1];\n\tld.relaxed", "[%rd2];\n\tld.relaxed", "neither a fence nor"),
            ("atom.global.add", "atom.global.cta.add", "seen by its block alone"),
            ("atom.global.add.u32 \t%r1,", "red.global.cta.add.u32", "seen by its block alone"),
            ("\tbar.sync \t0;\n", "", "its block has not met before it"),
            ("\tbar.red.or.pred \t%p6, 0, %p7;\n", "", "its block does not meet after it"),
            ("\tret;", "\tst.global.b32 [%rd1], %r1;\n\tret;", "does not release a word"),
            ("\tret;", "\tfence.acq_rel.cluster;\n\tret;", "is no fence of the device"),
            ("\tret;", "\tst.relaxed.cta.global.b32 [%rd7], %r1;\n\tret;", "not seen by the dev"),
            ("\tret;", "\tmembar.cta;\n\tret;", "is no fence of the device"),
        ],
    )
    def test_faults(self, right, wrong, what):
        assert BARRIER.count(right) >= 1
        errors, _, _ = memory_order.check(BARRIER.replace(right, wrong, 1))
        assert any(what in error for error in errors), errors

    def test_orders_by_itself(self):
        text = BARRIER.replace("\tfence.acq_rel.gpu;\n\tatom", "\tatom.acq_rel.gpu")
        assert memory_order.check(text) == ([], 1, 1)

    def test_other_fences(self):
        text = BARRIER.replace("\tret;", "\tfence.proxy.async;\n\tmembar.gl;\n\tret;")
        assert memory_order.check(text) == ([], 1, 3)

    def test_an_atomic_outside_functions(self):
        text = BARRIER + "\tatom.global.add.u32 \t%r1, [%rd1], %r6;\n"
        assert any("are written" in error for error in memory_order.check(text)[0])

    def test_two_functions(self):
        second = BARRIER.replace(" barrier(", " other(").replace("\tfence.acq_rel.gpu;\n\tatom", "\tatom")
        errors, atomics, fences = memory_order.check(BARRIER + second)
        assert (atomics, fences) == (2, 3)
        assert errors and all(error.startswith("other: ") for error in errors)


MODULE = (
    "%0 = gf.attention queries(%q : tensor<?x64xf16>) causal attributes "
    '{gf.algorithm = "registers", gf.key_block = 64 : i64, gf.query_block = 128 : i64} -> ...\n'
)


def counted(**counts):
    """Functions with so many instructions of tensor cores."""
    code = [
        cubin.Function(name, "k", 500, collections.Counter(HMMA=count))
        for name, count in counts.items()
    ]
    return [*code, cubin.Function("without", "k", 20)]


class TestTensorCounts:
    @pytest.mark.parametrize(
        "maps, key_width, value_width, half, exact",
        [
            (1, 64, 64, 64, 384),
            (1, 64, 128, 96, 576),
            (1, 128, 128, 128, 768),
            (2, 64, 128, 192, 1152),
        ],
    )
    def test_blocks_of_64_keys(self, maps, key_width, value_width, half, exact):
        attention = programs.Attention(maps, key_width, value_width)
        schedule = tensor_counts.schedules(MODULE)[0]
        assert schedule == {"algorithm": "registers", "key_block": 64, "query_block": 128}
        assert tensor_counts.attention_block(attention, schedule, True) == half
        assert tensor_counts.attention_block(attention, schedule, False) == exact

    def errors(self, module, *options, **counts):
        program = programs.Program("p", "attention", pathlib.Path("p.gf"), "p", options,
                                   attention=programs.Attention(1, 64, 64))  # fmt: skip
        return list(tensor_counts.check(program, module, counted(**counts)))

    def test_attention(self):
        assert self.errors(MODULE, "--float", "f16", block=64) == []
        assert self.errors(MODULE, block=384) == []

    @pytest.mark.parametrize(
        "module, counts, what",
        [
            (MODULE, {}, "no instruction of tensor cores, expected 64"),
            (MODULE, {"block": 63}, "block: 63 instructions of tensor cores, expected 64"),
            (MODULE, {"block": 128}, "at most 1 times"),
            (MODULE.replace("registers", "online"), {"block": 64}, "expected one attention"),
            (MODULE * 2, {"block": 64}, "expected one attention"),
        ],
    )
    def test_faults(self, module, counts, what):
        errors = self.errors(module, "--float", "f16", **counts)
        assert len(errors) == 1 and what in errors[0]

    @pytest.mark.parametrize(
        "function, count",
        [
            # 1 x 4 tiles, 2 instructions along k, three times.
            ("gatefold_linear_f32_64_rows64", 24),
            ("gatefold_linear_f32_64_rows16", 6),
            ("gatefold_linear_f32_64_beside_rows32", 12),
            # Weights of 16 bits have no low part; 16 bits on both sides need one.
            ("gatefold_linear_f32_f16_f32_f32_64_kept_rows32", 8),
            # 2 x 4 tiles, 2 along k, of one panel.
            ("gatefold_linear_bf16_64_rows128", 16),
            # 7 groups of columns are one warp's.
            ("gatefold_linear_f16_f16_f32_f32_56_rows64_0", 14),
        ],
    )
    def test_products(self, function, count):
        program = programs.Program("p", "other", pathlib.Path("p.gf"), "p")
        # It has the code of two panels, and of the last one alone.
        most = 24 if "rows128" in function else 8
        for copies in (1, 2, most):
            counts = counted(**{function: copies * count})
            assert list(tensor_counts.check(program, "", counts)) == []
        for wrong in (count - 1, (most + 1) * count):
            errors = list(tensor_counts.check(program, "", counted(**{function: wrong})))
            assert len(errors) == 1
            assert f"expected {count} for a step of k, at most {most} times" in errors[0]

    def test_products_where_there_are_none(self):
        program = programs.Program("p", "other", pathlib.Path("p.gf"), "p")
        errors = list(tensor_counts.check(program, "", counted(gatefold_kernel_3=8)))
        assert len(errors) == 1 and "in what is no product" in errors[0]
        # Beside an attention they may be its own.
        assert list(tensor_counts.check(program, MODULE, counted(gatefold_kernel_3=8))) == []


class TestSampled:
    def test_same_seed(self, tmp_path):
        """Program N is the same whichever number is the first."""
        first, second = (
            {
                program.name: (chip, program.options, program.text.read_text())
                for program, chip in sampled.programs(tmp_path, count, seed)
            }
            for count, seed in ((40, 0), (10, 20))
        )
        assert len(first) == 40 and second.items() <= first.items()

    def test_variety(self, tmp_path):
        found = list(sampled.programs(tmp_path, 200, 0))
        texts = [program.text.read_text() for program, _ in found]
        assert {chip for _, chip in found} == set(programs.CHIPS)
        assert {program.options[1] for program, _ in found} == set(sampled.ELEMENTS)
        for word in (*sampled.ATTENTIONS, *sampled.CELLS, "mask=", "bias=", "lengths=", "segments=",
                     "offset=", "gqa=", "causal=", "window="):  # fmt: skip
            assert any(word in text for text in texts), word
