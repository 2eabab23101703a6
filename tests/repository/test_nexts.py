"""What an error tells to do next can be typed: each command in it is one that its program takes."""

import argparse
import ast
import re
import shlex
import subprocess
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import product

import pytest
from asv.commands import make_argparser

from tensorcopy import cli
from tests.conftest import ROOT

NEXT = ("next", "next_step")  # names of the parameters that are a next
PASSED_ON = ("error.next", "document['next']", *NEXT)  # of another error, and of a caller, where it is looked at
OTHERS = {"-c", "-m", "-p", "-ld", "--tool"}  # options of python, mkdir, ls and valgrind
PROSE = "have|in|lists|of|prints|shows|to|where|which|writes"  # words that end a command
# what stands for a value in the text of a next: a new one belongs here
EXAMPLES = {
    "' '.join(CALLGRIND)": "valgrind --tool=callgrind",
    "EXTRAS.get(package, 'dashboard')": "dashboard",
    "_command(options)": "tensorcopy compare 2.14.1 2.15.0 --device cpu --metric bytes",
    "after": "2.15.0",
    "after.version": "2.15.0",
    "before": "2.14.1",
    "before.version": "2.14.1",
    "cause.after.folder": "results/box",
    "cause.after.version": "2.15.0",
    "cause.before.version": "2.14.1",
    "cause.method": "detach",
    "checkout": "checkout",
    "environments.BACKEND": "UV_TORCH_BACKEND",
    "instead": "cpu",
    "inverted": " --invert",
    "revision": "HEAD",
    "shlex.join(places)": ".github/workflows/pages.yml",
    "command": "tensorcopy history",
    "device": "cuda",
    "environment.python.parent.parent": ".asv/env/2.15.0-py3.12-cpu",
    "files.from_git(path)": "git -C results/box checkout launch.json where git has it",
    "files.from_git(table)": "git checkout releases.toml where git has it",
    "from_git(path)": "git checkout asv.conf.json where git has it",
    "installing('torch')": "python -m pip install torch",
    "max(1, round(numel / 1024)) * 1024": "1024",
    "max(GIGABYTES.values()) + 1": "7",
    "interpreters.FILE": "tensorcopy.toml",
    "missing[0]": "2.15.0",
    "missing[1]": "einops",
    "name": "dtype",
    "names[0]": "box",
    "both[0]": "box",
    "first": "2.14.1",
    "second": "2.15.0",
    "named[0]": "HEAD~1",
    "named[1]": "HEAD",
    "next(iter(by_device))": "cuda",
    "next(iter(known))": "float32",
    "option": "--device ",
    "options.range": "v2.14.1..v2.15.0",
    "options.revision1": "v2.14.1",
    "options.revision2": "v2.15.0",
    "pair.after.python": "3.12",
    "pair.after.version": "2.15.0",
    "pair.before.python": "3.12",
    "pair.before.version": "2.14.1",
    "path": ".asv/env/2.15.0-py3.12-cpu",
    "plan.python_for(release, known_pythons())": "3.12",
    "python": "3.12",
    "python_for(release, environments.known_pythons())": "3.12",
    "quote(bench)": "copies.BySize.time_copy",
    "range_text": "2.10..",
    "release.pythons[1]": "3.12",
    "release.version": "2.15.0",
    "relpath(launches[-1])": "results/box/launch.json",
    "request.head[:12]": "0123456789ab",
    "result.python": "3.12",
    "result.version": "2.15.0",
    "row.get('version', 'VERSION')": "2.99.0",
    "shlex.join(command)": "python -m tensorcopy.worker.processes",
    "shlex.quote(str(PACKAGE.parent))": "checkout",
    "shlex.quote(above[0])": "..",
    "shlex.quote(command[0])": "python",
    "shlex.quote(pattern)": "detach",
    "shlex.quote(str(path.parent))": "plots",
    "shlex.quote(str(side.python))": ".venv/bin/python",
    "table.name": "releases.toml",
    "variable": "TENSORCOPY_FOR",
    "folder": ".asv/env",
    "process.program.python": ".venv/bin/python",
    "program.python.parent.parent": ".venv",
    "shlex.quote(str(program.python))": ".venv/bin/python",
    "head[:12]": "0123456789ab",
    "options.bench": "copies",
    "commit": "main",
    "' '.join(names)": "v2.14.1 v2.15.0",
}
Names = Mapping[str, Sequence[ast.AST]]


def assigned(nodes: Iterable[ast.AST]) -> Iterator[tuple[str, ast.AST]]:
    """Yield each name that gets a value, or an item, and the expression that it gets; of a tuple that it unpacks, the whole expression."""
    for node in nodes:
        if isinstance(node, (ast.Assign, ast.AnnAssign, ast.AugAssign, ast.For)):
            target = node.targets[0] if isinstance(node, ast.Assign) else node.target
            value = node.iter if isinstance(node, ast.For) else node.value
            are_pairs = isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple)
            for part, of_part in zip(target.elts, value.elts) if are_pairs else [(target, value)]:
                yield from ((name.id, of_part) for name in ast.walk(part) if isinstance(name, ast.Name) and of_part)
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "append":
            yield ast.unparse(node.func.value), node.args[0]


def texts(node: ast.AST, names: Names) -> Iterator[str]:
    """Yield the texts that an expression can be. Raises LookupError for a value in one that has no example."""
    if isinstance(node, ast.Constant):
        yield str(node.value)
    elif isinstance(node, ast.JoinedStr):
        yield from map("".join, product(*([*texts(part, names)] for part in node.values)))
    elif isinstance(node, ast.FormattedValue):
        source = ast.unparse(node.value)
        of_value = [EXAMPLES[source]] if source in EXAMPLES else [*texts(node.value, names)]
        if not of_value:
            raise LookupError(f"{source} has no example")
        yield from of_value
    elif isinstance(node, ast.Name):
        others = {name: values for name, values in names.items() if name != node.id}
        yield from (text for value in names.get(node.id, ()) for text in texts(value, others))
    else:
        yield from (text for part in parts_of(node) for text in texts(part, names))


def parts_of(node: ast.AST) -> list[ast.AST]:
    """Return the parts of an expression that its text comes from."""
    if isinstance(node, ast.IfExp):
        return [node.body, node.orelse]
    if isinstance(node, ast.Call):
        return [node.func, *node.args]
    if isinstance(node, ast.Attribute) and node.attr.isupper():
        return [ast.Name(node.attr)]  # a constant of another module
    if isinstance(node, (ast.Attribute, ast.Subscript)):
        return [node.value]
    return [*ast.iter_child_nodes(node)] if isinstance(node, (ast.BinOp, ast.BoolOp, ast.Tuple, ast.Dict)) else []


def given() -> Iterator[tuple[str, ast.AST, Names]]:
    """Yield each expression that is given as a next, its place, and what the names in its module are."""
    modules = {path: ast.parse(path.read_text(encoding="utf-8")) for path in sorted((ROOT / "tensorcopy").rglob("*.py"))}
    nodes = {path: [*ast.walk(module)] for path, module in modules.items()}
    constants = [pair for module in modules.values() for pair in assigned(module.body) if pair[0].isupper()]
    functions = [node for of in nodes.values() for node in of if isinstance(node, ast.FunctionDef)]
    positions = {each.name: number for each in functions for number, argument in enumerate(each.args.args) if argument.arg in NEXT}
    for path, of in nodes.items():
        names: dict[str, list[ast.AST]] = {}
        for name, value in (*constants, *assigned(of)):
            names.setdefault(name, []).append(value)
        for call in of:
            if isinstance(call, ast.Call):
                position = positions.get(getattr(call.func, "attr", getattr(call.func, "id", "")), len(call.args))
                for value in (*call.args[position : position + 1], *(each.value for each in call.keywords if each.arg in NEXT)):
                    if ast.unparse(value).split(" if ")[0] not in PASSED_ON:
                        yield f"{path.relative_to(ROOT)}:{value.lineno}", value, names


def commands(text: str) -> list[list[str]]:
    """Return the command lines in a next: each ends with its clause, or before a word that is prose."""
    clauses = re.split(r"[,;:] | or | and ", text)
    matches = (re.search(r"(^|[ `])(?P<line>(tensorcopy|asv|git|uv|pip) [^`]+)", clause) for clause in clauses)
    return [shlex.split(re.split(rf" (?:{PROSE})\b", match["line"])[0]) for match in matches if match]


@cache
def parser(program: str) -> argparse.ArgumentParser:
    return cli.parser() if program == "tensorcopy" else make_argparser()[0]


@cache
def help_text(*command: str) -> str:
    done = subprocess.run([*command, "-h" if command[0] == "git" else "--help"], capture_output=True, text=True, check=False)
    return done.stdout + done.stderr


@cache
def options_of(program: str) -> set[str]:
    """Return the options of a program and of its commands."""
    ahead, options = [parser(program)], set[str]()
    while ahead:
        of = ahead.pop()
        options.update(of._option_string_actions)
        ahead += [each for action in of._actions if isinstance(action, argparse._SubParsersAction) for each in action.choices.values()]
    return options


def refused(command: Sequence[str]) -> str:
    """Return why a program does not take a command line; "" where it does."""
    if command[0] in ("tensorcopy", "asv"):
        try:
            parser(command[0]).parse_args(command[1:])
        except SystemExit:
            return "its parser refuses it"
        return ""
    words = ["uv", *command] if command[0] == "pip" else [word for word in command if word not in ("-C", "results/box")]
    depth = 3 if words[1] in ("python", "pip", "cache") else 2
    text = help_text(*words[:depth])
    lacking = [word for word in words[depth:] if word.startswith("-") and not re.search(rf"-(\[no-\])?{word.lstrip('-')}\b", text)]
    return "" if f"{' '.join(words[:depth])} [" in text and not lacking else f"{' '.join(words[:depth])} lacks {lacking or 'help'}"


def faults(expression: ast.AST, names: Names) -> Iterator[str]:
    """Yield what of a next cannot be typed, of each text that it can be."""
    every = [*texts(expression, names)]
    if not every:
        yield f"{ast.unparse(expression)} has no text"
    known = options_of("tensorcopy") | options_of("asv") | OTHERS
    for text in every:
        lines = commands(text)
        yield from (f"{shlex.join(line)}: {fault}" for line in lines if (fault := refused(line)))
        options = {*re.findall(r"(?<!\S)--?[a-z][\w-]*", text)} - known - {word for line in lines for word in line}
        yield from (f"{text}: no {option}" for option in sorted(options))


def test_each_next_can_be_typed():
    """Each text that it can be, with an example of each value; outside commands, an option is one of tensorcopy or asv."""
    every = [*given()]
    assert len(every) > 120
    assert [f"{place}: {fault}" for place, expression, names in every for fault in faults(expression, names)] == []


@pytest.mark.parametrize(
    "text",
    [
        "tensorcopy why without --machine shows it",
        "copy a name from tensorcopy compare",
        "tensorcopy measure --device tpu",
        "asv continuous --faktor 2",
        "git checkout --nope x",
        "uv python instal 3.12",
        "pip install --nope torch",
    ],
)
def test_what_cannot_be_typed_is_refused(text):
    assert [*map(refused, commands(text))] != [""]
