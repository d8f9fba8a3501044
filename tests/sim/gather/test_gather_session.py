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
    return GatherSession.build(GatherSession.hardware(PARAMS, REQUESTED))


@pytest.mark.parametrize("order", list(Order))
def test_every_byte_and_every_read(simulator, tmp_path, order):
    session = GatherSession(PARAMS, replace(REQUESTED, order=order))
    result = session.run(simulator, tmp_path)
    assert (result.exact, result.difference) == (True, "")
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
    result = GatherSession(PARAMS, replace(REQUESTED, most_reads=3)).run(simulator, tmp_path)
    assert result.exact
    assert result.figures["under_way"] <= 3


def test_a_share_of_the_bus_is_kept(simulator, tmp_path):
    session = GatherSession(PARAMS, replace(REQUESTED, batch=8, share=8))
    result = session.run(simulator, tmp_path)
    assert (result.exact, result.difference) == (True, "")
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
    result = GatherSession(PARAMS, replace(REQUESTED, **files)).run(simulator, tmp_path)
    assert (result.exact, result.difference) == (True, "")
    drawn = GatherSession(PARAMS, replace(REQUESTED, table=files["table"]))
    assert list(drawn.about())[1].startswith("no --idx names idxs: they are drawn from the graph")


def test_engines_share_the_host(tmp_path):
    """Each has its part of the idxs, and memory slower than their links is shared evenly."""
    two = replace(REQUESTED, batch=4, engines=2, idx_bytes=8)
    simulator = GatherSession.build(GatherSession.hardware(PARAMS, two))
    free = GatherSession(PARAMS, two).run(simulator, tmp_path / "free")
    slow = GatherSession(PARAMS, replace(two, memory_gigabytes=1))
    bound = slow.run(simulator, tmp_path / "bound")
    assert [(item.exact, item.difference) for item in (free, bound)] == [(True, "")] * 2
    assert [share.idxs.tolist() for share in slow.shares] == [
        part.tolist() for part in np.array_split(slow.what.idxs, 2)
    ]
    rows = [item["rows"] for item in bound.details["engines"]]
    assert rows == [len(share.idxs) for share in slow.shares]
    assert free.figures["bytes_per_second"] > 2e9
    assert 0.75 < bound.figures["memory_share"] <= 1
    first, second = bound.details["bytes_per_second"]
    assert 0.8 < first / second < 1.25
    assert "GB/s of each engine by itself" in "\n".join(slow.summary(bound))
    dump = tmp_path / "bound" / "gathered_1.bin"
    content = bytearray(dump.read_bytes())
    content[0] ^= 1
    dump.write_bytes(content)
    result = [{"counters": item} for item in bound.details["engines"]]
    assert slow.compared(result) == "engine 1: row 0 differs from table[idx] from byte 0 on"


def test_what_is_wrong_is_reported(simulator, tmp_path):
    """It tells the first byte that differs, bytes after the rows, and counters."""
    session = GatherSession(PARAMS, REQUESTED)
    rows = len(session.what.idxs)
    right = np.concatenate([session.what.required.ravel(), np.full(64, 0xA5, np.uint8)])
    counters = {"rows": rows, "reads": session.golden_reads()}
    assert session.difference(counters, right) == ""
    wrong = right.copy()
    wrong[516 + 7] ^= 1
    assert session.difference(counters, wrong) == "row 1 differs from table[idx] from byte 7 on"
    wrong = right.copy()
    wrong[-1] = 0
    assert session.difference(counters, wrong) == "memory was written behind the rows"
    counters["reads"] += 1
    assert session.difference(counters, right).startswith("counter reads says ")


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"address_bits": 16, "stride_bits": 9}, "the build's table has less than"),
        ({"idx_bits": 8}, None),
        ({"idx_bits": 8, "address_bits": 16}, None),
    ],
)
def test_what_does_not_fit_the_build(changes, reason):
    params = replace(PARAMS, **changes)
    if reason is None:
        assert GatherSession(params, REQUESTED).row_bytes < 1 << 16
        return
    with pytest.raises(ValueError, match=reason):
        GatherSession(params, REQUESTED)


def test_device_memory_has_an_end():
    big = replace(REQUESTED, row_bytes=4096, graph="uk:rows=500", batch=8, fan_outs="8,8")
    with pytest.raises(ValueError, match="of rows and idxs do not fit device memory"):
        GatherSession(replace(PARAMS, address_bits=16), big)


def test_the_host_is_behind_pci_express():
    with pytest.raises(ValueError, match="host_bus must be pcie here"):
        GatherSession(replace(PARAMS, host_bus="axi"), REQUESTED)


def test_rows_that_are_kept_and_idxs_on_the_card(tmp_path):
    """One of the options saves reads of rows; with the other, only rows are read."""
    params = replace(PARAMS, kept_parts=1024, card_idxs=True)
    requested = replace(REQUESTED, repeats=True)
    simulator = GatherSession.build(GatherSession.hardware(params, requested))
    changes = [{}, {"coalesce": True}, {"idxs_on_card": True}]
    observed = []
    for change in changes:
        session = GatherSession(params, replace(requested, **change))
        result = session.run(simulator, tmp_path)
        assert result.exact, result.difference
        observed.append(result.figures)
    assert observed[1]["reads"] < 0.9 * observed[0]["reads"]
    assert observed[1]["link_bytes"] < 0.9 * observed[0]["link_bytes"]
    assert observed[2]["read_bytes"] == observed[0]["read_bytes"] - 4 * observed[0]["rows"]


@pytest.mark.long
def test_rows_for_the_host(tmp_path):
    """Two engines write them into the host's memory, and nothing beside them; reads are as ever."""
    params = replace(PARAMS, outputs="host", address_bits=16)
    two = replace(REQUESTED, engines=2, row_bytes=517, base=1)
    simulator = GatherSession.build(GatherSession.hardware(params, two))
    session = GatherSession(params, two)
    result = session.run(simulator, tmp_path)
    assert (result.exact, result.difference) == (True, "")
    dump = tmp_path / "gathered_1.bin"
    content = bytearray(dump.read_bytes())
    content[-1] ^= 1
    dump.write_bytes(content)
    counters = [{"counters": item} for item in result.details["engines"]]
    assert session.compared(counters) == "engine 1: memory was written behind the rows"


def test_rows_must_go_to_a_memory():
    with pytest.raises(ValueError, match="outputs must have device memory or the host here"):
        GatherSession(replace(PARAMS, outputs="stream"), REQUESTED)


@pytest.mark.parametrize("change", [{"coalesce": True}, {"idxs_on_card": True}])
def test_what_the_build_lacks(change):
    with pytest.raises(ValueError, match="needs a build that"):
        GatherSession(PARAMS, replace(REQUESTED, **change))
