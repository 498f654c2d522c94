package codec

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/parquet/file"
)

// Texts that repeat come back whatever their number: with nulls and empty texts, with more of them than a
// dictionary takes, and in lists, whose dictionary is the library's. The bounds of a column are those of all rows.
func TestParquetTexts(t *testing.T) {
	for _, c := range []struct {
		name     string
		text     func(i int) string
		rows     int
		low, top string
		dict     bool
	}{
		{"few", func(i int) string { return fmt.Sprintf("v%02d", i%30) }, 5000, "v00", "v29", true},
		{"empty", func(i int) string { return strings.Repeat("a", i%3) }, 3000, "", "aa", true},
		{"many bytes", func(i int) string { return fmt.Sprintf("%04d", i/10) + strings.Repeat("x", 500) }, 30000,
			"0000" + strings.Repeat("x", 500), "2999" + strings.Repeat("x", 500), false},
	} {
		var lines strings.Builder
		for i := range c.rows {
			if i%7 == 3 {
				fmt.Fprintf(&lines, `{"l":[null,"%s"],"q":{}}`+"\n", c.text(i))
			} else {
				fmt.Fprintf(&lines, `{"s":"%s","l":[],"q":{"t":"%s"}}`+"\n", c.text(i), c.text(i))
			}
		}
		cols, schema, n := decoded(t, "s STRING, l ARRAY<STRING>, q STRUCT<t: STRING>", lines.String())
		text := writeParquet(t, schema, cols, n, "")
		r, err := file.NewParquetReader(bytes.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		m, err := r.MetaData().RowGroup(0).ColumnChunk(0)
		if err != nil {
			t.Fatal(err)
		}
		st, err := m.Statistics()
		if err != nil || st == nil {
			t.Fatal(c.name, st, err)
		}
		if low, top := string(st.EncodeMin()), string(st.EncodeMax()); low != c.low || top != c.top || st.NullCount() == 0 || m.HasDictionaryPage() != c.dict {
			t.Errorf("%s: bounds %.10q (%d) %.10q (%d), %d nulls, dictionary %v", c.name, low, len(low), top, len(top), st.NullCount(), m.HasDictionaryPage())
		}
		back, err := readParquet(schema, fileOf(text))
		if err != nil {
			t.Fatal(c.name, err)
		}
		want := strings.Join(printed(schema, cols, n), "\n")
		if got := strings.Join(back, "\n"); got != want {
			t.Errorf("%s: %d of %d rows come back, or others", c.name, len(back), n)
		}
	}
}
