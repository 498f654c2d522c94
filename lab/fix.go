package lab

import (
	"sort"

	"streamlab/errs"
)

// An Edit replaces the bytes From up to To, without To, of a lab's text by Text. An insertion has From = To.
type Edit struct {
	From int    `json:"from"`
	To   int    `json:"to"`
	Text string `json:"text"`
}

// A Fix is a way out of a refusal. Its edits were tried before it was offered: with them the query that was
// refused has no problem any more.
type Fix struct {
	Title   string `json:"title"`   // what it does, a few words: "add a watermark"
	Explain string `json:"explain"` // the text that it writes, or what it costs: "rewrites the whole table every batch"
	Edits   []Edit `json:"edits"`   // in the order of the text, not overlapping; never empty
}

// Apply gives the text with the edits made. The edits may come in any order; all of them speak of the text as
// it was. An edit that lies outside the text, or overlaps one before it, is left out.
func Apply(text []byte, edits []Edit) []byte {
	in := append([]Edit(nil), edits...)
	sort.SliceStable(in, func(i, j int) bool { return in[i].From < in[j].From })
	out := make([]byte, 0, len(text)+64)
	at := 0
	for _, e := range in {
		if e.From < at || e.To < e.From || e.To > len(text) {
			continue
		}
		out = append(out, text[at:e.From]...)
		out = append(out, e.Text...)
		at = e.To
	}
	return append(out, text[at:]...)
}

// A Problem is an error of a lab with what can be done about it.
type Problem struct {
	*errs.Error
	Query string // queryName of the query that it is about; "" if it is about none in particular
	Fixes []Fix  // best first; nil: nothing that a program could do
}

// A Mode is what is to be said of one output mode of a query.
type Mode struct {
	Name  string      // append, update or complete
	Shape *errs.Error // why the query's shape refuses it; nil: it does not
	Sink  *errs.Error // why its sink refuses it; nil: it does not
}

// Allowed tells whether the query may run in the mode.
func (m Mode) Allowed() bool { return m.Shape == nil && m.Sink == nil }

// A Verdict is the three modes of one query.
type Verdict struct {
	Query  string
	Pos    errs.Pos // of the query's name
	Format string   // of its sink: "delta", "foreachBatch", …
	Mode   string   // the one that the lab asks for, in lower case; append if it names none
	Modes  []Mode   // append, update, complete; nil if the query's SQL is not sound
	Why    string   // one paragraph on the mode asked for: why it is refused, or what it does
}

// A Report is everything that can be said of a lab's text without starting anything.
type Report struct {
	Lab      *Lab // nil if the text is no lab
	Problems []Problem
	Verdicts []Verdict // one a query, in the order of the file; nil if the text is no lab
}
