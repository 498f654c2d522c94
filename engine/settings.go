package engine

import (
	"os"
	"strings"
	"time"

	"streamlab/errs"
	"streamlab/sql/plan"
	"streamlab/sql/types"
)

// staticSettings are Spark's settings that a running session cannot change.
var staticSettings = map[string]bool{"spark.sql.warehouse.dir": true, "spark.sql.extensions": true, "spark.sql.catalogImplementation": true,
	"spark.sql.streaming.ui.enabled": true, "spark.sql.queryExecutionListeners": true, "spark.sql.streaming.streamingQueryListeners": true,
	"spark.sql.globalTempDatabase": true, "spark.sql.session.localRelationCacheThreshold": true, "spark.sql.event.truncate.length": true}

func (s *Session) set(c *plan.Set) (*DataFrame, error) {
	schema := types.Schema{text("key"), text("value")}
	switch {
	case c.HasValue:
		if staticSettings[c.Key] {
			return nil, errs.New("CANNOT_MODIFY_STATIC_CONFIG", "key", `"`+c.Key+`"`)
		}
		if c.Key == keyZone && strings.EqualFold(c.Value, "LOCAL") {
			c = &plan.Set{Key: c.Key, Value: localZone(), HasValue: true}
		}
		if err := s.conf.Set(c.Key, c.Value); err != nil {
			return nil, err
		}
		return s.answer(schema, [][]any{{c.Key, c.Value}})
	case c.Key != "":
		v := s.conf.Get(c.Key)
		if v == "" {
			v = "<undefined>"
		}
		return s.answer(schema, [][]any{{c.Key, v}})
	}
	all := s.conf.All()
	var rows [][]any
	for _, k := range sortedKeys(all) {
		rows = append(rows, []any{k, all[k]})
	}
	return s.answer(schema, rows)
}

// localZone is the zone of this machine, by name where it has one.
func localZone() string {
	if name := time.Local.String(); name != "Local" {
		return name
	}
	if to, err := os.Readlink("/etc/localtime"); err == nil {
		if _, name, ok := strings.Cut(to, "zoneinfo/"); ok {
			return name
		}
	}
	return time.Now().Format("-07:00")
}

func (s *Session) reset(c *plan.Reset) (*DataFrame, error) {
	if c.Key != "" {
		if staticSettings[c.Key] {
			return nil, errs.New("CANNOT_MODIFY_STATIC_CONFIG", "key", `"`+c.Key+`"`)
		}
		s.conf.Reset(c.Key)
		return s.answer(nil, nil)
	}
	for k := range s.conf.All() {
		s.conf.Reset(k)
	}
	return s.answer(nil, nil)
}

// likeAny is Spark's pattern of SHOW … LIKE: * is any text, | separates alternatives; case does not matter.
func likeAny(pattern, name string) bool {
	for _, alt := range strings.Split(pattern, "|") {
		if likeOne(strings.ToLower(strings.TrimSpace(alt)), strings.ToLower(name)) {
			return true
		}
	}
	return false
}

func likeOne(pattern, name string) bool {
	parts := strings.Split(pattern, "*")
	rest, ok := strings.CutPrefix(name, parts[0])
	if !ok || len(parts) == 1 {
		return ok && rest == ""
	}
	for _, p := range parts[1 : len(parts)-1] {
		k := strings.Index(rest, p)
		if k < 0 {
			return false
		}
		rest = rest[k+len(p):]
	}
	return strings.HasSuffix(rest, parts[len(parts)-1])
}
