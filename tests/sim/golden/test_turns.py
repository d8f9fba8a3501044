"""Tests the order in which a switch takes frames, by what a register of the last turn says."""

import random

from sim.golden.turns import Turns


def by_cycles(ports, items):
    """Return the order cycle by cycle: from the last turn on upwards, then from port 0."""
    waiting, last, cycle, result = [[] for _ in range(ports)], ports - 1, 0, []
    while len(result) < len(items):
        for item in items:
            if item[0] == cycle:
                waiting[item[1]].append(item)
        order = [*range(last + 1, ports), *range(last + 1)]
        if ready := [port for port in order if waiting[port]]:
            last = ready[0]
            result.append(waiting[last].pop(0))
        cycle += 1
    return result


def test_the_next_port_behind_the_last_turn_is_served():
    for _ in range(50):
        ports = random.randint(2, 5)
        items = sorted({(random.randrange(9), random.randrange(ports)) for _ in range(12)})
        turns, result = Turns(ports), []
        for cycle in range(9):
            result += turns.taken(cycle)
            for item in items:
                if item[0] == cycle:
                    turns.add(item[1], cycle, item)
        result += turns.taken()
        assert result == by_cycles(ports, items)


def test_the_last_turn_is_kept_when_cycles_begin_again():
    turns = Turns(3)
    for cycle, ports in ((5, (0, 1)), (0, (1, 2, 0))):
        turns.begin()
        for port in ports:
            turns.add(port, cycle, port)
        assert [*turns.taken()] == ([0, 1] if cycle else [2, 0, 1])
