"""Lets the host software choose the batch while it runs, as section 9.4 leaves to others."""

from collections.abc import Callable

from sim.netsparse.host.snic.batch_tuner import BatchTuner
from sim.netsparse.reproduce import paper
from sim.netsparse.reproduce.choices import Choice, Lines
from sim.netsparse.reproduce.judging import words
from sim.reproduce.figure import Claim, by_paper, by_us

BATCHES = {f"{kibi}k": 1024 * kibi for kibi in (2, 4, 8, 16, 32, 64, 128)}
ALIKE = 1.02  #: factor between times up to which batches are as good
NEAR = 1.1  #: times of the best batch that the chosen one may take


def tuned(first: int, cycles: Callable[[int], float]) -> list[int]:
    """Return the batches of a program's gathers until its choice is settled, and that choice."""
    tuner = BatchTuner(first, least=min(BATCHES.values()), most=max(BATCHES.values()))
    result = [tuner.batch]
    while not tuner.settled:
        tuner.report(cycles(tuner.batch))
        result.append(tuner.batch)
    return result


def claims(lines: Lines) -> list[Claim]:
    """Return the paper's statement on fixed batches, and what adapting them must bring."""
    fixed, adapted, gathers = {}, {}, {}
    for family, own in lines.items():
        cycles = {BATCHES[name]: outcome.cycles for name, outcome in own.items()}
        best = min(cycles.values())
        first = paper.MATRICES[family].batch
        chosen = tuned(first, cycles.__getitem__)
        fixed[family] = cycles[first] / best
        adapted[family] = cycles[chosen[-1]] / best
        gathers[family] = f"{', '.join(f'{batch // 1024}k' for batch in chosen)}"
    return [
        by_paper(
            "statically selected batch sizes are often (for two matrices and more) nonoptimal",
            sum(item > ALIKE for item in fixed.values()) >= 2,
            f"times of the best: {words(fixed, '.2f')}",
        ),
        by_us(
            f"the batch that is chosen takes at most {NEAR:g} times as long as the best",
            max(adapted.values()) <= NEAR,
            f"{words(adapted, '.2f')}; batches in turn: "
            + "; ".join(f"{family} {each}" for family, each in gathers.items()),
        ),
        by_us(
            "a matrix is faster than with the paper's batch",
            any(fixed[family] / adapted[family] > ALIKE for family in lines),
            words({family: fixed[family] / adapted[family] for family in lines}, ".2f"),
        ),
    ]


ADAPTED = Choice(
    name="adapted-batch",
    title="Batch sizes, and the one that the host software chooses",
    source="section 9.4",
    quote="A second reason is that the statically-selected values for the NetSparse parameters"
    " (e.g., the RIG batch size) are often nonoptimal. Future work could investigate techniques to"
    " dynamically adjust NetSparse parameters such as the RIG batch size.",
    setting="batch",
    values=BATCHES,
    quick=("europe", "queen", "uk"),  # whose batches of the paper are both that there are
    explained=". A program gathers alike again and again; the paper's batch is compared with twice"
    " and with half of it, then the one with the least time, until both take as long or longer",
    note="Batches are those of the paper's matrix. The paper says what could be done, and not how:"
    " the rule is ours. It finds a batch that is better than its neighbours, which need not be the"
    " best of all.",
    claims=claims,
)
