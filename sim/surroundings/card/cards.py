"""Simulates whole cards: their tops around models of the vendor's IP, fibres between cages."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from gen.base.emission.emit import Emission, module_name
from hdl.common.component import Component
from hdl.common.core_clock import CORE_MHZ
from hdl.u280.gather_board import GatherBoard
from hdl.u280.mac_resets import MacResetsParams
from hdl.u280.netsparse_switch_board import NetSparseSwitchBoard
from hdl.u280.network_switch_board import NetworkSwitchBoard
from hdl.u280.snic_board import SnicBoard
from hdl.u280.switch_board import SwitchBoard
from hdl.u280.switchgnn_endpoint_board import EndpointBoard
from hdl.u280.switchgnn_switch_board import GnnSwitchBoard
from hdl.u280.worker_board import WorkerBoard
from sim.harness.assembly import Assembly, together
from sim.harness.results import Run
from sim.harness.verilator import simulate
from sim.surroundings.card.ip_models import RAMS, SOURCES, model_of

#: Reset times in a simulation, a ten thousandth of the cards'; all else of the tops is unchanged.
QUICK = MacResetsParams(settle=150, patience=400, pulse=50)


def quick(board: type[Any]) -> type[Any]:
    """Return a top with the MAC resets of a card shortened for simulation."""
    same = {name: getattr(board, name) for name in ("__doc__", "__module__")}
    return type(f"Quick{board.__name__}", (board,), same | {"mac_resets": QUICK})


TOPS = {
    "worker": quick(WorkerBoard),
    "switch": quick(SwitchBoard),
    "snic": quick(SnicBoard),
    "netsparse_switch": quick(NetSparseSwitchBoard),
    "network_switch": quick(NetworkSwitchBoard),
    "gnn_switch": quick(GnnSwitchBoard),
    "endpoint": quick(EndpointBoard),
    "gather": GatherBoard,
}
CLOCKS = {"oscillator": 10_000, "pcie_refclk": 10_000, "qsfp_refclk": 6206}  #: periods in ps
End = tuple[int, int]  #: an end of a fibre: number of the card, cage


@dataclass(frozen=True, kw_only=True)
class CardsParams:
    """Names the cards, and the fibres between their cages."""

    cards: tuple[tuple[str, Any], ...]  #: kind, one of TOPS, and the design's parameters
    fibres: tuple[tuple[End, End], ...] = ()
    stations: tuple[End, ...] = ()  #: cages with a station (far_end.sv) instead of a card
    core_mhz: float = CORE_MHZ  #: clock of the cores that have one of their own

    @property
    def boards(self) -> list[Any]:
        """Return the tops of the cards."""
        kinds = ((TOPS[kind], params) for kind, params in self.cards)
        return [
            (kind.clocked(self.core_mhz) if kind.own_clock else kind)(params)
            for kind, params in kinds
        ]

    @property
    def far_ends(self) -> dict[End, End]:
        """Map each cage in use to the cage or station at the other end of its fibre."""
        return dict(self.fibres) | {far: near for near, far in self.fibres}


def cards_text(params: CardsParams) -> str:
    """Return the Verilog of ``cards``: tops ``card_<k>`` with what servers and cables give them.

    ``reset_n`` is PCI Express's, of all; ``cattrip`` has the cards' temperature pins. A cage's
    reference clock is there while its oscillator is enabled and set to 161.13 MHz, and right a
    while later.
    """
    boards = params.boards
    lines = ["module cards ("]
    lines += [f"  input {name}," for name in (*CLOCKS, "reset_n")]
    lines += [f"  output [{len(boards) - 1}:0] cattrip\n);"]
    for k, board in enumerate(boards):
        lines.append(f"  wire [15:0] lanes_p_{k}, lanes_n_{k};")
        for cage in board.cages:
            of = f"{k}_{cage.cage}"
            lines.append(f"  wire [3:0] tx_p_{of}, tx_n_{of}; wire off_{of}, fast_{of};")
            lines.append(f"  wire reference_{of};")
            lines.append(
                f"  card_oscillator oscillator_{of} (.right(qsfp_refclk), .wrong(oscillator),"
                f" .on(~off_{of} & fast_{of}), .clk(reference_{of}));"
            )
            if (k, cage.cage) in params.stations:
                lines.append(f"  wire [3:0] far_p_{of}, far_n_{of};")
                lines.append(
                    f"  card_far_end far_{of} (.rx_p(tx_p_{of}), .rx_n(tx_n_{of}),"
                    f" .tx_p(far_p_{of}), .tx_n(far_n_{of}));"
                )
    lines += [card_text(k, board, params) for k, board in enumerate(boards)]
    return "\n".join([*lines, "endmodule\n"])


def card_text(k: int, board: Any, params: CardsParams) -> str:
    """Return the Verilog of instance ``card_<k>``."""
    wires = {"pcie_reset_n": "reset_n", "hbm_cattrip": f"cattrip[{k}]"}
    wires |= {"pcie_rx_p": "16'hFFFF", "pcie_rx_n": "16'h0000"}
    wires |= {f"pcie_tx_{pole}": f"lanes_{pole}_{k}" for pole in "pn"}
    clocks = {"clk_100mhz_0": "oscillator", "pcie_refclk_1": "pcie_refclk"}
    for cage in (cage.cage for cage in board.cages):
        of, pins = f"{k}_{cage}", f"qsfp{cage}"
        clocks[f"{pins}_mgt_refclk_1"] = f"reference_{of}"
        wires |= {f"{pins}_refclk_oe_b": f"off_{of}", f"{pins}_refclk_fs": f"fast_{of}"}
        for pole in "pn":
            far = params.far_ends.get((k, cage))
            wires[f"{pins}_tx_{pole}"] = f"tx_{pole}_{of}"
            wires[f"{pins}_rx_{pole}"] = f"tx_{pole}_{far[0]}_{far[1]}" if far else "4'b0"
            if (k, cage) in params.stations:
                wires[f"{pins}_rx_{pole}"] = f"far_{pole}_{of}"
    for name, clock in clocks.items():
        wires |= {f"{name}_p": clock, f"{name}_n": f"~{clock}"}
    pins = ", ".join(f".{name}({wire})" for name, wire in wires.items())
    return f"  {module_name(board)} card_{k} ({pins});"


class Cards(Assembly):
    """Assembles cards with a model for each IP that they place."""

    params: CardsParams

    def emission(self, emit: Callable[[Component], Emission]) -> Emission:
        """Return tops, models and their memories; raise ValueError if two IPs have one name."""
        boards = self.params.boards
        models: dict[str, str] = {}
        for ip in (ip for board in boards for ip in board.vendor_ips):
            text = model_of(ip)
            if models.setdefault(ip.name, text) != text:
                raise ValueError(f"the cards have two different IPs {ip.name}: simulate them apart")
        return together((*RAMS, *boards), models | {"cards": cards_text(self.params)}, emit)


def simulate_cards(
    params: CardsParams, blocks: Sequence[Component], test_module: str, **more: Any
) -> Run:
    """Simulate cards with the cocotb tests of ``test_module``.

    ``blocks`` are components that Verilator translates once each; ``more`` goes to
    :func:`sim.harness.verilator.simulate`.
    """
    __tracebackhide__ = True
    return simulate(
        Cards(params),
        test_module,
        extra_sources=SOURCES,
        hier_blocks=[module_name(block) for block in blocks],
        timing=True,
        **more,
    )
