# SPDX-License-Identifier: MIT
"""The operators of _torch.so: their fake tensors for torch.compile, and their gradients.

The operators take their arguments by position. Their schemas are in src/operators.cpp.
"""

import pathlib
import sys

import torch

torch.ops.load_library(pathlib.Path(__file__).with_name("_torch.so"))

forward = torch.ops.tegula.attention_forward.default
backward = torch.ops.tegula.attention_backward.default
scores = torch.ops.tegula.attention_scores.default
decode = torch.ops.tegula.decode.default
append = torch.ops.tegula.append.default
rotary = torch.ops.tegula.rotary.default
packed_intervals = torch.ops.tegula.packed_intervals.default
flex_lists = torch.ops.tegula.flex_lists.default
flex_forward = torch.ops.tegula.flex_forward.default
flex_backward = torch.ops.tegula.flex_backward.default
ring_forward = torch.ops.tegula.ring_forward.default
ring_backward = torch.ops.tegula.ring_backward.default
ring_merge = torch.ops.tegula.ring_merge.default

_plain_forward = torch.ops.tegula.plain_forward.default._op  # Without a call in Python.


def empty_ordered_as(like, sizes):
    """Returns what emptyOrderedAs of src/tensors.h returns."""
    distances = [(stride or sys.maxsize, n) for stride, n in zip(like.stride()[:3], sizes)]
    order = sorted(range(3), key=lambda axis: distances[axis], reverse=True)
    dense = like.new_empty([sizes[axis] for axis in (*order, 3)])
    return dense.permute([*(order.index(axis) for axis in range(3)), 3])


@torch.library.register_fake("tegula::attention_forward")
def _(q, k, v, *options):
    return empty_ordered_as(q, (*q.shape[:3], v.shape[3])), q.new_empty(q.shape[:3], dtype=torch.float32)


@torch.library.register_fake("tegula::decode")
def _(q, k, v, *options):
    return empty_ordered_as(q, (*q.shape[:3], v.shape[3])), q.new_empty(q.shape[:3], dtype=torch.float32)


@torch.library.register_fake("tegula::append")
@torch.library.register_fake("tegula::rotary")
def _(*arguments):
    return None


@torch.library.register_fake("tegula::packed_intervals")
def _(offsets_q, offsets_k, queries, keys, left, right):
    return tuple(offsets_q.new_empty((1, n), dtype=torch.int32) for n in (queries, queries, keys, keys))


@torch.library.register_fake("tegula::attention_scores")
def _(q, k, v, output, *options):
    return q.new_empty((*q.shape[:3], k.shape[2]), dtype=torch.float32)


@torch.library.register_fake("tegula::plain_forward")
def _(q, k, v, scale, causal, grouped):
    return None, None  # Fake tensors go to attention_forward.


@torch.library.register_fake("tegula::attention_backward")
def _(d_o, d_lse, q, k, v, o, lse, scale, causal, bias=None, mask=None, alibi_slopes=None, sinks=None, dropout_state=None,
      diagonal_offset=None, interval_begin=None, interval_end=None, query_begin=None, query_end=None, query_offsets=None,
      key_offsets=None, bottom_right=False, window_left=-1, window_right=-1, softcap=0.0, dropout_p=0.0, deterministic=False,
      wants_dbias=False):
    dbias = (*q.shape[:3], k.shape[2]) if wants_dbias else (0, 0, 0, 0)
    d_sinks = (0,) if sinks is None else (q.shape[1],)
    return (*(empty_ordered_as(x, x.shape) for x in (q, k, v)), q.new_empty(dbias, dtype=torch.float32),
            q.new_empty(d_sinks, dtype=torch.float32))


_TENSORS_END = 17  # The inputs of `forward` up to here: q, k, v, scale, causal, and tensors that may be None.


def _setup_context(ctx, inputs, output):
    q, k, v, ctx.scale, ctx.causal, *tensors = inputs[:_TENSORS_END]
    ctx.options = inputs[_TENSORS_END:]
    ctx.save_for_backward(q, k, v, *output, *tensors)
    ctx.set_materialize_grads(False)  # d_o or d_lse is None where nothing depends on its output.


def _gradients(ctx, d_o, d_lse):
    q, k, v, o, lse, *tensors = ctx.saved_tensors
    bias, _, _, sinks, *others = tensors
    d_o = torch.zeros_like(o) if d_o is None else d_o
    wants_dbias = bias is not None and ctx.needs_input_grad[5]
    dq, dk, dv, dbias, d_sinks = backward(d_o, d_lse, q, k, v, o, lse, ctx.scale, ctx.causal, *tensors, *ctx.options,
                                          wants_dbias)
    dbias = dbias.sum_to_size(bias.shape).to(bias.dtype) if wants_dbias else None
    return (dq, dk, dv, None, None, dbias, None, None, d_sinks if sinks is not None else None,
            *(None for _ in (*others, *ctx.options)))


torch.library.register_autograd("tegula::attention_forward", _gradients, setup_context=_setup_context)


class _Attention(torch.autograd.Function):
    """What register_autograd() makes, at a third of its cost for each call."""

    setup_context = staticmethod(_setup_context)
    backward = staticmethod(_gradients)

    @staticmethod
    def forward(*arguments):
        with torch._C._AutoDispatchBelowAutograd():
            return forward(*arguments)


class _Plain(torch.autograd.Function):
    """The gradient of `plain_forward`. The operator itself has none, because the dispatcher's wrapper would cost more."""

    @staticmethod
    def forward(ctx, q, k, v, scale, causal, grouped):
        o, lse = _plain_forward(q, k, v, scale, causal, grouped)
        ctx.save_for_backward(q, k, v, o, lse)
        ctx.scale, ctx.causal = scale, causal
        ctx.set_materialize_grads(False)
        return o, lse

    @staticmethod
    def backward(ctx, d_o, d_lse):
        q, k, v, o, lse = ctx.saved_tensors
        d_o = torch.zeros_like(o) if d_o is None else d_o
        return *backward(d_o, d_lse, q, k, v, o, lse, ctx.scale, ctx.causal)[:3], None, None, None


# Function.apply() calls these methods, after work that only torch.func needs and that takes longer than they do.
_apply, _apply_plain = (super(torch.autograd.Function, function).apply for function in (_Attention, _Plain))


def attention(*arguments):
    """Calls `forward`. In eager mode this avoids the dispatcher's autograd wrapper, which is written in Python."""
    if torch.compiler.is_compiling():
        return forward(*arguments)
    if torch.is_grad_enabled() and any(x is not None and x.requires_grad for x in (*arguments[:3], *arguments[5:9])):
        return (_Attention.apply if torch._C._are_functorch_transforms_active() else _apply)(*arguments)
    with torch._C._AutoDispatchBelowAutograd():
        return forward(*arguments)


def plain(q, k, v, scale, causal, grouped):
    """Returns o and lse if the tensors go to the kernel as they are, otherwise (None, None). `grouped` allows q to have more
    heads than k and v. None of this is for graphs: they record `forward`."""
    if (torch.compiler.is_compiling() or torch._C._is_any_autocast_enabled() or torch._C._are_functorch_transforms_active() or
            torch._C._len_torch_dispatch_stack() or torch.are_deterministic_algorithms_enabled() or
            not (q.is_cpu or q.is_cuda) or q.is_nested or k.is_nested or v.is_nested):
        return None, None
    if scale is None:
        scale = 0.0  # The library takes 0 for the default.
    elif scale == 0:
        return None, None
    if torch.is_grad_enabled() and (q.requires_grad or k.requires_grad or v.requires_grad):
        return _apply_plain(q, k, v, scale, causal, grouped)
    return _plain_forward(q, k, v, scale, causal, grouped)


@torch.library.register_fake("tegula::flex_forward")
def _(q, k, v, *others):
    return empty_ordered_as(q, (*q.shape[:3], v.shape[3])), q.new_empty(q.shape[:3], dtype=torch.float32)


@torch.library.register_fake("tegula::flex_backward")
def _(d_o, d_lse, q, k, v, o, lse, learnt, *others):
    return (*(empty_ordered_as(x, x.shape) for x in (q, k, v)),
            [x.new_empty(x.shape, dtype=torch.float32) for x in learnt])


class _Flex(torch.autograd.Function):
    """The operators of flex_attention, with the lists that are kept between calls."""

    @staticmethod
    def forward(ctx, q, k, v, counts, lists, options, *tensors):
        arguments = q, k, v, *_split(tensors, counts), *options
        with torch._C._AutoDispatchBelowAutograd():
            o, lse = flex_forward(*arguments, _find_lists(lists, arguments, False, False))
        ctx.counts, ctx.lists, ctx.options = counts, lists, options
        ctx.save_for_backward(q, k, v, o, lse, *tensors)
        ctx.set_materialize_grads(False)
        return o, lse

    @staticmethod
    def backward(ctx, d_o, d_lse):
        q, k, v, o, lse, *tensors = ctx.saved_tensors
        d_o = torch.zeros_like(o) if d_o is None else d_o
        learnt, constant, blocks = _split(tensors, ctx.counts)
        lists = _find_lists(ctx.lists, (q, k, v, learnt, constant, blocks, *ctx.options), True, d_lse is not None)
        dq, dk, dv, d_learnt = flex_backward(d_o, d_lse, q, k, v, o, lse, learnt, constant, blocks, *ctx.options, lists)
        return (dq, dk, dv, None, None, None, *(d.to(x.dtype) for d, x in zip(d_learnt, learnt)),
                *(None for _ in constant + blocks))


def _find_lists(lists, arguments, *of_pass):
    """Returns the lists of tiles for a call of flex_forward or flex_backward with these arguments, or None."""
    if lists is None:
        return None
    q, k, v, _, _, _, *options = arguments
    call = (q.shape, k.shape, v.shape, q.dtype, *options, *of_pass)
    return lists.find(call, q.device, lambda: flex_lists(*arguments, *of_pass))


def _split(tensors, counts):
    """Returns three lists of tensors of the lengths `counts`."""
    first, second = counts[0], counts[0] + counts[1]
    return list(tensors[:first]), list(tensors[first:second]), list(tensors[second:])


def flex(q, k, v, learnt, constant, blocks, lists, *options):
    """Calls `flex_forward`, with gradients for q, k, v and the tensors of `learnt`. `lists` are Lists, or None."""
    arguments = q, k, v, learnt, constant, blocks, *options
    if not (torch.is_grad_enabled() and (learnt or q.requires_grad or k.requires_grad or v.requires_grad)):
        with torch._C._AutoDispatchBelowAutograd():
            return flex_forward(*arguments, _find_lists(lists, arguments, False, False))
    plain = torch.compiler.is_compiling() or torch._C._are_functorch_transforms_active()
    apply = _Flex.apply if plain else _apply_flex
    return apply(q, k, v, [len(learnt), len(constant)], lists, options, *learnt, *constant, *blocks)


_apply_flex = super(torch.autograd.Function, _Flex).apply  # As _apply.
