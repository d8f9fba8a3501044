"""Counts the frames between workers and switch, by the counters of the endpoints."""

from collections.abc import Mapping, Sequence

#: direction -> kind of frame -> an endpoint's counters: those that are added up, those taken off
FRAMES: dict[str, dict[str, tuple[tuple[str, ...], tuple[str, ...]]]] = {
    "from the worker": {
        "features": (("sent_feature", "sent_partial"), ("sent_again",)),
        "features again": (("sent_again",), ()),
        "FETCH": (("sent_fetch",), ()),
        "DONE": (("sent_done",), ()),
    },
    "to the worker": {
        "sums": (("taken_sum",), ()),
        "sums again": (("taken_repeated",), ()),
        "ACK": (("taken_acknowledged",), ()),
        "ADVANCE": (("taken_advanced",), ()),
        "too late": (("taken_closed", "taken_wrong_run", "taken_wrong_job"), ()),
        "corrupt": (("taken_corrupt",), ()),
    },
}


def traffic(workers: Sequence[Mapping[str, int]]) -> dict[str, dict[str, list[int]]]:
    """Return frames of each worker, by direction and kind; those to a worker as they arrived."""
    return {
        direction: {
            kind: [
                sum(counts[name] for name in added) - sum(counts[name] for name in taken_off)
                for counts in workers
            ]
            for kind, (added, taken_off) in kinds.items()
        }
        for direction, kinds in FRAMES.items()
    }
