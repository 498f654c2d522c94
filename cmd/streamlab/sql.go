//go:build cgo

package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sort"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/spf13/cobra"

	"streamlab/columnar"
	"streamlab/engine"
	"streamlab/errs"
	"streamlab/lab"
	"streamlab/sinks/memory"
	"streamlab/sql"
	"streamlab/sql/types"
)

func newSQLCommand(a *app) *cobra.Command {
	var statements, files []string
	var spark bool
	var door string
	c := &cobra.Command{
		Use:   "sql [LAB]",
		Short: "Ask SQLite what the memory sinks hold, or Spark SQL with --door spark",
		Long: "Runs statements and prints their answers. At the SQLite door they look at what memory sinks hold, with\n" +
			"<name>_latest, _batch_id and the views batches and events; a statement that would change something is\n" +
			"refused and says by which rule. At the Spark door (--door spark) they read the lab's sources, as they are\n" +
			"now, its tables and views, and may write. Without -c and -f each line of standard input is a statement;\n" +
			"a text of -c or -f may hold several, divided by semicolons.",
		Args: between(0, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			switch door {
			case "sqlite":
			case "spark":
				spark = true
			default:
				return errs.New("LAB_VALUE", "key", "--door", "expected", "sqlite or spark")
			}
			list, err := a.statements(statements, files)
			if err != nil {
				return err
			}
			if spark {
				return a.sparkSQL(cmd.Context(), args, list)
			}
			return a.sqliteSQL(cmd.Context(), args, list)
		},
	}
	c.Flags().StringArrayVarP(&statements, "command", "c", nil, "statement to run; may be repeated")
	c.Flags().StringArrayVarP(&files, "file", "f", nil, "file of statements; - is standard input; may be repeated")
	c.Flags().StringVar(&door, "door", "sqlite", "who answers: sqlite or spark")
	c.Flags().BoolVar(&spark, "spark", false, "the same as --door spark")
	return c
}

// statements are those of the flags in order, or, without any, the lines of standard input.
func (a *app) statements(texts, files []string) ([]string, error) {
	for _, f := range files {
		var data []byte
		var err error
		if f == "-" {
			data, err = io.ReadAll(a.in)
		} else {
			data, err = os.ReadFile(f)
		}
		if err != nil {
			return nil, err
		}
		texts = append(texts, string(data))
	}
	if len(texts) == 0 {
		sc := bufio.NewScanner(a.in)
		sc.Buffer(nil, 16<<20)
		for sc.Scan() {
			texts = append(texts, sc.Text())
		}
		if err := sc.Err(); err != nil {
			return nil, err
		}
	}
	var out []string
	for _, t := range texts {
		for _, sp := range sql.Split(t) {
			out = append(out, t[sp.Start:sp.End])
		}
	}
	return out, nil
}

// sqliteSQL asks the memory tables of a lab, or of the current folder.
func (a *app) sqliteSQL(ctx context.Context, args, statements []string) error {
	dir := ".streamlab"
	views := []memory.View{storedEvents(dir, "")}
	var l *lab.Lab
	if len(args) == 1 {
		var err error
		if l, err = a.load(args[0]); err != nil {
			return err
		}
		dir = filepath.Join(l.Dir, ".streamlab")
		views = append(a.storedViews(args[0]), storedEvents(dir, filepath.Base(l.File)))
	}
	door := memory.Door(dir)
	for _, s := range statements {
		ans, err := door.Ask(ctx, memory.Question{Text: s, Guarded: true, Views: views})
		if err != nil {
			return statementError{whereItIs(err, l)}
		}
		rows := make([][]string, len(ans.Rows))
		for i, r := range ans.Rows {
			for _, x := range r {
				rows[i] = append(rows[i], x.Text)
			}
		}
		if err := a.tableOf("row", ans.Columns, rows, func(r, c int) cellForm {
			switch {
			case ans.Rows[r][c].Null:
				return asNull
			case ans.Numeric[c]:
				return asNumber
			}
			return asText
		}); err != nil {
			return err
		}
	}
	return nil
}

// storedViews is the view batches of a lab that nobody runs here, from the reports that checkpoints keep. A
// checkpoint that is in use is left out and said so.
func (a *app) storedViews(path string) []memory.View {
	return []memory.View{{Name: "batches", Columns: batchColumns, Rows: func(ctx context.Context) ([][]any, error) {
		w, err := a.openWith(ctx, path, engine.Config{Out: io.Discard})
		if err != nil {
			return nil, err
		}
		defer w.Close()
		var out [][]any
		for _, name := range w.Names() {
			dir, err := w.Checkpoint(name)
			if err != nil || dir == "" || !exists(dir) {
				continue
			}
			cp, err := openCheckpoint(dir, name)
			if err != nil {
				fmt.Fprintf(a.talk(), "note: the batches of %s are left out: %s\n", name, conditionOf(err))
				continue
			}
			from, to := cp.Retained()
			for n := from; n <= to; n++ {
				raw, ok := cp.Progress(n)
				if !ok {
					continue
				}
				if p, ok := storedProgress(raw); ok {
					p.RowsOut = rowsOut(cp, p)
					out = append(out, batchRow(name, p))
				}
			}
			if err := cp.Close(); err != nil {
				return nil, err
			}
		}
		return out, nil
	}}}
}

func (a *app) sparkSQL(ctx context.Context, args []string, statements []string) error {
	ctx, cancel := context.WithCancel(ctx) // sources that are read close with it
	defer cancel()
	var s *engine.Session
	if len(args) == 1 {
		w, err := a.open(ctx, args[0])
		if err != nil {
			return err
		}
		defer w.Close()
		s = w.Session()
	} else {
		conf, err := a.settings()
		if err != nil {
			return err
		}
		if s, err = engine.NewSession(engine.Config{Conf: conf, Out: a.out}); err != nil {
			return err
		}
		defer s.Close()
	}
	for _, text := range statements {
		on := s
		if st, err := sql.ParseStatement(text); err == nil && writes(st) == "" {
			if on, err = s.Still(); err != nil { // what only looks sees streams as tables
				return err
			}
		}
		df, err := on.Script(ctx, text, engine.Params{})
		if err != nil {
			return statementError{err}
		}
		batches, schema, err := df.Collect(ctx)
		if err != nil {
			return statementError{err}
		}
		if err := a.tableOf("row", schema.Names(), lab.Cells(batches, schema), formsOf(batches, schema)); err != nil {
			return err
		}
	}
	return nil
}

// formsOf tells what the cells of lab.Cells stand for.
func formsOf(batches []arrow.RecordBatch, schema types.Schema) func(row, column int) cellForm {
	form := make([]cellForm, len(schema))
	for i, f := range schema {
		if f.Type.IsNumeric() {
			form[i] = asNumber
		}
	}
	ends := make([]int, 0, len(batches))
	vectors := make([][]columnar.Vec, 0, len(batches))
	n := 0
	for _, rb := range batches {
		n += int(rb.NumRows())
		ends = append(ends, n)
		vectors = append(vectors, columnar.Vectors(rb, schema))
	}
	return func(row, column int) cellForm {
		b := sort.SearchInts(ends, row+1)
		if b > 0 {
			row -= ends[b-1]
		}
		if vectors[b][column].IsNull(row) {
			return asNull
		}
		return form[column]
	}
}

// surroundings are lines of doctor about terminal, locale and disk.
func surroundings() [][]string {
	rows := [][]string{{"terminal", os.Getenv("TERM")}, {"locale", first(os.Getenv("LC_ALL"), os.Getenv("LC_CTYPE"), os.Getenv("LANG"))}}
	if wd, err := os.Getwd(); err == nil {
		rows = append(rows, []string{"folder", wd})
		probe := filepath.Join(wd, ".streamlab-probe")
		state := "writable"
		if f, err := os.Create(probe); err != nil {
			state = "not writable: " + err.Error()
		} else {
			f.Close()
			os.Remove(probe)
		}
		rows = append(rows, []string{"workspace", state})
	}
	return rows
}

func first(list ...string) string {
	for _, s := range list {
		if s != "" {
			return s
		}
	}
	return "not set"
}
