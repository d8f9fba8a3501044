"""Drives and watches the links of a switch: packets go in, and what comes out is checked."""

import random

from hdl.netsparse.switch.params import CLASSES, NetSparseSwitchParams
from sim.harness.streams import never
from sim.harness.verilator import params_in_simulator
from sim.netsparse.golden.concatenation import Addresses, Kind, Request, from_bytes, to_bytes
from sim.netsparse.links import Receiver, Sender, drained, new_packets
from sim.netsparse.wire import to_beats

NODE = 77  #: the switch's own number
ADDRESSES = Addresses(mac_base=0x0200_0000_0000, ip_base=0x0A00_0000)


class Links:
    """Has all links of a switch, and a ledger of what went over them."""

    def __init__(self, dut, ledger, stalls=(never, never)):
        self.dut, self._ledger = dut, ledger
        self.params = params_in_simulator(NetSparseSwitchParams)
        self.sent = {}  # bytes of packets that are to leave as they are, in the spine form
        self.broken = 0  # packets that may leave marked as broken
        self.deaf = False  # to what leaves
        self.cuts = 0  # broken packets that have left meanwhile
        source, sink = stalls
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
        self.next_id = 0

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
        wire = packet.wire
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
