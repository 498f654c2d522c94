package engine

import "time"

// State is where a query is in its life.
type State string

// The states. A query that failed is terminated with an exception.
const (
	Initializing State = "initializing"
	Running      State = "running"
	Terminated   State = "terminated"
)

// Snapshot is all that can be seen of a query at one moment. It is immutable; Version grows with every
// change, so that a watcher can tell "nothing new" by one comparison.
type Snapshot struct {
	Version      int64
	ID           string
	RunID        string
	Name         string
	Mode         string
	Trigger      string
	TriggerEvery time.Duration // of a processing-time trigger; 0 for others
	Sink         string
	Sources      []string
	Checkpoint   string
	Temporary    bool // the checkpoint is thrown away at the end
	State        State
	Status       Status
	StartedAt    time.Time
	Batch        int64 // last committed; -1 is none
	Recent       []Progress
	Exception    error // nil unless the query failed
	Watermark    int64 // epoch ms; 0 is none
	TotalRows    int64 // input rows of this run
	HasState     bool
	Explain      string
	Planned      bool // a batch was planned in this run
	OutputNames  []string
	Warning      string // what the sink said of rows that it does not write; empty: nothing
}

// Last is the newest progress; nil if there is none.
func (s *Snapshot) Last() *Progress {
	if len(s.Recent) == 0 {
		return nil
	}
	return &s.Recent[len(s.Recent)-1]
}
