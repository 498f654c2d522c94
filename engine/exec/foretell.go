package exec

import "streamlab/errs"

// First is why the plan will fail although Build accepts it, nil if nothing is known: what Spark finds out when
// it plans the first batch, or, of a watermark above another, when the first watermark arrives. It is for
// checks that start nothing; a query fails with the same condition at the time that Spark does.
func (p *Plan) First() error {
	switch {
	case p.keys != nil:
		return p.keys
	case p.first != nil:
		return p.first
	case p.redefined:
		return errs.New("_LEGACY_ERROR_TEMP_3076", "config", "spark.sql.streaming.statefulOperator.allowMultiple")
	}
	return nil
}

// Fail lets every batch fail with err when its rows are asked for.
func (p *Plan) Fail(err error) {
	if p.first == nil {
		p.first = err
	}
}
