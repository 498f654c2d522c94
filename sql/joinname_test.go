package sql

import "testing"

// The words of joins and set operations name tables as any other word does; they only are no aliases. What
// Spark refuses is where a name is followed by what fits nothing.
func TestWordsOfJoinsNameTables(t *testing.T) {
	for text, ok := range map[string]bool{
		"SELECT * FROM left": true, "SELECT left.id FROM left JOIN right ON left.id = right.id": true,
		"SELECT * FROM JOIN t": true, "SELECT * FROM NATURAL JOIN b": true, "SELECT * FROM ON": true,
		"SELECT * FROM a, JOIN b": true, "SELECT * FROM LEFT JOIN b ON true": true,
		"SELECT * FROM a LEFT JOIN ON a.x = 1": false,
	} {
		if _, err := Parse(text); (err == nil) != ok {
			t.Errorf("%s: %v", text, err)
		}
	}
}
