"""docs/commands.md and docs/api.md: commands, options, public names, docstrings.

griffe reads the docstrings from the sources, so that neither torch nor asv is needed.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

PRODUCED = "<!-- produced by `tensorcopy readme` -->"
INTRODUCTION = (
    "`import tensorcopy` imports neither torch nor asv; a name loads what it needs when it is first used. The [glossary](glossary.md)",
    "explains the terms.",
    "",
    "```python",
    ">>> import torch, tensorcopy",
    ">>> x = torch.ones(3, requires_grad=True)",
    '>>> y = tensorcopy.COPIES["detach_clone"](x)  # exactly x.detach().clone()',
    ">>> y.requires_grad",
    "False",
    "```",
)
FIELD = re.compile(r"^(\w[\w, ]*) : (.*)$")


def commands(parser: argparse.ArgumentParser) -> str:
    """Return every command of a parser with its arguments and options, as Markdown."""
    lines = [
        "# Commands",
        "",
        PRODUCED,
        "",
        "Every command exits with 0 on success, with 1 if a check failed, and with 2 on an error, after printing one line: what went",
        "wrong, the value it got, what is allowed, and what to do next. `compare` and `ci pull-request` exit with 3 if nothing could be",
        "compared. Ctrl-C ends a command with one line and 130, SIGTERM with 143; 141 means that its output was closed early.",
        "",
        "`python -m tensorcopy` is the same program. A release without its patch, such as 2.14, is the last one of the table. Control",
        "characters in results are escaped, and what the encoding of a terminal lacks is replaced. `TENSORCOPY_TRACEBACK=1` shows where a",
        "fault arose. `tensorcopy completion --help` has the line with which Tab completes commands, options, releases and files in your",
        "shell.",
        "",
    ]
    for name, about, command in _commands(parser, ""):
        arguments = [action for action in command._actions if not isinstance(action, (argparse._HelpAction, argparse._SubParsersAction))]
        if any(isinstance(action, argparse._SubParsersAction) and action.required for action in command._actions):
            continue  # it needs one of the subcommands below
        positional = " ".join(_argument(action) for action in arguments if not action.option_strings)
        lines += [f"## tensorcopy {name}", "", f"`tensorcopy {' '.join(filter(None, [name, positional]))}`", "", _sentence(about), ""]
        if arguments:
            lines += ["| | |", "|---|---|"]
            lines += [f"| {_cell(action)} | {_cell_text(action.help or '')} |" for action in arguments]
            lines.append("")
    return "\n".join(lines).rstrip() + "\n"


def _subcommands(parser: argparse.ArgumentParser) -> list[tuple[str, str, argparse.ArgumentParser]]:
    commands = []
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            helps = {choice.dest: choice.help or "" for choice in action._choices_actions}
            commands += [(name, helps.get(name, ""), command) for name, command in action.choices.items()]
    return commands


def _commands(parser: argparse.ArgumentParser, prefix: str) -> Iterator[tuple[str, str, argparse.ArgumentParser]]:
    for name, about, command in _subcommands(parser):
        full_name = f"{prefix} {name}".strip()
        yield full_name, about, command
        yield from _commands(command, full_name)


def _argument(action: argparse.Action) -> str:
    """Return an argument as the usage line shows it."""
    name = str(action.metavar or (f"{{{','.join(map(str, action.choices))}}}" if action.choices else action.dest.upper()))
    return {"*": f"[{name} …]", "+": f"{name} …", "?": f"[{name}]"}.get(str(action.nargs), name)


def _cell(action: argparse.Action) -> str:
    if not action.option_strings:
        return f"`{_argument(action)}`"
    value = "" if action.nargs == 0 else f" {_argument(action)}"
    return ", ".join(f"`{option}{value}`" for option in action.option_strings).replace("|", "\\|")


def _cell_text(text: str) -> str:
    return text.replace(" (default: %(default)s)", "").replace("%%", "%").replace("|", "\\|")  # Python up to 3.12 adds the default


def _sentence(text: str) -> str:
    text = text.replace("%%", "%")
    return f"{text[:1].upper()}{text[1:]}." if text else ""


def api(modules: dict[str, str], package: Path) -> str:
    """Return every public name with its signature and docstring, as Markdown.

    modules : the module of each name, relative to the package
    """
    import griffe

    loader = griffe.GriffeLoader(search_paths=[str(package.parent)])
    root: Any = loader.load(package.name, submodules=True, try_relative_path=False)
    lines = ["# In Python", "", PRODUCED, "", *INTRODUCTION, ""]
    for name, module in modules.items():
        lines += [f"## {name}", "", *_object(root[f"{module}.{name}"]), ""]
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).rstrip() + "\n"


def _object(item: Any) -> Iterator[str]:
    """Yield a function's or a class's signature, docstring and documented members."""
    if item.is_function:
        yield _code(f"{item.name}({_parameters(item)}) -> {item.returns}")
    elif item.is_class:
        fields = [member for member in item.members.values() if member.is_attribute and not member.name.startswith("_")]
        lines = [f"    {field.name}: {field.annotation}{f' = {field.value}' if field.value is not None else ''}" for field in fields]
        yield _code("\n".join([f"class {item.name}:", *lines]))
    yield ""
    yield _prose(item.docstring.value if item.docstring else "")
    for member in item.members.values() if item.is_class else ():
        if member.docstring and not member.name.startswith("_"):
            call = f"({_parameters(member)})" if member.is_function else ""
            yield f"\n**`.{member.name}{call}`** {_prose(member.docstring.value)}"


def _code(text: str) -> str:
    return f"```python\n{text}\n```".replace("'", '"')  # griffe writes single quotes, the sources double ones


def _parameters(function: Any) -> str:
    parameters, keyword_only = [], False
    for parameter in function.parameters:
        if parameter.name == "self":
            continue
        if parameter.kind is not None and parameter.kind.name == "keyword_only" and not keyword_only:
            parameters.append("*")
            keyword_only = True
        text = f"{parameter.name}: {parameter.annotation}" if parameter.annotation is not None else parameter.name
        parameters.append(f"{text} = {parameter.default}" if parameter.default is not None else text)
    return ", ".join(parameters)


def _prose(docstring: str) -> str:
    """Return a docstring as Markdown; "name : description" becomes a list item."""
    lines: list[str] = []
    for line in map(str.strip, docstring.strip().splitlines()):
        field = FIELD.match(line)
        if field and lines and not lines[-1].startswith("- "):
            lines.append("")
        lines.append(f"- `{field[1]}`: {field[2]}" if field else line)
    return "\n".join(lines)
