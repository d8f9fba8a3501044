"""Draws properties in host memory, as (address, bytes), and computes by the golden model."""

import random

from sim.netsparse.golden.line_requests import line_requests

BEAT = 64  # bytes


def spread(cycles):
    """Return how many cycles there are from the first to the last."""
    return cycles[-1] - cycles[0] + 1


def random_size():
    return 4 * random.choice(
        [random.randint(1, 16), random.randint(1, 40), random.randint(1, 150), 1, 16, 32, 120]
    )


def expected_bursts(properties, aligned):
    """Return address and length of every burst for ``properties``, in their order."""
    return [
        (line * 128 + first // BEAT * BEAT, (first + size - 1) // BEAT - first // BEAT)
        for place in properties
        for line, first, size in line_requests(*place, aligned=aligned)
    ]


def expected_strobes(properties, aligned):
    """Return strobes and last of every beat of W."""
    beats = []
    for place in properties:
        for _, first, size in line_requests(*place, aligned=aligned):
            mask = ((1 << size) - 1) << first
            halves = [mask & ((1 << BEAT) - 1), mask >> BEAT]
            halves = [half for half in halves if half]
            beats += [(half, half is halves[-1]) for half in halves]
    return beats


def expected_spans(place, aligned, unit=0):
    """Return the words of each request's line, and whose they are."""
    requests = line_requests(*place, aligned=aligned)
    return [
        {
            "first": first // 4,
            "last": (first + size) // 4 - 1,
            "rotation": place[0] % BEAT // 4,
            "final": k == len(requests) - 1,
            "unit": unit,
        }
        for k, (_, first, size) in enumerate(requests)
    ]


def expected_lanes(place, aligned, unit=0):
    """Return the lanes of each beat of each request."""
    beats = []
    for span in expected_spans(place, aligned, unit):
        words = range(span["first"], span["last"] + 1)
        for half in (0, 1):
            lanes = [word % 16 for word in words if word // 16 == half]
            if lanes:
                end = words[-1] // 16 == half
                beats.append(
                    {
                        "first": lanes[0],
                        "last": lanes[-1],
                        "rotation": span["rotation"],
                        "low": any(lane < span["rotation"] for lane in lanes),
                        "high": any(lane >= span["rotation"] for lane in lanes),
                        "end": end,
                        "final": end and span["final"],
                        "unit": unit,
                    }
                )
    return beats


def words_of(place, lanes):
    """Return the byte addresses of each beat's words, in the order of the property."""
    at = place[0]
    for beat in lanes:
        count = beat["last"] - beat["first"] + 1
        yield list(range(at, at + 4 * count, 4))
        at += 4 * count
    assert at == sum(place)
