package screen

import (
	"context"
	"strings"

	"streamlab/internal/safe"
	"streamlab/tui/canvas"
	"streamlab/tui/widget"
)

// An Afresher is a workbench that knows what stands in the way of rows if a query begins with a new checkpoint.
type Afresher interface {
	// Afresh is a sentence about the query's sink; "" if it takes all rows of the new run.
	Afresh(ctx context.Context, query string) (string, error)
}

// askAfresh asks a question about giving up the checkpoint of a query. The folder of a file sink is looked at
// first, since its log may keep the new rows out; question gets what is said of it, "" for nothing.
func askAfresh(sh *Shared, name string, question func(sink safe.Line) *Question) Effect {
	q := sh.Query(name)
	a, ok := sh.Bench.(Afresher)
	if !ok || q == nil || !keepsLog(q.Sink) {
		return Effect{Ask: question("")}
	}
	return Effect{Jobs: []Job{{Slot: "afresh", What: "looking at the sink", Run: func(ctx context.Context) func() Effect {
		words, err := a.Afresh(ctx, name)
		return func() Effect {
			if err != nil { // the question need not wait for what cannot be known
				words = "What its sink holds could not be read: " + err.Error()
			}
			return Effect{Ask: question(text(words))}
		}
	}}}}
}

// keepsLog says whether a sink writes files, with a log of batches beside them.
func keepsLog(sink string) bool {
	switch strings.ToLower(sink) {
	case "json", "csv", "text", "parquet", "orc":
		return true
	}
	return false
}

// freshQuestion asks whether a query shall start on a new checkpoint. sink is what is known of its sink; may be
// empty.
func freshQuestion(name string, sink safe.Line) *Question {
	if sink == "" {
		sink = "What its sink holds stays, so rows may be there twice."
	}
	return &Question{
		Title: "Start " + text(name) + " on a new checkpoint?",
		Lines: []safe.Line{"Its offsets and its state are forgotten: it reads its source from the start.", sink},
		Verb:  "start fresh",
		Yes: func() Effect {
			return Effect{Do: &Command{Verb: StartFresh, Query: name}, Toast: text(name) + " starts fresh"}
		},
	}
}

// warningLines is what a query's run was warned of, cut to at most most lines of width w; nil if there is nothing.
func warningLines(q *QuerySnapshot, w, most int) []safe.Line {
	if q.Warning == "" || w < 20 {
		return nil
	}
	out := widget.Wrap(safe.Text(q.Warning, 600), w-4)
	if len(out) > most {
		out = out[:most]
		out[most-1] = safe.Cut(out[most-1], w-5) + "…"
	}
	return out
}

// drawWarning draws warningLines from y on and gives the line after them.
func drawWarning(v canvas.View, y int, lines []safe.Line) int {
	for i, l := range lines {
		if i == 0 {
			v.Put(1, y, "!", canvas.Warn|canvas.Bold)
		}
		v.Put(3, y, l, canvas.Warn)
		y++
	}
	return y
}
