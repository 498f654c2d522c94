package codec

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"streamlab/columnar"
	"streamlab/errs"
	"streamlab/sql/types"
)

// memoryFile is a file in memory.
type memoryFile struct{ *bytes.Reader }

func (memoryFile) Close() error { return nil }

func fileOf(b []byte) Input {
	return Input{Path: "file:///x.parquet", Open: func() (File, error) { return memoryFile{bytes.NewReader(b)}, nil }}
}

// decoded reads JSON lines into columns of a schema.
func decoded(t *testing.T, ddl, lines string) ([]columnar.Vec, types.Schema, int) {
	t.Helper()
	schema, err := types.ParseDDL(ddl)
	if err != nil {
		t.Fatal(err)
	}
	r, err := NewReader(Settings{Format: "json"}, schema, nil)
	if err != nil {
		t.Fatal(err)
	}
	d := r.NewDecoder()
	for _, l := range strings.Split(lines, "\n") {
		if err := d.Record([]byte(l)); err != nil {
			t.Fatal(err)
		}
	}
	n := d.Rows()
	var cols []columnar.Vec
	for _, v := range d.Take() {
		cols = append(cols, *v)
	}
	return cols, schema, n
}

func printed(schema types.Schema, cols []columnar.Vec, n int) []string {
	var out []string
	for i := range n {
		var row []byte
		for j := range schema {
			if j > 0 {
				row = append(row, ' ')
			}
			if cols[j].IsNull(i) {
				row = append(row, "NULL"...)
			} else {
				row = AppendDisplay(row, &cols[j], i, time.UTC)
			}
		}
		out = append(out, string(row))
	}
	return out
}

func writeParquet(t testing.TB, schema types.Schema, cols []columnar.Vec, n int, codec string) []byte {
	t.Helper()
	c, err := FindParquetCodec(codec)
	if err != nil {
		t.Fatal(err)
	}
	f, err := NewParquetFormat(schema, c)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	w, err := f.NewWriter(&b)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Write(cols, 0, n); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func readParquet(schema types.Schema, in Input, tests ...columnar.Test) (rows []string, err error) {
	r, err := NewReader(Settings{Format: "parquet"}, schema, nil)
	if err != nil {
		return nil, err
	}
	err = r.ReadParquet(context.Background(), in, tests, func(cols []*columnar.Vec, _ int64, n int) error {
		vs := make([]columnar.Vec, len(cols))
		for i, c := range cols {
			vs[i] = *c
		}
		rows = append(rows, printed(schema, vs, n)...)
		return nil
	})
	return rows, err
}

const manyTypes = "b BOOLEAN, i8 TINYINT, i16 SMALLINT, i INT, l BIGINT, f FLOAT, g DOUBLE, s STRING, y BINARY, d DATE, ts TIMESTAMP, " +
	"tn TIMESTAMP_NTZ, p DECIMAL(5,2), q DECIMAL(15,3), r DECIMAL(38,10), a ARRAY<INT>, aa ARRAY<ARRAY<STRING>>, m MAP<STRING,INT>, " +
	"st STRUCT<x: INT, y: ARRAY<STRUCT<z: STRING>>>, iv INTERVAL DAY TO SECOND"

const manyRows = `{"b":true,"i8":-1,"i16":300,"i":1,"l":3000000000,"f":1.5,"g":-2.5,"s":"é東","y":"aGk=","d":"1582-10-15","ts":"0001-01-01T00:00:00.000001Z","tn":"9999-12-31T23:59:59.999999","p":"-1.25","q":"123456789012.345","r":"-0.0000000001","a":[1,null,3],"aa":[["x"],[],null,["y",null]],"m":{"k":1,"n":null},"st":{"x":1,"y":[{"z":"a"},{"z":null},null]},"iv":"1 02:03:04.5"}
{}
{"a":[],"aa":[],"m":{},"st":{},"s":"","y":""}
{"b":false,"st":{"x":null,"y":[]},"aa":[[],[]],"p":"999.99","r":"9999999999999999999999999999.9999999999"}`

func TestParquetRoundTrip(t *testing.T) {
	cols, schema, n := decoded(t, manyTypes, manyRows)
	want := strings.Join(printed(schema, cols, n), "\n")
	for _, codec := range []string{"snappy", "none", "gzip", "zstd", "lz4", "lz4_raw", "brotli"} {
		file := writeParquet(t, schema, cols, n, codec)
		got, err := readParquet(schema, fileOf(file))
		if err != nil {
			t.Fatalf("%s: %v", codec, err)
		}
		if g := strings.Join(got, "\n"); g != want {
			t.Fatalf("%s\n got  %s\n want %s", codec, g, want)
		}
		p, err := OpenParquet(fileOf(file))
		if err != nil {
			t.Fatal(err)
		}
		s, err := p.Schema()
		if err != nil || s.JSON() != schema.JSON() {
			t.Errorf("the footer has %s %v", s.JSON(), err)
		}
	}
}

// Many batches and row groups, lists that straddle them, and tests that skip.
func TestParquetManyRows(t *testing.T) {
	var lines []string
	for i := range 40_000 {
		switch i % 3 {
		case 0:
			lines = append(lines, fmt.Sprintf(`{"i":%d,"a":[%d,%d,%d],"s":"t%d"}`, i, i, i+1, i+2, i%1000))
		case 1:
			lines = append(lines, fmt.Sprintf(`{"i":%d}`, i))
		default:
			lines = append(lines, fmt.Sprintf(`{"i":%d,"a":[],"s":""}`, i))
		}
	}
	cols, schema, n := decoded(t, "i INT, a ARRAY<INT>, s STRING", strings.Join(lines, "\n"))
	file := writeParquet(t, schema, cols, n, "")
	got, err := readParquet(schema, fileOf(file))
	if err != nil {
		t.Fatal(err)
	}
	want := printed(schema, cols, n)
	for i := range want {
		if got[i] != want[i] {
			t.Fatalf("row %d is %q, want %q", i, got[i], want[i])
		}
	}
	value := func(i int32) []*columnar.Vec {
		return []*columnar.Vec{{Type: types.Of(types.Int), Phys: columnar.PI32, Len: 1, I32: []int32{i}}}
	}
	for _, c := range []struct {
		op   columnar.TestOp
		v    int32
		some bool
	}{{columnar.Equal, 39_999, true}, {columnar.Equal, 40_000, false}, {columnar.Less, 0, false}, {columnar.AtMost, 0, true},
		{columnar.Greater, 39_999, false}, {columnar.AtLeast, 39_999, true}, {columnar.IsNull, 0, false}} {
		x := columnar.Test{Column: 0, Op: c.op, Values: value(c.v)}
		got, err := readParquet(schema, fileOf(file), x)
		if err != nil || (len(got) > 0) != c.some {
			t.Errorf("%v %d: %d rows, %v", c.op, c.v, len(got), err)
		}
	}
}

func TestParquetMismatchesAndMissingColumns(t *testing.T) {
	cols, schema, n := decoded(t, "l BIGINT, s STRING", `{"l":1,"s":"x"}`)
	file := writeParquet(t, schema, cols, n, "")
	other, _ := types.ParseDDL("L INT")
	if _, err := readParquet(other, fileOf(file)); !errs.Has(err, "FAILED_READ_FILE.PARQUET_COLUMN_DATA_TYPE_MISMATCH") {
		t.Error(err)
	}
	other, _ = types.ParseDDL("S BINARY, nope STRUCT<x: INT>")
	if got, err := readParquet(other, fileOf(file)); err != nil || strings.Join(got, ";") != "x NULL" && strings.Join(got, ";") != "[78] NULL" {
		t.Error(got, err)
	}
}

// A file that is cut short or damaged is an error, never a panic, whatever byte it is.
func TestParquetDamaged(t *testing.T) {
	cols, schema, n := decoded(t, manyTypes, manyRows)
	file := writeParquet(t, schema, cols, n, "")
	for cut := 0; cut < len(file); cut += 97 {
		if _, err := readParquet(schema, fileOf(file[:cut])); !errs.Has(err, "FAILED_READ_FILE") {
			t.Fatalf("cut at %d: %v", cut, err)
		}
	}
	for at := 4; at < len(file); at += 31 {
		b := append([]byte{}, file...)
		b[at] ^= 0x55
		if _, err := readParquet(schema, fileOf(b)); err != nil && !errs.Has(err, "FAILED_READ_FILE") {
			t.Fatalf("byte %d: %v", at, err)
		}
	}
}

func FuzzParquet(f *testing.F) {
	schema, _ := types.ParseDDL("i INT, a ARRAY<INT>, s STRING")
	v := NullVec(schema[0].Type, 1)
	cols := []columnar.Vec{*v, *NullVec(schema[1].Type, 1), *NullVec(schema[2].Type, 1)}
	f.Add(writeParquet(f, schema, cols, 1, "none"))
	f.Add([]byte("PAR1PAR1"))
	f.Fuzz(func(t *testing.T, b []byte) {
		if _, err := readParquet(schema, fileOf(b)); err != nil && !errs.Has(err, "FAILED_READ_FILE") {
			t.Fatal(err)
		}
	})
}

// What we write, pyarrow and DuckDB read as we do.
func TestParquetElsewhere(t *testing.T) {
	python := os.Getenv("STREAMLAB_PYTHON")
	if python == "" {
		python = "/work/pys/bin/python"
	}
	if _, err := os.Stat(python); err != nil {
		t.Skip("no Python with pyarrow: set STREAMLAB_PYTHON")
	}
	cols, schema, n := decoded(t, "i INT, l BIGINT, g DOUBLE, s STRING, d DATE, ts TIMESTAMP, tn TIMESTAMP_NTZ, p DECIMAL(5,2), r DECIMAL(38,10), a ARRAY<INT>, m MAP<STRING,INT>, st STRUCT<x: INT, y: STRING>",
		`{"i":1,"l":3000000000,"g":-2.5,"s":"é東","d":"2024-01-02","ts":"2024-01-02T03:04:05.123456Z","tn":"2024-01-02T03:04:05.5","p":"-1.25","r":"0.0000000001","a":[1,null],"m":{"k":1},"st":{"x":1,"y":"z"}}
{}
{"a":[],"m":{},"st":{}}`)
	path := filepath.Join(t.TempDir(), "x.parquet")
	if err := os.WriteFile(path, writeParquet(t, schema, cols, n, ""), 0o644); err != nil {
		t.Fatal(err)
	}
	script := `
import json, sys
import pyarrow.parquet as pq
t = pq.read_table(sys.argv[1])
print(json.dumps([{k: str(v) for k, v in r.items()} for r in t.to_pylist()], ensure_ascii=False))
import duckdb
print(duckdb.sql("SELECT count(*), sum(l), max(s), min(p), len(max(a)) FROM '" + sys.argv[1] + "'").fetchall())
`
	out, err := exec.Command(python, "-c", script, path).CombinedOutput()
	if err != nil {
		if bytes.Contains(out, []byte("ModuleNotFoundError")) {
			t.Skip("no pyarrow or duckdb")
		}
		t.Fatalf("%v\n%s", err, out)
	}
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	var rows []map[string]string
	if err := json.Unmarshal([]byte(lines[0]), &rows); err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"i": "1", "l": "3000000000", "g": "-2.5", "s": "é東", "d": "2024-01-02", "ts": "2024-01-02 03:04:05.123456+00:00",
		"tn": "2024-01-02 03:04:05.500000", "p": "-1.25", "r": "1E-10", "a": "[1, None]", "m": "[('k', 1)]", "st": "{'x': 1, 'y': 'z'}"}
	for k, v := range want {
		if rows[0][k] != v {
			t.Errorf("%s is %s, want %s", k, rows[0][k], v)
		}
	}
	if rows[1]["a"] != "None" || rows[2]["a"] != "[]" || rows[2]["st"] != "{'x': None, 'y': None}" {
		t.Error(rows)
	}
	if !strings.Contains(lines[1], "(3, 3000000000, 'é東', Decimal('-1.25')") {
		t.Error(lines[1])
	}
}
