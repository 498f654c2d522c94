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
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/spf13/cobra"

	"streamlab/columnar"
	"streamlab/engine"
	"streamlab/lab"
	"streamlab/sinks/memory"
	"streamlab/sql/types"
)

func newSQLCommand(a *app) *cobra.Command {
	var statements []string
	var file string
	var spark bool
	c := &cobra.Command{
		Use:   "sql [LAB]",
		Short: "Ask SQLite what the memory sinks hold, or Spark SQL with --spark",
		Args:  cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if file != "" {
				var data []byte
				var err error
				if file == "-" {
					data, err = io.ReadAll(a.in)
				} else {
					data, err = os.ReadFile(file)
				}
				if err != nil {
					return err
				}
				statements = append(statements, strings.TrimRight(strings.TrimSpace(string(data)), ";"))
			}
			if len(statements) == 0 {
				sc := bufio.NewScanner(a.in)
				for sc.Scan() {
					if t := strings.TrimSpace(sc.Text()); t != "" {
						statements = append(statements, strings.TrimRight(t, ";"))
					}
				}
			}
			if spark {
				return a.sparkSQL(cmd.Context(), args, statements)
			}
			dir := ".streamlab"
			if len(args) == 1 {
				l, err := a.load(args[0])
				if err != nil {
					return err
				}
				dir = filepath.Join(l.Dir, ".streamlab")
			}
			door := memory.Door(dir)
			for _, s := range statements {
				ans, err := door.Query(cmd.Context(), s, 0)
				if err != nil {
					return err
				}
				rows := make([][]string, len(ans.Rows))
				for i, r := range ans.Rows {
					for _, x := range r {
						rows[i] = append(rows[i], x.Text)
					}
				}
				if err := a.tableOf("row", ans.Columns, rows, func(r, c int) bool { return ans.Rows[r][c].Null }); err != nil {
					return err
				}
			}
			return nil
		},
	}
	c.Flags().StringArrayVarP(&statements, "command", "c", nil, "statement to run; may be repeated")
	c.Flags().StringVarP(&file, "file", "f", "", "file of a statement; - is standard input")
	c.Flags().BoolVar(&spark, "spark", false, "Spark SQL over the session's catalog instead of SQLite")
	return c
}

func (a *app) sparkSQL(ctx context.Context, args []string, statements []string) error {
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
		df, err := s.Script(ctx, text, engine.Params{})
		if err != nil {
			return err
		}
		batches, schema, err := df.Collect(ctx)
		if err != nil {
			return err
		}
		if err := a.tableOf("row", schema.Names(), lab.Cells(batches, schema), nullsOf(batches, schema)); err != nil {
			return err
		}
	}
	return nil
}

// nullsOf tells which cells of lab.Cells are null.
func nullsOf(batches []arrow.RecordBatch, schema types.Schema) func(row, column int) bool {
	ends := make([]int, 0, len(batches))
	vectors := make([][]columnar.Vec, 0, len(batches))
	n := 0
	for _, rb := range batches {
		n += int(rb.NumRows())
		ends = append(ends, n)
		vectors = append(vectors, columnar.Vectors(rb, schema))
	}
	return func(row, column int) bool {
		b := sort.SearchInts(ends, row+1)
		if b > 0 {
			row -= ends[b-1]
		}
		return vectors[b][column].IsNull(row)
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

func newLabCommand(a *app) *cobra.Command {
	c := &cobra.Command{Use: "lab", Short: "The shipped labs"}
	c.AddCommand(&cobra.Command{Use: "ls", Short: "List the shipped labs", Args: cobra.NoArgs, RunE: func(*cobra.Command, []string) error {
		entries, err := shipped()
		if err != nil {
			return err
		}
		var rows [][]string
		for _, e := range entries {
			rows = append(rows, []string{e.Name, e.About})
		}
		return a.table("lab", []string{"lab", "about"}, rows)
	}}, &cobra.Command{Use: "new TEMPLATE|LAB [FOLDER]", Short: "Make a lab from a template (rate, file, kafka, delta), or copy a shipped one, to change it", Args: cobra.RangeArgs(1, 2),
		RunE: func(_ *cobra.Command, args []string) error {
			dir := args[0]
			if len(args) == 2 {
				dir = args[1]
			}
			path, err := newLab(args[0], dir)
			if err != nil {
				return err
			}
			fmt.Fprintln(a.out, path)
			return nil
		}})
	c.AddCommand(newLabCheckCommand(a))
	return c
}
