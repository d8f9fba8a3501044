"""Replays the steps that hdl/p4sgd/switch/README.md shows: on the printed rule, and corrected."""

from collections import deque
from pathlib import Path

import pytest

from tests.protocol.allreduce.network import flat
from tests.protocol.allreduce.nodes import WRONG_SUM
from tests.protocol.allreduce.variants import PAPER
from tests.protocol.explore import explore

PAGE = Path(__file__).parents[3] / "hdl/p4sgd/switch/README.md"
HEAD = "| --- | --- | --- | --- |\n"
NAMES = "AB"
LAST = "B takes FA 2: full"


@pytest.fixture
def printed():
    tree = flat(width=0, total=4, rules=PAPER, watched=frozenset({WRONG_SUM}))
    return tree.on_links(1)


def shown():
    """Return the steps of the page."""
    rows = PAGE.read_text().partition(HEAD)[2].partition("\n\n")[0].splitlines()
    return [row.split("|")[2].strip() for row in rows]


def happens(system, state, step):
    """Return the state after a step, and what is wrong with it."""
    return next((after, fault) for text, after, fault in system.steps(state) if text == step)


def table(system, trace):
    """Return the rows of the page: after each step, what the switch's slot holds."""
    state, lines = system.start, []
    for number, step in enumerate(trace, 1):
        state, _ = happens(system, state, step)
        slot = system.slots(system.ends(state))[0].slot
        digits = [[lane >> 15 * k & 0x7FFF for k in range(2)] for lane in slot.agg]
        parts = [f"{n}{digits[1][k]}" for k, n in enumerate(NAMES) if digits[0][k]]
        acknowledged = [name for k, name in enumerate(NAMES) if slot.ack_bm >> k & 1]
        cells = (str(number), step, " + ".join(parts) or "0", ", ".join(acknowledged) or "none")
        lines.append(f"| {' | '.join(cells)} |\n")
    return "".join(lines)


def test_the_page_has_the_steps_that_the_search_finds(printed, request):
    text = PAGE.read_text()
    before, head, after = text.partition(HEAD)
    rest = after[after.index("\nB has") :]
    built = before + head + table(printed, explore(printed).trace) + rest
    if request.config.getoption("--update-lists"):
        PAGE.write_text(built)
    assert PAGE.read_text() == built, "if this change is meant: pytest --update-lists"


def test_the_printed_rule_sums_wrongly(printed):
    state, faults = printed.start, []
    for step in shown():
        state, fault = happens(printed, state, step)
        faults.append(fault)
    assert shown()[-1] == LAST
    assert faults == [""] * (len(faults) - 1) + [WRONG_SUM]


def event(step):
    """Return what happens to whom, without what comes of it."""
    return step.partition(": ")[0]


def same_events(system):
    """Let happen what the page says as far as it can; return the state and what it could not."""
    state, impossible = system.start, []
    for step in shown():
        lost = step.endswith(" lost")
        possible = [s for s in system.steps(state) if event(s[0]) == event(step)]
        possible.sort(key=lambda s: s[0].endswith(" lost") is not lost)
        if not possible:
            impossible.append(step)
            continue
        _, state, fault = possible[0]
        assert fault == ""
    return state, impossible


def sums_of(system, state):
    """Deliver all packets from here on, in each order; return what is wrong with B's sum of 2."""
    waiting, seen, faults = deque([state]), {state}, set()
    while waiting:
        for step, after, fault in system.steps(waiting.popleft()):
            if step == LAST:
                faults.add(fault)
            elif not step.endswith(" lost") and after not in seen:
                seen.add(after)
                waiting.append(after)
    return faults


def test_the_corrected_rule_sums_rightly():
    system = flat(width=1, total=4).on_links(1)
    state, impossible = same_events(system)
    assert LAST in impossible
    assert sums_of(system, state) == {""}
