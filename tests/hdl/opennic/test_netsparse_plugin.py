"""NetSparse's switch as a plugin in the box, between nodes, MACs and a host, with a ledger."""

import random
from functools import partial

import cocotb

from hdl.opennic.box import PORTS
from hdl.opennic.registers import plugin_registers
from sim.harness.host_program import HostProgram
from sim.harness.streams import STALLS, crossed, mostly, never, rarely
from sim.harness.verilator import simulate
from sim.netsparse.golden.concatenation import to_bytes
from sim.netsparse.golden.switch import SwitchLedger
from sim.netsparse.switch_side import switch_side
from sim.netsparse.wire import from_beats
from tests.hdl.netsparse.switch.bench import ADDRESSES, Bench, switch_params
from tests.hdl.opennic.box import BoxBench, tiny
from tests.hdl.opennic.others import Others

DRAINED = 1500  #: cycles in which all that is inside has left


def test_netsparse_plugin():
    simulate(tiny("netsparse-switch"), __name__)


def is_own(octets):
    return octets[12:15] == b"\x08\0\x45" and octets[34:36] == b"NS"  # IPv4, and a port of UDP


class BoxedBench(Bench):
    """Has node 0 at MAC 0 and the others behind MAC 1, an uplink; counts what has left."""

    def __init__(self, dut, stalls=(never, never)):
        self.box = BoxBench(dut, plugin_registers(), *stalls)
        self.left = [0] * PORTS
        routes = {node: int(node > 0) for node in range(switch_params().nodes)}
        super().__init__(dut, stalls, routes, uplinks=(1,))

    def open(self, source, sink):
        for port in range(PORTS):
            self.box.watch(port, partial(self.leaves, port))

    def leaves(self, port, octets):
        if is_own(octets) and not self.deaf:
            self.left[port] += 1
            self.take_whole(port, octets)

    async def begin(self):
        await self.box.begin()
        return await self.set_registers()

    async def set_registers(self):
        await self.set_up(HostProgram(self.box.side, self.box.master, switch_side(self.params)))
        return self

    def send_beats(self, name, port, beats):
        self.box.from_mac(port, from_beats(beats))

    async def send_some(self, count):
        """Send so many packets, so slowly that all find room."""
        for _ in range(count):
            port = random.randrange(PORTS)
            self.send(port, self.packet(port))
            await self.box.wait(random.randrange(60))

    async def drain(self, cycles=DRAINED):
        while any(source.missing for source in self.box.rx):
            await self.box.wait(50)
        await self.box.wait(cycles)
        self.ledger.check_empty()

    async def counted(self, event):
        """Return the plugin's counters of an event, by port."""
        return [await self.box.plugin.read(f"port_{k}_{event}") for k in range(PORTS)]


@crossed(stalls=STALLS, ms=2)
async def every_pr_leaves_once_beside_other_packets(dut, stalls):
    """Malformed packets of the switch's are dropped; the rest are answered or passed on."""
    bench = await BoxedBench(dut, stalls).begin()
    others = Others(bench.box, is_own)
    sending, malformed = others.begin(), [0] * PORTS
    for _ in range(15):
        await bench.send_some(20)
        port = random.randrange(PORTS)
        bench.box.from_mac(port, to_bytes(bench.packet(port), 0, ADDRESSES), fault="stated")
        malformed[port] += 1
    sending.cancel()
    await bench.drain()
    await others.check()
    assert bench.ledger.hits
    (pipe,) = (await bench.driver.pipe_counters()).values()
    assert pipe["cache_hit"] == bench.ledger.hits
    assert await bench.counted("from_switch") == bench.left
    assert sum(await bench.counted("to_switch")) == bench.ledger.packets + sum(malformed)
    assert await bench.counted("to_switch_malformed") == malformed
    assert not any(await bench.counted("to_switch_dropped"))


@cocotb.test(timeout_time=2, timeout_unit="ms")
async def a_reset_under_traffic_is_survived(dut):
    """What was inside is lost, no packet is cut; the host sets the switch up anew."""
    bench = await BoxedBench(dut, (rarely, mostly)).begin()
    for _ in range(3):
        sending = cocotb.start_soon(bench.send_some(1000))
        await bench.box.wait(random.randrange(1500, 2000))
        assert bench.ledger.inside
        sending.cancel()
        bench.deaf = True
        await bench.box.reset()
        await bench.set_registers()
        await bench.box.wait(DRAINED)
        bench.renew(SwitchLedger(bench.rules, bench.params.mtu))
        await bench.send_some(60)
        await bench.drain()
    assert bench.ledger.hits
