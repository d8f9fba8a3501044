"""Gives the known answers of the guides to both switches' RTL, which their host software sets up.

How the software drives them otherwise is tested where the switches are: ``tests/hdl/p4sgd/switch``.
"""

from dataclasses import replace

import cocotb

from gen.guides.p4sgd_switch import GROUP, SWITCH, values
from hdl.p4sgd.switch.params import SwitchParams
from hdl.p4sgd.switch.switch import Switch
from sim.harness.axi_streams import AxiSource, PacketSink, beats_of
from sim.harness.host_program import HostProgram
from sim.harness.streams import edges, start
from sim.harness.verilator import params_in_simulator
from sim.p4sgd.switch_side import switch_side
from tests.hdl.p4sgd.switch.deep_slots import DeepTreeSwitchParams
from tests.simulated import simulated

P4SGD = SwitchParams(slots=64, jobs=4, ingress_depth=16, egress_depth=16)
MINA = DeepTreeSwitchParams(ports=4, slots=16, jobs=4, ingress_depth=32, egress_depth=16)
ANSWERED = 100  #: cycles after which each frame is answered

SHADOW = replace(P4SGD, shadow=True)

test_the_software_runs_switches = simulated(Switch, [P4SGD, SHADOW, MINA], __name__)


def octets_of(reported):
    return bytes.fromhex("".join(line.partition(":")[2] for line in reported))


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def the_known_answer_of_the_guide_is_right(dut):
    params = params_in_simulator(SwitchParams)
    sources = [AxiSource(dut, f"s_axis_{port}") for port in range(params.ports)]
    sinks = [PacketSink(dut, f"m_axis_{port}") for port in range(params.ports)]
    switch, known = HostProgram(dut, "s_axil", switch_side(params)), values(params)["known"]

    async def send(port, reported):
        """Send the bytes that are told; return what leaves, by port."""
        before = [len(sink.packets) for sink in sinks]
        sources[port].extend(list(beats_of(octets_of(reported))))
        await edges(dut.clk, ANSWERED)
        left = zip(sinks, before, strict=True)
        return [(k, item.octets) for k, (s, n) in enumerate(left) for item in s.packets[n:]]

    await start(dut)
    await switch.clear_counters()
    await switch.set_addresses(SWITCH, GROUP)
    assert (known["switch"], known["group"]) == (SWITCH.hex(" "), GROUP.hex(" "))
    if params.tenants:
        await switch.open_ports([0])
        await switch.share(most=1, ports_apart=False)
        for command, kind in zip(known["commands"], (35, 36), strict=True):
            ((port, answer),) = await send(0, command)
            assert (port, answer[15]) == (0, kind)
    else:
        job = {"ports": [0, 1], "epoch": known["epoch"], "base": known["base"]}
        await switch.start_job(known["job"], slots=known["slots"], **job)
    # Nothing, pending and the sum; then nothing, and that all have acknowledged.
    ways = ([], [0], [0, 1]) if params.shadow else ([], [0], [0, 1], [], [0, 1])
    for step, ports in zip(known["steps"], ways, strict=True):
        left = await send(step["port"], step["frame"])
        assert left == [(port, octets_of(step["answer"])) for port in ports]
    totals = await switch.counters()
    assert (totals["packets"], totals["saturations"]) == (len(ways), 2)
    counts = await switch.port_counters()
    sent = [sum(port in ports for ports in ways) for port in range(3)]
    assert [counts[port]["answers_sent"] for port in range(3)] == sent
