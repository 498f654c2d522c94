//go:build cgo

package main

import (
	"context"
	"encoding/json"
	"path/filepath"
	"sort"
	"strconv"
	"strings"
	"time"

	"streamlab/engine"
	"streamlab/internal/safego"
	"streamlab/lab"
	"streamlab/tui/screen"
	"streamlab/tui/widget"
)

// queryFacts is what the plan of a query says of its streams. They are found beside the loop, since a plan takes
// longer than a frame may, and once a definition.
type queryFacts struct {
	reads   []engine.Read
	delay   time.Duration
	windows bool // rows are put into windows of time
}

// knownFacts are the facts of the queries of one reading of the lab file.
type knownFacts struct {
	of  *lab.Lab
	all map[string]*queryFacts // by query; nil until they are known
}

// factsOf is what is known of a query; nil if it is not yet. The caller holds mu.
func (b *localLab) factsOf(name string) *queryFacts {
	now := b.w.Current()
	if b.facts.of != now {
		b.facts = knownFacts{now, map[string]*queryFacts{}}
		all, queries := b.facts.all, now.Queries
		safego.Go("plans of the queries", func() error {
			for _, q := range queries {
				f := &queryFacts{}
				if df, err := b.w.Session().SQL(context.Background(), q.SQL.Value); err == nil {
					f.reads, f.delay, f.windows = df.Reads()
				}
				b.mu.Lock()
				all[q.Name.Value] = f
				b.mu.Unlock()
			}
			return nil
		})
	}
	return b.facts.all[name]
}

// sourceWords names the streams in a line. ends are the end offsets of the newest batch, a text a stream: they say
// how many partitions a topic has.
func (f *queryFacts) sourceWords(folder string, ends []string) string {
	var out []string
	for i, r := range f.reads {
		t := r.Format
		if r.Name != r.Format {
			t += " " + r.Name
		}
		switch {
		case r.Format == "kafka":
			if topic, ok := r.Options.Get("subscribe"); ok && topic != r.Name {
				t += ", topic " + topic
			}
			if n := topicPartitions(ends, i); n > 0 {
				t += ", " + string(widget.Plural(int64(n), "partition"))
			}
		case r.Path != "":
			p := r.Path
			if rel, err := filepath.Rel(folder, p); err == nil && !strings.HasPrefix(rel, "..") {
				p = rel
			}
			t += ", " + p
		}
		out = append(out, t)
	}
	return strings.Join(out, " and ")
}

// topicPartitions counts the partitions in the i-th offset, which Kafka writes as topic → partition → offset.
func topicPartitions(ends []string, i int) (n int) {
	if i >= len(ends) {
		return 0
	}
	var topics map[string]map[string]int64
	if json.Unmarshal([]byte(ends[i]), &topics) != nil {
		return 0
	}
	for _, parts := range topics {
		n += len(parts)
	}
	return n
}

// limits are the options that bound what comes, or what a batch takes, and the words for them.
var limits = []struct{ option, unit string }{
	{"maxOffsetsPerTrigger", "offsets a batch"}, {"maxFilesPerTrigger", "files a batch"}, {"maxBytesPerTrigger", "bytes a batch"},
	{"rowsPerBatch", "rows a batch"},
}

// limitWords says what bounds the rows; empty if nothing does.
func (f *queryFacts) limitWords() string {
	var out []string
	for _, r := range f.reads {
		if r.Format == "rate" {
			n := 1.0
			if v, ok := r.Options.Get("rowsPerSecond"); ok {
				n, _ = strconv.ParseFloat(v, 64)
			}
			out = append(out, string(widget.Rate(n))+"/s")
		}
		for _, l := range limits {
			if v, ok := r.Options.Get(l.option); ok {
				unit := l.unit
				if n, err := strconv.ParseInt(v, 10, 64); err == nil {
					v = string(widget.Count(n))
					if n == 1 {
						unit = strings.Replace(unit, "s ", " ", 1)
					}
				}
				out = append(out, v+" "+unit)
			}
		}
	}
	return strings.Join(out, ", ")
}

// triggerWords puts a trigger as the engine prints it, "processingTime 1.5s", in the words of the screens.
func triggerWords(t string) string {
	kind, every, ok := strings.Cut(t, " ")
	d, err := time.ParseDuration(every)
	if !ok || err != nil {
		return t
	}
	words := string(widget.Words(d))
	if kind == "processingTime" {
		return words
	}
	return kind + " " + words
}

// slowAfter is how many batches are needed to say what is usual, of how many before.
const (
	slowAfter  = 5
	slowBefore = 30
	slowLeast  = 50 * time.Millisecond
)

// noteSlow notes the batches that took more than twice as long as is usual among those before them, with the phase
// that took most. Differences that nobody feels do not count.
func noteSlow(ps []screen.Progress) {
	var before []time.Duration
	for i := range ps {
		p := &ps[i]
		if len(before) >= slowAfter {
			usual := append([]time.Duration(nil), before[max(0, len(before)-slowBefore):]...)
			sort.Slice(usual, func(a, b int) bool { return usual[a] < usual[b] })
			if m := usual[len(usual)/2]; p.Note == "" && p.Duration > 2*m && p.Duration-m > slowLeast {
				p.Note = "slow: " + longestPhase(p.Phases)
			}
		}
		if p.RowsIn > 0 { // a batch without rows says nothing of those with
			before = append(before, p.Duration)
		}
	}
}

func longestPhase(phases []screen.Phase) (name string) {
	var most time.Duration
	for _, ph := range phases {
		if ph.Took >= most {
			most, name = ph.Took, ph.Name
		}
	}
	return name
}

// memoryOf is what a query held at the end of a batch.
func memoryOf(m engine.QueryMemory) screen.Memory {
	return screen.Memory{Held: m.Total(), State: m.State, Budget: m.Budget, Limited: m.Limited, Away: m.Away}
}
