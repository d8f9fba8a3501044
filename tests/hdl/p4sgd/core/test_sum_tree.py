import pytest

from hdl.p4sgd.core.group_params import GroupParams
from hdl.p4sgd.core.sum_tree import sum_levels
from hdl.p4sgd.worker_params import WorkerParams


@pytest.mark.parametrize(
    ("engines", "slrs", "levels"),
    [
        (8, 3, [(1, 1), (2, 1), (1, 1)]),  # three and what comes from beyond are four terms
        (5, 3, [(1, 1), (1, 1), (1, 1)]),
        (3, 3, [(1, 1), (1, 1), (0, 0)]),
        (8, 2, [(2, 1), (2, 1)]),  # four are two terms, and one from beyond
        (2, 2, [(1, 1), (0, 0)]),
    ],
)
def test_levels_of_adders(engines, slrs, levels):
    """Levels count from an engine and from the die behind; the core's turnaround has them."""
    worker = WorkerParams(engines=engines, slrs=slrs)
    assert [sum_levels(GroupParams(worker=worker, index=k)) for k in range(slrs)] == levels
