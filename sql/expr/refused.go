package expr

import (
	"strings"

	"streamlab/errs"
)

// refused are functions of Spark that streamlab knows by name and does not have, with what to use instead.
var refused = []struct{ names, instead string }{
	{"java_method reflect try_reflect", "Functions of the JVM need a JVM; use a SQL function."},
	{"st_asbinary st_geogfromwkb st_geomfromwkb st_setsrid st_srid", "Keep coordinates as numbers in columns of their own."},
	{"from_protobuf to_protobuf", "Use from_json and to_json."},
	{"approx_top_k_accumulate approx_top_k_combine approx_top_k_estimate", "approx_top_k does it in one step."},
	{"kll_merge_agg_bigint kll_merge_agg_double kll_merge_agg_float kll_sketch_agg_bigint kll_sketch_agg_double " +
		"kll_sketch_agg_float kll_sketch_get_n_bigint kll_sketch_get_n_double kll_sketch_get_n_float " +
		"kll_sketch_get_quantile_bigint kll_sketch_get_quantile_double kll_sketch_get_quantile_float " +
		"kll_sketch_get_rank_bigint kll_sketch_get_rank_double kll_sketch_get_rank_float kll_sketch_merge_bigint " +
		"kll_sketch_merge_double kll_sketch_merge_float kll_sketch_to_string_bigint kll_sketch_to_string_double " +
		"kll_sketch_to_string_float", "percentile_approx and percentile give quantiles."},
	{"measure", "Metric views are not there; aggregate the column itself."},
	{"python_worker_logs", "There are no Python workers."},
	{"tuple_difference_double tuple_difference_integer tuple_difference_theta_double tuple_difference_theta_integer " +
		"tuple_intersection_agg_double tuple_intersection_agg_integer tuple_intersection_double tuple_intersection_integer " +
		"tuple_intersection_theta_double tuple_intersection_theta_integer tuple_sketch_agg_double tuple_sketch_agg_integer " +
		"tuple_sketch_estimate_double tuple_sketch_estimate_integer tuple_sketch_summary_double tuple_sketch_summary_integer " +
		"tuple_sketch_theta_double tuple_sketch_theta_integer tuple_union_agg_double tuple_union_agg_integer " +
		"tuple_union_double tuple_union_integer tuple_union_theta_double tuple_union_theta_integer",
		"Group by the key and aggregate the value; theta sketches estimate the number of keys."},
}

// Refused gives why a function of Spark is not there; "" if it is not among those refused by name.
func Refused(name string) string {
	for _, r := range refused {
		for _, n := range strings.Fields(r.names) {
			if n == name {
				return r.instead
			}
		}
	}
	return ""
}

// refusedFunctions makes them known, so that a call says what to use instead of "no such function".
func refusedFunctions() []Function {
	var out []Function
	for _, r := range refused {
		for _, n := range strings.Fields(r.names) {
			out = append(out, Function{Name: n, Signature: n + "(...)", Doc: "Refused by name. " + r.instead, Hidden: true,
				Build: func(c *Call) (Expr, error) {
					return nil, errs.New("UNSUPPORTED_FEATURE.STREAMLAB", "feature", "the function "+n).WithHint(r.instead)
				}})
		}
	}
	for _, n := range []string{"from_avro", "to_avro", "schema_of_avro"} { // as Spark without its package of Avro
		out = append(out, Function{Name: n, Signature: n + "(...)", Doc: "Refused as by Spark without its Avro package.", Hidden: true,
			Build: func(c *Call) (Expr, error) {
				return nil, errs.New("AVRO_NOT_LOADED_SQL_FUNCTIONS_UNUSABLE", "functionName", strings.ToUpper(n))
			}})
	}
	return out
}
