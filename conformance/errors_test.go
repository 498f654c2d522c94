package conformance

import (
	"fmt"
	"sort"
	"strings"

	"streamlab/errs"
)

// skipParams hold plans or names of Java classes.
var skipParams = map[string]bool{"treeNode": true, "plan": true, "leftPlan": true, "rightPlan": true, "classCanonicalName": true}

// skipOf are parameters of one condition that are text or name Spark's classes.
var skipOf = map[string]string{"_LEGACY_ERROR_TEMP_3102": "msg", "_LEGACY_ERROR_TEMP_2242": "provider",
	"STREAMING_REAL_TIME_MODE.OPERATOR_OR_SINK_NOT_IN_ALLOWLIST": "message"}

// gap says whether a condition is one of Spark's gaps, of which only the failure is compared.
func gap(condition string) bool {
	return condition == "INTERNAL_ERROR" || strings.HasPrefix(condition, "_LEGACY_ERROR_TEMP_")
}

// compareError holds an error of a scenario against the recorded one: condition, SQLSTATE, parameters, and of
// a query that failed while running the cause and what was inside.
func (p *player) compareError(err error, want map[string]any) string {
	if gap(str(want["class"])) {
		return ""
	}
	return compareErrors(err, want, p.away)
}

// compareError is for errors outside scenarios.
func compareError(err error, want map[string]any) string {
	return compareErrors(err, want, func(s string) string { return s })
}

// chain lists the conditions of an error, outermost first.
func chain(err error) (out []string) {
	for e := errs.As(err); e != nil; e = errs.As(e.Err) {
		out = append(out, e.Condition)
	}
	return
}

func compareErrors(err error, want map[string]any, away func(string) string) string {
	class := str(want["class"])
	if class == "" || class == "INTERNAL_ERROR" {
		return ""
	}
	e := errs.As(err)
	if e == nil {
		return fmt.Sprintf("error %v, want %s", err, class)
	}
	if e.Condition != class {
		return fmt.Sprintf("error %s (%v), want %s", e.Condition, err, class)
	}
	if s := str(want["sqlState"]); s != "" && e.SQLState != s {
		return fmt.Sprintf("SQLSTATE %q of %s, want %q", e.SQLState, class, s)
	}
	if d := compareInner(chain(err), want, err); d != "" {
		return d
	}
	if class == "STREAM_FAILED" {
		return ""
	}
	params := asObject(want["parameters"])
	for k, v := range params {
		if skipParams[k] || skipOf[class] == k {
			continue
		}
		w, g := masked(str(v)), masked(away(e.Params[k]))
		if k == "proposal" && sameWords(g, w) {
			continue // Spark orders suggestions by likeness, then as it finds them
		}
		if g != w {
			return fmt.Sprintf("parameter %s of %s\n  got  %s\n  want %s", k, class, g, w)
		}
	}
	for k := range e.Params {
		if _, ok := params[k]; !ok {
			return fmt.Sprintf("the parameter %s of %s is none of Spark's", k, class)
		}
	}
	return ""
}

func compareInner(have []string, want map[string]any, err error) string {
	top := str(want["class"])
	if cause := str(want["cause"]); cause != "" {
		if gap(cause) {
			return ""
		}
		if len(have) < 2 || have[1] != cause {
			return fmt.Sprintf("cause %v (%v), want %s", have[min(1, len(have)):], err, cause)
		}
		top, have = cause, have[1:]
	}
	inside := str(want["inside"])
	if inside == "" || gap(inside) {
		return ""
	}
	below := have[min(1, len(have)):]
	if top == "TASK_WRITE_FAILED" && len(below) > 0 {
		below = below[len(below)-1:]
	}
	if len(below) == 0 || below[0] != inside {
		return fmt.Sprintf("inside %v (%v), want %s", below, err, inside)
	}
	return ""
}

// masked is a parameter as the recording program keeps it: without ids and numbers of columns, lists sorted.
func masked(v string) string {
	v = withoutIDs(columnIDs.ReplaceAllString(uuids.ReplaceAllString(v, "UUID"), "#n"))
	if strings.Contains(v, "\n\t") {
		lines := strings.Split(v, "\n")
		sort.Strings(lines)
		v = strings.Join(lines, "\n")
	}
	return v
}

func sameWords(a, b string) bool {
	x, y := strings.Split(a, ", "), strings.Split(b, ", ")
	sort.Strings(x)
	sort.Strings(y)
	return strings.Join(x, ", ") == strings.Join(y, ", ")
}
