"""Tables with columns of several types: reading, finding out types, bringing into one form.

Needs pandas and pyarrow: ``pip install 'polychotomy[files]'``.
"""

from ._aside import SetAside
from ._columns import Column, infer_column
from ._encoding import DateParts
from ._errors import TableError
from ._files import TableFile
from ._labels import check_classes, class_labels
from ._reading import is_table_path, open_table
from ._schema import TableSchema, matched_pieces
from ._streamed import StreamedTable, stream_table
from ._table import Table, read_table, table_of_frame
from ._warnings import table_warnings
from ._writing import TableWriter, spreadsheet_safe, whole_file

__all__ = [
    "Column",
    "DateParts",
    "SetAside",
    "StreamedTable",
    "Table",
    "TableError",
    "TableFile",
    "TableSchema",
    "TableWriter",
    "check_classes",
    "class_labels",
    "infer_column",
    "is_table_path",
    "matched_pieces",
    "open_table",
    "read_table",
    "spreadsheet_safe",
    "stream_table",
    "table_of_frame",
    "table_warnings",
    "whole_file",
]
