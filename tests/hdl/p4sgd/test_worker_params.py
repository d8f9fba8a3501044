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


@pytest.mark.parametrize(
    ("engines", "slrs", "classes", "each"), [(12, 3, 2, [4, 4, 4]), (15, 2, 3, [6, 9])]
)
def test_a_die_has_whole_sets_of_engines(engines, slrs, classes, each):
    params = WorkerParams(engines=engines, slrs=slrs, classes=classes)
    assert [len(group) for group in params.groups] == each
    assert params.readers == params.sets == engines // classes
    assert params.packets == classes


test_worker_rejects_sets = rejects(
    WorkerParams,
    ({"engines": 2, "slrs": 3}, "slrs must be at most engines / classes, .*: 3 dies, 2 engines"),
    ({"engines": 6, "classes": 3, "slrs": 3}, "slrs .*: 3 dies, 6 engines, 3 classes"),
    ({"engines": 5, "classes": 3}, "engines must be a multiple of classes, .*: 5 engines, 3 cl"),
    (
        {"engines": 2, "classes": 2, "engine": EngineParams(max_tile=2)},
        "classes must be 1 with max_tile, .*: 2",
    ),
)
