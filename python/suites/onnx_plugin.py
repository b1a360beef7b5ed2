# SPDX-License-Identifier: MIT
"""A pytest plugin that computes ONNX's Attention, FlexAttention, RotaryEmbedding and TensorScatter with Tegula, for
onnx_cases.py."""

import dataclasses
import math
import operator
import typing

import ml_dtypes
import numpy as np
import onnx
import torch
from onnx.reference import ReferenceEvaluator

import suite
import tegula

_attention, _flex_attention, _rotary_embedding, _append_to_cache = map(
    suite.counts, (tegula.attention, tegula.flex_attention, tegula.rotary_embedding, tegula.append_to_cache))


def run(node, inputs):
    """Returns the outputs of a node that have names, as arrays. `inputs` has None where the node leaves one out."""
    tensors = [None if x is None else _tensor(x) for x in inputs]
    if node.op_type == "FlexAttention":
        outputs = flex_attention(*tensors, **_attributes(node))
    elif node.op_type == "RotaryEmbedding":
        outputs = rotary_embedding(*tensors, **_attributes(node))
    elif node.op_type == "TensorScatter":
        outputs = tensor_scatter(*tensors, **_attributes(node))
    else:
        outputs = attention(*tensors, **_attributes(node), wants_scores=len(node.output) > 3)
    return [_array(x) for name, x in zip(node.output, outputs) if name]


def _attributes(node):
    return {attribute.name: onnx.helper.get_attribute_value(attribute) for attribute in node.attribute}


def _tensor(array):
    if array.dtype == ml_dtypes.bfloat16:
        return torch.from_numpy(array.view(np.int16)).view(torch.bfloat16)
    return torch.from_numpy(array)


def _array(tensor):
    if tensor.dtype == torch.bfloat16:
        return tensor.contiguous().view(torch.int16).numpy().view(ml_dtypes.bfloat16)
    return tensor.numpy()


#===-- Attention ----------------------------------------------------------------------------------------------------------===#


def attention(q, k, v, attn_mask=None, past_key=None, past_value=None, nonpad_kv_seqlen=None, *, q_num_heads=0, kv_num_heads=0,
              scale=None, is_causal=0, left_window_size=-1, right_window_size=-1, softcap=0.0, qk_matmul_output_mode=0,
              softmax_precision=None, wants_scores=False):
    """Returns the four outputs of the operator. Kernels compute the softmax in float32, whatever softmax_precision asks for."""
    del softmax_precision
    packed = q.dim() == 3
    if packed:
        q, k, v = (x.unflatten(2, (heads, -1)).transpose(1, 2)
                   for x, heads in ((q, q_num_heads), (k, kv_num_heads), (v, kv_num_heads)))
    if past_key is not None:
        k, v = torch.cat((past_key, k), 2), torch.cat((past_value, v), 2)
    present = k, v
    window = tuple(None if size < 0 else size for size in (left_window_size, right_window_size))
    options = {"causal": bool(is_causal), "window": window}
    if nonpad_kv_seqlen is not None:
        lengths = nonpad_kv_seqlen.int()
        options["interval_end"], offset = lengths[:, None], lengths - q.shape[2]
    else:
        offset = None if past_key is None else torch.tensor([past_key.shape[2]], dtype=torch.int32)
    if is_causal or window != (None, None):
        options["diagonal_offset"] = offset
    if attn_mask is not None:
        options["mask" if attn_mask.dtype == torch.bool else "bias"] = attn_mask
        if attn_mask.shape[-1] < k.shape[2]:  # Keys beyond the mask are hidden.
            if wants_scores:
                raise NotImplementedError("tegula.attention: qk_matmul_output has keys that attn_mask does not reach")
            k, v = (x[:, :, :attn_mask.shape[-1]] for x in (k, v))
    common = {"scale": scale, "softcap": softcap}
    scores = None
    if not wants_scores:
        o, _ = _attention(q, k, v, **common, **options)
    elif qk_matmul_output_mode == 1 and softcap:  # The scores before masks.
        o, _ = _attention(q, k, v, **common, **options)
        scores = _attention(q, k, v, **common, return_scores="scores")[2]
    else:
        kind = ("products", "products", "scores", "probabilities")[qk_matmul_output_mode]
        o, _, scores = _attention(q, k, v, **common, **options, return_scores=kind)
    return o.transpose(1, 2).flatten(2) if packed else o, *present, scores if scores is None else scores.to(q.dtype)


#===-- RotaryEmbedding and TensorScatter ----------------------------------------------------------------------------------===#


def rotary_embedding(x, cos, sin, positions=None, *, interleaved=0, num_heads=0, rotary_embedding_dim=0):
    """Returns the output of the operator."""
    del rotary_embedding_dim  # Twice the columns of cos.
    packed = x.dim() == 3
    if packed:
        x = x.unflatten(2, (num_heads, -1)).transpose(1, 2)
    if positions is None:  # cos and sin have a row for each element of the batch and each position.
        positions = torch.arange(cos.shape[0] * cos.shape[1]).view(cos.shape[:2])
        cos, sin = cos.flatten(0, 1), sin.flatten(0, 1)
    y = _rotary_embedding(x, cos, sin, positions.int(), interleaved=bool(interleaved))
    return (y.transpose(1, 2).flatten(2) if packed else y,)


def tensor_scatter(past_cache, update, write_indices=None, *, axis=-2, mode=b"linear"):
    """Returns the output of the operator. A circular cache is one page, which the table has twice."""
    batch, axis = past_cache.shape[0], axis % past_cache.dim()
    present = past_cache.clone()
    cache, new = (x.movedim(axis, -2).reshape(batch, -1, x.shape[axis], x.movedim(axis, -2).shape[-1]) for x in (present, update))
    begin = torch.zeros(batch, dtype=torch.int32) if write_indices is None else write_indices.int()
    table = torch.arange(batch, dtype=torch.int32)[:, None].expand(batch, 2) if mode == b"circular" else None
    _append_to_cache(new, cache, begin, page_table=table)
    return (cache.reshape(present.movedim(axis, -2).shape).movedim(-2, axis),)


#===-- FlexAttention ------------------------------------------------------------------------------------------------------===#


def flex_attention(q, k, v, *, scale=None, score_mod=None, prob_mod=None, softmax_precision=None):
    """Returns the output of the operator. Kernels compute the softmax in float32, whatever softmax_precision asks for."""
    del softmax_precision
    shape = (*q.shape[:3], k.shape[2])
    functions = {name: _function_of(graph, shape)
                 for name, graph in (("score_mod", score_mod), ("prob_mod", prob_mod)) if graph is not None}
    return (_flex_attention(q, k, v, scale=scale, enable_gqa=True, **functions),)


@dataclasses.dataclass
class Elements:
    """A tensor of a graph that is never made: `at` returns its element at indices, which may be scalars of the recorder."""

    shape: tuple
    at: typing.Callable


def _function_of(graph, shape):
    """Returns a function for flex_attention that computes an element of the graph's output. `shape` is that of its input."""
    def modify(element, *indices):
        values = {tensor.name: onnx.numpy_helper.to_array(tensor) for tensor in graph.initializer}
        values[graph.input[0].name] = Elements(shape, lambda *_: element)
        for node in graph.node:
            values[node.output[0]] = _evaluate(node, [values[name] for name in node.input])
        return _element(values[graph.output[0].name], indices)

    return modify


def _evaluate(node, inputs):
    """Returns the output of a node: an array if its elements are known, and otherwise Elements."""
    attributes = _attributes(node)
    if node.op_type == "Shape":
        return np.array(inputs[0].shape[attributes.get("start"):attributes.get("end")])
    if node.op_type == "Range":
        start, limit, step = (x.item() for x in inputs)
        size = math.ceil((limit - start) / step)
        return Elements((size,), lambda i: start + i * step) if size > 1 else np.full(max(size, 0), start)
    if all(isinstance(x, np.ndarray) for x in inputs):
        return ReferenceEvaluator(node).run(None, dict(zip(node.input, inputs)))[0]
    if node.op_type in ("Reshape", "Unsqueeze"):
        return _reshaped(*inputs, node.op_type)
    if node.op_type == "Cast":
        dtype = _tensor(np.empty(0, onnx.helper.tensor_dtype_to_np_dtype(attributes["to"]))).dtype
        return Elements(inputs[0].shape, lambda *indices: inputs[0].at(*indices).to(dtype))
    function = _FUNCTIONS.get(node.op_type)
    if function is None:
        raise NotImplementedError(f"tegula.flex_attention: a graph has {node.op_type}, which is no operation on single elements")
    return Elements(np.broadcast_shapes(*(x.shape for x in inputs)),
                    lambda *indices: function(*(_element(x, indices) for x in inputs)))


def _element(x, indices):
    """Returns the element of a tensor that repeats to the shape for which there are indices."""
    places = tuple(0 if size == 1 else index for size, index in zip(reversed(x.shape), reversed(indices)))[::-1]
    if isinstance(x, Elements):
        return x.at(*places)
    return x.item() if x.size == 1 else _tensor(x)[places]


def _reshaped(x, numbers, operation):
    """Returns Elements with other dimensions of 1. `numbers` is the second input of Reshape or of Unsqueeze."""
    if operation == "Unsqueeze":
        shape = np.expand_dims(np.broadcast_to(0, x.shape), tuple(numbers)).shape
    else:
        sizes = [x.shape[axis] if size == 0 else size for axis, size in enumerate(numbers.tolist())]
        shape = tuple(torch.empty(x.shape, device="meta").reshape(sizes).shape)
    axes = [axis for axis, size in enumerate(shape) if size != 1]
    if [shape[axis] for axis in axes] != [size for size in x.shape if size != 1]:
        raise NotImplementedError(f"tegula.flex_attention: a graph reshapes {x.shape} to {shape}; only sizes of 1 may change")

    def at(*indices):
        picked = iter([indices[axis] for axis in axes])
        return x.at(*(0 if size == 1 else next(picked) for size in x.shape))

    return Elements(shape, at)


def _divide(a, b):
    """Divides as Div does, whose operands have one type: integers toward zero."""
    scalar = b if isinstance(a, (int, float)) else a
    return a / b if scalar.dtype.is_floating_point else torch.div(a, b, rounding_mode="trunc")


_FUNCTIONS = {
    "Abs": abs, "Add": operator.add, "And": operator.and_, "Cos": torch.cos, "Div": _divide, "Equal": operator.eq,
    "Erf": torch.erf, "Exp": torch.exp, "Greater": operator.gt, "GreaterOrEqual": operator.ge, "Identity": lambda x: x,
    "Less": operator.lt, "LessOrEqual": operator.le, "Log": torch.log, "Mul": operator.mul, "Neg": operator.neg,
    "Not": torch.logical_not, "Or": operator.or_, "Pow": operator.pow, "Relu": torch.relu, "Sigmoid": torch.sigmoid,
    "Sin": torch.sin, "Sqrt": torch.sqrt, "Sub": operator.sub, "Tanh": torch.tanh, "Where": torch.where}
