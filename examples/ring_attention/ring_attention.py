# SPDX-License-Identifier: MIT
"""Attention over a sequence whose parts are on several processes (docs/python.md). Run it with torchrun:

  torchrun --nproc-per-node 2 examples/ring_attention/ring_attention.py
"""

import os

import torch
import torch.distributed as dist

import tegula

device = torch.device("cpu")
if torch.cuda.is_available():
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
    torch.cuda.set_device(device)

dist.init_process_group("nccl" if device.type == "cuda" else "gloo")
torch.manual_seed(0)  # All ranks have the same whole tensors.
q, k, v = (torch.randn(1, 4, 512, 64, device=device) for _ in range(3))
part_q, part_k, part_v = (tegula.ring_shard(x).requires_grad_() for x in (q, k, v))

part_o = tegula.ring_attention(part_q, part_k, part_v, causal=True)
part_o.sum().backward()  # Each rank has the gradients of its own parts.
o = tegula.ring_unshard(part_o)

whole_o, _ = tegula.attention(q, k, v, causal=True)
print(f"rank {dist.get_rank()} of {dist.get_world_size()}: equal {torch.allclose(o, whole_o, atol=1e-5)}")
dist.destroy_process_group()
