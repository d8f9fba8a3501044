"""Tests how a host package reaches a kernel's registers: its own C++, on a stand-in for XRT's."""

import subprocess
import sys
from pathlib import Path

import pytest

from sim.host import xrt
from sim.host.device import DeviceError
from tests.gen.software import pyxrt
from tests.gen.software.generated import poisoned, run, write

SOURCE = Path(xrt.__file__).with_name("xrt_registers.cpp")
UUID = pyxrt.uuid().to_string()
#: what the C++ needs of XRT (xrt_device.h, xrt_uuid.h, xrt_ip.h), with 16 registers
XRT = f"""#pragma once
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <stdexcept>
#include <string>
namespace xrt {{
struct uuid {{ std::string text; explicit uuid(const std::string &t) : text(t) {{}} }};
struct device {{
  int number = -1;
  explicit device(unsigned n) : number(n) {{}}
  explicit device(const std::string &) {{}}
}};
struct ip {{
  uint32_t words[16] = {{}};
  ip(const device &d, const uuid &u, const std::string &name) {{
    if (u.text != "{UUID}" || name != "kernel") throw std::runtime_error("No IP matching " + name);
    words[0] = d.number;
  }}
  uint32_t &at(uint32_t offset) {{
    if (offset >= 64) throw std::out_of_range("outside ip register space");
    return words[offset / 4];
  }}
  uint32_t read_register(uint32_t offset) {{ return at(offset); }}
  void write_register(uint32_t offset, uint32_t word) {{ at(offset) = word; }}
  // as in XRT, a wait with a time leaves the interrupts that have come, which another one takes
  struct interrupt {{
    uint32_t *come;
    std::cv_status wait(const std::chrono::milliseconds &time) const {{
      if (time.count() == 2500) throw std::runtime_error("wait_timeout: failed POSIX poll");
      return *come ? std::cv_status::no_timeout : std::cv_status::timeout;
    }}
    void wait() {{ *come = 0; }}
  }};
  interrupt create_interrupt_notify() {{ return {{words + 1}}; }}
}};
}}
"""


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    folder = tmp_path_factory.mktemp("xrt")
    # where Debian has XRT's own, so that these hide them
    for name in ("xrt/xrt_device.h", "xrt/xrt_uuid.h", "xrt/experimental/xrt_ip.h"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("#include <all.h>\n")
    (folder / "all.h").write_text(XRT)
    built = folder / "libxrt_registers.so"
    flags = ["-std=c++17", "-shared", "-fPIC", "-Wall", "-Wextra", "-Werror", f"-I{folder}"]
    subprocess.run(["g++", *flags, str(SOURCE), "-o", str(built)], check=True)
    return built


@pytest.mark.parametrize(("card", "number"), [("3", 3), ("0000:65:00.1", 0xFFFF_FFFF)])
def test_registers_are_read_and_written(library, card, number):
    registers = xrt.Registers(card, UUID, "kernel", library)
    registers.write(60, 0xFEDC_BA98)
    assert [registers.read(place) for place in (0, 60, 4)] == [number, 0xFEDC_BA98, 0]
    for access in (lambda: registers.read(64), lambda: registers.write(64, 1)):
        with pytest.raises(DeviceError, match="register 0x40 failed: outside ip register space"):
            access()
    registers.close()


def test_an_interrupt_is_waited_for_and_taken(library):
    registers = xrt.Registers("3", UUID, "kernel", library)
    registers.write(4, 2)  # two have come
    assert [registers.wait_interrupt(1.5) for _ in range(3)] == [True, False, False]
    registers.write(4, 1)
    assert registers.wait_interrupt(0)
    with pytest.raises(DeviceError, match="waiting for an interrupt failed: wait_timeout"):
        registers.wait_interrupt(2.5)
    registers.close()


def test_what_xrt_refuses_is_reported(library, tmp_path, monkeypatch):
    with pytest.raises(DeviceError, match="opening kernel other failed: No IP matching other"):
        xrt.Registers("0", UUID, "other", library)
    with pytest.raises(DeviceError, match=r"cannot load .*; it is built by: g\+\+"):
        xrt.Registers("0", UUID, "kernel", tmp_path / "none.so")
    monkeypatch.setitem(sys.modules, "pyxrt", None)
    with pytest.raises(DeviceError, match="XRT's module pyxrt is missing"):
        xrt.direction("TO")
    monkeypatch.setitem(sys.modules, "pyxrt", pyxrt)
    with (
        pytest.raises(DeviceError, match=r"cannot load f\.xclbin into card 7: Could not open"),
        xrt.opened("f.xclbin@7", None),
    ):
        pass


def test_a_package_takes_an_xclbin_for_its_device(tmp_path):
    """The one that is written with a design, in a program that sees nothing of the project."""
    folder = poisoned(tmp_path)
    write("p4sgd-worker", "tiny", folder)
    program = """
import pyxrt, p4sgd_worker_host as host
pyxrt.cards[1] = None
try:
    with host.open_card("f.xclbin@1"):
        pass
except host.DeviceError as error:
    print(pyxrt.loaded, error)
    print(set(host.PLACES) <= set(host.BUILD.__dict__), host.KERNEL.banks)
"""
    result = run(f"sys.path += [{str(Path(pyxrt.__file__).parent)!r}]\n{program}", folder)
    error, described = result.stdout.splitlines() or [result.stderr, ""]
    assert error.startswith("['f.xclbin'] cannot load")
    assert "libxrt_registers.so" in error
    assert described == "True ('HBM[0]', 'HBM[10]', 'HBM[21]')"
