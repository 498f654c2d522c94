package vfs

import (
	"os"

	"golang.org/x/sys/unix"
)

// Map shows n bytes of a file, which must be there, from byte from on as memory: they begin at first in mem and end
// with it. What is written to mem stays in the process. nil if the file cannot be mapped. Touching what has been
// cut off the file faults. The file may be closed before Unmap.
//
// Pages are mapped as they are touched, a range of them with each fault: asking for all of them in advance, which
// looks at every page, took a third more time.
func Map(f any, from int64, n int) (mem []byte, first int) {
	h, ok := f.(*os.File)
	if !ok {
		return nil, 0
	}
	first = int(from % int64(os.Getpagesize()))
	mem, err := unix.Mmap(int(h.Fd()), from-int64(first), first+n, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE)
	if err != nil {
		return nil, 0
	}
	return mem, first
}

// Unmap ends what Map began.
func Unmap(mem []byte) { _ = unix.Munmap(mem) }
