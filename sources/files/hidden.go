package files

import (
	"path/filepath"
	"strings"

	"streamlab/codec"
	"streamlab/columnar"
	"streamlab/sql/types"
)

// Hidden columns follow the visible ones: they are there by name only and cost nothing until asked for.
const (
	hiddenMetadata = iota // _metadata
	hiddenName            // what input_file_name() gives
	hiddenStart           // input_file_block_start()
	hiddenLength          // input_file_block_length()
)

var (
	fileFields = []types.Field{
		{Name: "file_path", Type: types.Of(types.String)},
		{Name: "file_name", Type: types.Of(types.String)},
		{Name: "file_size", Type: types.Of(types.BigInt)},
		{Name: "file_block_start", Type: types.Of(types.BigInt)},
		{Name: "file_block_length", Type: types.Of(types.BigInt)},
		{Name: "file_modification_time", Type: types.Of(types.Timestamp)},
	}
	rowIndex = types.Field{Name: "row_index", Type: types.Of(types.BigInt)}
)

// Hidden lists the columns that follow those of Schema: _metadata, and the values of the functions
// input_file_name, input_file_block_start and input_file_block_length under their names.
func (s *shape) Hidden() types.Schema { return s.hidden() }

func (s *shape) hidden() types.Schema {
	fields := fileFields
	if s.format == "parquet" {
		fields = append(append([]types.Field{}, fields...), rowIndex)
	}
	return types.Schema{
		{Name: "_metadata", Type: types.StructOf(fields...)},
		{Name: "input_file_name", Type: types.Of(types.String)},
		{Name: "input_file_block_start", Type: types.Of(types.BigInt)},
		{Name: "input_file_block_length", Type: types.Of(types.BigInt)},
	}
}

// perFile reports that a column is wanted whose value changes with the file.
func (s *shape) perFile() bool {
	for _, c := range s.columns {
		if c >= len(s.schema) {
			return true
		}
	}
	return false
}

// metadata makes the hidden columns that are wanted, for n rows of a chunk whose first row has number first.
func (s *shape) metadata(c chunk, first int64, n int) map[int]*columnar.Vec {
	out := map[int]*columnar.Vec{}
	start, length := c.from, c.to-c.from
	if c.to == 0 {
		length = c.file.size - c.from
	}
	url := codec.FileURL(c.file.path)
	for _, at := range s.columns {
		k := at - len(s.schema)
		if k < 0 {
			continue
		}
		var v *columnar.Vec
		switch k {
		case hiddenMetadata:
			v = columnar.NewVec(s.hidden()[0].Type, n)
			v.Kids[0] = repeatText("file:"+strings.TrimPrefix(url, "file://"), n)
			v.Kids[1] = repeatText(filepath.Base(url), n)
			v.Kids[2] = repeatLong(types.BigInt, c.file.size, n)
			v.Kids[3] = repeatLong(types.BigInt, start, n)
			v.Kids[4] = repeatLong(types.BigInt, length, n)
			v.Kids[5] = repeatLong(types.Timestamp, c.file.mtime*1000, n)
			if len(v.Kids) > len(fileFields) {
				rows := repeatLong(types.BigInt, 0, n)
				for i := range rows.I64 {
					rows.I64[i] = first + int64(i)
				}
				v.Kids[6] = rows
			}
		case hiddenName:
			v = repeatText(url, n)
		case hiddenStart:
			v = repeatLong(types.BigInt, start, n)
		default:
			v = repeatLong(types.BigInt, length, n)
		}
		out[at] = v
	}
	return out
}

func repeatText(s string, n int) *columnar.Vec {
	v := columnar.NewVec(types.Of(types.String), n)
	v.Data = make([]byte, 0, n*len(s))
	for i := range n {
		v.Data = append(v.Data, s...)
		v.Off[i+1] = int32(len(v.Data))
	}
	return v
}

func repeatLong(k types.Kind, x int64, n int) *columnar.Vec {
	v := columnar.NewVec(types.Of(k), n)
	for i := range v.I64 {
		v.I64[i] = x
	}
	return v
}

// join puts together data columns, partition columns and hidden columns in the order that is wanted.
func (p *part) join(data, folder []*columnar.Vec, c chunk, first int64, n int) []*columnar.Vec {
	cols := data
	hidden := map[int]*columnar.Vec(nil)
	if p.perFile() {
		hidden = p.metadata(c, first, n)
	}
	if len(p.parts) > 0 || hidden != nil {
		idx := make([]int32, n)
		spread := func(i int) *columnar.Vec {
			v := new(columnar.Vec)
			columnar.GatherIdx(v, folder[i], idx)
			return v
		}
		cols = append([]*columnar.Vec(nil), data...)
		if p.columns == nil {
			for i := range p.parts {
				cols = append(cols, spread(i))
			}
		}
		for _, at := range p.columns {
			switch {
			case at >= len(p.schema):
				cols = append(cols, hidden[at])
			case at >= len(p.data):
				cols = append(cols, spread(at-len(p.data)))
			}
		}
	}
	return cols
}
