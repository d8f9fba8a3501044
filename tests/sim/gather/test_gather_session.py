"""Runs gathers on the RTL of a tiny card with each order of reads; what does not fit is refused."""

from dataclasses import replace

import numpy as np
import pytest

from gen.designs.catalogue import find_design
from sim.gather.gather_session import FIGURES, GatherSession
from sim.gather.workload import GatherWorkload, Order

PARAMS = find_design("gather-engine").params_of("tiny")
REQUESTED = GatherWorkload(graph="uk:rows=200", batch=1, fan_outs="6,2", row_bytes=516, idx_bytes=4)


@pytest.fixture(scope="module")
def simulator():
    return GatherSession(PARAMS, REQUESTED).simulator()


def ran(folder, requested, params=PARAMS, simulator=None):
    """Run a gather, which must be right; return its session and its result."""
    session = GatherSession(params, requested)
    result = session.run(simulator or session.simulator(), folder)
    assert (result.exact, result.difference) == (True, "")
    return session, result


def flipped(path, place):
    """Change a bit of the byte at a place of a file."""
    content = bytearray(path.read_bytes())
    content[place] ^= 1
    path.write_bytes(content)


@pytest.mark.parametrize("order", list(Order))
def test_every_byte_and_every_read(simulator, tmp_path, order):
    session, result = ran(tmp_path, replace(REQUESTED, order=order), simulator=simulator)
    assert result.figures.keys() == FIGURES.keys()
    observed = result.figures
    assert observed["row_bytes"] == 516 * observed["rows"] > 0
    assert observed["link_bytes"] == observed["read_bytes"] + 20 * observed["completions"]
    assert 0.3 < observed["efficiency"] < 1
    x8 = observed["link_bytes"] / (observed["cycles"] * 4e-9) / 7.875e9  # tiny has 256 bits
    assert observed["link_share"] == pytest.approx(x8)
    assert session.write(tmp_path) == ("gather.png",)
    assert (tmp_path / "gather.png").read_bytes().startswith(b"\x89PNG")
    assert result.verdict.startswith("every byte equals NumPy's; rows are as many as in the golden")


def test_a_limit_of_reads_is_kept(simulator, tmp_path):
    _, result = ran(tmp_path, replace(REQUESTED, most_reads=3), simulator=simulator)
    assert result.figures["under_way"] <= 3


def test_a_share_of_the_bus_is_kept(simulator, tmp_path):
    requested = replace(REQUESTED, batch=8, share=8)
    session, result = ran(tmp_path, requested, simulator=simulator)
    assert result.figures["bus_share"] == pytest.approx(20 / 256, rel=0.1)
    counters = {**result.details["counters"], "cycles": 1000}
    expected = np.concatenate([session.what.required.ravel(), np.full(64, 0xA5, np.uint8)])
    assert session.difference(counters, expected).endswith("where the share allows 4036")


def test_a_table_that_32_bits_do_not_reach(simulator, tmp_path):
    """Its rows lie 4 GB apart in the host's memory; the file has holes between them."""
    table = np.lib.format.open_memmap(
        tmp_path / "table.npy", mode="w+", dtype="u1", shape=((1 << 20) - 1, 4096)
    )
    idxs = np.array([0, len(table) - 1, 5])
    table[idxs] = np.arange(1, 4)[:, None]
    table.flush()
    np.save(tmp_path / "idx.npy", idxs)
    files = {name: str(tmp_path / f"{name}.npy") for name in ("table", "idx")}
    ran(tmp_path, replace(REQUESTED, **files), simulator=simulator)
    drawn = GatherSession(PARAMS, replace(REQUESTED, table=files["table"]))
    assert list(drawn.about())[1].startswith("no --idx names idxs: they are drawn from the graph")


def test_engines_share_the_host(tmp_path):
    """Each has its part of the idxs, and memory slower than their links is shared evenly."""
    two = replace(REQUESTED, batch=4, engines=2, idx_bytes=8)
    _, free = ran(tmp_path / "free", two)
    slow, bound = ran(tmp_path / "bound", replace(two, memory_gigabytes=1))
    parts = np.array_split(slow.what.idxs, 2)
    assert all(map(np.array_equal, [share.idxs for share in slow.shares], parts))
    rows = [item["rows"] for item in bound.details["engines"]]
    assert rows == [len(share.idxs) for share in slow.shares]
    assert free.figures["bytes_per_second"] > 2e9
    assert 0.75 < bound.figures["memory_share"] <= 1
    first, second = bound.details["bytes_per_second"]
    assert 0.8 < first / second < 1.25
    assert "GB/s of each engine by itself" in "\n".join(slow.summary(bound))
    flipped(tmp_path / "bound" / "gathered_1.bin", 0)
    result = [{"counters": item} for item in bound.details["engines"]]
    assert slow.compared(result) == "engine 1: row 0 differs from table[idx] from byte 0 on"


def test_what_is_wrong_is_reported(simulator, tmp_path):
    """It tells the first byte that differs, bytes after the rows, and counters."""
    session = GatherSession(PARAMS, REQUESTED)
    rows = len(session.what.idxs)
    right = np.concatenate([session.what.required.ravel(), np.full(64, 0xA5, np.uint8)])
    counters = {"rows": rows, "reads": session.golden_reads()}
    assert session.difference(counters, right) == ""
    for place, text in (
        (516 + 7, "row 1 differs from table[idx] from byte 7 on"),
        (-1, "memory was written behind the rows"),
    ):
        wrong = right.copy()
        wrong[place] ^= 1
        assert session.difference(counters, wrong) == text
    counters["reads"] += 1
    assert session.difference(counters, right).startswith("counter reads says ")


BIG = {"row_bytes": 4096, "graph": "uk:rows=500", "batch": 8, "fan_outs": "8,8"}


@pytest.mark.parametrize(
    ("build", "requested", "reason"),
    [
        ({"address_bits": 16, "stride_bits": 9}, {}, "the build's table has less than"),
        ({"address_bits": 16}, BIG, "of rows and idxs do not fit device memory"),
        ({"host_bus": "axi"}, {}, "host_bus must be pcie here"),
        ({"outputs": "stream"}, {}, "outputs must have device memory or the host here"),
        ({}, {"coalesce": True}, "coalesce needs a build that"),
        ({}, {"idxs_on_card": True}, "idxs_on_card needs a build that"),
    ],
)
def test_what_the_build_cannot_do(build, requested, reason):
    with pytest.raises(ValueError, match=reason):
        GatherSession(replace(PARAMS, **build), replace(REQUESTED, **requested))


def test_a_build_that_just_suffices():
    params = replace(PARAMS, idx_bits=8, address_bits=16)
    assert GatherSession(params, REQUESTED).row_bytes < 1 << 16


def test_rows_that_are_kept_and_idxs_on_the_card(tmp_path):
    """One of the options saves reads of rows; with the other, only rows are read."""
    params = replace(PARAMS, kept_parts=1024, card_idxs=True)
    requested = replace(REQUESTED, repeats=True)
    changes = [{}, {"coalesce": True}, {"idxs_on_card": True}]
    runs = [ran(tmp_path, replace(requested, **change), params) for change in changes]
    observed = [result.figures for _, result in runs]
    assert observed[1]["reads"] < 0.9 * observed[0]["reads"]
    assert observed[1]["link_bytes"] < 0.9 * observed[0]["link_bytes"]
    assert observed[2]["read_bytes"] == observed[0]["read_bytes"] - 4 * observed[0]["rows"]


@pytest.mark.long
def test_rows_for_the_host(tmp_path):
    """Two engines write them into the host's memory, and nothing beside them; reads are as ever."""
    params = replace(PARAMS, outputs="host", address_bits=16)
    two = replace(REQUESTED, engines=2, row_bytes=517, base=1)
    session, result = ran(tmp_path, two, params)
    flipped(tmp_path / "gathered_1.bin", -1)
    counters = [{"counters": item} for item in result.details["engines"]]
    assert session.compared(counters) == "engine 1: memory was written behind the rows"
