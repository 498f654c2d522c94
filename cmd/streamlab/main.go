//go:build cgo

// Streamlab is a terminal workbench for developing streams. Without a command it opens the workbench; every
// command does one thing that a screen does, with the same words. One file per command, nothing but wiring.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"time"
	"unicode"

	xterm "github.com/charmbracelet/x/term"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"streamlab/errs"
	"streamlab/internal/safe"
	"streamlab/internal/safego"
	"streamlab/lab"
	"streamlab/labs"
	"streamlab/tui"
	"streamlab/tui/term"
	"streamlab/tui/term/preinit"
)

// app is what commands share; tests replace its streams.
type app struct {
	in        io.Reader
	out, err  io.Writer
	output    string // table, json, jsonl, csv
	noHeaders bool
	conf      []string
	chdir     string
	trust     bool
	time      string          // local, utc
	yes       bool            // --yes
	readOnly  bool            // --read-only
	somebody  bool            // tests: there is somebody to ask
	columns   []string        // --columns
	quiet     bool            // --quiet
	verbose   bool            // --verbose
	timeout   time.Duration   // --timeout; 0: none
	late      func() bool     // the timeout has passed; nil: there is none
	cells     int             // tests: the width of the terminal that out is; 0: it is none
	warned    map[string]bool // settings that were warned of
}

func main() {
	preinit.Restore()
	tuneCollector()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGPIPE)
	defer stop()
	a := &app{in: os.Stdin, out: &pipe{w: forEye(os.Stdout)}, err: forEye(os.Stderr)}
	os.Exit(term.Code(a.run(ctx, os.Args[1:])))
}

// run carries out one command line and gives the exit code of tui.md 13.
func (a *app) run(ctx context.Context, args []string) int {
	root := a.root()
	root.SetArgs(args)
	root.SetIn(a.in)
	root.SetOut(a.out)
	root.SetErr(a.err)
	err := safego.Call("the command", func() error { return root.ExecuteContext(ctx) })
	if a.unread() {
		return 128 + int(syscall.SIGPIPE)
	}
	if err == nil {
		return 0
	}
	if a.late != nil && a.late() {
		a.report(errs.New("TIMEOUT", "time", a.timeout.String()))
		return 7
	}
	var code exitCode
	if errors.As(err, &code) {
		return int(code)
	}
	a.report(err)
	return exitOf(err)
}

// terminal is one as an output: what it would obey is shown instead, since values, names of columns and texts
// of errors come from data.
type terminal struct {
	io.Writer
	file *os.File // for what the program itself draws there
}

// forEye gives f, made safe if it is a terminal. What goes to files and pipes is left as it is.
func forEye(f *os.File) io.Writer {
	if !isTerminal(f) {
		return f
	}
	return terminal{safe.Writer(f), f}
}

// pipe is the standard output. When whoever reads it has gone, as head does, that is no failure of a query: the
// program ends without a word.
type pipe struct {
	w    io.Writer
	gone atomic.Bool
}

func (p *pipe) Write(b []byte) (int, error) {
	n, err := p.w.Write(b)
	if errors.Is(err, syscall.EPIPE) {
		p.gone.Store(true)
	}
	return n, err
}

// unread tells whether nobody reads what is printed any more.
func (a *app) unread() bool {
	p, ok := a.out.(*pipe)
	return ok && p.gone.Load()
}

// exitCode ends the program with a code after everything was said.
type exitCode int

func (c exitCode) Error() string { return fmt.Sprintf("exit %d", int(c)) }

func exitOf(err error) int {
	e := errs.As(err)
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return 7
	case e == nil:
		return 2
	case errs.Has(err, "NOT_CONFIRMED"):
		return 9
	case errs.Has(err, "CHECKPOINT_IN_USE") || errs.Has(err, "SINK_LOCKED") || errs.Has(err, "LAB_RUNS"):
		return 5
	case errs.Has(err, "CHECKPOINT_CORRUPT") || errs.Has(err, "CHECKPOINT_LOST_COMMITS") || errs.Has(err, "CHECKPOINT_LOG_GAP") ||
		errs.Has(err, "CHECKPOINT_LOG_ENTRY_MISSING") || errs.Has(err, "CHECKPOINT_TOO_NEW"):
		return 8
	case errs.Has(err, "LAB_NO_QUERY") || errs.Has(err, "LAB_FILE_UNREADABLE") || errs.Has(err, "LAB_FOLDER") || errs.Has(err, "NO_CHECKPOINT") ||
		errs.Has(err, "TRACE_NO_SUCH_BATCH") || errs.Has(err, "TRACE_PURGED") ||
		errs.Has(err, "NO_CHECKPOINT_NAMED") || errs.Has(err, "NO_BATCH") || errs.Has(err, "CHECKPOINT_BATCH_NOT_RETAINED") || errs.Has(err, "STATE_KEY_NOT_FOUND"):
		return 4
	case errs.Has(err, "STREAM_FAILED"):
		return 1
	case strings.HasPrefix(e.Condition, "CONFIG_") || e.Condition == "LAB_VALUE" && strings.HasPrefix(e.Params["key"], "--"):
		return 2
	case errs.Has(err, "INTERNAL_ERROR"):
		return 70
	}
	var failed statementError
	if errors.As(err, &failed) {
		return 1
	}
	return 3
}

// statementError is what a statement of the user failed with, where the same error of a lab would be a refusal.
type statementError struct{ error }

func (e statementError) Unwrap() error { return e.error }

// report prints errors on stderr: code, sentence, the line with a caret, what to try.
func (a *app) report(err error) {
	if a.unread() {
		return
	}
	for _, e := range lab.Problems(err) {
		a.problem(e)
	}
}

func (a *app) problem(e *errs.Error) {
	if a.output == "json" || a.output == "jsonl" {
		a.json(a.err, problemJSON(e))
		return
	}
	if e.Condition == "INTERNAL_ERROR" && e.Err != nil && errs.As(e.Err) == nil && e.Params["message"] == e.Err.Error() {
		a.says("error: %v\n", e.Err)
		return
	}
	where := ""
	if !e.Pos.IsZero() {
		where = e.Pos.String() + ": "
	}
	a.says("error: %s%s: %s\n", where, e.Condition, e.Message())
	if a.verbose {
		a.says("  sqlState: %s\n", e.SQLState)
		for _, k := range slices.Sorted(maps.Keys(e.Params)) {
			a.says("  %s: %s\n", k, e.Params[k])
		}
	}
	if e.Excerpt != "" {
		line, marks := excerpt(e)
		fmt.Fprintf(a.err, "  | %s\n  | %s\n", line, marks)
	}
	deepest := e
	for cause := errs.As(e.Err); cause != nil; cause = errs.As(cause.Err) {
		deepest = cause
		a.says("  cause: %s: %s\n", cause.Condition, cause.Message())
		if cause.Hint != "" {
			a.says("  try: %s\n", cause.Hint)
		}
	}
	if deepest.Err != nil && !strings.Contains(deepest.Message(), deepest.Err.Error()) {
		a.says("  cause: %v\n", deepest.Err) // what the operating system or a library said
	}
	if e.Hint != "" {
		a.says("  try: %s\n", e.Hint)
	}
}

// says writes text on stderr with what a terminal would obey replaced: it may quote data, and whoever reads it
// later from a log has a terminal too.
func (a *app) says(format string, args ...any) {
	fmt.Fprintf(safe.Writer(a.err), format, args...)
}

// refused prints a problem of a lab and the numbered ways out of it.
func (a *app) refused(p lab.Problem) {
	if a.output == "json" || a.output == "jsonl" {
		a.json(a.err, refusedJSON(p))
		return
	}
	a.problem(p.Error)
	for i, f := range p.Fixes {
		fmt.Fprintf(a.err, "  fix %d: %s: %s\n", i+1, f.Title, f.Explain)
	}
}

// excerptWidth is how many characters of a line an error shows.
const excerptWidth = 120

// excerpt is the line an error points into and the carets below it. Of a long line it is the part around the
// place; control characters, which a terminal would obey, become middle dots.
func excerpt(e *errs.Error) (line, marks string) {
	text := []rune(e.Excerpt)
	for i, c := range text {
		if unicode.IsControl(c) && c != '\t' {
			text[i] = '·'
		}
	}
	col := min(max(e.Pos.Col-1, 0), len(text))
	n := max(1, min(e.Pos.Length, len(text)-col))
	var before, after string
	if from := col - excerptWidth/2; len(text) > excerptWidth && from > 0 {
		text, col, before = text[from:], col-from, "…"
	}
	if len(text) > excerptWidth {
		text, after = text[:excerptWidth], "…"
		n = max(1, min(n, excerptWidth-col))
	}
	pad := []rune(before + string(text[:col]))
	for i, c := range pad {
		if c != '\t' {
			pad[i] = ' '
		}
	}
	return before + string(text) + after, string(pad) + strings.Repeat("^", n)
}

// refusedJSON is a problem of a lab with the edits that are the ways out of it.
func refusedJSON(p lab.Problem) map[string]any {
	m := problemJSON(p.Error)
	if p.Query != "" {
		m["query"] = p.Query
	}
	if len(p.Fixes) > 0 {
		m["fixes"] = p.Fixes
	}
	return m
}

func problemJSON(e *errs.Error) map[string]any {
	m := map[string]any{"kind": "problem", "version": 1, "code": e.Condition, "message": e.Message(), "sqlState": e.SQLState}
	if !e.Pos.IsZero() {
		m["file"], m["line"], m["column"] = e.Pos.File, e.Pos.Line, e.Pos.Col
	}
	if len(e.Params) > 0 {
		m["parameters"] = e.Params
	}
	if e.Hint != "" {
		m["try"] = []string{e.Hint}
	}
	if e.Err != nil {
		m["cause"] = e.Err.Error()
	}
	return m
}

func (a *app) root() *cobra.Command {
	var look looks
	var here func() error
	c := &cobra.Command{
		Use:           "streamlab [LAB]",
		Short:         "A terminal workbench for developing streams, with a streaming engine of its own",
		Args:          between(0, 1),
		SilenceErrors: true,
		SilenceUsage:  true,
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error {
			if !slices.Contains(outputs, a.output) {
				return errs.New("LAB_VALUE", "key", "--output", "expected", "table, wide, json, jsonl, yaml, csv or name")
			}
			if a.time != "" && a.time != "local" && a.time != "utc" {
				return errs.New("LAB_VALUE", "key", "--time", "expected", "local or utc")
			}
			if err := notNegative(cmd); err != nil {
				return err
			}
			if a.timeout < 0 {
				return errs.New("LAB_VALUE", "key", "--timeout", "expected", "a time from 0 on; 0 is no limit")
			}
			if a.timeout > 0 && cmd.Flags().Lookup("timeout") == cmd.Root().PersistentFlags().Lookup("timeout") {
				ctx, stop := context.WithTimeout(cmd.Context(), a.timeout)
				context.AfterFunc(ctx, stop)
				a.late = func() bool { return errors.Is(ctx.Err(), context.DeadlineExceeded) }
				cmd.SetContext(ctx)
			}
			if a.chdir != "" {
				return os.Chdir(a.chdir)
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := here(); err != nil {
				return err
			}
			opts, err := a.options(cmd, &look)
			if err != nil {
				return err
			}
			return a.workbench(cmd.Context(), args, opts, look.noStart)
		},
	}
	c.PersistentFlags().StringVarP(&a.output, "output", "o", "table", "table, wide, json, jsonl, yaml, csv or name")
	c.PersistentFlags().BoolVar(&a.noHeaders, "no-headers", false, "leave out the header line")
	c.PersistentFlags().StringArrayVar(&a.conf, "conf", nil, "setting KEY=VALUE, wins over the lab's conf")
	c.PersistentFlags().BoolVar(&a.trust, "trust", false, "let the lab run the commands of its foreach")
	c.PersistentFlags().StringVarP(&a.chdir, "chdir", "C", "", "change to this folder first")
	c.PersistentFlags().StringVar(&a.time, "time", "", "clock of times for the eye: local or utc")
	c.PersistentFlags().BoolVar(&a.readOnly, "read-only", false, "change nothing that is stored")
	c.PersistentFlags().BoolVarP(&a.yes, "yes", "y", false, "do not ask before data is changed")
	c.PersistentFlags().StringSliceVar(&a.columns, "columns", nil, "only these columns, in this order")
	c.PersistentFlags().BoolVarP(&a.quiet, "quiet", "q", false, "say nothing on stderr but errors")
	c.PersistentFlags().BoolVarP(&a.verbose, "verbose", "v", false, "say more: parameters of errors, progress of run")
	c.PersistentFlags().DurationVar(&a.timeout, "timeout", 0, "give up after this time, with exit code 7")
	c.MarkFlagsMutuallyExclusive("quiet", "verbose")
	look.flags(c)
	here = elsewhere(c)
	c.AddCommand(newRunCommand(a), newValidateCommand(a), newExplainCommand(a), newSQLCommand(a), newDeltaCommand(a), newStatusCommand(a),
		newProgressCommand(a), newCheckpointCommand(a), newLabCommand(a, &look), newModesCommand(a), newCrashCommand(a), newFilesCommand(a), newBenchCommand(a), newDocsCommand(a), newDoctorCommand(a), newConfigCommand(a), newVersionCommand(a))
	c.AddCommand(newTraceCommand(a), newEventsCommand(a), newExportCommand(), newShipCommand())
	for _, docs := range c.Commands() {
		if docs.Name() == "docs" {
			a.addReference(docs)
		}
	}
	a.complete(c)
	_ = c.RegisterFlagCompletionFunc("output", cobra.FixedCompletions(outputs, cobra.ShellCompDirectiveNoFileComp))
	for _, group := range c.Commands() {
		if group.HasSubCommands() && group.RunE == nil && group.Run == nil {
			group.Args, group.RunE = cobra.ArbitraryArgs, unknownSubcommand
		}
	}
	return c
}

// notNegative refuses numbers below zero: all of ours count something. Their defaults may be below zero, which
// says that none was given.
func notNegative(cmd *cobra.Command) error {
	var err error
	cmd.Flags().Visit(func(f *pflag.Flag) {
		if t := f.Value.Type(); (t == "int" || t == "int64") && strings.HasPrefix(f.Value.String(), "-") {
			err = errs.New("LAB_VALUE", "key", "--"+f.Name, "expected", "a number from 0")
		}
	})
	return err
}

// unknownSubcommand answers a command that only groups others: help without arguments, else a refusal, where
// cobra would print the help and succeed.
func unknownSubcommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return cmd.Help()
	}
	text := fmt.Sprintf("unknown command %q for %q", args[0], cmd.CommandPath())
	if s := cmd.SuggestionsFor(args[0]); len(s) > 0 {
		text += "; did you mean " + strings.Join(s, ", ") + "?"
	}
	return errors.New(text)
}

// workbench opens the screens, in a child of a guard that puts the terminal right whatever happens.
func (a *app) workbench(ctx context.Context, args []string, opts tui.Options, noStart bool) error {
	if !term.Usable(os.Stdin, os.Stdout) {
		if len(args) == 1 { // a mistyped command is taken for a lab: better to hear that there is none
			path, err := a.find(args[0])
			if err != nil {
				return err
			}
			if !exists(path) {
				return fmt.Errorf("%q is no command, no shipped lab and no file", args[0])
			}
		}
		fmt.Fprint(a.err, term.NoTerminal)
		return exitCode(2)
	}
	if !term.Guarded() {
		dir, err := filepath.Abs(filepath.Join(".streamlab", "log"))
		if err != nil {
			return err
		}
		if code := term.Guard(dir); code != 0 {
			return exitCode(code)
		}
		return nil
	}
	g := newGallery(a, noStart)
	defer g.crashDesk.close()
	opts.Gallery = g
	if len(args) == 1 {
		path, err := a.find(args[0])
		if err != nil {
			return err
		}
		opts.Open = path
	}
	return tui.RunContext(ctx, opts)
}

// find turns a lab argument into a path: a file, a folder with a lab in it, or the name of a shipped lab, which
// is unpacked below the current folder first (in ./labs it is used as it is). Errors: LAB_FOLDER.
func (a *app) find(name string) (string, error) {
	if st, err := os.Stat(name); err == nil {
		if st.IsDir() {
			return labIn(name)
		}
		return name, nil
	}
	for _, n := range labs.Names() {
		if n == name {
			return unpack(n)
		}
	}
	return name, nil
}

// unpack gives the file of a shipped lab: that of the repository when the program runs in it.
func unpack(name string) (string, error) {
	if own := filepath.Join("labs", name+".yaml"); exists(own) {
		return own, nil
	}
	return labs.Unpack(name, filepath.Join(".streamlab", "labs", name))
}

func exists(path string) bool { _, err := os.Stat(path); return err == nil }

func isTerminal(f *os.File) bool {
	return xterm.IsTerminal(f.Fd()) // a device is not enough: /dev/null is one
}
