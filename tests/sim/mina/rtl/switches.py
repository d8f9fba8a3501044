"""Puts some switches side by side in one simulation, each with a reset of its own."""

from amaranth.hdl import Cat, ClockDomain, ClockSignal, DomainRenamer, Module, ResetSignal
from amaranth.lib.wiring import In, Out, connect, flipped

from hdl.common.axi import AxiLiteSignature
from hdl.common.component import Component
from hdl.common.packets import AXIS
from hdl.common.params import Params
from hdl.p4sgd.switch.registers import switch_registers
from hdl.p4sgd.switch.switch import Switch
from hdl.p4sgd.switch.tenant_params import TenantSwitchParams


class SwitchesParams(Params, suffix="{count}x_{switch.suffix}"):
    """Says how many switches there are, all of one size."""

    switch: TenantSwitchParams
    count: int  #: number of switches, at least 1


#: Of all tests, so that they share a build: three jobs of two hosts each, and the controller.
THREE = SwitchesParams(
    switch=TenantSwitchParams(ports=7, slots=256, jobs=3, ingress_depth=16, egress_depth=16),
    count=3,
)


class Switches(Component):
    """Switch k has the ports ``s_axis_k`` and ``m_axis_k`` and the register bus ``s_axil_k``.

    ``restart`` has a bit for each that resets it alone. ``leaving`` has a bit for each output
    port of each switch, those of switch 0 first: a frame leaves it in this cycle if it is taken.
    """

    def __init__(self, params: SwitchesParams) -> None:
        ports = params.switch.ports
        bits = switch_registers(params.switch).address_bits
        buses = {}
        for k in range(params.count):
            buses |= {
                f"s_axis_{k}": In(AXIS).array(ports),
                f"m_axis_{k}": Out(AXIS).array(ports),
                f"s_axil_{k}": In(AxiLiteSignature(address_bits=bits)),
            }
        count = params.count
        super().__init__(params, **buses, restart=In(count), leaving=Out(count * ports))

    def build(self, m: Module) -> None:
        leaving = []
        for k in range(self.params.count):
            domain = ClockDomain(f"switch_{k}", local=True)
            m.domains += domain
            m.d.comb += [
                domain.clk.eq(ClockSignal()),
                domain.rst.eq(ResetSignal() | self.restart[k]),
            ]
            switch = Switch(self.params.switch)
            m.submodules[f"switch_{k}"] = DomainRenamer(f"switch_{k}")(switch)
            connect(m, flipped(getattr(self, f"s_axil_{k}")), switch.s_axil)
            for port in range(self.params.switch.ports):
                connect(m, flipped(getattr(self, f"s_axis_{k}")[port]), switch.s_axis[port])
                connect(m, switch.m_axis[port], flipped(getattr(self, f"m_axis_{k}")[port]))
                leaving.append(switch.m_axis[port].tvalid)
        m.d.comb += self.leaving.eq(Cat(leaving))
