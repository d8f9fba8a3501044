"""Has a bank whose beats bring what is known of their packet only later."""

from amaranth.lib import data, stream
from amaranth.lib.wiring import In, connect, flipped

from hdl.allreduce.wide_bank import WideBank
from hdl.allreduce.wide_params import WideParams, WideVerdict
from hdl.common.arithmetic import delay
from hdl.common.component import Component
from hdl.common.streams import forward

LATE = ("everyone", "refused")


class JudgedBank(Component):
    """Shows the bank each beat's ``everyone`` and ``refused`` when they are due."""

    def __init__(self, params: WideParams) -> None:
        self.bank = bank = WideBank(params)
        self.latency = bank.latency
        more = {"everyone": params.ports, "refused": WideVerdict}
        beat = data.StructLayout({**params.beat.members, **more})
        ports = {n: m for n, m in bank.signature.members.items() if n not in LATE}
        super().__init__(params, ports | {"i": In(stream.Signature(beat))})

    def build(self, m):
        m.submodules.bank = bank = self.bank
        beat, taken = self.i.payload, bank.i.payload.shape().members
        m.d.comb += forward(self.i, bank.i, **{name: beat[name] for name in taken})
        for name in LATE:
            m.d.comb += getattr(bank, name).eq(delay(m, beat[name], bank.lead, name))
        for name in ("answers", "numbers"):
            connect(m, getattr(bank, name), flipped(getattr(self, name)))
        for name in ("clamped", "verdict", "sender"):
            m.d.comb += getattr(self, name).eq(getattr(bank, name))
