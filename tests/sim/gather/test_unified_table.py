"""Compares a table that an engine indexes with NumPy's indexing, on a golden model and the RTL."""

import os
from unittest.mock import patch

import numpy as np
import pytest

from sim.gather.golden.engine import Outcome
from sim.gather.host.gather_engine import GatherFailed
from sim.gather.host.pipeline import Pipeline
from sim.gather.host.ring import Ring
from sim.gather.host.unified_table import UnifiedTable
from sim.gather.simulated_engine import simulated_engine
from sim.harness.verilator import LOG, SimulationError
from sim.host.device import DeviceError
from tests.gen.software.gather_card import SMALL
from tests.gen.software.gather_card import Card as CardOfMemory
from tests.sim.gather.posting_card import PARAMS, Card

TYPES = ("f2", "f4", ">f8", "i1", "i8", "?", "c8")


@pytest.fixture
def card():
    return Card()


@pytest.fixture
def engine(card):
    return card.attach()


def some_rows(rng):
    """Draw a table of any type, of rows of any shape, which need not lie row-major."""
    shape = rng.integers(1, 9, rng.integers(0, 3))
    count, step = int(rng.integers(1, 200)), int(rng.integers(1, 4))
    rows = rng.integers(0, 100, (count * step, *shape)).astype(rng.choice(TYPES))[::step]
    return np.swapaxes(rows, 1, -1) if rows.ndim > 1 else rows


def same(result, expected):
    """Assert that arrays have the same type, shape and bytes."""
    assert (result.dtype, result.shape) == (expected.dtype, expected.shape)
    assert result.tobytes() == expected.tobytes()


def compare(rng, engine, **options):
    """Index a table of any kind by idxs of any kind; return it."""
    rows = some_rows(rng)
    table = UnifiedTable(engine, rows, most=int(rng.integers(1, 80)), **options)
    kind, most = rng.choice(["i1", "i4", "i8", "u2", "u4", "u8"]), min(len(rows), 128)
    idxs = rng.integers(0 if kind[0] == "u" else -most, most, rng.integers(0, 150)).astype(kind)
    same(table[idxs], rows[idxs])
    same(table[idxs.tolist()], rows[idxs.astype(np.int64)])
    where = slice(*rng.integers(-90, 90, 2).tolist(), int(rng.choice([-2, -1, 1, 3])))
    same(table[where], rows[where])
    last = rng.integers(-len(rows), len(rows))
    same(np.asarray(table[last]), np.asarray(rows[last]))
    return table


def test_any_table_by_any_idxs(rng, engine):
    """Tables lie behind each other, and stay."""
    first = np.arange(70)
    table = UnifiedTable(engine, first, most=8, address=int(rng.integers(1 << 12)))
    for _ in range(20):
        compare(rng, engine, address=table.end)
    same(table[:], first)


def test_idxs_keep_their_size(card, engine):
    table = UnifiedTable(engine, np.arange(50), order="NAIVE")
    for kind, size in {"i4": 4, "u2": 4, "i8": 8, "u8": 8}.items():
        assert table[np.array([49, 3], kind)].tolist() == [49, 3]
        assert (card.carried[-1].idx_bytes, card.carried[-1].order) == (size, 2)
    assert table[[]].shape == (0,)
    assert len(card.carried) == 4


@pytest.mark.parametrize(
    ("idx", "text"),
    [
        (50, "index 50 is out of bounds for a table of 50 rows"),
        (np.array([0, -51]), "index -51 is out of bounds for a table of 50 rows"),
        (np.array([1 << 63], np.uint64), "index 9223372036854775808 is out of bounds"),
        ([0.5], "idxs must be a list of integers, not float64"),
        (True, "idxs must be a list of integers, not bool"),
        ([[1]], r"idxs must be a list of integers, not int64 \(1, 1\)"),
    ],
)
def test_idxs_that_are_not_in_the_table(card, engine, idx, text):
    table = UnifiedTable(engine, np.arange(50))
    with pytest.raises(IndexError, match=text):
        table[idx]
    assert not card.carried


def test_tables_that_cannot_be(engine):
    for rows in (np.zeros((0, 4)), np.array([None]), 7):
        with pytest.raises(ValueError, match="a table has rows, of items of a fixed size"):
            UnifiedTable(engine, rows)
    with pytest.raises(ValueError, match="stride must be from 0 to 16383: 16384"):
        UnifiedTable(engine, np.zeros((2, 1 << 14), "i1"))
    with pytest.raises(ValueError, match="rows of this build cannot go to the bus"):
        UnifiedTable(CardOfMemory(SMALL).attach(), [1])


def test_an_engine_that_fails_or_is_another_process_s(card, engine):
    table = UnifiedTable(engine, np.arange(50))
    card.outcomes = [Outcome.ROWS]
    with pytest.raises(GatherFailed, match="ROWS"):
        table[[1]]
    request = table.begin(np.array([50]), 0)  # as if somebody had changed it
    with pytest.raises(DeviceError, match="found 1 idxs that are not in the table"):
        table.finish(request)
    with (
        patch.object(os, "getpid", lambda: -1),
        pytest.raises(DeviceError, match="one process drives an engine: num_workers must be 0"),
    ):
        table[[1]]
    assert len(card.carried) == 2


def test_the_rtl_gathers_what_numpy_does(rng):
    """By registers and by a ring, by indexing and by a pipeline at the same time."""
    with simulated_engine(PARAMS) as engine:
        compare(rng, engine)
        ring = Ring(engine, 0, 2)
        ring.open()
        table = compare(rng, engine, address=128, ring=ring)
        rows = table[:]
        batches = [rng.integers(0, len(rows), rng.integers(0, table.most + 1)) for _ in range(4)]
        with Pipeline(table, batches) as pipeline:
            for idxs, result in pipeline:
                same(result, rows[idxs])
                same(table[idxs], rows[idxs])
        with pytest.raises(ValueError, match="the card sees 1048576 bytes: 1048575 to 1048577"):
            engine.device.write_memory((1 << 20) - 1, bytes(2))


def test_a_simulation_that_fails_says_why(monkeypatch):
    monkeypatch.setattr("sim.gather.simulated_engine.TEST", "tests.sim.gather.no_such_module")
    with pytest.raises(SimulationError, match="ran no test") as failed, simulated_engine(PARAMS):
        pass
    assert "no_such_module" in (failed.value.run.folder / LOG).read_text()
