# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What PyTorch has for a case, by name; cuDNN is reached through it."""


def make(timing, device="cuda"):
    """Names and calls without arguments, on torch's current stream. What this PyTorch, or this
    GPU, has not is left out with the reason."""
    import torch

    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
    kind = {"f16": torch.float16, "bf16": torch.bfloat16, "f32": torch.float32}[timing.floats]
    sizes = timing.sizes

    def tensor(*shape):
        return torch.randn(*shape, device=device, dtype=kind)

    candidates = {}
    if timing.peer in ("attention", "causal", "differential"):
        from torch.nn.attention import SDPBackend, sdpa_kernel

        width = 128 if "128" in timing.entry else 64
        b, h, n = sizes["B"], sizes["H"], sizes["T"]
        causal = timing.peer != "attention"
        attend = torch.nn.functional.scaled_dot_product_attention
        q, k, q2, k2 = (tensor(b, h, n, width) for _ in range(4))
        two = timing.peer == "differential"
        v = tensor(b, h, n, 128 if two else width)
        share = tensor(b, h, n, 1)

        def call():
            if not two:
                return attend(q, k, v, is_causal=causal)
            first, second = (attend(a, c, v, is_causal=causal) for a, c in ((q, k), (q2, k2)))
            return first - share * second

        def with_cudnn():
            with sdpa_kernel(SDPBackend.CUDNN_ATTENTION):
                return call()

        candidates["torch SDPA"] = call
        candidates["cuDNN SDPA (torch)"] = with_cudnn
    elif timing.peer in ("lstm", "bilstm"):
        layer = torch.nn.LSTM(
            512, 512, batch_first=True, bidirectional=timing.peer == "bilstm", dtype=kind, device=device
        )
        x = tensor(sizes["B"], sizes["T"], 512)
        candidates["cuDNN LSTM (torch)"] = lambda: layer(x)
    elif timing.peer == "linear":
        layer = torch.nn.Linear(4096, 4096, dtype=kind, device=device)
        x = tensor(sizes["B"], 4096)
        candidates["torch linear"] = lambda: layer(x)
    return candidates
