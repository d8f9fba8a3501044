"""Runs a SwitchGNN switch's host software on the RTL: the guide's known answer, and any frames."""

import dataclasses

import cocotb
import pytest
from cocotb.task import bridge, resume

from gen.guides.switchgnn_switch import values
from gen.software.switchgnn_switch import software
from hdl.switchgnn.switch.params import GnnSwitchParams
from hdl.switchgnn.switch.tables.table_memory_params import BEAT_BYTES
from sim.harness.streams import start
from sim.harness.verilator import params_in_simulator, simulate
from sim.host.simulated import SimulatedRegisters
from sim.host.switch.build import Build
from sim.host.switch.job_switch import CommandRefused
from sim.host.switch.simulated_switch import run_on
from sim.switchgnn.golden.job_setup import Cause
from sim.switchgnn.host.gnn_switch import Tables
from sim.switchgnn.host.gnn_workers import run_job
from sim.switchgnn.switch_bench import SwitchBench
from sim.switchgnn.switch_on_rams import arguments_of, sources_of, switch_of
from sim.switchgnn.table_rams import ram_bytes
from sim.switchgnn.wire import judge
from tests.gen.guides.bench import octets_of
from tests.gen.software.fake_card import attach
from tests.gen.software.selftests import SelfTest
from tests.hdl.switchgnn.switch.ingress.drawn_frames import MEMORY, SETTLED, compare, counted, told
from tests.hdl.switchgnn.switch.sizes import FIVE_PORTS

VERDICTS = {
    *("ADDED", "REPEATED", "AHEAD", "FETCHED", "DONE", "OVER", "EARLY", "PASSED"),
    *("CLOSED", "MISPLACED", "WRONG_RUN", "WRONG_WORKER", "WRONG_JOB"),
}
ERRORS = {"OUTSIDE", "UNUSED", "COMPLETE", "NO_SUCH_ROW"}
ANY = Tables(lists=[], blocks=[{}], program=[(0, 1)])


@pytest.mark.parametrize("params", FIVE_PORTS, ids=lambda params: params.tables)
def test_the_host_software_drives_the_switch(params, tmp_path):
    simulate(
        switch_of(params),
        __name__,
        registers=["contents_1_1"],
        plusargs=arguments_of(params, tmp_path),
        **sources_of(params),
    )


class Card(SimulatedRegisters):
    """Reaches the switch of a bench, and the memory of its tables as a card's DMA does."""

    def __init__(self, bench, room):
        self.dut, self.axil, self.memory = bench.dut, bench.host.axil, bench.host.memory
        self.room, self.ports = room, bench.params.table_ports

    @resume
    async def write_memory(self, address, data):
        port, at = divmod(address, self.room)
        beat, first = divmod(at, BEAT_BYTES)
        strobes = (1 << len(data)) - 1 << first
        beats = {beat * self.ports + port: (int.from_bytes(data, "little") << 8 * first, strobes)}
        await self.memory.write_beats(0, beats)


class Host:
    """Starts jobs of golden tables by ``switch``, the host software, on the bench of a card."""

    def __init__(self, switch):
        self.switch = switch

    @bridge
    def start_job(self, number, *, setup, epoch, base, **rows):
        tables = Tables(
            lists=setup.rows,
            blocks=[{a: (one.expected, one.port) for a, one in b.items()} for b in setup.blocks],
            program=setup.program,
            **rows,
        )
        self.switch.start_job(
            number,
            ports=[port for port in range(setup.ports.bit_length()) if setup.ports >> port & 1],
            epoch=epoch,
            base=base,
            depth=setup.open_turns * setup.depth,
            tables=tables,
            two=setup.open_turns == 2,
        )


async def begin(dut, own=None, group=None):
    """Return a bench, and the host software, which has set addresses and ACKs."""
    bench, room = SwitchBench(dut), 0
    bench.own, bench.group = own or bench.own, group or bench.group
    await start(dut)
    bench.attach()
    made = software(bench.params)
    if bench.params.in_memory:
        room = ram_bytes(bench.params.table_memory)
        made = dataclasses.replace(made, build=made.build | {"memory": (room, BEAT_BYTES)})
    card = Card(bench, room)

    def set_up():
        switch = attach(made, card)
        switch.seconds = 3600  # simulated time has a limit of its own
        switch.set_addresses(bench.own, bench.group)
        switch.set_acks(every=1, delay=60)
        return switch

    return bench, await bridge(set_up)()


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def any_frames_do_what_the_golden_switch_does(dut):
    """New jobs follow each other until frames have met all verdicts and table errors."""
    bench, switch = await begin(dut)
    bench.host, met = Host(switch), set()

    def check(model, counts):
        assert counted(switch.verdicts()) == counts
        totals, golden = switch.counters(), model.counts
        assert (totals["turns"], totals["additions"]) == (golden.turns, golden.additions)
        for number, job in model.table.active.items():
            found = switch.table_errors(number)
            assert found.counts == {name: job.errors[Cause[name]] for name in ERRORS}
            cause, *where = job.first_error or (None, 0, 0, 0)
            assert (found.cause, *found.where.values()) == (cause.name if cause else "NONE", *where)
            switch.stop_job(number)
        switch.clear_counters()
        errors = {cause.name for job in model.table.active.values() for cause in job.errors}
        return errors | {name for _, name in counts}

    for k in range(40):
        met |= await bridge(check)(*await compare(bench, 1 + k % 2, 100))
        if k > 1 and met >= VERDICTS | ERRORS:
            return
    raise AssertionError(VERDICTS | ERRORS - met)


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def the_known_answer_of_the_guide_is_right(dut):
    guide = values(params_in_simulator(GnnSwitchParams))
    known, banks = guide["known"], range(guide["P"])
    bench, switch = await begin(dut, *(bytes.fromhex(known[name]) for name in ("switch", "group")))
    entries = [int(known["list"], 16) >> guide["entry_bits"] * bank & 0xFFFF for bank in banks]
    row = [entry - guide["valid"] if entry & guide["valid"] else None for entry in entries]
    word = int(known["descriptor"], 16)
    tables = Tables(
        lists=[row], blocks=[{known["aggregator"]: (word & 0xFFFF, word >> 16)}], program=[(0, 1)]
    )
    place = {"ports": [0, 1], "epoch": known["epoch"], "base": 0, "depth": 1}
    await bridge(switch.start_job)(known["job"], tables=tables, **place)
    await bench.idle(SETTLED)
    for step in known["steps"]:
        bench.frames.clear()
        bench.throw(step["port"], octets_of(step))
        await bench.idle(SETTLED + MEMORY * bench.params.in_memory)
        right = [
            (one["port"], judge(octets_of(one), guide["L"], bench.group)) for one in step["left"]
        ]
        assert told((port, frame) for _, port, frame in bench.frames) == told(right)
    verdicts = counted(await bridge(switch.verdicts)())
    assert verdicts == {(port, name): 1 for port in (0, 1) for name in ("ADDED", "DONE")}


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def jobs_are_refused_and_stopped(dut):
    """The driver refuses most of these by itself, unless it believes that the switch is larger."""
    bench, switch = await begin(dut)
    params, fixed = bench.params, switch.build.fixed
    larger = fixed | {name: 2 * fixed[name] for name in ("jobs", "ports", "depth")}
    switch.build = dataclasses.replace(switch.build, fixed=larger)
    last = {"base": params.slots - 2, "depth": 2, "ports": [1, 4], "epoch": 9, "tables": ANY}
    cases = [
        ("NO_SUCH_JOB", params.jobs, {}),
        ("NO_SUCH_PORT", 1, {"ports": [params.ports]}),
        ("BAD_SLOTS", 1, {"depth": 3}),
        ("PORTS_TAKEN", 1, {"ports": [0, 3], "base": 0}),
        ("SLOTS_TAKEN", 1, {"ports": [1], "base": params.slots - 3}),
    ]

    def ask():
        switch.start_job(0, **last | {"ports": [0, 2, 3]})
        for reason, job, wrong in cases:
            with pytest.raises(CommandRefused, match=reason):
                switch.start_job(job, **last | wrong)
            assert switch.registers.read("active_jobs") == 1
        switch.stop_job(0)
        assert switch.registers.read("active_jobs") == 0
        switch.start_job(1, **last)
        assert switch.registers.read("active_jobs") == 2

    await bridge(ask)()


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def the_program_of_the_bench_runs(dut):
    made = software(params_in_simulator(GnnSwitchParams))
    if made.bench:
        build = Build(**made.build)
        await run_on(dut, build, lambda device: run_job(device, SelfTest(made, device).attach()))
