package codec

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"streamlab/columnar"
	"streamlab/sql/types"
)

// likeRecords draws lines that are mostly written alike: fields in one order with the same text around the values,
// values of which few are in an uncommon form, and now and then a line that was damaged or lacks a field.
func likeRecords(t *rapid.T) string {
	values := map[string][]string{
		"a": {"0", "7", "-12", "123456", "1234567", "12345678", "1234567890123456", "12345678901234567890", "007", "1.5", "null", `"3"`},
		"i": {"1", "2147483647", "2147483648", "-2147483648", "99999999", "-0", "null", "true"},
		"d": {"0.5", "123.25", "1234.567", "12345.6789", "100", "-1.25", "1e3", "1.", ".5", "00.5", "0.1234567890123456", "1234567890.12345", `"NaN"`, "null"},
		"s": {`""`, `"DE"`, `"purchase"`, `"a text of more than sixteen bytes"`, `"sixteen bytes ok"`, `"é"`, `"a\"b"`, `"\u0041"`, "null", "12", `{"x":1}`},
		"b": {"true", "false", "null", `"true"`, "truex"},
		"t": {`"2023-11-14T22:13:20.000Z"`, `"2023-11-14T22:13:20Z"`, `"2023-11-30 23:59:59.123456"`, `"2023-11-30T01:02:03.5"`, `"2023-11-30T24:00:00Z"`,
			`"2023-11-31T01:00:00Z"`, `"2023-11-30T01:02:03.1234567Z"`, `"2023-11-30"`, `"2023-11-30T01:02:03+01:00"`, `"2023-11-14T22:13:61Z"`, "1700000000", "null"},
		"n": {`"2023-11-14T22:13:20.000"`, `"2023-11-14 22:13"`, "null"},
		"y": {`"2023-11-14"`, `"2023-2-3"`, "null"},
		"c": {"1.25", "1000000", "12", "null"},
		"x": {"1", "12345678901", "1.5", "-3", "1e5", `"skipped"`, `"skipped text of more than thirty-two bytes"`, "true", "false", "null", "[1,{}]", `{"q":"w"}`},
		"l": {"[1,2]", "[]", "[null]", `["x"]`, "null"},
		"o": {`{"p":1.5}`, `{"p":1.5,"q":2}`, "{}", "null"},
	}
	values["name of 18 bytes.."], values["a name of more than thirty-two bytes, unread"] = values["x"], values["x"]
	names := rapid.Permutation([]string{"a", "i", "d", "s", "b", "t", "n", "y", "c", "x", "l", "o", "name of 18 bytes..",
		"a name of more than thirty-two bytes, unread"}).Draw(t, "order")
	names = names[:rapid.IntRange(1, len(names)).Draw(t, "fields")]
	if rapid.IntRange(0, 9).Draw(t, "twice") == 0 {
		names = append(names, names[0])
	}
	before, between := rapid.SampledFrom([]string{"", "", " "}).Draw(t, "before"), rapid.SampledFrom([]string{":", ":", " : "}).Draw(t, "between")
	end := rapid.SampledFrom([]string{"\n", "\n", "\r\n", "\r"}).Draw(t, "end")
	odd := rapid.SampledFrom([]int{0, 1, 10, 50}).Draw(t, "odd")  // of 100 values
	hurt := rapid.SampledFrom([]int{0, 0, 3, 30}).Draw(t, "hurt") // of 100 lines
	seed := rapid.Uint64().Draw(t, "seed")
	chance := func(n int) int { // the values of many lines, from one draw
		seed = seed*6364136223846793005 + 1442695040888963407
		return int(seed>>33) % n
	}
	var b strings.Builder
	for range rapid.SampledFrom([]int{3, 40, 300}).Draw(t, "lines") {
		line := "{"
		left := -1
		broken := chance(100) < hurt
		if broken && chance(2) == 0 {
			left = chance(len(names))
		}
		for k, name := range names {
			if k == left {
				continue
			}
			if len(line) > 1 {
				line += before + "," + before
			}
			v := values[name]
			k := chance(2)
			if chance(100) < odd {
				k = chance(len(v))
			}
			line += `"` + name + `"` + between + v[k]
		}
		line += "}"
		if broken && left < 0 {
			at := chance(len(line))
			switch chance(4) {
			case 0:
				line = line[:at] + line[at+1:]
			case 1:
				line = line[:at] + "\",}{:\\ \r0\x00x"[chance(10):][:1] + line[at:]
			case 2:
				line = line[:at]
			default:
				line += []string{" ", "x", ",", "{}", "\n", "\n[]", "\n[{},{}]"}[chance(7)]
			}
		}
		b.WriteString(line + end)
	}
	return b.String()
}

// Reading records field by field changes nothing: rows, malformed records and what lies under nulls are those that come
// of reading each line alone.
func TestReadingTogetherChangesNothing(t *testing.T) {
	schema, err := types.ParseDDL("a BIGINT, i INT, d DOUBLE, s STRING, b BOOLEAN, t TIMESTAMP, n TIMESTAMP_NTZ, y DATE, c DECIMAL(5,2), l ARRAY<INT>, " +
		"o STRUCT<p: DOUBLE>, absent STRING, _corrupt_record STRING")
	if err != nil {
		t.Fatal(err)
	}
	for _, mode := range []string{"PERMISSIVE", "DROPMALFORMED", "FAILFAST"} {
		t.Run(mode, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				text := likeRecords(t)
				lent := rapid.Bool().Draw(t, "lent")
				many := rapid.SampledFrom([]int{20, 100, 16384}).Draw(t, "rows")
				var columns []int
				for c := range schema {
					if rapid.IntRange(0, 3).Draw(t, "reads") > 0 {
						columns = append(columns, c)
					}
				}
				read := func(ahead bool) string {
					r, err := NewReader(settings("json", "mode", mode), schema, columns)
					if err != nil {
						t.Fatal(err)
					}
					d := r.NewDecoder().(*jsonDecoder)
					if !ahead {
						d.misses = maxMisses + 1
					}
					var out strings.Builder
					in := input(text, 0, 0)
					in.Rows = many
					err = r.Read(context.Background(), d, in, func() error {
						rows := d.Rows()
						show := func(vs []*columnar.Vec) {
							for i := range rows {
								var b []byte
								for _, v := range vs {
									b = append(AppendDisplay(b, v, i, nil), '|')
									if v.IsNull(i) {
										b = fmt.Append(b, under(v, i))
									}
								}
								out.Write(append(b, '\n'))
							}
						}
						if lent {
							show(d.Lend())
							d.Reuse()
						} else {
							show(d.Take())
						}
						return nil
					})
					all, dropped := d.Malformed()
					return fmt.Sprintf("%s%v %d %d", &out, err, all, dropped)
				}
				if want, got := read(false), read(true); got != want {
					t.Fatalf("%q\ntogether:\n%s\nwant:\n%s", text, got, want)
				}
			})
		})
	}
}

// under is what lies under a null of a fixed width; 0 as a rule.
func under(v *columnar.Vec, i int) any {
	switch v.Phys {
	case columnar.PI32:
		return v.I32[i]
	case columnar.PI64:
		return v.I64[i]
	case columnar.PF64:
		return v.F64[i]
	case columnar.PDec:
		return v.Dec[i]
	case columnar.PBool:
		return v.Bits[i>>6] >> (i & 63) & 1
	}
	return 0
}

// Groups are what records that are written alike are read by, whatever their first lines were.
func TestAlikeRecordsAreReadTogether(t *testing.T) {
	r := abReader(t, "json")
	var b strings.Builder
	b.WriteString("{\"b\":\"x\"}\n[]\n{\"a\":1,\"b\":\"x\",\"more\":1}\n")
	for i := range 1000 {
		fmt.Fprintf(&b, `{"a":%d,"b":"text %d","other":%d}`+"\n", i, i*i, i)
	}
	d := r.NewDecoder().(*jsonDecoder)
	if err := r.Read(context.Background(), d, input(b.String(), 0, 0), func() error { return nil }); err != nil {
		t.Fatal(err)
	}
	if d.row != 1002 || d.together.size != mostGroup {
		t.Fatalf("%d rows, groups of %d", d.row, d.together.size)
	}
}

// A decoder that was kept reads the next part as a new one does, into the same memory.
func TestKeptDecoderIsAsNew(t *testing.T) {
	for _, format := range []string{"json", "csv", "text"} {
		ddl := "a BIGINT, b STRING"
		lines := map[string]string{"json": "{\"a\":1,\"b\":\"x\"}\n{\"a\":\n", "csv": "1,x\nbad,y\n", "text": "one\ntwo\n"}[format]
		if format == "text" {
			ddl = "value STRING"
		}
		schema, err := types.ParseDDL(ddl)
		if err != nil {
			t.Fatal(err)
		}
		r, err := NewReader(settings(format), schema, nil)
		if err != nil {
			t.Fatal(err)
		}
		read := func(d Decoder) string {
			out := ""
			if err := r.Read(context.Background(), d, input(lines, 0, 0), func() error { return nil }); err != nil {
				t.Fatal(err)
			}
			for _, v := range d.Lend() {
				for i := range v.Len {
					out += string(AppendDisplay(nil, v, i, nil)) + "|"
				}
			}
			d.Reuse()
			all, dropped := d.Malformed()
			return fmt.Sprint(out, all, dropped)
		}
		first := r.NewDecoder()
		want := read(first)
		r.Keep(first)
		if got := read(r.NewDecoder()); got != want { // the race detector has pools drop things
			t.Errorf("%s: %q, then %q of a kept one", format, want, got)
		}
	}
}
