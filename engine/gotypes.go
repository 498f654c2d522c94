package engine

import (
	"bytes"
	"encoding/binary"
	"math"
	"reflect"
	"sort"
	"strings"
	"time"

	"streamlab/errs"
	"streamlab/sql/types"
)

// A goType carries values between a Go type and the cells of a column (exec.Groups says what cells are). What
// Go types stand for: bool BOOLEAN; int8, int16, int32 TINYINT, SMALLINT, INT; int, int64 BIGINT; float32,
// float64 FLOAT, DOUBLE; string STRING; []byte BINARY; time.Time TIMESTAMP (microseconds); time.Duration
// INTERVAL DAY TO SECOND; other slices ARRAY; maps MAP; structs STRUCT of their exported fields, whose names are
// those of the fields or of a tag `col:"name"`, "-" for none. A pointer is a value that may be null.
type goType struct {
	t        types.DataType
	nullable bool
	enc      func(b []byte, v reflect.Value) []byte
	dec      func(b []byte, v reflect.Value, path string) ([]byte, error) // v is settable
}

var (
	timeType     = reflect.TypeFor[time.Time]()
	durationType = reflect.TypeFor[time.Duration]()
	bytesType    = reflect.TypeFor[[]byte]()
)

// fixed makes a goType of a value of n bytes.
func fixed(k types.Kind, n int, get func(v reflect.Value) uint64, set func(v reflect.Value, x uint64)) goType {
	return goType{t: types.Of(k), enc: func(b []byte, v reflect.Value) []byte {
		x := get(v)
		b = append(b, 1)
		for range n {
			b = append(b, byte(x))
			x >>= 8
		}
		return b
	}, dec: notNull(func(b []byte, v reflect.Value, _ string) ([]byte, error) {
		x := uint64(0)
		for i := n - 1; i >= 0; i-- {
			x = x<<8 | uint64(b[i])
		}
		set(v, x)
		return b[n:], nil
	})}
}

// notNull takes the first byte of a cell off and refuses null.
func notNull(f func(b []byte, v reflect.Value, path string) ([]byte, error)) func([]byte, reflect.Value, string) ([]byte, error) {
	return func(b []byte, v reflect.Value, path string) ([]byte, error) {
		if b[0] == 0 {
			return nil, errs.New("NOT_NULL_ASSERT_VIOLATION", "walkedTypePath", path)
		}
		return f(b[1:], v, path)
	}
}

func intType(k types.Kind, n int) goType {
	shift := uint(64 - 8*n)
	return fixed(k, n, func(v reflect.Value) uint64 { return uint64(v.Int()) },
		func(v reflect.Value, x uint64) { v.SetInt(int64(x<<shift) >> shift) })
}

// goTypeOf finds how a Go type is carried. Errors: UNSUPPORTED_GO_TYPE.
func goTypeOf(rt reflect.Type) (goType, error) {
	switch rt {
	case timeType:
		return fixed(types.Timestamp, 8, func(v reflect.Value) uint64 { return uint64(v.Interface().(time.Time).UnixMicro()) },
			func(v reflect.Value, x uint64) { v.Set(reflect.ValueOf(time.UnixMicro(int64(x)).UTC())) }), nil
	case durationType:
		g := fixed(types.DayTime, 8, func(v reflect.Value) uint64 { return uint64(v.Int() / 1000) },
			func(v reflect.Value, x uint64) { v.SetInt(int64(x) * 1000) })
		dt, err := types.ParseDDL("d INTERVAL DAY TO SECOND")
		if err == nil {
			g.t = dt[0].Type
		}
		return g, err
	case bytesType:
		return goType{t: types.Of(types.Binary), enc: func(b []byte, v reflect.Value) []byte { return appendText(b, v.Bytes()) },
			dec: notNull(func(b []byte, v reflect.Value, _ string) ([]byte, error) {
				n := binary.LittleEndian.Uint32(b)
				v.SetBytes(bytes.Clone(b[4 : 4+n]))
				return b[4+n:], nil
			})}, nil
	}
	switch rt.Kind() {
	case reflect.Bool:
		return fixed(types.Boolean, 1, func(v reflect.Value) uint64 {
			if v.Bool() {
				return 1
			}
			return 0
		}, func(v reflect.Value, x uint64) { v.SetBool(x != 0) }), nil
	case reflect.Int8:
		return intType(types.TinyInt, 1), nil
	case reflect.Int16:
		return intType(types.SmallInt, 2), nil
	case reflect.Int32:
		return intType(types.Int, 4), nil
	case reflect.Int, reflect.Int64:
		return intType(types.BigInt, 8), nil
	case reflect.Float32:
		return fixed(types.Float, 4, func(v reflect.Value) uint64 { return uint64(math.Float32bits(float32(v.Float()))) },
			func(v reflect.Value, x uint64) { v.SetFloat(float64(math.Float32frombits(uint32(x)))) }), nil
	case reflect.Float64:
		return fixed(types.Double, 8, func(v reflect.Value) uint64 { return math.Float64bits(v.Float()) },
			func(v reflect.Value, x uint64) { v.SetFloat(math.Float64frombits(x)) }), nil
	case reflect.String:
		return goType{t: types.Of(types.String), enc: func(b []byte, v reflect.Value) []byte { return appendText(b, []byte(v.String())) },
			dec: notNull(func(b []byte, v reflect.Value, _ string) ([]byte, error) {
				n := binary.LittleEndian.Uint32(b)
				v.SetString(string(b[4 : 4+n]))
				return b[4+n:], nil
			})}, nil
	case reflect.Pointer:
		return pointerType(rt)
	case reflect.Slice:
		return sliceType(rt)
	case reflect.Map:
		return mapType(rt)
	case reflect.Struct:
		s, err := structOf(rt)
		if err != nil {
			return goType{}, err
		}
		return goType{t: types.StructOf(s.schema...), enc: func(b []byte, v reflect.Value) []byte { return s.encode(append(b, 1), v) },
			dec: notNull(s.decode)}, nil
	}
	return goType{}, errs.New("UNSUPPORTED_GO_TYPE", "type", rt.String())
}

func appendText(b, s []byte) []byte {
	b = binary.LittleEndian.AppendUint32(append(b, 1), uint32(len(s)))
	return append(b, s...)
}

func pointerType(rt reflect.Type) (goType, error) {
	g, err := goTypeOf(rt.Elem())
	if err != nil {
		return g, err
	}
	if g.nullable {
		return g, errs.New("UNSUPPORTED_GO_TYPE", "type", rt.String())
	}
	return goType{t: g.t, nullable: true, enc: func(b []byte, v reflect.Value) []byte {
		if v.IsNil() {
			return append(b, 0)
		}
		return g.enc(b, v.Elem())
	}, dec: func(b []byte, v reflect.Value, path string) ([]byte, error) {
		if b[0] == 0 {
			v.SetZero()
			return b[1:], nil
		}
		v.Set(reflect.New(rt.Elem()))
		return g.dec(b, v.Elem(), path)
	}}, nil
}

func sliceType(rt reflect.Type) (goType, error) {
	g, err := goTypeOf(rt.Elem())
	if err != nil {
		return g, err
	}
	return goType{t: types.ArrayOf(g.t, g.nullable), nullable: true, enc: func(b []byte, v reflect.Value) []byte {
		if v.IsNil() {
			return append(b, 0)
		}
		b = binary.LittleEndian.AppendUint32(append(b, 1), uint32(v.Len()))
		for i := range v.Len() {
			b = g.enc(b, v.Index(i))
		}
		return b
	}, dec: func(b []byte, v reflect.Value, path string) (_ []byte, err error) {
		if b[0] == 0 {
			v.SetZero()
			return b[1:], nil
		}
		n := int(binary.LittleEndian.Uint32(b[1:]))
		b = b[5:]
		v.Set(reflect.MakeSlice(rt, n, n))
		for i := range n {
			if b, err = g.dec(b, v.Index(i), path+"[]"); err != nil {
				return nil, err
			}
		}
		return b, nil
	}}, nil
}

func mapType(rt reflect.Type) (goType, error) {
	k, err := goTypeOf(rt.Key())
	if err != nil {
		return k, err
	}
	e, err := goTypeOf(rt.Elem())
	if err != nil {
		return e, err
	}
	return goType{t: types.MapOf(k.t, e.t, e.nullable), nullable: true, enc: func(b []byte, v reflect.Value) []byte {
		if v.IsNil() {
			return append(b, 0)
		}
		b = binary.LittleEndian.AppendUint32(append(b, 1), uint32(v.Len()))
		entries := make([]string, 0, v.Len())
		for it := v.MapRange(); it.Next(); {
			entries = append(entries, string(e.enc(k.enc(nil, it.Key()), it.Value())))
		}
		sort.Strings(entries) // equal maps have equal cells
		return append(b, strings.Join(entries, "")...)
	}, dec: func(b []byte, v reflect.Value, path string) (_ []byte, err error) {
		if b[0] == 0 {
			v.SetZero()
			return b[1:], nil
		}
		n := int(binary.LittleEndian.Uint32(b[1:]))
		b = b[5:]
		v.Set(reflect.MakeMapWithSize(rt, n))
		for range n {
			key, elem := reflect.New(rt.Key()).Elem(), reflect.New(rt.Elem()).Elem()
			if b, err = k.dec(b, key, path+".key"); err != nil {
				return nil, err
			}
			if b, err = e.dec(b, elem, path+".value"); err != nil {
				return nil, err
			}
			v.SetMapIndex(key, elem)
		}
		return b, nil
	}}, nil
}

// goStruct is a Go struct as a row.
type goStruct struct {
	schema types.Schema
	fields []int
	codecs []goType
}

func structOf(rt reflect.Type) (*goStruct, error) {
	s := &goStruct{}
	for i := range rt.NumField() {
		f := rt.Field(i)
		name := f.Tag.Get("col")
		if !f.IsExported() || name == "-" {
			continue
		}
		if name == "" {
			name = f.Name
		}
		g, err := goTypeOf(f.Type)
		if err != nil {
			return nil, err
		}
		s.schema = append(s.schema, types.Field{Name: name, Type: g.t, Nullable: g.nullable})
		s.fields = append(s.fields, i)
		s.codecs = append(s.codecs, g)
	}
	return s, nil
}

func (s *goStruct) encode(b []byte, v reflect.Value) []byte {
	for i, f := range s.fields {
		b = s.codecs[i].enc(b, v.Field(f))
	}
	return b
}

func (s *goStruct) decode(b []byte, v reflect.Value, path string) (_ []byte, err error) {
	for i, f := range s.fields {
		p := s.schema[i].Name
		if path != "" {
			p = path + "." + p
		}
		if b, err = s.codecs[i].dec(b, v.Field(f), p); err != nil {
			return nil, err
		}
	}
	return b, nil
}

// goRow is a Go type as a whole row: a struct by its fields, anything else as one column "value".
type goRow[T any] struct {
	schema types.Schema
	enc    func(b []byte, v reflect.Value) []byte
	dec    func(b []byte, v reflect.Value, path string) ([]byte, error)
	scalar bool
}

func goRowOf[T any]() (*goRow[T], error) {
	rt := reflect.TypeFor[T]()
	if rt.Kind() == reflect.Struct && rt != timeType {
		s, err := structOf(rt)
		if err != nil {
			return nil, err
		}
		return &goRow[T]{schema: s.schema, enc: s.encode, dec: s.decode}, nil
	}
	g, err := goTypeOf(rt)
	if err != nil {
		return nil, err
	}
	return &goRow[T]{schema: types.Schema{{Name: "value", Type: g.t, Nullable: g.nullable}}, enc: g.enc, dec: g.dec, scalar: true}, nil
}

// encode appends the cells of a value.
func (r *goRow[T]) encode(b []byte, v *T) []byte { return r.enc(b, reflect.ValueOf(v).Elem()) }

// decode reads a value. Errors: NOT_NULL_ASSERT_VIOLATION where a null stands and the Go type has none.
func (r *goRow[T]) decode(cells []byte) (v T, err error) {
	_, err = r.dec(cells, reflect.ValueOf(&v).Elem(), "")
	return v, err
}

// goValue is a Go type as one value: what state variables hold.
type goValue[T any] struct{ g goType }

func goValueOf[T any]() (*goValue[T], error) {
	g, err := goTypeOf(reflect.TypeFor[T]())
	return &goValue[T]{g}, err
}

func (r *goValue[T]) encode(b []byte, v *T) []byte { return r.g.enc(b, reflect.ValueOf(v).Elem()) }

func (r *goValue[T]) decode(cells []byte) (v T, err error) {
	_, err = r.g.dec(cells, reflect.ValueOf(&v).Elem(), "")
	return v, err
}
