"""Files of any file system that Spark can reach, through the Hadoop library of the driver's JVM.

Local paths, `hdfs://`, `s3a://`: the lake's journal works on all of them alike.  Calls block.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from barnabas.pipelines.errors import PipelineError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass(frozen=True, slots=True)
class FileInfo:
    path: str
    """Below the directory that was listed."""
    size_bytes: int


class Files(Protocol):
    """What a lake needs of its file system.  Paths are below one root."""

    def walk(self, directory: str) -> list[FileInfo]: ...
    def exists(self, path: str) -> bool: ...
    def move(self, source: str, target: str) -> None: ...
    def delete(self, path: str) -> None: ...
    def read(self, path: str) -> str: ...
    def write(self, path: str, text: str) -> None: ...


def jvm_of(spark: SparkSession) -> Any:
    jvm = spark.sparkContext._jvm  # noqa: SLF001 (PySpark has no public way to it)
    assert jvm is not None, "a session has a JVM"
    return jvm


def located(spark: SparkSession, name: str) -> tuple[Any, Any]:
    """A path, which may be an address or a pattern, as Hadoop has it; and its file system."""
    path = jvm_of(spark).org.apache.hadoop.fs.Path(name)
    conf = spark.sparkContext._jsc.hadoopConfiguration()  # noqa: SLF001 (nor to that)
    return path, path.getFileSystem(conf)


class HadoopFiles:
    """`Files` below a root, which may be a path or an address."""

    def __init__(self, spark: SparkSession, root: str) -> None:
        self.root = root.rstrip("/") or "/"
        self._jvm = jvm_of(spark)
        _, self._fs = located(spark, self.root)

    def _path(self, path: str) -> Any:
        whole = f"{self.root}/{path}" if path else self.root
        return self._jvm.org.apache.hadoop.fs.Path(whole)

    def walk(self, directory: str) -> list[FileInfo]:
        """All files below a directory, sorted; none if there is no such directory.

        Files and directories whose names begin with `_` or `.` are passed over, as all readers of
        such directories do.
        """
        top = self._path(directory)
        if not self._fs.exists(top):
            return []
        base = self._fs.makeQualified(top).toString().rstrip("/") + "/"
        found = []
        entries = self._fs.listFiles(top, True)
        while entries.hasNext():
            entry = entries.next()
            path = entry.getPath().toString().removeprefix(base)
            if not any(part.startswith(("_", ".")) for part in path.split("/")):
                found.append(FileInfo(path, entry.getLen()))
        return sorted(found, key=lambda each: each.path)

    def exists(self, path: str) -> bool:
        return bool(self._fs.exists(self._path(path)))

    def move(self, source: str, target: str) -> None:
        """Renames a file into a directory that is made if need be."""
        self._fs.mkdirs(self._path(target).getParent())
        if not self._fs.rename(self._path(source), self._path(target)):
            raise PipelineError(f"{self.root}: {source} could not be moved to {target}")

    def delete(self, path: str) -> None:
        """A file, or a directory with all that is in it; nothing if it is not there."""
        self._fs.delete(self._path(path), True)

    def read(self, path: str) -> str:
        """`FileNotFoundError` if it is not there, or not any more."""
        from py4j.protocol import Py4JJavaError

        try:
            stream = self._fs.open(self._path(path))
        except Py4JJavaError:
            if not self.exists(path):
                raise FileNotFoundError(path) from None
            raise
        try:
            return str(self._jvm.org.apache.commons.io.IOUtils.toString(stream, "UTF-8"))
        finally:
            stream.close()

    def write(self, path: str, text: str) -> None:
        """A new file, there as a whole or not at all."""
        parts = path.rpartition("/")
        unfinished = f"{parts[0]}{parts[1]}.{parts[2]}.unfinished"
        stream = self._fs.create(self._path(unfinished), True)
        try:
            stream.write(bytearray(text.encode()))
        finally:
            stream.close()
        self.move(unfinished, path)
