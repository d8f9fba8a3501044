import random

from hdl.netsparse.switch.params import NetSparseSwitchParams
from hdl.netsparse.switch.routing_table import DISTRIBUTED_NODES, RoutingTable
from sim.harness.bench import Bench
from sim.harness.streams import benched
from tests.simulated import simulated

OUTLIVES_RESET = "the memory keeps the routes that were written"

SIZES = [
    NetSparseSwitchParams(ports=3, pipes=0, nodes=nodes, mtu=594) for nodes in (8, 600)
]  # the second in block RAM, and no power of two

test_routing_table = simulated(RoutingTable, SIZES, __name__)


def test_memories_differ():
    small, large = (params.nodes for params in SIZES)
    assert small <= DISTRIBUTED_NODES < large


class TableBench(Bench):
    """Has a table, and what it should say."""

    def __init__(self, dut):
        super().__init__(dut)
        self.cycles, self.expected = [], []
        self.routes = {}
        self.last = None  # node of the last step, and the routes that it may find

    def may_be(self, node):
        """Return the port that leads there, or None without a route."""
        return self.routes.get(node) if node < self.params.nodes else None

    def cycle(self, dest=None, node=None, port=None):
        """Look ``dest`` up, or nothing, and write a route for ``node``, or nothing."""
        route = {"port": port or 0, "known": port is not None}
        write = {"valid": 1, "node": node, "route": route} if node is not None else {}
        requested = random.getrandbits(32) if dest is None else dest
        self.cycles.append({"step": dest is not None, "dest": requested, "write": write})
        self.expected.append(self.last)
        before = None if dest is None else self.may_be(dest)
        if node is not None and node < self.params.nodes:
            self.routes[node] = port
        if dest is not None:
            self.last = {before, self.may_be(dest)}

    async def look_up(self, dests):
        for dest in dests:
            self.cycle(dest)
        self.cycle()
        await self.check()

    async def check(self):
        """Play all cycles, and check what is found in each."""
        seen = await self.played(self.cycles, "route")
        for record, expected in zip(seen, self.expected, strict=True):
            result = record["route"]
            assert expected is None or (result["port"] if result["known"] else None) in expected
        self.cycles, self.expected = [], []


@benched(TableBench)
async def knows_what_was_entered(bench):
    """It knows nothing at first, then each node's last route, whatever is written for no node."""
    nodes, ports = bench.params.nodes, range(bench.params.ports)
    await bench.look_up(range(nodes))
    for _ in range(2):
        routes = [*ports, None, *random.choices((*ports, None), k=nodes)][:nodes]
        random.shuffle(routes)
        for node, port in enumerate(routes):
            bench.cycle(node=node, port=port)
        await bench.look_up(random.sample(range(nodes), nodes))
    assert set(bench.routes.values()) == {*ports, None}
    for node in {nodes, 2 * nodes - 1, 0xFFFF}:
        bench.cycle(node=node, port=1)
    for node, bit in ((random.randrange(nodes), bit) for bit in range(16)):
        if node | 1 << bit >= nodes:  # a bit more, and another port than that of ``node``
            bench.cycle(node=node | 1 << bit, port=int(bench.routes[node] != 1))
    await bench.look_up(range(nodes))


@benched(TableBench)
async def numbers_of_no_node_have_no_route(bench):
    """They have none though their low bits are those of a node that has one."""
    nodes = bench.params.nodes
    for node in range(nodes):
        bench.cycle(node=node, port=node % bench.params.ports)
    size = 1 << (nodes - 1).bit_length()
    dests = [*range(nodes, 2 * size)]
    dests += [random.randrange(nodes) | 1 << bit for bit in range(size.bit_length() - 1, 32)]
    random.shuffle(dests)
    await bench.look_up(dests)


@benched(TableBench)
async def looks_up_and_is_written_at_any_time(bench):
    """What was found stays until the next step; a reset leaves the routes."""
    nodes = bench.params.nodes
    pool = [0, nodes - 1, *random.sample(range(1, nodes - 1), 4), nodes]
    for node in pool:
        bench.cycle(node=node)
    for _ in range(2):
        for _ in range(1000):
            dest = random.choice(pool) if random.random() < 0.5 else None
            node = random.choice(pool[:-1]) if random.random() < 0.3 else None
            port = random.choice((*range(bench.params.ports), None))
            bench.cycle(dest, node, port)
        await bench.check()
        bench.dut.rst.value = 1
        bench.last = None
        bench.dut.step.value = bench.dut.write.value = 0
        await bench.edge
        bench.dut.rst.value = 0
        await bench.look_up(pool)
