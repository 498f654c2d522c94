//go:build cgo

package main

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"strings"

	"streamlab/errs"
)

// outputs are what --output takes.
var outputs = []string{"table", "wide", "json", "jsonl", "yaml", "csv", "name"}

// A field is a column of records: its name, and whether only -o wide and the machines' forms show it.
type field struct {
	name string
	wide bool
}

// fields makes columns of names; a name that begins with + is wide.
func fields(names ...string) (out []field) {
	for _, n := range names {
		w, wide := strings.CutPrefix(n, "+")
		out = append(out, field{w, wide})
	}
	return out
}

// records prints rows of typed values in the form that --output asks for, one by one where the form allows.
// A value is a text, a number, a boolean, nil, json.RawMessage, or anything that JSON can print.
type records struct {
	a    *app
	kind string
	cols []field
	rows [][]string
	csv  *csv.Writer
	n    int

	chosen []int // of --columns; nil: all
	all    int   // values that add gets then
	err    error // there is no such column
}

func (a *app) records(kind string, cols []field) *records {
	r := &records{a: a, kind: kind, cols: cols}
	if len(a.columns) == 0 {
		return r
	}
	names := make([]string, len(cols))
	for i, c := range cols {
		names[i] = c.name
	}
	r.chosen, r.err = a.chosen(names)
	r.all, r.cols = len(cols), nil
	for _, i := range r.chosen {
		r.cols = append(r.cols, field{name: cols[i].name})
	}
	return r
}

// add prints a row, or keeps it for end.
func (r *records) add(values ...any) error {
	if r.err != nil {
		return r.err
	}
	if r.chosen != nil && len(values) == r.all {
		some := make([]any, len(r.chosen))
		for i, c := range r.chosen {
			some[i] = values[c]
		}
		values = some
	}
	if len(values) != len(r.cols) {
		return errs.New("INTERNAL_ERROR", "message", fmt.Sprintf("a %s has %d values, want %d", r.kind, len(values), len(r.cols)))
	}
	r.n++
	switch r.a.output {
	case "json", "jsonl":
		return r.object(values)
	case "yaml":
		return r.yaml(values)
	case "csv":
		if r.csv == nil {
			r.csv = csv.NewWriter(r.a.out)
			if err := r.header(); err != nil {
				return err
			}
		}
		row := make([]string, len(values))
		for i, v := range values {
			row[i] = plainText(v)
		}
		return r.csv.Write(row)
	case "name":
		_, err := fmt.Fprintln(r.a.out, plainText(values[0]))
		return err
	}
	var row []string
	for i, v := range values {
		if r.shown(i) {
			t := plainText(v)
			if v == nil {
				t = "-"
			}
			row = append(row, t)
		}
	}
	r.rows = append(r.rows, row)
	return nil
}

func (r *records) shown(i int) bool { return !r.cols[i].wide || r.a.output == "wide" }

func (r *records) header() error {
	if r.a.noHeaders {
		return nil
	}
	names := make([]string, len(r.cols))
	for i, c := range r.cols {
		names[i] = c.name
	}
	return r.csv.Write(names)
}

// end prints what was kept.
func (r *records) end() error {
	if r.err != nil {
		return r.err
	}
	switch r.a.output {
	case "table", "wide":
		var names []string
		for i, c := range r.cols {
			if r.shown(i) {
				names = append(names, c.name)
			}
		}
		if r.a.noHeaders {
			return r.a.forEye(oneLines(r.rows))
		}
		return r.a.forEye(oneLines(append([][]string{names}, r.rows...)))
	case "csv":
		if r.csv == nil {
			r.csv = csv.NewWriter(r.a.out)
			if err := r.header(); err != nil {
				return err
			}
		}
		r.csv.Flush()
		return r.csv.Error()
	}
	return nil
}

// object prints a row as one JSON object, its fields in the order of the columns.
func (r *records) object(values []any) error {
	raw, err := jsonObject(r.kind, r.cols, values)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(r.a.out, "%s\n", raw)
	return err
}

func jsonObject(kind string, cols []field, values []any) ([]byte, error) {
	var b bytes.Buffer
	fmt.Fprintf(&b, `{"kind":%q,"version":1`, kind)
	for i, v := range values {
		raw, err := jsonOf(v)
		if err != nil {
			return nil, err
		}
		fmt.Fprintf(&b, `,%s:%s`, mustJSON(cols[i].name), raw)
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

func mustJSON(s string) []byte { raw, _ := jsonOf(s); return raw } // a text always has a form

func jsonOf(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimRight(b.Bytes(), "\n"), nil
}

// yaml prints a row as one document of a stream; values are in JSON's form, which is YAML's too.
func (r *records) yaml(values []any) error {
	if r.n > 1 {
		fmt.Fprintln(r.a.out, "---")
	}
	fmt.Fprintf(r.a.out, "kind: %s\nversion: 1\n", r.kind)
	for i, v := range values {
		raw, err := jsonOf(v)
		if err != nil {
			return err
		}
		if _, err := fmt.Fprintf(r.a.out, "%s: %s\n", yamlKey(r.cols[i].name), raw); err != nil {
			return err
		}
	}
	return nil
}

// yamlKey quotes a name that is not a plain word.
func yamlKey(name string) string {
	for i, c := range name {
		if c != '_' && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (i == 0 || c < '0' || c > '9') {
			return string(mustJSON(name))
		}
	}
	return name
}

// plainText is a value in a table or in CSV: a null is empty.
func plainText(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case string:
		return v
	case json.RawMessage:
		var s string
		if json.Unmarshal(v, &s) == nil && len(v) > 0 && v[0] == '"' {
			return s
		}
		if string(v) == "null" {
			return ""
		}
		return string(v)
	case fmt.Stringer:
		return v.String()
	}
	raw, err := jsonOf(v)
	if err != nil {
		return err.Error()
	}
	return string(raw)
}

// oneLines is rows whose cells are a line each.
func oneLines(rows [][]string) [][]string {
	for _, r := range rows {
		for i := range r {
			r[i] = oneLine(r[i])
		}
	}
	return rows
}
