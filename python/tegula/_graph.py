# SPDX-License-Identifier: MIT
"""flex_attention in a graph of torch.compile.

PyTorch traces the functions into a subgraph, whose inputs are the tensors that they capture. Recording cannot be traced. trace()
is traced instead: it calls flex_forward with results of the functions in the places of captured tensors. PyTorch gives this
subgraph to _of_graph() when the graph runs or is compiled further. _of_graph() records the functions from the subgraph, and
calls flex_forward with what they capture.
"""

import re

import torch
from torch._higher_order_ops.wrap import dynamo_bypassing_wrapper
from torch.fx.node import map_arg

from ._operators import flex, flex_forward
from ._recorder import NotRecorded, record


def trace(score_mod, prob_mod, mask_mod, q, k, v, blocks, options):
    """Calls the functions, each of which may be None. Returns tensors with the shapes of o and lse."""
    # Positions have one dimension here, because PyTorch would convert an index without dimensions to a number.
    positions = [q.new_empty(1, dtype=torch.int32) for _ in range(4)]
    score, prob = q.new_empty(1), q.new_empty(1)
    results = (score_mod(score, *positions) if score_mod is not None else score,
               prob_mod(prob, *positions) if prob_mod is not None else prob,
               mask_mod(*positions) if mask_mod is not None else True)
    results = [x if isinstance(x, torch.Tensor) else positions[0].new_full((), x, dtype=torch.float32) for x in results]
    return flex_forward(q, k, v, [score, prob, *positions], results, blocks, "", *options)


def call(compute):
    """Returns compute(), a function without arguments. In its place, a graph has what _of_graph() makes of what it traces."""
    return dynamo_bypassing_wrapper(_of_graph, compute)


def _of_graph(graph):
    """Returns a function that computes attention with the functions of a graph, which trace() made."""
    if not isinstance(graph, torch.fx.GraphModule):
        return graph  # A function could not be traced, and the call is not in a graph.

    def compute(*inputs):
        find = graph.graph.find_nodes
        node, = find(op="call_function", target=flex_forward)
        known = dict(zip(find(op="placeholder"), inputs))
        q, k, v, (score, prob, *positions), results, blocks, _, *options = node.args
        q, k, v, blocks, options = map_arg((q, k, v, blocks, options), known.__getitem__)

        def function(arguments, result):
            return lambda *scalars: _evaluate(graph, {**known, **dict(zip(arguments, scalars))}, result)

        functions = map(function, ([score, *positions], [prob, *positions], positions), results)
        recorded = record(*functions, q.dtype, q.device)
        known[node] = flex(q, k, v, recorded.learnt, recorded.constant, blocks, None, recorded.text, *options)
        output, = find(op="output")
        return _evaluate(graph, known, output.args[0])

    return compute


def _evaluate(graph, known, wanted):
    """Returns the values of nodes of a graph, a node or a tuple. `known` has values of nodes that are not computed."""
    interpreter = torch.fx.Interpreter(graph)
    interpreter.env = known
    needed = set()
    map_arg(wanted, needed.add)
    for node in reversed(graph.graph.nodes):
        if node in needed and node not in known:
            needed.update(node.all_input_nodes)
    with torch.set_grad_enabled(torch.is_grad_enabled()):  # The graph changes this where a function does.
        for node in graph.graph.nodes:
            if node not in known and (node in needed or node.target is torch._C._set_grad_enabled):
                try:
                    known[node] = interpreter.run_node(node)
                except NotRecorded as error:
                    lines = re.findall(r'File "(.+)", line (\d+)', node.stack_trace or "")
                    raise NotRecorded(error.message, reversed(lines)) from None
    return map_arg(wanted, known.__getitem__)
