package plan

import "streamlab/sql"

func (a *analyzer) pivot(p *sql.Pivot, outer *scope) *scope {
	a.fail(p, "UNSUPPORTED_FEATURE", "feature", "PIVOT")
	return nil
}

func (a *analyzer) unpivot(u *sql.Unpivot, outer *scope) *scope {
	a.fail(u, "UNSUPPORTED_FEATURE", "feature", "UNPIVOT")
	return nil
}
