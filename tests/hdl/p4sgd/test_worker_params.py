import pytest

from hdl.p4sgd.engine.params import EngineParams
from hdl.p4sgd.worker_params import WorkerParams
from tests.rejects import rejects

WORKER = {
    "engines": (1, 8),
    "address_bits": (16, 40),
    "slots": (2, 4096),
    "slrs": (1, 3),
    "slr_stages": (1, 4),
}


@pytest.mark.parametrize("name", WORKER)
def test_worker_sizes(name):
    low, high = WORKER[name]
    for value in (low, high):
        assert getattr(WorkerParams(**{name: value}), name) == value
    for value in (low - 1, high + 1, True, "8"):
        with pytest.raises(ValueError, match=f"{name} must be a whole number from {low} to {high}"):
            WorkerParams(**{name: value})


test_worker_rejects_engines = rejects(
    lambda **sizes: WorkerParams(engine=EngineParams(**sizes)),
    ({"banks": 3}, "banks must be a power of two .*: 3"),
    ({"lanes": 16}, r"must be 256 or 512, .*: 8 x 16 = 128; 32 or 64 lanes fit 8 banks"),
    ({"banks": 2, "lanes": 64}, "128 or 256 lanes fit 2 banks"),
    ({"weight_bits": 31}, "weight_bits must be 32 in a worker"),
    ({"fraction_bits": 7}, "fraction_bits must be from 8 to 26 in a worker, .*: 7"),
    ({"fraction_bits": 27}, "fraction_bits must be from 8 to 26 in a worker, .*: 27"),
)


@pytest.mark.parametrize("banks", [1, 2, 4, 8])
@pytest.mark.parametrize("ports", [1, 2])
def test_worker_takes_one_or_two_ports(banks, ports):
    params = WorkerParams(engine=EngineParams(banks=banks, lanes=256 * ports // banks))
    assert params.ports == ports


@pytest.mark.parametrize("beats", [16, 48, 8192])
def test_prefetch_is_a_power_of_two(beats):
    with pytest.raises(ValueError, match=f"a power of two from 32 to 4096: {beats}"):
        WorkerParams(prefetch_beats=beats)
    assert WorkerParams(prefetch_beats=32).prefetch_beats == 32
    assert WorkerParams(prefetch_beats=4096).prefetch_beats == 4096


def test_suffix_tells_sizes_apart():
    """Modules are named by it: two sizes of one name would be one module."""
    others = {
        "engines": 2,
        "address_bits": 33,
        "prefetch_beats": 64,
        "slots": 128,
        "slrs": 3,
        "slr_stages": 3,
    }
    workers = [WorkerParams(), *(WorkerParams(**{name: v}) for name, v in others.items())]
    assert len({worker.suffix for worker in workers}) == len(workers)


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
