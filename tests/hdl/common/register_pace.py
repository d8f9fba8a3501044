"""Plays a host at the five channels of a register bus, in any order and at any pace."""

import random

from cocotbext.axi.axil_channels import (
    AxiLiteARBus,
    AxiLiteARSource,
    AxiLiteARTransaction,
    AxiLiteAWBus,
    AxiLiteAWSource,
    AxiLiteAWTransaction,
    AxiLiteBBus,
    AxiLiteBSink,
    AxiLiteRBus,
    AxiLiteRSink,
    AxiLiteWBus,
    AxiLiteWSource,
    AxiLiteWTransaction,
)

from hdl.common.axi import Response
from hdl.common.registers import WORD_BYTES
from sim.harness.streams import mostly, never, often


class Port:
    """Drives the five channels by hand: any order, any address, any strobes."""

    def __init__(self, dut, pause=never, prefix="axil"):
        args = (dut.clk, dut.rst)
        self.aw = AxiLiteAWSource(AxiLiteAWBus.from_prefix(dut, prefix), *args)
        self.w = AxiLiteWSource(AxiLiteWBus.from_prefix(dut, prefix), *args)
        self.b = AxiLiteBSink(AxiLiteBBus.from_prefix(dut, prefix), *args)
        self.ar = AxiLiteARSource(AxiLiteARBus.from_prefix(dut, prefix), *args)
        self.r = AxiLiteRSink(AxiLiteRBus.from_prefix(dut, prefix), *args)
        self.pause(pause)

    def pause(self, pause):
        """Let each channel pause by itself from now on."""
        for channel in (self.aw, self.w, self.b, self.ar, self.r):
            channel.clear_pause_generator()
            channel.pause = False
            if pause is not never:
                channel.set_pause_generator(iter(pause, None))

    async def request_write(self, address, value, strobes=15):
        await self.aw.send(AxiLiteAWTransaction(awaddr=address, awprot=0))
        await self.w.send(AxiLiteWTransaction(wdata=value, wstrb=strobes))

    async def request_read(self, address):
        await self.ar.send(AxiLiteARTransaction(araddr=address, arprot=0))

    async def written(self):
        return Response(int((await self.b.recv()).bresp))

    async def answer(self):
        answer = await self.r.recv()
        return int(answer.rdata), Response(int(answer.rresp))

    async def write(self, address, value, strobes=15):
        await self.request_write(address, value, strobes)
        return await self.written()

    async def read(self, address):
        await self.request_read(address)
        return await self.answer()


async def registers_at_any_pace(dut, registers, prefix="s_axil"):
    """Bytes of settings are written and read back, one access after the other or with pauses.

    Accesses beyond the map are refused. ``dut`` is a whole design with the map ``registers``. In
    the end all is as it was.
    """
    port = Port(dut, prefix=prefix)
    masks = {
        placed.address: sum(
            ((1 << field.bits) - 1) << offset
            for field, offset in zip(placed.register.fields, placed.register.offsets, strict=True)
            if field.access == "rw"
        )
        for placed in registers.placed
        if placed.register.words == 1
        and not placed.register.read_only
        and all(field.access != "pulse" for field in placed.register.fields)
    }
    before = {address: (await port.read(address))[0] & masks[address] for address in masks}
    words = dict(before)
    await port.write(0, 0, strobes=0)  # writes nothing, whatever is there
    assert (await port.read(0))[1] == Response.OKAY
    last = (1 << len(getattr(dut, f"{prefix}_araddr"))) - WORD_BYTES
    if last >= WORD_BYTES * registers.words:
        assert await port.write(last, 0) == Response.SLVERR
        assert await port.read(last) == (0, Response.SLVERR)
    for pause in (never, often, mostly):
        port.pause(pause)
        addresses = random.choices(list(masks), k=24)
        for address in addresses:
            value, strobes = random.getrandbits(32), random.getrandbits(4)
            await port.request_write(address, value, strobes)
            bytes_of = sum(0xFF << 8 * byte for byte in range(4) if strobes >> byte & 1)
            mask = bytes_of & masks[address]
            words[address] = words[address] & ~mask | value & mask
        assert [await port.written() for _ in addresses] == [Response.OKAY] * len(addresses)
        addresses = random.choices(list(masks), k=24)
        for address in addresses:
            await port.request_read(address)
        for address in addresses:
            result, response = await port.answer()
            assert (result & masks[address], response) == (words[address], Response.OKAY)
    port.pause(never)
    for address, word in before.items():
        await port.write(address, word)
