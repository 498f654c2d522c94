package memory

import (
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"

	"streamlab/columnar"
	"streamlab/errs"
	"streamlab/sources"
	"streamlab/sources/sourcetest"
	"streamlab/sql/types"
)

func rows(s types.Schema, from, n int) arrow.RecordBatch {
	v := columnar.NewVec(s[0].Type, n)
	for i := range v.I32 {
		v.I32[i] = int32(from + i)
	}
	return columnar.RecordOf(s, []*columnar.Vec{v}, columnar.AllRows(n))
}

func TestProtocol(t *testing.T) {
	schema, _ := types.ParseDDL("a INT")
	def := sources.Def{Schema: schema, Options: sources.Options{}}
	sourcetest.Run(t, func(log sources.Log) (sources.Source, error) { return New(def) }, func(n int) {
		if err := Add(def, rows(schema, n*10, 3)); err != nil {
			t.Fatal(err)
		}
	})
	s, _ := New(def)
	if end, got := sourcetest.Batch(t, s, "4", sources.ReadLimit{}); end != "5" || strings.Join(got, " ") != "50 51 52" {
		t.Error(end, got)
	}
	if other, _ := Of(sources.Def{Schema: schema, Options: sources.Options{}}); other.len() != 0 {
		t.Error("another definition has the pushes of this one")
	}
	if _, err := New(sources.Def{Options: sources.Options{}}); !errs.Has(err, "MISSING_OPTION") {
		t.Error(err)
	}
}
