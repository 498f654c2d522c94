package conformance

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"sort"
	"strings"
	"testing"
	"time"

	"github.com/goccy/go-yaml"

	"streamlab/engine"
	"streamlab/store"
)

// TestTexts plays the scenarios of text/ and compares what was written with what Spark wrote.
func TestTexts(t *testing.T) {
	if *dirFlag != "" || *exprFlag != "" {
		t.Skip("only a folder is asked for")
	}
	kinds := map[string]func(*textPlayer) string{"console": compareConsole, "progress": compareProgressText, "checkpoint": compareCheckpoint}
	listed, found := exceptions(t), 0
	for kind, compare := range kinds {
		files, err := filepath.Glob(filepath.Join("text", kind, "*.yaml"))
		if err != nil {
			t.Fatal(err)
		}
		sort.Strings(files)
		for _, f := range files {
			found++
			name := "text/" + kind + "/" + strings.TrimSuffix(filepath.Base(f), ".yaml")
			t.Run(kind+"/"+filepath.Base(name), func(t *testing.T) {
				diff := playText(t, f, compare)
				switch {
				case diff != "" && listed[name] == "":
					t.Error(diff)
				case diff == "" && listed[name] != "":
					t.Errorf("passes, but exceptions.txt lists it: %s", listed[name])
				case diff != "":
					t.Logf("known (%s): %s", listed[name], diff)
				}
			})
		}
	}
	if found == 0 {
		t.Fatal("no recorded texts")
	}
}

// A textPlayer plays a scenario and keeps what is written meanwhile.
type textPlayer struct {
	player
	ctx     context.Context
	answer  string // folder or stem of the answer's files
	out     bytes.Buffer
	clocked bool        // figures depend on the clock
	events  [][2]string // kind and JSON, of the step
	steps   []textStep
}

type textStep struct {
	number   int
	err      error
	progress []engine.Progress
	status   engine.Status
	events   [][2]string
	failure  *engine.Failure
	explain  string
}

func playText(t *testing.T, file string, compare func(*textPlayer) string) string {
	scenario, err := readDocument(file)
	if err != nil {
		return err.Error()
	}
	ctx, cancel := context.WithTimeout(context.Background(), 60*time.Second)
	defer cancel()
	p := &textPlayer{ctx: ctx, answer: strings.TrimSuffix(file, ".yaml")}
	p.player = player{name: strings.TrimSuffix(filepath.Base(file), ".yaml"), scenario: scenario, work: t.TempDir(),
		home: filepath.Dir(file), out: &p.out}
	defer p.end()
	if err := p.begin(ctx); err != nil {
		return err.Error()
	}
	note := func(e engine.Event) { p.events = append(p.events, [2]string{string(e.Kind), string(e.JSON())}) }
	ended := make(chan struct{}, 1)
	p.session.Streams().AddListener(&engine.Listener{Started: note, Progress: note, Idle: note, Terminated: func(e engine.Event) {
		note(e)
		ended <- struct{}{}
	}})
	for i, s := range p.player.steps() {
		p.events = nil
		p.reports = min(3, len(nonEmpty(p.read(fmt.Sprintf("/%d.progress.jsonl", i+1)))))
		got, err := p.step(ctx, asMap(s), nil, i+1)
		if err != nil {
			return err.Error()
		}
		x := textStep{number: i + 1, err: got.err, progress: p.progress}
		if p.query != nil {
			select {
			case <-ended:
			case <-ctx.Done():
				return "the listener did not hear of the end"
			}
			x.status, x.failure, x.explain = p.query.Status(), p.query.Failure(), p.query.Explain()
		}
		x.events = p.events
		p.steps = append(p.steps, x)
	}
	return compare(p)
}

func (p *textPlayer) read(name string) string {
	data, err := os.ReadFile(p.answer + name)
	if err != nil {
		return ""
	}
	return string(data)
}

// compareConsole compares byte by byte what the console sink printed, and which steps were refused.
func compareConsole(p *textPlayer) string {
	if got, want := p.out.String(), p.read(".txt"); got != want {
		a, b := strings.Split(got, "\n"), strings.Split(want, "\n")
		for i := range max(len(a), len(b)) {
			if i >= len(a) || i >= len(b) || a[i] != b[i] {
				return fmt.Sprintf("line %d\n  got  %q\n  want %q", i+1, at(a, i), at(b, i))
			}
		}
	}
	var refused []struct {
		Step  int            `json:"step"`
		Error map[string]any `json:"error"`
	}
	if raw := p.read(".errors.json"); raw != "" {
		if err := json.Unmarshal([]byte(raw), &refused); err != nil {
			return err.Error()
		}
	}
	want := map[int]map[string]any{}
	for _, r := range refused {
		want[r.Step] = r.Error
	}
	for _, s := range p.steps {
		switch {
		case s.err == nil && want[s.number] != nil:
			return fmt.Sprintf("step %d is not refused", s.number)
		case s.err != nil && want[s.number] == nil:
			return fmt.Sprintf("step %d: %v", s.number, s.err)
		case s.err != nil:
			if d := p.compareError(s.err, want[s.number]); d != "" {
				return fmt.Sprintf("step %d: %s", s.number, d)
			}
		}
	}
	return ""
}

func at(lines []string, i int) string {
	if i < len(lines) {
		return lines[i]
	}
	return "(nothing)"
}

// timed are fields whose value is another in every run, or a size.
var timed = map[string]bool{"id": true, "runId": true, "timestamp": true, "batchDuration": true, "inputRowsPerSecond": true,
	"processedRowsPerSecond": true, "allUpdatesTimeMs": true, "allRemovalsTimeMs": true, "commitTimeMs": true, "memoryUsedBytes": true,
	"batchTimestampMs": true, "exception": true}

// compareJSON compares two JSON texts: names and order of fields, types, and values but those that vary.
func compareJSON(got, want string) string {
	var a, b any
	for i, to := range []*any{&a, &b} {
		text := []string{got, want}[i]
		if err := yaml.UnmarshalWithOptions([]byte(text), to, yaml.UseOrderedMap()); err != nil {
			return fmt.Sprintf("%v in %s", err, text)
		}
	}
	return compareValue("", a, b)
}

func compareValue(path string, got, want any) string {
	key := path[strings.LastIndexByte(path, '.')+1:]
	switch w := want.(type) {
	case doc:
		g, ok := got.(doc)
		if !ok {
			return fmt.Sprintf("%s is %T, want an object", path, got)
		}
		g, w = comparableFields(g), comparableFields(w)
		for i := range max(len(g), len(w)) {
			switch {
			case i >= len(g):
				return fmt.Sprintf("%s lacks %v", path, w[i].Key)
			case i >= len(w) || g[i].Key != w[i].Key:
				return fmt.Sprintf("%s has %v at place %d, want %v", path, g[i].Key, i, keyAt(w, i))
			}
			if key == "durationMs" {
				continue
			}
			if d := compareValue(fmt.Sprintf("%s.%v", path, w[i].Key), g[i].Value, w[i].Value); d != "" {
				return d
			}
		}
		return ""
	case []any:
		g := asList(got)
		if len(g) != len(w) {
			return fmt.Sprintf("%s has %d elements, want %d", path, len(g), len(w))
		}
		for i := range w {
			if d := compareValue(path, g[i], w[i]); d != "" {
				return d
			}
		}
		return ""
	}
	if timed[key] {
		if kind(got) != kind(want) {
			return fmt.Sprintf("%s is a %s, want a %s", path, kind(got), kind(want))
		}
		return ""
	}
	if want == nil && key == "errorClassOnException" || key == "description" && address.MatchString(fmt.Sprint(want)) {
		return "" // ours has a condition, or a name, where Spark has none
	}
	g, w := address.ReplaceAllString(fmt.Sprint(got), "@"), address.ReplaceAllString(fmt.Sprint(want), "@")
	if g != w || kind(got) != kind(want) {
		return fmt.Sprintf("%s is %v, want %v", path, got, want)
	}
	return ""
}

var address = regexp.MustCompile(`[A-Za-z0-9.$]*@[0-9a-f]+`)

func keyAt(m doc, i int) any {
	if i < len(m) {
		return m[i].Key
	}
	return "nothing"
}

func kind(v any) string {
	switch v.(type) {
	case nil:
		return "null"
	case string:
		return "text"
	case bool:
		return "truth value"
	}
	return "number"
}

// ofStores are figures of Spark's own state stores, and of ours: those of operators are compared.
var ofStores = regexp.MustCompile(`^(SnapshotLastUploaded|forceSnapshotCount|loadedMapCache|numSnapshotsAutoRepaired|stateOnCurrentVersion|rocksdb|badger)`)

// comparableFields leaves out figures of Spark's own stores, and rates, which are left out where they are no
// number.
func comparableFields(m doc) (out doc) {
	for _, e := range m {
		switch e.Key {
		case "inputRowsPerSecond", "processedRowsPerSecond":
			continue
		case "customMetrics":
			own := doc{}
			for _, c := range asMap(e.Value) {
				if !ofStores.MatchString(fmt.Sprint(c.Key)) {
					own = append(own, c)
				}
			}
			if len(own) == 0 {
				continue
			}
			e.Value = own
		}
		out = append(out, e)
	}
	return out
}

// compareProgressText compares progress, events and status of each step.
func compareProgressText(p *textPlayer) string {
	loose := has(p.scenario, "runFor") // how many reports there are depends on the clock, and of a rate their figures
	if loose && has(get(p.scenario, "sources"), "r") {
		p.clocked = true
	}
	for _, s := range p.steps {
		var lines []string
		for i := range s.progress {
			raw, err := s.progress[i].MarshalJSON()
			if err != nil {
				return err.Error()
			}
			lines = append(lines, p.away(string(raw)))
		}
		prefix := fmt.Sprintf("/%d.", s.number)
		want := nonEmpty(p.read(prefix + "progress.jsonl"))
		if d := p.compareLines("progress", lines, want, loose); d != "" {
			return fmt.Sprintf("step %d: %s", s.number, d)
		}
		if len(lines) > 0 && !loose {
			got, want := p.away(s.progress[len(s.progress)-1].Pretty()), strings.TrimSpace(p.read(prefix+"last.json"))
			if a, b := layoutOf(got), layoutOf(want); a != b {
				return fmt.Sprintf("step %d: pretty progress\n  got  %s\n  want %s", s.number, a, b)
			}
		}
		var told []string
		for _, e := range s.events {
			told = append(told, fmt.Sprintf(`{"event": %q, "json": %s}`, e[0], p.away(e[1])))
		}
		if d := p.compareLines("events", told, nonEmpty(p.read(prefix+"events.jsonl")), loose); d != "" {
			return fmt.Sprintf("step %d: %s", s.number, d)
		}
		raw, err := json.Marshal(s.status)
		if err != nil {
			return err.Error()
		}
		if want := p.read(prefix + "status.json"); want != "" && s.err == nil {
			if d := compareJSON(string(raw), want); d != "" {
				return fmt.Sprintf("step %d: status: %s", s.number, d)
			}
		}
		if d := p.compareFailure(s.failure, p.read(prefix+"exception.json")); d != "" {
			return fmt.Sprintf("step %d: exception: %s", s.number, d)
		}
		// The operators of Spark's physical plans are its own; that there is no plan yet is said alike.
		if none := "No physical plan. Waiting for data."; (strings.TrimSpace(p.read(prefix+"explain.txt")) == none) != (s.explain == none) {
			return fmt.Sprintf("step %d: explain: %s", s.number, s.explain)
		}
	}
	return ""
}

// compareFailure compares what is known of a failed query: offsets, and the block of text below the message. The
// message and the logical plan are worded otherwise.
func (p *textPlayer) compareFailure(f *engine.Failure, raw string) string {
	if raw == "" || f == nil {
		if (raw == "") != (f == nil) {
			return fmt.Sprintf("%v, want %s", f, raw)
		}
		return ""
	}
	var want struct{ Cause, StartOffset, EndOffset, Text string }
	if err := json.Unmarshal([]byte(raw), &want); err != nil {
		return err.Error()
	}
	if a, b := p.away(f.StartOffset), want.StartOffset; a != b {
		return fmt.Sprintf("startOffset %s, want %s", a, b)
	}
	if a, b := p.away(f.EndOffset), want.EndOffset; a != b {
		return fmt.Sprintf("endOffset %s, want %s", a, b)
	}
	if m := condition.FindStringSubmatch(want.Cause); m != nil && !slices.Contains(chain(f.Cause), m[1]) {
		return fmt.Sprintf("%v, want %s", f.Cause, m[1])
	}
	_, mine, _ := strings.Cut(f.String(), "\n=== Streaming Query ===\n")
	_, theirs, cut := strings.Cut(want.Text, "\n=== Streaming Query ===\n")
	if !cut { // the recording ends with the message
		return ""
	}
	mine, planned, _ := strings.Cut(mine, "\nLogical Plan:\n")
	theirs, plan, _ := strings.Cut(theirs, "\nLogical Plan:\n")
	if (planned == "") != (plan == "") {
		return fmt.Sprintf("the plan is %q, want %q", planned, plan)
	}
	if a, b := uuids.ReplaceAllString(p.away(mine), "UUID"), uuids.ReplaceAllString(theirs, "UUID"); a != b {
		return fmt.Sprintf("\n%s\nwant\n%s", a, b)
	}
	return ""
}

var condition = regexp.MustCompile(`: \[([A-Z0-9_.]+)\] `)

// endFirst puts the event of a query's end in front, so that lists of other lengths agree on it.
func endFirst(events []string) []string {
	if n := len(events); n > 0 && strings.HasPrefix(events[n-1], `{"event": "terminated"`) {
		return append([]string{events[n-1]}, events[:n-1]...)
	}
	return events
}

// clockless replaces the numbers of a JSON text.
func clockless(text string) string { return numbers.ReplaceAllString(text, "$1:0") }

var numbers = regexp.MustCompile(`("(?:numInputRows|numOutputRows|startOffset|endOffset|latestOffset)"):\d+`)

func nonEmpty(text string) (out []string) {
	for _, l := range strings.Split(text, "\n") {
		if l != "" {
			out = append(out, l)
		}
	}
	return out
}

// compareLines compares lists of JSON texts; loose lists only as far as both go, and where figures depend on the
// clock only the form of all but the first.
func (p *textPlayer) compareLines(what string, got, want []string, loose bool) string {
	if loose {
		got, want = endFirst(got), endFirst(want)
		n := min(len(got), len(want))
		got, want = got[:n], want[:n]
	}
	compareJSON := func(a, b string, i int) string {
		if p.clocked && i > 0 {
			a, b = clockless(a), clockless(b)
		}
		return compareJSON(a, b)
	}
	for i := range max(len(got), len(want)) {
		switch {
		case i >= len(got):
			return fmt.Sprintf("%s lacks line %d: %s", what, i+1, want[i])
		case i >= len(want):
			return fmt.Sprintf("%s has more: %s", what, got[i])
		}
		if d := compareJSON(got[i], want[i], i); d != "" {
			return fmt.Sprintf("%s, line %d: %s\n  got  %s\n  want %s", what, i+1, d, got[i], want[i])
		}
	}
	return ""
}

var (
	customs   = regexp.MustCompile(`(?s)("numStateStoreInstances" : \d+),\s*"customMetrics" : \{[^}]*\}`)
	rates     = regexp.MustCompile(`\n *"(?:input|processed)RowsPerSecond" : [^\n]*`)
	described = regexp.MustCompile(`("description" : )"(?:[^"\\]|\\.)*"`)
	figures   = regexp.MustCompile(`\d+(\.\d+)?`)
)

// layoutOf is the layout of a pretty text: where lines break and what is punctuation.
func layoutOf(text string) string {
	text = described.ReplaceAllString(customs.ReplaceAllString(text, "$1"), "$1")
	text = address.ReplaceAllString(rates.ReplaceAllString(uuids.ReplaceAllString(text, "UUID"), ""), "@")
	return strings.ReplaceAll(figures.ReplaceAllString(text, "0"), ",\n", "\n")
}

// checkpointFiles renders a checkpoint as Spark's files, for comparing.
func checkpointFiles(dir string, retain int64, sources int) (map[string]string, error) {
	cp, err := store.Open(dir, store.Options{Durability: "process", MinBatchesToRetain: retain})
	if err != nil {
		return nil, err
	}
	defer cp.Close()
	files := map[string]string{}
	for name, text := range cp.Files(sources) {
		files[name] = text
	}
	return files, nil
}

// compareCheckpoint compares offsets, commits and source logs: forms, offsets, watermarks, pinned settings.
func compareCheckpoint(p *textPlayer) string {
	for _, s := range p.steps {
		if s.err != nil && get(asMap(p.player.steps()[s.number-1]), "crash") == nil {
			return fmt.Sprintf("step %d: %v", s.number, s.err)
		}
	}
	got, err := checkpointFiles(p.checkpoint(), p.retained(), 4)
	if err != nil {
		return err.Error()
	}
	for _, name := range nonEmpty(p.read("/files.txt")) {
		if strings.HasPrefix(name, "state/") {
			continue // state has a form of its own
		}
		want := p.read("/" + name)
		mine, ok := got[strings.TrimSuffix(name, ".compact")]
		if strings.HasSuffix(name, ".compact") {
			mine, ok = compacted(got, strings.TrimSuffix(name, ".compact"))
		}
		if !ok {
			return "lacks " + name
		}
		if d := compareEntry(name, p.away(mine), want); d != "" {
			return name + ": " + d
		}
	}
	return ""
}

// compacted joins the entries of a source log up to a number, as Spark's compaction does.
func compacted(files map[string]string, name string) (string, bool) {
	var n int
	dir := filepath.Dir(name)
	if _, err := fmt.Sscan(filepath.Base(name), &n); err != nil {
		return "", false
	}
	text := "v1"
	for i := range n + 1 {
		e, ok := files[fmt.Sprintf("%s/%d", dir, i)]
		if !ok {
			return "", false
		}
		text += strings.TrimPrefix(e, "v1")
	}
	return text, true
}

func compareEntry(name, got, want string) string {
	a, b := strings.Split(got, "\n"), strings.Split(want, "\n")
	if len(a) != len(b) {
		return fmt.Sprintf("%d lines, want %d:\n%s\n%s", len(a), len(b), got, want)
	}
	for i := range b {
		switch {
		case strings.HasPrefix(name, "offsets/") && i == 1:
			if d := compareMetadata(a[i], b[i]); d != "" {
				return d
			}
		case strings.HasPrefix(b[i], "{"):
			if d := compareJSON(a[i], b[i]); d != "" {
				return fmt.Sprintf("line %d: %s", i+1, d)
			}
		case digits.MatchString(a[i]) && digits.MatchString(b[i]) && strings.HasPrefix(name, "offsets/"): // seconds of the rate source
		case len(b) == 2 && i == 1 && timesOnly.MatchString(b[i]):
			if !timesOnly.MatchString(a[i]) {
				return fmt.Sprintf("line %d: %q, want a time", i+1, a[i])
			}
		case a[i] != b[i]:
			return fmt.Sprintf("line %d: %q, want %q", i+1, a[i], b[i])
		}
	}
	return ""
}

var (
	timesOnly = regexp.MustCompile(`^\d{13}$`)
	digits    = regexp.MustCompile(`^\d+$`)
)

// compareMetadata compares the second line of an offset entry. Of the pinned settings those count that both
// have: Spark pins formats of its own state too.
func compareMetadata(got, want string) string {
	var a, b struct {
		Watermark int64             `json:"batchWatermarkMs"`
		Timestamp int64             `json:"batchTimestampMs"`
		Conf      map[string]string `json:"conf"`
	}
	if err := json.Unmarshal([]byte(got), &a); err != nil {
		return err.Error()
	}
	if err := json.Unmarshal([]byte(want), &b); err != nil {
		return err.Error()
	}
	if a.Watermark != b.Watermark || a.Timestamp == 0 {
		return fmt.Sprintf("watermark %d at %d, want %d", a.Watermark, a.Timestamp, b.Watermark)
	}
	for _, k := range []string{"spark.sql.streaming.multipleWatermarkPolicy", "spark.sql.shuffle.partitions"} {
		if a.Conf[k] != b.Conf[k] {
			return fmt.Sprintf("%s is %q, want %q", k, a.Conf[k], b.Conf[k])
		}
	}
	return ""
}
