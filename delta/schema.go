package delta

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"streamlab/errs"
	"streamlab/sql/types"
)

// Keys of column metadata.
const (
	keyMappingID   = "delta.columnMapping.id"
	keyPhysical    = "delta.columnMapping.physicalName"
	keyGeneration  = "delta.generationExpression"
	keyIdentStart  = "delta.identity.start"
	keyIdentStep   = "delta.identity.step"
	keyIdentMark   = "delta.identity.highWaterMark"
	keyIdentAllow  = "delta.identity.allowExplicitInsert"
	keyInvariants  = "delta.invariants"
	keyTypeChanges = "delta.typeChanges"
	keyDefault     = "CURRENT_DEFAULT"
	keyExists      = "EXISTS_DEFAULT"
	keyCharVarchar = "__CHAR_VARCHAR_TYPE_STRING"
	keyComment     = "comment"
)

// rawMark stands before metadata values that are not text in JSON, so that they are printed as they came.
const rawMark = "\x00"

// ParseSchema reads a schema as the log holds it. Column metadata becomes Field.Metadata; values that are no
// texts are kept as their JSON behind a NUL. Errors: DELTA_UNSUPPORTED_DATA_TYPES, DELTA_LOG_CORRUPT.
func ParseSchema(text string) (types.Schema, error) {
	if text == "" {
		return types.Schema{}, nil
	}
	t, err := parseType(json.RawMessage(text), 0)
	if err != nil {
		if errs.As(err) != nil {
			return nil, err
		}
		return nil, errs.Wrap(err, "DELTA_LOG_CORRUPT", "file", "metaData", "line", 1, "reason", "the schema cannot be read")
	}
	if t.Kind != types.Struct {
		return nil, errs.New("DELTA_LOG_CORRUPT", "file", "metaData", "line", 1, "reason", "the schema is no struct")
	}
	return types.Schema(t.Fields), nil
}

var primitives = map[string]types.Kind{"string": types.String, "long": types.BigInt, "integer": types.Int, "short": types.SmallInt,
	"byte": types.TinyInt, "float": types.Float, "double": types.Double, "boolean": types.Boolean, "binary": types.Binary,
	"date": types.Date, "timestamp": types.Timestamp, "timestamp_ntz": types.TimestampNTZ, "void": types.Null, "null": types.Null,
	"variant": types.Variant}

var primitiveNames = func() map[types.Kind]string {
	m := map[types.Kind]string{}
	for n, k := range primitives {
		if n != "null" {
			m[k] = n
		}
	}
	return m
}()

func parseType(raw json.RawMessage, depth int) (types.DataType, error) {
	if depth > 512 {
		return types.DataType{}, fmt.Errorf("types are nested too deep")
	}
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 {
		return types.DataType{}, fmt.Errorf("a type is missing")
	}
	if raw[0] == '"' {
		var s string
		if err := json.Unmarshal(raw, &s); err != nil {
			return types.DataType{}, err
		}
		return parsePrimitive(s)
	}
	var o struct {
		Type     string          `json:"type"`
		Elem     json.RawMessage `json:"elementType"`
		HasNull  bool            `json:"containsNull"`
		Key      json.RawMessage `json:"keyType"`
		Value    json.RawMessage `json:"valueType"`
		ValNull  bool            `json:"valueContainsNull"`
		Fields   []fieldJSON     `json:"fields"`
		Class    string          `json:"class"`
		SQLType  json.RawMessage `json:"sqlType"`
		PyClass  string          `json:"pyClass"`
		Provider string          `json:"provider"`
	}
	if err := json.Unmarshal(raw, &o); err != nil {
		return types.DataType{}, err
	}
	switch o.Type {
	case "struct":
		t := types.DataType{Kind: types.Struct, Fields: make([]types.Field, 0, len(o.Fields))}
		for _, f := range o.Fields {
			ft, err := parseType(f.Type, depth+1)
			if err != nil {
				return t, err
			}
			x := types.Field{Name: f.Name, Type: ft, Nullable: f.Nullable == nil || *f.Nullable}
			for _, p := range f.Metadata {
				if x.Metadata == nil {
					x.Metadata = map[string]string{}
				}
				if len(p.Value) > 0 && p.Value[0] == '"' {
					x.Metadata[p.Key] = rawText(p.Value)
				} else {
					x.Metadata[p.Key] = rawMark + string(p.Value)
				}
			}
			t.Fields = append(t.Fields, x)
		}
		return t, nil
	case "array":
		e, err := parseType(o.Elem, depth+1)
		return types.ArrayOf(e, o.HasNull), err
	case "map":
		k, err := parseType(o.Key, depth+1)
		if err != nil {
			return k, err
		}
		v, err := parseType(o.Value, depth+1)
		return types.MapOf(k, v, o.ValNull), err
	}
	return types.DataType{}, errs.New("DELTA_UNSUPPORTED_DATA_TYPES", "dataTypeList", o.Type)
}

type fieldJSON struct {
	Name     string          `json:"name"`
	Type     json.RawMessage `json:"type"`
	Nullable *bool           `json:"nullable"`
	Metadata Pairs           `json:"metadata"`
}

func parsePrimitive(s string) (types.DataType, error) {
	if k, ok := primitives[s]; ok {
		return types.Of(k), nil
	}
	if s == "decimal" {
		return types.DecimalOf(10, 0), nil
	}
	if rest, ok := strings.CutPrefix(s, "decimal("); ok {
		p, sc, ok := strings.Cut(strings.TrimSuffix(rest, ")"), ",")
		pn, err1 := strconv.Atoi(strings.TrimSpace(p))
		sn, err2 := strconv.Atoi(strings.TrimSpace(sc))
		if ok && err1 == nil && err2 == nil && pn >= 1 && pn <= 38 && sn >= 0 && sn <= pn {
			return types.DecimalOf(int32(pn), int32(sn)), nil
		}
	}
	return types.DataType{}, errs.New("DELTA_UNSUPPORTED_DATA_TYPES", "dataTypeList", s)
}

// SchemaString prints a schema as the log holds it. Error: DELTA_UNSUPPORTED_DATA_TYPES.
func SchemaString(s types.Schema) (string, error) {
	b, err := appendType(nil, types.StructOf(s...))
	return string(b), err
}

func appendType(b []byte, t types.DataType) ([]byte, error) {
	var err error
	switch t.Kind {
	case types.Struct:
		b = append(b, `{"type":"struct","fields":[`...)
		for i, f := range t.Fields {
			if i > 0 {
				b = append(b, ',')
			}
			b = append(append(b, `{"name":`...), quoteJSON(f.Name)...)
			if b, err = appendType(append(b, `,"type":`...), f.Type); err != nil {
				return b, err
			}
			b = append(b, `,"nullable":`...)
			b = strconv.AppendBool(b, f.Nullable)
			b = append(b, `,"metadata":{`...)
			for j, k := range metadataKeys(f.Metadata) {
				if j > 0 {
					b = append(b, ',')
				}
				b = append(append(b, quoteJSON(k)...), ':')
				if raw, ok := strings.CutPrefix(f.Metadata[k], rawMark); ok {
					b = append(b, raw...)
				} else {
					b = append(b, quoteJSON(f.Metadata[k])...)
				}
			}
			b = append(b, '}', '}')
		}
		return append(b, ']', '}'), nil
	case types.Array:
		if b, err = appendType(append(b, `{"type":"array","elementType":`...), *t.Elem); err != nil {
			return b, err
		}
		b = append(b, `,"containsNull":`...)
		return append(strconv.AppendBool(b, t.ContainsNull), '}'), nil
	case types.Map:
		if b, err = appendType(append(b, `{"type":"map","keyType":`...), *t.Key); err != nil {
			return b, err
		}
		if b, err = appendType(append(b, `,"valueType":`...), *t.Elem); err != nil {
			return b, err
		}
		b = append(b, `,"valueContainsNull":`...)
		return append(strconv.AppendBool(b, t.ContainsNull), '}'), nil
	case types.Decimal:
		return fmt.Appendf(b, `"decimal(%d,%d)"`, t.Precision, t.Scale), nil
	}
	n, ok := primitiveNames[t.Kind]
	if !ok {
		return b, errs.New("DELTA_UNSUPPORTED_DATA_TYPES", "dataTypeList", "["+t.SQL()+"]")
	}
	return append(append(append(b, '"'), n...), '"'), nil
}

// metadataOrder is the order in which Spark prints the keys it sets itself.
var metadataOrder = []string{keyComment, keyMappingID, keyPhysical, keyGeneration, keyIdentMark, keyIdentStep, keyIdentAllow, keyIdentStart}

func metadataKeys(m map[string]string) []string {
	if len(m) == 0 {
		return nil
	}
	var out []string
	for _, k := range metadataOrder {
		if _, ok := m[k]; ok {
			out = append(out, k)
		}
	}
	for _, k := range sortedKeys(m) {
		known := false
		for _, o := range metadataOrder {
			known = known || o == k
		}
		if !known {
			out = append(out, k)
		}
	}
	return out
}

// with gives a copy of a field with a metadata value; raw JSON if it begins with NUL.
func with(f types.Field, key, value string) types.Field {
	m := make(map[string]string, len(f.Metadata)+1)
	for k, v := range f.Metadata {
		m[k] = v
	}
	m[key] = value
	f.Metadata = m
	return f
}

// without gives a copy of a field that lacks the keys.
func without(f types.Field, keys ...string) types.Field {
	m := map[string]string{}
	for k, v := range f.Metadata {
		m[k] = v
	}
	for _, k := range keys {
		delete(m, k)
	}
	if len(m) == 0 {
		m = nil
	}
	f.Metadata = m
	return f
}

// metaInt reads a number of a field's metadata.
func metaInt(f types.Field, key string) (int64, bool) {
	v, ok := f.Metadata[key]
	if !ok {
		return 0, false
	}
	n, err := strconv.ParseInt(strings.TrimPrefix(v, rawMark), 10, 64)
	return n, err == nil
}

// nullableType is t with everything in it nullable: what a table made of data gets.
func nullableType(t types.DataType) types.DataType {
	switch t.Kind {
	case types.Struct:
		fs := make([]types.Field, len(t.Fields))
		for i, f := range t.Fields {
			fs[i] = types.Field{Name: f.Name, Type: nullableType(f.Type), Nullable: true, Metadata: f.Metadata}
		}
		t.Fields = fs
	case types.Array:
		t = types.ArrayOf(nullableType(*t.Elem), true)
	case types.Map:
		t = types.MapOf(nullableType(*t.Key), nullableType(*t.Elem), true)
	}
	return t
}

// AsNullable is a schema with everything in it nullable.
func AsNullable(s types.Schema) types.Schema {
	return types.Schema(nullableType(types.StructOf(s...)).Fields)
}
