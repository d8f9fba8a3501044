"""Lists the systems of MINA that are explored: those of each commit, and the larger ones."""

from tests.protocol.mina.cluster import Cluster
from tests.protocol.mina.cluster_setup import FAULTS, UNGRANTED
from tests.protocol.mina.migration import Migration
from tests.protocol.mina.nodes import Hosts

ONE = ((0, (0,)),)
PAIR = ((0, (0, 1)),)
TWO_JOBS = ((0, (0,)), (1, (1,)))
PAIR_AND_ONE = ((0, (0, 1)), (1, (2,)))
FIRST = ((0, 0),)  #: the first job gets the first tree
#: A switch that restarts is nobody's, whatever its hosts know.
WATCHED = FAULTS - {UNGRANTED}

ROUNDS = Hosts(operations=2, rounds=2)
RESTART = Hosts(operations=2, rounds=2, restarts=1)
SMALL_RESTART = Hosts(operations=1, rounds=2, restarts=1)
SHARED = Hosts(jobs=TWO_JOBS, operations=2, rounds=2, instant=False)

IN_TURN = Cluster(jobs=TWO_JOBS, granted=True, numbers=4)
AGAIN = Cluster(jobs=ONE, wishes=FIRST, operations=2, numbers=5)
TREE = Cluster(jobs=ONE, wishes=FIRST, trees=((0, 1),), numbers=3)
WITHDRAWN = Cluster(
    jobs=ONE, wishes=FIRST, granted=True, withdraws=True, length=2, operations=2, numbers=3
)
LOST_PAIR = Cluster(
    jobs=PAIR,
    wishes=FIRST,
    granted=True,
    numbers=2,
    stalls=True,
    switch_restarts=1,
    watched=WATCHED,
)
LOST = Cluster(
    jobs=ONE,
    wishes=FIRST,
    granted=True,
    length=2,
    operations=2,
    numbers=3,
    stalls=True,
    switch_restarts=1,
    losses=1,
    watched=WATCHED,
)
RESTARTED = Cluster(jobs=TWO_JOBS, granted=True, numbers=4, restarts=1)
SHARES = Cluster(jobs=PAIR, wishes=FIRST, operations=2, numbers=0)
DEATH = Cluster(jobs=PAIR, wishes=FIRST, granted=True, numbers=2, drops=1, mortal=(1,))

SHORT = {
    "one job, two rounds": ROUNDS,
    "one job, a restart": Hosts(operations=2, rounds=1, restarts=1),
    "one job, three hosts": Hosts(jobs=((0, (0, 1, 2)),), operations=1, rounds=1),
    "two jobs": Hosts(jobs=TWO_JOBS, operations=1, rounds=2, instant=False),
    "two jobs, three hosts": Hosts(jobs=PAIR_AND_ONE, operations=1, rounds=1, instant=False),
    "a switch for two jobs in turn": IN_TURN,
    "a switch for a job twice": AGAIN,
    "a tree of two switches": TREE,
    "a tree of two switches for two jobs": Cluster(
        jobs=TWO_JOBS, granted=True, trees=((0, 1),), numbers=4
    ),
    "a grant that is withdrawn": WITHDRAWN,
    "rounds that are given up": Cluster(
        jobs=PAIR,
        wishes=FIRST,
        granted=True,
        abandons=True,
        withdraws=True,
        length=2,
        operations=2,
        numbers=2,
    ),
    "a lost switch, two hosts": LOST_PAIR,
    "a lost switch, two operations": LOST,
    "no INA": SHARES,
    "a host that dies": DEATH,
    "two restarts of the controller": Cluster(
        jobs=PAIR, wishes=FIRST, granted=True, numbers=2, restarts=2
    ),
    "three jobs move": Migration(doubles=False),
    "two jobs move": Migration(jobs=2),
    "three jobs move, two have a switch at a time": Migration(doubles=False, most=2, slots=3),
    "the same, two have a slot in common": Migration(doubles=False, most=2, slots=2),
}

LONG = {
    "one job, three rounds": Hosts(operations=2, rounds=3),
    "one job, three rounds, three operations": Hosts(operations=3, rounds=3),
    "one job, three operations, a restart": Hosts(operations=3, rounds=2, restarts=1),
    "one job, two rounds, a restart": RESTART,
    "one job, a round, two restarts": Hosts(operations=1, rounds=1, restarts=2),
    "two jobs, two operations": SHARED,
    "two jobs, a restart of the controller": RESTARTED,
    "a switch that restarts and is acquired": Cluster(
        jobs=ONE, wishes=FIRST, numbers=4, stalls=True, switch_restarts=1, watched=WATCHED
    ),
    "a lost switch, two hosts, until it is given back": Cluster(
        jobs=PAIR,
        wishes=FIRST,
        granted=True,
        numbers=3,
        stalls=True,
        switch_restarts=1,
        losses=1,
        watched=WATCHED,
    ),
    "a host of two jobs that dies": Cluster(
        jobs=PAIR_AND_ONE, granted=True, numbers=2, drops=2, mortal=(1,)
    ),
    "the owner dies": Cluster(jobs=TWO_JOBS, granted=True, numbers=4, drops=2, mortal=(0,)),
    "the owner dies, a restart": Cluster(
        jobs=TWO_JOBS, granted=True, numbers=2, drops=2, mortal=(0,), restarts=1
    ),
    "a host dies, a restart": Cluster(
        jobs=PAIR, wishes=FIRST, granted=True, numbers=2, drops=1, mortal=(1,), restarts=1
    ),
}

SYSTEMS = SHORT | LONG
