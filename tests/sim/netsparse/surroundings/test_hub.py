import random
from collections import Counter, defaultdict

import cocotb
import pytest
from cocotb.triggers import RisingEdge

from gen.emission.emit import emit
from hdl.netsparse.protocol import Kind
from sim.harness.payloads import pack, unpack
from sim.harness.streams import STALLS, never, often, start
from sim.harness.verilator import params_in_simulator, simulate
from sim.netsparse.surroundings.delay_line import DelayLineParams
from sim.netsparse.surroundings.hub import Hub, HubParams
from sim.netsparse.wire import Packet, Pr
from tests.sim.netsparse.surroundings.ports import Port

CLASSES = ("reads", "responses")


@pytest.mark.parametrize("nodes", [3])
def test_hub(nodes):
    simulate(Hub(HubParams(nodes=nodes)), __name__)


@pytest.mark.parametrize("nodes", [2, 16])
def test_hub_of_each_size(nodes):
    assert emit(Hub(HubParams(nodes=nodes)))


@pytest.mark.parametrize("nodes", [1, 17])
def test_rejects(nodes):
    with pytest.raises(ValueError, match=f"nodes must be from 2 to 16: {nodes}"):
        HubParams(nodes=nodes)


class Bench:
    """All ports of a hub, and what each output is to deliver from each input."""

    def __init__(self, dut, source=never, sink=never, sinks=None):
        self.dut, self.edge = dut, RisingEdge(dut.clk)
        self.nodes = params_in_simulator(HubParams).nodes
        self.sent = {name: [] for name in CLASSES}  # input, dest, bytes
        self.inputs, self.outputs = {}, {}
        for name in CLASSES:
            for k in range(self.nodes):
                self.inputs[name, k] = port = Port(dut, f"{name}_i_{k}")
                cocotb.start_soon(port.send(source))
                self.outputs[name, k] = port = Port(dut, f"{name}_o_{k}")
                cocotb.start_soon(port.take((sinks or {}).get((name, k), sink)))
        self.set()

    def set(self, **settings):
        settings = {"seed": random.getrandbits(32)} | settings
        self.dut.settings.value = pack(HubParams(nodes=self.nodes).settings, settings)

    def send(self, name, source, dest, size=None):
        """A packet whose PRs tell it from all others."""
        kind = Kind.READ if name == "reads" else Kind.RESPONSE
        count = size or random.choice([1, 2, 3, 20])
        payload = b"" if name == "reads" else random.randbytes(4)
        prs = [
            Pr(src=source, tid=0, idx=random.getrandbits(64), id=k, payload=payload)
            for k in range(count)
        ]
        octets = Packet(kind=kind, dest=dest, length=4, prs=prs).to_bytes()
        self.sent[name].append((source, dest, octets))
        self.inputs[name, source].queue.append(octets)

    def random_traffic(self, count):
        for _ in range(count):
            self.send(
                random.choice(CLASSES), random.randrange(self.nodes), random.randrange(self.nodes)
            )

    async def drain(self, quiet=300):
        still = 0
        while still < quiet:
            await self.edge
            busy = any(port.queue or port.valid.value for port in self.inputs.values())
            busy = busy or any(port.valid.value for port in self.outputs.values())
            still = 0 if busy else still + 1
        counts = {}
        for name in CLASSES:
            value = int(getattr(self.dut, f"{name}_counts").value)
            counts[name] = unpack(HubParams(nodes=self.nodes).counts, value)
            for k in range(self.nodes):
                packets = self.outputs[name, k].packets
                assert counts[name]["packets"][k] == len(packets)
                assert counts[name]["bytes"][k] == sum(map(len, packets))
        return counts

    def check(self, missing=()):
        """Each packet where it belongs, once; those between two nodes in order."""
        for name in CLASSES:
            expected, found = defaultdict(list), defaultdict(list)
            for source, dest, octets in self.sent[name]:
                if octets not in missing:
                    expected[source, dest].append(octets)
            for k in range(self.nodes):
                for octets in self.outputs[name, k].packets:
                    found[int.from_bytes(octets[64:68], "big"), k].append(octets)
            assert found == expected


async def started(dut, source=never, sink=never, sinks=None):
    bench = Bench(dut, source, sink, sinks)
    await start(dut)
    return bench


@cocotb.test(timeout_time=1, timeout_unit="ms")
@cocotb.parametrize(stalls=STALLS, shares=[(0, 0), (40, 200)], latency=[0, 60])
async def forwards_everything(dut, stalls, shares, latency):
    bench = await started(dut, *stalls)
    bench.set(latency=latency, in_stall=shares[0], out_stall=shares[1])
    bench.random_traffic(150)
    counts = await bench.drain()
    bench.check()
    assert all(
        counts[name][event] == 0 for name in CLASSES for event in ("dropped", "corrupted", "lost")
    )


@cocotb.test(timeout_time=1, timeout_unit="ms")
@cocotb.parametrize(latency=[0, 1, 30, 255])
async def is_as_late_as_asked_and_as_fast(dut, latency):
    """Every input to an output of its own, both classes: a beat a cycle all the time."""
    bench = await started(dut)
    bench.set(latency=latency)
    for name in CLASSES:
        for source in range(bench.nodes):
            for _ in range(25):
                bench.send(name, source, (source + 1) % bench.nodes, 20)
    await bench.drain()
    bench.check()
    for name in CLASSES:
        for source in range(bench.nodes):
            entered = bench.inputs[name, source].cycles
            left = bench.outputs[name, (source + 1) % bench.nodes].cycles
            assert entered == list(range(entered[0], entered[0] + len(entered)))
            assert left == [at + Hub.least_latency + latency for at in entered]


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def inputs_take_turns(dut):
    """All to one output: it never idles, and nobody waits for more than the others' packets."""
    bench = await started(dut)
    for name in CLASSES:
        for _ in range(30):
            for source in range(bench.nodes):
                bench.send(name, source, 1, 3)
    await bench.drain()
    bench.check()
    for name in CLASSES:
        port = bench.outputs[name, 1]
        assert port.cycles == list(range(port.cycles[0], port.cycles[0] + len(port.cycles)))
        sources = [octets[67] for octets in port.packets]
        for at in range(0, len(sources), bench.nodes):
            assert set(sources[at : at + bench.nodes]) == set(range(bench.nodes))


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def pushes_back(dut):
    """An output that takes nothing fills its line, then its inputs wait; others go on."""
    closed = True
    bench = await started(dut, sinks={("reads", 0): lambda: closed})
    for _ in range(80):
        bench.send("reads", 1, 0, 20)
        bench.send("responses", 1, 0, 20)
    for _ in range(900):
        await bench.edge
    assert bench.inputs["reads", 1].queue
    depth = DelayLineParams().depth
    assert depth < len(bench.inputs["reads", 1].cycles) < depth + 16
    assert not bench.inputs["responses", 1].queue
    closed = False
    await bench.drain()
    bench.check()


@cocotb.test(timeout_time=1, timeout_unit="ms")
@cocotb.parametrize(name=CLASSES, fault=["drop", "corrupt"])
async def harms_the_packet_that_was_named(dut, name, fault):
    bench = await started(dut, often)
    at = random.randrange(20)
    bench.set(latency=5, **{name: {fault: 1, f"{fault}_at": at}})
    for _ in range(40):
        for kind in CLASSES:
            bench.send(kind, 0, random.randrange(bench.nodes))
    counts = await bench.drain()
    source, dest, octets = bench.sent[name][at]
    event = {"drop": "dropped", "corrupt": "corrupted"}[fault]
    assert {kind: counts[kind][event] for kind in CLASSES} == {
        kind: int(kind == name) for kind in CLASSES
    }
    if fault == "drop":
        bench.check(missing=[octets])
    else:
        changed = octets[:63] + bytes([octets[63] ^ 1]) + octets[64:]
        bench.sent[name][at] = (source, dest, changed)
        bench.check()


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def harms_one_packet_of_many_at_once(dut):
    """All inputs begin in the same cycle: the numbers go up from the lowest."""
    bench = await started(dut)
    for victim in range(bench.nodes):
        base = len(bench.sent["reads"])
        bench.set(reads={"drop": 1, "drop_at": base + victim})
        for source in range(bench.nodes):
            bench.send("reads", source, random.randrange(bench.nodes), 1)
        counts = await bench.drain()
        assert counts["reads"]["dropped"] == victim + 1
    missing = [bench.sent["reads"][k * (bench.nodes + 1)][2] for k in range(bench.nodes)]
    bench.check(missing)


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def loses_what_is_for_nobody(dut):
    bench = await started(dut, often, often)
    missing = Counter()
    for _ in range(100):
        bench.random_traffic(1)
        if random.random() < 0.5:
            name = random.choice(CLASSES)
            dest = random.choice([bench.nodes, 15, 16, 1 << 31, 1 << 24])
            bench.send(name, random.randrange(bench.nodes), dest)
            missing[name] += 1
    counts = await bench.drain()
    assert {name: counts[name]["lost"] for name in CLASSES} == {n: missing[n] for n in CLASSES}
    bench.check(
        [octets for n in CLASSES for _, dest, octets in bench.sent[n] if dest >= bench.nodes]
    )
