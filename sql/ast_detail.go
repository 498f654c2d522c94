package sql

// Detail is what a Command has beside its kind and name.
type Detail interface{ detail() }

// Alter is ALTER TABLE or ALTER VIEW. Action says which fields count:
//
//	ADD COLUMNS          Columns
//	REPLACE COLUMNS      Columns
//	DROP COLUMNS         Targets, IfExists
//	RENAME COLUMN        Targets[0], To[0]
//	ALTER COLUMN         Targets[0], Change, and what Change names of Columns[0]
//	RENAME TO            To
//	SET TBLPROPERTIES    Properties
//	UNSET TBLPROPERTIES  Properties with keys only, IfExists
//	ADD CONSTRAINT       Constraint
//	DROP CONSTRAINT      Constraint.Name, IfExists
//	CLUSTER BY           Targets; none of CLUSTER BY NONE
//	ADD PARTITION        Partition, IfExists means IF NOT EXISTS
//	DROP PARTITION       Partition, IfExists
//	DROP FEATURE         To[0]
//	SET LOCATION         Location
//	SET SERDEPROPERTIES  Properties
//	RENAME PARTITION     Partition, ToPartition
//	AS                   Query, of a view
type Alter struct {
	Action     string
	Columns    []ColumnDef
	Targets    [][]string
	Change     string // TYPE, COMMENT, SET NOT NULL, DROP NOT NULL, SET DEFAULT, DROP DEFAULT, POSITION
	To         []string
	Properties []Property
	Constraint *Constraint
	Partition  []Property
	IfExists   bool
	Location   string
	Query      *Query
	QueryText  string
	// ToPartition is the second PARTITION of RENAME PARTITION; the first is Partition.
	ToPartition []Property
}

// AlterSchema is ALTER SCHEMA. Action: SET PROPERTIES, UNSET PROPERTIES (keys only), SET LOCATION.
type AlterSchema struct {
	Action     string
	Properties []Property
	Location   string
}

// Truncate is TRUNCATE TABLE t [PARTITION (…)].
type Truncate struct{ Partition []Property }

// Optimize is OPTIMIZE t [FULL] [WHERE e] [ZORDER BY (…)].
type Optimize struct {
	Full   bool
	Where  Expr
	ZOrder [][]string
}

// Vacuum is VACUUM t [RETAIN n HOURS] [DRY RUN]. Retain is the number, "" if absent.
type Vacuum struct {
	Retain string
	DryRun bool
}

// Convert is CONVERT TO DELTA parquet.`/path` [NO STATISTICS] [PARTITIONED BY (…)].
type Convert struct {
	PartitionBy  []ColumnDef
	NoStatistics bool
}

// Restore is RESTORE [TABLE] t TO VERSION AS OF v or TO TIMESTAMP AS OF ts; one of them is set.
type Restore struct {
	Version   Expr
	Timestamp Expr
}

// Cache is CACHE [LAZY] TABLE t [OPTIONS (…)] [AS query]; Query is nil without AS.
type Cache struct {
	Lazy    bool
	Options []Property
	Query   *Query
}

// CreateSchema is CREATE SCHEMA or DATABASE.
type CreateSchema struct {
	IfNotExists bool
	Comment     string
	Location    string
	Properties  []Property
}

// CreateFunction is CREATE [TEMPORARY] FUNCTION … RETURN. One of Body and Query is set.
type CreateFunction struct {
	Replace     bool
	Temporary   bool
	IfNotExists bool
	Params      []ColumnDef
	Returns     string      // type, "" if absent
	Table       []ColumnDef // RETURNS TABLE (…)
	IsTable     bool        // RETURNS TABLE, with or without columns
	Comment     string
	Class       string // of Java: CREATE FUNCTION f AS 'class'
	Body        Expr
	Query       *Query
}

// Declare is DECLARE [OR REPLACE] VARIABLE. Type is "" if absent.
type Declare struct {
	Names   [][]string
	Replace bool
	Type    string
	Default Expr
}

// SetVariable is SET VARIABLE a = e, …, or SET VARIABLE (a, b) = (query).
type SetVariable struct {
	Set   []Assignment
	Names []*Name // of the form with Query
	Query *Query
}

// Execute is EXECUTE IMMEDIATE text [INTO vars] [USING args].
type Execute struct {
	Code  Expr
	Into  []*Name
	Using []SelectItem
}

// CreateFlow is CREATE FLOW name [COMMENT c] AS INSERT INTO ….
type CreateFlow struct {
	Comment string
	Insert  *Insert
}

// Analyze is ANALYZE TABLE … COMPUTE STATISTICS; Columns of FOR COLUMNS, All of FOR ALL COLUMNS.
type Analyze struct {
	Columns []string
	All     bool
	NoScan  bool
}

// CommentOn is COMMENT ON TABLE or SCHEMA … IS text; Null of IS NULL.
type CommentOn struct {
	What string
	Text string
	Null bool
}

func (*Alter) detail()          {}
func (*AlterSchema) detail()    {}
func (*Truncate) detail()       {}
func (*Convert) detail()        {}
func (*Optimize) detail()       {}
func (*Vacuum) detail()         {}
func (*Restore) detail()        {}
func (*Cache) detail()          {}
func (*CreateSchema) detail()   {}
func (*CreateFunction) detail() {}
func (*Declare) detail()        {}
func (*SetVariable) detail()    {}
func (*Execute) detail()        {}
func (*CreateFlow) detail()     {}
func (*Analyze) detail()        {}
func (*CommentOn) detail()      {}
