package codec

import (
	"errors"
	"io"
	"io/fs"
	"runtime/debug"
	"unsafe"

	"streamlab/internal/vfs"
)

// A window is a part of a file as memory. Of a file that is in the system's cache nothing is copied, which costs as
// much as half of the scan. What is mapped can be taken away: a file that somebody cuts while it is read fails the
// read, as one does that cannot be read.
type window struct {
	mem  []byte
	text []byte // with pad zeros behind it, which are this process's own
}

// leastWindow is from how many bytes on mapping is cheaper than reading.
const leastWindow = 256 << 10

var errCut = errors.New("the file has become shorter, or could not be read, while it was read")

// mapWindow maps bytes from to to of a file and some more, 0 being its end, but at most most; nil if the file is read
// as others are. The last bytes of the file are never in a window.
func mapWindow(f File, from, to, most int64) *window {
	x, ok := f.(interface {
		Stat() (fs.FileInfo, error)
	})
	if !ok {
		return nil
	}
	info, err := x.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return nil
	}
	end := min(info.Size()-pad, from+most)
	if to > 0 {
		end = min(end, to+overhang)
	}
	if end-from < leastWindow {
		return nil
	}
	mem, first := vfs.Map(f, from, int(end-from)+pad)
	if mem == nil {
		return nil
	}
	text := mem[first : len(mem)-pad]
	return &window{mem: mem, text: text}
}

// mapped reads the records of a part whose beginning lies in a window.
func (r *Reader) mapped(d Decoder, f File, w *window, skip int64, in Input, full func() error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		x := recover()
		if at, ok := x.(interface{ Addr() uintptr }); ok && w.has(at.Addr()) {
			x, err = nil, errCut
		}
		vfs.Unmap(w.mem)
		if x != nil {
			panic(x)
		}
	}()
	clear(w.text[len(w.text) : len(w.text)+pad])
	d.Begin(in.Path, skip == 0)
	behind := in.From - skip + int64(len(w.text))
	return r.lines(d, w.text, io.NewSectionReader(f, behind, 1<<62-behind), skip, in, full)
}

func (w *window) has(addr uintptr) bool {
	from := uintptr(unsafe.Pointer(unsafe.SliceData(w.mem)))
	return addr >= from && addr < from+uintptr(len(w.mem))
}
