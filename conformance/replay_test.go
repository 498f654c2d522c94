package conformance

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"strings"

	"streamlab/engine"
	"streamlab/store"
)

// replayedRows bounds what a replay keeps of a batch; larger ones are compared by number.
const replayedRows = 20_000

// replay runs the batches of the last step again, from the checkpoint as the step left it, and says where the
// rows that would go to the sink are not those that it got; "" is nowhere. Batches whose rows were not recorded
// are left out, those that are not retained, those whose files have gone, and those that look into tables which
// the scenario's statements change meanwhile.
func (p *player) replay(ctx context.Context) (string, error) {
	dir := p.checkpoint()
	if p.writer == nil || p.query == nil || dir == "" || len(p.batches) == 0 {
		return "", nil
	}
	if _, err := os.Stat(filepath.Join(dir, "db")); err != nil {
		return "", nil
	}
	cp, err := store.Open(dir, store.Options{Durability: "process"})
	if err != nil {
		return "", err
	}
	defer cp.Close()
	from, to := cp.Retained()
	got := map[int64][]string{} // of a batch that was run twice the last rows
	for _, b := range p.batches {
		if b.rows.schema == nil || b.id > to || b.id < from || b.id == from && from > 0 {
			continue
		}
		lines := []string{}
		for _, rb := range b.rows.list {
			for _, row := range engine.Cells(rb, b.rows.schema) {
				lines = append(lines, strings.Join(row, "|"))
			}
		}
		sort.Strings(lines)
		got[b.id] = lines
	}
	for id, want := range got {
		tr, err := p.writer.Replay(ctx, cp, id, engine.TraceOptions{Rows: replayedRows})
		if err != nil {
			return fmt.Sprintf("batch %d: %v", id, err), nil
		}
		if tr.RowsNow < tr.RowsThen || has(asMap(get(p.scenario, "sink")), "statements") && p.looksIntoTables(tr) {
			continue
		}
		sink := len(tr.Stages) - 1
		if n := tr.Stages[sink].Out; n != int64(len(want)) {
			return fmt.Sprintf("batch %d: %d rows, the sink got %d", id, n, len(want)), nil
		}
		if len(want) > replayedRows {
			continue
		}
		lines := []string{}
		for _, row := range tr.Cells(sink) {
			lines = append(lines, strings.Join(row, "|"))
		}
		sort.Strings(lines)
		for i := range lines {
			if lines[i] != want[i] {
				return fmt.Sprintf("batch %d: %s, the sink got %s", id, lines[i], want[i]), nil
			}
		}
		for st := range tr.Stages {
			for i := range tr.Stages[st].Rows {
				if tr.Fate(st, i, engine.UTC) == "" {
					return fmt.Sprintf("batch %d: nothing is said of row %d of stage %d", id, i+1, st+1), nil
				}
				tr.Why(st, i, engine.UTC)
			}
		}
	}
	return "", nil
}

func (p *player) looksIntoTables(tr *engine.Trace) bool {
	for i := range tr.Stages {
		if tr.Stages[i].Kind == "table" {
			return true
		}
	}
	return false
}
