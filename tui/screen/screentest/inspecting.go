package screentest

import (
	"context"
	"fmt"
	"strings"
	"time"

	"streamlab/errs"
	"streamlab/tui/screen"
)

// keys is how many rows the state of the fake has.
const keys = 1_204_468

// stateRow is row i of the state, in the order of keys.
func stateRow(i int, batch int64) screen.StateRow {
	names := []string{"/home", "/home/kids", "/home/garden", "/home/new", "/home/sale", "/home/tools"}
	page := fmt.Sprintf("/home/%d", 142+7*i)
	if i < len(names) {
		page = names[i]
	}
	r := screen.StateRow{ID: []byte(page), Key: "12:40:00, " + page, JSON: `["2026-01-05T12:40:00Z","` + page + `"]`,
		Values: []screen.Cell{{Text: fmt.Sprint(18064 / (i + 1))}}, Batch: batch - int64(1+i*7%30), Bytes: 36 + len(page)}
	if i%11 == 10 {
		r.Batch, r.AtMost = batch-37, true
	}
	return r
}

// Pages counts how often a page of state was asked for.
func (b *Bench) Pages() int { b.mu.Lock(); defer b.mu.Unlock(); return b.pages }

// StatePage implements screen.Inspecting, as do the methods below. A filter is a part of the page's name; of
// all rows it keeps every tenth, so that it is quick.
func (b *Bench) StatePage(_ context.Context, q screen.StateQuery) (screen.StatePage, error) {
	b.mu.Lock()
	b.pages++
	b.mu.Unlock()
	p := screen.StatePage{Key: "window_start, page", Values: []screen.Column{{Name: "count", Type: "bigint", Right: true}},
		Total: keys, Matches: keys, From: q.From}
	step := 1
	if q.Filter != "" {
		p.Matches, step = keys/10, 10
	}
	if q.Filter == "[" {
		return p, errs.New("STATE_KEY_MALFORMED", "key", "[", "problem", "it is no beginning of a JSON array", "columns", p.Key)
	}
	for i := q.From; i < min(q.From+q.N, p.Matches); i++ {
		p.Rows = append(p.Rows, stateRow(i*step, q.Batch))
	}
	return p, nil
}

func (b *Bench) KeyHistory(_ context.Context, q screen.StateQuery, id []byte, limit int) (out []screen.KeyVersion, err error) {
	for i := range min(limit, 60) {
		v := screen.KeyVersion{Batch: q.Batch - int64(i) - 1, Time: Now.Add(-time.Duration(i)*500*time.Millisecond - 1382*time.Millisecond),
			Values: []screen.Cell{{Text: fmt.Sprint(18064 - 157*i)}}, Change: []string{"+157"}}
		if i == 12 {
			v.Removed, v.Values, v.Change = true, nil, nil
		}
		if i == 11 {
			v.Change = nil
		}
		out = append(out, v)
	}
	if strings.HasSuffix(string(id), "kids") {
		return out[:1], nil
	}
	return out, nil
}

func (b *Bench) DiffBatches(_ context.Context, q screen.StateQuery, from, to int64, limit int) (*screen.Diff, error) {
	if from > to {
		from, to = to, from
	}
	d := &screen.Diff{From: from, To: to, Offsets: []string{fmt.Sprintf("kafka clicks +%d over 4 parts", 499_120*(to-from))},
		WatermarkFrom: Now.Add(-16 * time.Second), WatermarkTo: Now.Add(-12 * time.Second), Before: 1_200_760, After: keys, Added: 3_708, Changed: 8_441}
	for i := range min(limit, 400) {
		r := screen.DiffRow{Change: '~', Key: fmt.Sprintf("12:40:00, /item/%d", 1182+91*i), Before: fmt.Sprint(3330 / (i + 1)), After: fmt.Sprint(3612 / (i + 1))}
		if i%3 == 0 {
			r.Change, r.Key, r.Before, r.After = '+', fmt.Sprintf("12:40:00, /item/%d", 70000+311*i), "-", "1"
		}
		if i == 5 {
			r.Change, r.After = '-', "-"
		}
		d.Rows = append(d.Rows, r)
	}
	return d, nil
}

func (b *Bench) VerifyCheckpoint(ctx context.Context, query string, progress func(done, total int64)) error {
	for i := range int64(5) {
		progress(i*25, 100)
	}
	if query == "rides_join" {
		return errs.New("CHECKPOINT_CORRUPT", "checkpointLocation", "./rides", "problem", "the record d of batch 7 is not whole")
	}
	return ctx.Err()
}

func (b *Bench) ExportCheckpoint(context.Context, string, string) (int, error) { return 204, nil }

func (b *Bench) ReleaseState() { b.mu.Lock(); b.released++; b.mu.Unlock() }

// Released counts how often state was let go.
func (b *Bench) Released() int { b.mu.Lock(); defer b.mu.Unlock(); return b.released }
