package lab_test

import (
	"context"
	"path/filepath"
	"testing"

	"streamlab/engine"
	"streamlab/lab"
	"streamlab/labs"
)

// No text makes reading or checking a lab panic or hang, and every problem has a condition and a place.
func FuzzLab(f *testing.F) {
	for _, n := range labs.Names() {
		text, err := labs.Read(n)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(text))
	}
	f.Add(wordLab + "  - {title: t, do: [{start: counts}], see: {sql: SELECT 1, rows: [[1]]}}\n")
	f.Add("sources: {a: {format: rate}}\nqueries: [{queryName: q, from: a, foreachBatch: [SELECT :batch_id]}]\n")
	f.Add("queries:\n- {queryName: q, sql: 'SELECT 1', trigger: {continuous: x}}\nviews: {v: {sql: SELECT, withWatermark: {eventTime: t}}}")
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, text string) {
		l, err := lab.Parse("l.yaml", filepath.Join(dir, "l.yaml"), []byte(text))
		for _, p := range lab.Problems(err) {
			if p.Condition == "INTERNAL_ERROR" {
				t.Fatalf("%v", p)
			}
		}
		if err != nil {
			return
		}
		for _, p := range lab.Check(context.Background(), l, engine.Config{}) {
			if p.Condition == "INTERNAL_ERROR" {
				t.Fatalf("%v", p)
			}
		}
	})
}
