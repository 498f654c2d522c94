package expr

import (
	"fmt"
	"regexp"
	"sort"
	"strings"

	"streamlab/errs"
	"streamlab/sql/types"
)

// schemaAndOptions reads the arguments behind the first of from_json and from_csv.
func schemaAndOptions(c *Call) (text string, t types.DataType, opts map[string]string, err error) {
	if err = c.Arity(2, 3); err != nil {
		return
	}
	text = callText(c.Name, c.Args[:1])
	if t, err = constSchema(c.Args[1], c.Conf); err != nil {
		return
	}
	if len(c.Args) == 3 {
		if opts, err = constOptions(c.Args[2], c.Conf); err != nil {
			return
		}
	}
	if k := c.Args[0].Type().Kind; k != types.String && k != types.Null {
		err = WrongType(text, 0, `"STRING"`, c.Args[0])
	}
	return
}

// constSchema reads a schema argument: DDL text, or schema_of_json and schema_of_csv of a constant.
func constSchema(e Expr, c Conf) (types.DataType, error) {
	bad := func() error {
		return errs.New("INVALID_SCHEMA.NON_STRING_LITERAL", "inputSchema", quoted(e.String()))
	}
	if e.Type().Kind != types.String || !Foldable(e) {
		return types.DataType{}, bad()
	}
	s, ok := constText(e, c)
	if !ok {
		return types.DataType{}, bad()
	}
	if c.NTZ {
		s = timestampWord.ReplaceAllString(s, "TIMESTAMP_NTZ")
	}
	t, err := types.ParseType(s)
	if err == nil {
		return t, nil
	}
	if sch, err2 := types.ParseDDL(s); err2 == nil && len(sch) > 0 {
		return types.StructOf(sch...), nil
	}
	if x := errs.As(err); x != nil && x.Condition != "FAILED_TO_PARSE_TOO_COMPLEX" {
		n := errs.New(x.Condition)
		n.Params = map[string]string{}
		for k, v := range x.Params {
			n.Params[k] = v
		}
		if tok := strings.Trim(n.Params["error"], "'"); n.Condition == "PARSE_SYNTAX_ERROR" && n.Params["error"] != "end of input" {
			words := strings.Fields(s)
			// The last word is what is left over behind a type.
			if len(words) == 2 && tok != "" {
				n.Params["error"], n.Params["hint"] = "'"+words[1]+"'", ": extra input '"+words[1]+"'"
			}
		}
		if words := strings.Fields(s); n.Condition == "UNSUPPORTED_DATATYPE" && len(words) == 2 {
			n = errs.New("PARSE_SYNTAX_ERROR", "error", "'"+words[1]+"'", "hint", ": extra input '"+words[1]+"'")
		}
		return t, n
	}
	return t, err
}

var timestampWord = regexp.MustCompile(`(?i)\btimestamp\b`)

// nullableType makes everything nullable, as readers of text do.
func nullableType(t types.DataType) types.DataType {
	switch t.Kind {
	case types.Array:
		return types.ArrayOf(nullableType(*t.Elem), true)
	case types.Map:
		return types.MapOf(nullableType(*t.Key), nullableType(*t.Elem), true)
	case types.Struct:
		fs := append([]types.Field{}, t.Fields...)
		for i := range fs {
			fs[i].Type, fs[i].Nullable = nullableType(fs[i].Type), true
		}
		return types.StructOf(fs...)
	}
	return t
}

// otherKeys finds a map whose keys are no texts, which JSON has not; nil if there is none.
func otherKeys(t types.DataType) *types.DataType {
	switch t.Kind {
	case types.Struct:
		for _, f := range t.Fields {
			if m := otherKeys(f.Type); m != nil {
				return m
			}
		}
	case types.Array:
		return otherKeys(*t.Elem)
	case types.Map:
		if t.Key.Kind != types.String {
			return &t
		}
		return otherKeys(*t.Elem)
	}
	return nil
}

// constOptions reads the last argument, a constant map of texts.
func constOptions(e Expr, c Conf) (map[string]string, error) {
	if e.Type().Kind != types.Map {
		return nil, errs.New("INVALID_OPTIONS.NON_MAP_FUNCTION")
	}
	t := e.Type()
	if len(t.Fields) == 0 && (t.Key.Kind != types.String || t.Elem.Kind != types.String) {
		return nil, errs.New("INVALID_OPTIONS.NON_STRING_TYPE", "mapType", quoted(t.SQL()))
	}
	l, err := Const(e, c)
	if err != nil {
		return nil, err
	}
	if l == nil {
		return nil, errs.New("INVALID_OPTIONS.NON_MAP_FUNCTION")
	}
	out := map[string]string{}
	v := l.Value
	if !v.IsNull(0) {
		for j := v.Off[0]; j < v.Off[1]; j++ {
			out[strings.ToLower(string(v.Kids[0].Bytes(int(j))))] = string(v.Kids[1].Bytes(int(j)))
		}
	}
	return out, nil
}

func optionsText(opts map[string]string) string {
	ks := make([]string, 0, len(opts))
	for k := range opts {
		ks = append(ks, k)
	}
	sort.Strings(ks)
	var b strings.Builder
	for _, k := range ks {
		fmt.Fprintf(&b, "%s=%s;", k, opts[k])
	}
	return b.String()
}

// parseMode is a mode in upper case; what is none counts as PERMISSIVE (ParseMode.fromString).
func parseMode(s string) string {
	switch s = strings.ToUpper(s); s {
	case "DROPMALFORMED", "FAILFAST":
		return s
	}
	return "PERMISSIVE"
}
