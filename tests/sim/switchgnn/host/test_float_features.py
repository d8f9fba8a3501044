"""Sums float features by two jobs of the golden switch, beside NumPy's sums in float64."""

import numpy as np
import pytest

from sim.switchgnn.golden.frames import Kind
from sim.switchgnn.golden.job_setup import Descriptor, JobSetup
from sim.switchgnn.golden.switch import SwitchModel
from sim.switchgnn.golden.worker import WorkerModel
from sim.switchgnn.golden.worker_rule import Contribution, Share, WorkerSetup
from sim.switchgnn.host.exchange import Exchange
from sim.switchgnn.host.float_features import error_bound, exponents, features, floats
from sim.switchgnn.links import join, run
from tests.sim.switchgnn.golden.cut_graphs import EARLY, LANES, Cut, bad_links

DELIVERIES = 20_000  #: frames after which a job has failed
WIDTHS = {"float16": (-14, 14), "float32": (-120, 120), "float64": (-900, 120)}  #: of exponents


def sums_of(rng, setup, workers):
    """Run a job on bad links; return sums by turn and aggregator."""
    links, switch = bad_links(rng), SwitchModel(ports=8, banks=setup.banks, depth=16, jobs=1)
    links.ends["switch"] = switch.take
    assert switch.start_job(0, setup=setup, epoch=1, base=0) is None
    for port, worker in workers.items():
        join(links, port, worker, "switch", port)
    run(links, {"switch": switch}, workers, early=EARLY, most=DELIVERIES)
    return {at: sums for worker in workers.values() for at, sums in worker.sums.items()}


def largest_of(rng, own, banks, maximum=True):
    """Return what each worker gets of the others' rows, by the exchange's tables."""
    exchange = Exchange(banks=banks, workers=len(own))
    setup = JobSetup(
        ports=(1 << len(own)) - 1,
        banks=banks,
        depth=exchange.depth,
        window=2,
        blocks=[{a: Descriptor(*loaded) for a, loaded in exchange.block.items()}],
        rows=exchange.rows,
        maximum=maximum,
    )

    def worker(port):
        share = Share([Contribution(Kind.FEATURE, *exchange.sent(port), port)], [port])
        turns = {"turns": 1, "window": 2, "share": lambda turn: share}
        sent = WorkerSetup(**turns, payload=lambda turn, seq: own[port])
        return WorkerModel(sent, port, job=0, epoch=1, ready=1)

    sums = sums_of(rng, setup, {port: worker(port) for port in range(len(own))})
    return [sums[0, port] for port in range(len(own))]


@pytest.mark.parametrize("maximum", [False, True])
@pytest.mark.parametrize(("banks", "workers"), [(1, 2), (2, 5), (4, 3), (4, 8)])
def test_each_worker_gets_what_the_others_send(rng, banks, workers, maximum):
    own = rng.integers(-(1 << 15), 1 << 15, (workers, LANES))
    combined = np.max if maximum else np.sum
    result = largest_of(rng, own, banks, maximum)
    others = [combined(np.delete(own, w, 0), 0) for w in range(workers)]
    assert np.array_equal(result, others)


@pytest.mark.parametrize("width", WIDTHS)
def test_sums_are_within_the_bound(rng, width):
    """The largest number of a lane is at any worker; lanes have zeros, and zeros only."""
    sizes = {"banks": 2, "depth": 4, "open_turns": 1, "blocks": 1, "window": 4}
    cut = Cut(rng, ports=[0, 1, 2], **sizes)
    shape = len(cut.owner), LANES
    values = rng.uniform(-1, 1, shape) * 2.0 ** rng.integers(*WIDTHS[width], shape)
    values[rng.random(shape) < 0.2] = 0
    values[:, rng.integers(LANES)] *= rng.integers(2)
    values[rng.integers(len(values)), rng.integers(LANES)] = 2.0 ** WIDTHS[width][1] * 0.9999999
    values = values.astype(width)
    own = np.array([exponents(values[cut.owner == port]) for port in cut.ports])
    tops = np.maximum(own, largest_of(rng, own, 2))
    assert (tops == tops[0]).all()
    parts = {port: features(values[cut.owner == port], tops[port]) for port in cut.ports}
    for port, part in parts.items():
        cut.features[:, cut.owner == port] = part
    workers = {port: cut.worker(port, 0, 1) for port in cut.ports}
    sums = sums_of(rng, cut.setup(), workers)
    exact = cut.edges.astype(np.float64) @ values.astype(np.float64)
    for v, place in cut.place.items():
        if cut.edges[v].any():
            result, count = floats(sums[0, place], tops[0]), int(cut.edges[v].sum())
            bound = error_bound(tops[0], count)
            assert (bound == count * 2.0 ** (tops[0].astype(float) - 15)).all()
            assert (np.abs(result - exact[v]) <= bound + np.spacing(np.abs(result))).all()


def test_a_number_just_below_the_bound_does_not_turn_its_sign():
    values = np.array([[np.nextafter(1.0, 0)], [-1.0]])
    assert exponents(values[:1]).tolist() == [0]
    assert features(values, np.array([0], np.int16)).tolist() == [[32767], [-32767]]


@pytest.mark.parametrize("wrong", [np.inf, -np.inf, np.nan])
def test_what_is_not_finite_is_refused_by_all(wrong):
    values = np.ones((3, 2, 4), np.float32)
    values[1, 0, 2] = wrong
    tops = np.max([exponents(own) for own in values], 0)
    for own in values:
        with pytest.raises(ValueError, match=r"a worker has an infinity or a NaN in lane 2"):
            features(own, tops)


def test_a_sum_beyond_float32_is_infinite():
    tops = np.array([128, 0], np.int16)
    assert floats(np.array([1 << 16, 1 << 15]), tops).tolist() == [np.inf, 1.0]
