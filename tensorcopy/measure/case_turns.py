"""A case that is timed in turns of a millisecond: by the processes of several sides, or several cases by that of one side.

What disturbs a machine for longer than a turn meets all that take turns, and cancels in their ratios.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from statistics import median, median_high
from time import monotonic
from typing import TypeVar

from tensorcopy.measure.side_process import LONGEST_CASE, SideProcess, shuffled
from tensorcopy.results import launches

# Of a case and side, of which the fastest third counts. Variance times cost is least with 6 to 10: a case's setup costs as much as three
TURNS, FEWEST_TURNS = 10, 6
SIDE_SECONDS = 0.2  # that a side's turns of a case take, unless they are the fewest
SIDE_WALL_SECONDS = 1.0  # the same with their setup, which asv runs before each call
RETAKES = 2  # of a case whose sides differ in page faults
MANY_FAULTS = 64  # in a call: 256 KiB of new memory
ANOTHER = -2  # in place of a case's number, of a side that has another version of the benchmark

T = TypeVar("T")


@dataclass(frozen=True)
class Turns:
    """What turns gave: of one case by the number of the side, or of one side by the number of the case.

    seconds : a call's, by turn
    calls : in a turn, the same for all sides
    faults : page faults in a call, of the turn with the fewest: a heap that grows has some in others
    skipped, failed : reasons
    parts : where a call's time goes, as `launches.Parts`; nothing on the CPU
    in_turns : whether it is one of several cases of a side that took turns
    """

    seconds: Mapping[int, Sequence[float]]
    calls: Mapping[int, int]
    faults: Mapping[int, float] = field(default_factory=dict)
    skipped: Mapping[int, str] = field(default_factory=dict)
    failed: Mapping[int, str] = field(default_factory=dict)
    parts: Mapping[int, Sequence[float | None]] = field(default_factory=dict)
    in_turns: bool = False

    def of_case(self, number: int) -> Turns:
        """Return the turns of one of several cases of a side, as of a case with one side."""

        def own(values: Mapping[int, T]) -> Mapping[int, T]:
            return {0: values[number]} if number in values else {}

        return Turns(own(self.seconds), own(self.calls), own(self.faults), own(self.skipped), own(self.failed), own(self.parts), True)


def time_case(
    processes: Sequence[SideProcess],
    name: str,
    indices: Sequence[int | None],
    longest: float = LONGEST_CASE,
    *,
    alone: bool = True,
    in_parts: bool = False,
) -> Turns:
    """Let all sides time one case in turns, in random order.

    indices : of the case in each side's benchmark: -1 where it has no parameters, None where it lacks the case, `ANOTHER`
    longest : seconds that a side may take to set it up
    alone : whether it has forks for itself
    in_parts : whether each side tells where the time of a call goes, after its turns

    Where sides differ in page faults, the memory of one may have been there before: such a case is taken again in new forks. If it differs
    in the same way, that is how these sides copy; if never twice, the sides that differ have failed.
    """
    for process in processes if alone else ():
        process.end_fork()
    turns = _turns(processes, name, indices, longest, in_parts)
    different = differing_in_faults(turns.faults)
    for _ in range(RETAKES):
        if not different:
            break
        for process in processes:
            process.end_fork()
        earlier, turns = different, _turns(processes, name, indices, longest, in_parts)
        different = differing_in_faults(turns.faults)
        if different == earlier:
            break
    else:
        if different:
            middle = median(turns.faults.values())
            reasons = {
                number: f"its page faults in a call differ from those of the others, {turns.faults[number]:.0f} from {middle:.0f}"
                for number in different
            }
            kept = {number: times for number, times in turns.seconds.items() if number not in different}
            turns = replace(turns, seconds=kept, failed={**turns.failed, **reasons})
    for process in processes if alone else ():
        process.end_fork()
    return turns


def time_methods(
    process: SideProcess, name: str, indices: Sequence[int], longest: float = LONGEST_CASE, *, in_parts: bool = False
) -> Turns:
    """Let the cases of several methods take turns in a fork of one side, in random order.

    name, longest, in_parts : as for `time_case`; indices : of the cases

    One that fails ends the fork: the others are taken again without it.
    """
    left: list[int | None] = [*indices]
    skipped: dict[int, str] = {}
    failed: dict[int, str] = {}
    while True:
        turns = _turns([process], name, left, longest, in_parts)
        skipped.update(turns.skipped)
        failed.update(turns.failed)
        left = [None if number in skipped or number in failed else index for number, index in enumerate(indices)]
        if turns.seconds or not any(index is not None for index in left):
            return replace(turns, skipped=skipped, failed=failed)


def differing_in_faults(faults: Mapping[int, float]) -> set[int]:
    """Return the sides whose page faults in a call are less than half of those of the median side, or more than twice as many."""
    if not faults:
        return set()
    middle = median_high(faults.values())
    return {number for number, own in faults.items() if abs(own - middle) > MANY_FAULTS and not middle / 2 <= own <= middle * 2}


def _turns(processes: Sequence[SideProcess], name: str, indices: Sequence[int | None], longest: float, in_parts: bool) -> Turns:
    """Let the fork of each side time one case in turns, or the fork of one side several cases; these have no times where one fails."""
    calls: dict[int, int] = {}  # in a turn: the first side that can run the case calibrates it for all, and of several cases each itself
    skipped = {number: launches.OTHER_VERSION for number, index in enumerate(indices) if index == ANOTHER}
    failed: dict[int, str] = {}
    there = shuffled(number for number, index in enumerate(indices) if index not in (None, ANOTHER))
    one_side = len(processes) == 1
    forks: dict[int, tuple[SideProcess, int]] = {}  # what runs a case, and the place of the case among those that it runs
    for numbers in [there] if one_side else [[number] for number in there]:
        process, known = (processes[0], 0) if one_side else (processes[numbers[0]], next(iter(calls.values()), 0))
        process.begin({"case": name, "indices": [indices[number] for number in numbers], "calls": known})
        for place, number in enumerate(numbers):
            answer = process.answer(longest)
            if "calls" in answer:
                calls[number] = answer["calls"]
                forks[number] = process, place
                continue
            (skipped if "skipped" in answer else failed)[number] = process.reason(answer)
            if one_side and failed:
                return Turns({}, {}, skipped=skipped, failed=failed)
    seconds: dict[int, list[float]] = {number: [] for number in forks}
    faults: dict[int, list[int]] = {number: [] for number in forks}
    began = monotonic()
    for turn in range(TURNS):
        taken = max([calls[number] * sum(times) for number, times in seconds.items()] or [0.0])
        if turn >= FEWEST_TURNS and (taken > SIDE_SECONDS or monotonic() - began > SIDE_WALL_SECONDS * len(seconds)):
            break
        for number in shuffled(forks):
            process, place = forks[number]
            process.send(f"turn {place}")
            answer = process.answer(longest)
            if "turn" in answer:
                of_call, of_turn = answer["turn"]
                seconds[number].append(of_call)
                faults[number].append(of_turn)
                continue
            (skipped if "skipped" in answer else failed)[number] = process.reason(answer)
            if one_side:
                return Turns({}, {}, skipped=skipped, failed=failed)
            del forks[number], seconds[number]
    parts: dict[int, list[float | None]] = {}
    for number in shuffled(forks) if in_parts else ():
        process, place = forks[number]
        process.send(f"parts {place}")
        answer = process.answer(longest)
        if "parts" in answer:
            parts[number] = answer["parts"]
            continue
        failed[number] = process.reason(answer)
        if one_side:
            return Turns({}, {}, skipped=skipped, failed=failed)
        del forks[number]
    ending = dict.fromkeys(process for process, _ in forks.values())
    for process in ending:
        process.send("end")
    for process in ending:
        answer = process.answer(longest)
        if "done" not in answer:  # its teardown fails, and so does the case, as in asv
            failed.update(dict.fromkeys((number for number, fork in forks.items() if fork[0] is process), process.reason(answer)))
    for number in forks.keys() - failed.keys():
        if strange := [each for each in seconds[number] if not launches.SHORTEST < each < launches.LONGEST]:
            failed[number] = f"its own timer gave {strange[0]:g} s for a call"
    seconds = {number: times for number, times in seconds.items() if number not in failed}
    of_call = {number: min(faults[number]) / calls[number] for number, times in seconds.items() if times}
    return Turns(seconds, calls, of_call, skipped, failed, parts)
