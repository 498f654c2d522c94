package screentest

import (
	"context"
	"strings"
	"time"

	"streamlab/errs"
	"streamlab/tui/screen"
)

// ShopYAML is the lab file of the fake, as the gallery and the lab have it.
const ShopYAML = `lab: shop-demo
about: shop example
sources:
  clicks:
    format: kafka
    schema: ts TIMESTAMP, page STRING, country STRING
    options:
      kafka.bootstrap.servers: embedded
      subscribe: clicks
  orders:
    format: rate
    options: {rowsPerSecond: 1000}
views:
  german: SELECT * FROM clicks WHERE country = 'DE'
tables:
  products:
    schema: sku STRING, price DECIMAL(10,2)
    rows:
      - [a, 1.50]
      - [b, 2.00]
queries:
  - queryName: clicks_1m
    sql: |
      SELECT window(ts, '1 minute') AS w, page,
             count(*) AS n
      FROM   clicks WHERE country = 'DE'
      GROUP  BY window(ts, '1 minute'), page
    format: delta
    outputMode: append
    trigger: {processingTime: 500 milliseconds}
    options: {path: out/clicks}

  - queryName: top_pages
    sql: |
      SELECT page, count(*) AS count FROM clicks GROUP BY page
    format: memory
    outputMode: complete
`

// desk is the files of the fake.
type desk struct {
	// Disk is the lab file; empty: ShopYAML. Draft is what was kept of unsaved text, Scratched what another
	// program was given.
	Disk, Draft, Scratched string
	DraftAt                time.Time
	// Redefined is what Adopt answers; Adopted what it was given.
	Redefined []screen.Redefined
	// Unfit is what Adopt fails with; nil: it does not.
	Unfit   error
	Adopted string
	saves   int
}

func (b *Bench) disk() string {
	if b.Disk == "" {
		return ShopYAML
	}
	return b.Disk
}

// ReadLab implements screen.Labwright, as do the methods below.
func (b *Bench) ReadLab(_ context.Context, path string) (screen.FileText, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if strings.Contains(path, "missing") {
		return screen.FileText{}, errs.New("LAB_FILE_UNREADABLE", "path", path)
	}
	return screen.FileText{Path: path, Text: b.disk(), Stamp: b.disk(), Draft: b.Draft, DraftAt: Now.Add(-time.Hour)}, nil
}

func (b *Bench) SaveLab(_ context.Context, path, text, stamp string) (string, bool, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if stamp != "" && stamp != b.disk() {
		return "", true, nil
	}
	b.Disk, b.Draft = text, ""
	b.saves++
	return text, false, nil
}

func (b *Bench) KeepDraft(_ context.Context, _, text, _ string) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.Draft = text
	return nil
}

func (b *Bench) Scratch(_ context.Context, _, text string) (string, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.Scratched = text
	return "/tmp/scratch.yaml", nil
}

func (b *Bench) Reread(context.Context, string) (string, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.Scratched, nil
}

// CheckLab refuses a count in append mode without a watermark, and a line with the word WRONG.
func (b *Bench) CheckLab(_ context.Context, path, text string) (screen.TextVerdict, error) {
	var v screen.TextVerdict
	lines := strings.Split(text, "\n")
	mark := strings.Contains(text, "withWatermark")
	for i, l := range lines {
		if col := strings.Index(l, "WRONG"); col >= 0 {
			v.Problems = append(v.Problems, screen.TextProblem{Err: errs.New("LAB_UNKNOWN_KEY", "key", "WRONG", "where", "the lab").
				At(errs.Pos{File: path, Line: i + 1, Col: col + 1, Length: 5})})
		}
		name, ok := strings.CutPrefix(strings.TrimLeft(l, " -"), "queryName: ")
		if !ok {
			continue
		}
		q := screen.QueryVerdict{Query: name, Line: i + 1, Last: i + 1, Format: "memory", Mode: "append"}
		off := 0
		for _, x := range lines[:i+1] {
			off += len(x) + 1
		}
		modeFrom, modeTo, modeLine := 0, 0, 0
		for j := i + 1; j < len(lines) && !strings.Contains(lines[j], "queryName:"); j++ {
			if strings.TrimSpace(lines[j]) != "" {
				q.Last = j + 1
			}
			t := strings.TrimSpace(lines[j])
			if f, ok := strings.CutPrefix(t, "format: "); ok {
				q.Format = f
			}
			if m, ok := strings.CutPrefix(t, "outputMode: "); ok {
				m = strings.TrimSpace(m)
				q.Mode = m
				modeFrom = off + strings.Index(lines[j], m)
				modeTo, modeLine = modeFrom+len(m), j+1
			}
			off += len(lines[j]) + 1
		}
		update := screen.ModeWord{Mode: "update", OK: q.Format != "delta"}
		if !update.OK {
			update.By = q.Format
		}
		q.Modes = []screen.ModeWord{{Mode: "append", OK: mark}, update, {Mode: "complete", OK: true}}
		q.Why = "Complete sends the whole result in every micro-batch, and keeps all of it in state for ever."
		if q.Mode == "append" && !mark {
			q.Why = "append sends a row once and never changes it. This count can still grow, because nothing says when a window is finished."
			at := strings.Index(text, "    options: {path")
			use := func(m string) []screen.TextEdit { return []screen.TextEdit{{From: modeFrom, To: modeTo, Text: m}} }
			v.Problems = append(v.Problems, screen.TextProblem{Query: name, Why: q.Why,
				Err: errs.New("STREAMING_OUTPUT_MODE.UNSUPPORTED_OPERATION", "outputMode", "append", "operation", "streaming aggregations without watermark").
					At(errs.Pos{File: path, Line: modeLine, Col: 17, Length: 6}),
				Fixes: []screen.Fix{
					{Title: "add a watermark", Explain: "withWatermark: {eventTime: ts, delayThreshold: 10 seconds}",
						Edits: []screen.TextEdit{{From: at, To: at, Text: "    withWatermark: {eventTime: ts, delayThreshold: 10 seconds}\n"}}},
					{Title: "use complete", Explain: "rewrites the whole table every batch", Edits: use("complete")},
					{Title: "use update", Explain: "needs a sink that can upsert", Edits: use("update")},
				}})
		}
		v.Queries = append(v.Queries, q)
	}
	return v, nil
}

func (b *Bench) PlanQuery(_ context.Context, _, _, query string, dry bool) (screen.QueryPlan, error) {
	p := screen.QueryPlan{
		Tree: []string{"source kafka clicks  (ts, page, country)", "└ filter  (country = 'DE')", "  └ aggregate  window, page → count(1)  [state]",
			"    └ sink delta out/clicks"},
		Schema: []screen.Column{{Name: "w", Type: "struct<start:timestamp,end:timestamp>"}, {Name: "page", Type: "string"}, {Name: "n", Type: "bigint", Right: true}},
		Filled: []bool{true, false, true},
		Accept: []screen.SinkModes{{Sink: "console", Modes: [3]bool{true, true, true}}, {Sink: "memory", Modes: [3]bool{true, true, true}, Notes: [3]string{"", "*", ""}},
			{Sink: "file", Modes: [3]bool{true}}, {Sink: "delta", Modes: [3]bool{true, false, true}},
			{Sink: "kafka", Modes: [3]bool{true, true, true}, Notes: [3]string{"", "", "**"}}, {Sink: "foreachBatch", Modes: [3]bool{true, true, true}}},
	}
	if dry {
		p.Rows.Columns = p.Schema
		for i, page := range []string{"/home", "/cart", "/login", "/sale", "/help"} {
			p.Rows.Rows = append(p.Rows.Rows, []screen.Cell{{Text: "{12:40:00, 12:41:00}"}, {Text: page}, {Text: itoa(402 - 61*i)}})
		}
	}
	return p, nil
}

// Adopt implements screen.Adopter.
func (b *Bench) Adopt(_ context.Context, text string) ([]screen.Redefined, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.Unfit != nil {
		return nil, b.Unfit
	}
	b.Adopted = text
	return b.Redefined, nil
}

// Broken is a gallery with one lab, whose file has mistakes; the fake's desk has the file.
type Broken struct {
	Gallery
	*Bench
}

// Labs implements screen.Gallery.
func (Broken) Labs(context.Context) ([]screen.LabEntry, error) {
	return []screen.LabEntry{{Path: "/labs/broken.yaml", Title: "broken", Own: true,
		Problem: errs.New("LAB_UNKNOWN_KEY", "key", "WRONG", "where", "the lab").At(errs.Pos{File: "broken.yaml", Line: 2, Col: 1, Length: 5})}}, nil
}
