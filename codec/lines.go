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
	if Compressed(in.Path) {
		packed := &counter{r: f}
		z, stop, err := decompress(in.Path, packed)
		if err != nil {
			return err
		}
		defer stop()
		src = &guard{r: z, packed: packed, path: in.Path}
	} else if in.From > 0 || in.To > 0 {
		// One byte before the part tells whether a record begins with the part.
		from := max(0, in.From-int64(max(1, len(r.LineSep))))
		src = io.NewSectionReader(f, from, 1<<62-from)
		if in.From > 0 {
			return r.lines(d, src, in.From-from, in, full)
		}
	}
	d.Begin(in.Path, true)
	if r.Document {
		return r.document(d, src, in.Path, full)
	}
	return r.lines(d, src, 0, in, full)
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

// lines reads the records of a part from src. skip is the number of bytes of src before the part: the
// record that they belong to is somebody else's.
func (r *Reader) lines(d Decoder, src io.Reader, skip int64, in Input, full func() error) error {
	bp := blocks.Get().(*[]byte)
	buf := *bp
	defer func() { blocks.Put(bp) }()
	if skip > 0 {
		d.Begin(in.Path, false)
	}
	left := int64(1) << 62 // records that begin at left or behind it are not ours
	if in.To > 0 {
		left = in.To - in.From + skip
	}
	var run runner // nil: the end of a line is looked for first
	if len(r.LineSep) == 0 {
		run, _ = d.(runner)
	}
	start := skip == 0
	pos := int64(0) // of buf[0] in src
	have := 0
	for {
		room := buf[have:]
		if rest := left - pos - int64(have); rest < int64(len(room)) {
			room = room[:min(len(room), int(max(rest, 0))+overhang)]
		}
		n, err := io.ReadFull(src, room)
		have += n
		last := err != nil
		if last && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
			return err
		}
		clear(buf[have : have+pad])
		s := buf[:have]
		at := 0
		if start && pos == 0 && bytes.HasPrefix(s, bom) {
			at = len(bom)
		}
		for at < have {
			if start && pos+int64(at) >= left {
				return full()
			}
			if start && run != nil && len(buf) <= r.longest {
				if next := run.Run(s, at, int(min(left-pos, int64(have))), in.Rows); next > at {
					if d.Rows() >= in.Rows {
						if err := full(); err != nil {
							return err
						}
					}
					at = next
					continue
				}
			}
			end, next := r.lineEnd(s, at)
			if end < 0 {
				if !last {
					break
				}
				end, next = have, have
			} else if next == have && !last && s[have-1] == '\r' {
				break // its line feed may come with the next block
			}
			if start {
				if err := r.record(d, s[at:end], in.Path); err != nil {
					return err
				}
				if d.Rows() >= in.Rows {
					if err := full(); err != nil {
						return err
					}
				}
			}
			start = true
			at = next
		}
		if last {
			return full()
		}
		copy(buf, s[at:])
		have -= at
		pos += int64(at)
		switch {
		case have < len(buf):
		case start && have >= r.longest:
			gone, rest, err := r.skip(d, src, buf, in.Path)
			if err != nil {
				return err
			}
			pos += gone
			have = rest
			start = true
		case !start: // a record of the part before: only a line end that the block cuts in two must stay
			n := copy(buf, buf[have-max(1, len(r.LineSep)):])
			pos += int64(have - n)
			have = n
		default: // a record longer than the buffer
			n := min(2*len(buf), max(r.longest, len(buf)+1))
			bigger := make([]byte, n, n+pad)
			copy(bigger, buf)
			buf = bigger
		}
	}
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
