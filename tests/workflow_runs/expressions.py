"""GitHub's expressions, as far as the workflows use them."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any

TOKEN = re.compile(r"\s*(?:(?P<text>'(?:[^']|'')*')|(?P<number>\d+)|(?P<name>[A-Za-z_][\w-]*)|(?P<sign>&&|\|\||==|!=|[!().,\[\]*]))")
CONSTANTS = {"true": True, "false": False, "null": None}


def replaced(text: Any, contexts: Mapping[str, Any]) -> Any:
    """Return a value of a workflow with its expressions evaluated; one that is a single expression keeps its type."""
    if isinstance(text, dict):
        return {name: replaced(value, contexts) for name, value in text.items()}
    if isinstance(text, list):
        return [replaced(value, contexts) for value in text]
    if not isinstance(text, str):
        return text
    whole = re.fullmatch(r"\$\{\{((?:(?!\}\}).)*)\}\}", text.strip())
    if whole:
        return evaluate(whole[1], contexts)
    return re.sub(r"\$\{\{(.*?)\}\}", lambda match: as_text(evaluate(match[1], contexts)), text)


def holds(condition: str, contexts: Mapping[str, Any]) -> bool:
    """Return whether an `if:` is true; one without a status function also asks for success."""
    bare = re.sub(r"^\$\{\{(.*)\}\}$", r"\1", condition.strip())
    asks = re.search(r"\b(success|failure|cancelled|always)\(", bare)
    return bool(evaluate(bare if asks else f"success() && ({bare})", contexts))


def evaluate(expression: str, contexts: Mapping[str, Any]) -> Any:
    """Return the value of an expression. Raises ValueError for one that this module does not know."""
    parser = _Parser(expression, contexts)
    value = parser.either()
    if parser.tokens:
        raise ValueError(f"not understood: {expression!r} from {parser.tokens[0]} on")
    return value


def as_text(value: Any) -> str:
    """Return a value as GitHub writes it into a text."""
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value)


def _number(value: Any) -> float:
    if value is None or value == "":
        return 0.0
    try:
        return float(value)
    except (TypeError, ValueError):
        return float("nan")


def _equal(first: Any, second: Any) -> bool:
    if isinstance(first, str) and isinstance(second, str):
        return first.casefold() == second.casefold()
    return first == second if type(first) is type(second) else _number(first) == _number(second)


def _contains(whole: Any, part: Any) -> bool:
    if isinstance(whole, list):
        return any(_equal(value, part) for value in whole)
    return as_text(part).casefold() in as_text(whole).casefold()


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "contains": _contains,
    "format": lambda text, *values: re.sub(r"\{(\d+)\}", lambda match: as_text(values[int(match[1])]), text),
    "fromJSON": json.loads,
}


class _Parser:
    """Evaluates while it reads; `!` binds closest, then comparisons, `&&` and `||`."""

    def __init__(self, expression: str, contexts: Mapping[str, Any]) -> None:
        self.contexts = contexts
        self.tokens: list[str] = []
        rest = expression.strip()
        while rest:
            match = TOKEN.match(rest)
            if not match:
                raise ValueError(f"not understood: {expression!r} at {rest!r}")
            self.tokens.append(match[0].strip())
            rest = rest[match.end() :].strip()

    def take(self, *signs: str) -> str:
        return self.tokens.pop(0) if self.tokens and self.tokens[0] in signs else ""

    def expect(self, sign: str) -> None:
        if not self.take(sign):
            raise ValueError(f"{sign!r} expected before {' '.join(self.tokens) or 'the end'}")

    def either(self) -> Any:
        value = self.both()
        while self.take("||"):
            other = self.both()
            value = value or other
        return value

    def both(self) -> Any:
        value = self.compared()
        while self.take("&&"):
            other = self.compared()
            value = value and other
        return value

    def compared(self) -> Any:
        value = self.single()
        while sign := self.take("==", "!="):
            value = _equal(value, self.single()) is (sign == "==")
        return value

    def single(self) -> Any:
        if self.take("!"):
            return not self.single()
        if self.take("("):
            value = self.either()
            self.expect(")")
            return self.member(value)
        if not self.tokens:
            raise ValueError("a value expected before the end")
        token = self.tokens.pop(0)
        if token.startswith("'"):
            return token[1:-1].replace("''", "'")
        if token.isdecimal():
            return int(token)
        if self.take("("):
            return self.member(self.called(token))
        return CONSTANTS[token] if token in CONSTANTS else self.member(self.contexts[token])

    def called(self, name: str) -> Any:
        arguments = []
        while not self.take(")"):
            if arguments:
                self.expect(",")
            arguments.append(self.either())
        return (FUNCTIONS.get(name) or self.contexts[f"{name}()"])(*arguments)

    def member(self, value: Any) -> Any:
        """Follow `.name` and `.*`; what is missing is null."""
        while self.take("."):
            name = self.tokens.pop(0)
            if name == "*":
                value = list(value.values()) if isinstance(value, dict) else list(value or [])
            elif isinstance(value, list):
                value = [each.get(name) for each in value]
            else:
                value = value.get(name) if isinstance(value, dict) else None
        return value
