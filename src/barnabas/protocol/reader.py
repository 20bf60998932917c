"""Compiles the reader of one version of a message.

All nesting is inlined into one function.  Neighbouring fields of fixed width are read by one
`unpack_from`, together with the length, count or tag byte that follows them, straight into the
slots of the message.  Whatever is wrong with the bytes ends as DecodeError: lengths are compared
with the bytes that are left before anything is allocated.
"""

from struct import error as struct_error
from struct import unpack_from
from typing import Any

from barnabas.protocol.errors import DecodeError
from barnabas.protocol.message import Message, Reader, Struct
from barnabas.protocol.schema import Array, Field, Kind, Nested, fields_of, min_size
from barnabas.protocol.source import Source
from barnabas.protocol.types import Buffer, Fresh, Wire
from barnabas.protocol.varint import continue_uvarint, read_uvarint, skip_tags

MAX_STRING = 0x7FFF


def compile_reader(cls: type[Message], version: int) -> Reader:
    """The function `(buf, pos) -> (message, pos)` for `version`, which must be in range."""
    if not cls.min_version <= version <= cls.max_version:
        raise DecodeError(f"{cls.__name__} has no version {version}")
    return _ReaderCompiler(cls, version).compile()


def reader_source(cls: type[Message], version: int) -> str:
    """The text of the compiled reader, for the curious."""
    compiler = _ReaderCompiler(cls, version)
    compiler.compile()
    return compiler.source.text()


def _uuids(buf: Buffer, pos: int, stop: int) -> list[bytes]:
    return [bytes(buf[at : at + 16]) for at in range(pos, stop, 16)]


class _ReaderCompiler:
    def __init__(self, cls: type[Message], version: int) -> None:
        self.cls = cls
        self.version = version
        self.flexible = version >= cls.flexible_since
        self.title = f"{cls.__name__} v{version}"
        self.run: list[tuple[str, int, str]] = []
        self.source = Source(
            new=object.__new__,
            more=continue_uvarint,
            uvarint=read_uvarint,
            skip_tags=skip_tags,
            unpack_from=unpack_from,
            uuids=_uuids,
            bad=self._bad,
            DecodeError=DecodeError,
            faults=(struct_error, IndexError, ValueError, TypeError, OverflowError),
        )

    def _bad(self, field: str, length: int, pos: int) -> DecodeError:
        return DecodeError(f"{self.title}: {field} has length {length} at byte {pos}")

    def compile(self) -> Reader:
        source = self.source
        title = source.bind("title", self.title)
        with source.block("def read(buf, pos):"):
            source.emit("end = len(buf)")
            with source.block("try:"):
                message = self.structure(self.cls)
                self.flush()
                source.emit(f"return {message}, pos")
            with source.block("except DecodeError:"):
                source.emit("raise")
            with source.block("except faults as fault:"):
                source.emit(f"raise DecodeError(f'{{{title}}}: {{fault}}') from fault")
        return source.function("read", f"reader of {self.title}")

    def fixed(self, code: str, size: int, target: str) -> None:
        """Read a value of fixed width into `target`, together with its neighbours."""
        self.run.append((code, size, target))

    def flush(self) -> None:
        """Emit what `fixed` has collected.  Needed before the position is used."""
        if not self.run:
            return
        codes = "".join(code for code, _, _ in self.run)
        size = sum(size for _, size, _ in self.run)
        targets = ", ".join(target for _, _, target in self.run)
        if codes == "B":
            self.source.emit(f"{targets} = buf[pos]")
        else:
            unpack = self.source.struct(codes, "unpack_from")
            self.source.emit(f"{targets}, = {unpack}(buf, pos)")
        self.source.emit(f"pos += {size}")
        self.run = []

    def structure(self, cls: type[Struct]) -> str:
        """Emit the reading of a structure; the name of the variable that holds it."""
        source = self.source
        var = source.name("o")
        source.emit(f"{var} = new({source.bind('C', cls)})")
        tagged = []
        for field in fields_of(cls):
            present = field.exists(self.version)
            if present and (field.tag is None or not self.flexible):
                assert field.tag is None, f"{self.title}: tag in an inflexible version"
                self.value(field.kind, field, f"{var}.{field.name}")
                continue
            source.emit(f"{var}.{field.name} = {self.default(field.default)}")
            if present:
                tagged.append(field)
        if self.flexible:
            self.tags(var, tagged)
        return var

    def default(self, value: Any) -> str:
        match value:
            case Fresh(cls=cls):
                return f"{self.source.bind('C', cls)}()"
            case list():
                return "[]"
            case _:
                return repr(value)

    def tags(self, var: str, tagged: list[Field]) -> None:
        source = self.source
        count = source.name("t")
        self.fixed("B", 1, count)
        self.flush()
        if not tagged:
            with source.block(f"if {count}:"):
                source.emit(f"pos = skip_tags(buf, pos, {count})")
            return
        number, size, stop = source.name("k"), source.name("s"), source.name("e")
        with source.block(f"if {count}:"):
            with source.block(f"if {count} > 127:"):
                source.emit(f"{count}, pos = more(buf, pos, {count})")
            with source.block(f"for _ in range({count}):"):
                source.emit(f"{number}, pos = uvarint(buf, pos)")
                source.emit(f"{size}, pos = uvarint(buf, pos)")
                source.emit(f"{stop} = pos + {size}")
                with source.block(f"if {stop} > end:"):
                    source.emit(f"raise bad('a tagged field', {size}, pos)")
                word = "if"
                for field in tagged:
                    with source.block(f"{word} {number} == {field.tag}:"):
                        self.value(field.kind, field, f"{var}.{field.name}")
                        self.flush()
                    word = "elif"
                with source.block("else:"):
                    source.emit(f"pos = {stop}")
                with source.block(f"if pos != {stop}:"):
                    source.emit(f"raise bad('a tagged field', {size}, pos)")

    def value(self, kind: Kind, field: Field, target: str) -> None:
        """Emit the reading of one value into `target`."""
        nullable = field.nullable(self.version)
        match kind:
            case Wire(code=code, size=size) if code:
                self.fixed(code, size, target)
            case Wire():
                self.sized(kind, field, target, nullable=nullable)
            case Array(element):
                self.array(element, field, target, nullable=nullable)
            case Nested(cls) if nullable:
                self.nullable_structure(cls, target, tagged=field.tag is not None)
            case Nested(cls):
                var = self.structure(cls)
                self.source.emit(f"{target} = {var}")

    def length(self, code: str, size: int, *, compact: bool) -> tuple[str, str]:
        """Emit the reading of a length; its variable, and the true length as an expression."""
        var = self.source.name("n")
        self.fixed("B" if compact else code, 1 if compact else size, var)
        self.flush()
        if compact:
            with self.source.block(f"if {var} > 127:"):
                self.source.emit(f"{var}, pos = more(buf, pos, {var})")
        return var, f"{var} - 1" if compact else var

    def sized(self, kind: Wire, field: Field, target: str, *, nullable: bool) -> None:
        """A string, bytes or records: a length, then as many bytes."""
        source = self.source
        compact = self.flexible and not field.inflexible
        code, size = ("h", 2) if kind.name == "string" else ("i", 4)
        var, length = self.length(code, size, compact=compact)
        stop = source.name("e")
        what = repr(field.name)
        is_null, is_legal = (f"not {var}", var) if compact else (f"{var} == -1", f"{var} >= 0")
        too_long = f"{stop} > end"
        if kind.name == "string" and compact:
            too_long += f" or {var} > {MAX_STRING + 1}"
        if nullable:
            with source.block(f"if {is_null}:"):
                source.emit(f"{target} = None")
            head = "else:" if compact else f"elif {is_legal}:"
        else:
            head = f"if {is_legal}:"
        with source.block(head):
            source.emit(f"{stop} = pos + {length}")
            with source.block(f"if {too_long}:"):
                source.emit(f"raise bad({what}, {length}, pos)")
            match kind.name:
                case "string":
                    source.emit(f"{target} = str(buf[pos:{stop}], 'utf-8')")
                case "bytes":
                    source.emit(f"{target} = bytes(buf[pos:{stop}])")
                case _:
                    source.emit(f"{target} = memoryview(buf)[pos:{stop}]")
            source.emit(f"pos = {stop}")
        if not nullable or not compact:
            with source.block("else:"):
                source.emit(f"raise bad({what}, {length}, pos)")

    def array(self, element: Kind, field: Field, target: str, *, nullable: bool) -> None:
        source = self.source
        var, length = self.length("i", 4, compact=self.flexible)
        what = repr(field.name)
        is_null = f"not {var}" if self.flexible else f"{var} == -1"
        is_legal = var if self.flexible else f"{var} >= 0"
        if nullable:
            with source.block(f"if {is_null}:"):
                source.emit(f"{target} = None")
            head = f"elif {is_legal}:"
        else:
            head = f"if {is_legal}:"
        least = min_size(element, self.version, flexible=self.flexible)
        assert least, f"{self.title}: elements of {field.name} take no bytes"
        with source.block(head):
            with source.block(f"if ({length}) * {least} > end - pos:"):
                source.emit(f"raise bad({what}, {length}, pos)")
            self.elements(element, field, target, length)
        with source.block("else:"):
            source.emit(f"raise bad({what}, {length}, pos)")

    def elements(self, element: Kind, field: Field, target: str, length: str) -> None:
        source = self.source
        if isinstance(element, Wire) and element.code:
            stop = source.name("e")
            source.emit(f"{stop} = pos + ({length}) * {element.size}")
            if element.size == 16:
                source.emit(f"{target} = uuids(buf, pos, {stop})")
            else:
                codes = f"'>%d{element.code}' % ({length})"
                source.emit(f"{target} = list(unpack_from({codes}, buf, pos))")
            source.emit(f"pos = {stop}")
            return
        items, add = source.name("l"), source.name("a")
        source.emit(f"{target} = {items} = []")
        source.emit(f"{add} = {items}.append")
        with source.block(f"for _ in range({length}):"):
            if isinstance(element, Nested):
                item = self.structure(element.cls)
            else:
                item = source.name("v")
                required = Field(name=field.name, kind=element, default=None)
                self.value(element, required, item)
            self.flush()
            source.emit(f"{add}({item})")

    def nullable_structure(self, cls: type[Struct], target: str, *, tagged: bool) -> None:
        """One byte says whether the structure is there: -1 if not, but 0 in a tagged field."""
        source = self.source
        mark = source.name("n")
        self.fixed("b", 1, mark)
        self.flush()
        with source.block(f"if {mark} == 0:" if tagged else f"if {mark} < 0:"):
            source.emit(f"{target} = None")
        with source.block("else:"):
            var = self.structure(cls)
            self.flush()
            source.emit(f"{target} = {var}")
