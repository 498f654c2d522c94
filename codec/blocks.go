package codec

import (
	"encoding/binary"
	"errors"
	"io"

	"github.com/apache/arrow-go/v18/parquet/compress"
	"github.com/klauspost/compress/s2"
	"github.com/klauspost/compress/snappy"
	"github.com/pierrec/lz4/v4"

	"streamlab/errs"
)

// Hadoop's Snappy and LZ4 files, and the LZ4 pages of old Parquet files, are blocks: the length of the text
// (four bytes, big endian), then chunks, each with the length of its compressed bytes before it, until the
// text is complete.

const (
	hadoopBlock    = 256 << 10
	maxHadoopBlock = 64 << 20
)

type blockCodec struct {
	encode func(dst, src []byte) ([]byte, error)
	// decode writes at most len(dst) bytes and says how many.
	decode func(dst, src []byte) (int, error)
	bound  func(n int) int
}

var (
	snappyBlocks = blockCodec{
		encode: func(dst, src []byte) ([]byte, error) { return snappy.Encode(dst[:cap(dst)], src), nil },
		decode: func(dst, src []byte) (int, error) {
			n, err := snappy.DecodedLen(src)
			if err != nil {
				return 0, err
			}
			if n > len(dst) {
				return 0, errBlock
			}
			_, err = snappy.Decode(dst, src)
			return n, err
		},
		bound: snappy.MaxEncodedLen,
	}
	lz4Blocks = blockCodec{
		encode: func(dst, src []byte) ([]byte, error) {
			var c lz4.Compressor
			dst = dst[:cap(dst)]
			n, err := c.CompressBlock(src, dst)
			if n == 0 && err == nil {
				return lz4Literals(dst[:0], src), nil
			}
			return dst[:n], err
		},
		decode: func(dst, src []byte) (int, error) { return lz4.UncompressBlock(src, dst) },
		bound:  lz4.CompressBlockBound,
	}
	errBlock = errs.New("COMPRESSED_BLOCK_BROKEN")
)

// lz4Literals writes a text that does not shrink.
func lz4Literals(dst, src []byte) []byte {
	n := len(src)
	if n < 15 {
		dst = append(dst, byte(n)<<4)
	} else {
		dst = append(dst, 0xf0)
		for n -= 15; n >= 255; n -= 255 {
			dst = append(dst, 255)
		}
		dst = append(dst, byte(n))
	}
	return append(dst, src...)
}

type blockReader struct {
	src   io.Reader
	codec blockCodec
	left  int // bytes of the block's text that are still to come
	text  []byte
	buf   []byte
	out   []byte // not yet read
}

func (r *blockReader) length() (int, error) {
	var b [4]byte
	if _, err := io.ReadFull(r.src, b[:]); err != nil {
		return 0, err
	}
	n := binary.BigEndian.Uint32(b[:])
	if n > maxHadoopBlock {
		return 0, errBlock
	}
	return int(n), nil
}

func (r *blockReader) Read(p []byte) (int, error) {
	for len(r.out) == 0 {
		if r.left == 0 {
			n, err := r.length()
			if err != nil {
				return 0, err // io.EOF between blocks is the end
			}
			r.left = n
			continue
		}
		n, err := r.length()
		if err == nil {
			if cap(r.buf) < n {
				r.buf = make([]byte, n)
			}
			_, err = io.ReadFull(r.src, r.buf[:n])
		}
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		if err != nil {
			return 0, err
		}
		if cap(r.text) < r.left {
			r.text = make([]byte, r.left)
		}
		got, err := r.codec.decode(r.text[:r.left], r.buf[:n])
		if err != nil {
			return 0, err
		}
		if got == 0 || got > r.left {
			return 0, errBlock
		}
		r.out = r.text[:got]
		r.left -= got
	}
	n := copy(p, r.out)
	r.out = r.out[n:]
	return n, nil
}

type blockWriter struct {
	dst   io.Writer
	codec blockCodec
	buf   []byte
	out   []byte
}

func (w *blockWriter) Write(p []byte) (int, error) {
	n := len(p)
	for len(p) > 0 {
		k := min(len(p), hadoopBlock-len(w.buf))
		w.buf = append(w.buf, p[:k]...)
		p = p[k:]
		if len(w.buf) == hadoopBlock {
			if err := w.flush(); err != nil {
				return 0, err
			}
		}
	}
	return n, nil
}

func (w *blockWriter) flush() error {
	if len(w.buf) == 0 {
		return nil
	}
	var err error
	if w.out, err = w.codec.appendBlock(w.out[:0], w.buf); err != nil {
		return err
	}
	w.buf = w.buf[:0]
	_, err = w.dst.Write(w.out)
	return err
}

func (w *blockWriter) Close() error { return w.flush() }

// appendBlock writes a text as one block of one chunk.
func (c blockCodec) appendBlock(dst, text []byte) ([]byte, error) {
	at := len(dst)
	need := at + 8 + c.bound(len(text))
	if cap(dst) < need {
		dst = append(make([]byte, 0, need), dst...)
	}
	out, err := c.encode(dst[at+8:at+8:need], text)
	if err != nil {
		return nil, err
	}
	dst = dst[:at+8+len(out)]
	binary.BigEndian.PutUint32(dst[at:], uint32(len(text)))
	binary.BigEndian.PutUint32(dst[at+4:], uint32(len(out)))
	return dst, nil
}

// hadoopLZ4 is Parquet's codec LZ4 (not LZ4_RAW): what Spark writes for compression = lz4.
type hadoopLZ4 struct{}

func (hadoopLZ4) Encode(dst, src []byte) []byte {
	out, err := lz4Blocks.appendBlock(dst[:0], src)
	if err != nil {
		panic(err)
	}
	return out
}

func (c hadoopLZ4) EncodeLevel(dst, src []byte, _ int) []byte { return c.Encode(dst, src) }

func (hadoopLZ4) CompressBound(n int64) int64 { return int64(lz4.CompressBlockBound(int(n))) + 8 }

func (c hadoopLZ4) Decode(dst, src []byte) []byte {
	out, err := c.DecodeWithError(dst, src)
	if err != nil {
		panic(err)
	}
	return out
}

// DecodeWithError decodes blocks; some writers left the lengths out and wrote one bare block.
func (hadoopLZ4) DecodeWithError(dst, src []byte) ([]byte, error) {
	if out, ok := decodeBlocks(dst, src); ok {
		return out, nil
	}
	n, err := lz4.UncompressBlock(src, dst[:cap(dst)])
	return dst[:n], err
}

func decodeBlocks(dst, src []byte) ([]byte, bool) {
	dst = dst[:cap(dst)]
	n := 0
	for len(src) > 0 {
		if len(src) < 4 {
			return nil, false
		}
		text := int(binary.BigEndian.Uint32(src))
		src = src[4:]
		if text > len(dst)-n {
			return nil, false
		}
		for text > 0 {
			if len(src) < 4 {
				return nil, false
			}
			size := int(binary.BigEndian.Uint32(src))
			src = src[4:]
			if size > len(src) {
				return nil, false
			}
			got, err := lz4.UncompressBlock(src[:size], dst[n:n+text])
			if err != nil || got == 0 {
				return nil, false
			}
			src = src[size:]
			n += got
			text -= got
		}
	}
	return dst[:n], true
}

// quickSnappy makes blocks as snappy itself does. The module's own codec looks for longer matches: a twentieth
// less text for twice the time.
type quickSnappy struct{ compress.Codec }

func (quickSnappy) Encode(dst, src []byte) []byte { return s2.EncodeSnappy(dst, src) }

func (c quickSnappy) EncodeLevel(dst, src []byte, _ int) []byte { return c.Encode(dst, src) }

// DecodeWithError keeps the module from turning a broken block into a panic.
func (c quickSnappy) DecodeWithError(dst, src []byte) ([]byte, error) {
	return compress.Decode(c.Codec, dst, src)
}

// The registry of the Parquet module is a plain map: it is filled before anything runs.
var _ = registerCodecs()

func registerCodecs() bool {
	compress.RegisterCodec(compress.Codecs.Lz4, hadoopLZ4{})
	if own, err := compress.GetCodec(compress.Codecs.Snappy); err == nil {
		compress.RegisterCodec(compress.Codecs.Snappy, quickSnappy{own})
	}
	return true
}
