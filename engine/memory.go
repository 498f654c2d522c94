package engine

import (
	"strconv"
	"strings"
	"sync"

	"streamlab/columnar"
	"streamlab/engine/exec"
	"streamlab/internal/machine"
	"streamlab/sources"
	"streamlab/store"
)

// QueryMemory is what a query holds, in bytes.
type QueryMemory struct {
	exec.Memory       // of the plan
	Commit      int64 // segments on their way to the checkpoint
	Store       int64 // of the checkpoint's database, estimated from its options
	Budget      int64 // what the query may hold; 0: no limit is known
	Limited     bool  // micro-batches are being made smaller
}

// Total is all that the query holds.
func (m QueryMemory) Total() int64 { return m.Memory.Total() + m.Commit + m.Store }

// memoryPool divides the memory of a session among its queries. Safe for concurrent use.
type memoryPool struct {
	mu   sync.Mutex
	used map[*driver]held
}

// held is what a query holds, and how much of it is flat state.
type held struct{ all, state int64 }

// budget is what a query may hold of total: its equal share, and what the others have left of theirs. It also takes
// note of what the query holds now.
func (p *memoryPool) budget(d *driver, total int64, now held) int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.used == nil {
		p.used = map[*driver]held{}
	}
	p.used[d] = now
	p.tell()
	if total == 0 {
		return 0
	}
	others := int64(0)
	for x, n := range p.used {
		if x != d {
			others += n.all
		}
	}
	return max(total-others, total/int64(len(p.used)), 1)
}

func (p *memoryPool) leave(d *driver) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.used, d)
	p.tell()
}

// tell says to the collector how much of the heap is flat, or lies ready only. The caller holds mu.
func (p *memoryPool) tell() {
	state := int64(0)
	for _, n := range p.used {
		state += n.state
	}
	machine.Hold(state, int64(len(p.used))*store.Ahead())
}

// parseMemory reads a share of the machine's memory ("60%") or a number of bytes with a suffix of Spark's (k, m, g,
// t, with or without b). "0" is no limit.
func parseMemory(text string) (bytes int64, ok bool) {
	text = strings.ToLower(strings.TrimSpace(text))
	if share, isShare := strings.CutSuffix(text, "%"); isShare {
		n, err := strconv.ParseFloat(share, 64)
		return int64(float64(machine.Memory()) / 100 * n), err == nil && n > 0 && n <= 100
	}
	number, shift := strings.TrimSuffix(text, "b"), 0
	for i, suffix := range []string{"k", "m", "g", "t"} {
		if n, has := strings.CutSuffix(number, suffix); has {
			number, shift = n, 10*(i+1)
		}
	}
	n, err := strconv.ParseInt(number, 10, 64)
	return n << shift, err == nil && n >= 0 && n <= 1<<62>>shift
}

// shrinkAt and growAt are the shares of its budget, in hundredths, from which on a query takes less into a
// micro-batch, and below which it takes more again.
const (
	shrinkAt = 80
	growAt   = 60
)

// allow tells the plan what it may hold in the batch that is next.
func (d *driver) allow() {
	total, _ := parseMemory(d.conf.Get(keyMemory))
	m := &d.memory
	m.Memory, m.Commit = d.plan.Memory(), 0
	m.Store = store.Footprint()
	m.Budget = d.s.memory.budget(d, total, held{m.Total(), m.State})
	d.plan.SetBudget(m.Budget, m.Store)
}

// weigh looks at what the batch took, while its rows are there, and admits less to the next one if that is much,
// or more again.
func (d *driver) weigh(b *store.Batch) {
	m := &d.memory
	if d.plan != nil {
		m.Memory, m.Commit = d.plan.Memory(), b.Bytes()
	}
	if m.Budget == 0 {
		return
	}
	m.Limited = false
	for _, x := range d.sources {
		switch share := m.Total() * 100 / m.Budget; {
		case share >= shrinkAt && x.rows > 1:
			x.most = sources.ReadLimit{MaxRows: max(x.rows/2, 1), MaxFiles: max(x.files/2, 1)}
		case share < growAt && x.most != sources.ReadLimit{}:
			if x.rows < x.most.MaxRows/2 || x.most.MaxRows > 1<<40 { // it takes all there is
				x.most = sources.ReadLimit{}
			} else {
				x.most.MaxRows, x.most.MaxFiles = 2*x.most.MaxRows, 2*x.most.MaxFiles
			}
		}
		m.Limited = m.Limited || x.most != sources.ReadLimit{}
	}
}

// admits is the limit of the options, or that of the memory if it is less.
func (x *querySource) admits() sources.ReadLimit {
	l := x.limit
	least := func(a, b int64) int64 {
		if a == 0 || b != 0 && b < a {
			return b
		}
		return a
	}
	l.MaxRows, l.MaxFiles = least(l.MaxRows, x.most.MaxRows), least(l.MaxFiles, x.most.MaxFiles)
	l.MinRows = least(l.MinRows, x.most.MaxRows)
	return l
}

// pieces are the files that partitions read, or what stands for them in other sources.
func pieces(parts []columnar.Partition) (n int64) {
	for _, p := range parts {
		if f, ok := p.(interface{ Files() int }); ok {
			n += int64(f.Files())
		} else {
			n++
		}
	}
	return n
}
