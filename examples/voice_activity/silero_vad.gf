# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Silero VAD at 16 kHz: the probability of speech in each 32 ms of audio. State
# goes in and comes out, so a caller keeps it between frames; all of it starts
# at zero.
#
# Weights, by name: silero_vad/data/silero_vad_16k.safetensors in the PyPI
# package silero-vad 6.2.3 (MIT, copyright 2020-present Silero Team). The ONNX
# files of that package hold another checkpoint of the same architecture.
import cells

model silero_vad(samples: [B, 512]) -> [B, 1] {
  state context: [B, 64], h: [B, 128], c: [B, 128]
  param stft_conv: conv1d(N=258, kernel=256, stride=128, bias=false)
  param conv1: conv1d(N=128, kernel=3, padding=1)
  param conv2: conv1d(N=64, kernel=3, stride=2, padding=1)
  param conv3: conv1d(N=64, kernel=3, stride=2, padding=1)
  param conv4: conv1d(N=128, kernel=3, padding=1)
  param lstm_cell: lstm(H=128), final_conv: conv1d(N=1, kernel=1)
  frame = concat(context, samples)
  context' = samples[:, 448:]
  x = pad(frame[:, None, :], right=64, mode="reflect")  # [B, 1, 640]
  spectrum = stft_conv(x)  # real parts, then imaginary
  e = sqrt(spectrum[:, :129]**2 + spectrum[:, 129:]**2)  # [B, 129, 4]
  e = relu(conv1(e))  # [B, 128, 4]
  e = relu(conv2(e))  # [B, 64, 2]
  e = relu(conv3(e))  # [B, 64, 1]
  e = relu(conv4(e))  # [B, 128, 1]
  _, (h', c') = step(lstm_cell, e[:, :, 0], (h, c))
  return mean(sigmoid(final_conv(relu(h'[:, :, None]))), axis=2)
}
