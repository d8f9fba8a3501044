"""Models MINA's hosts, controller and switches as a network, with what only the checker knows."""

from collections.abc import Iterator
from dataclasses import dataclass

from sim.golden.tenancy import State
from sim.mina.agreement import host_rule as hosting
from sim.mina.agreement.hold_rule import Step
from tests.protocol.mina.cluster_nodes import GroupNode, MemberNode, SwitchNode
from tests.protocol.mina.cluster_setup import LEFT_BEHIND, UNGRANTED, MemberEnd, Rules, Setup
from tests.protocol.mina.nodes import BOTH, DIFFER, Agreement, uses
from tests.protocol.network import NODE_MASK


@dataclass(frozen=True, kw_only=True)
class Cluster(Setup):
    """A cluster that can be explored."""

    def system(self, rules: Rules | None = None) -> "Network":
        """Return the network."""
        rules = rules or Rules()
        nodes = [
            GroupNode(cluster=self, rules=rules),
            *(SwitchNode(cluster=self, number=k, rules=rules) for k in range(self.switches)),
            *(MemberNode(cluster=self, number=h, rules=rules) for h in sorted(self.hosts)),
        ]
        return Network(nodes, self)


class Network(Agreement):
    """Checks what several nodes together do wrong."""

    def __init__(self, nodes: list, cluster: Cluster) -> None:
        self.cluster = cluster
        super().__init__(nodes)

    def steps(self, state: int) -> Iterator[tuple[str, int, str]]:
        """Return all that may happen next; a round of no use begins only if it costs no number."""
        for step, after, fault in super().steps(state):
            begins = step.startswith("controller begins")
            if not begins or self.useful(self.ends(state)):
                yield step, after, fault

    def round_trips(self, ends: int) -> Iterator[int]:
        """Return the same of round trips."""
        for after in super().round_trips(ends):
            if self.round(after) == self.round(ends) or self.useful(ends):
                yield after

    def at_rest(self, ends: int) -> bool:
        """Whether nobody waits, and no switch is left with a job that is not to have it."""
        if not super().at_rest(ends):
            return False
        held = self.held(ends)
        hold, lost = held[0].group.hold, held[0].group.lost
        owner = (hold.job, hold.epoch) if hold.step is not Step.NOTHING else None
        for number, end in enumerate(held[1 : 1 + self.cluster.switches]):
            if self.cluster.switch_restarts or number in lost:
                continue
            entries = enumerate(end.switch.tenants)
            holders = [
                (job, item.epoch) for job, item in entries if item is not None and item.holds
            ]
            if any(holder != owner for holder in holders):
                return False
        return True

    def round(self, ends: int) -> int:
        """Return the round of the controller."""
        return self.known[0][ends & NODE_MASK].held.group.controller.round

    def useful(self, ends: int) -> bool:
        """Whether a round that begins now brings something, unless the hosts go on first.

        As numbers are few, rounds that bring nothing would leave none for those that do.
        """
        held = self.held(ends)
        group = held[0].group
        controller, hold = group.controller, group.hold
        if controller.grant is None:
            return True
        live = dict(controller.jobs)
        hosts = [end.member.host for end in held[1 + self.cluster.switches :]]
        hosts = [host for host in hosts if host.job in live]
        if any(len({h.index for h in hosts if h.job == job}) > 1 for job in live):
            return self.cluster.abandons
        owners = [host for host in hosts if host.job == hold.job]
        ended = all(h.index >= controller.grant.end and not uses(h) for h in owners)
        stalled = any(host.stalled for host in owners)
        return hold.step is Step.HELD or ended or stalled or self.cluster.withdraws

    def fault(self, held: list) -> str:
        """Return the first thing that is wrong."""
        group = held[0].group
        live = dict(group.controller.jobs)
        ends = [item for item in held[1 + self.cluster.switches :] if not item.dead]
        for fault in self.all_faults(held, [end for end in ends if end.member.host.job in live]):
            if fault in self.cluster.watched:
                return fault
        return ""

    def all_faults(self, held: list, ends: list[MemberEnd]) -> Iterator[str]:
        """Return all that is wrong with jobs that are not over."""
        for k, item in enumerate(ends):
            host = item.member.host
            for other in ends[k + 1 :]:
                if host.job == other.member.host.job:
                    pairs = zip(item.log, other.log, strict=False)
                    if any(a != b for a, b in pairs):
                        yield DIFFER
                    if left_behind(host, other.member.host):
                        yield LEFT_BEHIND
                    if left_behind(other.member.host, host):
                        yield LEFT_BEHIND
                elif self.shared(host, other.member.host):
                    yield BOTH
            if uses(host) and not self.granted(held, host):
                yield UNGRANTED

    def shared(self, first: hosting.Host, second: hosting.Host) -> bool:
        """Whether two hosts use a switch at a time."""
        trees = self.cluster.trees
        both = set(trees[first.grant.tree]) & set(trees[second.grant.tree])
        return uses(first) and uses(second) and bool(both)

    def granted(self, held: list, host: hosting.Host) -> bool:
        """Whether all switches of its tree are the host's job's, by its grant."""
        for switch in self.cluster.trees[host.grant.tree]:
            entry = held[1 + switch].switch.tenants[host.job]
            if entry is None or entry.state is State.REGISTERED or entry.epoch != host.used:
                return False
        return True


def left_behind(host: hosting.Host, other: hosting.Host) -> bool:
    """Whether ``other`` lacks sums of an operation with INA that ``host`` is past."""
    past = host.index - host.busy
    return uses(other) and other.missing and other.index <= past
