package conformance

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"sort"
	"strconv"
	"strings"

	"streamlab/engine"
)

// An answer is what a check or a statement of a step gave.
type answer struct {
	text    string // the check as text, which says whether rows have an order
	schema  string // "" for what has no rows: history, log, write
	rows    result
	history []any
	log     []any
	err     error
}

// answers asks the checks, one after the other; an error does not end them.
func (p *player) answers(ctx context.Context, list []any) (out []answer) {
	for _, c := range list {
		m := asMap(c)
		a := answer{text: fmt.Sprint(c)}
		switch {
		case m == nil:
			a = p.ask(ctx, p.session, str(c))
		case has(m, "history"):
			a.history, a.err = p.history(ctx, str(get(m, "history")))
		case has(m, "log"):
			a.log, a.err = p.log(str(get(m, "log")), whole(get(m, "from"), 0))
		case has(m, "read"), has(m, "sql"):
			a = p.view(ctx, m)
		default:
			a.err = p.act(ctx, p.session, c, -1)
		}
		a.text = fmt.Sprint(c)
		out = append(out, a)
	}
	return out
}

// ask runs one SQL text and gives its rows.
func (p *player) ask(ctx context.Context, s *engine.Session, text string) answer {
	df, err := s.SQL(ctx, p.here(text))
	if err != nil {
		return answer{err: err}
	}
	return collect(ctx, df)
}

func collect(ctx context.Context, df *engine.DataFrame) answer {
	if df.Err() != nil {
		return answer{err: df.Err()}
	}
	a := answer{schema: df.Schema().Simple()}
	rows, schema, err := df.Collect(ctx)
	if err != nil {
		return answer{schema: a.schema, err: err}
	}
	a.rows = result{schema, rows}
	return a
}

// view asks `query` over the view `read`, which is a table read or the answer of a statement.
func (p *player) view(ctx context.Context, m doc) answer {
	var df *engine.DataFrame
	var err error
	if r := asMap(get(m, "read")); r != nil {
		src := append(doc{{Key: "static", Value: true}}, r...)
		if !has(r, "format") {
			src = append(src, doc{{Key: "format", Value: "delta"}}...)
		}
		df, err = p.read(ctx, p.session, "read", src)
	} else {
		df, err = p.session.SQL(ctx, p.here(str(get(m, "sql"))))
	}
	if err == nil {
		err = df.CreateOrReplaceTempView("read")
	}
	if err != nil {
		return answer{err: err}
	}
	if q := str(get(m, "query")); q != "" {
		return p.ask(ctx, p.session, q)
	}
	return collect(ctx, df)
}

// varying are metrics that depend on the clock, on bytes, or on how many tasks wrote.
var varying = regexp.MustCompile(`Ms$|Bytes|[Ss]ize`)

// history is DESCRIBE HISTORY without what differs from run to run.
func (p *player) history(ctx context.Context, table string) ([]any, error) {
	df, err := p.session.SQL(ctx, "DESCRIBE HISTORY "+p.here(table))
	if err != nil {
		return nil, err
	}
	a := collect(ctx, df)
	if a.err != nil {
		return nil, a.err
	}
	names := df.Schema().Names()
	out := []any{}
	for _, row := range rowsOf(a.rows.list, a.rows.schema) {
		e := map[string]any{"operationParameters": map[string]any{}, "operationMetrics": map[string]any{}}
		for i, n := range names {
			switch n {
			case "version", "operation", "readVersion", "isolationLevel", "isBlindAppend", "userMetadata":
				e[n] = row[i]
			case "operationParameters":
				e[n] = pairs(row[i], func(k string, v any) (any, bool) {
					if v == nil {
						return "null", true
					}
					return columnIDs.ReplaceAllString(uuids.ReplaceAllString(p.away(fmt.Sprint(v)), "UUID"), "#n"), true
				})
			case "operationMetrics":
				e[n] = pairs(row[i], func(k string, v any) (any, bool) { return v, !varying.MatchString(k) })
			}
		}
		out = append(out, any(e))
	}
	return out, nil
}

// pairs turns a map value into a JSON object.
func pairs(v any, each func(k string, v any) (any, bool)) map[string]any {
	out := map[string]any{}
	m, _ := v.(map[string]any)
	list, _ := m["map"].([]any)
	for _, x := range list {
		kv, _ := x.([]any)
		if len(kv) == 2 {
			if w, keep := each(fmt.Sprint(kv[0]), kv[1]); keep {
				out[fmt.Sprint(kv[0])] = w
			}
		}
	}
	return out
}

var logMasks = []struct {
	re   *regexp.Regexp
	with string
}{
	{uuids, "UUID"}, {columnIDs, "#n"},
	{regexp.MustCompile(`("(?:timestamp|inCommitTimestamp|modificationTime|createdTime|deletionTimestamp|lastUpdated|size)"):\d+`), "$1:0"},
	{regexp.MustCompile(`("[A-Za-z0-9]*(?:Ms|Bytes[A-Za-z]*|[Ss]ize[A-Za-z]*)"):"\d+"`), `$1:"0"`},
	{regexp.MustCompile(`("pathOrInlineDv"):"[^"]*"`), `$1:"DV"`},
	{regexp.MustCompile(`("path":")[A-Za-z0-9]{2}/`), "${1}XX/"},
	{regexp.MustCompile(`("engineInfo"):"[^"]*"`), `$1:"ENGINE"`},
}

// log gives the lines of a Delta table's commits, masked.
func (p *player) log(table string, first int64) ([]any, error) {
	files, err := filepath.Glob(filepath.Join(p.here(table), "_delta_log", "*[0-9].json"))
	if err != nil {
		return nil, err
	}
	sort.Strings(files)
	out := []any{}
	for _, f := range files {
		v, err := strconv.ParseInt(filepath.Base(f)[:20], 10, 64)
		if err != nil {
			return nil, err
		}
		if v < first {
			continue
		}
		data, err := os.ReadFile(f)
		if err != nil {
			return nil, err
		}
		actions := []any{}
		for _, line := range strings.Split(string(data), "\n") {
			if strings.TrimSpace(line) == "" {
				continue
			}
			for _, m := range logMasks {
				line = m.re.ReplaceAllString(line, m.with)
			}
			actions = append(actions, p.away(line))
		}
		out = append(out, map[string]any{"version": json.Number(fmt.Sprint(v)), "actions": actions})
	}
	return out, nil
}
