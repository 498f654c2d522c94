package catalog

import (
	"sort"
	"strings"
	"sync"
)

// Catalog is the names of a session. Safe for concurrent use. A catalog may have a parent that is asked for
// what it does not hold.
type Catalog struct {
	parent *Catalog
	child  bool // of a child session: only its temporary views are its own
	mu     sync.RWMutex
	// temp and global are temporary views and streams by lower-case name.
	temp, global map[string]Relation
	databases    map[string]*database
	current      string // database, as it was written
	files        func(format, path string) (Table, bool, error)
	functions    map[string]*Function // temporary ones by lower-case name
	variables    map[string]*Variable
}

type database struct {
	Database
	tables    map[string]Relation
	functions map[string]*Function
}

// Database is CREATE DATABASE.
type Database struct {
	Name       string
	Comment    string
	Location   string
	Properties map[string]string
}

// New makes a catalog with an empty database "default"; parent may be nil.
func New(parent *Catalog) *Catalog {
	c := &Catalog{parent: parent, temp: map[string]Relation{}, global: map[string]Relation{}, databases: map[string]*database{},
		functions: map[string]*Function{}, variables: map[string]*Variable{}}
	if parent == nil {
		c.databases["default"] = newDatabase(Database{Name: "default", Comment: "default database"})
		c.current = "default"
	}
	return c
}

// Overlay makes a catalog for a child session: views registered in it stay in it, everything else is its
// parent's, as when Spark clones a session for foreachBatch. parent must not be nil.
func Overlay(parent *Catalog) *Catalog {
	c := New(parent)
	c.child = true
	return c
}

func newDatabase(d Database) *database {
	return &database{Database: d, tables: map[string]Relation{}, functions: map[string]*Function{}}
}

// root is where databases are kept.
func (c *Catalog) root() *Catalog {
	for c.parent != nil {
		c = c.parent
	}
	return c
}

// Split divides a dotted name into its parts; parts in back quotes may hold dots.
func Split(name string) []string {
	var parts []string
	var b strings.Builder
	quoted := false
	for i := 0; i < len(name); i++ {
		switch ch := name[i]; {
		case ch == '`' && quoted && i+1 < len(name) && name[i+1] == '`':
			b.WriteByte('`')
			i++
		case ch == '`':
			quoted = !quoted
		case ch == '.' && !quoted:
			parts = append(parts, b.String())
			b.Reset()
		default:
			b.WriteByte(ch)
		}
	}
	return append(parts, b.String())
}

// Current is the current database.
func (c *Catalog) Current() string {
	r := c.root()
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.current
}

// Use makes a database the current one; false if there is none of the name.
func (c *Catalog) Use(name string) bool {
	r := c.root()
	r.mu.Lock()
	defer r.mu.Unlock()
	d, ok := r.databases[strings.ToLower(name)]
	if ok {
		r.current = d.Name
	}
	return ok
}

// Place says what a name of several parts means: a database and a name in it. ok is false if it has more
// parts than that, or an unknown catalog in front. A name of one part is of the current database.
func (c *Catalog) Place(parts []string) (db, name string, ok bool) {
	if len(parts) == 3 && strings.EqualFold(parts[0], "spark_catalog") {
		parts = parts[1:]
	}
	switch len(parts) {
	case 1:
		return c.Current(), parts[0], true
	case 2:
		return parts[0], parts[1], true
	}
	return "", "", false
}

// Find gives what the parts of a name stand for.
func (c *Catalog) Find(parts []string) (Relation, bool) {
	if len(parts) == 0 {
		return Relation{}, false
	}
	last := strings.ToLower(parts[len(parts)-1])
	session := len(parts) == 2 && strings.EqualFold(parts[0], "session") ||
		len(parts) == 3 && strings.EqualFold(parts[0], "system") && strings.EqualFold(parts[1], "session")
	for k := c; k != nil && (len(parts) == 1 || session); k = k.parent {
		k.mu.RLock()
		r, ok := k.temp[last]
		k.mu.RUnlock()
		if ok {
			return r, true
		}
	}
	root := c.root()
	if len(parts) == 2 && strings.EqualFold(parts[0], "global_temp") {
		root.mu.RLock()
		defer root.mu.RUnlock()
		r, ok := root.global[last]
		return r, ok
	}
	db, name, ok := c.Place(parts)
	if !ok {
		return Relation{}, false
	}
	root.mu.RLock()
	defer root.mu.RUnlock()
	d := root.databases[strings.ToLower(db)]
	if d == nil {
		return Relation{}, false
	}
	r, ok := d.tables[strings.ToLower(name)]
	return r, ok
}

// Lookup is Find for a dotted name.
func (c *Catalog) Lookup(name string) (Relation, bool) { return c.Find(Split(name)) }

// Register sets what a name stands for, replacing what it stood for: a table of the database that its name
// says ("default.t", "t" in the current one), else a temporary view or stream.
func (c *Catalog) Register(name string, r Relation) {
	parts := Split(name)
	r.Name = parts[len(parts)-1]
	if c.child && r.View == nil {
		c.parent.Register(name, r)
		return
	}
	if r.Table != nil && c.parent == nil {
		if db, n, ok := c.Place(parts); ok && c.Put(db, n, r) {
			return
		}
	}
	r.Temporary, r.Database = true, ""
	c.mu.Lock()
	c.temp[strings.ToLower(r.Name)] = r
	c.mu.Unlock()
}

// RegisterView sets a temporary view of a plain name.
func (c *Catalog) RegisterView(name string, v *View) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.temp[strings.ToLower(name)] = Relation{Name: name, Temporary: true, View: v}
}

// Put sets what a name of a database stands for; false if there is no such database. "global_temp" is the
// database of global temporary views.
func (c *Catalog) Put(db, name string, r Relation) bool {
	root := c.root()
	root.mu.Lock()
	defer root.mu.Unlock()
	r.Name, r.Database, r.Temporary = name, db, false
	if strings.EqualFold(db, "global_temp") {
		r.Database, r.Temporary = "global_temp", true
		root.global[strings.ToLower(name)] = r
		return true
	}
	d := root.databases[strings.ToLower(db)]
	if d == nil {
		return false
	}
	r.Database = d.Name
	d.tables[strings.ToLower(name)] = r
	return true
}

// Temporary gives the temporary view or stream of a name.
func (c *Catalog) Temporary(name string) (Relation, bool) { return c.Find([]string{"session", name}) }

// SetFiles says how a format and a path, as in parquet.`/data`, become a table: ok is false if the format is
// none.
func (c *Catalog) SetFiles(open func(format, path string) (t Table, ok bool, err error)) {
	r := c.root()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.files = open
}

// File opens the table of a format at a path; ok is false if there is no such format.
func (c *Catalog) File(format, path string) (t Table, ok bool, err error) {
	r := c.root()
	r.mu.RLock()
	open := r.files
	r.mu.RUnlock()
	if open == nil {
		return nil, false, nil
	}
	return open(format, path)
}

// Remove forgets what Find finds; false if it finds nothing.
func (c *Catalog) Remove(parts []string) bool {
	r, ok := c.Find(parts)
	if !ok {
		return false
	}
	key := strings.ToLower(r.Name)
	if r.Temporary && r.Database == "" {
		for k := c; k != nil; k = k.parent {
			k.mu.Lock()
			_, here := k.temp[key]
			delete(k.temp, key)
			k.mu.Unlock()
			if here {
				return true
			}
		}
		return false
	}
	root := c.root()
	root.mu.Lock()
	defer root.mu.Unlock()
	if r.Temporary {
		delete(root.global, key)
		return true
	}
	if d := root.databases[strings.ToLower(r.Database)]; d != nil {
		delete(d.tables, key)
	}
	return true
}

// Drop is Remove for a dotted name.
func (c *Catalog) Drop(name string) bool { return c.Remove(Split(name)) }

// Names lists the names of temporary views, streams and of the tables of the current database, sorted.
func (c *Catalog) Names() []string {
	seen := map[string]bool{}
	for _, r := range append(c.List(c.Current()), c.List("")...) {
		seen[r.Name] = true
	}
	out := make([]string, 0, len(seen))
	for n := range seen {
		out = append(out, n)
	}
	sort.Strings(out)
	return out
}

// List gives the relations of a database, sorted by name; "" is that of temporary views and streams,
// "global_temp" that of global ones.
func (c *Catalog) List(db string) []Relation {
	m := map[string]Relation{}
	take := func(k *Catalog, from map[string]Relation) {
		for key, r := range from {
			if _, ok := m[key]; !ok {
				m[key] = r
			}
		}
	}
	root := c.root()
	switch {
	case db == "":
		for k := c; k != nil; k = k.parent {
			k.mu.RLock()
			take(k, k.temp)
			k.mu.RUnlock()
		}
	case strings.EqualFold(db, "global_temp"):
		root.mu.RLock()
		take(root, root.global)
		root.mu.RUnlock()
	default:
		root.mu.RLock()
		if d := root.databases[strings.ToLower(db)]; d != nil {
			take(root, d.tables)
		}
		root.mu.RUnlock()
	}
	out := make([]Relation, 0, len(m))
	for _, r := range m {
		out = append(out, r)
	}
	sort.Slice(out, func(i, j int) bool { return strings.ToLower(out[i].Name) < strings.ToLower(out[j].Name) })
	return out
}

// ---- databases

// Database gives a database by name.
func (c *Catalog) Database(name string) (Database, bool) {
	r := c.root()
	r.mu.RLock()
	defer r.mu.RUnlock()
	d, ok := r.databases[strings.ToLower(name)]
	if !ok {
		return Database{}, false
	}
	return d.Database, true
}

// PutDatabase makes a database or changes what is known of it.
func (c *Catalog) PutDatabase(d Database) {
	r := c.root()
	r.mu.Lock()
	defer r.mu.Unlock()
	if old := r.databases[strings.ToLower(d.Name)]; old != nil {
		old.Database = d
		return
	}
	r.databases[strings.ToLower(d.Name)] = newDatabase(d)
}

// DropDatabase forgets a database and what is in it; false if there is none. The current database stays
// current by name.
func (c *Catalog) DropDatabase(name string) bool {
	r := c.root()
	r.mu.Lock()
	defer r.mu.Unlock()
	_, ok := r.databases[strings.ToLower(name)]
	delete(r.databases, strings.ToLower(name))
	return ok
}

// Databases lists the databases, sorted by name.
func (c *Catalog) Databases() []Database {
	r := c.root()
	r.mu.RLock()
	defer r.mu.RUnlock()
	out := make([]Database, 0, len(r.databases))
	for _, d := range r.databases {
		out = append(out, d.Database)
	}
	sort.Slice(out, func(i, j int) bool { return out[i].Name < out[j].Name })
	return out
}
