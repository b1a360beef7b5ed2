# SPDX-License-Identifier: MIT
"""Ring attention: attention over a sequence whose parts are on the ranks of a process group.

Liu, Zaharia and Abbeel, "Ring Attention with Blockwise Transformers for Near-Infinite Context", 2023. The order
"zigzag" gives all ranks equal work under a causal mask, as the stripes of Brandon et al., "Striped Attention", 2023,
do. The report on Llama 3, 2024, describes it for context parallelism.

Keys and values travel from rank to rank while kernels run. In the backward pass, the gradients of keys and values
travel after them. Which calls a rank makes in which step is in _ring_plan.py.
"""

import json
import math
import weakref

import torch
import torch.distributed as dist
from torch.autograd.function import once_differentiable

from . import _operators, _ring_plan
from ._attention import padded, refusal

_NO_BOUND = -1
_MOST_LEFT = 2**30     # The largest bound of a window in the library.
_COMPUTED = 1          # Kernels find the tiles in which scores exist.
_DESCRIPTION = 4096    # Bytes in which a rank describes its arguments to the others.
_VALUE, _MESSAGE = 100, 600  # The most characters of an argument and of a refusal that other ranks see.
_HELD = 4              # Results that wait until they are added: more take memory, fewer rescale the sum more often.


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
    same calls in the same order. The forward pass needs memory for two parts of k and v and for up to four of o, next
    to its results. The backward pass needs two parts of k and v, and in float32 three parts of them and one of q.

    Raises ValueError, NotImplementedError, or RuntimeError with the message of the library. If the ranks' arguments
    differ, or one rank refuses its own, all ranks raise ValueError with the rank, the argument and its values, and the
    group stays usable. If a rank does not call or dies, the other ranks raise RuntimeError within the time-out of the
    group, at the first exchange that misses it, and the group is broken. If they wait for NCCL, PyTorch's watchdog ends
    them instead. The algorithm is that of Liu, Zaharia and Abbeel, 2023."""
    group = _group("ring_attention", group)
    reason = _refusal(q, k, v, window, documents, layout, scale)
    if check:
        _compare_ranks(group, _described(q, k, v, causal, window, documents, layout, scale), reason)
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


def _described(q, k, v, causal, window, documents, layout, scale):
    """Returns what must be equal in all ranks, by its name in messages."""
    found = {}
    for name, x in (("q", q), ("k", k), ("v", v)):
        found[f"{name}.shape"] = str(tuple(getattr(x, "shape", ())))
        found[f"{name}.dtype"] = str(getattr(x, "dtype", type(x)))
    trained = torch.is_grad_enabled() and any(getattr(x, "requires_grad", False) for x in (q, k, v))
    found |= {"q.device.type": str(getattr(getattr(q, "device", None), "type", None)), "causal": repr(causal),
              "window": repr(tuple(window) if isinstance(window, (list, tuple)) else window), "layout": repr(layout),
              "scale": repr(scale), "documents": "None" if documents is None else "a tensor",
              "requires_grad": str(trained)}
    return found


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


def _compare_ranks(group, described, reason):
    """Raises ValueError in all ranks if what they describe differs, or if one of them has a reason to refuse its
    arguments. This is one exchange between hosts in each call. Results of earlier calls cannot replace it, because a
    rank that knows its own arguments does not know whether another rank has new ones and waits for the exchange."""
    described = {name: value[:_VALUE] for name, value in described.items()}
    text = json.dumps(described | {"refusal": str(reason)[:_MESSAGE] if reason else None}).encode()
    mine = torch.frombuffer(bytearray(text.ljust(_DESCRIPTION)), dtype=torch.uint8)
    try:
        found = _gather_on_host(group, mine)
    except RuntimeError as error:
        raise RuntimeError("tegula.ring_attention: the arguments of the ranks cannot be compared; a rank has died, or "
                           f"has not called ring_attention within the time-out: {error}") from error
    if reason is None and (found == mine).all():
        return
    of_ranks = [json.loads(bytes(row.numpy())) for row in found]
    if reason:
        return  # The caller raises it.
    for n, other in enumerate(of_ranks):
        if other["refusal"]:
            raise ValueError(f"tegula.ring_attention: rank {n} refuses its arguments: {other['refusal']}")
    for n, other in enumerate(of_ranks):
        for name, value in of_ranks[0].items():
            if other[name] != value:
                raise ValueError(f"tegula.ring_attention: rank {n} has {name}={other[name]}, and rank 0 has "
                                 f"{name}={value}; they must be equal in all ranks")


# Exchanges between ranks.

class _Exchange:
    """A tensor that is sent to one rank while another one arrives. Both stay alive until wait() returns."""

    def __init__(self, group, sent, to, received, source):
        self.ranks, self.tensors = (to, source), (sent, received)
        try:
            self.works = dist.batch_isend_irecv([dist.P2POp(dist.isend, sent, group=group, group_peer=to),
                                                 dist.P2POp(dist.irecv, received, group=group, group_peer=source)])
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
        raise RuntimeError(f"tegula.ring_attention: the exchange with the ranks {self.ranks[0]} and {self.ranks[1]} of "
                           f"the group failed; a rank has died, or has raised an error, or is late: {error}") from error


class _Pair:
    """Tensors of the shapes of k and v in one buffer, so that one message has both."""

    def __init__(self, k, v, dtype):
        self.buffer = k.new_empty(k.numel() + v.numel(), dtype=dtype)
        self.k, self.v = self.buffer[:k.numel()].view(k.shape), self.buffer[k.numel():].view(v.shape)

    def copy_(self, k, v):
        self.k.copy_(k)
        self.v.copy_(v)
        return self


# The two passes.

class _Merge:
    """Adds o and lse of attention on several sets of keys. Up to _HELD results wait in their own type, because each sum
    reads and writes all of o in float32."""

    def __init__(self, shape, dtype):
        self.shape, self.dtype = shape, dtype  # Those of o.
        self.o = self.lse = None
        self.waiting = []

    def add(self, begin, end, o, lse):
        """Adds results of the rows begin to end - 1."""
        self.waiting.append((begin, end, o, lse))
        if len(self.waiting) == _HELD:
            self._merge()

    def result(self):
        """Returns o and lse."""
        if self.o is None and len(self.waiting) == 1 and self._has_all_rows(*self.waiting[0]):
            return self.waiting[0][2:]
        if self.waiting:
            self._merge()
        return self.o.to(self.dtype), self.lse

    def _has_all_rows(self, begin, end, *_):
        return end - begin == self.shape[2]

    def _merge(self):
        results, self.waiting = self.waiting, []
        lse = results[0][3].new_full(self.shape[:3], -math.inf) if self.lse is None else self.lse.clone()
        for begin, end, _, part in results:
            rows = lse[:, :, begin:end]
            torch.logaddexp(rows, part, out=rows)
        origin = lse.masked_fill(lse == -math.inf, 0)  # The weights of a row that sees no key are exp(-inf) = 0.
        if self.o is not None:
            self.o.mul_(torch.exp(self.lse - origin)[..., None])
        elif self._has_all_rows(*results[0]):
            _, _, o, part = results.pop(0)
            self.o = o * torch.exp(part - origin)[..., None]  # In float32.
        else:
            self.o = results[0][2].new_zeros(self.shape, dtype=torch.float32)
        for begin, end, o, part in results:
            self.o[:, :, begin:end].addcmul_(o, torch.exp(part - origin[:, :, begin:end])[..., None])
        self.lse = lse


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

    def calls(self, step):
        return _ring_plan.calls(*self.band[0], self.rank, self.source(step), *self.band[1])

    def documents_of_all(self, documents):
        """Returns the numbers of the documents of all ranks, int32 [world, batch, length], or None."""
        if documents is None:
            return None
        found = documents.new_empty(self.world, *documents.shape)
        dist.all_gather(list(found), documents.contiguous(), group=self.group)
        return found

    def shift(self, sent, received):
        """Sends a pair to the next rank."""
        return _Exchange(self.group, sent.buffer, (self.rank + 1) % self.world, received.buffer, self.source(1))

    def send_home(self, sent, received, step):
        """Sends gradients to the rank whose keys are here in a step."""
        return _Exchange(self.group, sent.buffer, self.source(step), received.buffer, (self.rank + step) % self.world)

    def forward(self, q, k, v, documents):
        merge = _Merge((*q.shape[:3], v.shape[3]), q.dtype)
        pairs = [_Pair(k, v, k.dtype).copy_(k, v), _Pair(k, v, k.dtype)] if self.steps > 1 else []
        for step in range(self.steps):
            exchange = None
            if step < self.steps - 1:  # Posted first, so that it runs during the kernels of this step.
                exchange = self.shift(pairs[step % 2], pairs[(step + 1) % 2])
            for call in self.calls(step):
                rows, keys = slice(call.q_begin, call.q_end), slice(call.k_begin, call.k_end)
                merge.add(call.q_begin, call.q_end, *self._attend(call, q[:, :, rows], k[:, :, keys], v[:, :, keys],
                                                                 self._variant(call, documents, step)))
            if exchange:
                exchange.wait()
                k, v = pairs[(step + 1) % 2].k, pairs[(step + 1) % 2].v
        return merge.result()

    def backward(self, d_o, d_lse, q, k, v, o, lse, documents):
        """Returns dq, dk and dv. Gradients of another rank's keys are added up on their way along the ring, and come
        home at the end. The last exchange runs during half of the calls on this rank's own keys."""
        dq = torch.zeros_like(q, dtype=torch.float32)
        own = _Pair(k, v, torch.float32)
        own.buffer.zero_()
        home_k, home_v = k, v

        def run(found, step, k, v):
            for call in found:
                rows, keys = slice(call.q_begin, call.q_end), slice(call.k_begin, call.k_end)
                d_rows = [None if x is None else x[:, :, rows] for x in (d_o, d_lse)]
                part, dk, dv = self._differentiate(call, *d_rows, q[:, :, rows], k[:, :, keys], v[:, :, keys],
                                                   o[:, :, rows], lse[:, :, rows], self._variant(call, documents, step))
                dq[:, :, rows].add_(part)
                yield keys, dk, dv

        def add(found, pair):
            for keys, dk, dv in found:
                pair.k[:, :, keys].add_(dk)
                pair.v[:, :, keys].add_(dv)

        early, late = _ring_plan.halves(self.calls(0))
        if self.steps == 1:
            add(run(early + late, 0, k, v), own)
            return dq.to(q.dtype), own.k.to(k.dtype), own.v.to(v.dtype)
        pairs = [_Pair(k, v, k.dtype).copy_(k, v), _Pair(k, v, k.dtype)]
        sums = [_Pair(k, v, torch.float32), _Pair(k, v, torch.float32)]
        exchange, gradients = self.shift(*pairs), None
        add(run(early, 0, k, v), own)
        for step in range(1, self.steps):
            exchange.wait()
            here = pairs[step % 2]
            if step < self.steps - 1:
                exchange = self.shift(here, pairs[(step + 1) % 2])
            found = list(run(self.calls(step), step, here.k, here.v))
            total, other = sums[step % 2], sums[(step + 1) % 2]
            if gradients:
                gradients.wait()
            else:
                total.buffer.zero_()
            add(found, total)
            gradients = self.shift(total, other) if step < self.steps - 1 else self.send_home(total, other, step)
        add(run(late, 0, home_k, home_v), own)
        gradients.wait()
        own.buffer.add_(other.buffer)
        return dq.to(q.dtype), own.k.to(k.dtype), own.v.to(v.dtype)

    def _attend(self, call, q, k, v, variant):
        if variant:
            return _operators.flex_forward(q, k, v, [], *variant, self.scale, _COMPUTED, 0, 0, self.deterministic)
        return _operators.attention(q, k, v, *self._options(call))

    def _differentiate(self, call, d_o, d_lse, q, k, v, o, lse, variant):
        """Returns dq, dk and dv of a call. o and lse are those of all keys, so that probabilities are final."""
        if variant:
            return _operators.flex_backward(d_o, d_lse, q, k, v, o, lse, [], *variant, self.scale, _COMPUTED, 0, 0,
                                            self.deterministic)[:3]
        return _operators.backward(d_o, d_lse, q, k, v, o, lse, *self._options(call))[:3]

    def _options(self, call):
        """Returns the arguments of the operators from `scale` on. Kernels with a causal mask are faster than with a
        window."""
        aligned = call.right == (call.k_end - call.k_begin) - (call.q_end - call.q_begin)
        if call.left is None and call.right is not None and (call.right == 0 or aligned):
            causal, bottom_right, left, right = True, call.right != 0, _NO_BOUND, _NO_BOUND
        else:
            causal, bottom_right = False, False
            left, right = (_NO_BOUND if bound is None else bound for bound in (call.left, call.right))
        tensors = [None] * 10  # No bias, mask, slopes, sinks, dropout, offset and intervals.
        return self.scale, causal, *tensors, bottom_right, left, right, 0.0, 0.0, self.deterministic

    def _variant(self, call, documents, step):
        """Returns the tensors and the text of the variant that compares documents, or None."""
        if documents is None:
            return None
        conditions = ["document_q[batch, query] == document_k[batch, key]"]
        if call.left is not None:
            conditions.append(f"query - key <= {call.left}")
        if call.right is not None:
            conditions.append(f"key - query <= {call.right}")
        text = ("variant 1\ntensor document_q i32[batch, any]\ntensor document_k i32[batch, any]\n"
                f"mask = {' & '.join(f'({condition})' for condition in conditions)}\n")
        return [documents[self.rank, :, call.q_begin:call.q_end],
                documents[self.source(step), :, call.k_begin:call.k_end]], [], text


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
