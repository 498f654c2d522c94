package exec

import (
	"fmt"
	"testing"
)

// Rows that folding would not shrink meet the state as they are. The player also runs every batch traced, where all
// rows are folded first: both must give the same rows, and drop the same late groups, however often they come.
func TestUnfoldedRowsAreLateAsGroupsAre(t *testing.T) {
	const n, batches = 20_000, 3 // of which the first begins folded
	for _, sql := range []string{
		"SELECT k, ts, count(*) AS n, sum(v) AS t FROM a GROUP BY k, ts",
		"SELECT window.end AS e, k, count(*) AS n, max(v) AS t FROM a GROUP BY window(ts, '10 seconds'), k",
	} {
		for _, mode := range []string{"append", "update"} {
			q := query{mode: mode, delay: 5, sql: sql}
			x := newPlayer(t, q.node(t), mode, false)
			for b := range batches {
				rows := make([]event, n)
				for i := range rows {
					rows[i] = event{k: fmt.Sprint(i % (n / 2)), t: int64(100*(b+1) + i/(n/2)*20), v: int32(i%7 - 3)}
					if i%10 == 9 { // behind the watermark, each of them twice
						rows[i].k, rows[i].t = fmt.Sprint("late ", i/20), 3
					}
					if i%1000 == 0 {
						rows[i].k = ""
					}
				}
				_, c := x.run(batchOf(rows))
				dropped := c.Operators[0].NumRowsDroppedByWatermark
				if want := int64(b / 2 * n / 20); dropped != want {
					t.Errorf("%s %s: batch %d dropped %d groups, want %d", mode, sql, b, dropped, want)
				}
			}
			o := x.p.stateful[0].(*stateAggregate)
			if p := o.partial[0]; !p.bypass || p.t.live > 0 {
				t.Errorf("%s %s: the last batch was folded", mode, sql)
			}
		}
	}
}

// What a batch did not need of the blocks is given back before the next one.
func TestBlocksAreGivenBack(t *testing.T) {
	q := query{mode: "update", sql: "SELECT k, count(*) AS n, sum(v) AS t FROM a GROUP BY k"}
	x := newPlayer(t, q.node(t), q.mode, false)
	x.alone = true
	kept := func(n int) (bytes int64) {
		rows := make([]event, n)
		for i := range rows {
			rows[i] = event{k: fmt.Sprint("a key that is rather long ", i), v: 1}
		}
		if out, _ := x.run(batchOf(rows)); len(out) != n {
			t.Errorf("%d rows of %d", len(out), n)
		}
		for _, b := range x.p.stateful[0].(*stateAggregate).partial[0].raw {
			if b != nil {
				bytes += b.bytes()
			}
		}
		return bytes
	}
	kept(40_000)
	most := kept(200_000)
	kept(20)
	if less := kept(20); less > most/10 || most == 0 {
		t.Errorf("%d bytes are kept after %d", less, most)
	}
}
