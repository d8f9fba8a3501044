"""Judges and draws what several figures have in common: orders, factors, pairs of bars."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from math import ceil, floor, log10
from typing import TypeVar

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import NullFormatter

from sim.reproduce.figure import Claim, by_paper

Cases = TypeVar("Cases")
FACTOR = 2  #: within this factor our traffic counts as the paper's


def written(value: float, form: str) -> str:
    """Return a value as text, without an exponent below a million."""
    text = f"{value:{form}}"
    return f"{float(text):g}" if "e" in text else text


def words(values: Mapping[str, float], form: str) -> str:
    """Return each value after its name, as text."""
    return ", ".join(f"{name} {written(value, form)}" for name, value in values.items())


def named(family: str, elements: int) -> str:
    """Return matrix and K in words."""
    return f"{family} K={elements}"


def ranked(values: Mapping[str, float]) -> list[str]:
    """Return the names, the one with the largest value first."""
    return sorted(values, key=lambda name: -values[name])


def ranking(text: str, own: Mapping[str, float], papers: Mapping[str, float]) -> Claim:
    """Return the claim that the matrices have the same order as the paper's."""
    result = f"ours {' > '.join(ranked(own))}; the paper {' > '.join(ranked(papers))}"
    return by_paper(text, ranked(own) == ranked(papers), result)


def within_factor(
    text: str,
    own: Mapping[str, float],
    papers: Mapping[str, float],
    why: Mapping[str, str] | None = None,
    most: float = FACTOR,
) -> Claim:
    """Return the claim that each number is within a factor of ``most`` of the paper's."""
    apart = [
        name
        for name, value in own.items()
        if not papers[name] / most <= value <= papers[name] * most
    ]
    reported = [
        f"{name} {written(own[name], '.3g')} against {papers[name]:g}"
        + (f": {why[name]}" if why else "")
        for name in apart
    ]
    return by_paper(text, not apart, "; ".join(reported) or words(own, ".3g"))


def tried(
    judge: Callable[[Cases], list[Claim]], cases: Cases, trials: Mapping[str, Cases]
) -> list[Claim]:
    """Return the claims on ``cases``; one that fails says what each trial that moves it gives."""
    before, result = judge(cases), judge(cases)
    for trial, others in trials.items():
        for k, (own, other) in enumerate(zip(before, judge(others), strict=True)):
            if not own.holds and other.result != own.result:
                reported = f". Tried, {trial}: {other.result}{' (holds)' * other.holds}"
                result[k] = replace(own, result=result[k].result + reported)
    return result


def bars(
    own: Mapping[str, float], papers: Mapping[str, float], *, logarithmic: bool = True
) -> Callable[[Axes], None]:
    """Draw two bars for each name."""

    def draw(axes: Axes) -> None:
        places = np.arange(len(own))
        axes.bar(places - 0.2, list(own.values()), 0.4, label="ours")
        axes.bar(places + 0.2, [papers[name] for name in own], 0.4, label="paper", color="0.7")
        axes.set_xticks(places, list(own))
        if logarithmic:
            by_decades(axes)

    return draw


def by_decades(axes: Axes) -> None:
    """Draw a logarithmic axis between powers of ten, with its numbers written out.

    What was drawn before lies between them.
    """
    axes.set_yscale("log")
    least, most = axes.get_ylim()
    axes.set_ylim(10.0 ** floor(log10(least)), 10.0 ** ceil(log10(most)))
    axes.yaxis.set_major_formatter("{x:g}")
    axes.yaxis.set_minor_formatter(NullFormatter())
