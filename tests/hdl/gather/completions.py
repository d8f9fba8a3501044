"""Lets the host's answers to reads of a gather engine fail, be lost, or come late."""

from cocotb.triggers import ClockCycles
from cocotbext.pcie.core.tlp import CplStatus, TlpType

TIMEOUT = 2000  #: cycles in which a read is answered, or abandoned


class Completions:
    """Passes each completion that has data, with its number, to ``change``: whether it goes on."""

    def __init__(self, bench, change=None):
        self.dut, self.device = bench.dut, bench.card.model.device
        self.count, self.change, self.kept = 0, change, []
        self.device.upstream_port.rx_handler = self.receive

    async def receive(self, tlp):
        if tlp.fmt_type == TlpType.CPL_DATA and self.change is not None:
            self.count += 1
            if not self.change(tlp, self.count):
                tlp.release_fc()
                return
        await self.device.upstream_recv(tlp)

    def keep(self, after=0):
        """Keep all completions behind the first ``after`` ones back."""
        self.change = lambda tlp, count: count <= after or bool(self.kept.append(tlp))

    async def release(self):
        """Let what was kept come, one after the other, and all others as always."""
        self.change = None
        for tlp in self.kept:
            await self.device.upstream_recv(tlp)
            await ClockCycles(self.dut.clk, 5)


async def changed(bench, change=None):
    """Return the completions of a card, which ``change`` changes; those that are late fail."""
    await bench.registers.write(memory_timeout=TIMEOUT)
    return Completions(bench, change)


def poisoned(tlp):
    tlp.ep = True
    return True


def unsupported(tlp):
    return without_data(tlp, CplStatus.UR)


def aborted(tlp):
    return without_data(tlp, CplStatus.CA)


def without_data(tlp, status):
    tlp.fmt_type, tlp.status = TlpType.CPL, status
    tlp.set_data(b"")
    return True


def longer(tlp):
    tlp.byte_count += 64
    return True


def lost(tlp):
    return False
