"""docs/commands.md and docs/api.md: commands, options, public names, docstrings.

Docstrings are read from the sources, so that neither torch nor asv is needed.
"""

from __future__ import annotations

import argparse
import ast
import re
from collections import Counter
from collections.abc import Iterator
from inspect import cleandoc
from pathlib import Path

PRODUCED = "<!-- produced by docs/tools/readme.py -->"
COMMANDS = f"""# Commands

{PRODUCED}

A command exits with 0 on success, with 1 if a check failed, and with 2 on an error, after one line with the problem, the value
it got, what is allowed and what to do next (a wrong option: the usage, then the problem). `compare` and `ci pull-request` exit with 3 if
nothing could be compared. Ctrl-C ends a command with 130, SIGTERM with 143, output that is closed early with 141.

`python -m tensorcopy` is the same program. `2.14` stands for the last 2.14 release of the table. `tensorcopy --completion bash` prints the
script that completes commands, options, releases and files. `TENSORCOPY_TRACEBACK=1` shows where a fault arose.

## Common options

"""
API = f"""# In Python

{PRODUCED}

`import tensorcopy` imports neither torch nor asv; a name loads what it needs when it is first used. Errors are
`tensorcopy.errors.TensorcopyError`.

```python
>>> import torch, tensorcopy
>>> x = torch.ones(3, requires_grad=True)
>>> y = tensorcopy.COPIES["detach_clone"](x)  # exactly x.detach().clone()
>>> y.requires_grad
False
```
"""
FIELD = re.compile(r"^(\w[\w, ]*) : (.*)$")
Function = ast.FunctionDef


def commands(parser: argparse.ArgumentParser) -> str:
    """Return every command of a parser with its arguments and options, as Markdown."""
    found = []
    for name, about, command in _commands(parser, ""):
        actions = [action for action in command._actions if not isinstance(action, (argparse._HelpAction, argparse._SubParsersAction))]
        if not any(isinstance(action, argparse._SubParsersAction) and action.required for action in command._actions):
            found.append((name, about.replace("%%", "%"), actions))  # otherwise it needs one of its subcommands
    uses = Counter((action.option_strings[-1], _row(action)) for _, _, actions in found for action in actions if action.option_strings)
    common: dict[str, str] = {}  # row of each option that means the same in several commands
    for (option, row), times in uses.most_common():
        if times > 1:
            common.setdefault(option, row)
    lines = [COMMANDS, *common.values(), ""]
    for name, about, actions in found:
        positional = [_argument(action) for action in actions if not action.option_strings]
        usage = f"`{' '.join(['tensorcopy', name, *positional])}`" if positional else ""
        lines += [f"## tensorcopy {name}", "", usage, ""]
        lines += [f"{about[:1].upper()}{about[1:]}." if about else "", ""]
        rows = [row for row in map(_row, actions) if row not in common.values()]
        if rows:
            lines += [*rows, ""]
        if also := [f"`{action.option_strings[-1]}`" for action in actions if _row(action) in common.values()]:
            lines += [f"Common options: {', '.join(also)}.", ""]
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).rstrip() + "\n"


def _commands(parser: argparse.ArgumentParser, prefix: str) -> Iterator[tuple[str, str, argparse.ArgumentParser]]:
    """Yield the full name, the help and the parser of every command."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            helps = {choice.dest: choice.help or "" for choice in action._choices_actions}
            for name, command in action.choices.items():
                full_name = f"{prefix} {name}".strip()
                yield full_name, helps.get(name, ""), command
                yield from _commands(command, full_name)


def _argument(action: argparse.Action) -> str:
    """Return an argument as the usage line shows it."""
    name = str(action.metavar or (f"{{{','.join(map(str, action.choices))}}}" if action.choices else action.dest.upper()))
    return {"*": f"[{name} …]", "+": f"{name} …", "?": f"[{name}]"}.get(str(action.nargs), name)


def _row(action: argparse.Action) -> str:
    """Return an argument as an item of a list: its name and its help."""
    return f"- {_names(action)}: {_escaped(action.help or '')}"


def _names(action: argparse.Action) -> str:
    if not action.option_strings:
        return f"`{_argument(action)}`"
    value = "" if action.nargs == 0 else f" {_argument(action)}"
    return ", ".join(f"`{option}{value}`" for option in action.option_strings)


def _escaped(help_text: str) -> str:
    return help_text.replace(" (default: %(default)s)", "").replace("%%", "%").replace("*", "\\*")  # Python up to 3.12 adds the default


def api(modules: dict[str, str], package: Path) -> str:
    """Return every public name with its signature and docstring, as Markdown.

    modules : the module of each name, relative to the package
    """
    lines = [API]
    for name, module in modules.items():
        path = package.joinpath(*module.split("."))
        source = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
        lines += [f"## {name}", "", *_documented(name, ast.parse(source.read_text(encoding="utf-8")).body), ""]
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).rstrip() + "\n"


def _documented(name: str, body: list[ast.stmt]) -> Iterator[str]:
    """Yield the signature, the docstring and the documented members of a function, class or constant in a module."""
    for statement, following in zip(body, [*body[1:], ast.Pass()]):
        if isinstance(statement, Function) and statement.name == name:
            yield f"```python\n{name}({_parameters(statement)}) -> {_text(statement.returns)}\n```\n"
            yield _prose(ast.get_docstring(statement) or "")
        elif isinstance(statement, ast.ClassDef) and statement.name == name:
            fields = [each for each in statement.body if isinstance(each, ast.AnnAssign) and not _text(each.target).startswith("_")]
            yield "\n".join([f"```python\nclass {name}:", *(f"    {_text(each)}" for each in fields), "```\n"])
            yield _prose(ast.get_docstring(statement) or "")
            for member in statement.body:
                if isinstance(member, Function) and not member.name.startswith("_") and (text := ast.get_docstring(member)):
                    is_property = any(_text(each).endswith("property") for each in member.decorator_list)
                    yield f"\n**`.{member.name}{'' if is_property else f'({_parameters(member)})'}`** {_prose(text)}"
        elif isinstance(statement, (ast.Assign, ast.AnnAssign)) and isinstance(following, ast.Expr):
            targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
            if name in map(_text, targets) and isinstance(following.value, ast.Constant):
                yield _prose(cleandoc(str(following.value.value)))


def _parameters(function: Function) -> str:
    arguments = function.args
    arguments.args = [each for each in arguments.args if each.arg != "self"]
    return re.sub(r"(?<=[\w\]])=(?=\S)", " = ", re.sub(r"=lambda [^:]*: None", "=...", _text(arguments)))  # a function that does nothing


def _text(node: ast.AST | None) -> str:
    return ast.unparse(node).replace("'", '"') if node else "None"


def _prose(docstring: str) -> str:
    """Return a docstring as Markdown; "name : description" becomes a list item."""
    lines: list[str] = []
    for line in map(str.strip, docstring.splitlines()):
        field = FIELD.match(line)
        if field and lines and not lines[-1].startswith("- "):
            lines.append("")
        lines.append(f"- `{field[1]}`: {field[2]}" if field else line)
    return "\n".join(lines)
