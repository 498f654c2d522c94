package engine

import (
	"strings"

	"streamlab/sources"
)

// alwaysKnown are options that every format takes.
var alwaysKnown = []string{"path", "checkpointLocation", "queryName", "sparkCompat", "outputMode", optionAsync, optionAsyncInterval}

// nearestOption says whether name is an option, and else which one is nearest, if any is near.
func nearestOption(known []sources.OptionDoc, name string) (best string, ok bool) {
	least := len(name)/2 + 1
	try := func(k string) bool {
		if strings.EqualFold(k, name) {
			return true
		}
		if d := editDistance(strings.ToLower(k), strings.ToLower(name)); d < least {
			least, best = d, k
		}
		return false
	}
	for _, k := range alwaysKnown {
		if try(k) {
			return k, true
		}
	}
	for _, o := range known {
		if strings.HasSuffix(o.Name, ".*") && strings.HasPrefix(name, strings.TrimSuffix(o.Name, "*")) {
			return o.Name, true
		}
		if try(o.Name) {
			return o.Name, true
		}
	}
	return best, false
}

// editDistance is the number of single-byte insertions, deletions and replacements between two texts.
func editDistance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := 1; i <= len(a); i++ {
		diagonal := row[0]
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := diagonal
			if a[i-1] != b[j-1] {
				cost++
			}
			diagonal = row[j]
			row[j] = min(cost, row[j]+1, row[j-1]+1)
		}
	}
	return row[len(b)]
}
