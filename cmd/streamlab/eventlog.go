//go:build cgo

package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"streamlab/engine"
	"streamlab/internal/safego"
	"streamlab/lab"
	"streamlab/tui/screen"
)

// An eventLine is an event as the log of a workspace keeps it, a line of JSON each.
type eventLine struct {
	Time      time.Time `json:"time"`
	Level     string    `json:"level"` // DEBUG, INFO, WARN, ERROR
	Lab       string    `json:"lab"`   // the lab file's name: labs of one folder share a workspace
	Query     string    `json:"query,omitempty"`
	Batch     *int64    `json:"batch,omitempty"`
	Condition string    `json:"condition,omitempty"`
	Message   string    `json:"message"`
	Process   int       `json:"process"`
}

// eventLogPath is the log of a workspace; what was too much for it lies beside it under olderLog.
func eventLogPath(workspace string) string { return filepath.Join(workspace, "log", "events.jsonl") }

func olderLog(path string) string { return strings.TrimSuffix(path, ".jsonl") + ".1.jsonl" }

const (
	eventLogEvery = 250 * time.Millisecond
	eventLogMost  = 8 << 20 // bytes; then the log begins anew and the old one is kept once
)

// An eventLog writes what happens in a session to the log of its workspace, so that another process, or a later
// one, can read it. It looks at the session's ring at its own pace: queries never wait for it, and what the ring
// lost meanwhile is counted in the log. A log that cannot be written is no reason to stop anything.
type eventLog struct {
	path, lab string
	session   *engine.Session

	mu   sync.Mutex
	seen int64
	own  []eventLine // notes of the workbench that are not written yet

	stop  chan struct{}
	ended sync.Once
	loop  *safego.Handle
}

// logEvents begins the log of an opened lab; end ends it, after the workbench was closed.
func logEvents(w *lab.Workbench) *eventLog {
	l := &eventLog{path: eventLogPath(w.Session().Workspace()), lab: filepath.Base(w.Lab.File), session: w.Session(), stop: make(chan struct{})}
	l.loop = safego.Go("the event log", func() error {
		t := time.NewTicker(eventLogEvery)
		defer t.Stop()
		for {
			select {
			case <-t.C:
				l.write()
			case <-l.stop:
				return nil
			}
		}
	})
	return l
}

// end writes what is left. A second call does nothing.
func (l *eventLog) end() {
	l.ended.Do(func() {
		close(l.stop)
		_ = l.loop.Wait()
		l.write()
	})
}

// note adds an event of the workbench itself.
func (l *eventLog) note(e screen.Event) {
	l.mu.Lock()
	l.own = append(l.own, eventLine{Time: e.Time, Level: e.Level.String(), Query: e.Query, Message: e.Message})
	l.mu.Unlock()
}

func (l *eventLog) write() {
	l.mu.Lock()
	defer l.mu.Unlock()
	list, newest := l.session.Events(l.seen)
	lines := l.own
	l.own = nil
	if len(list) > 0 && list[0].Seq > l.seen+1 {
		lines = append(lines, eventLine{Time: list[0].Time, Level: screen.Warn.String(),
			Message: grouped(list[0].Seq-l.seen-1) + " events before this one were not kept"})
	}
	l.seen = newest
	for _, e := range list {
		level, batch := levelOf(e)
		x := eventLine{Time: e.Time, Level: level.String(), Query: e.Name, Condition: e.Condition, Message: e.Text}
		if batch >= 0 {
			x.Batch = &batch
		}
		lines = append(lines, x)
	}
	if len(lines) == 0 {
		return
	}
	var b strings.Builder
	for _, x := range lines {
		x.Lab, x.Process, x.Time = l.lab, os.Getpid(), x.Time.UTC()
		raw, err := json.Marshal(x)
		if err != nil {
			continue
		}
		b.Write(raw)
		b.WriteByte('\n')
	}
	_ = appendLog(l.path, b.String())
}

// appendLog appends whole lines in one write, so that the lines of several processes stay whole.
func appendLog(path, text string) error {
	if st, err := os.Stat(path); err == nil && st.Size() > eventLogMost {
		if err := os.Rename(path, olderLog(path)); err != nil {
			return err
		}
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Close())
}

// levelOf says how much an event of a session matters, and the batch it is of; -1: none.
func levelOf(e engine.Event) (screen.Level, int64) {
	switch e.Kind {
	case engine.QueryProgress:
		if e.Progress.NumInputRows > 0 {
			return screen.Info, e.Progress.BatchID
		}
		return screen.Debug, e.Progress.BatchID
	case engine.QueryIdle:
		return screen.Debug, -1
	case engine.Notice:
		return screen.Warn, -1
	case engine.QueryTerminated:
		if e.Exception != "" {
			return screen.Error, -1
		}
	}
	return screen.Info, -1
}

// readEvents reads the log of a workspace, oldest first: the lines of a lab, or of all labs for "". A line that
// is not whole is left out. There need not be a log.
func readEvents(workspace, lab string) ([]eventLine, error) {
	path := eventLogPath(workspace)
	var out []eventLine
	for _, p := range []string{olderLog(path), path} {
		f, err := os.Open(p)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		sc := bufio.NewScanner(f)
		sc.Buffer(nil, 1<<20)
		for sc.Scan() {
			if e, ok := eventOf(sc.Bytes(), lab); ok {
				out = append(out, e)
			}
		}
		if err := errors.Join(sc.Err(), f.Close()); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// eventOf reads a line of the log; false if it is broken or of another lab.
func eventOf(line []byte, lab string) (e eventLine, ok bool) {
	err := json.Unmarshal(line, &e)
	return e, err == nil && (lab == "" || e.Lab == lab)
}
