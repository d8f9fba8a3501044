import random

import cocotb
import pytest

from hdl.netsparse.property_cache.params import PropertyCacheParams
from hdl.netsparse.switch.params import CLASSES, NetSparseSwitchParams
from hdl.netsparse.switch.switch import NetSparseSwitch
from sim.harness.streams import STALLS, never, start
from sim.harness.verilator import params_in_simulator, simulate
from sim.netsparse.golden.concatenation import Kind
from sim.netsparse.golden.switch import SwitchLedger, SwitchRules
from sim.netsparse.switch_driver import SwitchDriver
from tests.hdl.netsparse.switch.bench import NODE, Links, requests_of

SPINE = NetSparseSwitchParams(ports=3, pipes=0, nodes=6, mtu=594, most_property_bytes=64)
TOR = NetSparseSwitchParams(  # two nodes, two uplinks
    ports=4,
    pipes=2,
    nodes=6,
    mtu=594,
    most_property_bytes=64,
    most_delay=255,
    receive_packets=2,
    output_beats=256,
    cache=PropertyCacheParams(
        cache_bytes=2048, segments=4, ways=4, idx_bits=16, latency=10, style="auto"
    ),
)
LENGTH = 32  #: bytes of the properties that are cached


@pytest.mark.parametrize("params", [SPINE, TOR], ids=lambda params: params.suffix)
def test_switch(params):
    simulate(NetSparseSwitch(params), __name__)


class Bench(Links):
    """A switch that is set up."""

    def __init__(self, dut, stalls=(never, never), routes=None):
        params = params_in_simulator(NetSparseSwitchParams)
        self.uplinks = (2, 3) if params.pipes else ()
        # Nodes 0 and 1 are at ports of their own, the others behind uplinks.
        routes = routes or {
            node: node if node < 2 else 2 + node % (params.ports - 2)
            for node in range(params.nodes)
        }
        rules = SwitchRules(routes=routes, uplinks=self.uplinks, property_bytes=LENGTH)
        super().__init__(dut, SwitchLedger(rules), stalls)
        self.rules = rules

    async def start(self, **settings):
        await start(self.dut)
        self.driver = SwitchDriver(self.dut, self.params)
        await self.driver.set_routes(self.rules.routes)
        await self.driver.write(
            uplinks=sum(1 << port for port in self.uplinks),
            node=NODE,
            mac_base_low=0,
            mac_base_high=0x0200,
            ip_base=0x0A000000,
            read_delay=60,
            response_delay=60,
            **settings,
        )
        await self.driver.configure(LENGTH)

    def ports_of(self, port):
        """Nodes behind ``port``."""
        return [node for node, way in self.rules.routes.items() if way == port]

    def packet(self, port, idxs=range(24), length=None):
        """A packet that may come by ``port``: src is behind it."""
        kind = random.choice([Kind.READ, Kind.READ, Kind.RESPONSE, Kind.RESPONSE, Kind.ERROR])
        length = length or random.choice([LENGTH] * 3 + [4, 20, 64])
        src = random.choice(self.ports_of(port))
        dest = random.choice([node for node in self.rules.routes if node != src])
        most = (self.params.mtu - 64) // (18 + length * (kind is Kind.RESPONSE))
        count = 1 if kind is Kind.ERROR else random.choice([1, most, random.randint(1, most)])
        return requests_of(self, kind, dest, src, length, random.choices(idxs, k=count))


@cocotb.test(timeout_time=1, timeout_unit="ms")
@cocotb.parametrize(stalls=STALLS)
async def every_pr_leaves_once(dut, stalls):
    """By the port of its dest, in order; reads of what other racks have brought are answered."""
    bench = Bench(dut, stalls)
    await bench.start()
    for _ in range(400):
        port = random.randrange(bench.params.ports)
        bench.send(port, bench.packet(port))
    await bench.drain()
    counts = [await bench.driver.port_counters(port) for port in range(bench.params.ports)]
    for port, found in enumerate(counts):
        for name in CLASSES:
            receiver = bench.receivers[name, port]
            assert found[f"{name}_out_packets"] == receiver.packets
            assert found[f"{name}_out_bytes"] == receiver.octets
    if bench.params.pipes:
        pipes = [await bench.driver.pipe_counters(k) for k in range(bench.params.pipes)]
        assert bench.ledger.hits == sum(found["cache_hit"] for found in pipes)
        assert bench.ledger.hits > 0
