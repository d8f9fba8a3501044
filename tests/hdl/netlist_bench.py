"""Checks a component that only connects: what it places is driven at random, and inputs compared.

Each thing placed becomes an empty module, whose outputs the test sets. A table says of each of its
inputs, and of each pin of the component, which outputs it must be. What the component has registers
for is looked at after a clock, through which all that is driven stands still; an expression may
name what was driven up to ``BEFORE`` clocks ago.
"""

import json
import os
import random
import re
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace

import cocotb
from cocotb.triggers import Timer

from gen.base.emission.emit import Emission, EmittedModule, Port
from hdl.u280.clock_ip import REFCLK_BUFFER
from sim.harness.assembly import Assembly, Written
from sim.harness.emissions import emission_of
from sim.harness.verilator import simulate

PINS = "pins"  #: the component itself, among the instances
TABLE = "INGATHER_TABLE"
ROUNDS = 40
BEFORE = 3  # clocks that are remembered
RESETS = 0.25  # of the rounds, in a component whose registers are looked at
#: what a slave is told by a master that does not say it (UG1037, "AXI4 signals", recommended use)
UNSAID = {"awcache": "3", "arcache": "3"}


@dataclass(frozen=True, kw_only=True)
class NetlistParams:
    """Says which component that only connects is under test."""

    subject: type
    params: object


class Netlist(Assembly):
    """Is the component, around empty modules."""

    @property
    def subject(self):
        return self.params.subject(self.params.params)

    def emission(self, emit):
        whole = emit(self.subject)
        modules = {}
        for kind, ports in self.ports(whole).items():
            # What is empty is no component, of which coverage would be measured.
            known = whole.modules[kind].ports if kind in whole.modules else []
            modules[kind] = EmittedModule(
                kind, Written, ports=known, verilog=empty_text(kind, ports)
            )
        return Emission(modules | {whole.top.name: whole.top})

    def ports(self, whole):
        """Return the ports of each kind of module that is placed, the vendor's among them."""
        ips = {ip.name: ip for ip in (*getattr(self.subject, "vendor_ips", ()), REFCLK_BUFFER)}
        return {
            kind: whole.modules[kind].ports if kind in whole.modules else ports_of(ips[kind])
            for kind in placed(whole.top).values()
        }


def ports_of(ip):
    return [Port(port.name, port.direction, port.bits) for port in ip.ports if not port.unused]


def placed(module):
    """Return the module of each instance in ``module``."""
    result = re.findall(r"^  (\w+) (\w+) \($", module.verilog, re.M)
    return {instance: kind for kind, instance in result}


def empty_text(name, ports):
    lines = [
        f"  {port.direction} {'reg' if port.direction == 'output' else 'wire'}"
        f" [{port.bits - 1}:0] \\{port.name} "  # which may be a word of Verilog, as begin is
        for port in ports
    ]
    return f"module {name} (\n" + ",\n".join(lines) + "\n);\nendmodule\n"


class Table:
    """Holds for each input the expression that it must equal, of outputs ``instance.port``."""

    def __init__(self, subject, clock=None, rounds=ROUNDS):
        self.clock, self.rounds = clock, rounds
        self.drawn = {}  #: the fields of an output that are drawn each for itself: offset and bits
        self.params = NetlistParams(subject=type(subject), params=subject.params)
        whole = emission_of(subject)
        ports = Netlist(self.params).ports(whole)
        instances = {name: ports[kind] for name, kind in placed(whole.top).items()}
        instances[PINS] = whole.top.ports
        # Seen from inside, what comes in at a pin is driven, and what goes out is looked at.
        self.driven, self.seen = {}, {}
        for instance, its_ports in instances.items():
            for port in its_ports:
                drives = (port.direction == "output") != (instance == PINS)
                (self.driven if drives else self.seen)[f"{instance}.{port.name}"] = port.bits
        self.expressions = {}
        self.limits = {}  #: what may be driven only if an expression holds: 0 otherwise
        self.reported = {}  #: fields of registers that a host writes

    def wire(self, **inputs):
        """Add inputs of instances: ``instance=dict(port=expression)``."""
        for instance, ports in inputs.items():
            for port, expression in ports.items():
                self.add(f"{instance}.{port}", expression)

    def clocks(self):
        """Give all that is placed the clock and the reset of the pins, or that of its block."""
        for path in self.seen:
            part, _, port = path.partition(".")
            if port == "rst" and f"{part}_reset.o" in self.driven:
                self.add(path, f"{part}_reset.o")
                self.add(f"{part}_reset.i", f"{PINS}.rst")
            elif port in ("clk", "rst"):
                self.add(path, f"{PINS}.{port}")

    def stream(self, source, sink):
        """Add what one part offers to another that takes it whole."""
        for name in ("payload", "valid"):
            self.add(f"{sink}_{name}", f"{source}_{name}")
        self.add(f"{source}_ready", f"{sink}_ready")

    def wide(self, name):
        """Return a number that has two registers."""
        return f"({self.reported[f'{name}_low']} | {self.reported[f'{name}_high']} << 32)"

    def later(self, expression, clocks=0):
        """Return what a register of the component holds, this many clocks ago; a reset sets it to
        0.
        """
        return f"(({expression}) * (not {ago(clocks, f'{PINS}.rst')}))"

    def fields(self, path, layout):
        """Return expressions of all fields of a driven struct, each of which is drawn alone.

        Extremes of a field that decides would hardly be met among random bits of the whole.
        """
        assert self.driven[path] == layout.size, path
        self.drawn[path] = [(field.offset, field.width) for _, field in layout]
        return {
            name: f"({path} >> {field.offset} & {(1 << field.width) - 1})" for name, field in layout
        }

    def struct(self, path, layout, **fields):
        """Make the struct at ``path`` of an expression for each of its fields."""
        assert self.seen[path] == layout.size, path
        assert fields.keys() == {name for name, _ in layout}, path
        parts = [
            f"(({fields[name]}) & {(1 << field.width) - 1}) << {field.offset}"
            for name, field in layout
        ]
        self.add(path, " | ".join(parts))

    def add(self, path, expression):
        assert path in self.seen, path
        assert path not in self.expressions, path
        self.expressions[path] = str(expression)

    def bus(self, first, second):
        """Let signals of each end go to those of the same name at the other; missing ones are 0."""
        self.buses(first, [second])

    def buses(self, item, others):
        """Do likewise, with the signals of ``others`` side by side at ``item``, the first
        lowest.
        """
        names = {self.suffix(path, item) for path in (*self.driven, *self.seen)} - {None}
        ends = [{self.suffix(path, end): path for path in self.seen} for end in others]
        for name in names | {name for end in ends for name in end} - {None}:
            near = self.find(item, name)
            far = [self.find(other, name) for other in others]
            if near in self.seen and near not in self.expressions:
                parts = [path if path in self.driven else None for path in far]
                self.add(near, self.side_by_side(near, parts, name))
            for k, path in enumerate(far):
                if path in self.seen and path not in self.expressions:
                    low = k * self.driven.get(near, 0) // len(others)
                    reported = f"{near} >> {low}" if near in self.driven else UNSAID.get(name, "0")
                    self.add(path, reported)

    def side_by_side(self, path, parts, name):
        if None in parts:
            return UNSAID.get(name, "0")
        bits = self.seen[path] // len(parts)
        return " | ".join(
            f"({part} & {(1 << bits) - 1}) << {k * bits}" for k, part in enumerate(parts)
        )

    def find(self, end, name):
        """Return the port of that name at an end of a bus, in small letters or capitals."""
        for path in (f"{end}_{name}", f"{end}_{name.upper()}"):
            if path in self.driven or path in self.seen:
                return path
        return None

    def suffix(self, path, end):
        return path.removeprefix(f"{end}_").lower() if path.startswith(f"{end}_") else None

    def check(self, tmp_path):
        """Simulate; every input has to be in the table."""
        assert sorted(self.seen.keys() - self.expressions.keys()) == []
        file = tmp_path / "table.json"
        drawn = {path: self.drawn.get(path, [(0, bits)]) for path, bits in self.driven.items()}
        table = (drawn, self.limits, self.seen, self.expressions, self.clock, self.rounds)
        file.write_text(json.dumps(table))
        simulate(Netlist(self.params), __name__, env={TABLE: str(file)}, all_signals=True)


def ago(clocks, path):
    """Return the expression of what was driven some clocks ago."""
    return f"ago[{clocks}].{path}" if clocks else path


def handle_of(dut, path):
    instance, _, port = path.partition(".")
    return getattr(dut if instance == PINS else getattr(dut, instance), port)


def draw(bits):
    """Draw a number of this many bits, or one of its extremes, or one of its bits."""
    whole = (1 << bits) - 1
    return random.choice([0, whole, 1 << random.randrange(bits), *2 * [random.getrandbits(bits)]])


@cocotb.test()
async def every_input_is_what_the_table_says(dut):
    table = json.loads(Path(os.environ[TABLE]).read_text())
    driven, limits, seen, expressions, clock, rounds = table
    outputs = {path: handle_of(dut, path) for path in driven}
    inputs = {path: handle_of(dut, path) for path in seen}
    compiled = {path: compile(text, path, "eval") for path, text in (expressions | limits).items()}
    before = []
    for _ in range(rounds + BEFORE):
        values = SimpleNamespace(**{path.partition(".")[0]: SimpleNamespace() for path in driven})
        names = vars(values) | {"ago": [values, *before]}
        for path, fields in driven.items():
            instance, _, port = path.partition(".")
            value = sum(draw(bits) << offset for offset, bits in fields)
            if clock and path == f"{PINS}.rst":
                value = int(random.random() < RESETS)
            if path == clock:
                value = 1
            setattr(names[instance], port, value)
        met = len(before) == BEFORE
        for path in limits:
            instance, _, port = path.partition(".")
            if not met or not eval(compiled[path], {}, names):
                setattr(names[instance], port, 0)
        for path, output in outputs.items():
            instance, _, port = path.partition(".")
            output.value = getattr(names[instance], port) if path != clock else 0
        await Timer(1, "ns")
        if clock:
            outputs[clock].value = 1
            await Timer(1, "ns")
        before = [values, *before][:BEFORE]
        for path, bits in seen.items() if met else ():
            expected = eval(compiled[path], {}, names) & (1 << bits) - 1
            assert int(inputs[path].value) == expected, f"{path} is not {expressions[path]}"
