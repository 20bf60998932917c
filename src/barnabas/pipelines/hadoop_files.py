"""Files of any file system that Spark can reach, through the Hadoop library of the driver's JVM.

Local paths, `hdfs://`, `s3a://`: the lake's journal works on all of them alike.  Calls block.  What
is not there, or not any more, is a `FileNotFoundError`, whatever Java calls it.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol
from uuid import uuid4

from barnabas.pipelines.errors import PipelineError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

HIDDEN = ("_", ".")
"""Names that begin so are passed over, as all readers of such directories do."""
MISSING = frozenset({"java.io.FileNotFoundException", "java.nio.file.NoSuchFileException"})
NO_LINKS = frozenset({errno.EPERM, errno.ENOSYS, errno.EOPNOTSUPP})
"""What file systems say that have no second names for files."""


@dataclass(frozen=True, slots=True)
class FileInfo:
    path: str
    """Below the directory that was listed."""
    size_bytes: int


class Files(Protocol):
    """What a lake needs of its file system.  Paths are below one root."""

    def names(self, directory: str) -> list[str]: ...
    def walk(self, directory: str) -> list[FileInfo]: ...
    def exists(self, path: str) -> bool: ...
    def move(self, source: str, target: str) -> None: ...
    def copy(self, source: str, target: str) -> None: ...
    def delete(self, path: str) -> None: ...
    def read(self, path: str) -> str: ...
    def write(self, path: str, text: str) -> None: ...
    def create(self, path: str, text: str) -> None: ...


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
        self._is_local = self._fs.getUri().getScheme() == "file"

    def _path(self, path: str) -> Any:
        whole = f"{self.root}/{path}" if path else self.root
        return self._jvm.org.apache.hadoop.fs.Path(whole)

    def names(self, directory: str) -> list[str]:
        """Of what is right in a directory, sorted; none if there is no such directory."""
        return sorted(each.getPath().getName() for each in self._listed(self._path(directory)))

    def walk(self, directory: str) -> list[FileInfo]:
        """All files below a directory, sorted; none if there is no such directory.

        What is hidden is not looked into either: it comes and goes.
        """
        top = self._path(directory)
        base = self._fs.makeQualified(top).toString().rstrip("/") + "/"
        found = []
        for listed in self._listed(top):
            for entry in (listed,) if listed.isFile() else self._below(listed.getPath()):
                path = entry.getPath().toString().removeprefix(base)
                if not any(part.startswith(HIDDEN) for part in path.split("/")):
                    found.append(FileInfo(path, entry.getLen()))
        return sorted(found, key=lambda each: each.path)

    def _listed(self, directory: Any) -> list[Any]:
        try:
            with _missing_in_python(directory):
                entries = list(self._fs.listStatus(directory))
        except FileNotFoundError:
            return []
        return [each for each in entries if not each.getPath().getName().startswith(HIDDEN)]

    def _below(self, directory: Any) -> Iterator[Any]:
        with _missing_in_python(directory):
            entries = self._fs.listFiles(directory, True)
            while entries.hasNext():
                yield entries.next()

    def exists(self, path: str) -> bool:
        return bool(self._fs.exists(self._path(path)))

    def move(self, source: str, target: str) -> None:
        """Renames a file into a directory that is made if need be."""
        self._fs.mkdirs(self._path(target).getParent())
        with _missing_in_python(source):
            is_moved = self._fs.rename(self._path(source), self._path(target))
        if not is_moved:
            if not self.exists(source):
                raise FileNotFoundError(source)
            raise PipelineError(f"{self.root}: {source} could not be moved to {target}")

    def copy(self, source: str, target: str) -> None:
        """A directory with all that is in it; nothing if it is not there.

        `FileNotFoundError` if somebody took something out of it meanwhile.
        """
        if not self.exists(source):
            return
        paths = (self._fs, self._path(source), self._fs, self._path(target))
        copy = self._jvm.org.apache.hadoop.fs.FileUtil.copy
        with _missing_in_python(source):
            is_copied = copy(*paths, False, self._fs.getConf())
        if not is_copied:
            raise PipelineError(f"{self.root}: {source} could not be copied to {target}")

    def delete(self, path: str) -> None:
        """A file, or a directory with all that is in it; nothing if it is not there."""
        self._fs.delete(self._path(path), True)

    def read(self, path: str) -> str:
        with _missing_in_python(path):
            stream = self._fs.open(self._path(path))
        try:
            return str(self._jvm.org.apache.commons.io.IOUtils.toString(stream, "UTF-8"))
        finally:
            stream.close()

    def write(self, path: str, text: str) -> None:
        """A new file, there as a whole or not at all."""
        self.move(self._written(path, text), path)

    def create(self, path: str, text: str) -> None:
        """A new file, there as a whole or not at all; `FileExistsError` if there is one already.

        Of several who create the same file at the same time one succeeds, where a rename is one
        act that does not overwrite (HDFS), and where Hadoop's would, but the system has links (a
        local disk).  Elsewhere (object stores) two who look within the same moment may both.
        """
        unfinished = self._written(path, text)
        try:
            if not (self._is_local and self._is_linked(unfinished, path)):
                self._rename(unfinished, path)
        finally:
            self.delete(unfinished)

    def _written(self, path: str, text: str) -> str:
        """Writes a text beside the file that it is for, where nobody looks."""
        parts = path.rpartition("/")
        unfinished = f"{parts[0]}{parts[1]}.{parts[2]}.{uuid4().hex}.unfinished"
        stream = self._fs.create(self._path(unfinished), True)
        try:
            stream.write(bytearray(text.encode()))
        finally:
            stream.close()
        return unfinished

    def _is_linked(self, source: str, target: str) -> bool:
        """Gives a file a second name; False if this file system cannot."""
        try:
            os.link(*(self._fs.pathToFile(self._path(each)).getPath() for each in (source, target)))
        except FileExistsError:
            raise
        except OSError as error:
            if error.errno not in NO_LINKS:
                raise
            return False
        return True

    def _rename(self, source: str, target: str) -> None:
        from py4j.protocol import Py4JJavaError

        if self.exists(target):
            raise FileExistsError(target)
        try:
            self.move(source, target)
        except (PipelineError, Py4JJavaError):
            if self.exists(target):
                raise FileExistsError(target) from None
            raise


@contextmanager
def _missing_in_python(path: object) -> Iterator[None]:
    from py4j.protocol import Py4JJavaError

    try:
        yield
    except Py4JJavaError as error:
        if error.java_exception.getClass().getName() in MISSING:
            raise FileNotFoundError(str(path)) from None
        raise
