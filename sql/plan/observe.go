package plan

import (
	"strings"

	"streamlab/errs"
	"streamlab/sql/catalog"
	"streamlab/sql/expr"
	"streamlab/sql/types"
)

// Observe passes the rows of its child on and computes aggregates of them meanwhile, as Dataset.observe does.
// Nothing is moved over it: it sees the rows that were there where it was written.
type Observe struct {
	Child Node
	Name  string
	Calls []*expr.AggregateCall // over the child's columns
	Exprs []expr.Expr           // over the results of Calls
	Out   types.Schema          // of Exprs: the columns of the metrics
}

// Schema is that of the child.
func (n *Observe) Schema() types.Schema { return n.Child.Schema() }

// Children is the child.
func (n *Observe) Children() []Node { return []Node{n.Child} }

// Streaming is that of the child.
func (n *Observe) Streaming() bool { return n.Child.Streaming() }

// ObserveMetrics puts an Observe above n; texts are SQL, one aggregate or computation of aggregates each.
// Errors: INVALID_OBSERVED_METRICS.*, DUPLICATED_METRICS_NAME, and what the expressions give.
func ObserveMetrics(n Node, name string, texts []string, cat *catalog.Catalog, conf Conf) (Node, error) {
	if name == "" {
		return nil, errs.New("INVALID_OBSERVED_METRICS.MISSING_NAME", "operator", "CollectMetrics ["+strings.Join(texts, ", ")+"]")
	}
	if hasMetrics(n, name) {
		return nil, errs.New("DUPLICATED_METRICS_NAME", "metricName", types.Quote(name))
	}
	if len(texts) == 0 {
		return nil, errs.New("WRONG_NUM_ARGS.WITHOUT_SUGGESTION", "functionName", "`observe`", "expectedNum", "> 1", "actualNum", 1, "docroot", "")
	}
	c := catalog.New(cat)
	c.Register("__observed__", catalog.Relation{View: &catalog.View{Plan: n}})
	top, err := AnalyzeText("SELECT "+strings.Join(texts, ", ")+" FROM __observed__", c, conf)
	if e := errs.As(err); e != nil && (e.Condition == "MISSING_GROUP_BY" || e.Condition == "MISSING_AGGREGATION") {
		return nil, bareColumn(n, texts, conf)
	}
	if err != nil {
		return nil, err
	}
	o := &Observe{Child: n, Name: name, Out: top.Schema()}
	for i, f := range top.Schema() {
		o.Exprs = append(o.Exprs, &expr.Column{Index: i, Field: f})
	}
	for {
		switch x := top.(type) {
		case *Project:
			for i, e := range o.Exprs {
				o.Exprs[i] = substitute(e, x.Exprs)
			}
			top = x.Child
			continue
		case *Aggregate:
			if len(x.Keys) > 0 {
				return nil, bareColumn(n, texts, conf)
			}
			calls := x
			child := x.Child
			for {
				p, ok := child.(*Project)
				if !ok || child == n {
					break
				}
				calls = mapExprs(calls, func(e expr.Expr, _ bool) expr.Expr { return substitute(e, p.Exprs) }).(*Aggregate)
				child = p.Child
			}
			if child != n {
				return nil, errs.New("UNSUPPORTED_FEATURE", "feature", "Subqueries in observed metrics")
			}
			o.Calls = calls.Calls
			for _, k := range o.Calls {
				if k.Distinct {
					return nil, errs.New("INVALID_OBSERVED_METRICS.AGGREGATE_EXPRESSION_WITH_DISTINCT_UNSUPPORTED", "expr", `"`+k.Text+`"`)
				}
				if k.Filter != nil {
					return nil, errs.New("INVALID_OBSERVED_METRICS.AGGREGATE_EXPRESSION_WITH_FILTER_UNSUPPORTED", "expr", `"`+k.Text+`"`)
				}
			}
			return o, nil
		case *Window:
			return nil, errs.New("INVALID_OBSERVED_METRICS.WINDOW_EXPRESSIONS_UNSUPPORTED", "expr", `"`+x.Calls[0].Text+`"`)
		}
		return nil, bareColumn(n, texts, conf)
	}
}

// bareColumn is the error of metrics that use a column outside of an aggregate.
func bareColumn(n Node, texts []string, conf Conf) error {
	for _, t := range texts {
		es, _, err := AnalyzeExprs([]string{t}, n, conf)
		if err != nil {
			continue // it has an aggregate
		}
		name := t
		for _, e := range es {
			columnsIn(e, func(c *expr.Column) { name = n.Schema()[c.Index].Name })
		}
		return errs.New("INVALID_OBSERVED_METRICS.NON_AGGREGATE_FUNC_ARG_IS_ATTRIBUTE", "expr", `"`+name+`"`)
	}
	return errs.New("INVALID_OBSERVED_METRICS.NON_AGGREGATE_FUNC_ARG_IS_ATTRIBUTE", "expr", `"`+strings.Join(texts, ", ")+`"`)
}

func hasMetrics(n Node, name string) bool {
	if o, ok := n.(*Observe); ok && o.Name == name {
		return true
	}
	for _, c := range n.Children() {
		if hasMetrics(c, name) {
			return true
		}
	}
	return false
}
