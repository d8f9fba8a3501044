import pytest

from hdl.p4sgd.core.group_params import GroupParams
from hdl.p4sgd.worker_params import WorkerParams

WORKER = WorkerParams(slrs=3)
GROUPS = [GroupParams(worker=WORKER, index=k) for k in range(3)]


def test_who_is_where():
    assert [list(group.own) for group in GROUPS] == [[0, 1], [2, 3, 4], [5, 6, 7]]
    assert [list(group.beyond) for group in GROUPS] == [[2, 3, 4, 5, 6, 7], [5, 6, 7], []]
    assert [len(group.engines) for group in GROUPS] == [8, 6, 3]


@pytest.mark.parametrize("index", [-1, 3])
def test_no_such_die(index):
    with pytest.raises(ValueError, match=f"index must be .* from 0 to 2, a die of .*: {index}"):
        GroupParams(worker=WORKER, index=index)


def test_suffix_distinguishes_groups():
    others = [GroupParams(worker=WorkerParams(slrs=3, slr_stages=1), index=k) for k in range(3)]
    assert len({group.suffix for group in GROUPS + others}) == 6
