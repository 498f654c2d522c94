package files

import (
	"path/filepath"
	"sort"
	"strconv"
	"strings"

	"streamlab/codec"
	"streamlab/errs"
	"streamlab/sql/types"
)

const nullPartition = "__HIVE_DEFAULT_PARTITION__"

// keyValue is one folder name key=value, decoded.
type keyValue struct {
	key, value string
	null       bool
}

// folderKeys reads the key=value folders between root and the folder of a file. Error:
// EMPTY_PARTITION_COLUMN_VALUE.
func folderKeys(root, path string) ([]keyValue, error) {
	rel, ok := strings.CutPrefix(filepath.Dir(path), strings.TrimSuffix(root, "/"))
	if !ok || strings.IndexByte(rel, '=') < 0 {
		return nil, nil
	}
	var out []keyValue
	for _, part := range strings.Split(rel, "/") {
		k, v, ok := strings.Cut(part, "=")
		if !ok {
			continue
		}
		if v == "" {
			return nil, errs.New("EMPTY_PARTITION_COLUMN_VALUE", "columnSpec", part)
		}
		kv := keyValue{key: codec.PercentDecode(k), value: codec.PercentDecode(v)}
		kv.null = kv.value == nullPartition
		out = append(out, kv)
	}
	return out, nil
}

// partitionColumns finds the partition columns of files and their types. A type of the user's schema wins;
// infer says whether others are looked at or are all STRING. Errors: CONFLICTING_PARTITION_COLUMN_NAMES,
// INVALID_PARTITION_VALUE, EMPTY_PARTITION_COLUMN_VALUE.
func partitionColumns(root string, files []file, user types.Schema, infer bool) (types.Schema, error) {
	lists := map[string]string{} // column names, a folder that has them
	var first []keyValue
	kinds := map[string]types.DataType{}
	seen := map[string]bool{}
	for _, f := range files {
		dir := filepath.Dir(f.path)
		if seen[dir] {
			continue
		}
		seen[dir] = true
		kvs, err := folderKeys(root, f.path)
		if err != nil {
			return nil, err
		}
		if kvs == nil {
			continue
		}
		names := make([]string, len(kvs))
		for i, kv := range kvs {
			names[i] = kv.key
			if !kv.null {
				kinds[kv.key] = widenPartition(kinds[kv.key], partitionKind(kv.value))
			}
		}
		text := strings.Join(names, ", ")
		if d, ok := lists[text]; !ok || dir < d {
			lists[text] = dir
		}
		if first == nil {
			first = kvs
		}
	}
	if len(lists) > 1 {
		var texts, dirs []string
		for text, dir := range lists {
			texts = append(texts, "\n\tPartition column name list #n: "+text)
			dirs = append(dirs, "\n\tfile:"+dir)
		}
		sort.Strings(texts)
		sort.Strings(dirs)
		return nil, errs.New("CONFLICTING_PARTITION_COLUMN_NAMES", "distinctPartColLists", "\n"+strings.Join(texts, ""),
			"suspiciousPaths", strings.Join(dirs, ""))
	}
	var out types.Schema
	for _, kv := range first {
		t := types.Of(types.String)
		if i := user.Index(kv.key); i >= 0 {
			t = user[i].Type
			out = append(out, types.Field{Name: user[i].Name, Type: t, Nullable: true})
		} else {
			if k := kinds[kv.key]; infer && k.Kind != types.Null {
				t = k
			}
			out = append(out, types.Field{Name: kv.key, Type: t, Nullable: true})
		}
	}
	for dir := range seen {
		kvs, _ := folderKeys(root, dir+"/x")
		for i, kv := range kvs {
			if i < len(out) {
				if _, err := partitionValue(kv, out[i]); err != nil {
					return nil, err
				}
			}
		}
	}
	return out, nil
}

// partitionKind is the narrowest type of a value: int, long, decimal, double, date, timestamp, or string.
func partitionKind(s string) types.DataType {
	b := []byte(s)
	if n, err := strconv.ParseInt(s, 10, 64); err == nil {
		if n == int64(int32(n)) {
			return types.Of(types.Int)
		}
		return types.Of(types.BigInt)
	}
	digits := strings.TrimLeft(s, "+-")
	if len(digits) > 0 && len(digits) <= 38 && strings.Trim(digits, "0123456789") == "" {
		return types.DecimalOf(int32(len(digits)), 0)
	}
	if strings.Trim(s, "0123456789.eE+-") == "" {
		if _, err := strconv.ParseFloat(s, 64); err == nil {
			return types.Of(types.Double)
		}
	}
	if _, ok := codec.ParseDate(b); ok && len(s) == 10 {
		return types.Of(types.Date)
	}
	if len(s) > 10 {
		if _, ok := codec.NewClock(nil, nil).ParseTimestamp(b); ok {
			return types.Of(types.Timestamp)
		}
	}
	return types.Of(types.String)
}

func widenPartition(a, b types.DataType) types.DataType {
	switch {
	case a.Kind == types.Null || a.Equal(b):
		return b
	case a.IsNumeric() && b.IsNumeric():
		if a.Kind == types.Double || b.Kind == types.Double {
			return types.Of(types.Double)
		}
		if a.Kind == types.Decimal || b.Kind == types.Decimal {
			return types.DecimalOf(max(a.Precision, b.Precision, 20), 0)
		}
		return types.Of(types.BigInt)
	case a.IsDatetime() && b.IsDatetime():
		return types.Of(types.Timestamp)
	}
	return types.Of(types.String)
}

// partitionValue checks a value against its column: it is read as a CSV field is. It returns the text that
// the reader of the column is given.
func partitionValue(kv keyValue, f types.Field) (string, error) {
	if kv.null {
		return "", nil
	}
	bad := func() error {
		return errs.New("INVALID_PARTITION_VALUE", "value", "'"+kv.value+"'", "dataType", `"`+f.Type.SQL()+`"`,
			"columnName", types.Quote(f.Name))
	}
	ok := true
	b := []byte(kv.value)
	switch f.Type.Kind {
	case types.Int, types.BigInt, types.SmallInt, types.TinyInt:
		size := map[types.Kind]int{types.Int: 32, types.BigInt: 64, types.SmallInt: 16, types.TinyInt: 8}[f.Type.Kind]
		_, err := strconv.ParseInt(kv.value, 10, size)
		ok = err == nil
	case types.Double, types.Float:
		_, err := strconv.ParseFloat(kv.value, 64)
		ok = err == nil
	case types.Date:
		_, ok = codec.ParseDate(b)
	case types.Timestamp:
		_, ok = codec.NewClock(nil, nil).ParseTimestamp(b)
	case types.TimestampNTZ:
		_, ok = codec.ParseTimestampNTZ(b)
	case types.Decimal:
		_, ok = codec.ParseDecimal(b, f.Type.Precision, f.Type.Scale)
	case types.Boolean:
		ok = strings.EqualFold(kv.value, "true") || strings.EqualFold(kv.value, "false")
	case types.String, types.Binary:
	default:
		ok = false
	}
	if !ok {
		return "", bad()
	}
	return kv.value, nil
}
