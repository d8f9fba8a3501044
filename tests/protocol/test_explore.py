from tests.protocol.explore import STUCK, can_rest, explore


class Line:
    """A system of numbers from 0 to 9, of which 9 is rest; some steps are wrong, some ways end."""

    start = 0

    def __init__(self, edges, wrong=()):
        self.edges, self.wrong = edges, wrong

    def steps(self, state):
        for after in self.edges.get(state, ()):
            step = (state, after)
            yield f"{state} to {after}", after, "wrong" if step in self.wrong else ""

    def ends(self, state):
        return state

    def emptied(self, ends):
        return ends

    def round_trips(self, ends):
        return self.edges.get(ends, ())

    def at_rest(self, ends):
        return ends == 9


def test_sound_line_is_counted():
    result = explore(Line({0: [1, 2], 1: [9], 2: [9], 9: [0]}))
    assert (result.fault, result.trace, result.states, result.steps) == ("", (), 4, 5)


def test_trace_is_a_shortest_one():
    result = explore(Line({0: [1, 3], 1: [2], 2: [9], 3: [9], 9: [4]}, wrong={(9, 4)}))
    assert result.fault == "wrong"
    assert result.trace == ("0 to 3", "3 to 9", "9 to 4")


def test_ends_without_a_path_to_rest_are_detected():
    result = explore(Line({0: [1, 9], 1: [2], 2: [3], 3: [2]}))
    assert result.fault == STUCK
    assert result.trace == ("0 to 1",)


def test_a_circle_with_a_path_out_is_live():
    assert explore(Line({0: [1], 1: [2], 2: [1, 9]})).fault == ""


def test_ways_other_than_round_trips_count():
    line = Line({0: [1], 1: [9]})
    line.round_trips = lambda ends: ()
    assert can_rest(line, 0)
    assert explore(line).fault == ""
