package exec

import (
	"encoding/binary"

	"github.com/klauspost/compress/s2"
)

// Texts of rows in a segment are one behind the other, and packed if that makes them a good deal shorter: what rows
// say is often alike, and every byte that is not written need not be written again when tables are put together.
//
//	u32 length of the texts, u32 length as they stand here, then they: packed by S2 unless both lengths are the same
const leastTexts = 256 // bytes that are worth packing

// appendTexts appends texts to b.
func appendTexts(b, text []byte) []byte {
	at := len(b)
	b = binary.LittleEndian.AppendUint32(b, uint32(len(text)))
	b = binary.LittleEndian.AppendUint32(b, uint32(len(text)))
	from := len(b)
	if len(text) < leastTexts {
		return append(b, text...)
	}
	need := from + s2.MaxEncodedLen(len(text))
	if cap(b) < need {
		b = append(make([]byte, 0, need+need/4), b...)
	}
	packed := s2.Encode(b[from:need:need], text)
	if len(packed) > len(text)-len(text)/8 {
		return append(b[:from], text...)
	}
	binary.LittleEndian.PutUint32(b[at+4:], uint32(len(packed)))
	return b[:from+len(packed)]
}

// cutTexts gives the texts at the head of b, which may be part of it, and what follows.
func cutTexts(b []byte) (text, rest []byte, ok bool) {
	if len(b) < 8 {
		return nil, nil, false
	}
	n, m := int(binary.LittleEndian.Uint32(b)), int(binary.LittleEndian.Uint32(b[4:]))
	if b = b[8:]; len(b) < m {
		return nil, nil, false
	}
	text, rest = b[:m], b[m:]
	if n == m {
		return text, rest, true
	}
	if size, err := s2.DecodedLen(text); err != nil || size != n {
		return nil, nil, false
	}
	text, err := s2.Decode(nil, text)
	return text, rest, err == nil
}
