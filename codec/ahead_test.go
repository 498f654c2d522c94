package codec

import (
	"context"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"streamlab/sql/types"
)

// Reading ahead of the line end changes nothing: whatever the lines are, the rows are those that come of
// looking for the end of each line first.
func TestReadingAheadChangesNothing(t *testing.T) {
	pieces := []string{`{"a":1,"b":"x"}`, `{"a":2, "b":"y z", "c":[1,2]}`, `{"b":"only"}`, `{}`, `{"a":"no number","b":"q"}`, `[{"a":1},{"a":2}]`,
		`{"a":1`, `}`, `{"a":1}}`, `{"a":1} x`, `{"a":1}{"a":2}`, `{"b":"a\nb"}`, `{"b":"tab\u0009"}`, `{"s":{"d":1.5},"a":3}`, `{"s":{"d":1.5}`,
		`{"a":1,"a":2}`, `{"c":[1,"x"],"a":4}`, `null`, `12`, `"text"`, ` {"a":5}`, `{"a":6} `, `{ "a" : 7 }`, `{"b":"ü"}`, `{'a':8}`, `{"m":{"k":"v","k":"w"}}`,
		`{"c":[1,2`, `],"a":9}`, `{"b":"half`, `other half"}`, ``, ` `}
	for _, mode := range []string{"PERMISSIVE", "DROPMALFORMED"} {
		t.Run(mode, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				var b strings.Builder
				for range rapid.IntRange(0, 40).Draw(t, "lines") {
					b.WriteString(rapid.SampledFrom(pieces).Draw(t, "line"))
					b.WriteString(rapid.SampledFrom([]string{"\n", "\n", "\n", "\r\n", "\r", "\n\n", ""}).Draw(t, "end"))
				}
				text := b.String()
				want, got := readAhead(t, text, mode, false), readAhead(t, text, mode, true)
				if got != want {
					t.Fatalf("%q\nahead:\n%s\nwant:\n%s", text, got, want)
				}
			})
		})
	}
}

// readAhead is readAll of one part with and without reading ahead.
func readAhead(t *rapid.T, text, mode string, ahead bool) string {
	schema, err := types.ParseDDL("a BIGINT, b STRING, c ARRAY<INT>, s STRUCT<d: DOUBLE>, m MAP<STRING, STRING>, _corrupt_record STRING")
	if err != nil {
		t.Fatal(err)
	}
	r, err := NewReader(settings("json", "mode", mode), schema, nil)
	if err != nil {
		t.Fatal(err)
	}
	d := r.NewDecoder().(*jsonDecoder)
	if !ahead {
		d.misses = maxMisses + 1
	}
	if err := r.Read(context.Background(), d, input(text, 0, 0), func() error { return nil }); err != nil {
		return err.Error()
	}
	var out strings.Builder
	vs := d.Take()
	for i := range vs[0].Len {
		var b []byte
		for c, v := range vs {
			if c > 0 {
				b = append(b, '|')
			}
			b = AppendDisplay(b, v, i, nil)
		}
		out.Write(append(b, '\n'))
	}
	return out.String()
}
