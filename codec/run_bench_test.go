package codec

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"streamlab/sql/types"
)

// BenchmarkJSONScan reads records of seven fields, all of them or five or two.
func BenchmarkJSONScan(b *testing.B) {
	var text strings.Builder
	const rows = 40000
	for i := range rows {
		fmt.Fprintf(&text, `{"event_id":%d,"user_id":%d,"event_type":"%s","price":%d.%02d,"ts":"2023-11-14T22:13:%02d.%03dZ","country":"%s","ok":%t}`+"\n",
			i+1_000_000, i*7919%1_000_000, []string{"view", "click", "purchase", "add_to_cart", "scroll"}[i*31%5], i*37%1000, i%100,
			i/1000%60, i%1000, []string{"DE", "US", "FR"}[i*17%3], i%3 == 0)
	}
	schema, err := types.ParseDDL("event_id BIGINT, user_id BIGINT, event_type STRING, price DOUBLE, ts TIMESTAMP, country STRING, ok BOOLEAN")
	if err != nil {
		b.Fatal(err)
	}
	for name, columns := range map[string][]int{"all": nil, "five": {0, 1, 2, 3, 5}, "two": {1, 3}} {
		b.Run(name, func(b *testing.B) {
			r, err := NewReader(settings("json"), schema, columns)
			if err != nil {
				b.Fatal(err)
			}
			b.SetBytes(int64(text.Len()))
			d := r.NewDecoder()
			for b.Loop() {
				if err := r.Read(context.Background(), d, input(text.String(), 0, 0), func() error { d.Take(); return nil }); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/rows, "ns/row")
		})
	}
}
