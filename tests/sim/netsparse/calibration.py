"""Checks that the model predicts a run in RTL."""

from sim.netsparse.model.accuracy import BOUNDS, compared

FEW = 5  #: packets or hits by which a small run may be off whatever share that is


def check_calibrated(gather, params, result):
    """Return the model's result; assert that it predicts PRs exactly, and the rest nearly."""
    modelled, every = compared(gather, params, result)
    for item in every:
        few = FEW if item.name in ("packets", "hits") else 0
        bound = max(BOUNDS[item.name] * item.rtl, few)
        assert abs(item.model - item.rtl) <= bound, "; ".join(map(str, every))
    return modelled
