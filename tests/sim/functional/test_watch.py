import cocotb

from hdl.common.fifo import Fifo, FifoParams
from sim.functional.merge import merge
from sim.harness.streams import crossed, receive, send, start
from sim.harness.verilator import simulate

PARAMS = FifoParams(shape=8, depth=2)


class Derived(Fifo):
    """Stands for one of our components in a test."""

    watched_as = Fifo


class Around(Fifo):
    """A component of a test that has one of ours inside, with the ports that its groups look at."""

    groups_of = Fifo


def run(folder, monkeypatch, requested, component=Derived):
    monkeypatch.setenv("INGATHER_BINS", requested)
    monkeypatch.setenv("INGATHER_COVERAGE", "")
    monkeypatch.setenv("INGATHER_COVERAGE_RUNS", str(folder))
    simulate(component(PARAMS), __name__)


def test_a_simulation_leaves_its_bins(tmp_path, monkeypatch):
    run(tmp_path, monkeypatch, "1")
    ((component, bins),) = merge(tmp_path).items()
    assert component == "hdl.common.fifo.Fifo"
    hits = {(result["group"].partition(" ")[2], result["bin"]): result["hits"] for result in bins}
    assert (hits["i", "zero"], hits["i", "all ones"], hits["i", "highest bit"]) == (5, 2, 2)
    assert hits["o", "pauses 0"] > 0
    assert hits["o", "waits 4+"] == 0
    assert hits["filling", "in and out at once"] > 0


def test_what_stands_around_leaves_the_groups_alone(tmp_path, monkeypatch):
    run(tmp_path, monkeypatch, "1", Around)
    ((component, bins),) = merge(tmp_path).items()
    assert component == "hdl.common.fifo.Fifo"
    assert {result["group"].partition(" ")[2] for result in bins} == {"filling"}
    assert any(result["hits"] for result in bins)


def test_without_a_request_it_leaves_nothing(tmp_path, monkeypatch):
    run(tmp_path, monkeypatch, "")
    assert not list(tmp_path.iterdir())


@crossed(last=[0, 255], us=10)
async def passes(dut, last):
    """Add up what both tests of this module hit."""
    await start(dut)
    beats = [0, 1, 0, 255, last][: 5 if last == 0 else 4]
    sending = cocotb.start_soon(send(dut, "i", beats))
    assert (await receive(dut, "o", len(beats)))[0] == beats
    await sending
