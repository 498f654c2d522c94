package conformance

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"time"

	"streamlab/engine"
)

// compare holds a step against its answer; "" is alike.
func (p *player) compare(got outcome, want, golden map[string]any) string {
	if d := p.compareAnswers("statement", got.sql, asList(want["sql"])); d != "" {
		return d
	}
	wantErr, _ := want["error"].(map[string]any)
	if wantErr != nil {
		if got.err == nil {
			return "want the error " + str(wantErr["class"]) + ", got none"
		}
		if d := p.compareError(got.err, wantErr); d != "" {
			return d
		}
	} else if got.err != nil {
		return "unexpected error: " + got.err.Error()
	}
	if want["batches"] != nil {
		s := str(golden["schema"])
		if w := str(want["schema"]); w != "" {
			s = w
		}
		if got.started && got.schema != s {
			return fmt.Sprintf("schema\n  got  %s\n  want %s", got.schema, s)
		}
		if d := p.compareBatches(got.batches, asList(want["batches"])); d != "" {
			return d
		}
	}
	if d := p.compareAnswers("check", got.checks, asList(want["checks"])); d != "" {
		return d
	}
	if w, ok := want["tree"]; ok && !p.ignored["tree"] {
		if g := strings.Join(got.tree, "\n"); g != strings.Join(texts(w), "\n") {
			return fmt.Sprintf("tree\n  got  %s\n  want %s", got.tree, texts(w))
		}
	}
	if w, ok := want["texts"]; ok && !p.ignored["texts"] {
		return compareTexts(got.texts, asList(w))
	}
	return ""
}

func compareTexts(got, want []any) string {
	for i := range max(len(got), len(want)) {
		switch {
		case i >= len(want):
			return fmt.Sprintf("texts: more than wanted: %v", got[i])
		case i >= len(got):
			return fmt.Sprintf("texts: missing: %v", want[i])
		case !reflect.DeepEqual(got[i], want[i]):
			return fmt.Sprintf("texts\n  got  %q\n  want %q", got[i], want[i])
		}
	}
	return ""
}

func (p *player) compareBatches(got []recordedBatch, want []any) string {
	if len(got) != len(want) {
		ids := make([]int64, len(got))
		for i, g := range got {
			ids[i] = g.id
		}
		return fmt.Sprintf("%d batches %v, want %d", len(got), ids, len(want))
	}
	ordered := get(p.scenario, "ordered") == true
	for i, b := range want {
		w, _ := b.(map[string]any)
		if str(w["batchId"]) != fmt.Sprint(got[i].id) {
			return fmt.Sprintf("batch id %d, want %s", got[i].id, str(w["batchId"]))
		}
		if rows, ok := w["rows"].([]any); ok && !p.ignored["rows"] {
			mine := p.awayRows(got[i].rows.like(rows))
			if !sameRows(mine, rows, ordered) {
				return fmt.Sprintf("batch %d rows\n  got  %s\n  want %s", got[i].id, showRows(mine), showRows(rows))
			}
		}
		if d := p.compareProgress(got[i].id, w); d != "" {
			return fmt.Sprintf("batch %d %s", got[i].id, d)
		}
	}
	return ""
}

func (p *player) awayRows(rows [][]any) [][]any {
	for _, r := range rows {
		p.awayAll(r)
	}
	return rows
}

// compareProgress holds the progress report of a batch against the answer. A batch that did not end has none.
func (p *player) compareProgress(id int64, want map[string]any) string {
	var pr *engine.Progress
	for i := range p.progress {
		if x := &p.progress[i]; x.BatchID == id && (pr == nil || hasKey(x.DurationMs, "addBatch")) {
			pr = x
		}
	}
	_, reported := want["numInputRows"]
	if pr == nil || !reported {
		if reported {
			return "has no progress"
		}
		return ""
	}
	if w := want["numInputRows"]; !p.ignored["numInputRows"] && str(w) != fmt.Sprint(pr.NumInputRows) {
		return fmt.Sprintf("numInputRows %d, want %v", pr.NumInputRows, w)
	}
	if g := pr.EventTime["watermark"]; !p.ignored["watermark"] && g != str(want["watermark"]) {
		return fmt.Sprintf("watermark %q, want %v", g, want["watermark"])
	}
	if d := compareEventTime(pr.EventTime, want["eventTime"]); d != "" && !p.ignored["eventTime"] {
		return d
	}
	if w, ok := want["state"].([]any); ok && !p.ignored["state"] {
		g := []any{}
		for _, o := range pr.StateOperators {
			g = append(g, map[string]any{"operatorName": o.OperatorName, "numRowsTotal": float64(o.NumRowsTotal),
				"numRowsUpdated": float64(o.NumRowsUpdated), "numRowsRemoved": float64(o.NumRowsRemoved),
				"numRowsDroppedByWatermark": float64(o.NumRowsDroppedByWatermark)})
		}
		if !same(g, w) {
			return fmt.Sprintf("state\n  got  %s\n  want %s", show(g), show(w))
		}
	}
	if w := want["sink"]; w != nil && !p.ignored["sink"] && str(w) != fmt.Sprint(pr.Sink.NumOutputRows) {
		return fmt.Sprintf("sink rows %d, want %v", pr.Sink.NumOutputRows, w)
	}
	if w, ok := want["sources"].([]any); ok && !p.ignored["sources"] {
		return p.compareSources(pr, w)
	}
	return ""
}

func hasKey(m map[string]int64, k string) bool { _, ok := m[k]; return ok }

func compareEventTime(got map[string]string, want any) string {
	w, ok := want.(map[string]any)
	if !ok {
		return ""
	}
	for k := range got {
		if _, ok := w[k]; !ok && k != "watermark" {
			return fmt.Sprintf("eventTime has %s %q, want none", k, got[k])
		}
	}
	for k, v := range w {
		g := got[k]
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
	return ""
}

// compareSources compares what is said of each source; metrics in bytes are left out.
func (p *player) compareSources(pr *engine.Progress, want []any) string {
	got := []any{}
	for _, s := range pr.Sources {
		raw, err := s.MarshalJSON()
		if err != nil {
			return err.Error()
		}
		var all map[string]any
		dec := json.NewDecoder(strings.NewReader(p.away(uuids.ReplaceAllString(string(raw), "UUID"))))
		dec.UseNumber()
		if err := dec.Decode(&all); err != nil {
			return err.Error()
		}
		m := map[string]any{"metrics": map[string]any{}}
		for _, k := range []string{"description", "startOffset", "endOffset", "latestOffset", "numInputRows"} {
			m[k] = all[k]
		}
		for k, v := range asObject(all["metrics"]) {
			if !strings.Contains(k, "Bytes") {
				asObject(m["metrics"])[k] = v
			}
		}
		got = append(got, m)
	}
	if p.ignored["numInputRows"] {
		for i := range got {
			if i < len(want) {
				asObject(got[i])["numInputRows"] = asObject(want[i])["numInputRows"]
			}
		}
	}
	if !same(got, want) {
		return fmt.Sprintf("sources\n  got  %s\n  want %s", show(got), show(want))
	}
	return ""
}

func asObject(v any) map[string]any {
	m, _ := v.(map[string]any)
	return m
}

func (p *player) compareAnswers(what string, got []answer, want []any) string {
	if len(got) != len(want) {
		if want == nil {
			return ""
		}
		return fmt.Sprintf("%d answers to %ss, want %d", len(got), what, len(want))
	}
	for i, g := range got {
		if d := p.compareAnswer(g, asObject(want[i])); d != "" {
			return fmt.Sprintf("%s %d, %s: %s", what, i+1, g.text, d)
		}
	}
	return ""
}

func (p *player) compareAnswer(got answer, want map[string]any) string {
	if e := asObject(want["error"]); e != nil {
		if got.err == nil {
			return "want the error " + str(e["class"]) + ", got none"
		}
		return p.compareError(got.err, e)
	}
	if got.err != nil {
		return "unexpected error: " + got.err.Error()
	}
	if h, ok := want["history"].([]any); ok {
		return p.compareHistory(got.history, h)
	}
	if l, ok := want["log"].([]any); ok {
		return compareLog(got.log, l)
	}
	rows, ok := want["rows"].([]any)
	if !ok {
		return ""
	}
	if s := str(want["schema"]); s != got.schema {
		return fmt.Sprintf("schema\n  got  %s\n  want %s", got.schema, s)
	}
	if mine := p.awayRows(got.rows.like(rows)); !sameRows(mine, rows, orderBy.MatchString(got.text)) {
		return fmt.Sprintf("rows\n  got  %s\n  want %s", showRows(mine), showRows(rows))
	}
	return ""
}

// compareHistory compares the entries of DESCRIBE HISTORY; how many files there are depends on how many tasks
// Spark had.
func (p *player) compareHistory(got, want []any) string {
	for _, list := range [][]any{got, want} {
		for _, e := range list {
			m := asObject(asObject(e)["operationMetrics"])
			for k := range m {
				if strings.Contains(k, "Files") {
					delete(m, k)
				}
			}
		}
	}
	for i := range max(len(got), len(want)) {
		switch {
		case i >= len(got):
			return "history lacks " + show(want[i])
		case i >= len(want):
			return "history has " + show(got[i])
		}
		for k, w := range asObject(want[i]) {
			if g := asObject(got[i])[k]; !p.ignored[k] && !same(g, w) {
				return fmt.Sprintf("history %d %s\n  got  %s\n  want %s", i, k, show(g), show(w))
			}
		}
	}
	return ""
}

func compareLog(got, want []any) string {
	for i := range max(len(got), len(want)) {
		switch {
		case i >= len(got):
			return "log lacks " + show(want[i])
		case i >= len(want):
			return "log has " + show(got[i])
		}
		g, w := asObject(got[i]), asObject(want[i])
		if !same(g["version"], w["version"]) {
			return fmt.Sprintf("log has version %v, want %v", g["version"], w["version"])
		}
		mine, theirs := asList(g["actions"]), asList(w["actions"])
		for k := range max(len(mine), len(theirs)) {
			if k >= len(mine) || k >= len(theirs) {
				return fmt.Sprintf("version %v has %d actions, want %d", w["version"], len(mine), len(theirs))
			}
			x := mine[k]
			if _, raw := theirs[k].(string); !raw {
				var v any
				dec := json.NewDecoder(strings.NewReader(str(x)))
				dec.UseNumber()
				if err := dec.Decode(&v); err != nil {
					return err.Error()
				}
				x = v
			}
			if !same(x, theirs[k]) {
				return fmt.Sprintf("version %v action %d\n  got  %s\n  want %s", w["version"], k, show(x), show(theirs[k]))
			}
		}
	}
	return ""
}
