"""Drives and watches the links of a switch: packets go in, and what comes out is checked."""

import random

from cocotbext.axi import AxiLiteBus, AxiLiteMaster

from hdl.netsparse.property_cache.params import PropertyCacheParams
from hdl.netsparse.switch.params import CLASSES, NetSparseSwitchParams
from sim.harness.host_program import HostProgram
from sim.harness.register_driver import quiet
from sim.harness.streams import never, start
from sim.harness.verilator import params_in_simulator
from sim.netsparse.golden.concatenation import Addresses, Kind, Request, from_bytes, to_bytes
from sim.netsparse.golden.switch import SwitchLedger, SwitchRules
from sim.netsparse.links import Receiver, Sender, drained, new_packets
from sim.netsparse.switch_side import switch_side
from sim.netsparse.wire import to_beats

NODE = 77  #: the switch's own number
ADDRESSES = Addresses(mac_base=0x0200_0000_0000, ip_base=0x0A00_0000)


def switch_params():
    """Return the parameters of the switch, which may be in a box with parameters of its own."""
    params = params_in_simulator()
    return getattr(params, "params", params)


class Links:
    """Has all links of a switch, and a ledger of what went over them."""

    def __init__(self, dut, ledger, stalls=(never, never)):
        self.dut, self.params, self._ledger = dut, switch_params(), ledger
        self.sent = {}  # bytes of packets that are to leave as they are, in the spine form
        self.broken = 0  # packets that may leave marked as broken
        self.deaf = False  # to what leaves
        self.cuts = 0  # broken packets that have left meanwhile
        self.next_id = 0
        self.senders, self.receivers = {}, {}
        self.open(*stalls)

    def open(self, source, sink):
        """Open the links of all ports."""
        dut = self.dut
        self.senders = {
            (name, port): Sender(dut, f"s_axis_{name}_{port}", stall=source)
            for name in CLASSES
            for port in range(self.params.ports)
        }
        self.receivers = {
            (name, port): Receiver(dut, f"m_axis_{name}_{port}", stall=sink)
            for name in CLASSES
            for port in range(self.params.ports)
        }

    @property
    def ledger(self):
        """Return the ledger, in which all that has left is noted."""
        for (_, port), packet in new_packets(self.receivers):
            self.take(port, packet)
        return self._ledger

    def take(self, port, packet):
        """Note that a packet has left by ``port``."""
        if self.deaf:
            self.cuts += packet.broken
            return
        if packet.broken:
            assert self.broken, "a broken packet has left"
            self.broken -= 1
            return
        self.take_whole(port, packet.wire)

    def take_whole(self, port, wire):
        """Note that a packet that nothing has broken has left by ``port``."""
        requests = from_bytes(wire)
        if self.params.pipes:
            assert len(wire) <= self.params.mtu
            assert wire == to_bytes(requests, NODE, ADDRESSES), wire.hex()
        else:
            assert self.sent.pop(wire), "a packet that nobody sent"
        self.leave(port, requests)

    def leave(self, port, requests):
        """Note that these PRs have left in a packet."""
        self._ledger.leave(port, requests)

    def send(self, port, requests):
        """Send a packet by ``port``."""
        wire = to_bytes(requests, requests[0].src % 64, ADDRESSES)
        self.sent[wire] = True
        self._ledger.come(port, requests)
        name = CLASSES[requests[0].kind is not Kind.READ]
        self.send_beats(name, port, to_beats(wire))

    def renew(self, ledger):
        """Begin anew, with nothing inside; what has left until now is of the ledger before."""
        assert self.ledger
        self._ledger, self.sent, self.deaf = ledger, {}, False

    def send_beats(self, name, port, beats):
        """Send whatever it is."""
        self.senders[name, port].queue(beats)

    def new_id(self):
        """Return a number that no PR has had, of any bits."""
        self.next_id = (self.next_id + 0x9E3779B1) % (1 << 32)
        return self.next_id

    async def drain(self, cycles=400):
        """Wait until nothing is sent and nothing has left for so many cycles."""
        await drained(self.dut, self.senders.values(), self.receivers.values(), cycles)
        self.ledger.check_empty()


def content(idx, size):
    """Return the property of ``idx``."""
    return random.Random(idx * 8192 + size).randbytes(size)


def requests_of(links, kind, dest, src, length, idxs, content=content):
    """Return a packet's PRs, each with an id of its own and a property of that ``content``."""
    return [
        Request(
            kind=kind,
            dest=dest,
            length=length,
            src=src,
            tid=random.getrandbits(16),
            idx=idx,
            id=links.new_id(),
            data=content(idx, length) if kind is Kind.RESPONSE else b"",
        )
        for idx in idxs
    ]


SPINE = NetSparseSwitchParams(ports=3, pipes=0, nodes=6, mtu=594, most_property_bytes=64)
TOR = NetSparseSwitchParams(  # two nodes, two uplinks
    ports=4,
    pipes=2,
    nodes=6,
    mtu=594,
    most_property_bytes=64,
    most_delay=255,
    pool=20,  # virtual queues, the fewest lines; a middle pipe alone has the full form
    destinations=8,
    receive_packets=2,
    output_beats=512,
    cache=PropertyCacheParams(
        cache_bytes=2048, segments=4, ways=4, idx_bits=16, latency=10, style="auto"
    ),
)
LENGTH = 32  #: bytes of the properties that are cached


class Bench(Links):
    """A switch that is set up."""

    def __init__(self, dut, stalls=(never, never), routes=None, uplinks=(2, 3), **rules):
        params = switch_params()
        self.uplinks = uplinks if params.pipes else ()
        # Nodes 0 and 1 are at ports of their own, the others behind uplinks.
        routes = routes or {
            node: node if node < 2 else 2 + node % (params.ports - 2)
            for node in range(params.nodes)
        }
        self.rules = SwitchRules(
            routes=routes, uplinks=self.uplinks, property_bytes=LENGTH, **rules
        )
        super().__init__(dut, SwitchLedger(self.rules, params.mtu), stalls)

    async def start(self, **settings):
        await start(self.dut)
        bus = AxiLiteMaster(AxiLiteBus.from_prefix(self.dut, "s_axil"), self.dut.clk, self.dut.rst)
        quiet(self.dut, "s_axil")
        await self.set_up(HostProgram(self.dut, bus, switch_side(self.params)), **settings)

    async def set_up(self, driver, **settings):
        """Set the switch by its host's software."""
        self.driver = driver
        await driver.set_routes(self.rules.routes, self.uplinks, self.rules.responses)
        await driver.set_addresses(NODE)
        await driver.set_delays(60, 60)
        await driver.write(**settings)
        await driver.configure(LENGTH if self.params.pipes else 0)

    async def compare_counts(self):
        """The switch has counted what its links have taken, cut packets too."""
        for port, result in (await self.driver.port_counters()).items():
            for name in CLASSES:
                receiver = self.receivers[name, port]
                assert result[f"{name}_out_packets"] == len(receiver.packets)
                octets = sum(packet.octets for packet in receiver.packets)
                assert result[f"{name}_out_bytes"] == octets

    def ports_of(self, port):
        """Return the nodes at ``port``."""
        return [node for node, path in self.rules.routes.items() if path == port]

    def packet(self, port, idxs=range(24), length=None):
        """Draw a packet that may come by ``port``, which leads to src; few idxs have any bits."""
        kind = random.choice([Kind.READ, Kind.READ, Kind.RESPONSE, Kind.RESPONSE, Kind.ERROR])
        length = length or random.choice([LENGTH] * 3 + [4, 20, 64])
        src = random.choice(self.ports_of(port))
        dest = random.choice([node for node in self.rules.routes if node != src])
        most = (self.params.mtu - 64) // (18 + length * (kind is Kind.RESPONSE))
        count = 1 if kind is Kind.ERROR else random.choice([1, most, random.randint(1, most)])
        result = random.choices(idxs, k=count)
        result = [idx if random.random() < 0.9 else random.getrandbits(64) for idx in result]
        return requests_of(self, kind, dest, src, length, result)


LARGEST = NetSparseSwitchParams(  # all of its sizes are the largest that are legal
    ports=32, pipes=32, mtu=9216, most_property_bytes=4096, output_beats=1 << 15
)
