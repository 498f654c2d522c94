package screen

import "context"

// A CrashBench kills a query at a point of the batch protocol, restarts it, and counts.
type CrashBench interface {
	// CrashPlan lists what can be tried and what was; it returns at once.
	CrashPlan() CrashPlan
	// Crash runs a query in child processes: one run that goes well, one that is killed at the point, one that
	// restarts. Everything in the result is read from the checkpoint and the sink afterwards.
	Crash(ctx context.Context, sink, point string) (*CrashResult, error)
}

// CrashPlan is what can be tried.
type CrashPlan struct {
	Sinks  []CrashSink
	Points []CrashPoint // in the order of the protocol
	Tried  []CrashResult
}

// A CrashSink is a sink to crash into.
type CrashSink struct {
	Key     string // "foreachBatch"
	Title   string // "foreachBatch · not idempotent"
	Promise string // "exactly-once", "at-least-once"
	Twin    string // the same sink made idempotent, or not; may be empty
}

// A CrashPoint is a named point of the batch protocol.
type CrashPoint struct {
	Name  string // "sink.commit.after"
	Stage int    // 1 ask sources, 2 write offsets, 3 run, 4 sink, 5 commit
	Where string // "after the sink wrote"
}

// CrashRow is one batch of one run.
type CrashRow struct {
	Run      int
	Batch    int64
	From, To int64  // rows of the source, from the offset log; -1: not in the log
	Log      string // "new", "reused", "missing"
	SinkRows int64  // that this run added to the sink
	Commit   string // "yes", or why not
}

// CrashResult is what happened.
type CrashResult struct {
	Sink, Point string
	NotPassed   bool  // the query does not come by this point with this sink; the rest is empty
	Batch       int64 // that was hit
	Rows        []CrashRow
	Records     []string // what lay in the checkpoint at the crash, a line each
	SourceRows  int64
	SinkRows    int64
	Duplicates  int64
	Lost        int64
	Doubled     []int64 // first rows that the sink holds more than once
	Promise     string
	Kept        bool   // the promise
	Why         string // in two or three sentences
	Checkpoint  string // name under which Workbench.Checkpoint shows it as it was at the crash; may be empty
}

// Verdict is the result in one of three words: "once", "twice", "lost".
func (r *CrashResult) Verdict() string {
	switch {
	case r.Lost > 0:
		return "lost"
	case r.Duplicates > 0:
		return "twice"
	}
	return "once"
}
