package codec

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"streamlab/columnar"
	"streamlab/errs"
	"streamlab/sql/types"
)

// bigFile writes rows {"a":i,"b":"…"} and gives the path and the bytes.
func bigFile(t *testing.T, rows int, line func(i int) string) (path, text string) {
	t.Helper()
	var b strings.Builder
	for i := range rows {
		b.WriteString(line(i))
	}
	path = filepath.Join(t.TempDir(), "part.json")
	if err := os.WriteFile(path, []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	return path, b.String()
}

func fileInput(path string, from, to int64) Input {
	return Input{Path: path, From: from, To: to, Open: func() (File, error) { return os.Open(path) }}
}

func abReader(t *testing.T, format string) *Reader {
	t.Helper()
	schema, err := types.ParseDDL("a BIGINT, b STRING")
	if err != nil {
		t.Fatal(err)
	}
	r, err := NewReader(settings(format), schema, nil)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// Parts of a file give the same rows whether they are mapped or read, wherever the file is cut into parts.
func TestMappedPartsGiveTheRowsThatAreRead(t *testing.T) {
	for _, format := range []string{"json", "csv"} {
		path, text := bigFile(t, 30_000, func(i int) string {
			b := strings.Repeat("x", i%50)
			if i == 20_000 {
				b = strings.Repeat("long", 100_000) // crosses the end of a part
			}
			if format == "csv" {
				return fmt.Sprintf("%d,%s\n", i, b)
			}
			return fmt.Sprintf(`{"a":%d,"b":"%s"}`+"\n", i, b)
		})
		r := abReader(t, format)
		rows := func(in Input) (out []string) {
			d := r.NewDecoder()
			err := r.Read(context.Background(), d, in, func() error {
				vs := d.Lend()
				for i := range vs[0].Len {
					out = append(out, fmt.Sprint(vs[0].I64[i], len(vs[1].Bytes(i))))
				}
				d.Reuse()
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
			return out
		}
		size := int64(len(text))
		for _, cuts := range [][]int64{{0, 0}, {0, size / 2, 0}, {0, 300_001, 650_000, 1_000_007, 0}, {0, size - 10, 0}} {
			var mapped, read []string
			for k := range len(cuts) - 1 {
				mapped = append(mapped, rows(fileInput(path, cuts[k], cuts[k+1]))...)
				read = append(read, rows(input(text, cuts[k], cuts[k+1]))...)
			}
			if len(mapped) != 30_000 || strings.Join(mapped, "\n") != strings.Join(read, "\n") {
				t.Fatalf("%s, cut at %v: %d rows mapped, %d read", format, cuts, len(mapped), len(read))
			}
		}
	}
}

// A file that is cut while it is read fails the read, not the process.
func TestFileCutWhileItIsRead(t *testing.T) {
	path, _ := bigFile(t, 100_000, func(i int) string { return fmt.Sprintf(`{"a":%d,"b":"some text"}`+"\n", i) })
	r := abReader(t, "json")
	d := r.NewDecoder()
	cut := false
	err := r.Read(context.Background(), d, fileInput(path, 0, 0), func() error {
		d.Take()
		if !cut {
			cut = true
			return os.Truncate(path, 100)
		}
		return nil
	})
	if !cut || !errs.Has(err, "FAILED_READ_FILE.NO_HINT") || !errors.Is(err, errCut) {
		t.Fatalf("cut %v, error %v", cut, err)
	}
}

// What was lent once does not show under the nulls of the next rows.
func TestReuseLeavesNothingUnderNulls(t *testing.T) {
	r := abReader(t, "json")
	d := r.NewDecoder()
	var got [][]*columnar.Vec
	for _, rec := range []string{`{"a":7,"b":"seven"}`, `{"b":"null"}`, `{"a":9}`} {
		if err := d.Record([]byte(rec)); err != nil {
			t.Fatal(err)
		}
		vs := d.Lend()
		if rec == `{"b":"null"}` && (!vs[0].IsNull(0) || vs[0].I64[0] != 0) {
			t.Fatalf("%v", vs[0])
		}
		if rec == `{"a":9}` && (!vs[1].IsNull(0) || len(vs[1].Bytes(0)) != 0 || vs[0].I64[0] != 9) {
			t.Fatalf("%v", vs)
		}
		got = append(got, vs)
		d.Reuse()
	}
	if len(got) != 3 {
		t.Fatal(len(got))
	}
}
