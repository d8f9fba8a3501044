import pytest

from hdl.p4sgd.engine.params import EngineParams
from hdl.p4sgd.worker_params import WorkerParams
from tests.rejects import rejects

test_worker_rejects_engines = rejects(
    lambda **sizes: WorkerParams(engine=EngineParams(**sizes)),
    ({"banks": 3}, "banks must be a power of two .*: 3"),
    ({"lanes": 225}, r"engines x ports must be below 64, .*: 8 x 8, .* 8 x 225 bits .* 8 ports"),
    ({"weight_bits": 31}, "weight_bits must be 32 in a worker"),
    ({"fraction_bits": 7}, "fraction_bits must be .* from 8 to 26 in a worker, .*: 7"),
    ({"fraction_bits": 27}, "fraction_bits must be .* from 8 to 26 in a worker, .*: 27"),
)


@pytest.mark.parametrize("banks", [1, 2, 4, 8, 16])
@pytest.mark.parametrize("ports", [1, 2, 3])
def test_a_word_takes_as_many_ports_as_it_fills(banks, ports):
    lanes = min(512, 256 * ports // banks)
    for fewer in (0, 1, 255 // banks):
        params = WorkerParams(engine=EngineParams(banks=banks, lanes=lanes - fewer))
        assert params.ports == -(-banks * (lanes - fewer) // 256)


@pytest.mark.parametrize(("banks", "frames"), [(1, 1), (8, 1), (16, 2)])
def test_a_packet_carries_eight_activations(banks, frames):
    assert WorkerParams(engine=EngineParams(banks=banks)).frames == frames


@pytest.mark.parametrize(
    ("engines", "slrs", "each"),
    [(8, 1, [8]), (8, 3, [2, 3, 3]), (16, 3, [5, 5, 6]), (5, 2, [2, 3]), (4, 3, [1, 1, 2])],
)
def test_engines_are_dealt_evenly(engines, slrs, each):
    groups = WorkerParams(engines=engines, slrs=slrs).groups
    assert [len(group) for group in groups] == each
    assert [e for group in groups for e in group] == list(range(engines))


def test_no_die_without_an_engine():
    with pytest.raises(ValueError, match=r"slrs must be at most engines, .*: 3 dies, 2 engines"):
        WorkerParams(engines=2, slrs=3)
