package store

import (
	"errors"
	"os"
	"sync"
	"unsafe"

	"golang.org/x/sys/unix"
)

// A pageWriter overwrites pages of a file, durably, while its owner goes on. A goroutine could do so, but not as
// well: it begins when a thread has been woken for it, some 90 µs later, and while it waits for the device it
// holds what the runtime needs to run the owner. For a micro-batch of one row that is as much as all its work.
// So the kernel is given the write (io_submit) and asked for the outcome later (io_getevents). It is direct and
// synchronous (O_DIRECT, O_DSYNC), because only such a write does not block whoever submits it, and since then
// its end says that the page is on the device.
//
// One goroutine uses it; one write at a time.
type pageWriter struct {
	f     *os.File
	queue *writeQueue
	want  int // bytes of the write that is under way; 0: none is
}

// A writeQueue is what the kernel keeps for one write, and the page that it reads from. Making one is cheap, but
// giving it back to the kernel takes tens of milliseconds; so those not in use are kept for the next.
type writeQueue struct {
	id   uintptr
	page []byte // outside of Go's heap: the kernel holds its address
}

var idleQueues struct {
	sync.Mutex
	list []*writeQueue
}

// errNoQueue says that the file, or this machine, cannot be written this way.
var errNoQueue = errors.New("no asynchronous writes")

// openPageWriter opens a file whose pages exist. Its error is no reason to stop: the file can be written otherwise.
func openPageWriter(path string) (*pageWriter, error) {
	f, err := os.OpenFile(path, os.O_RDWR|unix.O_DIRECT|unix.O_DSYNC, 0)
	if err != nil {
		return nil, err
	}
	q, err := takeWriteQueue()
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return &pageWriter{f: f, queue: q}, nil
}

func takeWriteQueue() (*writeQueue, error) {
	idleQueues.Lock()
	defer idleQueues.Unlock()
	if n := len(idleQueues.list); n > 0 {
		q := idleQueues.list[n-1]
		idleQueues.list = idleQueues.list[:n-1]
		return q, nil
	}
	page, err := unix.Mmap(-1, 0, slotSize, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		return nil, err
	}
	q := &writeQueue{page: page}
	if _, _, e := unix.Syscall(unix.SYS_IO_SETUP, 1, uintptr(unsafe.Pointer(&q.id)), 0); e != 0 {
		return nil, errors.Join(e, unix.Munmap(page))
	}
	return q, nil
}

// The kernel's struct iocb and struct io_event.
type (
	queuedWrite struct {
		data     uint64
		key      uint32
		flags    uint32
		op       uint16
		priority int16
		file     uint32
		address  uint64
		length   uint64
		offset   int64
		_        uint64
		_        uint32
		_        uint32
	}
	queuedEvent struct {
		data, request uint64
		result        int64
		_             int64
	}
)

const queuedPwrite = 1 // IOCB_CMD_PWRITE

// pages is memory that a write may be put together in, before it starts: then nothing has to be copied. It is nil while
// a write is under way.
func (w *pageWriter) pages() []byte {
	if w.want > 0 {
		return nil
	}
	return w.queue.page
}

// start gives whole pages, of slotSize bytes at most, to the kernel; wait must follow.
func (w *pageWriter) start(pages []byte, offset int64) error {
	n := copy(w.queue.page, pages)
	order := &queuedWrite{op: queuedPwrite, file: uint32(w.f.Fd()), offset: offset, length: uint64(n),
		address: uint64(uintptr(unsafe.Pointer(&w.queue.page[0])))}
	list := [1]*queuedWrite{order}
	for {
		_, _, e := unix.Syscall(unix.SYS_IO_SUBMIT, w.queue.id, 1, uintptr(unsafe.Pointer(&list[0])))
		switch e {
		case 0:
			w.want = n
			return nil
		case unix.EINTR:
		case unix.EINVAL, unix.EAGAIN, unix.EOPNOTSUPP:
			return errNoQueue
		default:
			return e
		}
	}
}

// wait gives the outcome of the write that was started last; nil if none was, or it was asked for already.
func (w *pageWriter) wait() error {
	for w.want > 0 {
		want := w.want
		var event queuedEvent
		n, _, e := unix.Syscall6(unix.SYS_IO_GETEVENTS, w.queue.id, 1, 1, uintptr(unsafe.Pointer(&event)), 0, 0)
		switch {
		case e == unix.EINTR:
			continue
		case e != 0:
			return e
		case n != 1:
			continue
		}
		w.want = 0
		switch {
		case event.result == -int64(unix.EINVAL):
			return errNoQueue
		case event.result < 0:
			return unix.Errno(-event.result)
		case event.result != int64(want):
			return unix.EIO
		}
	}
	return nil
}

// close waits for a write that is under way.
func (w *pageWriter) close() error {
	if w == nil {
		return nil
	}
	err := w.wait()
	if w.want > 0 { // nobody knows what the kernel does with the page: it is not used again
		return errors.Join(err, w.f.Close())
	}
	idleQueues.Lock()
	idleQueues.list = append(idleQueues.list, w.queue)
	idleQueues.Unlock()
	return errors.Join(err, w.f.Close())
}
