"""What a Python process of Spark does first: it takes PySpark from where that is installed.

Python imports a module of this name as it starts, if its folder is on the path; `spark.register`
puts it there.  Spark's own way is that `pyspark.zip` comes first on the path of such processes.
There is no compiled code in it, so that each of them compiles PySpark anew: most of a second, at
the start of every streaming query and of every worker.  A zip that lies inside an installed PySpark
has the same files as the package around it, which is compiled.

Nothing of Barnabas is imported here, nor anything that Python has not loaded by itself already.
"""

import os
import sys


def without_copies(path: list[str]) -> list[str]:
    """A search path without the zips of packages that are installed further down on it.

    `pyspark/python/lib/` of the package has zips of PySpark and of Py4J, which it needs.
    """
    homes = {os.path.realpath(entry) for entry in path}  # Spark names its own home by that
    kept = []
    for entry in path:
        folder, name = os.path.split(os.path.realpath(entry))
        home = os.path.dirname(os.path.dirname(os.path.dirname(folder)))
        package = name.removesuffix("-src.zip").removesuffix(".zip").partition("-")[0]
        is_copy = (
            name.endswith(".zip")
            and folder == os.path.join(home, "pyspark", "python", "lib")
            and home in homes
            and os.path.isfile(os.path.join(home, package, "__init__.py"))
        )
        if not is_copy:
            kept.append(entry)
    return kept


def pass_on() -> None:
    """To the module of this name that would have been imported if this one were not there."""
    from importlib.machinery import PathFinder
    from importlib.util import module_from_spec

    spec = PathFinder.find_spec(__name__)
    if spec is not None and spec.loader is not None:
        other = module_from_spec(spec)
        sys.modules[__name__] = other
        spec.loader.exec_module(other)


if __name__ == "sitecustomize":
    here = os.path.dirname(os.path.abspath(__file__))
    sys.path[:] = without_copies([entry for entry in sys.path if os.path.abspath(entry) != here])
    pass_on()
