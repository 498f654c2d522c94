package store

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"

	"github.com/dgraph-io/badger/v4"
	"github.com/dgraph-io/badger/v4/fb"
	"github.com/dgraph-io/badger/v4/table"

	"streamlab/internal/safego"
	"streamlab/internal/vfs"
)

// verifyTables checks every table that the database's manifest lists, before Badger sees them: of a table
// whose index is damaged Badger says nothing and leaves it out, and one with a damaged block or footer
// ends the process from a goroutine of its own.
func verifyTables(dir string, o badger.Options) error {
	f, err := os.Open(filepath.Join(dir, badger.ManifestFilename))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	var manifest badger.Manifest
	err = safego.Call("reading the manifest", func() error {
		manifest, _, err = badger.ReplayManifestFile(f, o.ExternalMagicVersion, o)
		return err
	})
	if err != nil {
		return err
	}
	ids := make(chan uint64, len(manifest.Tables))
	for id := range manifest.Tables {
		ids <- id
	}
	close(ids)
	workers := min(runtime.GOMAXPROCS(0), len(manifest.Tables))
	hs := make([]*safego.Handle, workers)
	for w := range hs {
		hs[w] = safego.Go("reading a table", func() error {
			buf := make([]byte, tablePiece)
			for id := range ids {
				name := table.NewFilename(id, dir)
				if err := verifyTable(name, &buf); err != nil {
					return fmt.Errorf("%s: %w", filepath.Base(name), err)
				}
			}
			return nil
		})
	}
	for _, h := range hs {
		err = errors.Join(err, h.Wait())
	}
	return err
}

// tablePiece is how much of a table is read at once. Reading it whole into fresh memory takes longer than all the
// rest: each page is touched for the first time.
const tablePiece = 256 << 10

// verifyTable checks the checksums of one table: blocks, index, the index's checksum, its length. buf is lent.
func verifyTable(name string, buf *[]byte) error {
	f, err := vfs.OS.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	index, end, err := readIndex(f, info.Size())
	if err != nil {
		return err
	}
	root := fb.GetRootAsTableIndex(index, 0)
	var at fb.BlockOffset
	piece, from := []byte(nil), int64(0) // what has been read of the file, and where it begins
	for i := range root.OffsetsLength() {
		if !root.Offsets(&at, i) {
			return errDamaged
		}
		lo, hi := int64(at.Offset()), int64(at.Offset())+int64(at.Len())
		if hi > end {
			return errDamaged
		}
		if lo < from || hi > from+int64(len(piece)) {
			piece = grown(buf, max(int64(at.Len()), min(tablePiece, end-lo)))
			if from = lo; readAt(f, piece, from) != nil {
				return errDamaged
			}
		}
		block, sum, err := cutChecksum(piece[lo-from : hi-from])
		if err != nil {
			return err
		}
		if uint64(crc32.Checksum(block, castagnoli)) != sum {
			return fmt.Errorf("block %d is damaged", i)
		}
	}
	return nil
}

// readIndex gives the index of a table whose file has that size, and where it begins: behind all blocks.
func readIndex(f vfs.File, size int64) (index []byte, begins int64, err error) {
	tail := make([]byte, min(size, 4<<10))
	for {
		if err := readAt(f, tail, size-int64(len(tail))); err != nil {
			return nil, 0, err
		}
		body, sum, err := cutChecksum(tail)
		if err != nil {
			return nil, 0, err
		}
		n, err := lastLength(body)
		if err != nil {
			return nil, 0, err
		}
		if behind := int64(len(tail) - len(body) + 4); int64(n)+behind > size {
			return nil, 0, errDamaged
		} else if int(int64(n)+behind) > len(tail) { // once more, with all of it
			tail = make([]byte, int64(n)+behind)
			continue
		}
		index = body[len(body)-4-n : len(body)-4]
		if uint64(crc32.Checksum(index, castagnoli)) != sum {
			return nil, 0, errors.New("the index is damaged")
		}
		return index, size - int64(len(tail)) + int64(len(body)-4-n), nil
	}
}

func readAt(f vfs.File, b []byte, at int64) error {
	_, err := io.ReadFull(io.NewSectionReader(f, at, int64(len(b))), b)
	return err
}

func grown(buf *[]byte, n int64) []byte {
	if int64(cap(*buf)) < n {
		*buf = make([]byte, n)
	}
	return (*buf)[:n]
}

// lastLength reads a length of four bytes off the end of b.
func lastLength(b []byte) (int, error) {
	if len(b) < 4 {
		return 0, errDamaged
	}
	return int(binary.BigEndian.Uint32(b[len(b)-4:])), nil
}

// cutLength cuts a length of four bytes off the end of b; that many bytes are before it.
func cutLength(b []byte) (rest []byte, n int, err error) {
	m, err := lastLength(b)
	if err != nil || m > len(b)-4 {
		return nil, 0, errDamaged
	}
	return b[:len(b)-4], m, nil
}

// cutChecksum cuts the checksum off the end of b: a message with the algorithm in field 1 (absent: CRC-32C)
// and the sum in field 2, then its length.
func cutChecksum(b []byte) (rest []byte, sum uint64, err error) {
	rest, n, err := cutLength(b)
	if err != nil {
		return nil, 0, err
	}
	message := rest[len(rest)-n:]
	for len(message) > 0 {
		tag, k := binary.Uvarint(message)
		if k <= 0 {
			return nil, 0, errDamaged
		}
		value, m := binary.Uvarint(message[k:])
		if m <= 0 || tag == 1<<3 && value != 0 || tag != 1<<3 && tag != 2<<3 {
			return nil, 0, errDamaged
		}
		if tag == 2<<3 {
			sum = value
		}
		message = message[k+m:]
	}
	return rest[:len(rest)-n], sum, nil
}
