package store

import (
	_ "unsafe" // for the links below

	badger "github.com/dgraph-io/badger/v4"
)

// Badger has two goroutines that look twenty times a second whether there is something to compact, for as long as a
// database is open. Ten idle queries cost three per cent of a core by that alone. It stops them itself while it
// flattens or drops, by methods that it does not export; these are what Rest calls. rest.s lets them have no body.

//go:linkname stopCompactions github.com/dgraph-io/badger/v4.(*DB).stopCompactions
func stopCompactions(db *badger.DB)

//go:linkname startCompactions github.com/dgraph-io/badger/v4.(*DB).startCompactions
func startCompactions(db *badger.DB)

// Rest stops the work in the background until the next write, if there is none to be done. It is a writing method: it
// belongs to the goroutine that writes. Calling it again costs nothing.
func (c *Checkpoint) Rest() {
	c.life.RLock()
	defer c.life.RUnlock()
	if c.resting || c.closed || c.db == nil {
		return
	}
	for _, l := range c.db.Levels() {
		if l.Adjusted >= 1 {
			return
		}
	}
	stopCompactions(c.db)
	c.resting = true
}

// work ends a Rest. The caller is about to write.
func (c *Checkpoint) work() {
	if c.resting {
		startCompactions(c.db)
		c.resting = false
	}
}
