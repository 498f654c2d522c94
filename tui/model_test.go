package tui

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/charmbracelet/x/ansi"

	"streamlab/errs"
	"streamlab/tui/canvas"
	"streamlab/tui/screen"
	"streamlab/tui/screen/screentest"
)

// monkeyKeys are all keys of the table and some that mean nothing.
func monkeyKeys() []string {
	ks := []string{"a", "Z", "0", "backspace", "delete", "left", "right", "x", "é", "日", ";", "'"}
	for _, b := range table {
		for _, k := range b.Keys {
			if k != "ctrl+c" && k != "ctrl+z" {
				ks = append(ks, k)
			}
		}
	}
	return ks
}

func TestRandomKeysAndResizes(t *testing.T) {
	rnd := rand.New(rand.NewPCG(7, 23))
	ks := monkeyKeys()
	bench := screentest.New()
	d := newDriver(t, 80, 24, bench)
	d.m.clip = func(string) (string, error) { return "", nil }
	destructive := map[screen.Verb]bool{screen.StopNow: true, screen.Rewind: true, screen.Fork: true, screen.StartFresh: true}
	var trail []string
	for i := range 2000 {
		before := len(bench.Done)
		over := len(d.m.over)
		if rnd.IntN(25) == 0 {
			w, h := 20+rnd.IntN(220), 5+rnd.IntN(60)
			trail = append(trail, fmt.Sprintf("%dx%d", w, h))
			d.send(tea.WindowSizeMsg{Width: w, Height: h})
		} else {
			k := ks[rnd.IntN(len(ks))]
			trail = append(trail, k)
			d.send(keyMsgOf(k))
		}
		for _, o := range d.m.over {
			if c, ok := o.(*card); ok && errors.Is(c.err, errs.New("INTERNAL_ERROR")) {
				t.Fatalf("panic after %v: %v", trail[max(0, len(trail)-8):], c.err)
			}
		}
		if strings.Contains(d.m.cv.Text(), "INTERNAL_ERROR") {
			t.Fatalf("a screen broke after %v:\n%s", trail[max(0, len(trail)-8):], d.m.cv.Text())
		}
		for _, c := range bench.Done[min(before, len(bench.Done)):] {
			if destructive[c.Verb] && over == 0 {
				t.Fatalf("%s without a question after %v", c.Verb, trail[max(0, len(trail)-8):])
			}
		}
		if d.m.quits || d.m.sh.Bench != screen.Workbench(bench) {
			bench = screentest.New() // it quit, or opened another lab: begin again
			d = newDriver(t, d.m.w, d.m.h, bench)
		}
		if i%97 == 0 {
			bench.Advance(screentest.Now)
			d.send(tickMsg(d.m.ticks))
		}
		if d.m.w > 0 {
			checkWidth(t, d.frame(), d.m.w, d.m.h)
		}
	}
}

// hostile is text that a terminal would obey, or whose width nobody agrees about.
var hostile = []string{
	"\x1b[31mred\x1b[0m", "\x1b]52;c;aGVsbG8=\a", "\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", "\x1b[6n", "\x1bP+q\x1b\\",
	"\x9b31m", "\u009b2J", "\x1b]0;title", "a\rb\nc\td\be", "\x00\x01\x1f\x7f", "abc\u202egnirts\u202c", "\u2066x\u2069",
	"z\u200bw\u200dj\ufeff", "👍🏽👨‍👩‍👧⚠️☁️1️⃣🇩🇪", "हिन्दी தமிழ் ไทย", "日本語テキスト", "e\u0301\u0301\u0301\u0301\u0301\u0301\u0301\u0301\u0301",
	strings.Repeat("W", 5000), "\xff\xfe\xed\xa0\x80", "\U000e0041tag", "\x1b[?1049l\x1b[2J\x1bc", "٣٤٥ עברית العربية",
}

// hostileBench says hostile text wherever a workbench can say anything.
type hostileBench struct {
	*screentest.Bench
	s string
}

func (h hostileBench) Lab() screen.LabInfo {
	return screen.LabInfo{Name: h.s, Title: h.s, About: h.s, Path: h.s, Folder: h.s,
		Steps: []screen.Step{{Title: h.s, Why: h.s, Do: h.s, Predict: h.s, Found: h.s}}}
}
func (h hostileBench) Queries() []*screen.QuerySnapshot {
	qs := h.Bench.Queries()
	for i, q := range qs {
		c := *q
		c.Name, c.ID, c.RunID, c.Message, c.Source, c.Mode, c.Trigger, c.Limit, c.Promise = h.s, h.s, h.s, h.s, h.s, h.s, h.s, h.s, h.s
		if i != 4 {
			c.Sink = h.s
		}
		c.Error = h.err()
		ps := append([]screen.Progress(nil), c.Progress...)
		for k := range ps {
			ps[k].Note = h.s
			ps[k].Phases = []screen.Phase{{Name: h.s, Took: time.Second}}
			ps[k].Operators = []screen.OperatorProgress{{Name: h.s, RowsTotal: 1 << 60}}
		}
		c.Progress = ps
		qs[i] = &c
	}
	return qs
}
func (h hostileBench) err() *errs.Error {
	return errs.Wrap(errors.New(h.s), h.s, "p", h.s).WithHint(h.s).WithExcerpt(h.s).
		At(errs.Pos{File: h.s, Line: 1, Col: 3, Length: 4})
}
func (h hostileBench) Events(after int64) ([]screen.Event, int64) {
	if after >= 1 {
		return nil, 1
	}
	return []screen.Event{{Seq: 1, Time: screentest.Now, Level: screen.Error, Query: h.s, Batch: 1, Message: h.s, Err: h.err()}}, 1
}
func (h hostileBench) result() screen.Result {
	return screen.Result{Columns: []screen.Column{{Name: h.s, Type: h.s}, {Name: h.s, Right: true}},
		Rows: [][]screen.Cell{{{Text: h.s}, {Text: h.s}}, {{Text: h.s}, {Null: true}}, {{Text: h.s}}}, Total: 3, Note: h.s}
}
func (h hostileBench) Trace(context.Context, string, int64, screen.TraceOptions) (*screen.Trace, error) {
	t := &screen.Trace{RowsIn: 3, RowsThen: 3, Follow: func(screen.RowRef) map[int]map[int64]bool { return map[int]map[int64]bool{0: {1: true}} },
		Why: func(int, int) []screen.Reason {
			return []screen.Reason{{About: h.s, Text: h.s}, {About: "came from", Text: h.s}}
		}}
	rows := []screen.TraceRow{{N: 0, Mark: h.s}, {N: 1, Emitted: true, FromAll: 2, From: []screen.RowPlace{{Row: 1}}}, {N: 2}}
	for i := range 3 {
		s := screen.TraceStage{Kind: h.s, Detail: h.s, Note: h.s, In: 3, Out: 1 << 60, Values: h.result(), Rows: rows}
		if i > 0 {
			s.Below = []int{i - 1}
		}
		t.Stages = append(t.Stages, s)
	}
	return t, nil
}
func (h hostileBench) Query(context.Context, string, int) (screen.Result, error) {
	return h.result(), nil
}
func (h hostileBench) Catalog(context.Context) ([]screen.Table, error) {
	return []screen.Table{{Name: h.s, Kind: h.s, Columns: []screen.Column{{Name: h.s, Type: h.s}}}}, nil
}
func (h hostileBench) Checkpoint(context.Context, string) (*screen.CheckpointInfo, error) {
	return &screen.CheckpointInfo{Query: h.s, Location: h.s, Owner: h.s, Restart: h.s, Temporary: true,
		Batches: []screen.BatchMark{{ID: 1, Offsets: true, Commit: true}}, Operators: []screen.StateOperator{{Name: h.s}}}, nil
}
func (h hostileBench) CheckpointBatch(context.Context, string, int64) (*screen.CheckpointBatch, error) {
	return &screen.CheckpointBatch{ID: 1, HasCommit: true, OffsetsText: h.s, CommitText: h.s,
		Sources: []screen.SourceOffset{{Source: h.s, Start: h.s, End: h.s}}, Conf: []screen.KeyValue{{Key: h.s, Value: h.s}}}, nil
}
func (h hostileBench) State(context.Context, string, int64, int, string, int) (screen.Result, error) {
	return h.result(), nil
}
func (h hostileBench) BatchRows(context.Context, string, int64, int) (screen.Result, error) {
	return h.result(), nil
}
func (h hostileBench) Console(string) screen.Console {
	return screen.Console{Version: 1, Lines: []string{h.s, "Batch: 1", h.s}}
}
func (h hostileBench) Explain(context.Context, string) (string, error) { return h.s + "\n" + h.s, nil }

// allowed is what the encoder itself writes: colours and "go to column".
func onlyOurSequences(frame string) error {
	for i := 0; i < len(frame); i++ {
		c := frame[i]
		if c == '\n' || c >= 0x20 && c != 0x7f {
			if c == 0xc2 && i+1 < len(frame) && frame[i+1] < 0xa0 {
				return fmt.Errorf("C1 control at %d: %q", i, frame[max(0, i-20):i+2])
			}
			continue
		}
		if c != 0x1b || i+1 >= len(frame) || frame[i+1] != '[' {
			return fmt.Errorf("control %#x at %d: %q", c, i, frame[max(0, i-20):min(len(frame), i+20)])
		}
		j := i + 2
		for j < len(frame) && (frame[j] >= '0' && frame[j] <= '9' || frame[j] == ';') {
			j++
		}
		if j >= len(frame) || frame[j] != 'm' && frame[j] != 'G' && frame[j] != 'K' {
			return fmt.Errorf("sequence %q is not ours", frame[i:min(len(frame), j+1)])
		}
		i = j
	}
	return nil
}

func TestHostileText(t *testing.T) {
	paths := []string{"", "b", "b enter", "o", "p", "2", "2 enter tab", "4", "4 s", "5", ":", "?", "!", "K", "G enter", "b enter enter", "b enter tab enter", "b enter space", "b enter v",
		"G o"}
	for _, s := range hostile {
		for _, p := range paths {
			for _, size := range [][2]int{{80, 24}, {200, 50}} {
				d := newDriver(t, size[0], size[1], hostileBench{screentest.New(), s})
				for _, k := range strings.Fields(p) {
					d.send(keyMsgOf(k))
				}
				frame := d.encoded()
				if err := onlyOurSequences(frame); err != nil {
					t.Fatalf("%q after %q: %v", s, p, err)
				}
				for i, l := range strings.Split(frame, "\n") {
					if w := ansi.StringWidth(l); w > size[0] {
						t.Errorf("%q after %q: line %d is %d wide", s, p, i, w)
					}
				}
			}
		}
	}
}

// The borders of an overlay stay in their columns whatever the text behind and inside them is.
func TestBordersStay(t *testing.T) {
	for _, s := range hostile {
		d := newDriver(t, 80, 24, hostileBench{screentest.New(), s})
		d.send(keyMsgOf("b"))
		d.send(keyMsgOf("enter"))
		d.keys("space") // the cell viewer
		if len(d.m.over) == 0 {
			t.Fatalf("%q: the viewer did not open", s)
		}
		at := -1
		for _, l := range strings.Split(d.m.cv.Text(), "\n") {
			i := strings.LastIndex(l, "┃")
			if i < 0 {
				continue
			}
			if w := ansi.StringWidth(l[:i]); at < 0 {
				at = w
			} else if w != at {
				t.Errorf("%q: a border is in column %d, the others in %d", s, w, at)
			}
		}
	}
}

func TestBurstsPastesAndAlt(t *testing.T) {
	d := newDriver(t, 80, 24, screentest.New())
	d.send(tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune("jj")})
	if q := d.m.sh.Focus; q != "rides_join" {
		t.Errorf("two keys in one message moved to %q", q)
	}
	d.send(tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune("qy"), Paste: true})
	if d.m.quits || len(d.m.over) > 0 {
		t.Error("pasted text ran commands")
	}
	if !strings.Contains(string(d.m.toast), "paste") {
		t.Errorf("a refused paste says %q", d.m.toast)
	}
	d.keys("b")
	d.send(tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune("5"), Alt: true})
	if d.m.tab != 4 || len(d.m.tabs[0]) != 1 {
		t.Error("esc and a key in one read were not two keys")
	}
	d.keys("3")
	d.send(tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune("SELECT\n1;"), Paste: true})
	if f := d.frame(); !strings.Contains(f, "1 SELECT") || !strings.Contains(f, "2 1;") {
		t.Errorf("a paste did not reach the editor:\n%s", f)
	}
}

func TestCommandsAndQuestions(t *testing.T) {
	b := screentest.New()
	d := newDriver(t, 80, 24, b)
	d.keys("s")
	d.keys("down .")
	d.keys("K enter")
	d.keys("K y")
	want := []screen.Command{{Verb: screen.StopAfterBatch, Query: "clicks_1m"},
		{Verb: screen.RunOneBatch, Query: "orders_dedup"}, {Verb: screen.StopNow, Query: "orders_dedup"}}
	if fmt.Sprint(b.Done) != fmt.Sprint(want) {
		t.Errorf("asked for %v, want %v", b.Done, want)
	}
	d.keys("2 down down down enter R").text("top_page").keys("enter")
	if len(b.Done) != 3 {
		t.Error("a wrong name was taken for a yes")
	}
	d.text("s").keys("enter")
	if len(b.Done) != 4 || b.Done[3].Verb != screen.Rewind {
		t.Errorf("asked for %v, want a rewind at the end", b.Done)
	}
}

func TestQuitAsksOnlyWhenQueriesRun(t *testing.T) {
	b := screentest.New()
	d := newDriver(t, 80, 24, b)
	d.keys("q")
	if b.Closed || len(d.m.over) != 1 {
		t.Fatal("q did not ask")
	}
	d.keys("enter")
	if b.Closed {
		t.Fatal("enter was taken for a yes")
	}
	d.keys("q y")
	if !b.Closed {
		t.Fatal("y did not close the lab")
	}
	d = newDriver(t, 80, 24, nil)
	_, cmd := d.m.Update(keyMsgOf("q"))
	if !quits(cmd) {
		t.Error("q asked although nothing runs")
	}
}

func quits(cmd tea.Cmd) bool {
	if cmd == nil {
		return false
	}
	switch msg := cmd().(type) {
	case tea.QuitMsg:
		return true
	case tea.BatchMsg:
		for _, c := range msg {
			if quits(c) {
				return true
			}
		}
	}
	return false
}

func TestIdleDrawsNothing(t *testing.T) {
	b := screentest.New()
	var qs []*screen.QuerySnapshot
	for _, q := range b.Queries() {
		c := *q
		c.State = screen.Stopped
		qs = append(qs, &c)
	}
	b.SetQueries(qs)
	d := newDriver(t, 80, 24, b)
	d.m.View()
	d.m.fast = time.Time{}
	for range 5 {
		d.m.Update(tickMsg(d.m.ticks))
		if d.m.dirty {
			t.Fatal("an unchanged lab was drawn again")
		}
	}
	d.m.sh.Bench, d.m.sh.Queries = nil, nil
	d.m.timer = tea.Tick
	if d.m.tick() != nil {
		t.Error("a tick goes on although nothing is open")
	}
}

func TestKeyTable(t *testing.T) {
	seen := map[string]screen.Action{}
	for _, b := range table {
		if b.Long == "" {
			t.Errorf("%s/%s has no help", b.Scope, b.Action)
		}
		for _, k := range b.Keys {
			id := string(b.Scope) + " " + k
			if a, ok := seen[id]; ok && a != b.Action {
				t.Errorf("%s means %s and %s", id, a, b.Action)
			}
			seen[id] = b.Action
			if len(k) == 1 && k >= "a" && k <= "z" && b.Level > 0 {
				t.Errorf("lower case %s destroys: %s", id, b.Action)
			}
		}
		if b.Short != "" && len(b.Keys) == 0 {
			t.Errorf("%s/%s is in the key line without a key", b.Scope, b.Action)
		}
	}
}

func TestThemesKeepTheText(t *testing.T) {
	for _, n := range canvas.ThemeNames() {
		d := newDriver(t, 80, 24, screentest.New())
		d.m.theme, _ = canvas.Named(n)
		d.m.cv.SetASCII(d.m.theme.ASCII)
		d.m.dirty = true
		frame := d.encoded()
		if n == "none" && strings.Contains(frame, "\x1b[0;3") {
			t.Error("theme none has colours")
		}
		if n == "ascii" {
			for _, r := range ansi.Strip(frame) {
				if r > 0x7e {
					t.Fatalf("theme ascii draws %q", r)
				}
			}
		}
		if !strings.Contains(ansi.Strip(frame), "clicks_1m") {
			t.Errorf("theme %s lost the text", n)
		}
	}
}

func TestKeyToFrame(t *testing.T) {
	d := newDriver(t, 200, 50, screentest.New())
	ks := []string{"down", "up", "b", "down", "esc", "5", "1"}
	var took []time.Duration
	for i := range 200 {
		msg := keyMsgOf(ks[i%len(ks)])
		began := time.Now()
		d.m.Update(msg)
		d.m.View()
		took = append(took, time.Since(began))
	}
	slices.Sort(took) // a machine that does other work may hold up one of them, not most
	if typical := took[len(took)*3/4]; typical > 50*time.Millisecond {
		t.Errorf("a key took %v to its frame", typical)
	}
}

func BenchmarkFrame200x50(b *testing.B) {
	m := newModel(context.Background(), Options{Workbench: screentest.New(), clock: func() time.Time { return screentest.Now }})
	m.Update(tea.WindowSizeMsg{Width: 200, Height: 50})
	b.ReportAllocs()
	for b.Loop() {
		m.dirty = true
		m.View()
	}
}

// In the crash lab all arrows choose the point, s the sink: what stands in a row is gone through by arrows.
func TestArrowsChooseTheCrashPoint(t *testing.T) {
	for _, keys := range [][2]string{{"right", "left"}, {"down", "up"}, {"j", "k"}} {
		d := newDriver(t, 120, 36, screentest.New()).keys("4 x")
		first := d.frame()
		there := d.keys(keys[0]).frame()
		if there == first || !strings.Contains(there, having(first, "Labs › ")[0]) {
			t.Errorf("%s does not choose another point of the same sink:\n%s", keys[0], there)
		}
		if back := d.keys(keys[1]).frame(); back != first {
			t.Errorf("%s does not go back:\n%s", keys[1], back)
		}
	}
}

// quiet has had its last batch a minute ago and waits for data.
type quiet struct{ *screentest.Bench }

func (b quiet) Queries() []*screen.QuerySnapshot {
	q := *b.Bench.Queries()[0]
	q.Message = "Waiting for data to arrive"
	ps := append([]screen.Progress(nil), q.Progress...)
	for i := range ps {
		ps[i].Time = ps[i].Time.Add(-time.Minute)
	}
	q.Progress = ps
	return []*screen.QuerySnapshot{&q}
}

// Rates are those of now: a query to which nothing comes has none, whatever its last batch had.
func TestAQuietQueryHasNoRates(t *testing.T) {
	d := newDriver(t, 120, 36, quiet{screentest.New()})
	d.has("idle", "clicks_1m                0  182ms", " 0 r/s")
	d.hasNot("keeping up", "998.2k", "1.02M")
}

// fresh has a second query, which has no batch yet.
type fresh struct{ *screentest.Bench }

func (b fresh) Queries() []*screen.QuerySnapshot {
	q, n := b.Bench.Queries()[0], *b.Bench.Queries()[0]
	n.Name, n.BatchID, n.Progress, n.State = "zz_new", -1, nil, screen.Stopped
	return []*screen.QuerySnapshot{q, &n}
}

func TestTheLatestOutputIsTheQuerys(t *testing.T) {
	d := newDriver(t, 200, 50, fresh{screentest.New()})
	d.has("latest output of clicks_1m", "/home")
	d.keys("down")
	d.has("latest output of zz_new", "No output yet.")
	d.hasNot("/home")
}
