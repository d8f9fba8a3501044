"""Makes accesses of AXI at ``i`` and answers them at ``o``, and knows what each must give."""

import random

import cocotb
from cocotb.triggers import RisingEdge

from sim.harness.verilator import params_in_simulator

#: the fields of a beat, by channel
FULL = {
    "aw": "addr len size burst",
    "w": "data strb last",
    "b": "resp",
    "ar": "addr len size burst",
    "r": "data resp last",
}
LITE = {"aw": "addr prot", "w": "data strb", "b": "resp", "ar": "addr prot", "r": "data resp"}
ODD = 0x9E3B  #: spreads the numbers of accesses over all bits of an address


def content(address, beat):
    """Return what a read of ``address`` gets, which no other address has."""
    return (address * 2654435761 + beat * 40503) % (1 << params_in_simulator().data_bits)


class Channel:
    """Moves beats of one channel, in its clock, as a source or as a sink."""

    def __init__(self, side, prefix, channel, stall, source):
        self.side, self.stall, self.source = side, stall, source
        self.name = f"{prefix}_{channel}"
        self.fields = (LITE if params_in_simulator().lite else FULL)[channel].split()
        self.beats = []  # to be given, or taken
        self.moved = []  # all that ever were
        cocotb.start_soon(self.give() if source else self.take())

    def port(self, name):
        return getattr(self.side, self.name + name)

    async def give(self):
        moved = True
        while True:
            if self.side.rst.value:
                self.beats.clear()
                moved = True
            if moved and (not self.beats or self.stall()):
                self.port("valid").value = 0
            elif moved:
                for name in self.fields:
                    self.port(name).value = self.beats[0].get(name, 0)
                self.port("valid").value = 1
                moved = False
            await RisingEdge(self.side.clk)
            if self.port("valid").value and self.port("ready").value and not self.side.rst.value:
                beat = self.beats.pop(0)
                self.moved.append({name: int(beat.get(name, 0)) for name in self.fields})
                moved = True

    async def take(self):
        while True:
            self.port("ready").value = not self.stall() and not self.side.rst.value
            await RisingEdge(self.side.clk)
            if self.port("valid").value and self.port("ready").value and not self.side.rst.value:
                self.moved.append({name: int(self.port(name).value) for name in self.fields})
                self.beats.append(self.moved[-1])


class Subordinate:
    """Answers accesses at ``o``, and checks that each has all its beats."""

    def __init__(self, side, stall):
        self.side = side
        self.aw, self.w, self.ar = (Channel(side, "o", c, stall, False) for c in ("aw", "w", "ar"))
        self.b, self.r = (Channel(side, "o", c, stall, True) for c in "br")
        self.memory, self.patient = {}, False  # and whether it answers at present
        cocotb.start_soon(self.run())

    async def run(self):
        lite = params_in_simulator().lite
        while True:
            await RisingEdge(self.side.clk)
            if self.patient:
                continue
            if self.ar.beats:
                burst = self.ar.beats.pop(0)
                count = burst.get("len", 0) + 1
                self.r.beats += [
                    {"data": content(burst["addr"], k), "last": k == count - 1, "resp": k % 4}
                    for k in range(count)
                ]
            if self.aw.beats and len(self.w.beats) > (most := self.aw.beats[0].get("len", 0)):
                burst, beats = self.aw.beats.pop(0), self.w.beats[: most + 1]
                del self.w.beats[: most + 1]
                assert lite or [beat["last"] for beat in beats] == [0] * most + [1]
                strobes = {beat["strb"] for beat in beats}
                if strobes == {(1 << params_in_simulator().data_bits // 8) - 1}:
                    self.memory[burst["addr"]] = [beat["data"] for beat in beats]
                else:
                    assert 0 in strobes
                self.b.beats.append({"resp": burst["addr"] >> 3 & 3})


class Manager:
    """Makes accesses at ``i``, several at once, and knows what each must give."""

    def __init__(self, side, stall):
        self.side = side
        self.aw, self.w, self.ar = (Channel(side, "i", c, stall, True) for c in ("aw", "w", "ar"))
        self.b, self.r = (Channel(side, "i", c, stall, False) for c in "br")
        self.number, self.reads, self.writes, self.written = 0, [], [], {}
        self.begun = {}  # what was ever written

    def access(self, count):
        """Begin ``count`` reads and as many writes, each of an address of its own."""
        for _ in range(count):
            self.number += 1
            params = params_in_simulator()
            address = (self.number * ODD << 3) % (1 << params.address_bits) | random.getrandbits(3)
            longest = random.choices((8, 256), (40, 1))[0]
            beats = 1 if params.lite else random.randint(1, longest)
            bits = params.data_bits
            burst = {"addr": address, "len": beats - 1, "prot": random.getrandbits(3)}
            burst |= {"size": random.getrandbits(3), "burst": random.randrange(3)}
            data = [random.getrandbits(bits) for _ in range(beats)]
            self.ar.beats.append(burst)
            self.aw.beats.append(dict(burst))
            full = (1 << bits // 8) - 1
            # The address says which beat is the last one, whatever ``last`` is.
            self.w.beats += [
                {"data": item, "strb": full, "last": random.getrandbits(1)} for item in data
            ]
            self.reads += [content(address, k) for k in range(beats)]
            self.writes.append({"resp": address >> 3 & 3})
            self.written[address] = self.begun[address] = data

    def forget(self):
        """Forget all accesses, after a reset."""
        for beats in (self.b.beats, self.r.beats, self.reads, self.writes):
            beats.clear()
        self.written.clear()

    async def done(self, subordinate):
        """Wait until all is answered, and for a while more; compare."""
        for _ in range(4000):
            if len(self.r.beats) >= len(self.reads) and len(self.b.beats) >= len(self.writes):
                break
            await RisingEdge(self.side.clk)
        await self.side.edges(60)
        assert [beat["data"] for beat in self.r.beats] == self.reads
        assert self.b.beats == self.writes
        assert self.aw.moved[-len(self.writes) :] == subordinate.aw.moved[-len(self.writes) :]
        assert self.ar.moved[-len(self.writes) :] == subordinate.ar.moved[-len(self.writes) :]
        assert all(subordinate.memory[k] == data for k, data in self.written.items())
        assert all(self.begun[k] == data for k, data in subordinate.memory.items())
        assert not subordinate.aw.beats + subordinate.w.beats + subordinate.ar.beats
