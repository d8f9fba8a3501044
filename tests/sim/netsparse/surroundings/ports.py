"""Shows ports of a simulated network to tests: packets in and out, and when beats moved."""

from cocotb.triggers import RisingEdge

from sim.harness.streams import cycle
from sim.netsparse.wire import from_beats, to_beats


class Port:
    """One input or output, with its packets, and when each beat moved."""

    def __init__(self, dut, name):
        self.dut, self.name, self.edge = dut, name, RisingEdge(dut.clk)
        names = ("tdata", "tkeep", "tlast", "tuser")
        self.fields = [getattr(dut, f"{name}_{field}") for field in names]
        self.valid, self.ready = getattr(dut, f"{name}_tvalid"), getattr(dut, f"{name}_tready")
        self.packets, self.cycles = [], []
        self.queue = []  # packets to send
        self.waited = 0  # cycles in which a beat did not move

    async def send(self, stall):
        self.valid.value = 0
        while True:
            while not self.queue:
                await self.edge
            for beat in to_beats(self.queue.pop(0)):
                while stall():
                    await self.edge
                self.valid.value = 1
                for field, value in zip(self.fields, beat, strict=True):
                    field.value = value
                await self.edge
                while not self.ready.value:
                    self.waited += 1
                    await self.edge
                self.cycles.append(cycle())
                self.valid.value = 0

    async def take(self, stall):
        packet, waiting = [], None
        while True:
            self.ready.value = not stall()
            await self.edge
            if self.dut.rst.value or not self.valid.value:
                assert waiting is None, f"{self.name}: a waiting beat went away"
                continue
            beat = tuple(int(field.value) for field in self.fields)
            assert waiting in (None, beat), f"{self.name}: a waiting beat changed"
            waiting = beat
            self.waited += not self.ready.value
            if self.ready.value:
                waiting = None
                packet.append(beat)
                self.cycles.append(cycle())
                if beat[2]:
                    self.packets.append(from_beats(packet))
                    packet = []
