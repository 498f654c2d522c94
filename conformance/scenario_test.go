package conformance

import (
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/goccy/go-yaml"

	"streamlab/engine"
	"streamlab/errs"
	"streamlab/sinks"
	"streamlab/sql/types"
)

// A scenario file as it stands: ordered maps, because sources and views apply in order.
type doc = yaml.MapSlice

func get(m any, key string) any {
	for _, e := range asMap(m) {
		if fmt.Sprint(e.Key) == key {
			return e.Value
		}
	}
	return nil
}

func asMap(v any) doc {
	m, _ := v.(doc)
	return m
}

func asList(v any) []any {
	l, _ := v.([]any)
	return l
}

func str(v any) string {
	if v == nil {
		return ""
	}
	return fmt.Sprint(v)
}

var errCrash = errors.New("asked for by the scenario")

type player struct {
	name     string
	scenario doc
	work     string
	data     string // folder of {files: […]}
	home     string
	session  *engine.Session
	batches  []recordedBatch
	progress []engine.Progress
}

type recordedBatch struct {
	id   int64
	rows [][]any
}

// readScenario loads a scenario and its answer.
func readScenario(path string) (doc, map[string]any, error) {
	raw, err := os.ReadFile(path)
	if err != nil {
		return nil, nil, err
	}
	var s doc
	if err := yaml.UnmarshalWithOptions(raw, &s, yaml.UseOrderedMap()); err != nil {
		return nil, nil, err
	}
	golden, err := os.ReadFile(strings.TrimSuffix(path, ".yaml") + ".golden.json")
	if err != nil {
		return nil, nil, err
	}
	var g map[string]any
	dec := json.NewDecoder(bytes.NewReader(golden))
	dec.UseNumber()
	return s, g, dec.Decode(&g)
}

// away gives an error with the scenario's folder as $WORK in its parameters, as it was recorded.
func (p *player) away(err error) error {
	e := errs.As(err)
	if e == nil {
		return err
	}
	c := *e
	c.Params = make(map[string]string, len(e.Params))
	for k, v := range e.Params {
		c.Params[k] = strings.ReplaceAll(v, p.work, "$WORK")
	}
	return &c
}

func (p *player) here(s string) string { return strings.ReplaceAll(s, "$WORK", p.work) }

// play runs a scenario and returns what differs from the answer; "" is nothing.
func (p *player) play(ctx context.Context, golden map[string]any) (diff string, err error) {
	conf := map[string]string{"spark.sql.shuffle.partitions": "2", "spark.sql.session.timeZone": "UTC",
		"spark.sql.streaming.numRecentProgressUpdates": "1000", "streamlab.durability": "process"}
	p.session, err = engine.NewSession(engine.Config{Conf: conf, Dir: p.work, Out: io.Discard})
	if err != nil {
		return "", err
	}
	defer p.session.Close()
	for _, e := range asMap(get(p.scenario, "conf")) {
		if err := p.session.Conf().Set(fmt.Sprint(e.Key), str(e.Value)); err != nil {
			return "", err
		}
	}
	for _, s := range asList(get(p.scenario, "setup")) {
		if err := p.sql(ctx, p.here(str(s))); err != nil {
			return "", fmt.Errorf("setup: %w", err)
		}
	}
	steps := asList(get(p.scenario, "steps"))
	if steps == nil {
		steps = []any{doc{}}
	}
	answers := asList(golden["steps"])
	for i, s := range steps {
		if i >= len(answers) {
			break
		}
		step := asMap(s)
		want, _ := answers[i].(map[string]any)
		got, schema, err := p.step(ctx, step, i+1)
		if err != nil && errs.Has(err, "HARNESS") {
			return "", err
		}
		if d := p.compare(got, schema, err, want, golden); d != "" {
			return fmt.Sprintf("step %d: %s", i+1, d), nil
		}
		if want["error"] != nil && get(step, "continue") != true && get(step, "crash") == nil {
			break
		}
	}
	return "", nil
}

func (p *player) sql(ctx context.Context, text string) error {
	df, err := p.session.SQL(ctx, text)
	if err != nil {
		return err
	}
	if df.IsStreaming() {
		return nil
	}
	_, _, err = df.Collect(ctx)
	return err
}

func harness(format string, args ...any) error {
	return errs.New("HARNESS", "message", fmt.Sprintf(format, args...))
}

func (p *player) step(ctx context.Context, step doc, number int) (got []recordedBatch, schema string, err error) {
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
			return nil, "", err
		}
	}
	for _, k := range []string{"kafka", "uncommit", "edit", "mtime", "delete"} {
		if get(step, k) != nil {
			return nil, "", harness("steps with `%s` are not played", k)
		}
	}
	for _, e := range asMap(get(step, "add")) {
		name := fmt.Sprint(e.Key)
		if err := p.writeRows(name, asMap(get(get(p.scenario, "sources"), name)), e.Value, number); err != nil {
			return nil, "", err
		}
	}
	if err := p.putFiles(asMap(get(step, "files")), number); err != nil {
		return nil, "", err
	}
	for _, s := range asList(get(step, "sql")) {
		text, ok := s.(string)
		if !ok {
			return nil, "", harness("statements that are maps are not played")
		}
		_ = p.sql(ctx, p.here(text)) // its answer is compared where checks are; an error does not end the step
	}
	if get(step, "idle") == true {
		return nil, "", nil
	}
	p.batches, p.progress = nil, nil
	q, schema, err := p.start(ctx, asMap(get(step, "crash")))
	if err != nil {
		return nil, schema, err
	}
	if trigger := asMap(get(p.scenario, "trigger")); get(trigger, "processingTime") != nil {
		if err = q.ProcessAllAvailable(ctx); err == nil {
			err = q.Stop()
		}
	}
	if e := q.AwaitTermination(ctx); e != nil {
		err = e
	}
	p.progress = q.RecentProgress()
	if ctx.Err() != nil {
		_ = q.Stop()
		return nil, schema, harness("the query did not end in time")
	}
	return p.batches, schema, err
}

const epoch2026 = 1_767_225_600

func (p *player) writeRows(name string, source doc, rows any, step int) error {
	folder := filepath.Join(p.work, "in", name)
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	if files := asList(get(rows, "files")); files != nil {
		for i, f := range files {
			data, err := os.ReadFile(filepath.Join(p.data, str(f)))
			if err != nil {
				return harness("%v", err)
			}
			if err := publish(filepath.Join(folder, filepath.Base(str(f))), data, int64(epoch2026+step*10_000+i*10)); err != nil {
				return err
			}
		}
		return nil
	}
	format := str(get(source, "format"))
	if format == "" {
		format = "json"
	}
	var columns []string
	if s := str(get(source, "schema")); s != "" {
		schema, err := types.ParseDDL(s)
		if err != nil {
			return err
		}
		columns = schema.Names()
	}
	var b bytes.Buffer
	for _, r := range asList(rows) {
		if format == "json" {
			b.WriteString(rowJSON(r, columns))
		} else {
			b.WriteString(str(r))
		}
		b.WriteByte('\n')
	}
	return publish(filepath.Join(folder, fmt.Sprintf("part-%04d.%s", step, format)), b.Bytes(), int64(epoch2026+step*10))
}

func publish(path string, data []byte, stamp int64) error {
	tmp := filepath.Join(filepath.Dir(filepath.Dir(path)), filepath.Base(path)+".tmp")
	if err := os.WriteFile(tmp, data, 0o644); err != nil {
		return err
	}
	t := time.Unix(stamp, 0)
	if err := os.Chtimes(tmp, t, t); err != nil {
		return err
	}
	return os.Rename(tmp, path)
}

func rowJSON(r any, columns []string) string {
	if l, ok := r.([]any); ok {
		var b strings.Builder
		b.WriteByte('{')
		for i, v := range l {
			if i >= len(columns) {
				break
			}
			if i > 0 {
				b.WriteString(", ")
			}
			b.WriteString(quoteJSON(columns[i]) + ": " + jsonOf(v))
		}
		return b.String() + "}"
	}
	return jsonOf(r)
}

func quoteJSON(s string) string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(s)
	return strings.TrimSpace(b.String())
}

func jsonOf(v any) string {
	switch x := v.(type) {
	case doc:
		var parts []string
		for _, e := range x {
			parts = append(parts, quoteJSON(fmt.Sprint(e.Key))+": "+jsonOf(e.Value))
		}
		return "{" + strings.Join(parts, ", ") + "}"
	case []any:
		var parts []string
		for _, e := range x {
			parts = append(parts, jsonOf(e))
		}
		return "[" + strings.Join(parts, ", ") + "]"
	case string:
		return quoteJSON(x)
	case nil:
		return "null"
	case float64:
		b, err := json.Marshal(x)
		if err != nil {
			return map[string]string{"+Inf": "Infinity", "-Inf": "-Infinity", "NaN": "NaN"}[fmt.Sprint(x)]
		}
		if !bytes.ContainsAny(b, ".eE") {
			return string(b) + ".0"
		}
		return string(b)
	}
	b, _ := json.Marshal(v)
	return string(b)
}

func (p *player) putFiles(files doc, step int) error {
	for place, e := range files {
		target := filepath.Join(p.work, p.here(fmt.Sprint(e.Key)))
		if e.Value == nil {
			if err := os.RemoveAll(target); err != nil {
				return err
			}
			continue
		}
		content := asMap(e.Value)
		if t, ok := e.Value.(string); ok {
			content = doc{{Key: "text", Value: t}}
		}
		if get(content, "dir") == true {
			if err := os.MkdirAll(target, 0o755); err != nil {
				return err
			}
			continue
		}
		if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
			return err
		}
		var data []byte
		var err error
		switch {
		case get(content, "copy") != nil:
			data, err = os.ReadFile(filepath.Join(p.home, str(get(content, "copy"))))
		case get(content, "hex") != nil:
			data, err = hex.DecodeString(str(get(content, "hex")))
		default:
			data = []byte(p.here(str(get(content, "text"))))
		}
		if err != nil {
			return harness("%v", err)
		}
		if n, ok := number(jsonNumber(get(content, "times"))); ok {
			data = bytes.Repeat(data, int(n))
		}
		if err := os.WriteFile(target, data, 0o644); err != nil {
			return err
		}
		at := int64(step*10 + place)
		if n, ok := number(jsonNumber(get(content, "at"))); ok {
			at = int64(n)
		}
		t := time.Unix(epoch2026+at, 0)
		if err := os.Chtimes(target, t, t); err != nil {
			return err
		}
	}
	return nil
}

func jsonNumber(v any) any {
	if v == nil {
		return nil
	}
	return json.Number(fmt.Sprint(v))
}

func (p *player) define(ctx context.Context) error {
	s := p.session
	for _, e := range asMap(get(p.scenario, "sources")) {
		name, src := fmt.Sprint(e.Key), asMap(e.Value)
		format := str(get(src, "format"))
		if format == "" {
			format = "json"
		}
		if get(src, "table") != nil {
			return harness("tables as sources are not played")
		}
		static := get(src, "static") == true
		folder := filepath.Join(p.work, "in", name)
		path := str(get(src, "path"))
		isFile := path == "" && (format == "json" || format == "csv" || format == "text")
		if isFile {
			if err := os.MkdirAll(folder, 0o755); err != nil {
				return err
			}
			if static {
				if err := p.writeRows(name, src, get(src, "rows"), 0); err != nil {
					return err
				}
			}
			path = folder
		}
		var df *engine.DataFrame
		if static {
			r := s.Read().Format(format)
			if ddl := str(get(src, "schema")); ddl != "" {
				r = r.Schema(ddl)
			}
			for _, o := range asMap(get(src, "options")) {
				r = r.Option(fmt.Sprint(o.Key), p.here(str(o.Value)))
			}
			df = r.Load(ctx, p.here(path))
		} else {
			r := s.ReadStream().Format(format)
			if ddl := str(get(src, "schema")); ddl != "" {
				r = r.Schema(ddl)
			}
			for _, o := range asMap(get(src, "options")) {
				r = r.Option(fmt.Sprint(o.Key), p.here(str(o.Value)))
			}
			if path != "" {
				df = r.Load(p.here(path))
			} else {
				df = r.Load()
			}
		}
		if sel := asList(get(src, "select")); sel != nil {
			var texts []string
			for _, x := range sel {
				texts = append(texts, str(x))
			}
			df = df.SelectExpr(texts...)
		}
		if w := asMap(get(src, "watermark")); w != nil {
			df = df.WithWatermark(str(get(w, "column")), str(get(w, "delay")))
		}
		if err := df.CreateOrReplaceTempView(name); err != nil {
			return err
		}
	}
	for _, e := range asMap(get(p.scenario, "views")) {
		name := fmt.Sprint(e.Key)
		var df *engine.DataFrame
		var err error
		view := asMap(e.Value)
		switch {
		case view == nil:
			df, err = s.SQL(ctx, p.here(str(e.Value)))
		case get(view, "from") != nil:
			df, err = s.Table(str(get(view, "from")))
		default:
			df, err = s.SQL(ctx, p.here(str(get(view, "sql"))))
		}
		if err != nil {
			return err
		}
		if w := asMap(get(view, "watermark")); w != nil {
			df = df.WithWatermark(str(get(w, "column")), str(get(w, "delay")))
		}
		texts := func(v any) (out []string) {
			for _, x := range asList(v) {
				out = append(out, str(x))
			}
			return
		}
		for _, k := range view {
			switch k.Key {
			case "dropDuplicates":
				df = df.DropDuplicates(texts(k.Value)...)
			case "dropDuplicatesWithinWatermark":
				df = df.DropDuplicatesWithinWatermark(texts(k.Value)...)
			}
		}
		if err := df.CreateOrReplaceTempView(name); err != nil {
			return err
		}
	}
	return nil
}

func (p *player) start(ctx context.Context, crash doc) (*engine.StreamingQuery, string, error) {
	if err := p.define(ctx); err != nil {
		return nil, "", err
	}
	df, err := p.session.SQL(ctx, p.here(str(get(p.scenario, "query"))))
	if err != nil {
		return nil, "", err
	}
	schema := df.Schema().Simple()
	w := df.WriteStream()
	if m := str(get(p.scenario, "outputMode")); m != "default" && m != "" {
		w = w.OutputMode(m)
	}
	chk, has := "chk", false
	for _, e := range p.scenario {
		if e.Key == "checkpoint" {
			chk, has = str(e.Value), true
		}
	}
	if chk != "" || !has {
		w = w.Option("checkpointLocation", filepath.Join(p.work, chk))
	}
	trigger := engine.AvailableNow()
	for _, e := range asMap(get(p.scenario, "trigger")) {
		if trigger, err = engine.ParseTrigger(fmt.Sprint(e.Key), str(e.Value)); err != nil {
			return nil, schema, err
		}
	}
	w = w.Trigger(trigger)
	var sink doc
	switch s := get(p.scenario, "sink").(type) {
	case nil:
		sink = doc{{Key: "format", Value: "foreachBatch"}}
	case string:
		sink = doc{{Key: "format", Value: s}}
	case doc:
		sink = s
	}
	if by := asList(get(sink, "partitionBy")); by != nil {
		var cols []string
		for _, c := range by {
			cols = append(cols, str(c))
		}
		w = w.PartitionBy(cols...)
	}
	if get(sink, "table") != nil || get(sink, "statements") != nil {
		return nil, schema, harness("tables and statements as sinks are not played")
	}
	if str(get(sink, "format")) == "foreachBatch" {
		q, err := w.EachBatch(p.collector(df.Schema(), crash)).Start(ctx)
		return q, schema, err
	}
	name := strings.ReplaceAll(p.name, "-", "_")
	for _, e := range sink {
		if e.Key == "name" {
			name = str(e.Value)
		}
	}
	w = w.Format(str(get(sink, "format"))).QueryName(name)
	for _, o := range asMap(get(sink, "options")) {
		w = w.Option(fmt.Sprint(o.Key), p.here(str(o.Value)))
	}
	q, err := w.Start(ctx)
	if err != nil {
		return nil, schema, err
	}
	<-q.Done()
	for _, pr := range q.RecentProgress() {
		p.batches = append(p.batches, recordedBatch{id: pr.BatchID})
	}
	return q, schema, nil
}

func (p *player) collector(schema types.Schema, crash doc) engine.BatchWriter {
	return func(ctx context.Context, b sinks.Batch) error {
		at := str(get(crash, "batchId")) == fmt.Sprint(b.ID) && crash != nil
		where := str(get(crash, "where"))
		if at && (where == "before" || where == "") {
			return errCrash
		}
		var rows []arrow.RecordBatch
		err := sinks.Each(ctx, b, func(_ int, rb arrow.RecordBatch) error { rows = append(rows, rb); return nil })
		if err != nil {
			return err
		}
		p.batches = append(p.batches, recordedBatch{id: b.ID, rows: rowsOf(rows, schema)})
		if at && where == "after" {
			return errCrash
		}
		return nil
	}
}

// compare holds a step against its answer.
func (p *player) compare(got []recordedBatch, schema string, err error, want, golden map[string]any) string {
	wantErr, _ := want["error"].(map[string]any)
	if wantErr != nil {
		if err == nil {
			return "want the error " + str(wantErr["class"]) + ", got none"
		}
		if d := compareError(p.away(err), wantErr); d != "" {
			return d
		}
	} else if err != nil {
		return "unexpected error: " + err.Error()
	}
	if s := str(golden["schema"]); s != "" && schema != "" && (wantErr == nil || want["batches"] != nil) {
		if w := str(want["schema"]); w != "" {
			s = w
		}
		if schema != s {
			return fmt.Sprintf("schema\n  got  %s\n  want %s", schema, s)
		}
	}
	batches := asList(want["batches"])
	if want["batches"] == nil {
		return ""
	}
	if len(got) != len(batches) {
		var ids []int64
		for _, g := range got {
			ids = append(ids, g.id)
		}
		return fmt.Sprintf("%d batches %v, want %d", len(got), ids, len(batches))
	}
	ordered := get(p.scenario, "ordered") == true
	for i, b := range batches {
		w, _ := b.(map[string]any)
		if str(w["batchId"]) != fmt.Sprint(got[i].id) {
			return fmt.Sprintf("batch id %d, want %s", got[i].id, str(w["batchId"]))
		}
		if rows, ok := w["rows"].([]any); ok && !sameRows(got[i].rows, rows, ordered) {
			return fmt.Sprintf("batch %d rows\n  got  %s\n  want %s", got[i].id, showRows(got[i].rows), showRows(rows))
		}
		if d := p.compareProgress(got[i].id, w); d != "" {
			return fmt.Sprintf("batch %d %s", got[i].id, d)
		}
	}
	return ""
}

func (p *player) compareProgress(id int64, want map[string]any) string {
	ignored := map[string]bool{}
	for _, k := range asList(get(p.scenario, "ignore")) {
		ignored[str(k)] = true
	}
	var pr *engine.Progress
	for i := range p.progress {
		if x := &p.progress[i]; x.BatchID == id && (pr == nil || x.DurationMs["addBatch"] > 0 || hasKey(x.DurationMs, "addBatch")) {
			pr = x
		}
	}
	if pr == nil {
		if _, ok := want["numInputRows"]; ok {
			return "has no progress"
		}
		return ""
	}
	if w, ok := want["numInputRows"]; ok && !ignored["numInputRows"] && str(w) != fmt.Sprint(pr.NumInputRows) {
		return fmt.Sprintf("numInputRows %d, want %v", pr.NumInputRows, w)
	}
	if w, ok := want["watermark"]; ok && !ignored["watermark"] {
		if g := pr.EventTime["watermark"]; g != str(w) {
			return fmt.Sprintf("watermark %q, want %v", g, w)
		}
	}
	if w, ok := want["eventTime"].(map[string]any); ok && !ignored["eventTime"] {
		for k, v := range w {
			g := pr.EventTime[k]
			if g == str(v) {
				continue
			}
			if k == "avg" { // a running mean: within 1 ms
				a, e1 := time.Parse(engine.TimestampLayout, g)
				b, e2 := time.Parse(engine.TimestampLayout, str(v))
				if e1 == nil && e2 == nil && a.Sub(b).Abs() <= time.Millisecond {
					continue
				}
			}
			return fmt.Sprintf("eventTime %s %q, want %v", k, g, v)
		}
	}
	if w, ok := want["state"].([]any); ok && !ignored["state"] {
		var g []any
		for _, o := range pr.StateOperators {
			g = append(g, map[string]any{"operatorName": o.OperatorName, "numRowsTotal": float64(o.NumRowsTotal),
				"numRowsUpdated": float64(o.NumRowsUpdated), "numRowsRemoved": float64(o.NumRowsRemoved),
				"numRowsDroppedByWatermark": float64(o.NumRowsDroppedByWatermark)})
		}
		if len(g) != len(w) || !same(append([]any{}, g...), w) {
			return fmt.Sprintf("state\n  got  %s\n  want %s", show(g), show(w))
		}
	}
	if w, ok := want["sink"]; ok && w != nil && !ignored["sink"] && str(w) != fmt.Sprint(pr.Sink.NumOutputRows) {
		return fmt.Sprintf("sink rows %d, want %v", pr.Sink.NumOutputRows, w)
	}
	return ""
}

func hasKey(m map[string]int64, k string) bool { _, ok := m[k]; return ok }

func sameWords(a, b string) bool {
	x, y := strings.Split(a, ", "), strings.Split(b, ", ")
	sort.Strings(x)
	sort.Strings(y)
	return strings.Join(x, ", ") == strings.Join(y, ", ")
}

// skipParams hold plans or names of Java classes.
var skipParams = map[string]bool{"treeNode": true, "plan": true, "leftPlan": true, "rightPlan": true, "classCanonicalName": true}

// skipOf are parameters of one condition that are text or name Spark's classes.
var skipOf = map[string]string{"_LEGACY_ERROR_TEMP_3102": "msg", "_LEGACY_ERROR_TEMP_2242": "provider",
	"STREAMING_REAL_TIME_MODE.OPERATOR_OR_SINK_NOT_IN_ALLOWLIST": "message"}

func compareError(err error, want map[string]any) string {
	class := str(want["class"])
	if class == "" || class == "INTERNAL_ERROR" {
		return ""
	}
	e := errs.As(err)
	if e == nil {
		return fmt.Sprintf("error %v, want %s", err, class)
	}
	if e.Condition != class {
		return fmt.Sprintf("error %s (%v), want %s", e.Condition, err, class)
	}
	if s := str(want["sqlState"]); s != "" && e.SQLState != s {
		return fmt.Sprintf("SQLSTATE %q of %s, want %q", e.SQLState, class, s)
	}
	if class == "STREAM_FAILED" {
		if cause := str(want["cause"]); cause != "" && cause != "INTERNAL_ERROR" && !errs.Has(e.Err, cause) {
			return fmt.Sprintf("cause %v, want %s", e.Err, cause)
		}
		return ""
	}
	params, _ := want["parameters"].(map[string]any)
	for k, v := range params {
		if skipParams[k] || skipOf[class] == k {
			continue
		}
		if k == "proposal" && sameWords(e.Params[k], str(v)) {
			continue // Spark orders suggestions by likeness, then as it finds them
		}
		if e.Params[k] != withoutIDs(str(v)) {
			return fmt.Sprintf("parameter %s of %s\n  got  %s\n  want %s", k, class, e.Params[k], str(v))
		}
	}
	for k := range e.Params {
		if _, ok := params[k]; !ok {
			return fmt.Sprintf("the parameter %s of %s is none of Spark's", k, class)
		}
	}
	return ""
}
