//go:build cgo

package main

import (
	"os"
	"sync"
	"time"

	"streamlab/internal/safego"
)

// fileLook is how often the file of an open lab is looked at.
const fileLook = 2 * time.Second

// fileWatch notices that another program has written the file of an open lab. It looks at size and time of the file
// now and then, on a goroutine of its own, and reads it when they are others: what counts is the text, so an editor
// that saves without a change, or changes that are taken back, do not.
type fileWatch struct {
	mu   sync.Mutex
	used string // stamp of the text that the lab was made from
	disk string // stamp of the text on disk
	own  string // stamp of a text that was written here and that is not in use, such as one with mistakes
	stop chan struct{}
}

// begin takes the file as it is now for the one that is in use, and looks at every tick.
func (f *fileWatch) begin(path string, tick <-chan time.Time) {
	raw, err := os.ReadFile(path)
	if err != nil {
		return // there is nothing to compare with
	}
	f.read(fileStamp(raw))
	stop := make(chan struct{})
	f.mu.Lock()
	f.stop = stop
	f.mu.Unlock()
	var size int64
	var at time.Time
	if st, err := os.Stat(path); err == nil {
		size, at = st.Size(), st.ModTime()
	}
	safego.Go("lab file", func() error {
		for {
			select {
			case <-stop:
				return nil
			case <-tick:
			}
			st, err := os.Stat(path)
			if err != nil || st.Size() == size && st.ModTime().Equal(at) {
				continue // editors write beside the file and rename: it may be away for a moment
			}
			raw, err := os.ReadFile(path)
			if err != nil {
				continue
			}
			size, at = st.Size(), st.ModTime()
			f.mu.Lock()
			f.disk = fileStamp(raw)
			f.mu.Unlock()
		}
	})
}

// read says that the text of a stamp is in use now, and on disk as far as is known.
func (f *fileWatch) read(stamp string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.used, f.disk, f.own = stamp, stamp, ""
}

// wrote says that the text of a stamp is written here: who wrote it knows, whether or not it is put to use.
func (f *fileWatch) wrote(stamp string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.own = stamp
}

// changed is the stamp of the text on disk if it is another than the one in use and was not written here; empty else.
func (f *fileWatch) changed() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.disk == f.used || f.disk == f.own {
		return ""
	}
	return f.disk
}

func (f *fileWatch) end() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.stop != nil {
		close(f.stop)
		f.stop = nil
	}
}
