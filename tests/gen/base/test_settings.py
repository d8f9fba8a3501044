from dataclasses import dataclass, field

import pytest

from gen.base.errors import UserError
from gen.base.settings import make_params, parameters, parse_settings
from gen.designs.catalogue import designs


@dataclass(frozen=True, kw_only=True)
class Inner:
    banks: int = 8  #: how many
    fast: bool = False
    size: int = 1

    def __post_init__(self):
        if self.banks > 8:
            raise ValueError("banks must be\n at most 8")


@dataclass(frozen=True, kw_only=True)
class Outer:
    engines: int = 2
    inner: Inner = field(default_factory=Inner)
    size: int = 3


def test_parameters_show_path_default_and_comment():
    result = {p.path: (p.default, p.doc) for p in parameters(Outer)}
    assert result["inner.banks"] == (8, "how many")
    assert list(result) == ["engines", "inner.banks", "inner.fast", "inner.size", "size"]


def test_every_parameter_of_a_design_is_explained():
    """`ingather list` and the datasheet show the comment behind each field."""
    assert [
        f"{name}: {parameter.path}"
        for name, design in designs().items()
        for parameter in parameters(design.params_class)
        if not parameter.doc
    ] == []


def test_later_settings_win():
    built = make_params(Outer, {"engines": 4, "banks": 2}, parse_settings(["banks=3", "fast=true"]))
    assert built == Outer(engines=4, inner=Inner(banks=3, fast=True))


def test_dotted_names():
    assert make_params(Outer, {"inner.size": "7"}) == Outer(inner=Inner(size=7))


def test_a_path_goes_before_the_ends_of_others():
    assert make_params(Outer, {"size": "7"}) == Outer(size=7)


@pytest.mark.parametrize(
    ("settings", "text"),
    [
        ({"bank": "1"}, "no parameter 'bank'; did you mean banks?"),
        ({"inner.bank": "1"}, "did you mean inner.banks?"),
        ({"zzz": "1"}, "no parameter 'zzz'; there are: engines, banks"),
        ({"engines": "two"}, "engines should be a valid integer"),
        ({"engines": "1.5"}, "engines should be a valid integer"),
        ({"fast": "maybe"}, "fast should be a valid boolean"),
        ({"banks": "9"}, "banks must be at most 8"),
    ],
)
def test_mistakes_are_one_line(settings, text):
    with pytest.raises(UserError) as caught:
        make_params(Outer, settings)
    assert text in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("texts", [["banks"], ["=3"], ["banks="], ["banks=1", "banks=2"]])
def test_malformed_settings(texts):
    with pytest.raises(UserError):
        parse_settings(texts)
