"""Judges packets as the golden switch does: outputs, class, cause, mark, and who is learned."""

import random

import cocotb

from hdl.common.packets import BEAT_BYTES
from hdl.switch.forwarding.ingress import CAUSES, ForwardingIngress
from hdl.switch.forwarding.params import CODES, GROUPS, VID_BITS, ForwardingParams
from hdl.switch.forwarding.presets import PRESETS
from sim.golden.forwarding.switch import ForwardingSwitch, Rules, marked
from sim.harness.axi_streams import beats_of
from sim.harness.bench import Bench
from tests.hdl.switch.forwarding.bench import any_frame, frame, host
from tests.simulated import simulated

SIZES = [
    ForwardingParams(**PRESETS["tiny"]),
    ForwardingParams(
        **PRESETS["tiny"] | {"ports": 5, "classes": 8, "beats": 1024, "max_bytes": 1536}
    ),
]
test_ingress = simulated(ForwardingIngress, SIZES, __name__)
TABLE = 2  #: cycles from an address to its port
LATE = ForwardingIngress.latency
ALL = range(GROUPS)


def drawn_rules(params):
    """Draw what an operator has set."""
    vids = random.sample(range(8, 1 << VID_BITS), GROUPS)
    vids[:3] = 5, 6, 7  # those of packets
    used = [k for k in ALL if k < 2 or random.random() < 0.5]
    return Rules(
        ports=params.ports,
        classes=params.classes,
        max_bytes=params.max_bytes,
        own_group=[random.randrange(4) for _ in range(params.ports)],
        groups=[{k for k in ALL if random.random() < 0.7} for _ in range(params.ports)],
        vlans={vids[k]: k for k in used},
        codes=[random.randrange(params.classes) for _ in range(CODES)],
    )


class IngressBench(Bench):
    """Shows packets of a port, what the table says of them, and keeps what has to be stored."""

    async def begin_with(self, port, *, limited):
        """Set the rules, and let the port flood whatever comes, or nothing if it is limited."""
        self.port, self.limited = port, limited
        self.golden = ForwardingSwitch(rules := drawn_rules(self.params), 1024)
        for at in range(4 * self.params.ports):
            mac = int.from_bytes(bytes((2, 0, 0, 0, at // 4, at % 4)), "big")
            for group in random.sample(ALL, 8):
                self.golden.table.write(mac, group, random.choice((at // 4, port)))
        vids = {group: vid for vid, group in rules.vlans.items()}
        settings = {
            "group": rules.own_group[port],
            "vlans": [{"vid": vids.get(k, 5), "used": k in vids} for k in ALL],
            "members": [sum((g in own) << k for k, own in enumerate(rules.groups)) for g in ALL],
            "classes": rules.codes,
            "flood_rate": 0 if limited else 65535,
            "flood_burst": 0 if limited else 4095,
        }
        await self.begin(after_anything=True)
        await self.reset()
        self.set(settings=settings, own=1 << port)
        await self.play([{"axis_tvalid": 1, "axis_tlast": 1}])  # the end of what came before
        await self.wait(100)
        self.cycles, self.packets = [], []

    def idle(self):
        """Add a cycle in which nothing comes, whatever is shown."""
        beat = {"axis_tdata": 512, "axis_tkeep": 64, "axis_tlast": 1, "axis_tuser": 1}
        names = beat | {"hit": 1, "port": 3, "congested": self.params.classes, "passes": 1}
        drawn = {name: random.getrandbits(bits) for name, bits in names.items()}
        self.cycles.append(drawn | {"axis_tvalid": 0})

    def show(self, beat, *, passes=True):
        """Add the cycle of a beat, which may be of a packet for others; return its number."""
        self.idle()
        self.cycles[-1] |= {f"axis_{name}": value for name, value in beat.items()}
        self.cycles[-1] |= {"axis_tvalid": 1, "after": {"passes": int(passes)}}
        return len(self.cycles) - 1

    def send(self, octets, *, corrupt=False, most=1, passes=True):
        """Add the beats of a packet, with idle cycles between them."""
        at = []
        for beat in beats_of(octets, corrupt=corrupt):
            while random.random() > most:
                self.idle()
            at.append((self.show(beat, passes=passes), beat))
        if not passes:
            return
        self.packets.append((octets, corrupt, at))
        if not octets[0] & 1:
            entry = self.entry(octets)
            reply = {"hit": 0} if entry is None else {"hit": 1, "port": entry.port}
            self.cycles[at[0][0]]["reply"] = reply

    def entry(self, octets):
        """Return what the table knows of a packet's receiver."""
        group = self.golden.group_of(self.port, octets)
        return self.golden.table.find(int.from_bytes(octets[:6], "big"), group)

    async def check(self):
        """Show all cycles; compare what is stored, dropped and learned in each."""
        for _ in range(LATE):
            self.idle()
        for late, name in ((1, "after"), (TABLE, "reply")):
            for at, cycle in enumerate(self.cycles):
                self.cycles[min(at + late, len(self.cycles) - 1)] |= cycle.pop(name, {})
        names = "mac", "group", "stored", "dropped", "learns", "learned"
        shown = list(await self.played(self.cycles, *names))
        ends = {at[-1][0] + LATE for _, _, at in self.packets}
        writes = {now + LATE for _, _, at in self.packets for now, _ in at[: self.params.longest]}
        for now, cycle in enumerate(shown):
            assert cycle["stored"]["ends"] == (now in ends)
            assert now in ends or not (cycle["dropped"] or cycle["learns"])
            assert now in writes or not cycle["stored"]["write"]
        for octets, corrupt, at in self.packets:
            self.check_packet(shown, octets, corrupt, at)
        self.cycles, self.packets = [], []

    def check_packet(self, shown, octets, corrupt, at):
        """Compare the verdict on a packet; if it stays, each of its beats too."""
        begin, end = at[0][0], shown[at[-1][0] + LATE]
        group, stored = self.golden.group_of(self.port, octets), end["stored"]
        outputs, refused = self.golden.outputs_of(self.port, octets, group)
        if not refused and self.limited and self.entry(octets) is None:
            refused = "flood_limited"
        error = corrupt if corrupt == "cut" else self.golden.error_of(octets, corrupt)
        cause = error or refused
        assert shown[begin]["mac"] == int.from_bytes(octets[:6].ljust(6, b"\0"), "big") or error
        assert end["dropped"] == (1 << list(CAUSES).index(cause) if cause else 0), (octets, cause)
        learns = not error and refused != "no_group" and not octets[6] & 1
        assert end["learns"] == learns
        if learns:
            mac = int.from_bytes(octets[6:12], "big")
            assert end["learned"] == {"mac": mac, "group": group, "port": self.port}
        class_ = None if error else self.golden.class_of(octets)
        assert error or stored["class_"] == class_
        assert error or group in (None, shown[begin + TABLE]["group"])
        if cause:
            assert not (stored["keep"] and stored["mask"])
            return
        assert stored["mask"] == sum(1 << k for k in outputs)
        assert stored["keep"]
        if self.cycles[begin + TABLE]["congested"] >> class_ & 1:
            first = int.from_bytes(marked(octets)[:BEAT_BYTES], "little")
            known = (1 << 8 * min(len(octets), BEAT_BYTES)) - 1
            at[0][1]["tdata"] = first | at[0][1]["tdata"] & ~known
        for now, beat in at:
            due = {"data": beat["tdata"], "keep": beat["tkeep"], "last": beat["tlast"]}
            assert shown[now + LATE]["stored"]["write"]
            assert shown[now + LATE]["stored"]["beat"] == due


def any_header(bench, number):
    """Draw a packet of any kind, perhaps with a bit turned, or one of a code that is next."""
    ports = range(bench.params.ports)
    octets, corrupt = any_frame(ports, bench.port)
    if number % 4:
        to, vid = random.choice(ports), random.choice(list(bench.golden.rules.vlans))
        tag = random.choice((None, vid | random.randrange(8) << 13))
        tos = random.choice((None, number % 64 << 2 | random.randrange(4)))
        octets = frame(host(to, random.randrange(4)), host(bench.port), 64, tag=tag, tos=tos)
    elif len(octets) >= BEAT_BYTES:
        turned = int.from_bytes(octets, "little") ^ 1 << random.randrange(8 * 36)
        octets = turned.to_bytes(len(octets), "little")
    return octets, corrupt


@cocotb.test(timeout_time=1, timeout_unit="ms")
@cocotb.parametrize(most=[1, 0.6], limited=[False, True])
async def judges_as_the_golden_switch_does(dut, most, limited):
    bench = IngressBench(dut)
    await bench.begin_with(random.randrange(bench.params.ports), limited=limited)
    for count, down in ((512, set()), (32, {bench.port})):
        bench.set(own=0 if down else 1 << bench.port)
        bench.golden.set_down(down)
        for number in range(count):
            octets, corrupt = any_header(bench, number)
            bench.send(octets, corrupt=corrupt, most=most, passes=random.random() < 0.9)
        await bench.check()


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def the_rest_of_a_packet_that_a_reset_cut_is_dropped(dut):
    """It is counted as cut, and nothing of it stays; the next packet is judged as any."""
    bench = IngressBench(dut)
    await bench.begin_with(0, limited=False)
    for _ in range(20):
        octets = frame(host(1), host(0), random.randint(129, 400))
        beats = list(beats_of(octets))
        cut = random.randrange(1, len(beats))
        await bench.play([{"axis_tvalid": 1, "axis_tlast": 0, "passes": 1}] * cut)
        await bench.reset(random.choice((1, 2)))
        await bench.wait(100)  # until there are tokens
        rest = [(bench.show(beat), beat) for beat in beats[cut:]]
        bench.packets.append((octets, "cut", rest))
        bench.send(frame(host(1), host(0), random.randint(60, 400)))
        await bench.check()
