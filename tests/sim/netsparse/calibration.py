"""Whether the model predicts a run in RTL."""

from sim.netsparse.model.accuracy import compared

TRAFFIC = 0.05  #: packets and bytes of all links, hits: share of the RTL's
TIME = 0.10  #: cycles
FEW = 5  #: packets or hits by which a small run may be off whatever share that is


def check_calibrated(gather, params, result, *, prs=0.0) -> None:
    """AssertionError unless the model predicts the run: PRs exactly, or within a share ``prs``.

    Exactly is what the mechanisms decide: without filter and coalescing, or with both and one
    client a node. Else time decides which idxs need a PR.
    """
    _, every = compared(gather, params, result)
    bounds = {"PRs": prs, "cycles": TIME}
    for one in every:
        few = FEW if one.name in ("packets", "hits") else 0
        bound = max(bounds.get(one.name, TRAFFIC) * one.rtl, few)
        assert abs(one.model - one.rtl) <= bound, "; ".join(map(str, every))
