package expr

import (
	"strings"
	"testing"
	"time"

	"streamlab/columnar"
	"streamlab/errs"
	"streamlab/sql/types"
)

// arg reads an argument of a test: an integer, a double, NULL, an array <a|b>, else a text.
func arg(s string) Expr {
	if n, ok := parseIntBytes([]byte(s)); ok && n == int64(int32(n)) {
		return IntLit(int32(n))
	}
	switch {
	case s == "NULL":
		return NullLit(tString)
	case strings.HasPrefix(s, "<") && strings.HasSuffix(s, ">"):
		var args []Expr
		for _, e := range strings.Split(s[1:len(s)-1], "|") {
			args = append(args, arg(e))
		}
		a, _ := Build("array", args, Conf{ANSI: true})
		return a
	}
	if f, ok := parseJSONFloat([]byte(s), false, strings.ContainsAny(s, "0123456789") && s[0] <= '9', false); ok && strings.Contains(s, ".") && strings.Count(s, ".") == 1 {
		return DoubleLit(f)
	}
	return StringLit(s)
}

func TestFunctions(t *testing.T) {
	conf := Conf{ANSI: true, Zone: time.UTC}
	for _, c := range []struct {
		name string
		args []string
		want string // the value as text, or the condition after an exclamation mark
	}{
		{"substring", []string{"héllo", "2", "2"}, "él"},
		{"substring", []string{"hello", "-10", "7"}, "he"},
		{"upper", []string{"straße"}, "STRASSE"},
		{"lower", []string{"ΟΔΟΣ"}, "οδος"},
		{"initcap", []string{"a-b cD"}, "A-b Cd"},
		{"split", []string{"a,,b,", ","}, "[a, , b, ]"},
		{"split", []string{"a1b2c", "[0-9]", "2"}, "[a, b2c]"},
		{"split_part", []string{"a.b", ".", "0"}, "!INVALID_INDEX_OF_ZERO"},
		{"regexp_replace", []string{"100-200", `(\d+)-(\d+)`, "$2-$1"}, "200-100"},
		{"regexp_replace", []string{"aéb", "é", "é$0"}, "aééb"},
		{"regexp_extract", []string{"xay", `(?<=x)a`, "0"}, "a"},
		{"regexp_extract", []string{"a", "(", "1"}, "!INVALID_PARAMETER_VALUE.PATTERN"},
		{"regexp_extract", []string{"a", "[a&&b]", "0"}, "!INVALID_PARAMETER_VALUE.PATTERN"},
		{"substring_index", []string{"www.apache.org", ".", "-2"}, "apache.org"},
		{"translate", []string{"AaBbCc", "abc", "12"}, "A1B2C"},
		{"levenshtein", []string{"kitten", "sitting"}, "3"},
		{"soundex", []string{"Ashcraft"}, "A261"},
		{"format_string", []string{"%05d|%-4s|%,d|%.2f", "42", "ab", "1234567", "2.675"}, "00042|ab  |1,234,567|2.68"},
		{"format_number", []string{"1234567.891", "2"}, "1,234,567.89"},
		{"to_char", []string{"-5", "999PR"}, "  <5>"},
		{"conv", []string{"-10", "16", "-10"}, "-16"},
		{"round", []string{"1.005", "2"}, "1.01"},
		{"round", []string{"2147483647", "-1"}, "!ARITHMETIC_OVERFLOW"},
		{"hash", []string{"Spark"}, "228093765"},
		{"array_distinct", []string{"<b|a|b>"}, "[b, a]"},
		{"array_insert", []string{"<a|b>", "-4", "z"}, "[z, null, a, b]"},
		{"sort_array", []string{"<b|a|NULL>"}, "[null, a, b]"},
		{"element_at", []string{"<a|b>", "3"}, "!INVALID_ARRAY_INDEX_IN_ELEMENT_AT"},
		{"sequence", []string{"5", "1", "-2"}, "[5, 3, 1]"},
		{"str_to_map", []string{"a:1,b"}, "{a -> 1, b -> null}"},
		{"map", []string{"a", "1", "a", "2"}, "!DUPLICATED_MAP_KEY"},
		{"to_date", []string{"6/5/2020", "d/M/yyyy"}, "2020-05-06"},
		{"to_date", []string{"2020-5-6", "yyyy-MM-dd"}, "!CANNOT_PARSE_TIMESTAMP"},
		{"to_timestamp", []string{"20200506070809", "yyyyMMddHHmmss"}, "2020-05-06 07:08:09"},
		{"date_trunc", []string{"week", "2020-05-17 13:14:15"}, "2020-05-11 00:00:00"},
		{"date_format", []string{"2020-05-06 17:08:09", "hh:mm a, EEE"}, "05:08 PM, Wed"},
		{"date_format", []string{"2020-05-06", "YYYY"}, "!INCONSISTENT_BEHAVIOR_CROSS_VERSION.DATETIME_PATTERN_RECOGNITION"},
		{"next_day", []string{"2020-01-01", "xx"}, "!ILLEGAL_DAY_OF_WEEK"},
		{"from_utc_timestamp", []string{"2020-07-01 12:00:00", "America/New_York"}, "2020-07-01 08:00:00"},
		{"get_json_object", []string{`{"a":{"b":[1,{"c":"x"}]}}`, "$.a.b[1].c"}, "x"},
		{"get_json_object", []string{`{"a":1`, "$.a"}, "null"},
		{"from_json", []string{`{"b":"x","a":1,"a":2}`, "a INT, b STRING"}, "{2, x}"},
		{"from_json", []string{`{"a":[1,"x"],"b":"y"}`, "a ARRAY<INT>, b STRING, _corrupt_record STRING"}, `{null, y, {"a":[1,"x"],"b":"y"}}`},
		{"from_csv", []string{`"a,b",q`, "a STRING, b INT"}, "{a,b, null}"},
		{"schema_of_json", []string{`{"b":1,"a":[1.5,2]}`}, "STRUCT<a: ARRAY<DOUBLE>, b: BIGINT>"},
		{"parse_json", []string{`{"z":1.50,"a":1e3}`}, `{"a":1000.0,"z":1.5}`},
		{"url_decode", []string{"a+b%26c"}, "a b&c"},
		{"raise_error", []string{"boom"}, "!USER_RAISED_EXCEPTION"},
		{"upper", []string{"a", "b"}, "!WRONG_NUM_ARGS.WITHOUT_SUGGESTION"},
	} {
		var args []Expr
		for _, a := range c.args {
			args = append(args, arg(a))
		}
		got := ""
		e, err := Build(c.name, args, conf)
		if err == nil {
			var l *Literal
			if l, err = Const(e, conf); err == nil {
				got = string(AppendText(nil, l.Value, 0, conf.Zone, CastStyle))
			}
		}
		if err != nil {
			got = "!" + errs.As(err).Condition
		}
		if got != c.want {
			t.Errorf("%s(%s) = %s (%v), want %s", c.name, strings.Join(c.args, ", "), got, err, c.want)
		}
	}
}

// Every entry tells the manual what it is, and the kernels agree with the nullability they promise.
func TestFunctionTable(t *testing.T) {
	for name, f := range functions() {
		if f.Signature == "" || f.Doc == "" || f.Name != name {
			t.Errorf("%s: signature %q, doc %q", name, f.Signature, f.Doc)
		}
	}
}

// Kernels see rows under nulls and selections; a row that is not selected must not fail the others.
func TestKernelsOverRows(t *testing.T) {
	in := columnar.NewVec(tString, 0)
	a := NewAppender(in)
	for _, s := range []string{"2020-05-06", "", "bad", "2021-01-31"} {
		if s == "" {
			a.AppendNull()
		} else {
			a.AppendBytes([]byte(s))
		}
	}
	a.Finish()
	conf := Conf{ANSI: true, Zone: time.UTC}
	schema := types.Schema{{Name: "s", Type: tString, Nullable: true}}
	col := &Column{Index: 0, Field: schema[0]}
	var es []Expr
	for _, name := range []string{"to_date", "split", "concat_ws", "struct"} {
		args := []Expr{col}
		switch name {
		case "to_date":
			args = append(args, StringLit("yyyy-MM-dd"))
		case "split", "concat_ws":
			args = append(args, StringLit("-"))
		}
		e, err := Build(name, args, conf)
		if err != nil {
			t.Fatal(err)
		}
		es = append(es, e)
	}
	p, err := Compile(es, schema, conf)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"2020-05-06|[2020, 05, 06]|-|{2020-05-06}", "null|null|null|{null}", "", "2021-01-31|[2021, 01, 31]|-|{2021-01-31}"}
	out, err := p.Eval([]columnar.Vec{*in}, columnar.Sel{Idx: []int32{0, 1, 3}, N: 3})
	if err != nil {
		t.Fatal(err)
	}
	for _, i := range []int{0, 1, 3} {
		var parts []string
		for _, v := range out {
			parts = append(parts, string(AppendText(nil, v, i, conf.Zone, CastStyle)))
		}
		if got := strings.Join(parts, "|"); got != want[i] {
			t.Errorf("row %d: %s, want %s", i, got, want[i])
		}
	}
	if _, err := p.Eval([]columnar.Vec{*in}, columnar.AllRows(4)); !errs.Has(err, "CANNOT_PARSE_TIMESTAMP") {
		t.Errorf("the bad row passed: %v", err)
	}
}

func TestHigherOrderOverRows(t *testing.T) {
	in := columnar.NewVec(types.ArrayOf(tInt, true), 0)
	a := NewAppender(in)
	for _, row := range [][]int32{{1, 2, 3}, nil, {}, {4}} {
		if row == nil {
			a.AppendNull()
			continue
		}
		for _, x := range row {
			a.Kid(0).AppendI32(x)
		}
		a.End()
	}
	a.Finish()
	conf := Conf{ANSI: true}
	schema := types.Schema{{Name: "a", Type: in.Type, Nullable: true}}
	col := &Column{Index: 0, Field: schema[0]}
	acc, x := &LambdaVar{Name: "acc", Field: types.Field{Type: tInt, Nullable: true}}, &LambdaVar{Name: "x", Field: types.Field{Type: tInt, Nullable: true}}
	sum, err := Build("+", []Expr{acc, x}, conf)
	if err != nil {
		t.Fatal(err)
	}
	fold, err := Build("aggregate", []Expr{col, IntLit(10), &Lambda{Params: []*LambdaVar{acc, x}, Body: sum}}, conf)
	if err != nil {
		t.Fatal(err)
	}
	y := &LambdaVar{Name: "y", Field: types.Field{Type: tInt, Nullable: true}}
	big, _ := Build(">", []Expr{y, IntLit(1)}, conf)
	filter, err := Build("filter", []Expr{col, &Lambda{Params: []*LambdaVar{y}, Body: big}}, conf)
	if err != nil {
		t.Fatal(err)
	}
	p, err := Compile([]Expr{fold, filter}, schema, conf)
	if err != nil {
		t.Fatal(err)
	}
	out, err := p.Eval([]columnar.Vec{*in}, columnar.AllRows(4))
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{"16|[2, 3]", "null|null", "10|[]", "14|[4]"} {
		got := string(AppendText(nil, out[0], i, nil, CastStyle)) + "|" + string(AppendText(nil, out[1], i, nil, CastStyle))
		if got != want {
			t.Errorf("row %d: %s, want %s", i, got, want)
		}
	}
}
