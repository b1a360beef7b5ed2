# SPDX-License-Identifier: MIT
"""Attention for JAX, on CPUs and CUDA devices: custom calls of XLA with their gradients. It does not need PyTorch."""

import ctypes
import functools
import math
import operator
import pathlib
import re
import typing

import jax
import jax.numpy as jnp
import numpy as np

_NO_BOUND = -1
_LARGEST_DIM = 256
_DIM_UNIT = 8
_TYPES = (jnp.float32, jnp.float16, jnp.bfloat16)


def _version_of_xla():
    """Returns the major and the minor version of the interface for custom calls, from the headers that jaxlib has."""
    header = pathlib.Path(jax.ffi.include_dir(), "xla", "ffi", "api", "c_api.h").read_text()
    return tuple(int(re.search(rf"#define XLA_FFI_API_{part} (\d+)", header)[1]) for part in ("MAJOR", "MINOR"))


def _register():
    path = pathlib.Path(__file__).with_name("_jax.so")
    if not path.exists():
        raise ImportError(f"tegula.jax: there is no {path}; this tegula was built where JAX was not installed")
    library = ctypes.CDLL(str(path))
    built, running = tuple((ctypes.c_int * 2).in_dll(library, "tegula_xla_ffi_version")), _version_of_xla()
    if built > running:  # XLA would refuse the calls when it initialises a backend, and so all of JAX would fail.
        raise ImportError(f"tegula.jax: it was built with version {built} of XLA's interface for custom calls, and this jaxlib "
                          f"has {running}; build it with this jaxlib, or use a newer one")
    for name in ("tegula_attention_forward", "tegula_attention_backward"):
        for platform, suffix in (("cpu", "cpu"), ("CUDA", "cuda")):
            function = jax.ffi.pycapsule(getattr(library, f"{name}_{suffix}"))
            jax.ffi.register_ffi_target(name, function, platform=platform)


_register()


class _Options(typing.NamedTuple):
    """Attributes of the calls that are the same in both passes."""
    scale: np.float32
    causal: bool
    window_left: int
    window_right: int
    deterministic: bool


def _call(name, results, tensors, options, documents, bias, mask, lse_gradient=False, bias_gradient=False):
    """Calls a function of src/jax.cpp. `results` are pairs of a shape and a type."""
    results = [jax.ShapeDtypeStruct(*result) for result in results]
    variants = [*(documents or ()), *(x for x in (bias, mask) if x is not None)]
    zeros = [jnp.zeros(results[-1].shape, jnp.float32)] if bias_gradient else []
    operands = [*tensors, *variants, *zeros]
    aliases = {len(operands) - 1: len(results) - 1} if bias_gradient else None
    return jax.ffi.ffi_call(name, results, input_output_aliases=aliases)(
        *operands, **options._asdict(), documents=documents is not None, bias=bias is not None, mask=mask is not None,
        lse_gradient=lse_gradient, bias_gradient=bias_gradient)


def _folding(function):
    """Returns `function` with a rule for vmap, which folds the new axis into the batch.

    The batch is axis 0 of all arguments and results. In the last two arguments, bias and mask, it may be 1."""
    function = jax.custom_batching.custom_vmap(function)

    @function.def_vmap
    def _(size, is_batched, *arguments):
        batch = arguments[0].shape[1 if is_batched[0] else 0]

        def fold(x, batched, repeats=False):
            if repeats and not batched and x.shape[0] == 1:
                return x
            x = x if batched else x[None]
            return jnp.broadcast_to(x, (size, batch, *x.shape[2:])).reshape(size * batch, *x.shape[2:])

        folded = jax.tree.map(fold, arguments[:-2], tuple(is_batched[:-2]))
        repeating = jax.tree.map(functools.partial(fold, repeats=True), arguments[-2:], tuple(is_batched[-2:]))
        results = function(*folded, *repeating)
        return [x.reshape(size, batch, *x.shape[1:]) for x in results], [True] * len(results)

    return function


def _forward(options, *arguments):
    """Returns o [batch, length, heads, value_dim] and lse, float32 [batch, heads, length]."""
    @_folding
    def forward(q, k, v, documents, bias, mask):
        batch, length, heads, _ = q.shape
        results = [((*q.shape[:3], v.shape[3]), q.dtype), ((batch, heads, length), jnp.float32)]
        return _call("tegula_attention_forward", results, (q, k, v), options, documents, bias, mask)

    return tuple(forward(*arguments))


def _backward(options, bias_gradient, *arguments):
    """Returns dq, dk and dv, and with `bias_gradient` also dbias, float32 [batch, heads, seqlen_q, seqlen_k]."""
    @_folding
    def backward(q, k, v, o, lse, d_o, d_lse, documents, bias, mask):
        tensors = [q, k, v, o, lse, d_o] + ([] if d_lse is None else [d_lse])
        results = [(x.shape, x.dtype) for x in (q, k, v)]
        if bias_gradient:
            results.append(((*lse.shape, k.shape[1]), jnp.float32))
        return _call("tegula_attention_backward", results, tensors, options, documents, bias, mask, d_lse is not None,
                     bias_gradient)

    return backward(*arguments)


@functools.partial(jax.custom_vjp, nondiff_argnums=(0,))
def _attention(options, q, k, v, documents, bias, mask):
    return _forward(options, q, k, v, documents, bias, mask)


def _attention_forward(options, *primals):
    q, k, v, documents, bias, mask = jax.tree.map(lambda x: x.value, primals)
    o, lse = _forward(options, q, k, v, documents, bias, mask)
    constant, learnt = (None, bias) if bias is not None and primals[4].perturbed else (bias, None)
    return (o, lse), (q, k, v, o, lse, documents, constant, learnt, mask)


def _attention_backward(options, saved, gradients):
    q, k, v, o, lse, documents, constant, learnt, mask = saved
    d_o, d_lse = (None if isinstance(x, jax.custom_derivatives.SymbolicZero) else x for x in gradients)
    d_o = jnp.zeros_like(o) if d_o is None else d_o
    bias = constant if learnt is None else learnt
    dq, dk, dv, *rest = _backward(options, learnt is not None, q, k, v, o, lse, d_o, d_lse, documents, bias, mask)
    dbias = None
    if rest:
        repeated = [axis for axis in range(4) if bias.shape[axis] != rest[0].shape[axis]]
        dbias = rest[0].sum(repeated, keepdims=True).astype(bias.dtype)
    return dq, dk, dv, None, dbias, None


# With symbolic zeros, the backward pass computes no gradient that nobody asks for.
_attention.defvjp(_attention_forward, _attention_backward, symbolic_zeros=True)


def _documents(query_lengths, key_lengths, batch, length_q, length_k):
    """Returns key_begin, key_end, query_begin and query_end, as tegula.h has them for documents. The first tokens of the
    sequences are one document. The others see nothing: their intervals end before they begin."""
    def whole(lengths, length):
        return jnp.full(batch, length, jnp.int32) if lengths is None else jnp.clip(lengths, 0, length).astype(jnp.int32)

    def bounds(own, length, other, other_length):
        begin = jnp.where(jnp.arange(length) < own[:, None], 0, other_length).astype(jnp.int32)
        return begin, jnp.broadcast_to(other[:, None], begin.shape)

    query_lengths, key_lengths = whole(query_lengths, length_q), whole(key_lengths, length_k)
    return (*bounds(query_lengths, length_q, key_lengths, length_k), *bounds(key_lengths, length_k, query_lengths, length_q))


def _four_dimensional(name, x, least=1):
    x = jnp.asarray(x)
    _require(least <= x.ndim <= 4, f"{name} has {x.ndim} dimensions; it must have {least} to 4")
    return x[(None,) * (4 - x.ndim)]


def _require(condition, message, error=ValueError):
    if not condition:
        raise error("tegula.jax.dot_product_attention: " + message)


def _check(query, key, value):
    for name, x in (("key", key), ("value", value)):
        _require(x.dtype == query.dtype, f"{name} is {x.dtype}, and query is {query.dtype}; they must be equal")
        _require(x.shape[0] == query.shape[0],
                 f"{name} has the batch size {x.shape[0]}, and query {query.shape[0]}; they must be equal")
    _require(key.shape[:3] == value.shape[:3],
             f"key has the shape {key.shape}, and value {value.shape}; they must be equal up to the last dimension")
    _require(key.shape[3] == query.shape[3],
             f"key has the head dimension {key.shape[3]}, and query {query.shape[3]}; they must be equal")
    _require(0 not in (*query.shape, *value.shape), f"query has the shape {query.shape}, and value {value.shape}; "
             "they must have elements", NotImplementedError)
    _require(query.shape[2] % key.shape[2] == 0,
             f"query has {query.shape[2]} heads, and key {key.shape[2]}; query's must be a multiple of key's")
    _require(query.dtype in _TYPES, f"query is {query.dtype}; it must be float32, float16 or bfloat16", NotImplementedError)
    for name, x in (("query", query), ("value", value)):
        _require(x.shape[3] <= _LARGEST_DIM,
                 f"the head dimension of {name} is {x.shape[3]}; it may be at most {_LARGEST_DIM}", NotImplementedError)


def _check_repeats(name, x, shape):
    _require(all(n in (1, full) for n, full in zip(x.shape, shape)),
             f"{name} has the shape {x.shape}; it must repeat to {shape}, [batch, heads, query length, key length]")


def _checked_lengths(name, lengths, batch):
    if lengths is None:
        return None
    lengths = jnp.asarray(lengths)
    _require(lengths.shape == (batch,), f"{name} has the shape {lengths.shape}; it must be ({batch},), one for each batch entry")
    _require(jnp.issubdtype(lengths.dtype, jnp.integer), f"{name} is {lengths.dtype}; it must be int32")
    return lengths


def _window(local_window_size, length_q, length_k):
    """Returns the bounds of the library. A bound that hides no key is none, and so compiles nothing of its own."""
    if local_window_size is None:
        return _NO_BOUND, _NO_BOUND
    left, right = (local_window_size,) * 2 if np.ndim(local_window_size) == 0 else local_window_size
    left, right = operator.index(left), operator.index(right)
    _require(left >= 0 and right >= 0, f"local_window_size is {local_window_size}; its numbers must be at least 0")
    return left if left < length_q else _NO_BOUND, right if right < length_k else _NO_BOUND


def _padded(x):
    """Returns `x` with zeros up to a multiple of 8 along the last dimension."""
    missing = -x.shape[-1] % _DIM_UNIT
    return jnp.pad(x, [(0, 0)] * 3 + [(0, missing)]) if missing else x


def dot_product_attention(query, key, value, bias=None, mask=None, *, scale=None, is_causal=False, query_seq_lengths=None,
                          key_value_seq_lengths=None, local_window_size=None, return_residual=False, deterministic=False):
    """Computes what jax.nn.dot_product_attention computes, with the same arguments, and returns o in the shape of query; with
    `return_residual` also lse, float32 [batch, length, heads], the natural logarithm of the denominator.

    query [batch, length, heads, head_dim], key and value [batch, key length, kv_heads, head_dim], or all without the batch,
    are float32, float16 or bfloat16. Query heads share kv heads as jnp.repeat(key, heads // kv_heads, axis=2) would repeat
    them. The last dimension of value, and with it of o, may be another one. Head dimensions are at most 256.

    bias                   added to the scores; repeats to [batch, heads, length, key length]
    mask                   bool: a query sees a key where it is True; repeats in the same way
    scale                  factor on the scores, a number of Python; None: 1 / sqrt(head_dim)
    is_causal              query i sees keys 0 to i
    query_seq_lengths      integers [batch]: later queries see no key
    key_value_seq_lengths  integers [batch]: later keys are not seen
    local_window_size      (left, right), or one number for both: query i sees keys i - left to i + right
    deterministic          writes the same gradients in each run

    A query that sees no key gives o = 0 and lse = -inf. o and lse have gradients for query, key, value and bias, in reverse
    mode and once. vmap folds its axis into the batch. Raises ValueError or NotImplementedError with the reason; what only the
    library finds is a jax.errors.JaxRuntimeError with its message."""
    has_batch = jnp.ndim(query) == 4
    query, key, value = (_four_dimensional(name, x, 3) for name, x in (("query", query), ("key", key), ("value", value)))
    _check(query, key, value)
    batch, length_q, heads, head_dim = query.shape
    length_k = key.shape[1]
    if bias is not None:
        bias = _four_dimensional("bias", bias)
        _check_repeats("bias", bias, (batch, heads, length_q, length_k))
        bias = bias if bias.dtype in (query.dtype, jnp.float32) else bias.astype(jnp.float32)
    if mask is not None:
        mask = _four_dimensional("mask", mask)
        _require(mask.dtype == jnp.bool_, f"mask is {mask.dtype}; it must be bool, and numbers that are added are a bias")
        _check_repeats("mask", mask, (batch, heads, length_q, length_k))
    query_seq_lengths = _checked_lengths("query_seq_lengths", query_seq_lengths, batch)
    key_value_seq_lengths = _checked_lengths("key_value_seq_lengths", key_value_seq_lengths, batch)
    documents = None
    if query_seq_lengths is not None or key_value_seq_lengths is not None:
        documents = _documents(query_seq_lengths, key_value_seq_lengths, batch, length_q, length_k)
    _require(not isinstance(scale, jax.core.Tracer), "scale is traced; it must be a number of Python")
    scale = 1 / math.sqrt(head_dim) if scale is None else float(scale)
    if scale == 0:  # The library takes 0 for the default.
        query, scale = query * 0, 1.0
    options = _Options(np.float32(scale), bool(is_causal), *_window(local_window_size, length_q, length_k), bool(deterministic))
    o, lse = _attention(options, _padded(query), _padded(key), _padded(value), documents, bias, mask)
    o, lse = o[..., :value.shape[3]], lse.transpose(0, 2, 1)
    o, lse = (o, lse) if has_batch else (o[0], lse[0])
    return (o, lse) if return_residual else o
