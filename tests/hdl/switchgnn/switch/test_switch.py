"""Compares the whole switch with its golden model frame by frame, and between golden workers."""

import random
from dataclasses import replace

import cocotb
import numpy as np
import pytest

from hdl.switchgnn.switch.registers import Table, constants, gnn_switch_registers
from hdl.switchgnn.switch.tables.table_writer import ROW_BITS
from sim.harness.streams import start
from sim.harness.verilator import simulate
from sim.switchgnn.golden.frames import Frame, Kind
from sim.switchgnn.golden.job_setup import Cause
from sim.switchgnn.golden.switch import SwitchModel
from sim.switchgnn.switch_bench import Links, SwitchBench, begin
from sim.switchgnn.switch_on_rams import arguments_of, sources_of, switch_of
from tests.hdl.common.register_pace import registers_at_any_pace
from tests.hdl.switchgnn.switch.ingress.drawn_frames import (
    MEMORY,
    SETTLED,
    compare,
    counted,
    some_frame,
    start_jobs,
)
from tests.hdl.switchgnn.switch.sizes import FIVE_PORTS
from tests.hdl.switchgnn.switch.switch_bench import check, workers_of

CHANCE = 0.3  #: of a frame's being lost, of its being doubled, of its coming late


@pytest.mark.parametrize("params", FIVE_PORTS, ids=lambda params: params.tables)
def test_switch(params, tmp_path):
    simulate(
        switch_of(params),
        __name__,
        registers=["contents_1_1"],
        plusargs=arguments_of(params, tmp_path),
        **sources_of(params),
    )


async def fill_with_anything(host):
    """Write rows to each table that no job names, and rows beyond its end: they mean nothing."""
    for table in Table:
        for bit in range(0, ROW_BITS, 3):
            words = [random.getrandbits(32) for _ in range(6)]
            await host.run("_write_rows", int(table), 1 << bit | random.getrandbits(bit), words)


async def two_jobs(dut, open_turns, blocks, chance):
    bench = await begin(dut, Links(chance))
    await fill_with_anything(bench.host)
    cuts = await start_jobs(bench, np.random.default_rng(cocotb.RANDOM_SEED), open_turns, blocks)
    bench.workers = workers_of(cuts)
    if chance:
        bench.stall = lambda port: random.random() < chance
    await bench.run()
    check(cuts, bench.workers)
    for number in cuts:
        errors = await bench.host.table_errors(number)
        assert not any(errors.counts.values())
        assert errors.cause == "NONE"
    return bench


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def adds_up(dut):
    await two_jobs(dut, 1, 1, 0)


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def adds_up_on_bad_links(dut):
    await two_jobs(dut, 1, 3, CHANCE)


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def adds_up_with_two_open_turns_on_bad_links(dut):
    bench = await two_jobs(dut, 2, 3, CHANCE)
    assert bench.links.lost
    assert bench.links.doubled


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def equals_the_golden_switch(dut):
    """One frame at a time, all that leaves, all verdicts and all table errors are equal."""
    bench = await begin(dut)
    await bench.host.write(ack_every=1)
    model, counts = await compare(bench, 2, 500)
    assert counted(await bench.host.verdicts()) == counts
    for number, job in model.table.active.items():
        errors = await bench.host.table_errors(number)
        assert errors.counts == {name: job.errors[Cause[name]] for name in errors.counts}
        cause, *where = job.first_error or (None, 0, 0, 0)
        assert errors.cause == (cause.name if cause else "NONE")
        assert [*errors.where.values()] == where


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def a_job_runs_anew_on_what_another_left(dut):
    """Two jobs are stopped in the middle, with sums that wait and a port that takes nothing.

    Behind the last epoch comes the first; the last run differs in the highest bit alone.
    """
    bench = await begin(dut, Links(CHANCE))
    rng = np.random.default_rng(cocotb.RANDOM_SEED)
    for epoch in ((1 << 16) - 2, 0, 20):
        cuts = await start_jobs(bench, rng, random.choice((1, 2)), 2, epoch=epoch)
        bench.workers = workers_of(cuts, epoch)
        bench.takes[2] = False
        with bench.running():
            await bench.idle(random.randrange(300, 900))
        for number in cuts:
            await bench.host.stop_job(number)
        bench.takes[2] = random.random() < 0.5
    bench.takes[2] = True
    last = 20 + (1 << 15)
    cuts = await start_jobs(bench, rng, 2, 2, epoch=last)
    bench.workers = workers_of(cuts, last)
    await bench.run()
    check(cuts, bench.workers)


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def a_reset_in_the_middle_is_survived(dut):
    """All jobs are gone; the host starts them anew, with another epoch."""
    bench = await begin(dut)
    rng = np.random.default_rng(cocotb.RANDOM_SEED)
    cuts = await start_jobs(bench, rng, 2, 2)
    bench.workers = workers_of(cuts)
    with bench.running():
        await bench.idle(300)
    dut.rst.value = 1
    await bench.step()
    dut.rst.value = 0
    for sink in bench.sinks:
        sink.cut()
    await bench.idle(50)
    assert await bench.host.read("active_jobs") == 0
    await bench.set_up()
    cuts = await start_jobs(bench, rng, 2, 2, epoch=60)
    bench.workers = workers_of(cuts, 60)
    await bench.run()
    check(cuts, bench.workers)


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def a_hostile_job_harms_no_other(dut):
    """Job 1 sends whatever it likes with lists that name anything; job 0 is exact all the same."""
    bench = await begin(dut)
    rng = np.random.default_rng(cocotb.RANDOM_SEED)
    cuts = await start_jobs(bench, rng, 2, 2)
    model = SwitchModel(5, bench.params.banks, bench.params.slots, bench.params.jobs)
    for number, (cut, base) in cuts.items():
        model.start_job(number, setup=cut.setup(), epoch=7 + number, base=base)
    good = cuts.pop(0)
    for _ in range(3000):
        if random.random() < 0.5:
            port, frame = some_frame(bench, model, cuts, rng)
            number = random.choice((random.randrange(64), random.getrandbits(32)))
            wild = {"list": number, "rows": random.randrange(6)}
            kinds = (Kind.FEATURE, Kind.PARTIAL, Kind.FETCH)
            bench.send(port, replace(frame, **wild) if frame.kind in kinds else frame)
        for port, worker in bench.workers.items():
            for frame in worker.timeout() if bench.now % 500 == port else worker.send():
                bench.send(port, frame)
        await bench.step()
        if not bench.workers and bench.now > 600:
            bench.workers = workers_of({0: good})
    await bench.run()
    check({0: good}, bench.workers)
    for number, wrong in ((1, True), (0, False)):
        errors = await bench.host.table_errors(number)
        assert (errors.cause != "NONE", any(errors.counts.values())) == (wrong, wrong)


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def registers_keep_up(dut):
    bench = SwitchBench(dut)
    await start(dut)
    await registers_at_any_pace(dut, gnn_switch_registers(bench.params))


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def its_registers_say_what_it_is(dut):
    """They also say that aggregators are cleared after a reset."""
    bench = SwitchBench(dut)
    await start(dut)
    bench.attach()
    assert await bench.host.read("clearing_banks")
    known = constants(bench.params)
    assert {name: await bench.host.read(name) for name in known} == known
    assert not await bench.host.read("clearing_banks")


async def refusal(host):
    """Wait until a command has ended; return why it was refused."""
    while await host.read("busy"):
        pass
    return (await host.read("reason")).name if await host.read("refused") else None


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def a_start_that_cannot_be_is_refused(dut):
    """The host reads why, and what runs goes on."""
    bench = await begin(dut)
    host, params = bench.host, bench.params
    cuts = await start_jobs(bench, np.random.default_rng(cocotb.RANDOM_SEED), 1, 1)
    assert cuts[0][1] == 0  # the first job's aggregators are the first of each bank
    await host.stop_job(1)
    cases = [
        ("NO_SUCH_JOB", {"job_number": params.jobs}),
        ("NO_PORTS", {"job_ports": 0}),
        ("NO_SUCH_PORT", {"job_ports": 1 << params.ports}),
        ("BAD_SLOTS", {"job_depth": 0}),
        ("BAD_SLOTS", {"job_depth": params.slots}),
        ("PORTS_TAKEN", {"job_ports": 0b10001}),
        ("SLOTS_TAKEN", {"job_base": 0}),
    ]
    legal = {"job_number": 1, "job_ports": 0b10010, "job_base": params.slots - 1, "job_depth": 1}
    for reason, wrong in cases:
        for name, value in (legal | wrong).items():
            await host.write(**{name: value})
        await host.write(start_job=1)
        assert await refusal(host) == reason
        assert await host.read("active_jobs") == 1
    await host.write(**legal)
    await host.write(start_job=1)
    await host.write(stop_job=1)
    assert await refusal(host) == "BUSY"
    assert await host.read("active_jobs") == 3


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def the_first_error_of_a_table_is_reported(dut):
    """It stays when the counters of frames are cleared."""
    bench = await begin(dut)
    cuts = await start_jobs(bench, np.random.default_rng(cocotb.RANDOM_SEED), 1, 1)
    port = cuts[0][0].ports[0]
    run = {"kind": Kind.FEATURE, "turn": 0, "bm": 1 << port, "job": 0, "epoch": 7}
    payload = np.zeros(bench.params.lanes, int)
    row = (1 << 32) - 1
    bench.send(port, Frame(seq=0, list=row, rows=1, payload=payload, **run))
    await bench.idle(SETTLED + MEMORY * bench.params.in_memory)
    for added in (1, 0):
        assert (await bench.host.verdicts())[port]["ADDED"] == added
        errors = await bench.host.table_errors(0)
        assert {name: n for name, n in errors.counts.items() if n} == {"NO_SUCH_ROW": 1}
        assert (errors.cause, errors.where["turn"], errors.where["row"]) == ("NO_SUCH_ROW", 0, row)
        await bench.host.clear_counters()
