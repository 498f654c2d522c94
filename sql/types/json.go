package types

import (
	"encoding/json"
	"fmt"
	"strings"
)

// jsonNames are the names of types in Spark's JSON form of a schema, where they differ from the DDL names.
var jsonNames = map[Kind]string{Int: "integer", BigInt: "long", SmallInt: "short", TinyInt: "byte"}

// JSON is Spark's JSON form of a schema: what StructType.json prints and Parquet footers hold.
func (s Schema) JSON() string { return string(appendStructJSON(nil, s)) }

func appendStructJSON(b []byte, fields []Field) []byte {
	b = append(b, `{"type":"struct","fields":[`...)
	for i, f := range fields {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, `{"name":`...)
		b = appendJSONText(b, f.Name)
		b = append(b, `,"type":`...)
		b = appendTypeJSON(b, f.Type)
		b = fmt.Appendf(b, `,"nullable":%t,"metadata":{`, f.Nullable)
		if c, ok := f.Metadata["comment"]; ok {
			b = append(b, `"comment":`...)
			b = appendJSONText(b, c)
		}
		b = append(b, "}}"...)
	}
	return append(b, "]}"...)
}

func appendJSONText(b []byte, s string) []byte {
	t, _ := json.Marshal(s)
	return append(b, t...)
}

func appendTypeJSON(b []byte, t DataType) []byte {
	switch t.Kind {
	case Array:
		b = append(b, `{"type":"array","elementType":`...)
		b = appendTypeJSON(b, *t.Elem)
		return fmt.Appendf(b, `,"containsNull":%t}`, t.ContainsNull)
	case Map:
		b = append(b, `{"type":"map","keyType":`...)
		b = appendTypeJSON(b, *t.Key)
		b = append(b, `,"valueType":`...)
		b = appendTypeJSON(b, *t.Elem)
		return fmt.Appendf(b, `,"valueContainsNull":%t}`, t.ContainsNull)
	case Struct:
		return appendStructJSON(b, t.Fields)
	case String:
		return append(b, `"string"`...)
	}
	name, ok := jsonNames[t.Kind]
	if !ok {
		name = t.Simple()
	}
	return appendJSONText(b, name)
}

type jsonField struct {
	Name     string                     `json:"name"`
	Type     json.RawMessage            `json:"type"`
	Nullable bool                       `json:"nullable"`
	Metadata map[string]json.RawMessage `json:"metadata"`
}

type jsonType struct {
	Type              string          `json:"type"`
	Fields            []jsonField     `json:"fields"`
	ElementType       json.RawMessage `json:"elementType"`
	ContainsNull      bool            `json:"containsNull"`
	KeyType           json.RawMessage `json:"keyType"`
	ValueType         json.RawMessage `json:"valueType"`
	ValueContainsNull bool            `json:"valueContainsNull"`
}

// maxJSONDepth bounds the nesting of a schema that comes from a file.
const maxJSONDepth = 200

// ParseSchemaJSON reads Spark's JSON form of a schema. It returns a plain error: callers know what the text
// was for.
func ParseSchemaJSON(text string) (Schema, error) {
	t, err := parseTypeJSON(json.RawMessage(text), 0)
	if err != nil {
		return nil, err
	}
	if t.Kind != Struct {
		return nil, fmt.Errorf("the schema is a %s, not a struct", t.SQL())
	}
	return t.Fields, nil
}

func parseTypeJSON(raw json.RawMessage, depth int) (DataType, error) {
	if depth > maxJSONDepth {
		return DataType{}, fmt.Errorf("the schema is nested too deeply")
	}
	var name string
	if json.Unmarshal(raw, &name) == nil {
		for k, n := range jsonNames {
			if n == name {
				return Of(k), nil
			}
		}
		t, err := ParseType(name)
		if err != nil {
			return t, fmt.Errorf("unknown type %q", name)
		}
		return t, nil
	}
	var j jsonType
	if err := json.Unmarshal(raw, &j); err != nil {
		return DataType{}, err
	}
	switch strings.ToLower(j.Type) {
	case "array":
		e, err := parseTypeJSON(j.ElementType, depth+1)
		return ArrayOf(e, j.ContainsNull), err
	case "map":
		k, err := parseTypeJSON(j.KeyType, depth+1)
		if err != nil {
			return k, err
		}
		v, err := parseTypeJSON(j.ValueType, depth+1)
		return MapOf(k, v, j.ValueContainsNull), err
	case "struct":
		var fields []Field
		for _, f := range j.Fields {
			t, err := parseTypeJSON(f.Type, depth+1)
			if err != nil {
				return t, err
			}
			out := Field{Name: f.Name, Type: t, Nullable: f.Nullable}
			var comment string
			if json.Unmarshal(f.Metadata["comment"], &comment) == nil && comment != "" {
				out.Metadata = map[string]string{"comment": comment}
			}
			fields = append(fields, out)
		}
		return StructOf(fields...), nil
	}
	return DataType{}, fmt.Errorf("unknown type %q", j.Type)
}
