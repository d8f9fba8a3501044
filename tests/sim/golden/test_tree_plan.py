import pytest

from sim.golden.tree_plan import Member, TreePlan


def test_two_leaves():
    plan = TreePlan((2, 1))
    assert plan.members == (
        Member(None, 0, (1, 2)),
        Member(0, 0, (3, 4)),
        Member(0, 1, (5,)),
        Member(1, 0, ()),
        Member(1, 1, ()),
        Member(2, 0, ()),
    )
    assert (plan.switches, plan.workers, plan.ports) == (range(3), range(3, 6), 3)
    assert [item.parent_port for item in plan.members[:3]] == [None, 2, 1]
    assert [item.everyone for item in plan.members[:3]] == [3, 3, 1]


def test_levels_and_workers_side_by_side():
    """A switch has a worker, and a switch of a worker and a switch of one worker, below it."""
    plan = TreePlan((None, (1, None)))
    assert [item.children for item in plan.members[:3]] == [(3, 1), (2, 5), (4,)]
    assert [(item.parent, item.place) for item in plan.members[1:]] == [
        (0, 1),
        (1, 0),
        (0, 0),
        (2, 0),
        (1, 1),
    ]


@pytest.mark.parametrize("below", [(16, 17), (), ((33,),)])
def test_a_tree_has_as_many_workers_as_its_sums_have_room_for(below):
    with pytest.raises(ValueError, match="a tree has 1 to 32 workers"):
        TreePlan(below)


def test_a_switch_has_children():
    with pytest.raises(ValueError, match="a switch of a tree has children"):
        TreePlan((2, 0))


def test_maximum():
    assert len(TreePlan(((8, 8), (8, 8))).workers) == 32
