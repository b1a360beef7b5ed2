# SPDX-License-Identifier: MIT
"""ONNX's node cases of Attention, FlexAttention, RotaryEmbedding and TensorScatter, and a larger problem of each of the first
two. onnx_plugin.py computes them."""

import zlib

import ml_dtypes
import numpy as np
import onnx
import pytest
from onnx.backend.test.case.node import collect_testcases
from onnx.backend.test.runner import Runner
from onnx.reference import ReferenceEvaluator

import onnx_plugin

MORE_HEADS, LONGER = 2, 17
HIDDEN = 0.3  # The part of a mask that hides keys.
MASK, NONPAD_KV_SEQLEN = 3, 6  # Places of inputs.



def cases_of(*operators):
    """Returns a decorator for the cases whose graph is one of these nodes."""
    found = [case for case in ALL if [node.op_type for node in case.model.graph.node] in [[name] for name in operators]]
    return pytest.mark.parametrize("case", found, ids=lambda case: case.name)


ALL = collect_testcases()


def run(model, feeds):
    node, = model.graph.node
    return onnx_plugin.run(node, [feeds.get(name) for name in node.input])


def feeds_of(case):
    """Returns the inputs of a case by their names."""
    (inputs, _), = case.data_sets
    return dict(zip([x.name for x in case.model.graph.input], inputs))


@cases_of("Attention", "FlexAttention", "RotaryEmbedding", "TensorScatter")
def test_case(case):
    (_, outputs), = case.data_sets
    Runner.assert_similar_outputs(outputs, run(case.model, feeds_of(case)), case.rtol, case.atol)


@cases_of("Attention", "FlexAttention")
def test_larger(case):
    compare(*larger(case))


CONSTANTS = "int64 zero = {0}, int64 one = {1}, int64[1] axis = {1}, int64 second = {2}"
POSITIONS = """
    sizes = Shape(x)
    length_q = Gather(sizes, second)
    length_k = Shape<start = -1>(x)
    rows = Range(zero, length_q, one)
    q = Unsqueeze(rows, axis)
    k = Range(zero, length_k, one)
    distance = Sub(q, k)
    reach = Abs(distance)
"""
GRAPHS = {
    "alibi": ("float[4,1,1] slopes = {0.5, 0.25, 0.125, 0.0625}",
              "far = Cast<to = 1>(reach)  bias = Mul(slopes, far)  y = Sub(x, bias)"),
    "blocks": ("int64 width = {16}, int64 size = {3}, float hidden = {-9.0}",
               "a = Div(q, width)  b = Div(k, width)  same = Equal(a, b)  far = Greater(reach, size)  near = Not(far)"
               "seen = Or(same, near)  y = Where(seen, x, hidden)"),
    "integers": ("int64 width = {4}", "bucket = Div(distance, width)  bias = Cast<to = 1>(bucket)  y = Add(bias, x)"),
    "functions": ("float two = {2.0}",
                  "a = Pow(x, two)  b = Neg(a)  c = Exp(b)  d = Sigmoid(x)  e = Sin(x)  f = Erf(e)  g = Mul(c, d)"
                  "y = Add(f, g)"),
}


def flex_model(function, constants, nodes):
    """Returns a FlexAttention whose score_mod or prob_mod computes y from x."""
    graph = onnx.parser.parse_graph(
        f"g (float[B,H,L,S] x) => (float[B,H,L,S] y) <{CONSTANTS}, {constants}> {{ {POSITIONS} {nodes} }}")
    node = onnx.helper.make_node("FlexAttention", ["q", "k", "v"], ["o"], domain="ai.onnx.preview", **{function: graph})
    q, k, v, o = (onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, None) for name in "qkvo")
    opsets = [onnx.helper.make_opsetid("", 26), onnx.helper.make_opsetid("ai.onnx.preview", 1)]
    return onnx.helper.make_model(onnx.helper.make_graph([node], "flex", [q, k, v], [o]), opset_imports=opsets)


def random_feeds():
    random = np.random.default_rng(1)
    shapes = {"q": (2, 4, 40, 8), "k": (2, 2, 50, 8), "v": (2, 2, 50, 8)}
    return {name: random.standard_normal(shape).astype(np.float32) for name, shape in shapes.items()}


@pytest.mark.parametrize("name", GRAPHS)
@pytest.mark.parametrize("function", ["score_mod", "prob_mod"])
def test_graph(name, function):
    compare(flex_model(function, *GRAPHS[name]), random_feeds())


def test_what_is_refused_is_named():
    feeds = random_feeds()
    messages = {"top = ReduceMax(x)  y = Sub(x, top)": "a graph has ReduceMax, which is no operation on single elements",
                "row = Reshape(q, shape)  y = Add(x, row)": r"a graph reshapes \(40, 1\) to \(10, 4\); only sizes of 1 may"}
    for nodes, message in messages.items():
        with pytest.raises(NotImplementedError, match=message):
            run(flex_model("score_mod", "int64[2] shape = {10, 4}", nodes), feeds)
    node = onnx.helper.make_node("Attention", ["q", "k", "v", "mask"], ["o", "", "", "scores"])
    with pytest.raises(NotImplementedError, match="qk_matmul_output has keys that attn_mask does not reach"):
        onnx_plugin.run(node, [*feeds.values(), np.ones((40, 30), bool)])


def compare(model, feeds):
    """Compares with ONNX's reference in float64. The error, as a root mean square, is at most twice that of the reference in
    the type of the inputs. A wrong element is far above this bound."""
    results = run(model, feeds)
    formula = ReferenceEvaluator(model).run(None, feeds)
    exact = ReferenceEvaluator(in_double(model)).run(None, {name: doubled(x) for name, x in feeds.items()})
    assert len(results) == len(formula)
    for x, y, z in zip(results, formula, exact):
        assert x.shape == y.shape and x.dtype == y.dtype
        finite = np.isfinite(z)
        assert np.array_equal(doubled(x)[~finite], z[~finite])
        error, error_of_formula = (norm((doubled(result) - z)[finite]) for result in (x, y))
        rounding = float(ml_dtypes.finfo(x.dtype).eps) / 2 * norm(z[finite])
        assert error <= 2 * max(error_of_formula, rounding)


def norm(x):
    """Returns the root mean square of the elements."""
    return np.sqrt(np.mean(x * x))


def in_double(model):
    """Returns the model for inputs of float64. Its softmax then has their precision."""
    result = onnx.ModelProto()
    result.CopyFrom(model)
    node, = result.graph.node
    kept = [attribute for attribute in node.attribute if attribute.name != "softmax_precision"]
    del node.attribute[:]
    node.attribute.extend(kept)
    for graph in (attribute.g for attribute in node.attribute if attribute.type == onnx.AttributeProto.GRAPH):
        for tensor in graph.initializer:
            tensor.CopyFrom(onnx.numpy_helper.from_array(doubled(onnx.numpy_helper.to_array(tensor)), tensor.name))
        for cast in (inner for inner in graph.node if inner.op_type == "Cast"):
            cast.attribute[0].i = onnx.TensorProto.DOUBLE
    return result


def doubled(x):
    """Returns x in float64 if it is floating point."""
    return x if x.dtype in (bool, np.int64) else x.astype(np.float64)


def larger(case):
    """Returns a model with more heads, and random inputs of longer sequences. Sizes of 1 stay."""
    random = np.random.default_rng(zlib.crc32(case.name.encode()))
    model = onnx.ModelProto()
    model.CopyFrom(case.model)
    node, = model.graph.node
    for attribute in node.attribute:
        if attribute.name in ("q_num_heads", "kv_num_heads"):
            attribute.i *= MORE_HEADS
    feeds = feeds_of(case)
    for place, name in enumerate(node.input):
        if name and place != NONPAD_KV_SEQLEN:
            feeds[name] = longer(feeds[name], place == MASK, random)
        elif name:
            feeds[name] = random.integers(feeds[node.input[1]].shape[-2] + 1, size=feeds[name].shape)
    return model, feeds


def longer(x, is_mask, random):
    """Returns a tensor like x, with more heads and longer sequences. The first query sees no key of a mask."""
    if is_mask:
        factors = (1, MORE_HEADS, LONGER, LONGER)[-x.ndim:]
    else:
        factors = (1, MORE_HEADS, LONGER, 1) if x.ndim == 4 else (1, LONGER, MORE_HEADS)
    shape = [size if size == 1 else size * factor for size, factor in zip(x.shape, factors)]
    hidden = is_mask & (random.random(shape) < HIDDEN)
    if is_mask and x.ndim > 1 and shape[-2] > 1:
        hidden[..., 0, :] = True
    if x.dtype == bool:
        return ~hidden
    return np.where(hidden, -np.inf, random.standard_normal(shape)).astype(x.dtype)
