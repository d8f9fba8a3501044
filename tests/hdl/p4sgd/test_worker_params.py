import pytest

from hdl.p4sgd.params import EngineParams
from hdl.p4sgd.worker_params import WorkerParams

WORKER = {"engines": (1, 8), "address_bits": (16, 40), "slots": (2, 4096)}


@pytest.mark.parametrize("name", WORKER)
def test_worker_sizes(name):
    low, high = WORKER[name]
    for value in (low, high):
        assert getattr(WorkerParams(**{name: value}), name) == value
    for value in (low - 1, high + 1, True, "8"):
        with pytest.raises(ValueError, match=f"{name} must be a whole number from {low} to {high}"):
            WorkerParams(**{name: value})


@pytest.mark.parametrize(
    ("engine", "message"),
    [
        ({"banks": 3}, "banks must be a power of two .*: 3"),
        ({"lanes": 16}, r"must be 256 or 512, .*: 8 x 16 = 128; 32 or 64 lanes fit 8 banks"),
        ({"banks": 2, "lanes": 64}, "128 or 256 lanes fit 2 banks"),
        ({"weight_bits": 31}, "weight_bits must be 32 in a worker"),
        ({"fraction_bits": 7}, "fraction_bits must be from 8 to 26 in a worker, .*: 7"),
        ({"fraction_bits": 27}, "fraction_bits must be from 8 to 26 in a worker, .*: 27"),
    ],
)
def test_worker_rejects_engines(engine, message):
    with pytest.raises(ValueError, match=message):
        WorkerParams(engine=EngineParams(**engine))


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
    others = {"engines": 2, "address_bits": 33, "prefetch_beats": 64, "slots": 128}
    workers = [WorkerParams(), *(WorkerParams(**{name: v}) for name, v in others.items())]
    assert len({worker.suffix for worker in workers}) == len(workers)
