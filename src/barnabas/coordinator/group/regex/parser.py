"""From the text of a pattern, in RE2's syntax, to its parts."""

from __future__ import annotations

from barnabas.coordinator.group.regex.nodes import (
    ALL,
    Begin,
    Boundary,
    Chars,
    Either,
    Empty,
    End,
    Node,
    Repeat,
    Sequence,
)
from barnabas.coordinator.group.regex.sets import (
    CLASSES,
    InvalidPatternError,
    both_cases,
    named_class,
    property_class,
)

MAX_LENGTH = 1024
MAX_DEPTH = 100
MAX_REPEAT = 1000
_CONTROL = {"a": "\a", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}


def parse(text: str) -> Node:
    if len(text) > MAX_LENGTH:
        raise InvalidPatternError(f"pattern of more than {MAX_LENGTH} characters")
    parser = _Parser(text)
    node = parser.alternatives(ignore_case=False)
    if parser.pos < len(text):
        raise InvalidPatternError("unexpected )")
    return node


class _Parser:
    """A pattern that is being read.  Whether case matters is passed along with each part."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.pos = 0
        self.depth = 0

    def peek(self) -> str:
        return self.text[self.pos] if self.pos < len(self.text) else ""

    def take(self) -> str:
        char = self.peek()
        if not char:
            raise InvalidPatternError("unexpected end of the pattern")
        self.pos += 1
        return char

    def eat(self, token: str) -> bool:
        if self.text.startswith(token, self.pos):
            self.pos += len(token)
            return True
        return False

    def alternatives(self, *, ignore_case: bool) -> Node:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise InvalidPatternError("groups are nested too deeply")
        items: list[Node] = []
        sequence: list[Node] = []
        while (char := self.peek()) and char != ")":
            if char == "|":
                self.pos += 1
                items.append(_sequence(sequence))
                sequence = []
            elif (flags := self.flags()) is not None:
                ignore_case = _with_flags(flags, ignore_case)
            else:
                sequence.append(self.repeated(ignore_case=ignore_case))
        items.append(_sequence(sequence))
        self.depth -= 1
        return items[0] if len(items) == 1 else Either(tuple(items))

    def flags(self) -> str | None:
        """The letters of a `(?i)` that counts up to the end of its group, if there is one here."""
        if not self.text.startswith("(?", self.pos):
            return None
        end = self.pos + 2
        while end < len(self.text) and self.text[end] in "imsU-":
            end += 1
        if end == self.pos + 2 or self.text[end : end + 1] != ")":
            return None
        letters = self.text[self.pos + 2 : end]
        self.pos = end + 1
        return letters

    def repeated(self, *, ignore_case: bool) -> Node:
        if self.peek() in {"*", "+", "?"}:
            raise InvalidPatternError(f"nothing to repeat before {self.peek()}")
        node = self.atom(ignore_case=ignore_case)
        found = self.quantifier()
        if found is None:
            return node
        self.eat("?")  # lazy or greedy: the same names match
        if self.quantifier() is not None:
            raise InvalidPatternError("a repetition is repeated")
        return Repeat(node, *found)

    def quantifier(self) -> tuple[int, int | None] | None:
        match self.peek():
            case "*":
                self.pos += 1
                return 0, None
            case "+":
                self.pos += 1
                return 1, None
            case "?":
                self.pos += 1
                return 0, 1
            case "{":
                return self.counted()
            case _:
                return None

    def counted(self) -> tuple[int, int | None] | None:
        """`{2}`, `{2,}` or `{2,5}`; a brace that does not look like that stands for itself."""
        end = self.text.find("}", self.pos)
        if end < 0:
            return None
        low, comma, high = self.text[self.pos + 1 : end].partition(",")
        if not _is_number(low) or (high and not _is_number(high)):
            return None
        self.pos = end + 1
        least = int(low)
        most: int | None = least
        if comma:
            most = int(high) if high else None
        if least > MAX_REPEAT or (most or 0) > MAX_REPEAT:
            raise InvalidPatternError(f"more than {MAX_REPEAT} repetitions")
        if most is not None and most < least:
            raise InvalidPatternError("a repetition ends before it begins")
        return least, most

    def atom(self, *, ignore_case: bool) -> Node:
        char = self.take()
        match char:
            case ".":
                return Chars(ALL)
            case "^":
                return Begin()
            case "$":
                return End()
            case "(":
                return self.group(ignore_case=ignore_case)
            case "[":
                return self.char_class(ignore_case=ignore_case)
            case "\\":
                return self.escape(ignore_case=ignore_case)
            case _:
                return _literal(char, ignore_case)

    def group(self, *, ignore_case: bool) -> Node:
        if self.eat("?"):
            if self.eat("P<") or (
                self.peek() == "<" and self.text[self.pos + 1 : self.pos + 2] not in {"=", "!"}
            ):
                self.eat("<")
                self.name()
            else:
                ignore_case = self.group_flags(ignore_case=ignore_case)
        node = self.alternatives(ignore_case=ignore_case)
        if not self.eat(")"):
            raise InvalidPatternError("missing )")
        return node

    def name(self) -> None:
        end = self.text.find(">", self.pos)
        name = self.text[self.pos : end] if end >= 0 else ""
        if not name.isidentifier() or not name.isascii():
            raise InvalidPatternError("invalid name of a group")
        self.pos = end + 1

    def group_flags(self, *, ignore_case: bool) -> bool:
        """`(?:` and `(?i:`.  Anything else after the question mark is not RE2's."""
        start = self.pos
        while self.peek() and self.peek() in "imsU-":
            self.pos += 1
        letters = self.text[start : self.pos]
        if not self.eat(":"):
            raise InvalidPatternError("unsupported group, such as look-around")
        return _with_flags(letters, ignore_case)

    def escape(self, *, ignore_case: bool) -> Node:
        char = self.take()
        if char in CLASSES:
            return Chars(CLASSES[char])
        match char:
            case "A":
                return Begin()
            case "z":
                return End()
            case "b" | "B":
                return Boundary(negated=char == "B")
            case "p" | "P":
                return Chars(self.property(negated=char == "P"))
            case "Q":
                end = self.text.find("\\E", self.pos)
                quoted = self.text[self.pos : end if end >= 0 else len(self.text)]
                self.pos = len(self.text) if end < 0 else end + 2
                return _sequence([_literal(c, ignore_case) for c in quoted])
            case _:
                return _literal(self.escaped_char(char), ignore_case)

    def property(self, *, negated: bool) -> frozenset[str]:
        name = self.take()
        if name == "{":
            end = self.text.find("}", self.pos)
            if end < 0:
                raise InvalidPatternError("missing } of a property")
            name = self.text[self.pos : end]
            self.pos = end + 1
        return property_class(name, negated=negated)

    def escaped_char(self, char: str) -> str:
        """The one character that an escape stands for."""
        if char in _CONTROL:
            return _CONTROL[char]
        if char == "x":
            return self.hex_char()
        if char == "0":
            digits = char
            while len(digits) < 3 and self.peek() and self.peek() in "01234567":
                digits += self.take()
            return chr(int(digits, 8))
        if char.isalnum() and char.isascii():
            raise InvalidPatternError(f"invalid escape \\{char}")
        return char

    def hex_char(self) -> str:
        if self.eat("{"):
            end = self.text.find("}", self.pos)
            digits = self.text[self.pos : end] if end >= 0 else ""
            self.pos = end + 1
        else:
            digits = self.text[self.pos : self.pos + 2]
            self.pos += 2
            if len(digits) < 2:
                digits = ""
        try:
            return chr(int(digits, 16)) if digits.isalnum() else _invalid_hex()
        except (ValueError, OverflowError):
            return _invalid_hex()

    # Classes

    def char_class(self, *, ignore_case: bool) -> Node:
        negated = self.eat("^")
        members: set[str] = set()
        first = True
        while first or self.peek() != "]":
            first = False
            self.class_item(members)
        self.pos += 1
        found = frozenset(members) & ALL
        if ignore_case:
            found = both_cases(found)
        return Chars(ALL - found if negated else found)

    def class_item(self, members: set[str]) -> None:
        if self.eat("[:"):
            end = self.text.find(":]", self.pos)
            if end < 0:
                raise InvalidPatternError("missing :] of a class")
            members |= named_class(self.text[self.pos : end])
            self.pos = end + 2
            return
        char = self.take()
        if char == "\\":
            char = self.take()
            if char in CLASSES:
                members |= CLASSES[char]
                return
            if char in {"p", "P"}:
                members |= self.property(negated=char == "P")
                return
            char = self.escaped_char(char)
        last = char
        if self.peek() == "-" and self.text[self.pos + 1 : self.pos + 2] not in {"]", ""}:
            self.pos += 1
            last = self.take()
            if last == "\\":
                last = self.escaped_char(self.take())
            if last < char:
                raise InvalidPatternError(f"invalid range {char}-{last}")
        members.update(c for c in ALL if char <= c <= last)


def _sequence(items: list[Node]) -> Node:
    if not items:
        return Empty()
    return items[0] if len(items) == 1 else Sequence(tuple(items))


def _literal(char: str, ignore_case: bool) -> Node:
    found = frozenset((char,)) & ALL
    return Chars(both_cases(found) if ignore_case else found)


def _with_flags(letters: str, ignore_case: bool) -> bool:
    """Of the flags only `i` matters: names have no lines, and greed changes nothing here."""
    on, _, off = letters.partition("-")
    if "-" in off:
        raise InvalidPatternError("invalid flags of a group")
    if "i" in on:
        return True
    return False if "i" in off else ignore_case


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit()


def _invalid_hex() -> str:
    raise InvalidPatternError("invalid escape \\x")
