"""Computes settings from others by the expressions of ``[derive]``, and allows nothing else there.

Whole numbers are divided exactly: ``512 / banks`` is whole where ``banks`` divides 512.
"""

import ast
import operator
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from math import isfinite
from typing import Any

Number = int | float | Fraction
Evaluation = Callable[[Mapping[str, Number]], Number]

ALLOWED = "numbers, settings, + - * / // %, min, max, ceil_log2 and parentheses"


def divided(first: Number, second: Number) -> Number:
    """Return the exact quotient of whole numbers, or a float."""
    if isinstance(first, float) or isinstance(second, float):
        return first / second
    return Fraction(first) / second


def ceil_log2(values: Sequence[Number]) -> int:
    """Return the bits that an index of so many things has, for one whole value above 0."""
    value = values[0]
    if len(values) > 1 or value != int(value) or value < 1:
        raise ValueError("ceil_log2 takes one whole number above 0")
    return (int(value) - 1).bit_length()


OPERATORS: dict[type, Callable[[Any, Any], Number]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: divided,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}
FUNCTIONS: dict[str, Callable[[list[Any]], Number]] = {
    "min": min,
    "max": max,
    "ceil_log2": ceil_log2,
}


class Expression:
    """Evaluates a text such as ``max(512 / banks, 32)``; ``names`` are the settings in it.

    ValueError says in a line what is wrong with the text.
    """

    def __init__(self, text: str) -> None:
        self.text, self.names = text, list[str]()
        try:
            self.evaluation = self.compiled(ast.parse(text.strip(), mode="eval").body)
        except (SyntaxError, RecursionError, MemoryError) as error:
            raise ValueError(f"{text!r} is no expression of {ALLOWED}") from error

    def value(self, values: Mapping[str, Any]) -> int | float:
        """Return the result for ``values`` of the names, whole if it can be."""
        for name in self.names:
            if isinstance(values[name], bool) or not isinstance(values[name], int | float):
                raise ValueError(f"{name} is not a number: {values[name]}")
        try:
            result = self.evaluation(values)
            if isinstance(result, Fraction):
                result = int(result) if result.denominator == 1 else float(result)
        except ZeroDivisionError as error:
            raise ValueError("it divides by zero") from error
        except OverflowError as error:
            raise ValueError("it is not finite") from error
        if not isfinite(result):
            raise ValueError("it is not finite")
        return result

    def compiled(self, node: ast.expr) -> Evaluation:
        """Return the evaluation of a part of the expression."""
        match node:
            case ast.Constant(value=int() | float() as number) if not isinstance(number, bool):
                return lambda values: number
            case ast.Name() | ast.Attribute() if is_name(node):
                name = ast.unparse(node)
                self.names.append(name)
                return lambda values: values[name]
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                inner = self.compiled(operand)
                return lambda values: -inner(values)
            case ast.BinOp(left=left, op=sign, right=right) if type(sign) in OPERATORS:
                operate = OPERATORS[type(sign)]
                first, second = self.compiled(left), self.compiled(right)
                return lambda values: operate(first(values), second(values))
            case ast.Call(func=ast.Name(id=name), args=[_, *_] as nodes, keywords=[]) if (
                name in FUNCTIONS
            ):
                function, parts = FUNCTIONS[name], [self.compiled(part) for part in nodes]
                return lambda values: function([part(values) for part in parts])
        raise ValueError(f"{ast.unparse(node)} is not allowed: {ALLOWED} are")


def is_name(node: ast.expr) -> bool:
    """Return whether a node is a name, perhaps with dots."""
    return isinstance(node, ast.Name) or (isinstance(node, ast.Attribute) and is_name(node.value))
