# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# From the letters of a word to its phonemes: a GRU reads the letters, another writes
# phonemes, each from the one before, until it writes </s>.
#
# Weights: g2p_en/checkpoint20.npz in the PyPI package g2p-en 2.1.0 (Apache-2.0,
# by Kyubyong Park and Jongseok Kim). Its names are mapped in grapheme_to_phoneme.py.
import cells

cell writer(start: [H], phonemes, first, last) -> i64[] {
  state phoneme: i64[] = first, h: [H] = start, done: bool[] = false
  param embed: embedding(V=phonemes, N=H), rnn: gru(H=H), head: linear(N=phonemes)
  _, h' = step(rnn, embed(phoneme), h)
  phoneme' = argmax(head(h'))
  done' = phoneme' == last
  return phoneme'
}

# A word is its letters and </s>. What stands behind the last phoneme is 0, <pad>.
model pronounce(letters: i64[B, T], lengths: i64[B]) -> i64[B, 20] {
  param embed: embedding(V=29, N=256), encoder: gru(H=256)
  param decoder: writer(phonemes=74, first=2, last=3)
  _, h = scan(encoder, embed(letters), lengths=lengths)
  y, _ = scan(decoder, with=h, steps=20, until="done")
  return y
}
