"""Tunes batches by times that a test makes up, and by those of products in RTL and on the model."""

import numpy as np
import pytest

from gen.designs.catalogue import find_design
from sim.netsparse.host.snic.batch_tuner import CHANGED, BatchTuner
from sim.netsparse.spmm_session import SpmmSession
from sim.netsparse.spmm_workload import SpmmWorkload


def settle(tuner, time):
    """Report times until the choice is settled; return all batches."""
    batches = [tuner.batch]
    for _ in range(100):
        tuner.report(time(tuner.batch))
        batches.append(tuner.batch)
        if tuner.settled:
            return batches
    raise AssertionError("never settled")


def test_no_neighbour_of_the_choice_is_faster(rng):
    """For any times: the choice is faster than both, of all that may be, and each is tried once."""
    least, most = sorted(int(size) for size in rng.integers(1, 1 << 20, 2))
    times = {}

    def time(batch):
        assert least <= batch <= most
        assert batch not in times, "tried before"
        times[batch] = float(rng.integers(1000, 5000))
        return times[batch]

    tuner = BatchTuner(int(rng.integers(least, most + 1)), least=least, most=most)
    chosen = settle(tuner, time)[-1]
    assert times[chosen] == min(times.values())
    for near in (2 * chosen, chosen // 2):
        assert near in times or not least <= near <= most


def test_hardly_less_time_leads_nowhere():
    """Larger batches take a little less time than the first, smaller ones much less."""
    tuner = BatchTuner(64, least=4, most=4096)
    batches = settle(tuner, lambda batch: batch if batch < 64 else 1000 - batch / 100)
    assert batches == [64, 128, 32, 16, 8, 4, 4]


def test_another_matrix_is_measured_anew(rng):
    """What is forgotten with it are all times but the new one; a little noise changes nothing."""
    tuner = BatchTuner(64, least=4, most=4096)
    assert settle(tuner, lambda batch: 100 + abs(batch - 256))[-1] == 256
    for noise in rng.uniform(0.99, 1.01, 20):
        tuner.report(100 * noise)
        assert (tuner.batch, tuner.settled) == (256, True)
    tuner.report(100 * CHANGED * 1.1)
    assert not tuner.settled, "the neighbours' times are those of another matrix"
    assert settle(tuner, lambda batch: 10 + abs(batch - 16))[-1] == 16


def test_the_last_time_of_a_batch_counts():
    """A time that grows slowly is no other matrix's, and in the end another batch is the best."""
    tuner = BatchTuner(64, least=4, most=4096)
    assert settle(tuner, lambda batch: 100 + abs(batch - 256))[-1] == 256
    for step in range(1, 5):
        tuner.report(100 * 1.2**step)
        assert (tuner.batch, tuner.settled) == (256, True)
    tuner.report(100 * 1.2**5)
    assert (tuner.batch, tuner.settled) != (256, True), "128 took less"


def test_batches_that_cannot_be():
    for sizes in ((0, 0, 9), (5, 6, 9), (9, 1, 8)):
        with pytest.raises(ValueError, match="batches must be 1 <= least <= first <= most"):
            BatchTuner(sizes[0], least=sizes[1], most=sizes[2])


@pytest.mark.parametrize("model", [True, False])
def test_products_are_repeated_with_other_batches(tmp_path, rng, model):
    """Each is right; the second has twice the batch, the third half of it."""
    requested = SpmmWorkload(
        matrix="queen:rows=80",
        property_bytes=8,
        batch=int(rng.integers(20, 40)),
        rounds=3,
        model=model,
        seed=int(rng.integers(1 << 31)),
    )
    session = SpmmSession(find_design("netsparse-snic").params_of("tiny"), requested)
    result = session.run(session.simulator(), tmp_path)
    assert result.exact is (None if model else True)
    batches = [batch for batch, _ in session.rounds]
    assert batches == [requested.batch, 2 * requested.batch, requested.batch // 2]
    assert session.rounds[-1][1] == result.figures["cycles"]
    streams = session.product.partition.idx_streams(session.matrix)
    requests = sum(-(-len(stream) // batches[-1]) for stream in streams)
    assert result.figures["unit_commands"] == requests, "of the last batch"
    assert len(result.details["rounds"]) == len(np.unique(batches)) == 3
    assert [*session.summary(result)][-1].startswith("idxs of a request in each round")
