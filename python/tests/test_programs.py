# SPDX-License-Identifier: MIT
"""Tests tools/run-suites on a small suite, examples/train_gpt on a small model, examples/python_kernel, and the programs
of ring attention."""

import importlib.util
import json
import os
import pathlib
import re
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]

SUITE = """
import torch
from flash_attn import flash_attn_func

q = torch.ones(1, 4, 1, 16)

def test_right():
    assert torch.allclose(flash_attn_func(q, q, 2 * q), 2 * q)

def test_wrong():
    assert torch.allclose(flash_attn_func(q, q, 2 * q), q), "as it should"

def test_float64():
    flash_attn_func(q.double(), q.double(), q.double())
"""


def run(*command, **environment):
    return subprocess.run([sys.executable, "-B", *map(str, command)], capture_output=True, text=True,
                          env={**os.environ, **environment})


def test_a_suite_is_counted_by_outcome(tmp_path):
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests/test_flash_attn.py").write_text(SUITE)
    result = run(ROOT / "tools/run-suites", "flash_attn", "--source", tmp_path, "--json", tmp_path / "out.json", "--jobs", 2)
    assert "passed 1  failed 1  refused 1  skipped 0\n" in result.stdout, result.stdout + result.stderr
    assert "refused 1: tegula.attention: q is torch.float64" in result.stdout
    assert "failed 1: as it should" in result.stdout
    assert "Tegula answered 2 calls, in 2 tests" in result.stdout
    assert result.returncode == 1
    written = json.loads((tmp_path / "out.json").read_text())
    outcomes = {test.rsplit("::")[-1]: outcome for test, (outcome, _, _) in written.items()}
    assert outcomes == {"test_right": "passed", "test_wrong": "failed", "test_float64": "refused"}


def test_a_suite_that_tegula_does_not_answer_fails(tmp_path):
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests/test_flash_attn.py").write_text("def test_nothing():\n    pass\n")
    result = run(ROOT / "tools/run-suites", "flash_attn", "--source", tmp_path)
    assert "passed 1  failed 0  refused 0  skipped 0\nTegula answered 0 calls, in 0 tests\n" == result.stdout, result.stderr
    assert result.returncode == 1


@pytest.mark.parametrize("page", ["examples/train_gpt/page.py", "python/benchmarks/ring_page.py",
                                  "python/benchmarks/masks_page.py", "python/benchmarks/decode_page.py"])
def test_pages_show_their_results(page):
    assert run(ROOT / page, "--check").returncode == 0


def test_training_sees_the_same_losses():
    result = run(ROOT / "examples/train_gpt/train_gpt.py", "--attention", "tegula", "flash", "--size", "tiny", "--context", 48,
                 "--batch", 2, "--steps", 8, "--device", "cpu", TORCHDYNAMO_DISABLE="1")
    assert result.returncode == 0, result.stderr
    ours, others = (json.loads(line)["losses"] for line in result.stdout.splitlines())
    assert len(ours) == 8 and max(abs(x - y) for x, y in zip(ours, others)) < 0.01
    assert ours[-1] < ours[0]


@pytest.mark.skipif(importlib.util.find_spec("tegula._language") is None, reason="nanobind is not installed")
def test_the_example_of_a_kernel_in_python_is_right():
    result = run(ROOT / "examples/python_kernel/python_kernel.py")
    assert (result.stdout.count(": equal True\n"), result.stdout.count("\n"), result.stderr) == (5, 5, "")


def run_two(*command):
    return run("-m", "torch.distributed.run", "--nproc-per-node", 2, *command, CUDA_VISIBLE_DEVICES="", OMP_NUM_THREADS="1")


def test_the_example_of_ring_attention_runs():
    result = run_two(ROOT / "examples/ring_attention/ring_attention.py")
    assert result.returncode == 0, result.stderr
    found = re.findall(r"rank \d of 2: equal True", result.stdout)  # Both ranks print, perhaps into one line.
    assert sorted(found) == ["rank 0 of 2: equal True", "rank 1 of 2: equal True"]


def test_the_benchmark_of_ring_attention_compares_and_times():
    result = run_two(ROOT / "python/benchmarks/ring.py", "--device", "cpu", "--lengths", 64, "--check-length", 64,
                     "--dim", 16, "--heads", 2, "--masks", "causal", "--rounds", 1, "--window-ms", 1)
    assert result.returncode == 0, result.stderr
    check, *passes = map(json.loads, result.stdout.splitlines())
    assert check["right"] and check["errors"].keys() == {"o", "dq", "dk", "dv"}
    assert [line["pass"] for line in passes] == ["forward", "backward"]
    for line in passes:
        timed = {name for name, result in line["results"].items() if result.get("ms", 0) > 0}
        assert timed == {"ring", "ring that sends nothing", "one GPU", "exchanges"}
        assert "RuntimeError" in line["results"]["PyTorch, cudnn"]["error"]
