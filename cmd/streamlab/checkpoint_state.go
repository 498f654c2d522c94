//go:build cgo

package main

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"streamlab/engine"
	"streamlab/errs"
	"streamlab/sql/types"
)

// whichStore are the flags that choose a store of a stateful operator.
type whichStore struct {
	operator int
	store    string
}

func (s *whichStore) flags(c *cobra.Command) {
	c.Flags().IntVar(&s.operator, "operator", 0, "stateful operator, counted from the sink")
	c.Flags().StringVar(&s.store, "store", "", "store of the operator: left or right of a join, a variable; default its first")
}

// of gives the name of the store that the flags mean as of a batch.
func (s *whichStore) of(x *looking, batch int64) (string, error) {
	if s.store != "" {
		return s.store, nil
	}
	insp, err := x.inspector()
	if err != nil {
		return "", err
	}
	stores, err := insp.Stores(x.cp, batch)
	if err != nil {
		return "", err
	}
	for _, y := range stores {
		if y.Operator == s.operator {
			return y.Store, nil
		}
	}
	return "", errs.New("STDS_INVALID_OPTION_VALUE.WITH_MESSAGE", "optionName", "operatorId", "message", "the query has no such stateful operator")
}

const statePage = 1000

func newCheckpointStateCommand(a *app) *cobra.Command {
	batch := int64(-1)
	var which whichStore
	var prefix, where string
	var limit int
	c := &cobra.Command{
		Use:   "state [LAB] NAME",
		Short: "Print the state of a stateful operator after a batch, in the order of its keys",
		Long: "--key-prefix takes the beginning of a key as a JSON array, finished or not: '[\"2026-01-05T12:40:00Z\",\"/ho';\n" +
			"a text that is no array keeps keys of which a column begins with it. --where takes a condition over the columns.",
		Args: between(1, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.look(cmd, args, func(x *looking) error {
				insp, err := x.inspector()
				if err != nil {
					return err
				}
				q := engine.StateQuery{Batch: x.committed(batch), Operator: which.operator, Filter: prefix, N: statePage}
				if where != "" {
					q.Filter = "(" + where + ")" // a condition, whatever it looks like
				}
				if q.Store, err = which.of(x, q.Batch); err != nil {
					return err
				}
				return x.printState(insp, q, limit)
			})
		},
	}
	c.Flags().Int64Var(&batch, "batch", -1, "batch; default the newest that is committed")
	which.flags(c)
	c.Flags().StringVar(&prefix, "key-prefix", "", "only keys that begin so")
	c.Flags().StringVar(&where, "where", "", "only rows for which a condition holds")
	c.Flags().IntVar(&limit, "limit", 0, "rows at most; 0 is all")
	c.MarkFlagsMutuallyExclusive("key-prefix", "where")
	return c
}

func (x *looking) printState(insp *engine.Inspector, q engine.StateQuery, limit int) error {
	a := x.a
	flat := a.output != "json" && a.output != "jsonl" && a.output != "yaml"
	var r *records
	printed := 0
	for {
		if limit > 0 {
			q.N = min(q.N, limit-printed)
		}
		p, err := insp.Page(x.ctx, x.cp, q)
		if err != nil {
			return err
		}
		if r == nil {
			r = a.records("state", stateFields(p.Key, p.Values, flat))
		}
		for _, row := range p.Rows {
			if err := r.add(stateValues(row, p.Values, flat)...); err != nil {
				return err
			}
			printed++
		}
		q.From += len(p.Rows)
		if len(p.Rows) == 0 || limit > 0 && printed >= limit {
			if err := r.end(); err != nil {
				return err
			}
			if printed < p.Matches {
				fmt.Fprintf(a.talk(), "%s of %s rows\n", grouped(int64(printed)), grouped(int64(p.Matches)))
			}
			return nil
		}
	}
}

// stateFields are the columns of state rows: flat for people, nested for machines.
func stateFields(key []string, values types.Schema, flat bool) []field {
	if !flat {
		return fields("key", "value", "batch", "batchAtMost", "bytes")
	}
	names := []string{"key " + strings.Join(key, ", ")}
	names = append(names, valueNames(values)...)
	return fields(append(names, "batch", "bytes")...)
}

func valueNames(values types.Schema) []string {
	if len(values) == 0 {
		return nil
	}
	return values.Names()
}

func stateValues(r engine.StateRow, values types.Schema, flat bool) []any {
	if !flat {
		return []any{json.RawMessage(r.KeyJSON), valueObject(values, r.Values), batchOrNil(r.Batch), r.AtMost, r.Bytes}
	}
	out := []any{r.KeyText}
	for _, v := range r.Values {
		out = append(out, cellOf(v))
	}
	batch := any(fmt.Sprint(r.Batch))
	if r.Batch < 0 {
		batch = nil
	} else if r.AtMost {
		batch = fmt.Sprintf("≤%d", r.Batch)
	}
	return append(out, batch, r.Bytes)
}

func batchOrNil(n int64) any {
	if n < 0 {
		return nil
	}
	return n
}

// cellOf is a value in a table; a null is told from a text.
func cellOf(v engine.StateValue) any {
	if v.Null {
		return nil
	}
	return v.Text
}

// valueObject is the values of a row as an object by name; nil stands for no row.
func valueObject(s types.Schema, values []engine.StateValue) any {
	if values == nil && len(s) > 0 {
		return nil
	}
	b := []byte{'{'}
	for i, v := range values {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(append(append(b, mustJSON(s[i].Name)...), ':'), v.JSON...)
	}
	return json.RawMessage(append(b, '}'))
}

func newCheckpointHistoryCommand(a *app) *cobra.Command {
	var which whichStore
	var key string
	c := &cobra.Command{
		Use:   "history [LAB] NAME --key KEY",
		Short: "Print what the retained batches did to a key, newest first",
		Long: "KEY is a key as `checkpoint state` prints it, its columns divided by commas: '2026-01-05 12:40:00, /home'. A JSON\n" +
			"array of the columns is understood too: '[\"2026-01-05T12:40:00Z\",\"/home\"]'; the start stands for a window. The\n" +
			"first columns are enough if only one key begins so.",
		Args: between(1, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			if key == "" {
				return errs.New("LAB_VALUE", "key", "--key", "expected",
					"a key as checkpoint state prints it, such as '2026-01-05 12:40:00, /home', or a JSON array of its columns")
			}
			return a.look(cmd, args, func(x *looking) error {
				insp, err := x.inspector()
				if err != nil {
					return err
				}
				name, err := which.of(x, x.committed(-1))
				if err != nil {
					return err
				}
				row, err := insp.Match(x.ctx, x.cp, which.operator, name, key)
				if err != nil {
					return err
				}
				return x.printHistory(insp, which.operator, name, row)
			})
		},
	}
	which.flags(c)
	c.Flags().StringVar(&key, "key", "", "the key, as `checkpoint state` prints it or as a JSON array")
	return c
}

func (x *looking) printHistory(insp *engine.Inspector, operator int, name string, row engine.StateRow) error {
	a := x.a
	flat := a.output != "json" && a.output != "jsonl" && a.output != "yaml"
	page, err := insp.Page(x.ctx, x.cp, engine.StateQuery{Batch: x.committed(-1), Operator: operator, Store: name, N: 0})
	if err != nil {
		return err
	}
	cols := fields("batch", "change", "key", "value", "time")
	if flat {
		cols = fields(append(append([]string{"batch", "change"}, valueNames(page.Values)...), "by", "time")...)
	}
	r := a.records("key-version", cols)
	for v, err := range insp.History(x.ctx, x.cp, operator, name, row.Key) {
		if err != nil {
			return err
		}
		word := "set"
		if v.Removed {
			word = "removed"
		} else if v.AtMost {
			word = "before"
		}
		if !flat {
			var value any
			if !v.Removed {
				value = valueObject(page.Values, v.Row.Values)
			}
			if err := r.add(v.Batch, word, json.RawMessage(row.KeyJSON), value, timeJSON(v.Time)); err != nil {
				return err
			}
			continue
		}
		batch := fmt.Sprint(v.Batch)
		if v.AtMost {
			batch = "≤" + batch
		}
		out := []any{batch, word}
		for i := range page.Values {
			if v.Removed {
				out = append(out, nil)
			} else {
				out = append(out, cellOf(v.Row.Values[i]))
			}
		}
		when := any(nil)
		if !v.Time.IsZero() {
			when = a.clock(v.Time)
		}
		if err := r.add(append(out, orNil(strings.Trim(strings.Join(v.Change, " "), " ")), when)...); err != nil {
			return err
		}
	}
	return r.end()
}

func orNil(s string) any {
	if s == "" {
		return nil
	}
	return s
}

func newCheckpointDiffCommand(a *app) *cobra.Command {
	var exit bool
	var limit int
	c := &cobra.Command{
		Use:   "diff [LAB] NAME A B",
		Short: "Print what differs between the ends of two batches: offsets, watermark, keys of the state",
		Long:  "-1 stands for the time before batch 0. With --exit-code the code is 0 if nothing differs, 1 if something does, and more in trouble.",
		Args:  between(3, 4),
		RunE: func(cmd *cobra.Command, args []string) error {
			var n [2]int64
			for i, t := range args[len(args)-2:] {
				if _, err := fmt.Sscanf(t, "%d", &n[i]); err != nil || fmt.Sprint(n[i]) != t {
					return errs.New("LAB_VALUE", "key", "batch", "expected", "a number")
				}
			}
			same := false
			err := a.look(cmd, args[:len(args)-2], func(x *looking) error {
				insp, err := x.inspector()
				if err != nil {
					return err
				}
				d, err := insp.Diff(x.ctx, x.cp, n[0], n[1])
				if err != nil {
					return err
				}
				same = d.Same()
				return a.printDiff(d, limit)
			})
			if err == nil && exit && !same {
				return exitCode(1)
			}
			return err
		},
	}
	c.Flags().BoolVar(&exit, "exit-code", false, "end with 1 if something differs")
	c.Flags().IntVar(&limit, "limit", 0, "keys per store at most; 0 is all")
	c.Flags().SetInterspersed(true)
	return c
}

func (a *app) printDiff(d *engine.BatchDiff, limit int) error {
	flat := a.output == "table" || a.output == "wide"
	if flat {
		a.printDiffHead(d)
	}
	r := a.records("difference", fields("change", "what", "key", "before", "after"))
	if !flat {
		for _, s := range d.Sources {
			if s.Before != s.After {
				if err := r.add("changed", "offset of "+s.Source, nil, offsetJSON(s.Before), offsetJSON(s.After)); err != nil {
					return err
				}
			}
		}
		if d.WatermarkBefore != d.WatermarkAfter {
			if err := r.add("changed", "watermark", nil, watermarkJSON(d.WatermarkBefore), watermarkJSON(d.WatermarkAfter)); err != nil {
				return err
			}
		}
	}
	left := 0
	for _, s := range d.Stores {
		what := fmt.Sprintf("state %d %s %s", s.Operator, s.Name, s.Store)
		for from := 0; from < s.Len(); from += statePage {
			if limit > 0 && from >= limit {
				break
			}
			n := statePage
			if limit > 0 {
				n = min(n, limit-from)
			}
			for _, row := range s.Rows(from, n) {
				values := []any{row.Change, what, row.KeyText, joinedValues(row.Before), joinedValues(row.After)}
				if !flat && a.output != "csv" && a.output != "name" {
					values = []any{row.Change, what, json.RawMessage(row.KeyJSON), objectOrNil(s.Values, row.Before), objectOrNil(s.Values, row.After)}
				}
				if err := r.add(values...); err != nil {
					return err
				}
			}
		}
		if limit > 0 {
			left += max(0, s.Len()-limit)
		}
	}
	if err := r.end(); err != nil {
		return err
	}
	if left > 0 {
		fmt.Fprintf(a.talk(), "%s more keys differ\n", grouped(int64(left)))
	}
	return nil
}

func objectOrNil(s types.Schema, values []engine.StateValue) any {
	if values == nil {
		return nil
	}
	return valueObject(s, values)
}

func watermarkJSON(ms int64) any {
	if ms == 0 {
		return nil
	}
	return millis(ms)
}

func joinedValues(values []engine.StateValue) any {
	if values == nil {
		return nil
	}
	var out []string
	for _, v := range values {
		out = append(out, v.Text)
	}
	return strings.Join(out, ", ")
}

func (a *app) printDiffHead(d *engine.BatchDiff) {
	line := func(label, text string) { fmt.Fprintf(a.out, "%-10s %s\n", label, oneLine(text)) }
	line("batches", fmt.Sprintf("%d to %d", d.From, d.To))
	for _, s := range d.Sources {
		text := "no change"
		if s.Before != s.After {
			text = strings.Join(partWords(s.Before, s.After), "   ")
		}
		line("offsets", s.Source+": "+text)
	}
	mark := func(ms int64) string {
		if ms == 0 {
			return "none"
		}
		return a.clock(timeOf(ms))
	}
	if d.WatermarkBefore == d.WatermarkAfter {
		line("watermark", mark(d.WatermarkAfter)+", no change")
	} else {
		line("watermark", mark(d.WatermarkBefore)+" to "+mark(d.WatermarkAfter))
	}
	for _, s := range d.Stores {
		line("state", fmt.Sprintf("%d %s %s: %s to %s keys, %s added, %s removed, %s changed", s.Operator, s.Name, s.Store, grouped(int64(s.Before)),
			grouped(int64(s.After)), grouped(int64(s.Added)), grouped(int64(s.Removed)), grouped(int64(s.Changed))))
	}
}
