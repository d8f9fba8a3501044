"""Sets a forwarding switch by its host's program, on the RTL."""

from contextlib import nullcontext
from io import StringIO
from unittest.mock import patch

import cocotb
import pytest

from hdl.switch.forwarding.params import ForwardingParams
from hdl.switch.forwarding.presets import PRESETS
from hdl.switch.forwarding.switch import ForwardingSwitch
from sim.forwarding.host.program import main
from sim.forwarding.side import forwarding_side
from sim.harness.verilator import simulate
from sim.host.device import DeviceError
from tests.hdl.switch.forwarding.bench import BROADCAST, SwitchBench, frame, host


def test_host():
    simulate(ForwardingSwitch(ForwardingParams(**PRESETS["tiny"])), __name__)


async def begun(dut):
    """Return a bench whose switch has learned a host of each port, and the host's program."""
    bench = await SwitchBench(dut, side=forwarding_side).begin()
    for k in bench.ports:
        bench.send(k, frame(BROADCAST, host(k)))
        await bench.drain()
    return bench, bench.registers


@cocotb.test(timeout_time=9, timeout_unit="ms")
async def the_host_reads_and_changes_the_table(dut):
    bench, program = await begun(dut)
    assert (await program.find(host(1)))[2:] == (1, False, True)
    await program.run("write", host(9), 2)
    entries = await program.do(lambda switch: list(switch.table()))
    macs = {entry.mac: (entry.port, entry.static) for entry in entries}
    assert macs == {host(k): (k, False) for k in bench.ports} | {host(9): (2, True)}
    assert await program.remove(host(1))
    assert not await program.remove(host(1))
    for number in range(4):  # addresses of one row
        await program.run("write", bytes((0, 0, 0, 0, 0, number << 3 | number)), 0)
    with pytest.raises(DeviceError, match="there is no place for 00:00:00:00:00:24"):
        await program.run("write", bytes((0, 0, 0, 0, 0, 0o44)), 0)
    await program.clear_table()
    assert not await program.do(lambda switch: list(switch.table()))


@cocotb.test(timeout_time=9, timeout_unit="ms")
async def the_command_line_sets_and_shows(dut):
    _, program = await begun(dut)

    async def run(*arguments, status=0):
        def call(switch):
            with patch("sys.stdout", StringIO()) as shown:
                result = main(lambda _: nullcontext(switch), {}, arguments)
            return result, shown.getvalue()

        result, shown = await program.do(call)
        assert result == status
        return shown

    assert await run("find", str(host(2).hex(":")), "0") == (
        "02:00:00:00:02:00  group 0  port 2  fresh\n"
    )
    assert await run("find", str(host(3).hex(":")), "0") == "no entry\n"
    await run("port", "2", "5", "0,5")
    await run("shut", "2,2")  # which forgets its host
    assert "port 2: own group 5, member of [0, 5], down" in await run("ports")
    for line in ("vlan 5 100", "code 46 1", "share 0 1 2 9", "lossless 1", "flooding 9 9"):
        await run(*line.split())
    await run("learning", "0")
    fields = {"vid_now": 100, "code_class_now": 1, "level_now": 2, "lossless": 2, "learning": 0}
    chosen = {"chosen_group": 5, "chosen_code": 46, "chosen_port": 0, "chosen_source": 1}
    await program.write(**chosen)
    assert {name: await program.read(name) for name in fields} == fields
    shown = await run("counters", "1")
    assert "in_octets 64\nin_broadcast_pkts 1\n" in shown
    assert len((await run("table")).splitlines()) == 2
