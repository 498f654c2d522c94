//go:build cgo

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"streamlab/errs"
	"streamlab/store"
)

func newRewindCommand(a *app) *cobra.Command {
	batch := int64(-1)
	var d deed
	c := &cobra.Command{
		Use:   "rewind [LAB] NAME --to BATCH",
		Short: "Go back to a retained batch; the folder as it was is kept beside it",
		Long: "What came after the batch is forgotten: the query reads it again when it starts, and a sink that keeps no log\n" +
			"gets it again. The checkpoint as it was is kept as <folder>.before-<time>. A damaged checkpoint can be rewound\n" +
			"to any batch that is whole.",
		Args: between(1, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			if batch < 0 {
				return errs.New("LAB_VALUE", "key", "--to", "expected", "a batch from 0 on")
			}
			w, query, dir, err := a.checkpointNamed(cmd.Context(), args)
			if err != nil {
				return err
			}
			if w != nil {
				defer w.Close()
			}
			note, err := a.rewind(&d, query, dir, batch)
			if err != nil || note == nil {
				return err
			}
			fmt.Fprintf(a.out, "%s goes on with batch %d\n", query, batch+1)
			fmt.Fprintf(a.talk(), "The checkpoint as it was: %s\n", note.Kept)
			return nil
		},
	}
	c.Flags().Int64Var(&batch, "to", -1, "the batch that becomes the newest")
	d.flags(c)
	return c
}

// rewind asks, and goes back; the note is nil after a dry run.
func (a *app) rewind(d *deed, query, dir string, batch int64) (*store.Audit, error) {
	cp, err := openCheckpoint(dir, query)
	if err != nil {
		if exitOf(err) != 8 {
			return nil, err
		}
		ok, aerr := a.agree(d, fmt.Sprintf("rewind %s to batch %d", query, batch), []string{"The checkpoint is damaged: " + conditionOf(err) + ".",
			"Batches after it are given up and read again.", "The folder as it is stays beside it."}, query)
		if aerr != nil || !ok {
			return nil, aerr
		}
		note, err := store.RewindDamaged(dir, batch, store.Options{})
		return &note, err
	}
	defer cp.Close()
	from, to := cp.Retained()
	if batch < from || batch > to {
		return nil, noBatch(cp, batch)
	}
	last := newest(cp)
	lines := []string{fmt.Sprintf("Batches %d to %d are given up and run again.", batch+1, last), "The checkpoint as it is stays beside it, under another name."}
	if batch == last {
		lines[0] = fmt.Sprintf("Batch %d is the newest: nothing is given up.", batch)
	}
	ok, err := a.agree(d, fmt.Sprintf("rewind %s to batch %d", query, batch), lines, query)
	if err != nil || !ok {
		return nil, err
	}
	if err := cp.Rewind(batch); err != nil {
		return nil, err
	}
	list, err := cp.Audits()
	if err != nil {
		return nil, err
	}
	return &list[len(list)-1], nil
}

func newForgetCommand(a *app) *cobra.Command {
	var loss string
	var d deed
	c := &cobra.Command{
		Use:   "forget [LAB] NAME --accept-loss X..Y",
		Short: "Go on with a damaged checkpoint after its newest whole batch",
		Long: "X..Y must be exactly the batches that are lost; `checkpoint verify` names them. The query reads from there again,\n" +
			"and a sink that has those batches already may get other rows for them. The damaged folder is kept.",
		Args: between(1, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			var from, to int64
			if n, err := fmt.Sscanf(loss, "%d..%d", &from, &to); err != nil || n != 2 || fmt.Sprintf("%d..%d", from, to) != loss {
				return errs.New("LAB_VALUE", "key", "--accept-loss", "expected", "the first and the last batch that are lost, as 9..19")
			}
			w, query, dir, err := a.checkpointNamed(cmd.Context(), args)
			if err != nil {
				return err
			}
			if w != nil {
				defer w.Close()
			}
			damage, damaged, err := store.Damaged(dir, store.Options{})
			switch {
			case err != nil:
				return err
			case !damaged:
				return errs.New("CHECKPOINT_NOTHING_LOST", "checkpointLocation", dir)
			case damage.Whole >= 0 && (from != damage.From || to != damage.To):
				return errs.New("CHECKPOINT_OTHER_LOSS", "checkpointLocation", dir, "from", damage.From, "to", damage.To)
			}
			ok, err := a.agree(&d, fmt.Sprintf("give up batches %d to %d of %s", from, to, query), []string{"They are lost: " + conditionOf(damage.Err) + ".",
				fmt.Sprintf("The query goes on after batch %d.", damage.Whole), "The damaged folder is kept beside it."}, query)
			if err != nil || !ok {
				return err
			}
			note, err := store.Forget(dir, from, to, store.Options{})
			if err != nil {
				return err
			}
			fmt.Fprintf(a.out, "%s goes on with batch %d\n", query, note.Batch+1)
			fmt.Fprintf(a.talk(), "The checkpoint as it was: %s\n", note.Kept)
			return nil
		},
	}
	c.Flags().StringVar(&loss, "accept-loss", "", "the batches that are lost, as 9..19")
	d.flags(c)
	return c
}

func newForkCommand(a *app) *cobra.Command {
	var batch int64
	var d deed
	c := &cobra.Command{
		Use:   "fork LAB QUERY FOLDER",
		Short: "Copy a checkpoint up to a retained batch; the copy is a query of its own",
		Args:  between(2, 3),
		RunE: func(cmd *cobra.Command, args []string) error {
			to := args[len(args)-1]
			return a.look(cmd, args[:len(args)-1], func(x *looking) error {
				n := x.committed(batch)
				if from, head := x.cp.Retained(); n < from || n > head {
					return noBatch(x.cp, n)
				}
				if exists(to) {
					return errs.New("CHECKPOINT_LOCATION_EXISTS", "path", to)
				}
				if a.readOnly {
					return errs.New("READ_ONLY", "action", "fork "+x.query)
				}
				if d.dry {
					fmt.Fprintf(a.out, "would copy the batches of %s up to %d to %s\n", x.query, n, to)
					return nil
				}
				if err := x.cp.CopyTo(to, n); err != nil {
					return err
				}
				fmt.Fprintf(a.out, "%s holds batches up to %d\n", to, n)
				return nil
			})
		},
	}
	c.Flags().Int64Var(&batch, "batch", -1, "the newest batch of the copy; default the newest there is")
	d.flags(c)
	return c
}

func newCheckpointExportCommand(a *app) *cobra.Command {
	var dir string
	var d deed
	state := true
	c := &cobra.Command{
		Use:   "export [LAB] NAME -o DIR",
		Short: "Write a checkpoint in the layout and the texts of Spark's checkpoint folder",
		Long: "metadata, offsets, commits and sources are as Spark writes them. State is written as text, one row a line:\n" +
			"state/<operator>/<store>/<version>.jsonl of the newest version. Spark cannot go on from it.",
		Args: between(1, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.look(cmd, args, func(x *looking) error {
				if dir == "" {
					return errs.New("LAB_VALUE", "key", "-o", "expected", "a folder")
				}
				if entries, err := os.ReadDir(dir); err == nil && len(entries) > 0 {
					return errs.New("FILE_EXISTS", "path", dir)
				}
				if a.readOnly {
					return errs.New("READ_ONLY", "action", "export "+x.query)
				}
				if state && x.w == nil {
					fmt.Fprintln(a.talk(), "The state is left out: a folder alone does not say what its rows mean.")
				}
				n, err := x.export(dir, state && x.w != nil, d.dry)
				if err != nil {
					return err
				}
				word := "holds"
				if d.dry {
					word = "would hold"
				}
				fmt.Fprintf(a.out, "%s %s %d files\n", dir, word, n)
				return nil
			})
		},
	}
	c.Flags().StringVarP(&dir, "output", "o", "", "folder to write to, new or empty")
	c.Flags().BoolVar(&state, "state", true, "write the rows of the state too")
	d.flags(c)
	return c
}

func newCheckpointRemoveCommand(a *app) *cobra.Command {
	var d deed
	var gone bool
	c := &cobra.Command{
		Use:   "rm [LAB] NAME",
		Short: "Remove a checkpoint: the query begins anew",
		Long:  "The folder is renamed to <folder>.removed-N, so that it can be put back. --no-backup frees its place at once.",
		Args:  between(1, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			w, query, dir, err := a.checkpointNamed(cmd.Context(), args)
			if err != nil {
				return err
			}
			if w != nil {
				defer w.Close()
			}
			to := besides(dir, "removed")
			lines := []string{"The query begins with batch 0 and reads everything again.", "The folder is kept as " + to + "."}
			if gone {
				lines[1] = "The folder " + dir + " is deleted, and cannot be got back."
			}
			if w != nil {
				if sink, err := w.Afresh(cmd.Context(), query); err == nil && sink != "" {
					lines = append(lines, sink)
				}
			}
			release, err := store.Hold(dir)
			if err != nil {
				return err
			}
			defer release()
			ok, err := a.agree(&d, "remove the checkpoint of "+query, lines, query)
			if err != nil || !ok {
				return err
			}
			if gone {
				if err := os.RemoveAll(dir); err != nil {
					return err
				}
				fmt.Fprintf(a.out, "%s is deleted\n", dir)
				return nil
			}
			if err := os.Rename(dir, to); err != nil {
				return err
			}
			fmt.Fprintf(a.out, "%s is now %s\n", dir, to)
			return nil
		},
	}
	c.Flags().BoolVar(&gone, "no-backup", false, "delete the folder instead of renaming it")
	d.flags(c)
	return c
}

// besides is a name beside a folder that is free: "<dir>.removed-1".
func besides(dir, word string) string {
	dir = strings.TrimRight(dir, string(filepath.Separator))
	for n := 1; ; n++ {
		if to := fmt.Sprintf("%s.%s-%d", dir, word, n); !exists(to) {
			return to
		}
	}
}

// export writes the checkpoint into a folder in Spark's layout and counts the files; with dry it only counts.
func (x *looking) export(dir string, state, dry bool) (n int, err error) {
	p, err := planOf(x.cp)
	if err != nil {
		return 0, err
	}
	write := func(name, text string) error {
		n++
		if dry {
			return nil
		}
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return err
		}
		return os.WriteFile(path, []byte(text), 0o600)
	}
	for name, text := range x.cp.Files(len(p.Sources)) {
		if err := write(name, text); err != nil {
			return n, err
		}
	}
	if !state {
		return n, nil
	}
	head, ok := x.cp.Head()
	if !ok {
		return n, nil
	}
	insp, err := x.inspector()
	if err != nil {
		return n, err
	}
	stores, err := insp.Stores(x.cp, head)
	if err != nil {
		return n, err
	}
	for _, s := range stores {
		name := fmt.Sprintf("state/%d/%s/%d.jsonl", s.Operator, s.Store, head+1)
		if dry {
			n++
			continue
		}
		if err := write(name, ""); err != nil {
			return n, err
		}
		if err := x.exportState(insp, filepath.Join(dir, filepath.FromSlash(name)), head, s); err != nil {
			return n, err
		}
	}
	return n, nil
}
