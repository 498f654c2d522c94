package types

import (
	"strings"
	"testing"

	"streamlab/errs"
)

func TestParseDDL(t *testing.T) {
	for _, c := range [][2]string{
		{"a INT, b STRUCT<x: STRING>", "a INT,b STRUCT<x: STRING>"},
		{"a: int not null comment 'it is', `b c` array<map<string,decimal(12,3)>>", "a INT NOT NULL,`b c` ARRAY<MAP<STRING, DECIMAL(12,3)>>"},
		{"c CHAR(3), v varchar(5), i interval day to second, y interval year, k interval, t time(3)", "c CHAR(3),v VARCHAR(5),i INTERVAL DAY TO SECOND,y INTERVAL YEAR,k INTERVAL,t TIME(3)"},
		{"struct<a: long, e struct<>>", "a BIGINT,e STRUCT<>"},
		{"", ""},
		{"timestamp TIMESTAMP, date DATE, value BINARY", "timestamp TIMESTAMP,date DATE,value BINARY"},
	} {
		s, err := ParseDDL(c[0])
		if err != nil {
			t.Errorf("%s: %v", c[0], err)
			continue
		}
		if err == nil && s.DDL() != c[1] {
			t.Errorf("%s: %s", c[0], s.DDL())
		}
	}
}

func TestParseTypeErrors(t *testing.T) {
	for text, want := range map[string]string{"foo": "UNSUPPORTED_DATATYPE", "string(5)": "UNSUPPORTED_DATATYPE",
		"varchar": "DATATYPE_MISSING_SIZE", "array": "INCOMPLETE_TYPE_DEFINITION.ARRAY", "decimal(39)": "DECIMAL_PRECISION_EXCEEDS_MAX_PRECISION",
		"int int": "PARSE_SYNTAX_ERROR", "struct<a>": "PARSE_SYNTAX_ERROR", "": "PARSE_SYNTAX_ERROR", "map<int>": "PARSE_SYNTAX_ERROR",
		strings.Repeat("array<", 5000) + "int" + strings.Repeat(">", 5000): "FAILED_TO_PARSE_TOO_COMPLEX"} {
		_, err := ParseType(text)
		if !errs.Has(err, want) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}
