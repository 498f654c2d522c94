package plan

import "streamlab/sql"

func (a *analyzer) pipe(p *sql.PipeBody, outer *scope) Node {
	a.fail(p, "UNSUPPORTED_FEATURE", "feature", "pipe operators")
	return nil
}
