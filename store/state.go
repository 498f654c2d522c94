package store

import (
	"bytes"
	"encoding/binary"
	"iter"

	"streamlab/errs"
)

// A State is an ordered map of byte keys for one shard: the slow, general door to state. Changes are seen
// at once by its own reads and leave with the batch as deltas. It belongs to one worker at a time.
type State struct {
	shard    Shard
	readOnly bool
	err      error
	root     *tree
	changes  *tree
	bytes    int64 // of all rows
	written  int64 // bytes of this batch's deltas
	based    bool  // this batch writes a base: everything before it is covered
}

// A resident is the content of a shard's State as of Head, kept between batches.
type resident struct {
	root      *tree
	bytes     int64
	sinceBase int64 // bytes of deltas that no base covers
}

const (
	stateSegment = 256 << 10
	stateBucket  = 0       // a State has one bucket
	stateSlack   = 1 << 20 // deltas below this are not worth a base
	rowCost      = 16
)

// openState gives a batch its view of a shard, loaded from disk the first time.
func (c *Checkpoint) openState(s Shard) *State {
	c.mu.Lock()
	r := c.states[s]
	head := c.head
	c.mu.Unlock()
	if r == nil {
		v := c.At(head)
		defer v.Close()
		var err error
		if r, err = loadState(v, s); err != nil {
			return &State{shard: s, err: err}
		}
		c.mu.Lock()
		c.states[s] = r
		c.mu.Unlock()
	}
	return &State{shard: s, root: r.root, bytes: r.bytes}
}

// State reads a shard that is kept with Batch.State, as of the view. It loads the shard whole.
func (v *View) State(s Shard) *State {
	r, err := loadState(v, s)
	if err != nil {
		return &State{shard: s, readOnly: true, err: err}
	}
	return &State{shard: s, readOnly: true, root: r.root, bytes: r.bytes}
}

func loadState(v *View, s Shard) (*resident, error) {
	r := &resident{}
	base := int64(-1)
	for p, err := range v.Pieces(s) {
		if err != nil {
			return nil, err
		}
		switch p.Kind {
		case KindBase:
			base = p.Batch
		case KindDelta:
			if p.Batch <= base {
				continue
			}
			r.sinceBase += int64(len(p.Rows))
		default:
			continue
		}
		st := State{root: r.root, bytes: r.bytes}
		if err := st.replay(p.Rows); err != nil {
			return nil, corrupt(v.c.dir, "a state segment is not readable", err)
		}
		r.root, r.bytes = st.root, st.bytes
	}
	return r, nil
}

// A row in a segment: length of the key, the key, length of the value plus one (zero: removed), the value.
func appendRow(s Segment, key, value []byte) Segment {
	s = binary.AppendUvarint(s, uint64(len(key)))
	s = append(s, key...)
	if value == nil {
		return append(s, 0)
	}
	s = binary.AppendUvarint(s, uint64(len(value))+1)
	return append(s, value...)
}

func (s *State) replay(rows Segment) error {
	for len(rows) > 0 {
		key, rest, ok := cutBytes(rows)
		if !ok {
			return errDamaged
		}
		n, k := binary.Uvarint(rest)
		if k <= 0 || n > uint64(len(rest)-k)+1 {
			return errDamaged
		}
		if rest = rest[k:]; n == 0 {
			s.set(key, nil)
		} else {
			s.set(key, rest[:n-1:n-1])
			rest = rest[n-1:]
		}
		rows = rest
	}
	return nil
}

// set changes the map itself; nil removes.
func (s *State) set(key, value []byte) {
	old, had := s.root.get(key)
	if had {
		s.bytes -= int64(len(key) + len(old) + rowCost)
	}
	switch {
	case value != nil:
		s.bytes += int64(len(key) + len(value) + rowCost)
		s.root = s.root.put(key, value)
	case had:
		s.root = s.root.remove(key)
	}
}

// Get reads a value, which must not be changed.
func (s *State) Get(key []byte) ([]byte, bool, error) {
	if s.err != nil {
		return nil, false, s.err
	}
	v, ok := s.root.get(key)
	return v, ok, nil
}

// Put sets a value. A key longer than 60,000 bytes or a value longer than 1 MiB fails the batch: the
// error comes out of the next read and of Commit.
func (s *State) Put(key, value []byte) {
	if len(key) > maxKey || len(value) > 1<<20 {
		s.err = errs.New("INTERNAL_ERROR", "message",
			"a state row must have at most 60000 bytes of key and 1 MiB of value")
	}
	if value == nil {
		value = []byte{}
	}
	s.change(bytes.Clone(key), bytes.Clone(value))
}

// Delete removes a key; it need not be there.
func (s *State) Delete(key []byte) { s.change(bytes.Clone(key), nil) }

func (s *State) change(key, value []byte) {
	if s.readOnly {
		s.err = errs.New("INTERNAL_ERROR", "message", "the state of a view cannot be changed")
	}
	if s.err != nil {
		return
	}
	s.set(key, value)
	s.changes = s.changes.put(key, value)
}

// Range yields the rows with from <= key < to in the order of their bytes; a nil bound is open. Changes
// made meanwhile are seen if they lie ahead. An error ends it.
func (s *State) Range(from, to []byte) iter.Seq2[Row, error] {
	return func(yield func(Row, error) bool) {
		for t := s.root.seek(from, false); ; t = s.root.seek(t.key, true) {
			if s.err != nil {
				yield(Row{}, s.err)
				return
			}
			if t == nil || to != nil && bytes.Compare(t.key, to) >= 0 {
				return
			}
			if !yield(Row{t.key, t.value}, nil) {
				return
			}
		}
	}
}

// segments packs the rows of a tree.
func (t *tree) segments() (list []Segment) {
	var s Segment
	var walk func(*tree)
	walk = func(t *tree) {
		if t == nil {
			return
		}
		walk(t.left)
		if s = appendRow(s, t.key, t.value); len(s) >= stateSegment {
			list, s = append(list, s), nil
		}
		walk(t.right)
	}
	walk(t)
	if len(s) > 0 {
		list = append(list, s)
	}
	return list
}

// saveStates turns the changes of States into deltas, and writes a base of a shard whose deltas have
// grown larger than itself.
func (b *Batch) saveStates() error {
	for s, st := range b.states {
		if st.err != nil {
			return st.err
		}
		for _, seg := range st.changes.segments() {
			g := group{keyDelta, s, 0, b.batch}
			if b.groups[g] == nil {
				b.groups[g] = new([]Segment)
			}
			*b.groups[g] = append(*b.groups[g], seg)
			st.written += int64(len(seg))
		}
		b.c.mu.Lock()
		r := b.c.states[s]
		b.c.mu.Unlock()
		if b.batch == 0 || r.sinceBase < max(b.c.slack, r.bytes) {
			continue
		}
		base := r.root.segments()
		if len(base) == 0 {
			base = []Segment{{}}
		}
		b.groups[group{keyBase, s, stateBucket, b.batch - 1}] = &base
		b.covered[s] = b.batch - 1
		st.based = true
	}
	return nil
}

// settled is the resident of a shard after its batch has been committed.
func (s *State) settled(old *resident) *resident {
	r := &resident{root: s.root, bytes: s.bytes}
	if !s.based {
		r.sinceBase = old.sinceBase
	}
	r.sinceBase += s.written
	return r
}
