"""Puts a gather engine in a slot of a host that others wrote, and compares device memory."""

import random
from dataclasses import replace

import numpy as np
import pytest
from cocotb.triggers import ClockCycles

from hdl.gather.engine_params import COMPLETION_BYTES, GatherEngineParams
from sim.gather.card_driver import CardDriver
from sim.gather.golden.engine import WorkRequest, carry_out, rows_of, written_until_stopped
from sim.gather.golden.rows import Table
from sim.gather.host.ring import DESCRIPTOR_BYTES, Ring
from sim.gather.surroundings.card_system import CardParams, CardSystem
from sim.golden.pcie_writes import writes
from sim.harness.axi_streams import AxiSink
from sim.harness.payloads import pack
from sim.harness.streams import never, sample, until
from sim.harness.verilator import params_in_simulator, simulate
from sim.surroundings.axi_ram import RAM_ARRAY, dump_file, ram_file
from tests.hdl.gather import draw
from tests.hdl.gather.draw import COMPLETIONS, DEVICE_BYTES, HOST_BYTES, TABLE

SIZES = [
    CardParams(
        engine=GatherEngineParams(
            data_bits=256,
            tags=32,
            idx_bits=20,
            stride_bits=14,
            address_bits=16,
            idx_chunks=2,
            requests=2,
            outputs="all",
            kept_parts=512,
            card_idxs=True,
            descriptors=2,
        )
    ),
    CardParams(engine=GatherEngineParams(tags=64, address_bits=16, descriptors=8)),
]
IDXS = 0  #: where idxs are in the host's memory
MAX_PLACES = 16  #: of a ring
RING = TABLE - MAX_PLACES * DESCRIPTOR_BYTES
CARD = 1 << 15  #: where idxs are in device memory
QUIET = 200  #: cycles behind a completion in which nothing else may be written
ROW = 512  #: bytes, read at once
TABLE_OF_ROWS = Table(base=TABLE, rows=60, row_bytes=ROW, stride=ROW)


def on_card(sizes, module):
    """Return a test that runs the cocotb tests of ``module`` on cards of ``sizes``.

    Their device memory is zero at first.
    """

    @pytest.mark.parametrize("params", sizes, ids=lambda params: params.suffix)
    def test(params, tmp_path):
        memory = tmp_path / "device.bin"
        memory.write_bytes(bytes(DEVICE_BYTES))
        simulate(
            CardSystem(params),
            module,
            plusargs=[ram_file(0, memory), dump_file(0, tmp_path / "dump.bin")],
            extra_sources=[RAM_ARRAY],
            registers=["patience"],
        )

    return test


class Bench:
    """A card whose host has random bytes in memory, and idxs and completions at known places."""

    def __init__(self, dut, stalls=False):
        self.params = params_in_simulator(CardParams)
        self.dut, self.stalls = dut, stalls
        self.card = CardDriver(dut, self.params, random.randbytes(HOST_BYTES))
        self.settings = {name: 0 for name, _ in self.params.ram.settings}

    async def begin(self, read_size=2, **settings):
        """Set device memory's ``settings``, and that it ``stalls``; let the host find the card."""
        sample(self.dut)
        slow = {"aw_stall": 128, "w_stall": 128, "b_stall": 128, "write_latency": 100}
        self.set(**(slow if self.stalls else {}) | settings)
        await self.card.begin(read_size)
        return self

    def set(self, **settings):
        self.settings |= settings
        self.dut.settings.value = pack(self.params.ram.settings, self.settings)

    async def wait(self, cycles):
        """Wait for a number of cycles."""
        await ClockCycles(self.dut.clk, cycles)

    @property
    def registers(self):
        """Return the registers of the card."""
        return self.card.registers

    async def device(self):
        """Return a copy of device memory."""
        return np.frombuffer(await self.card.device(0, DEVICE_BYTES), np.uint8).copy()

    def request(self, table, idxs, *, idx_bytes=4, offset=0, completion=0, **others):
        """Put idxs into the host's memory, and return the request of them."""
        place = IDXS + idx_bytes * offset
        array = np.array(idxs, f"<u{idx_bytes}").tobytes()
        assert place + len(array) <= RING
        self.card.memory.mem[place : place + len(array)] = array
        return WorkRequest(
            idx_address=place,
            count=len(idxs),
            table=table,
            idx_bytes=idx_bytes,
            completion_address=COMPLETIONS + COMPLETION_BYTES * completion,
            **{"destination": 0, **others},
        )

    def drawn(self, row_bytes, count, **others):
        """Draw a table, ``count`` idxs and a place for the rows; return the request of them."""
        table = draw.table(row_bytes)
        if "destination" not in others:
            others["destination"] = draw.place(count * row_bytes)
        return self.request(table, draw.idxs(table, count), **others)

    def many_rows(self, requests):
        """Return requests of 100 rows each, one after the other in device memory."""
        idxs = [random.randrange(60) for _ in range(100)]
        table = replace(TABLE_OF_ROWS, base=TABLE + 400, row_bytes=160)  # each is two reads
        return [
            self.request(table, idxs, destination=4 + 16000 * k, completion=k, tag=k + 1)
            for k in range(requests)
        ]

    async def on_card(self, table, idxs, *, place=CARD, idx_bytes=4, **others):
        """Bring idxs into device memory, as rows of another table; return the request of them."""
        array = np.array(idxs, f"<u{idx_bytes}").tobytes()
        self.card.memory.mem[TABLE : TABLE + len(array)] = array
        brought = Table(base=TABLE, rows=len(idxs), row_bytes=idx_bytes, stride=idx_bytes)
        await self.gather(self.request(brought, list(range(len(idxs))), destination=place))
        request = self.request(table, [0], idx_bytes=idx_bytes, **others)
        return replace(request, idx_address=place, count=len(idxs), on_card=True)

    async def ring(self, places):
        """Open a ring with so many places."""
        ring = CardRing(self.card, places)
        await ring.open()
        return ring

    async def submit(self, *requests):
        """Submit requests by registers."""
        for request in requests:
            await self.card.submit(request)

    async def result(self, request):
        """Submit a request; return its completion when it has come."""
        await self.submit(request)
        return await self.card.completed(request)

    async def outcome(self, request):
        """Submit a request; return how it ends."""
        return (await self.result(request))["outcome"]

    async def stopped(self, request, wait):
        """Submit a request, and stop the engine ``wait`` cycles later; return how it ends."""
        await self.submit(request)
        await self.wait(wait)
        await self.registers.write(stop=1)
        return (await self.card.completed(request))["outcome"]

    async def carried_out(self, requests, device, host=None, ring=None):
        """Submit requests by registers or a ``ring``; yield each when it has ended, and how.

        The golden model carries each out on ``device``, and on ``host`` or the card's own.
        """
        await (ring or self).submit(*requests)
        for request in requests:
            result = await self.card.completed(request)
            memory = self.card.host() if host is None else host
            reported = carry_out(memory, device, request, self.params.engine.idx_bits)
            assert (result["tag"], result["outcome"].value) == (reported.tag, reported.outcome)
            assert (result["beyond"], result["failed"]) == (reported.beyond, 0)
            assert (result["reserved"], result["zero"]) == (0, 0)
            yield request, reported

    async def gather(self, *requests, ring=None):
        """Carry requests out, one behind the other; compare all that the host can see."""
        expected, requested = await self.device(), self.card.interrupts
        assert [_ async for _ in self.carried_out(requests, expected, ring=ring)]
        await self.wait(QUIET)
        different = np.flatnonzero(await self.device() != expected)
        assert not len(different), f"device memory differs from byte {different[0]:#x} on"
        assert not self.dut.lost.value
        assert 1 <= self.card.interrupts - requested <= len(requests)

    async def ended_early(self, before, requests):
        """Check device memory as stopped requests may leave it; return whether some is missing."""
        expected = before.copy()
        for request in requests:
            carry_out(self.card.host(), expected, request)
        result = await self.device()
        assert written_until_stopped(before, expected, result)
        return not np.array_equal(result, expected)

    async def reset(self):
        """Reset the function as a host does: the engine says when that has been done."""
        dut = self.dut
        dut.function_in_process.value = 1
        await until(dut.clk, dut.function_done, 1)
        dut.function_in_process.value = dut.function_master.value = 0
        await self.wait(200)
        assert not dut.function_done.value


class CardRing:
    """Submits requests, be they legal or not, by a ring of the software that a user's host runs."""

    def __init__(self, card, places):
        self.card, self.places, self.ring = card, places, None

    def __getattr__(self, name):
        """Return what awaits a method of the software's ring."""

        def method(engine, *args):
            self.ring = self.ring or Ring(engine, self.card.base + RING, self.places)
            return getattr(self.ring, name)(*args)

        return lambda *args: self.card.registers.do(lambda engine: method(engine, *args))

    async def submit(self, *requests):
        await self.write(*map(self.card.on_bus, requests))

    async def put(self, *octets):
        """Write descriptors of 64 bytes into the next places, and tell the engine how many."""
        for descriptor in octets:
            place = RING + DESCRIPTOR_BYTES * (self.ring.written % self.places)
            self.card.memory.mem[place : place + len(descriptor)] = descriptor
            self.ring.written += 1
        await self.card.registers.write(request_producer=self.ring.written)


class Consumer(AxiSink):
    """Takes rows, and compares them with what is to come."""

    def __init__(self, bench, stall=never):
        super().__init__(bench.dut, "m_axis", stall=stall)
        self.bench, self.row = bench, b""  # that has come in part

    def rows(self):
        """Return what has come: bytes, and whether they are of no row."""
        result, beat_bytes = [], self.bench.params.engine.beat_bytes
        for beat in self.beats:
            data, keep = beat["tdata"].to_bytes(beat_bytes, "little"), beat.get("tkeep", -1)
            self.row += bytes(octet for k, octet in enumerate(data) if keep >> k & 1)
            assert beat["tlast"] or not beat["tuser"]  # the last beat alone says so
            if beat["tlast"]:
                result.append((self.row, bool(beat["tuser"])))
                self.row = b""
        self.beats.clear()
        return result

    async def gather(self, *requests):
        """Carry requests out; each row comes in its order."""
        host, device = self.bench.card.host(), await self.bench.device()
        async for _, reported in self.bench.carried_out(requests, device, host):
            assert not reported.outcome
        assert self.rows() == [row for item in requests for row in rows_of(host, device, item)]


class Posts:
    """Sees what is written to the host's memory, in order; ``seen`` are addresses and bytes."""

    def __init__(self, bench):
        self.bench, self.seen = bench, []
        memory = bench.card.memory
        write = memory._write

        async def see(address, data, **options):
            self.seen.append((address, bytes(data)))
            await write(address, data, **options)

        memory._write = see

    async def gather(self, *requests, most=256):
        """Carry requests out; all of host memory, and each packet, is as golden models have it."""
        bench, packets = self.bench, []
        host, device, before = bench.card.host().copy(), await bench.device(), await bench.device()
        self.seen.clear()
        async for request, reported in bench.carried_out(requests, device, host):
            assert not reported.outcome
            packets += packets_of(host, request, most)
        await bench.wait(QUIET)
        places = [request.completion_address for request in requests]
        assert [(at, b"" if at in places else octets) for at, octets in self.seen] == packets
        assert np.array_equal(bench.card.host()[:COMPLETIONS], host[:COMPLETIONS])
        assert np.array_equal(await bench.device(), before)


def packets_of(host, request, most):
    """Return address and bytes of each packet of a request's rows, then of its completion.

    ``host`` is memory that has the rows; the completion's bytes are left out.
    """
    start, result = request.destination, []
    end = start + request.count * request.table.row_bytes
    for first in range(start, end, 4096):
        octets = host[first : min(end, first + 4096)].tobytes()
        for write in writes(first, octets, most):
            at = write.address + min(write.dwords[0])
            result.append((at, bytes(byte for dword in write.dwords for byte in dword.values())))
    return [*result, (request.completion_address, b"")]


def outcomes(reports):
    """Return of each row that was reported whether it was beyond the table, and whether it failed.

    Those of a row that is in no table were read all the same.
    """
    return [(bool(row["beyond"]), bool(row["failed"])) for row, _ in reports.result]
