package exec

import (
	"slices"

	"streamlab/columnar"
)

// mostCoded is how many keys codedKeys remembers.
const mostCoded = 1 << 16

// codedKeys remembers the groups of keys all of whose columns are texts out of dictionaries: such a key is found by
// the numbers of its texts, without looking at them. What it remembers is of one table and of the micro-batch, as
// dictionaries are; then the groups are there and have been touched.
type codedKeys struct {
	t       *table
	age     uint32
	of      []uint64 // dictionaries of the columns
	groups  []uint32 // by the numbers of all columns in one; a group + 1
	codes   []uint32 // of the rows that are looked for
	learned bool     // the rows have codes, and learn may take their groups
}

// find fills out with the groups of rows; false if some are not known, and must be found in the table.
func (c *codedKeys) find(t *table, keys []*columnar.Vec, sel columnar.Sel, out []uint32) bool {
	c.learned = false
	if len(keys) == 0 || t.onlyNew || t.track || sel.N == 0 {
		return false
	}
	size := 1
	same := c.t == t && c.age == t.age && len(c.of) == len(keys)
	for _, k := range keys {
		_, d, ok := k.Codes()
		if !ok || d.Values > mostCoded {
			return false
		}
		if size *= max(1, d.Values); size > mostCoded {
			return false
		}
	}
	for i, k := range keys {
		codes, d, _ := k.Codes()
		if same && c.of[i] != d.Dictionary {
			same = false
		}
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
		many := uint32(max(1, d.Values))
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
	if !same {
		c.t, c.age, c.of = t, t.age, c.of[:0]
		for _, k := range keys {
			c.of = append(c.of, k.Coded.Dictionary)
		}
		c.groups = slices.Grow(c.groups[:0], size)[:size]
		clear(c.groups)
		return false
	}
	known := uint32(1)
	groups := c.groups
	for n, code := range c.codes {
		g := groups[code]
		known &= (g | -g) >> 31 // 0 from the first that is not known
		out[n] = g - 1
	}
	return known == 1
}

// learn notes the groups of the rows that find was asked for last.
func (c *codedKeys) learn(groups []uint32) {
	if !c.learned {
		return
	}
	for n, code := range c.codes {
		c.groups[code] = groups[n] + 1
	}
	c.age = c.t.age
}
