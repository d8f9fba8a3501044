"""Checks who waits for whom in a pipeline of sampler, producer and consumer, and how it ends."""

from concurrent.futures import wait

import numpy as np
import pytest

from sim.gather.golden.engine import Outcome
from sim.gather.host.gather_engine import GatherFailed
from sim.gather.host.pipeline import Pipeline
from sim.gather.host.unified_table import UnifiedTable
from tests.sim.gather.posting_card import Card, producers

ROWS = np.arange(300).reshape(100, 3)
PATIENCE = 60  #: seconds until a wait of a test counts as endless


@pytest.fixture
def card():
    return Card()


@pytest.fixture
def table(card):
    return UnifiedTable(card.attach(), ROWS, most=20)


def settled(pipeline):
    """Wait until the producer waits for the consumer."""
    assert wait([pipeline.ready], PATIENCE).done


def some_batches(rng, count):
    return [rng.integers(-100, 100, rng.integers(0, 21)) for _ in range(count)]


def test_rows_of_each_mini_batch(rng, table):
    for count in (0, 1, 2, *rng.integers(3, 20, 3)):
        batches = list(enumerate(some_batches(rng, count)))
        with Pipeline(table, batches, lambda batch: batch[1]) as pipeline:
            result = list(pipeline)
            assert list(pipeline) == []
        assert [number for (number, _), _ in result] == list(range(count))
        assert all(np.array_equal(rows, ROWS[idxs]) for (_, idxs), rows in result)
    assert producers() == []


def test_the_next_is_gathered_and_the_one_after_drawn(rng, card, table):
    """While a mini-batch is in use its buffer stays, and nothing more comes."""
    batches, drawn = some_batches(rng, 8), []
    sampler = (drawn.append(idxs) or idxs for idxs in batches)
    with Pipeline(table, sampler) as pipeline:
        copied = table.rows
        table.rows = lambda request: (settled(pipeline), copied(request))[1]
        for done in range(6):
            idxs, rows = next(pipeline)
            assert np.array_equal(rows, ROWS[idxs])
            assert (len(card.carried), len(drawn)) == (done + 2, done + 3)
    assert len({request.destination for request in card.carried}) == 2


@pytest.mark.parametrize("before", [0, 1, 3])
def test_errors_come_in_their_turn(rng, card, table, before):
    """The sampler fails, an idx is not in the table, a buffer is too small, the engine fails."""
    batches = some_batches(rng, before)
    for wrong, kind, text in (
        ("no edges", LookupError, "no edges"),
        ([5, 100], IndexError, "index 100 is out of bounds"),
        (range(21), ValueError, "21 idxs are more than the 20 of a buffer"),
        ([7], GatherFailed, "STOPPED"),
    ):

        def sampler(wrong=wrong):
            yield from batches
            if wrong == "no edges":
                raise LookupError(wrong)
            yield wrong
            yield [1]

        card.outcomes = [Outcome.DONE] * before + [Outcome.STOPPED] * (wrong == [7])
        with Pipeline(table, sampler()) as pipeline:
            for idxs in batches:
                assert np.array_equal(next(pipeline)[1], ROWS[idxs])
            with pytest.raises(kind, match=text):
                next(pipeline)
            assert list(pipeline) == []
        assert (card.waiting, producers()) == ([], [])
        card.outcomes = []


@pytest.mark.parametrize("taken", [0, 1, 2])
def test_an_early_end_leaves_nothing_behind(rng, card, table, taken):
    """Also one that comes as an error of the consumer."""
    pipeline = Pipeline(table, some_batches(rng, 9))
    with pytest.raises(RuntimeError, match="close it before"):
        Pipeline(table, [])

    def consumer():
        with pipeline:
            for _ in range(taken):
                next(pipeline)
            raise KeyError

    with pytest.raises(KeyError):
        consumer()
    assert (producers(), card.waiting, list(pipeline)) == ([], [], [])
    assert len(card.carried) <= taken + 2
    with Pipeline(table, [[3]]) as again:
        assert next(again)[1].tolist() == [[9, 10, 11]]
