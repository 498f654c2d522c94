package conformance

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"sort"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"

	"streamlab/codec"
	"streamlab/columnar"
	"streamlab/engine"
	"streamlab/errs"
	"streamlab/sinks"
	"streamlab/sinks/console"
	"streamlab/sources"
	"streamlab/sql/types"
)

// entry is one recorded line, or what to do before the next.
type entry struct {
	Run      string          `json:"run"`
	Set      json.RawMessage `json:"set"`
	Reset    json.RawMessage `json:"reset"`
	Bind     json.RawMessage `json:"bind"`
	SQL      string          `json:"sql"`
	Verbatim bool            `json:"verbatim"`
	Schema   string          `json:"schema"`
	Rows     []any           `json:"rows"`
	Show     []string        `json:"show"`
	Error    map[string]any  `json:"error"`
	line     int             // in the family's text, from 1
}

var statement = regexp.MustCompile(`(?i)^(SELECT|WITH|VALUES|FROM|SHOW|DESCRIBE|DESC|EXPLAIN|TABLE|CREATE|DROP|ALTER|INSERT|MERGE|UPDATE|DELETE|TRUNCATE|USE` +
	`|REFRESH|CACHE|UNCACHE|DECLARE|EXECUTE|BEGIN|ANALYZE|COMMENT)\b`)

// A miss is a recorded line that is answered otherwise.
type miss struct {
	line      int
	sql, diff string
}

// TestExpressions plays the recorded lines. exceptions.txt lists the lines of a family that are answered
// otherwise, one by one, as "expressions/<family>:<line>: reason"; a listed line that passes fails the test.
// -list prints what fails in that form.
func TestExpressions(t *testing.T) {
	if *dirFlag != "" {
		t.Skip("only scenarios are asked for")
	}
	root, foreign := "expressions", false
	if *exprFlag != "" {
		root, foreign = *exprFlag, true
	}
	files, err := filepath.Glob(filepath.Join(root, "*.golden.json"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no recorded expressions in %s: %v", root, err)
	}
	sort.Strings(files)
	listed := exceptions(t)
	passed, failed := 0, 0
	for _, f := range files {
		family := strings.TrimSuffix(filepath.Base(f), ".golden.json")
		t.Run(family, func(t *testing.T) {
			known := map[int]string{}
			for name, reason := range listed {
				if rest, ok := strings.CutPrefix(name, "expressions/"+family+":"); ok && !foreign {
					n, err := strconv.Atoi(rest)
					if err != nil {
						t.Errorf("exceptions.txt: %q is no line of a family", name)
					}
					known[n] = reason
				}
			}
			good, bad := playFamily(t, f)
			passed += good
			failed += len(bad)
			for _, b := range bad {
				switch reason := known[b.line]; {
				case *listFlag:
					diff, _, _ := strings.Cut(b.diff, "\n")
					fmt.Printf("expressions/%s:%d: %s\n", family, b.line, diff)
				case reason == "":
					t.Errorf("%s:%d: %s\n  %s", family, b.line, b.sql, b.diff)
				default:
					t.Logf("known (%s): %s:%d: %s\n  %s", reason, family, b.line, b.sql, b.diff)
				}
				delete(known, b.line)
			}
			for n, reason := range known {
				if !*listFlag && !strings.HasPrefix(reason, "sometimes: ") {
					t.Errorf("%s:%d passes, but exceptions.txt lists it: %s", family, n, reason)
				}
			}
		})
	}
	fmt.Printf("%d passed, %d failed\n", passed, failed)
}

// numberLines gives every asked entry its line in the family's text, which stands beside the answers; without
// the text they are numbered as they come.
func numberLines(file string, list []entry) error {
	n, held := 0, false
	var lines []int
	raw, err := os.ReadFile(strings.TrimSuffix(file, ".golden.json") + ".txt")
	for i, text := range strings.Split(string(raw), "\n") {
		text = strings.TrimSuffix(text, "\r")
		first := !held
		held = strings.HasSuffix(text, "\\")
		trimmed := strings.TrimSpace(text)
		if !first || trimmed == "" || strings.HasPrefix(trimmed, "#") {
			held = held && trimmed != "" && !(first && strings.HasPrefix(trimmed, "#"))
			continue
		}
		if !directive.MatchString(text) {
			lines = append(lines, i+1)
		}
	}
	for i := range list {
		if list[i].SQL == "" && !list[i].Verbatim {
			continue
		}
		if n++; err != nil {
			list[i].line = n
		} else if n > len(lines) {
			return fmt.Errorf("%s: more answers than lines", file)
		} else {
			list[i].line = lines[n-1]
		}
	}
	if err == nil && n != len(lines) {
		return fmt.Errorf("%s: %d answers to %d lines", file, n, len(lines))
	}
	return nil
}

// directive matches the lines of a family that are not asked.
var directive = regexp.MustCompile(`^(set .*=|run |bind [{\[]|show (on|off)\s*$|\s*(reset|plain)\s*$)`)

func playFamily(t *testing.T, file string) (good int, bad []miss) {
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var list []entry
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	if err := dec.Decode(&list); err != nil {
		t.Fatal(err)
	}
	if err := numberLines(file, list); err != nil {
		t.Fatal(err)
	}
	s, err := engine.NewSession(engine.Config{Dir: t.TempDir(), Out: io.Discard, Conf: map[string]string{"spark.sql.shuffle.partitions": "2"}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	set := map[string]bool{}
	var params engine.Params
	for _, e := range list {
		switch {
		case e.Run != "":
			if err := runText(s, e.Run); err != nil {
				t.Logf("run %s: %v", e.Run, err)
			}
		case e.Set != nil:
			var m map[string]any
			var text string
			if json.Unmarshal(e.Set, &m) == nil {
				for k, v := range m {
					_ = s.Conf().Set(k, fmt.Sprint(v))
					set[k] = true
				}
			} else if json.Unmarshal(e.Set, &text) == nil {
				k, v, _ := strings.Cut(text, "=")
				_ = s.Conf().Set(strings.TrimSpace(k), strings.TrimSpace(v))
				set[strings.TrimSpace(k)] = true
			}
		case e.Reset != nil:
			for k := range set {
				s.Conf().Unset(k)
			}
		case e.Bind != nil:
			params = paramsOf(e.Bind)
		case e.SQL != "" || e.Verbatim:
			if d := playLine(s, e, params); d != "" {
				bad = append(bad, miss{e.line, e.SQL, d})
			} else {
				good++
			}
		}
	}
	return good, bad
}

func runText(s *engine.Session, text string) error {
	df, err := s.SQL(context.Background(), text)
	if err != nil || df.IsStreaming() {
		return err
	}
	_, _, err = df.Collect(context.Background())
	return err
}

// paramsOf reads the values of markers: an object by name, a list by position.
func paramsOf(raw json.RawMessage) (p engine.Params) {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var v any
	if dec.Decode(&v) != nil {
		return
	}
	switch x := v.(type) {
	case map[string]any:
		p.Named = map[string]any{}
		for k, v := range x {
			p.Named[k] = param(v)
		}
	case []any:
		for _, v := range x {
			p.Positional = append(p.Positional, param(v))
		}
	}
	return
}

func param(v any) any {
	n, ok := v.(json.Number)
	if !ok {
		return v
	}
	if i, err := n.Int64(); err == nil {
		return i
	}
	f, _ := n.Float64()
	return f
}

func playLine(s *engine.Session, e entry, params engine.Params) (diff string) {
	defer func() {
		if r := recover(); r != nil {
			diff = fmt.Sprintf("panic: %v", r)
		}
	}()
	text := e.SQL
	if !e.Verbatim && !statement.MatchString(text) {
		text = "SELECT " + text
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	df, err := s.SQLWith(ctx, text, params)
	var batches []arrow.RecordBatch
	var schema types.Schema
	analysed := err == nil
	if err == nil {
		schema = df.Schema()
		if !df.IsStreaming() || e.Rows != nil || e.Error != nil {
			batches, _, err = df.Collect(ctx)
		}
	}
	if analysed && e.Schema != "" && withoutIDs(schema.Simple()) != withoutIDs(e.Schema) && (err == nil || e.Error != nil) {
		return fmt.Sprintf("schema\n    got  %s\n    want %s", schema.Simple(), e.Schema)
	}
	if e.Error != nil {
		if err == nil {
			return "want the error " + str(e.Error["class"]) + ", got rows " + showRows(rowsOf(batches, schema))
		}
		if d := compareExprError(err, e.Error); d != "" {
			return d
		}
		return comparePlace(err, e.Error)
	}
	if err != nil {
		return "unexpected error: " + err.Error()
	}
	zone, err := engine.ParseZone(s.Conf().Get("spark.sql.session.timeZone"))
	if err != nil {
		return err.Error()
	}
	rows := rowsOf(batches, schema)
	if asText(e.Rows) {
		rows = textRowsOf(batches, schema, zone)
	}
	if e.Rows != nil && !sameRows(rows, e.Rows, orderBy.MatchString(e.SQL)) {
		return fmt.Sprintf("rows\n    got  %s\n    want %s", showRows(rows), showRows(e.Rows))
	}
	if e.Show != nil {
		table, err := shown(ctx, batches, schema, zone)
		if want := strings.Join(e.Show, "\n"); err != nil || table != want {
			return fmt.Sprintf("show (%v)\n%s\n    want\n%s", err, table, want)
		}
	}
	return ""
}

// withoutIDs removes the numbers that Spark gives to columns as it meets them.
func withoutIDs(s string) string { return exprID.ReplaceAllString(s, "") }

var exprID = regexp.MustCompile(`#(?:\d+L?|[nN]\b)`)

var orderBy = regexp.MustCompile(`(?i)\border\s+by\b`)

// asText reports whether the recording program had no values for some column of rows and so recorded all
// dates, times and intervals as their cast to string.
func asText(rows []any) bool {
	for _, r := range rows {
		row, _ := r.([]any)
		for _, v := range row {
			if m, ok := v.(map[string]any); ok && len(m) == 1 && m["text"] != nil {
				return true
			}
		}
	}
	return false
}

// textRowsOf is rowsOf with columns that hold dates, timestamps or intervals as the cast to string.
func textRowsOf(batches []arrow.RecordBatch, s types.Schema, zone *time.Location) [][]any {
	rows := rowsOf(batches, s)
	n := 0
	for _, rb := range batches {
		vs := columnar.Vectors(rb, s)
		for i := range int(rb.NumRows()) {
			for j := range vs {
				simple := vs[j].Type.Simple()
				if rows[n][j] != nil && (strings.Contains(simple, "date") || strings.Contains(simple, "timestamp") || strings.Contains(simple, "interval")) {
					text := string(codec.AppendDisplay(nil, &vs[j], i, zone))
					if vs[j].Type.Kind == types.Array || vs[j].Type.Kind == types.Map || vs[j].Type.Kind == types.Struct {
						text = strings.ReplaceAll(text, "NULL", "null") // the only difference between show and cast
					}
					rows[n][j] = map[string]any{"text": text}
				}
			}
			n++
		}
	}
	return rows
}

// shown is what Dataset.show prints, by the console sink, whose table is the same.
func shown(ctx context.Context, batches []arrow.RecordBatch, s types.Schema, zone *time.Location) (string, error) {
	var out bytes.Buffer
	sink, err := console.New(sinks.Def{Out: &out, Zone: zone, Options: sources.Options{"truncate": "false"}})
	if err != nil {
		return "", err
	}
	defer sink.Close()
	parts := []columnar.Partition{columnar.Batches{List: batches}}
	if err := sink.AddBatch(ctx, sinks.Batch{Schema: s, Parts: parts}); err != nil {
		return "", err
	}
	text := out.String()
	return strings.TrimSuffix(text[strings.Index(text, "+"):], "\n"), nil
}

// comparePlace compares where an error stands, in line and column from 0.
func comparePlace(err error, want map[string]any) string {
	at, _ := want["at"].([]any)
	if len(at) != 2 {
		return ""
	}
	got := ""
	if e := errs.As(err); e != nil {
		got = fmt.Sprintf("%d %d", e.Pos.Line, e.Pos.Col-1)
	}
	if w := fmt.Sprintf("%v %v", at[0], at[1]); got != w {
		return fmt.Sprintf("place of %s: got %s, want %s", str(want["class"]), got, w)
	}
	return ""
}

// compareExprError is compareError, with the innermost cause for errors of running statements.
func compareExprError(err error, want map[string]any) string {
	d := compareError(err, want)
	if d == "" {
		return ""
	}
	if e := errs.As(err); e != nil && e.Err != nil && compareError(e.Err, want) == "" {
		return ""
	}
	return d
}
