//go:build cgo

package main

import (
	"context"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"strings"
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
		if !ok {
			return nil, errs.New("LAB_VALUE", "key", "--conf", "expected", "KEY=VALUE")
		}
		m[k] = v
	}
	return m, nil
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
	return lab.Open(ctx, l, c)
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
	switch a.output {
	case "json", "jsonl":
		for _, r := range rows {
			m := map[string]any{"kind": kind, "version": 1}
			for i, c := range columns {
				m[c] = r[i]
			}
			a.json(a.out, m)
		}
		return nil
	case "csv":
		w := csv.NewWriter(a.out)
		if !a.noHeaders {
			_ = w.Write(columns)
		}
		_ = w.WriteAll(rows)
		w.Flush()
		return w.Error()
	case "name":
		for _, r := range rows {
			fmt.Fprintln(a.out, r[0])
		}
		return nil
	}
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
