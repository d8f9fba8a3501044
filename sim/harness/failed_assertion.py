"""Finds out from the text of a failed assertion which values it saw."""

import ast
import linecache
from collections.abc import Iterator
from dataclasses import dataclass
from types import FrameType
from typing import Any

from sim.harness.beats import Beats, Origin, origin_of
from sim.harness.mismatch import Wrong, decoded

__all__ = ["FailedAssertion", "failed_assertion"]

COMPARISONS = ("array_equal", "allclose")
#: lists expressions that must not be evaluated again, or cannot
ONCE = (ast.Await, ast.Yield, ast.YieldFrom, ast.NamedExpr)


def failed_assertion(frame: FrameType, line: int) -> "FailedAssertion | None":
    """Return the assertion that failed at ``line`` of a frame; None if there is none."""
    source = "".join(linecache.getlines(frame.f_code.co_filename, frame.f_globals))
    if not source:
        return None
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Assert) and node.lineno <= line <= (node.end_lineno or 0):
            return FailedAssertion(frame, node.test, ast.unparse(node.test))
    return None


@dataclass(frozen=True)
class FailedAssertion:
    """Holds an assertion, and the variables it saw."""

    frame: FrameType
    test: ast.expr
    text: str

    def value_of(self, node: ast.expr) -> Any:
        """Evaluate an expression of the assertion; return None if that cannot be done safely."""
        if any(isinstance(part, ONCE) for part in ast.walk(node)):
            return None
        code = compile(ast.Expression(node), "<assertion>", "eval")
        try:
            # As one, so that comprehensions see the variables as well.
            return eval(code, {**self.frame.f_globals, **self.frame.f_locals})
        except Exception:  # as of a variable inside a comprehension
            return None

    def equal_arrays(self) -> tuple[Any, Any] | None:
        """Return the two sides of ``np.array_equal(left, right)``."""
        call = self.test
        if not isinstance(call, ast.Call) or len(call.args) < 2:
            return None
        if not isinstance(call.func, ast.Attribute) or call.func.attr not in COMPARISONS:
            return None
        left, right = (self.value_of(argument) for argument in call.args[:2])
        return None if left is None or right is None else (left, right)

    def mentioned(self, now: int) -> Wrong | None:
        """Return what is wrong with the first beat, stream or port that the assertion names."""
        for node in outer_first(self.test):
            value = self.value_of(node)
            if (origin := origin_of(value)) is not None:
                return self.wrong(origin, node, value)
            if isinstance(value, Beats):
                return self.of_stream(value, node, now)
            if hasattr(value, "_path") and hasattr(value, "value"):  # a handle of cocotb's
                name = value._path.rpartition(".")[2]
                port = Origin(stream=name, index=None, cycle=now)
                return self.wrong(port, node, int(value.value))
        return None

    def of_stream(self, beats: Beats, node: ast.expr, now: int) -> Wrong:
        """Make a failed assertion about all the beats of a stream."""
        if isinstance(self.test, ast.UnaryOp) and len(beats):  # assert not sink.beats
            first = beats[0]
            return self.wrong(origin_of(first) or beats.origin(0), node, first)
        return self.wrong(Origin(stream=beats.stream, index=None, cycle=now), node, beats)

    def wrong(self, origin: Origin, node: ast.expr, value: Any) -> Wrong:
        """Return what is wrong with the value of ``node``."""
        got, expected = value, None
        if isinstance(self.test, ast.Compare) and isinstance(self.test.ops[0], ast.Eq):
            sides = [self.test.left, self.test.comparators[0]]
            if not any(part is node for part in ast.walk(sides[0])):
                sides.reverse()
            got, expected = map(self.value_of, sides)
        return Wrong(
            stream=origin.stream,
            index=origin.index,
            cycle=origin.cycle,
            field=origin.field,
            expected=self.text if expected is None else decoded(expected),
            got=decoded(value if got is None else got),
        )


def outer_first(test: ast.expr) -> Iterator[ast.expr]:
    """Yield the names, attributes and items that a test reads, the outer ones first."""
    for node in ast.walk(test):
        reads = isinstance(node, ast.Name | ast.Attribute | ast.Subscript)
        if reads and isinstance(node.ctx, ast.Load):
            yield node
