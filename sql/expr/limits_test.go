package expr

import (
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow/decimal128"

	"streamlab/columnar"
	"streamlab/errs"
)

// A few characters of SQL must not take all memory: what is too much is an error that says so.
func TestResultsTooLarge(t *testing.T) {
	defer func(n int64) { maxVector = n }(maxVector)
	maxVector = 1 << 24
	conf := Conf{ANSI: true, Zone: time.UTC}
	many := strings.Repeat("a", 100_000)
	for _, c := range []struct {
		name string
		args []Expr
		want string
	}{
		{"repeat", []Expr{StringLit("ab"), IntLit(1<<31 - 1)}, "VECTOR_SIZE_LIMIT_EXCEEDED"},
		{"space", []Expr{IntLit(1<<31 - 1)}, "VECTOR_SIZE_LIMIT_EXCEEDED"},
		{"lpad", []Expr{StringLit("a"), IntLit(1<<31 - 1), StringLit("xyz")}, "VECTOR_SIZE_LIMIT_EXCEEDED"},
		{"rpad", []Expr{StringLit("a"), IntLit(1<<31 - 1)}, "VECTOR_SIZE_LIMIT_EXCEEDED"},
		{"replace", []Expr{StringLit(many), StringLit("a"), StringLit(many)}, "VECTOR_SIZE_LIMIT_EXCEEDED"},
		{"regexp_replace", []Expr{StringLit(many), StringLit("a+?"), StringLit(many)}, "VECTOR_SIZE_LIMIT_EXCEEDED"},
		{"array_repeat", []Expr{StringLit(many), IntLit(2_000_000_000)}, "VECTOR_SIZE_LIMIT_EXCEEDED"},
		{"array_repeat", []Expr{IntLit(1), IntLit(1<<31 - 1)}, "COLLECTION_SIZE_LIMIT_EXCEEDED.PARAMETER"},
		{"sequence", []Expr{IntLit(1), IntLit(1_000_000_000)}, "VECTOR_SIZE_LIMIT_EXCEEDED"},
		{"sequence", []Expr{BigIntLit(1), BigIntLit(3_000_000_000)}, "COLLECTION_SIZE_LIMIT_EXCEEDED.PARAMETER"},
		{"format_string", []Expr{StringLit("%2147483647d"), IntLit(1)}, "VECTOR_SIZE_LIMIT_EXCEEDED"},
		{"format_string", []Expr{StringLit("%99999999999d"), IntLit(1)}, "INVALID_FORMAT_STRING"},
		{"format_string", []Expr{StringLit("%.2147483648f"), DoubleLit(1)}, "INVALID_FORMAT_STRING"},
		{"format_string", []Expr{StringLit("%y"), IntLit(1)}, "INVALID_FORMAT_STRING"},
		{"format_number", []Expr{DecimalLit(decimal128.FromI64(15), 2, 1), IntLit(1<<31 - 1)}, "VECTOR_SIZE_LIMIT_EXCEEDED"},
		{"randstr", []Expr{IntLit(1<<31 - 1)}, "VECTOR_SIZE_LIMIT_EXCEEDED"},
		{"rlike", []Expr{StringLit(strings.Repeat("a", 40) + "!"), StringLit(`^(?=a)(a+)+$`)}, "REGEX_TIMEOUT"},
	} {
		e, err := Build(c.name, c.args, conf)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		p, err := Compile([]Expr{e}, nil, conf)
		if err == nil {
			_, err = p.Eval(nil, columnar.AllRows(1))
		}
		if !errs.Has(err, c.want) {
			t.Errorf("%s: %v, want %s", e, err, c.want)
		}
	}
}

// Places of rounding far beyond every digit give 0 or the number, at once.
func TestRoundFarBeyondTheDigits(t *testing.T) {
	conf := Conf{ANSI: true, Zone: time.UTC}
	for _, name := range []string{"round", "bround"} {
		for _, a := range []Expr{DecimalLit(decimal128.FromI64(15), 2, 1), DecimalLit(decimal128.FromI64(-99), 2, 0), IntLit(7), BigIntLit(7), DoubleLit(1.5)} {
			for _, places := range []int32{-1 << 31, -1<<31 + 1, -2_000_000_000, -100, 100, 2_000_000_000, 1<<31 - 1} {
				e, err := Build(name, []Expr{a, IntLit(places)}, conf)
				if err != nil {
					t.Fatalf("%s(%s, %d): %v", name, a, places, err)
				}
				p, err := Compile([]Expr{e}, nil, conf)
				if err != nil {
					t.Fatalf("%s: %v", e, err)
				}
				out, err := p.Eval(nil, columnar.AllRows(1))
				if err != nil {
					t.Fatalf("%s: %v", e, err)
				}
				v := out[0]
				zero := false
				switch v.Phys {
				case columnar.PDec:
					zero = v.Dec[0].Sign() == 0
				case columnar.PI32:
					zero = v.I32[0] == 0
				case columnar.PI64:
					zero = v.I64[0] == 0
				default:
					zero = v.F64[0] == 0
				}
				if zero != (places < 0) {
					t.Errorf("%s: zero: %t", e, zero)
				}
			}
		}
	}
}
