package codec

import (
	"bytes"
	"context"
	"io"
	"runtime"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"streamlab/errs"
	"streamlab/sql/types"
)

// endless is a file that is made while it is read: head, then a letter so many times, then tail.
type endless struct {
	head, tail string
	fill       int64
	at         int64
}

var filling = bytes.Repeat([]byte{'x'}, 64<<10)

func (e *endless) ReadAt(p []byte, at int64) (int, error) {
	n := 0
	for n < len(p) {
		switch k := at + int64(n) - int64(len(e.head)); {
		case k < 0:
			n += copy(p[n:], e.head[at+int64(n):])
		case k < e.fill:
			n += copy(p[n:min(int64(len(p)), int64(n)+e.fill-k)], filling)
		case k-e.fill < int64(len(e.tail)):
			n += copy(p[n:], e.tail[k-e.fill:])
		default:
			return n, io.EOF
		}
	}
	return n, nil
}

func (e *endless) Read(p []byte) (int, error) {
	n, err := e.ReadAt(p, e.at)
	e.at += int64(n)
	return n, err
}

func (e *endless) Close() error { return nil }

// readEndless reads such a file and gives the rows, and the most memory that was in use beside what was there.
func readEndless(t *testing.T, s Settings, ddl string, e *endless) (rows []string, extra int64, err error) {
	t.Helper()
	schema, err := types.ParseDDL(ddl)
	if err != nil {
		t.Fatal(err)
	}
	r, err := NewReader(s, schema, nil)
	if err != nil {
		t.Fatal(err)
	}
	d := r.NewDecoder()
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	in := Input{Path: "file:///x", Open: func() (File, error) { return e, nil }}
	err = r.Read(context.Background(), d, in, func() error {
		runtime.ReadMemStats(&after)
		extra = max(extra, int64(after.HeapAlloc)-int64(before.HeapAlloc))
		n := d.Rows()
		vs := d.Take()
		for i := range n {
			var b []byte
			for k, v := range vs {
				if k > 0 {
					b = append(b, '|')
				}
				b = AppendDisplay(b, v, i, nil)
			}
			rows = append(rows, string(b))
		}
		return nil
	})
	return rows, extra, err
}

// A line of 100 MB is one malformed record: what stands before and behind it is read, its beginning is kept,
// and the memory does not hold it.
func TestALineOf100MB(t *testing.T) {
	const size = 100 << 20
	for _, c := range []struct {
		name, format string
		options      []string
		head, tail   string
		want         func(rows []string) bool
		fails        string
	}{
		{"json", "json", nil, "{\"a\":1}\n{\"s\":\"", "\"}\n{\"a\":2}\n", func(r []string) bool {
			return len(r) == 3 && r[0] == "1|NULL" && strings.HasPrefix(r[1], "NULL|{\"s\":\"xxx") && len(r[1]) == keptOfLong+5 && r[2] == "2|NULL"
		}, ""},
		{"the last line", "json", nil, "{\"a\":1}\n{\"s\":\"", "", func(r []string) bool { return len(r) == 2 }, ""},
		{"carriage returns", "json", nil, "{\"a\":1}\r\n", "\r\n{\"a\":2}\r\n", func(r []string) bool { return len(r) == 3 && r[2] == "2|NULL" }, ""},
		{"a separator", "json", []string{"lineSep", "#|"}, "{\"a\":1}#|", "#|{\"a\":2}#|", func(r []string) bool { return len(r) == 3 && r[2] == "2|NULL" }, ""},
		{"left out", "json", []string{"mode", "DROPMALFORMED"}, "{\"a\":1}\n{", "}\n{\"a\":2}\n", func(r []string) bool { return strings.Join(r, "/") == "1|NULL/2|NULL" }, ""},
		{"fail fast", "json", []string{"mode", "FAILFAST"}, "{\"a\":1}\n{", "}\n{\"a\":2}\n", nil, "RECORD_TOO_LARGE"},
		{"csv", "csv", nil, "1\n", "\n2\n", func(r []string) bool { return len(r) == 3 && strings.HasPrefix(r[1], "NULL|xxx") && r[2] == "2|NULL" }, ""},
		{"csv header", "csv", []string{"header", "true"}, "a", "\n2\n", func(r []string) bool { return strings.Join(r, "/") == "2|NULL" }, ""},
		{"one document", "json", []string{"multiLine", "true"}, "{\"s\":\"", "\"}", nil, "RECORD_TOO_LARGE"},
	} {
		e := &endless{head: c.head, tail: c.tail, fill: size}
		rows, extra, err := readEndless(t, settings(c.format, c.options...), "a INT, _corrupt_record STRING", e)
		switch {
		case c.fails != "":
			if !errs.Has(err, "FAILED_READ_FILE.NO_HINT") || !errs.Has(err, c.fails) {
				t.Errorf("%s: %v", c.name, err)
			}
		case err != nil || !c.want(rows):
			for i := range rows {
				rows[i] = rows[i][:min(60, len(rows[i]))]
			}
			t.Errorf("%s: %d rows %q %v", c.name, len(rows), rows, err)
		}
		if extra > 64<<20 {
			t.Errorf("%s: %d MiB beside what was there", c.name, extra>>20)
		}
	}
	if _, _, err := readEndless(t, settings("text"), "value STRING", &endless{head: "a\n", fill: size}); !errs.Has(err, "RECORD_TOO_LARGE") {
		t.Errorf("text has no malformed records: %v", err)
	}
}

// However a file is cut into parts, a record that is too long is one malformed record.
func TestPartsOfALongRecordJoin(t *testing.T) {
	text := "{\"a\":1}\n{\"s\":\"" + strings.Repeat("y", 5000) + "\"}\r\n{\"a\":2}\n"
	want := "1/NULL/2"
	for i := int64(1); i < int64(len(text)); i += 97 {
		rows, err := readAll(t, settings("json", "maxRecordBytes", "2k"), "a INT", text, nil, i)
		if got := strings.Join(rows, "/"); got != want || err != nil {
			t.Errorf("cut at %d: %s %v", i, got, err)
		}
	}
	if _, err := NewReader(settings("json", "maxRecordBytes", "1"), nil, nil); !errs.Has(err, "INVALID_OPTION") {
		t.Error(err)
	}
}

// Zero bytes are characters like others: answers of Spark 4.2.
func TestZeroBytes(t *testing.T) {
	csv := "a\x00b,1\n\x00,2\n\x00\x00x,3\nc,\x004\nd,5\x00\n\"q\x00r\",6\n\x00\n,7\nz,8,\x00\n"
	for _, c := range []struct {
		format  string
		options []string
		text    string
		want    string
	}{
		{"csv", nil, csv, "a\x00b|1|NULL/\x00|2|NULL/\x00\x00x|3|NULL/c|NULL|c,\x004/d|NULL|d,5\x00/q\x00r|6|NULL/NULL|7|NULL/z|8|z,8,\x00"},
		{"csv", []string{"mode", "DROPMALFORMED"}, csv, "a\x00b|1|NULL/\x00|2|NULL/\x00\x00x|3|NULL/q\x00r|6|NULL/NULL|7|NULL"},
		{"csv", []string{"nullValue", "\x00"}, csv, "a\x00b|1|NULL/NULL|2|NULL/\x00\x00x|3|NULL/c|NULL|c,\x004/d|NULL|d,5\x00/q\x00r|6|NULL/NULL|7|NULL/z|8|z,8,\x00"},
		{"csv", []string{"ignoreLeadingWhiteSpace", "true", "ignoreTrailingWhiteSpace", "true"}, csv,
			"a\x00b|1|NULL/NULL|2|NULL/x|3|NULL/c|4|NULL/d|5|NULL/q\x00r|6|NULL/NULL|7|NULL/z|8|z,8,\x00"},
		{"json", nil, "{\"a\":\"x\x00y\",\"b\":1}\n{\"a\":\"p\",\"b\":2}\x00\n\x00{\"a\":\"q\",\"b\":3}\n\x00\n{\"a\":\"\\u0000\",\"b\":4}\n{\x00\"a\":\"r\"}\n",
			"NULL|NULL|{\"a\":\"x\x00y\",\"b\":1}/p|2|NULL/NULL|NULL|\x00{\"a\":\"q\",\"b\":3}/NULL|NULL|\x00/\x00|4|NULL/NULL|NULL|{\x00\"a\":\"r\"}"},
		{"json", []string{"allowUnquotedControlChars", "true"}, "{\"a\":\"x\x00y\",\"b\":1}\n{\"a\x00\":\"s\",\"b\":6}\n", "x\x00y|1|NULL/NULL|6|NULL"},
	} {
		rows, err := readAll(t, settings(c.format, c.options...), "a STRING, b INT, _corrupt_record STRING", c.text, nil)
		if got := strings.Join(rows, "/"); err != nil || got != c.want {
			t.Errorf("%s %v:\n got %q %v\nwant %q", c.format, c.options, got, err, c.want)
		}
	}
	rows, err := readAll(t, settings("text"), "value STRING", "a\x00b\n\x00\n", nil)
	if got := strings.Join(rows, "/"); err != nil || got != "a\x00b/\x00" {
		t.Errorf("text: %q %v", got, err)
	}
}

// A small file that becomes a huge one ends with a named error, before it is read to its end.
func TestFilesThatGrowWithoutEnd(t *testing.T) {
	var z bytes.Buffer
	w, err := zstd.NewWriter(&z)
	if err != nil {
		t.Fatal(err)
	}
	for range 4000 {
		if _, err := w.Write(filling); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	schema, _ := types.ParseDDL("a INT")
	r, err := NewReader(settings("json"), schema, nil)
	if err != nil {
		t.Fatal(err)
	}
	in := Input{Path: "file:///x.zst", Open: func() (File, error) { return memFile{bytes.NewReader(z.Bytes())}, nil }}
	if err := r.Read(context.Background(), r.NewDecoder(), in, func() error { return nil }); !errs.Has(err, "DECOMPRESSION_LIMIT") {
		t.Errorf("%d bytes: %v", z.Len(), err)
	}
}
