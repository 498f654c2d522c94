package bench

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// PeerProbes measures P1, P4 and P5 on a peer that keeps state, in the better one of its stores. own are the figures of
// the same probes here; what was measured of both gives a ratio too. Targets are those of the ratios.
//
// P4 is measured of both over the same files, with as many groups on either side.
func PeerProbes(ctx context.Context, p *Peer, own []Figure, set Settings) (out []Figure, err error) {
	mine := func(probe, name string) (float64, bool) {
		for _, f := range own {
			if f.Probe == probe && f.Name == name {
				return f.Value, true
			}
		}
		return 0, false
	}
	add := func(probe, what, unit string, value float64, ownName string, target float64) {
		out = append(out, Figure{Probe: probe, Name: p.Name + ": " + what, Value: value, Unit: unit})
		if v, ok := mine(probe, ownName); ok && v > 0 {
			out = append(out, Figure{Probe: probe, Name: p.Name + " ÷ streamlab: " + what, Value: value / v, Target: target, AtLeast: true})
		}
	}
	cold, err := coldPeer(p.Name, set)
	if err != nil {
		return out, err
	}
	add("cold", "process start to the result", "ms", 1000*cold, coldName, 200)
	best, groups := 0.0, int64(0)
	for _, config := range []string{"rocksdb", "heap"} {
		r, err := p.job("recover", "W5", "tiny", config, set.Data, 0)
		if err != nil || r.NotRun != "" {
			return out, err
		}
		if best == 0 || r.Seconds < best {
			best, groups = r.Seconds, r.Groups
		}
	}
	var took []float64
	mineGroups := groups
	for range max(1, set.Rounds) {
		r, err := recoverOwn(ctx, set.Data, set.Scratch)
		if err != nil {
			return out, err
		}
		took, mineGroups = append(took, r.seconds), r.groups
	}
	restart := func(groups int64) string { return fmt.Sprintf("restart to next commit at %d groups", groups) }
	own = append(slices.Clip(own), Figure{Probe: "size", Name: restart(mineGroups), Value: middle(took), Unit: "s"})
	out = append(out, own[len(own)-1])
	add("size", restart(groups), "s", best, restart(groups), 10) // no ratio if the numbers are not the same
	ms, err := flowPeer(p, set)
	if err != nil || len(ms) == 0 {
		return out, err
	}
	add("flow", "row → sink at half of its rate, p50", "ms", percentile(ms, 0.5), "", 0)
	add("flow", "row → sink at half of its rate, p99", "ms", percentile(ms, 0.99), flowName, 20)
	return out, nil
}

// coldPeer gives the seconds from the start of a process of the peer to the result of W3 over 1,000 rows.
func coldPeer(name string, set Settings) (seconds float64, err error) {
	dir, err := os.MkdirTemp(set.Scratch, "bench-cold-")
	if err != nil {
		return 0, err
	}
	p := &Peer{Name: name, dir: dir, log: filepath.Join(dir, "log")}
	defer func() {
		if e := p.Close(); err == nil {
			err = e
		}
	}()
	began := time.Now()
	if err := p.start(); err != nil {
		return 0, err
	}
	r, err := p.job("run", "P1", "1000", "heap", set.Data, 0)
	if err == nil && r.NotRun != "" {
		err = p.missing(r.NotRun)
	}
	return time.Since(began).Seconds(), err
}

// flowPeer is probeFlow on a peer: at half of the rate that it has with W6, a file every tenth of a second.
func flowPeer(p *Peer, set Settings) ([]float64, error) {
	const tick, seconds = 0.1, 12
	const config = "heap" // the faster one of a few groups
	best := 0.0
	for range 2 {
		took, why, err := p.run("W6", "small", config, set.Data, 0)
		if err != nil || why != "" {
			return nil, err
		}
		w, err := Find("W6")
		if err != nil {
			return nil, err
		}
		files, err := w.files(set.Data, "small")
		if err != nil {
			return nil, err
		}
		rows, err := countRows(files)
		if err != nil {
			return nil, err
		}
		best = max(best, float64(rows)/took)
	}
	rows := int(best / 2 * tick)
	if err := cutPieces(filepath.Join(set.Data, "events", "json-small"), filepath.Join(p.dir, "pieces"), rows); err != nil {
		return nil, err
	}
	defer os.RemoveAll(filepath.Join(p.dir, "pieces"))
	r, err := p.job("flow", "W6", "small", config, set.Data, 0, "pieces", filepath.Join(p.dir, "pieces"), "rows", rows, "seconds", seconds)
	return r.Latency, err
}
