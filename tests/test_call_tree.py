"""A call tree has callgrind's costs without the loop around the call."""

from __future__ import annotations

import pytest

from tensorcopy.worker.probes.functions import call_tree
from tensorcopy.worker.probes.functions.call_tree import Node

# 10 turns: `loop` takes 20 instructions a turn and 100 once; it calls `act` through a jump without a symbol; `act` calls `free`
CALLGRIND = """# callgrind format
version: 1
positions: line
events: Ir

ob=(1) /lib/libpython3.11.so.1.0
fl=(1) ???
fn=(1) loop
0 100
+3 200
*
cob=(2) ???
cfn=(2) 0x0123'loop
calls=10 0
0 520

ob=(2)
fn=(2)
0 20
cob=(3) /env/torch/lib/libc10.so
cfi=(3) ???
cfn=(3) act(int)'0x0123'loop
calls=10 0
0 500

ob=(3)
fn=(3)
0 300
cob=(4) /usr/lib/libc.so.6
cfn=(4) free'act(int)'0x0123'loop
calls=20 0
0 200

ob=(4)
fn=(4)
0 200

totals: 820
"""
LOOP, ACT, FREE = ("libpython", "loop"), ("libc10", "act"), ("libc", "free")


def empty_loop(turns: int) -> Node:
    return Node(callees={LOOP: Node(own=100 + 20.0 * turns)})


def test_jumps_without_a_symbol_belong_to_their_caller():
    """callgrind's chains of callers become a tree; no instruction is lost."""
    tree = call_tree.read(CALLGRIND)
    assert tree.inclusive() == 820
    assert list(tree.callees) == [LOOP]
    act = tree.callees[LOOP].callees[ACT]
    assert (tree.callees[LOOP].own, act.own, act.calls, act.callees[FREE].calls) == (320, 300, 10, 20)


@pytest.mark.parametrize("turns", [(10, 50, 2), (10, 10, 2), (10, 50, 10)], ids=["between", "as many", "as few"])
def test_the_loop_is_subtracted(turns):
    """What runs once is subtracted once, what runs in every turn is subtracted by the turns: only the jump's instructions are left."""
    tree = call_tree.read(CALLGRIND)
    call_tree.subtract(tree, empty_loop(turns[1]), empty_loop(turns[2]), turns)
    call_tree.divide(tree, 10)
    assert tree.callees[LOOP].own == pytest.approx(2)
    act = tree.callees[LOOP].callees[ACT]
    assert (act.own, act.calls, act.inclusive()) == (30, 1, 50)


def test_functions_that_are_left_out_pass_their_callees_on():
    tree = call_tree.read(CALLGRIND)
    call_tree.keep(tree, [LOOP, FREE])
    assert list(tree.callees[LOOP].callees) == [FREE]
    assert tree.callees[LOOP].callees[FREE].calls == 20


def test_the_calls_of_the_last_count_are_taken():
    """callgrind counts the calls of the warm-up, too, so that the first count has too many."""
    first, last = call_tree.read(CALLGRIND.replace("calls=10", "calls=70")), call_tree.read(CALLGRIND)
    call_tree.take_calls(first, last)
    assert first.callees[LOOP].callees[ACT].calls == 10


def test_the_cost_of_a_call_without_a_number_belongs_to_the_callee():
    """callgrind writes `calls=0` for a call that began before counting did."""
    assert call_tree.read(CALLGRIND.replace("calls=20 0", "calls=0 0")).inclusive() == 820
