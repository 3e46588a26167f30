# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: not gatefold check %s 2>&1 | FileCheck %s --implicit-check-not=error:
# scan and step.

import cells

cell two(x: [I], start: [I]) -> [I] {
  state h: [I] = start, b: bool[]
  h' = x + h
  b' = not b
  return h
}

cell scalar(x: [I]) -> [] {
  state h: []
  h' = h + sum(x)
  return h'
}

func first_argument(x: [B, T, I]) -> [B, T, 4] {
  param c: lstm(H=4), fc: linear(N=4)
  # CHECK: recurrences.gf:[[@LINE+2]]:15: error: `scan` needs a cell's instance first, found a value
  # CHECK: hint: declare `param c: lstm(...)`, then `scan(c, x)`
  a, _ = scan(x, x)
  # CHECK: recurrences.gf:[[@LINE+2]]:10: error: `scan` needs a cell's instance first
  # CHECK: hint: declare `param c: lstm(...)`, then `scan(c, x)`
  a, _ = scan()
  # CHECK: recurrences.gf:[[@LINE+2]]:15: error: no instance is named `lstm`
  # CHECK: hint: declare `param c: lstm(...)`, then `scan(c, x)`
  a, _ = scan(lstm, x)
  # CHECK: recurrences.gf:[[@LINE+3]]:15: error: `fc` is an instance of `linear`, which is not a cell
  # CHECK: note: declared here
  # CHECK: hint: call it: `fc(x)`
  a, _ = scan(fc, x)
  # CHECK: recurrences.gf:[[@LINE+2]]:15: error: no instance is named `d`
  # CHECK: hint: declare `param c: lstm(...)`, then `scan(c, x)`
  a, _ = scan(d, x)
  y, _ = scan(c, x)
  return y
}

func sequences(x: [B, T, I], y: [B, T, I], z: [B, 7, I]) -> [B, T, I] {
  param c: lstm(H=4), t: two()
  # CHECK: recurrences.gf:[[@LINE+3]]:10: error: cell `lstm` has 1 input, found 0 sequences and 0 by `with=`
  # CHECK: note: declared here
  # CHECK: hint: a tuple feeds the first inputs, `with=` the others
  a, _ = scan(c)
  # CHECK: recurrences.gf:[[@LINE+3]]:10: error: cell `lstm` has 1 input, found 2 sequences and 0 by `with=`
  # CHECK: note: declared here
  # CHECK: hint: a tuple feeds the first inputs, `with=` the others
  a, _ = scan(c, (x, y))
  # CHECK: recurrences.gf:[[@LINE+2]]:27: error: `steps` is for a cell that is given no sequence
  # CHECK: hint: leave `steps` out: a sequence has its own length
  a, _ = scan(c, x, steps=3)
  # CHECK: recurrences.gf:[[@LINE+2]]:18: error: `x` is [I], expected 2 dimensions or more
  # CHECK: note: declared here; time stands before its dimensions
  a, _ = scan(c, x[0, 0])
  # CHECK: recurrences.gf:[[@LINE+2]]:10: error: `scan` needs a sequence, or `steps=`
  # CHECK: hint: write `scan(t, x)` or `scan(t, steps=n)`
  a, _ = scan(t, with=(x[0], y[0]))
  # CHECK: recurrences.gf:[[@LINE+1]]:10: error: the sequences of `t` have 7 steps in `x` and 4 in `start`
  a, _ = scan(t, (z, z[:, :4]))
  a, _ = scan(t, steps=4, with=(x[0], y[0]))
  b, _ = scan(t, x, with=y[:, 0])
  return b
}

func options(x: [2, 5, I], n: i64[2], m: bool[2, 5], k: i64[3]) -> [2, 5, 4] {
  param c: lstm(H=4), b: gru(H=4, layers=2, bidirectional=true), t: two(), s: scalar(bidirectional=true)
  # CHECK: recurrences.gf:[[@LINE+1]]:29: error: lengths is [3], expected the first of [2]
  a, _ = scan(c, x, lengths=k)
  # CHECK: recurrences.gf:[[@LINE+1]]:29: error: lengths must be integers, found bool[2, 5]
  a, _ = scan(c, x, lengths=m)
  # CHECK: recurrences.gf:[[@LINE+1]]:29: error: lengths is [2, 2], expected the first of [2]
  a, _ = scan(c, x, lengths=stack(n, n))
  # CHECK: recurrences.gf:[[@LINE+2]]:27: error: `reset` is i64[2], expected elements of type bool
  # CHECK: hint: convert it: `bool(x)`
  a, _ = scan(c, x, reset=n)
  # CHECK: recurrences.gf:[[@LINE+1]]:27: error: reset is bool[2, 4], expected [.., 5], one for each step
  a, _ = scan(c, x, reset=m[:, 1:])
  # CHECK: recurrences.gf:[[@LINE+2]]:27: error: `until` needs a state bool[], found `h` [4]
  # CHECK: note: declared here
  a, _ = scan(c, x, until="h")
  # CHECK: recurrences.gf:[[@LINE+2]]:41: error: `two` has no state `bb`
  # CHECK: hint: did you mean `b`?
  a, _ = scan(t, x, with=x[:, 0], until="bb")
  # CHECK: recurrences.gf:[[@LINE+1]]:29: error: `reverse` must be `true` or `false`, found the number 1
  a, _ = scan(c, x, reverse=1)
  # CHECK: recurrences.gf:[[@LINE+2]]:21: error: `scan` has no option `lenghts`
  # CHECK: hint: did you mean `lengths`?
  a, _ = scan(c, x, lenghts=n)
  # CHECK: recurrences.gf:[[@LINE+1]]:32: error: `lengths` is given twice
  a, _ = scan(c, x, lengths=n, lengths=n)
  # CHECK: recurrences.gf:[[@LINE+2]]:10: error: `b` is bidirectional and takes no `reverse`
  # CHECK: note: declared here
  a, _ = scan(b, x, reverse=true)
  # CHECK: recurrences.gf:[[@LINE+3]]:10: error: a bidirectional instance has no step
  # CHECK: note: `b` is declared here
  # CHECK: hint: the backward direction needs the whole sequence: `scan`
  a, _ = step(b, x[:, 0])
  # CHECK: recurrences.gf:[[@LINE+2]]:10: error: the result of a bidirectional cell needs a dimension, on which the directions are joined
  # CHECK: note: declared here
  a, _ = scan(s, x)
  # CHECK: recurrences.gf:[[@LINE+2]]:26: error: state `h` of `b` is [2, 5, I], expected layers * directions = 4 in front
  # CHECK: note: declared here
  a, _ = scan(b, x, init=x)
  # CHECK: recurrences.gf:[[@LINE+3]]:26: error: cell `lstm` has 2 states, found [2, 5, I]
  # CHECK: note: declared here
  # CHECK: hint: give a tuple of 2, in the order in which they are declared
  a, _ = scan(c, x, init=x)
  # CHECK: recurrences.gf:[[@LINE+1]]:10: error: the leading dimensions of the arguments of `c` do not fit: [2] and [2] and [2, 5]
  a, _ = step(c, x[:, 0], (x[:, 0], x))
  # CHECK: recurrences.gf:[[@LINE+2]]:30: error: `step` takes 3 arguments by position, here is one more
  # CHECK: hint: the cell's further inputs go by `with=`
  a, _ = step(c, x[:, 0], n, x)
  d, _ = scan(b, x, init=zeros((4, 2, 4)), lengths=n, reset=m)
  e, _ = scan(t, x, with=x[:, 0], until="b")
  return d[:, :, :4]
}

func layers(x: [B, T, I]) -> [B, T, I] {
  # CHECK: recurrences.gf:[[@LINE+2]]:23: error: `layers` must be 1 to 10000, found 0
  # CHECK: recurrences.gf:[[@LINE+1]]:53: error: `bidirectional` must be `true` or `false`, found the number 3
  param a: gru(layers=0, H=3), b: gru(bidirectional=3, H=3), c: two(layers=2), d: sru(layers=2, bidirectional=true)
  # CHECK: recurrences.gf:[[@LINE+3]]:10: error: `layers` above 1 needs a cell with one sequence and one result
  # CHECK: note: declared here
  # CHECK: hint: declare an instance for each layer and direction, and `scan` each
  y, _ = scan(c, (x, x))
  y, _ = scan(d, x[:, :, :4])
  return x
}

cell stopping(x: [I]) -> [I] {
  state stop: bool[]
  stop' = stop
  return x
}

func until(x: [B, T, I]) -> [B, T, I] {
  param d: stopping(layers=2), c: stopping(), g: gru(H=4)
  # CHECK: recurrences.gf:[[@LINE+3]]:27: error: `until` needs a cell of one layer and direction
  # CHECK: note: `d` is declared here
  # CHECK: hint: declare an instance for each layer and direction, and `scan` each
  y, _ = scan(d, x, until="stop")
  # CHECK: recurrences.gf:[[@LINE+1]]:27: error: `until` must be the name of a state, as `until="done"`, found the number 1
  y, _ = scan(c, x, until=1)
  # CHECK: recurrences.gf:[[@LINE+2]]:27: error: `stopping` has no state `finished`
  # CHECK: hint: its states bool[]: `stop`
  y, _ = scan(c, x, until="finished")
  # CHECK: recurrences.gf:[[@LINE+2]]:27: error: `gru` has no state `finished`
  # CHECK: hint: declare a state bool[] in `gru`
  y, _ = scan(g, x, until="finished")
  # CHECK: recurrences.gf:[[@LINE+3]]:26: error: cell `gru` has 1 state, found a tuple of 2 values
  # CHECK: note: declared here
  # CHECK: hint: give the value of `h` alone
  y, _ = scan(g, x, init=(x, x))
  return x
}
