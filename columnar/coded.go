package columnar

import (
	"sync/atomic"
	"unsafe"
)

// Coded says of the texts of a vector which value of a dictionary each of them is. It is true of the offsets in Off
// and of parts of them, so that a vector that was made of another, but has other offsets, has no codes.
type Coded struct {
	Off        []int32
	Codes      []uint32 // of each text, below Values
	Values     int      // of the dictionary
	Dictionary uint64   // no two dictionaries of a process have the same
}

var dictionaries atomic.Uint64

// NextDictionary numbers a dictionary.
func NextDictionary() uint64 { return dictionaries.Add(1) }

// Codes are the numbers of the vector's texts in the dictionary of c: rows of one number have one text. ok is false
// if there are none, or if a row may be null.
func (v *Vec) Codes() (codes []uint32, c *Coded, ok bool) {
	c = v.Coded
	if c == nil || v.Phys != PBytes || v.Const || v.Valid != nil || len(v.Off) <= v.Len || len(c.Off) != len(c.Codes)+1 {
		return nil, nil, false
	}
	// Both are of one slice if the first offset lies among those of c.
	at := (uintptr(unsafe.Pointer(&v.Off[0])) - uintptr(unsafe.Pointer(&c.Off[0]))) / unsafe.Sizeof(v.Off[0])
	if at > uintptr(len(c.Codes)) || int(at)+v.Len > len(c.Codes) {
		return nil, nil, false
	}
	return c.Codes[at : int(at)+v.Len], c, true
}
