package screen

import (
	"context"
	"time"

	"streamlab/errs"
)

// What follows are abilities that a Workbench may have besides: a screen asks for them by type assertion
// and does without where they are missing. Their methods may block, unless it says otherwise.

// A Door is who answers a statement.
type Door uint8

// The doors.
const (
	SQLiteDoor Door = iota // SQLite over what memory sinks hold
	SparkDoor              // Spark SQL over sources, tables and views, as a batch
)

// String is the name in the title.
func (d Door) String() string {
	if d == SparkDoor {
		return "Spark"
	}
	return "SQLite"
}

// An Asker answers statements at more than one door.
type Asker interface {
	// Ask runs one statement that only looks. At most limit rows come back; Result.Total is the number of
	// all rows where it can be had. A statement that writes is refused and says by which rule.
	Ask(ctx context.Context, d Door, sql string, limit int) (Result, error)
	// Names lists what a statement can name.
	Names(ctx context.Context, d Door) ([]Table, error)
	// Functions lists the functions of a door. It returns at once, and always the same.
	Functions(d Door) []string
}

// A Past is a statement that ran.
type Past struct {
	SQL    string    `json:"sql"`
	Door   Door      `json:"door"`
	Rows   int64     `json:"rows"` // -1: unknown
	At     time.Time `json:"at"`
	Failed bool      `json:"failed,omitempty"`
}

// A Saved is a statement with a name.
type Saved struct {
	Name string `json:"name"`
	SQL  string `json:"sql"`
	Door Door   `json:"door"`
}

// A Rememberer keeps statements beyond the run of the program.
type Rememberer interface {
	// Statements gives those that ran, oldest first, and those with a name, by name.
	Statements(ctx context.Context) ([]Past, []Saved, error)
	// Remember adds a statement that ran.
	Remember(ctx context.Context, p Past) error
	// SaveStatement keeps a statement under its name; an empty SQL takes it away.
	SaveStatement(ctx context.Context, s Saved) error
}

// An Exporter writes files for the user.
type Exporter interface {
	// WriteFile writes text to a path, relative to the current folder, as a whole or not at all. An
	// existing file is replaced only with over; without it exists says that it is there, and nothing was
	// written. place is the absolute path.
	WriteFile(ctx context.Context, path, text string, over bool) (place string, exists bool, err error)
}

// A FileText is a lab file as it was read.
type FileText struct {
	Path  string // absolute
	Text  string
	Stamp string // of the file on disk; differs when somebody else has written it
	// Draft is text that was typed earlier and never saved; empty if there is none. DraftAt is when.
	// DraftOld says that the file has changed since the draft began.
	Draft    string
	DraftAt  time.Time
	DraftOld bool
}

// A Fix is a way out of a problem.
type Fix struct {
	Title, Explain string
	Edits          []TextEdit
}

// A TextEdit replaces the bytes From up to To of a text. Edits of a fix do not overlap.
type TextEdit struct {
	From, To int
	Text     string
}

// A TextProblem is what is wrong at a place of a lab file.
type TextProblem struct {
	Err   *errs.Error // with its place
	Query string      // it is about; empty: none in particular
	Why   string      // a paragraph on the reason; may be empty
	Fixes []Fix
}

// A ModeWord is what is to be said of an output mode: allowed, or by what it is refused.
type ModeWord struct {
	Mode string // append, update, complete
	OK   bool
	By   string // the sink that refuses it, in a word; empty: the query's shape does, or nobody
	Err  *errs.Error
}

// A QueryVerdict is what can be said of a query of a lab file.
type QueryVerdict struct {
	Query      string
	Line, Last int // its lines in the file, from 1 on
	Format     string
	Mode       string // asked for
	Modes      []ModeWord
	Why        string // on the mode asked for
}

// A TextVerdict is what can be said of the text of a lab file.
type TextVerdict struct {
	Problems []TextProblem // in file order
	Queries  []QueryVerdict
}

// A QueryPlan is a closer look at one query of a lab file.
type QueryPlan struct {
	Tree   []string // plan, one operator a line with its indentation, the sink last
	Schema []Column // of the result, with Spark's types
	Filled []bool   // per column of Schema: it is never null
	Accept []SinkModes
	Rows   Result // of a dry run of one batch
	RowErr *errs.Error
}

// SinkModes is what a kind of sink accepts of a query.
type SinkModes struct {
	Sink  string
	Modes [3]bool   // append, update, complete
	Notes [3]string // a mark behind the mode; explained below the table; may be empty
}

// A PlanChange is a difference between an edited query and the checkpoint that it would go on from.
type PlanChange struct {
	Verdict, What, Was, Now, Text string
}

// A Labwright edits lab files.
type Labwright interface {
	// ReadLab reads a lab file, and the draft of it.
	ReadLab(ctx context.Context, path string) (FileText, error)
	// SaveLab writes it as a whole or not at all, and forgets its draft. With a stamp that is not that of
	// the file on disk nothing is written and changed is true; an empty stamp writes all the same. stamp is
	// that of the new file.
	SaveLab(ctx context.Context, path, text, stamp string) (newStamp string, changed bool, err error)
	// KeepDraft keeps text for the next time; it survives the end of the process. An empty text forgets it.
	KeepDraft(ctx context.Context, path, text, stamp string) error
	// Scratch writes text to a file beside the drafts, for another program to edit; Reread reads a file back
	// and removes it if it is one of Scratch.
	Scratch(ctx context.Context, path, text string) (file string, err error)
	Reread(ctx context.Context, file string) (text string, err error)
	// CheckLab says what is wrong with a text. It starts nothing and touches no checkpoint.
	CheckLab(ctx context.Context, path, text string) (TextVerdict, error)
	// PlanQuery looks closer at a query of a text; with dry it runs one batch of it into nothing.
	PlanQuery(ctx context.Context, path, text, query string, dry bool) (QueryPlan, error)
}

// An Adopter takes an edited lab file over while its queries run.
type Adopter interface {
	// Adopt makes the text the definition of the opened lab. Queries that run keep their plan until they are
	// started again: the answer lists those that the text defines otherwise.
	Adopt(ctx context.Context, text string) ([]Redefined, error)
}

// A Redefined is a running query that an edited lab file defines otherwise than it runs.
type Redefined struct {
	Query   string
	Changes []PlanChange // between the new definition and the checkpoint, worst first; nil: it fits
	Refused bool         // it would not start again
	Broken  bool         // nor on a new checkpoint
}
