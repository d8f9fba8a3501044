"""Tests the harness itself, on a stream register that is also the example to copy."""

import atexit
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import cocotb
import pytest
from cocotb.triggers import RisingEdge

from gen.base.emission.emit import emit, module_name
from hdl.common.fifo import Fifo, FifoParams
from sim.coverage.data import Toggle
from sim.coverage.data import read as read_coverage
from sim.harness import streams
from sim.harness.cache import cache_root
from sim.harness.coverage_runs import COVERAGE_RUNS
from sim.harness.verilator import (
    BuildError,
    Simulation,
    SimulationError,
    build,
    emission_of,
    lint,
    params_in_simulator,
    run,
    simulate,
)
from tests.gen.commands.trouble import STRANGE
from tests.sim.harness.components import RegisterParams, StreamChain, StreamRegister


@dataclass(frozen=True, kw_only=True)
class LeakyParams(RegisterParams):
    """Parameters of the same register, which forgets a beat that waits."""


class LeakyRegister(StreamRegister):
    def build(self, m):
        m.d.comb += self.i.ready.eq(1)
        m.d.sync += [self.o.valid.eq(self.i.valid), self.o.payload.eq(self.i.payload)]


class Queue(StreamRegister):
    """A FIFO of half a megabyte of beats."""

    fifo = FifoParams(shape=63, depth=1 << 16)

    def build(self, m):
        m.submodules.fifo = fifo = Fifo(self.fifo)
        m.d.comb += [
            fifo.i.payload.eq(self.i.payload),
            fifo.i.valid.eq(self.i.valid),
            self.i.ready.eq(fifo.i.ready),
            self.o.payload.eq(fifo.o.payload),
            self.o.valid.eq(fifo.o.valid),
            fifo.o.ready.eq(self.o.ready),
        ]


@cocotb.test(timeout_time=100, timeout_unit="us")
@cocotb.parametrize(stalls=streams.STALLS)
async def passes_beats_on(dut, stalls):
    params = params_in_simulator(RegisterParams)
    low = -(1 << params.number_bits - 1)
    numbers = [low, -low - 1, -1, 0, *(random.randrange(low, -low) for _ in range(200))]
    beats = [{"number": number, "last": number & 1} for number in numbers]
    source, sink = stalls
    await streams.start(dut)
    sending = cocotb.start_soon(streams.send(dut, "i", beats, source))
    received, taken = await streams.receive(dut, "o", len(beats), sink)
    sent = await sending
    assert received == beats
    if stalls.absent:
        assert taken[0] - sent[0] == int(os.environ.get("LATENCY", StreamRegister.latency))
        assert taken == list(range(taken[0], taken[0] + len(beats)))


@pytest.mark.parametrize("number_bits", [1, 8, 80])
def test_stream_register(number_bits):
    params = RegisterParams(number_bits=number_bits)
    ran = simulate(StreamRegister(params), __name__, test_filter="passes_beats_on")
    assert len(ran.tests) == len(streams.STALLS)


@cocotb.test(timeout_time=100, timeout_unit="us")
async def draws_and_fails(dut):
    await streams.start(dut)
    raise AssertionError(f"drew {random.getrandbits(64)}")


@cocotb.test(timeout_time=100, timeout_unit="us")
async def sees_inside(dut):
    await streams.start(dut)
    await streams.send(dut, "i", [{"number": -1, "last": 1}])
    await RisingEdge(dut.clk)
    assert dut.stage_1.i_valid.value == 1


@pytest.fixture
def failure_of(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def failure_of(component, **options):
        with pytest.raises(SimulationError) as caught:
            simulate(component, __name__, folder=Path("here"), **options)
        return str(caught.value)

    return failure_of


def test_failure_names_test_seed_replay_and_log(failure_of):
    text = failure_of(StreamRegister(RegisterParams()), test_filter="draws_and_fails", seed=11)
    assert "1 of 1 cocotb tests failed" in text
    assert "draws_and_fails: AssertionError: drew" in text
    assert "replay: pytest" in text
    assert "test_failure_names_test_seed_replay_and_log" in text
    assert "--seed 11" in text
    log = next(line.split()[1] for line in text.splitlines() if line.strip().startswith("log:"))
    assert os.path.getsize(log)


def test_seed_decides_what_is_drawn(failure_of):
    def drawn(seed):
        text = failure_of(StreamRegister(RegisterParams()), test_filter="draws", seed=seed)
        return text.split("drew")[1].split()[0]

    assert drawn(1) == drawn(1) != drawn(2)


def test_monitor_sees_a_beat_go_away(failure_of):
    leaky = LeakyRegister(LeakyParams())
    text = failure_of(leaky, test_filter="passes_beats_on.*BUSY_SINK")
    assert "o: a waiting beat" in text


def test_no_test_is_a_failure(failure_of):
    text = failure_of(StreamRegister(RegisterParams()), test_filter="no_such_test")
    assert "ran no test" in text


def test_waves_on_request_are_of_blocks_too(tmp_path):
    ran = simulate(
        StreamChain(RegisterParams()),
        __name__,
        test_filter="passes_beats_on.*NONE",
        hier_blocks=["stream_register_8"],
        env={"LATENCY": "3"},
        waves=True,
        folder=tmp_path,
    )
    dump = (ran.folder / "dump.vcd").read_text()
    assert dump.count("\n#") > 200
    assert dump.count(" o_payload ") == 5  # of the top, as ports too, and of its three blocks


@pytest.fixture
def fresh_cache(tmp_path, monkeypatch):
    """Return an empty cache, except for Verilator's runtime, which is slow to compile.

    make and a shell would read the names of all folders in another way, as Yosys would.
    """
    cache, temporary = tmp_path / STRANGE, tmp_path / f"{STRANGE} too"
    for folder in (cache, temporary):
        folder.mkdir()
    (cache / "runtime").symlink_to(cache_root() / "runtime")
    monkeypatch.setenv("INGATHER_CACHE", str(cache))
    monkeypatch.setenv("TMPDIR", str(temporary))
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    monkeypatch.setenv("INGATHER_TALLY", str(tmp_path / "tally"))
    return cache


def tallied(cache):
    return sorted(line.split()[0] for line in (cache.parent / "tally").read_text().splitlines())


@pytest.mark.parametrize(
    "compiled", [True, pytest.param(False, marks=pytest.mark.long)], ids=["runtime", "nothing"]
)
def test_any_path_will_do(compiled, fresh_cache, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path / f"{STRANGE} too")
    if not compiled:
        (fresh_cache / "runtime").unlink()
    emission = emit(StreamRegister(RegisterParams(number_bits=3)))
    lint(emission)
    simulation = Simulation(
        test_module=__name__,
        params=RegisterParams(number_bits=3),
        component=StreamRegister,
        test_filter="passes_beats_on",
    )
    done = run(build(emission), simulation, folder=tmp_path / f"{STRANGE} run")
    assert len(done.tests) == len(streams.STALLS)


def test_unchanged_design_is_not_rebuilt(fresh_cache):
    emission = emission_of(StreamRegister(RegisterParams(number_bits=5)))
    first, again = build(emission), build(emission)
    other = build(emission_of(StreamRegister(RegisterParams(number_bits=6))))
    assert first == again != other
    assert tallied(fresh_cache) == ["built", "built", "found"]


BUILD_ONE = """
from sim.harness.verilator import build, emission_of
from tests.sim.harness.test_verilator import RegisterParams, StreamRegister
build(emission_of(StreamRegister(RegisterParams(number_bits=7))))
"""


def test_two_processes_build_once(fresh_cache):
    env = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    processes = [subprocess.Popen([sys.executable, "-c", BUILD_ONE], env=env) for _ in range(2)]
    assert [process.wait() for process in processes] == [0, 0]
    assert tallied(fresh_cache) == ["built", "found"]
    folders = [path for path in (fresh_cache / "sim").iterdir() if path.name[0] != "."]
    assert len(folders) == 1


def test_killed_build_leaves_nothing_finished(fresh_cache, monkeypatch):
    def die(recipe, target):
        (target / "half").write_text("")
        raise KeyboardInterrupt

    with monkeypatch.context() as context:
        context.setattr("sim.harness.verilate.make", die)
        with pytest.raises(KeyboardInterrupt):
            build(emission_of(StreamRegister(RegisterParams())))
    done = build(emission_of(StreamRegister(RegisterParams())))
    assert sorted(path.name for path in done.folder.iterdir()) == ["design.v", "simulation.so"]


@pytest.mark.long  # as Verilator's runtime is compiled for it alone; whole systems have blocks
def test_block_translated_once_behaves_the_same(monkeypatch):
    monkeypatch.setenv("INGATHER_OPTIMISE", "1")
    simulate(
        StreamChain(RegisterParams()),
        __name__,
        test_filter="passes_beats_on",
        hier_blocks=["stream_register_8"],
        optimise=True,
        env={"LATENCY": "3"},
    )


class LongerChain(StreamChain):
    """The same registers in another design."""


def test_block_is_compiled_once_for_all_designs(tmp_path, monkeypatch):
    """What was compiled is used: a design is not simulated with an empty library."""
    known = cache_root() / "runtime"
    monkeypatch.setenv("INGATHER_CACHE", str(tmp_path))
    (tmp_path / "runtime").symlink_to(known)

    def passes(kind):
        simulate(
            kind(RegisterParams()),
            __name__,
            test_filter="passes_beats_on",
            hier_blocks=["stream_register_8"],
            env={"LATENCY": "3"},
        )

    passes(StreamChain)
    (library,) = tmp_path.glob("blocks/*/*.a")
    compiled = library.read_bytes()
    library.write_bytes(b"!<arch>\n")
    with pytest.raises(SimulationError):
        passes(LongerChain)
    library.write_bytes(compiled)
    shutil.rmtree(tmp_path / "sim")
    passes(LongerChain)
    assert [*tmp_path.glob("blocks/*/*.a")] == [library]


def test_all_signals_are_visible_on_request():
    chain = StreamChain(RegisterParams())
    simulate(chain, __name__, test_filter="sees_inside", all_signals=True)


@pytest.mark.long
def test_coverage_of_a_block_is_that_of_a_module(tmp_path, monkeypatch):
    monkeypatch.delenv(COVERAGE_RUNS, raising=False)
    counts = []
    for name, blocks in (("module", []), ("block", [module_name(Fifo(Queue.fifo))])):
        simulate(
            Queue(RegisterParams(number_bits=62)),
            __name__,
            test_filter="passes_beats_on",
            coverage=True,
            hier_blocks=blocks,
            env={"LATENCY": str(Fifo(Queue.fifo).latency)},
            folder=tmp_path / name,
            seed=1,
        )
        points = read_coverage(tmp_path / name / "coverage.dat")
        # How often a statement runs is Verilator's; how often a signal changes is not.
        toggles = [point for point in points if isinstance(point.at, Toggle)]
        counts.append({item.at: item.hits for item in toggles if item.module.startswith("fifo")})
    assert counts[0] == counts[1]
    assert sum(hits > 100 for hits in counts[0].values()) > 20


@cocotb.test(timeout_time=10, timeout_unit="us")
async def dies_behind_its_test(dut):
    atexit.register(os.kill, os.getpid(), signal.SIGSEGV)


def test_a_simulator_that_dies_behind_its_tests_fails(capsys):
    with pytest.raises(SimulationError, match=r"died behind its tests.*SIGSEGV"):
        simulate(StreamRegister(RegisterParams()), __name__, test_filter="dies_behind_its_test")


def test_a_warning_stops_the_build(fresh_cache, tmp_path):
    bad = tmp_path / "bad.v"
    bad.write_text("module bad(input [3:0] a, output [1:0] b); assign b = a; endmodule\n")
    with pytest.raises(BuildError, match="WIDTHTRUNC"):
        build(None, top="bad", extra_sources=[bad])


@pytest.mark.parametrize(
    "watched", [{}, pytest.param({"coverage": True}, marks=pytest.mark.long), {"all_signals": True}]
)
def test_a_bit_may_follow_another_of_its_signal(watched, fresh_cache, tmp_path):
    parts = tmp_path / "parts.v"
    parts.write_text(
        "module parts(input [2:0] a, output [2:0] o);\n  wire [2:0] b;\n"
        "  assign b = {b[1] ^ a[2], b[0] & a[1], a[0]};\n  assign o = b;\nendmodule\n"
    )
    assert build(None, top="parts", extra_sources=[parts], **watched).built
