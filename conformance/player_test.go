package conformance

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/apache/arrow-go/v18/arrow"

	"streamlab/engine"
	"streamlab/errs"
	"streamlab/internal/fault"
	"streamlab/sql/types"
)

var errCrash = errors.New("asked for by the scenario")

// uuids and numbers are masked in what is compared as text, as the recording program does.
var (
	uuids     = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`)
	columnIDs = regexp.MustCompile(`#\d+L?`)
)

// A player plays one scenario in a folder of its own.
type player struct {
	name     string
	scenario doc
	work     string // the scenario's folder
	data     string // folder of {files: […]}
	home     string // folder of the scenario's file
	out      io.Writer
	session  *engine.Session
	broker   kafkaBroker // nil: the scenario has none
	prefix   string      // of its topics

	batches  []recordedBatch // of the step, in the order they were written
	progress []engine.Progress
	query    *engine.StreamingQuery // of the last step; nil if it did not start
	writer   *engine.DataStreamWriter
	images   map[string]image // copies of checkpoints before the commit of a batch
	ignored  map[string]bool
	reports  int // progress reports to wait for before a query is stopped that does not end
}

type recordedBatch struct {
	id   int64
	rows result // without a schema: not recorded
}

// A result is rows as they came.
type result struct {
	schema types.Schema
	list   []arrow.RecordBatch
}

// like gives the rows as the recording program would print them, in the form that want has.
func (r result) like(want []any) [][]any {
	if asText(want) {
		return textRowsOf(r.list, r.schema, time.UTC)
	}
	return rowsOf(r.list, r.schema)
}

// outcome is what a step gave.
type outcome struct {
	started bool // the query: batches and schema are there
	batches []recordedBatch
	schema  string
	err     error
	sql     []answer
	checks  []answer
	tree    []string
	texts   []any
}

func harness(format string, args ...any) error {
	return errs.New("HARNESS", "message", fmt.Sprintf(format, args...))
}

// here puts the scenario's own places into a text.
func (p *player) here(s string) string {
	s = strings.ReplaceAll(s, "$WORK", p.work)
	s = strings.ReplaceAll(s, "$WAREHOUSE", p.warehouse())
	if p.broker != nil {
		s = strings.ReplaceAll(strings.ReplaceAll(s, "$KAFKA", p.broker.Server()), "$T.", p.prefix)
	}
	return s
}

func (p *player) warehouse() string { return filepath.Join(p.work, ".streamlab", "warehouse") }

// away is the opposite of here, for answers.
func (p *player) away(s string) string {
	s = strings.ReplaceAll(s, p.warehouse(), "$WAREHOUSE")
	s = strings.ReplaceAll(s, p.work, "$WORK")
	if p.broker != nil {
		s = strings.ReplaceAll(strings.ReplaceAll(s, p.broker.Server(), "$KAFKA"), p.prefix, "$T.")
	}
	return s
}

// awayAll is away for all texts in a JSON value.
func (p *player) awayAll(v any) any {
	switch x := v.(type) {
	case string:
		return p.away(x)
	case []any:
		for i := range x {
			x[i] = p.awayAll(x[i])
		}
	case map[string]any:
		for k := range x {
			x[k] = p.awayAll(x[k])
		}
	}
	return v
}

// begin opens the session and runs conf and setup.
func (p *player) begin(ctx context.Context) error {
	if p.out == nil {
		p.out = io.Discard
	}
	conf := map[string]string{"spark.sql.shuffle.partitions": "2", "spark.sql.session.timeZone": "UTC",
		"spark.sql.streaming.numRecentProgressUpdates": "1000", "streamlab.durability": "process"}
	var err error
	p.session, err = engine.NewSession(engine.Config{Conf: conf, Dir: p.work, Out: p.out})
	if err != nil {
		return err
	}
	p.ignored = map[string]bool{}
	for _, k := range asList(get(p.scenario, "ignore")) {
		p.ignored[str(k)] = true
	}
	if err := p.openBroker(); err != nil {
		return err
	}
	for _, e := range asMap(get(p.scenario, "conf")) {
		if err := p.session.Conf().Set(fmt.Sprint(e.Key), str(e.Value)); err != nil {
			return err
		}
	}
	for _, s := range asList(get(p.scenario, "setup")) {
		if a := p.ask(ctx, p.session, str(s)); a.err != nil {
			return fmt.Errorf("setup: %w", a.err)
		}
	}
	return nil
}

func (p *player) end() {
	if p.session != nil {
		_ = p.session.Close()
	}
	p.closeBroker()
}

// steps lists the steps; a scenario without has one that adds nothing.
func (p *player) steps() []any {
	if steps := asList(get(p.scenario, "steps")); steps != nil {
		return steps
	}
	return []any{doc{}}
}

// play runs a scenario and returns what differs from the answer; "" is nothing.
func (p *player) play(ctx context.Context, golden map[string]any) (diff string, err error) {
	defer p.end()
	if err := p.begin(ctx); err != nil {
		return "", err
	}
	steps, answers := p.steps(), asList(golden["steps"])
	for i := range answers {
		if i >= len(steps) {
			return fmt.Sprintf("the answer has %d steps, the scenario %d", len(answers), len(steps)), nil
		}
		next := p.nextOfCheckpoint(steps, i)
		want, _ := answers[i].(map[string]any)
		got, err := p.step(ctx, asMap(steps[i]), next, i+1)
		if err != nil {
			return "", err
		}
		if errs.Has(got.err, "HARNESS") {
			return "", got.err
		}
		if d := p.compare(got, want, golden); d != "" {
			return fmt.Sprintf("step %d: %s", i+1, d), nil
		}
		if d, err := p.replay(ctx); d != "" || err != nil {
			return fmt.Sprintf("step %d run again to be traced: %s", i+1, d), err
		}
	}
	return "", nil
}

// nextOfCheckpoint is the next step that works on the checkpoint of step i, nil if there is none. The steps
// before i have been played.
func (p *player) nextOfCheckpoint(steps []any, i int) doc {
	var name any = "chk"
	if v, ok := lookup(p.scenario, "checkpoint"); ok {
		name = v
	}
	at := name
	for j := i; j < len(steps); j++ {
		step := asMap(steps[j])
		if other, ok := lookup(asMap(get(step, "with")), "checkpoint"); ok {
			at = other
		}
		if j == i {
			name = at
		} else if at == name {
			return step
		}
	}
	return nil
}

// step plays one step; next is the one after it with the same checkpoint, nil if there is none. The error is one of the player or of a part
// that is not built, never one that the scenario asks about.
func (p *player) step(ctx context.Context, step, next doc, number int) (got outcome, err error) {
	for _, e := range asMap(get(step, "with")) {
		replaced := false
		for i := range p.scenario {
			if p.scenario[i].Key == e.Key {
				p.scenario[i].Value, replaced = e.Value, true
			}
		}
		if !replaced {
			p.scenario = append(p.scenario, e)
		}
	}
	for _, e := range asMap(get(step, "conf")) {
		if err := p.session.Conf().Set(fmt.Sprint(e.Key), str(e.Value)); err != nil {
			return got, err
		}
	}
	for _, e := range asMap(get(step, "add")) {
		name := fmt.Sprint(e.Key)
		if err := p.writeRows(name, asMap(get(get(p.scenario, "sources"), name)), e.Value, number); err != nil {
			return got, err
		}
	}
	if err := p.putFiles(asMap(get(step, "files")), number); err != nil {
		return got, err
	}
	if has(step, "uncommit") {
		if err := p.uncommit(whole(get(step, "uncommit"), -1)); err != nil {
			return got, err
		}
	}
	if err := p.playKafka(asMap(get(step, "kafka"))); err != nil {
		return got, err
	}
	if err := p.disturb(step); err != nil {
		return got, err
	}
	got.sql = p.answers(ctx, asList(get(step, "sql")))
	p.batches, p.progress, p.query, p.writer = nil, nil, nil, nil
	if get(step, "idle") != true {
		if has(next, "uncommit") {
			defer p.photograph(whole(get(next, "uncommit"), -1))()
		}
		if err := p.run(ctx, asMap(get(step, "crash")), &got); err != nil {
			return got, err
		}
	}
	checks := asList(get(step, "check"))
	if len(checks) == 0 {
		checks = asList(get(p.scenario, "check"))
	}
	got.checks = p.answers(ctx, checks)
	trees, globs := texts(get(p.scenario, "tree")), texts(get(p.scenario, "texts"))
	if err := p.renderCheckpoint(append(trees, globs...)); err != nil {
		return got, err
	}
	for _, folder := range trees {
		got.tree = append(got.tree, p.tree(folder)...)
	}
	if globs != nil {
		got.texts = p.textsOf(globs)
	}
	return got, nil
}

func (p *player) checkpoint() string {
	v, ok := lookup(p.scenario, "checkpoint")
	switch {
	case !ok:
		return filepath.Join(p.work, "chk")
	case v == nil:
		return ""
	}
	return filepath.Join(p.work, str(v))
}

// renderCheckpoint writes the checkpoint as Spark's files beside our own, if a path speaks of them.
func (p *player) renderCheckpoint(paths []string) error {
	rel, err := filepath.Rel(p.work, p.checkpoint())
	if err != nil {
		return nil
	}
	for _, x := range paths {
		if !strings.HasPrefix(x, rel+"/") {
			continue
		}
		files, err := checkpointFiles(p.checkpoint(), p.retained(), len(asMap(get(p.scenario, "sources"))))
		if err != nil {
			return err
		}
		for _, old := range []string{"offsets", "commits", "sources"} {
			if err := os.RemoveAll(filepath.Join(p.checkpoint(), old)); err != nil {
				return err
			}
		}
		for name, text := range files {
			path := filepath.Join(p.checkpoint(), name)
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				return err
			}
			if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
				return err
			}
		}
		return nil
	}
	return nil
}

// retained is how many batches a checkpoint keeps by the session's settings.
func (p *player) retained() int64 {
	n, _ := strconv.ParseInt(p.session.Conf().Get("spark.sql.streaming.minBatchesToRetain"), 10, 64)
	return n
}

// image is a copy of a checkpoint before the commit of a batch.
type image struct {
	batch int64
	dir   string
}

// photograph keeps, from now until the function it returns is called, a copy of the checkpoint as it is
// before a batch is committed. The last copy is that of the last batch.
func (p *player) photograph(batch int64) (stop func()) {
	from := p.checkpoint()
	to := p.work + ".before-commit-" + filepath.Base(from)
	return fault.Watch("commit.before", func() {
		for range 50 { // the store's own housekeeping may take a file away meanwhile
			_ = os.RemoveAll(to)
			if os.CopyFS(to, os.DirFS(from)) == nil {
				if p.images == nil {
					p.images = map[string]image{}
				}
				p.images[from] = image{batch, to}
				return
			}
		}
	})
}

// uncommit takes the commit of the last batch back: what a crash between the sink's end and the commit
// leaves.
func (p *player) uncommit(batch int64) error {
	image, ok := p.images[p.checkpoint()]
	if !ok || image.batch != batch {
		return harness("batch %d was not committed by the last step of the checkpoint", batch)
	}
	delete(p.images, p.checkpoint())
	if err := os.RemoveAll(p.checkpoint()); err != nil {
		return err
	}
	return os.Rename(image.dir, p.checkpoint())
}
