# SPDX-License-Identifier: MIT


def scaled_dot_product_attention(q, k, v, is_causal):
    return q
