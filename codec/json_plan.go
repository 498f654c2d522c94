package codec

import (
	"bytes"

	"streamlab/sql/types"
)

// objectPlan guesses which field comes next: records of one file nearly always have the same fields in the
// same order, so the text of the name, quotes and colon is compared as bytes before it is looked at.
type objectPlan struct {
	guess  []guess
	byName map[string]int
	usual  int  // how many of the guesses, from the first on, made up a whole record
	least  int  // bytes of such a record, at least
	twice  bool // a column is among these guesses more than once
}

// A guess is one field as it was last met.
type guess struct {
	key   []byte // "name":
	child int    // -1: no such column
	// glue is the text between the value before, or the brace, and this value: , "name": with the spaces that
	// were there. Its first 32 bytes are also four words, with masks of the bits that count: most fit.
	glue       []byte
	word, mask [glueWords]uint64
	read       readAs
	col        *column // nil: no such column
}

// readAs says how the value of a guess is read when it is written in the common way.
type readAs uint8

const (
	asAny readAs = iota // what has no common way: nested values, decimals, binaries
	asNothing
	asLong
	asInt
	asDouble
	asText
	asBool
	asTime // dates and timestamps
)

const (
	maxGuess  = 256
	glueWords = 4
	glueBytes = 8 * glueWords
	// mostLeftOut is how many fields in a row may be missing from a record before the plan is given up for it.
	mostLeftOut = 8
)

// newObjectPlan plans the fields of a struct; the child except is not read from the text.
func newObjectPlan(kids []*column, except int) *objectPlan {
	p := &objectPlan{byName: make(map[string]int, len(kids))}
	for i, k := range kids {
		if i != except {
			p.byName[k.name] = i
		}
	}
	return p
}

// whole notes that a record had the first k guesses and nothing else.
func (p *objectPlan) whole(k int) {
	if p.usual != k {
		p.usual, p.least = k, 0
	}
}

// groups says whether records of the usual fields can be read field by field.
func (p *objectPlan) groups() bool {
	if p.least == 0 {
		p.least, p.twice = len("{}"), false
		for i := range p.guess[:p.usual] {
			g := &p.guess[i]
			p.least += len(g.glue) + 1
			for j := range i {
				p.twice = p.twice || g.col != nil && p.guess[j].col == g.col
			}
		}
	}
	return !p.twice
}

// at says whether the guess stands at i.
func (g *guess) at(s []byte, i int) bool {
	return len(s)-i >= len(g.key) && string(s[i:i+len(g.key)]) == string(g.key)
}

// learn keeps how field k is written for the next records. text is what stands between the values, the name
// begins at position key of it.
func (p *objectPlan) learn(kids []*column, k, child int, text []byte, key int) {
	if k >= maxGuess || k > len(p.guess) {
		return
	}
	g := guess{child: child, read: asNothing, glue: bytes.Clone(text)}
	g.key = g.glue[key : bytes.LastIndexByte(g.glue, ':')+1]
	if bytes.ContainsAny(text, "\r\n") { // a value may stand on another line, but then it is no record of lines
		g.glue = nil
	}
	for i, c := range g.glue[:min(len(g.glue), glueBytes)] {
		g.word[i>>3] |= uint64(c) << (8 * (i & 7))
		g.mask[i>>3] |= 0xff << (8 * (i & 7))
	}
	if child >= 0 {
		g.col, g.read = kids[child], commonForm(kids[child].t.Kind)
	}
	if k < p.usual {
		p.usual, p.least = 0, 0
	}
	if k == len(p.guess) {
		p.guess = append(p.guess, g)
	} else {
		p.guess[k] = g
	}
}

func commonForm(k types.Kind) readAs {
	switch k {
	case types.BigInt:
		return asLong
	case types.Int:
		return asInt
	case types.Double:
		return asDouble
	case types.String:
		return asText
	case types.Boolean:
		return asBool
	case types.Date, types.Timestamp, types.TimestampNTZ:
		return asTime
	}
	return asAny
}
