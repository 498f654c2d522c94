package catalog

import (
	"sort"
	"strings"

	"streamlab/sql/types"
)

// Function is CREATE FUNCTION. Body and Query are syntax trees (opaque here: sql.Expr and *sql.Query), of
// which one is set, or none for a function of a Java class.
type Function struct {
	Name      string
	Database  string // "" of temporary functions
	Temporary bool
	Params    []Param
	Returns   types.DataType // of a scalar function
	Typed     bool           // Returns was given
	Table     types.Schema   // of a table function
	IsTable   bool
	Comment   string
	Body      any
	Query     any
	Text      string // the statement; spans of Body and Query are in it
	Class     string // of Java
}

// Param is a parameter of a function. Default is a syntax tree, nil if there is none.
type Param struct {
	Name    string
	Type    types.DataType
	Default any
	Comment string
}

// Variable is DECLARE VARIABLE. Value is a constant (opaque here: an *expr.Literal).
type Variable struct {
	Name    string
	Type    types.DataType
	Value   any
	Default string // SQL text, "" for none
}

// PutFunction sets a function: a temporary one, or one of its database. False if that does not exist.
func (c *Catalog) PutFunction(f *Function) bool {
	r := c.root()
	r.mu.Lock()
	defer r.mu.Unlock()
	m := r.functions
	if !f.Temporary {
		d := r.databases[strings.ToLower(f.Database)]
		if d == nil {
			return false
		}
		m = d.functions
	}
	m[strings.ToLower(f.Name)] = f
	return true
}

// Function finds a function by its parts: temporary ones first, then those of the database.
func (c *Catalog) Function(parts []string) (*Function, bool) {
	if len(parts) == 0 {
		return nil, false
	}
	r := c.root()
	last := strings.ToLower(parts[len(parts)-1])
	if len(parts) == 1 || strings.EqualFold(parts[len(parts)-2], "session") {
		r.mu.RLock()
		f, ok := r.functions[last]
		r.mu.RUnlock()
		if ok {
			return f, true
		}
	}
	db, _, ok := c.Place(parts)
	if !ok {
		return nil, false
	}
	r.mu.RLock()
	defer r.mu.RUnlock()
	d := r.databases[strings.ToLower(db)]
	if d == nil {
		return nil, false
	}
	f, ok := d.functions[last]
	return f, ok
}

// DropFunction forgets a function.
func (c *Catalog) DropFunction(f *Function) {
	r := c.root()
	r.mu.Lock()
	defer r.mu.Unlock()
	if f.Temporary {
		delete(r.functions, strings.ToLower(f.Name))
	} else if d := r.databases[strings.ToLower(f.Database)]; d != nil {
		delete(d.functions, strings.ToLower(f.Name))
	}
}

// Functions lists the temporary functions and those of a database, sorted by name.
func (c *Catalog) Functions(db string) []*Function {
	r := c.root()
	r.mu.RLock()
	defer r.mu.RUnlock()
	var out []*Function
	for _, f := range r.functions {
		out = append(out, f)
	}
	if d := r.databases[strings.ToLower(db)]; d != nil {
		for _, f := range d.functions {
			out = append(out, f)
		}
	}
	sort.Slice(out, func(i, j int) bool { return out[i].Name < out[j].Name })
	return out
}

// Variable gives a session variable.
func (c *Catalog) Variable(name string) (*Variable, bool) {
	r := c.root()
	r.mu.RLock()
	defer r.mu.RUnlock()
	v, ok := r.variables[strings.ToLower(name)]
	return v, ok
}

// PutVariable sets a session variable.
func (c *Catalog) PutVariable(v *Variable) {
	r := c.root()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.variables[strings.ToLower(v.Name)] = v
}

// DropVariable forgets a session variable; false if there is none.
func (c *Catalog) DropVariable(name string) bool {
	r := c.root()
	r.mu.Lock()
	defer r.mu.Unlock()
	_, ok := r.variables[strings.ToLower(name)]
	delete(r.variables, strings.ToLower(name))
	return ok
}
