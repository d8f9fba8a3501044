"""Puts a plugin, as it is generated, into OpenNIC's box: the shell's own or a stand-in."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cocotb.clock import Clock

from gen.commands.generating import Order
from gen.designs.catalogue import find_design
from gen.shells.opennic.package import plugin_files
from hdl.opennic.address_map import AddressMap
from hdl.opennic.box import PORTS, STREAMS, box_ports, mac_bit
from hdl.opennic.registers import BASE
from sim.harness.assembly import Assembly, together
from sim.harness.axi_master import CompiledMaster
from sim.harness.axi_streams import AxiSink, AxiSource
from sim.harness.register_driver import RegisterDriver
from sim.harness.streams import edges, never, until
from tests.hdl.common.crossing.clocks import Side
from tests.hdl.opennic.packets import box_beats, packets_of

#: a checkout of open-nic-shell, whose own box is used then
CHECKOUT = os.environ.get("OPENNIC", "") and os.path.abspath(os.environ["OPENNIC"])
#: what stands for the shell's file
BOX = """
module box_250mhz #(
  parameter USE_PHYS_FUNC = 1, NUM_QDMA = 1, NUM_PHYS_FUNC = 1, NUM_CMAC_PORT = 1
) (
%s
);
  wire internal_box_rstn = box_rstn;
  assign box_rst_done = box_rstn;
  `include "box_250mhz_address_map_inst.vh"
  `include "user_plugin_250mhz_inst.vh"
endmodule
"""
BENCH = f"""
module box_bench (
%s
);
  box_250mhz #(.NUM_PHYS_FUNC({PORTS}), .NUM_CMAC_PORT({PORTS})) box (
%s
  );
endmodule
"""
#: ports of the bench: clocks by other names, and what AXI4-Lite has elsewhere
CLOCKS = {"axis_aclk": "clk", "axil_aclk": "axil_clk"}
MORE = {"rst": 1, "axil_rst": 1, "s_axil_wstrb": 4, "s_axil_awprot": 3, "s_axil_arprot": 3}


@dataclass(frozen=True, kw_only=True)
class BoxParams:
    """Says which design is in the box, and where the shell is, if its own box is used."""

    design: str
    params: Any
    shell: str = ""


class Box(Assembly):
    """Has a design's plugin in the box, with each stream of the box as two."""

    params: BoxParams

    def emission(self, emit):
        design = find_design(self.params.design)
        plugin = find_plugin(design, self.params.params)
        emission = emit(plugin)
        files = plugin_files(emission, design)
        shell = self.params.shell and Path(self.params.shell)
        texts = {}
        if shell:
            texts["generic_reset"] = quiet((shell / "src/utility/generic_reset.sv").read_text())
            box = quiet((shell / "src/box_250mhz/box_250mhz.sv").read_text())
        else:
            box = BOX % ",\n".join(declared(n, d, b) for n, (d, b) in box_ports().items())
        for name, text in files.items():
            if name.endswith(".vh"):
                box = box.replace(f'`include "{Path(name).name}"', str(text))
        return together(
            (plugin, AddressMap(plugin.address_map)),
            texts | {"box_250mhz": box, "box_bench": bench_text()},
            emit,
        )


def tiny(design):
    """Return the box with the smallest preset of a design; CHECKOUT has the box if it is set."""
    order = Order(design=find_design(design), board="opennic", preset="tiny", changes={})
    return Box(BoxParams(design=design, params=order.params(), shell=CHECKOUT))


def find_plugin(design, params):
    """Return the component that a design is in the box."""
    from gen.shells.shells import SHELLS

    return SHELLS["opennic"].find(design.name).make(params)


def quiet(text):
    """Return a file of the shell's as Verilator takes it, whose findings there are not ours."""
    text = text.replace("`timescale 1ns/1ps\n", "")
    rules = ("GENUNNAMED", "UNUSEDPARAM")
    off, on = (
        "".join(f"/* verilator lint_{state} {rule} */\n" for rule in rules)
        for state in ("off", "on")
    )
    return f"`define __au280__\n{off}{text}{on}"


def declared(name, direction, bits):
    return f"  {direction} wire [{bits - 1}:0] {name}"


def bench_text():
    ports, connected = [], []
    for name, (direction, bits) in box_ports().items():
        bus = next((bus for bus in STREAMS if name.startswith(bus)), None)
        if bus is None:
            port = CLOCKS.get(name, name)
            ports.append(declared(port, direction, bits))
            connected.append(f"    .{name}({port})")
            continue
        parts = [f"{bus}_{k}{name.removeprefix(bus)}" for k in range(PORTS)]
        ports += [declared(part, direction, bits // PORTS) for part in parts]
        connected.append(f"    .{name}({{{', '.join(reversed(parts))}}})")
    ports += [declared(name, "input", bits) for name, bits in MORE.items()]
    return BENCH % (",\n".join(ports), ",\n".join(connected))


class At:
    """Is a master of the host's whose accesses begin at an address of the box's window."""

    def __init__(self, master, base):
        self.master, self.base = master, base

    def read(self, address, length):
        return self.master.read(self.base + address, length)

    def write(self, address, data):
        return self.master.write(self.base + address, data)


class BoxBench:
    """Has the sides of the shell: MACs, which store packets, and the functions of QDMA."""

    def __init__(self, dut, plugin_map, source=never, sink=never):
        self.dut = dut
        of = {
            n: (AxiSource if n[0] == "s" else AxiSink, source if n[0] == "s" else sink)
            for n in STREAMS
        }
        self.h2c, self.c2h, self.tx, self.rx = (
            [kind(dut, f"{name}_{k}", stall=stall) for k in range(PORTS)]
            for name, (kind, stall) in of.items()
        )
        self.side = Side(dut, "axil")
        self.master = CompiledMaster(self.side, "s_axil")
        self.plugin = RegisterDriver(self.side, At(self.master, BASE), plugin_map)

    async def begin(self):
        dut = self.dut
        for name in ("rst", "axil_rst"):
            getattr(dut, name).value = 0
        dut.mod_rstn.value = 0xFFFF
        dut.box_rstn.value = 0
        Clock(dut.clk, 4000, unit="ps", impl="gpi").start()
        Clock(dut.axil_clk, 8000, unit="ps", impl="gpi").start()
        await self.side.edges(4)
        dut.box_rstn.value = 1
        await self.side.edges(4)
        await until(self.side.clk, dut.box_rst_done, 1)
        await self.reset()
        return self

    async def reset(self):
        """Reset the plugin as the shell does: by a cycle of its reset pair, until it is done."""
        dut = self.dut
        await self.side.edges(1)
        dut.mod_rstn.value = 0xFFFE
        await self.side.edges(1)
        dut.mod_rstn.value = 0xFFFF
        await self.side.edges(2)
        await until(self.side.clk, dut.mod_rst_done, 0xFFFF)
        await self.side.edges(20)

    def from_mac(self, k, octets, **more):
        self.rx[k].extend(box_beats(octets, src=mac_bit(k), **more))

    def from_host(self, k, octets, **more):
        self.h2c[k].extend(box_beats(octets, src=1 << k, **more))

    def watch(self, k, reported):
        """Call ``reported`` with the octets of each packet that leaves by MAC ``k``."""
        beats = []

        def moved(beat):
            beats.append(beat)
            if beat["tlast"]:
                (octets,) = packets_of(beats, src=[0, 1 << k], dst=mac_bit(k))
                beats.clear()
                reported(octets)

        self.tx[k].add_callback(moved)

    async def wait(self, cycles=1):
        await edges(self.dut.clk, cycles)
