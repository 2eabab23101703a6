"""Names of functions and libraries, such that those of two releases compare.

A compiler's decorations differ between builds although the function is the same. Dropped are template arguments, parameters, ABI tags,
versions of glibc's symbols, clones, and callgrind's marks of recursion.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache

UNNAMED = "(unnamed)"  # code without a symbol
NO_LIBRARY = "???"  # callgrind's name for code that belongs to no file that it has read
DECORATIONS = re.compile(r"'\d+$|@@?[A-Z]+_[\d.]+|@plt|\[abi:\w+\]| \[clone [^\]]*\]|\.(constprop|isra|part|lto_priv|cold)(\.\d+)*")
OPERATOR = re.compile(r"operator *(<=>|<<=|>>=|->\*|<<|>>|<=|>=|->|<|>|\(\))")
ANONYMOUS = "(anonymous namespace)::"
POINTER = re.compile(r"&\(?([A-Za-z_][\w:]*)")
HEX = re.compile(r"0x[0-9a-f]+$")


def library(path: str) -> str:
    """Return a library's name without folder and version: "libtorch_cpu", "libc"."""
    name = path.rpartition("/")[2]
    if name.startswith(("ld-linux", "ld64")):
        return "ld"
    name = re.sub(r"\.cpython-[^.]*", "", name)
    name = re.sub(r"-[0-9a-f]{8}(?=\.)", "", name)  # the digest in a wheel's own copy of a library
    name = re.sub(r"(-\d+\.\d+)?\.so[.\d]*$", "", name)
    return "libpython" if re.match(r"(lib)?python[\d.]*$", name) else name


@cache  # a run has some thousand names
def function(name: str) -> str:
    """Return a function's name without its compiler's decorations.

    `UNNAMED` for code without a symbol. Of the template that calls an operator's implementation, the implementation's name is kept.
    """
    previous = ""
    while previous != name:
        previous, name = name, DECORATIONS.sub("", name)
    if HEX.match(name) or name in ("", "???"):
        return UNNAMED
    name = name.replace(ANONYMOUS, "")
    name = OPERATOR.sub(lambda match: f"operator{''.join(CODES[letter] for letter in match[1])}", name)
    name = _without_brackets(_without_brackets(name, "<", ">", _pointer), "(", ")", lambda inside: "")
    name = re.sub(r"\s*(const|&|&&|volatile)$", "", name.strip()).strip()
    name = re.sub(
        r"^(?!operator\b)(?!.*::operator ).* (?=[\w~:{])(?!(?:new|delete)\b)", "", name
    )  # the return type of a template's instance
    return "".join(LETTERS.get(letter, letter) for letter in name) or UNNAMED


CODES = {"<": "\x01", ">": "\x02", "(": "\x03", ")": "\x04", "=": "=", "-": "-", "*": "*"}  # so that operators are not brackets
LETTERS = {code: letter for letter, code in CODES.items()}


def _pointer(inside: str) -> str:
    """Return the last part of the function that template arguments point to, in brackets; "" for none."""
    match = POINTER.search(inside)
    return f"[{'::'.join(match[1].split('::')[-2:])}]" if match else ""


def _without_brackets(name: str, opening: str, closing: str, instead: Callable[[str], str]) -> str:
    """Return a name with `instead` of the outermost brackets' content, and without the brackets."""
    parts, depth, start = [], 0, 0
    for index, letter in enumerate(name):
        if letter == opening:
            if depth == 0:
                parts.append(name[start:index])
                start = index + 1
            depth += 1
        elif letter == closing and depth:
            depth -= 1
            if depth == 0:
                parts.append(instead(name[start:index]))
                start = index + 1
    return "".join([*parts, name[start:] if depth == 0 else ""])
