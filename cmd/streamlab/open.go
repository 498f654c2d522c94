//go:build cgo

package main

import (
	"context"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"streamlab/engine"
	"streamlab/errs"
	"streamlab/lab"
)

// settings are the --conf flags.
func (a *app) settings() (map[string]string, error) {
	m := map[string]string{}
	for _, kv := range a.conf {
		k, v, ok := strings.Cut(kv, "=")
		if !ok || strings.TrimSpace(k) == "" {
			return nil, errs.New("LAB_VALUE", "key", "--conf", "expected", "KEY=VALUE")
		}
		m[k] = v
		a.warnOfSetting(k)
	}
	return m, nil
}

// warnOfSetting says once of a setting that nothing reads that it does nothing. Spark takes any name without a
// word, and so does a session here; on a command line it is mostly a slip.
func (a *app) warnOfSetting(key string) {
	best, known := engine.NearestSetting(key)
	if known || a.warned[key] {
		return
	}
	if a.warned == nil {
		a.warned = map[string]bool{}
	}
	a.warned[key] = true
	fmt.Fprintf(a.err, "warning: nothing reads the setting %s\n", key)
	if best != "" {
		fmt.Fprintf(a.err, "  try: %s\n", best)
	}
}

// open reads and opens a lab; nothing is started.
func (a *app) open(ctx context.Context, path string) (*lab.Workbench, error) {
	return a.openWith(ctx, path, engine.Config{Out: a.out})
}

func (a *app) openWith(ctx context.Context, path string, c engine.Config) (*lab.Workbench, error) {
	l, err := a.load(path)
	if err != nil {
		return nil, err
	}
	if c.Conf, err = a.settings(); err != nil {
		return nil, err
	}
	w, err := lab.Open(ctx, l, c)
	if err == nil {
		w.Trusted = a.trusted(l)
	}
	return w, err
}

func (a *app) load(path string) (*lab.Lab, error) {
	p, err := a.find(path)
	if err != nil {
		return nil, err
	}
	return lab.Load(p)
}

func (a *app) json(w io.Writer, v any) {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(v)
}

// table prints rows in the form that --output asks for. kind names the objects of JSON.
func (a *app) table(kind string, columns []string, rows [][]string) error {
	return a.tableOf(kind, columns, rows, func(int, int) bool { return false })
}

// tableOf is table of rows with SQL nulls: null in JSON, nothing in CSV, NULL for the eye.
func (a *app) tableOf(kind string, columns []string, rows [][]string, isNull func(row, column int) bool) error {
	switch a.output {
	case "json", "jsonl":
		for n, r := range rows {
			m := map[string]any{"kind": kind, "version": 1}
			for i, c := range columns {
				m[c] = r[i]
				if isNull(n, i) {
					m[c] = nil
				}
			}
			a.json(a.out, m)
		}
		return nil
	case "yaml":
		cols := make([]field, len(columns))
		for i, c := range columns {
			cols[i].name = c
		}
		out := a.records(kind, cols)
		for n, r := range rows {
			values := make([]any, len(r))
			for i, t := range r {
				if !isNull(n, i) {
					values[i] = t
				}
			}
			if err := out.add(values...); err != nil {
				return err
			}
		}
		return out.end()
	case "csv":
		w := csv.NewWriter(a.out)
		if !a.noHeaders {
			_ = w.Write(columns)
		}
		for n, r := range rows {
			r = slices.Clone(r)
			for i := range r {
				if isNull(n, i) {
					r[i] = ""
				}
			}
			_ = w.Write(r)
		}
		w.Flush()
		return w.Error()
	case "name":
		for _, r := range rows {
			fmt.Fprintln(a.out, r[0])
		}
		return nil
	}
	shown := make([][]string, len(rows))
	for n, r := range rows {
		for _, c := range r {
			shown[n] = append(shown[n], oneLine(c))
		}
	}
	rows = shown
	width := make([]int, len(columns))
	for i, c := range columns {
		width[i] = utf8.RuneCountInString(c)
	}
	for _, r := range rows {
		for i, c := range r {
			width[i] = max(width[i], utf8.RuneCountInString(c))
		}
	}
	line := func(cells []string) {
		var b strings.Builder
		for i, c := range cells {
			b.WriteString(c)
			if i < len(cells)-1 {
				b.WriteString(strings.Repeat(" ", width[i]-utf8.RuneCountInString(c)+2))
			}
		}
		fmt.Fprintln(a.out, b.String())
	}
	if !a.noHeaders {
		line(columns)
	}
	for _, r := range rows {
		line(r)
	}
	return nil
}

// oneLine writes control characters, which would break a table or steer the terminal, as escapes.
func oneLine(s string) string {
	if !strings.ContainsFunc(s, unicode.IsControl) {
		return s
	}
	var b strings.Builder
	for _, c := range s {
		if unicode.IsControl(c) {
			b.WriteString(strings.Trim(strconv.QuoteRune(c), "'"))
			continue
		}
		b.WriteRune(c)
	}
	return b.String()
}
