"""Brings a SNIC's RTL up by its guide alone: the steps, addresses and bytes that it tells."""

import struct
from functools import cache

import cocotb
from cocotb.triggers import ClockCycles, RisingEdge
from cocotbext.axi import AxiLiteBus, AxiLiteMaster

from gen.designs.catalogue import find_design
from gen.guides.netsparse_snic import guide, values
from sim.harness.register_driver import quiet
from sim.harness.streams import start
from sim.harness.verilator import simulate
from sim.netsparse.surroundings.node import DRAM, HOST, Node, host_memory
from sim.surroundings.axi_ram import RAM_ARRAY, ram_file
from sim.surroundings.side_port import SidePort
from tests.gen.guides import snic_from_the_guide as independent
from tests.gen.guides.bench import RegisterHost

PARAMS = find_design("netsparse-snic").params_of("tiny")
SETTLED = 3000  #: cycles after which whatever a SNIC sends has left
REQUESTS, COMPLETIONS = 0x8000, 0xA000  #: where the rings are


@cache
def reported():
    """Return the guide's text, and the bytes of its known answer."""
    known = values(PARAMS)["known"]
    octets = {
        name: bytes.fromhex("".join(line.partition(":")[2] for line in known[name]))
        for name in ("descriptor", "reads", "responses")
    }
    octets |= {name: bytes.fromhex(known[name]) for name in ("array", "entry")}
    return guide(PARAMS), known, octets


def test_the_known_answer_is_what_the_hardware_does(tmp_path):
    for memory, size in ((HOST, 1 << 16), (DRAM, 1 << 12)):
        (tmp_path / f"ram_{memory}").write_bytes(bytes([0xA5]) * size)
    simulate(
        Node(PARAMS),
        __name__,
        plusargs=[ram_file(memory, tmp_path / f"ram_{memory}") for memory in (HOST, DRAM)],
        extra_sources=[RAM_ARRAY],
    )


class Host(RegisterHost):
    """A host with registers at the addresses of the guide, memory, and a network of packets."""

    def __init__(self, dut):
        text, self.known, self.octets = reported()
        self.dut, self.registers = dut, independent.Registers(text)
        self.bus = AxiLiteMaster(AxiLiteBus.from_prefix(dut, "s_axil"), dut.clk, dut.rst)
        quiet(dut, "s_axil")
        self.memory = SidePort(dut, host_memory(PARAMS))
        self.sent = {"reads": [], "responses": []}
        for kind in self.sent:
            cocotb.start_soon(self.watch(kind))

    async def watch(self, kind):
        """Keep the packets of a class that leave."""
        pins = {
            name: getattr(self.dut, f"m_axis_{kind}_{name}")
            for name in ("tvalid", "tready", "tdata", "tkeep", "tlast")
        }
        pins["tready"].value = 1
        packet = b""
        while True:
            await RisingEdge(self.dut.clk)
            if self.dut.rst.value or not pins["tvalid"].value:
                continue
            stored = int(pins["tkeep"].value).bit_count()
            packet += int(pins["tdata"].value).to_bytes(64, "little")[:stored]
            if pins["tlast"].value:
                self.sent[kind].append(packet)
                packet = b""

    async def bring(self, kind, packet):
        """Let a packet come in."""
        for at in range(0, len(packet), 64):
            beat = packet[at : at + 64]
            for name, value in (
                ("tvalid", 1),
                ("tdata", int.from_bytes(beat, "little")),
                ("tkeep", (1 << len(beat)) - 1),
                ("tlast", at + 64 >= len(packet)),
                ("tuser", 0),
            ):
                getattr(self.dut, f"s_axis_{kind}_{name}").value = int(value)
            await RisingEdge(self.dut.clk)
            while not getattr(self.dut, f"s_axis_{kind}_tready").value:
                await RisingEdge(self.dut.clk)
        getattr(self.dut, f"s_axis_{kind}_tvalid").value = 0

    async def counter(self, name):
        """Read a counter of unit 0, by the number that the guide has for it."""
        number = next(k for k, other, _ in values(PARAMS)["unit_counters"] if other == name)
        await self.make(self.registers.write(counter_unit=0, unit_counter=number))
        return await self.read("unit_count")

    async def set_up(self, node, servers):
        """Take steps 1 to 5."""
        dut = self.dut
        dut.index.value, dut.dump.value, dut.host.value, dut.dram.value = 0, 0, 0, 0
        dut.fail_index.value = 0
        for kind in self.sent:
            getattr(dut, f"s_axis_{kind}_tvalid").value = 0
        await start(dut)
        assert f"0x{await self.read('identity'):08X}" == values(PARAMS)["identity"]
        assert await self.read("version") == values(PARAMS)["version"]
        mac, ip = int(self.known["mac"], 16), int(self.known["ip"], 16)
        writes = independent.partition_writes(
            self.registers, node, self.known["boundaries"], PARAMS.rig.nodes, mac, ip
        )
        place = self.property_address
        writes += self.registers.write(served_bytes=self.known["bytes"])
        writes += self.registers.halves(
            server_units=servers, served_address=place, filter_address=64
        )
        await self.make(writes)
        assert not await self.read("served_illegal")
        assert not await self.read("filter_illegal")
        await self.make(self.registers.command("clear_filter"))
        while await self.read("filter_busy"):
            pass

    @property
    def property_address(self):
        """Return where the property of idx 0 is."""
        return int(self.known["property_address"], 16)

    def request(self):
        """Return the request of the known answer."""
        return independent.Request(
            unit=0,
            tag=self.known["tag"],
            idx_address=int(self.known["idx_address"], 16),
            count=len(self.known["idxs"]),
            idx_bytes=4,
            property_address=self.property_address,
            property_bytes=self.known["bytes"],
            watchdog=self.known["watchdog"],
        )

    async def answer(self):
        """Answer the reads that have left as the known answer does, with the hardware's ids."""
        await ClockCycles(self.dut.clk, SETTLED)
        (packet,) = self.sent["reads"]
        kind, dest, length, prs = independent.parsed(packet)
        ids = [int(own, 16) for own in self.known["ids"]]
        known = independent.parsed(self.octets["reads"])
        requested = [
            independent.Pr(pr.src, pr.tid, pr.idx, own) for pr, own in zip(prs, ids, strict=True)
        ]
        assert (kind, dest, length, requested) == known
        assert packet[:64] == self.octets["reads"][:64]
        kind, dest, length, answers = independent.parsed(self.octets["responses"])
        body = self.octets["responses"][:64]
        for pr, own in zip(answers, prs, strict=True):
            body += struct.pack(">IHQI", pr.src, pr.tid, pr.idx, own.id) + pr.data
        await self.bring("responses", body)

    async def check(self):
        """Compare memory and counters with the known answer's."""
        for address, octets, _ in self.known["written"]:
            assert await self.memory.read_memory(int(address, 16), 8) == bytes.fromhex(octets)
        around = await self.memory.read_memory(
            self.property_address, 8 * self.known["boundaries"][1]
        )
        assert around == bytes([0xA5]) * len(around)
        assert await self.counter("consumed") == len(self.known["idxs"])
        assert await self.counter("local") == 1
        assert await self.counter("prs") == len(self.known["asked"])
        assert await self.counter("coalesced") + await self.counter("filtered") == 1


@cocotb.test()
async def a_client_gathers_by_registers(dut):
    host = Host(dut)
    await host.set_up(node=0, servers=0b10)
    await host.memory.write_memory(int(host.known["idx_address"], 16), host.octets["array"])
    await host.make(independent.submit_writes(host.registers, host.request()))
    assert not await host.read("refused")
    await host.answer()
    while not dut.irq.value:
        await RisingEdge(dut.clk)
    assert await host.read("completion_valid")
    result = [await host.read(f"completion_{name}") for name in ("unit", "tag", "cause")]
    assert result == [0, host.known["tag"], 0]
    await host.make(host.registers.command("next_completion"))
    assert not await host.read("completion_valid")
    await host.check()


@cocotb.test()
async def a_server_answers(dut):
    host = Host(dut)
    await host.set_up(node=1, servers=0b01)
    for idx in host.known["asked"]:
        octets = struct.pack("<II", idx, 2 * idx)
        await host.memory.write_memory(host.property_address + 8 * idx, octets)
    await host.bring("reads", host.octets["reads"])
    await ClockCycles(dut.clk, SETTLED)
    assert host.sent["responses"] == [host.octets["responses"]]


@cocotb.test()
async def a_client_gathers_by_rings(dut):
    host = Host(dut)
    await host.set_up(node=0, servers=0b10)
    memory = bytearray(COMPLETIONS + 16 * 8)
    rings = independent.Rings(host.registers, memory, REQUESTS, 2, COMPLETIONS, 3)
    await host.memory.write_memory(COMPLETIONS, bytes(16 * 8))
    await host.make(rings.open())
    await host.memory.write_memory(int(host.known["idx_address"], 16), host.octets["array"])
    doorbell = rings.submit([host.request()])
    assert bytes(memory[REQUESTS : REQUESTS + 64]) == host.octets["descriptor"]
    await host.memory.write_memory(REQUESTS, host.octets["descriptor"])
    await host.make(doorbell)
    await host.answer()
    while not dut.irq.value:
        await RisingEdge(dut.clk)
    assert await host.memory.read_memory(COMPLETIONS, 16) == host.octets["entry"]
    memory[COMPLETIONS : COMPLETIONS + 16] = host.octets["entry"]
    assert len(rings.completions()) == 1
    await host.make(rings.doorbells())
    await ClockCycles(dut.clk, 8)
    assert not dut.irq.value
    await host.check()
