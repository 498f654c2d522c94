package codec

import (
	"bytes"
	"context"
	"fmt"
	"math/rand"
	"slices"
	"testing"

	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/compress"
	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/schema"

	"streamlab/columnar"
	"streamlab/sql/types"
)

// flatKinds are the physical types, with what they are read as.
var flatKinds = []struct {
	phys parquet.Type
	ddl  string
}{{parquet.Types.Boolean, "BOOLEAN"}, {parquet.Types.Int32, "INT"}, {parquet.Types.Int64, "BIGINT"}, {parquet.Types.Int96, "TIMESTAMP"},
	{parquet.Types.Float, "FLOAT"}, {parquet.Types.Double, "DOUBLE"}, {parquet.Types.ByteArray, "STRING"}, {parquet.Types.FixedLenByteArray, "BINARY"}}

// writeFlat writes rows of every type with the library's writer; texts are the rows as they are printed.
func writeFlat(t *testing.T, r *rand.Rand, rows, groups int, nullable bool, different int, props *parquet.WriterProperties) (file_ []byte, texts []string) {
	t.Helper()
	rep := parquet.Repetitions.Required
	if nullable {
		rep = parquet.Repetitions.Optional
	}
	var fields schema.FieldList
	for _, k := range flatKinds {
		var n schema.Node
		if k.phys == parquet.Types.FixedLenByteArray {
			n = schema.NewFixedLenByteArrayNode(k.ddl, rep, 5, -1)
		} else if k.phys == parquet.Types.ByteArray {
			n = schema.Must(schema.NewPrimitiveNodeLogical(k.ddl, rep, schema.StringLogicalType{}, k.phys, -1, -1))
		} else {
			n = schema.Must(schema.NewPrimitiveNode(k.ddl, rep, k.phys, -1, -1))
		}
		fields = append(fields, n)
	}
	root := schema.MustGroup(schema.NewGroupNode("root", parquet.Repetitions.Required, fields, -1))
	var out bytes.Buffer
	w := file.NewParquetWriter(&out, root, file.WithWriterProps(props))
	for range groups {
		cells := make([][]string, len(flatKinds))
		g := w.AppendRowGroup()
		for k := range flatKinds {
			var def []int16
			there := rows
			if nullable {
				def, there = make([]int16, rows), 0
				share := r.Intn(3) // none, some, nearly all are null
				for i := range def {
					if r.Intn(10) >= 4*share+share/2 {
						def[i], there = 1, there+1
					}
				}
			}
			values := make([]int64, there)
			for i := range values {
				if values[i] = int64(r.Intn(different)); r.Intn(4) > 0 && i > 0 {
					values[i] = values[i-1] // runs
				}
			}
			if err := writeFlatColumn(g, values, def); err != nil {
				t.Fatal(err)
			}
			j := 0
			for i := range rows {
				if def != nil && def[i] == 0 {
					cells[k] = append(cells[k], "-")
					continue
				}
				cells[k] = append(cells[k], flatText(k, values[j]))
				j++
			}
		}
		for i := range rows {
			text := ""
			for k := range cells {
				text += cells[k][i] + "|"
			}
			texts = append(texts, text)
		}
		if err := g.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes(), texts
}

func longText(v int64) string {
	return fmt.Sprintf("%d", v) + string(bytes.Repeat([]byte{'x'}, int(v*v%37)*3))
}

func mapped[B any](vs []int64, f func(int64) B) []B { return mapValues(vs, f) }

func int96Of(v int64) (x parquet.Int96) {
	copy(x[:], []byte{byte(v), byte(v >> 8), byte(v >> 16), 0, 0, 0, 0, 0, 0x8c, 0x3d, 0x25, 0})
	return x
}

func writeFlatColumn(g file.SerialRowGroupWriter, vs []int64, def []int16) error {
	c, err := g.NextColumn()
	if err != nil {
		return err
	}
	switch w := c.(type) {
	case *file.BooleanColumnChunkWriter:
		_, err = w.WriteBatch(mapped(vs, func(v int64) bool { return v%3 == 0 }), def, nil)
	case *file.Int32ColumnChunkWriter:
		_, err = w.WriteBatch(mapped(vs, func(v int64) int32 { return int32(v) - 50 }), def, nil)
	case *file.Int64ColumnChunkWriter:
		_, err = w.WriteBatch(mapped(vs, func(v int64) int64 { return v << 33 }), def, nil)
	case *file.Int96ColumnChunkWriter:
		_, err = w.WriteBatch(mapped(vs, int96Of), def, nil)
	case *file.Float32ColumnChunkWriter:
		_, err = w.WriteBatch(mapped(vs, func(v int64) float32 { return float32(v) / 2 }), def, nil)
	case *file.Float64ColumnChunkWriter:
		_, err = w.WriteBatch(mapped(vs, func(v int64) float64 { return float64(v) / 4 }), def, nil)
	case *file.ByteArrayColumnChunkWriter:
		_, err = w.WriteBatch(mapped(vs, func(v int64) parquet.ByteArray { return parquet.ByteArray(longText(v)) }), def, nil)
	case *file.FixedLenByteArrayColumnChunkWriter:
		_, err = w.WriteBatch(mapped(vs, func(v int64) parquet.FixedLenByteArray {
			return parquet.FixedLenByteArray(fmt.Sprintf("%05d", v%100000))
		}), def, nil)
	}
	if err != nil {
		return err
	}
	return c.Close()
}

// flatText is how a value is printed.
func flatText(kind int, v int64) string {
	switch flatKinds[kind].phys {
	case parquet.Types.Boolean:
		return fmt.Sprint(v%3 == 0)
	case parquet.Types.Int32:
		return fmt.Sprint(int32(v) - 50)
	case parquet.Types.Int64:
		return fmt.Sprint(v << 33)
	case parquet.Types.Int96:
		return fmt.Sprint(int96Micros(int96Of(v)))
	case parquet.Types.Float:
		return fmt.Sprint(float32(v) / 2)
	case parquet.Types.Double:
		return fmt.Sprint(float64(v) / 4)
	case parquet.Types.ByteArray:
		return longText(v)
	}
	return fmt.Sprintf("%05d", v%100000)
}

func flatCell(v *columnar.Vec, i int) string {
	if v.IsNull(i) {
		return "-"
	}
	switch v.Phys {
	case columnar.PBool:
		return fmt.Sprint(v.Bool(i))
	case columnar.PI32:
		return fmt.Sprint(v.I32[i])
	case columnar.PI64:
		return fmt.Sprint(v.I64[i])
	case columnar.PF32:
		return fmt.Sprint(v.F32[i])
	case columnar.PF64:
		return fmt.Sprint(v.F64[i])
	}
	return string(v.Bytes(i))
}

// TestFlatColumnsInParts reads files of many forms as a whole and cut anywhere: every row must come once, under
// its number, and in order.
func TestFlatColumnsInParts(t *testing.T) {
	ddl := ""
	for i, k := range flatKinds {
		if i > 0 {
			ddl += ", "
		}
		ddl += k.ddl + " " + k.ddl
	}
	columns, err := types.ParseDDL(ddl)
	if err != nil {
		t.Fatal(err)
	}
	codecs := []compress.Compression{compress.Codecs.Uncompressed, compress.Codecs.Snappy, compress.Codecs.Gzip, compress.Codecs.Zstd}
	coded := 0
	for n := range 20 {
		r := rand.New(rand.NewSource(int64(n)))
		rows := []int{1, 700, leastDivided + 5000}[n%3]
		nullable := n/3%2 == 1
		opts := []parquet.WriterProperty{parquet.WithCompression(codecs[n%4]), parquet.WithDictionaryDefault(n/6%2 == 0),
			parquet.WithDataPageSize(int64(1000 << r.Intn(8))), parquet.WithBatchSize(97), parquet.WithDictionaryPageSizeLimit(int64(500 << r.Intn(10)))}
		if n/2%2 == 1 {
			opts = append(opts, parquet.WithDataPageVersion(parquet.DataPageV2))
		}
		data, want := writeFlat(t, r, rows, 1+(n+1)%3%2, nullable, []int{1, 3, 200, 100000}[r.Intn(4)], parquet.NewWriterProperties(opts...))
		name := fmt.Sprintf("case %d: %d rows, null %v, codec %v", n, len(want), nullable, codecs[n%4])
		var checks []func() // what is owned is looked at when others have read into the same memory
		for _, lent := range []bool{false, true} {
			cuts := []int64{0, int64(len(data))}
			for range r.Intn(6) {
				cuts = append(cuts, r.Int63n(int64(len(data))))
			}
			slices.Sort(cuts)
			var got []string
			var owned []func()
			words := map[string]string{} // by dictionary and number
			for p := 0; p+1 < len(cuts); p++ {
				if cuts[p] == cuts[p+1] {
					continue
				}
				in := fileOf(data)
				in.From, in.To, in.Lent = cuts[p], cuts[p+1], lent
				err := ReadParquetColumns(context.Background(), in, columns, ParquetNames{}, nil, func(cols []*columnar.Vec, first int64, n int) error {
					add := func() {
						if first != int64(len(got)) { // in order
							t.Fatalf("%s: rows %d begin at %d", name, len(got), first)
						}
						for _, c := range cols {
							codes, d, ok := c.Codes()
							for i, k := range codes {
								at := fmt.Sprint(d.Dictionary, " ", k)
								if was, is := words[at], string(c.Bytes(i)); was != "" && was != is+"." || int(k) >= d.Values {
									t.Fatalf("%s: number %d of %d stands for %q and %q", name, k, d.Values, was, is)
								} else {
									words[at] = is + "."
								}
							}
							if ok {
								coded += len(codes)
							}
						}
						for i := range n {
							text := ""
							for _, c := range cols {
								text += flatCell(c, i) + "|"
							}
							got = append(got, text)
						}
					}
					if lent {
						add()
					} else {
						owned = append(owned, add) // read when all else has been read
					}
					return nil
				})
				if err != nil {
					t.Fatalf("%s, part %v: %v", name, cuts[p:p+2], err)
				}
			}
			checks = append(checks, func() {
				for _, add := range owned {
					add()
				}
				if slices.Equal(got, want) {
					return
				}
				for i := range min(len(got), len(want)) {
					if got[i] != want[i] {
						t.Fatalf("%s: row %d is %s, want %s", name, i, got[i], want[i])
					}
				}
				t.Fatalf("%s: %d rows, want %d", name, len(got), len(want))
			})
		}
		for _, check := range checks {
			check()
		}
	}
	if coded < 10_000 {
		t.Errorf("only %d texts have numbers", coded)
	}
}

// TestDividedRowGroup sees that a large row group is really cut.
func TestDividedRowGroup(t *testing.T) {
	data, want := writeFlat(t, rand.New(rand.NewSource(1)), leastDivided+5000, 1, true, 1000,
		parquet.NewWriterProperties(parquet.WithDataPageSize(20_000), parquet.WithBatchSize(500)))
	columns, _ := types.ParseDDL("BIGINT BIGINT, STRING STRING")
	size := int64(len(data))
	for p := range int64(4) {
		in := fileOf(data)
		in.From, in.To = size*p/4, size*(p+1)/4
		rows := 0
		if err := ReadParquetColumns(context.Background(), in, columns, ParquetNames{}, nil, func(_ []*columnar.Vec, _ int64, n int) error {
			rows += n
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		if rows < len(want)/6 || rows > len(want)/3 {
			t.Errorf("part %d has %d of %d rows", p, rows, len(want))
		}
	}
}

// TestOldLevels reads levels as old writers packed them, from the highest bit down.
func TestOldLevels(t *testing.T) {
	in := []byte{0b00_01_10_11, 0b10_00_00_00}
	packed, size, err := packHigh(in, 5, 2)
	if err != nil || size != 2 {
		t.Fatal(size, err)
	}
	var h hybrid
	h.begin(packed, len(packed)-pagePad, 2)
	got := make([]uint32, 5)
	if err := h.read(got); err != nil || !slices.Equal(got, []uint32{0, 1, 2, 3, 2}) {
		t.Fatal(got, err)
	}
}

// TestUnpack compares with reading bit by bit.
func TestUnpack(t *testing.T) {
	r := rand.New(rand.NewSource(2))
	in := make([]byte, 600)
	r.Read(in)
	for width := range 33 {
		for range 20 {
			bit, n := r.Intn(40), r.Intn(100)
			if r.Intn(2) == 0 {
				bit &^= 7
			}
			got := make([]uint32, n)
			unpack(got, in, bit, width)
			for i := range got {
				want := uint32(0)
				for k := range width {
					at := bit + i*width + k
					want |= uint32(in[at>>3]>>(at&7)&1) << k
				}
				if got[i] != want {
					t.Fatalf("width %d, bit %d: number %d is %d, want %d", width, bit, i, got[i], want)
				}
			}
		}
	}
}
