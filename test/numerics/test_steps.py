# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Cells whose step holds an attention, a table, a convolution or a softmax, and sequences of
scalars, tokens, flags and matrices, against a plain loop."""

import attention_references as attentions
import cell_references as cells
import numpy
from attention_references import exp, softmax, tanh, weigh
from conftest import assert_close, lengths_of, random_weights
from test_recurrences import floats, loop, wide

TEXT = """
import cells, attention

cell attend_memory(x: [3]) -> [3] {
  state m: [4, 3], n: i64[] = 0
  y = dot_product(x[None, :], m, m, mask=(arange(4) < n)[None, :])[0]
  m' = concat(m[1:], (x + y)[None, :], axis=0)
  n' = n + 1
  return y
}

cell reader(x: [3], memory: [S, 3], n: i64[], offset: i64[]) -> [3] {
  state h: [3], t: i64[] = offset
  y = diff_window(h[None, :], memory, memory, lengths=n, causal=true, offset=3)[0]
  h' = tanh(x + y)
  t' = t + 1
  return h' + f32(t)
}

cell heads(x: [4], memory: [2, S, 2]) -> [4] {
  state h: [4]
  q = reshape(h, (2, 1, 2))
  y = dot_product(q, memory, memory[0:1], gqa=true)
  h' = tanh(x + merge_heads(y)[0])
  return h'
}

cell spoken(token: i64[]) -> [H] {
  state h: [H]
  param embed: embedding(V=7, N=H), rnn: gru(H=H)
  y, h' = step(rnn, embed(token), h)
  return y
}

cell window(x: [L, 3]) -> [5] {
  state h: [5]
  param mix: linear(N=5), conv: conv1d(N=5, kernel=2, padding=1)
  y = mean(conv(x.T), axis=1)
  a = softmax(mix(concat(y, h)))
  h' = a * 2 - h * 0.5
  return softmax(h', where=h' > 0)
}

cell total(x: []) -> [] {
  state s: []
  s' = s + x
  return s'
}

cell bits(x: bool[], k: i64[]) -> (any: bool[], sum: i64[], xor: bool[]) {
  state any: bool[], sum: i64[], xor: bool[] = true
  any' = any or x
  sum' = sum + where(x, k, -1)
  xor' = xor != x
  return any', sum', xor'
}

func rows(x: [T, I], n: i64[]) -> [T, 4] {
  param rnn: lstm(H=4, layers=2)
  y, (h, _) = scan(rnn, x, lengths=n)
  return y + h[1]
}

model m(x: [B, T, 3], x4: [B, T, 4], memory: [B, S, 3], heads: [B, 2, S, 2], n: i64[B],
        o: i64[B], tokens: i64[B, T], t: i64[B], w: [B, T, L, 3], z: [T], b: bool[T, B],
        k: i64[T, B], deep: [A, B, T, 3], dn: i64[A]) ->
    (attended: [B, T, 3], read: [B, T, 3], spoken: [B, T, 6], back: [B, T, 6], windows: [B, T, 5],
     sums: [T], sum: [], any: bool[T], count: i64[T], xor: bool[T], mapped: [A, B, T, 4],
     headed: [B, T, 4], same: [A, B, T, 3], last: [A, B, 3]) {
  param am: attend_memory(), rd: reader(), sp: spoken(H=6), wi: window(), to: total(), bi: bits(), ro: rows(), he: heads(), rn: rnn_tanh(H=3)
  attended, _ = scan(am, x)
  read, _ = scan(rd, x, with=(memory, n, o))
  spoken, _ = scan(sp, tokens, lengths=t)
  back, _ = scan(sp, flip(tokens, axis=1))
  windows, _ = scan(wi, w)
  sums, sum = scan(to, z)
  (any, count, xor), _ = scan(bi, (b[:, 0], k[:, 0]))
  headed, _ = scan(he, x4, with=heads)
  same, last = scan(rn, deep, lengths=dn)
  return attended, read, spoken, back, windows, sums, sum, any, count, xor, ro(deep, dn[:, None]), headed, same, last
}
"""


class Steps:
    """The steps of one batch row; each takes inputs and states."""

    def __init__(self, weights, inputs, b):
        self.w, self.i, self.b = weights, inputs, b

    def part(self, prefix):
        return {n.removeprefix(prefix): a for n, a in self.w.items() if n.startswith(prefix)}

    def attended(self, inputs, states):
        (x,), (m, n) = inputs, states
        seen = (numpy.arange(4) < n)[None]
        y = weigh(softmax(attentions.scores(x[None], m), seen), m)[0]
        return (y,), (numpy.concatenate([m[1:], (x + y)[None]]), n + 1)

    def read(self, inputs, states):
        (x,), (h, t), memory = inputs, states, self.i["memory"][self.b]
        seen = attentions.visible(
            1, len(memory), causal=True, offset=3, length=self.i["n"][self.b]
        )
        h = tanh(x + attentions.diff_window(seen, h[None], memory, memory)[0])
        return (h + t,), (h, t + 1)

    def headed(self, inputs, states):
        (x,), (h,), memory = inputs, states, self.i["heads"][self.b]
        seen = numpy.ones((1, memory.shape[1]), bool)
        heads = [
            attentions.dot_product(seen, h[None, 2 * j : 2 * j + 2], memory[j], memory[0])
            for j in range(2)
        ]
        h = tanh(x + numpy.concatenate(heads, axis=1)[0])
        return (h,), (h,)

    def spoken(self, inputs, states):
        embedded = self.w["sp.embed.weight"][inputs[0]]
        h, states = cells.gru(self.part("sp.rnn."), embedded, states)
        return (h,), states

    def windows(self, inputs, states):
        (h,), x = states, numpy.pad(inputs[0].T, ((0, 0), (1, 1)))
        kernel, bias = self.w["wi.conv.weight"], self.w["wi.conv.bias"]
        y = [
            numpy.tensordot(kernel, x[:, t : t + 2], axes=2) + bias
            for t in range(x.shape[1] - 1)
        ]
        joined = numpy.concatenate([numpy.mean(y, axis=0), h])
        a = exp(self.w["wi.mix.weight"] @ joined + self.w["wi.mix.bias"])
        h = a / a.sum() * 2 - h * 0.5
        return (softmax(h[None], (h > 0)[None])[0],), (h,)


def test_what_a_step_holds(compiler):
    library = compiler.library(TEXT)
    generator = numpy.random.default_rng(95)
    weights = random_weights(library, generator)
    library.prepare(weights)
    w = wide(weights)

    def part(prefix):
        return {n.removeprefix(prefix): a for n, a in w.items() if n.startswith(prefix)}

    for batch, time, keys, width, more in [(2, 4, 6, 3, 2), (1, 1, 1, 1, 1), (3, 17, 3, 1, 2), (2, 0, 3, 2, 1), (2, 3, 0, 5, 3)]:
        given = {
            "x": floats(generator, batch, time, 3),
            "x4": floats(generator, batch, time, 4),
            "memory": floats(generator, batch, keys, 3),
            "heads": floats(generator, batch, 2, keys, 2),
            "n": lengths_of(generator, batch, keys),
            "o": generator.integers(-5, 5, batch),
            "tokens": generator.integers(0, 7, (batch, time)),
            "t": lengths_of(generator, batch, time),
            "w": floats(generator, batch, time, width, 3),
            "z": floats(generator, time),
            "b": generator.random((time, batch)) < 0.5,
            "k": generator.integers(-5, 5, (time, batch)),
            "deep": floats(generator, more, batch, time, 3),
            "dn": lengths_of(generator, more, time),
        }
        found, i = library.run(**given), wide(given)

        def check(name, b, step, sequence, start, length=None):
            rows, _ = loop(step, (sequence,), start, length=length)
            expected = numpy.reshape([row[0] for row in rows], found[name][b].shape)
            assert_close(found[name][b], expected, (name, batch, time, keys))

        for b in range(batch):
            steps = Steps(w, i, b)
            check("attended", b, steps.attended, i["x"][b], (numpy.zeros((4, 3)), 0))
            check("read", b, steps.read, i["x"][b], (numpy.zeros(3), given["o"][b]))
            check("headed", b, steps.headed, i["x4"][b], (numpy.zeros(4),))
            start = (numpy.zeros(6),)
            check("spoken", b, steps.spoken, given["tokens"][b], start, given["t"][b])
            check("back", b, steps.spoken, given["tokens"][b, ::-1], start)
            check("windows", b, steps.windows, i["w"][b], (numpy.zeros(5),))
        assert_close(found["sums"], i["z"].cumsum())
        assert_close(found["sum"], i["z"].sum())
        flags, counts = given["b"][:, 0], given["k"][:, 0]
        numpy.testing.assert_array_equal(found["any"], numpy.logical_or.accumulate(flags))
        numpy.testing.assert_array_equal(
            found["count"], numpy.where(flags, counts, -1).cumsum()
        )
        numpy.testing.assert_array_equal(found["xor"], flags.cumsum() % 2 == 0)
        for a in range(more):
            lengths = [given["dn"][a]] * batch
            zeros = numpy.zeros((2, batch, 4))
            y, (h, _) = cells.stacked_scan(
                cells.lstm, part("ro.rnn."), i["deep"][a], [zeros] * 2, lengths, 4, 2, False
            )
            assert_close(found["mapped"][a], y + h[1][:, None])
            y, (h,) = cells.scan(
                cells.rnn_tanh, part("rn."), i["deep"][a], [zeros[0, :, :3]], lengths, 3
            )
            assert_close(found["same"][a], y)
            assert_close(found["last"][a], h)
