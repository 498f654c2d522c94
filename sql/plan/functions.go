package plan

import (
	"sort"

	"streamlab/sql/expr"
)

// A FunctionDoc describes a function for the manual.
type FunctionDoc struct{ Name, Signature, Doc string }

// planned are the functions that the analyser resolves itself, because they change the plan.
var planned = []FunctionDoc{
	{"row_number", "row_number() OVER (...)", "Number of the row in its partition, from 1."},
	{"rank", "rank() OVER (...)", "Rank with gaps."},
	{"dense_rank", "dense_rank() OVER (...)", "Rank without gaps."},
	{"percent_rank", "percent_rank() OVER (...)", "Rank as a share from 0 to 1."},
	{"cume_dist", "cume_dist() OVER (...)", "Share of rows up to this one and its peers."},
	{"ntile", "ntile([n]) OVER (...)", "Number of the row's bucket of n."},
	{"lag", "lag(a[, offset[, default]]) OVER (...)", "a of an earlier row."},
	{"lead", "lead(a[, offset[, default]]) OVER (...)", "a of a later row."},
	{"nth_value", "nth_value(a, n) OVER (...)", "a of the n-th row of the frame."},
	{"explode", "explode(collection)", "A row for each element or entry."},
	{"explode_outer", "explode_outer(collection)", "As explode, a row of nulls for an empty one."},
	{"posexplode", "posexplode(collection)", "As explode, with positions from 0."},
	{"posexplode_outer", "posexplode_outer(collection)", "As posexplode, a row of nulls for an empty one."},
	{"inline", "inline(array)", "A row for each struct of an array."},
	{"inline_outer", "inline_outer(array)", "As inline, a row of nulls for an empty one."},
	{"stack", "stack(n, value, ...)", "The values in n rows."},
	{"json_tuple", "json_tuple(json, field, ...)", "Fields of a JSON object as columns."},
	{"variant_explode", "variant_explode(v)", "A row for each element or field of a VARIANT."},
	{"variant_explode_outer", "variant_explode_outer(v)", "As variant_explode, a row of nulls for other values."},
	{"range", "range([start,] end[, step[, parts]])", "Numbers from start to before end; stands in FROM."},
	{"window", "window(time, size[, slide[, start]])", "Time window of a row."},
	{"session_window", "session_window(time, gap)", "Session of a row."},
	{"window_time", "window_time(window)", "Last instant of a time window."},
	{"grouping", "grouping(key)", "1 where a grouping set leaves the key out."},
	{"grouping_id", "grouping_id([key, ...])", "Which keys a grouping set leaves out, as bits."},
	{"input_file_name", "input_file_name()", "The file a row came from, '' if none."},
	{"input_file_block_start", "input_file_block_start()", "Where the block of the file that a row came from begins, -1 if none."},
	{"input_file_block_length", "input_file_block_length()", "Length of the block of the file that a row came from, -1 if none."},
}

// Functions lists every function that a statement may call, sorted by name.
func Functions() []FunctionDoc {
	seen := map[string]bool{}
	var out []FunctionDoc
	for _, f := range planned {
		seen[f.Name] = true
		out = append(out, f)
	}
	for _, n := range expr.Names() {
		if !seen[n] {
			f, _ := expr.Lookup(n)
			out = append(out, FunctionDoc{n, f.Signature, f.Doc})
		}
	}
	sort.Slice(out, func(i, j int) bool { return out[i].Name < out[j].Name })
	return out
}
