"""Sets a NetSparse switch's RTL up by its guide's steps, and compares it with the guide's model.

``netsparse_switch_from_the_guide`` knows nothing of the project but the SNIC's guide.
"""

import random

import cocotb
from cocotb.triggers import ClockCycles
from cocotbext.axi import AxiLiteBus, AxiLiteMaster

from gen.guides.netsparse_switch import guide, values
from hdl.netsparse.switch.params import NetSparseSwitchParams
from hdl.netsparse.switch.switch import NetSparseSwitch
from sim.harness import register_driver
from sim.harness.streams import start
from sim.harness.verilator import params_in_simulator
from sim.netsparse.links import Receiver, Sender, drained, new_packets
from sim.netsparse.wire import to_beats
from tests.gen.guides import netsparse_switch_from_the_guide as independent
from tests.gen.guides import snic_from_the_guide as packets
from tests.gen.guides.bench import RegisterHost
from tests.gen.guides.test_netsparse_switch import model_of, octets_of
from tests.hdl.netsparse.switch.test_switch import SPINE, TOR
from tests.simulated import simulated

CLASSES = (independent.READS, independent.RESPONSES)
DELAY = 120  #: cycles that PRs wait for others: longer than three packets take
LENGTH = 32  #: bytes of the properties that are kept
#: idxs of two rows, more than their ways, and others; one that no cache holds
IDXS = [*(place + 8 * k for place in (0, 5) for k in (0, 1, 2, 4, 5, 8, 9)), 1 << 40]
TIMING = ("waits", "blocked", "stall")  #: counters of cycles
WRONG = (12, 17, 39, 51, 59, 63, 66)  #: bytes whose change makes a packet a bad one

test_the_model_answers_as_the_hardware_does = simulated(NetSparseSwitch, [SPINE, TOR], __name__)


class Host(RegisterHost):
    """A host with registers at the addresses of the guide, and the links of the switch."""

    def __init__(self, dut):
        self.dut, self.params = dut, params_in_simulator(NetSparseSwitchParams)
        self.registers = packets.Registers(guide(self.params))
        self.bus = AxiLiteMaster(AxiLiteBus.from_prefix(dut, "s_axil"), dut.clk, dut.rst)
        register_driver.quiet(dut, "s_axil")
        ends = [(kind, port) for kind in CLASSES for port in range(self.params.ports)]
        self.senders = {end: Sender(dut, "s_axis_{}_{}".format(*end)) for end in ends}
        self.receivers = {end: Receiver(dut, "m_axis_{}_{}".format(*end)) for end in ends}

    async def bring(self, kind, port, sent):
        """Let packets come in, and return what has left when all is quiet."""
        for octets, broken in sent:
            self.senders[kind, port].queue(to_beats(octets, broken=broken))
        quiet_after = 60 if not self.params.pipes else 2 * DELAY + 200
        await drained(self.dut, self.senders.values(), self.receivers.values(), quiet_after)
        left = new_packets(self.receivers)
        return [(*end, packet.wire, packet.broken) for end, packet in left]

    async def set_up(self, model, property_bytes):
        """Take the steps from reset to the first packet."""
        await start(self.dut)
        told = values(self.params)
        assert f"0x{await self.read('identity'):08X}" == told["identity"]
        assert [await self.read(name) for name in ("version", "ports", "pipes", "nodes")] == [
            told[name] for name in ("version", "P", "Q", "N")
        ]
        sizes = (property_bytes, DELAY, DELAY)
        await self.make(independent.set_up_writes(self.registers, model, *sizes))
        while await self.read("clearing"):
            await ClockCycles(self.dut.clk, 8)
        model.configure(property_bytes)
        await self.make(self.registers.command("clear_counters"))

    async def counters(self, kind, parts):
        """Read all counters of ports or pipes, by the numbers of the guide."""
        found = {}
        for part in range(parts):
            for number, name, _ in values(self.params)[f"{kind}_counters"]:
                fields = {"counter_part": part, f"{kind}_counter": number}
                await self.make(self.registers.write(**fields))
                await ClockCycles(self.dut.clk, 6)
                found[kind, part, name] = await self.read(f"{kind}_count")
        return found


def a_packet(rng, params, routes, port):
    """Draw a packet that may come by a port, or nearly, and the class that it is sent in."""
    src = rng.choice([node for node, way in routes.items() if way == port] or [0])
    kind = rng.choice(
        (packets.READ, packets.READ, packets.RESPONSE, packets.RESPONSE, packets.ERROR)
    )
    dest = rng.choice([node for node in routes if node != src])
    length = rng.choice((LENGTH, LENGTH, LENGTH, 4, 64))
    body = length if kind == packets.RESPONSE else 0
    most = 1 if kind == packets.ERROR else (params.mtu - 64) // (18 + body)
    prs = [
        packets.Pr(src, rng.getrandbits(16), idx, rng.getrandbits(32), content(idx, body))
        for idx in rng.choices(IDXS, k=rng.choice((1, most, rng.randint(1, most))))
    ]
    octets = packets.packet(kind, src, dest, length, prs, 0x0200 << 32, 0x0A000000, params.mtu)
    return independent.READS if kind == packets.READ else independent.RESPONSES, octets


def content(idx, size):
    """Return the property of an idx."""
    return random.Random(idx).randbytes(size)


def spoilt(rng, params, octets):
    """Return a packet, which is now and then a bad one, and whether it is marked as broken."""
    turn = rng.random()
    if turn < 0.05:
        at = rng.choice(WRONG)
        octets = octets[:at] + bytes([octets[at] ^ 1 << rng.randrange(8)]) + octets[at + 1 :]
    elif turn < 0.1:
        octets = octets[: rng.choice((38, 64, 65, len(octets) - 2))]
    elif turn < 0.15:
        octets = octets + bytes(rng.choice((2, params.mtu - len(octets) + 1, params.mtu)))
    elif turn < 0.2:
        octets = (
            octets[:52]
            + rng.choice((params.nodes, params.nodes - 1)).to_bytes(4, "big")
            + octets[56:]
        )
    return octets, rng.random() < 0.02


async def compare(dut, turns, concatenate):
    """Send batches of packets, one batch after another, through the hardware and the model."""
    rng = random.Random(random.getrandbits(32))  # cocotb seeds the one inside
    host = Host(dut)
    params = host.params
    # Nodes 0 and 1 are at ports of their own, the others behind the last two; one has no route.
    up = range(min(2, params.ports - 1), params.ports)
    routes = {k: k if k < 2 else up[k % len(up)] for k in range(params.nodes - 1)}
    model = model_of(params, routes=routes, uplinks=sum(1 << port for port in up), number=77)
    model.mac_base, model.ip_base, model.concatenate = 0x0200 << 32, 0x0A000000, concatenate
    await host.set_up(model, LENGTH)
    for _ in range(turns):
        port = rng.randrange(params.ports)
        wanted, octets = a_packet(rng, params, routes, port)
        batch = [spoilt(rng, params, octets)]
        while rng.random() < 0.4 and len(batch) < 3:
            kind, octets = a_packet(rng, params, routes, port)
            if kind == wanted:
                batch.append(spoilt(rng, params, octets))
        found = await host.bring(wanted, port, batch)
        assert sorted(found) == sorted(model.take(wanted, port, batch))
    for kind, parts in (("port", params.ports), ("pipe", params.pipes)):
        found = await host.counters(kind, parts)
        told = {key: n for key, n in found.items() if n and not key[2].endswith(TIMING)}
        differ = (
            told.items() ^ {key: n for key, n in model.counts.items() if key[0] == kind}.items()
        )
        assert not differ
    return {name.removeprefix("reads_").removeprefix("responses_") for _, _, name in model.counts}


@cocotb.test()
async def packets_are_joined_and_reads_answered(dut):
    met = await compare(dut, 160, True)
    seen = {"no_route", "short", "cut"}
    if params_in_simulator(NetSparseSwitchParams).pipes:
        seen |= {f"cache_{name}" for name in ("hit", "miss", "inserted", "present", "replaced")}
        seen |= {"cache_bypassed", "dropped_length", "dropped_broken"}
    assert seen <= met


@cocotb.test()
async def packets_pass_whole(dut):
    await compare(dut, 60, False)


@cocotb.test()
async def the_known_answer_is_right(dut):
    host = Host(dut)
    if not host.params.pipes:
        return
    known = values(host.params)["known"]
    model = model_of(host.params, routes={0: 0, 1: 1}, uplinks=2, number=known["switch"])
    model.mac_base, model.ip_base = int(known["mac"], 16), int(known["ip"], 16)
    await host.set_up(model, known["bytes"])
    for step in known["steps"]:
        found = await host.bring(step["kind"], step["port"], [(octets_of(step), False)])
        right = [(one["kind"], one["port"], octets_of(one), False) for one in step["left"]]
        assert sorted(found) == sorted(right)
