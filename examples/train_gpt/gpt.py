# SPDX-License-Identifier: MIT
"""GPT-2 (Radford et al. 2019), with a function for attention."""

import dataclasses
import math

import torch
from torch import nn
from torch.nn import functional as F


@dataclasses.dataclass
class Config:
    layers: int
    heads: int
    width: int
    context: int
    vocabulary: int = 50304  # GPT-2's 50,257, padded to a multiple of 64.


SIZES = {"tiny": dict(layers=2, heads=2, width=64, vocabulary=256), "small": dict(layers=12, heads=12, width=768),
         "medium": dict(layers=24, heads=16, width=1024)}


class Block(nn.Module):
    def __init__(self, config, attention):
        super().__init__()
        width = config.width
        self.heads, self.attention = config.heads, attention
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        batch, length, width = x.shape
        qkv = self.qkv(self.norm1(x)).view(batch, length, 3, self.heads, width // self.heads)
        o = self.attention(*(part.transpose(1, 2) for part in qkv.unbind(2)), is_causal=True)
        x = x + self.out(o.transpose(1, 2).reshape(batch, length, width))
        return x + self.down(F.gelu(self.up(self.norm2(x)), approximate="tanh"))


class Gpt(nn.Module):
    def __init__(self, config, attention):
        super().__init__()
        self.tokens, self.positions = nn.Embedding(config.vocabulary, config.width), nn.Embedding(config.context, config.width)
        self.blocks = nn.ModuleList(Block(config, attention) for _ in range(config.layers))
        self.norm = nn.LayerNorm(config.width)
        for name, parameter in self.named_parameters():
            if parameter.dim() == 2:  # Weights that add to the residual stream are smaller.
                ends = name.endswith(("out.weight", "down.weight"))
                nn.init.normal_(parameter, std=0.02 / math.sqrt(2 * config.layers) if ends else 0.02)
            elif name.endswith("bias"):
                nn.init.zeros_(parameter)

    def forward(self, tokens, targets):
        """Returns the mean loss in nats."""
        x = self.tokens(tokens) + self.positions.weight[:tokens.shape[1]]
        for block in self.blocks:
            x = block(x)
        logits = F.linear(self.norm(x), self.tokens.weight)
        return F.cross_entropy(logits.flatten(0, 1).float(), targets.flatten())
