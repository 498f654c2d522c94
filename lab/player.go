package lab

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"sort"
	"strconv"
	"strings"
	"time"

	"github.com/apache/arrow-go/v18/arrow"

	"streamlab/codec"
	"streamlab/columnar"
	"streamlab/engine"
	"streamlab/errs"
	"streamlab/internal/vfs"
	"streamlab/sinks/memory"
	"streamlab/sql/types"
	"streamlab/store"
)

// A Player plays the steps of a lab on its workbench. Steps are played one after the other by one goroutine.
type Player struct {
	w *Workbench
	// Crash starts the query in a child process and has it killed at the crash point; it returns when the
	// child is dead, with an error if it ended in another way. nil: crash is refused.
	Crash func(ctx context.Context, query, point string) error
	clock *Clock
}

// NewPlayer makes a player of an opened lab.
func NewPlayer(w *Workbench) *Player { return &Player{w: w, clock: w.clock} }

// Play carries out step i (from 0) and looks at what it should show. found says what was seen, a line an
// expectation; also of those that failed. Errors: LAB_NOT_SEEN, and what an action met.
func (p *Player) Play(ctx context.Context, i int) (found []string, err error) {
	s := p.w.Lab.Steps[i]
	refused := map[string]bool{} // queries whose failure the step wants to see
	for _, x := range s.See {
		if x.Kind == "error" {
			refused[x.Query] = true
		}
	}
	for _, a := range s.Do {
		if err := p.do(ctx, a); err != nil && !(refused[a.Query] && a.Query != "") {
			return nil, p.w.Lab.locate(err, a.Pos)
		}
	}
	for _, x := range s.See {
		seen, ok, err := p.look(ctx, x)
		if err != nil {
			return found, p.w.Lab.locate(err, x.Pos)
		}
		found = append(found, lookedAt(x)+seen)
		if !ok {
			return found, p.w.Lab.locate(errs.New("LAB_NOT_SEEN", "step", s.Title, "want", wanted(x), "got", seen), x.Pos)
		}
	}
	return found, nil
}

// do carries out one action.
func (p *Player) do(ctx context.Context, a Action) error {
	w := p.w
	switch a.Kind {
	case "start":
		_, err := w.Start(ctx, a.Query, StartOptions{})
		return err
	case "stop", "restart":
		if q := w.Query(a.Query); q != nil {
			if err := q.StopAfterBatch(); err != nil {
				return err
			}
		}
		if a.Kind == "stop" {
			return nil
		}
		_, err := w.Start(ctx, a.Query, StartOptions{})
		return err
	case "await":
		q := w.Query(a.Query)
		if q == nil {
			return errs.New("LAB_NOT_STARTED", "name", a.Query)
		}
		return q.ProcessAllAvailable(ctx)
	case "step":
		if q := w.Query(a.Query); q != nil {
			if err := q.StopAfterBatch(); err != nil {
				return err
			}
		}
		o := StartOptions{MaxBatches: 1}
		now := engine.AvailableNow()
		if w.Lab.Reads(a.Query, "rate") != "" {
			now = engine.ProcessingTime(0) // its rows come with time: the micro-batch waits for the next ones
			if q, err := w.Find(a.Query); err == nil && w.Lab.checkpointOf(w.s, q) == "" {
				o.MaxBatches = 2 // the first one of such a source finds none, and this run has no one before it
			}
		}
		o.Trigger = &now
		q, err := w.Start(ctx, a.Query, o)
		if err != nil {
			return err
		}
		return q.AwaitTermination(ctx)
	case "feed":
		if ok, err := w.feedTopic(ctx, a.Source, a.Rows); ok {
			return err
		}
		return w.s.Feed(a.Source, a.Rows)
	case "sql":
		df, err := w.s.SQL(ctx, a.SQL.Value)
		if err != nil {
			return w.Lab.locateText(err, a.SQL)
		}
		_, _, err = df.Collect(ctx)
		return err
	case "crash":
		if p.Crash == nil {
			return errs.New("UNSUPPORTED_FEATURE", "feature", "A crash in this place")
		}
		if q := w.Query(a.Query); q != nil {
			if err := q.StopAfterBatch(); err != nil {
				return err
			}
		}
		return p.Crash(ctx, a.Query, a.At)
	case "advanceClock":
		d, err := engine.ParseInterval(a.By)
		if err != nil {
			return err
		}
		if p.clock == nil {
			return errs.New("UNSUPPORTED_FEATURE", "feature", "advanceClock of a session with a clock of its own")
		}
		p.clock.Advance(d)
	case "deleteCheckpoint":
		if q := w.Query(a.Query); q != nil && q.IsActive() {
			return errs.New("LAB_STILL_RUNNING", "name", a.Query)
		}
		dir, err := w.Checkpoint(a.Query)
		if err != nil || dir == "" {
			return err
		}
		return os.RemoveAll(dir)
	case "copyCheckpoint":
		return p.copyCheckpoint(a.From, a.Query)
	case "remove":
		path, err := w.Lab.inside(a.Path)
		if err != nil {
			return err
		}
		return vfs.OS.Remove(path)
	case "write":
		path, err := w.Lab.inside(a.Path)
		if err != nil {
			return err
		}
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		// A file source takes a file as it finds it, so it must appear whole; it does not look at hidden ones.
		hidden := filepath.Join(filepath.Dir(path), "."+filepath.Base(path))
		if err := os.WriteFile(hidden, []byte(a.Text), 0o644); err != nil {
			return err
		}
		return vfs.OS.Rename(hidden, path)
	}
	return nil
}

// copyCheckpoint gives one query the checkpoint of another, as far as it is committed. Both must have stopped, and the
// one that gets it has none yet.
func (p *Player) copyCheckpoint(from, to string) error {
	var dirs [2]string
	for i, name := range []string{from, to} {
		if q := p.w.Query(name); q != nil && q.IsActive() {
			return errs.New("LAB_STILL_RUNNING", "name", name)
		}
		dir, err := p.w.Checkpoint(name)
		if err != nil {
			return err
		}
		if dir == "" {
			return errs.New("LAB_VALUE", "key", "copyCheckpoint", "expected", "queries that keep their checkpoints, and "+name+" has a temporary one")
		}
		dirs[i] = dir
	}
	if _, err := os.Stat(dirs[1]); err == nil {
		return errs.New("CHECKPOINT_LOCATION_EXISTS", "path", dirs[1])
	}
	cp, err := store.Open(dirs[0], store.Options{})
	if err != nil {
		return err
	}
	defer cp.Close()
	_, head := cp.Retained()
	return cp.CopyTo(dirs[1], head)
}

// inside is a path below the lab's folder; what would leave it is refused.
func (l *Lab) inside(path string) (string, error) {
	if !filepath.IsLocal(path) {
		return "", errs.New("LAB_VALUE", "key", "path", "expected", "a path below the lab's folder")
	}
	return filepath.Join(l.Dir, path), nil
}

// longQuestion is the longest question that is worth repeating before its answer.
const longQuestion = 120

// lookedAt says what an expectation looks at, before what is seen there.
func lookedAt(x Expectation) string {
	switch x.Kind {
	case "sql":
		if q := strings.Join(strings.Fields(x.SQL.Value), " "); len(q) <= longQuestion {
			return q + "  →  "
		}
		return ""
	case "batch":
		return "newest micro-batch of " + x.Query + "  →  "
	case "state":
		return "state of " + x.Query + "  →  "
	case "files":
		return x.Path + "  →  "
	}
	return x.Query + "  →  "
}

// cause is an error for the eye: of a query that ended with one, what ended it.
func cause(err error) string {
	e := errs.As(err)
	for e != nil && e.Condition == "STREAM_FAILED" {
		inner := errs.As(errors.Unwrap(e))
		if inner == nil {
			break
		}
		e = inner
	}
	if e == nil {
		return err.Error()
	}
	return e.Condition + ": " + e.Message()
}

// wanted says an expectation in words.
func wanted(x Expectation) string {
	switch x.Kind {
	case "batch":
		if x.Rows == nil {
			return "rows"
		}
		return rowsText(textsOf(x.Rows))
	case "sql", "state":
		return rowsText(textsOf(x.Rows))
	case "error":
		return "an error of " + x.Query + " that says " + strconv.Quote(x.Matches)
	case "progress":
		return x.Field + " = " + x.Is
	}
	return filesText(x.Count)
}

func filesText(n int) string {
	if n == 1 {
		return "1 file"
	}
	return fmt.Sprintf("%d files", n)
}

// look compares what is there with an expectation; seen is what is there, in words.
func (p *Player) look(ctx context.Context, x Expectation) (seen string, ok bool, err error) {
	compare := func(rows [][]string, ordered bool) (string, bool, error) {
		want := textsOf(x.Rows)
		if !ordered {
			sortRows(want)
			sortRows(rows)
		}
		return rowsText(rows), rowsText(rows) == rowsText(want), nil
	}
	q := p.w.Query(x.Query)
	switch x.Kind {
	case "sql":
		rows, err := p.ask(ctx, x.SQL)
		if err != nil {
			return "", false, err
		}
		return compare(rows, x.Ordered || orderBy.MatchString(x.SQL.Value))
	case "error":
		err := p.w.Refused(x.Query)
		if err == nil && q != nil {
			err = q.Exception()
		}
		if err == nil {
			return "no error", false, nil
		}
		found, e := regexp.MatchString("(?i)"+x.Matches, err.Error())
		if e != nil {
			return "", false, errs.New("LAB_VALUE", "key", "matches", "expected", "a regular expression: "+e.Error())
		}
		return cause(err), found, nil
	case "files":
		path, err := p.w.Lab.inside(x.Path)
		if err != nil {
			return "", false, err
		}
		list, err := filepath.Glob(path)
		if err != nil {
			return "", false, errs.New("LAB_VALUE", "key", "path", "expected", "a pattern of file names")
		}
		n := 0
		for _, f := range list {
			if b := filepath.Base(f); b[0] != '.' && b[0] != '_' {
				n++
			}
		}
		return filesText(n), n == x.Count, nil
	}
	if q == nil {
		return "", false, errs.New("LAB_NOT_STARTED", "name", x.Query)
	}
	switch x.Kind {
	case "batch":
		rows, _, kept := q.BatchRows(q.Snapshot().Batch)
		if !kept {
			return "no micro-batch", len(x.Rows) == 0, nil
		}
		cells := Cells(rows, q.OutputSchema())
		if x.Rows == nil {
			return rowsText(cells), len(cells) > 0, nil
		}
		return compare(cells, x.Ordered)
	case "progress":
		last := q.LastProgress()
		if last == nil {
			return "no progress", false, nil
		}
		raw, err := last.MarshalJSON()
		if err != nil {
			return "", false, err
		}
		got := fieldOf(raw, x.Field)
		return x.Field + " = " + got, got == x.Is, nil
	}
	rows, err := p.state(ctx, x.Query, q)
	if err != nil {
		return "", false, err
	}
	return compare(rows, false)
}

var orderBy = regexp.MustCompile(`(?i)\border\s+by\b`)

// ask puts a question to the door that knows the tables: SQLite if the text names a memory sink of the lab,
// else Spark SQL over the session's catalog.
func (p *Player) ask(ctx context.Context, text Text) ([][]string, error) {
	for _, q := range p.w.Lab.Queries {
		if !strings.EqualFold(q.Format.Value, "memory") {
			continue
		}
		if regexp.MustCompile(`(?i)\b` + regexp.QuoteMeta(q.Name.Value) + `\b`).MatchString(text.Value) {
			a, err := memory.Door(p.w.s.Workspace()).Query(ctx, text.Value, 0)
			if err != nil {
				return nil, err
			}
			var rows [][]string
			for _, r := range a.Rows {
				var row []string
				for _, c := range r {
					if c.Null {
						row = append(row, "NULL")
						continue
					}
					row = append(row, c.Text)
				}
				rows = append(rows, row)
			}
			return rows, nil
		}
	}
	df, err := p.w.s.SQL(ctx, text.Value)
	if err != nil {
		return nil, p.w.Lab.locateText(err, text)
	}
	rows, schema, err := df.Collect(ctx)
	if err != nil {
		return nil, err
	}
	return Cells(rows, schema), nil
}

// state reads the rows of a query's first stateful operator after its newest batch: key, then value.
func (p *Player) state(ctx context.Context, name string, q *engine.StreamingQuery) ([][]string, error) {
	dw, err := p.w.Writer(ctx, name)
	if err != nil {
		return nil, err
	}
	cp := q.Checkpoint()
	if !q.IsActive() {
		if cp, err = store.Open(q.Snapshot().Checkpoint, store.Options{}); err != nil {
			return nil, err
		}
		defer cp.Close()
	}
	head, _ := cp.Head()
	v := cp.At(head)
	defer v.Close()
	rows, schema, err := dw.StateTable(v, 0, "default")
	if err != nil {
		return nil, err
	}
	return Cells(rows, schema), nil
}

// Cells prints rows as the console sink does, a list of texts a row; null is NULL. No rows is an empty list.
func Cells(batches []arrow.RecordBatch, schema types.Schema) [][]string {
	rows := [][]string{}
	var buf []byte
	for _, rb := range batches {
		vs := columnar.Vectors(rb, schema)
		for i := range int(rb.NumRows()) {
			row := make([]string, len(vs))
			for j := range vs {
				buf = codec.AppendDisplay(buf[:0], &vs[j], i, time.UTC)
				row[j] = string(buf)
			}
			rows = append(rows, row)
		}
	}
	return rows
}

func textsOf(rows [][]any) [][]string {
	out := make([][]string, len(rows))
	for i, r := range rows {
		for _, c := range r {
			if c == nil {
				out[i] = append(out[i], "NULL")
				continue
			}
			out[i] = append(out[i], fmt.Sprint(c))
		}
	}
	return out
}

func sortRows(rows [][]string) {
	sort.Slice(rows, func(i, j int) bool { return strings.Join(rows[i], "\x00") < strings.Join(rows[j], "\x00") })
}

func rowsText(rows [][]string) string {
	if len(rows) == 0 {
		return "no rows"
	}
	out := make([]string, len(rows))
	for i, r := range rows {
		out[i] = "[" + strings.Join(r, ", ") + "]"
	}
	return strings.Join(out, " ")
}

// fieldOf finds a value in JSON by its path: names and positions with dots between them.
func fieldOf(raw []byte, path string) string {
	var v any
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	if dec.Decode(&v) != nil {
		return ""
	}
	for _, part := range strings.Split(path, ".") {
		switch x := v.(type) {
		case map[string]any:
			v = x[part]
		case []any:
			i, err := strconv.Atoi(part)
			if err != nil || i < 0 || i >= len(x) {
				return "nothing"
			}
			v = x[i]
		default:
			return "nothing"
		}
	}
	if v == nil {
		return "nothing"
	}
	return fmt.Sprint(v)
}
