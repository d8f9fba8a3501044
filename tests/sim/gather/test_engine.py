"""Compares the golden model of a work request with NumPy's own ``table[idx]``."""

from dataclasses import replace

import numpy as np
import pytest

from sim.gather.golden.engine import (
    Completion,
    Outcome,
    WorkRequest,
    carry_out,
    rows_of,
    written_until_stopped,
)
from sim.gather.golden.rows import Table

ROWS, ROW_DWORDS = 20, 7


def memories(rng, idxs, idx_bytes):
    """Return a host's memory with a table and idxs, device memory, and a request for them."""
    table = rng.integers(0, 256, (ROWS, 4 * ROW_DWORDS), dtype=np.uint8)
    array = np.array(idxs, f"<u{idx_bytes}")
    base = 8 + array.nbytes
    host = np.concatenate([np.zeros(8, np.uint8), array.view(np.uint8), table.ravel()])
    place = Table(base=base, rows=ROWS, row_bytes=4 * ROW_DWORDS, stride=4 * ROW_DWORDS)
    request = WorkRequest(
        idx_address=8, count=len(idxs), table=place, destination=12, idx_bytes=idx_bytes, tag=5
    )
    return host, rng.integers(0, 256, 2048, dtype=np.uint8), table, request


@pytest.mark.parametrize("idx_bytes", [4, 8])
def test_device_memory_has_the_rows_of_numpy(idx_bytes):
    idxs = [3, 0, 19, 3, 3]
    host, device, table, request = memories(np.random.default_rng(1), idxs, idx_bytes)
    before = device.copy()
    assert carry_out(host, device, request) == Completion(5, Outcome.DONE, 0)
    end = 12 + len(idxs) * table.shape[1]
    assert np.array_equal(device[12:end].reshape(len(idxs), -1), table[idxs])
    assert np.array_equal(device[:12], before[:12])
    assert np.array_equal(device[end:], before[end:])


def test_rows_that_are_in_no_table_are_zero():
    host, device, table, request = memories(np.random.default_rng(2), [20, 1, (1 << 40) + 1], 8)
    assert carry_out(host, device, request).beyond == 2
    rows = device[12 : 12 + 3 * table.shape[1]].reshape(3, -1)
    assert not rows[[0, 2]].any()
    assert np.array_equal(rows[1], table[1])


def test_idxs_of_device_memory_and_rows_of_a_stream():
    host, device, table, request = memories(np.random.default_rng(4), [1, 2, 3], 4)
    device[16:28] = np.array([7, 20, 0], "<u4").view(np.uint8)
    before, requested = device.copy(), replace(request, idx_address=16, on_card=True, streamed=True)
    assert carry_out(host, device, requested).beyond == 1
    assert np.array_equal(device, before)
    expected = [(table[7].tobytes(), False), (bytes(28), True), (table[0].tobytes(), False)]
    assert rows_of(host, device, requested) == expected
    carry_out(host, device, replace(requested, streamed=False))
    assert device[12 : 12 + 3 * 28].tobytes() == b"".join(row for row, _ in expected)


def test_rows_that_are_posted_go_to_any_byte_of_the_host():
    host, device, table, request = memories(np.random.default_rng(5), [3, 20, 3], 4)
    before, place = device.copy(), len(host) - 3 * 28 - 1
    expected = host.copy()
    expected[place : place + 84] = np.concatenate([table[3], np.zeros(28, np.uint8), table[3]])
    posted = replace(request, posted=True, destination=place)
    assert carry_out(host, device, posted) == Completion(5, Outcome.DONE, 1)
    assert np.array_equal(host, expected)
    assert np.array_equal(device, before)


@pytest.mark.parametrize(
    "change",
    [
        {"posted": True, "streamed": True},
        {"idx_address": 10},
        {"destination": 2048 - 3 * 28 + 1},
        {"completion_address": 24},
        {"order": 3},
        {"idx_address": 2040, "on_card": True},
        {"streamed": True, "idx_address": 10},
        {"table": Table(base=0, rows=0, row_bytes=28, stride=28)},
        {"table": Table(base=0, rows=1 << 20, row_bytes=28, stride=28)},
        {"table": Table(base=0, rows=20, row_bytes=0, stride=28)},
        {"table": Table(base=0, rows=20, row_bytes=65537, stride=28)},
    ],
)
def test_what_is_illegal_writes_nothing(change):
    host, device, _, request = memories(np.random.default_rng(3), [1, 2, 3], 4)
    before = device.copy()
    assert request.legal(20, len(device))
    result = carry_out(host, device, replace(request, **change), idx_bits=20)
    assert result.outcome is Outcome.ILLEGAL
    assert np.array_equal(device, before)


def test_a_stopped_request_has_written_the_first_bytes_alone():
    before, whole = np.zeros(64, np.uint8), np.zeros(64, np.uint8)
    whole[8:40] = np.arange(1, 33)
    for end in range(65):
        assert written_until_stopped(before, whole, np.append(whole[:end], before[end:]))
    hole, behind = whole.copy(), np.append(whole[:20], before[20:])
    hole[12] = 0
    behind[50] = 1
    assert not written_until_stopped(before, whole, hole)
    assert not written_until_stopped(before, whole, behind)
