// Package sinktest checks that a sink keeps its promise when a micro-batch comes again, from the same sink or
// from a new one after a restart.
package sinktest

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"

	"streamlab/codec"
	"streamlab/columnar"
	"streamlab/sinks"
	"streamlab/sql/types"
)

// Batch makes an append batch of one partition per text of JSON lines.
func Batch(t testing.TB, id int64, ddl string, parts ...string) sinks.Batch {
	t.Helper()
	schema, err := types.ParseDDL(ddl)
	if err != nil {
		t.Fatal(err)
	}
	r, err := codec.NewReader(codec.Settings{Format: "json"}, schema, nil)
	if err != nil {
		t.Fatal(err)
	}
	b := sinks.Batch{ID: id, QueryID: "q1", RunID: "r1", QueryName: "q", Mode: sinks.Append, Schema: schema}
	for _, text := range parts {
		d := r.NewDecoder()
		for _, line := range strings.Split(text, "\n") {
			if err := d.Record([]byte(line)); err != nil {
				t.Fatal(err)
			}
		}
		n := d.Rows()
		rb := columnar.RecordOf(schema, d.Take(), columnar.AllRows(n))
		b.Parts = append(b.Parts, columnar.Batches{Name: "test", List: []arrow.RecordBatch{rb}})
	}
	return b
}

// Run checks a sink that promises exactly-once. open opens it anew on the same target; read gives the rows of
// the target, sorted. Rows lie under "a INT, b STRING".
func Run(t *testing.T, open func() (sinks.Sink, error), read func() []string) {
	ctx := context.Background()
	const ddl = "a INT, b STRING"
	start := func() sinks.Sink {
		s, err := open()
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	add := func(s sinks.Sink, b sinks.Batch) {
		t.Helper()
		if err := s.AddBatch(ctx, b); err != nil && !errors.Is(err, sinks.ErrSkipped) {
			t.Fatal(err)
		}
	}
	expect := func(want string) {
		t.Helper()
		if got := strings.Join(read(), " "); got != want {
			t.Fatalf("the target has %q, want %q", got, want)
		}
	}
	s := start()
	add(s, Batch(t, 0, ddl, "{\"a\":1,\"b\":\"x\"}", "{\"a\":2}"))
	expect("1|x 2|NULL")
	add(s, Batch(t, 0, ddl, "{\"a\":1,\"b\":\"x\"}", "{\"a\":2}")) // the same id twice
	expect("1|x 2|NULL")
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = start() // a restart: the batch comes again, then goes on
	replay := Batch(t, 0, ddl, "{\"a\":1,\"b\":\"x\"}\n{\"a\":2}")
	replay.Replay = true
	add(s, replay)
	expect("1|x 2|NULL")
	add(s, Batch(t, 1, ddl, ""))
	add(s, Batch(t, 2, ddl, "{\"a\":3,\"b\":\"y\"}"))
	expect("1|x 2|NULL 3|y")

	// A batch that fails half way leaves nothing, and comes again.
	bad := Batch(t, 3, ddl, "{\"a\":4}")
	bad.Parts = append(bad.Parts, failing{})
	if err := s.AddBatch(ctx, bad); err == nil {
		t.Fatal("a partition that fails must fail the batch")
	}
	expect("1|x 2|NULL 3|y")
	add(s, Batch(t, 3, ddl, "{\"a\":4}", "{\"a\":5}"))
	expect("1|x 2|NULL 3|y 4|NULL 5|NULL")
	for id := int64(4); id < 25; id++ { // past the compactions of a log
		add(s, Batch(t, id, ddl, ""))
	}
	expect("1|x 2|NULL 3|y 4|NULL 5|NULL")
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

type failing struct{}

type failure struct{}

func (failure) Error() string { return "no rows today" }

func (failing) String() string                     { return "failing" }
func (failing) Rows(context.Context) columnar.Rows { return columnar.Fail(failure{}) }
