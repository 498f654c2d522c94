package engine

import (
	"encoding/json"
	"os"
	"path/filepath"
	"time"
)

// runningFile is what a running query leaves beside its checkpoint for other processes to read, which cannot
// open it. Nothing depends on it: it is not synced, may be old after a kill, and is removed at the end.
const runningFile = "RUNNING"

// runningEvery is how often it is written at most, restingEvery how often if nothing but the time is new.
const (
	runningEvery = time.Second
	restingEvery = 10 * time.Second
)

// RunningQuery is what another process says of its query.
type RunningQuery struct {
	Query     string    `json:"query"`
	RunID     string    `json:"runId"`
	PID       int       `json:"pid"`
	Written   time.Time `json:"written"`   // when this was so
	Message   string    `json:"message"`   // of its status
	Batch     int64     `json:"batch"`     // newest that is committed; -1: none
	Watermark int64     `json:"watermark"` // ms since 1970; 0: none
	Events    []string  `json:"events"`    // newest last
}

// ReadRunningQuery reads what a running query says of itself; ok is false if there is nothing to read. Whether it
// still runs, the lock of the checkpoint says.
func ReadRunningQuery(checkpoint string) (r RunningQuery, ok bool) {
	data, err := os.ReadFile(filepath.Join(checkpoint, runningFile))
	if err != nil || json.Unmarshal(data, &r) != nil {
		return RunningQuery{}, false
	}
	return r, true
}

// said is what the file told last, but for the time.
type said struct {
	message          string
	batch, watermark int64
	events           int
}

// keptEvents is how many lines of events are told.
const keptEvents = 5

// say writes the file, unless it is new enough; line is an event to add, "" for none.
func (d *driver) say(line string) {
	if d.temporary || d.p.checkpoint == "" {
		return
	}
	now := d.s.now()
	if line != "" {
		d.told = append(d.told, now.UTC().Format("15:04:05")+" "+line)
		if n := len(d.told); n > keptEvents {
			d.told = append([]string(nil), d.told[n-keptEvents:]...)
		}
	}
	if now.Sub(d.saidAt) < runningEvery {
		return
	}
	s := d.q.snap.Load()
	news := said{s.Status.Message, s.Batch, s.Watermark, len(d.told)}
	if line == "" && news == d.said && now.Sub(d.saidAt) < restingEvery {
		return
	}
	d.saidAt, d.said = now, news
	data, err := json.Marshal(RunningQuery{Query: d.q.name, RunID: d.q.runID, PID: os.Getpid(), Written: now, Message: s.Status.Message,
		Batch: s.Batch, Watermark: s.Watermark, Events: d.told})
	if err != nil {
		return
	}
	path := filepath.Join(d.p.checkpoint, runningFile)
	if os.WriteFile(path+".tmp", data, 0o600) == nil { // whoever reads sees the old text or the new one
		_ = os.Rename(path+".tmp", path)
	}
}

// unsay removes the file.
func (d *driver) unsay() {
	if !d.temporary && d.p.checkpoint != "" {
		_ = os.Remove(filepath.Join(d.p.checkpoint, runningFile))
	}
}
