//go:build cgo

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"streamlab/engine"
	"streamlab/errs"
	"streamlab/internal/vfs"
	"streamlab/lab"
	"streamlab/tui/screen"
)

// wright edits lab files for the screens, with or without an open lab.
type wright struct {
	a        *app
	drafting sync.Mutex // held while a draft is written
}

// draftFile is what is kept of text that was not saved.
type draftFile struct {
	Path  string    `json:"path"`
	Stamp string    `json:"stamp"` // of the file that the text began from
	At    time.Time `json:"at"`
	Text  string    `json:"text"`
}

// fileStamp tells contents apart.
func fileStamp(raw []byte) string {
	h := fnv.New64a()
	h.Write(raw)
	return fmt.Sprintf("%d-%016x", len(raw), h.Sum64())
}

// draftDirs are where drafts of a lab file are kept: the workspace beside it, or, where that cannot be
// written, a folder of the user.
func draftDirs(path string) [2]string {
	state := os.Getenv("XDG_STATE_HOME")
	if home, err := os.UserHomeDir(); state == "" && err == nil {
		state = filepath.Join(home, ".local", "state")
	}
	return [2]string{filepath.Join(filepath.Dir(path), ".streamlab", "drafts"), filepath.Join(state, "streamlab", "drafts")}
}

// draftName is the name of the draft's file: two files of one name share a folder of the user.
func draftName(path string) string {
	h := fnv.New32a()
	h.Write([]byte(path))
	return fmt.Sprintf("%s-%08x.json", strings.TrimSuffix(filepath.Base(path), filepath.Ext(path)), h.Sum32())
}

// writeDraft writes a file into the first of the folders that takes it.
func writeDraft(path, name string, data []byte) (file string, err error) {
	for _, dir := range draftDirs(path) {
		file = filepath.Join(dir, name)
		if err = os.MkdirAll(dir, 0o700); err == nil {
			if err = vfs.WriteFile(vfs.OS, file, data, 0o600); err == nil {
				return file, nil
			}
		}
	}
	return "", err
}

// place is the file that a name of the gallery or the command line means.
func (w *wright) place(path string) (string, error) {
	p, err := w.a.find(path)
	if err != nil {
		return "", err
	}
	return filepath.Abs(p)
}

// ReadLab reads a lab file and its draft.
func (w *wright) ReadLab(_ context.Context, path string) (screen.FileText, error) {
	abs, err := w.place(path)
	if err != nil {
		return screen.FileText{}, err
	}
	raw, err := os.ReadFile(abs)
	if err != nil {
		return screen.FileText{}, errs.Wrap(err, "LAB_FILE_UNREADABLE", "path", path)
	}
	t := screen.FileText{Path: abs, Text: string(raw), Stamp: fileStamp(raw)}
	for _, dir := range draftDirs(abs) {
		var d draftFile
		raw, err := os.ReadFile(filepath.Join(dir, draftName(abs)))
		if err == nil && json.Unmarshal(raw, &d) == nil && d.Path == abs && d.At.After(t.DraftAt) {
			t.Draft, t.DraftAt, t.DraftOld = d.Text, d.At, d.Stamp != t.Stamp
		}
	}
	return t, nil
}

// SaveLab writes a lab file at once, keeping its permissions; a link stays a link.
func (w *wright) SaveLab(_ context.Context, path, text, stamp string) (string, bool, error) {
	fail := func(err error) (string, bool, error) {
		return "", false, errs.Wrap(err, "FILE_NOT_WRITTEN", "path", path, "reason", err.Error())
	}
	perm := fs.FileMode(0o644)
	real, err := filepath.EvalSymlinks(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		real = path
	case err != nil:
		return fail(err)
	default:
		st, err := os.Stat(real)
		if err != nil {
			return fail(err)
		}
		perm = st.Mode().Perm()
		if stamp != "" {
			raw, err := os.ReadFile(real)
			if err != nil {
				return fail(err)
			}
			if fileStamp(raw) != stamp {
				return "", true, nil
			}
		}
	}
	if err := vfs.WriteFile(vfs.OS, real, []byte(text), perm); err != nil {
		return fail(err)
	}
	return fileStamp([]byte(text)), false, w.KeepDraft(context.Background(), path, "", "")
}

// KeepDraft keeps text that was not saved. The file is there when it returns, whatever becomes of the process.
func (w *wright) KeepDraft(_ context.Context, path, text, stamp string) error {
	w.drafting.Lock()
	defer w.drafting.Unlock()
	if text == "" {
		for _, dir := range draftDirs(path) {
			if err := os.Remove(filepath.Join(dir, draftName(path))); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
		}
		return nil
	}
	raw, err := json.Marshal(draftFile{Path: path, Stamp: stamp, At: time.Now(), Text: text})
	if err == nil {
		_, err = writeDraft(path, draftName(path), raw)
	}
	return err
}

// Scratch writes text for another program to edit.
func (w *wright) Scratch(_ context.Context, path, text string) (string, error) {
	return writeDraft(path, "unsaved-"+filepath.Base(path), []byte(text))
}

// Reread reads a file of Scratch back and removes it.
func (w *wright) Reread(_ context.Context, file string) (string, error) {
	raw, err := os.ReadFile(file)
	if err != nil {
		return "", err
	}
	return string(raw), os.Remove(file)
}

func (w *wright) config() (engine.Config, error) {
	conf, err := w.a.settings()
	return engine.Config{Conf: conf}, err
}

// CheckLab says what is wrong with a text.
func (w *wright) CheckLab(ctx context.Context, path, text string) (screen.TextVerdict, error) {
	c, err := w.config()
	if err != nil {
		return screen.TextVerdict{}, err
	}
	r := lab.CheckText(ctx, path, []byte(text), c)
	var out screen.TextVerdict
	why := map[string]string{}
	var lines map[string][2]int
	if r.Lab != nil {
		lines = r.Lab.Lines()
	}
	for _, v := range r.Verdicts {
		q := screen.QueryVerdict{Query: v.Query, Line: lines[v.Query][0], Last: lines[v.Query][1], Format: v.Format, Mode: v.Mode, Why: v.Why}
		for _, m := range v.Modes {
			x := screen.ModeWord{Mode: m.Name, OK: m.Allowed(), Err: m.Shape}
			if m.Shape == nil && m.Sink != nil {
				x.By, x.Err = v.Format, m.Sink
			}
			q.Modes = append(q.Modes, x)
		}
		out.Queries = append(out.Queries, q)
		why[v.Query] = v.Why
	}
	for _, p := range r.Problems {
		x := screen.TextProblem{Err: p.Error, Query: p.Query}
		if strings.HasPrefix(p.Condition, "STREAMING_OUTPUT_MODE") {
			x.Why = why[p.Query]
		}
		for _, f := range p.Fixes {
			y := screen.Fix{Title: f.Title, Explain: f.Explain}
			for _, e := range f.Edits {
				y.Edits = append(y.Edits, screen.TextEdit{From: e.From, To: e.To, Text: e.Text})
			}
			x.Fixes = append(x.Fixes, y)
		}
		out.Problems = append(out.Problems, x)
	}
	return out, ctx.Err()
}

// dryRunTime bounds a dry run: a source that does not answer is no reason to wait.
const dryRunTime = 5 * time.Second

const dryRunRows = 20

// PlanQuery looks closer at one query.
func (w *wright) PlanQuery(ctx context.Context, path, text, query string, dry bool) (screen.QueryPlan, error) {
	c, err := w.config()
	if err != nil {
		return screen.QueryPlan{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, dryRunTime)
	defer cancel()
	n := 0
	if dry {
		n = dryRunRows
	}
	p, err := lab.PreviewQuery(ctx, path, []byte(text), c, query, n)
	if err != nil {
		return screen.QueryPlan{}, err
	}
	out := screen.QueryPlan{Tree: p.Outline}
	for _, f := range p.Schema {
		out.Schema = append(out.Schema, screen.Column{Name: f.Name, Type: f.Type.Simple(), Right: f.Type.IsNumeric()})
		out.Filled = append(out.Filled, !f.Nullable)
	}
	for _, a := range lab.Accepts() {
		x := screen.SinkModes{Sink: a.Sink}
		for i, m := range [...]string{"append", "update", "complete"} {
			for _, have := range a.Modes {
				x.Modes[i] = x.Modes[i] || have == m
			}
		}
		switch a.Sink {
		case "memory":
			x.Notes[1] = "*"
		case "kafka":
			x.Notes[2] = "**"
		}
		out.Accept = append(out.Accept, x)
	}
	if p.Err != nil {
		out.RowErr = asError(p.Err)
	} else if dry {
		out.Rows = resultOf(p.Rows, p.Schema, "", dryRunRows, -1, time.Now())
	}
	return out, nil
}

// SaveLab is that of wright; the lab's own file is not taken for one that another program has written.
func (b *localLab) SaveLab(ctx context.Context, path, text, stamp string) (string, bool, error) {
	if path == b.w.Lab.File {
		b.file.wrote(fileStamp([]byte(text))) // before it is there: it may be looked at in between
	}
	return b.wright.SaveLab(ctx, path, text, stamp)
}

// Adopt takes an edited lab file over while its queries run.
func (b *localLab) Adopt(ctx context.Context, text string) ([]screen.Redefined, error) {
	c, err := b.config()
	if err != nil {
		return nil, err
	}
	list, err := b.w.Adopt(ctx, []byte(text), c)
	if err != nil {
		return nil, err
	}
	b.file.read(fileStamp([]byte(text)))
	var out []screen.Redefined
	for _, r := range list {
		x := screen.Redefined{Query: r.Query}
		if r.Err != nil {
			e := asError(r.Err)
			x.Refused, x.Broken = true, true
			x.Changes = append(x.Changes, screen.PlanChange{Verdict: string(engine.Refused), What: e.Condition, Text: e.Message()})
		}
		for _, ch := range r.Changes {
			x.Refused = x.Refused || ch.Verdict == engine.Refused
			x.Changes = append(x.Changes, screen.PlanChange{Verdict: string(ch.Verdict), What: ch.What, Was: ch.Was, Now: ch.Now, Text: ch.Text})
		}
		out = append(out, x)
	}
	return out, nil
}
