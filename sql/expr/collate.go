package expr

import (
	"bytes"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/collate"
	"golang.org/x/text/language"
	"golang.org/x/text/unicode/norm"

	"streamlab/columnar"
	"streamlab/errs"
	"streamlab/sql/types"
)

// Texts under a collation other than UTF8_BINARY are compared by keys: bytes that are equal and ordered as the
// texts are. What compares its arguments is given their keys, which print as the texts, so that comparisons
// themselves know nothing of collations and plain texts cost what they did.

// How strongly an expression asks for its collation: the strongest argument of a call decides.
const (
	defaultCollation = iota // literals
	implicitCollation
	explicitCollation // COLLATE
)

// collationOf is the collation of a STRING.
func collationOf(t types.DataType) types.Collation {
	c, err := types.CollationOf(t.Collation)
	if t.Collation == "" || err != nil {
		return types.Collation{Name: "UTF8_BINARY"}
	}
	return c
}

// collatedType is STRING under a collation.
func collatedType(c types.Collation) types.DataType {
	t := tString
	if c.Name != "UTF8_BINARY" {
		t.Collation = c.Name
	}
	return t
}

func isCollated(t types.DataType) bool {
	switch t.Kind {
	case types.String:
		return t.Collation != ""
	case types.Array:
		return isCollated(*t.Elem)
	case types.Map:
		return isCollated(*t.Key) || isCollated(*t.Elem)
	case types.Struct:
		for _, f := range t.Fields {
			if isCollated(f.Type) {
				return true
			}
		}
	}
	return false
}

// BinaryComparable reports whether texts in values of a type are equal only where their bytes are.
func BinaryComparable(t types.DataType) bool {
	switch t.Kind {
	case types.String:
		return t.Collation == "" || collationOf(t).Binary()
	case types.Array:
		return BinaryComparable(*t.Elem)
	case types.Map:
		return BinaryComparable(*t.Key) && BinaryComparable(*t.Elem)
	case types.Struct:
		for _, f := range t.Fields {
			if !BinaryComparable(f.Type) {
				return false
			}
		}
	}
	return true
}

func collationStrength(e Expr) int {
	switch x := e.(type) {
	case *Literal:
		return defaultCollation
	case *Column, *LambdaVar:
		return implicitCollation
	case *Cast:
		if x.Mode == Explicit || x.Mode == Try {
			return implicitCollation
		}
	case *Scalar:
		if x.Name == "collate" {
			return explicitCollation
		}
	}
	s := defaultCollation
	for _, k := range e.Children() {
		if k.Type().Kind == types.String {
			s = max(s, collationStrength(k))
		}
	}
	return s
}

// relabel shows e as a text of another collation.
func relabel(name string, e Expr, t types.DataType, text string) Expr {
	s := NewScalar(name, t, e.Nullable(), []Expr{e}, text, func(ctx *EvalContext, dst *columnar.Vec, args []*columnar.Vec, sel columnar.Sel) error {
		*dst = *args[0]
		dst.Type = t
		return nil
	})
	s.Alias, s.Extra = true, t.Collation
	return s
}

// underCollation gives an argument the collation that decides a call.
func underCollation(e Expr, c types.Collation) Expr {
	t := collatedType(c)
	if e.Type().Collation == t.Collation {
		return e
	}
	if l, ok := e.(*Literal); ok && l.Type().Kind == types.String {
		v := *l.Value
		v.Type = t
		return &Literal{Value: &v, Text: quoteSQL(string(v.Bytes(0))) + " collate " + c.Name}
	}
	return relabel("collate_as", e, t, e.String())
}

// Which functions do what with collations. Those that are not named take the text as it is.
var (
	collationAlone = nameSet("collate collation cast try_cast typeof struct named_struct map array_join to_json isnull isnotnull raise_error")
	comparing      = nameSet("= == <=> < <= > >= != <> in")
	patternTaking  = nameSet("like ilike rlike regexp_like regexp likeany likeall notlikeany notlikeall split regexp_extract regexp_extract_all " +
		"regexp_count regexp_instr regexp_substr regexp_replace")
	keepsCollation = nameSet("concat upper ucase lower lcase initcap replace translate substring substr left right lpad rpad trim ltrim rtrim btrim " +
		"repeat reverse split split_part substring_index regexp_replace regexp_extract regexp_extract_all regexp_substr concat_ws elt overlay " +
		"validate_utf8 make_valid_utf8")
	searching    = nameSet("contains startswith endswith instr locate position replace find_in_set")
	notUnderKeys = nameSet("translate split_part substring_index greatest least map array_contains array_position array_distinct array_union " +
		"array_intersect array_except arrays_overlap array_remove array_sort sort_array array_max array_min element_at map_contains_key " +
		"map_from_arrays map_from_entries map_concat levenshtein")
)

func nameSet(names string) map[string]bool {
	m := map[string]bool{}
	for _, n := range strings.Fields(names) {
		m[n] = true
	}
	return m
}

// buildCollated builds a call that has an argument under a collation.
func buildCollated(f *Function, call *Call) (Expr, error) {
	name := strings.ToLower(call.Name)
	if collationAlone[name] && !(name == "map" && len(call.Args) > 2) {
		return f.Build(call)
	}
	c, err := decideCollation(call, name)
	if err != nil {
		return nil, err
	}
	d := *call
	d.copyArgs()
	pattern := patternTaking[name] && name != "regexp_replace"
	for i, a := range d.Args {
		if a.Type().Kind == types.String && !(pattern && i > 0) {
			d.Args[i] = underCollation(a, c)
		}
	}
	if c.Binary() {
		for _, a := range d.Args {
			if !BinaryComparable(a.Type()) && (notUnderKeys[name] || comparing[name]) {
				return nil, unsupportedCollation(name, a.Type())
			}
		}
		return f.Build(&d)
	}
	switch {
	case notUnderKeys[name], strings.HasSuffix(name, "trim") && len(d.Args) > 1:
		return nil, unsupportedCollation(name, collatedType(c))
	case comparing[name]:
		for i, a := range d.Args {
			d.Args[i] = CollationKey(a)
		}
	case searching[name] && c.NoMarks, patternTaking[name] && c.Locale != "":
		for i, a := range d.Args {
			if a.Type().Kind == types.String {
				d.Args[i] = relabel("collate_as", a, tString, a.String())
			}
		}
		plain, err := f.Build(&d)
		if err != nil {
			return nil, err
		}
		return nil, WrongType(plain.String(), 0, `"STRING"`, call.Args[0])
	case searching[name]:
		return buildSearch(f, &d, c)
	case patternTaking[name] && c.Lower && strings.Contains(name, "like") && name != "rlike" && name != "regexp_like":
		for i, a := range d.Args {
			if a.Type().Kind == types.String {
				d.Args[i] = lowered(a)
			}
		}
	case patternTaking[name] && c.Lower:
		p := d.Args[1]
		any, err := Build("concat", []Expr{StringLit("(?i)"), relabel("collate_as", p, tString, p.String())}, call.Conf)
		if err != nil {
			return nil, err
		}
		d.Args[1] = relabel("collate_as", any, p.Type(), p.String())
	}
	e, err := f.Build(&d)
	if err != nil || !keepsCollation[name] {
		return e, err
	}
	return collatedResult(e, c), nil
}

// collatedResult gives a result of text the collation of the arguments.
func collatedResult(e Expr, c types.Collation) Expr {
	t := e.Type()
	switch {
	case t.Kind == types.String && t.Collation == "":
		return relabel("collate_as", e, collatedType(c), e.String())
	case t.Kind == types.Array && t.Elem.Kind == types.String && t.Elem.Collation == "":
		return relabel("collate_as", e, types.ArrayOf(collatedType(c), t.ContainsNull), e.String())
	}
	return e
}

func unsupportedCollation(name string, t types.DataType) error {
	return errs.New("UNSUPPORTED_FEATURE.STREAMLAB", "feature", "the function "+name+" of "+t.SQL())
}

// decideCollation finds the collation that a call's texts are taken under.
func decideCollation(call *Call, name string) (types.Collation, error) {
	strongest := defaultCollation
	var found []types.DataType
	for i, a := range call.Args {
		if a.Type().Kind != types.String || patternTaking[name] && name != "regexp_replace" && i > 0 {
			continue
		}
		s := collationStrength(a)
		t := a.Type()
		if s < strongest {
			continue
		}
		if s > strongest {
			strongest, found = s, nil
		}
		known := false
		for _, u := range found {
			known = known || u.Collation == t.Collation
		}
		if !known {
			found = append(found, t)
		}
	}
	if strongest == defaultCollation && len(found) > 1 { // literals that were given a collation before
		var set []types.DataType
		for _, t := range found {
			if t.Collation != "" {
				set = append(set, t)
			}
		}
		found = set
	}
	switch {
	case len(found) == 0:
		return types.Collation{Name: "UTF8_BINARY"}, nil
	case len(found) == 1:
		return collationOf(found[0]), nil
	case strongest == explicitCollation:
		names := make([]string, len(found))
		for i, t := range found {
			names[i] = quoted("STRING COLLATE " + collationOf(t).Name)
		}
		return types.Collation{}, errs.New("COLLATION_MISMATCH.EXPLICIT", "explicitTypes", strings.Join(names, ", "))
	}
	return types.Collation{}, errs.New("INDETERMINATE_COLLATION_IN_EXPRESSION", "expr", quoted(opOrCall(name, call.Args)))
}

func opOrCall(name string, args []Expr) string {
	if comparing[name] && name != "in" && len(args) == 2 {
		return opText(name, args)
	}
	return callText(name, args)
}

func collateFunctions() []Function {
	return []Function{{Name: "collate", Signature: "collate(str, collation)", Doc: "The text under a collation.", Portable: true,
		Build: func(c *Call) (Expr, error) {
			if err := c.Arity(2, 2); err != nil {
				return nil, err
			}
			name, ok := constText(c.Args[1], c.Conf)
			if !ok {
				if l, err := Const(c.Args[1], c.Conf); err == nil && l != nil && l.Value.IsNull(0) {
					return nil, errs.New("UNEXPECTED_INPUT_TYPE", "functionName", "`collate`", "paramIndex", "first", "inputSql", `"NULL"`,
						"inputType", `"VOID"`, "requiredType", `"STRING"`)
				}
				return nil, nonFoldable(c.Text(), "`collationName`", `"STRING"`, c.Args[1])
			}
			shown := name
			if rest, ok := strings.CutPrefix(strings.ToUpper(name), "SYSTEM.BUILTIN."); ok {
				shown = name[len(name)-len(rest):]
			}
			if strings.Contains(shown, ".") {
				shown = shown[strings.LastIndexByte(shown, '.')+1:]
				return nil, errs.New("COLLATION_INVALID_NAME", "collationName", shown, "proposals", strings.ToUpper(shown))
			}
			text := "collate(" + c.Args[0].String() + ", " + shown + ")"
			coll, err := types.CollationOf(shown)
			if err != nil {
				return nil, err
			}
			x := c.Args[0]
			switch x.Type().Kind {
			case types.Null:
				x = CastTo(x, tString, c.Conf)
			case types.String:
			default:
				return nil, WrongType(callText("collate", c.Args), 0, `"STRING"`, x)
			}
			return relabel("collate", x, collatedType(coll), text), nil
		}}}
}

// CollationKey is what stands for a text where it is compared, grouped or ordered: e itself unless its collation
// is another than UTF8_BINARY. It prints as e.
func CollationKey(e Expr) Expr {
	t := e.Type()
	if t.Kind != types.String || t.Collation == "" {
		return e
	}
	c := collationOf(t)
	if c.Binary() {
		return relabel("collate_as", e, tString, e.String())
	}
	s := Strict("collation_key", tBinary, []Expr{e}, e.String(), nil)
	s.Extra = c.Name
	s.Fresh = func() Kernel {
		k := newCollationKeys(c)
		return bytesRows(func(r *row, dst []byte) ([]byte, error) { return k.append(dst, r.bytes(0)), nil })
	}
	return s
}

// collationKeys makes keys for one kernel.
type collationKeys struct {
	c   types.Collation
	icu *collate.Collator
	buf collate.Buffer
}

func newCollationKeys(c types.Collation) *collationKeys {
	k := &collationKeys{c: c}
	if c.Locale != "" {
		var opts []collate.Option
		if c.NoCase {
			opts = append(opts, collate.IgnoreCase)
		}
		if c.NoMarks { // without marks there is no telling case by weights: see appendCase
			opts = append(opts, collate.IgnoreDiacritics, collate.IgnoreCase)
		}
		k.icu = collate.New(localeTag(c.Locale), opts...)
	}
	return k
}

// localeTag is the language of de, sr_Cyrl or en_USA.
func localeTag(name string) language.Tag {
	if name == "UNICODE" {
		return language.Und
	}
	parts := strings.Split(name, "_")
	var all []any
	if b, err := language.ParseBase(parts[0]); err == nil {
		all = append(all, b)
	}
	for _, p := range parts[1:] {
		if s, err := language.ParseScript(p); err == nil && len(p) == 4 {
			all = append(all, s)
		} else if r, err := language.ParseRegion(p); err == nil {
			all = append(all, r)
		}
	}
	t, err := language.Compose(all...)
	if err != nil {
		return language.Und
	}
	return t
}

func (k *collationKeys) append(dst, s []byte) []byte {
	if k.c.Trim {
		s = bytes.TrimRight(s, " ")
	}
	switch {
	case k.icu != nil:
		k.buf.Reset()
		dst = append(dst, k.icu.Key(&k.buf, s)...)
		if k.c.NoMarks && !k.c.NoCase {
			dst = appendCase(dst, s)
		}
		return dst
	case k.c.Lower:
		for len(s) > 0 {
			r, n := utf8.DecodeRune(s)
			dst = appendLowered(dst, r)
			s = s[n:]
		}
		return dst
	}
	return append(dst, s...)
}

// appendCase adds a level of case alone: 1 for an upper case letter, 0 for others, nothing for marks.
func appendCase(dst, s []byte) []byte {
	dst = append(dst, 0)
	for _, r := range string(norm.NFD.Bytes(s)) {
		switch {
		case unicode.Is(unicode.Mn, r):
		case unicode.IsUpper(r):
			dst = append(dst, 1)
		default:
			dst = append(dst, 0)
		}
	}
	return dst
}

// appendLowered adds a character as UTF8_LCASE compares it: one by one, without regard to what is around.
func appendLowered(dst []byte, r rune) []byte {
	switch r {
	case 'İ':
		return append(dst, "i̇"...)
	case 'ς':
		r = 'σ'
	}
	return utf8.AppendRune(dst, unicode.ToLower(r))
}

// lowered is a text with its characters lowered one by one; it prints as the text.
func lowered(e Expr) Expr {
	return Strict("collation_lower", e.Type(), []Expr{e}, e.String(), bytesToBytes(func(dst, s []byte) []byte {
		for len(s) > 0 {
			r, n := utf8.DecodeRune(s)
			dst = appendLowered(dst, r)
			s = s[n:]
		}
		return dst
	}))
}

// units is a text cut into characters, each with the key that it is compared by. Letters that a locale only
// compares together with their neighbours are compared alone.
type units struct {
	keys *collationKeys
	memo map[rune]string
	key  []string
	end  []int // byte behind each
}

func (u *units) read(s []byte) {
	u.key, u.end = u.key[:0], u.end[:0]
	for at := 0; at < len(s); {
		r, n := utf8.DecodeRune(s[at:])
		k, ok := u.memo[r]
		if !ok {
			k = string(u.keys.append(nil, s[at:at+n]))
			u.memo[r] = k
		}
		at += n
		u.key, u.end = append(u.key, k), append(u.end, at)
	}
}

// at is the byte where unit i begins.
func (u *units) at(i int) int {
	if i == 0 {
		return 0
	}
	return u.end[i-1]
}

// index finds part from unit from on, -1 if it is not there.
func (u *units) index(part *units, from int) int {
search:
	for i := from; i+len(part.key) <= len(u.key); i++ {
		for j, k := range part.key {
			if u.key[i+j] != k {
				continue search
			}
		}
		return i
	}
	return -1
}

// buildSearch builds the functions that look for a text in a text, over units.
func buildSearch(f *Function, call *Call, c types.Collation) (Expr, error) {
	e, err := f.Build(call)
	if err != nil {
		return nil, err
	}
	plain := c
	plain.Trim = false
	name := strings.ToLower(call.Name)
	make2 := func() (*units, *units) {
		k := newCollationKeys(plain)
		return &units{keys: k, memo: map[rune]string{}}, &units{keys: k, memo: map[rune]string{}}
	}
	s, ok := e.(*Scalar)
	if !ok {
		return nil, unsupportedCollation(name, collatedType(c))
	}
	d := *s
	d.Extra = c.Name + s.Extra
	d.Fresh = func() Kernel {
		text, part := make2()
		switch name {
		case "contains", "startswith", "endswith":
			return boolRows(func(r *row) (bool, error) {
				text.read(r.bytes(0))
				part.read(r.bytes(1))
				n := len(text.key) - len(part.key)
				switch name {
				case "contains":
					return text.index(part, 0) >= 0, nil
				case "startswith":
					return n >= 0 && text.index(part, 0) == 0, nil
				}
				return n >= 0 && text.index(part, n) == n, nil
			})
		case "instr":
			return i32Rows(func(r *row) (int32, error) {
				text.read(r.bytes(0))
				part.read(r.bytes(1))
				return int32(text.index(part, 0) + 1), nil
			})
		case "locate", "position":
			return i32Rows(func(r *row) (int32, error) {
				part.read(r.bytes(0))
				text.read(r.bytes(1))
				from := int32(1)
				if len(r.args) > 2 {
					from = r.i32(2)
				}
				if from < 1 {
					return 0, nil
				}
				return int32(text.index(part, int(from)-1) + 1), nil
			})
		case "find_in_set":
			return i32Rows(func(r *row) (int32, error) {
				want := string(text.keys.append(nil, r.bytes(0)))
				if bytes.IndexByte(r.bytes(0), ',') >= 0 {
					return 0, nil
				}
				for i, one := range bytes.Split(r.bytes(1), []byte{','}) {
					if string(text.keys.append(nil, one)) == want {
						return int32(i + 1), nil
					}
				}
				return 0, nil
			})
		}
		return bytesRows(func(r *row, dst []byte) ([]byte, error) { // replace
			s := r.bytes(0)
			text.read(s)
			part.read(r.bytes(1))
			if len(part.key) == 0 {
				return append(dst, s...), nil
			}
			done := 0
			for {
				i := text.index(part, done)
				if i < 0 {
					return append(dst, s[text.at(done):]...), nil
				}
				if err := fitsText(int64(len(dst) + i + len(r.bytes(2)))); err != nil {
					return dst, err
				}
				dst = append(append(dst, s[text.at(done):text.at(i)]...), r.bytes(2)...)
				done = i + len(part.key)
			}
		})
	}
	if keepsCollation[name] {
		return collatedResult(&d, c), nil
	}
	return &d, nil
}

// aggregateCollated builds an aggregate of texts that are not compared by their bytes.
func aggregateCollated(f *Function, call *Call) (*AggregateCall, error) {
	d := *call
	d.copyArgs()
	name := strings.ToLower(call.Name)
	switch {
	case name == "collect_set":
		return nil, errs.New("DATATYPE_MISMATCH.UNSUPPORTED_INPUT_TYPE", "sqlExpr", quoted(aggText(name, call.Args, call.Distinct)),
			"functionName", "`collect_set`", "dataType", `"MAP" or "COLLATED STRING"`)
	case name == "min" || name == "max":
		d.Name, d.Distinct = name+"_by", false
		d.Args = append(d.Args, CollationKey(d.Args[0]))
		a, err := BuildAggregate(&Call{Name: d.Name, Args: []Expr{relabel("collate_as", d.Args[0], tString, d.Args[0].String()), d.Args[1]},
			Filter: d.Filter, Conf: d.Conf})
		if err != nil {
			return nil, err
		}
		a.Text, a.Out = aggText(name, call.Args, call.Distinct), call.Args[0].Type()
		return a, nil
	case name == "count" && call.Distinct, name == "approx_count_distinct":
		for i, a := range d.Args {
			d.Args[i] = CollationKey(a)
		}
	case call.Distinct || name == "mode" || name == "approx_top_k":
		return nil, unsupportedCollation(name, call.Args[0].Type())
	}
	return f.BuildAggregate(&d)
}

// commonCollation gives texts that become one value the collation of the strongest.
func commonCollation(es []Expr, c Conf) ([]Expr, error) {
	collated := false
	for _, e := range es {
		t := e.Type()
		collated = collated || t.Kind == types.String && t.Collation != ""
	}
	if !collated {
		return es, nil
	}
	coll, err := decideCollation(&Call{Name: "case", Args: es, Conf: c}, "case")
	if err != nil {
		return nil, err
	}
	out := append([]Expr{}, es...)
	for i, e := range es {
		if e.Type().Kind == types.String {
			out[i] = underCollation(e, coll)
		}
	}
	return out, nil
}

// CollationOrder is an ordering by the collations of its texts.
func CollationOrder(orders []Ordering) []Ordering {
	out := append([]Ordering{}, orders...)
	for i := range out {
		out[i].Child = CollationKey(out[i].Child)
	}
	return out
}

// collatedCase gives the values of CASE one collation.
func collatedCase(branches []Branch, els Expr, c Conf) ([]Branch, Expr, error) {
	var values []Expr
	for _, b := range branches {
		values = append(values, b.Value)
	}
	if els != nil {
		values = append(values, els)
	}
	out, err := commonCollation(values, c)
	if err != nil || len(out) == 0 || &out[0] == &values[0] {
		return branches, els, err
	}
	branches = append([]Branch{}, branches...)
	for i := range branches {
		branches[i].Value = out[i]
	}
	if els != nil {
		els = out[len(out)-1]
	}
	return branches, els, nil
}
