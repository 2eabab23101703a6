"""docs/commands.md and docs/api.md: every command with its options, every public name with its docstring. Imports nothing of what it tells.

griffe reads the docstrings from the sources, so that neither torch nor asv has to be there.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

PRODUCED = "<!-- produced by `tensorcopy readme` -->"
INTRODUCTION = (
    "`import tensorcopy` imports neither torch nor asv; a name loads what it needs when it is first used. The words are those of the",
    "[glossary](glossary.md).",
    "",
    "```python",
    ">>> import torch, tensorcopy",
    ">>> x = torch.ones(3, requires_grad=True)",
    '>>> y = tensorcopy.COPIES["detach_clone"](x)  # exactly x.detach().clone()',
    ">>> y.requires_grad",
    "False",
    "```",
)
SECTION = re.compile(r"^(\w[\w, ]*) : (.*)$")


def commands(parser: argparse.ArgumentParser) -> str:
    """Every command of a parser, with what is to be given and what may be, as Markdown."""
    lines = [
        "# Commands",
        "",
        PRODUCED,
        "",
        "Every command exits with 0 where all is well, with 1 where what was asked does not hold, and with 2 where it could not be",
        "done, said in one line: what, what was got, what is allowed, what is next. `compare` and `ci pull-request` also have 3:",
        "nothing was compared.",
        "",
    ]
    for name, about, command in _commands(parser, ""):
        arguments = [action for action in command._actions if not isinstance(action, (argparse._HelpAction, argparse._SubParsersAction))]
        if any(isinstance(action, argparse._SubParsersAction) and action.required for action in command._actions):
            continue  # it is one of those below that is typed
        given = " ".join(_shown(action) for action in arguments if not action.option_strings)
        lines += [f"## tensorcopy {name}", "", f"`tensorcopy {' '.join(filter(None, [name, given]))}`", "", _sentence(about), ""]
        if arguments:
            lines += ["| | |", "|---|---|"]
            lines += [f"| {_cell(action)} | {_cell_text(action.help or '')} |" for action in arguments]
            lines.append("")
    return "\n".join(lines).rstrip() + "\n"


def _subcommands(parser: argparse.ArgumentParser) -> list[tuple[str, str, argparse.ArgumentParser]]:
    found = []
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            helps = {one.dest: one.help or "" for one in action._choices_actions}
            found += [(name, helps.get(name, ""), command) for name, command in action.choices.items()]
    return found


def _commands(parser: argparse.ArgumentParser, before: str) -> Iterator[tuple[str, str, argparse.ArgumentParser]]:
    for name, about, command in _subcommands(parser):
        whole = f"{before} {name}".strip()
        yield whole, about, command
        yield from _commands(command, whole)


def _shown(action: argparse.Action) -> str:
    name = action.metavar or (f"{{{','.join(map(str, action.choices))}}}" if action.choices else action.dest.upper())
    shown = str(name)
    return {"*": f"[{shown} …]", "+": f"{shown} …", "?": f"[{shown}]"}.get(str(action.nargs), shown)


def _cell(action: argparse.Action) -> str:
    if not action.option_strings:
        return f"`{_shown(action)}`"
    takes = "" if action.nargs == 0 else f" {_shown(action)}"
    return ", ".join(f"`{option}{takes}`" for option in action.option_strings).replace("|", "\\|")


def _cell_text(text: str) -> str:
    return text.replace(" (default: %(default)s)", "").replace("%%", "%").replace("|", "\\|")  # which Python 3.12 and earlier add


def _sentence(text: str) -> str:
    text = text.replace("%%", "%")
    return f"{text[:1].upper()}{text[1:]}." if text else ""


def api(homes: dict[str, str], package: Path) -> str:
    """Every public name with its signature and docstring, as Markdown.

    homes : names by the module of the package they come from
    """
    import griffe

    loader = griffe.GriffeLoader(search_paths=[str(package.parent)])
    root: Any = loader.load(package.name, submodules=True, try_relative_path=False)
    lines = ["# In Python", "", PRODUCED, "", *INTRODUCTION, ""]
    for name, module in homes.items():
        lines += [f"## {name}", "", *_object(root[f"{module}.{name}"]), ""]
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).rstrip() + "\n"


def _object(one: Any) -> Iterator[str]:
    told = one.docstring.value if one.docstring else ""
    if one.is_function:
        yield _code(f"{one.name}({_parameters(one)}) -> {one.returns}")
    elif one.is_class:
        fields = [member for member in one.members.values() if member.is_attribute and not member.name.startswith("_")]
        shown = [f"    {field.name}: {field.annotation}{f' = {field.value}' if field.value is not None else ''}" for field in fields]
        yield _code("\n".join([f"class {one.name}:", *shown]))
    yield ""
    yield _prose(told)
    for member in one.members.values() if one.is_class else ():
        if member.docstring and not member.name.startswith("_"):
            call = f"({_parameters(member)})" if member.is_function else ""
            yield f"\n**`.{member.name}{call}`** {_prose(member.docstring.value)}"


def _code(text: str) -> str:
    return f"```python\n{text}\n```".replace("'", '"')  # as the sources write it, whichever way griffe has it


def _parameters(function: Any) -> str:
    shown, keyword = [], False
    for one in function.parameters:
        if one.name == "self":
            continue
        if one.kind is not None and one.kind.name == "keyword_only" and not keyword:
            shown.append("*")
            keyword = True
        text = f"{one.name}: {one.annotation}" if one.annotation is not None else one.name
        shown.append(f"{text} = {one.default}" if one.default is not None else text)
    return ", ".join(shown)


def _prose(docstring: str) -> str:
    """A docstring as Markdown: "name : what it is" becomes an entry of a list."""
    lines: list[str] = []
    for line in map(str.strip, docstring.strip().splitlines()):
        told = SECTION.match(line)
        if told and lines and not lines[-1].startswith("- "):
            lines.append("")
        lines.append(f"- `{told[1]}`: {told[2]}" if told else line)
    return "\n".join(lines)
