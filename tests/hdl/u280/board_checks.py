"""Checks what every top of the board must tell rightly."""

import csv
from pathlib import Path

from gen.board.black_boxes import instances_below
from gen.board.boards import U280_BOARD
from gen.floorplan.hierarchy import Hierarchy
from gen.floorplan.parts import links_of, vendor_outputs
from gen.floorplan.plan import Plan
from gen.floorplan.wires import Wires
from hdl.common.crossing.async_fifo import AsyncFifo
from hdl.common.crossing.gray_crossing import GrayCrossing
from hdl.common.crossing.reset_synchroniser import ResetSynchroniser
from hdl.common.crossing.synchroniser import Synchroniser
from tests.hdl.u280.lint import lint_with_stubs

PINS = Path(__file__).resolve().parents[3] / "constraints" / "u280" / "pins.csv"
CROSSINGS = (GrayCrossing, ResetSynchroniser, AsyncFifo, Synchroniser)


def check_wires_between_dies(emission):
    """No wire runs from the cages to the card's other end, two dies away, without a register."""
    wires = Wires(Hierarchy(emission, Plan(parts=U280_BOARD.parts)), vendor_outputs(emission))
    assert [link for link in links_of(wires) if link.wires and not link.registered] == []


def check_board(board):
    """Lint ``board``, and compare what it tells with what it became; return the emission."""
    emission = lint_with_stubs(board, (*board.vendor_ips, *board.primitives))
    instances = dict(instances_below(emission, emission.top.name))
    check_ports(board, emission)
    check_crossings(board, emission, instances)
    check_clocks(board, instances)
    check_wires_between_dies(emission)
    placed = set(instances.values()) - set(emission.modules)
    assert placed == {ip.name for ip in (*board.vendor_ips, *board.primitives)}
    assert {cell.vlnv for cell in board.primitives} == {""}
    for crossing in board.slr_crossings:
        component = emission.modules[instances[crossing.path]].component
        assert (component.params.stages, component.params.wires) == (
            crossing.stages,
            crossing.wires,
        )
        assert {crossing.source, crossing.target} < set(instances)
    return emission


def check_ports(board, emission):
    """Check that ports are the card's pins, whole."""
    with PINS.open() as file:
        pins = {row["port"] for row in csv.DictReader(file)}
    for port in emission.top.ports:
        bits = [port.name] if port.bits == 1 else [f"{port.name}[{k}]" for k in range(port.bits)]
        assert set(bits) <= pins, port.name
        assert f"{port.name}[{port.bits}]" not in pins
    assert emission.top.domains == ()


def check_crossings(board, emission, instances):
    """Check that each instance in which signals cross has its constraint, and no other has."""
    result = {}
    for path, kind in instances.items():
        component = emission.modules[kind].component if kind in emission.modules else None
        if isinstance(component, CROSSINGS):
            result[path] = component.constraint
    reported = {crossing.path: crossing.constraint for crossing in board.crossings}
    assert reported == result
    assert len(reported) == len(board.crossings)
    clocks = {clock.name for clock in board.clocks} | {"any"}
    assert {name for c in board.crossings for name in (c.source, c.target)} <= clocks


def check_clocks(board, instances):
    """Check that clocks come from ports or from outputs of IP that are there."""
    ips = {ip.name: ip for ip in board.vendor_ips}
    assert len({clock.name for clock in board.clocks}) == len(board.clocks)
    for clock in board.clocks:
        if clock.port:
            assert clock.port in board.signature.members
        else:
            path, _, pin = clock.pin.rpartition("/")
            ports = {port.name: port for port in ips[instances[path]].ports}
            assert ports[pin].direction == "output"


def hbm_ports(board):
    (ip,) = [ip for ip in board.vendor_ips if ip.name == "hbm"]
    return [int(key[-2:]) for key, value in ip.config if "SAXI" in key and value == "true"]
