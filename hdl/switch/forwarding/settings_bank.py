"""Holds the settings of ports, classes, groups and codes, which a host sets one at a time."""

from amaranth.hdl import Cat, Module, Signal, Value
from amaranth.lib import data
from amaranth.lib.wiring import In, Out

from hdl.common.component import Component
from hdl.switch.forwarding.params import CODES, DSCPS, GROUPS, PRIORITIES, ForwardingParams
from hdl.switch.forwarding.port_scheduler import LEVEL_BITS, WEIGHT_BITS
from hdl.switch.forwarding.registers import TABLES, forwarding_registers
from hdl.switch.forwarding.settings import settings_layout

#: settings that are chosen, as they are
SHOWN = data.StructLayout(
    {f"{name}_now": bits for _, fields in TABLES.values() for name, bits, _ in fields}
)


def controls(params: ForwardingParams) -> data.StructLayout:
    """Describe the fields that software writes of which the settings are made."""
    control = forwarding_registers(params).control.members
    own = {f"set_{table}" for table in TABLES} | {
        name.removesuffix("_now") for name in SHOWN.members
    }
    own -= {"code_class"}
    own |= {name for name in control if name.startswith(("chosen_", "flood_"))}
    layout = {name: shape for name, shape in control.items() if name in own}
    return data.StructLayout(layout | {"code_class": params.class_bits})


class SettingsBank(Component):
    """Holds what ``control`` sets: ``set_port``, ``set_share``, ``set_vlan``, ``set_code``.

    ``control`` are the registers that software writes; ``shown`` are the chosen settings. ``ports``
    are the settings of each port's ingress; ``level`` and ``weight`` those of each source at each
    port, the sources of a port in a row: its classes, then the engines. After a reset all ports are
    members of group 0 alone, and send packets without a VLAN id to it; sources share a port
    equally; a code's class is its three highest bits, divided to fit.
    Latency: a cycle, and another for ``shown``.
    """

    def __init__(self, params: ForwardingParams) -> None:
        shares = params.ports * params.sources
        super().__init__(
            params,
            control=In(controls(params)),
            shown=Out(SHOWN),
            ports=Out(settings_layout(params)).array(params.ports),
            level=Out(LEVEL_BITS).array(shares),
            weight=Out(WEIGHT_BITS).array(shares),
        )

    def build(self, m: Module) -> None:
        params, control = self.params, self.control
        # the fields that choose an entry of each table, and their value for each entry
        chosen = {
            "port": (control.chosen_port, range(params.ports)),
            "share": (
                Cat(control.chosen_source, control.chosen_port),
                [
                    port << len(control.chosen_source) | source
                    for port in range(params.ports)
                    for source in range(params.sources)
                ],
            ),
            "vlan": (control.chosen_group, range(GROUPS)),
            "code": (control.chosen_code, range(CODES)),
        }
        priorities = [code >> 3 for code in range(DSCPS)] + list(range(PRIORITIES))
        init = {
            "groups": [1] * params.ports,
            "weight": [1] * params.ports * params.sources,
            "code_class": [priority * params.classes // PRIORITIES for priority in priorities],
        }
        held: dict[str, list[Signal]] = {}
        for table, (_, fields) in TABLES.items():
            for name, *_ in fields:
                bits = len(Value.cast(control[name]))
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

    def hold(self, m: Module, name: str, bits: int, chosen, table: str, init) -> list[Signal]:
        """Add the registers of a setting, one for each value of ``chosen``; show the chosen one."""
        control, shown = self.control, self.shown[f"{name}_now"]
        field, values = chosen
        held = [
            Signal(bits, name=f"{name}_{k}", init=init[k] if init else 0)
            for k in range(len(values))
        ]
        m.d.sync += shown.eq(0)
        with m.Switch(field):
            for value, own in zip(values, held, strict=True):
                with m.Case(value):
                    m.d.sync += shown.eq(own)
                    with m.If(control[f"set_{table}"]):
                        m.d.sync += own.eq(control[name])
        return held
