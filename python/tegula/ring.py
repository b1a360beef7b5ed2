# SPDX-License-Identifier: MIT
"""Ring attention: attention over a sequence whose parts are on the ranks of a process group.

Liu, Zaharia and Abbeel, "Ring Attention with Blockwise Transformers for Near-Infinite Context", 2023. The order
"zigzag" gives all ranks equal work under a causal mask, as the stripes of Brandon et al., "Striped Attention", 2023,
do. The report on Llama 3, 2024, describes it for context parallelism.

Keys and values travel from rank to rank while kernels run. In the backward pass, the gradients of keys and values
travel after them. Which calls a rank makes in which step is in _ring_plan.py.
"""

import contextlib
import functools
import json
import math
import weakref
from typing import NamedTuple

import torch
import torch.distributed as dist
from torch.autograd.function import once_differentiable

from . import _operators, _ring_plan
from ._attention import padded, refusal

_NO_BOUND = -1
_MOST_LEFT = 2**30     # The largest bound of a window in the library.
_COMPUTED = 1          # Kernels find the tiles in which scores exist.
_DESCRIPTION = 16384   # Bytes in which a rank describes its arguments to the others.
_VALUE, _MESSAGE = 100, 600  # The most characters of an argument and of a refusal that other ranks see.
_DESCRIBED = ("q.shape", "q.dtype", "k.shape", "k.dtype", "v.shape", "v.dtype", "q.device.type", "documents", "layout",
              "causal", "scale", "requires_grad", "window")
_HELD = 8              # Partial results that wait until they are added up.


@torch.compiler.disable(reason="tegula.ring_attention talks to other ranks; the graph breaks around it")
def ring_attention(q, k, v, group=None, *, causal=False, window=(None, None), documents=None, layout="zigzag",
                   scale=None, return_lse=False, check=True):
    """Returns o [batch, heads, length, value_dim], attention of this rank's queries on the keys of all ranks; with
    `return_lse` o and lse, float32 [batch, heads, length], the natural logarithm of the denominator.

    All ranks of `group` call it, and hold equally long parts of the sequence: q [batch, heads, length, head_dim], k
    [batch, kv_heads, length, head_dim] and v [batch, kv_heads, length, value_dim], in float32, float16 or bfloat16,
    with any strides. ring_shard() cuts a rank's part out of a whole tensor. Query heads share kv heads as
    repeat_interleave would repeat them.

    group       the process group; None: the default group. Its backend must take tensors on the device of q
    causal      a query sees the keys up to its position in the sequence
    window      (left, right): a query sees keys from its position - left to its position + right; None is no bound
    documents   int32 [batch, length], this rank's part: a query sees the keys that have its number
    layout      "zigzag": rank r holds chunks r and 2 * world - 1 - r of 2 * world, which balances causal masks;
                "contiguous": rank r holds chunk r of world, with which a window needs fewer exchanges
    scale       factor on the scores; None: 1 / sqrt(head_dim)
    check       compares the arguments of all ranks before anything is sent. All ranks must pass the same

    o and lse have gradients for q, k and v, in the ranks that hold them. All ranks must run the backward pass, for the
    same calls in the same order. The forward pass needs memory for two parts of k and v and for up to eight of o, next
    to its results. The backward pass needs four parts of k and v, and up to eight of q, k and v.

    Raises ValueError, NotImplementedError, or RuntimeError with the message of the library. If the ranks' arguments
    differ, all ranks raise ValueError with the rank, the argument and its values; if one rank refuses its own, all others
    do. The group stays usable. If a rank does not call or dies, the other ranks raise RuntimeError within the time-out of the
    group, at the first exchange that misses it, and the group is broken. If they wait for NCCL, PyTorch's watchdog ends
    them instead. The algorithm is that of Liu, Zaharia and Abbeel, 2023."""
    group = _group("ring_attention", group)
    reason = _refusal(q, k, v, window, documents, layout, scale)
    if check:
        _compare_ranks(group, _description(q, k, v, causal, window, documents, layout, scale, reason), reason)
    if reason:
        raise reason
    if scale is None:
        scale = 1 / math.sqrt(q.shape[-1])
    elif scale == 0:  # The library takes 0 for the default.
        q, scale = q * 0, 1.0
    left, right = window
    ring = _Ring(group, layout, q.shape[2], left, 0 if causal else right, scale)
    o, lse = _RingAttention.apply(padded(q), padded(k), padded(v), ring.documents_of_all(documents), ring)
    o = o if o.shape[-1] == v.shape[-1] else o[..., :v.shape[-1]]
    return (o, lse) if return_lse else o


def ring_shard(x, group=None, *, dim=2, layout="zigzag"):
    """Returns this rank's part of `x`, a tensor whose dimension `dim` has the whole sequence. It has a gradient for x.

    Raises ValueError if the length does not divide by the number of ranks, or with "zigzag" by twice that number."""
    group = _group("ring_shard", group)
    _check_layout("ring_shard", layout)
    world, count = dist.get_world_size(group), _ring_plan.pieces_per_rank(layout)
    if x.shape[dim] % (world * count):
        raise ValueError(f"tegula.ring_shard: dimension {dim} of x has the size {x.shape[dim]}; it must divide by "
                         f"{world * count}, because {world} ranks hold {count} {'chunks' if count > 1 else 'chunk'} "
                         "each")
    pieces = _ring_plan.pieces(layout, world, dist.get_rank(group), x.shape[dim] // world)
    parts = [x.narrow(dim, piece.whole, piece.length) for piece in pieces]
    return parts[0].contiguous() if count == 1 else torch.cat(parts, dim)


def ring_unshard(part, group=None, *, dim=2, layout="zigzag"):
    """Returns the whole tensor on every rank: all ranks' `part`s in the order of the sequence, which is dimension
    `dim`. All ranks of the group call it with parts of one shape. The result has no gradient.

    Raises ValueError if "zigzag" meets a part of odd length."""
    group = _group("ring_unshard", group)
    _check_layout("ring_unshard", layout)
    length = part.shape[dim]
    if length % _ring_plan.pieces_per_rank(layout):
        raise ValueError(f"tegula.ring_unshard: dimension {dim} of part has the size {length}; with "
                         "layout=\"zigzag\" it must be even")
    world = dist.get_world_size(group)
    part = part.detach().contiguous()
    parts = [torch.empty_like(part) for _ in range(world)]
    dist.all_gather(parts, part, group=group)
    shape = list(part.shape)
    shape[dim] *= world
    whole = part.new_empty(shape)
    for rank, x in enumerate(parts):
        for piece in _ring_plan.pieces(layout, world, rank, length):
            whole.narrow(dim, piece.whole, piece.length).copy_(x.narrow(dim, piece.local, piece.length))
    return whole


# The arguments of all ranks.

def _group(function, group):
    if not dist.is_available() or not dist.is_initialized():
        raise RuntimeError(f"tegula.{function}: there is no process group; call torch.distributed.init_process_group "
                           "first")
    group = group or dist.group.WORLD
    if dist.get_rank(group) < 0:
        raise ValueError(f"tegula.{function}: this process is not a rank of the group")
    return group


def _check_layout(function, layout):
    if layout not in _ring_plan.LAYOUTS:
        names = ", ".join(map(repr, _ring_plan.LAYOUTS))
        raise ValueError(f"tegula.{function}: layout is {layout!r}; it must be one of {names}")


def _refusal(*arguments):
    """Returns the exception with which _check_arguments() refuses these arguments, or None."""
    try:
        _check_arguments(*arguments)
    except (ValueError, TypeError, AttributeError, NotImplementedError) as error:
        return error
    return None


def _check_arguments(q, k, v, window, documents, layout, scale):
    _check_layout("ring_attention", layout)
    if not q.dim() == k.dim() == v.dim() == 4:
        raise ValueError("tegula.ring_attention: q, k and v must be [batch, heads, length, dim]")
    reason = refusal(q, k, v)
    if reason:
        raise NotImplementedError("tegula.ring_attention: " + reason)
    batch, heads, length, dim = q.shape
    for name, x in (("k", k), ("v", v)):
        if x.shape[0] != batch or x.shape[2] != length:
            raise ValueError(f"tegula.ring_attention: {name} has the shape {tuple(x.shape)}, and q has "
                             f"{tuple(q.shape)}; batch and length must be equal")
    if k.shape[1] != v.shape[1] or heads % k.shape[1] or k.shape[3] != dim:
        raise ValueError(f"tegula.ring_attention: q, k and v have the shapes {tuple(q.shape)}, {tuple(k.shape)} and "
                         f"{tuple(v.shape)}; k and v must have equally many heads, which divide the heads of q, "
                         "and k the last dimension of q")
    if length % _ring_plan.pieces_per_rank(layout):
        raise ValueError(f"tegula.ring_attention: this rank's part has {length} positions; with layout=\"zigzag\" the "
                         "number must be even, because the part has two chunks")
    if len(window) != 2 or not all(bound is None or 0 <= bound <= _MOST_LEFT for bound in window):
        raise ValueError(f"tegula.ring_attention: window is {window!r}; it must be (left, right), each None or from "
                         f"0 to {_MOST_LEFT}")
    if scale is not None and not isinstance(scale, (int, float)):
        raise ValueError(f"tegula.ring_attention: scale is {scale!r}; it must be a number or None")
    if documents is not None and (documents.dtype != torch.int32 or documents.shape != (batch, length)
                                  or documents.device != q.device):
        raise ValueError(f"tegula.ring_attention: documents is {documents.dtype} {tuple(documents.shape)} on "
                         f"{documents.device}; it must be torch.int32 {(batch, length)} on {q.device}")


def _description(q, k, v, causal, window, documents, layout, scale, reason):
    """Returns what must be equal in all ranks, and why this rank refuses it, as bytes on the CPU."""
    values = []
    for x in (q, k, v):
        shape = getattr(x, "shape", None)
        values += [shape if shape is None else tuple(shape), getattr(x, "dtype", type(x))]
    trained = torch.is_grad_enabled() and any(getattr(x, "requires_grad", False) for x in (q, k, v))
    values += [getattr(getattr(q, "device", None), "type", None), documents is not None, layout, bool(causal), scale,
               trained]
    if reason:
        return _encoded.__wrapped__(*values, window, str(reason)[:_MESSAGE])
    return _encoded(*values, tuple(window), None)


@functools.lru_cache(maxsize=256, typed=True)  # Two values that are equal, such as 1 and True, have different texts.
def _encoded(*values):
    *values, refusal = values
    described = {name: repr(value)[:_VALUE] for name, value in zip(_DESCRIBED, values)}
    text = json.dumps(described | {"refusal": refusal}).encode()
    return torch.frombuffer(bytearray(text.ljust(_DESCRIPTION)), dtype=torch.uint8)


_host_groups = weakref.WeakKeyDictionary()


def _gather_on_host(group, mine):
    """Returns a tensor on the CPU of each rank, [world, ...]. A group that takes no such tensors gets a
    companion of gloo."""
    world, rank = dist.get_world_size(group), dist.get_rank(group)
    found = mine.new_empty(world, *mine.shape)
    backends = dist.get_backend_config(group).split(",")  # Such as "cpu:gloo", "cuda:nccl".
    devices = [entry.partition(":")[0] for entry in backends]
    if "cpu" in devices:
        dist.all_gather(list(found), mine, group=group)
        return found
    if group not in _host_groups:
        # Not by dist.new_group: it gives groups different names in ranks that belong to different numbers of groups.
        options = getattr(group._get_backend(torch.device(devices[0])), "options", None)
        timeout = getattr(options, "_timeout", dist.default_pg_timeout)
        store = dist.PrefixStore("tegula.ring_attention", group.get_group_store())
        _host_groups[group] = dist.ProcessGroupGloo(store, rank, world, timeout)
    _host_groups[group].allgather([list(found)], [mine]).wait()
    return found


def _compare_ranks(group, mine, reason):
    """Raises ValueError in all ranks if their descriptions differ, or if one of them has a reason to refuse its
    arguments. This is one exchange between hosts in each call. Results of earlier calls cannot replace it, because a
    rank that knows its own arguments does not know whether another rank has new ones and waits for the exchange."""
    try:
        found = _gather_on_host(group, mine)
    except RuntimeError as error:
        raise RuntimeError("tegula.ring_attention: the arguments of the ranks cannot be compared; a rank has died, or "
                           f"has not called ring_attention within the time-out: {error}") from error
    if reason:
        return  # The caller raises it.
    if (found == mine).all():
        return
    of_ranks = [json.loads(bytes(row.numpy())) for row in found]
    for n, other in enumerate(of_ranks):
        if other["refusal"]:
            raise ValueError(f"tegula.ring_attention: rank {n} refuses its arguments: {other['refusal']}")
    for n, other in enumerate(of_ranks):
        for name, value in of_ranks[0].items():
            if other[name] != value:
                raise ValueError(f"tegula.ring_attention: rank {n} has {name}={other[name]}, and rank 0 has "
                                 f"{name}={value}; they must be equal in all ranks")


# Exchanges between ranks.

class _Message(NamedTuple):
    """A tensor that is sent to a rank of the group while another one arrives."""
    sent: torch.Tensor
    to: int
    received: torch.Tensor
    source: int


class _Exchange:
    """Messages on their way. Their tensors stay alive until wait() returns."""

    def __init__(self, group, messages):
        self.messages = messages
        operations = []
        for message in messages:
            operations.append(dist.P2POp(dist.isend, message.sent, group=group, group_peer=message.to))
            operations.append(dist.P2POp(dist.irecv, message.received, group=group, group_peer=message.source))
        try:
            self.works = dist.batch_isend_irecv(operations)
        except RuntimeError as error:
            self._fail(error)

    def wait(self):
        """Lets the host or the current stream wait, whichever the backend makes wait."""
        try:
            for work in self.works:
                work.wait()
        except RuntimeError as error:
            self._fail(error)

    def _fail(self, error):
        ranks = " and ".join(map(str, sorted({rank for message in self.messages for rank in (message.to, message.source)})))
        raise RuntimeError(f"tegula.ring_attention: an exchange with the ranks {ranks} of the group failed; a rank has "
                           f"died, or has raised an error, or is late: {error}") from error


class _Pair:
    """Tensors of the shapes of k and v in one buffer, so that one message has both."""

    def __init__(self, k, v, buffer=None):
        self.buffer = k.new_empty(k.numel() + v.numel()) if buffer is None else buffer
        self.k, self.v = self.buffer[:k.numel()].view(k.shape), self.buffer[k.numel():].view(v.shape)


def _pairs(k, v):
    """Returns k and v in a pair, and a pair in which others can arrive."""
    first = _Pair(k, v)
    first.k.copy_(k)
    first.v.copy_(v)
    return first, _Pair(k, v)


# The two passes.

class _Outputs:
    """Partial results of the queries on several sets of keys, in the type of q. At most _HELD wait until they are merged."""

    def __init__(self, count, q, value_dim):
        self.q, self.shape = q, (*q.shape[:3], value_dim)
        self.o = q.new_empty(min(count, _HELD), *self.shape)
        self.lse = q.new_empty(self.o.shape[:4], dtype=torch.float32)
        self.used = 0

    def part(self, begin, end):
        """Returns memory for o and lse of the rows begin to end - 1. Elsewhere this part sees no key."""
        if self.used == len(self.o):
            (self.o[0], self.lse[0]), self.used = self.merged(), 1
        o, lse = self.o[self.used], self.lse[self.used]
        lse[:, :, :begin] = lse[:, :, end:] = -math.inf
        self.used += 1
        return o[:, :, begin:end], lse[:, :, begin:end]

    def merged(self):
        """Returns o and lse of all parts."""
        o, lse = _operators.empty_ordered_as(self.q, self.shape), torch.empty_like(self.lse[0])
        _operators.ring_merge(self.o[:self.used], self.lse[:self.used], o, lse)
        return o, lse


class _Sum:
    """Partial sums of `size` numbers, in the type of `like`. At most _HELD wait until they are added, in float32. `own`
    is that of this rank's own keys, which is complete at the end only."""

    def __init__(self, count, size, like):
        self.parts = like.new_empty(min(count, _HELD), size)
        self.own, self.used = self.parts[0], 1

    def part(self):
        """Returns memory for a part. All earlier ones but `own` must be complete."""
        if self.used == len(self.parts):
            self.parts[1], self.used = self.parts[1:].sum(0), 2
        self.used += 1
        return self.parts[self.used - 1]

    def result(self):
        return self.own if self.used == 1 else self.parts[:self.used].sum(0)


class _Gradients:
    """Memory that the calls of a step write, whose rows are in dimension 2. `ranges` are the rows of each call."""

    def __init__(self, tensors, ranges):
        length = tensors[0].shape[2]
        gaps = _ring_plan.gaps(ranges, length)
        self.tensors, self.meet = tensors, gaps is None
        for begin, end in [(0, length)] if self.meet else gaps:
            for x in tensors:
                x[:, :, begin:end].zero_()

    @contextlib.contextmanager
    def rows(self, begin, end):
        """Gives memory for a call. If other calls have some of its rows, too, what it writes is added to theirs."""
        rows = [x[:, :, begin:end] for x in self.tensors]
        if not self.meet:
            yield rows
            return
        parts = [torch.empty_like(x) for x in rows]
        yield parts
        for x, part in zip(rows, parts):
            x.add_(part)


class _Ring:
    """What both passes of a call share: the ranks, the calls of each step, and the options of the kernels. The methods
    that run calls take the tensors of this rank and of the rank whose keys are here."""

    def __init__(self, group, layout, length, left, right, scale):
        self.group, self.world, self.rank = group, dist.get_world_size(group), dist.get_rank(group)
        self.band = (layout, self.world), (length, left, right)
        self.steps = _ring_plan.step_count(*self.band[0], *self.band[1])
        self.scale, self.deterministic = scale, torch.are_deterministic_algorithms_enabled()

    def source(self, step):
        """Returns the rank whose keys are here in a step."""
        return (self.rank - step) % self.world

    def holder(self, step):
        """Returns the rank that has this rank's keys in a step."""
        return (self.rank + step) % self.world

    def calls(self, step):
        return _ring_plan.calls(*self.band[0], self.rank, self.source(step), *self.band[1])

    def documents_of_all(self, documents):
        """Returns the numbers of the documents of all ranks, int32 [world, batch, length], or None."""
        if documents is None:
            return None
        found = documents.new_empty(self.world, *documents.shape)
        dist.all_gather(list(found), documents.contiguous(), group=self.group)
        return found

    def next_keys(self, pairs, step):
        """Returns the messages of the keys of the next step, which arrive where those of the step before were; none in
        the last step."""
        if step + 1 >= self.steps:
            return []
        return [_Message(pairs[step % 2].buffer, self.holder(1), pairs[(step + 1) % 2].buffer, self.source(1))]

    def gradients_of(self, sent, received, step):
        """Returns the message of the gradients of a step, which go to the rank whose keys were here."""
        return _Message(sent, self.source(step), received, self.holder(step))

    def exchange(self, messages):
        return _Exchange(self.group, messages) if messages else None

    def forward(self, q, k, v, documents):
        outputs = _Outputs(sum(len(self.calls(step)) for step in range(self.steps)), q, v.shape[3])
        pairs = _pairs(k, v) if self.steps > 1 else []
        for step in range(self.steps):
            exchange = self.exchange(self.next_keys(pairs, step))  # It runs during the kernels of this step.
            for call in self.calls(step):
                self._attend(call, q, k, v, *outputs.part(call.q_begin, call.q_end), self._documents(documents, step))
            if exchange:
                exchange.wait()
                k, v = pairs[(step + 1) % 2].k, pairs[(step + 1) % 2].v
        return outputs.merged()

    def backward(self, d_o, d_lse, q, k, v, o, lse, documents):
        """Returns dq, dk and dv. The gradients of another rank's keys go to that rank during the next step. The work on
        this rank's own keys is cut between their heads: one half hides the first exchange, the other half the last one. A
        single head is not cut."""
        sum_q, sum_kv = (_Sum(self.steps, size, q) for size in (q.numel(), k.numel() + v.numel()))
        own = _Pair(k, v, sum_kv.own)
        pairs, leaving = (_pairs(k, v), [_Pair(k, v), _Pair(k, v)]) if self.steps > 1 else ([], [])

        def run(step, k, v, dq, dkv, heads=slice(None)):
            group = q.shape[1] // k.shape[1]
            sharing = slice(*(None if n is None else n * group for n in (heads.start, heads.stop)))
            of_queries = [None if x is None else x[:, sharing] for x in (d_o, d_lse, q, o, lse, dq.view(q.shape))]
            self._differentiate(step, *of_queries, *(x[:, heads] for x in (k, v, dkv.k, dkv.v)),
                                self._documents(documents, step))

        half = (k.shape[1] + 1) // 2
        for step in range(self.steps + 1):
            messages = self.next_keys(pairs, step)
            if step > 1:
                messages.append(self.gradients_of(leaving[step % 2 - 1].buffer, sum_kv.part(), step - 1))
            exchange = self.exchange(messages)
            if step == 0:
                run(0, k, v, sum_q.own, own, slice(half))
            elif step < self.steps:
                here = pairs[step % 2]
                run(step, here.k, here.v, sum_q.part(), leaving[step % 2])
            elif half < k.shape[1]:
                run(0, k, v, sum_q.own, own, slice(half, None))
            if exchange:
                exchange.wait()
        gradients = _Pair(k, v, sum_kv.result())
        return sum_q.result().view(q.shape), gradients.k, gradients.v

    def _attend(self, call, q, k, v, o, lse, documents):
        """Writes o and lse of a call."""
        rows, keys = slice(call.q_begin, call.q_end), slice(call.k_begin, call.k_end)
        inputs = q[:, :, rows], k[:, :, keys], v[:, :, keys]
        if documents is None:
            _operators.ring_forward(*inputs, self.scale, *_mask(call), o, lse)
            return
        found = _operators.flex_forward(*inputs, [], *_variant(call, documents), self.scale, _COMPUTED, 0, 0,
                                        self.deterministic)
        for x, part in zip((o, lse), found):
            x.copy_(part)

    def _differentiate(self, step, d_o, d_lse, q, o, lse, dq, k, v, dk, dv, documents):
        """Writes the gradients of a step. o and lse are those of all keys, so that probabilities are final."""
        calls = self.calls(step)
        of_queries = _Gradients([dq], [(call.q_begin, call.q_end) for call in calls])
        of_keys = _Gradients([dk, dv], [(call.k_begin, call.k_end) for call in calls])
        for call in calls:
            rows, keys = slice(call.q_begin, call.q_end), slice(call.k_begin, call.k_end)
            inputs = (d_o[:, :, rows], None if d_lse is None else d_lse[:, :, rows], q[:, :, rows], k[:, :, keys],
                      v[:, :, keys], o[:, :, rows], lse[:, :, rows])
            with of_queries.rows(rows.start, rows.stop) as found_q, of_keys.rows(keys.start, keys.stop) as found_kv:
                if documents is None:
                    _operators.ring_backward(*inputs, self.scale, *_mask(call), self.deterministic, *found_q, *found_kv)
                    continue
                found = _operators.flex_backward(*inputs, [], *_variant(call, documents), self.scale, _COMPUTED, 0, 0,
                                                 self.deterministic)
                for x, part in zip((*found_q, *found_kv), found):
                    x.copy_(part)

    def _documents(self, documents, step):
        """Returns the documents of the queries and of the keys of a step, or None."""
        return None if documents is None else (documents[self.rank], documents[self.source(step)])


def _mask(call):
    """Returns causal, bottom_right, window_left and window_right of an operator. Kernels with a causal mask are faster
    than with a window."""
    aligned = call.right == (call.k_end - call.k_begin) - (call.q_end - call.q_begin)
    if call.left is None and call.right is not None and (call.right == 0 or aligned):
        return True, call.right != 0, _NO_BOUND, _NO_BOUND
    return False, False, *(_NO_BOUND if bound is None else bound for bound in (call.left, call.right))


def _variant(call, documents):
    """Returns the tensors and the text of the variant that compares documents."""
    of_queries, of_keys = documents
    conditions = ["document_q[batch, query] == document_k[batch, key]"]
    if call.left is not None:
        conditions.append(f"query - key <= {call.left}")
    if call.right is not None:
        conditions.append(f"key - query <= {call.right}")
    text = ("variant 1\ntensor document_q i32[batch, any]\ntensor document_k i32[batch, any]\n"
            f"mask = {' & '.join(f'({condition})' for condition in conditions)}\n")
    return [of_queries[:, call.q_begin:call.q_end], of_keys[:, call.k_begin:call.k_end]], [], text


class _RingAttention(torch.autograd.Function):
    @staticmethod
    def forward(ctx, q, k, v, documents, ring):
        o, lse = ring.forward(q, k, v, documents)
        ctx.ring = ring
        ctx.save_for_backward(q, k, v, o, lse, documents)
        ctx.set_materialize_grads(False)  # d_o or d_lse is None where nothing depends on its output.
        return o, lse

    @staticmethod
    @once_differentiable
    def backward(ctx, d_o, d_lse):
        q, k, v, o, lse, documents = ctx.saved_tensors
        d_o = torch.zeros_like(o) if d_o is None else d_o
        return *ctx.ring.backward(d_o, d_lse, q, k, v, o, lse, documents), None, None
