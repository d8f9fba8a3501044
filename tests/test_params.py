"""Tests every class of parameters of hardware, simulated hardware too, by its fields' rules."""

import inspect
import re
from dataclasses import MISSING, fields
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
from amaranth.hdl import signed, unsigned
from amaranth.lib.data import StructLayout

from hdl.common.params import Params
from hdl.common.rules import Choice, Whole
from hdl.common.shaped import AnyShape

ROOT = Path(__file__).parent.parent
FOLDERS = ("hdl", "sim/surroundings", "sim/*/surroundings")
REVIEWED = Path(__file__).with_name("params.txt")


def derived(kind):
    for item in kind.__subclasses__():
        yield item
        yield from derived(item)


def all_classes():
    files = [path for folder in FOLDERS for path in ROOT.glob(f"{folder}/**/*.py")]
    names = [".".join(path.relative_to(ROOT).with_suffix("").parts) for path in sorted(files)]
    modules = {import_module(name).__name__ for name in names if not name.endswith("__init__")}
    own = [item for item in derived(Params) if item.__module__ in modules]
    return {f"{item.__module__}.{item.__name__}": item for item in sorted(own, key=str)}


CLASSES = all_classes()
BUILT = {name: kind for name, kind in CLASSES.items() if not inspect.isabstract(kind)}
of_classes = pytest.mark.parametrize("kind", BUILT.values(), ids=BUILT)


def admitted(rule):
    """Return values that a rule must admit: its bounds and choices."""
    if isinstance(rule, Choice):
        return [*rule.values]
    if isinstance(rule, AnyShape):
        return [1, unsigned(3), signed(2), StructLayout({"low": 2, "high": signed(5)})]
    if not isinstance(rule, Whole):
        return [False, True]
    least, most = 0 if rule.least is None else rule.least, rule.most
    beyond = least * 2**40 if rule.power_of_two else least + 10**9 * rule.multiple_of
    return [least, beyond if most is None else most, *([0] if rule.or_zero else [])]


def refused(rule):
    """Return values that a rule must refuse: beside its bounds, in between, of other types."""
    if isinstance(rule, Choice):
        others = [kind(item) for item in rule.values if type(item) is int for kind in (str, float)]
        return [None, "other", b"", 0.5, *(str(item) + "0" for item in rule.values), *others]
    if isinstance(rule, AnyShape):
        return [None, "3", 3.0, True, 0, -1, unsigned(0), StructLayout({})]
    if not isinstance(rule, Whole):
        return [0, 1, "true", None]
    values = [None, "3", 3.0, True, np.int64(rule.least or 0)]
    if rule.least is None:
        return values
    step = rule.multiple_of
    below = rule.least // 2 if rule.power_of_two else rule.least - step
    values += [value for value in (below, -rule.least) if value < rule.least]
    values += [] if rule.most is None else [rule.most + 1, rule.most + step, 2 * rule.most + step]
    if rule.power_of_two:
        values += [3 * max(rule.least, 1), rule.most - 1] if rule.most > 4 else [3]
    if step > 1:
        values += [rule.least + step - 1, rule.most - 1]
    return [value for value in values if not (rule.or_zero and value == 0 and value is not True)]


def some_values(kind):
    """Return a legal value of each field that has a rule or a default, and None for the others."""
    values = {}
    for item in fields(kind):
        if item.default is not MISSING:
            values[item.name] = item.default
        elif item.default_factory is not MISSING:
            values[item.name] = item.default_factory()
        else:
            rule = kind.field_rules.get(item.name)
            values[item.name] = rule and admitted(rule)[0]
    return values


def checked(kind, values):
    """Check values by the rules of their fields alone, not by what relates them to each other."""
    params = object.__new__(kind)
    for name, value in values.items():
        object.__setattr__(params, name, value)
    Params.__post_init__(params)


@of_classes
def test_admits_each_bound_and_choice(kind):
    values = some_values(kind)
    checked(kind, values)
    for name, rule in kind.field_rules.items():
        for value in admitted(rule):
            checked(kind, values | {name: value})


@of_classes
def test_refuses_what_is_not_legal(kind):
    for name, rule in kind.field_rules.items():
        for value in refused(rule):
            message = f"{name} must be {rule.legal}: {value!r}"
            with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
                kind(**some_values(kind) | {name: value})


def limits():
    """Return a line for each class, and for each field of its own that has a rule or a tag."""
    for path, kind in CLASSES.items():
        yield f"{path} {kind.suffix_form}".rstrip()
        for item in fields(kind):
            rule = kind.field_rules.get(item.name)
            tag = item.metadata.get("tag", "")
            if item.name in inspect.get_annotations(kind) and (rule or tag):
                default = "" if item.default is MISSING else f", default {item.default!r}"
                yield f"  {item.name}: {rule.legal if rule else item.type}{default} {tag}".rstrip()


def test_limits_are_as_reviewed(request):
    """A bound, a default, or a name that changes is seen in a review."""
    text = "\n".join(limits()) + "\n"
    if request.config.getoption("--update-lists"):
        REVIEWED.write_text(text)
    assert REVIEWED.read_text() == text, "if this change is meant: pytest --update-lists"
