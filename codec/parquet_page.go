package codec

import (
	"encoding/binary"
	"errors"
	"io"

	"streamlab/errs"
)

// The kinds of pages, and the encodings that are read here, by their numbers in the format.
const (
	pageData       = 0
	pageDictionary = 2
	pageData2      = 3

	encPlain      = 0
	encPlainDict  = 2
	encRLE        = 3
	encBitPacked  = 4
	encDictionary = 8
)

// pageHead is what the head of a page says that reading it needs.
type pageHead struct {
	kind         int32
	full, packed int32 // bytes of the page, and those that it takes in the file
	values       int32 // for data also the number of rows, outside of lists
	encoding     int32
	levels       int32 // data: encoding of the definition levels
	defBytes     int32 // data of the second kind: bytes of the levels
	repBytes     int32
	plain        bool // data of the second kind: not compressed
}

var (
	errPageHead = errs.New("PARQUET_CORRUPT", "reason", "the head of a page cannot be read")
	errMoreHead = errors.New("codec: the head of the page is longer")
)

// A compact reads Thrift's compact protocol.
type compact struct {
	in  []byte
	at  int
	bad error
}

func (c *compact) byte() byte {
	if c.at >= len(c.in) {
		c.bad = errMoreHead
		return 0
	}
	c.at++
	return c.in[c.at-1]
}

func (c *compact) varint() uint64 {
	v, n := binary.Uvarint(c.in[c.at:])
	if n <= 0 {
		if c.bad = errPageHead; n == 0 {
			c.bad = errMoreHead
		}
		c.at = len(c.in)
		return 0
	}
	c.at += n
	return v
}

func (c *compact) int() int32 {
	v := c.varint()
	return int32(v>>1) ^ -int32(v&1)
}

// Types of the protocol.
const (
	compactTrue   = 1
	compactFalse  = 2
	compactByte   = 3
	compactDouble = 7
	compactBinary = 8
	compactList   = 9
	compactSet    = 10
	compactMap    = 11
	compactStruct = 12
)

// fields calls f for every field of a struct; f returns false if it has not read it.
func (c *compact) fields(depth int, f func(id int32, kind byte) bool) {
	id := int32(0)
	for c.bad == nil {
		b := c.byte()
		if b == 0 { // also when the bytes have ended
			return
		}
		if d := b >> 4; d != 0 {
			id += int32(d)
		} else {
			id = c.int()
		}
		if kind := b & 15; c.bad == nil && !f(id, kind) {
			c.skip(depth, kind)
		}
	}
}

func (c *compact) skip(depth int, kind byte) {
	if depth > 16 {
		c.bad = errPageHead
		return
	}
	switch kind {
	case compactTrue, compactFalse:
	case compactByte:
		c.byte()
	case compactDouble:
		c.pass(8)
	case compactBinary:
		c.pass(c.varint())
	case compactList, compactSet:
		b := c.byte()
		n := uint64(b >> 4)
		if n == 15 {
			n = c.varint()
		}
		for ; n > 0 && c.bad == nil; n-- {
			c.element(depth, b&15)
		}
	case compactMap:
		n := c.varint()
		if n == 0 {
			return
		}
		b := c.byte()
		for ; n > 0 && c.bad == nil; n-- {
			c.element(depth, b>>4)
			c.element(depth, b&15)
		}
	case compactStruct:
		c.fields(depth+1, func(int32, byte) bool { return false })
	default:
		if kind > compactStruct {
			c.bad = errPageHead
			return
		}
		c.varint()
	}
}

// element skips a part of a list or map, in which truth values take a byte.
func (c *compact) element(depth int, kind byte) {
	if kind == compactTrue || kind == compactFalse {
		kind = compactByte
	}
	c.skip(depth+1, kind)
}

func (c *compact) pass(n uint64) {
	if n > uint64(len(c.in)-c.at) {
		c.at, c.bad = len(c.in), errMoreHead
		return
	}
	c.at += int(n)
}

// parsePageHead reads the head of a page. errMoreHead says that in has not all of it.
func parsePageHead(in []byte) (h pageHead, size int, err error) {
	c := &compact{in: in}
	seen := 0
	c.fields(0, func(id int32, kind byte) bool {
		number := kind >= compactByte && kind < compactDouble
		switch {
		case id == 1 && number:
			h.kind = c.int()
			seen |= 1
		case id == 2 && number:
			h.full = c.int()
			seen |= 2
		case id == 3 && number:
			h.packed = c.int()
			seen |= 4
		case (id == 5 || id == 7) && kind == compactStruct: // data, dictionary
			c.fields(1, func(id int32, kind byte) bool {
				if kind < compactByte || kind >= compactDouble || id > 3 {
					return false
				}
				switch v := c.int(); id {
				case 1:
					h.values = v
				case 2:
					h.encoding = v
				case 3:
					h.levels = v
				}
				return true
			})
		case id == 8 && kind == compactStruct:
			h.levels = encRLE
			c.fields(1, func(id int32, kind byte) bool {
				if id == 7 {
					h.plain = kind == compactFalse
					return kind == compactFalse || kind == compactTrue
				}
				if kind < compactByte || kind >= compactDouble || id > 6 {
					return false
				}
				switch v := c.int(); id {
				case 1:
					h.values = v
				case 4:
					h.encoding = v
				case 5:
					h.defBytes = v
				case 6:
					h.repBytes = v
				}
				return true
			})
		default:
			return false
		}
		return true
	})
	switch {
	case c.bad != nil:
		return h, 0, c.bad
	case seen != 7 || h.full < 0 || h.packed < 0 || h.values < 0 || h.defBytes < 0 || h.repBytes < 0:
		return h, 0, errPageHead
	case h.full > maxPage || h.packed > maxPage:
		return h, 0, errs.New("PARQUET_CORRUPT", "reason", "a page is said to have an impossible length")
	}
	return h, c.at, nil
}

// mostPageHead is how long the head of a page may be: it has the least and the greatest value of the page.
const mostPageHead = 16 << 20

// pageWalk goes from page to page of a column chunk.
type pageWalk struct {
	f    io.ReaderAt
	at   int64 // of the next head
	end  int64 // no page begins here
	head []byte
}

// next reads a head; body is where the page's bytes begin. The error is io.EOF behind the last page.
func (w *pageWalk) next() (h pageHead, body int64, err error) {
	if cap(w.head) == 0 {
		w.head = make([]byte, 256)
	}
	for most := 256; ; most *= 8 {
		if w.at < 0 || w.at >= w.end {
			return h, 0, io.EOF
		}
		if len(w.head) < most {
			w.head = make([]byte, most)
		}
		n, err := w.f.ReadAt(w.head[:most], w.at)
		if err != nil && !errors.Is(err, io.EOF) {
			return h, 0, err
		}
		if n == 0 {
			return h, 0, io.EOF
		}
		h, size, err := parsePageHead(w.head[:n])
		if err == errMoreHead && n == most && most < mostPageHead {
			continue
		}
		if err == errMoreHead {
			err = errPageHead
		}
		if err != nil {
			return h, 0, err
		}
		body := w.at + int64(size)
		w.at = body + int64(h.packed)
		return h, body, nil
	}
}
