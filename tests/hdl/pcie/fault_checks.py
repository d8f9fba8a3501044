"""Compares the logs of a run under faults with the golden models."""

from bisect import bisect_right
from collections import Counter
from dataclasses import dataclass
from itertools import chain

from hdl.pcie.descriptors import COMPLETION
from sim.golden.pcie_requester import Cause, Code, Completion, Outstanding, Read, Status, cut
from sim.harness.payloads import unpack

TICK = 1000  #: cycles
SLACK = 400  #: cycles that a read may wait for its turn, and its beats for their taker
RESET_CYCLES = 3 * TICK  #: from the beginning of a reset until it is done, at most


@dataclass
class Sent:
    """Keeps a read, the cycle of its sending, and its end by the golden model with the cycle."""

    outstanding: Outstanding
    tag: int
    cycle: int
    ended: int | None = None  #: cycle of its last completion

    @property
    def read(self):
        return self.outstanding.read


def sent_reads(logs, tags):
    """Return the reads that were sent, each with its completions; check that tags were free."""
    result, under_way, free_from = [], {}, dict.fromkeys(range(tags), 0)
    completions = zip(logs["completions"]["cycle"].tolist(), descriptors(logs), strict=True)
    next_one = next(completions, None)
    for at, tag, address, size in logs["reads"].tolist():
        while next_one and next_one[0] < at:
            take(*next_one, under_way, free_from)
            next_one = next(completions, None)
        assert tag not in under_way, "a tag was given twice"
        assert at >= free_from[tag], "a tag was given though something may come for it"
        result.append(Sent(Outstanding(Read(address, size)), tag, at))
        under_way[tag] = result[-1]
    while next_one:
        take(*next_one, under_way, free_from)
        next_one = next(completions, None)
    assert not under_way
    return result


def take(at, reported, under_way, free_from):
    """Let the golden model of the read with this tag take a completion."""
    tag, completion = reported
    if completion.code == Code.INVALID_TAG:
        return
    sent = under_way[tag]
    sent.outstanding.take(completion)
    if sent.outstanding.ended:
        sent.ended = at
        del under_way[tag]
        # After a time-out a late completion may come, so the tag is free a whole time-out later.
        free_from[tag] = at + TICK * (completion.code == Code.TIMEOUT)


def descriptors(logs):
    """Yield the tag of each completion, and the completion as the golden model takes it."""
    for words, discontinued in zip(
        logs["completions"]["descriptor"], logs["completions"]["discontinued"], strict=True
    ):
        result = unpack(COMPLETION, int.from_bytes(words.tobytes(), "little"))
        yield (
            result["tag"],
            Completion(
                address=result["address"],
                remaining=result["remaining"],
                dwords=result["dwords"],
                completed=bool(result["completed"]),
                code=Code(int(result["code"].value)),
                status=Status(int(result["status"].value)),
                poisoned=bool(result["poisoned"]),
                discontinued=bool(discontinued),
            ),
        )


class Handed:
    """Compares the beats that the user got with the reads that were sent, and with their ends."""

    def __init__(self, params, logs, reads, content):
        self.params = params.on_host.requester.reads
        self.logs, self.reads, self.content = logs, reads, content
        self.requests = self.pieces()
        self.stops = stops(logs["resets"])
        self.causes, self.unsure = Counter(), 0  # reads by cause; reads without a known one

    def pieces(self):
        """Return the reads of each request; check that these, in order, are the reads sent."""
        sent, result = iter(self.reads), []
        for k, (_, user, address, size) in enumerate(self.logs["requests"].tolist()):
            assert user == k
            result.append([])
            for read in cut(address, size, 512):
                result[-1].append(next(sent))
                assert result[-1][-1].read == read
        assert next(sent, None) is None
        return result

    def check_silence(self):
        """Check that nothing is sent after a reset before the host lets the function go on."""
        assert silent(self.stops, [read.cycle for read in self.reads])
        assert silent(self.stops, self.logs["sent"]["cycle"].tolist())

    def check(self, counters):
        """Check that each request ended once, with its bytes or the right cause; count causes."""
        (self.in_order if self.params.in_order else self.as_they_complete)()
        self.check_silence()
        assert counters["sent"] == len(self.reads)
        strangers = [reported.code == Code.INVALID_TAG for _, reported in descriptors(self.logs)]
        assert counters["stranger"] == sum(strangers)
        timed_out = self.causes[Cause.STOPPED] + self.causes["late"]
        assert timed_out <= counters["abandoned"] <= timed_out + self.unsure
        failed = sum(item.outstanding.cause != Cause.NONE for item in self.reads)
        matched = self.causes.total() - timed_out - self.causes[Cause.NONE]
        assert matched - self.unsure <= counters["failed"] <= failed
        assert counters["longest"] <= RESET_CYCLES
        self.causes[Cause.TIMEOUT] += self.causes.pop("late", 0)
        self.all_tags_at_once(2 * self.params.tags)
        return +self.causes

    def all_tags_at_once(self, requests):
        """Check that the last reads, without faults, hold all tags before the first answer."""
        last = [read for reads in self.requests[-requests:] for read in reads]
        assert all(read.outstanding.cause == Cause.NONE for read in last)
        first = last[: self.params.tags]
        assert {read.tag for read in first} == set(range(self.params.tags))
        assert first[-1].cycle < first[0].cycle + 1500

    def in_order(self):
        beats = iter(self.logs["beats"])
        for number, reads in enumerate(self.requests):
            before = Cause.NONE
            for sent in reads:
                cause = self.take(beats, sent, number, last=sent is reads[-1], before=before)
                if before:
                    assert cause == before
                    self.unsure += 1
                before = cause
        assert next(beats, None) is None

    def as_they_complete(self):
        beats, known = iter(self.logs["beats"]), {}
        for number, reads in enumerate(self.requests):
            for sent in reads:
                known[number, sent.read.address - reads[0].read.address] = sent
        for beat in beats:
            sent = known.pop((int(beat["user"]), int(beat["place"])))
            self.take(chain([beat], beats), sent, int(beat["user"]), last=True)
        assert not known

    def take(self, beats, sent, number, *, last, before=Cause.NONE):
        """Take the beats of a read, and check them; return its cause."""
        step, read, data = self.params.data_bits // 8, sent.read, []
        for first in range(0, read.size, step):
            beat = next(beats)
            assert beat["user"] == number
            assert beat["bytes"] == min(step, read.size - first)
            assert bool(beat["last"]) == (last and first + step >= read.size)
            data.append(beat["data"].tobytes())
        cause, at = Cause(int(beat["cause"])), int(beat["cycle"])
        if not before:
            self.judge(sent, cause, at)
        if cause == Cause.NONE:
            expected = self.content[read.address : read.end]
            assert b"".join(data)[: read.size] == expected
        return cause

    def judge(self, sent, cause, at):
        """Check that the cause is the golden model's, or that the end had not come in time."""
        in_time = sent.ended is not None and sent.ended <= at
        recently = sent.ended is None or sent.ended > at - SLACK
        if cause == sent.outstanding.cause and in_time:
            self.causes[cause] += 1
            self.unsure += cause == Cause.TIMEOUT
        elif cause == Cause.TIMEOUT:
            assert recently
            assert at - sent.cycle > TICK
            self.causes["late"] += 1
        else:
            assert cause == Cause.STOPPED, (sent, cause, at)
            begun = self.stopped(sent, at)
            assert sent.ended is None or sent.ended > begun - SLACK
            self.causes[cause] += 1

    def stopped(self, sent, at):
        """Return when the last stop before a cycle began; check that it ended after the sending."""
        begins, _, ends = self.stops
        k = bisect_right(begins, at) - 1
        assert k >= 0
        assert ends[k] >= sent.cycle
        return begins[k]


def stops(events):
    """Return the cycles in which resets began, were done, and in which the function went on."""
    steps = events["step"].tolist()
    assert steps == [0, 1, 2] * (len(steps) // 3)
    return [events["cycle"][step::3].tolist() for step in range(3)]


def silent(stops, cycles):
    """Return whether no cycle is between a reset that is done and the host's permission."""
    _, done, ends = stops
    stopped = [bisect_right(done, at) - bisect_right(ends, at) for at in cycles]
    return not any(stopped)


def check_writes(logs, content, dump, counters):
    """Check that host memory has the writes reported as sent, each reported once, and no others."""
    sent = logs["sent"]["user"].tolist()
    assert sorted(set(sent)) == sent
    assert len(sent) + counters["writes_lost"] == len(logs["writes"])
    expected, said = bytearray(content), set(sent)
    for _, user, address, size, word in logs["writes"].tolist():
        if user in said:
            expected[address : address + size] = (word.to_bytes(8, "little") * 4)[:size]
    assert dump == bytes(expected)
