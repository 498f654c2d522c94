package screen

import (
	"context"
	"time"

	"streamlab/errs"
)

// A Workbench is a lab that can be watched and steered. The screens know nothing of the engine but
// this: a lab in this process, a lab on a Spark server and the fake of the tests all look the same.
//
// Lab, Queries, Events and Console are called from the loop that handles keys, up to thirty times a
// second: they return at once, take no lock the engine holds for long, and give values that nobody
// changes afterwards. All other methods may block; they are called on goroutines of their own with a
// context that ends when the user leaves the screen.
type Workbench interface {
	// Lab says which lab this is.
	Lab() LabInfo
	// Queries gives one snapshot per query, in the order of the lab file. A snapshot is immutable;
	// the same pointer (or the same Version) means that nothing changed.
	Queries() []*QuerySnapshot
	// Events gives the kept events with a number above after, oldest first, and the newest number.
	Events(after int64) ([]Event, int64)
	// Do asks for something and returns whether it was accepted. The effect shows in the next
	// snapshot.
	Do(ctx context.Context, c Command) error

	// Query runs one SQLite statement over the memory sinks. At most limit rows come back.
	Query(ctx context.Context, sql string, limit int) (Result, error)
	// Catalog lists what Query can name.
	Catalog(ctx context.Context) ([]Table, error)

	// Checkpoint reads the checkpoint of a query, running or not.
	Checkpoint(ctx context.Context, query string) (*CheckpointInfo, error)
	// CheckpointBatch reads what the checkpoint holds of one batch.
	CheckpointBatch(ctx context.Context, query string, batch int64) (*CheckpointBatch, error)
	// State reads the rows of one stateful operator as they were after a batch. filter keeps rows of
	// which some cell contains it; "" keeps all. Result.Total is the number of keys when known.
	State(ctx context.Context, query string, batch int64, operator int, filter string, limit int) (Result, error)

	// BatchRows gives rows that a batch sent to its sink; an error if they cannot be had any more.
	BatchRows(ctx context.Context, query string, batch int64, limit int) (Result, error)
	// Console gives the kept text of a console sink; the zero Console for other sinks.
	Console(query string) Console
	// Explain gives the plan of a query as text, its promise and its schema.
	Explain(ctx context.Context, query string) (string, error)

	// Close stops all queries after their batches and releases the lab. ctx bounds the wait; when it
	// ends, queries are stopped at once.
	Close(ctx context.Context) error
}

// A Gallery lists labs and opens them.
type Gallery interface {
	// Labs lists the shipped labs and those opened before, in the order to show them.
	Labs(ctx context.Context) ([]LabEntry, error)
	// Open opens the lab of an entry (LabEntry.Path) or of a file or folder the user names, and
	// starts its queries unless their definition says otherwise.
	Open(ctx context.Context, path string) (Workbench, error)
	// Reset forgets the progress of a lab and the copy it runs in.
	Reset(ctx context.Context, path string) error
}

// A Maker is a gallery that makes new labs.
type Maker interface {
	// Templates lists what a new lab can be made from, with a line about each.
	Templates() []Template
	// New makes a lab in a folder and gives the path of its file. Nothing is overwritten.
	New(ctx context.Context, template, folder string) (path string, err error)
}

// A Template is what a new lab is made from.
type Template struct{ Name, About string }

// LabInfo is what the screens say about the opened lab.
type LabInfo struct {
	Name   string // short, for line 1: "shop-demo"
	Title  string // from the lab file; may be empty
	About  string // may be empty
	Path   string // of the lab file
	Folder string // everything the lab writes is in here
	Steps  []Step // of a guided lab; nil otherwise. A new slice whenever a step changed.
	Lesson Lesson // what the lab says of itself as a lesson
	// Changed tells apart what another program has written into the file since it was read; empty: nothing.
	Changed string
	// Started says that opening the lab started queries: it is looked at before its steps are played.
	Started bool
}

// A Lesson is what a guided lab teaches; the zero value is none.
type Lesson struct {
	Area string // group in the gallery: "event time"
	Goal string
	Trap string // what sounds right
	Why  string // why it is wrong
	Next string // name of the lab to go on with; empty at the end of the course
}

// StepState says how far a step is.
type StepState uint8

// The states of a step.
const (
	StepOpen StepState = iota
	StepRunning
	StepSeen   // what should be seen was seen
	StepFailed // something else was seen
)

// A Step is one instruction of a guided lab.
type Step struct {
	Title   string
	Why     string // what it teaches; may be empty
	Do      string // what will happen, in words or as the lab file has it; may be empty
	Predict string // a question to answer before; may be empty
	Said    string // what the user answered; empty before
	Answer  string // to Predict; shown when the step was seen
	State   StepState
	Found   string // what was seen; empty before
}

// A LabEntry is one line of the gallery.
type LabEntry struct {
	Path    string      // what Open takes
	Title   string      // "event time and watermarks"
	Teaches string      // one line: "late rows, when state goes"
	About   string      // a paragraph; may be empty
	Steps   []string    // titles; may be nil
	Uses    []string    // "memory source you feed by hand"; may be nil
	Minutes int         // 0: free
	Lesson  Lesson      // the zero value is none
	Own     bool        // opened before by the user, not shipped
	Started bool        // progress exists
	Done    bool        // all steps were seen
	Problem *errs.Error // first problem of a broken lab file; nil if it is sound
}

// State says what a query does now.
type State uint8

// The states of a query.
const (
	Stopped State = iota
	Starting
	Running
	Stopping
	Retrying
	Paused
	Failed
)

var stateWords = [...]string{"stopped", "starting", "running", "stopping", "retrying", "paused", "failed"}

// String is the word the screens show.
func (s State) String() string {
	if int(s) < len(stateWords) {
		return stateWords[s]
	}
	return "unknown"
}

// Active reports whether the query has a run that is not over.
func (s State) Active() bool { return s != Stopped && s != Failed }

// A QuerySnapshot is all that is known of a query at one moment. It is immutable.
type QuerySnapshot struct {
	Version int64 // differs whenever anything below differs
	Name    string
	ID      string // lasts across restarts
	RunID   string // of this run; empty before the first

	State   State
	Message string    // Spark's status message: "Processing new data"
	Since   time.Time // when State was entered, or the run began; zero if never started
	Error   *errs.Error
	Warning string // of the sink, about rows that this run does not write; empty: none

	Source  string // "kafka clicks, 4 partitions"
	Sink    string // short: "memory", "delta", "foreachBatch"
	Mode    string // "append", "update", "complete"
	Trigger string // "500 ms", "as fast as possible", "availableNow"
	// TriggerEvery is the interval of a processing-time trigger; 0 for others. Batches longer than
	// it mean falling behind.
	TriggerEvery time.Duration
	Limit        string // "1M/s"; may be empty
	Grows        bool   // complete mode with windows of time: none of them is ever released
	Promise      string // of the weakest part: "exactly-once", "at-least-once", "none"
	Temporary    bool   // the checkpoint goes with the run

	BatchID        int64         // newest batch that was begun; -1 before the first
	Watermark      time.Time     // zero: none yet
	WatermarkDelay time.Duration // 0: the query has no watermark
	Progress       []Progress    // of the last batches, oldest first, at most 120
	Memory         Memory        // at the end of the newest batch; the zero value if that is not known
}

// Quiet reports that a query waits for data and has had none for ten seconds, after which Spark reports that nothing
// comes: the rates of its last batch are no longer those of now.
func (q *QuerySnapshot) Quiet(now time.Time) bool {
	p := q.Last()
	return q.State == Running && q.Message == "Waiting for data to arrive" && now.Sub(p.Time.Add(p.Duration)) > 10*time.Second
}

// Memory is what a query holds, in bytes.
type Memory struct {
	Held    int64 // all of it; 0: not known
	State   int64 // of it: tables and indexes of stateful operators
	Budget  int64 // what the query may hold; 0: there is no limit
	Limited bool  // batches are made smaller, so that it stays within the budget
	Away    int64 // rows of state that are on disk only, until a batch touches them
}

// Last gives the newest progress; the zero Progress with BatchID -1 if there is none.
func (q *QuerySnapshot) Last() Progress {
	if len(q.Progress) == 0 {
		return Progress{BatchID: -1}
	}
	return q.Progress[len(q.Progress)-1]
}

// Progress is what one batch reported, as in Spark's StreamingQueryProgress.
type Progress struct {
	BatchID     int64
	Time        time.Time // when the batch began
	Duration    time.Duration
	RowsIn      int64
	RowsOut     int64   // what the sink wrote or, where it does not say, was handed; -1: not known
	InputRate   float64 // rows per second
	ProcessRate float64 // rows per second
	Phases      []Phase // in the order they ran: latestOffset, queryPlanning, walCommit, addBatch, commitOffsets
	Watermark   time.Time
	EventMax    time.Time          // newest event time among the rows of the batch; zero: none
	Operators   []OperatorProgress // stateful operators; nil if none
	Retried     bool               // ran again after a restart
	Note        string             // "slow: foreachBatch"; may be empty
	JSON        func() string      // Spark's JSON of it; may be nil
}

// StateRows is the number of state rows over all operators.
func (p Progress) StateRows() (n int64) {
	for _, o := range p.Operators {
		n += o.RowsTotal
	}
	return n
}

// Late is the number of rows (for aggregations: groups) dropped by the watermark.
func (p Progress) Late() (n int64) {
	for _, o := range p.Operators {
		n += o.DroppedByWatermark
	}
	return n
}

// LateWord names n things that were dropped as late: for aggregations Spark counts groups, not rows.
func (p Progress) LateWord(n int64) string {
	w := "late row"
	for _, o := range p.Operators {
		if o.DroppedByWatermark > 0 && o.Name == "stateStoreSave" {
			w = "late group"
		}
	}
	if n != 1 {
		w += "s"
	}
	return w
}

// A Phase is one part of a batch's time.
type Phase struct {
	Name string
	Took time.Duration
}

// OperatorProgress is what one stateful operator reported, under Spark's names.
type OperatorProgress struct {
	Name               string // "stateStoreSave", "dedupe", "symmetricHashJoin"
	RowsTotal          int64
	RowsUpdated        int64
	RowsRemoved        int64
	DroppedByWatermark int64
	MemoryBytes        int64
}

// Level is how much an event matters.
type Level uint8

// The levels of events.
const (
	Debug Level = iota
	Info
	Warn
	Error
)

var levelWords = [...]string{"DEBUG", "INFO", "WARN", "ERROR"}

// String is the word the event list shows.
func (l Level) String() string {
	if int(l) < len(levelWords) {
		return levelWords[l]
	}
	return "?"
}

// An Event is something that happened to a query or to the program.
type Event struct {
	Seq     int64 // rises by one per event
	Time    time.Time
	Level   Level
	Query   string // "workspace" for the program itself
	Batch   int64  // -1: no batch is meant
	Message string // one line
	Err     *errs.Error
}

// A Noter is a workbench that keeps what the user did and was told, beside what its queries tell.
type Noter interface {
	// Note keeps an event of the screens; it returns at once.
	Note(e Event)
}

// A Keeper is a workbench that puts checkpoints aside before it changes them.
type Keeper interface {
	// Kept is the name under which the checkpoint of a query was put aside last; empty: never. It returns at once.
	Kept(query string) string
}

// Verb is what a Command asks for.
type Verb string

// The verbs.
const (
	Start          Verb = "start"
	StopAfterBatch Verb = "stop after batch"
	StopNow        Verb = "stop now"
	RunOneBatch    Verb = "run one batch" // starts the query for one batch if it is stopped
	Restart        Verb = "restart"       // stop after batch, then start
	Rewind         Verb = "rewind"        // checkpoint of Query back to Batch
	Fork           Verb = "fork"          // checkpoint of Query up to Batch, under the name Arg
	StartFresh     Verb = "start fresh"   // forget the checkpoint of Query, then start
	AcceptLoss     Verb = "accept loss"   // of the damaged checkpoint of Query: CheckpointInfo.Lost, inclusive
	Discard        Verb = "discard"       // the checkpoint of Query is put aside; nothing is started
	RunStep        Verb = "run step"      // of a guided lab: Step counts from 0, Arg is what the user predicted
)

// A Command asks a workbench to do something.
type Command struct {
	Verb  Verb
	Query string // empty: all queries, for Start, StopAfterBatch and StopNow
	Batch int64
	Step  int
	Arg   string
}

// A Column of a result.
type Column struct {
	Name  string
	Type  string // shown beside the name: "text", "int"; may be empty
	Right bool   // align right: numbers
	// Grouped shows whole numbers with separators between thousands: what groups amount to, which is read, not the
	// data, whose numbers may be names. Copies and exports have the plain text.
	Grouped bool
	// HideDay is a date, "2026-01-05", that the screen leaves out of the times of the column: all have it.
	HideDay string
}

// A Cell is one value as text. The text is raw data: the canvas makes it safe.
type Cell struct {
	Text string
	Null bool
}

// A Result is a page of rows as text.
type Result struct {
	Columns []Column
	Rows    [][]Cell
	Total   int64 // rows there are; -1 if unknown
	More    bool  // rows were left out because of the limit
	Took    time.Duration
	Batch   int64  // the data is as of this batch; -1 if that means nothing
	Note    string // how the rows were got: "replayed", "of the memory sink"; may be empty
}

// A Table is something SQL can name.
type Table struct {
	Name    string
	Kind    string // "memory", "view"
	Rows    int64  // -1: unknown
	Columns []Column
}

// CheckpointInfo is a checkpoint as a whole.
type CheckpointInfo struct {
	Query     string
	Location  string
	InUse     bool   // by this process
	Owner     string // of another process that holds it: pid, host, start; empty if none
	Temporary bool
	Bytes     int64
	Batches   []BatchMark // retained, ascending
	Operators []StateOperator
	// Restart says what a restart would do now: which batch runs, with which offsets, what a sink
	// may see twice. Computed, not canned.
	Restart string
	Problem *errs.Error // the checkpoint is damaged; nil if sound
	// Lost are the batches that a damaged checkpoint has lost, both inclusive, and Whole is the newest one
	// that it can go back to, -1 if there is none. They mean nothing without Problem; Lost is empty if it is
	// not known.
	Lost  []int64
	Whole int64
}

// A BatchMark is one retained batch in the strip of a checkpoint.
type BatchMark struct {
	ID      int64
	Offsets bool // planned
	Commit  bool // done
	Bases   bool // whole state written with it
	Retried bool
}

// A StateOperator is a stateful operator with rows in a checkpoint.
type StateOperator struct {
	ID    int
	Name  string
	Store string // "default", "left", "right", a variable; "" where only ID counts
	Rows  int64  // -1: unknown
}

// CheckpointBatch is what a checkpoint holds of one batch.
type CheckpointBatch struct {
	ID           int64
	Written      time.Time // when offsets were written; zero if unknown
	Committed    time.Time // zero: no commit
	HasCommit    bool
	Sources      []SourceOffset
	LateBefore   time.Time // rows before it are late; zero: none
	ClosesUpTo   time.Time // windows that end by it close; zero: none
	StateVersion int64     // state after the batch is version ID+1; -1: none
	Conf         []KeyValue
	OffsetsText  string // offsets/N in Spark's text form
	CommitText   string // commits/N in Spark's text form; empty without commit
}

// A SourceOffset is the range one source gives to a batch.
type SourceOffset struct {
	Source string
	Start  string // Spark's JSON; "" is the beginning
	End    string
	Rows   int64    // -1: unknown
	Parts  []string // the numbers of End with their change: "clicks 0 4,675,028 (+124,780)"; may be nil
}

// A KeyValue is a setting pinned in the offset log.
type KeyValue struct{ Key, Value string }

// Console is the kept text of a console sink.
type Console struct {
	Version int64 // differs whenever Lines differ
	Lines   []string
	Dropped int64 // lines not kept any more
}
