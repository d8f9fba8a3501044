"""Whether the model predicts a run in RTL."""

from sim.netsparse.model.accuracy import BOUNDS, compared

FEW = 5  #: packets or hits by which a small run may be off whatever share that is


def check_calibrated(gather, params, result, *, prs=0.0):
    """The model's result; AssertionError unless it predicts PRs exactly, or within a share ``prs``.

    Exactly is what the mechanisms decide: without filter and coalescing, or with both and one
    client a node. Else time decides which idxs need a PR.
    """
    modelled, every = compared(gather, params, result)
    bounds = BOUNDS | {"PRs": prs}
    for one in every:
        few = FEW if one.name in ("packets", "hits") else 0
        bound = max(bounds[one.name] * one.rtl, few)
        assert abs(one.model - one.rtl) <= bound, "; ".join(map(str, every))
    return modelled
