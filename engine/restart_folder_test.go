package engine_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"streamlab/engine"
	"streamlab/errs"
	"streamlab/store"
)

// A source of files that was pointed at another folder fails with the next start: the judgement and the forecast
// say so beforehand, and how to go on. A glob and the same folder go on.
func TestRestartForetellsAnotherFolder(t *testing.T) {
	r := newRestartable(t)
	from := func(folder string) *engine.DataStreamWriter {
		df := r.s.ReadStream().Format("json").Schema("ts TIMESTAMP, k STRING, v INT").Load(filepath.Join(r.dir, folder))
		return df.WriteStream().Trigger(engine.AvailableNow()).Format("noop").Option("checkpointLocation", r.chk)
	}
	if err := r.run(from("in")); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(r.dir, "other"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		folder string
		fails  bool
	}{{"other", true}, {"in", false}, {"i*", false}} {
		r.session()
		w := from(c.folder)
		cp, done, err := store.Look(r.chk, store.Options{})
		if err != nil {
			t.Fatal(err)
		}
		f, err := w.Forecast(context.Background(), cp)
		done()
		if err != nil {
			t.Fatal(err)
		}
		text := strings.Join(f.Lines, " ")
		if c.fails != (f.Refused != nil && errs.Has(f.Refused, "SOURCE_FOLDER_CHANGED")) || c.fails && (f.Later || !strings.Contains(text, "The restart fails") ||
			!strings.Contains(text, "new checkpoint")) || c.fails && strings.Contains(text, "runs when") {
			t.Errorf("%s: forecast %q, refused %v", c.folder, text, f.Refused)
		}
		changes, err := w.Restart()
		if err != nil {
			t.Fatal(err)
		}
		if refused := len(changes) > 0 && changes[0].Verdict == engine.Refused; refused != c.fails {
			t.Errorf("%s: changes %+v", c.folder, changes)
		}
		r.feed(`{"ts": "2026-01-01T00:00:10Z", "k": "b", "v": 2}`)
		if err := r.run(w); c.fails != errs.Has(err, "SOURCE_FOLDER_CHANGED") || !c.fails && err != nil {
			t.Errorf("%s: the start says %v", c.folder, err)
		}
	}
}
