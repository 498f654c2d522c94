//go:build cgo

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"

	"streamlab/engine"
	"streamlab/errs"
	"streamlab/internal/broker"
	"streamlab/lab"
	"streamlab/sinks/memory"
	"streamlab/store"
	"streamlab/tui/screen"
	"streamlab/tui/term"
)

// The crash lab copies numbers from a source that gives a hundred of them a batch into a sink, and dies at a
// point of the protocol in batch 2. Everything is counted from the sink, so nothing has to be believed.
const (
	crashRows    = 100 // of a batch
	crashBatch   = 2   // that is hit
	crashBatches = 4   // in the end
)

// crashSinks are the sinks in the order of the screen.
var crashSinks = []screen.CrashSink{
	{Key: "file", Title: "files (json)", Promise: "exactly-once"},
	{Key: "delta", Title: "delta", Promise: "exactly-once"},
	{Key: "memory", Title: "memory", Promise: "exactly-once"},
	{Key: "kafka", Title: "kafka (embedded)", Promise: "at-least-once"},
	{Key: "foreachBatch", Title: "foreachBatch · not idempotent", Promise: "at-least-once", Twin: "idempotent"},
	{Key: "idempotent", Title: "foreachBatch · idempotent by batch id", Promise: "exactly-once", Twin: "foreachBatch"},
}

// crashPoints are the points of reliability.md 2.4 that the life of a batch passes.
var crashPoints = []screen.CrashPoint{
	{Name: "plan.begin", Stage: 1, Where: "before it asks the sources"},
	{Name: "plan.before_wal", Stage: 2, Where: "before the offsets are written"},
	{Name: "plan.after_wal", Stage: 2, Where: "after the offsets were written"},
	{Name: "exec.begin", Stage: 3, Where: "before the first row is read"},
	{Name: "exec.first_row", Stage: 3, Where: "at the first row"},
	{Name: "exec.end", Stage: 3, Where: "after the last row"},
	{Name: "sink.stage.begin", Stage: 4, Where: "before the sink writes"},
	{Name: "sink.stage.mid", Stage: 4, Where: "while the sink writes"},
	{Name: "sink.stage.synced", Stage: 4, Where: "all is on disk, nothing is visible yet"},
	{Name: "sink.commit.before", Stage: 4, Where: "just before the sink makes it visible"},
	{Name: crashHalfWay, Stage: 4, Where: "after the first of two statements"},
	{Name: "sink.commit.after", Stage: 4, Where: "after the sink wrote"},
	{Name: "state.mid", Stage: 5, Where: "while the state is written"},
	{Name: "state.end", Stage: 5, Where: "after the state, before the commit"},
	{Name: "commit.before", Stage: 5, Where: "just before the commit is written"},
	{Name: "commit.after", Stage: 5, Where: "after the commit was written"},
	{Name: "anchor.before", Stage: 5, Where: "after the commit, before the anchor"},
	{Name: "anchor.after", Stage: 5, Where: "after the anchor"},
}

// crashHalfWay is the first of the two passings that a foreachBatch of two statements has.
const crashHalfWay = "sink.commit.after@1"

// statements tells whether the sink is a foreachBatch of two statements, each with a commit of its own.
func statements(sink string) bool { return sink == "foreachBatch" || sink == "idempotent" }

// crashHit is the rule of the fault: which passing of the point kills.
func crashHit(sink, point string) string {
	if point == "sink.commit.after" && statements(sink) {
		return point + "@2"
	}
	return point
}

// crashDesk tries crashes in folders of its own below dir.
type crashDesk struct {
	a *app

	mu    sync.Mutex
	dir   string // made with the first try
	n     int
	tried []screen.CrashResult
	kept  map[string]crashed // by the name of their checkpoint
}

// crashed is the checkpoint of a query as it was when it was killed.
type crashed struct{ checkpoint, lab string }

func newCrashDesk(a *app) *crashDesk { return &crashDesk{a: a, kept: map[string]crashed{}} }

// CrashPlan implements screen.CrashBench, as does Crash.
func (l *crashDesk) CrashPlan() screen.CrashPlan {
	l.mu.Lock()
	defer l.mu.Unlock()
	return screen.CrashPlan{Sinks: crashSinks, Points: crashPoints, Tried: l.tried[:len(l.tried):len(l.tried)]}
}

func (l *crashDesk) Crash(ctx context.Context, sink, point string) (*screen.CrashResult, error) {
	dir, n, err := l.folder()
	if err != nil {
		return nil, err
	}
	r, at, err := l.try(ctx, filepath.Join(dir, strconv.Itoa(n)), n, sink, point)
	if err != nil {
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if !r.NotPassed {
		r.Checkpoint = fmt.Sprintf("%s at %s, try %d", sink, point, n)
		l.kept[r.Checkpoint] = at
	}
	l.tried = append(l.tried, *r)
	return r, nil
}

func (l *crashDesk) folder() (string, int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.dir == "" {
		dir, err := os.MkdirTemp("", "streamlab-crash-")
		if err != nil {
			return "", 0, err
		}
		l.dir = dir
	}
	l.n++
	return l.dir, l.n, nil
}

// close removes what the tries left.
func (l *crashDesk) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.dir != "" {
		os.RemoveAll(l.dir)
		l.dir = ""
	}
}

// checkpoint is a kept checkpoint and the lab that wrote it.
func (l *crashDesk) checkpoint(name string) (crashed, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	c, ok := l.kept[name]
	return c, ok
}

// crashText is the lab that is crashed. State is bulky where a crash shall fall between two writes of it.
func crashText(sink, point, topic string) string {
	bulk := 1
	if strings.HasPrefix(point, "state.") {
		bulk = 200
	}
	query := map[string]string{
		"file":   "SELECT value FROM orders\n    format: json\n    options: {checkpointLocation: chk, path: out}\n",
		"delta":  "SELECT value FROM orders\n    format: delta\n    options: {checkpointLocation: chk, path: out}\n",
		"memory": "SELECT value FROM orders\n    format: memory\n    options: {checkpointLocation: chk}\n",
		"kafka": "SELECT CAST(value AS STRING) AS value FROM orders\n    format: kafka\n" +
			"    options: {checkpointLocation: chk, kafka.bootstrap.servers: embedded, topic: " + topic + "}\n",
		"idempotent": "SELECT value FROM orders\n    options: {checkpointLocation: chk}\n    foreachBatch:\n" +
			"      - INSERT INTO kept SELECT value FROM batch WHERE value % 2 = 0\n" +
			"      - INSERT INTO kept SELECT value FROM batch WHERE value % 2 = 1\n",
	}
	query["foreachBatch"] = query["idempotent"] + "    tag: false\n"
	tables := ""
	if statements(sink) {
		tables = "tables:\n  kept: {format: delta, schema: value BIGINT}\n"
	}
	return "sources:\n  ticks: {format: rate-micro-batch, options: {rowsPerBatch: " + strconv.Itoa(crashRows) +
		", numPartitions: 2, startTimestamp: 0, advanceMillisPerBatch: 1000}}\n" +
		"views:\n  wide: \"SELECT value, array_join(transform(sequence(1, " + strconv.Itoa(bulk) +
		"), i -> sha2(concat(value, ':', i), 512)), '') AS bulk FROM ticks\"\n" +
		"  orders: {sql: SELECT * FROM wide, dropDuplicates: [value, bulk]}\n" + tables +
		"queries:\n  - queryName: copies\n    sql: " + query[sink]
}

// try crashes one query at one point in a new folder.
func (l *crashDesk) try(ctx context.Context, dir string, n int, sink, point string) (*screen.CrashResult, crashed, error) {
	i := slices.IndexFunc(crashSinks, func(s screen.CrashSink) bool { return s.Key == sink })
	if i < 0 {
		return nil, crashed{}, errs.New("LAB_VALUE", "key", "sink", "expected", "file, delta, memory, kafka, foreachBatch or idempotent")
	}
	if !slices.ContainsFunc(crashPoints, func(p screen.CrashPoint) bool { return p.Name == point }) {
		return nil, crashed{}, errs.New("LAB_VALUE", "key", "at", "expected", "a crash point such as sink.commit.after; streamlab crash --list names them")
	}
	if point == crashHalfWay && !statements(sink) {
		return &screen.CrashResult{Sink: sink, Point: point, NotPassed: true}, crashed{}, nil
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, crashed{}, err
	}
	t := &crashTry{dir: dir, sink: sink, point: point, topic: "copies_" + strconv.Itoa(n), file: filepath.Join(dir, "crash.yaml")}
	if err := os.WriteFile(t.file, []byte(crashText(sink, point, t.topic)), 0o600); err != nil {
		return nil, crashed{}, err
	}
	if sink == "kafka" { // what the children write must outlive them
		b, err := broker.For("crash lab")
		if err != nil {
			return nil, crashed{}, err
		}
		t.broker = b.Addr()
	}
	r := &screen.CrashResult{Sink: sink, Point: point, Batch: crashBatch, Promise: crashSinks[i].Promise}
	// Run 1 goes well.
	if err := t.child(ctx, crashBatch, ""); err != nil {
		return nil, crashed{}, err
	}
	first, err := t.look(ctx)
	if err != nil {
		return nil, crashed{}, err
	}
	// Run 2 is killed.
	err = t.child(ctx, 1, crashHit(sink, point))
	if errs.Has(err, "LAB_NO_CRASH") && t.endedWell {
		r.NotPassed = true
		return r, crashed{}, nil
	}
	if err != nil {
		return nil, crashed{}, err
	}
	kept := crashed{checkpoint: filepath.Join(dir, "chk-at-crash"), lab: t.file}
	if err := os.CopyFS(kept.checkpoint, os.DirFS(filepath.Join(dir, "chk"))); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, crashed{}, err
	}
	second, err := t.look(ctx)
	if err != nil {
		return nil, crashed{}, err
	}
	// Run 3 restarts.
	if left := crashBatches - len(second.commits); left > 0 {
		if err := t.child(ctx, left, ""); err != nil {
			return nil, crashed{}, err
		}
	}
	third, err := t.look(ctx)
	if err != nil {
		return nil, crashed{}, err
	}
	r.Records = second.records
	t.tell(r, first, second, third)
	return r, kept, nil
}

// crashTry is one try.
type crashTry struct {
	dir, file, sink, point, topic, broker string
	endedWell                             bool // the newest child that should die did not, and had no error
}

// child runs the query for some batches. With a point it must be killed there: LAB_NO_CRASH if it was not.
func (t *crashTry) child(ctx context.Context, batches int, point string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	child := exec.CommandContext(ctx, self, "run", t.file, "--batches", strconv.Itoa(batches), "--progress", "none")
	child.Dir = t.dir
	child.Env = term.Environ()
	if t.broker != "" {
		child.Env = append(child.Env, broker.Parent+"="+t.broker)
	}
	if point != "" {
		child.Env = append(child.Env, "STREAMLAB_UNSAFE_FAULTS=1", "STREAMLAB_FAULT="+point+"=kill")
	}
	var said bytes.Buffer
	child.Stdout, child.Stderr = &said, &said
	err = child.Run()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if child.ProcessState != nil && point != "" {
		if ws, ok := child.ProcessState.Sys().(syscall.WaitStatus); ok && ws.Signaled() && ws.Signal() == syscall.SIGKILL {
			return nil
		}
	}
	switch {
	case point != "":
		t.endedWell = err == nil
		reason := "it ended by itself: the point was not passed"
		if err != nil {
			reason = strings.TrimSpace(err.Error() + ": " + said.String())
		}
		return errs.New("LAB_NO_CRASH", "query", "copies", "point", point, "reason", reason)
	case err != nil:
		return errs.Wrap(err, "LAB_NO_RESTART", "query", "copies", "reason", strings.TrimSpace(said.String()))
	}
	return nil
}

// crashLook is what checkpoint and sink hold between two runs.
type crashLook struct {
	offsets map[int64]int64 // end of a batch's rows, by batch
	commits map[int64]bool
	values  map[int64]int64 // how often the sink holds a row
	records []string
}

func (t *crashTry) look(ctx context.Context) (*crashLook, error) {
	x := &crashLook{offsets: map[int64]int64{}, commits: map[int64]bool{}, values: map[int64]int64{}}
	cp, err := store.Open(filepath.Join(t.dir, "chk"), store.Options{})
	if err != nil {
		return nil, err
	}
	err = func() error {
		from, to := cp.Retained()
		if p, ok := cp.Pending(); ok {
			_ = p
			to++
		}
		for b := max(0, from); b <= to; b++ {
			o, ok, err := cp.Offsets(b)
			if err != nil {
				return err
			}
			if !ok {
				continue
			}
			var end struct {
				Offset int64 `json:"offset"`
			}
			if len(o.Offsets) > 0 {
				if err := json.Unmarshal([]byte(o.Offsets[0]), &end); err != nil {
					return err
				}
			}
			x.offsets[b] = end.Offset
			if b >= crashBatch-1 {
				x.records = append(x.records, fmt.Sprintf("offsets/%d  %s  written %s", b, strings.Join(o.Offsets, " "),
					timeOf(o.BatchTimestampMs).Format("15:04:05.000")))
			}
			c, done, err := cp.Commits(b)
			if err != nil {
				return err
			}
			x.commits[b] = done
			if !done {
				delete(x.commits, b)
				x.records = append(x.records, fmt.Sprintf("commits/%d  missing", b))
			} else if b >= crashBatch-1 {
				x.records = append(x.records, fmt.Sprintf("commits/%d  %s", b, lastLine(c.Text())))
			}
		}
		if head, ok := cp.Head(); ok {
			x.records = append(x.records, fmt.Sprintf("state      version %d, after batch %d", head+1, head))
		}
		return nil
	}()
	if e := cp.Close(); err == nil {
		err = e
	}
	if err != nil {
		return nil, err
	}
	return x, t.count(ctx, x.values)
}

func lastLine(s string) string {
	lines := strings.Split(strings.TrimSpace(s), "\n")
	return lines[len(lines)-1]
}

// count reads the sink as its readers do.
func (t *crashTry) count(ctx context.Context, values map[int64]int64) error {
	add := func(text string) error {
		v, err := strconv.ParseInt(text, 10, 64)
		if err == nil {
			values[v]++
		}
		return err
	}
	if t.sink == "memory" {
		a, err := memory.Door(filepath.Join(t.dir, ".streamlab")).Query(ctx, "SELECT value FROM copies", 0)
		if err != nil {
			return err
		}
		for _, r := range a.Rows {
			if err := add(r[0].Text); err != nil {
				return err
			}
		}
		return nil
	}
	s, err := engine.NewSession(engine.Config{Dir: t.dir, Workspace: filepath.Join(t.dir, "look")})
	if err != nil {
		return err
	}
	defer s.Close()
	r, path := s.Read(), "out"
	switch t.sink {
	case "file":
		r = r.Format("json").Schema("value BIGINT")
	case "kafka":
		r, path = r.Format("kafka").Option("kafka.bootstrap.servers", t.broker).Option("subscribe", t.topic), ""
	default:
		r = r.Format("delta")
		if t.sink != "delta" {
			path = filepath.Join(".streamlab", "warehouse", "kept")
		}
	}
	var df *engine.DataFrame
	if path == "" {
		df = r.Load(ctx)
	} else {
		df = r.Load(ctx, path)
	}
	rows, schema, err := df.SelectExpr("CAST(CAST(value AS STRING) AS BIGINT) AS value").Collect(ctx)
	if err != nil {
		return err
	}
	for _, row := range lab.Cells(rows, schema) {
		if err := add(row[0]); err != nil {
			return err
		}
	}
	return nil
}

// in counts the rows of a batch: their numbers lie between its offsets.
func (x *crashLook) in(batch int64) (n int64) {
	for v, k := range x.values {
		if v/crashRows == batch {
			n += k
		}
	}
	return n
}

// tell fills the result from three looks: after the run that went well, at the crash, and at the end.
func (t *crashTry) tell(r *screen.CrashResult, first, second, third *crashLook) {
	row := func(run int, b int64, at *crashLook, log string, sink int64, commit string) {
		x := screen.CrashRow{Run: run, Batch: b, From: -1, To: -1, Log: log, SinkRows: sink, Commit: commit}
		if end, ok := at.offsets[b]; ok {
			x.From, x.To = 0, end
			if b > 0 {
				x.From = at.offsets[b-1]
			}
		}
		r.Rows = append(r.Rows, x)
	}
	for b := int64(0); b < crashBatch; b++ {
		row(1, b, first, "new", first.in(b), yes(first.commits[b]))
	}
	log, commit := "new", "yes"
	if _, ok := second.offsets[crashBatch]; !ok {
		log = "missing"
	}
	if !second.commits[crashBatch] {
		commit = "crashed before this"
	}
	row(2, crashBatch, second, log, second.in(crashBatch)-first.in(crashBatch), commit)
	for b := int64(crashBatch); b < crashBatches; b++ {
		if second.commits[b] {
			continue
		}
		log := "new"
		if _, ok := second.offsets[b]; ok {
			log = "reused"
		}
		row(3, b, third, log, third.in(b)-second.in(b), yes(third.commits[b]))
	}
	for b, end := range third.offsets {
		if third.commits[b] {
			r.SourceRows = max(r.SourceRows, end)
		}
	}
	for v := range r.SourceRows {
		switch k := third.values[v]; {
		case k == 0:
			r.Lost++
		case k > 1:
			r.Duplicates += k - 1
			if len(r.Doubled) < 40 {
				r.Doubled = append(r.Doubled, v)
			}
		}
	}
	for _, k := range third.values {
		r.SinkRows += k
	}
	r.Kept = r.Lost == 0 && (r.Duplicates == 0 || r.Promise != "exactly-once")
	had := second.in(crashBatch)
	again := third.in(crashBatch) - had
	_, logged := second.offsets[crashBatch]
	switch {
	case second.commits[crashBatch]:
		r.Why = "The commit was there: batch 2 was done. The restart went on with batch 3."
	case !logged:
		r.Why = "Nothing of batch 2 was written down. The restart asked the source again and planned it anew."
	case r.Duplicates > 0:
		r.Why = fmt.Sprintf("The offsets were written and the commit was not, so the restart ran the same batch again. The sink had %d of its rows, and took %d more.", had, again)
		if t.sink == "foreachBatch" {
			r.Why += " Make the write depend on the batch id, then crash it again: i"
		}
	case had > 0:
		r.Why = fmt.Sprintf("The restart ran the same batch again, and the sink had %d of its rows. It knew the batch by its number, so nothing was written twice.", had)
	default:
		r.Why = "The offsets were written, so the restart ran the same batch again. The sink showed nothing of it yet, so every row is there once."
	}
}

func yes(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}

// CrashPlan implements screen.CrashBench, as does Crash, also while a lab is open.
func (b *localLab) CrashPlan() screen.CrashPlan {
	if b.crashes == nil {
		return screen.CrashPlan{Sinks: crashSinks, Points: crashPoints}
	}
	return b.crashes.CrashPlan()
}

// Crash runs the crash beside the opened lab: it has folders and a query of its own.
func (b *localLab) Crash(ctx context.Context, sink, point string) (*screen.CrashResult, error) {
	if b.crashes == nil {
		return nil, errs.New("UNSUPPORTED_FEATURE", "feature", "A crash in this place")
	}
	return b.crashes.Crash(ctx, sink, point)
}

// crashed finds a checkpoint that a crash left, by the name that its result has.
func (b *localLab) crashed(name string) (crashed, bool) {
	if b.crashes == nil {
		return crashed{}, false
	}
	return b.crashes.checkpoint(name)
}

// writerOf describes a query of the lab, or the one that was crashed. Call done when the description is not
// needed any more.
func (b *localLab) writerOf(ctx context.Context, query string) (dw *engine.DataStreamWriter, done func(), err error) {
	c, ok := b.crashed(query)
	if !ok {
		dw, err = b.w.Writer(ctx, query)
		return dw, func() {}, err
	}
	l, err := lab.Load(c.lab)
	if err != nil {
		return nil, nil, err
	}
	w, err := lab.Open(ctx, l, engine.Config{Workspace: filepath.Join(filepath.Dir(c.lab), "look")})
	if err != nil {
		return nil, nil, err
	}
	if dw, err = w.Writer(ctx, "copies"); err != nil {
		return nil, nil, errors.Join(err, w.Close())
	}
	return dw, func() { _ = w.Close() }, nil
}
