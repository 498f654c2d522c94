package expr

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"streamlab/columnar"
	"streamlab/sql/types"
)

const plainSchema = "a BIGINT, b DOUBLE, c STRING, d TIMESTAMP, e BOOLEAN, f DATE, g INT, h TINYINT, `n m` SMALLINT"

// fromJSON compiles the given fields of from_json over one STRING column; no fields is the whole struct.
func fromJSON(t testing.TB, fields ...string) *Program {
	col := &Column{Index: 0, Field: types.Field{Name: "v", Type: types.Of(types.String), Nullable: true}}
	e := build(t, "from_json", col, StringLit(plainSchema))
	es := []Expr{e}
	if len(fields) > 0 {
		es = nil
		for _, f := range fields {
			x, err := NewGetField(e, f, Conf{})
			if err != nil {
				t.Fatal(err)
			}
			es = append(es, x)
		}
	}
	p, err := Compile(es, types.Schema{col.Field}, Conf{})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func texts(docs []string) columnar.Vec {
	v := columnar.NewVec(types.Of(types.String), 0)
	v.Off = []int32{0}
	for _, d := range docs {
		v.Data = append(v.Data, d...)
		v.Off = append(v.Off, int32(len(v.Data)))
	}
	v.Len = len(docs)
	return *v
}

// slowJSON reads documents without the reader of plain ones.
func slowJSON(t testing.TB, docs []string) *columnar.Vec {
	schema, err := types.ParseDDL(plainSchema)
	if err != nil {
		t.Fatal(err)
	}
	p := newJSONReader(nullableType(types.StructOf(schema...)), nil, Conf{})
	dst := columnar.NewVec(p.t, 0)
	a := NewAppender(dst)
	for _, d := range docs {
		if err := p.read([]byte(d), a); err == errNull {
			a.AppendNull()
		} else if err != nil {
			t.Fatal(err)
		}
	}
	a.Finish()
	return dst
}

func samePlain(t testing.TB, docs []string) {
	t.Helper()
	want := slowJSON(t, docs)
	in := []columnar.Vec{texts(docs)}
	got, err := fromJSON(t).Eval(in, columnar.AllRows(len(docs)))
	if err != nil {
		t.Fatal(err)
	}
	cell := func(v *columnar.Vec, i int) string {
		if v.IsNull(i) {
			return "NULL"
		}
		return string(AppendText(nil, v, v.Row(i), nil, CastStyle))
	}
	for i, d := range docs {
		if w, g := cell(want, i), cell(got[0], i); w != g {
			t.Errorf("%s\ngives %s,\nwant  %s", d, g, w)
		}
	}
	fields := []string{"c", "a", "n m", "f"}
	index := []int{2, 0, 8, 5}
	some, err := fromJSON(t, fields...).Eval(in, columnar.AllRows(len(docs)))
	if err != nil {
		t.Fatal(err)
	}
	for i, d := range docs {
		for k := range fields {
			w := "NULL"
			if !want.IsNull(i) {
				w = cell(want.Kids[index[k]], i)
			}
			if g := cell(some[k], i); w != g {
				t.Errorf("%s of %s\ngives %s,\nwant  %s", fields[k], d, g, w)
			}
		}
	}
}

var plainCases = []string{
	`{}`, ``, ` `, `null`, `[]`, `[{"a":1}]`, `7`, `{`, `{"a"`, `{"a":`, `{"a":1`, `{"a":1,`, `{"a":1,}`, `{"a":1}}`, `{"a":1} x`, ` {"a":1}`, `{ "a" : 1 , "b" : 2 }`,
	`{"a":1,"a":2}`, `{"a":1,"a":null}`, `{"a":null,"a":1}`, `{"a":1,"a":"x"}`, `{"c":"x","c":7}`, `{"A":1}`, `{"\u0061":1}`, `{'a':1}`, `{a:1}`,
	`{"a":01}`, `{"a":-0}`, `{"a":-}`, `{"a":1.0}`, `{"a":1e2}`, `{"a":"1"}`, `{"a":9223372036854775807}`, `{"a":9223372036854775808}`, `{"a":123456789012345678}`, `{"a":+1}`, `{"a":1x}`, `{"a":1]`,
	`{"b":0.1}`, `{"b":123456.789}`, `{"b":1.}`, `{"b":.5}`, `{"b":-0}`, `{"b":-0.0}`, `{"b":1e3}`, `{"b":0.1234567890123456789}`, `{"b":NaN}`, `{"b":"NaN"}`, `{"b":-INF}`, `{"b":00.5}`, `{"b":1.5.2}`, `{"b":9007199254740993}`,
	`{"c":"x\ny"}`, `{"c":"é"}`, `{"c":"\u00e9"}`, `{"c":"it's"}`, `{"c":'x'}`, `{"c":"}`, `{"c":""}`, `{"c":{"x":[1, 2]}}`, `{"c":[1, "a"]}`, `{"c":1.50}`, `{"c":true}`, "{\"c\":\"a\tb\"}", "{\"c\":\"a\x7fb\"}",
	`{"d":"2026-01-02T03:04:05Z"}`, `{"d":"2026-01-02T03:04:05.123Z"}`, `{"d":"2026-01-02T03:04:05.123456Z"}`, `{"d":"2026-01-02T03:04:05.1234567Z"}`, `{"d":"2026-01-02T03:04:05.Z"}`,
	`{"d":"2026-01-02 03:04:05"}`, `{"d":"2026-02-30T00:00:00Z"}`, `{"d":"2026-01-31T23:59:59Z"}`, `{"d":"2026-01-02T24:00:00Z"}`, `{"d":"2026-01-02T03:04:60Z"}`, `{"d":1767225600}`, `{"d":"0000-01-01T00:00:00Z"}`, `{"d":"12026-01-02T03:04:05Z"}`, `{"d":""}`, `{"d":"2026-01-02T03:04:05+01:00"}`,
	`{"e":true}`, `{"e":false}`, `{"e":truex}`, `{"e":"true"}`, `{"e":1}`, `{"e":tru}`, `{"e":null}`, `{"e":nul}`, `{"e":nullx}`,
	`{"f":"2026-01-02"}`, `{"f":"2026-02-29"}`, `{"f":"2024-02-29"}`, `{"f":"2026-1-2"}`, `{"f":"2026-01-02T00"}`, `{"f":20260102}`, `{"f":"0000-00-00"}`, `{"f":"1582-10-10"}`,
	`{"g":2147483648}`, `{"h":127}`, `{"h":128}`, `{"h":255}`, `{"h":-129}`, `{"n m":32768}`, `{"n m":5}`,
	`{"x":{"a":1},"a":2}`, `{"x":[{},[],"",1,-1.5,true,null],"a":2}`, `{"x":[1,],"a":2}`, `{"x":{"y":},"a":2}`, `{"x":"\q","a":2}`, `{"x":1e5,"a":2}`, `{"x":NaN,"a":2}`, `{"x":01,"a":2}`, `{"x":-,"a":2}`, `{"x":1.,"a":2}`, `{"x":tRue,"a":2}`, `{"x":"a` + "\x01" + `","a":2}`,
	`{"x":` + strings.Repeat("[", 70) + strings.Repeat("]", 70) + `,"a":2}`, `{"x":{"a":1 "b":2},"a":2}`, `{"x":[1 2],"a":2}`, `{"a":2,"x"}`, `{"a":2 "b":3}`, `{"a":2;"b":3}`,
}

func TestPlainJSONSaysWhatTheWholeReaderSays(t *testing.T) {
	samePlain(t, plainCases)
	// Records that are nearly like those before them, in every way that one byte can make.
	rng := rand.New(rand.NewPCG(1, 2))
	base := []string{
		`{"a":17,"b":12.5,"c":"text","d":"2026-01-02T03:04:05.678Z","e":true,"f":"2026-01-02","g":-3,"h":9,"n m":300,"z":{"k":[1,"v"]}}`,
		`{"z":"zz","a":-170,"c":"größer","b":0.25,"e":false,"n m":null}`, `{ "a": 1, "c": "x", "b": 2 }`,
	}
	var docs []string
	for n := range 20_000 {
		b := []byte(base[n%len(base)])
		for range rng.IntN(3) {
			i := rng.IntN(len(b))
			switch rng.IntN(4) {
			case 0:
				b[i] = "{}[]\",:0123456789-+.eE tnfuZT\\'/x\n\x01"[rng.IntN(35)]
			case 1:
				b = append(b[:i], b[i+1:]...)
			case 2:
				j := rng.IntN(len(b))
				b[i], b[j] = b[j], b[i]
			case 3:
				b = b[:i+1]
			}
		}
		if s := string(b); strings.ToValidUTF8(s, "") == s {
			docs = append(docs, s)
		}
	}
	samePlain(t, docs)
}

// Most records are written like those before them and are read together; those between them that are written otherwise
// give what they give alone, and so do rows that are not asked for.
func TestRecordsWrittenAlikeGiveWhatTheyGiveAlone(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	record := func(shape int) string {
		pick := func(of ...string) string { return of[rng.IntN(len(of))] }
		whole := pick("0", "7", "-3", "1234567", "12345678901", "99999999999999999", "null", "1.0", "01", "9223372036854775808")
		number := pick("0", "12.5", "-0.25", "1e3", "123456.789", "9007199254740993", "null", "0.1234567890123456", `"NaN"`, "NaN", "1.")
		text := pick(`"x"`, `""`, `"größer"`, `"sixteen letters."`, `"more than sixteen letters, and more than sixty-four of them, as a name of a thing may have"`,
			`"a\"b"`, `"'"`, "null", "7", `{"k":[1]}`, `"it\u0027s"`, "\"a\tb\"")
		when := pick("2026-01-02T03:04:05.678Z", "2026-01-02T23:59:59Z", "2026-01-03T00:00:00.1Z", "2026-01-02T03:04:05", "2026-01-02", "2026-02-30T00:00:00Z", "2026-01-02T03:04:05+01:00")
		if rng.IntN(8) > 0 { // most are plain
			whole, number, text, when = fmt.Sprint(rng.IntN(1e6)), fmt.Sprintf("%.2f", 100*rng.Float64()), fmt.Sprintf(`"t%d"`, rng.IntN(1000)), "2026-01-02T03:04:05.678Z"
		}
		truth := pick("true", "false", "true", "false", "true", "false", "null", "tru")
		switch shape {
		case 0:
			return fmt.Sprintf(`{"a":%s,"b":%s,"c":%s,"d":"%s","e":%s,"f":"2026-01-0%d","g":%d,"h":9,"n m":300,"z":{"k":[1,"v"]},"y":%s}`, whole, number, text, when, truth, rng.IntN(10), rng.IntN(9)-3, text)
		case 1:
			return fmt.Sprintf(`{"y":%s, "c": %s, "a": %s, "z":%s}`, truth, text, whole, number)
		}
		return fmt.Sprintf("%s{\"a\":%s,\"c\":%s}%s", pick("", "", "", " "), whole, text, pick("", "", "", "\r", "\n", "\n{\"a\":1,\"c\":\"x\"}", " x"))
	}
	var docs []string
	for len(docs) < 30_000 {
		shape := rng.IntN(3)
		for range 1 + rng.IntN(600) {
			docs = append(docs, record(shape))
		}
	}
	samePlain(t, docs)
	in := []columnar.Vec{texts(docs)}
	all := fromJSON(t, "c", "a", "b", "e", "d", "h")
	want, err := all.Eval(in, columnar.AllRows(len(docs)))
	if err != nil {
		t.Fatal(err)
	}
	var sel columnar.Sel
	for i := range docs {
		if rng.IntN(3) > 0 {
			sel.Idx = append(sel.Idx, int32(i))
		}
	}
	sel.N = len(sel.Idx)
	got, err := fromJSON(t, "c", "a", "b", "e", "d", "h").Eval(in, sel)
	if err != nil {
		t.Fatal(err)
	}
	for k := range got {
		for _, i := range sel.Idx {
			if g, w := show(got[k], int(i)), show(want[k], int(i)); g != w {
				t.Fatalf("column %d of %s is %s, not %s", k, docs[i], g, w)
			}
		}
	}
}

// What is read in a plain way must really be: a change that sends all records to the slow reader is a loss.
func TestPlainRecordsAreReadAsSuch(t *testing.T) {
	p := newJSONReader(nullableType(types.StructOf(mustDDL(t, "a BIGINT, b DOUBLE, c STRING, d TIMESTAMP")...)), nil, Conf{})
	var docs []string
	for i := range 1000 {
		docs = append(docs, fmt.Sprintf(`{"a":%d,"x":[%d],"b":%d.25,"c":"t%d","d":"2026-01-01T00:00:%02d.000Z"}`, i, i, i, i, i%60))
	}
	v := texts(docs)
	dst := columnar.NewVec(p.t, 0)
	dst.Reset(p.t, len(docs))
	kernel := p.kernel(nil)
	allocs := testing.AllocsPerRun(10, func() {
		dst.Reset(p.t, len(docs))
		if err := kernel(nil, dst, []*columnar.Vec{&v}, columnar.AllRows(len(docs))); err != nil {
			t.Fatal(err)
		}
	})
	if dst.Kids[0].I64[999] != 999 || allocs > 50 {
		t.Errorf("%d, %v allocations for 1000 records", dst.Kids[0].I64[999], allocs)
	}
	p.sc.s = nil
	if p.read([]byte(docs[0]), NewAppender(columnar.NewVec(p.t, 0))); string(p.sc.s) != docs[0] {
		t.Error("the slow reader leaves no trace")
	}
	p.sc.s = nil
	if err := kernel(nil, dst, []*columnar.Vec{&v}, columnar.AllRows(len(docs))); err != nil || p.sc.s != nil {
		t.Errorf("%v; the slow reader had %s", err, p.sc.s)
	}
}

func mustDDL(t testing.TB, s string) types.Schema {
	sch, err := types.ParseDDL(s)
	if err != nil {
		t.Fatal(err)
	}
	return sch
}
