"""XRT's own tools and library read what a kernel's package says of banks, addresses and arguments.

The metadata are those that ``v++`` makes of a package when it links (``tests/xrt.py``).
"""

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from tests import xrt

PROBE = Path(__file__).with_name("xclbin_probe.cpp")


@pytest.fixture(scope="module")
def kernel(tmp_path_factory):
    return xrt.packaged(tmp_path_factory.mktemp("xrt") / "kernel").parent


def run(command, env=None):
    return subprocess.run(command, capture_output=True, text=True, timeout=60, env=env)


def xclbinutil(*options):
    """Run XRT's tool, or leave the test out: the script of that name does not fail without it."""
    if not shutil.which("xclbinutil") or "XRT" not in run(["xclbinutil", "--version"]).stdout:
        pytest.skip("xclbinutil is missing (of Debian's libxrt-utils only its script is there)")
    result = run(["xclbinutil", "--force", *options])
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout


def test_xclbinutil_reads_and_makes_the_metadata(kernel, tmp_path):
    """What it makes of the JSON that it has read are the same bytes."""
    options, shown, sections = [], {}, xrt.sections_of(kernel)
    for name in sections:
        kind, path = "RAW" if name == "EMBEDDED_METADATA" else "JSON", tmp_path / name
        xclbinutil("--input", kernel / "kernel.xclbin", "--dump-section", f"{name}:{kind}:{path}")
        options += ["--add-section", f"{name}:{kind}:{path}"]
        if kind == "JSON":
            _, shown[name] = json.loads(path.read_text())[name.lower()].values()
    described, _, banks = xrt.kernel_of(kernel)
    args = {arg.get("id"): arg.get("port") for arg in described.iterfind("args/arg")}
    memories = shown["MEM_TOPOLOGY"]
    assert all(int(m["m_base_address"], 0) == place(m["m_tag"]) for m in memories)
    connected = [
        (args[row["arg_index"]], memories[int(row["mem_data_index"])]["m_tag"])
        for row in shown["CONNECTIVITY"]
    ]
    assert connected == [*banks.items()]
    xclbinutil(*options, "--output", tmp_path / "made.xclbin")
    for name, section in sections.items():
        raw = tmp_path / "raw"
        xclbinutil("--input", tmp_path / "made.xclbin", "--dump-section", f"{name}:RAW:{raw}")
        assert raw.read_bytes() == section
    info = xclbinutil("--info", "--input", tmp_path / "made.xclbin")
    assert info.count("Bank Used:    Yes") == len(banks)


def place(bank):
    """Return the address of the first byte of a channel of HBM."""
    return int(bank[4:-1]) << xrt.CHANNEL_BITS


@xrt.needs_xrt
def test_xrt_reads_what_the_package_says(kernel, tmp_path):
    program = xrt.compiled(PROBE, tmp_path / "probe")
    head, *args = run([program, kernel / "kernel.xclbin"]).stdout.splitlines()
    described, unit, banks = xrt.kernel_of(kernel)
    registers = described.find("ports/port[@mode='slave']").get("range")
    assert head == f"{described.get('name')}:{unit} {xrt.BASE:x} {int(registers, 0):x}"
    pointers = {arg.get("port"): arg for arg in described.iterfind("args/arg")}
    assert args == [
        f"{pointers[port].get('name')} {port} {pointers[port].get('id')}"
        f" {int(pointers[port].get('offset'), 0):x} 8 {bank} {place(bank):x}"
        for port, bank in banks.items()
    ]


@xrt.needs_xrt
def test_the_example_runs_until_registers_are_needed(kernel, tmp_path):
    """XRT's no-op driver takes the xclbin, and buffers in their banks."""
    example = xrt.compiled(kernel / "example.cpp", tmp_path / "example")
    result = run([example, kernel / "kernel.xclbin"], env=xrt.emulating(tmp_path))
    assert result.stdout == "loaded, 3 buffers\n"
    error = "example: failed to read ip(0): Operation not permitted\n"
    assert (result.returncode, result.stderr) == (1, error)
