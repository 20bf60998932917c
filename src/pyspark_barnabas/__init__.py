"""Where PySpark finds data sources by itself: `format("barnabas")` needs no registration."""

from barnabas.pipelines.data_source import BarnabasDataSource as DefaultSource

__all__ = ["DefaultSource"]
