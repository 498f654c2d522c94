package columnar

import (
	"sync"
	"sync/atomic"
	"unsafe"
)

// Coded says of the texts of a vector which value of a dictionary each of them is. It is true of the offsets in Off
// and of parts of them, so that a vector that was made of another, but has other offsets, has no codes.
type Coded struct {
	Off        []int32
	Codes      []uint32 // of each text, below Values
	Values     int      // of the dictionary, or a number that is not less
	Dictionary uint64   // no two dictionaries of a process have the same

	// Codes that nobody has asked for yet.
	by   *Dictionary // nil: they are there
	data []byte
	once sync.Once
}

var dictionaries atomic.Uint64

// NextDictionary numbers a dictionary.
func NextDictionary() uint64 { return dictionaries.Add(1) }

// Codes are the numbers of the vector's texts in the dictionary of c: rows of one number have one text. ok is false
// if there are none, or if a row may be null. Whoever asks first may have to make them; it may be asked by several
// goroutines at a time.
func (v *Vec) Codes() (codes []uint32, c *Coded, ok bool) {
	c = v.Coded
	if c == nil || v.Phys != PBytes || v.Const || v.Valid != nil || len(v.Off) <= v.Len || len(c.Off) == 0 {
		return nil, nil, false
	}
	// Both are of one slice if the first offset lies among those of c.
	at := (uintptr(unsafe.Pointer(&v.Off[0])) - uintptr(unsafe.Pointer(&c.Off[0]))) / unsafe.Sizeof(v.Off[0])
	if at >= uintptr(len(c.Off)) || int(at)+v.Len >= len(c.Off) {
		return nil, nil, false
	}
	if c.by != nil {
		c.once.Do(c.number)
	}
	if len(c.Off) != len(c.Codes)+1 {
		return nil, nil, false
	}
	return c.Codes[at : int(at)+v.Len], c, true
}

// Costly says that asking for the codes of the vector may mean making them.
func (v *Vec) Costly() bool { return v.Coded != nil && v.Coded.by != nil }
