# SPDX-License-Identifier: MIT
"""A pytest plugin for suites that others wrote. It runs a part of the tests, and writes what became of each as JSON.

TEGULA_SUITE_RESULT   the file to write: {test: [outcome, calls that Tegula answered, reason]}
TEGULA_SUITE_PART     `3/8`: the fourth of eight parts; a test's name decides to which one it belongs
TEGULA_SUITE_SECONDS  no test begins after this time

An outcome is `passed`, `skipped`, `refused` or `failed`. A test is refused if Tegula raised NotImplementedError in it.
"""

import collections
import functools
import json
import os
import time
import zlib

import pytest

answered = 0  # Calls in this process.
outcomes = collections.OrderedDict()
end = time.monotonic() + float(os.environ.get("TEGULA_SUITE_SECONDS", "inf"))


def counts(function):
    """Returns the function, which now counts its calls that return."""

    @functools.wraps(function)
    def counting(*args, **options):
        global answered
        result = function(*args, **options)
        answered += 1
        return result

    return counting


def pytest_collection_modifyitems(items):
    part, parts = map(int, os.environ.get("TEGULA_SUITE_PART", "0/1").split("/"))
    items[:] = [item for item in items if zlib.crc32(item.nodeid.encode()) % parts == part]


def pytest_runtest_setup(item):
    if time.monotonic() > end:
        item.session.shouldstop = "TEGULA_SUITE_SECONDS have passed"
        pytest.skip("out of time")


def reason_of(error):
    return " ".join(str(error).split())[:300]


def is_refusal(error):
    """Returns whether the error is a refusal of Tegula, or was raised from one."""
    while error is not None:
        if isinstance(error, NotImplementedError) and str(error).startswith(("tegula.", "flash_attn")):
            return True
        error = error.__cause__
    return False


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    report = (yield).get_result()
    if report.when == "setup":
        item.answered_before = answered
    if report.outcome == "passed" and report.when != "call":
        return
    outcome, reason = report.outcome, ""
    if call.excinfo is not None:
        reason = reason_of(call.excinfo.value)
        if outcome == "failed" and is_refusal(call.excinfo.value):
            outcome = "refused"
    outcomes[item.nodeid] = [outcome, answered - item.answered_before, reason]


def pytest_sessionfinish():
    with open(os.environ["TEGULA_SUITE_RESULT"], "w") as file:
        json.dump(outcomes, file, indent=1)
