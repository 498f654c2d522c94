package engine

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"streamlab/errs"
	"streamlab/sql"
	"streamlab/sql/catalog"
	"streamlab/sql/types"
)

var plainName = regexp.MustCompile(`^\w+$`)

// checkName refuses names that the session catalog does not take.
func checkName(parts []string) error {
	for _, p := range parts {
		if !plainName.MatchString(p) {
			return errs.New("INVALID_SCHEMA_OR_RELATION_NAME", "name", quoteParts(strings.Split(parts[len(parts)-1], ".")))
		}
	}
	return nil
}

// schemaName is the database that the parts of a name mean.
func schemaName(parts []string) (string, error) {
	if len(parts) == 2 && strings.EqualFold(parts[0], "spark_catalog") {
		parts = parts[1:]
	}
	if len(parts) != 1 {
		return "", errs.New("REQUIRES_SINGLE_PART_NAMESPACE", "sessionCatalog", "spark_catalog", "identifier", quoteParts(parts))
	}
	return parts[0], nil
}

func noSchema(name string) error {
	return errs.New("SCHEMA_NOT_FOUND", "schemaName", "`spark_catalog`."+types.Quote(name))
}

// database finds the database that the parts of a name mean.
func (r *statement) database(parts []string) (catalog.Database, error) {
	name, err := schemaName(parts)
	if err != nil {
		return catalog.Database{}, err
	}
	d, ok := r.s.catalog.Database(name)
	if !ok {
		return d, noSchema(name)
	}
	return d, nil
}

// warehouse is the folder of managed tables.
func (s *Session) warehouse() string { return filepath.Join(s.workspace, "warehouse") }

// folder is where the tables of a database are.
func (s *Session) folder(d catalog.Database) string {
	switch {
	case d.Location != "":
		return d.Location
	case strings.EqualFold(d.Name, "default"):
		return s.warehouse()
	}
	return filepath.Join(s.warehouse(), strings.ToLower(d.Name)+".db")
}

func (r *statement) createSchema(c *sql.Command, d *sql.CreateSchema) (*DataFrame, error) {
	name, err := schemaName(c.Name)
	if err != nil {
		return nil, err
	}
	if err := checkName([]string{name}); err != nil {
		return nil, err
	}
	if strings.EqualFold(name, "global_temp") {
		return nil, errs.New("_LEGACY_ERROR_TEMP_1066", "database", name)
	}
	if _, ok := r.s.catalog.Database(name); ok {
		if d.IfNotExists {
			return r.none()
		}
		return nil, errs.New("SCHEMA_ALREADY_EXISTS", "schemaName", types.Quote(name))
	}
	db := catalog.Database{Name: name, Comment: d.Comment, Properties: propertyMap(d.Properties)}
	if d.Location != "" {
		db.Location = r.s.path(d.Location)
	}
	r.s.catalog.PutDatabase(db)
	return r.none()
}

func propertyMap(ps []sql.Property) map[string]string {
	if len(ps) == 0 {
		return nil
	}
	m := map[string]string{}
	for _, p := range ps {
		m[p.Key] = p.Value
	}
	return m
}

func (r *statement) alterSchema(c *sql.Command, d *sql.AlterSchema) (*DataFrame, error) {
	db, err := r.database(c.Name)
	if err != nil {
		return nil, err
	}
	switch d.Action {
	case "SET PROPERTIES":
		db.Properties = merged(db.Properties, propertyMap(d.Properties), nil)
	case "UNSET PROPERTIES":
		var keys []string
		for _, p := range d.Properties {
			keys = append(keys, p.Key)
		}
		db.Properties = merged(db.Properties, nil, keys)
	case "SET LOCATION":
		db.Location = r.s.path(d.Location)
	}
	r.s.catalog.PutDatabase(db)
	return r.none()
}

func (r *statement) use(c *sql.Command) (*DataFrame, error) {
	if len(c.Name) == 1 && strings.EqualFold(c.Name[0], "spark_catalog") {
		return r.none()
	}
	d, err := r.database(c.Name)
	if err != nil {
		return nil, err
	}
	r.s.catalog.Use(d.Name)
	return r.none()
}

func (r *statement) dropSchema(c *sql.Drop) (*DataFrame, error) {
	name, err := schemaName(c.Name)
	if err != nil {
		return nil, err
	}
	d, ok := r.s.catalog.Database(name)
	if !ok {
		if c.IfExists {
			return r.none()
		}
		return nil, noSchema(name)
	}
	if strings.EqualFold(name, "default") {
		return nil, errs.New("UNSUPPORTED_FEATURE.DROP_DATABASE", "database", "`spark_catalog`.`default`")
	}
	list := r.s.catalog.List(d.Name)
	if !c.Cascade && (len(list) > 0 || r.hasFunctions(d.Name)) {
		return nil, errs.New("SCHEMA_NOT_EMPTY", "schemaName", types.Quote(name))
	}
	for _, rel := range list {
		if err := r.s.dropTable(rel); err != nil {
			return nil, err
		}
	}
	r.s.catalog.DropDatabase(d.Name)
	if d.Location == "" {
		_ = os.Remove(r.s.folder(d)) // it may never have held a file
	}
	return r.none()
}

func (r *statement) hasFunctions(db string) bool {
	for _, f := range r.s.catalog.Functions(db) {
		if !f.Temporary {
			return true
		}
	}
	return false
}

func (r *statement) describeSchema(c *sql.Describe) (*DataFrame, error) {
	d, err := r.database(c.Name)
	if err != nil {
		return nil, err
	}
	rows := [][]any{{"Catalog Name", "spark_catalog"}, {"Namespace Name", d.Name}, {"Comment", d.Comment},
		{"Location", "file:" + r.s.folder(d)}, {"Owner", owner()}}
	if c.Extended {
		var pairs []string
		for _, k := range sortedKeys(d.Properties) {
			pairs = append(pairs, "("+k+","+d.Properties[k]+")")
		}
		list := ""
		if len(pairs) > 0 {
			list = "(" + strings.Join(pairs, ", ") + ")"
		}
		rows = append(rows, []any{"Properties", list})
	}
	return r.s.answer(types.Schema{text("info_name"), text("info_value")}, rows)
}

func owner() string {
	for _, k := range []string{"USER", "LOGNAME", "USERNAME"} {
		if u := os.Getenv(k); u != "" {
			return u
		}
	}
	return "root"
}
