"""Compiles the writers of one version of a message.

All nesting is inlined into one function that appends to a bytearray.  Neighbouring fields of fixed
width, and the length or count that follows them, are packed by one `Struct`.  There are two
writers: one for contiguous bytes, and one that leaves record data out as parts of their own.
"""

from collections.abc import Callable
from struct import error as struct_error
from struct import pack

from barnabas.protocol.errors import EncodeError
from barnabas.protocol.message import Message, Struct
from barnabas.protocol.schema import Array, Field, Kind, Nested, fields_of
from barnabas.protocol.source import Source
from barnabas.protocol.types import UUID, Fresh, Wire
from barnabas.protocol.varint import encode_uvarint

MAX_STRING = 0x7FFF
COPIED_RECORDS = 2048
"""Record bytes up to this size are cheaper to copy than to send as a part of their own."""


def compile_writer(cls: type[Message], version: int, *, parts: bool) -> Callable[..., None]:
    """The function `(message, out)`, or `(message, out, parts)`, for `version`."""
    if not cls.min_version <= version <= cls.max_version:
        raise EncodeError(f"{cls.__name__} has no version {version}")
    return _WriterCompiler(cls, version, parts=parts).compile()


def writer_source(cls: type[Message], version: int, *, parts: bool = False) -> str:
    """The text of the compiled writer, for the curious."""
    compiler = _WriterCompiler(cls, version, parts=parts)
    compiler.compile()
    return compiler.source.text()


def _string_length(length: int) -> bytes:
    """A string's length plus one, for the strings that one byte is too small for."""
    if length > MAX_STRING + 1:
        raise EncodeError(f"a string of {length - 1} bytes is too long")
    return encode_uvarint(length)


class _WriterCompiler:
    def __init__(self, cls: type[Message], version: int, *, parts: bool) -> None:
        self.cls = cls
        self.version = version
        self.parts = parts
        self.flexible = version >= cls.flexible_since
        self.title = f"{cls.__name__} v{version}"
        self.run: list[tuple[str, str]] = []
        self.out = "out"
        self.source = Source(
            uvarint=encode_uvarint,
            string_length=_string_length,
            pack=pack,
            buffers=(bytes, bytearray, memoryview),
            absent=self._absent,
            bad_uuid=self._bad_uuid,
            EncodeError=EncodeError,
            faults=(struct_error, TypeError, AttributeError, ValueError, OverflowError),
        )

    def _absent(self, field: str) -> EncodeError:
        return EncodeError(f"{self.title} cannot carry {field}")

    def _bad_uuid(self, field: str) -> EncodeError:
        return EncodeError(f"{self.title}: {field} is not 16 bytes")

    def compile(self) -> Callable[..., None]:
        source = self.source
        title = source.bind("title", self.title)
        with source.block(f"def write(o, out{', parts' if self.parts else ''}):"):
            with source.block("try:"):
                self.structure(self.cls, "o")
                self.flush()
                if self.parts:
                    with source.block("if out:"):
                        source.emit("parts.append(out)")
            with source.block("except EncodeError:"):
                source.emit("raise")
            with source.block("except faults as fault:"):
                source.emit(f"raise EncodeError(f'{{{title}}}: {{fault}}') from fault")
        return source.function("write", f"writer of {self.title}")

    def fixed(self, code: str, value: str = "") -> None:
        """Write a value of fixed width, together with its neighbours; code x is a zero byte."""
        self.run.append((code, value))

    def flush(self) -> None:
        """Emit what `fixed` has collected."""
        if not self.run:
            return
        if all(code == "x" for code, _ in self.run):
            if len(self.run) == 1:
                self.source.emit(f"{self.out}.append(0)")
            else:
                self.source.emit(f"{self.out} += {bytes(len(self.run))!r}")
        else:
            self.source.emit(f"{self.out} += {self._packed(self.run)}")
        self.run = []

    def flush_with_length(self, length: str, long: str = "uvarint") -> None:
        """Emit what was collected and, after it, a variable-length integer."""
        run, self.run = self.run, []
        short = self._packed([*run, ("B", length)])
        before = f"{self._packed(run)} + " if run else ""
        self.source.emit(f"{self.out} += {short} if {length} < 128 else {before}{long}({length})")

    def _packed(self, run: list[tuple[str, str]]) -> str:
        codes = "".join(code for code, _ in run)
        values = ", ".join(value for _, value in run if value)
        return f"{self.source.struct(codes, 'pack')}({values})"

    def structure(self, cls: type[Struct], var: str) -> None:
        """Emit the writing of the structure that the variable `var` holds."""
        tagged = []
        for field in fields_of(cls):
            value = f"{var}.{field.name}"
            if not field.exists(self.version):
                if not field.ignorable:
                    with self.source.block(f"if not ({self.is_default(value, field)}):"):
                        self.source.emit(f"raise absent({field.name!r})")
            elif field.tag is None:
                self.value(field.kind, field, value)
            else:
                tagged.append(field)
        if self.flexible:
            self.tags(var, tagged)

    def is_default(self, value: str, field: Field) -> str:
        """An expression: does the field have its default value?"""
        match field.default:
            case None:
                return f"{value} is None"
            case Fresh(cls=cls):
                assert issubclass(cls, Struct)
                inner = fields_of(cls)
                tests = [f"({self.is_default(f'{value}.{f.name}', f)})" for f in inner]
                if field.nullable_since is not None:
                    tests.insert(0, f"{value} is not None")
                return " and ".join(tests)
            case list():
                return f"{value} == []" if field.nullable_since is not None else f"not {value}"
            case bool() as default:
                return value if default else f"not {value}"
            case default:
                return f"{value} == {default!r}"

    def tags(self, var: str, tagged: list[Field]) -> None:
        """Known tagged fields, in order of their tags, those with default values left out."""
        if not tagged:
            self.fixed("x")
            return
        source = self.source
        tagged = sorted(tagged, key=lambda field: field.tag or 0)
        defaults = [f"({self.is_default(f'{var}.{f.name}', f)})" for f in tagged]
        self.flush()
        with source.block(f"if {' and '.join(defaults)}:"):
            source.emit(f"{self.out}.append(0)")
        with source.block("else:"):
            count, body = source.name("t"), source.name("b")
            outer, self.out = self.out, source.name("b")
            source.emit(f"{count} = 0")
            source.emit(f"{body} = bytearray()")
            for field, default in zip(tagged, defaults, strict=True):
                with source.block(f"if not {default}:"):
                    source.emit(f"{count} += 1")
                    source.emit(f"{self.out} = bytearray()")
                    self.value(field.kind, field, f"{var}.{field.name}")
                    self.flush()
                    head = encode_uvarint(field.tag or 0)
                    source.emit(f"{body} += {head!r} + uvarint(len({self.out}))")
                    source.emit(f"{body} += {self.out}")
            self.out = outer
            source.emit(f"{self.out} += uvarint({count})")
            source.emit(f"{self.out} += {body}")

    def value(self, kind: Kind, field: Field, value: str) -> None:
        """Emit the writing of one value."""
        nullable = field.nullable(self.version)
        match kind:
            case Wire() if kind is UUID:
                with self.source.block(f"if len({value}) != 16:"):
                    self.source.emit(f"raise bad_uuid({field.name!r})")
                self.fixed(kind.code, value)
            case Wire(code=code) if code:
                self.fixed(code, value)
            case Wire():
                self.sized(kind, field, value, nullable=nullable)
            case Array(element):
                self.array(element, field, value, nullable=nullable)
            case Nested(cls) if nullable:
                self.nullable_structure(cls, value, tagged=field.tag is not None)
            case Nested(cls):
                var = self.source.name("o")
                self.source.emit(f"{var} = {value}")
                self.structure(cls, var)

    def length(self, code: str, var: str, *, nullable: bool, compact: bool, long: str) -> None:
        """Emit the length of `var`, or of null."""
        source = self.source
        count = f"len({var}) + 1" if compact else f"len({var})"
        if nullable:
            count = f"{0 if compact else -1} if {var} is None else {count}"
        if compact:
            length = source.name("n")
            source.emit(f"{length} = {count}")
            self.flush_with_length(length, long)
        else:
            self.fixed(code, count)
            self.flush()

    def sized(self, kind: Wire, field: Field, value: str, *, nullable: bool) -> None:
        """A string, bytes or records: a length, then as many bytes."""
        source = self.source
        compact = self.flexible and not field.inflexible
        var = source.name("v")
        if kind.name == "string":
            source.emit(f"{var} = {value}")
            if nullable:
                with source.block(f"if {var} is not None:"):
                    source.emit(f"{var} = {var}.encode()")
            else:
                source.lines.pop()
                source.emit(f"{var} = {value}.encode()")
        else:
            source.emit(f"{var} = {value}")
        self.length(
            "h" if kind.name == "string" else "i",
            var,
            nullable=nullable,
            compact=compact,
            long="string_length" if kind.name == "string" else "uvarint",
        )
        if kind.name == "records" and self.parts:
            self.record_part(var)
        elif nullable:
            with source.block(f"if {var}:"):
                source.emit(f"{self.out} += {var}")
        else:
            source.emit(f"{self.out} += {var}")

    def record_part(self, var: str) -> None:
        source = self.source
        assert self.out == "out", f"{self.title}: records in a tagged field"
        with source.block(f"if {var}:"):
            copied = f"len({var}) <= {COPIED_RECORDS} and isinstance({var}, buffers)"
            with source.block(f"if {copied}:"):
                source.emit(f"out += {var}")
            with source.block("else:"):
                source.emit(f"parts += (out, {var})")
                source.emit("out = bytearray()")

    def array(self, element: Kind, field: Field, value: str, *, nullable: bool) -> None:
        source = self.source
        items = source.name("l")
        source.emit(f"{items} = {value}")
        self.length("i", items, nullable=nullable, compact=self.flexible, long="uvarint")
        if isinstance(element, Wire) and element.code and element is not UUID:
            with source.block(f"if {items}:"):
                codes = f"'>%d{element.code}' % len({items})"
                source.emit(f"{self.out} += pack({codes}, *{items})")
            return
        item = source.name("o")
        looped = f"{items} or ()" if nullable else items
        with source.block(f"for {item} in {looped}:"):
            if isinstance(element, Nested):
                self.structure(element.cls, item)
            else:
                required = Field(name=field.name, kind=element, default=None)
                self.value(element, required, item)
            self.flush()

    def nullable_structure(self, cls: type[Struct], value: str, *, tagged: bool) -> None:
        """One byte says whether the structure is there: -1 if not, but 0 in a tagged field."""
        source = self.source
        var = source.name("o")
        source.emit(f"{var} = {value}")
        self.flush()
        with source.block(f"if {var} is None:"):
            source.emit(f"{self.out}.append({0 if tagged else 255})")
        with source.block("else:"):
            self.fixed("b", "1")
            self.structure(cls, var)
            self.flush()
