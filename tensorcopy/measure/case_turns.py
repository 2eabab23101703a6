"""A case that is timed in turns of a millisecond: by the processes of several sides, or several cases by that of one side.

What disturbs a machine for longer than a turn meets all that take turns, and cancels in their ratios.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import inf
from statistics import median, median_high
from time import monotonic
from typing import Any

from tensorcopy.measure.side_process import LONGEST_CASE, SideProcess, shuffled
from tensorcopy.results import launches

# Of a case and side, of which the fastest third counts. Variance times cost is least with 6 to 10: a case's setup costs as much as three
TURNS, FEWEST_TURNS = 10, 6
SIDE_SECONDS = 0.2  # that a side's turns of a case take, unless they are the fewest
SIDE_WALL_SECONDS = 1.0  # the same with their setup, which asv runs before each call
RETAKES = 2  # of a case whose sides differ in page faults
MANY_FAULTS = 64  # in a call: 256 KiB of new memory
ANOTHER = -2  # in place of a case's number, of a side that has another version of the benchmark


@dataclass
class SideTurns:
    """What a side's turns of a case gave.

    seconds : a call's, by turn; none of a case that the side lacks, or that was skipped or has failed
    calls : in a turn
    faults : page faults in a call, of the turn with the fewest: a heap that grows has some in others
    parts : where a call's time goes, as `launches.Parts`; None on the CPU
    skipped, failed : the reason
    among_methods : whether other methods of the side took turns with it
    """

    seconds: list[float] = field(default_factory=list)
    calls: int = 0
    faults: float = inf
    parts: Sequence[float | None] | None = None
    skipped: str | None = None
    failed: str | None = None
    among_methods: bool = False


def time_case(
    processes: Sequence[SideProcess],
    name: str,
    indices: Sequence[int | None],
    longest: float = LONGEST_CASE,
    *,
    alone: bool = True,
) -> list[SideTurns]:
    """Let all sides time one case in turns, in random order, and return what each gave.

    indices : of the case in each side's benchmark: -1 where it has no parameters, None where it lacks the case, `ANOTHER`
    longest : seconds that a side may take to set it up
    alone : whether it has forks for itself

    Where sides differ in page faults, the memory of one may have been there before: such a case is taken again in new forks. If it differs
    in the same way, that is how these sides copy; if never twice, the sides that differ have failed.
    """
    for process in processes if alone else ():
        process.end_fork()
    turns = _turns(processes, name, indices, longest)
    different = differing_in_faults(turns)
    for _ in range(RETAKES):
        if not different:
            break
        for process in processes:
            process.end_fork()
        earlier, turns = different, _turns(processes, name, indices, longest)
        different = differing_in_faults(turns)
        if different == earlier:
            break
    else:
        faults = [each.faults for each in turns if each.seconds]
        for number in different:
            differing = f"{turns[number].faults:.0f} from {median(faults):.0f}"
            turns[number] = SideTurns(failed=f"its page faults in a call differ from those of the others, {differing}")
    for process in processes if alone else ():
        process.end_fork()
    return turns


def time_methods(process: SideProcess, name: str, indices: Sequence[int], longest: float = LONGEST_CASE) -> list[SideTurns]:
    """Let the cases of several methods take turns in a fork of one side, in random order, and return what each gave.

    name, longest : as for `time_case`; indices : of the cases

    One that fails ends the fork: the others are taken again without it.
    """
    ended: dict[int, SideTurns] = {}
    while True:
        turns = _turns([process], name, [None if number in ended else index for number, index in enumerate(indices)], longest)
        ended.update((number, each) for number, each in enumerate(turns) if (each.skipped, each.failed) != (None, None))
        if len(ended) == len(indices) or any(each.seconds for each in turns):
            return [replace(ended.get(number, each), among_methods=True) for number, each in enumerate(turns)]


def differing_in_faults(turns: Sequence[SideTurns]) -> set[int]:
    """Return the sides whose page faults in a call are less than half of those of the median side, or more than twice as many."""
    faults = {number: each.faults for number, each in enumerate(turns) if each.seconds}
    if not faults:
        return set()
    middle = median_high(faults.values())
    return {number for number, own in faults.items() if abs(own - middle) > MANY_FAULTS and not middle / 2 <= own <= middle * 2}


def _turns(processes: Sequence[SideProcess], name: str, indices: Sequence[int | None], longest: float) -> list[SideTurns]:
    """Let each side time one case in turns, or one side several cases, and return what each gave.

    A case that gives no turn takes all cases of its process with it, whose fork has ended or has left them.
    """
    turns = [SideTurns(skipped=launches.OTHER_VERSION if index == ANOTHER else None) for index in indices]
    there = shuffled(number for number, index in enumerate(indices) if index not in (None, ANOTHER))
    running: dict[int, tuple[SideProcess, int]] = {}  # by number, the process of a case, and its place among those of the process

    def drop(number: int, process: SideProcess, answer: Mapping[str, Any]) -> None:
        for other in [each for each, (of_other, _) in running.items() if of_other is process]:
            del running[other]
            turns[other] = SideTurns()
        turns[number] = _without_turns(process, answer)

    def ask(number: int, act: str) -> Any:
        """Return what a case answers; None where it is not running, or is dropped for its answer."""
        if number not in running:
            return None
        process, place = running[number]
        process.send(f"{act} {place}")
        answer = process.answer(longest)
        if act not in answer:
            drop(number, process, answer)
        return answer.get(act)

    for process, numbers in [(processes[0], there)] if len(processes) == 1 else [(processes[number], [number]) for number in there]:
        calls = next((each.calls for each in turns if each.calls), 0)  # the first side that can run the case calibrates it for all
        process.begin({"case": name, "indices": [indices[number] for number in numbers], "calls": calls})
        for place, number in enumerate(numbers):
            answer = process.answer(longest)
            if "calls" in answer:
                turns[number].calls = answer["calls"]
                running[number] = process, place
            elif "skipped" in answer:  # by its setup: the fork goes on with the next case
                turns[number] = _without_turns(process, answer)
            else:
                drop(number, process, answer)
                break
    began = monotonic()
    for turn in range(TURNS):
        taken = max((turns[number].calls * sum(turns[number].seconds) for number in running), default=0.0)
        if turn >= FEWEST_TURNS and (taken > SIDE_SECONDS or monotonic() - began > SIDE_WALL_SECONDS * len(running)):
            break
        for number in shuffled(running):
            if answer := ask(number, "turn"):
                seconds, faults = answer
                turns[number].seconds.append(seconds)
                turns[number].faults = min(turns[number].faults, faults / turns[number].calls)
    ending = dict.fromkeys(process for process, _ in running.values())
    for process in ending:
        process.send("end")
    for process in ending:
        answer = process.answer(longest)
        if "done" not in answer:  # its teardown fails, and so does the case, as in asv
            reason = process.reason(answer)
            for number in [each for each, (of_other, _) in running.items() if of_other is process]:
                turns[number] = SideTurns(failed=reason)
    for number in running:
        if strange := [each for each in turns[number].seconds if not launches.SHORTEST < each < launches.LONGEST]:
            turns[number] = SideTurns(failed=f"its own timer gave {strange[0]:g} s for a call")
    return turns


def _without_turns(process: SideProcess, answer: Mapping[str, Any]) -> SideTurns:
    """Return what a side gave for a case that has answered something else than a turn."""
    reason = process.reason(answer)
    return SideTurns(skipped=reason) if "skipped" in answer else SideTurns(failed=reason)
