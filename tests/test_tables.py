"""Tables as people have them: every kind of file, and the usual dirt."""

import gzip
import io

import numpy as np
import polars as pl
import pytest

from marginwood._cli.errors import DataError
from marginwood._cli.tables import read_table, write_table

NAN, INF = np.nan, np.inf
CLEAN = b"a,b\n1,2\n3.5,-4e2\n"


def read(tmp_path, content, name="table.csv"):
    path = tmp_path / name
    path.write_bytes(content)
    return read_table(str(path))


@pytest.mark.parametrize(
    "content",
    [
        CLEAN,
        b"\xef\xbb\xbf" + CLEAN,
        CLEAN.replace(b"\n", b"\r\n"),
        CLEAN.rstrip(),
        CLEAN + b"\r\n\n",
        CLEAN.replace(b",", b";"),
        CLEAN.replace(b",", b"\t"),
        b" a , b \n 1 , 2 \n 3.5 , -4e2 \n",
        b'"a","b"\n"1","2"\n"3.5","-4e2"\n',
        gzip.compress(CLEAN, mtime=0),
        gzip.compress(CLEAN.replace(b",", b"\t")),
        b"a;b\n1,0;2\n3,5;-400\n",
    ],
    ids=[
        "plain",
        "BOM",
        "CRLF",
        "no last newline",
        "blank lines",
        "semicolons",
        "tabs",
        "spaces",
        "quotes",
        "gz",
        "tsv.gz",
        "commas",
    ],
)
def test_dialects_of_csv_read_alike(tmp_path, content):
    table = read(tmp_path, content)
    assert table.names == ["a", "b"]
    assert table.numbers(["b", "a"]).tolist() == [[2, 1], [-400, 3.5]]


def test_missing_and_infinite_cells_are_understood(tmp_path):
    table = read(tmp_path, b"a,b\n,1\nNA,inf\nnan,-Inf\n N/A ,Infinity\nnull,-inf\nTRUE,false\n")
    assert np.isnan(table.numbers(["a"])[:5]).all()
    assert table.numbers(["a"])[5] == 1
    assert table.numbers(["b"]).ravel().tolist() == [1, INF, -INF, INF, -INF, 0]


def test_a_cell_of_another_type_far_below_is_found(tmp_path):
    table = read(tmp_path, b"a,b\n" + b"1,2\n" * 5000 + b"2.5,x\n")
    assert table.numbers(["a"])[-1] == 2.5
    with pytest.raises(DataError, match="column 'b', row 5000: expected a number, got 'x'"):
        table.numbers(["b"])


def test_names_with_spaces_and_umlauts_are_kept(tmp_path):
    table = read(tmp_path, 'dose (mg),größe,"a, b"\n1,2,3\n'.encode())
    assert table.names == ["dose (mg)", "größe", "a, b"]


def test_a_separator_inside_quotes_does_not_count(tmp_path):
    assert read(tmp_path, b'"a, b, c";d\n1;2\n').names == ["a, b, c", "d"]


def test_a_column_without_a_name_is_left_out(tmp_path):
    assert read(tmp_path, b",a\n1,2\n").names == ["a"]


def test_parquet_keeps_its_types(tmp_path):
    frame = pl.DataFrame({"a": [1, None], "b": [True, False], "c": ["1.5", "NA"], "d": ["x", "y"]})
    frame.write_parquet(tmp_path / "t.parquet")
    table = read_table(str(tmp_path / "t.parquet"))
    np.testing.assert_array_equal(table.numbers(["a", "b", "c"]), [[1, 1, 1.5], [NAN, 0, NAN]])
    with pytest.raises(DataError, match="column 'd', row 0: expected a number, got 'x'"):
        table.numbers(["d"])


def test_text_is_refused_where_it_is_used_and_only_there(tmp_path):
    table = read(tmp_path, b"a,city\n1,Bonn\n2,Rome\n")
    assert table.numbers(["a"]).tolist() == [[1], [2]]
    with pytest.raises(
        DataError, match="column 'city', row 0: expected a number, got 'Bonn'; drop it"
    ):
        table.numbers(["city"], "; drop it")


def test_a_repeated_name_is_refused_where_it_is_used_and_only_there(tmp_path):
    table = read(tmp_path, b"a,b,a\n1,2,3\n")
    assert table.numbers(["b"]).tolist() == [[2]]
    with pytest.raises(DataError, match="more than one column is named 'a'"):
        table.numbers(["a"])


def test_an_absent_column_is_named(tmp_path):
    with pytest.raises(DataError, match="no column named 'c'; there are: a, b"):
        read(tmp_path, CLEAN).numbers(["a", "c"])


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "empty"),
        (b"\n\n", "empty"),
        (b"1,2\n3,4\n", "line 1 holds numbers"),
        (
            b"a,b\n1,2\n1,2,3\n",
            "row 1: expected 2 fields, got 3; a cell that holds ',' must be in quotes",
        ),
        ("a,größe\n1,2\n".encode("latin-1"), "not UTF-8"),
        (b"a,b\n1,\xe4\n", "not UTF-8"),
        (CLEAN.decode().encode("utf-16"), "UTF-16"),
        (gzip.compress(CLEAN, mtime=0)[:-6], "damaged gzip"),
        (b"PAR1 and nothing else", "damaged Parquet"),
    ],
)
def test_what_is_no_table_is_refused_with_its_name(tmp_path, content, message):
    with pytest.raises(DataError, match=f"table.csv: .*{message}"):
        read(tmp_path, content)


@pytest.mark.parametrize(
    ("content", "n_fields"),
    [
        (b"a,b,c\n1,2,3\n4,5", 2),
        (b"a,b,c\n1,2,\n4\n7,8,9\n", 1),
        (b"a,b,c\n1,2,3\n\n7,8,9\n", 0),
        (b"a,b,c\n1,2,x\n4,5\n", 2),
        (b"a,b,c\n1,2,3\n4,5\n\n", 2),
        (b"a\tb\tc\r\n1\t2\t3\r\n4\t5\r\n", 2),
        (b'\xef\xbb\xbfa,"b,",c\n1,"2\n,",3\n4,"5,"\n', 2),
        (gzip.compress(b"a;b;c\n1;2;3\n4;5"), 2),
    ],
    ids=[
        "cut off",
        "after an open end",
        "blank line",
        "text",
        "blank line at the end",
        "tabs",
        "quotes",
        "gz",
    ],
)
def test_a_row_with_fewer_fields_than_the_header_is_refused(tmp_path, content, n_fields):
    with pytest.raises(
        DataError,
        match=f"row 1: expected 3 fields, got {n_fields}; a cell may be empty, but its '.*' must",
    ):
        read(tmp_path, content)


@pytest.mark.parametrize(
    "content",
    [
        b"a,b\n1,2\n3,\n",
        b"a,b\n1,2\n3,",
        b"a;b\r\n1;2\r\n3;\r\n\r\n",
        b"a\tb\n1\t2\n3\t\n\n",
        b"a,b\n1,2\n3,NA\n",
        b'"a","b"\n"1","2"\n"3",\n',
        b'a,b,"c,"\n1,2,"""x"",\n\n"\n3,,\n',
        b'a,b,c,d\n1,2,5",6"\n3,,,\n',
    ],
    ids=["newline", "cut off", "CRLF", "tab", "NA", "quotes", "quoted separators", "inches"],
)
def test_an_empty_last_cell_is_missing(tmp_path, content):
    np.testing.assert_array_equal(read(tmp_path, content).numbers(["a", "b"]), [[1, 2], [3, NAN]])


def test_blank_lines_of_a_single_column_are_missing_cells(tmp_path):
    np.testing.assert_array_equal(read(tmp_path, b"a\n1\n\n3\n").numbers(["a"]), [[1], [NAN], [3]])


def test_thousands_of_columns_are_read(tmp_path):
    values = np.arange(12_000.0).reshape(3, 4000)
    header = ",".join(f"x{i}" for i in range(4000))
    text = io.BytesIO()
    np.savetxt(text, values, delimiter=",", header=header, comments="")
    table = read(tmp_path, text.getvalue())
    assert (table.numbers(table.names) == values).all()


@pytest.mark.parametrize("name", ["t.csv", "t.tsv", "t.csv.gz", "t.parquet", "t.Parquet"])
def test_what_is_written_is_read_back_to_the_last_bit(tmp_path, name):
    columns = {"a": np.array([1 / 3, -INF, 1e-300]), "b": np.array([INF, np.pi, 2**53 + 1.0])}
    write_table(str(tmp_path / name), columns)
    assert (
        read_table(str(tmp_path / name)).numbers(["a", "b"]).tobytes()
        == np.column_stack([*columns.values()]).tobytes()
    )
