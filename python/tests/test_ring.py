# SPDX-License-Identifier: MIT
"""Compares ring attention on gloo processes with one process's float64. Four processes start once, and run all cases.
Worlds of one, two and three ranks are groups of them. If each process can have a GPU, results come from GPUs and
NCCL."""

import dataclasses
import datetime
import itertools
import os
import time
import traceback

import pytest
import torch
import torch.distributed as dist
import torch.multiprocessing

import reference
import tegula
from tegula import _ring_plan, ring

WORLD = 4
DEVICE = "cuda" if torch.cuda.device_count() >= WORLD else "cpu"
START_SECONDS = 120  # Ranks may compile kernels while others wait.
SHORT_SECONDS = 5    # The time-out of the groups in which a rank fails.
GROUPS = {1: [2], 2: [3, 1], 3: [0, 2, 3], 4: [0, 1, 2, 3]}


@dataclasses.dataclass(frozen=True)
class Case:
    world: int
    options: dict = dataclasses.field(default_factory=dict)
    dtype: torch.dtype = torch.float32
    length: int = 96
    heads: tuple = (2, 2)
    dims: tuple = (16, 16)
    documents: bool = False
    order: tuple = (0, 1, 2, 3)  # Of the dimensions in memory.


HALF, BRAIN = torch.float16, torch.bfloat16
CASES = {
    "full": Case(4),
    "causal": Case(4, dict(causal=True)),
    "causal, contiguous": Case(4, dict(causal=True, layout="contiguous")),
    "full, contiguous": Case(4, dict(layout="contiguous"), length=92),
    "causal, bfloat16, grouped heads": Case(4, dict(causal=True), BRAIN, heads=(4, 2), order=(0, 2, 1, 3)),
    "full, bfloat16": Case(4, {}, BRAIN),
    "scale and head dimensions": Case(4, dict(causal=True, scale=-0.3), dims=(20, 12), heads=(3, 1)),
    "scale of 0": Case(2, dict(scale=0)),
    "two ranks": Case(2, dict(causal=True), heads=(4, 1)),
    "two ranks, full, float16": Case(2, {}, HALF),
    "three ranks": Case(3, dict(causal=True)),
    "three ranks, full": Case(3, dict(layout="contiguous"), BRAIN),
    "one rank": Case(1, dict(causal=True)),
    "window": Case(4, dict(causal=True, window=(30, None), layout="contiguous")),
    "window on both sides": Case(4, dict(window=(40, 9), layout="contiguous")),
    "window and zigzag": Case(4, dict(causal=True, window=(30, None))),
    "documents": Case(4, dict(causal=True), documents=True),
    "documents and window": Case(2, dict(window=(20, 20), layout="contiguous"), documents=True),
}


def tensors_of(case):
    """Returns q, k, v, d_o, d_lse and the documents of a case, all whole."""
    generator = torch.Generator().manual_seed(1)
    heads, kv_heads = case.heads
    shapes = [(2, heads, case.length, case.dims[0]), (2, kv_heads, case.length, case.dims[0]),
              (2, kv_heads, case.length, case.dims[1]), (2, heads, case.length, case.dims[1])]
    tensors = [torch.randn(shape, generator=generator).to(case.dtype) for shape in shapes]
    tensors.append(torch.randn(2, heads, case.length, generator=generator))
    documents = torch.randint(3, (2, case.length), generator=generator, dtype=torch.int32).sort(1).values
    return [*tensors, documents if case.documents else None]


def gradients(o, lse, q, k, v, d_o, d_lse):
    loss = (o * d_o.to(o.dtype)).sum() + (lse * d_lse.to(lse.dtype)).sum()
    grads = torch.autograd.grad(loss, [q, k, v])
    return dict(zip(["o", "lse", "dq", "dk", "dv"], [o.detach(), lse.detach(), *grads]))


# What the ranks do.

def run_case(case, group):
    """Returns the whole results, which the ranks have put together."""
    layout = case.options.get("layout", "zigzag")

    def part(x):
        if x is None:
            return None
        return tegula.ring_shard(x.to(DEVICE), group, dim=1 if x.dim() == 2 else 2, layout=layout)

    *tensors, d_o, d_lse, documents = map(part, tensors_of(case))
    back = [case.order.index(axis) for axis in range(4)]
    q, k, v, d_o = (x.permute(case.order).contiguous().permute(back).requires_grad_() for x in (*tensors, d_o))
    o, lse = tegula.ring_attention(q, k, v, group, documents=documents, return_lse=True, **case.options)
    found = gradients(o, lse, q, k, v, d_o, d_lse)
    return {name: tegula.ring_unshard(x, group, layout=layout).cpu() for name, x in found.items()}


def message(function, *arguments, **options):
    """Returns the type and the text of the error that a call raises, and the seconds that it takes."""
    begin = time.monotonic()
    try:
        function(*arguments, **options)
    except Exception as error:
        return type(error).__name__, str(error), time.monotonic() - begin
    return "none", "", time.monotonic() - begin


def parts(length=8, heads=2, dtype=torch.float32):
    return [torch.ones(1, heads, length, 8, dtype=dtype) for _ in range(3)]


def run_different(rank):
    """Calls with arguments that differ in rank 2, and then a right one."""
    odd = rank == 2
    short = [x[:, :, :6 if odd else 8] for x in parts()]
    given = {
        "length": (short, {}),
        "causal": (parts(), dict(causal=odd)),
        "dtype": (parts(dtype=BRAIN if odd else torch.float32), {}),
        "scale": (parts(), dict(scale=0.5 if odd else None)),
        "layout": (parts(), dict(layout="contiguous" if odd else "zigzag")),
        "odd length": (parts(7 if odd else 8), {}),
        "refused": (parts(dtype=torch.float64 if odd else torch.float32), {}),
        "no number": (parts(), dict(scale="1" if odd else 1)),
        "window": (parts(), dict(window=(-2 if odd else 2, None))),
        "no tensor": (["q" if odd else parts()[0], *parts()[1:]], {}),
        "gradient": ([parts()[0].requires_grad_(odd), *parts()[1:]], {}),
    }
    found = {name: message(tegula.ring_attention, *tensors, **options) for name, (tensors, options) in given.items()}

    def equal():
        tensors = [x.requires_grad_() for x in parts()]
        tegula.ring_attention(*tensors).sum().backward()

    found["equal"] = message(equal)
    return found


def run_shards(rank):
    """Cuts and puts together the positions of a sequence, and a length that does not divide."""
    x = torch.arange(16.)[None].requires_grad_()
    part = tegula.ring_shard(x, dim=1)
    part.sum().backward()
    straight = tegula.ring_shard(x, dim=1, layout="contiguous")
    return {"part": part.detach(), "gradient": x.grad, "whole": tegula.ring_unshard(part, dim=1),
            "straight": straight.detach(), "straight whole": tegula.ring_unshard(straight, dim=1, layout="contiguous"),
            "zigzag of 20": message(tegula.ring_shard, torch.ones(20, 2), dim=0),
            "contiguous of 18": message(tegula.ring_shard, torch.ones(18, 2), dim=0, layout="contiguous"),
            "layout": message(tegula.ring_shard, x, layout="striped")}


def run_unwanted(rank):
    """Counts what is sent, and does without the comparison of arguments."""
    sent = []
    original = dist.batch_isend_irecv
    dist.batch_isend_irecv = lambda operations: sent.append(len(operations)) or original(operations)
    try:
        q, k, v = parts(24)
        o = tegula.ring_attention(q, k, v, causal=True, check=False)
        exchanges, sent[:] = len(sent), []
        tegula.ring_attention(q, k, v, causal=True, window=(24, None), layout="contiguous")
        return {"o": o, "exchanges": exchanges, "exchanges of a window": len(sent)}
    finally:
        dist.batch_isend_irecv = original


def run_companion(rank, size):
    """Gathers on the CPU for a group that takes tensors on GPUs only. Rank 2 belongs to more groups than the others."""
    group = dist.new_group(GROUPS[size], backend="cuda:gloo", timeout=datetime.timedelta(seconds=33))
    if rank not in GROUPS[size]:
        return None
    found = [ring._gather_on_host(group, torch.tensor([10 * n + rank])).tolist() for n in range(2)]
    return found, ring._host_groups[group].options._timeout.total_seconds()


def run_lonely(rank, group):
    """Rank 1 does not call."""
    return None if rank == 1 else message(tegula.ring_attention, *parts(), group)


def run_dying(dies, in_backward, group):
    """A rank dies before its first exchange, or before the second one of the backward pass."""
    exchange, count = dist.batch_isend_irecv, itertools.count(1)
    last = 1 if not in_backward else dist.get_world_size(group) - 1 + 2

    def dying(operations):
        if next(count) == last:
            os._exit(0)
        return exchange(operations)

    if dies:
        dist.batch_isend_irecv = dying
    q, k, v = (x.requires_grad_() for x in parts())
    if in_backward:
        return message(tegula.ring_attention(q, k, v, group).sum().backward)
    return message(tegula.ring_attention, q, k, v, group)


def rank_main(rank, folder):
    """One of the processes. Writes what it finds to files of its own."""
    torch.set_num_threads(1)
    os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")

    def write(name, found):
        torch.save(found, folder / f"{name}.{rank}.part")
        os.rename(folder / f"{name}.{rank}.part", folder / f"{name}.{rank}")

    try:
        if DEVICE == "cuda":
            torch.cuda.set_device(rank)
        dist.init_process_group("gloo" if DEVICE == "cpu" else "cpu:gloo,cuda:nccl", rank=rank, world_size=WORLD,
                                init_method=f"file://{folder}/store", timeout=datetime.timedelta(seconds=START_SECONDS))
        groups = {size: dist.new_group(ranks) for size, ranks in GROUPS.items()}
        short = datetime.timedelta(seconds=SHORT_SECONDS)
        lonely, first, second = (dist.new_group(GROUPS[size], timeout=short) for size in (4, 4, 3))
        for name, case in CASES.items():
            if rank in GROUPS[case.world]:
                write(name, run_case(case, groups[case.world]))
        dist.barrier()  # Ranks that have no part of the last cases are early.
        write("different", run_different(rank))
        write("shards", run_shards(rank))
        write("unwanted", run_unwanted(rank))
        write("companion", run_companion(rank, 3))
        write("lonely", run_lonely(rank, lonely))
        dist.barrier()
        write("died in backward", run_dying(rank == 1, True, first))
        dist.barrier(groups[3])
        write("died in forward", run_dying(rank == 3, False, second))
    except BaseException:
        write("error", traceback.format_exc())
    os._exit(0)  # The groups are broken.


# What the tests compare.

class Ranks:
    """Processes of a group, and what they have found."""

    def __init__(self, folder):
        self.folder = folder
        context = torch.multiprocessing.get_context("spawn")
        self.processes = [context.Process(target=rank_main, args=(rank, folder), daemon=True)
                          for rank in range(WORLD)]
        for process in self.processes:
            process.start()

    def found(self, name, ranks=range(WORLD)):
        """Waits for what each of `ranks` writes under a name, and returns it."""
        deadline = time.monotonic() + START_SECONDS
        files = [self.folder / f"{name}.{rank}" for rank in ranks]
        while not all(file.exists() for file in files):
            errors = [torch.load(file) for file in self.folder.glob("error.?")]
            assert not errors, errors[0]
            assert time.monotonic() < deadline, f"{name}: the ranks do not answer"
            time.sleep(0.02)
        return [torch.load(file) for file in files]

    def end(self):
        for process in self.processes:
            process.kill()
            process.join()


@pytest.fixture(scope="module", autouse=True)
def one_thread():
    """Leaves the cores to the ranks."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.fixture(scope="module")
def ranks(tmp_path_factory):
    processes = Ranks(tmp_path_factory.mktemp("ranks"))
    yield processes
    processes.end()


def expected(case, tensors, d_o, d_lse, documents):
    """Returns what the plain formula finds in the type of the tensors."""
    options = {name: value for name, value in case.options.items() if name != "layout"}
    if documents is not None:
        options["mask"] = documents[:, None, :, None] == documents[:, None, None, :]
    return gradients(*reference.plain(*tensors, **options), *tensors, d_o, d_lse)


@pytest.mark.parametrize("layout", _ring_plan.LAYOUTS)
@pytest.mark.parametrize("world", [1, 2, 3, 5])
def test_calls_compute_each_score_once(layout, world):
    length = 6
    at = [torch.cat([torch.arange(piece.whole, piece.whole + piece.length)
                     for piece in _ring_plan.pieces(layout, world, rank, length)]) for rank in range(world)]
    assert torch.cat(at).sort().values.tolist() == list(range(world * length))
    bounds = [None, 0, 1, 4, 9, 30]
    for left, right in itertools.product(bounds, bounds):
        steps = _ring_plan.step_count(layout, world, length, left, right)
        for rank, step in itertools.product(range(world), range(world)):
            source = (rank - step) % world
            distance = at[source][None] - at[rank][:, None]
            seen = (distance >= (-100 if left is None else -left)) & (distance <= (100 if right is None else right))
            calls = _ring_plan.calls(layout, world, rank, source, length, left, right)
            assert step < steps or not calls
            computed = torch.zeros(length, length, dtype=torch.int)
            for call in calls:
                q, k = torch.arange(call.q_end - call.q_begin), torch.arange(call.k_end - call.k_begin)
                away = k[None] - q[:, None]
                inside = (away >= (-100 if call.left is None else -call.left)) & (away <= (
                    100 if call.right is None else call.right))
                assert inside.any(0).all() and inside.any(1).all()
                assert all(bound is None or bound >= 0 for bound in (call.left, call.right))
                computed[call.q_begin:call.q_end, call.k_begin:call.k_end] += inside
            assert torch.equal(computed, seen.int())


@pytest.mark.parametrize("ranges, expected", [
    ([], [(0, 8)]), ([(0, 8)], []), ([(4, 8)], [(0, 4)]), ([(5, 6), (1, 3)], [(0, 1), (3, 5), (6, 8)]),
    ([(0, 4), (4, 8)], []), ([(0, 5), (4, 8)], None), ([(0, 8), (2, 3)], None)], ids=str)
def test_gaps_between_ranges(ranges, expected):
    assert _ring_plan.gaps(ranges, 8) == expected


def test_a_causal_ring_has_equal_work_and_one_call_in_each_step():
    scores = []
    for rank in range(4):
        calls = [_ring_plan.calls("zigzag", 4, rank, source, 8, None, 0) for source in range(4)]
        assert [len(found) for found in calls] == [1] * 4
        scores.append([(call.q_end - call.q_begin) * (call.k_end - call.k_begin) for call, in calls])
    # 64 is the rank's own part, half of which is hidden.
    assert all(sorted(found) == [32, 32, 32, 64] for found in scores)


@pytest.mark.parametrize("dtype", [torch.float32, BRAIN], ids=str)
@pytest.mark.parametrize("factor", [1, 300])
@pytest.mark.parametrize("first", [(0, 60), (30, 60)], ids=str)
def test_results_are_merged(dtype, factor, first):
    # 300 gives sums of exponentials whose logarithms differ by more than float32 has exponents.
    q, k, v = (torch.randn(2, 2, 60, 16, dtype=torch.float64) for _ in range(3))
    seen = torch.rand(60, 60) < 0.2
    seen[7], seen[31] = False, False
    outputs = ring._Outputs(10, q.to(dtype), 16)
    for n, (begin, end) in enumerate([first, (30, 60), (0, 30), (30, 60), (0, 60)] * 2):
        keys = slice(6 * n, 6 * n + 6)
        hidden = torch.ones(60, dtype=torch.bool)
        hidden[begin:end] = False
        seen[hidden, keys] = False
        o, lse = reference.plain(q[:, :, begin:end] * factor, k[:, :, keys], v[:, :, keys], mask=seen[begin:end, keys])
        for x, part in zip(outputs.part(begin, end), (o.nan_to_num(0), lse)):
            x.copy_(part)
    o, lse = outputs.merged()
    exact, exact_lse = reference.plain(q * factor, k, v, mask=seen)
    assert o.dtype == dtype and (o[:, :, [7, 31]] == 0).all() and (lse[:, :, [7, 31]] == -torch.inf).all()
    assert torch.allclose(o.double(), exact, rtol=0, atol=4 * exact.abs().max().item()
                          * max(torch.finfo(dtype).eps, 2**-23 * exact_lse[exact_lse.isfinite()].abs().max().item()))
    assert torch.allclose(lse.double(), exact_lse, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("name", CASES)
def test_results_and_gradients_are_right(ranks, name):
    case = CASES[name]
    *tensors, d_lse, documents = tensors_of(case)
    *leaves, d_o = (x.requires_grad_() for x in reference.doubles(tensors))
    exact = expected(case, leaves, d_o, d_lse, documents)

    def formula(*tensors):
        return expected(case, tensors[:3], tensors[3], d_lse, documents)

    bounds = reference.errors_of_formula(formula, tensors, exact)
    for found in ranks.found(name, GROUPS[case.world]):
        reference.assert_right(found, exact, bounds)


DIFFERENT = {
    "length": "rank 2 has q.shape=(1, 2, 6, 8), and rank 0 has q.shape=(1, 2, 8, 8); they must be equal in all ranks",
    "causal": "rank 2 has causal=True, and rank 0 has causal=False",
    "dtype": "rank 2 has q.dtype=torch.bfloat16, and rank 0 has q.dtype=torch.float32",
    "scale": "rank 2 has scale=0.5, and rank 0 has scale=None",
    "layout": "rank 2 has layout='contiguous', and rank 0 has layout='zigzag'",
    "gradient": "rank 2 has requires_grad=True, and rank 0 has requires_grad=False",
    "odd length": "this rank's part has 7 positions; with layout=\"zigzag\" the number must be even",
    "refused": "q is torch.float64; it must be float32, float16 or bfloat16",
    "no number": "scale is '1'; it must be a number or None",
    "window": "window is (-2, None); it must be (left, right)",
    "no tensor": "'str' object has no attribute 'dim'",
}


@pytest.mark.parametrize("name", DIFFERENT)
def test_different_arguments_are_an_error_in_every_rank(ranks, name):
    for rank, found in enumerate(ranks.found("different")):
        kind, text, seconds = found[name]
        assert DIFFERENT[name] in text
        assert seconds < SHORT_SECONDS
        refused = name in ("odd length", "refused", "no number", "window", "no tensor")
        assert ("rank 2 refuses its arguments: " in text) == (refused and rank != 2)
        assert kind == "ValueError" or rank == 2 and refused


def test_a_group_is_usable_after_different_arguments(ranks):
    assert [found["equal"][:2] for found in ranks.found("different")] == [("none", "")] * WORLD


def test_parts_have_the_layout_that_the_page_describes(ranks):
    for rank, found in enumerate(ranks.found("shards")):
        held = [2 * rank, 2 * rank + 1, 14 - 2 * rank, 15 - 2 * rank]
        assert found["part"].tolist() == [held]
        assert found["gradient"][0].nonzero()[:, 0].tolist() == held
        assert found["straight"].tolist() == [[4 * rank, 4 * rank + 1, 4 * rank + 2, 4 * rank + 3]]
        assert found["whole"].tolist() == found["straight whole"].tolist() == [list(range(16))]


def test_a_length_that_does_not_divide_is_an_error_in_every_rank(ranks):
    for found in ranks.found("shards"):
        kind, text, _ = found["zigzag of 20"]
        assert kind == "ValueError"
        assert "dimension 0 of x has the size 20; it must divide by 8, because 4 ranks hold 2 chunks each" in text
        assert "it must divide by 4, because 4 ranks hold 1 chunk each" in found["contiguous of 18"][1]
        assert "layout is 'striped'; it must be one of 'zigzag', 'contiguous'" in found["layout"][1]


def test_nothing_is_sent_that_no_rank_needs(ranks):
    for found in ranks.found("unwanted"):
        assert found["exchanges"] == 3 and found["exchanges of a window"] == 1
        assert torch.allclose(found["o"], torch.ones(1, 2, 24, 8))


def test_arguments_are_compared_if_the_group_takes_no_tensors_on_the_cpu(ranks):
    assert ranks.found("companion", GROUPS[3]) == [([[[0], [2], [3]], [[10], [12], [13]]], 33)] * 3


def test_a_rank_that_does_not_call_is_an_error_in_the_others(ranks):
    for kind, text, seconds in ranks.found("lonely", [0, 2, 3]):
        assert kind == "RuntimeError"
        assert "a rank has died, or has not called ring_attention within the time-out" in text
        assert seconds < 2 * SHORT_SECONDS


def assert_all_noticed(found):
    for kind, text, seconds in found:
        assert kind == "RuntimeError"
        assert "a rank has died, or has raised an error, or is late" in text
        assert seconds < 2 * SHORT_SECONDS


def test_a_rank_that_dies_in_the_backward_pass_is_an_error_in_the_others(ranks):
    assert_all_noticed(ranks.found("died in backward", [0, 2, 3]))


def test_a_rank_that_dies_in_the_forward_pass_is_an_error_in_the_others(ranks):
    assert_all_noticed(ranks.found("died in forward", [0, 2]))


def test_without_a_process_group_nothing_works():
    with pytest.raises(RuntimeError, match="tegula.ring_attention: there is no process group"):
        tegula.ring_attention(*parts())
