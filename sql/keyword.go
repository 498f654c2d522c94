package sql

import (
	"sort"
	"strings"
)

// Keywords are the words with a meaning in the grammar, sorted and upper case: for highlighting, completion
// and hints. None of them is reserved by default.
var Keywords = sortedWords(`ADD AFTER AGGREGATE ALL ALTER ALWAYS ANALYZE AND ANTI ANY APPROX AS ASC AT BERNOULLI BETWEEN BIGINT BINARY
	BOOLEAN BOTH BUCKET BY BYTE CACHE CALL CASCADE CASE CAST CATALOG CATALOGS CHANGE CHANGES CHAR CHARACTER CHECK CLEAR CLUSTER
	CLUSTERED COLLATE COLUMN COLUMNS COMMENT COMMIT COMPUTE CONSTRAINT COST CREATE CROSS CUBE CURRENT CURRENT_DATE CURRENT_TIME
	CURRENT_TIMESTAMP CURRENT_USER DATA DATABASE DATABASES DATE DATEADD DATEDIFF DATE_ADD DATE_DIFF DAY DAYS DEC DECIMAL DECLARE
	DEFAULT DELAY DELETE DESC DESCRIBE DETAIL DISTINCT DISTRIBUTE DIV DOUBLE DROP DRY ELSE END ESCAPE EVOLUTION EXCEPT EXCLUDE
	EXECUTE EXISTS EXPLAIN EXPORT EXTEND EXTENDED EXTRACT FALSE FEATURE FETCH FILTER FIRST FLOAT FLOW FOLLOWING FOR FORMAT
	FORMATTED FROM FULL FUNCTION FUNCTIONS GENERATED GLOBAL GRANT GROUP GROUPING HAVING HISTORY HOUR HOURS IDENTIFIER IDENTITY IF
	IGNORE ILIKE IMMEDIATE IMPORT IN INCLUDE INDEX INNER INSERT INT INTEGER INTERSECT INTERVAL INTO IS JOIN LAST LATERAL LAZY
	LEADING LEFT LEVEL LIKE LIMIT LOAD LOCAL LOCALTIMESTAMP LOCATION LOCK LONG MAP MATCHED MATERIALIZED MAX MERGE MICROSECOND
	MICROSECONDS MILLISECOND MILLISECONDS MINUS MINUTE MINUTES MONTH MONTHS NAME NATURAL NONE NOT NULL NULLS NUMERIC OF OFFSET ON
	ONLY OPTIMIZE OPTION OPTIONS OR ORDER OUT OUTER OVER OVERLAY OVERWRITE PARTITION PARTITIONED PARTITIONS PERCENT PIVOT PLACING
	POSITION PRECEDING PURGE QUALIFY QUERY RANGE REAL RECURSION RECURSIVE REFRESH REGEXP RENAME REPEATABLE REPLACE RESET RESPECT
	RESTORE RETAIN RETURN RETURNS REVOKE RIGHT RLIKE ROLLBACK ROLLUP ROW ROWS RUN SCHEMA SCHEMAS SECOND SECONDS SELECT SEMI SESSION_USER SET
	SETS SHORT SHOW SMALLINT SOME SORT SOURCE START STATISTICS STREAM STREAMING STRING STRUCT SUBSTR SUBSTRING SYNC SYSTEM_TIME
	SYSTEM_VERSION TABLE TABLES TABLESAMPLE TARGET TBLPROPERTIES TEMP TEMPORARY THEN TIME TIMESTAMP TIMESTAMPADD TIMESTAMPDIFF
	TIMESTAMP_LTZ TIMESTAMP_NTZ TINYINT TO TRAILING TRIM TRUE TRUNCATE TRY_CAST UNBOUNDED UNCACHE UNION UNIQUE UNKNOWN UNLOCK
	UNPIVOT UNSET UPDATE USE USER USING VACUUM VALUES VAR VARCHAR VARIABLE VARIANT VERSION VIEW VIEWS VOID WATERMARK WEEK WEEKS WHEN
	WHERE WINDOW WITH WITHIN YEAR YEARS ZONE ZORDER`)

var keywordSet = wordSet(Keywords)

// IsKeyword reports whether the upper-case word has a meaning in the grammar.
func IsKeyword(upper string) bool { return keywordSet[upper] }

// reserved are the words that cannot be names when reserved words are enforced.
var reserved = wordSet(sortedWords(`ALL AND ANY AS AUTHORIZATION BOTH CALL CASE CAST CHECK COLLATE COLLATION COLLATIONS COLUMN
	CONSTRAINT CREATE CROSS CURRENT_DATE CURRENT_PATH CURRENT_SCHEMA CURRENT_TIME CURRENT_TIMESTAMP CURRENT_USER DISTINCT ELSE END
	ESCAPE EXCEPT EXECUTE FALSE FETCH FILTER FOR FOREIGN FROM FULL GRANT GROUP HAVING IN INNER INTERSECT INTO IS JOIN LATERAL
	LEADING LEFT NATURAL NOT NULL OFFSET ON ONLY OR ORDER OUTER OVERLAPS PRIMARY RECURSIVE REFERENCES RIGHT SELECT SESSION_USER
	SOME SQL TABLE THEN TIME TO TRAILING UNION UNIQUE UNKNOWN USER USING WHEN WHERE WITH WITHIN`))

// IsReserved reports whether the upper-case word cannot be a name when reserved words are enforced.
func IsReserved(upper string) bool { return reserved[upper] }

// reservedClause are those of the reserved words that begin a clause and never an expression.
var reservedClause = wordSet(sortedWords(`FROM WHERE GROUP HAVING ORDER UNION EXCEPT INTERSECT WINDOW`))

// strict are the words that cannot be the alias of a relation without AS or quotes, nor with AS.
var strict = wordSet(sortedWords(`ANTI CROSS EXCEPT FULL INNER INTERSECT JOIN LATERAL LEFT MINUS NATURAL ON RIGHT SEMI UNION USING`))

// clauses are the words that begin something a user may have misspelt where no list of expected words is at
// hand.
var clauses = sortedWords(`SELECT FROM WHERE GROUP HAVING ORDER LIMIT OFFSET QUALIFY WINDOW UNION INTERSECT EXCEPT JOIN LEFT RIGHT FULL
	INNER CROSS USING VALUES INSERT UPDATE DELETE MERGE CREATE DROP ALTER SHOW DESCRIBE EXPLAIN BETWEEN WITH TABLE VIEW DISTINCT
	WATERMARK DELAY PARTITION MATCHED WHEN THEN ELSE INTERVAL OPTIMIZE VACUUM RESTORE`)

func sortedWords(text string) []string {
	ws := strings.Fields(text)
	sort.Strings(ws)
	return ws
}

func wordSet(ws []string) map[string]bool {
	m := make(map[string]bool, len(ws))
	for _, w := range ws {
		m[w] = true
	}
	return m
}

// nearest gives the word of expected, else of clauses, that is one or two letters away from word; "" if
// there is none or word is itself one of them.
func nearest(word string, expected []string) string {
	least := 3
	if len(word) < 5 {
		least = 2
	}
	best := ""
	for _, list := range [][]string{expected, clauses} {
		for _, k := range list {
			if k == word {
				return ""
			}
			if d := edits(word, k); d < least {
				best, least = k, d
			}
		}
		if best != "" {
			return best
		}
	}
	return ""
}

// edits counts the letters to insert, remove, change or swap with their neighbour to make b of a.
func edits(a, b string) int {
	if d := len(a) - len(b); d > 2 || d < -2 {
		return 3
	}
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		before, last, row = last, row, before
		row[0] = i + 1
		for j := range len(b) {
			cost := last[j]
			if a[i] != b[j] {
				cost++
			}
			row[j+1] = min(cost, row[j]+1, last[j+1]+1)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
	}
	return row[len(b)]
}
