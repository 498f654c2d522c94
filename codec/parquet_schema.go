package codec

import (
	"math"
	"strings"

	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/schema"

	"streamlab/errs"
	"streamlab/sql/types"
)

// sparkSchemaKey is where Spark keeps its own form of the schema in the footer of a Parquet file.
const sparkSchemaKey = "org.apache.spark.sql.parquet.row.metadata"

// element finds the node that holds the elements of a list, and whether it is the repeated node itself: old
// writers left the middle level out.
func listElement(list *schema.GroupNode) (repeated schema.Node, element schema.Node, ok bool) {
	if list.NumFields() != 1 || list.Field(0).RepetitionType() != parquet.Repetitions.Repeated {
		return nil, nil, false
	}
	r := list.Field(0)
	g, isGroup := r.(*schema.GroupNode)
	if !isGroup || g.NumFields() != 1 || g.Name() == "array" || g.Name() == list.Name()+"_tuple" {
		return r, r, true
	}
	return r, g.Field(0), true
}

func isList(n schema.Node) bool {
	if _, ok := n.LogicalType().(schema.ListLogicalType); ok {
		return true
	}
	return n.ConvertedType() == schema.ConvertedTypes.List
}

func isMap(n schema.Node) bool {
	if _, ok := n.LogicalType().(schema.MapLogicalType); ok {
		return true
	}
	return n.ConvertedType() == schema.ConvertedTypes.Map || n.ConvertedType() == schema.ConvertedTypes.MapKeyValue
}

func mapEntries(n *schema.GroupNode) (kv *schema.GroupNode, ok bool) {
	if n.NumFields() != 1 || n.Field(0).RepetitionType() != parquet.Repetitions.Repeated {
		return nil, false
	}
	kv, ok = n.Field(0).(*schema.GroupNode)
	return kv, ok && kv.NumFields() == 2
}

// typeOfNode is the Spark type of a column of a Parquet file. Errors: PARQUET_TYPE_NOT_SUPPORTED and its kin.
func typeOfNode(n schema.Node) (types.DataType, error) {
	if n.RepetitionType() == parquet.Repetitions.Repeated {
		t, err := typeOfOne(n)
		return types.ArrayOf(t, false), err
	}
	return typeOfOne(n)
}

func typeOfOne(n schema.Node) (types.DataType, error) {
	g, isGroup := n.(*schema.GroupNode)
	if !isGroup {
		return typeOfLeaf(n.(*schema.PrimitiveNode))
	}
	switch {
	case isList(n):
		r, e, ok := listElement(g)
		if !ok {
			return types.DataType{}, unsupportedParquet(n)
		}
		t, err := typeOfOne(e)
		return types.ArrayOf(t, r != e && e.RepetitionType() == parquet.Repetitions.Optional), err
	case isMap(n):
		kv, ok := mapEntries(g)
		if !ok {
			return types.DataType{}, unsupportedParquet(n)
		}
		k, err := typeOfOne(kv.Field(0))
		if err != nil {
			return k, err
		}
		v, err := typeOfOne(kv.Field(1))
		return types.MapOf(k, v, kv.Field(1).RepetitionType() == parquet.Repetitions.Optional), err
	}
	if _, ok := n.LogicalType().(schema.VariantLogicalType); ok {
		return types.DataType{}, unsupportedParquet(n)
	}
	var fields []types.Field
	for i := range g.NumFields() {
		f := g.Field(i)
		t, err := typeOfNode(f)
		if err != nil {
			return t, err
		}
		fields = append(fields, types.Field{Name: f.Name(), Type: t, Nullable: f.RepetitionType() != parquet.Repetitions.Required})
	}
	return types.StructOf(fields...), nil
}

func unsupportedParquet(n schema.Node) error {
	text := n.Name()
	if p, ok := n.(*schema.PrimitiveNode); ok {
		text = p.PhysicalType().String()
	}
	if l := n.LogicalType(); l != nil && !l.IsNone() {
		text += " (" + l.String() + ")"
	}
	return errs.New("PARQUET_TYPE_NOT_SUPPORTED", "parquetType", text)
}

func typeOfLeaf(n *schema.PrimitiveNode) (types.DataType, error) {
	switch l := n.LogicalType().(type) {
	case schema.DecimalLogicalType:
		if l.Precision() < 1 || l.Precision() > 38 || l.Scale() < 0 || l.Scale() > l.Precision() {
			return types.DataType{}, unsupportedParquet(n)
		}
		return types.DecimalOf(l.Precision(), l.Scale()), nil
	case schema.DateLogicalType:
		return types.Of(types.Date), nil
	case schema.TimestampLogicalType:
		if l.TimeUnit() == schema.TimeUnitNanos {
			return types.DataType{}, unsupportedParquet(n)
		}
		if l.IsAdjustedToUTC() {
			return types.Of(types.Timestamp), nil
		}
		return types.Of(types.TimestampNTZ), nil
	case schema.TimeLogicalType:
		if l.TimeUnit() != schema.TimeUnitMicros {
			return types.DataType{}, unsupportedParquet(n)
		}
		return types.Of(types.Time), nil
	case schema.StringLogicalType, schema.EnumLogicalType, schema.JSONLogicalType:
		return types.Of(types.String), nil
	case schema.NullLogicalType:
		return types.Of(types.Null), nil
	case schema.IntLogicalType:
		kinds := map[int8]types.Kind{8: types.TinyInt, 16: types.SmallInt, 32: types.Int, 64: types.BigInt}
		if !l.IsSigned() { // the next wider signed type
			kinds = map[int8]types.Kind{8: types.SmallInt, 16: types.Int, 32: types.BigInt}
			if l.BitWidth() == 64 {
				return types.DecimalOf(20, 0), nil
			}
		}
		return types.Of(kinds[l.BitWidth()]), nil
	}
	switch n.PhysicalType() {
	case parquet.Types.Boolean:
		return types.Of(types.Boolean), nil
	case parquet.Types.Int32:
		return types.Of(types.Int), nil
	case parquet.Types.Int64:
		return types.Of(types.BigInt), nil
	case parquet.Types.Int96:
		return types.Of(types.Timestamp), nil
	case parquet.Types.Float:
		return types.Of(types.Float), nil
	case parquet.Types.Double:
		return types.Of(types.Double), nil
	}
	return types.Of(types.Binary), nil
}

// decimalBytes is the length of a fixed byte array that holds p digits.
func decimalBytes(p int32) int {
	return int(math.Ceil((float64(p)*math.Log2(10) + 1) / 8))
}

// FieldIDs gives columns and fields of structs their ids in a file, -1 for none; nil for no ids at all.
type FieldIDs func(types.Field) int32

func (ids FieldIDs) of(f types.Field) int32 {
	if ids == nil {
		return -1
	}
	return ids(f)
}

// nodeOf makes the Parquet node of a column as Spark writes it. Errors: UNSUPPORTED_DATA_TYPE_FOR_DATASOURCE.
func nodeOf(name string, t types.DataType, optional bool, id int32, ids FieldIDs) (schema.Node, error) {
	rep := parquet.Repetitions.Required
	if optional {
		rep = parquet.Repetitions.Optional
	}
	leaf := func(l schema.LogicalType, p parquet.Type, length int) (schema.Node, error) {
		return schema.NewPrimitiveNodeLogical(name, rep, l, p, length, id)
	}
	none := schema.NoLogicalType{}
	switch t.Kind {
	case types.Boolean:
		return leaf(none, parquet.Types.Boolean, -1)
	case types.TinyInt:
		return leaf(schema.NewIntLogicalType(8, true), parquet.Types.Int32, -1)
	case types.SmallInt:
		return leaf(schema.NewIntLogicalType(16, true), parquet.Types.Int32, -1)
	case types.Int, types.YearMonth:
		return leaf(none, parquet.Types.Int32, -1)
	case types.BigInt, types.DayTime:
		return leaf(none, parquet.Types.Int64, -1)
	case types.Float:
		return leaf(none, parquet.Types.Float, -1)
	case types.Double:
		return leaf(none, parquet.Types.Double, -1)
	case types.String:
		return leaf(schema.StringLogicalType{}, parquet.Types.ByteArray, -1)
	case types.Binary:
		return leaf(none, parquet.Types.ByteArray, -1)
	case types.Date:
		return leaf(schema.DateLogicalType{}, parquet.Types.Int32, -1)
	case types.Timestamp:
		return leaf(schema.NewTimestampLogicalType(true, schema.TimeUnitMicros), parquet.Types.Int64, -1)
	case types.TimestampNTZ:
		return leaf(schema.NewTimestampLogicalType(false, schema.TimeUnitMicros), parquet.Types.Int64, -1)
	case types.Time:
		return leaf(schema.NewTimeLogicalType(false, schema.TimeUnitMicros), parquet.Types.Int64, -1)
	case types.Decimal:
		l := schema.NewDecimalLogicalType(t.Precision, t.Scale)
		switch {
		case t.Precision <= 9:
			return leaf(l, parquet.Types.Int32, -1)
		case t.Precision <= 18:
			return leaf(l, parquet.Types.Int64, -1)
		}
		return leaf(l, parquet.Types.FixedLenByteArray, decimalBytes(t.Precision))
	case types.Null:
		rep = parquet.Repetitions.Optional
		return leaf(schema.NullLogicalType{}, parquet.Types.Int32, -1)
	case types.Array:
		e, err := nodeOf("element", *t.Elem, t.ContainsNull, -1, ids)
		if err != nil {
			return nil, err
		}
		r, err := schema.NewGroupNode("list", parquet.Repetitions.Repeated, schema.FieldList{e}, -1)
		if err != nil {
			return nil, err
		}
		return schema.NewGroupNodeLogical(name, rep, schema.FieldList{r}, schema.NewListLogicalType(), id)
	case types.Map:
		k, err := nodeOf("key", *t.Key, false, -1, ids)
		if err != nil {
			return nil, err
		}
		v, err := nodeOf("value", *t.Elem, t.ContainsNull, -1, ids)
		if err != nil {
			return nil, err
		}
		r, err := schema.NewGroupNode("key_value", parquet.Repetitions.Repeated, schema.FieldList{k, v}, -1)
		if err != nil {
			return nil, err
		}
		return schema.NewGroupNodeLogical(name, rep, schema.FieldList{r}, schema.MapLogicalType{}, id)
	case types.Struct:
		var fields schema.FieldList
		for _, f := range t.Fields {
			n, err := nodeOf(f.Name, f.Type, f.Nullable, ids.of(f), ids)
			if err != nil {
				return nil, err
			}
			fields = append(fields, n)
		}
		if len(fields) > 0 {
			return schema.NewGroupNode(name, rep, fields, id)
		}
	}
	return nil, unsupportedColumn("Parquet", name, t)
}

// unwritableParquet finds the part of a type that Parquet files do not hold.
func unwritableParquet(t types.DataType) (types.DataType, bool) {
	switch t.Kind {
	case types.Calendar, types.Variant:
		return t, true
	case types.Struct:
		if len(t.Fields) == 0 {
			return t, true
		}
		for _, f := range t.Fields {
			if bad, ok := unwritableParquet(f.Type); ok {
				return bad, true
			}
		}
	case types.Map:
		if bad, ok := unwritableParquet(*t.Key); ok {
			return bad, true
		}
		return unwritableParquet(*t.Elem)
	case types.Array:
		return unwritableParquet(*t.Elem)
	}
	return t, false
}

// unreadableParquet finds the part of a type that is not read from Parquet files.
func unreadableParquet(t types.DataType) (types.DataType, bool) {
	if t.Kind == types.Struct && len(t.Fields) == 0 {
		return t, false
	}
	return unwritableParquet(t)
}

// sameName compares names as the session does.
func sameName(a, b string, exact bool) bool {
	return a == b || !exact && strings.EqualFold(a, b)
}
