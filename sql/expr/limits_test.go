package expr

import (
	"strings"
	"testing"
	"time"

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
