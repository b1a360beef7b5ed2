# SPDX-License-Identifier: MIT
"""Tests of kernels that are written in Python: their texts, their results, and their errors with lines of Python."""

import gc
import inspect
import math
import pathlib
import re
import subprocess
import sys
import threading
import weakref

import numpy
import pytest
import torch

import programs
import tegula
from tegula import _language
from tegula import language as tl
from tegula.language import Scalar, Tensor

ROOT = pathlib.Path(__file__).resolve().parents[2]
GOLDEN = sorted((ROOT / "tests/dsl/golden").glob("*.mlir"))


# ---- The language is complete ----


def snake_case(name):
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()


def functions_of(header):
    """Returns the functions and operators that a header of the language declares outside classes."""
    text = re.sub(r"//.*", "", (ROOT / "dsl/include/tegula" / header).read_text())
    return set(re.findall(r"^(?:inline )?[\w:<>]+ (operator\S+?|\w+)\((?!.*= delete)", text, re.MULTILINE))


HEADERS = {*re.findall(r'"tegula/(\w+\.h)"', (ROOT / "dsl/include/tegula/dsl.h").read_text())} - {"record.h"}


OPERATORS = {"+": "__add__", "-": "__sub__", "*": "__mul__", "/": "__truediv__", "%": "__mod__", "<<": "__lshift__",
             ">>": "__rshift__", "&": "__and__", "|": "__or__", "^": "__xor__", "!": "__invert__", "==": "__eq__",
             "!=": "__ne__", "<": "__lt__", "<=": "__le__", ">": "__gt__", ">=": "__ge__"}


@pytest.mark.parametrize("header", sorted(HEADERS))
def test_all_operations_are_bound(header):
    names = functions_of(header)
    assert len(names) >= {"ops.h": 60, "control.h": 5, "view.h": 1, "value.h": 0}[header]
    for name in names:
        if name.startswith("operator"):
            operator = OPERATORS[name.removeprefix("operator")]
            assert operator in vars(tl.Value) and operator in vars(tl.Var)
        else:
            assert hasattr(tl, snake_case(name)), f"{header}: {name} is not bound"


@pytest.mark.parametrize("header, cls", [("view.h", "View"), ("ops.h", "OnlineSoftmax")])
def test_all_members_are_bound(header, cls):
    text = (ROOT / "dsl/include/tegula" / header).read_text()
    body = re.search(rf"^class {cls} {{\n(.*?)^private:", text, re.MULTILINE | re.DOTALL)[1]
    names = set(re.findall(r"^  (?:template .*> )?(?:Value|void|View|DType|int) (\w+)\(", body, re.MULTILINE))
    assert len(names) > 6
    for name in names - {"slice", "gatherAt", "scatterAt", "scatterAddAt"}:  # Other forms of at, gather, ...
        assert hasattr(getattr(tl, cls), snake_case(name)), f"{cls}.{name} is not bound"


@pytest.mark.parametrize("golden", GOLDEN, ids=lambda path: path.stem)
def test_texts_are_those_of_cpp(golden):
    def without_locations(text):
        return re.sub(r' loc\("[^"]*":\d+:0\)', "", text)

    assert without_locations(getattr(programs, golden.stem).record()) == without_locations(golden.read_text())


def test_operations_have_lines_of_python():
    text = programs.branches.record()
    source, first = inspect.getsourcelines(programs.branches.function)
    line = first + next(i for i, line in enumerate(source) if "kept * level" in line)
    assert f'loc("tests/programs.py":{line}:0)' in text
    lines = {int(n) for n in re.findall(r'loc\("tests/programs.py":(\d+):0\)', text)}
    assert lines <= set(range(first, first + len(source)))


# ---- Results ----


@tegula.kernel
def scaled_add(x: Tensor("f32", 1), y: Tensor("f32", 1), out: Tensor("f32", 1), a: Scalar("f32")):
    i = tl.program_id(0) * 256
    out.store(i, x.load(i, [256]) * a + y.load(i, [256]))


def test_elementwise_with_any_strides(device):
    x, y = torch.randn(2000, device=device)[::2], torch.randn(1, device=device).expand(1000)
    out = torch.full((3000,), -7.0, device=device)
    scaled_add[4](x, y, out[::3], 2.5)
    torch.testing.assert_close(out[::3], 2.5 * x + y)  # A GPU rounds once.
    assert (out[1::3] == -7).all()


def test_a_second_launch_records_and_compiles_nothing(device):
    calls = []

    @tegula.kernel
    def double(x: Tensor(None, 1), out: Tensor("f32", 1), factor=2):
        calls.append((x.dtype, factor))
        i = tl.program_id() * 64
        out.store(i, tl.cast("f32", x.load(i, [64])) * factor)

    for n in (1, 100, 200):
        x, out = torch.arange(n, device=device), torch.zeros(n, device=device)
        double[(n + 63) // 64](x, out)
        assert torch.equal(out, 2.0 * x)
        double[(n + 63) // 64, 1, 1](out=out, x=x, factor=3)
        assert torch.equal(out, 3.0 * x)
        double[(n + 63) // 64,](x.float(), out)
        assert torch.equal(out, 2.0 * x)
    assert calls == [("i64", 2), ("i64", 3), ("f32", 2)]
    assert len(double._compiled) == 3


def type_of_first(value):
    return 5 if type(value[0]) is int else 6


def test_constants_are_told_apart_by_type_and_value(device):
    @tegula.kernel
    def write(out: Tensor("f32", 1), *, value, function=None):
        value = value if function is None else function(value)
        out.store(0, tl.cast("f32", tl.fill([1], value)) if value is not True else tl.fill([1], 9.0))

    out = torch.zeros(1, device=device)
    for value, expected in [(1, 1.0), (1.5, 1.5), (True, 9.0), (1.0, 1.0), (0.0, 0.0), (-0.0, -0.0)]:
        write[1](out, value=value)
        assert out.item() == expected and math.copysign(1, out.item()) == math.copysign(1, expected)
    write[1](out, value=3, function=lambda x: x + 1)
    assert out.item() == 4
    for value in [(1,), (1.0,)]:
        write[1](out, value=value, function=type_of_first)
        assert out.item() == (5 if type(value[0]) is int else 6)
    with pytest.raises(TypeError, match="kernel 'write': a constant has no hash"):
        write[1](out, value=[1])
    with pytest.raises(TypeError, match="kernel 'write': the constant 'value' is missing"):
        write[1](out)
    with pytest.raises(TypeError, match="kernel 'write': there is no constant 'size'"):
        write[1](out, value=1, size=3)


@tegula.kernel
def matmul(a: Tensor(None, 2), b: Tensor(None, 2), c: Tensor("f32", 2), m=32, n=32, k=16):
    i, j = tl.program_id(0) * m, tl.program_id(1) * n
    acc = tl.Var(tl.fill([m, n], 0.0))
    for p in tl.range(0, a.dim(1), k):
        acc += a.load([i, p], [m, k]) @ b.load([p, j], [k, n])
    c.store([i, j], acc)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
def test_matrix_product(device, dtype):
    a, b = torch.randn(70, 50, device=device).to(dtype), torch.randn(90, 50, device=device).to(dtype).T
    c = torch.empty(70, 90, device=device)
    matmul[3, 3](a, b, c)
    torch.testing.assert_close(c.double(), a.double() @ b.double(), rtol=1e-5, atol=1e-4)


def test_reductions_and_softmax(device):
    @tegula.kernel
    def softmax(x: Tensor("f32", 2), out: Tensor("f32", 2), sums: Tensor("f32", 1), columns):
        row = tl.program_id(0)
        s = x.load(row, [1, columns], -math.inf)
        e = tl.exp(s - tl.as_column(tl.row_max(s)))
        total = tl.reduce_sum(e, 1)
        out.store(row, e / tl.as_column(total))
        sums.store(row, tl.row_log_sum_exp(s))

    x = torch.randn(5, 100, device=device)
    out, sums = torch.empty_like(x), torch.empty(5, device=device)
    softmax[5](x, out, sums, columns=128)
    torch.testing.assert_close(out.double(), x.double().softmax(1), rtol=1e-5, atol=1e-7)
    torch.testing.assert_close(sums.double(), x.double().logsumexp(1), rtol=1e-5, atol=1e-6)


@tegula.kernel
def attention(q: Tensor(None, 4), k: Tensor(None, 4), v: Tensor(None, 4), o: Tensor(None, 4), lse: Tensor("f32", 3),
              scale: Scalar("f32"), *, causal=False, block_m=64, block_n=64, dim=64):
    row, head, batch = tl.program_id(0) * block_m, tl.program_id(1), tl.program_id(2)
    tile = q.at(batch, head).load(row, [block_m, dim])
    keys, values = k.at(batch, head), v.at(batch, head)
    end = tl.min(row + block_m, keys.dim(0)) if causal else keys.dim(0)
    softmax = tl.OnlineSoftmax(block_m, dim)
    for key in tl.range(0, end, block_n):
        s = tl.dot(tile, tl.transpose(keys.load(key, [block_n, dim]))) * scale
        columns = tl.as_row(key + tl.iota(block_n))
        seen = columns < keys.dim(0)
        if causal:
            seen = seen & (columns <= tl.as_column(row + tl.iota(block_m)))
        softmax.update(tl.select(seen, s, -math.inf), values.load(key, [block_n, dim]))
    o.at(batch, head).store(row, softmax.output())
    lse.at(batch, head).store(row, softmax.log_sum_exp())


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_flash_attention(device, dtype, causal):
    q, k, v = (torch.randn(2, 100, 3, 64, device=device).to(dtype).transpose(1, 2) for _ in range(3))
    o, lse = torch.empty_like(q), torch.empty(2, 3, 100, device=device)
    attention[2, 3, 2](q, k, v, o, lse, 0.125, causal=causal)
    s = q.double() @ k.double().mT * 0.125
    if causal:
        s = s.masked_fill(torch.ones(100, 100, device=device).triu(1).bool(), -math.inf)
    exact = s.softmax(-1) @ v.double()
    torch.testing.assert_close(o.double(), exact, rtol=0, atol=2e-2 if dtype == torch.bfloat16 else 1e-5)
    torch.testing.assert_close(lse.double(), s.logsumexp(-1), rtol=0, atol=1e-4)


def test_e4m3(device):
    @tegula.kernel
    def rounded(x: Tensor("f32", 1), narrow: Tensor("e4m3", 1), doubled: Tensor("f32", 1)):
        value = tl.cast("e4m3", x.load(0, [64]))
        narrow.store(0, value)
        doubled.store(0, value * 2)

    x = torch.linspace(-448, 448, 64, device=device)
    narrow, doubled = torch.empty(64, dtype=torch.float8_e4m3fn, device=device), torch.empty(64, device=device)
    rounded[1](x, narrow, doubled)
    expected = x.to(torch.float8_e4m3fn).float()
    assert torch.equal(narrow.float(), expected) and torch.equal(doubled, 2 * expected)


def test_branches_and_variables(device):
    @tegula.kernel
    def collatz(x: Tensor("i32", 1), steps: Tensor("i32", 1), limit: Scalar("i32")):
        n = tl.Var(x.gather(tl.program_id(0)))
        count = tl.Var(tl.constant("i32", 0))
        for _ in tl.range(0, limit):
            @tl.when(n != 1)
            def _():
                count.assign(count + 1)

                @tl.when(n % 2 == 0, otherwise=lambda: n.assign(3 * n + 1))
                def _():
                    n.assign(n / 2)
        steps.store(tl.program_id(0), count)

    x = torch.tensor([1, 6, 7, 9], dtype=torch.int32, device=device)
    steps = torch.zeros_like(x)
    collatz[4](x, steps, 30)
    assert steps.tolist() == [0, 8, 16, 19]


def test_a_decorated_branch_has_an_otherwise(device):
    @tegula.kernel
    def sign(x: Tensor("f32", 1), out: Tensor("f32", 1)):
        i = tl.program_id()

        @tl.when(x.gather(i) < 0, otherwise=lambda: out.store(i, 1.0))
        def _():
            out.store(i, -1.0)

    x, out = torch.tensor([3.0, -2.0], device=device), torch.zeros(2, device=device)
    sign[2](x, out)
    assert out.tolist() == [1, -1]


def test_gather_scatter_and_atomics(device):
    @tegula.kernel
    def permute_rows(x: Tensor("f32", 2), rows: Tensor("i32", 1), out: Tensor("f32", 2), counts: Tensor("i32", 1)):
        i = tl.program_id(0) * 4
        to = rows.load(i, [4], -1)
        out.scatter(x.load(i, [4, 8]), tl.as_column(to), tl.as_row(tl.iota(8)))
        counts.scatter_add(tl.fill([4], 1), to)
        counts.atomic_add(5, tl.fill([1], 1))

    x, rows = torch.randn(6, 8, device=device), torch.tensor([5, 3, 1, 0, 2, 4], dtype=torch.int32, device=device)
    out, counts = torch.zeros_like(x), torch.zeros(6, dtype=torch.int32, device=device)
    permute_rows[2](x, rows, out, counts)
    assert torch.equal(out[rows.long()], x)
    assert counts.tolist() == [1, 1, 1, 1, 1, 3]


def test_conditions_are_tensors_of_bool(device):
    @tegula.kernel
    def positive(x: Tensor("f32", 1), seen: Tensor("i1", 1), out: Tensor(None, 1)):
        out.store(0, (x.load(0, [16]) > 0) & seen.load(0, [16]))

    x, seen = torch.randn(10, device=device), torch.rand(10, device=device) < 0.5
    out = torch.zeros_like(seen)
    positive[1](x, seen, out)
    assert torch.equal(out, (x > 0) & seen)


def test_kernels_inline_functions_and_kernels(device):
    @tegula.kernel
    def twice(x: Tensor("f32", 1), out: Tensor("f32", 1)):
        scaled_add(x, x, out, 1.0)

    x, out = torch.randn(300, device=device), torch.zeros(300, device=device)
    twice[2](x, out)
    assert torch.equal(out, 2 * x)


def test_numbers_of_numpy_are_literals():
    @tegula.kernel
    def scaled(x: Tensor("f32", 1)):
        x.store(0, numpy.float32(0.5) * x.load(0, [8]) * numpy.float64(2) + numpy.int32(3))

    text = scaled.record()
    assert all(number in text for number in ("0.5", "2.0", "3.0"))


def test_schedules(device):
    other = tegula.kernel(scaled_add, schedule="block_m=256" if device.type == "cpu" else "num_warps=8")
    x, out = torch.ones(10, device=device), torch.zeros(10, device=device)
    other[1](x, x, out, 1.0)
    assert (out == 2).all()
    with pytest.raises(RuntimeError, match="num_worps"):
        tegula.kernel(scaled_add, schedule="num_worps=8")[1](x, x, out, 1.0)


@pytest.mark.filterwarnings("error")
def test_compiled_graphs_break_at_a_launch():
    def function(x):
        out = torch.empty_like(x)
        scaled_add[1](x * 2, x, out, 1.0)
        return out + 1

    compiled = torch.compile(function, backend="eager")
    for _ in range(2):
        assert torch.equal(compiled(torch.ones(8)), torch.full((8,), 4.0))


# ---- Errors ----


def failing(function, error=RuntimeError):
    """Records a function. Returns the message, without the path, and the lines after that of `def`."""
    first = function.__code__.co_firstlineno
    with pytest.raises(error) as caught:
        tegula.kernel(function).record()
    line = caught.traceback[-1].lineno + 1 - first if error is not RuntimeError else None
    return re.sub(rf"{re.escape(__file__)}:(\d+)", lambda match: f"+{int(match[1]) - first}", str(caught.value)), line


def test_errors_of_the_library_have_lines_of_python():
    def wrong(a: Tensor("bf16", 2), b: Tensor("bf16", 2)):
        left = a.load(0, [96, 128])
        right = b.load(0, [128, 64])

        tl.dot(left, tl.transpose(right))
        tl.exp(
            left + right)

    message, _ = failing(wrong)
    errors = message.splitlines()
    assert errors[0].startswith("+4: error: dot: inner sizes differ, 128 (line ")
    assert errors[1:] and any(line.startswith("+1: note: bf16 [96, 128] is made here") for line in errors)
    assert any(line.startswith("+6: error: ") for line in errors)


def test_values_end_with_their_loop():
    def wrong(x: Tensor("f32", 1)):
        for i in tl.range(0, 10):
            y = x.load(i, [8])
        x.store(0, y)

    message, _ = failing(wrong)
    line = wrong.__code__.co_firstlineno + 1
    assert message == (f"+3: error: this value was made inside the loop at line {line} and is used outside of it; declare a "
                       "Var before it and assign to the Var inside\n+2: note: made here")


def test_loops_run_to_their_end():
    def left(x: Tensor("f32", 1)):
        for i in tl.range(0, 10):
            x.store(i, 1.0)
            break
        x.store(0, 2.0)

    def returned(x: Tensor("f32", 1)):
        for i in tl.range(0, 10):
            return

    for function in (left, returned):
        assert failing(function)[0].startswith("+1: error: this loop was left by break, return or an exception")


def test_python_cannot_assign_to_values():
    def bound(x: Tensor("f32", 1)):
        total = tl.Var(tl.fill([8], 0.0))
        for i in tl.range(0, 10):
            total = total + x.load(i, [8])

    def in_place(x: Tensor("f32", 1)):
        total = tl.fill([8], 0.0)
        total += 1

    def other_in_place(x: Tensor("f32", 1)):
        count = tl.Var(tl.iota(8))
        count &= 1

    def number(x: Tensor("f32", 1)):
        tl.Var(0.0)

    assert "'total' is bound to another value inside this loop" in failing(bound, TypeError)[0]
    assert failing(bound, TypeError)[1] == 2
    assert failing(in_place, TypeError) == ("a Value is immutable: declare it as Var to assign to it", 2)
    assert failing(other_in_place, TypeError) == (
        "a Var has +=, -=, *= and /=; write v.assign(v & x) for other operators", 2)
    assert failing(number, TypeError)[0].startswith('a number is no Value: write constant("f32", 0.5)')


def test_names_of_loops_may_be_used_again():
    @tegula.kernel
    def rows(x: Tensor("f32", 1), out: Tensor("f32", 1)):
        for i in tl.range(0, 4):
            total = tl.Var(tl.fill([8], 0.0))
            for j in tl.range(0, i):
                tile = x.load(j, [8])
                total += tile
            out.store(i, total)
        for i in tl.range(0, 4):
            total = tl.Var(tl.fill([8], 1.0))
            for j in tl.range(0, i):
                tile = x.load(j, [8])
                total += tile
            out.store(i + 4, total)

    rows.record()


def test_conditions_have_no_truth():
    def branch(x: Tensor("f32", 1)):
        if x.dim(0) > 3:
            x.store(0, 1.0)

    def both(x: Tensor("f32", 1)):
        tl.select((x.dim(0) > 3) and True, 1, 2)

    for function in (branch, both):
        message, line = failing(function, TypeError)
        assert message.startswith("a device condition: use select(...) or when(...) instead of if, and &, | and ~")
        assert line == 1


def test_operands_are_checked():
    def text(x: Tensor("f32", 1)):
        tl.exp("1")

    def view(x: Tensor("f32", 1)):
        x + 1

    def large(x: Tensor("f32", 1)):
        x.load(0, [8]) + 2 ** 70

    def literal(x: Tensor("f32", 1)):
        tl.iota(8) + 2 ** 40

    def dtype(x: Tensor("f32", 1)):
        tl.cast("f64", x.load(0, [8]))

    def precision(x: Tensor("f32", 2)):
        tl.dot(x.load(0, [8, 8]), x.load(0, [8, 8]), input_precision="tf32x3")

    def accumulator(x: Tensor("f32", 2)):
        tl.dot(x.load(0, [8, 8]), x.load(0, [8, 8]), x)

    def bf16(x: Tensor("bf16", 2)):
        tl.dot(x.load(0, [8, 8]), x.load(0, [8, 8]), input_precision="tf32")

    assert "exp(x: Value | Var | int | float | bool)" in failing(text, TypeError)[0]
    assert re.match(r"unsupported operand type\(s\) for \+: '[\w.]*View' and 'int'", failing(view, TypeError)[0])
    assert re.match(r"unsupported operand type\(s\) for \+: '[\w.]*Value' and 'int'", failing(large, TypeError)[0])
    assert failing(literal)[0].startswith("+1: error: ")
    assert failing(dtype, ValueError) == ("'f64' is no type; legal are f32, f16, bf16, e4m3, i64, i32, i8, i1 and index", 1)
    assert failing(precision, ValueError) == ("'tf32x3' is no precision; legal are ieee and tf32", 1)
    assert failing(accumulator, TypeError)[1] == 1
    assert failing(bf16)[0].startswith("+1: error: dot: tf32 is for f32 operands, not for bf16 [8, 8] (line ")


def test_exceptions_of_the_function_reach_the_caller():
    def wrong(x: Tensor("f32", 1)):
        tl.dot(x.load(0, [8]), 1)
        for i in tl.range(0, 3):
            tl.when(i > 1, lambda: {}["missing"])

    with pytest.raises(KeyError, match="missing") as caught:
        tegula.kernel(wrong).record()
    assert caught.traceback[-1].path == pathlib.Path(__file__)
    if sys.version_info >= (3, 11):
        assert "error: dot: " in caught.value.__notes__[0]
    test_texts_are_those_of_cpp(GOLDEN[0])  # The next recording finds nothing of this one.


def test_wrong_parameters():
    def rank(x: Tensor("f32", 6)):
        pass

    def scalar(x: Scalar("bf16")):
        pass

    assert failing(rank)[0] == "+0: error: the tensor 'x' has rank 6; the rank must be from 1 to 5"
    assert failing(scalar)[0] == "+0: error: the scalar 'x' has type bf16; legal are f32, i32 and i64"
    with pytest.raises(TypeError, match=r"kernel '<lambda>': '\*x' has no name"):
        tegula.kernel(lambda *x: None)
    with pytest.raises(ValueError, match='check_finite is 1; legal are None, "nan" and "inf"'):
        tegula.kernel(check_finite=1)(rank)


def test_wrong_launches_name_the_argument():
    x, out = torch.ones(10), torch.zeros(10)
    wrong = [
        ((x.bfloat16(), x, out, 1.0), RuntimeError, "kernel 'scaled_add': argument 'x': expected f32, got bf16"),
        ((x, x[None], out, 1.0), RuntimeError, "kernel 'scaled_add': argument 'y': .*rank 1.*2"),
        ((x, x, out.double(), 1.0), RuntimeError, "argument 'out': kernels have no type torch.float64"),
        ((x, x, out.to("meta"), 1.0), RuntimeError, "argument 'out' is on meta, and 'x' is on cpu$"),
        ((x, x, x, 1.0), RuntimeError, "kernel 'scaled_add': argument 'out': .*shares memory with 'x'"),
        ((x, [1.0], out, 1.0), TypeError, "kernel 'scaled_add': argument 'y': expected a tensor, got list"),
        ((x, x, out, x), TypeError, "argument 'a': expected a number, got Tensor"),
        ((x, x, out, "2"), TypeError, "argument 'a': expected a number, got str"),
        ((x, x, out), TypeError, "kernel 'scaled_add': missing a required argument: 'a'"),
    ]
    for arguments, error, message in wrong:
        with pytest.raises(error, match=message):
            scaled_add[1](*arguments)
    assert (out == 0).all()
    with pytest.raises(RuntimeError, match="kernel 'scaled_add': .*grid"):
        scaled_add[-1](x, x, out, 1.0)
    with pytest.raises(ValueError, match="kernel 'scaled_add': the grid has 4 axes; it may have 1 to 3"):
        scaled_add[1, 1, 1, 1]
    with pytest.raises(TypeError):
        scaled_add[1.5]


def test_integers_are_not_rounded():
    @tegula.kernel
    def write(out: Tensor("i64", 1), a: Scalar("i32"), b: Scalar("i64")):
        out.store(0, tl.cast("i64", a) + b)

    out = torch.zeros(1, dtype=torch.int64)
    write[1](out, -3, 2 ** 40)
    assert out.item() == 2 ** 40 - 3
    for a, b, message in [(2 ** 31, 0, "'a': expected an integer of 32 bits"),
                          (1.0, 0, "'a': expected an integer of 32 bits"),
                          (0, 2 ** 63, "'b': expected an integer of 64 bits"), (True, 0, "'a': expected a number")]:
        with pytest.raises(TypeError, match=f"argument {message}"):
            write[1](out, a, b)


# ---- Recording state ----


def test_recordings_nest():
    inner = []

    def outer(x: Tensor("f32", 1)):
        y = x.load(0, [8])
        inner.append(programs.nested_loops.record())
        out = torch.zeros(300)
        scaled_add[2](torch.ones(300), torch.ones(300), out, 1.0)
        assert (out == 2).all()
        x.store(0, y * 2)

    assert "tile.store" in tegula.kernel(outer).record()
    assert inner[0] == programs.nested_loops.record()


def test_values_belong_to_one_recording():
    kept = []

    def first(x: Tensor("f32", 1)):
        kept.extend([x.load(0, [8]), x, tl.Var(x.load(8, [8]))])
        x.store(0, kept[0])

    def second(x: Tensor("f32", 1)):
        x.store(0, kept[0])
        x.store(0, kept[2])

    tegula.kernel(first).record()
    message, _ = failing(second)
    lines = [line.split(": ")[0] for line in message.splitlines() if "belongs to another recording" in line]
    assert lines == ["+1", "+2"]
    assert kept[0] + 1 is not None  # Outside a recording, operations do nothing.


def test_threads_record_at_the_same_time():
    names = [path.stem for path in GOLDEN]
    expected = {name: getattr(programs, name).record() for name in names}
    wrong = []

    def record(order):
        for _ in range(15):
            for name in order:
                text = tegula.kernel(getattr(programs, name)).record()
                if text != expected[name]:
                    wrong.append(name)

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        threads = [threading.Thread(target=record, args=(order,)) for order in (names, names[::-1], names)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(interval)
    assert not wrong


def test_kernels_are_freed():
    def made():
        @tegula.kernel
        def kernel(out: Tensor("f32", 1)):
            out.store(0, 1.0)

        kernel[1](torch.zeros(1))
        return weakref.ref(kernel)

    reference = made()
    gc.collect()
    assert reference() is None


# ---- Debugging ----


def test_kernels_print(capfd):
    @tegula.kernel
    def printing(x: Tensor("f32", 1)):
        tl.print("half", x.gather(tl.program_id()) * 0.5, tl.program_id() == 1)

    printing[2](torch.tensor([3.0, 5.0]))
    assert "half" in (text := capfd.readouterr().out) and "2.5" in text and "1.5" not in text


def test_launches_find_nan():
    @tegula.kernel(check_finite="nan")
    def logarithm(x: Tensor("f32", 1), out: Tensor("f32", 1)):
        out.store(0, tl.log(x.load(0, [4])))

    x, out = torch.tensor([1.0, 2.0, 3.0, 4.0]), torch.zeros(4)
    logarithm[1](x, out)
    message = r"kernel 'logarithm': .*test_kernels.py:\d+: log makes the first NaN: element \[3\]"
    with pytest.raises(RuntimeError, match=message):
        logarithm[1](torch.tensor([1.0, 2.0, 3.0, -4.0]), out)


def test_launches_find_assertions_that_fail():
    def gather(x: Tensor("f32", 1), places: Tensor("i32", 1), out: Tensor("f32", 1)):
        place = places.load(0, [4])
        tl.device_assert((place >= 0) & (place < x.dim(0)), "places", place)
        out.store(0, x.gather(place))

    x, out = torch.arange(8.0), torch.zeros(4)
    good, bad = (torch.tensor(places, dtype=torch.int32) for places in ([7, 0, 3, 3], [7, 0, 8, 3]))
    checked = tegula.kernel(gather, device_asserts=True)
    checked[1](x, good, out)
    assert out.tolist() == [7, 0, 3, 3]
    with pytest.raises(RuntimeError, match=r"kernel 'gather': .*test_kernels.py:\d+: assertion failed: places: i32 \[4\]"):
        checked[1](x, bad, out)
    tegula.kernel(gather)[1](x, bad, out)
    assert out.tolist() == [7, 0, 0, 3]


SCRIPT = """
import gc, threading, torch, tegula
from tegula import language as tl

@tegula.kernel
def double(x: tl.Tensor("f32", 1)):
    kept.append(x.load(0, [8]))
    x.store(0, kept[0] * 2)

def wrong(x: tl.Tensor("f32", 1)):
    for i in tl.range(0, 3):
        raise ValueError("kept")

kept = []
x = torch.ones(8)
double[1](x)
try:
    tegula.kernel(wrong).record()
except ValueError as error:
    cycle = [error]
    cycle.append(cycle)
thread = threading.Thread(target=double[1], args=(x,))
thread.start(); thread.join()
print(x.sum().item(), repr(kept[0]))
"""


def test_nothing_is_printed_at_exit():
    result = subprocess.run([sys.executable, "-B", "-c", SCRIPT], capture_output=True, text=True)
    assert (result.returncode, result.stderr) == (0, "")
    assert result.stdout.startswith("32.0 <Value")


def test_the_language_needs_no_pytorch():
    script = "import tegula, sys\nfrom tegula import language as tl\n@tegula.kernel\ndef f(x: tl.Tensor('f32', 1)):\n" \
             "    x.store(0, 1.0)\nassert 'tile.store' in f.record() and 'torch' not in sys.modules"
    assert subprocess.run([sys.executable, "-B", "-c", script], capture_output=True).returncode == 0


# ---- Tuning ----


@tegula.kernel
def scaled(x: Tensor(None, 2), out: Tensor(None, 2), factor: Scalar("f32"), *, rows=16):
    i = tl.program_id(0) * rows
    out.store([i, 0], x.load([i, 0], [rows, 32]) * factor)


def grid_of_rows(x, rows):
    return (x.shape[0] + rows - 1) // rows


def test_tuning_finds_constants_and_keeps_them(tmp_path, monkeypatch):
    monkeypatch.setenv("TEGULA_CACHE_DIR", str(tmp_path))
    x, out = torch.randn(600, 32), torch.zeros(600, 32)
    tuned = scaled.tune(grid_of_rows, x, out, 2.0, rows=[16, 64], seconds=60)
    assert tuned.constants["rows"] in (16, 64) and tuned.milliseconds > 0
    tuned(x, out, 3.0)
    assert torch.equal(out, 3 * x)
    again = scaled.tune(grid_of_rows, x[:590], out[:590], 2.0, rows=[64, 16])
    assert (again.constants, again.schedule, again.milliseconds) == (tuned.constants, tuned.schedule, tuned.milliseconds)
    measured = scaled.tune(grid_of_rows, x, out, 2.0, rows=[16, 64], again=True)
    assert measured.milliseconds != tuned.milliseconds


@pytest.mark.parametrize("grid, kind, text", [
    (lambda x, block: 1, TypeError,
     "the grid has the parameter 'block'; it may have those of the kernel: x, out, factor, rows"),
    (lambda x: 1 if x.shape[0] < 700 else 2, TypeError, "may not look at their values"),
    (lambda x: (x.shape[0], 1, 1, 1), RuntimeError,
     "kernel 'scaled': no candidate was timed: tegula: --grid: 'x_0,1,1,1' has more than three axes"),
], ids=["parameter", "values", "axes"])
def test_a_grid_that_tuning_refuses(grid, kind, text, tmp_path, monkeypatch):
    monkeypatch.setenv("TEGULA_CACHE_DIR", str(tmp_path))
    with pytest.raises(kind, match=re.escape(text)):
        scaled.tune(grid, torch.randn(600, 32), torch.zeros(600, 32), 2.0)


def test_tuning_without_its_program(monkeypatch, tmp_path):
    monkeypatch.setenv("TEGULA_CC", str(tmp_path / "tegula-cc"))
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(RuntimeError, match="there is no program `tegula` next to tegula-cc, in the package or on the PATH"):
        scaled.tune(grid_of_rows, torch.randn(600, 32), torch.zeros(600, 32), 2.0)
