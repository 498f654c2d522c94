package store

import (
	"bytes"
	"math/rand/v2"
)

// A tree is an ordered map of byte keys that is never changed: an update makes a new one that shares all
// but one path with the old. So a batch may be thrown away, and a view read beside the writer. It is a
// treap: random priorities keep it shallow. nil is the empty tree.
type tree struct {
	key, value  []byte // a nil value marks a removed row among changes
	prio        uint64
	left, right *tree
}

func (t *tree) get(key []byte) ([]byte, bool) {
	for t != nil {
		switch c := bytes.Compare(key, t.key); {
		case c == 0:
			return t.value, true
		case c < 0:
			t = t.left
		default:
			t = t.right
		}
	}
	return nil, false
}

func (t *tree) put(key, value []byte) *tree { return t.insert(key, value, rand.Uint64()) }

func (t *tree) insert(key, value []byte, prio uint64) *tree {
	if t == nil {
		return &tree{key: key, value: value, prio: prio}
	}
	n := *t
	switch c := bytes.Compare(key, t.key); {
	case c == 0:
		n.value = value
	case c < 0:
		n.left = t.left.insert(key, value, prio)
		if n.left.prio > n.prio { // turn right; the child is ours, it has just been made
			l := n.left
			n.left, l.right = l.right, &n
			return l
		}
	default:
		n.right = t.right.insert(key, value, prio)
		if n.right.prio > n.prio {
			r := n.right
			n.right, r.left = r.left, &n
			return r
		}
	}
	return &n
}

func (t *tree) remove(key []byte) *tree {
	if t == nil {
		return nil
	}
	n := *t
	switch c := bytes.Compare(key, t.key); {
	case c == 0:
		return join(t.left, t.right)
	case c < 0:
		n.left = t.left.remove(key)
	default:
		n.right = t.right.remove(key)
	}
	return &n
}

// join makes one tree of two, all keys of a being less than those of b.
func join(a, b *tree) *tree {
	switch {
	case a == nil:
		return b
	case b == nil:
		return a
	case a.prio > b.prio:
		n := *a
		n.right = join(a.right, b)
		return &n
	default:
		n := *b
		n.left = join(a, b.left)
		return &n
	}
}

// seek finds the first row at or after key, or after it if after is set.
func (t *tree) seek(key []byte, after bool) (found *tree) {
	for t != nil {
		c := bytes.Compare(t.key, key)
		if c > 0 || c == 0 && !after {
			found, t = t, t.left
		} else {
			t = t.right
		}
	}
	return found
}
