"""Sends packets into a forwarding switch, and compares what leaves with the golden model."""

import random
from collections import Counter, defaultdict

from hdl.switch.forwarding.counters import COUNTERS
from hdl.switch.forwarding.mac_table import HOST_OPERATIONS
from hdl.switch.forwarding.registers import forwarding_registers
from sim.golden.forwarding.switch import ForwardingSwitch, Rules
from sim.harness.axi_streams import AxiSource, PacketSink, beats_of
from sim.harness.host_program import HostProgram
from sim.harness.register_driver import RegisterDriver
from sim.harness.streams import edges, never, start
from sim.harness.verilator import params_in_simulator

BROADCAST = b"\xff" * 6


def host(port, number=0):
    """Return the MAC address of a host at a port."""
    return bytes((2, 0, 0, 0, port, number))


def frame(dest, source, length=60, *, tag=None, tos=None):
    """Return a packet of random content; with ``tag`` in a VLAN, with ``tos`` of IPv4."""
    head = dest + source + (b"" if tag is None else b"\x81\x00" + tag.to_bytes(2, "big"))
    if tos is not None:
        ip = bytearray(b"\x45" + bytes((tos,)) + random.randbytes(18))
        ip[10:12] = b"\0\0"
        total = sum(int.from_bytes(ip[k : k + 2], "big") for k in range(0, 20, 2))
        total = (total & 0xFFFF) + (total >> 16)
        ip[10:12] = (~((total & 0xFFFF) + (total >> 16)) & 0xFFFF).to_bytes(2, "big")
        head += b"\x08\x00" + ip
    else:
        head += b"\x88\xb5"
    return (head + random.randbytes(max(0, length - len(head))))[:length]


def any_frame(ports, port):
    """Return a packet of any kind, and whether its checksum is wrong."""
    kind, to = random.random(), random.choice(ports)
    dest = host(to, random.randrange(4))  # of hosts that sent, and of others
    if kind < 0.1:
        dest = random.choice((BROADCAST, b"\x01\x00\x5e\x00\x00\x01"))
    elif kind < 0.15:
        dest = bytes.fromhex("0180c20000") + bytes((random.randrange(32),))
    tag = random.choice((None, None, random.choice((0, 5, 6, 7)) | random.randrange(8) << 13))
    tos = random.choice((None, random.randrange(256)))
    length = random.choice((60, 61, 64, 65, 100, 128, random.randint(60, 400), 1518))
    if kind > 0.95:
        length = random.choice((random.randint(1, 59), 1519, 1600, 4000))
    source = host(port, random.randrange(3))
    return frame(dest, source, length, tag=tag, tos=tos), random.random() < 0.05


class SwitchBench:
    """Has sources, sinks and a host of a switch, its golden model, and what has to leave."""

    def __init__(self, dut, stalls=(never, never), side=None):
        self.dut, self.params = dut, params_in_simulator()
        params = self.params
        self.ports = range(params.ports)
        self.stalls, self.side = stalls, side  # without a side the bench writes registers itself
        self.golden = ForwardingSwitch(
            Rules(ports=params.ports, classes=params.classes, max_bytes=params.max_bytes),
            params.rows,
        )
        self.expected = [defaultdict(list) for _ in self.ports]  # by output, input and class
        self.origin = {}  # of each packet, its input and its class
        self.lost = Counter()  # packets that found no room, by input
        self.fell = set()  # outputs that have been down, which discard what does not leave

    async def begin(self, **settings):
        """Start the switch, wait until its memories are ready, and let it flood."""
        for k in self.ports:
            getattr(self.dut, f"paused_{k}").value = 0
        self.dut.down.value = 0
        source, sink = self.stalls
        self.sources = [AxiSource(self.dut, f"s_axis_{k}", stall=source) for k in self.ports]
        self.sinks = [PacketSink(self.dut, f"m_axis_{k}", stall=sink) for k in self.ports]
        await start(self.dut)
        if self.side is None:
            self.registers = RegisterDriver(self.dut, "s_axil", forwarding_registers(self.params))
        else:
            self.registers = HostProgram(self.dut, "s_axil", self.side(self.params))
        await edges(self.dut.clk, self.params.beats + 2)
        await self.registers.write(**({"flood_rate": 65535, "flood_burst": 4095} | settings))
        return self

    def send(self, port, octets, *, corrupt=False):
        """Send a packet into a port; note where it has to leave."""
        self.sources[port].extend(list(beats_of(octets, corrupt=corrupt)))
        class_, outputs = self.golden.receive(port, octets, corrupt=corrupt)
        self.origin[octets] = port, class_
        for output in outputs:
            self.expected[output][port, class_].append(octets)

    async def down(self, *ports):
        """Take ports down and all others up; wait until the addresses are forgotten."""
        self.dut.down.value = sum(1 << port for port in ports)
        self.golden.set_down(set(ports))
        self.fell |= set(ports)
        await edges(self.dut.clk, 5 * self.params.rows + 10)

    async def set(self, table, chosen, **values):
        """Set what is chosen: of a port, a share, a VLAN or a code."""
        await self.registers.write(**{f"chosen_{name}": k for name, k in chosen.items()}, **values)
        await self.registers.write(**{f"set_{table}": 1})

    async def operate(self, operation, mac=bytes(6), group=0, port=0, place=0):
        """Let the host change or read the MAC table; return the reply."""
        number = int.from_bytes(mac, "big")
        await self.registers.write(
            table_mac_low=number & 0xFFFFFFFF,
            table_mac_high=number >> 32,
            table_group=group,
            table_port=port,
            table_operation=HOST_OPERATIONS[operation],
            table_place=place,
        )
        await self.registers.write(table_start=1)
        while await self.registers.read("table_busy"):
            pass
        names = ("hit", "refused", "static_now", "fresh_now", "group_now", "port_now")
        reply = await self.registers.read_all([f"table_{name}" for name in names])
        return {name: reply[f"table_{name}"] for name in names}

    async def drain(self, *, quiet=60):
        """Wait until nothing moves; then compare all that has left."""
        moved = None
        while moved != (moved := self.moved()):
            await edges(self.dut.clk, quiet)
        self.compare()

    def expected_at(self, output):
        """Return all packets that have to leave from ``output``."""
        return [octets for packets in self.expected[output].values() for octets in packets]

    def moved(self):
        """Count the beats that have moved."""
        return [len(part.cycles) for part in (*self.sources, *self.sinks)]

    def compare(self):
        """Check that each packet left where it had to, in order, or found no room anywhere."""
        gone = {}  # packets that did not leave, of each output
        for output, sink in enumerate(self.sinks):
            left = defaultdict(list)
            for packet in sink.packets:
                if packet.corrupt and output in self.fell:
                    continue  # it was cut when the port went down
                left[self.origin[packet.octets]].append(packet.octets)
            for origin, octets in left.items():
                rest = iter(self.expected[output][origin])
                assert all(packet in rest for packet in octets), f"order at output {output}"
            for origin, octets in self.expected[output].items():
                missing = set(octets) - set(left[origin])
                if output in self.fell:
                    for packet in missing:
                        counts = Counter()
                        self.golden.measure(counts, "out", packet, good=True)
                        self.golden.counts[output].subtract(counts)
                        self.golden.counts[output]["out_discards"] += 1
                else:
                    gone[output, origin[0]] = missing
                self.expected[output][origin] = [o for o in octets if o in set(left[origin])]
        for k in self.ports:
            missing = set().union(*(packets for (_, port), packets in gone.items() if port == k))
            self.lost[k] += len(missing)

    async def counters(self, port):
        """Return the counters of a port."""
        await self.registers.write(counter_part=port)
        return await self.registers.counted("port", COUNTERS, wait=4)

    async def check_counters(self):
        """Compare all counters with the golden model's; each lost packet is counted once."""
        for k in self.ports:
            counts = await self.counters(k)
            golden = Counter(self.golden.counts[k])
            if self.lost[k]:
                assert counts["in_no_room"] == self.lost[k]
            expected = {name: golden[name] for name in counts}
            expected["in_no_room"] = self.lost[k]
            for name in ("learning_lost",):
                expected[name] = counts[name]
            if sum(self.lost.values()):
                expected |= {n: counts[n] for n in counts if n.startswith("out")}
            assert counts == expected
