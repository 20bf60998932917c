"""Constructors of message classes, compiled when the first message of a class is made."""

from typing import Any, Protocol

from barnabas.protocol.message import Struct
from barnabas.protocol.schema import fields_of
from barnabas.protocol.types import Fresh


class Constructor(Protocol):
    def __call__(self, instance: Struct, /, **values: Any) -> None: ...


def install_constructor(cls: type[Struct]) -> Constructor:
    """Give `cls` its own keyword-only `__init__`, and return it."""
    missing = object()
    env: dict[str, Any] = {"_missing": missing}
    parameters, body = [], []
    for number, field in enumerate(fields_of(cls)):
        name = field.name
        if isinstance(field.default, list | Fresh):
            make = "[]"
            if isinstance(field.default, Fresh):
                env[f"_c{number}"] = field.default.cls
                make = f"_c{number}()"
            parameters.append(f"{name}=_missing")
            body.append(f" self.{name} = {make} if {name} is _missing else {name}")
        else:
            env[f"_d{number}"] = field.default
            parameters.append(f"{name}=_d{number}")
            body.append(f" self.{name} = {name}")
    signature = ", ".join(["self", *(["*", *parameters] if parameters else [])])
    source = f"def __init__({signature}):\n" + ("\n".join(body) or " pass")
    exec(compile(source, f"<constructor of {cls.__name__}>", "exec"), env)
    constructor: Constructor = env["__init__"]
    type.__setattr__(cls, "__init__", constructor)
    return constructor
