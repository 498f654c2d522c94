package plan

import (
	"strconv"
	"strings"

	"streamlab/sql/expr"
	"streamlab/sql/types"
)

// HistoryText prints a condition as the history of a Delta table holds it: as Spark prints a resolved
// expression, whose columns carry numbers (id#3) and whose texts stand without quotes.
func HistoryText(e expr.Expr) string {
	switch x := e.(type) {
	case *expr.Column:
		return x.Field.Name + "#" + strconv.Itoa(x.Index)
	case *expr.Alias:
		return HistoryText(x.Child)
	case *expr.Literal:
		if x.Value.IsNull(0) {
			return "null"
		}
		if x.Type().Kind == types.String {
			return string(x.Value.Bytes(0))
		}
		return strings.TrimSuffix(strings.TrimSuffix(x.String(), "L"), "S")
	case *expr.Cast:
		if l, ok := x.Child.(*expr.Literal); ok && l.Type().IsNumeric() && x.To.IsNumeric() {
			return HistoryText(l) // constants are folded before they are noted
		}
		return "cast(" + HistoryText(x.Child) + " as " + x.To.Simple() + ")"
	case *expr.Scalar:
		return scalarText(x)
	}
	return withNumbers(e)
}

var infix = map[string]string{"=": "=", "<": "<", "<=": "<=", ">": ">", ">=": ">=", "<=>": "<=>", "and": "AND", "or": "OR", "+": "+", "-": "-", "*": "*",
	"/": "/", "%": "%", "&": "&", "|": "|", "^": "^"}

func scalarText(x *expr.Scalar) string {
	name := strings.ToLower(x.Name)
	args := make([]string, len(x.Args))
	for i, a := range x.Args {
		args[i] = HistoryText(a)
	}
	switch {
	case infix[name] != "" && len(args) == 2:
		return "(" + args[0] + " " + infix[name] + " " + args[1] + ")"
	case (name == "not" || name == "!") && len(args) == 1:
		return "NOT " + args[0]
	case (name == "<>" || name == "!=") && len(args) == 2:
		return "NOT (" + args[0] + " = " + args[1] + ")"
	case name == "in" && len(args) > 1:
		return args[0] + " IN (" + strings.Join(args[1:], ",") + ")"
	case name == "isnull" || name == "isnotnull":
		return name + "(" + strings.Join(args, ", ") + ")"
	}
	return withNumbers(x)
}

// withNumbers is an expression's own text with the columns in it renamed.
func withNumbers(e expr.Expr) string {
	text := e.String()
	seen := map[string]bool{}
	expr.Walk(e, func(x expr.Expr) bool {
		c, ok := x.(*expr.Column)
		if ok && !seen[c.Field.Name] {
			seen[c.Field.Name] = true
			text = replaceWord(text, c.Field.Name, c.Field.Name+"#"+strconv.Itoa(c.Index))
		}
		return true
	})
	return text
}

// replaceWord replaces a name where it stands alone.
func replaceWord(text, word, by string) string {
	part := func(c byte) bool {
		return c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= 0x80
	}
	var b strings.Builder
	for {
		i := strings.Index(text, word)
		if i < 0 || word == "" {
			break
		}
		j := i + len(word)
		alone := (i == 0 || !part(text[i-1])) && (j == len(text) || !part(text[j]) && text[j] != '#')
		b.WriteString(text[:i])
		if alone {
			b.WriteString(by)
		} else {
			b.WriteString(word)
		}
		text = text[j:]
	}
	b.WriteString(text)
	return b.String()
}

// sqlForm prints an expression as Spark's sql form of it: literals in the type they were read with, the casts
// that the analyser put in, columns behind the names of their tables.
func (a *analyzer) sqlForm(e expr.Expr, sc *scope) string { return spelledOut(e, sc).String() }

func spelledOut(e expr.Expr, sc *scope) expr.Expr {
	inner := func(c expr.Expr) expr.Expr { return spelledOut(c, sc) }
	switch x := e.(type) {
	case *expr.Literal:
		return &expr.Literal{Value: x.Value, Text: sqlText(x)}
	case *expr.Column:
		for _, k := range sc.cols {
			if k.index == x.Index && len(k.qual) > 0 && !k.auto {
				c := *x
				c.Field.Name = strings.Join(k.qual, ".") + "." + x.Field.Name
				return &c
			}
		}
		return x
	case *named:
		if c, ok := x.child.(*expr.Column); ok {
			return inner(c)
		}
		return x
	case *expr.Cast:
		c := *x
		c.Child, c.Function = inner(x.Child), false
		if c.Mode == expr.Implicit {
			c.Mode = expr.Explicit
		}
		return &c
	case *expr.Scalar:
		c := *x
		c.Args, c.Text = spelledArgs(x.Args, x.Text, inner)
		return &c
	case *expr.Lazy:
		c := *x
		c.Args, c.Text = spelledArgs(x.Args, x.Text, inner)
		return &c
	case *expr.AggregateCall:
		c := *x
		c.Args, c.Text = spelledArgs(x.Args, x.Text, inner)
		return &c
	}
	return expr.MapChildren(e, inner)
}

// spelledArgs puts the new texts of arguments into the text of their call, which holds the old ones in order.
func spelledArgs(args []expr.Expr, text string, f func(expr.Expr) expr.Expr) ([]expr.Expr, string) {
	out := make([]expr.Expr, len(args))
	var b strings.Builder
	for i, a := range args {
		out[i] = f(a)
		if before, after, ok := strings.Cut(text, a.String()); ok {
			b.WriteString(before)
			b.WriteString(out[i].String())
			text = after
		}
	}
	return out, b.String() + text
}
