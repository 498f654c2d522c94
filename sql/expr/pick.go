package expr

import (
	"fmt"
	"strconv"

	"streamlab/columnar"
)

// fieldUse says what a program does with a struct that an expression makes: it takes fields out of it, or it needs
// all of it.
type fieldUse struct {
	want  []bool
	whole bool
}

// useKey names the struct that an expression makes; "" if it makes all fields in any case. Structs that share a name
// share their uses, which can only be too many.
func useKey(x *Scalar) string {
	if x.Pick == nil {
		return ""
	}
	key := x.Name + "|" + x.Extra + "|" + x.Text + "|" + x.Out.SQL()
	for _, a := range x.Args {
		key += "|" + fmt.Sprintf("%T ", a) + a.String()
	}
	return key
}

// fieldUses finds the structs that are made for the sake of some of their fields.
func fieldUses(es []Expr) map[string]*fieldUse {
	var uses map[string]*fieldUse
	use := func(x *Scalar) *fieldUse {
		if uses == nil {
			uses = map[string]*fieldUse{}
		}
		key := useKey(x)
		if uses[key] == nil {
			uses[key] = &fieldUse{want: make([]bool, len(x.Out.Fields))}
		}
		return uses[key]
	}
	var visit func(e Expr) bool
	visit = func(e Expr) bool {
		s, ok := e.(*Scalar)
		if !ok {
			return true
		}
		if s.Name == "getfield" {
			base := s.Args[0]
			for {
				a, ok := base.(*Alias)
				if !ok {
					break
				}
				base = a.Child
			}
			if x, ok := base.(*Scalar); ok && x.Pick != nil {
				i, err := strconv.Atoi(s.Extra)
				if u := use(x); err == nil && i < len(u.want) {
					u.want[i] = true
				} else {
					u.whole = true
				}
				for _, a := range x.Args {
					Walk(a, visit)
				}
				return false
			}
		}
		if s.Pick != nil {
			use(s).whole = true
		}
		return true
	}
	for _, e := range es {
		Walk(e, visit)
	}
	return uses
}

// spread shows a struct of the wanted fields as one of all fields, of which the others are null.
func spread(dst, narrow *columnar.Vec, want []bool) {
	dst.Len, dst.Valid, dst.Const = narrow.Len, narrow.Valid, false
	kids := make([]*columnar.Vec, len(want)) // not dst's: those it has are narrow's
	next := 0
	for i, w := range want {
		if w {
			kids[i] = narrow.Kids[next]
			next++
			continue
		}
		kids[i] = &columnar.Vec{Const: true}
		kids[i].Reset(dst.Type.Fields[i].Type, 1)
		kids[i].Const, kids[i].Valid, kids[i].Len = true, []uint64{0}, narrow.Len
	}
	dst.Kids = kids
}
