"""Hosts of all systems use one switch at the same time, on links that lose frames."""

import random
from functools import partial

import cocotb
import numpy as np

from hdl.netsparse.protocol import Kind
from hdl.network_switch.switch import NetworkSwitch
from hdl.switch.forwarding.counters import COUNTERS
from sim.harness.axi_streams import beats_of
from sim.harness.register_driver import RegisterDriver
from sim.harness.streams import edges
from sim.harness.verilator import component_in_simulator, simulate
from sim.network_switch import systems
from sim.network_switch.hosts import address_of
from tests.hdl.network_switch.bench import TINY, begin, cycles_to, run_all
from tests.hdl.u280.packet_bench import header

READY = 300  #: cycles after a reset until the memories of forwarding have room


def test_switch():
    simulate(NetworkSwitch(TINY), __name__)


@cocotb.test(timeout_time=1, timeout_unit="ms")
@cocotb.parametrize((("bad", "scale"), [(False, 1), (True, 3)]))
async def all_systems_at_once(dut, bad, scale):
    await run_all(dut, bad=bad, scale=scale)


@cocotb.test(timeout_time=100, timeout_unit="us")
async def answers_and_packets_leave_in_time(dut):
    """An answer leaves by each port at once when the last host's frame of a beat has come."""
    network = await begin(dut)
    latencies, ports = component_in_simulator().latencies, range(network.params.ports)
    rng = np.random.default_rng(1)
    assert max(latencies.values()) <= 12
    for name, set_up in (
        ("p4sgd", systems.trains),
        *(("allreduce", partial(systems.reduces, length=n)) for n in (1, 9, 256)),
    ):
        network.parts.clear()
        await set_up(network, rng)
        frames = [next(iter(network.parts[k][0].due(0))) for k in ports]
        for port, octets in enumerate(frames[:-1]):
            network.sources[port].extend([*beats_of(octets)])
        await edges(dut.clk, 60)
        cycles = await cycles_to(network, ports[-1], frames[-1], ports)
        assert set(cycles) == {latencies[name]}, (name, cycles, latencies)
    network.parts.clear()
    await systems.talks(network, rng)
    for size in (60, 64, 65, 1000):
        packet = address_of(1) + address_of(0) + random.randbytes(size - 12)
        back = address_of(0) + address_of(1) + random.randbytes(size - 12)
        await cycles_to(network, 1, back, [0])
        (cycles,) = await cycles_to(network, 0, packet, [1])
        assert cycles <= latencies["forwarded"], (size, cycles)


@cocotb.test(timeout_time=100, timeout_unit="us")
async def frames_of_engines_to_others_are_forwarded(dut):
    """They are none of the engine's; one to the switch that no engine knows goes nowhere."""
    network = await begin(dut)
    driver = RegisterDriver(dut, network.page("forwarding"), network.maps["forwarding"])
    rng, ports = np.random.default_rng(1), range(network.params.ports)
    await systems.trains(network, rng)
    (frame,) = [next(iter(network.parts[0][0].due(0)))]
    network.parts.clear()
    for set_up in (systems.talks,):
        await set_up(network, rng, 0)
    other = address_of(1) + address_of(0) + frame[12:]
    await edges(dut.clk, READY)
    assert await cycles_to(network, 0, other, [k for k in ports if k])
    strange = frame[:14] + b"\x07" + frame[15:]
    came = [len(sink.beats) for sink in network.sinks]
    for octets in (strange, frame[:6] + bytes(54), strange + bytes(500)):
        network.sources[0].extend([*beats_of(octets)])
    await edges(dut.clk, 100)
    assert came == [len(sink.beats) for sink in network.sinks]
    await driver.write(counter_part=0)
    counts = await driver.counted("port", COUNTERS, names=["in_foreign"], wait=2)
    assert counts == {"in_foreign": 3}
    dut.down.value = 2
    network.sources[0].extend([*beats_of(other)])
    await edges(dut.clk, 100)
    dut.down.value = 0
    await driver.write(counter_part=1)
    assert await driver.counted("port", COUNTERS, names=["out_discards"], wait=2) == {
        "out_discards": 1
    }
    await driver.write(clear_counters=1, counter_part=0, shut_ports=1)
    for octets in (
        frame,
        header(Kind.READ.value),
        other,
        strange,
    ):  # all that comes from a port that is shut
        network.sources[0].extend([*beats_of(octets)])
    await edges(dut.clk, 200)
    counts = await driver.counted("port", COUNTERS, names=["in_no_group", "in_foreign"], wait=2)
    assert counts == {"in_no_group": 4, "in_foreign": 0}
