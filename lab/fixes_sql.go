package lab

import (
	"strings"

	"streamlab/sql"
	"streamlab/sql/types"
)

// eachClause makes a candidate of every place in the query's texts that find gives edits for.
func eachClause(title, explain string, find func(t *site, c clause, i int) []Edit) recipe {
	return recipe{title, explain, func(t *site) (out []candidate) {
		for _, c := range t.clauses() {
			for i := range c.tok {
				if e := find(t, c, i); len(e) > 0 {
					out = append(out, candidate{"", e})
				}
			}
		}
		return out
	}}
}

// dropPart takes a part of a query away that begins with the words.
func dropPart(explain string, words ...string) recipe {
	return eachClause("leave "+strings.Join(words, " ")+" out", explain, func(t *site, c clause, i int) []Edit {
		if !c.is(i, words...) {
			return nil
		}
		return t.cut(c, i, c.until(i))
	})
}

// dropSample takes TABLESAMPLE (…) away.
func dropSample() recipe {
	return eachClause("leave TABLESAMPLE out", "reads all rows", func(t *site, c clause, i int) []Edit {
		if !c.is(i, "TABLESAMPLE") {
			return nil
		}
		if end := c.closing(i + 1); end > 0 {
			return t.cut(c, i, end+1)
		}
		return nil
	})
}

// closing is the parenthesis that closes the one at token i; -1 if there is none.
func (c clause) closing(i int) int {
	depth := 0
	for k := i; k < len(c.tok); k++ {
		switch c.tok[k].Text {
		case "(":
			depth++
		case ")":
			if depth--; depth == 0 {
				return k
			}
		}
	}
	return -1
}

// firstPart keeps what stands before a set operation.
func firstPart() recipe {
	return eachClause("keep the first part only", "what stands before the set operation", func(t *site, c clause, i int) []Edit {
		switch c.tok[i].Upper {
		case "UNION", "EXCEPT", "INTERSECT", "MINUS":
			end := i
			for end = c.until(i); end < len(c.tok)-1 && c.tok[end].Text != ")"; end = c.until(end) {
			}
			return t.cut(c, i, end)
		}
		return nil
	})
}

// joinKind writes another kind of join where one of the kinds stands; nil kinds are all.
func joinKind(title, explain, to string, kinds ...string) recipe {
	return eachClause(title, explain, func(t *site, c clause, i int) []Edit {
		from, kind := c.join(i)
		if from < 0 || kind == to {
			return nil
		}
		for _, k := range kinds {
			if k == kind {
				return t.swap(c, from, i+1, strings.TrimSpace(to+" JOIN"))
			}
		}
		return nil
	})
}

// join tells of a token JOIN where its words begin and which kind it is: "", LEFT, RIGHT, FULL, SEMI, ANTI, CROSS.
func (c clause) join(i int) (from int, kind string) {
	if c.tok[i].Upper != "JOIN" {
		return -1, ""
	}
	from = i
	for from > 0 {
		switch w := c.tok[from-1].Upper; w {
		case "LEFT", "RIGHT", "FULL":
			if kind == "" {
				kind = w
			}
		case "SEMI", "ANTI", "CROSS":
			kind = w
		case "INNER", "OUTER":
		default:
			return from, kind
		}
		from--
	}
	return from, kind
}

// operands are the relations on the two sides of a join, by the names that columns have in front.
func (c clause) operands(i, from int) (left, right string) {
	name := func(k int) string {
		if k < 0 || k >= len(c.tok) || c.tok[k].Kind != sql.Word && c.tok[k].Kind != sql.Quoted {
			return ""
		}
		return c.text[c.tok[k].Start:c.tok[k].End]
	}
	left = name(from - 1)
	right = name(i + 1)
	for k := i + 2; k < len(c.tok); k++ {
		switch c.tok[k].Upper {
		case "AS":
			continue
		case "ON", "USING", "WHERE", "GROUP", "":
			return left, right
		}
		if n := name(k); n != "" {
			right = n
		}
		return left, right
	}
	return left, right
}

// relation is the name in the lab of what is called alias in the text.
func (t *site) relation(c clause, alias string) string {
	alias = strings.Trim(alias, "`")
	known := func(n string) bool { return t.source(n) != nil || t.view(n) != nil || t.table(n) != nil }
	if known(alias) {
		return alias
	}
	for i, k := range c.tok {
		if !strings.EqualFold(k.Text, alias) {
			continue
		}
		at := i - 1
		if at >= 0 && c.tok[at].Upper == "AS" {
			at--
		}
		if at >= 0 && known(c.tok[at].Text) {
			return c.tok[at].Text
		}
	}
	return ""
}

// timeOf is the first timestamp column of a relation; marked tells whether it has a watermark.
func (t *site) timeOf(name string) (column string, marked bool) {
	for _, f := range t.columns(name) {
		if f.Type.Kind == types.Timestamp {
			if f.DelayMicros > 0 {
				return f.Name, true
			}
			if column == "" {
				column = f.Name
			}
		}
	}
	return column, false
}

// boundTimes bounds how far the times of two streams that are joined may lie apart, and gives both a watermark.
// to is the kind that the join then is; the join's own if it is "-".
func boundTimes(title, to string, kinds ...string) recipe {
	explain := "rows wait for a partner for an hour of event time"
	return recipe{title, explain, func(t *site) (out []candidate) {
		for n, c := range t.clauses() {
			for i := range c.tok {
				from, kind := c.join(i)
				fits := false
				for _, k := range kinds {
					fits = fits || k == kind
				}
				if from < 0 || !fits {
					continue
				}
				l, r := c.operands(i, from)
				left, right := t.relation(c, l), t.relation(c, r)
				lt, lm := t.timeOf(left)
				rt, rm := t.timeOf(right)
				if lt == "" || rt == "" {
					continue
				}
				lc, rc := l+"."+types.QuoteIfNeeded(lt), r+"."+types.QuoteIfNeeded(rt)
				within := rc + " BETWEEN " + lc + " - INTERVAL 1 HOUR AND " + lc + " + INTERVAL 1 HOUR"
				end := c.until(i)
				missing := ""
				if kind == "ANTI" && to == "LEFT" { // a row without a partner is one whose partner is null
					missing = " WHERE " + rc + " IS NULL"
					if c.is(end, "WHERE") {
						missing = ""
					}
				}
				steps := []func(*site) []Edit{func(t *site) []Edit {
					c := t.clauses()[n]
					on := " AND " + within
					if !c.has(i, end, "ON") {
						on = " ON " + within
					}
					return t.insert(c, end, on+missing)
				}}
				if to != "-" {
					steps = append(steps, func(t *site) []Edit { return t.swap(t.clauses()[n], from, i+1, strings.TrimSpace(to+" JOIN")) })
				}
				if !lm {
					steps = append(steps, func(t *site) []Edit { return t.watermark(left, lt) })
				}
				if !rm {
					steps = append(steps, func(t *site) []Edit { return t.watermark(right, rt) })
				}
				out = append(out, candidate{within, t.sequence(steps...)})
			}
		}
		return out
	}}
}

func (c clause) has(from, to int, word string) bool {
	for k := from; k < to; k++ {
		if c.tok[k].Upper == word {
			return true
		}
	}
	return false
}

// joinByColumn gives a join an equality of columns of the same name, or of the same type.
func joinByColumn() recipe {
	return recipe{"join by an equality", "", func(t *site) (out []candidate) {
		for _, c := range t.clauses() {
			for i := range c.tok {
				from, kind := c.join(i)
				if from < 0 {
					continue
				}
				l, r := c.operands(i, from)
				left, right := t.columns(t.relation(c, l)), t.columns(t.relation(c, r))
				equal := ""
				for pass := 0; pass < 2 && equal == ""; pass++ {
					for _, a := range left {
						for _, b := range right {
							if equal == "" && a.Type.Kind == b.Type.Kind && (pass == 1 || strings.EqualFold(a.Name, b.Name)) {
								equal = l + "." + types.QuoteIfNeeded(a.Name) + " = " + r + "." + types.QuoteIfNeeded(b.Name)
							}
						}
					}
				}
				if equal == "" {
					continue
				}
				end := c.until(i)
				text := " AND " + equal
				if !c.has(i, end, "ON") {
					text = " ON " + equal
				}
				e := t.insert(c, end, text)
				if kind == "CROSS" {
					e = append(e, t.swap(c, from, i+1, "JOIN")...)
				}
				out = append(out, candidate{equal, e})
			}
		}
		return out
	}}
}

// distinctFree rewrites an aggregate of distinct values.
func distinctFree() recipe {
	return recipe{"count without DISTINCT", "", func(t *site) (out []candidate) {
		for _, c := range t.clauses() {
			var e []Edit
			explain := ""
			for i := range c.tok {
				if !c.is(i+1, "(", "DISTINCT") {
					continue
				}
				name := strings.ToLower(c.tok[i].Text)
				if name == "count" {
					e = append(e, t.swap(c, i, i+3, "approx_count_distinct(")...)
					explain = "approx_count_distinct counts within 5 %"
					continue
				}
				e = append(e, t.swap(c, i, i+3, c.tok[i].Text+"(")...)
				if explain == "" {
					explain = name + " takes equal values as often as they come"
				}
			}
			if len(e) > 0 {
				out = append(out, candidate{explain, e})
			}
		}
		return out
	}}
}

// otherFunction writes a call of one function where another stands.
func otherFunction(from, to, explain string) recipe {
	return eachClause("use "+to+"()", explain, func(t *site, c clause, i int) []Edit {
		if strings.EqualFold(c.tok[i].Text, from) && c.is(i+1, "(", ")") {
			return t.swap(c, i, i+3, to+"()")
		}
		return nil
	})
}

// windowKey groups by a window of the event time too, with a watermark if there is none.
func windowKey() recipe {
	return recipe{"group by a window of the event time", "", func(t *site) (out []candidate) {
		for _, c := range t.clauses() {
			if windowed(c.tok) {
				return nil
			}
		}
		for n, c := range t.clauses() {
			for i := range c.tok {
				if c.tok[i].Upper != "FROM" || i == 0 {
					continue
				}
				for _, name := range t.reads() {
					col, marked := t.timeOf(name)
					if col == "" || t.table(name) != nil {
						continue
					}
					window := "window(" + types.QuoteIfNeeded(col) + ", '1 minute')"
					edit := func(t *site) []Edit {
						c := t.clauses()[n]
						for k := i; k < len(c.tok); k = c.until(k) {
							if c.is(k, "GROUP", "BY") {
								return t.insert(c, k+2, " "+window+",")
							}
							if c.tok[k].Kind == sql.EOF || c.tok[k].Text == ")" || k > i && !c.is(k, "WHERE") {
								return t.insert(c, k, " GROUP BY "+window)
							}
						}
						return nil
					}
					steps := []func(*site) []Edit{edit}
					if !marked {
						steps = append(steps, func(t *site) []Edit { return t.watermark(name, col) })
					}
					out = append(out, candidate{"GROUP BY " + window + ", …: a window's row comes when the watermark has passed it", t.sequence(steps...)})
				}
			}
		}
		return out
	}}
}

// windowed tells whether a clause has a window of time already: another one is no way out.
func windowed(tok []sql.Token) bool {
	for _, t := range tok {
		if t.Upper == "WINDOW" || t.Upper == "SESSION_WINDOW" {
			return true
		}
	}
	return false
}

// moreKeys gives a grouping by a session window a second key.
func moreKeys() recipe {
	return recipe{"group by another column too", "", func(t *site) (out []candidate) {
		for _, c := range t.clauses() {
			for i := range c.tok {
				if !c.is(i, "GROUP", "BY") {
					continue
				}
				for _, name := range t.reads() {
					for _, f := range t.columns(name) {
						if f.Type.Kind == types.Timestamp || f.Type.Kind == types.Struct || f.Type.Kind == types.Array || f.Type.Kind == types.Map {
							continue
						}
						col := types.QuoteIfNeeded(f.Name)
						out = append(out, candidate{"sessions of each " + col, t.insert(c, i+2, " "+col+",")})
					}
				}
			}
		}
		return out
	}}
}

// suggestName writes the name that the error proposes where the unknown one stands.
func suggestName(param string) recipe {
	return recipe{"write the name that there is", "", func(t *site) (out []candidate) {
		wrong := strings.Trim(lastPart(t.e.Params["objectName"]+t.e.Params["relationName"]+t.e.Params["routineName"]+t.e.Params["colName"]), "`\"")
		var names []string
		for _, p := range strings.Split(t.e.Params[param], ", ") {
			if p != "" {
				names = append(names, strings.Trim(lastPart(p), "`"))
			}
		}
		if param == "" {
			var all []string
			for _, s := range t.l.Sources {
				all = append(all, s.Name.Value)
			}
			for _, s := range t.l.Views {
				all = append(all, s.Name.Value)
			}
			for _, s := range t.l.Tables {
				all = append(all, s.Name.Value)
			}
			if n := nearest(wrong, all); n != "" {
				names = append(names, n)
			}
		}
		for _, n := range names {
			for _, c := range t.clauses() {
				for i, k := range c.tok {
					if strings.EqualFold(k.Text, wrong) {
						out = append(out, candidate{n, t.swap(c, i, i+1, types.QuoteIfNeeded(n))})
					}
				}
			}
			if t.q != nil {
				out = append(out, candidate{n, t.p.setScalar(t.q.node, "from", n)})
			}
		}
		return out
	}}
}

func lastPart(s string) string { return s[strings.LastIndexByte(s, '.')+1:] }
