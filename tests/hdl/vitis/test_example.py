"""Runs a package's example in C++ on the simulated kernel, by XRT's own library.

XRT opens its no-op driver, loads an xclbin, and has the buffers. ``xrt_on_rtl.cpp`` leads registers
and copies of buffers to the simulation.
"""

import os
import socket
import struct
import subprocess
import tempfile
from pathlib import Path

import cocotb
from cocotb.task import bridge
from cocotbext.axi import AxiBus, AxiRam

from gen.commands.generating import Order, generate
from gen.designs.catalogue import find_design
from sim.harness.streams import start
from sim.harness.verilator import simulate
from sim.host.quiet import quiet
from sim.host.simulated import SimulatedRegisters
from sim.p4sgd.train import cluster_params
from tests.gen.shells.xclbin import write_xclbin
from tests.hdl.vitis.kernel_cluster import KernelCluster, KernelClusterParams
from tests.xrt import compiled, emulating, needs_xrt

WORKERS = 2  #: of the cluster, of which one is used
MODEL = "kernel_0_m_axi_model"
FOLDER = "INGATHER_TEST_EXAMPLE"  #: variable of the environment with the example's folder
OUTLIVES_RESET = "the host's software runs in a thread, which goes on when its test is cancelled"
SECONDS = 60  #: the longest until the example has loaded the xclbin
SHIM = Path(__file__).with_name("xrt_on_rtl.cpp")


@needs_xrt
def test_example(tmp_path):
    order = Order(design=find_design("p4sgd-worker"), board="vitis", preset="tiny", changes={})
    generate(order, tmp_path / "kernel")
    write_xclbin(tmp_path / "kernel", tmp_path / "kernel.xclbin")
    compiled(tmp_path / "kernel" / "example.cpp", tmp_path / "example")
    compiled(SHIM, tmp_path / "shim.so", "-shared", "-fPIC")
    cluster = cluster_params(order.params(), WORKERS)
    params = KernelClusterParams(cluster=cluster, boxed=True)
    simulate(KernelCluster(params), __name__, env={FOLDER: str(tmp_path)})


def serve(client, registers, memory):
    """Carry out what the shim requests until it closes the socket."""
    stream = client.makefile("rwb")
    while head := stream.read(16):
        kind, size, place = struct.unpack("<IIQ", head)
        if chr(kind) == "r":
            stream.write(registers.read(place).to_bytes(4, "little"))
        elif chr(kind) == "w":
            registers.write(place, int.from_bytes(stream.read(4), "little"))
        elif chr(kind) == "R":
            stream.write(memory.read(place, size))
        else:
            memory.write(place, stream.read(size))
        stream.flush()


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def the_example_copies_through_the_model(dut):
    registers = SimulatedRegisters(dut, "kernel_0_s_axil")
    quiet(dut, MODEL)
    memory = AxiRam(AxiBus.from_prefix(dut, MODEL), dut.clk, dut.rst, size=1 << 30)
    dut.link.value = 0
    await start(dut)
    folder = Path(os.environ[FOLDER])

    def program():
        with (
            tempfile.TemporaryDirectory() as short,  # as the path of a socket must be
            socket.socket(socket.AF_UNIX) as listener,
        ):
            listener.bind(place := f"{short}/socket")
            listener.listen()
            listener.settimeout(SECONDS)
            more = {"LD_PRELOAD": str(folder / "shim.so"), "XRT_ON_RTL": place}
            running = subprocess.Popen(
                [folder / "example", folder / "kernel.xclbin"],
                env=emulating(folder) | more,
                stdout=subprocess.PIPE,
                text=True,
            )
            with listener.accept()[0] as client:
                serve(client, registers, memory)
            return running.communicate()[0], running.wait()

    text, code = await bridge(program)()
    assert code == 0
    assert text.splitlines() == [
        "loaded, 3 buffers",
        "m_axi_words_0: HBM[0] at 0x10000000",
        "m_axi_labels: HBM[10] at 0x20000000",
        "m_axi_model: HBM[21] at 0x30000000",
        "dropped packets: 0",
    ]
    assert memory.read(0x3000_0000, 32) == struct.pack("<8I", *range(1, 9))
