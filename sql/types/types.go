// Package types holds Spark's data types and schemas, their texts and their Arrow form.
//
// A DataType is a small immutable value that is compared with Equal, printed with SQL (INT, ARRAY<STRING>:
// what errors and DDL show) or Simple (int, array<string>: what schemas show). A Schema is an ordered list
// of fields; names need not be unique, as in Spark.
package types

import (
	"fmt"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
)

// Kind says which type a DataType is.
type Kind uint8

// The kinds, in the order of Spark's numeric precedence where there is one.
const (
	Null Kind = iota // the type of NULL, VOID in SQL
	Boolean
	TinyInt
	SmallInt
	Int
	BigInt
	Decimal
	Float
	Double
	String
	Binary
	Date         // days since 1970-01-01
	Timestamp    // microseconds since the epoch, UTC; shown in the session time zone
	TimestampNTZ // microseconds since 1970-01-01T00:00 of no zone
	Time         // nanoseconds since midnight
	YearMonth    // months
	DayTime      // microseconds
	Calendar     // months, days, microseconds: three children
	Array
	Map
	Struct
	Variant
)

// Interval units of YearMonth (0 year, 1 month) and DayTime (0 day .. 3 second) types.
const (
	Year uint8 = iota
	Month
)

// Interval units of DayTime types.
const (
	Day uint8 = iota
	Hour
	Minute
	Second
)

// DataType is one of Spark's types. The zero value is Null.
type DataType struct {
	Kind         Kind
	Precision    int32 // Decimal 1..38; Time 0..6
	Scale        int32 // Decimal
	From, To     uint8 // YearMonth, DayTime: units
	Length       int32 // String: CHAR(n) or VARCHAR(n); 0 is STRING
	Fixed        bool  // String with Length: CHAR
	Collation    string
	Elem         *DataType // Array: element; Map: value
	Key          *DataType // Map
	ContainsNull bool      // Array elements, Map values
	Fields       []Field   // Struct
}

// Field is a named column of a struct or schema.
type Field struct {
	Name     string
	Type     DataType
	Nullable bool
	// DelayMicros is the watermark delay when the column is an event time, plus one; 0 if it is none.
	DelayMicros int64
	Metadata    map[string]string // comment, …; nil mostly
}

// Schema is the ordered columns of a relation.
type Schema []Field

// Of makes a type that needs no parameters.
func Of(k Kind) DataType {
	switch k {
	case Decimal:
		return DecimalOf(10, 0)
	case DayTime:
		return DataType{Kind: DayTime, From: Day, To: Second}
	case YearMonth:
		return DataType{Kind: YearMonth, From: Year, To: Month}
	case Time:
		return DataType{Kind: Time, Precision: 6}
	}
	return DataType{Kind: k}
}

// DecimalOf is DECIMAL(p, s), unchecked.
func DecimalOf(p, s int32) DataType { return DataType{Kind: Decimal, Precision: p, Scale: s} }

// ArrayOf is ARRAY<elem>.
func ArrayOf(elem DataType, containsNull bool) DataType {
	return DataType{Kind: Array, Elem: &elem, ContainsNull: containsNull}
}

// MapOf is MAP<key, value>.
func MapOf(key, value DataType, containsNull bool) DataType {
	return DataType{Kind: Map, Key: &key, Elem: &value, ContainsNull: containsNull}
}

// StructOf is STRUCT<fields>.
func StructOf(fields ...Field) DataType { return DataType{Kind: Struct, Fields: fields} }

// Equal compares types without regard to nullability, metadata or watermark delays.
func (t DataType) Equal(u DataType) bool {
	if t.Kind != u.Kind || t.Precision != u.Precision || t.Scale != u.Scale || t.From != u.From ||
		t.To != u.To || t.Length != u.Length || t.Fixed != u.Fixed || t.Collation != u.Collation || len(t.Fields) != len(u.Fields) {
		return false
	}
	if t.Elem != nil && (u.Elem == nil || !t.Elem.Equal(*u.Elem)) {
		return false
	}
	if t.Key != nil && (u.Key == nil || !t.Key.Equal(*u.Key)) {
		return false
	}
	for i := range t.Fields {
		if t.Fields[i].Name != u.Fields[i].Name || !t.Fields[i].Type.Equal(u.Fields[i].Type) {
			return false
		}
	}
	return true
}

// IsIntegral reports TINYINT to BIGINT.
func (t DataType) IsIntegral() bool { return t.Kind >= TinyInt && t.Kind <= BigInt }

// Holds reports that an integral type has the number n. Other kinds hold all.
func (k Kind) Holds(n int64) bool {
	switch k {
	case TinyInt:
		return n == int64(int8(n))
	case SmallInt:
		return n == int64(int16(n))
	case Int:
		return n == int64(int32(n))
	}
	return true
}

// IsNumeric reports integral types, DECIMAL, FLOAT and DOUBLE.
func (t DataType) IsNumeric() bool { return t.Kind >= TinyInt && t.Kind <= Double }

// IsFractional reports FLOAT and DOUBLE.
func (t DataType) IsFractional() bool { return t.Kind == Float || t.Kind == Double }

// IsDatetime reports DATE, TIMESTAMP and TIMESTAMP_NTZ.
func (t DataType) IsDatetime() bool { return t.Kind >= Date && t.Kind <= TimestampNTZ }

// IsInterval reports the three interval types.
func (t DataType) IsInterval() bool { return t.Kind >= YearMonth && t.Kind <= Calendar }

// IsAtomic reports types without children (Calendar counts as atomic).
func (t DataType) IsAtomic() bool { return t.Kind < Array }

var sqlNames = [...]string{Null: "VOID", Boolean: "BOOLEAN", TinyInt: "TINYINT", SmallInt: "SMALLINT", Int: "INT",
	BigInt: "BIGINT", Float: "FLOAT", Double: "DOUBLE", Binary: "BINARY", Date: "DATE", Timestamp: "TIMESTAMP",
	TimestampNTZ: "TIMESTAMP_NTZ", Calendar: "INTERVAL", Variant: "VARIANT"}

var yearMonthUnits = [...]string{"YEAR", "MONTH"}
var dayTimeUnits = [...]string{"DAY", "HOUR", "MINUTE", "SECOND"}

// SQL prints the type as errors show it: "INT", "ARRAY<STRING>", "STRUCT<a: INT NOT NULL>".
func (t DataType) SQL() string {
	switch t.Kind {
	case Decimal:
		return fmt.Sprintf("DECIMAL(%d,%d)", t.Precision, t.Scale)
	case String:
		switch {
		case t.Length > 0 && t.Fixed:
			return fmt.Sprintf("CHAR(%d)", t.Length)
		case t.Length > 0:
			return fmt.Sprintf("VARCHAR(%d)", t.Length)
		case t.Collation != "" && t.Collation != "UTF8_BINARY":
			return "STRING COLLATE " + t.Collation
		}
		return "STRING"
	case Time:
		return fmt.Sprintf("TIME(%d)", t.Precision)
	case YearMonth:
		return "INTERVAL " + units(yearMonthUnits[:], t.From, t.To)
	case DayTime:
		return "INTERVAL " + units(dayTimeUnits[:], t.From, t.To)
	case Array:
		return "ARRAY<" + t.Elem.SQL() + ">"
	case Map:
		return "MAP<" + t.Key.SQL() + ", " + t.Elem.SQL() + ">"
	case Struct:
		var b strings.Builder
		b.WriteString("STRUCT<")
		for i, f := range t.Fields {
			if i > 0 {
				b.WriteString(", ")
			}
			b.WriteString(QuoteIfNeeded(f.Name) + ": " + f.Type.SQL())
			if !f.Nullable {
				b.WriteString(" NOT NULL")
			}
		}
		return b.String() + ">"
	}
	return sqlNames[t.Kind]
}

// Simple prints the type as Spark's simpleString does: "int", "array<string>", "struct<a:int>".
func (t DataType) Simple() string {
	switch t.Kind {
	case Array:
		return "array<" + t.Elem.Simple() + ">"
	case Map:
		return "map<" + t.Key.Simple() + "," + t.Elem.Simple() + ">"
	case Struct:
		return Schema(t.Fields).Simple()
	case String:
		if t.Collation != "" && t.Collation != "UTF8_BINARY" {
			return "string collate " + t.Collation
		}
	}
	return strings.ToLower(t.SQL())
}

func (t DataType) String() string { return t.SQL() }

func units(names []string, from, to uint8) string {
	if from == to {
		return names[from]
	}
	return names[from] + " TO " + names[to]
}

// Simple prints "struct<a:int,b:string>".
func (s Schema) Simple() string {
	var b strings.Builder
	b.WriteString("struct<")
	for i, f := range s {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(f.Name + ":" + f.Type.Simple())
	}
	return b.String() + ">"
}

// DDL prints "a INT,b STRING NOT NULL", which ParseDDL reads back.
func (s Schema) DDL() string {
	var b strings.Builder
	for i, f := range s {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(QuoteIfNeeded(f.Name) + " " + f.Type.SQL())
		if !f.Nullable {
			b.WriteString(" NOT NULL")
		}
	}
	return b.String()
}

// Index finds a column by name without regard to case; -1 if there is none.
func (s Schema) Index(name string) int {
	for i, f := range s {
		if strings.EqualFold(f.Name, name) {
			return i
		}
	}
	return -1
}

// Names lists the column names in order.
func (s Schema) Names() []string {
	out := make([]string, len(s))
	for i, f := range s {
		out[i] = f.Name
	}
	return out
}

// Equal compares names and types in order.
func (s Schema) Equal(u Schema) bool { return StructOf(s...).Equal(StructOf(u...)) }

// QuoteIfNeeded puts backquotes around a name that is not a plain identifier.
func QuoteIfNeeded(name string) string {
	plain := name != ""
	digits := true
	for i := 0; i < len(name); i++ {
		c := name[i]
		if !(c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z') {
			plain = false
		}
		digits = digits && c >= '0' && c <= '9'
	}
	if plain && !digits {
		return name
	}
	return Quote(name)
}

// Quote puts backquotes around a name; a backquote inside is doubled.
func Quote(name string) string { return "`" + strings.ReplaceAll(name, "`", "``") + "`" }

// Arrow gives the Arrow type that carries values of t between operators.
func (t DataType) Arrow() arrow.DataType {
	switch t.Kind {
	case Null:
		return arrow.Null
	case Boolean:
		return arrow.FixedWidthTypes.Boolean
	case TinyInt:
		return arrow.PrimitiveTypes.Int8
	case SmallInt:
		return arrow.PrimitiveTypes.Int16
	case Int, YearMonth:
		return arrow.PrimitiveTypes.Int32
	case BigInt, DayTime:
		return arrow.PrimitiveTypes.Int64
	case Decimal:
		return &arrow.Decimal128Type{Precision: t.Precision, Scale: t.Scale}
	case Float:
		return arrow.PrimitiveTypes.Float32
	case Double:
		return arrow.PrimitiveTypes.Float64
	case String:
		return arrow.BinaryTypes.String
	case Binary, Variant:
		return arrow.BinaryTypes.Binary
	case Date:
		return arrow.FixedWidthTypes.Date32
	case Timestamp:
		return &arrow.TimestampType{Unit: arrow.Microsecond, TimeZone: "UTC"}
	case TimestampNTZ:
		return &arrow.TimestampType{Unit: arrow.Microsecond}
	case Time:
		return &arrow.Time64Type{Unit: arrow.Nanosecond}
	case Calendar:
		return arrow.StructOf(
			arrow.Field{Name: "months", Type: arrow.PrimitiveTypes.Int32},
			arrow.Field{Name: "days", Type: arrow.PrimitiveTypes.Int32},
			arrow.Field{Name: "micros", Type: arrow.PrimitiveTypes.Int64})
	case Array:
		return arrow.ListOfField(arrow.Field{Name: "element", Type: t.Elem.Arrow(), Nullable: t.ContainsNull})
	case Map:
		m := arrow.MapOf(t.Key.Arrow(), t.Elem.Arrow())
		m.SetItemNullable(t.ContainsNull)
		return m
	case Struct:
		fs := make([]arrow.Field, len(t.Fields))
		for i, f := range t.Fields {
			fs[i] = f.Arrow()
		}
		return arrow.StructOf(fs...)
	}
	return arrow.Null
}

// Arrow gives the Arrow field of a column.
func (f Field) Arrow() arrow.Field {
	return arrow.Field{Name: f.Name, Type: f.Type.Arrow(), Nullable: f.Nullable}
}

// Arrow gives the Arrow schema; columns keep their order.
func (s Schema) Arrow() *arrow.Schema {
	fs := make([]arrow.Field, len(s))
	for i, f := range s {
		fs[i] = f.Arrow()
	}
	return arrow.NewSchema(fs, nil)
}
