from contextlib import contextmanager
from functools import cache, partial

import pytest

from sim.harness import verilator
from sim.verify.simulating import simulates


def direct():
    verilator.simulate(None, "")


def by_helper():
    return direct()


@contextmanager
def decorated():
    yield by_helper()


@cache
def by_decorated():
    with decorated():
        pass


def inside():
    return [lambda: by_helper()]


def closure():
    function = direct

    def inner():
        return function()

    return inner


class Bench:
    def run(self):
        by_helper()


class SomeBench(Bench):
    """Inherits what simulates."""


def by_class():
    Bench()


def by_base():
    SomeBench()


def innocent():
    return verilator.chosen_seed(), name()


def name():
    return "simulate"


def loops():
    return loops() or innocent()


@pytest.mark.parametrize(
    "function",
    [
        direct,
        by_helper,
        decorated,
        by_decorated,
        inside,
        closure(),
        partial(by_helper),
        by_class,
        by_base,
    ],
)
def test_results(function):
    assert simulates(function)


@pytest.mark.parametrize("function", [innocent, name, loops, len])
def test_not_found(function):
    assert not simulates(function)
