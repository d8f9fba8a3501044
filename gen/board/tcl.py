"""Writes values as Tcl and reads commands, as far as constraints and generated scripts need it."""

import re
from dataclasses import dataclass
from itertools import accumulate

PLAIN = re.compile(r"[A-Za-z0-9_./:~+%@=,*-]+")
BLANK = re.compile(r"(?:[ \t]|\\\n)+")
CLOSING = {"{": "}", "[": "]", '"': '"'}


class TclError(ValueError):
    """Reports a text that is not Tcl."""


@dataclass(frozen=True)
class Command:
    """Holds a command as the file has it: nothing is substituted."""

    words: tuple[str, ...]  #: outer braces and quotes taken off, outer brackets kept
    line: int  #: number of the line of its first word, from 1

    @property
    def name(self) -> str:
        """Return the first word of the command."""
        return self.words[0]

    def option(self, name: str) -> str | None:
        """Return the word after the option ``name``."""
        words = self.words
        return words[words.index(name) + 1] if name in words[:-1] else None

    @property
    def calls(self) -> "list[Command]":
        """Return the commands in brackets among the words, those inside them too."""
        result = []
        for word in self.words[1:]:
            if word.startswith("["):
                for call in commands(word[1:-1], self.line):
                    result += [call, *call.calls]
        return result


def quote(value: object) -> str:
    """Return ``value`` as one word of Tcl; raise ValueError where braces cannot hold it."""
    text = str(value)
    if PLAIN.fullmatch(text):
        return text
    depths = list(accumulate((char == "{") - (char == "}") for char in text))
    if "\\" in text or any(depth < 0 for depth in depths) or (depths and depths[-1]):
        raise ValueError(f"cannot be written in braces: {text}")
    return f"{{{text}}}"


def elements(text: str) -> list[str]:
    """Return the elements of a list, or of a word ``[list ...]``."""
    if text.startswith("[list"):
        return list(commands(text[1:-1])[0].words[1:])
    return [word for command in commands(text.replace("\n", " ")) for word in command.words]


def commands(text: str, line: int = 1) -> list[Command]:
    """Return the commands of a script, without comments; raise TclError where one does not end."""
    result: list[Command] = []
    at, words, start = 0, [], line
    while at < len(text):
        if blank := BLANK.match(text, at):
            at = blank.end()
        elif text[at] in "\n;":
            if words:
                result.append(Command(tuple(words), start))
            words = []
            at += 1
        elif text[at] == "#" and not words:
            at = (text + "\n").index("\n", at)
        else:
            if not words:
                start = line + text.count("\n", 0, at)
            word, at = read_word(text, at)
            words.append(word)
    if words:
        result.append(Command(tuple(words), start))
    return result


def read_word(text: str, at: int) -> tuple[str, int]:
    """Return the word that starts at ``at``, and the index behind it."""
    if text[at] in '{"':
        end = closing(text, at)
        if end < len(text) and not text[end].isspace() and text[end] != ";":
            raise TclError(f"a blank is missing after {text[at:end]}")
        return text[at + 1 : end - 1], end
    start = at
    while at < len(text) and text[at] not in " \t\n;" and not text.startswith("\\\n", at):
        at = closing(text, at) if text[at] == "[" else at + 1 + (text[at] == "\\")
    return text[start:at], at


def closing(text: str, at: int) -> int:
    """Return the index behind what closes the bracket at ``at``; raise TclError if nothing does."""
    closes = CLOSING[text[at]]
    depth, near = 0, at
    while near < len(text):
        char = text[near]
        if char == "\\":
            near += 1
        elif char == closes and (depth == 1 or closes == '"') and near > at:
            return near + 1
        elif closes == "]" and char in '{"' and near > at:
            near = closing(text, near) - 1
        elif char == text[at] and closes != '"':
            depth += 1
        elif char == closes:
            depth -= 1
        near += 1
    raise TclError(f"nothing closes {text[at : at + 30]!r}")
