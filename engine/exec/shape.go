package exec

import (
	"fmt"
	"strings"

	"streamlab/errs"
	"streamlab/sql/types"
)

// OperatorShape is what a checkpoint remembers of a stateful operator.
type OperatorShape struct {
	Name  string `json:"name"`
	Key   string `json:"key"`   // schema in Spark's words
	Value string `json:"value"` // likewise
	// KeyTypes and ValueTypes are the types by position, "?" behind those that may be null: what a restart
	// compares. Names may change.
	KeyTypes   []string `json:"keyTypes,omitempty"`
	ValueTypes []string `json:"valueTypes,omitempty"`
}

func newShape(name string, keys, values types.Schema) OperatorShape {
	return OperatorShape{Name: name, Key: structType(keys), Value: structType(values),
		KeyTypes: shapeTypes(keys), ValueTypes: shapeTypes(values)}
}

func shapeTypes(s types.Schema) []string {
	out := make([]string, len(s))
	for i, f := range s {
		out[i] = f.Type.Simple()
		if f.Nullable {
			out[i] += "?"
		}
	}
	return out
}

// SameKeys reports whether state written with shape s can be read with the keys of now: the same types in
// the same places, and nothing that may be null where it could not be before.
func (s OperatorShape) SameKeys(now OperatorShape) bool { return fits(s.KeyTypes, now.KeyTypes) }

// SameValues is SameKeys for values.
func (s OperatorShape) SameValues(now OperatorShape) bool { return fits(s.ValueTypes, now.ValueTypes) }

func fits(was, now []string) bool {
	if len(was) != len(now) {
		return false
	}
	for i, w := range was {
		if w != now[i] && w != now[i]+"?" {
			return false
		}
	}
	return true
}

// structType prints a schema as Spark prints a StructType.
func structType(s types.Schema) string {
	var b strings.Builder
	b.WriteString("StructType(")
	for i, f := range s {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, "StructField(%s,%s,%v)", f.Name, f.Type.Simple(), f.Nullable)
	}
	return b.String() + ")"
}

// checkKeys refuses keys of state that are not equal byte by byte.
func checkKeys(s types.Schema) error {
	for _, f := range s {
		if f.Type.Collation != "" && f.Type.Collation != "UTF8_BINARY" {
			return errs.New("STATE_STORE_UNSUPPORTED_OPERATION_BINARY_INEQUALITY", "schema", s.DDL())
		}
	}
	return nil
}

// checkTimes refuses more than one event time where there may be one.
func checkTimes(s types.Schema) error {
	var names []string
	for _, f := range s {
		if f.DelayMicros > 0 {
			names = append(names, f.Name)
		}
	}
	if len(names) > 1 {
		return errs.New("_LEGACY_ERROR_TEMP_3077", "eventTimeCols", "("+strings.Join(names, ",")+")")
	}
	return nil
}
