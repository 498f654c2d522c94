package store

import (
	"errors"
	"iter"
)

var errUnbuilt = errors.New("store: not yet built")

// A Checkpoint is an open checkpoint location.
type Checkpoint struct{}

func Open(dir string, o Options) (*Checkpoint, error)             { return nil, errUnbuilt }
func (c *Checkpoint) ID() string                                  { return "" }
func (c *Checkpoint) Head() (batch int64, ok bool)                { return 0, false }
func (c *Checkpoint) Pending() (OffsetEntry, bool)                { return OffsetEntry{}, false }
func (c *Checkpoint) LogOffsets(batch int64, e OffsetEntry) error { return errUnbuilt }
func (c *Checkpoint) Begin(batch int64) *Batch                    { return nil }
func (c *Checkpoint) At(batch int64) *View                        { return nil }
func (c *Checkpoint) History() iter.Seq2[Entry, error]            { return nil }
func (c *Checkpoint) CopyTo(dir string, batch int64) error        { return errUnbuilt }
func (c *Checkpoint) Rewind(batch int64) error                    { return errUnbuilt }
func (c *Checkpoint) Close() error                                { return errUnbuilt }
func (c *Checkpoint) Offsets(n int64) (OffsetEntry, bool, error) {
	return OffsetEntry{}, false, errUnbuilt
}
func (c *Checkpoint) Commits(n int64) (CommitEntry, bool, error) {
	return CommitEntry{}, false, errUnbuilt
}
func (c *Checkpoint) Retained() (from, to int64)             { return 0, -1 }
func (c *Checkpoint) SetProgress(batch int64, json []byte)   {}
func (c *Checkpoint) Progress(batch int64) ([]byte, bool)    { return nil, false }
func (c *Checkpoint) SetMeta(key string, value []byte) error { return errUnbuilt }
func (c *Checkpoint) Meta(key string) ([]byte, bool)         { return nil, false }
func (c *Checkpoint) SourceLog(k int) *SourceLog             { return nil }

// A SourceLog is a source's own log.
type SourceLog struct{}

func (l *SourceLog) Add(n int64, entry []byte) error   { return errUnbuilt }
func (l *SourceLog) Get(n int64) ([]byte, bool, error) { return nil, false, errUnbuilt }
func (l *SourceLog) Latest() (n int64, entry []byte, ok bool, err error) {
	return 0, nil, false, errUnbuilt
}
func (l *SourceLog) From(n int64) iter.Seq2[int64, []byte] { return nil }
func (l *SourceLog) PutKey(key string, value []byte) error { return errUnbuilt }
func (l *SourceLog) Key(key string) ([]byte, bool, error)  { return nil, false, errUnbuilt }
func (l *SourceLog) Has(key string) (bool, error)          { return false, errUnbuilt }

// A Batch collects what one micro-batch changes.
type Batch struct{}

func (b *Batch) Delta(s Shard, rows Segment)                    {}
func (b *Batch) Release(s Shard, bucket int64)                  {}
func (b *Batch) Base(s Shard, bucket int64, rows Segment) error { return errUnbuilt }
func (b *Batch) Covered(s Shard, batch int64)                   {}
func (b *Batch) State(s Shard) *State                           { return nil }
func (b *Batch) Commit(e CommitEntry, next *OffsetEntry) error  { return errUnbuilt }
func (b *Batch) Discard()                                       {}

// A View is the state after a batch.
type View struct{}

func (v *View) Segments(s Shard) iter.Seq2[Segment, error] { return nil }
func (v *View) Pieces(s Shard) iter.Seq2[Piece, error]     { return nil }
func (v *View) Changes(s Shard) iter.Seq2[Segment, error]  { return nil }
func (v *View) State(s Shard) *State                       { return nil }
func (v *View) Shards() ([]Shard, error)                   { return nil, errUnbuilt }
func (v *View) Close()                                     {}

// A State is an ordered map of byte keys.
type State struct{}

func (s *State) Get(key []byte) ([]byte, bool, error)        { return nil, false, errUnbuilt }
func (s *State) Put(key, value []byte)                       {}
func (s *State) Delete(key []byte)                           {}
func (s *State) Range(from, to []byte) iter.Seq2[Row, error] { return nil }
