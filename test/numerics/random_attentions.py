# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Models of attentions at random, of bodies at random, called with random options and over caches, each
beside its meaning in NumPy."""

import attention_references as references
import numpy
from attention_references import added_bias
from random_bodies import Body, Head, turned
from random_programs import sigmoid
from random_sequences import Calls, Input, joined

MAPS = ("r", "ok")
OF_KEYS = ("k", "v", "stamp")
OF_HEADS = ("w", "table", "slope", "sink")


class Attentions(Calls):
    """`heads`: how many of queries, and `kept` of keys; None: there is no such dimension."""

    def __init__(self, seed, element, mark=""):
        super().__init__(seed, element, mark)
        choose = self.random
        self.heads, self.kept = choose.choice([(None, None), (2, 2), (4, 2), (6, 2), (3, 1), (6, 3), (5, 1)])
        self.batch = () if self.heads is None and self.chance(0.2) else ("B",)
        self.width = choose.choice([4, 4, 4, 5, 1, 2, 3, 17, 33, 64])
        self.values = choose.choice([self.width - 1 or 1, 1, 2, 5, 7])
        self.integer = choose.choice(["i64", "i64", "i32"])
        # Keys of a cache: a state with room for C of them.
        self.cached = self.chance(0.2)
        self.keys = "C" if self.cached else "S"
        self.calls = []
        for place in range(choose.choice([1, 1, 1, 1, 2])):
            body = Body(choose, self.width, self.values, f"b{place}{mark}", self.jumps)
            self.texts.append(body.text)
            self.call(place, body)
        # Token by token as at once, where nothing depends on what comes later.
        text = "".join(self.texts + self.lines)
        looking = any(words in text for words in ("positions=arange", 'scope="all"', "max(where"))
        self.parts = self.cached and not looking and all("causal" in call for call in self.calls)

    def lead(self):
        return self.batch if self.heads is None else (*self.batch, self.heads)

    def of_keys(self):
        return self.batch if self.heads is None else (*self.batch, self.kept)

    def argument(self, body, name):
        """An input of the model for one of the body's; what stands in the call, and what that makes of a
        head's."""
        element, shape = body.shapes[name]
        shape = tuple(self.keys if s == "S" else s for s in shape)
        own = self.lead()
        if name in OF_KEYS:
            own = self.of_keys()
        if name in MAPS and self.heads:
            own = (*self.batch, 1) if self.kept == self.heads else self.lead()
        if name in OF_HEADS or name == "u":
            own = (self.heads,) if self.heads and name != "u" else ()
        if self.cached and name in ("k", "v"):
            given = self.cache(name, element, own, shape)
            return given, given, lambda x: x
        given = self.given(name, element, (*own, *shape))
        if name not in ("q", "k", "v") or not self.chance(0.25):
            return given, given, lambda x: x
        forms = [(f"tanh({given})", numpy.tanh), (f"0.5 * {given} - 0.25", lambda x: 0.5 * x - 0.25)]
        if name != "v" and self.width % 2 == 0:
            text = f"rotary({given}, positions=arange({shape[0]}) + 3)"
            forms += [(text, lambda x: turned(x, numpy.arange(len(x)) + 3))] * 2
        return given, *self.random.choice(forms)

    def cache(self, name, element, own, shape):
        """A state that rows are appended to."""
        state = f"{name}s{self.mark}"
        if state not in self.states:
            place = self.given("place", self.integer, self.batch, end="C - T + 1")
            rows = self.given(f"{name}_new", element, (*own, "T", *shape[1:]))
            kept = self.element if self.element in ("f16", "bf16") and self.chance(0.5) else ""
            self.states[state] = Input(kept, (*own, *shape))
            self.lines.append(f"{state}' = append({state}, {rows}, at={place})")
        return f"{state}'"

    def call(self, place, body):
        choose = self.random
        call = {"body": body, "arguments": []}
        written, options = [], []
        for name in body.inputs():
            given, text, function = self.argument(body, name)
            call["arguments"].append((given, function))
            written.append(text)
        if self.heads and self.kept != self.heads:
            options.append("gqa=true")
        self.choose_view(call, options)
        if self.chance(0.4):
            name = self.given("keys_in", self.integer, self.batch, end=f"{self.keys} + 1")
            call["lengths"] = lambda values, sizes, batch: values[name][batch]
            options.append(f"lengths={name}")
        elif self.cached and self.chance(0.5):
            call["lengths"] = lambda values, sizes, batch: values[f"place{self.mark}"][batch] + sizes["T"]
            options.append(f"lengths=place{self.mark} + T")
        if self.chance(0.25):
            call["segments"] = [
                self.given(f"segments_{side}", self.integer, (*self.batch, size), end="3", rises=True)
                for side, size in (("t", "T"), ("s", self.keys))
            ]
            options.append(f"segments=({', '.join(call['segments'])})")
        if self.chance(0.3):
            heads, rows = [1] if self.heads else [], choose.choice(["T", 1])
            call["mask"] = self.given("mask_in", "bool", (*self.batch, *heads, rows, self.keys))
            options.append(f"mask={call['mask']}")
        if self.chance(0.3) and body.softmaxes:
            heads = [self.heads] if self.heads else []
            call["bias"] = self.given("bias_in", "", (*heads, "T", self.keys), holes=0.2)
            options.append(f"bias={call['bias']}")
        self.choose_results(place, call, written + options)
        self.calls.append(call)

    def choose_view(self, call, options):
        choose = self.random
        view = choose.choice(["", "causal", "causal", "window", "both"])
        if view in ("causal", "both"):
            call["causal"] = True
            options.append("causal=true")
        if view in ("window", "both"):
            left, right = choose.choice([(2, 1), (0, 0), (1, None), (None, 1), (3, 2)])
            call["window"] = (left, right)
            options.append(f"window=({'inf' if left is None else left}, {'inf' if right is None else right})")
        if self.cached and view:
            call["offset"] = f"place{self.mark}"
            options.append(f"offset={call['offset']}")
        elif self.chance(0.35) and view:
            call["offset"] = choose.choice([0, 1, -1, "given", "S - T - 1", "2 * T"])
            if call["offset"] == "given":
                call["offset"] = self.given("offset", self.integer, self.batch, low="-2", end="S + 1")
            options.append(f"offset={call['offset']}".replace("S", self.keys))

    def choose_results(self, place, call, arguments):
        body, count = call["body"], call["body"].softmaxes
        names = [f"y{place}_{i}{self.mark}" for i in range(len(body.results))]
        left = list(names)
        shapes = [("", (*self.lead(), "T", self.values)), *[("", (*self.lead(), "T", 1))] * (len(names) - 1)]
        kinds = (("lse", ("T",), 0.25), ("weights", ("T", self.keys), 0.15))
        for option, shape, share in kinds:
            if not count or not self.chance(share):
                continue
            arguments.append(f"{option}=true")
            call[option] = True
            own = [f"{option}{place}_{i}{self.mark}" for i in range(count)]
            left.append(joined(own))
            names += own
            element = ("f64" if self.element == "f64" else "f32") if option == "lse" else ""
            shapes += [(element, (*self.lead(), *shape))] * count
        self.lines.append(f"{', '.join(left)} = {body.name}({', '.join(arguments)})")
        if self.chance(0.25):
            self.follow(call, names[0])
        call["names"] = names
        self.results += zip(names, shapes)

    def follow(self, call, name):
        """What is done to the result of an attention."""
        gate = self.given("gate", "", (*self.lead(), "T", self.values))
        text, call["then"] = self.random.choice([
            (f"{name} * sigmoid({gate})", lambda x, g: x * sigmoid(g)),
            (f"{name} / sqrt(mean({name} ** 2, axis=-1, keep=true) + 0.5) - {gate}",
             lambda x, g: x / numpy.sqrt((x**2).mean(axis=-1, keepdims=True) + 0.5) - g),
        ])  # fmt: skip
        self.lines.append(f"{name} = {text}")

    # ---- what it means ----

    def run(self, inputs, weights, sizes):
        values = self.floats(inputs)
        found = {n: numpy.zeros([sizes.get(x, x) for x in shape]) for n, (_, shape) in self.results}
        for state in self.states:
            found[state] = values[f"{state}'"] = self.appended(state, values)
        for call in self.calls:
            for place in numpy.ndindex(*[sizes.get(x, x) for x in self.lead()]):
                for name, value in zip(call["names"], self.head(call, place, values, sizes)):
                    found[name][place] = value
        return found

    def appended(self, state, values):
        kept, rows = values[state].copy(), values[f"{state[0]}_new{self.mark}"]
        at = values[f"place{self.mark}"]
        for batch in numpy.ndindex(at.shape):
            kept[batch][..., at[batch] : at[batch] + rows.shape[-2], :] = rows[batch]
        return kept

    def own(self, array, place, rank):
        """Of a head: leading dimensions at the right, in groups, or stretched."""
        lead = array.ndim - rank
        if self.heads is None or lead == 0:
            return array[place[:lead]]
        *batch, head = place
        if lead == 1:
            return array[head]
        return array[(*batch, head * array.shape[lead - 1] // self.heads)]

    def head(self, call, place, values, sizes):
        body, queries, keys, batch = call["body"], sizes["T"], sizes[self.keys], place[: len(self.batch)]
        mine = {}
        for name, (given, function) in zip(body.inputs(), call["arguments"]):
            mine[name] = function(self.own(values[given], place, len(body.shapes[name][1])))
        offset = call.get("offset", keys - queries)
        if isinstance(offset, str):
            offset = int(values[offset][batch]) if offset in values else eval(offset, {"S": keys, "T": queries})
        length = int(call["lengths"](values, sizes, batch)) if "lengths" in call else None
        seen = references.visible(queries, keys, causal=call.get("causal", False), window=call.get("window"),
                                  offset=offset, length=length)  # fmt: skip
        reached = seen.any(axis=0)
        if "segments" in call:
            first, second = (values[n][batch] for n in call["segments"])
            seen = seen & (first[:, None] == second[None])
        if "mask" in call:
            seen = seen & self.own(values[call["mask"]], place, 2)
        head = Head(mine, seen, offset, reached)
        bias = 0
        if "bias" in call:
            bias = values[call["bias"]] if self.heads is None else values[call["bias"]][place[-1]]
        with added_bias(bias):
            results = body.run(head)
        if "then" in call:
            results[0] = call["then"](results[0], values[f"gate{self.mark}"][place])
        if "lse" in call:
            results += head.logs
        if "weights" in call:
            results += head.maps
        return results
