package console

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"

	"streamlab/codec"
	"streamlab/columnar"
	"streamlab/errs"
	"streamlab/sinks"
	"streamlab/sources"
	"streamlab/sql/types"
)

// batch makes a batch of rows given as JSON.
func batch(t *testing.T, id int64, ddl string, rows []json.RawMessage) sinks.Batch {
	t.Helper()
	schema, err := types.ParseDDL(ddl)
	if err != nil {
		t.Fatal(err)
	}
	r, err := codec.NewReader(codec.Settings{Format: "json"}, schema, nil)
	if err != nil {
		t.Fatal(err)
	}
	d := r.NewDecoder()
	for _, row := range rows {
		if err := d.Record(row); err != nil {
			t.Fatal(err)
		}
	}
	n := d.Rows()
	rb := columnar.RecordOf(schema, d.Take(), columnar.AllRows(n))
	return sinks.Batch{ID: id, Schema: schema, Parts: []columnar.Partition{columnar.Batches{List: []arrow.RecordBatch{rb}}}}
}

// The texts are what Spark printed.
func TestPrintsAsSpark(t *testing.T) {
	files, err := filepath.Glob("testdata/*.steps.json")
	if err != nil || len(files) < 8 {
		t.Fatal(files, err)
	}
	for _, f := range files {
		data, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		want, err := os.ReadFile(strings.TrimSuffix(f, ".steps.json") + ".txt")
		if err != nil {
			t.Fatal(err)
		}
		var steps []struct {
			DDL     string
			Options map[string]any
			Rows    []json.RawMessage
		}
		if err := json.Unmarshal(data, &steps); err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		for i, st := range steps {
			o := sources.Options{}
			for k, v := range st.Options {
				b, _ := json.Marshal(v)
				o[k] = strings.Trim(string(b), `"`)
			}
			s, err := New(sinks.Def{Options: o, Out: &out})
			if err != nil {
				t.Fatal(err)
			}
			if err := s.AddBatch(context.Background(), batch(t, int64(i), st.DDL, st.Rows)); err != nil {
				t.Fatal(err)
			}
		}
		if out.String() != string(want) {
			t.Errorf("%s:\n%s\nwant\n%s", f, out.String(), want)
		}
	}
}

func TestReplayIsMarked(t *testing.T) {
	var out bytes.Buffer
	s, _ := New(sinks.Def{Out: &out})
	b := batch(t, 3, "id INT", nil)
	b.Replay = true
	if err := s.AddBatch(context.Background(), b); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out.String(), "\nBatch: 3 (replay)\n") {
		t.Error(out.String())
	}
}

func TestBadOptions(t *testing.T) {
	if _, err := New(sinks.Def{Options: sources.Options{"truncate": "50"}}); !errs.Has(err, "_LEGACY_ERROR_TEMP_3206") {
		t.Error(err)
	}
	if _, err := New(sinks.Def{Options: sources.Options{"numRows": "many"}}); !errs.Has(err, "INVALID_OPTION") {
		t.Error(err)
	}
}
