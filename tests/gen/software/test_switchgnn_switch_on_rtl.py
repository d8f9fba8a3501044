"""Gives a SwitchGNN switch's RTL the guide's known answer, and runs the program of its bench.

How its host software drives it otherwise is tested where the switch is:
``tests/hdl/switchgnn/switch``.
"""

import cocotb
import pytest

from gen.guides.switchgnn_switch import values
from gen.software.switchgnn_switch import software
from hdl.switchgnn.switch.params import GnnSwitchParams
from sim.harness.streams import start
from sim.harness.verilator import params_in_simulator, simulate
from sim.host.switch.build import Build
from sim.host.switch.simulated_switch import run_on
from sim.switchgnn.host.gnn_switch import Tables
from sim.switchgnn.host.gnn_workers import run_job
from sim.switchgnn.switch_bench import SwitchBench
from sim.switchgnn.switch_on_rams import arguments_of, sources_of, switch_of
from sim.switchgnn.wire import judge
from tests.gen.guides.bench import octets_of
from tests.gen.software.selftests import SelfTest
from tests.hdl.switchgnn.switch.ingress.drawn_frames import MEMORY, SETTLED, counted, reported
from tests.hdl.switchgnn.switch.sizes import FIVE_PORTS


@pytest.mark.parametrize("params", FIVE_PORTS, ids=lambda params: params.tables)
def test_the_host_software_drives_the_switch(params, tmp_path):
    simulate(
        switch_of(params),
        __name__,
        registers=["contents_1_1"],
        plusargs=arguments_of(params, tmp_path),
        **sources_of(params),
    )


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def the_known_answer_of_the_guide_is_right(dut):
    guide, bench = values(params_in_simulator(GnnSwitchParams)), SwitchBench(dut)
    known, banks = guide["known"], range(guide["P"])
    bench.own, bench.group = (bytes.fromhex(known[name]) for name in ("switch", "group"))
    await start(dut)
    bench.attach()
    await bench.host.set_addresses(bench.own, bench.group)
    await bench.host.set_acks(every=1, delay=60)
    entries = [int(known["list"], 16) >> guide["entry_bits"] * bank & 0xFFFF for bank in banks]
    row = [entry - guide["valid"] if entry & guide["valid"] else None for entry in entries]
    word = int(known["descriptor"], 16)
    tables = Tables(
        lists=[row], blocks=[{known["aggregator"]: (word & 0xFFFF, word >> 16)}], program=[(0, 1)]
    )
    place = {"ports": [0, 1], "epoch": known["epoch"], "base": 0, "depth": 1}
    await bench.host.run("start_job", known["job"], tables=tables, **place)
    await bench.idle(SETTLED)
    for step in known["steps"]:
        bench.frames.clear()
        bench.throw(step["port"], octets_of(step))
        await bench.idle(SETTLED + MEMORY * bench.params.in_memory)
        right = [
            (item["port"], judge(octets_of(item), guide["L"], bench.group)) for item in step["left"]
        ]
        assert reported((port, frame) for _, port, frame in bench.frames) == reported(right)
    verdicts = counted(await bench.host.verdicts())
    assert verdicts == {(port, name): 1 for port in (0, 1) for name in ("ADDED", "DONE")}


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def the_program_of_the_bench_runs(dut):
    built = software(params_in_simulator(GnnSwitchParams))
    if built.bench:
        build = Build(**built.build)
        await run_on(dut, build, lambda device: run_job(device, SelfTest(built, device).attach()))
