"""Files that define a pipeline: TOML, YAML, or SQL with its settings in comments before the query.

    -- topic: prices
    -- schema: symbol STRING, price DOUBLE, at TIMESTAMP
    -- to: averages
    SELECT symbol AS key, symbol, avg(price) AS price FROM prices GROUP BY symbol

A setting that is a table has names after a dot: `-- schema.prices: symbol STRING, price DOUBLE`.
All three come to the same: the names and values that `declaring.build` checks.  Pure but for
`read_definition`, which reads the file.
"""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

from barnabas.pipelines.errors import PipelineError

QUERY = "query"
_HEADER = re.compile(r"--\s*([\w\-]+)(?:\.([\w.\-]+))?\s*:\s*(.*)")


def read_definition(path: str) -> dict[str, object]:
    file = Path(path)
    try:
        content = file.read_text(encoding="utf-8")
    except OSError as error:
        raise PipelineError(f"cannot read {path}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise PipelineError(f"{path} is not text in UTF-8") from None
    try:
        return parse_definition(content, file.suffix.lower())
    except PipelineError as error:
        raise PipelineError(f"{path}: {error}") from None


def parse_definition(content: str, suffix: str) -> dict[str, object]:
    """What a file says, by the ending of its name."""
    match suffix:
        case ".toml":
            return _toml(content)
        case ".yaml" | ".yml":
            return _yaml(content)
        case ".sql":
            return _sql(content)
    raise PipelineError("a definition ends in .toml, .yaml or .sql")


def _toml(content: str) -> dict[str, object]:
    try:
        return dict(tomllib.loads(content))
    except tomllib.TOMLDecodeError as error:
        raise PipelineError(f"not TOML: {error}") from None


def _yaml(content: str) -> dict[str, object]:
    try:
        import yaml
    except ImportError:
        raise PipelineError("reading YAML needs PyYAML: pip install 'barnabas[spark]'") from None
    try:
        loaded = yaml.safe_load(content)
    except yaml.YAMLError as error:
        raise PipelineError(f"not YAML: {' '.join(str(error).split())}") from None
    if not isinstance(loaded, dict):
        raise PipelineError("not a table of settings")
    return {str(name): value for name, value in loaded.items()}


def _sql(content: str) -> dict[str, object]:
    """Settings end with the first line that is no comment; later comments are the query's."""
    settings: dict[str, object] = {}
    lines = content.splitlines()
    while lines and (not lines[0].strip() or lines[0].lstrip().startswith("--")):
        header = _HEADER.fullmatch(lines.pop(0).strip())
        if header is None:
            continue
        name, key, value = header.groups()
        if key is None:
            settings[name] = value
        else:
            table = settings.setdefault(name, {})
            if not isinstance(table, dict):
                raise PipelineError(f"{name} is given with and without a name after it")
            table[key] = value
    query = "\n".join(lines).strip().rstrip(";").strip()
    if query:
        settings[QUERY] = query
    return settings
