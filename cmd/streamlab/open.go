//go:build cgo

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode"

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
	fmt.Fprintf(a.talk(), "warning: nothing reads the setting %s\n", key)
	if best != "" {
		fmt.Fprintf(a.talk(), "  try: %s\n", best)
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
