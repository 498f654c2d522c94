package exec

import (
	"testing"

	"streamlab/sql/expr"
	"streamlab/sql/types"
)

// A condition that holds in some micro-batches only must not be decided when the query starts.
func TestScansAreNotAskedForWhatChangesWithTime(t *testing.T) {
	build := func(name string, args ...expr.Expr) expr.Expr {
		t.Helper()
		e, err := expr.Build(name, args, expr.Conf{})
		if err != nil {
			t.Fatal(err)
		}
		return e
	}
	now := build("current_timestamp")
	const future = 250_000_000_000_000_000
	col := &expr.Column{Field: types.Field{Name: "ts", Type: types.Of(types.Timestamp), Nullable: true}}
	for _, c := range []struct {
		e    expr.Expr
		want string
	}{
		{build(">", now, expr.TimestampLit(future, expr.Conf{})), ""},
		{build("not", build(">", now, expr.TimestampLit(0, expr.Conf{}))), ""},
		{build(">", expr.IntLit(1), expr.IntLit(2)), "false"},
		{build(">", expr.IntLit(2), expr.IntLit(1)), ""},
		{build("<", col, now), "(ts IS NOT NULL)"},
		{build("<", col, expr.TimestampLit(future, expr.Conf{})), "(ts < TIMESTAMP '9892-03-08 12:26:40')"},
	} {
		got := ""
		for _, e := range scanConditions(c.e, expr.Conf{}) {
			got += e.String()
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", c.e, got, c.want)
		}
	}
}
