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
	"strings"
	"testing"
	"time"

	"streamlab/engine"
	"streamlab/errs"
)

// entry is one recorded line, or what to do before the next.
type entry struct {
	Run      string            `json:"run"`
	Set      json.RawMessage   `json:"set"`
	Reset    json.RawMessage   `json:"reset"`
	Bind     json.RawMessage   `json:"bind"`
	SQL      string            `json:"sql"`
	Verbatim bool              `json:"verbatim"`
	Schema   string            `json:"schema"`
	Rows     []any             `json:"rows"`
	Error    map[string]any    `json:"error"`
	Conf     map[string]string `json:"-"`
}

var statement = regexp.MustCompile(`(?i)^(SELECT|WITH|VALUES|FROM|SHOW|DESCRIBE|DESC|EXPLAIN|TABLE|CREATE|DROP|ALTER|INSERT|MERGE|UPDATE|DELETE|TRUNCATE|USE` +
	`|REFRESH|CACHE|UNCACHE|DECLARE|EXECUTE|BEGIN|ANALYZE|COMMENT)\b`)

// TestExpressions plays the recorded lines. exceptions.txt lists what a family may miss as
// "expressions/<family>: at most N lines, reason"; a family that does better must have its number lowered.
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
			good, bad := playFamily(t, f)
			passed += good
			failed += len(bad)
			allowed := 0
			if r := listed["expressions/"+family]; r != "" {
				fmt.Sscanf(r, "at most %d lines", &allowed)
			}
			switch {
			case foreign || len(bad) > allowed:
				for _, b := range bad {
					t.Error(b)
				}
				if !foreign {
					t.Errorf("%d lines differ, %d are known", len(bad), allowed)
				}
			case len(bad) < allowed-2: // a line or two may depend on the machine's clock
				t.Errorf("only %d lines differ: lower the number in exceptions.txt from %d", len(bad), allowed)
			default:
				for _, b := range bad {
					t.Log("known: " + b)
				}
			}
		})
	}
	fmt.Printf("%d passed, %d failed\n", passed, failed)
}

func playFamily(t *testing.T, file string) (good int, bad []string) {
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
		case e.SQL != "":
			if d := playLine(s, e, params); d != "" {
				bad = append(bad, e.SQL+"\n  "+d)
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
	var rows [][]any
	schema := ""
	if err == nil {
		schema = df.Schema().Simple()
		if !df.IsStreaming() || e.Rows != nil {
			batches, types, cerr := df.Collect(ctx)
			err = cerr
			if err == nil {
				rows = rowsOf(batches, types)
			}
		}
	}
	if e.Error != nil {
		if err == nil {
			return "want the error " + str(e.Error["class"]) + ", got rows " + showRows(rows)
		}
		if e.Error["class"] == nil {
			return ""
		}
		return compareExprError(err, e.Error)
	}
	if err != nil {
		return "unexpected error: " + err.Error()
	}
	if e.Schema != "" && schema != e.Schema {
		return fmt.Sprintf("schema\n    got  %s\n    want %s", schema, e.Schema)
	}
	if e.Rows != nil && !sameRows(rows, e.Rows, strings.Contains(strings.ToUpper(text), "ORDER BY")) {
		return fmt.Sprintf("rows\n    got  %s\n    want %s", showRows(rows), showRows(e.Rows))
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
