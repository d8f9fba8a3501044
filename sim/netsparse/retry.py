"""Repeats work requests that failed because something was lost."""

from collections.abc import Awaitable, Callable, Sequence

from hdl.netsparse.rig.params import Cause
from sim.netsparse.work_request import Completion, WorkRequest

ATTEMPTS = 3  #: number of attempts at a request, unless the caller says otherwise
#: Causes that may be gone when a request is tried again: a packet was lost. All others name what
#: somebody has to mend first: an idx, an address, a memory, the other node.
PASSING = frozenset({Cause.WATCHDOG})

Queues = Sequence[Sequence[WorkRequest]]


class GatherFailed(RuntimeError):
    """Reports requests that did not end as DONE; ``completions`` are the last ones of all."""

    def __init__(self, completions: Sequence[Completion], attempts: int) -> None:
        self.completions, self.attempts = completions, attempts
        wrong = [done for done in completions if done.cause is not Cause.DONE]
        each = [f"request {done.tag} of unit {done.unit} as {done.cause.name}" for done in wrong]
        times = "1 attempt" if attempts == 1 else f"{attempts} attempts"
        super().__init__(f"after {times} ended {', '.join(each)}")


async def carry_out(
    run: Callable[[Queues], Awaitable[list[Completion]]],
    clear_filter_at_rest: Callable[[], Awaitable[None]],
    requests: Queues,
    attempts: int = ATTEMPTS,
) -> list[Completion]:
    """Let ``run`` carry out ``requests``, queues by client unit; return each one's last completion.

    Those that end with a cause that may pass are tried again, ``attempts`` times in all, when all
    others have ended and the idx filter has been cleared: a bit of it may stand for a property
    that a failed request did not bring, and clearing it is right only while no request relies on
    it. So nobody else may submit to this SNIC meanwhile. Properties that have come stay right.

    :class:`GatherFailed` if a request has ended otherwise, or in the last attempt. ValueError for
    a request without watchdog, which a lost packet would stop for ever, and for tags that are not
    unique.
    """
    tags = [request.tag for queue in requests for request in queue]
    if len(tags) > len(set(tags)):
        raise ValueError("two requests have the same tag")
    for request in (request for queue in requests for request in queue):
        if not request.watchdog:
            raise ValueError(f"request {request.tag} has no watchdog")
    last: dict[int, Completion] = {}
    for attempt in range(1, attempts + 1):
        left = [[r for r in queue if not is_done(last.get(r.tag))] for queue in requests]
        last |= {done.tag: done for done in await run(left)}
        wrong = {done.cause for done in last.values() if not is_done(done)}
        if not wrong:
            break
        if attempt == attempts or wrong - PASSING:
            raise GatherFailed(list(last.values()), attempt)
        await clear_filter_at_rest()
    return list(last.values())


def is_done(completion: Completion | None) -> bool:
    """Return whether a request has brought everything."""
    return completion is not None and completion.cause is Cause.DONE
