package engine

import (
	"context"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"time"

	"github.com/apache/arrow-go/v18/arrow"

	"streamlab/delta"
	"streamlab/engine/exec"
	"streamlab/sql"
	"streamlab/sql/catalog"
	"streamlab/sql/expr"
	"streamlab/sql/plan"
	"streamlab/sql/types"
)

// Config is what a session is made of. The zero value is a session with default settings in the current
// folder.
type Config struct {
	Conf map[string]string // settings, see Settings
	// Dir is the folder that relative paths start at; default the current one.
	Dir string
	// Workspace holds checkpoints, the warehouse and memory.db; default Dir/.streamlab.
	Workspace string
	Out       io.Writer // of the console sink; default os.Stdout
	// Console gives the writer of one query's console sink; nil: Out for all.
	Console func(queryName string) io.Writer
	Logger  *slog.Logger // default: discards
	Clock   Clock        // default: the system's
	Formats Formats      // default: every format of this program
}

// Session is the entry to the engine. Safe for concurrent use.
type Session struct {
	conf      *Conf
	dir       string
	workspace string
	out       io.Writer
	consoleOf func(string) io.Writer
	log       *slog.Logger
	clock     Clock
	formats   Formats
	catalog   *catalog.Catalog
	streams   *Streams
	delta     *delta.Provider
	whereText string // the condition of a replacing write as its writer gave it
	events    ring
	tag       catalog.Tag // of the writes of the statement that runs; see statements
	streamIDs atomic.Int64
	owners    stateOwners
	memory    *memoryPool
}

// NewSession makes a session. Errors: INVALID_CONF_VALUE.*, UNKNOWN_SETTING.
func NewSession(c Config) (*Session, error) {
	conf, err := newConf(c.Conf)
	if err != nil {
		return nil, err
	}
	s := &Session{conf: conf, dir: c.Dir, workspace: c.Workspace, out: c.Out, consoleOf: c.Console, log: c.Logger, clock: c.Clock,
		formats: c.Formats, catalog: catalog.New(nil), memory: &memoryPool{}}
	if s.dir == "" {
		if s.dir, err = os.Getwd(); err != nil {
			return nil, err
		}
	}
	if s.dir, err = filepath.Abs(s.dir); err != nil {
		return nil, err
	}
	if s.workspace == "" {
		s.workspace = filepath.Join(s.dir, ".streamlab")
	}
	if s.out == nil {
		s.out = os.Stdout
	}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	if s.clock == nil {
		s.clock = systemClock{}
	}
	if s.formats.Sources == nil {
		s.formats = AllFormats()
	}
	s.wireDelta()
	s.streams = newStreams(s)
	return s, nil
}

// child is a session for the statements of one micro-batch: settings of its own, temporary views of its own,
// everything else shared. It is not closed.
func (s *Session) child() *Session {
	c := &Session{conf: s.conf.clone(), dir: s.dir, workspace: s.workspace, out: s.out, consoleOf: s.consoleOf, log: s.log,
		clock: s.clock, formats: s.formats, catalog: catalog.Overlay(s.catalog), streams: s.streams, delta: s.delta, memory: s.memory}
	return c
}

// Conf is the session's settings.
func (s *Session) Conf() *Conf { return s.conf }

// Catalog is the session's names.
func (s *Session) Catalog() *catalog.Catalog { return s.catalog }

// Streams is the session's queries.
func (s *Session) Streams() *Streams { return s.streams }

// Dir is the folder that relative paths start at.
func (s *Session) Dir() string { return s.dir }

// Workspace is the folder of checkpoints, warehouse and memory sinks.
func (s *Session) Workspace() string { return s.workspace }

// Events gives the events after seq that are still held, oldest first, and the newest sequence number.
func (s *Session) Events(after int64) ([]Event, int64) { return s.events.after(after) }

// Close stops all queries and closes what the session opened.
func (s *Session) Close() error {
	var first error
	for _, q := range s.streams.Active() {
		if err := q.Stop(); err != nil && first == nil {
			first = err
		}
	}
	s.streams.bus.close()
	return first
}

func exprConf(c *Conf) expr.Conf {
	return expr.Conf{Zone: c.zone(), ANSI: c.flag(keyANSI), TimeType: c.Get("spark.sql.timeType.enabled") == "true",
		NTZ:            c.Get("spark.sql.timestampType") == "TIMESTAMP_NTZ",
		CutDecimals:    c.Get("spark.sql.decimalOperations.allowPrecisionLoss") == "false",
		LastMapKeyWins: c.Get("spark.sql.mapKeyDedupPolicy") == "LAST_WIN",
		KeepNullFields: c.Get("spark.sql.jsonGenerator.ignoreNullFields") == "false",
		NaNStatistics:  c.Get("spark.sql.legacy.statisticalAggregate") == "true",
		TimeParser: map[string]expr.TimeParser{"LEGACY": expr.LegacyParser, "EXCEPTION": expr.ExceptionParser}[strings.ToUpper(
			c.Get("spark.sql.legacy.timeParserPolicy"))],
		CalendarIntervals: c.Get("spark.sql.legacy.interval.enabled") == "true"}
}

func planConf(c *Conf) plan.Conf { return plan.Conf{Expr: exprConf(c), Get: c.Get} }

// path makes a path of the user's absolute; a file: prefix is dropped.
func (s *Session) path(p string) string { return absolute(s.dir, p) }

func absolute(dir, p string) string {
	if p == "" {
		return ""
	}
	if len(p) > 5 && p[:5] == "file:" {
		p = p[5:]
		for len(p) > 1 && p[0] == '/' && p[1] == '/' {
			p = p[1:]
		}
	}
	if filepath.IsAbs(p) {
		return filepath.Clean(p)
	}
	return filepath.Join(dir, p)
}

// SQL runs a statement: a query gives a DataFrame, a command is carried out and gives a DataFrame of its
// answer (often empty).
func (s *Session) SQL(ctx context.Context, text string) (*DataFrame, error) {
	return s.SQLWith(ctx, text, Params{})
}

// Params are values of the markers in a text: of :name by name, of ? by position. A value is nil, a bool, an
// int64, a float64 or a string.
type Params struct {
	Named      map[string]any
	Positional []any
}

func (p Params) conf(c plan.Conf) (plan.Conf, error) {
	for n, v := range p.Named {
		e, err := literal(v)
		if err != nil {
			return c, err
		}
		if c.Params == nil {
			c.Params = map[string]expr.Expr{}
		}
		c.Params[n] = e
	}
	for _, v := range p.Positional {
		e, err := literal(v)
		if err != nil {
			return c, err
		}
		c.Positional = append(c.Positional, e)
	}
	return c, nil
}

// SQLWith is SQL with values for the markers :name and ?. The text is one statement, as for Spark; Script
// takes several.
func (s *Session) SQLWith(ctx context.Context, text string, params Params) (*DataFrame, error) {
	text = substituted(text, s.conf)
	st, err := parseOptions(s.conf).ParseStatement(text)
	if err != nil {
		return nil, err
	}
	return s.run(ctx, st, text, params)
}

// Script runs the statements of a text, which semicolons separate, and gives the answer of the last. The
// first that fails ends it.
func (s *Session) Script(ctx context.Context, text string, params Params) (*DataFrame, error) {
	text = substituted(text, s.conf)
	stmts, err := parseOptions(s.conf).Parse(text)
	if err != nil {
		return nil, err
	}
	var df *DataFrame
	for _, st := range stmts {
		if df, err = s.run(ctx, st, text, params); err != nil {
			return nil, err
		}
	}
	return df, nil
}

var variable = regexp.MustCompile(`\$\{(?:(spark|sparkconf|hiveconf|env|system|hivevar):)?([^}$\s]*)\}`)

// substituted is a text with ${key} replaced by the setting of that name, or by nothing if it is not set, as
// Spark does before it reads a statement; spark.sql.variable.substitute=false switches it off.
func substituted(text string, c *Conf) string {
	if !strings.Contains(text, "${") || c.Get("spark.sql.variable.substitute") == "false" {
		return text
	}
	return variable.ReplaceAllStringFunc(text, func(m string) string {
		k := variable.FindStringSubmatch(m)
		if k[1] == "env" || k[1] == "system" { // a statement does not read the machine it runs on
			return ""
		}
		return c.Get(k[2])
	})
}

// parseOptions are the settings that change how text is read.
func parseOptions(c *Conf) sql.Options { return planConf(c).Parser() }

// Table gives the DataFrame of a name of the catalog.
func (s *Session) Table(name string) (*DataFrame, error) {
	n, err := plan.AnalyzeText("SELECT * FROM "+quoteName(name), s.catalog, planConf(s.conf))
	if err != nil {
		return nil, err
	}
	return &DataFrame{s: s, node: n}, nil
}

// collect runs a static plan.
func (s *Session) collect(ctx context.Context, n plan.Node) ([]arrow.RecordBatch, types.Schema, error) {
	n, err := s.unrolled(ctx, n)
	if err != nil {
		return nil, nil, err
	}
	return exec.Collect(ctx, n, exec.Conf{Expr: exprConf(s.conf), ShufflePartitions: s.conf.number(keyPartitions),
		NowMicros: s.clock.Now().UnixMicro()})
}

func (s *Session) console(query string) io.Writer {
	if s.consoleOf != nil {
		if w := s.consoleOf(query); w != nil {
			return w
		}
	}
	return s.out
}

func (s *Session) now() time.Time { return s.clock.Now() }
