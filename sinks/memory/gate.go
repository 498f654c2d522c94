//go:build cgo

package memory

import (
	"fmt"
	"sort"
	"strings"

	sqlite3 "github.com/mattn/go-sqlite3"

	"streamlab/errs"
)

// The limits of a statement at the door (reliability.md 8.5): against one that eats the memory of the
// process that runs the queries.
const (
	maxValue    = 16 << 20
	maxCompound = 50
	maxDepth    = 200
)

// pragmas that only look.
var pragmas = map[string]bool{"table_info": true, "table_xinfo": true, "table_list": true, "index_list": true, "index_info": true,
	"database_list": true}

// gate lets statements through that look, and remembers the rule that refused the first that does not.
type gate struct {
	what string // refused: "INSERT"
	rule string // why
}

const recursive = 33 // SQLITE_RECURSIVE, which the driver does not export

// writes is what the rest of the operations of SQLite would do, and the rule against it.
var writes = map[int][2]string{
	sqlite3.SQLITE_INSERT: {"INSERT", "rows"}, sqlite3.SQLITE_UPDATE: {"UPDATE", "rows"}, sqlite3.SQLITE_DELETE: {"DELETE", "rows"},
	sqlite3.SQLITE_CREATE_TABLE: {"CREATE TABLE", "tables"}, sqlite3.SQLITE_DROP_TABLE: {"DROP TABLE", "tables"},
	sqlite3.SQLITE_CREATE_TEMP_TABLE: {"CREATE TEMP TABLE", "tables"}, sqlite3.SQLITE_DROP_TEMP_TABLE: {"DROP TABLE", "tables"},
	sqlite3.SQLITE_CREATE_VIEW: {"CREATE VIEW", "tables"}, sqlite3.SQLITE_DROP_VIEW: {"DROP VIEW", "tables"},
	sqlite3.SQLITE_CREATE_TEMP_VIEW: {"CREATE TEMP VIEW", "tables"}, sqlite3.SQLITE_DROP_TEMP_VIEW: {"DROP VIEW", "tables"},
	sqlite3.SQLITE_CREATE_INDEX: {"CREATE INDEX", "tables"}, sqlite3.SQLITE_DROP_INDEX: {"DROP INDEX", "tables"},
	sqlite3.SQLITE_CREATE_TEMP_INDEX: {"CREATE INDEX", "tables"}, sqlite3.SQLITE_DROP_TEMP_INDEX: {"DROP INDEX", "tables"},
	sqlite3.SQLITE_CREATE_TRIGGER: {"CREATE TRIGGER", "tables"}, sqlite3.SQLITE_DROP_TRIGGER: {"DROP TRIGGER", "tables"},
	sqlite3.SQLITE_CREATE_TEMP_TRIGGER: {"CREATE TRIGGER", "tables"}, sqlite3.SQLITE_DROP_TEMP_TRIGGER: {"DROP TRIGGER", "tables"},
	sqlite3.SQLITE_CREATE_VTABLE: {"CREATE VIRTUAL TABLE", "tables"}, sqlite3.SQLITE_DROP_VTABLE: {"DROP TABLE", "tables"},
	sqlite3.SQLITE_ALTER_TABLE: {"ALTER TABLE", "tables"}, sqlite3.SQLITE_REINDEX: {"REINDEX", "tables"},
	sqlite3.SQLITE_ANALYZE: {"ANALYZE", "tables"}, sqlite3.SQLITE_TRANSACTION: {"a transaction", "transactions"},
	sqlite3.SQLITE_SAVEPOINT: {"SAVEPOINT", "transactions"}, sqlite3.SQLITE_ATTACH: {"another database (ATTACH or VACUUM)", "attach"},
	sqlite3.SQLITE_DETACH: {"DETACH", "attach"},
}

var rules = map[string]string{
	"rows":         "what memory sinks hold is read here, not changed: only queries write to it",
	"tables":       "tables come from queries with format memory and from nothing else",
	"transactions": "every statement sees one moment by itself",
	"attach":       "the door leads to the workspace's memory tables and to no other file",
	"pragma":       "only PRAGMAs that look are let through: ",
	"function":     "functions that load code are not let through",
	"unknown":      "only statements that look are let through",
}

func (g *gate) deny(what, rule string) int {
	if g.what == "" {
		g.what, g.rule = what, rules[rule]
		if rule == "pragma" {
			var names []string
			for n := range pragmas {
				names = append(names, n)
			}
			sort.Strings(names)
			g.rule += strings.Join(names, ", ")
		}
	}
	return sqlite3.SQLITE_DENY
}

// check is SQLite's authorizer.
func (g *gate) check(op int, a, b, _ string) int {
	switch op {
	case sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, recursive:
		return sqlite3.SQLITE_OK
	case sqlite3.SQLITE_FUNCTION:
		switch strings.ToLower(b) {
		case "load_extension", "fts3_tokenizer", "fts5", "readfile", "writefile", "edit":
			return g.deny("the function "+b, "function")
		}
		return sqlite3.SQLITE_OK
	case sqlite3.SQLITE_PRAGMA:
		if pragmas[strings.ToLower(a)] {
			return sqlite3.SQLITE_OK
		}
		return g.deny("PRAGMA "+a, "pragma")
	}
	if w, ok := writes[op]; ok {
		return g.deny(w[0], w[1])
	}
	return g.deny(fmt.Sprintf("operation %d", op), "unknown")
}

// refused is the error of a statement.
func (g *gate) refused(err error) error {
	if g.what != "" {
		return errs.Wrap(err, "SQLITE_REFUSED", "statement", g.what, "rule", g.rule)
	}
	e := errs.Wrap(err, "SQLITE_ERROR", "message", err.Error())
	if strings.Contains(err.Error(), "readonly") {
		return errs.Wrap(err, "SQLITE_REFUSED", "statement", "A statement that writes", "rule", rules["rows"])
	}
	return e
}
