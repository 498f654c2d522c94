package files

import (
	"io"
	"strings"

	"streamlab/codec"
	"streamlab/columnar"
	"streamlab/errs"
	"streamlab/internal/vfs"
	"streamlab/sql/types"
)

// binarySchema is that of the format binaryFile: one row a file.
var binarySchema = types.Schema{
	{Name: "path", Type: types.Of(types.String), Nullable: true},
	{Name: "modificationTime", Type: types.Of(types.Timestamp), Nullable: true},
	{Name: "length", Type: types.Of(types.BigInt), Nullable: true},
	{Name: "content", Type: types.Of(types.Binary), Nullable: true},
}

func isBinary(format string) bool { return strings.EqualFold(format, "binaryFile") }

// sameBinary reports that a schema names columns of binarySchema with their types, in any order.
func sameBinary(s types.Schema) bool {
	for _, f := range s {
		i := binarySchema.Index(f.Name)
		if i < 0 || !binarySchema[i].Type.Equal(f.Type) {
			return false
		}
	}
	return true
}

// maxBinary is the longest file that binaryFile gives as one value, Spark's spark.sql.sources.binaryFile.maxLength
// as far as a value may go.
const maxBinary = 1<<31 - 1

// binary makes the one row of a file: the data columns that are wanted.
func (p *part) binary(f file) ([]*columnar.Vec, error) {
	var out []*columnar.Vec
	columns := p.columns
	if columns == nil {
		for i := range p.data {
			columns = append(columns, i)
		}
	}
	for _, at := range columns {
		if at >= len(p.data) {
			continue
		}
		switch p.data[at].Name {
		case "path":
			out = append(out, repeatText("file:"+f.path, 1))
		case "modificationTime":
			out = append(out, repeatLong(types.Timestamp, f.mtime*1000, 1))
		case "length":
			out = append(out, repeatLong(types.BigInt, f.size, 1))
		default:
			url := codec.FileURL(f.path)
			if f.size > maxBinary {
				return nil, errs.Wrap(errs.New("RECORD_TOO_LARGE", "limit", int64(maxBinary), "path", url), "FAILED_READ_FILE.NO_HINT", "path", url)
			}
			data, err := readAll(f)
			if err != nil {
				return nil, err
			}
			v := columnar.NewVec(types.Of(types.Binary), 1)
			v.Data, v.Off[1] = data, int32(len(data))
			out = append(out, v)
		}
	}
	return out, nil
}

func readAll(f file) ([]byte, error) {
	url := codec.FileURL(f.path)
	h, err := vfs.OS.Open(f.path)
	if err != nil {
		return nil, notOpened(err, url)
	}
	defer h.Close()
	data := make([]byte, f.size)
	n, err := io.ReadFull(h, data)
	if err != nil && err != io.EOF && err != io.ErrUnexpectedEOF {
		return nil, errs.Wrap(err, "FAILED_READ_FILE.NO_HINT", "path", url)
	}
	return data[:n], nil
}
