"""Writes what registers do at a clock edge, one process for those with the same switches."""

from collections.abc import Iterable, Iterator, Sequence

from gen.base.emission.verilog.choices import Arm, Body, Switch, Write
from gen.base.emission.verilog.expressions import UNARY, Expressions, literal
from gen.base.emission.verilog.logic import ZERO
from gen.base.emission.verilog.reading import Register
from gen.base.emission.verilog.sources import marked

Parts = list[tuple[Register, Body]]  #: what several registers do in one place
INDENT = "  "


def clock_of(expressions: Expressions, register: Register) -> str:
    """Return the event at which a register changes."""
    edge = f"{register.cell.clk_edge}edge {expressions.text(register.inputs['clk'])}"
    if register.inputs["arst"] == (ZERO,):
        return edge
    return f"{edge} or posedge {expressions.text(register.inputs['arst'])}"


def together(registers: Sequence[Register]) -> list[list[Register]]:
    """Return registers in groups: the same clock, and a switch that two of them have."""
    groups: list[list[Register]] = []
    of: dict[object, list[Register]] = {}
    for register in registers:
        clock = register.cell.clk_edge, *register.inputs.values()
        switches = [item.number for item in register.body if isinstance(item, Switch)]
        body = register.body
        plain = all(isinstance(item, Write) or is_reset(register, item) for item in body)
        keys = [(clock, number) for number in switches if not plain] or [(clock, "plain")]
        joined = {id(group): group for key in keys if (group := of.get(key))}
        group = next(iter(joined.values()), [])
        for other in list(joined.values())[1:]:
            group += other
            groups.remove(other)
            of.update((key, group) for key, item in of.items() if item is other)
        if not group:
            groups.append(group)
        group.append(register)
        of.update((key, group) for key in keys)
    return groups


def is_reset(register: Register, statement: Switch | Write) -> bool:
    """Return whether a statement sets a register to what it is at power-up if one net is high."""
    if not isinstance(statement, Switch) or len(statement.arms) != 1:
        return False
    (arm,) = statement.arms
    initial = literal_bits(register)
    return arm.patterns == ("1",) and arm.body == [Write(0, initial)]


def literal_bits(register: Register) -> tuple[int, ...]:
    """Return what a register is at power-up."""
    return tuple(register.cell.init >> bit & 1 for bit in range(len(register.bits)))


class Processes:
    """Writes the processes of a module, as lines."""

    def __init__(self, expressions: Expressions) -> None:
        self.expressions = expressions

    def lines(self, registers: Sequence[Register]) -> Iterator[str]:
        """Yield the lines of all processes."""
        for group in together([item for item in registers if item.bits]):
            yield from self.group(group)

    def group(self, group: list[Register]) -> Iterator[str]:
        """Yield the lines of one process."""
        first = group[0]
        statements = list(self.statements([(item, item.body) for item in group]))
        if first.inputs["arst"] != (ZERO,):
            reset = [self.assignment(item, Write(0, literal_bits(item))) for item in group]
            statements = [
                f"if ({self.expressions.text(first.inputs['arst'])}) begin",
                *indented(reset),
                "end else begin",
                *indented(statements),
                "end",
            ]
        if not statements:
            return
        head = f"always @({clock_of(self.expressions, first)})"
        yield from marked(process(head, statements), first.source)

    def statements(self, parts: Parts) -> Iterator[str]:
        """Yield what registers do: switches that they share are written once, if order allows."""
        numbers = [[item.number for item in body if isinstance(item, Switch)] for _, body in parts]
        if any(row != sorted(set(row)) for row in numbers):
            for register, body in parts:
                for statement in body:
                    yield from self.statement([(register, statement)])
            return
        placed: dict[tuple[int, int], list[tuple[Register, Switch | Write]]] = {}
        for register, body in parts:
            last = -1
            for statement in body:
                if isinstance(statement, Switch):
                    last = statement.number
                place = (last, int(isinstance(statement, Write)))
                placed.setdefault(place, []).append((register, statement))
        for place in sorted(placed):
            yield from self.statement(placed[place])

    def statement(self, parts: list[tuple[Register, Switch | Write]]) -> Iterator[str]:
        """Yield one switch of several registers, or writes."""
        switches = []
        for register, statement in parts:
            if isinstance(statement, Write):
                yield from self.assignments(register, statement)
            else:
                switches.append((register, statement))
        if switches:
            longest = max((switch for _, switch in switches), key=lambda item: len(item.arms))
            arms = [
                (
                    arm,
                    [
                        (item, switch.arms[k].body)
                        for item, switch in switches
                        if k < len(switch.arms)
                    ],
                )
                for k, arm in enumerate(longest.arms)
            ]
            yield from self.cases(arms) if longest.is_case else self.ifs(arms)

    def assignments(self, register: Register, write: Write) -> Iterator[str]:
        """Yield a write of a register, in parts if it has too many operators."""
        for first, last in self.expressions.names.short_rows(write.value):
            yield self.assignment(register, Write(write.start + first, write.value[first:last]))

    def assignment(self, register: Register, write: Write) -> str:
        """Return a write of a register, or of some of its bits."""
        self.expressions.target = register.name
        target = self.expressions.place(register.name, write.start, len(write.value))
        return f"{target} <= {self.expressions.text(write.value)};"

    def ifs(self, arms: list[tuple[Arm, Parts]]) -> Iterator[str]:
        """Yield ``if`` and ``else if``; an arm that does nothing keeps those behind it away."""
        passed: list[str] = []
        written: list[tuple[str, list[str]]] = []
        for arm, parts in arms:
            self.expressions.target = next((item.name for item, body in parts if body), "")
            body = list(self.statements([(item, body) for item, body in parts if body]))
            if not body and not arm.always:
                passed.append(f"~{self.expressions.text((arm.condition,), UNARY)}")
                continue
            if not body:
                break
            conditions = list(passed)
            if not arm.always:
                binding = 6 if passed else 0
                conditions.append(self.expressions.text((arm.condition,), binding))
            written.append((f"if ({' & '.join(conditions)})" if conditions else "", body))
        yield from blocks(written)

    def cases(self, arms: list[tuple[Arm, Parts]]) -> Iterator[str]:
        """Yield ``case``: what no arm names changes nothing."""
        yield f"case ({self.expressions.text(arms[0][0].value)})"
        default = "default: ;"
        for arm, parts in arms:
            body = list(self.statements([(item, body) for item, body in parts if body]))
            width = len(arm.value)
            label = ", ".join(literal(int(pattern, 2), width) for pattern in arm.patterns)
            if arm.always:
                label, default = "default", ""
            if len(body) == 1:
                yield f"{INDENT}{label}: {body[0]}"
            elif body:
                yield f"{INDENT}{label}: begin"
                yield from indented(indented(body))
                yield f"{INDENT}end"
            elif any(other.always for other, _ in arms):
                yield f"{INDENT}{label}: ;"
        if default:
            yield INDENT + default
        yield "endcase"


def blocks(arms: Sequence[tuple[str, list[str]]]) -> Iterator[str]:
    """Yield ``if``, ``else if`` and ``else``, each in a line if all do one thing."""
    if all(len(body) == 1 and not body[0].startswith("if ") for _, body in arms):
        for place, (head, (line,)) in enumerate(arms):
            yield " ".join([*["else"] * (place > 0), *[head] * (head != ""), line])
        return
    for place, (head, body) in enumerate(arms):
        yield " ".join([*["end else"] * (place > 0), *[head] * (head != ""), "begin"])
        yield from indented(body)
    yield "end"


def process(head: str, lines: Sequence[str]) -> Iterator[str]:
    """Yield a process of some statements."""
    yield head if len(lines) == 1 else f"{head} begin"
    yield from indented(lines)
    if len(lines) > 1:
        yield "end"


def indented(lines: Iterable[str]) -> Iterator[str]:
    """Yield lines a step to the right."""
    return (INDENT + line if line else line for line in lines)
