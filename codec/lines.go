package codec

import (
	"bytes"
	"compress/bzip2"
	"compress/gzip"
	"compress/zlib"
	"context"
	"errors"
	"io"
	"path/filepath"
	"strings"
	"sync"

	"github.com/klauspost/compress/zstd"

	"streamlab/errs"
)

// MaxRecord is the longest record that is read unless the option maxRecordBytes says otherwise. A longer one
// does not fill the memory: of JSON and CSV it is a malformed record, of which only the first keptOfLong bytes
// are kept, of text, which knows no malformed records, it is an error.
const MaxRecord = 16 << 20

const (
	keptOfLong  = 1 << 10
	maxDocument = 1 << 30 // a file that is one text
)

// blockSize is how much of a file is read at a time: what is read should still be in the core's own cache when its
// records are. overhang is how much is read behind the end of a part, for the record that crosses it.
const (
	blockSize = 256 << 10
	overhang  = 4 << 10
)

// Input is a part of a file. A record belongs to the part in which it begins.
type Input struct {
	Path     string // for messages
	From, To int64  // bytes; To 0 is the end. Parts of compressed files and of documents are whole files.
	Rows     int    // how many rows are many; 0: 16,384
	Lent     bool   // Parquet: vectors are not looked at after give has returned
	Open     func() (File, error)
}

// File is an open file.
type File interface {
	io.Reader
	io.ReaderAt
	io.Closer
}

// Compressed says whether the name of a file has the ending of a codec, so that it can be read from its
// start only.
func Compressed(name string) bool {
	switch strings.ToLower(filepath.Ext(name)) {
	case ".gz", ".gzip", ".bz2", ".zst", ".zstd", ".deflate", ".snappy", ".lz4":
		return true
	}
	return false
}

func decompress(name string, r io.Reader) (io.Reader, func(), error) {
	none := func() {}
	switch strings.ToLower(filepath.Ext(name)) {
	case ".gz", ".gzip":
		z, err := gzip.NewReader(r)
		return z, none, err
	case ".bz2":
		return bzip2.NewReader(r), none, nil
	case ".deflate":
		z, err := zlib.NewReader(r)
		return z, none, err
	case ".zst", ".zstd":
		z, err := zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(256<<20))
		if err != nil {
			return nil, none, err
		}
		return z, z.Close, nil
	case ".snappy":
		return &blockReader{src: r, codec: snappyBlocks}, none, nil
	case ".lz4":
		return &blockReader{src: r, codec: lz4Blocks}, none, nil
	}
	return r, none, nil
}

// counter counts what is read.
type counter struct {
	r io.Reader
	n int64
}

func (c *counter) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n += int64(n)
	return n, err
}

// maxRatio is how often its own size a compressed file may become. gzip cannot do more; what does is no data but
// an attack.
const maxRatio = 1000

// guard ends a decompression that gives too much for what it takes.
type guard struct {
	r      io.Reader
	packed *counter
	path   string
	n      int64
}

func (g *guard) Read(p []byte) (int, error) {
	n, err := g.r.Read(p)
	if g.n += int64(n); g.n > 1<<20+maxRatio*g.packed.n {
		return 0, errs.New("DECOMPRESSION_LIMIT", "path", g.path, "packed", g.packed.n, "bytes", g.n)
	}
	return n, err
}

// blocks have room for pad bytes behind their length.
var blocks = sync.Pool{New: func() any { b := make([]byte, blockSize, blockSize+pad); return &b }}

// Read reads the records of a part into d. full is called whenever d has many rows; it may Take them. An
// error is FAILED_READ_FILE with the cause inside, or the context's, or that of full.
func (r *Reader) Read(ctx context.Context, d Decoder, in Input, full func() error) error {
	f, err := in.Open()
	if err != nil {
		return err
	}
	defer f.Close()
	stop := error(nil)
	wrap := func() error {
		if stop = full(); stop != nil {
			return stop
		}
		return ctx.Err()
	}
	if in.Rows == 0 {
		in.Rows = 16384
	}
	err = r.read(d, f, in, wrap)
	if err == nil || stop != nil || ctx.Err() != nil {
		return err
	}
	return errs.Wrap(err, "FAILED_READ_FILE.NO_HINT", "path", in.Path)
}

func (r *Reader) read(d Decoder, f File, in Input, full func() error) error {
	var src io.Reader = f
	skip := int64(0)
	if Compressed(in.Path) {
		packed := &counter{r: f}
		z, stop, err := decompress(in.Path, packed)
		if err != nil {
			return err
		}
		defer stop()
		src = &guard{r: z, packed: packed, path: in.Path}
	} else if !r.Document && r.charset == nil {
		// One byte before the part tells whether a record begins with the part.
		from := max(0, in.From-int64(max(1, len(r.LineSep))))
		skip = in.From - from
		if w := mapWindow(f, from, in.To, int64(r.longest)); w != nil {
			return r.mapped(d, f, w, skip, in, full)
		}
		if from > 0 || in.To > 0 {
			src = io.NewSectionReader(f, from, 1<<62-from)
		}
	}
	if r.charset != nil {
		s, err := r.decoded(src, in.Path)
		if err != nil {
			return err
		}
		src = bytes.NewReader(s)
	}
	d.Begin(in.Path, skip == 0)
	if r.Document {
		return r.document(d, src, in.Path, full)
	}
	return r.lines(d, nil, src, skip, in, full)
}

var bom = []byte("\xEF\xBB\xBF")

func (r *Reader) document(d Decoder, src io.Reader, path string, full func() error) error {
	limit := int64(r.longest)
	if r.Format == "csv" {
		limit = maxDocument // of records
	}
	var b bytes.Buffer
	n, err := b.ReadFrom(io.LimitReader(src, limit+1))
	if err != nil {
		return err
	}
	if n > limit {
		return errs.New("RECORD_TOO_LARGE", "limit", limit, "path", path)
	}
	if err := d.Document(bytes.TrimPrefix(b.Bytes(), bom)); err != nil {
		return err
	}
	return full()
}

// A runner is a decoder that can read records before their ends are known.
type runner interface {
	Run(s []byte, at, until, rows int) int
}

// lineReader reads the records of a part, block by block.
type lineReader struct {
	*Reader
	d     Decoder
	in    Input
	full  func() error
	run   runner // nil: the end of a line is looked for first
	start bool   // a record begins with the block
	left  int64  // records that begin at left or behind it are not ours
	pos   int64  // of the block in src
}

// lines reads the records of a part from src, or from first and then from src. skip is the number of bytes before
// the part: the record that they belong to is somebody else's. first has pad zeros behind its end.
func (r *Reader) lines(d Decoder, first []byte, src io.Reader, skip int64, in Input, full func() error) error {
	l := &lineReader{Reader: r, d: d, in: in, full: full, start: skip == 0, left: 1 << 62}
	if in.To > 0 {
		l.left = in.To - in.From + skip
	}
	if len(r.LineSep) == 0 {
		l.run, _ = d.(runner)
	}
	bp := blocks.Get().(*[]byte)
	buf := *bp
	defer func() { blocks.Put(bp) }()
	have := 0 // bytes of buf that are set
	if first != nil {
		at, done, err := l.block(first, false)
		if done || err != nil {
			return err
		}
		rest := first[at:]
		if len(rest) > len(buf) {
			buf = make([]byte, len(rest), len(rest)+pad)
		}
		have = copy(buf, rest)
		l.pos = int64(at)
		if buf, have, err = l.more(src, buf, have); err != nil {
			return err
		}
	}
	for {
		room := buf[have:]
		if rest := l.left - l.pos - int64(have); rest < int64(len(room)) {
			room = room[:min(len(room), int(max(rest, 0))+overhang)]
		}
		n, err := io.ReadFull(src, room)
		have += n
		last := err != nil
		if last && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
			return err
		}
		clear(buf[have : have+pad])
		at, done, err := l.block(buf[:have], last)
		if done || err != nil {
			return err
		}
		have = copy(buf, buf[at:have])
		l.pos += int64(at)
		if buf, have, err = l.more(src, buf, have); err != nil {
			return err
		}
	}
}

// block reads the records of s as far as they are complete, and says where the rest begins; done if there is none.
// s has pad zeros behind its end.
func (l *lineReader) block(s []byte, last bool) (at int, done bool, err error) {
	have := len(s)
	if l.start && l.pos == 0 && bytes.HasPrefix(s, bom) {
		at = len(bom)
	}
	for at < have {
		if l.start && l.pos+int64(at) >= l.left {
			return at, true, l.full()
		}
		next := at
		if l.start && l.run != nil && have <= l.longest {
			next = l.run.Run(s, at, int(min(l.left-l.pos, int64(have))), l.in.Rows)
		}
		if next == at {
			var end int
			if end, next = l.lineEnd(s, at); end < 0 {
				if !last {
					return at, false, nil
				}
				end, next = have, have
			} else if next == have && !last && s[have-1] == '\r' {
				return at, false, nil // its line feed may come with the next block
			}
			if l.start {
				if err := l.record(l.d, s[at:end], l.in.Path); err != nil {
					return at, true, err
				}
			}
			l.start = true
		}
		if l.d.Rows() >= l.in.Rows {
			if err := l.full(); err != nil {
				return at, true, err
			}
		}
		at = next
	}
	if last {
		return at, true, l.full()
	}
	return at, false, nil
}

// more makes room in buf, of which have bytes are the beginning of a record.
func (l *lineReader) more(src io.Reader, buf []byte, have int) ([]byte, int, error) {
	switch {
	case have < len(buf):
	case l.start && have >= l.longest:
		gone, rest, err := l.skip(l.d, src, buf, l.in.Path)
		if err != nil {
			return buf, 0, err
		}
		l.pos += gone
		l.start = true
		return buf, rest, nil
	case !l.start: // a record of the part before: only a line end that the block cuts in two must stay
		n := copy(buf, buf[have-max(1, len(l.LineSep)):])
		l.pos += int64(have - n)
		return buf, n, nil
	default: // a record longer than the buffer
		n := min(2*len(buf), max(l.longest, len(buf)+1))
		bigger := make([]byte, n, n+pad)
		copy(bigger, buf)
		buf = bigger
	}
	return buf, have, nil
}

func (r *Reader) record(d Decoder, rec []byte, path string) error {
	if len(rec) > r.longest {
		return r.tooLong(d, rec, path)
	}
	return d.Record(rec)
}

// tooLong tells the decoder of a record that is too long; rec is its beginning.
func (r *Reader) tooLong(d Decoder, rec []byte, path string) error {
	err := errs.New("RECORD_TOO_LARGE", "limit", r.longest, "path", path)
	if r.Format == "text" {
		return err
	}
	return d.TooLong(rec[:min(len(rec), keptOfLong)], err)
}

// skip passes over the rest of a record that fills buf, after telling the decoder of it. It returns how many
// bytes lie before what is left in buf, which begins with the next record, and how many those are.
func (r *Reader) skip(d Decoder, src io.Reader, buf []byte, path string) (gone int64, have int, err error) {
	if err := r.tooLong(d, buf, path); err != nil {
		return 0, 0, err
	}
	have = len(buf)
	for {
		// The last bytes may be the beginning of a line end.
		keep := copy(buf, buf[have-min(have, max(1, len(r.LineSep))):have])
		gone += int64(have - keep)
		n, err := io.ReadFull(src, buf[keep:])
		have = keep + n
		last := err != nil
		if last && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
			return gone, 0, err
		}
		end, next := r.lineEnd(buf[:have], 0)
		if end >= 0 && (last || next < have || buf[have-1] != '\r') {
			return gone + int64(next), copy(buf, buf[next:have]), nil
		}
		if last {
			return gone + int64(have), 0, nil
		}
	}
}

// lineEnd finds the end of the record at i and the start of the next; -1 if it does not end in s.
func (r *Reader) lineEnd(s []byte, i int) (end, next int) {
	if len(r.LineSep) > 0 {
		if n := bytes.Index(s[i:], r.LineSep); n >= 0 {
			return i + n, i + n + len(r.LineSep)
		}
		return -1, 0
	}
	n := bytes.IndexByte(s[i:], '\n')
	if n < 0 {
		n = len(s) - i
	}
	if cr := bytes.IndexByte(s[i:i+n], '\r'); cr >= 0 {
		if i+cr+1 < len(s) && s[i+cr+1] == '\n' {
			return i + cr, i + cr + 2
		}
		return i + cr, i + cr + 1
	}
	if i+n == len(s) {
		return -1, 0
	}
	return i + n, i + n + 1
}
