# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`run --device emulator`: kernels for a GPU compute what a CPU computes."""

import numpy as np
import pytest
from driver import COMMAND_LINE_FAULT, INPUT_FAULT, REPOSITORY, gatefold, refusal

LAYERS = REPOSITORY / "test" / "gpu" / "Inputs" / "layers.gf"
EMULATED = ["--device", "emulator"]
SIZES = [
    ("elementwise", "N=5,M=7"),
    ("normalized", "B=2,T=3"),
    ("projected", "B=5"),
    ("embedded", "B=2,T=3"),
    ("recurrent", "B=3,T=5"),
    ("recurrent", "B=1,T=1"),
    ("bidirectional", "B=3,T=5"),
    ("attentive", "B=1,H=2,T=9,S=9"),
    ("differing", "B=1,H=2,T=9,S=9"),
    ("largest", "B=2,T=5"),
]


def compute(entry, dimensions, folder, *options):
    folder.mkdir()
    gatefold("run", LAYERS, "--entry", entry, "--dim", dimensions, "--seed", "1",
             "--output-dir", folder, *options)  # fmt: skip
    return np.load(folder / "output.npy")


@pytest.mark.parametrize("entry, dimensions", SIZES)
def test_computes_as_a_cpu(tmp_path, entry, dimensions):
    expected = compute(entry, dimensions, tmp_path / "naive", "--naive")
    one = compute(entry, dimensions, tmp_path / "one", *EMULATED, "--threads", "1")
    np.testing.assert_allclose(one, expected, rtol=1.3e-6, atol=1e-5)
    four = compute(entry, dimensions, tmp_path / "four", *EMULATED, "--threads", "4",
                   "--target", "sm_90")  # fmt: skip
    assert one.tobytes() == four.tobytes()


ROWS = """\
model rows(x: {type}[R, C]) -> ({type}[R], {type}[R], i64[R]) {{
  return sum(x, axis=-1), max(x, axis=-1), argmax(x, axis=-1)
}}
"""


def reduce_rows(folder, x, element, threads):
    folder.mkdir()
    (folder / "rows.gf").write_text(ROWS.format(type=element))
    np.save(folder / "x.npy", x)
    gatefold("run", folder / "rows.gf", "--input", folder / "x.npy", *EMULATED,
             "--threads", str(threads), "--output-dir", folder)  # fmt: skip
    names = sorted(path for path in folder.glob("*.npy") if path.name != "x.npy")
    return [np.load(name) for name in names]


@pytest.mark.parametrize("element, tolerance", [("f32", 1e-6), ("f64", 1e-14), ("i64", 0)])
@pytest.mark.parametrize(
    "rows, columns",
    [(1, 1), (1, 5000), (3, 2049), (20, 1500), (9, 33), (1, 1023), (2, 31)],
)
def test_rows(tmp_path, element, tolerance, rows, columns):
    """Warps reduce rows, and a block those that are few and long: the bits of a row do not
    depend on the number of rows or blocks. NaN is the largest, and the first one is found."""
    generator = np.random.default_rng(rows + columns)
    x = (generator.standard_normal((rows, columns)) * 100).round()
    x[0, columns // 2] = x[0].max()
    whole = x.astype({"f32": np.float32, "f64": np.float64, "i64": np.int64}[element])
    if element != "i64" and rows > 1:
        whole[1, columns // 3] = np.nan
    one = reduce_rows(tmp_path / "one", whole, element, 1)
    np.testing.assert_allclose(one[0], whole.sum(-1), rtol=tolerance, atol=tolerance * 1e4)
    np.testing.assert_array_equal(one[1], whole.max(-1))
    np.testing.assert_array_equal(one[2], whole.argmax(-1))
    many = reduce_rows(tmp_path / "many", whole, element, 3)
    alone = reduce_rows(tmp_path / "alone", whole[-1:], element, 1)
    for first, other, last in zip(one, many, alone):
        assert first.tobytes() == other.tobytes()
        assert first[-1:].tobytes() == last.tobytes()


def test_directions_are_shared(tmp_path):
    """So large that blocks share the steps of both directions, and the weights of `prepare`."""
    text = tmp_path / "m.gf"
    text.write_text(
        "import cells\n"
        "model m(x: [B, T, 16]) -> [B, T, 512] {\n"
        "  param l: lstm(H=256, bidirectional=true)\n"
        "  h, _ = scan(l, x)\n"
        "  return h\n"
        "}\n"
    )

    def run(name, *options):
        gatefold("run", text, "--dim", "B=1,T=3", "--seed", "1", "--output-dir", tmp_path / name,
                 *options)  # fmt: skip
        return np.load(tmp_path / name / "output.npy")

    expected = run("naive", "--naive")
    one = run("one", *EMULATED, "--threads", "1")
    np.testing.assert_allclose(one, expected, rtol=1.3e-6, atol=1e-5)
    assert one.tobytes() == run("five", *EMULATED, "--threads", "5").tobytes()


def test_naive(tmp_path):
    naive = compute("recurrent", "B=2,T=3", tmp_path / "naive", *EMULATED, "--naive")
    expected = compute("recurrent", "B=2,T=3", tmp_path / "cpu", "--naive")
    np.testing.assert_allclose(naive, expected, rtol=1.3e-6, atol=1e-5)


def test_an_assertion_ends_the_run(tmp_path):
    np.save(tmp_path / "x.npy", np.zeros((2, 0), np.float32))
    message = refusal(
        "run", LAYERS, "--entry", "largest", "--input", tmp_path / "x.npy", *EMULATED,
        status=INPUT_FAULT,
    )  # fmt: skip
    assert "layers.gf:" in message and ": max of no elements" in message


def test_what_a_step_finds_ends_the_run(tmp_path):
    text = tmp_path / "f.gf"
    text.write_text(
        "cell c(x: i64[], table: [5]) -> [] {\n  state h: []\n"
        "  h' = h + take(table, 2 * x)\n  return h'\n}\n"
        "model f(x: i64[B, T], table: [5], n: i64[B]) -> [B, T] {\n"
        "  param steps: c()\n  y, _ = scan(steps, x, with=table, lengths=n)\n  return y\n}\n"
    )
    given = {"x": np.array([[0, 1, 2], [2, 9, 0]]), "table": np.arange(5, dtype="f4"), "n": np.array([3, 1])}
    np.savez(tmp_path / "x.npz", **given)
    output = tmp_path / "y.npy"
    gatefold("run", text, "--input", tmp_path / "x.npz", *EMULATED, "--output", f"output={output}")
    np.testing.assert_array_equal(np.load(output), [[0, 2, 6], [4, 0, 0]])
    np.savez(tmp_path / "x.npz", **given | {"n": np.array([3, 2])})
    message = refusal("run", text, "--input", tmp_path / "x.npz", *EMULATED, status=INPUT_FAULT)
    assert "f.gf:3:12: an index that the run computed lies outside its table of 5 rows" in message


def test_nothing_is_done_behind_an_assertion(tmp_path):
    """The index of the largest of nothing would be read from a table of nothing."""
    text = tmp_path / "f.gf"
    text.write_text(
        "model f(x: [B, T], table: [T, 2]) -> [B, 2] {\n"
        "  return take(table, argmax(x, axis=-1))\n"
        "}\n"
    )
    np.savez(tmp_path / "x.npz", x=np.zeros((2, 0), np.float32), table=np.zeros((0, 2), np.float32))
    message = refusal("run", text, "--input", tmp_path / "x.npz", *EMULATED, status=INPUT_FAULT)
    assert "f.gf:2:22: argmax of no elements" in message
    assert "out-of-bounds" not in message


def test_a_step_reads_nothing_of_an_empty_table(tmp_path):
    """Indices of nothing are found wrong behind all steps, if at all."""
    text = tmp_path / "f.gf"
    text.write_text(
        "cell c(x: [N], n: i64[], table: [N]) -> [] {\n  state h: []\n"
        "  h' = h + take(table, argmax(x, lengths=n)) + take(table, take(arange(N), 2 * n))\n  return h'\n}\n"
        "model f(x: [B, T, N], n: i64[B, T], table: [N], steps: i64[B]) -> [B, T] {\n"
        "  param c: c()\n  y, _ = scan(c, (x, n), with=table, lengths=steps)\n  return y\n}\n"
    )
    given = {"x": np.zeros((2, 3, 0), "f4"), "n": np.zeros((2, 3), int), "table": np.zeros(0, "f4")}
    output = tmp_path / "y.npy"
    for options in ((), ("--naive",)):
        np.savez(tmp_path / "x.npz", **given, steps=np.array([0, 0]))
        gatefold("run", text, "--input", tmp_path / "x.npz", *EMULATED, *options, "--output", f"output={output}")
        np.testing.assert_array_equal(np.load(output), np.zeros((2, 3)))
        np.savez(tmp_path / "x.npz", **given, steps=np.array([0, 1]))
        message = refusal("run", text, "--input", tmp_path / "x.npz", *EMULATED, *options, status=INPUT_FAULT)
        assert "f.gf:3:24: argmax of no elements" in message


def test_command_line_faults(small):
    for options, message in [
        (["--device", "gpu"], "--device gpu: there are cpu, cuda, emulator"),
        (["--device", "cuda:1"], "\nhint: CUDA_VISIBLE_DEVICES chooses among several GPUs"),
        ([*EMULATED, "--target", "x86-64-v3"],
         "--device emulator: --target x86-64-v3 is no GPU\nhint: --target sm_80"),
        ([*EMULATED, "--copies", "soon"], "--copies soon: there are late and early"),
        (["--copies", "early"], "--copies is for --device emulator alone"),
    ]:  # fmt: skip
        assert message in refusal("run", small, *options, status=COMMAND_LINE_FAULT)


def test_as_many_blocks_as_there_is_room_for(small):
    options = ["--dim", "B=2", "--seed", "1", *EMULATED, "--threads"]
    message = refusal("run", small, *options, "100000", status=COMMAND_LINE_FAULT)
    assert "--threads 100000: the emulator has room for 24576 threads of a GPU at once" in message
    most = message.split("\nhint: --threads ")[1].split(" at most")[0]
    gatefold("run", small, *options, most)
    refusal("run", small, *options, str(int(most) + 1), status=COMMAND_LINE_FAULT)


def test_models_larger_than_its_memory(tmp_path):
    text = tmp_path / "m.gf"
    text.write_text(
        "model m(x: [N, 4], w: [4, K], v: [K, 4]) -> [N, 4] {\n  return exp(x @ w) @ v\n}\n"
    )
    message = refusal(
        "run", text, "--dim", "N=40000,K=14000", "--seed", "1", "--naive", *EMULATED,
        status=INPUT_FAULT,
    )  # fmt: skip
    assert "`the arena`, 4480000000 bytes, does not fit into the device's memory" in message
    assert "\nhint: smaller dimensions, or fewer blocks: --dim, --threads" in message


def test_libraries_have_no_kernels_for_it(small_library):
    message = refusal("run", small_library / "libsmall.so", *EMULATED, status=COMMAND_LINE_FAULT)
    assert "--device emulator is for texts and modules: " in message
    assert "libsmall.so is a library, whose kernels are machine code\nhint: give the text" in message
