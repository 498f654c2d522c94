package codec

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/parquet/file"
)

// Columns whose values repeat have a dictionary, others have none; short columns have one whatever they hold.
func TestParquetDictionaries(t *testing.T) {
	for _, c := range []struct {
		rows int
		want string
	}{{5000, "i=false l=true d=false s=false r=true n=true"}, {100, "i=true l=true d=true s=true r=true n=true"}} {
		var lines strings.Builder
		for i := range c.rows {
			fmt.Fprintf(&lines, `{"i":%d,"l":%d,"d":%d.5,"s":"s%d","r":"x","n":null}`+"\n", i, i%10, i, i)
		}
		cols, schema, n := decoded(t, "i INT, l BIGINT, d DOUBLE, s STRING, r STRING, n INT", lines.String())
		text := writeParquet(t, schema, cols, n, "")
		r, err := file.NewParquetReader(bytes.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for k, f := range schema {
			m, err := r.MetaData().RowGroup(0).ColumnChunk(k)
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, fmt.Sprintf("%s=%v", f.Name, m.HasDictionaryPage()))
		}
		if s := strings.Join(got, " "); s != c.want {
			t.Errorf("%d rows: %s, want %s", c.rows, s, c.want)
		}
		back, err := readParquet(schema, fileOf(text))
		if err != nil || len(back) != n {
			t.Errorf("%d rows come back, %v", len(back), err)
		}
	}
}
