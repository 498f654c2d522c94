package store

// An OffsetEntry says what a batch reads: it is logged before the batch has any visible effect, and a
// batch that is run again is run from it alone.
type OffsetEntry struct {
	// Offsets holds the end offset of every occurrence of a source in the plan, as the source's own
	// canonical JSON; "" says that the occurrence has none yet.
	Offsets []string `json:"offsets"`
	// BatchWatermarkMs is the watermark in force during the batch, in milliseconds since 1970.
	BatchWatermarkMs int64 `json:"batchWatermarkMs"`
	// BatchTimestampMs is what current_timestamp answers during the batch.
	BatchTimestampMs int64 `json:"batchTimestampMs"`
	// Conf pins the settings that change results; nil if none.
	Conf map[string]string `json:"conf,omitempty"`
	// ReaderState is for anything else that a replay needs; nil if nothing.
	ReaderState map[string]string `json:"readerState,omitempty"`
}

// A CommitEntry says how a batch ended.
type CommitEntry struct {
	// NextBatchWatermarkMs is the watermark of the following batch, in milliseconds since 1970.
	NextBatchWatermarkMs int64 `json:"nextBatchWatermarkMs"`
	// Sent is how many rows the sink was handed; nil if that is not known. Progress has Spark's count, which many
	// sinks do not give.
	Sent *int64 `json:"sent,omitempty"`
	// Rows counts state rows per operator; nil for a query without state.
	Rows map[string]int64 `json:"rows,omitempty"`
	// Operators is the operators' own note in their own format.
	Operators []byte `json:"operators,omitempty"`
	// Progress, if set, is stored as SetProgress would store it: with the records of the next batch.
	// It is not read back here but through Checkpoint.Progress.
	Progress []byte `json:"-"`
}

// A Shard is the state of one operator in one hash range, owned by one worker.
type Shard struct {
	Operator int
	Range    int
	Store    string // "left", "right", …; "" where an operator has one store
}

// A Segment is packed rows in a format of their owner. The store knows only length and checksum.
// Segments given to a Batch must not be changed afterwards.
type Segment []byte

// An Entry is what History tells of one batch.
type Entry struct {
	Batch    int64
	Offsets  OffsetEntry
	Commit   *CommitEntry // nil while the batch is pending
	Progress []byte       // nil if none was kept
}

// A Row is a key and its value in a State. Neither may be changed.
type Row struct {
	Key, Value []byte
}

// A Kind tells the pieces of a shard's history apart.
type Kind byte

const (
	// KindBase is all rows of one bucket as of Piece.Batch.
	KindBase Kind = 'b'
	// KindDelta is rows that Piece.Batch changed or removed.
	KindDelta Kind = 'd'
	// KindRelease says that Piece.Batch dropped the bucket whole, with all rows that earlier pieces put
	// into it.
	KindRelease Kind = 'x'
)

// A Piece is a segment with what its reader must know to apply it: rows of a delta are to be skipped if
// their bucket has a base of the same or a later batch.
type Piece struct {
	Kind   Kind
	Batch  int64
	Bucket int64   // base and release
	Rows   Segment // base and delta
}

// An Outline is about the segments that one batch wrote for a shard and, if they are a base, a bucket.
type Outline struct {
	Kind   Kind
	Batch  int64
	Bucket int64 // of a base
	Bytes  int64 // of the segments
}

// Options say how a checkpoint is kept. The zero value survives a power cut and retains Spark's 100
// batches.
type Options struct {
	// Durability is "power" (every record is synced before it counts; also "") or "process" (what was
	// committed survives the end of the process, but not of the machine).
	Durability string
	// MinBatchesToRetain is how many batches before the last one stay readable; 0 means 100.
	MinBatchesToRetain int64
	// InMemory keeps everything in memory and touches no file: for tests.
	InMemory bool
	// Temporary removes the folder at Close.
	Temporary bool
}
