package expr

import (
	"testing"
	"time"

	"streamlab/columnar"
	"streamlab/errs"
	"streamlab/sql/types"
)

// castText casts a text to from and the result to to, and prints it; errors give their condition.
func castText(t *testing.T, text, from, to string, m CastMode, c Conf) string {
	t.Helper()
	ft, err := types.ParseType(from)
	if err != nil {
		t.Fatal(err)
	}
	tt, err := types.ParseType(to)
	if err != nil {
		t.Fatal(err)
	}
	var e Expr = StringLit(text)
	if ft.Kind != types.String {
		if e, err = NewCast(e, ft, Explicit, c); err != nil {
			t.Fatal(err)
		}
	}
	if e, err = NewCast(e, tt, m, c); err == nil {
		var p *Program
		if p, err = Compile([]Expr{e}, nil, c); err == nil {
			var vs []*columnar.Vec
			if vs, err = p.Eval(nil, columnar.AllRows(1)); err == nil {
				return string(AppendText(nil, vs[0], 0, c.Zone, CastStyle))
			}
		}
	}
	if x := errs.As(err); x != nil {
		return x.Condition
	}
	return err.Error()
}

func TestCasts(t *testing.T) {
	zone, _ := ParseZone("America/New_York")
	for _, c := range []struct{ text, from, to, want string }{
		{" 12 ", "STRING", "INT", "12"},
		{"1.5", "STRING", "INT", "CAST_INVALID_INPUT"},
		{"-9223372036854775808", "STRING", "BIGINT", "-9223372036854775808"},
		{"9223372036854775808", "STRING", "BIGINT", "CAST_INVALID_INPUT"},
		{"1e3d", "STRING", "DOUBLE", "1000.0"},
		{"-inf", "STRING", "DOUBLE", "-Infinity"},
		{"1_000", "STRING", "DOUBLE", "CAST_INVALID_INPUT"},
		{"1e400", "STRING", "DOUBLE", "Infinity"},
		{"0.1", "STRING", "FLOAT", "0.1"},
		{"1e7", "DOUBLE", "STRING", "1.0E7"},
		{"1e-4", "DOUBLE", "STRING", "1.0E-4"},
		{"9999999", "DOUBLE", "STRING", "9999999.0"},
		{"128.5", "DOUBLE", "TINYINT", "CAST_OVERFLOW"},
		{"1.555", "DECIMAL(10,3)", "DECIMAL(3,2)", "1.56"},
		{"-1.555", "DECIMAL(10,3)", "DECIMAL(3,2)", "-1.56"},
		{"99.999", "DECIMAL(10,3)", "DECIMAL(4,2)", "NUMERIC_VALUE_OUT_OF_RANGE.WITH_SUGGESTION"},
		{"12345678901234567890123456789012345678", "STRING", "DECIMAL(38,0)", "12345678901234567890123456789012345678"},
		{"1E-7", "STRING", "DECIMAL(10,8)", "0.00000010"},
		{"yes", "STRING", "BOOLEAN", "true"},
		{"2020-2-3", "STRING", "DATE", "2020-02-03"},
		{"2020-02-30", "STRING", "DATE", "CAST_INVALID_INPUT"},
		{"2020-02-03 anything", "STRING", "DATE", "2020-02-03"},
		{"-0044-03-15", "STRING", "DATE", "-0044-03-15"},
		{"12345-01-01", "STRING", "DATE", "+12345-01-01"},
		{"2020-01-01T12:34:56.1234567Z", "STRING", "TIMESTAMP", "2020-01-01 07:34:56.123456"},
		{"2020-01-01 12:00:00 Europe/Berlin", "STRING", "TIMESTAMP", "2020-01-01 06:00:00"},
		{"2020-01-01 24:00:00", "STRING", "TIMESTAMP", "CAST_INVALID_INPUT"},
		{"2020-03-08 02:30:00", "STRING", "TIMESTAMP", "2020-03-08 03:30:00"},
		{"2020-11-01 01:30:00", "STRING", "TIMESTAMP", "2020-11-01 01:30:00"},
		{"2020-01-01 12:00:00+05:00", "STRING", "TIMESTAMP_NTZ", "2020-01-01 12:00:00"},
		{"2020-01-01", "DATE", "TIMESTAMP", "2020-01-01 00:00:00"},
		{"2020-01-01 00:00:00Z", "TIMESTAMP", "DATE", "2019-12-31"},
		{"1 02:03:04.5", "INTERVAL DAY TO SECOND", "STRING", "INTERVAL '1 02:03:04.5' DAY TO SECOND"},
		{"-1-2", "INTERVAL YEAR TO MONTH", "STRING", "INTERVAL '-1-2' YEAR TO MONTH"},
		{"36", "INTERVAL HOUR", "INTERVAL DAY", "INTERVAL '1' DAY"},
		{"x", "STRING", "INTERVAL DAY", "INVALID_INTERVAL_FORMAT.UNMATCHED_FORMAT_STRING_WITH_NOTICE"},
		{"2 days -3.5 seconds", "STRING", "INTERVAL", "2 days -3.5 seconds"},
		{"2020-01-01", "DATE", "INT", "DATATYPE_MISMATCH.CAST_WITH_FUNC_SUGGESTION"},
		{"1", "INT", "BINARY", "DATATYPE_MISMATCH.CAST_WITH_CONF_SUGGESTION"},
	} {
		if got := castText(t, c.text, c.from, c.to, Explicit, Conf{ANSI: true, Zone: zone}); got != c.want {
			t.Errorf("%q %s to %s: %s, want %s", c.text, c.from, c.to, got, c.want)
		}
		if errs.New(c.want).SQLState != "" && c.want != "INVALID_INTERVAL_FORMAT.UNMATCHED_FORMAT_STRING_WITH_NOTICE" &&
			c.want[:4] != "DATA" {
			if got := castText(t, c.text, c.from, c.to, Try, Conf{ANSI: true, Zone: zone}); got != "null" {
				t.Errorf("try_cast(%q %s as %s): %s", c.text, c.from, c.to, got)
			}
		}
	}
	for _, c := range []struct{ text, from, to, want string }{
		{"1.9", "STRING", "INT", "1"}, {"abc", "STRING", "INT", "null"}, {"300", "INT", "TINYINT", "44"},
		{"1e10", "DOUBLE", "INT", "2147483647"}, {"NaN", "DOUBLE", "BIGINT", "0"}, {"1", "INT", "BINARY", "\x00\x00\x00\x01"},
	} {
		if got := castText(t, c.text, c.from, c.to, Explicit, Conf{Zone: time.UTC}); got != c.want {
			t.Errorf("ANSI off, %q %s to %s: %q, want %q", c.text, c.from, c.to, got, c.want)
		}
	}
}

func TestDecimalWords(t *testing.T) {
	for _, c := range []struct {
		text string
		p, s int32
		want string
	}{
		{"0", 1, 0, "0"}, {"-0.5", 1, 0, "-1"}, {"0.4", 1, 0, "0"}, {"99999999999999999999999999999999999999", 38, 0, "99999999999999999999999999999999999999"},
		{"-12345678901234567890.123456789", 38, 5, "-12345678901234567890.12346"},
	} {
		var d parsedDecimal
		if !d.parse([]byte(c.text)) {
			t.Fatalf("%s is no number", c.text)
		}
		n, ok := d.at(c.p, c.s)
		if got := string(appendDecimal(nil, n, c.s)); !ok || got != c.want {
			t.Errorf("%s as (%d,%d): %s, want %s", c.text, c.p, c.s, got, c.want)
		}
		if big, ok := bigDec(decBig(newBig(), n), c.p); !ok || big != n {
			t.Errorf("%s does not survive big numbers", c.text)
		}
	}
}
