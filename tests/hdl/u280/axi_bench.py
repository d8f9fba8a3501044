"""Masters and memories of cocotbext-axi on AXI4, and on AXI3, whose lengths are shorter."""

from cocotb.triggers import RisingEdge
from cocotbext.axi import AxiBus, AxiMaster, AxiRam

from sim.harness.streams import mostly, often


class Wide:
    """Shows the length of AXI3's bursts where a model looks for AXI4's."""

    def __init__(self, handle):
        self.handle = handle

    def __len__(self):
        return 8

    def __getattr__(self, name):
        return getattr(self.handle, name)


class Widened:
    """The design, with the lengths of its bursts as a model wants them."""

    def __init__(self, dut):
        self.dut = dut

    def __dir__(self):
        return dir(self.dut)

    def __getattr__(self, name):
        handle = getattr(self.dut, name)
        return Wide(handle) if name.endswith("len") and len(handle) < 8 else handle


def pause(part, stall):
    """Let every channel of a model pause when ``stall`` says so, and long where it does often."""
    stall = mostly if stall is often else stall
    for interface in (part.read_if, part.write_if):
        interface.log.setLevel("WARNING")
        for name in ("ar", "r", "aw", "w", "b"):
            if item := getattr(interface, f"{name}_channel", None):
                item.set_pause_generator(iter(stall, None))


def master(side, prefix, stall, **options):
    """A master on the bus ``prefix`` of a clock's ``side``."""
    built = AxiMaster(AxiBus.from_prefix(Widened(side), prefix), side.clk, side.rst, **options)
    pause(built, stall)
    return built


def memory(side, prefix, stall, size):
    """A memory of ``size`` bytes, likewise."""
    built = AxiRam(AxiBus.from_prefix(Widened(side), prefix), side.clk, side.rst, size=size)
    pause(built, stall)
    return built


async def give(side, channel, **values):
    """Send one beat of a channel, as a memory sends it that has an opinion of its own."""
    for name, value in values.items():
        getattr(side, channel + name).value = value
    getattr(side, f"{channel}valid").value = 1
    moved = False
    while not moved:
        await RisingEdge(side.clk)
        moved = bool(getattr(side, f"{channel}ready").value)
    getattr(side, f"{channel}valid").value = 0


async def take(side, channel, names, stall, beats):
    """Take every beat of a channel from now on: the values of ``names``."""
    while True:
        getattr(side, f"{channel}ready").value = ready = not stall()
        await RisingEdge(side.clk)
        if ready and getattr(side, f"{channel}valid").value:
            beats.append(tuple(int(getattr(side, channel + name).value) for name in names))
