"""Getters that answer a setting's value in the type that its declaration promises."""

from __future__ import annotations

import builtins
from collections.abc import Mapping

from barnabas.base.settings.kinds import Value


class TypedValues:
    """Values by name.  KeyError for a name that is not declared: a mistake in the program.

    A getter of the wrong type is such a mistake too, and fails an assertion.
    """

    __slots__ = ("_values",)
    _values: Mapping[builtins.str, Value]

    def __getitem__(self, name: builtins.str) -> Value:
        return self._values[name]

    def int(self, name: builtins.str) -> builtins.int:
        value = self._values[name]
        assert isinstance(value, builtins.int), f"{name} is {value!r}"
        return value

    def optional_int(self, name: builtins.str) -> builtins.int | None:
        return None if self._values[name] is None else self.int(name)

    def bool(self, name: builtins.str) -> builtins.bool:
        value = self._values[name]
        assert isinstance(value, builtins.bool), f"{name} is {value!r}"
        return value

    def float(self, name: builtins.str) -> builtins.float:
        value = self._values[name]
        assert isinstance(value, builtins.int | builtins.float), f"{name} is {value!r}"
        return value

    def str(self, name: builtins.str) -> builtins.str:
        value = self._values[name]
        assert isinstance(value, builtins.str), f"{name} is {value!r}"
        return value

    def optional_str(self, name: builtins.str) -> builtins.str | None:
        return None if self._values[name] is None else self.str(name)

    def list(self, name: builtins.str) -> tuple[builtins.str, ...]:
        """The items; none if there is no value.  A setting that is one text is split at commas."""
        value = self._values[name]
        if value is None:
            return ()
        if isinstance(value, builtins.str):
            return tuple(item.strip() for item in value.split(",") if item.strip())
        assert isinstance(value, tuple), f"{name} is {value!r}"
        return value
