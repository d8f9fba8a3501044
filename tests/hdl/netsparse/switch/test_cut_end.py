"""Ends packets that a reset has cut: each gets an end, and whole ones pass as they are."""

import random

from cocotb.triggers import RisingEdge

from hdl.netsparse.switch.cut_end import CutEnd
from sim.harness.streams import STALLS, crossed, start
from sim.harness.verilator import simulate

FULL = (1 << 64) - 1  #: tkeep


def test_cut_end():
    simulate(CutEnd(), __name__)


class Bench:
    """Has a source that is reset now and then, as a switch is, and a sink that may wait."""

    def __init__(self, dut, stalls):
        self.dut, (self.source, self.sink) = dut, stalls
        # Packets: numbers of beats; those that came broken, or were cut, end with None.
        self.sent, self.left = [], []
        self.cuts = self.inside = 0

    async def run(self, cycles):
        dut, edge = self.dut, RisingEdge(self.dut.clk)
        number, length, offered, broken, open_ = 0, 0, False, False, []
        for _ in range(cycles):
            if not offered and not self.source():
                length = length or random.choice((1, 1, 2, 5))
                number += 1
                dut.i_tdata.value, offered = number, True
                dut.i_tlast.value = length == 1
                broken = length == 1 and random.random() < 0.1  # it comes with such an end
                dut.i_tuser.value = broken
                dut.i_tkeep.value = random.choice((1, FULL >> random.randrange(63), FULL))
            dut.i_tvalid.value = offered
            dut.o_tready.value = not self.sink()
            cut = random.random() < 0.05
            dut.cut.value = cut
            await edge
            moves = offered and bool(dut.i_tready.value)
            if dut.o_tvalid.value and dut.o_tready.value:
                self.leave()
            if moves:
                open_.append(None if broken else number)
                offered, length = False, length - 1
                if not length:
                    self.sent.append(open_)
                    open_ = []
            if cut:  # what the source has is gone
                self.cuts += 1
                if open_:
                    self.sent.append([*open_, None])
                    self.inside += 1
                offered, length, open_ = False, 0, []

    def leave(self):
        dut = self.dut
        beat = None if dut.o_tuser.value else int(dut.o_tdata.value)
        if not self.left or self.left[-1][1]:
            self.left.append(([], False))
        beats, _ = self.left[-1]
        beats.append(beat)
        self.left[-1] = beats, bool(dut.o_tlast.value)


@crossed(stalls=STALLS)
async def what_is_cut_has_an_end(dut, stalls):
    for name in ("tvalid", "tdata", "tlast", "tuser", "tkeep"):
        getattr(dut, f"i_{name}").value = 0
    dut.cut.value = dut.o_tready.value = 0
    await start(dut)
    for cut in (1, 0, 0):  # where nothing has begun, nothing ends
        dut.cut.value = cut
        await RisingEdge(dut.clk)
        assert not dut.o_tvalid.value
    bench = Bench(dut, stalls.value)
    await bench.run(6000)
    dut.i_tvalid.value = dut.cut.value = 0
    dut.o_tready.value = 1
    await RisingEdge(dut.clk)
    if dut.o_tvalid.value:
        bench.leave()
    whole = [beats for beats, ended in bench.left if ended]
    assert whole == bench.sent[: len(whole)]
    assert len(bench.sent) - len(whole) <= 1  # the last one may be open
    assert bench.inside > 20
