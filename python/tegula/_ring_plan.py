# SPDX-License-Identifier: MIT
"""Which positions the ranks of a ring hold, and the calls that compute one rank's queries on another rank's keys.

A rank holds a part of the sequence, in one piece or in two. Positions inside a part count from 0. What a query sees is
a band: the keys for which low <= key - query <= high, where None is no bound. A causal mask and a sliding window are
bands, and a band stays one when it is cut at the edges of pieces.
"""

import functools
from typing import NamedTuple

LAYOUTS = ("zigzag", "contiguous")


class Piece(NamedTuple):
    """Positions that follow each other in the part of a rank and in the sequence."""
    local: int   # The first position in the part.
    whole: int   # The first position in the sequence.
    length: int


class Call(NamedTuple):
    """Attention of queries q_begin to q_end - 1 on keys k_begin to k_end - 1 of two parts. Counted from q_begin and
    k_begin, query i sees the keys i - left to i + right; None is no bound, and a bound that hides nothing is None."""
    q_begin: int
    q_end: int
    k_begin: int
    k_end: int
    left: int | None
    right: int | None

    @property
    def band(self):
        """Returns low and high, for positions in the parts."""
        shift = self.k_begin - self.q_begin
        return (None if self.left is None else shift - self.left, None if self.right is None else shift + self.right)


class _Cell(NamedTuple):
    """A piece of queries and a piece of keys with their band."""
    q_begin: int
    q_end: int
    k_begin: int
    k_end: int
    band: tuple


def pieces_per_rank(layout):
    """Returns the number of pieces that a rank's part has in the sequence."""
    return 2 if layout == "zigzag" else 1


def pieces(layout, world, rank, length):
    """Returns the pieces of the part of a rank, which has `length` positions. With "zigzag" the sequence is cut into
    2 * world chunks, and a rank holds chunk `rank` and chunk 2 * world - 1 - rank."""
    if layout == "contiguous":
        return [Piece(0, rank * length, length)]
    chunk = length // 2
    return [Piece(0, rank * chunk, chunk), Piece(chunk, (2 * world - 1 - rank) * chunk, chunk)]


def clip(q_begin, q_end, k_begin, k_end, band):
    """Returns the call of these queries on these keys without the rows and columns of which nothing is seen; None if
    nothing is left."""
    low, high = band
    if high is not None:
        q_begin, k_end = max(q_begin, k_begin - high), min(k_end, q_end + high)
    if low is not None:
        k_begin, q_end = max(k_begin, q_begin + low), min(q_end, k_end - low)
    if q_begin >= q_end or k_begin >= k_end:
        return None
    shift = k_begin - q_begin
    left = None if low is None or shift - low >= q_end - q_begin - 1 else shift - low
    right = None if high is None or high - shift >= k_end - k_begin - 1 else high - shift
    return Call(q_begin, q_end, k_begin, k_end, left, right)


def _cover(cells):
    """Returns the fewest calls that compute a matrix of cells: one for all cells if a band describes what all of them
    see, or else those of its rows or of its columns."""
    every = [cell for row in cells for cell in row]
    wanted = [clip(*cell) for cell in every]
    for band in ((None, None), *(cell.band for cell in every)):
        if all(clip(*cell[:4], band) == call for cell, call in zip(every, wanted)):
            whole = clip(every[0].q_begin, every[-1].q_end, every[0].k_begin, every[-1].k_end, band)
            return [whole] if whole else []
    if not any(wanted):
        return []
    cuts = []
    if len(cells) > 1:
        cuts.append([call for row in cells for call in _cover([row])])
    if len(cells[0]) > 1:
        cuts.append([call for column in zip(*cells) for call in _cover([[cell] for cell in column])])
    return min(cuts, key=len)


@functools.lru_cache(maxsize=4096)
def calls(layout, world, rank, source, length, left, right):
    """Returns the calls of the queries of `rank` on the keys of `source`, each part of `length` positions, if the query
    at position i of the sequence sees the keys i - left to i + right; None is no bound."""
    cells = []
    for q in pieces(layout, world, rank, length):
        row = []
        for k in pieces(layout, world, source, length):
            shift = (k.whole - k.local) - (q.whole - q.local)
            band = (None if left is None else -left - shift, None if right is None else right - shift)
            row.append(_Cell(q.local, q.local + q.length, k.local, k.local + k.length, band))
        cells.append(row)
    return tuple(_cover(cells))


@functools.lru_cache(maxsize=1024)
def step_count(layout, world, length, left, right):
    """Returns the number of steps after which no rank has calls any more. In step s a rank has the keys of rank - s."""
    return 1 + max((step for step in range(1, world) for rank in range(world)
                    if calls(layout, world, rank, (rank - step) % world, length, left, right)), default=0)


def gaps(ranges, length):
    """Returns the ranges of 0 to length - 1 between those of `ranges`; None if two of these have a common position."""
    found, end = [], 0
    for begin, next_end in sorted(ranges):
        if begin < end:
            return None
        if begin > end:
            found.append((end, begin))
        end = next_end
    return found + [(end, length)] if end < length else found
