//go:build cgo

package memory_test

import (
	"context"
	"strings"
	"testing"

	"streamlab/errs"
	"streamlab/sinks"
	"streamlab/sinks/memory"
	"streamlab/sinks/sinktest"
	"streamlab/sql/types"
)

func TestExactlyOnce(t *testing.T) {
	dir := t.TempDir()
	schema, err := types.ParseDDL("a INT, b STRING")
	if err != nil {
		t.Fatal(err)
	}
	open := func() (sinks.Sink, error) {
		return memory.New(sinks.Def{Dir: dir, QueryName: "q", QueryID: "q1", Mode: sinks.Append, Schema: schema})
	}
	read := func() []string {
		a, err := memory.Door(dir).Query(context.Background(), "SELECT a, b FROM q ORDER BY a", 0)
		if err != nil {
			t.Fatal(err)
		}
		out := make([]string, len(a.Rows))
		for i, r := range a.Rows {
			out[i] = r[0].Text + "|" + r[1].Text
		}
		return out
	}
	sinktest.Run(t, open, read)
	for _, text := range []string{"DROP TABLE q", "DELETE FROM q", "ATTACH 'x' AS y", "PRAGMA user_version = 3"} {
		if _, err := memory.Door(dir).Query(context.Background(), text, 0); err == nil {
			t.Errorf("%s was let through", text)
		}
	}
	if got := strings.Join(read(), " "); got != "1|x 2|NULL 3|y 4|NULL 5|NULL" {
		t.Error(got)
	}
}

func TestNames(t *testing.T) {
	if _, err := memory.New(sinks.Def{QueryName: "a b"}); !errs.Has(err, "_LEGACY_ERROR_TEMP_1321") {
		t.Error(err)
	}
	if _, err := memory.New(sinks.Def{}); !errs.Has(err, "_LEGACY_ERROR_TEMP_1194") {
		t.Error(err)
	}
}
