"""XRT's own tools and library read what a kernel's package says of banks, addresses and arguments.

The metadata are those that ``v++`` makes of a package when it links (``xclbin.py``).
"""

import json
import re
import shutil
import subprocess

import pytest

from gen.commands.generating import Order, generate
from gen.designs.catalogue import find_design
from tests.gen.shells.xclbin import (
    BASE,
    CHANNEL_BITS,
    kernel_of,
    metadata_of,
    packed,
    sections_of,
    write_xclbin,
)
from tests.xrt import compiled, emulating, needs_xrt

#: prints what XRT's library makes of an xclbin: its kernels, and each argument with its memories
PROBE = r"""
#include <experimental/xrt_xclbin.h>
#include <cstdio>
int main(int, char **values) {
  xrt::xclbin file{std::string(values[1])};
  for (auto &kernel : file.get_kernels())
    for (auto &unit : kernel.get_cus()) {
      std::printf("%s %lx %zx\n", unit.get_name().c_str(), unit.get_base_address(),
                  unit.get_size());
      for (auto &arg : unit.get_args())
        for (auto &memory : arg.get_mems())
          std::printf("%s %s %zu %lx %lx %s %lx\n", arg.get_name().c_str(), arg.get_port().c_str(),
                      arg.get_index(), arg.get_offset(), arg.get_size(), memory.get_tag().c_str(),
                      memory.get_base_address());
    }
}
"""


@pytest.fixture(scope="module")
def kernel(tmp_path_factory):
    folder = tmp_path_factory.mktemp("xrt") / "kernel"
    order = Order(design=find_design("p4sgd-worker"), board="vitis", preset="tiny", changes={})
    generate(order, folder)
    write_xclbin(folder, folder / "kernel.xclbin")
    return folder


def run(command, **options):
    return subprocess.run(command, capture_output=True, text=True, timeout=60, **options)


def xclbinutil(*options):
    """Run XRT's tool, or leave the test out: the script of that name does not fail without it."""
    if not shutil.which("xclbinutil") or "XRT" not in run(["xclbinutil", "--version"]).stdout:
        pytest.skip("xclbinutil is missing (of Debian's libxrt-utils only its script is there)")
    result = run(["xclbinutil", "--force", *options])
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout


def test_xclbinutil_takes_the_metadata_of_a_kernel(kernel, tmp_path):
    """What it makes of their JSON are the bytes of the xclbin that other tests use."""
    options, sections = [], sections_of(kernel)
    for name, section in sections.items():
        (tmp_path / name).write_text(json.dumps(section))
        options += ["--add-section", f"{name}:JSON:{tmp_path / name}"]
    (tmp_path / "metadata").write_bytes(metadata_of(kernel))
    options += ["--add-section", f"EMBEDDED_METADATA:RAW:{tmp_path / 'metadata'}"]
    xclbinutil(*options, "--output", tmp_path / "made.xclbin")
    for name, section in sections.items():
        for file in (tmp_path / "made.xclbin", kernel / "kernel.xclbin"):
            dumped = tmp_path / "dumped"
            xclbinutil("--input", file, "--dump-section", f"{name}:JSON:{dumped}")
            assert json.loads(dumped.read_text()) == section
            xclbinutil("--input", file, "--dump-section", f"{name}:RAW:{dumped}")
            assert dumped.read_bytes() == packed(name, section)
    info = xclbinutil("--info", "--input", tmp_path / "made.xclbin")
    used = re.findall(r"Name: +(\S+)\n.*\n.*\n +Base Address: (\S+)\n.*\n +Bank Used: +Yes", info)
    _, _, banks = kernel_of(kernel)
    assert dict(used) == {bank: f"{place(bank):#x}" for bank in banks.values()}


def place(bank):
    """Return the address of the first byte of a channel of HBM."""
    return int(re.fullmatch(r"HBM\[(\d+)\]", bank)[1]) << CHANNEL_BITS


@needs_xrt
def test_xrt_reads_what_the_package_says(kernel, tmp_path):
    (tmp_path / "probe.cpp").write_text(PROBE)
    program = compiled(tmp_path / "probe.cpp", tmp_path / "probe")
    head, *args = run([program, kernel / "kernel.xclbin"]).stdout.splitlines()
    described, instance, banks = kernel_of(kernel)
    registers = described.find("ports/port[@mode='slave']").get("range")
    assert head == f"{described.get('name')}:{instance} {BASE:x} {int(registers, 0):x}"
    pointers = {arg.get("port"): arg for arg in described.iterfind("args/arg")}
    assert args == [
        f"{pointers[port].get('name')} {port} {pointers[port].get('id')}"
        f" {int(pointers[port].get('offset'), 0):x} 8 {bank} {place(bank):x}"
        for port, bank in banks.items()
    ]


#: what ends the example where no card is, by XRT's driver: its output, the library's error
ENDS = {
    "noop": ("loaded, 3 buffers\n", "failed to read ip(0): Operation not permitted"),
    "sw_emu": ("Failed to connect to device process", "XILINX_VITIS environment variable"),
}


@needs_xrt
@pytest.mark.parametrize("mode", ENDS)
def test_the_example_runs_until_a_card_is_needed(kernel, tmp_path, mode):
    """The no-op driver takes the xclbin and buffers in their banks, and has no registers.

    ``sw_emu`` starts a program of Vitis, which is not there.
    """
    program = compiled(kernel / "example.cpp", tmp_path / "example")
    result = run([program, kernel / "kernel.xclbin"], env=emulating(tmp_path, mode), cwd=tmp_path)
    text, error = ENDS[mode]
    assert result.returncode == 1
    assert text in result.stdout
    assert error in result.stderr


@needs_xrt
def test_the_example_says_what_is_wrong(kernel, tmp_path):
    program = compiled(kernel / "example.cpp", tmp_path / "example")
    assert "usage: example FILE.xclbin" in run([program]).stderr
    for path, error in ((kernel / "none.xclbin", "none.xclbin"), (kernel / "filelist.f", "xclbin")):
        result = run([program, path], env=emulating(tmp_path), cwd=tmp_path)
        assert (result.returncode, error in result.stderr) == (1, True), result
        (tmp_path / "lib").unlink()
