"""Compares the MAC table with its golden model: learning, moves, full rows, ageing, the host."""

import random

import cocotb

from hdl.switch.forwarding.mac_table import HOST_OPERATIONS, LookUp, MacTable
from hdl.switch.forwarding.params import LEARNED, WAYS, ForwardingParams
from hdl.switch.forwarding.presets import PRESETS
from sim.golden.forwarding import mac_table as golden
from sim.harness.payloads import pack, unpack
from sim.harness.streams import Source, edges, start, strobe
from sim.harness.verilator import params_in_simulator
from tests.simulated import simulated

SIZES = [ForwardingParams(**PRESETS["tiny"]), ForwardingParams(**PRESETS["tiny"] | {"rows": 64})]

test_mac_table = simulated(MacTable, SIZES, __name__, ids=lambda params: f"{params.rows}_rows")


class Bench:
    """Learns, looks up and lets the host command; each change is made in the golden model, too."""

    def __init__(self, dut):
        self.dut, self.params = dut, params_in_simulator()
        self.table = golden.MacTable(self.params.rows)
        self.learn = Source(dut, "learn")
        self.moved = self.full = self.aged = 0
        # Few addresses, so that rows fill up, and the same address comes again.
        self.macs = [random.getrandbits(48) for _ in range(6 * self.params.rows)]

    async def begin(self):
        dut = self.dut
        for name in ("age", "clear", "start", "down"):
            getattr(dut, name).value = 0
        await start(dut)
        await self.ready()
        cocotb.start_soon(self.count())
        return self

    async def ready(self):
        await edges(self.dut.clk, self.params.rows + 10)
        assert self.dut.ready.value

    async def count(self):
        while True:
            await edges(self.dut.clk, 1)
            events = int(self.dut.events.value)
            self.moved += events & 1
            self.full += events >> 1 & 1

    def some(self):
        return random.choice(self.macs), random.randrange(3), random.randrange(self.params.ports)

    async def learns(self, count, down=()):
        for _ in range(count):
            mac, group, port = self.some()
            self.learn.append({"mac": mac, "group": group, "port": port})
            if port not in down:
                self.table.learn(mac, group, port)
        await self.settle()

    async def settle(self):
        while self.learn.missing:
            await edges(self.dut.clk, 4)
        await edges(self.dut.clk, 8)

    async def operate(self, name, mac=0, group=0, port=0, place=0):
        dut = self.dut
        dut.command.value = HOST_OPERATIONS[name]
        dut.key.value = pack(LEARNED, {"mac": mac, "group": group, "port": port})
        dut.place.value = place
        await strobe(dut.start, dut.clk)
        await edges(dut.clk, 1)
        while dut.busy.value:
            await edges(dut.clk, 1)
        return unpack(MacTable(self.params).reply.shape(), int(dut.reply.value))

    async def look_up(self, requested):
        """Look up addresses at all ports, one behind the other; return the ports that have any."""
        dut, ports, result = self.dut, range(self.params.ports), []
        for n in range(len(requested) + LookUp.latency + 1):
            for k in ports:
                if n < len(requested):
                    getattr(dut, f"mac_{k}").value = requested[n][k][0]
                if 0 <= n - LookUp.latency < len(requested):
                    getattr(dut, f"group_{k}").value = requested[n - LookUp.latency][k][1]
            await edges(dut.clk, 1)
            hits = [getattr(dut, f"hit_{k}").value for k in ports]
            shown = [int(getattr(dut, f"port_{k}").value) if hits[k] else None for k in ports]
            result.append(shown)
        return result[LookUp.latency :][: len(requested)]

    async def check(self, count=40):
        """Compare look-ups of all ports with the golden model's, and a read of the whole table."""
        requested = [[self.some()[:2] for _ in range(self.params.ports)] for _ in range(count)]
        result = await self.look_up(requested)
        for at, ports in zip(requested, result, strict=True):
            for (mac, group), port in zip(at, ports, strict=True):
                entry = self.table.find(mac, group)
                assert port == (entry.port if entry else None)


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def learns_and_moves(dut):
    bench = await Bench(dut).begin()
    for _ in range(8):
        await bench.learns(bench.params.rows)
        await bench.check()
    assert (bench.moved, bench.full) == (bench.table.moved, bench.table.full)
    assert bench.table.moved
    assert bench.table.full


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def a_host_writes_finds_and_removes(dut):
    """Static entries stay where they are; a full row refuses one more."""
    bench = await Bench(dut).begin()
    refused = 0
    for _ in range(40):
        mac, group, port = bench.some()
        reply = await bench.operate("WRITE", mac, group, port)
        refused += reply["refused"]
        assert bool(reply["refused"]) == (not bench.table.write(mac, group, port))
        await bench.learns(3)
        mac, group, _ = bench.some()
        reply = await bench.operate("FIND", mac, group)
        entry = bench.table.find(mac, group)
        assert bool(reply["hit"]) == (entry is not None)
        if entry:
            got = reply["entry"]
            assert (got["port"], got["static"], got["fresh"]) == (
                entry.port,
                entry.static,
                entry.fresh,
            )
        mac, group, _ = bench.some()
        assert (await bench.operate("REMOVE", mac, group))["hit"] == bench.table.remove(mac, group)
    await bench.check()
    assert refused or bench.params.rows > 8
    places = []
    for place in range(WAYS * bench.params.rows):
        reply = await bench.operate("READ", place=place)
        if reply["hit"]:
            entry = reply["entry"]
            places.append((place % bench.params.rows, entry["mac"], entry["group"], entry["port"]))
    known = [(n, e.mac, e.group, e.port) for n, row in enumerate(bench.table.rows) for e in row]
    assert sorted(places) == sorted(known)


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def forgets_what_is_old(dut):
    bench = await Bench(dut).begin()
    mac, group, port = bench.some()
    await bench.operate("WRITE", mac, group, port)
    bench.table.write(mac, group, port)
    for _ in range(4):
        await bench.learns(bench.params.rows // 2)
        await strobe(dut.age, dut.clk)
        await edges(dut.clk, 6 * bench.params.rows)
        bench.table.age()
        await bench.check()
    assert bench.table.find(mac, group)
    await strobe(dut.clear, dut.clk)
    await bench.ready()
    bench.table.clear()
    await bench.check()


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def forgets_ports_that_are_down(dut):
    """All but static entries go, whether the port returns meanwhile or not; none is learned."""
    bench = await Bench(dut).begin()
    ports = range(bench.params.ports)
    mac, group, port = fixed = bench.some()
    await bench.operate("WRITE", mac, group, port)
    bench.table.write(mac, group, port)
    for _ in range(12):
        await bench.learns(2 * bench.params.rows)
        down = set(random.sample(ports, random.randint(1, len(ports))))
        dut.down.value = sum(1 << port for port in down)
        for port in down:
            bench.table.forget(port)
        if random.getrandbits(1):
            await edges(dut.clk, random.randint(0, 9))
            await strobe(dut.age, dut.clk)  # it is known behind the scan, or with it
            bench.table.age()
        else:
            for port in down:  # it is not learned
                mac, group, _ = bench.some()
                bench.learn.append({"mac": mac, "group": group, "port": port})
            await bench.settle()
        stays = random.getrandbits(1)
        if not stays:
            dut.down.value = 0
        await edges(dut.clk, 12 * bench.params.rows)
        assert int(dut.closed.value) == int(dut.down.value)
        await bench.learns(bench.params.rows, down if stays else ())
        await bench.check()
        dut.down.value = 0
        await edges(dut.clk, 3)
    assert (bench.moved, bench.full) == (bench.table.moved, bench.table.full)
    assert bench.table.find(*fixed[:2])


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def is_emptied_at_any_time(dut):
    """So it is in each cycle of a scan for old entries or those of a port, or of another clear."""
    bench = await Bench(dut).begin()
    for distance in range(12):
        await bench.learns(bench.params.rows)
        await strobe(random.choice((dut.age, dut.clear, dut.down)), dut.clk)
        await edges(dut.clk, distance)
        await strobe(dut.clear, dut.clk)
        await bench.ready()
        await edges(dut.clk, 6 * bench.params.rows)
        bench.table.clear()
        await bench.check()
