"""Evaluates expressions of settings, and refuses all that is none."""

import pytest

from gen.sweep.derive import Expression

VALUES = {"banks": 8, "engine.lanes": 48, "share": 0.5}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("512 / banks", 64),
        ("1 / 3 * 3", 1),
        ("2 + 3 * banks - (1 + 1)", 24),
        ("-banks + 9", 1),
        ("50 // banks", 6),
        ("50 % banks", 2),
        ("engine.lanes / banks / 12", 0.5),
        ("share * banks", 4.0),
        ("max(banks, engine.lanes // 2, 3)", 24),
        ("min(banks / 3, 2)", 2),
        (" ceil_log2(banks) + ceil_log2(9) + ceil_log2(1)", 7),
    ],
)
def test_an_expression_has_a_value(text, value):
    result = Expression(text).value(VALUES)
    assert (result, type(result)) == (value, type(value))


def test_its_names_are_settings():
    assert Expression("max(banks, 3) + engine.lanes / share").names == list(VALUES)


@pytest.mark.parametrize(
    "text",
    [
        "banks ** 2",
        "banks << 2",
        "banks if share else 3",
        "__import__('os')",
        "abs(banks)",
        "max()",
        "max(banks, key=3)",
        "max(*banks)",
        "banks[0]",
        "(banks + 1).real",
        "'8' * 9",
        "True + 1",
        "banks < 3",
        "[banks]",
    ],
)
def test_nothing_else_is_allowed(text):
    with pytest.raises(ValueError, match="is not allowed: numbers, settings"):
        Expression(text)


@pytest.mark.parametrize("text", ["", "512 /", "512; 3", "a = 3", "(" * 1000 + "1" + ")" * 1000])
def test_what_is_no_expression(text):
    with pytest.raises(ValueError, match="is no expression of numbers, settings"):
        Expression(text)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("3 / (banks - 8)", "it divides by zero"),
        ("3 % (banks - 8)", "it divides by zero"),
        ("1e300 * 1e300", "it is not finite"),
        ("1.5 * 1" + "0" * 400, "it is not finite"),
        ("ceil_log2(share)", "one whole number above 0"),
        ("ceil_log2(banks, 3)", "one whole number above 0"),
        ("name + 1", "name is not a number: digits"),
        ("wide + 1", "wide is not a number: True"),
        ("none + 1", "none is not a number: None"),
    ],
)
def test_values_that_cannot_be(text, words):
    with pytest.raises(ValueError, match=words):
        Expression(text).value(VALUES | {"name": "digits", "wide": True, "none": None})
