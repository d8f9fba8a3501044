"""Runs tasks of a simulation at the same time."""

from collections.abc import Coroutine, Iterable
from typing import Any

import cocotb


async def together(coroutines: Iterable[Coroutine[Any, Any, Any]]) -> list[Any]:
    """Run coroutines at once; return their results, or raise the first failure when all end."""

    async def ended(one: Coroutine[Any, Any, Any]) -> tuple[Any, Exception | None]:
        try:
            return await one, None
        except Exception as failure:  # of a task that nobody awaits yet, which would end the run
            return None, failure

    tasks = [cocotb.start_soon(ended(each)) for each in coroutines]
    found = [await task for task in tasks]
    for _, failure in found:
        if failure is not None:
            raise failure
    return [value for value, _ in found]
