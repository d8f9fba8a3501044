"""Puts a gather engine in a slot of a host that others wrote, and compares device memory."""

import random
from dataclasses import replace
from typing import Any

import numpy as np
from cocotb.triggers import ClockCycles
from cocotbext.pcie.core.tlp import CplStatus, TlpType

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
HOST_BYTES, DEVICE_BYTES = 1 << 18, 1 << 16
IDXS, TABLE, COMPLETIONS = 0, 1 << 13, HOST_BYTES - 256  #: what lies where, in the host's memory
MAX_PLACES = 16  #: of a ring
RING = TABLE - MAX_PLACES * DESCRIPTOR_BYTES
CARD = 1 << 15  #: where idxs are in device memory
POSTED = 1 << 17  #: from here to the completions rows are posted into the host's memory
LARGE = 8192  #: bytes of a large row
QUIET = 200  #: cycles behind a completion in which nothing else may be written


def run_tests(params, tests, folder):
    """Run the tests of module ``tests`` on a card whose device memory is zero at first."""
    memory = folder / "device.bin"
    memory.write_bytes(bytes(DEVICE_BYTES))
    simulate(
        CardSystem(params),
        tests,
        plusargs=[ram_file(0, memory), dump_file(0, folder / "dump.bin")],
        extra_sources=[RAM_ARRAY],
        registers=["patience"],
    )


class Bench:
    """A card whose host has random bytes in memory, and idxs and completions at known places."""

    def __init__(self, dut):
        self.params = params_in_simulator(CardParams)
        self.dut = dut
        self.card = CardDriver(dut, self.params, random.randbytes(HOST_BYTES))
        self.settings = {name: 0 for name, _ in self.params.ram.settings}

    async def begin(self, read_size=2, **settings):
        """Set device memory's ``settings``, and let the host find the card."""
        sample(self.dut)
        self.set(**settings)
        await self.card.begin(read_size)
        return self

    def set(self, **settings):
        self.settings |= settings
        self.dut.settings.value = pack(self.params.ram.settings, self.settings)

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

    async def ring(self, places):
        """Open a ring with so many places."""
        ring = CardRing(self.card, places)
        await ring.open()
        return ring

    async def gather(self, *requests, ring=None):
        """Carry requests out, one behind the other; compare all that the host can see.

        They are submitted by registers, or by a ``ring``.
        """
        before = np.frombuffer(await self.card.device(0, DEVICE_BYTES), np.uint8)
        expected = before.copy()
        requested = self.card.interrupts
        if ring:
            await ring.submit(requests)
        else:
            for request in requests:
                await self.card.submit(request)
        for request in requests:
            result = await self.card.completed(request)
            reported = carry_out(self.card.host(), expected, request, self.params.engine.idx_bits)
            assert result["tag"] == reported.tag
            assert int(result["outcome"].value) == reported.outcome
            assert (result["beyond"], result["failed"]) == (reported.beyond, 0)
            assert (result["reserved"], result["zero"]) == (0, 0)
        await ClockCycles(self.dut.clk, QUIET)
        device = np.frombuffer(await self.card.device(0, DEVICE_BYTES), np.uint8)
        different = np.flatnonzero(device != expected)
        assert not len(different), f"device memory differs from byte {different[0]:#x} on"
        assert not self.dut.lost.value
        assert 1 <= self.card.interrupts - requested <= len(requests)


class CardRing:
    """Submits requests, be they legal or not, by a ring of the software that a user's host runs."""

    def __init__(self, card, places):
        self.card, self.places, self.ring = card, places, None

    async def run(self, name, *args):
        """Await a method of the software's ring."""

        def method(engine):
            self.ring = self.ring or Ring(engine, self.card.base + RING, self.places)
            return getattr(self.ring, name)(*args)

        return await self.card.registers.do(method)

    async def open(self):
        await self.run("open")

    async def close(self):
        await self.run("close")

    async def read(self):
        """Return how many requests the engine has read since the ring was opened."""
        return await self.run("read")

    async def submit(self, requests):
        await self.run("write", *map(self.card.on_bus, requests))

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
        card = self.bench.card
        device = np.frombuffer(await card.device(0, DEVICE_BYTES), np.uint8).copy()
        for request in requests:
            await card.submit(request)
        for request in requests:
            result = await card.completed(request)
            reported = carry_out(card.host(), device, request, self.bench.params.engine.idx_bits)
            assert int(result["outcome"].value) == reported.outcome == 0
            assert result["beyond"] == reported.beyond
        expected = [row for item in requests for row in rows_of(card.host(), device, item)]
        assert self.rows() == expected


async def put(bench, idxs, place, idx_bytes):
    """Bring idxs from the host into device memory, as a table's rows."""
    array = np.array(idxs, f"<u{idx_bytes}").tobytes()
    bench.card.memory.mem[TABLE : TABLE + len(array)] = array
    table = some_table(idx_bytes)
    table = replace(table, base=TABLE, rows=len(idxs), stride=idx_bytes)
    await bench.gather(bench.request(table, list(range(len(idxs))), destination=place))


def some_table(row_bytes, end=COMPLETIONS):
    """Draw a table of rows at any byte, packed or padded; those of large rows overlap."""
    stride = row_bytes + random.choice([0, 0, 1, 4, 12, 63])
    stride = stride if row_bytes < LARGE else random.randrange(1, LARGE)
    base = TABLE + random.randrange(1 << 12)
    rows = (end - base - row_bytes) // stride + 1
    return Table(base=base, rows=rows, row_bytes=row_bytes, stride=stride)


def some_idxs(table, count):
    """Draw idxs of a table, some of them twice, one of them beyond it."""
    idxs = [random.randrange(table.rows) for _ in range(count)]
    idxs[random.randrange(count)] = idxs[0]
    idxs[random.randrange(count)] = random.choice([table.rows, table.rows - 1])
    return idxs


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
        card, packets = self.bench.card, []
        host, device = card.host().copy(), np.zeros(DEVICE_BYTES, np.uint8)
        before = await card.device(0, DEVICE_BYTES)
        self.seen.clear()
        for request in requests:
            await card.submit(request)
        for request in requests:
            result = await card.completed(request)
            reported = carry_out(host, device, request, self.bench.params.engine.idx_bits)
            assert int(result["outcome"].value) == reported.outcome == 0
            assert (result["beyond"], result["failed"]) == (reported.beyond, 0)
            packets += packets_of(host, request, most)
        await ClockCycles(self.bench.dut.clk, QUIET)
        places = [request.completion_address for request in requests]
        assert [(at, b"" if at in places else octets) for at, octets in self.seen] == packets
        assert np.array_equal(card.host()[:COMPLETIONS], host[:COMPLETIONS])
        assert await card.device(0, DEVICE_BYTES) == before


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


def borders():
    """Draw sizes of rows beside the borders of what is requested at once, and of what a row is."""
    return random.choice([4095, 4096, 4097]), random.choice([65535, 65536])


def some_count(size):
    """Draw how many rows of a size are gathered at once; few if they are large."""
    return 1 if size > LARGE else random.randrange(1, 4 if size > 1000 else 30)


def destination(size):
    """Draw any place in device memory that rows fit."""
    return random.randrange(DEVICE_BYTES - size + 1)


def outcomes(reports):
    """Return of each row that was reported whether it was beyond the table, and whether it failed.

    Those of a row that is in no table were read all the same.
    """
    return [(bool(row["beyond"]), bool(row["failed"])) for row, _ in reports.result]


TIMEOUT = 2000  #: cycles
ROW = 512  #: bytes, read at once
TABLE_OF_ROWS = Table(base=TABLE, rows=60, row_bytes=ROW, stride=ROW)


class Completions:
    """Passes each completion that has data, with its number, to ``change``: whether it goes on."""

    def __init__(self, bench):
        self.device = bench.card.model.device
        self.count = 0
        self.change: Any = None
        self.device.upstream_port.rx_handler = self.receive

    async def receive(self, tlp):
        if tlp.fmt_type == TlpType.CPL_DATA and self.change is not None:
            self.count += 1
            if not self.change(tlp, self.count):
                tlp.release_fc()
                return
        await self.device.upstream_recv(tlp)


def poisoned(tlp):
    tlp.ep = True
    return True


def unsupported(tlp):
    tlp.fmt_type, tlp.status = TlpType.CPL, CplStatus.UR
    tlp.set_data(b"")
    return True


def aborted(tlp):
    tlp.fmt_type, tlp.status = TlpType.CPL, CplStatus.CA
    tlp.set_data(b"")
    return True


def lost(tlp):
    return False


def many_rows(bench, requests):
    """Return requests of 100 rows each, one after the other in device memory."""
    idxs = [random.randrange(60) for _ in range(100)]
    table = replace(TABLE_OF_ROWS, base=TABLE + 400, row_bytes=160)  # each is two reads
    return [
        bench.request(table, idxs, destination=4 + 16000 * k, completion=k, tag=k + 1)
        for k in range(requests)
    ]


async def ended_early(bench, before, requests):
    """Check device memory as stopped requests may leave it; return whether some is missing."""
    expected = before.copy()
    for request in requests:
        carry_out(bench.card.host(), expected, request)
    result = np.frombuffer(await bench.card.device(0, DEVICE_BYTES), np.uint8)
    assert written_until_stopped(before, expected, result)
    return not np.array_equal(result, expected)


async def reset(dut):
    """Reset the function as a host does: the engine says when that has been done."""
    dut.function_in_process.value = 1
    await until(dut.clk, dut.function_done, 1)
    dut.function_in_process.value = dut.function_master.value = 0
    await ClockCycles(dut.clk, 200)
    assert not dut.function_done.value
