"""Runs a package's example in C++ on the simulated kernel, by XRT's own library.

XRT opens its no-op driver, loads an xclbin, and has the buffers. ``xrt_on_rtl.cpp`` leads registers
and copies of buffers to the simulation.
"""

import os
import socket
import struct
import subprocess
from pathlib import Path

import cocotb
from cocotb.task import bridge

from gen.designs.catalogue import find_design
from sim.harness.streams import start
from sim.harness.verilator import simulate
from sim.host.simulated import SimulatedRegisters
from sim.p4sgd.train import cluster_params
from tests.hdl.vitis.cards import Card
from tests.hdl.vitis.kernel_cluster import KernelCluster, KernelClusterParams
from tests.xrt import compiled, emulating, needs_xrt, packaged

FOLDER = "INGATHER_TEST_EXAMPLE"  #: variable of the environment with the example's folder
OUTLIVES_RESET = "the host's software runs in a thread, which goes on when its test is cancelled"
SHIM = Path(__file__).with_name("xrt_on_rtl.cpp")


@needs_xrt
def test_example(tmp_path):
    packaged(tmp_path / "kernel")
    compiled(tmp_path / "kernel" / "example.cpp", tmp_path / "example")
    compiled(SHIM, tmp_path / "shim.so", "-shared", "-fPIC")
    worker = find_design("p4sgd-worker").params_of("tiny")
    params = KernelClusterParams(cluster=cluster_params(worker, 2), boxed=True)
    simulate(KernelCluster(params), __name__, env={FOLDER: str(tmp_path)})


def serve(client, card):
    """Carry out what the shim requests until it closes the socket."""
    stream = client.makefile("rwb")
    while head := stream.read(16):
        kind, size, place = struct.unpack("<IIQ", head)
        if chr(kind) == "r":
            stream.write(struct.pack("<I", card.registers.read(place)))
        elif chr(kind) == "w":
            card.registers.write(place, int.from_bytes(stream.read(4), "little"))
        elif chr(kind) == "R":
            stream.write(card.read(place, size))
        else:
            card.write(place, stream.read(size))
        stream.flush()


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def the_example_copies_through_the_model(dut):
    card = Card(dut, ["model"], SimulatedRegisters(dut, "kernel_0_s_axil"), "kernel_0_")
    dut.link.value = 0
    await start(dut)
    folder = Path(os.environ[FOLDER])

    def program():
        near, far = socket.socketpair()
        with near:
            with far:
                number = far.fileno()
                more = {"LD_PRELOAD": str(folder / "shim.so"), "XRT_ON_RTL": str(number)}
                command = [folder / "example", folder / "kernel" / "kernel.xclbin"]
                options = {"env": emulating(folder) | more, "pass_fds": [number], "text": True}
                running = subprocess.Popen(command, stdout=subprocess.PIPE, **options)
            serve(near, card)
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
    assert card.read(0x3000_0000, 32) == struct.pack("<8I", *range(1, 9))
