"""Judges the statements of section 9.3 on figures 15 to 18."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from sim.netsparse.reproduce import paper
from sim.netsparse.reproduce.runs import Outcome
from sim.reproduce.figure import Claim, by_paper, by_us

ENOUGH = 32  #: RIG units, the paper's default
GAIN = 0.1  #: relative gain from which on it is significant
ALIKE = 0.02  #: relative difference below which speed-ups count as equal


@dataclass(frozen=True)
class Step:
    """Holds the result of one value of a sweep, relative to the sweep's basis."""

    value: int
    speed_up: float
    traffic: float  #: bytes of all links
    outcome: Outcome

    @property
    def hit_rate(self) -> float:
        """Return the hit rate of all switches together."""
        return self.outcome.figures["cache_hit_rate"]


Lines = Mapping[str, Sequence[Step]]  #: steps of a sweep, by matrix


def best(own: Sequence[Step]) -> Step:
    """Return the fastest step."""
    return max(own, key=lambda item: item.speed_up)


def peaks(lines: Lines, shown: Callable[[int], str] = str) -> str:
    """Return the best value of each matrix, in words."""
    return ", ".join(
        f"{family} {shown(best(own).value)} ({best(own).speed_up:.2f})"
        for family, own in lines.items()
    )


def judge_batch(lines: Lines) -> list[Claim]:
    """Judge the statements of section 9.3 on figure 15."""
    inside = [
        family
        for family, own in lines.items()
        if best(own).value not in (own[0].value, own[-1].value)
    ]
    return [
        by_paper(
            "for many matrices (at least two) the best batch size is not at the extremes",
            len(inside) >= 2,
            peaks(lines),
        ),
        by_paper(
            "the best batch size is not the same for all matrices",
            len({best(own).value for own in lines.values()}) > 1,
            peaks(lines),
        ),
    ]


def judge_units(lines: Lines) -> list[Claim]:
    """Judge the statements of section 9.3 on figure 16."""
    until = {
        family: [item.speed_up for item in own if item.value <= ENOUGH]
        for family, own in lines.items()
    }
    gains = {family: own[-1].speed_up / until[family][-1] for family, own in lines.items()}
    return [
        by_paper(
            f"speed-ups grow until {ENOUGH} units",
            all(
                own[-1] > 1 and all(b >= (1 - ALIKE) * a for a, b in pairwise(own))
                for own in until.values()
            ),
            ", ".join(f"{family} {own[-1]:.1f}" for family, own in until.items()),
        ),
        by_paper(
            f"after {ENOUGH} units no matrix gains significantly: at most {GAIN:.0%}",
            max(gains.values()) <= 1 + GAIN,
            ", ".join(f"{family} x {gain:.2f}" for family, gain in gains.items()),
        ),
    ]


def judge_delay(lines: Lines) -> list[Claim]:
    """Judge the statements of section 9.3 on figure 17."""
    shown = {family: [f"{item.speed_up:.2f}" for item in own] for family, own in lines.items()}
    reported = "; ".join(f"{family} {', '.join(each)}" for family, each in shown.items())
    gains = {family: best(own).speed_up for family, own in lines.items()}
    traffic = {family: [item.traffic for item in own] for family, own in lines.items()}
    return [
        by_paper(
            "at first performance increases with the delay, or stays",
            all(
                best(own).speed_up >= own[0].speed_up and best(own).value > 0
                for own in lines.values()
            ),
            peaks(lines),
        ),
        by_paper(
            "too large a delay is worse than no concatenation",
            all(own[-1].speed_up < 1 for own in lines.values()),
            reported,
        ),
        by_us(
            "the longer PRs wait, the fewer bytes pass the links, within 1 %",
            all(b <= 1.01 * a for each in traffic.values() for a, b in pairwise(each)),
            "; ".join(f"{family} x {each[-1]:.2f}" for family, each in traffic.items()),
        ),
        by_paper(
            "queen has the most benefit, europe the least",
            max(gains, key=lambda family: gains[family]) == "queen"
            and min(gains, key=lambda family: gains[family]) == "europe",
            ", ".join(f"{family} {gain:.2f}" for family, gain in gains.items()),
        ),
    ]


def judge_cache(lines: Lines) -> list[Claim]:
    """Judge the statements of section 9.3 on figure 18."""
    gains = {family: best(own).speed_up for family, own in lines.items()}
    usual = {
        family: next(item for item in own if item.value == paper.CACHE_BYTES)
        for family, own in lines.items()
    }
    near = [
        family for family, own in lines.items() if usual[family].hit_rate >= 0.9 * own[-1].hit_rate
    ]
    traffic = {family: own[-1].traffic for family, own in lines.items()}
    rates = {family: [item.hit_rate for item in own] for family, own in lines.items()}
    return [
        by_paper(
            f"caching brings arabic up to {paper.CACHE_GAIN - 1:.0%}: at least half of that",
            gains["arabic"] >= 1 + (paper.CACHE_GAIN - 1) / 2,
            f"{gains['arabic'] - 1:.0%}; bytes of all links x {traffic['arabic']:.2f}",
        ),
        by_paper(
            "caching does not improve stokes, regardless of the size (by no more than 5 %)",
            gains["stokes"] <= 1.05,
            f"{gains['stokes'] - 1:.0%}; hit rate of the largest {rates['stokes'][-1]:.0%}",
        ),
        by_paper(
            "32 MB are enough for most matrices: nine tenths of the hits of the largest",
            len(near) > len(lines) / 2,
            f"{', '.join(near) or 'none'}; hit rates "
            + ", ".join(
                f"{family} {usual[family].outcome.figures['cache_hit_rate']:.1%} of {each[-1]:.1%}"
                for family, each in rates.items()
            ),
        ),
        by_us(
            "a larger cache never hits less, within a point",
            all(b >= a - 0.01 for each in rates.values() for a, b in pairwise(each)),
            "; ".join(
                f"{family} {', '.join(f'{rate:.1%}' for rate in each)}"
                for family, each in rates.items()
            ),
        ),
    ]
