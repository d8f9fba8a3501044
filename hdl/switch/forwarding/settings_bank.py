"""Holds the settings of ports, classes, groups and codes, which a host sets one at a time."""

from amaranth.hdl import Cat, Module, Signal
from amaranth.lib import data
from amaranth.lib.wiring import In, Out

from hdl.common.arithmetic import low_bits
from hdl.common.component import Component
from hdl.switch.forwarding.params import CODES, DSCPS, GROUPS, PRIORITIES, ForwardingParams
from hdl.switch.forwarding.port_scheduler import LEVEL_BITS, WEIGHT_BITS
from hdl.switch.forwarding.registers import TABLES, forwarding_registers
from hdl.switch.forwarding.settings import settings_layout

#: settings that are chosen, as they are
SHOWN = data.StructLayout(
    {f"{name}_now": bits for _, fields in TABLES.values() for name, bits, _ in fields}
)


class SettingsBank(Component):
    """Holds what ``control`` sets: ``set_port``, ``set_share``, ``set_vlan``, ``set_code``.

    ``control`` are the registers that software writes; ``shown`` are the chosen settings. ``ports``
    are the settings of each port's ingress; ``level`` and ``weight`` those of each class at each
    port, the classes of a port in a row. After a reset all ports are members of group 0 alone, and
    send packets without a VLAN id to it; classes share a port equally; a code's class is its three
    highest bits, divided to fit.
    Latency: a cycle, and another for ``shown``.
    """

    def __init__(self, params: ForwardingParams) -> None:
        registers, shares = forwarding_registers(params), params.ports * params.classes
        super().__init__(
            params,
            {
                "control": In(registers.control),
                "shown": Out(SHOWN),
                "ports": Out(settings_layout(params)).array(params.ports),
                "level": Out(LEVEL_BITS).array(shares),
                "weight": Out(WEIGHT_BITS).array(shares),
            },
        )

    def elaborate(self, platform) -> Module:
        m = Module()
        params, control = self.params, self.control
        share = [
            (control.chosen_port == p) & (control.chosen_class == c)
            for p in range(params.ports)
            for c in range(params.classes)
        ]
        chosen = {
            "port": [control.chosen_port == k for k in range(params.ports)],
            "share": share,
            "vlan": [control.chosen_group == k for k in range(GROUPS)],
            "code": [control.chosen_code == k for k in range(CODES)],
        }
        priorities = [code >> 3 for code in range(DSCPS)] + list(range(PRIORITIES))
        init = {
            "groups": [1] * params.ports,
            "weight": [1] * len(share),
            "code_class": [priority * params.classes // PRIORITIES for priority in priorities],
        }
        held: dict[str, list[Signal]] = {}
        for table, (_, fields) in TABLES.items():
            for name, bits, _ in fields:
                bits = params.class_bits if name == "code_class" else bits
                held[name] = self.hold(m, name, bits, chosen[table], table, init.get(name))
        for port, group in zip(self.ports, held["own_group"], strict=True):
            m.d.comb += [
                port.group.eq(group),
                port.flood_rate.eq(control.flood_rate),
                port.flood_burst.eq(control.flood_burst),
                *(port.vlans[k].vid.eq(vid) for k, vid in enumerate(held["vid"])),
                *(port.vlans[k].used.eq(used) for k, used in enumerate(held["vid_used"])),
                *(port.classes[k].eq(own) for k, own in enumerate(held["code_class"])),
                *(port.members[k].eq(Cat(g[k] for g in held["groups"])) for k in range(GROUPS)),
            ]
        for name in ("level", "weight"):
            m.d.comb += [
                port.eq(own) for port, own in zip(getattr(self, name), held[name], strict=True)
            ]
        return m

    def hold(self, m: Module, name: str, bits: int, chosen, table: str, init) -> list[Signal]:
        """Add the registers of a setting, one for each of ``chosen``, and show the chosen one."""
        control = self.control
        held = []
        for k, is_chosen in enumerate(chosen):
            own = Signal(bits, name=f"{name}_{k}", init=init[k] if init else 0)
            with m.If(control[f"set_{table}"] & is_chosen):
                m.d.sync += own.eq(low_bits(control[name], bits))
            held.append(own)
        shown = Cat(
            Cat(own[bit] & is_chosen for own, is_chosen in zip(held, chosen, strict=True)).any()
            for bit in range(bits)
        )
        m.d.sync += self.shown[f"{name}_now"].eq(shown)
        return held
