package lab

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"streamlab/engine"
	"streamlab/errs"
)

// gather collects the input: what the lab lists for sources fed by hand, and what its steps feed to them; of
// other sources a sample.
func (c *Comparison) gather(ctx context.Context, look *Workbench, scans []engine.StreamScan, o CompareOptions) error {
	rest := scans[:0:0]
	at := func(i int) *CompareInput {
		for len(c.Inputs) <= i {
			c.Inputs = append(c.Inputs, CompareInput{})
		}
		return &c.Inputs[i]
	}
	fed := map[string]bool{}
	for _, sc := range scans {
		src := c.Lab.source(sc.Name)
		if src == nil {
			return errs.New("LAB_NO_SAMPLE", "query", c.Query, "reason", "the stream `"+sc.Name+"` is none of the lab's sources")
		}
		if w := src.Watermark; w != nil {
			c.Delays = append(c.Delays, w.Delay.Value)
		}
		c.eventTime[sc.Name] = -1
		for i, f := range sc.Schema {
			if w := c.Lab.watermarkOf(sc.Name); w != "" && strings.EqualFold(f.Name, w) {
				c.eventTime[sc.Name] = i
			}
		}
		if !strings.EqualFold(src.Format.Value, "memory") {
			rest = append(rest, sc)
			continue
		}
		fed[sc.Name] = true
		for i, rows := range src.Rows {
			p, err := c.push(look, sc, rows)
			if err != nil {
				return err
			}
			in := at(i)
			in.Pushes = append(in.Pushes, p)
		}
	}
	for _, v := range c.Lab.Views {
		if v.Watermark != nil {
			c.Delays = append(c.Delays, v.Watermark.Delay.Value)
		}
	}
	for _, s := range c.Lab.Steps {
		for _, a := range s.Do {
			if a.Kind != "feed" || !fed[a.Source] {
				continue
			}
			for _, sc := range scans {
				if sc.Name == a.Source {
					p, err := c.push(look, sc, a.Rows)
					if err != nil {
						return err
					}
					c.Inputs = append(c.Inputs, CompareInput{Pushes: []ComparePush{p}})
				}
			}
		}
	}
	for _, sc := range rest {
		c.Sampled, c.sampled[sc.Name] = true, true
		if err := c.sample(ctx, look, sc, o, at); err != nil {
			return err
		}
	}
	kept := c.Inputs[:0]
	for _, in := range c.Inputs {
		if len(in.Pushes) > 0 {
			kept = append(kept, in)
		}
	}
	if c.Inputs = kept; len(kept) > maxInputs {
		c.Inputs = kept[:maxInputs]
	}
	if len(c.Inputs) == 0 {
		return errs.New("LAB_NO_SAMPLE", "query", c.Query, "reason", "its sources have no rows now")
	}
	return nil
}

// maxInputs bounds the steps of a comparison: the engine keeps the rows of that many micro-batches.
const maxInputs = 24

func (l *Lab) source(name string) *Source {
	for i := range l.Sources {
		if l.Sources[i].Name.Value == name {
			return &l.Sources[i]
		}
	}
	return nil
}

// watermarkOf is the column by which a source's rows are old or new: that of its withWatermark, or of the only
// one that a view has.
func (l *Lab) watermarkOf(source string) string {
	if s := l.source(source); s != nil && s.Watermark != nil {
		return s.Watermark.Column.Value
	}
	column := ""
	for _, v := range l.Views {
		if v.Watermark != nil {
			if column != "" && column != v.Watermark.Column.Value {
				return ""
			}
			column = v.Watermark.Column.Value
		}
	}
	return column
}

// push reads rows of the lab file under the schema of their source.
func (c *Comparison) push(look *Workbench, sc engine.StreamScan, rows [][]any) (ComparePush, error) {
	rb, err := look.s.InlineRows(sc.Schema, rows)
	if err != nil {
		return ComparePush{}, err
	}
	return pushOf(sc, rb), nil
}

func pushOf(sc engine.StreamScan, rb arrow.RecordBatch) ComparePush {
	p := ComparePush{Source: sc.Name, rb: rb, Rows: Cells([]arrow.RecordBatch{rb}, sc.Schema)}
	for _, f := range sc.Schema {
		p.Columns = append(p.Columns, f.Name)
	}
	return p
}

// sample reads the first micro-batches of a source. Of each it takes the first rows in the order in which the
// source plans them; files: the oldest first. So it takes the same whenever the source is the same.
func (c *Comparison) sample(ctx context.Context, look *Workbench, sc engine.StreamScan, o CompareOptions, at func(int) *CompareInput) error {
	batches, most := o.SampleBatches, int64(o.SampleRows)
	if batches <= 0 {
		batches = 5
	}
	if most <= 0 {
		most = 6
	}
	ctx, cancel := context.WithTimeout(ctx, sampleTime)
	defer cancel()
	df, err := look.s.Table(sc.Name)
	if err != nil {
		return err
	}
	endless := false
	trigger := engine.AvailableNow() // what is there, so that nothing is waited for
	switch f := strings.ToLower(sc.Format); f {
	case "rate", "rate-micro-batch", "rate-per-micro-batch", "socket", "nexmark": // nothing is there: rows come with time
		trigger, endless = engine.ProcessingTime(300*time.Millisecond), true
	}
	q, err := df.WriteStream().Format("noop").QueryName("sample_of_"+sc.Name).Option("checkpointLocation", filepath.Join(o.Dir, "sample", sc.Name)).
		Trigger(trigger).MaxBatches(2 * batches).Start(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = q.Stop() }()
	// A source that has little now is not waited for: what came in the time is the sample.
	_ = q.AwaitTermination(ctx)
	if err := q.Exception(); err != nil {
		return err
	}
	n := 0
	for b := int64(0); b <= q.Snapshot().Batch; b++ {
		rows, total, kept := q.BatchRows(b)
		c.Available += total
		if n >= batches {
			continue
		}
		left := most
		for _, rb := range rows {
			if !kept || rb.NumRows() == 0 || left == 0 {
				continue
			}
			if rb.NumRows() > left {
				rb = rb.NewSlice(0, left)
			}
			left -= rb.NumRows()
			in := at(n)
			in.Pushes = append(in.Pushes, pushOf(sc, rb))
		}
		if left < most {
			n++
		}
	}
	if endless || q.Snapshot().Batch+1 >= int64(2*batches) || ctx.Err() != nil { // it was cut off
		c.More = true
	}
	return nil
}

// sampleTime is how long a sample may take.
const sampleTime = 4 * time.Second

// split cuts the inputs anew.
func (c *Comparison) split(how string) error {
	switch how {
	case "one":
		var all CompareInput
		for _, in := range c.Inputs {
			all.Pushes = append(all.Pushes, in.Pushes...)
		}
		c.Inputs = []CompareInput{all}
	case "rows":
		var out []CompareInput
		for _, in := range c.Inputs {
			for _, p := range in.Pushes {
				for i := range p.Rows {
					if len(out) < maxInputs {
						out = append(out, CompareInput{Pushes: []ComparePush{p.rowsFrom(i, i+1)}})
					}
				}
			}
		}
		c.Inputs = out
	}
	for i := range c.Inputs {
		if err := c.Inputs[i].join(); err != nil {
			return err
		}
		for _, p := range c.Inputs[i].Pushes {
			if c.sampled[p.Source] {
				c.Taken += int64(len(p.Rows))
			}
		}
	}
	return nil
}

// Sample says in a few words how much of the sources was taken, such as "6 of 20 rows"; "" if all of the input is
// the lab's own.
func (c *Comparison) Sample() string {
	switch {
	case !c.Sampled:
		return ""
	case c.More:
		return fmt.Sprintf("%d of more than %d rows", c.Taken, c.Available)
	case c.Available == 1:
		return fmt.Sprintf("%d of 1 row", c.Taken)
	}
	return fmt.Sprintf("%d of %d rows", c.Taken, c.Available)
}

// join makes one push of all that go to one source: a push is a micro-batch.
func (in *CompareInput) join() error {
	var out []ComparePush
next:
	for _, p := range in.Pushes {
		for i := range out {
			o := &out[i]
			if o.Source != p.Source {
				continue
			}
			columns := make([]arrow.Array, o.rb.NumCols())
			for k := range columns {
				a, err := array.Concatenate([]arrow.Array{o.rb.Column(k), p.rb.Column(k)}, memory.DefaultAllocator)
				if err != nil {
					return err
				}
				columns[k] = a
			}
			o.rb = array.NewRecordBatch(o.rb.Schema(), columns, o.rb.NumRows()+p.rb.NumRows())
			o.Rows = append(o.Rows[:len(o.Rows):len(o.Rows)], p.Rows...)
			continue next
		}
		out = append(out, p)
	}
	in.Pushes = out
	return nil
}

// rowsFrom is some rows of a push.
func (p ComparePush) rowsFrom(i, j int) ComparePush {
	p.Rows, p.rb = p.Rows[i:j], p.rb.NewSlice(int64(i), int64(j))
	return p
}

// late feeds the first row again, when it is old.
func (c *Comparison) late() {
	c.Inputs = append(c.Inputs, CompareInput{Pushes: []ComparePush{c.Inputs[0].Pushes[0].rowsFrom(0, 1)}})
}

// markLate finds the rows that are older than the newest row of an input before.
func (c *Comparison) markLate() {
	newest := map[string]string{}
	for i := range c.Inputs {
		before := map[string]string{}
		for s, t := range newest {
			before[s] = t
		}
		for j := range c.Inputs[i].Pushes {
			p := &c.Inputs[i].Pushes[j]
			p.Late, p.Times = make([]bool, len(p.Rows)), nil
			col := c.eventTime[p.Source]
			if col < 0 {
				continue
			}
			for k, r := range p.Rows {
				t := r[col] // timestamps as text sort as the times do
				p.Times = append(p.Times, t)
				p.Late[k] = t != "NULL" && t < before[p.Source]
				if t != "NULL" && t > newest[p.Source] {
					newest[p.Source] = t
				}
			}
		}
	}
}

// CompareHeadless feeds everything and returns the closed Comparison; dir is o.Dir.
func CompareHeadless(ctx context.Context, l *Lab, query string, o CompareOptions) (*Comparison, error) {
	c, err := Compare(ctx, l, query, o)
	if err != nil {
		return nil, err
	}
	for more := true; more; {
		if more, err = c.Feed(ctx); err != nil {
			break
		}
	}
	if e := c.Close(); err == nil {
		err = e
	}
	return c, err
}

var _ io.Closer = (*Comparison)(nil)
