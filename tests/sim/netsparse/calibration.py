"""Checks that the model predicts a run in RTL."""

from sim.netsparse.model.accuracy import compared


def check_calibrated(gather, params, result):
    """Return the model's result; assert that it predicts PRs exactly, and the rest nearly."""
    modelled, every = compared(gather, params, result)
    assert all(item.near for item in every), "; ".join(map(str, every))
    return modelled
