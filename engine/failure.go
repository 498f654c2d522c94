package engine

import (
	"fmt"
	"strings"
	"time"

	"streamlab/errs"
)

// A Failure is what there is to know about the end of a query that failed: the fields of Spark's
// StreamingQueryException.
type Failure struct {
	Cause       error     // the query's Exception: STREAM_FAILED with the cause inside
	Name        string    // of the query
	ID, RunID   string    //
	Batch       int64     // that was under way: its offsets are written, its commit is not; -1 is none
	StartOffset string    // what the batch began at, one JSON a source: `[{"logOffset":0},-]`; `[]` before sources were made
	EndOffset   string    // what it was to end at
	Committed   string    // the same with the sources' descriptions: `{FileStreamSource[…]: {"logOffset":0}}`
	Available   string    //
	State       State     // in which the query failed: Initializing or Running
	Plan        string    // the logical plan; "" while initializing
	Time        time.Time // when
}

// String is the message and the block of Spark's text below it.
func (f *Failure) String() string {
	message := ""
	if e := errs.As(f.Cause); e != nil {
		message = e.Params["message"]
	}
	name := f.Name
	if name != "" {
		name += " "
	}
	state := "ACTIVE"
	if f.State == Initializing {
		state = "INITIALIZING"
	}
	text := fmt.Sprintf("%s\n=== Streaming Query ===\nIdentifier: %s[id = %s, runId = %s]\nCurrent Committed Offsets: %s\n"+
		"Current Available Offsets: %s\n\nCurrent State: %s\nThread State: RUNNABLE", message, name, f.ID, f.RunID, f.Committed, f.Available, state)
	if f.Plan != "" {
		text += "\n\nLogical Plan:\n" + f.Plan
	}
	return text
}

// Failure is the end of a query that failed; nil of one that did not, or still runs.
func (q *StreamingQuery) Failure() *Failure { return q.failure.Load() }

// fail notes where the query stood.
func (d *driver) fail(err error) *Failure {
	f := &Failure{Cause: err, Name: d.q.name, ID: d.q.id, RunID: d.q.runID, State: Initializing, Batch: -1, Time: d.s.now()}
	if d.constructed {
		f.Batch = d.batch
	}
	var start, end, committed, available []string
	running := d.q.snap.Load().State == Running
	for _, k := range d.scans {
		if !running || k >= len(d.sources) {
			break // Spark makes its sources when it is through with initializing
		}
		x := d.sources[k]
		for _, o := range []struct {
			offset string
			list   *[]string
			named  *[]string
		}{{string(x.committed), &start, &committed}, {string(x.end), &end, &available}} {
			if o.offset == "" {
				*o.list = append(*o.list, "-")
				continue
			}
			*o.list = append(*o.list, o.offset)
			*o.named = append(*o.named, describe(x.src)+": "+o.offset)
		}
	}
	f.StartOffset, f.EndOffset = "["+strings.Join(start, ", ")+"]", "["+strings.Join(end, ", ")+"]"
	f.Committed, f.Available = "{"+strings.Join(committed, ",")+"}", "{"+strings.Join(available, ",")+"}"
	if running {
		f.State, f.Plan = Running, d.q.snap.Load().Explain
	}
	return f
}
