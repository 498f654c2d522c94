package delta

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"io"
	"os"
	"path"
	"strings"

	"github.com/RoaringBitmap/roaring/v2/roaring64"
	"github.com/google/uuid"

	"streamlab/errs"
	"streamlab/internal/vfs"
)

// dvMagic begins a bitmap in the portable layout; dvNativeMagic an older one that is refused.
const (
	dvMagic       = 1681511377
	dvNativeMagic = 1681511376
	maxDVSize     = 1 << 30
)

const z85 = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#"

var z85Values = func() (t [256]int8) {
	for i := range t {
		t[i] = -1
	}
	for i := 0; i < len(z85); i++ {
		t[z85[i]] = int8(i)
	}
	return t
}()

// z85Encode prints bytes in groups of four as five characters; data is padded with zeros.
func z85Encode(data []byte) string {
	for len(data)%4 != 0 {
		data = append(data[:len(data):len(data)], 0)
	}
	out := make([]byte, 0, len(data)/4*5)
	for i := 0; i < len(data); i += 4 {
		v := binary.BigEndian.Uint32(data[i:])
		var g [5]byte
		for k := 4; k >= 0; k-- {
			g[k] = z85[v%85]
			v /= 85
		}
		out = append(out, g[:]...)
	}
	return string(out)
}

// z85Decode undoes z85Encode; ok is false for a text of another length or with other characters.
func z85Decode(s string) ([]byte, bool) {
	if len(s)%5 != 0 {
		return nil, false
	}
	out := make([]byte, 0, len(s)/5*4)
	for i := 0; i < len(s); i += 5 {
		var v uint64
		for k := 0; k < 5; k++ {
			d := z85Values[s[i+k]]
			if d < 0 {
				return nil, false
			}
			v = v*85 + uint64(d)
		}
		if v > 1<<32-1 {
			return nil, false
		}
		out = binary.BigEndian.AppendUint32(out, uint32(v))
	}
	return out, true
}

// dvPath is the file of a deletion vector of storage type u or p, relative to the table.
func dvPath(d *DeletionVector) (string, bool) {
	if d.StorageType == "p" {
		return d.PathOrDV, true
	}
	if len(d.PathOrDV) < 20 {
		return "", false
	}
	prefix, id := d.PathOrDV[:len(d.PathOrDV)-20], d.PathOrDV[len(d.PathOrDV)-20:]
	raw, ok := z85Decode(id)
	if !ok {
		return "", false
	}
	u, err := uuid.FromBytes(raw)
	if err != nil {
		return "", false
	}
	return path.Join(prefix, "deletion_vector_"+u.String()+".bin"), true
}

// readDV reads the bitmap of a descriptor; nil without one. Errors: DELTA_DELETION_VECTOR_*.
func (l *Log) readDV(d *DeletionVector) (*roaring64.Bitmap, error) {
	if d == nil {
		return nil, nil
	}
	bad := func(kind string) error {
		return errs.New("DELTA_DELETION_VECTOR_"+kind, "deletionVector", d.StorageType+":"+d.PathOrDV)
	}
	if d.Size < 0 || d.Size > maxDVSize {
		return nil, bad("SIZE_MISMATCH")
	}
	var data []byte
	switch d.StorageType {
	case "i":
		raw, ok := z85Decode(d.PathOrDV)
		if !ok || int64(len(raw)) < d.Size {
			return nil, bad("SIZE_MISMATCH")
		}
		data = raw[:d.Size]
	case "u", "p":
		rel, ok := dvPath(d)
		if !ok {
			return nil, bad("SIZE_MISMATCH")
		}
		if d.StorageType == "u" {
			rel = encodePath(rel)
		}
		name, err := l.reading(rel)
		if err != nil {
			return nil, err
		}
		if data, err = l.readDVFile(name, d, bad); err != nil {
			return nil, err
		}
	default:
		return nil, bad("SIZE_MISMATCH")
	}
	return parseBitmap(data, d, bad)
}

func (l *Log) readDVFile(name string, d *DeletionVector, bad func(string) error) ([]byte, error) {
	f, err := l.FS.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var off int64 = 1
	if d.Offset != nil {
		off = *d.Offset
	}
	head := make([]byte, 4)
	if _, err := f.ReadAt(head, off); err != nil || off < 1 {
		return nil, bad("SIZE_MISMATCH")
	}
	if int64(binary.BigEndian.Uint32(head)) != d.Size {
		return nil, bad("SIZE_MISMATCH")
	}
	version := []byte{0}
	if _, err := f.ReadAt(version, 0); err != nil || version[0] != 1 {
		return nil, bad("SIZE_MISMATCH")
	}
	body := make([]byte, d.Size+4)
	if _, err := io.ReadFull(io.NewSectionReader(f, off+4, d.Size+4), body); err != nil {
		return nil, bad("SIZE_MISMATCH")
	}
	data := body[:d.Size]
	if crc32.ChecksumIEEE(data) != binary.BigEndian.Uint32(body[d.Size:]) {
		return nil, bad("CHECKSUM_MISMATCH")
	}
	return data, nil
}

func parseBitmap(data []byte, d *DeletionVector, bad func(string) error) (*roaring64.Bitmap, error) {
	if len(data) < 4 {
		return nil, bad("SIZE_MISMATCH")
	}
	switch binary.LittleEndian.Uint32(data) {
	case dvMagic:
	case dvNativeMagic:
		return nil, errs.New("UNSUPPORTED_FEATURE", "feature", "A deletion vector in the native layout")
	default:
		return nil, bad("CHECKSUM_MISMATCH")
	}
	b := roaring64.New()
	err := func() (err error) {
		defer func() {
			if r := recover(); r != nil { // a hostile bitmap must not take the program down
				err = bad("CHECKSUM_MISMATCH")
			}
		}()
		_, err = b.ReadFrom(bytes.NewReader(data[4:]))
		return err
	}()
	if err != nil {
		return nil, bad("CHECKSUM_MISMATCH")
	}
	if int64(b.GetCardinality()) != d.Cardinality {
		return nil, bad("CARDINALITY_MISMATCH")
	}
	return b, nil
}

// bitmapBytes is a bitmap in the layout of deletion vectors.
func bitmapBytes(b *roaring64.Bitmap) ([]byte, error) {
	b.RunOptimize()
	var buf bytes.Buffer
	buf.Write(binary.LittleEndian.AppendUint32(nil, dvMagic))
	_, err := b.WriteTo(&buf)
	return buf.Bytes(), err
}

// dvFile collects the deletion vectors of one commit in one file.
type dvFile struct {
	id     uuid.UUID
	prefix string
	buf    []byte
}

func newDVFile(prefix string) *dvFile { return &dvFile{id: uuid.New(), prefix: prefix, buf: []byte{1}} }

// add appends a bitmap and gives its descriptor.
func (f *dvFile) add(b *roaring64.Bitmap) (*DeletionVector, error) {
	data, err := bitmapBytes(b)
	if err != nil {
		return nil, err
	}
	off := int64(len(f.buf))
	f.buf = binary.BigEndian.AppendUint32(f.buf, uint32(len(data)))
	f.buf = append(f.buf, data...)
	f.buf = binary.BigEndian.AppendUint32(f.buf, crc32.ChecksumIEEE(data))
	return &DeletionVector{StorageType: "u", PathOrDV: f.prefix + z85Encode(f.id[:]), Offset: &off, Size: int64(len(data)),
		Cardinality: int64(b.GetCardinality())}, nil
}

// write puts the file into the table.
func (f *dvFile) write(l *Log) error {
	rel, _ := dvPath(&DeletionVector{StorageType: "u", PathOrDV: f.prefix + z85Encode(f.id[:])})
	name, err := l.resolve(encodePath(rel))
	if err != nil {
		return err
	}
	if dir, _ := path.Split(rel); dir != "" {
		if err := vfs.MkdirAll(l.FS, path.Dir(name), 0o755); err != nil {
			return err
		}
	}
	w, err := l.FS.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	_, err = w.Write(f.buf)
	return finishFile(w, err, l.Durable)
}

// engineVersion is what commits name as their writer.
const engineVersion = "streamlab/1.0"

func isHidden(name string) bool { return strings.HasPrefix(name, "_") || strings.HasPrefix(name, ".") }
