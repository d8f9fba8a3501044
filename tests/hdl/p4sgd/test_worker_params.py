import pytest

from hdl.p4sgd.engine.params import EngineParams
from hdl.p4sgd.worker_params import WorkerParams
from tests.rejects import rejects

test_worker_rejects_engines = rejects(
    lambda **sizes: WorkerParams(engine=EngineParams(**sizes)),
    ({"banks": 3}, "banks must be a power of two .*: 3"),
    ({"lanes": 16}, r"must be 256 or 512, .*: 8 x 16 = 128; 32 or 64 lanes fit 8 banks"),
    ({"banks": 2, "lanes": 64}, "128 or 256 lanes fit 2 banks"),
    ({"weight_bits": 31}, "weight_bits must be 32 in a worker"),
    ({"fraction_bits": 7}, "fraction_bits must be .* from 8 to 26 in a worker, .*: 7"),
    ({"fraction_bits": 27}, "fraction_bits must be .* from 8 to 26 in a worker, .*: 27"),
)


@pytest.mark.parametrize("banks", [1, 2, 4, 8])
@pytest.mark.parametrize("ports", [1, 2])
def test_worker_takes_one_or_two_ports(banks, ports):
    params = WorkerParams(engine=EngineParams(banks=banks, lanes=256 * ports // banks))
    assert params.ports == ports


@pytest.mark.parametrize(
    ("engines", "slrs", "each"),
    [(8, 1, [8]), (8, 3, [3, 3, 2]), (5, 2, [3, 2]), (4, 3, [2, 1, 1]), (3, 3, [1, 1, 1])],
)
def test_engines_are_dealt_evenly(engines, slrs, each):
    groups = WorkerParams(engines=engines, slrs=slrs).groups
    assert [len(group) for group in groups] == each
    assert [e for group in groups for e in group] == list(range(engines))


def test_no_die_without_an_engine():
    with pytest.raises(ValueError, match=r"slrs must be at most engines, .*: 3 dies, 2 engines"):
        WorkerParams(engines=2, slrs=3)
