# SPDX-License-Identifier: MIT
"""Attention in JAX, from the Python package `tegula`, with its gradient (docs/python.md)."""

import jax
from tegula.jax import dot_product_attention

q, k, v = (jax.random.normal(key, (2, 512, 8, 64)) for key in jax.random.split(jax.random.key(0), 3))


@jax.jit
def loss(q, k, v):
    return (dot_product_attention(q, k, v, is_causal=True, local_window_size=(128, 0))**2).sum()


dq, dk, dv = jax.grad(loss, (0, 1, 2))(q, k, v)
print(loss(q, k, v), dq.shape)
