package tui

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"streamlab/errs"
	"streamlab/internal/safe"
	"streamlab/internal/safego"
	"streamlab/tui/canvas"
	"streamlab/tui/screen"
	"streamlab/tui/term"
	"streamlab/tui/widget"
)

// The smallest terminal that is drawn on.
const (
	minWidth  = 60
	minHeight = 16
)

// model is the root: the only Bubble Tea model of the program.
type model struct {
	ctx   context.Context
	opts  Options
	clock func() time.Time
	clip  func(string) (where string, err error)
	timer func(time.Duration, func(time.Time) tea.Msg) tea.Cmd // tea.Tick; tests take none
	keys  *keyTable
	times *times
	sh    *screen.Shared

	tabs [5][]screen.Screen // stacks; the front is the last
	tab  int

	w, h   int
	cv     *canvas.Canvas
	theme  *canvas.Theme
	frame  []string
	term   *term.Terminal // nil in tests
	dirty  bool
	over   []overlay
	toast  safe.Line
	toastN int

	jobs    map[jobKey]*job
	jobN    int
	ticks   int       // number of the tick that counts; older ones are dropped
	fast    time.Time // until then look often: a command has just been sent
	version int64     // sum of the snapshots' versions at the last look
	nq      int
	second  int64
	blur    bool
	focused time.Time // when the window last got the focus
	mouse   bool
	hints   []keyHint // of the last line
	utc     bool
	ctrlC   time.Time
	away    time.Time  // when the program was suspended; zero: it was not
	copied  string     // the newest copy
	recent  []*Binding // chosen lately among the commands, the newest first
	quits   bool
	changed bool // the lab file has just been changed by another program, which is to be said
}

type jobKey struct {
	on   screen.Screen
	slot string
}

type job struct {
	n      int
	cancel context.CancelFunc
	what   safe.Line
	slow   bool
}

type (
	tickMsg  int
	toastMsg int
	busyMsg  struct {
		key jobKey
		n   int
	}
	jobMsg struct {
		key   jobKey
		n     int
		apply func() screen.Effect
		err   error
	}
	partMsg struct {
		key   jobKey
		n     int
		apply func() screen.Effect
		next  tea.Cmd
	}
	doMsg struct {
		cmd screen.Command
		err error
	}
	closedMsg struct{ err error }
	sayMsg    safe.Line
)

func newModel(ctx context.Context, opts Options) *model {
	th, _ := canvas.Named(opts.theme)
	if th == nil {
		th = canvas.Terminal()
	}
	m := &model{
		ctx: ctx, opts: opts, clock: opts.clock, theme: th, dirty: true,
		clip: func(string) (string, error) { return "nowhere", nil },
		sh:   &screen.Shared{Gallery: opts.Gallery, ReadOnly: opts.ReadOnly, Plain: opts.Plain, Zone: opts.zone},
		cv:   canvas.New(0, 0), jobs: map[jobKey]*job{}, keys: rebind(opts.Keys),
	}
	if m.clock == nil {
		m.clock = time.Now
	}
	m.timer, m.sh.Settle = tea.Tick, 150*time.Millisecond
	if opts.timer != nil {
		m.timer, m.sh.Settle = opts.timer, 0
	}
	m.cv.SetASCII(th.ASCII)
	if opts.Plain {
		m.plain()
	}
	m.mouse = opts.Mouse
	m.sh.Now = m.clock()
	m.utc = opts.UTC
	if m.utc {
		m.sh.Zone = time.UTC
	}
	m.tabs = [5][]screen.Screen{
		{screen.NewQueries(m.sh)}, {screen.NewCheckpoints(m.sh)}, {screen.NewSQL(m.sh)},
		{screen.NewLabs(m.sh)}, {screen.NewEvents(m.sh)},
	}
	if opts.Workbench != nil {
		m.opened(opts.Workbench)
	} else {
		m.tab = 3
	}
	if n := len(m.keys.problems); n > 0 {
		m.push(&card{err: m.keys.problems[0]})
	}
	if opts.Notice != nil {
		m.push(&card{err: opts.Notice})
	}
	return m
}

// plain turns to words instead of pictures.
func (m *model) plain() {
	m.opts.Plain, m.sh.Plain, m.dirty = true, true, true
	m.cv.SetASCII(true)
	m.cv.SetPlain(true)
}

func (m *model) front() screen.Screen {
	s := m.tabs[m.tab]
	return s[len(s)-1]
}

// opened makes w the lab that all screens show.
func (m *model) opened(w screen.Workbench) {
	m.sh.Bench = w
	m.sh.Events = screen.EventLog{}
	m.sh.Queries, m.sh.Lab, m.sh.Focus = nil, screen.LabInfo{}, ""
	m.tabs[0] = []screen.Screen{screen.NewQueries(m.sh)}
	m.tabs[1] = []screen.Screen{screen.NewCheckpoints(m.sh)}
	m.tabs[2] = []screen.Screen{screen.NewSQL(m.sh)}
	m.tabs[4] = []screen.Screen{screen.NewEvents(m.sh)}
	m.tabs[3] = m.tabs[3][:1]
	m.version, m.nq = -1, -1
	m.fast = m.clock().Add(3 * time.Second)
	m.look()
}

// Init implements tea.Model.
func (m *model) Init() tea.Cmd {
	cmds := []tea.Cmd{m.wake(), m.tick()}
	if m.opts.Open != "" && m.opts.Gallery != nil {
		if labs, ok := m.tabs[3][0].(*screen.Labs); ok {
			cmds = append(cmds, m.apply(labs, labs.OpenPath(m.opts.Open, m.opts.Steps)))
		}
	}
	return tea.Batch(cmds...)
}

// Update implements tea.Model.
func (m *model) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	var cmd tea.Cmd
	if m.times != nil {
		defer m.times.updated(time.Now())
	}
	err := safego.Call("workbench", func() error {
		cmd = m.update(msg)
		return nil
	})
	if err != nil {
		m.over = nil
		m.push(&card{err: errs.As(err)})
		m.dirty = true
	}
	return m, cmd
}

func (m *model) update(msg tea.Msg) tea.Cmd {
	m.sh.Now = m.clock()
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		m.w, m.h = msg.Width, msg.Height
		m.sh.Class = screen.ClassOf(m.w, m.h)
		if m.opts.Plain {
			m.sh.Class = screen.S
		}
		m.dirty = true
		return tea.Batch(m.wake(), m.tick())
	case tea.KeyMsg:
		return m.keyMsg(msg)
	case tea.MouseMsg:
		return m.mouseMsg(msg)
	case tea.FocusMsg:
		m.blur, m.focused = false, m.clock()
		return m.tick()
	case tea.BlurMsg:
		m.blur = true
	case tea.ResumeMsg:
		m.dirty = true
		if m.term != nil {
			m.term.Resume()
		}
		if !m.away.IsZero() {
			was := m.clock().Sub(m.away)
			m.away = time.Time{}
			return tea.Batch(m.tick(), m.say("was suspended for "+widget.Words(was)+": the queries stood still too"))
		}
		return m.tick()
	case tickMsg:
		if int(msg) != m.ticks {
			return nil
		}
		var cmd tea.Cmd
		if m.look() {
			m.dirty = true
			cmd = m.wake()
		}
		if m.changed {
			m.changed = false
			cmd = tea.Batch(cmd, m.say(safe.Text(filepath.Base(m.sh.Lab.Path), 40)+" on disk is another: u in tab 1 reads it"))
		}
		return tea.Batch(cmd, m.tick())
	case toastMsg:
		if int(msg) == m.toastN && m.toast != "" {
			m.toast, m.dirty = "", true
		}
	case busyMsg:
		if j := m.jobs[msg.key]; j != nil && j.n == msg.n {
			j.slow, m.dirty = true, true
		}
	case jobMsg:
		j := m.jobs[msg.key]
		if j == nil || j.n != msg.n {
			return nil
		}
		j.cancel()
		delete(m.jobs, msg.key)
		m.dirty = true
		if msg.err != nil {
			m.push(&card{err: errs.As(msg.err)})
			return nil
		}
		if msg.apply != nil {
			return m.apply(msg.key.on, msg.apply())
		}
	case partMsg:
		if j := m.jobs[msg.key]; j != nil && j.n == msg.n {
			m.dirty = true
			return tea.Batch(m.apply(msg.key.on, msg.apply()), msg.next)
		}
	case doMsg:
		m.dirty = true
		m.fast = m.clock().Add(2 * time.Second)
		m.look()
		if msg.err != nil {
			m.push(&card{err: screen.AsError(msg.err)})
		}
		return tea.Batch(m.wake(), m.tick(), m.told(msg))
	case sayMsg:
		return m.say(safe.Line(msg))
	case outsideMsg:
		return m.inside(msg)
	case closedMsg:
		return tea.Quit
	}
	return nil
}

// look fetches snapshots and events and reports whether what is shown may have changed. It is the only
// place that reads the workbench outside of commands; everything it calls returns at once.
func (m *model) look() bool {
	m.sh.Now = m.clock()
	sec := m.sh.Now.Unix()
	moved := sec != m.second && (m.active() || m.sh.Class != screen.S)
	m.second = sec
	w := m.sh.Bench
	if w == nil {
		return moved
	}
	qs := w.Queries()
	var sum int64
	for i, q := range qs {
		sum += q.Version * int64(i+1)
	}
	if sum != m.version || len(qs) != m.nq {
		m.version, m.nq = sum, len(qs)
		moved = true
		m.sh.Queries = qs
	}
	if evs, seen := w.Events(m.sh.Events.Seen); len(evs) > 0 || seen != m.sh.Events.Seen {
		m.sh.Events.Add(evs, seen)
		moved = true
	}
	lab := w.Lab()
	if lab.Changed != m.sh.Lab.Changed {
		moved = true
		m.changed = lab.Changed != ""
	}
	if lab.Path != m.sh.Lab.Path || !sameSteps(lab.Steps, m.sh.Lab.Steps) || lab.Name != m.sh.Lab.Name {
		moved = true
	}
	m.sh.Lab = lab
	return moved
}

func sameSteps(a, b []screen.Step) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i].State != b[i].State || a[i].Found != b[i].Found || a[i].Said != b[i].Said {
			return false
		}
	}
	return true
}

func (m *model) active() bool {
	for _, q := range m.sh.Queries {
		if q.State.Active() {
			return true
		}
	}
	for _, s := range m.sh.Lab.Steps {
		if s.State == screen.StepRunning {
			return true
		}
	}
	return false
}

// tick asks for the next look. Nothing running and no clock shown means no tick at all.
func (m *model) tick() tea.Cmd {
	m.ticks++
	n := tickMsg(m.ticks)
	var d time.Duration
	switch {
	case m.blur && m.active():
		d = time.Second
	case m.active() && m.opts.slow != nil && m.opts.slow():
		d = time.Second
	case m.active() && m.opts.Plain:
		d = time.Second
	case m.active() && m.opts.Calm:
		d = 500 * time.Millisecond
	case m.active(), m.clock().Before(m.fast):
		d = 100 * time.Millisecond
	case m.sh.Bench != nil, m.sh.Class != screen.S:
		d = time.Second
	default:
		return nil
	}
	return m.timer(d, func(time.Time) tea.Msg { return n })
}

func (m *model) wake() tea.Cmd {
	s := m.front()
	return m.apply(s, s.Wake())
}

// apply does what a screen asked for.
func (m *model) apply(on screen.Screen, e screen.Effect) tea.Cmd {
	var cmds []tea.Cmd
	if e.Close {
		m.sh.Bench, m.sh.Queries, m.sh.Lab = nil, nil, screen.LabInfo{}
	}
	if e.Open != nil {
		m.opened(e.Open)
		cmds = append(cmds, m.tick())
	}
	if e.Pop {
		m.pop()
		cmds = append(cmds, m.wake())
	}
	if e.Tab > 0 {
		m.setTab(e.Tab - 1)
		if e.Push != nil {
			m.cut(1)
		}
		if e.Push == nil {
			cmds = append(cmds, m.wake())
		}
	}
	if e.Push != nil {
		m.tabs[m.tab] = append(m.tabs[m.tab], e.Push)
		if len(m.tabs[m.tab]) > 20 {
			m.cut(1)
			m.tabs[m.tab] = append(m.tabs[m.tab], e.Push)
		}
		cmds = append(cmds, m.wake())
	}
	for _, j := range e.Jobs {
		cmds = append(cmds, m.start(on, j))
	}
	if e.Statement != "" {
		cmds = append(cmds, m.statement(e.Statement))
	}
	if e.Do != nil {
		cmds = append(cmds, m.do(*e.Do))
	}
	if e.Toast != "" {
		cmds = append(cmds, m.say(e.Toast))
	}
	if e.Copy != nil {
		cmds = append(cmds, m.copy(*e.Copy))
	}
	switch {
	case e.Ask != nil:
		m.push(&confirm{q: *e.Ask, on: on})
	case e.Input != nil:
		m.push(newPrompt(*e.Input, on))
	case e.View != nil:
		m.push(newViewer(*e.View))
	case e.Form != nil:
		m.push(newForm(*e.Form, on))
	case e.Menu != nil:
		m.push(&menu{m: *e.Menu, on: on})
	case e.Edit != nil:
		cmds = append(cmds, m.outside(*e.Edit, on))
	case e.Error != nil:
		m.push(&card{err: e.Error})
	}
	m.dirty = true
	return tea.Batch(cmds...)
}

func (m *model) push(o overlay) { m.over, m.dirty = append(m.over, o), true }

// pop leaves the front screen and cancels what it waits for.
func (m *model) pop() {
	if n := len(m.tabs[m.tab]); n > 1 {
		m.cut(n - 1)
	}
}

// cut leaves all screens of the tab above n.
func (m *model) cut(n int) {
	s := m.tabs[m.tab]
	for _, gone := range s[n:] {
		m.cancel(gone)
	}
	m.tabs[m.tab] = append([]screen.Screen(nil), s[:n]...)
}

func (m *model) cancel(on screen.Screen) (any bool) {
	for k, j := range m.jobs {
		if k.on == on {
			j.cancel()
			delete(m.jobs, k)
			any = true
		}
	}
	return any
}

func (m *model) setTab(i int) { m.tab, m.dirty = i, true }

// start runs a job and, if it is not done after 200 ms, says what is waited for.
func (m *model) start(on screen.Screen, j screen.Job) tea.Cmd {
	k := jobKey{on, j.Slot}
	if old := m.jobs[k]; old != nil {
		old.cancel()
	}
	m.jobN++
	n := m.jobN
	ctx, cancel := context.WithCancel(m.ctx)
	m.jobs[k] = &job{n: n, cancel: cancel, what: j.What}
	work, next := j.Run, tea.Cmd(nil)
	if j.Parts != nil {
		work, next = inParts(j.Parts, k, n)
	}
	run := func() tea.Msg {
		out := jobMsg{key: k, n: n}
		out.err = safego.Call(j.Slot, func() error {
			out.apply = work(ctx)
			return nil
		})
		return out
	}
	if j.What == "" {
		return tea.Batch(run, next)
	}
	return tea.Batch(run, next, m.timer(200*time.Millisecond, func(time.Time) tea.Msg { return busyMsg{k, n} }))
}

// inParts gives work that hands over parts of its answer, and what waits for the next of them. A part that nobody has
// taken yet is replaced by a newer one, so that the work never waits for the screen.
func inParts(work func(context.Context, func(func() screen.Effect)) func() screen.Effect, k jobKey, n int) (func(context.Context) func() screen.Effect, tea.Cmd) {
	parts := make(chan func() screen.Effect, 1)
	var next tea.Cmd
	next = func() tea.Msg {
		apply, more := <-parts
		if !more {
			return nil
		}
		return partMsg{k, n, apply, next}
	}
	return func(ctx context.Context) func() screen.Effect {
		defer close(parts)
		return work(ctx, func(apply func() screen.Effect) {
			select {
			case <-parts:
			default:
			}
			parts <- apply // there is room: this is the only writer
		})
	}, next
}

func (m *model) do(c screen.Command) tea.Cmd {
	w := m.sh.Bench
	if w == nil {
		return m.say("no lab is open: 4 opens one")
	}
	if m.sh.ReadOnly && (c.Verb == screen.Fork || c.Verb == screen.Rewind || c.Verb == screen.StartFresh ||
		c.Verb == screen.AcceptLoss || c.Verb == screen.Discard) {
		return m.say("read-only: stored data is not changed")
	}
	m.note(screen.Info, asked(c))
	m.fast = m.clock().Add(2 * time.Second)
	ctx := m.ctx
	return tea.Batch(m.tick(), func() tea.Msg {
		out := doMsg{cmd: c}
		if err := safego.Call(string(c.Verb), func() error { return w.Do(ctx, c) }); err != nil {
			out.err = err
		}
		return out
	})
}

// told says what became of a checkpoint that was copied or put aside: under which name it is there now.
func (m *model) told(d doMsg) tea.Cmd {
	if d.err != nil {
		return nil
	}
	switch d.cmd.Verb {
	case screen.Fork:
		return m.say("forked: " + safe.Text(d.cmd.Arg, 60) + " is the copy")
	case screen.Rewind, screen.AcceptLoss, screen.Discard, screen.StartFresh:
		if k, ok := m.sh.Bench.(screen.Keeper); ok && k.Kept(d.cmd.Query) != "" {
			return m.say("the checkpoint as it was: " + safe.Text(k.Kept(d.cmd.Query), 80))
		}
	}
	return nil
}

// note makes an event of what the user did or was told, so that nothing has to be read while it lasts.
func (m *model) note(l screen.Level, t string) {
	if n := m.sh.Events.Len(); t == "" || n > 0 && m.sh.Events.At(n-1).Message == t {
		return // said just now
	}
	e := screen.Event{Time: m.sh.Now, Level: l, Query: "workspace", Batch: -1, Message: t}
	m.sh.Events.Note(e)
	if w, ok := m.sh.Bench.(screen.Noter); ok {
		w.Note(e)
	}
}

// asked tells the command in the words of the events.
func asked(c screen.Command) string {
	t := string(c.Verb)
	switch {
	case c.Verb == screen.RunStep:
		return fmt.Sprintf("%s %d", t, c.Step+1)
	case c.Query != "":
		return t + " " + c.Query
	}
	return t
}

func (m *model) say(t safe.Line) tea.Cmd {
	m.toast, m.dirty = t, true
	m.note(screen.Info, string(t))
	m.toastN++
	n := toastMsg(m.toastN)
	return m.timer(4*time.Second, func(time.Time) tea.Msg { return n })
}

// copy runs beside the loop: a tool of the system may hang.
func (m *model) copy(c screen.Clip) tea.Cmd {
	m.copied = c.Text
	return func() tea.Msg {
		where, err := m.clip(c.Text)
		if err != nil {
			return sayMsg("not copied: " + safe.Text(err.Error(), 100))
		}
		return sayMsg("copied " + c.What + " (" + widget.Bytes(int64(len(c.Text))) + ") to " + safe.Text(where, 100))
	}
}

// quit asks if queries run; otherwise it closes the lab and ends.
func (m *model) quit() tea.Cmd {
	run := 0
	for _, q := range m.sh.Queries {
		if q.State.Active() {
			run++
		}
	}
	if run == 0 {
		return m.closeAndQuit()
	}
	words := widget.Plural(int64(run), "query") + " run."
	if run == 1 {
		words = "1 query runs."
	}
	m.push(&confirm{q: screen.Question{
		Title: "Quit streamlab?",
		Lines: []safe.Line{words, "They stop after their batches.", screen.WhatStays(m.sh.Queries)},
		Verb:  "stop and quit",
	}, yes: m.closeAndQuit})
	return nil
}

// closeAndQuit stops the queries after their batches and ends; K in its overlay does not wait.
func (m *model) closeAndQuit() tea.Cmd {
	if m.quits {
		return nil
	}
	w := m.sh.Bench
	if w == nil {
		return tea.Quit
	}
	m.quits = true
	ctx, cancel := context.WithTimeout(context.WithoutCancel(m.ctx), 60*time.Second)
	m.over = nil
	m.push(&leaving{stop: cancel})
	return func() tea.Msg {
		defer cancel()
		var out closedMsg
		out.err = safego.Call("close", func() error { return w.Close(ctx) })
		return out
	}
}
