"""Reads tables and idxs from files; whatever is neither is refused in one line."""

import gzip
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from sim.gather.gather_session import Places
from sim.gather.gathering import gathering
from sim.gather.workload import GatherWorkload, Order
from sim.golden import pcie_link
from sim.workloads.arrays import read_array
from tests.rejects import rejects

SMALL = np.zeros((3, 4), "f4")


@pytest.fixture
def saved(tmp_path):
    """Write an array into a file; return its name."""

    def save(name, array):
        path = tmp_path / f"{name}.npy"
        np.save(path, array)
        return str(path)

    return save


@pytest.mark.parametrize(("kind", "idx_bytes"), [("i8", 8), ("u4", 4), ("i4", 4), ("u2", 4)])
@pytest.mark.parametrize("element", ["f4", "f8", "u1", "f2"])
def test_files_are_what_numpy_says(saved, kind, idx_bytes, element):
    table = np.arange(7 * 8 * 3).reshape(7, 8, 3).astype(element)
    idxs = np.array([6, 0, 3, 3], kind)
    result = gathering(GatherWorkload(table=saved("table", table), idx=saved("idx", idxs)))
    assert result.idxs.dtype.itemsize == idx_bytes
    assert result.required.tobytes() == table[idxs].tobytes()


def test_a_mini_batch_names_rows_of_a_random_table():
    requested = GatherWorkload(graph="uk:rows=300", row_bytes=20, fan_outs="3,2", idx_bytes=4)
    result = gathering(requested)
    assert result.table.shape == (300, 20)
    assert len(set(result.idxs.tolist())) == len(result.idxs) > 2
    assert np.array_equal(gathering(requested).required, result.required)
    assert not np.array_equal(gathering(replace(requested, seed=2)).table, result.table)


def test_orders_are_the_golden_model_s():
    golden = [pcie_link.merged, pcie_link.aligned, pcie_link.naive]
    assert [order.golden for order in Order] == golden
    assert [order.code for order in Order] == [0, 1, 2]


@pytest.mark.parametrize(("share", "code"), [(0.4, 1), (25, 64), (99, 253), (99.9, 0), (100, 0)])
def test_a_share_is_in_256ths_and_0_is_all(share, code):
    assert GatherWorkload(share=share).share_code == code


test_settings_have_limits = rejects(
    GatherWorkload,
    ({"row_bytes": 65537}, "row_bytes must be from 1 to 65536: 65537"),
    ({"base": 4096}, "base must be from 0 to 4095: 4096"),
    ({"idx_bytes": 2}, "idx_bytes must be 4 or 8: 2"),
    ({"fan_outs": "5,x"}, "fan_outs must be numbers from 1 on, joined by commas: '5,x'"),
    ({"fan_outs": "5,0"}, "fan_outs must be numbers from 1 on, joined by commas: '5,0'"),
    ({"share": 0.3}, "share must be from 0.4 to 100: 0.3"),
    ({"share": 101.0}, "share must be from 0.4 to 100: 101.0"),
    ({"share": float("nan")}, "share must be from 0.4 to 100: nan"),
    ({"most_reads": 1024}, "most_reads must be from 0 to 1023: 1024"),
    match="^{}$",
)


@pytest.mark.parametrize(
    ("table", "idx", "reason"),
    [
        (SMALL, np.array([3]), "idxs must be less than the 3 rows of the .*: 3"),
        (SMALL, None, "idxs .* rows .*; without --idx they are drawn from .* uk:.*"),
        (SMALL, np.array([-1]), ".*idx.npy: idxs must not be negative: -1"),
        (SMALL, np.array([0.5]), r".* integers \[idxs\], not float64 \[1\]"),
        (SMALL, np.array([[1]]), r".* \[idxs\], not int64 \[1, 1\]"),
        (SMALL, np.array([], int), ".*idx.npy: has no idxs"),
        (SMALL, np.array([True]), r".* \[idxs\], not bool \[1\]"),
        (SMALL, np.array([1], "m8[s]"), r".* not timedelta64\[s\] \[1\]"),
        (None, np.array([1 << 40]), "a random table of .* stays in its file"),
        (np.zeros((3, 65537), "u1"), np.array([1]), ".* 65536 bytes: 65537; cut each .*reshape.*"),
        (np.zeros(0, "f4"), np.array([1]), ".*: expected rows of numbers, .*"),
    ],
)
def test_files_that_cannot_be_gathered(saved, table, idx, reason):
    named = None if table is None else saved("table", table)
    with pytest.raises(ValueError, match=f"^{reason}$"):
        gathering(GatherWorkload(table=named, idx=None if idx is None else saved("idx", idx)))


def test_packed_files_and_orders_of_axes(tmp_path, saved):
    table = np.arange(40, dtype="f4").reshape(10, 4)
    idx = saved("idx", np.array([7, 0]))
    packed = tmp_path / "packed.npy.gz"
    packed.write_bytes(gzip.compress(Path(saved("table", table)).read_bytes()))
    for name in (str(packed), saved("columns", np.asfortranarray(table))):
        result = gathering(GatherWorkload(table=name, idx=idx))
        assert result.required.tobytes() == table[[7, 0]].tobytes()


def test_a_table_stays_in_its_file(tmp_path, saved):
    path = tmp_path / "large.npy"
    table = np.lib.format.open_memmap(path, mode="w+", dtype="f4", shape=(1 << 20, 1024))  # holes
    table[[3, -1]] = np.arange(2048).reshape(2, 1024)
    assert isinstance(read_array(path), np.memmap)
    idx = saved("idx", np.array([len(table) - 1]))
    result = gathering(GatherWorkload(table=str(path), idx=idx))
    assert result.required.tobytes() == table[-1].tobytes()
    image = tmp_path / "host.bin"
    Places(result, 4).write_image(image)
    assert image.stat().st_size > 1 << 32
    assert image.stat().st_blocks * 512 < 1 << 20
