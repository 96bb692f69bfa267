"""Writes tables in Parquet files by pyarrow, and what pandas reads of them as the features that Fieldtrial is to make.

Usage: python3 parquet.py [FOLDER], with pandas and pyarrow; without FOLDER beside this script.
"""

import datetime
import decimal
import pathlib
import sys

import numpy
import pandas
import pyarrow
from pyarrow import parquet

ROWS = 150
random = numpy.random.default_rng(7)
folder = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else pathlib.Path(__file__).parent


def with_nulls(values, share=0.1):
    return [None if hidden else value for value, hidden in zip(values, random.random(ROWS) < share)]


def whole(low, high):
    return [int(value) for value in random.integers(low, high, ROWS, dtype="int64", endpoint=True)]


def moments(unit):
    days = random.integers(-9000, 20000, ROWS)
    seconds = random.integers(0, 86400, ROWS)
    begin = numpy.datetime64("1970-01-01", unit)
    return pyarrow.array(begin + days.astype("timedelta64[D]") + seconds.astype("timedelta64[s]"), pyarrow.timestamp(unit))


def decimals(digits, scale):
    values = whole(-(10**digits), 10**digits)
    return [decimal.Decimal(value) * 1000 ** (scale // 10) / 10**scale for value in values]


day = datetime.date(2000, 1, 1)
columns = {
    "i8": pyarrow.array(whole(-128, 127), pyarrow.int8()),
    "i32": pyarrow.array(with_nulls(whole(-(2**31), 2**31 - 1)), pyarrow.int32()),
    "i64": pyarrow.array(whole(-(2**62), 2**62), pyarrow.int64()),
    "u32": pyarrow.array(whole(2**31, 2**32 - 1), pyarrow.uint32()),
    "u64": pyarrow.array([2**64 - 1 - value for value in whole(0, 2**60)], pyarrow.uint64()),
    "f16": pyarrow.array(random.normal(size=ROWS).astype("float16"), pyarrow.float16()),
    "f32": pyarrow.array(with_nulls([float(value) for value in random.normal(size=ROWS)]), pyarrow.float32()),
    "f64": pyarrow.array(random.normal(size=ROWS) * 10.0 ** random.integers(-12, 12, ROWS), pyarrow.float64()),
    "price": pyarrow.array(with_nulls(decimals(6, 2)), pyarrow.decimal128(10, 2)),
    "large": pyarrow.array(decimals(17, 4), pyarrow.decimal128(30, 4)),
    "flag": pyarrow.array(random.random(ROWS) < 0.5, pyarrow.bool_()),
    "city": pyarrow.array(with_nulls([["Köln", "Ulm", "a,\"b\"\nc"][value] for value in whole(0, 2)]), pyarrow.string()),
    "day": pyarrow.array(with_nulls([day + datetime.timedelta(value) for value in whole(-9000, 9000)]), pyarrow.date32()),
    "ms": moments("ms"),
    "us": moments("us"),
    "ns": moments("ns"),
    "y": pyarrow.array(random.normal(size=ROWS), pyarrow.float64()),
}
is_needed = {"i8", "f64", "flag"}
schema = pyarrow.schema([pyarrow.field(name, own.type, nullable=name not in is_needed) for name, own in columns.items()])
table = pyarrow.table(columns, schema=schema)
parquet.write_table(table, folder / "snappy.parquet", row_group_size=64, data_page_size=256)
parquet.write_table(table, folder / "zstd.parquet", compression="zstd", data_page_version="2.0", use_dictionary=False)
parquet.write_table(table, folder / "gzip.parquet", compression="gzip", use_deprecated_int96_timestamps=True)
nested = pyarrow.table({"x": [1.0], "list": [[1, 2]], "pair": [{"a": 1, "b": 2}], "y": [2.0]})
parquet.write_table(nested, folder / "nested.parquet", compression="none")

read = pandas.read_parquet(folder / "snappy.parquet")
features = []
for name in columns:
    own = read[name]
    if name == "y":
        continue
    if name in ("city", "flag"):
        texts = own.map({True: "true", False: "false"}) if name == "flag" else own.fillna("")
        features += [(texts == kind).astype(float) for kind in sorted(set(texts))]
    elif name in ("day", "ms", "us", "ns"):
        days = (pandas.to_datetime(own) - pandas.Timestamp(day)) / pandas.Timedelta(days=1)
        features.append(days.fillna(-1))
    else:
        features.append(own.astype(float).fillna(-1))
pandas.concat(features, axis=1).to_csv(folder / "features.csv", header=False, index=False)
