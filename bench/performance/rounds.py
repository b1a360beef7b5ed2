# SPDX-License-Identifier: MIT
"""Interleaved laps. In each lap every implementation has one step of about a millisecond, a CUDA graph or a launch. All
of them meet the same clock and the same heat, and the order is random, so that none always follows the same other one.
Laps without a pause make a window; each round has one."""

import dataclasses
import math
import random
import statistics

WARM_UP = 0.3  # The part of a window that runs, untimed, before it.
LEAST_LAPS = 5


@dataclasses.dataclass
class Launches:
    """What one implementation's launches took: a list for each window, with (ms, MHz) for each lap. MHz is the clock of
    the SMs during the launch, or None."""
    windows: list

    def laps(self):
        return [lap for window in self.windows for lap in window]

    def samples_ms(self):
        return [statistics.median(ms for ms, _ in window) for window in self.windows]

    def ms(self):
        return statistics.median(self.samples_ms())

    def cycles(self):
        """Returns millions of SM cycles for each lap, or nothing if some clock is not known."""
        laps = self.laps()
        return [] if any(mhz is None for _, mhz in laps) else [ms * mhz / 1000 for ms, mhz in laps]

    def fields(self):
        """Returns what a file says of them."""
        cycles = self.cycles()
        return {"ms": round(self.ms(), 5), "samples_ms": [round(ms, 5) for ms in self.samples_ms()],
                "mcycles": round(statistics.median(cycles), 5) if cycles else None,
                "sm_clock_mhz": round(statistics.median(mhz for _, mhz in self.laps())) if cycles else None}


def median_and_interval(values):
    """Returns the median and an interval that contains the true one in about 95 of 100 cases."""
    ordered, half = sorted(values), len(values) / 2
    reach = 0.98 * math.sqrt(len(values))
    low, high = max(0, math.floor(half - reach)), min(len(ordered) - 1, math.ceil(half + reach) - 1)
    return statistics.median(ordered), ordered[low], ordered[high]


def ratios(other, ours):
    """Returns how many times as long `other` takes, lap by lap: by time, and by cycles if they are known."""
    pairs = {"time": ([ms for ms, _ in other.laps()], [ms for ms, _ in ours.laps()]),
             "cycles": (other.cycles(), ours.cycles())}
    return {name: [round(x, 4) for x in median_and_interval([a / b for a, b in zip(*both)])]
            for name, both in pairs.items() if all(both)}


def window(works, laps, generator, timer):
    """Runs laps without a pause. Returns for each of `works` (ms, MHz) of one launch in each lap. A work has `step`, and
    `launches`, the number of launches in one step. `timer` runs steps and returns (ms, MHz) of each."""
    names = [name for _ in range(laps) for name in generator.sample(sorted(works), len(works))]
    taken = {name: [] for name in works}
    for name, (ms, mhz) in zip(names, timer([works[name].step for name in names])):
        taken[name].append((ms / works[name].launches, mhz))
    return taken


def measure(works, rounds, seconds, timer, monitor):
    """Times all of `works` in `rounds` windows, after one that warms up. A window has `seconds` for each work. Returns the
    Launches of each and the monitor's averages over the windows."""
    generator = random.Random(0)
    if not works:
        return {}, {}
    lap_ms = sum(works[name].launches * statistics.median(ms for ms, _ in laps)
                 for name, laps in window(works, 3, generator, timer).items())
    laps = max(LEAST_LAPS, round(seconds * 1000 * len(works) / lap_ms))
    warm_up = math.ceil(WARM_UP * laps)
    taken, readings = {name: [] for name in works}, []
    for number in range(rounds + 1):
        monitor.start()
        laps_of = window(works, warm_up + laps, generator, timer)
        reading = monitor.stop()
        if number > 0:
            readings.append(reading)
            for name in works:
                taken[name].append(laps_of[name][warm_up:])
    return {name: Launches(windows) for name, windows in taken.items()}, average(readings)


def average(readings):
    """Returns the mean of each field over the readings that have it; None where none has."""
    fields = sorted({field for reading in readings for field in reading})
    values = {field: [reading[field] for reading in readings if reading[field] is not None] for field in fields}
    return {field: round(statistics.mean(numbers)) if numbers else None for field, numbers in values.items()}
