package bench

import (
	"context"
	"math"
	"os"
	"slices"
	"sort"
	"strconv"
	"strings"
	"time"

	"streamlab/errs"
)

// A Row is a workload's figures of one comparison: medians of interleaved rounds.
type Row struct {
	Workload, Variant string
	Engine, Limit     Result
	Ratio             float64 // median of per-round engine ÷ limit, in rows per second
	Peers             []PeerRow
	Void              int  // rounds that began while others used the machine
	Mean              bool // of other lines
}

// A PeerRow is the part of another engine.
type PeerRow struct {
	Engine, Version, Config string
	NotRun                  string // why there are no figures; "" if there are
	RowsPerS                float64
	Ratio                   float64 // median of per-round engine ÷ peer, in rows per second
	Rounds                  int     // fewer than those of the engine if one takes long
	Files                   int     // that it read of each view; 0: all
	Seconds                 float64 // of a run
}

// Settings of a comparison.
type Settings struct {
	Data    string
	Check   string // a smaller data folder on which results are compared; "" is Data
	Scratch string
	Rounds  int
	Budget  time.Duration     // of the timed runs of one configuration of a peer: what takes longer runs in fewer rounds, at least one
	Say     func(text string) // told what goes on; nil: nobody
}

// Compare checks a workload's result against its limit and the peers, and then times all in interleaved rounds.
// Errors: BENCH_MISMATCH if the results differ.
func Compare(ctx context.Context, w Workload, variant string, peers []*Peer, set Settings) (*Row, error) {
	if set.Check == "" {
		set.Check = set.Data
	}
	check := set.Check
	if w.Whole {
		check = set.Data
	}
	want, err := RunLimit(ctx, w, variant, check, set.Scratch, true)
	if err != nil {
		return nil, err
	}
	agree := func(who string, n int64, sum string) error {
		if n == want.CheckN && sum == want.Checksum {
			return nil
		}
		return errs.New("BENCH_MISMATCH", "engine", who, "workload", w.Name, "rows", n, "checksum", sum,
			"limitRows", want.CheckN, "limitChecksum", want.Checksum)
	}
	got, err := Run(ctx, w, variant, check, set.Scratch, true)
	if err != nil {
		return nil, err
	}
	if err := agree("streamlab", got.CheckN, got.Checksum); err != nil {
		return nil, err
	}
	r := &Row{Workload: w.Name, Variant: variant}
	var others []*contender
	for _, p := range peers {
		list, err := set.contenders(w, variant, p, agree)
		if err != nil {
			return nil, err
		}
		others = append(others, list...)
	}
	var mine, limits []*Result
	var ratios []float64
	for round := range set.Rounds {
		if busy := settled(); busy > 0.5 {
			r.Void++
			if set.Say != nil {
				set.Say(w.Name + " " + variant + ": others use " + strconv.FormatFloat(busy, 'f', 1, 64) + " cores; this round says little")
			}
		}
		m, err := Run(ctx, w, variant, set.Data, set.Scratch, false)
		if err != nil {
			return nil, err
		}
		l, err := RunLimit(ctx, w, variant, set.Data, set.Scratch, false)
		if err != nil {
			return nil, err
		}
		mine, limits, ratios = append(mine, m), append(limits, l), append(ratios, m.RowsPerS/l.RowsPerS)
		for _, x := range others {
			if x.NotRun != "" || round >= x.Rounds {
				continue
			}
			seconds, why, err := x.peer.run(w.Name, variant, x.Config, set.Data, x.Files)
			if err != nil {
				return nil, err
			}
			if x.NotRun = why; why == "" {
				x.times, x.ratios = append(x.times, seconds), append(x.ratios, m.RowsPerS/(x.rows/seconds))
			}
		}
	}
	r.Engine, r.Limit, r.Ratio = *median(mine), *median(limits), middle(ratios)
	for _, x := range others {
		if x.NotRun == "" {
			x.Seconds = middle(x.times)
			x.RowsPerS, x.Ratio = x.rows/x.Seconds, middle(x.ratios)
		}
		r.Peers = append(r.Peers, *x.PeerRow)
	}
	return r, nil
}

// A contender is a configuration of a peer in a comparison.
type contender struct {
	*PeerRow
	peer   *Peer
	rows   float64 // that it reads
	times  []float64
	ratios []float64
}

// contenders gives the configurations of a peer whose result agrees, warm if the peer needs that, or one that says why
// there are none.
func (set Settings) contenders(w Workload, variant string, p *Peer, agree func(who string, n int64, sum string) error) ([]*contender, error) {
	head := PeerRow{Engine: p.Name, Version: p.Version}
	not := func(why string) ([]*contender, error) {
		head.NotRun = why
		return []*contender{{PeerRow: &head}}, nil
	}
	if why := w.Skip[p.Name]; why != "" {
		return not(why)
	}
	configs, why, err := p.configs(w.Name)
	if err != nil {
		return nil, err
	}
	if why != "" {
		return not(why)
	}
	files, err := w.files(set.Data, variant)
	if err != nil {
		return nil, err
	}
	part := w.Part[p.Name]
	if part > 0 {
		for i, fs := range files {
			files[i] = fs[:min(part, len(fs))]
		}
	}
	rows, err := countRows(files)
	if err != nil {
		return nil, err
	}
	check := set.Check
	if w.Whole {
		check = set.Data
	}
	var out []*contender
	var warm []float64
	for _, c := range configs {
		x := &contender{PeerRow: &PeerRow{Engine: p.Name, Version: p.Version, Config: c, Rounds: set.Rounds, Files: part}, peer: p, rows: float64(rows)}
		n, sum, why, err := p.check(w.Name, variant, c, check)
		if err == nil && why == "" {
			err = agree(p.Name, n, sum)
		}
		if err != nil {
			return nil, err
		}
		if x.NotRun = why; why == "" && p.warmUp {
			seconds, _, err := p.run(w.Name, variant, c, set.Data, part)
			if err != nil {
				return nil, err
			}
			if set.Budget > 0 {
				x.Rounds = min(set.Rounds, max(1, int(set.Budget.Seconds()/seconds)))
			}
			warm = append(warm, seconds)
		}
		out = append(out, x)
	}
	if set.Budget > 0 && len(warm) == len(out) && len(out) > 1 { // the best counts, so the others need no time
		best := slices.Index(warm, slices.Min(warm))
		out = out[best : best+1]
	}
	return out, nil
}

// Best is the fastest configuration of a peer in the row; nil if it did not run, with the reason.
func (r *Row) Best(engine string) (best *PeerRow, why string) {
	for i := range r.Peers {
		p := &r.Peers[i]
		switch {
		case p.Engine != engine:
		case p.NotRun != "":
			why = p.NotRun
		case best == nil || p.RowsPerS > best.RowsPerS:
			best = p
		}
	}
	return best, why
}

// settled waits for the machine to be quiet, at most some seconds, and says how many cores others use.
func settled() float64 {
	busy := 0.0
	for range 20 {
		before := machineSeconds()
		if before < 0 {
			return 0
		}
		own := cpuSeconds()
		start := time.Now()
		<-time.After(250 * time.Millisecond)
		busy = max(0, machineSeconds()-before-(cpuSeconds()-own)) / time.Since(start).Seconds()
		if busy <= 0.5 {
			break
		}
	}
	return busy
}

// machineSeconds is the CPU time that the machine has used; -1 if it does not say.
func machineSeconds() float64 {
	raw, err := os.ReadFile("/proc/stat")
	if err != nil {
		return -1
	}
	line, _, _ := strings.Cut(string(raw), "\n")
	total := 0.0
	for i, f := range strings.Fields(line)[1:] {
		if n, err := strconv.ParseFloat(f, 64); err == nil && i < 8 && i != 3 && i != 4 { // not idle, not iowait
			total += n
		}
	}
	return total / 100
}

func median(rs []*Result) *Result {
	times := make([]float64, len(rs))
	for i, r := range rs {
		times[i] = r.Seconds
	}
	m := middle(times)
	for _, r := range rs {
		if r.Seconds == m {
			return r
		}
	}
	return rs[0]
}

// middle is the median; of an even number the lower of the two in the middle. NaN of none.
func middle(fs []float64) float64 {
	if len(fs) == 0 {
		return math.NaN()
	}
	s := append([]float64(nil), fs...)
	sort.Float64s(s)
	return s[(len(s)-1)/2]
}
