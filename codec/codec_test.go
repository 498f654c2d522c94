package codec

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"streamlab/columnar"
	"streamlab/errs"
	"streamlab/sql/types"
)

type memFile struct{ *bytes.Reader }

func (memFile) Close() error { return nil }

func input(text string, from, to int64) Input {
	return Input{Path: "test", From: from, To: to, Open: func() (File, error) { return memFile{bytes.NewReader([]byte(text))}, nil }}
}

func settings(format string, options ...string) Settings {
	return Settings{Format: format, Now: func() time.Time { return time.Unix(1704067200, 0) }, Option: func(name string) (string, bool) {
		for i := 0; i+1 < len(options); i += 2 {
			if strings.EqualFold(options[i], name) {
				return options[i+1], true
			}
		}
		return "", false
	}}
}

func readAll(t testing.TB, s Settings, ddl, text string, columns []int, parts ...int64) ([]string, error) {
	t.Helper()
	schema, err := types.ParseDDL(ddl)
	if err != nil {
		t.Fatal(err)
	}
	r, err := NewReader(s, schema, columns)
	if err != nil {
		return nil, err
	}
	var rows []string
	bounds := append(append([]int64{0}, parts...), 0)
	for k := 0; k+1 < len(bounds); k++ {
		d := r.NewDecoder()
		flush := func() error {
			vs := d.Take()
			if len(vs) == 0 {
				return nil
			}
			for i := range vs[0].Len {
				var b []byte
				for c, v := range vs {
					if c > 0 {
						b = append(b, '|')
					}
					b = AppendDisplay(b, v, i, nil)
				}
				rows = append(rows, string(b))
			}
			return nil
		}
		if err := r.Read(context.Background(), d, input(text, bounds[k], bounds[k+1]), flush); err != nil {
			return rows, err
		}
		flush()
	}
	return rows, nil
}

// Cases are: format, options, schema, text, rows joined by '/'.
func TestRead(t *testing.T) {
	for i, c := range []struct {
		format  string
		options []string
		ddl     string
		text    string
		want    string
	}{
		{"json", nil, "a INT, b STRING", "{\"a\":1,\"b\":\"x\"}\n\n{\"b\":\"é\\n\\u0041\",\"a\":2}\n{ }\nnull\n[{\"a\":3},{\"a\":4}]\n[]\n[1]\n{\"a\":5} trailing",
			"1|x/2|é\nA/NULL|NULL/NULL|NULL/3|NULL/4|NULL/NULL|NULL/5|NULL"},
		{"json", nil, "a INT, _corrupt_record STRING", "{\"a\":\"1\"}\n{\"a\":1\n{\"a\":2,\"a\":3}\n{\"a\":1.0}", "NULL|{\"a\":\"1\"}/NULL|{\"a\":1/3|NULL/NULL|{\"a\":1.0}"},
		{"json", []string{"mode", "dropmalformed"}, "a INT, b STRING", "{\"a\":\"1\",\"b\":\"x\"}\n{\"b\":\"y\"}\n{\"b\":", "NULL|y"},
		{"json", nil, "a TINYINT, b DOUBLE, c DECIMAL(5,2), d BOOLEAN", "{\"a\":200,\"b\":\"NaN\",\"c\":\"1.005\",\"d\":true}\n{\"a\":300,\"b\":-INF,\"c\":12345,\"d\":\"true\"}\n{\"b\":1e400,\"c\":NaN}",
			"-56|NaN|1.01|true/NULL|-Infinity|NULL|NULL/NULL|Infinity|NULL|NULL"},
		{"json", nil, "s STRING", "{\"s\":{\"a\" : [1, 2.0]}}\n{\"s\":1.50}\n{'s':'it''}\n{\"s\":\"\\ud800x\"}\n{\"s\":true}", "{\"a\" : [1, 2.0]}/1.50/NULL/?x/true"},
		{"json", nil, "t TIMESTAMP, d DATE, n TIMESTAMP_NTZ", "{\"t\":\"2024-01-02T03:04:05.123456Z\",\"d\":\"2024-1-2\",\"n\":\"2024-01-02 03:04\"}\n{\"t\":1704164645,\"d\":19000,\"n\":\"2024-01-02T03:04:05Z\"}\n{\"t\":\"2024-01-02T03:04:05+02:00\",\"d\":\" 2024 \"}\n{\"t\":\"12:00\"}\n{\"t\":\"2024-02-30\"}",
			"2024-01-02 03:04:05.123456|2024-01-02|2024-01-02 03:04:00/2024-01-02 03:04:05|NULL|NULL/2024-01-02 01:04:05|2024-01-01|NULL/2024-01-01 12:00:00|NULL|NULL/NULL|NULL|NULL"},
		{"json", nil, "a ARRAY<INT>, m MAP<STRING, INT>, s STRUCT<x: INT, y: ARRAY<STRING>>", "{\"a\":[1,null,2],\"m\":{\"k\":1,\"l\":2,\"k\":3},\"s\":{\"x\":\"bad\",\"y\":[\"p\",\"q\"]}}\n{\"a\":[1,\"x\"],\"m\":{\"k\":\"v\"},\"s\":{}}\n{\"a\":[],\"m\":{},\"s\":null}\n{\"a\":[1,2\n{\"a\":[7]}",
			"[1, NULL, 2]|{l -> 2, k -> 3}|{NULL, [p, q]}/NULL|NULL|{NULL, NULL}/[]|{}|NULL/NULL|NULL|NULL/[7]|NULL|NULL"},
		{"json", []string{"multiLine", "true"}, "a INT", "[\n{\"a\":\n1},\n{\"a\":2}]\n{\"a\":9}", "1/2"},
		{"json", []string{"allowComments", "true", "allowUnquotedFieldNames", "true"}, "a INT", "/* c */ {a: /* d */ 1 }", "1"},
		{"json", []string{"timestampFormat", "dd/MM/yyyy HH:mm[:ss]"}, "t TIMESTAMP", "{\"t\":\"02/01/2024 03:04\"}\n{\"t\":\"2024-01-02\"}", "2024-01-02 03:04:00/NULL"},
		{"json", []string{"lineSep", "|"}, "a INT", "{\"a\":1}|{\"a\":\n2}", "1/2"},
		{"json", nil, "b BINARY", "\xEF\xBB\xBF{\"b\":\"AQI=\"}\n{\"b\":\"!\"}\n{\"b\":\"\xff\"}", "[01 02]/NULL/NULL"},
		{"text", nil, "value STRING", "a\r\nb\rc\n\nd", "a/b/c//d"},
		{"text", []string{"wholetext", "true"}, "value STRING", "a\nb", "a\nb"},
		{"csv", nil, "a INT, b STRING, c DOUBLE, _corrupt_record STRING", "1,x,1.5\n2,y\n3,z,2.5,extra\nbad,w,3.5\n4,v,worse\n\n5,,\n6\n,,\n7,\"open,1.0\n",
			"1|x|1.5|NULL/2|y|NULL|2,y/3|z|2.5|3,z,2.5,extra/NULL|w|3.5|bad,w,3.5/4|v|NULL|4,v,worse/5|NULL|NULL|NULL/6|NULL|NULL|6/NULL|NULL|NULL|NULL/7|open,1.0|NULL|7,\"open,1.0"},
		{"csv", nil, "a STRING, b STRING", "\"a,1\",b\n\"a\"\"2\",b\n\"a\\\"3\",b\na\"4\",b\n\"a5\"x,b\n'a6',b\n\"line\nbreak\",b\n\" a7 \", b \n\"\",b\n\"a8\\\\\",b\n",
			"a,1|b/\"a\"\"2\"|b/a\"3|b/a\"4\"|b/\"a5\"x|b/'a6'|b/line|NULL/break\"|b/ a7 | b /NULL|b/a8\\|b"},
		{"csv", []string{"multiLine", "true"}, "a STRING, b STRING", "\"line\nbreak\",b\r\n\n x,y", "line\nbreak|b/ x|y"},
		{"csv", []string{"nullValue", "NA", "emptyValue", "EMPTY"}, "id INT, s STRING, n INT", "1,,\n2,\"\",\"\"\n3,NA,NA\n4,\"NA\",0", "1|NULL|NULL/2|EMPTY|NULL/3|NULL|NULL/4|NULL|0"},
		{"csv", []string{"sep", "||", "header", "true"}, "a STRING, b STRING", "x||y\n1||2\n", "1|2"},
		{"csv", nil, "f FLOAT, g DOUBLE, p DECIMAL(5,2)", "1e39,1e309,1234.5\n0x1,1d,1.235\n+1.5,.5,+1\n 1, 1, 1\nInfinity,-Infinity,1e2\nnan,inf,$1",
			"Infinity|Infinity|NULL/NULL|1.0|1.24/1.5|0.5|1.00/1.0|1.0|NULL/Infinity|-Infinity|100.00/NULL|NULL|NULL"},
	} {
		rows, err := readAll(t, settings(c.format, c.options...), c.ddl, c.text, nil)
		if got := strings.Join(rows, "/"); err != nil || got != c.want {
			t.Errorf("case %d %s:\n got %s %v\nwant %s", i, c.ddl, got, err, c.want)
		}
	}
}

func TestFailFast(t *testing.T) {
	_, err := readAll(t, settings("json", "mode", "FAILFAST"), "a INT", "{\"a\":1}\n{\"a\":\"x\"}", nil)
	for _, c := range []string{"FAILED_READ_FILE.NO_HINT", "MALFORMED_RECORD_IN_PARSING.WITHOUT_SUGGESTION", "CANNOT_PARSE_JSON_FIELD"} {
		if !errs.Has(err, c) {
			t.Errorf("%v has no %s", err, c)
		}
	}
}

// Every way to cut a file into parts gives the same rows.
func TestPartsJoin(t *testing.T) {
	text := "{\"a\":1}\r\n{\"a\":22}\r\n\r\n{\"a\":333}\n{\"a\":4}"
	want := "1/22/333/4"
	for i := int64(1); i < int64(len(text)); i++ {
		rows, err := readAll(t, settings("json"), "a INT", text, nil, i)
		if got := strings.Join(rows, "/"); got != want || err != nil {
			t.Errorf("cut at %d: %s %v", i, got, err)
		}
	}
}

func TestBigMapKeepsTheLastOfEqualKeys(t *testing.T) {
	var b strings.Builder
	b.WriteString("{\"m\":{")
	for i := range 300 {
		fmt.Fprintf(&b, "\"k%d\":%d,", i%150, i)
	}
	b.WriteString("\"k0\":7}}")
	rows, err := readAll(t, settings("json"), "m MAP<STRING, INT>", b.String(), nil)
	if err != nil || strings.Count(rows[0], "->") != 150 || !strings.Contains(rows[0], "k0 -> 7}") || !strings.Contains(rows[0], "k149 -> 299") {
		t.Error(rows, err)
	}
}

func TestDeepNestingIsBad(t *testing.T) {
	deep := strings.Repeat("[", 100_000)
	rows, err := readAll(t, settings("json"), "a STRING", "{\"a\":"+deep+"\n{\"a\":1}", nil)
	if got := strings.Join(rows, "/"); err != nil || got != "NULL/1" {
		t.Error(got, err)
	}
	n, err := NewInferrer(settings("json"))
	if err == nil {
		err = n.Record([]byte("{\"a\":" + deep))
	}
	if err != nil {
		t.Error(err)
	}
}

func TestPrunedColumns(t *testing.T) {
	rows, err := readAll(t, settings("json"), "a INT, b STRING, c INT", "{\"a\":1,\"b\":[1,{\"x\":\"]\"}],\"c\":3}\n{\"a\":\"bad\",\"c\":4}", []int{2})
	if got := strings.Join(rows, "/"); got != "3/4" || err != nil {
		t.Fatal(got, err)
	}
}

func TestInfer(t *testing.T) {
	for _, c := range []struct{ format, options, text, want string }{
		{"csv", "header=true,inferSchema=true", "a,b,c,d,e\n1,1.5,2024-01-02,x,\n3000000000,2,2024-01-02 03:04:05,true,\n", "a BIGINT,b DOUBLE,c TIMESTAMP,d STRING,e STRING"},
		{"csv", "", "1,x\n", "_c0 STRING,_c1 STRING"},
		{"json", "", "{\"b\":1,\"a\":\"x\"}\n{\"a\":null,\"b\":1.5,\"c\":{\"d\":[1,2]}}\n", "a STRING,b DOUBLE,c STRUCT<d: ARRAY<BIGINT>>"},
		{"json", "", "{\"b\":1}\n{bad\n", "_corrupt_record STRING,b BIGINT"},
	} {
		var opts []string
		for _, o := range strings.Split(c.options, ",") {
			k, v, _ := strings.Cut(o, "=")
			opts = append(opts, k, v)
		}
		n, err := NewInferrer(settings(c.format, opts...))
		if err != nil {
			t.Fatal(err)
		}
		if err := n.Reader().Read(context.Background(), n, input(c.text, 0, 0), func() error { return nil }); err != nil {
			t.Fatal(err)
		}
		if got := n.Schema().DDL(); got != c.want {
			t.Errorf("%s: %s, want %s", c.text, got, c.want)
		}
	}
}

func TestWriteReadsBack(t *testing.T) {
	ddl := "a INT, s STRING, t TIMESTAMP, f DOUBLE, d DECIMAL(10,2)"
	text := "{\"a\":1,\"s\":\"q\\\"\\n,é\",\"t\":\"2024-01-02T03:04:05.123Z\",\"f\":1.0E7,\"d\":1.50}\n{\"s\":\"\",\"f\":\"NaN\"}\n"
	schema, _ := types.ParseDDL(ddl)
	r, _ := NewReader(settings("json"), schema, nil)
	d := r.NewDecoder()
	if err := r.Read(context.Background(), d, input(text, 0, 0), func() error { return nil }); err != nil {
		t.Fatal(err)
	}
	var cols []columnar.Vec
	for _, v := range d.Take() {
		cols = append(cols, *v)
	}
	w, err := NewWriter(settings("json"), schema)
	if err != nil {
		t.Fatal(err)
	}
	if got := string(w.Append(nil, cols, 0, 2)); got != text {
		t.Errorf("JSON: %s", got)
	}
	w, err = NewWriter(settings("csv", "header", "true"), schema)
	if err != nil {
		t.Fatal(err)
	}
	want := "a,s,t,f,d\n1,\"q\\\"\n,é\",2024-01-02T03:04:05.123Z,1.0E7,1.50\n,\"\",,NaN,\n"
	if got := string(w.Append(w.Header(nil), cols, 0, 2)); got != want {
		t.Errorf("CSV: %s", got)
	}
}

func TestPattern(t *testing.T) {
	p, err := ParsePattern("EEE, d MMM yyyy hh:mm:ss.SSS a XXX")
	if err != nil {
		t.Fatal(err)
	}
	us := int64(1704164645123456)
	got := string(p.Append(nil, us+3600*second, 3600, "X"))
	if got != "Tue, 2 Jan 2024 04:04:05.123 AM +01:00" {
		t.Error(got)
	}
	if back, ok := p.Timestamp([]byte(got), NewClock(nil, nil)); !ok || back != us/1000*1000 {
		t.Error(back, ok)
	}
	for _, bad := range []string{"yyyy'", "[yyyy", "bb", "MMMMMM"} {
		if _, err := ParsePattern(bad); err == nil {
			t.Error(bad)
		}
	}
}

func FuzzJSON(f *testing.F) {
	f.Add("{\"a\":1,\"b\":\"x\",\"c\":[1],\"d\":{\"x\":1.5},\"m\":{\"k\":[\"a\"]}}")
	f.Add("[{\"a\":1},{\"c\":[1,[")
	schema, _ := types.ParseDDL("a INT, b STRING, c ARRAY<INT>, d STRUCT<x: DOUBLE>, m MAP<STRING, ARRAY<STRING>>, _corrupt_record STRING")
	f.Fuzz(func(t *testing.T, text string) {
		r, _ := NewReader(settings("json"), schema, nil)
		d := r.NewDecoder()
		for range 2 {
			if err := d.Record([]byte(text)); err != nil {
				t.Fatal(err)
			}
			d.Record([]byte("{\"a\":1,\"b\":\"x\",\"c\":[1,2],\"d\":{\"x\":2},\"m\":{\"k\":[\"a\"]}}"))
		}
		n := d.Rows()
		vs := d.Take()
		want := "1|x|[1, 2]|{2.0}|{k -> [a]}|NULL"
		var b []byte
		for c, v := range vs {
			if c > 0 {
				b = append(b, '|')
			}
			b = AppendDisplay(b, v, n-1, nil)
		}
		if string(b) != want {
			t.Fatalf("a good record behind %q reads as %s", text, b)
		}
	})
}

func benchText(rows int) string {
	var b strings.Builder
	for i := range rows {
		fmt.Fprintf(&b, "{\"id\":%d,\"user\":\"user-%04d\",\"ts\":\"2024-01-02T03:04:%02d.%03dZ\",\"amount\":%d.%02d,\"country\":\"DE\",\"ok\":true,\"note\":\"some text here %d\"}\n",
			i, i%5000, i%60, i%1000, i%1000, i%100, i)
	}
	return b.String()
}

func BenchmarkJSON(b *testing.B) {
	text := []byte(benchText(100000))
	schema, _ := types.ParseDDL("id BIGINT, user STRING, ts TIMESTAMP, amount DOUBLE, country STRING, ok BOOLEAN, note STRING")
	r, _ := NewReader(settings("json"), schema, nil)
	in := Input{Path: "b", Open: func() (File, error) { return memFile{bytes.NewReader(text)}, nil }}
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		d := r.NewDecoder()
		if err := r.Read(context.Background(), d, in, func() error { d.Take(); return nil }); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.N)*100000/b.Elapsed().Seconds()/1e6, "Mrows/s")
}

func BenchmarkCSV(b *testing.B) {
	var t strings.Builder
	for i := range 100_000 {
		fmt.Fprintf(&t, "%d,user-%04d,2024-01-02T03:04:%02d.%03dZ,%d.%02d,DE,true,some text here %d\n", i, i%5000, i%60, i%1000, i%1000, i%100, i)
	}
	text := []byte(t.String())
	schema, _ := types.ParseDDL("id BIGINT, user STRING, ts TIMESTAMP, amount DOUBLE, country STRING, ok BOOLEAN, note STRING")
	r, _ := NewReader(settings("csv"), schema, nil)
	in := Input{Path: "b", Open: func() (File, error) { return memFile{bytes.NewReader(text)}, nil }}
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		d := r.NewDecoder()
		if err := r.Read(context.Background(), d, in, func() error { d.Take(); return nil }); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.N)*100000/b.Elapsed().Seconds()/1e6, "Mrows/s")
}
