package expr

import "streamlab/sql/types"

// variantEntryType is what variant_explode gives for each element or field.
var variantEntryType = types.ArrayOf(types.StructOf(types.Field{Name: "pos", Type: tInt}, types.Field{Name: "key", Type: tString, Nullable: true},
	types.Field{Name: "value", Type: tVariant}), false)

// VariantEntries makes the array of structs (pos, key, value) of the elements of a VARIANT array, whose keys
// are null, or of the fields of an object. Other values and NULL give NULL.
func VariantEntries(v Expr) Expr {
	s := NewScalar("variant_entries", variantEntryType, true, []Expr{v}, "", nil)
	s.NullIfAnyNull = true
	s.Fresh = func() Kernel {
		var sc jsonScanner
		var key []byte
		return valueRows(func(r *row, a *Appender) error {
			b := r.bytes(0)
			if len(b) == 0 || b[0] != '[' && b[0] != '{' {
				return errNull
			}
			object := b[0] == '{'
			sc.s = b
			n := int32(0)
			entry := a.Kid(0)
			for i := sc.space(1); i < len(b) && b[i] != ']' && b[i] != '}'; n++ {
				entry.Kid(0).AppendI32(n)
				if object {
					end := sc.skip(i)
					key = appendUnquoted(key[:0], b[i:end])
					entry.Kid(1).AppendBytes(key)
					i = sc.space(sc.space(end) + 1) // behind the colon
				} else {
					entry.Kid(1).AppendNull()
				}
				end := sc.skip(i)
				entry.Kid(2).AppendBytes(b[i:end])
				entry.End()
				if i = sc.space(end); i < len(b) && b[i] == ',' {
					i = sc.space(i + 1)
				}
			}
			a.End()
			return nil
		})
	}
	return s
}
