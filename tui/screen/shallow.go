package screen

import (
	"context"
	"strings"

	"streamlab/errs"
)

// shallow makes do with what every workbench has.
type shallow struct{ bench Workbench }

func (s shallow) StatePage(ctx context.Context, q StateQuery) (StatePage, error) {
	r, err := s.bench.State(ctx, q.Query, q.Batch, q.Operator, q.Filter, q.From+q.N)
	if err != nil {
		return StatePage{}, err
	}
	p := StatePage{Total: len(r.Rows), Matches: len(r.Rows), From: q.From}
	if len(r.Columns) > 0 {
		p.Key, p.Values = r.Columns[0].Name, r.Columns[1:]
	}
	if q.Filter == "" && r.Total > int64(p.Total) {
		p.Total = int(r.Total)
	}
	for _, row := range r.Rows[min(q.From, len(r.Rows)):] {
		x := StateRow{Batch: -1}
		if len(row) > 0 {
			x.Key, x.Values = row[0].Text, row[1:]
			x.JSON = x.Key
		}
		p.Rows = append(p.Rows, x)
	}
	return p, nil
}

func (s shallow) refuse(what string) error {
	return errs.New("UNSUPPORTED_FEATURE", "feature", strings.ToUpper(what[:1])+what[1:]+" of a checkpoint of this workbench")
}

func (s shallow) KeyHistory(context.Context, StateQuery, []byte, int) ([]KeyVersion, error) {
	return nil, s.refuse("the history of a key")
}

func (s shallow) DiffBatches(context.Context, StateQuery, int64, int64, int) (*Diff, error) {
	return nil, s.refuse("comparing batches")
}

func (s shallow) VerifyCheckpoint(context.Context, string, func(done, total int64)) error {
	return s.refuse("verifying")
}

func (s shallow) ExportCheckpoint(context.Context, string, string) (int, error) {
	return 0, s.refuse("the export")
}

func (s shallow) ReleaseState() {}
