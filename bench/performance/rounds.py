# SPDX-License-Identifier: MIT
"""Interleaved rounds: every implementation has one window in each round. All of them meet the same heat and the same
power limit, because every other round runs in reversed order."""

import statistics

WARM_UP = 0.3  # The part of a window that runs, untimed, before it.


def order(names, rounds):
    """Yields (round, name). Round 0 only warms up."""
    for number in range(rounds + 1):
        for name in list(names)[:: -1 if number % 2 else 1]:
            yield number, name


def window(run, seconds):
    """Returns the median time of a launch in one window, in ms. `run(count)` launches and returns ms of each."""
    launches = max(5, round(seconds * 1000 / statistics.median(run(5))))
    run(round(WARM_UP * launches))
    return statistics.median(run(launches))


def measure(runs, rounds, seconds, monitor):
    """Times all of `runs`, a dictionary of functions as `window` takes. Returns for each the samples in ms and the
    monitor's averages over its windows."""
    samples, readings = {name: [] for name in runs}, {name: [] for name in runs}
    for number, name in order(runs, rounds):
        monitor.start()
        ms = window(runs[name], seconds)
        reading = monitor.stop()
        if number > 0:
            samples[name].append(ms)
            readings[name].append(reading)
    return {name: (samples[name], average(readings[name])) for name in runs}


def average(readings):
    """Returns the mean of each field over the readings that have it; None where none has."""
    fields = sorted({field for reading in readings for field in reading})
    values = {field: [reading[field] for reading in readings if reading[field] is not None] for field in fields}
    return {field: round(statistics.mean(numbers)) if numbers else None for field, numbers in values.items()}
