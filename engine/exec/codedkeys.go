package exec

import (
	"slices"

	"streamlab/columnar"
)

const (
	mostCoded = 1 << 16 // keys that codedKeys remembers
	// pauseCoded is how many chunks are not asked for codes, which cost something, after they were of no use.
	pauseCoded = 256
)

// codedKeys remembers the groups of keys all of whose columns are texts out of dictionaries: such a key is found by
// the numbers of its texts, without looking at them. What it remembers is of one table and of the micro-batch; then
// the groups are there and have been touched.
type codedKeys struct {
	t       *table
	age     uint32
	of      []uint64 // dictionaries of the columns
	many    []int    // numbers that there is room for, by column
	groups  []uint32 // by the numbers of all columns in one; a group + 1
	codes   []uint32 // of the rows that are looked for
	rows    []int32  // whose keys are not known, the first of each key
	at      []int32  // where they are among the rows that are looked for
	found   []uint32
	pause   int
	learned bool // the last rows had codes
}

// find fills out with the groups of rows, of which new ones go into the table as the encoder would bring them; false
// if the rows have no codes.
func (c *codedKeys) find(t *table, e *encoder, keys []*columnar.Vec, sel columnar.Sel, out []uint32) bool {
	c.learned = false
	if len(keys) == 0 || t.onlyNew || t.track || sel.N == 0 {
		return false
	}
	costly := false
	for _, k := range keys {
		if k.Coded == nil {
			return false
		}
		costly = costly || k.Costly()
	}
	if costly && c.pause > 0 {
		c.pause--
		return false
	}
	if !c.room(t, keys) {
		c.pause = pauseCoded
		return false
	}
	for i, k := range keys {
		codes, _, _ := k.Codes()
		if i == 0 {
			c.codes = grow(c.codes[:0], sel.N)
			if sel.All {
				copy(c.codes, codes[:sel.N])
				continue
			}
			for n, at := range sel.Idx[:sel.N] {
				c.codes[n] = codes[at]
			}
			continue
		}
		many := uint32(c.many[i])
		if sel.All {
			for n, code := range codes[:sel.N] {
				c.codes[n] = c.codes[n]*many + code
			}
			continue
		}
		for n, at := range sel.Idx[:sel.N] {
			c.codes[n] = c.codes[n]*many + codes[at]
		}
	}
	c.learned = true
	groups, known := c.groups, uint32(1)
	out = out[:len(c.codes)]
	for n, code := range c.codes {
		g := groups[code]
		known &= (g | -g) >> 31 // 0 from the first that is not known
		out[n] = g - 1
	}
	if known == 0 {
		c.learn(t, e, keys, sel, out)
	}
	return true
}

// room makes place for the groups of all keys that the rows may have; false if they have no codes or are too many.
func (c *codedKeys) room(t *table, keys []*columnar.Vec) bool {
	same := c.t == t && c.age == t.age && len(c.of) == len(keys)
	c.t = nil // until all of it is known to hold
	if len(c.of) != len(keys) {
		c.of, c.many = make([]uint64, len(keys)), make([]int, len(keys))
	}
	size := 1
	for i, k := range keys {
		_, d, ok := k.Codes()
		if !ok {
			return false
		}
		if c.of[i] != d.Dictionary {
			c.of[i], c.many[i], same = d.Dictionary, 0, false
		}
		if many := max(1, d.Values); many > c.many[i] { // one that grows
			c.many[i], same = many, false
		}
		if size *= c.many[i]; size > mostCoded {
			return false
		}
	}
	c.t, c.age = t, t.age
	if !same {
		c.groups = slices.Grow(c.groups[:0], size)[:size]
		clear(c.groups)
	}
	return true
}

// learn looks up what is not known, every key once and in the order of the rows, and fills out anew.
func (c *codedKeys) learn(t *table, e *encoder, keys []*columnar.Vec, sel columnar.Sel, out []uint32) {
	c.rows, c.at = c.rows[:0], c.at[:0]
	for n, code := range c.codes {
		if c.groups[code] == 0 {
			c.groups[code] = noGroup // until it is found
			c.rows, c.at = append(c.rows, int32(sel.At(n))), append(c.at, int32(n))
		}
	}
	e.encode(keys, columnar.Sel{Idx: c.rows, N: len(c.rows)})
	c.found = grow(c.found[:0], len(c.rows))
	t.upsert(e, c.found)
	for i, n := range c.at {
		c.groups[c.codes[n]] = c.found[i] + 1
	}
	c.age = t.age
	for n, code := range c.codes {
		out[n] = c.groups[code] - 1
	}
}
