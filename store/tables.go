package store

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"os"
	"path/filepath"

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
	for id := range manifest.Tables {
		name := table.NewFilename(id, dir)
		data, err := vfs.ReadFile(vfs.OS, name)
		if err == nil {
			err = safego.Call("reading a table", func() error { return verifyTable(data) })
		}
		if err != nil {
			return fmt.Errorf("%s: %w", filepath.Base(name), err)
		}
	}
	return nil
}

// verifyTable checks the checksums of one table: blocks, index, the index's checksum, its length.
func verifyTable(data []byte) error {
	body, sum, err := cutChecksum(data)
	if err != nil {
		return err
	}
	body, n, err := cutLength(body)
	if err != nil {
		return err
	}
	index := body[len(body)-n:]
	if uint64(crc32.Checksum(index, castagnoli)) != sum {
		return errors.New("the index is damaged")
	}
	root := fb.GetRootAsTableIndex(index, 0)
	var at fb.BlockOffset
	for i := range root.OffsetsLength() {
		if !root.Offsets(&at, i) {
			return errDamaged
		}
		from, to := uint64(at.Offset()), uint64(at.Offset())+uint64(at.Len())
		if to > uint64(len(body)) {
			return errDamaged
		}
		block, sum, err := cutChecksum(data[from:to])
		if err != nil {
			return err
		}
		if uint64(crc32.Checksum(block, castagnoli)) != sum {
			return fmt.Errorf("block %d is damaged", i)
		}
	}
	return nil
}

// cutLength cuts a length of four bytes off the end of b; that many bytes are before it.
func cutLength(b []byte) (rest []byte, n int, err error) {
	if len(b) < 4 {
		return nil, 0, errDamaged
	}
	rest = b[:len(b)-4]
	if m := binary.BigEndian.Uint32(b[len(b)-4:]); uint64(m) <= uint64(len(rest)) {
		return rest, int(m), nil
	}
	return nil, 0, errDamaged
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
