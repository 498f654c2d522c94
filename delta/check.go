package delta

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/apache/arrow-go/v18/arrow"

	"streamlab/columnar"
	"streamlab/errs"
	"streamlab/sql/types"
)

// A Finding is one thing that is wrong with a table.
type Finding struct {
	Problem string `json:"problem"` // missing_file, outside_file, wrong_size, wrong_stats, unreadable_file, wrong_deletion_vector, log_hole, unreadable_commit, wrong_checkpoint, wrong_checksum
	File    string `json:"file"`    // as the log names it
	Detail  string `json:"detail"`
}

// A CheckReport is what Check saw.
type CheckReport struct {
	Version     int64     `json:"version"`
	Commits     int       `json:"commits"`
	Checkpoints int       `json:"checkpoints"`
	Files       int       `json:"files"`
	Bytes       int64     `json:"bytes"`
	Rows        int64     `json:"rows"`    // live ones
	Deleted     int64     `json:"deleted"` // hidden by deletion vectors
	Findings    []Finding `json:"findings"`
}

func (r *CheckReport) found(problem, file, detail string, args ...any) {
	r.Findings = append(r.Findings, Finding{problem, file, fmt.Sprintf(detail, args...)})
}

// Check walks the log of a table and reads all its live files: it holds the log against itself, checkpoints and
// checksums against the log, files against sizes, statistics and deletion vectors. It changes nothing. Errors
// are those that leave nothing to check; what is wrong with a table that can be opened is a finding.
func (l *Log) Check(ctx context.Context) (*CheckReport, error) {
	g, err := l.list()
	if err != nil {
		return nil, err
	}
	s, err := l.load(-1)
	if err != nil {
		return nil, err
	}
	r := &CheckReport{Version: s.Version, Commits: len(g.commits), Checkpoints: len(g.checkpoints), Files: s.NumFiles(), Bytes: s.SizeInBytes(), Findings: []Finding{}}
	for i, v := range g.commits {
		if i > 0 && v != g.commits[i-1]+1 {
			r.found("log_hole", commitName(v), "the version before it is %d", g.commits[i-1])
		}
		if _, err := l.readCommit(v); err != nil {
			r.found("unreadable_commit", commitName(v), "%v", err)
		}
	}
	l.checkCheckpoints(g, r)
	l.checkChecksum(s, r)
	for _, a := range s.Files() {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		l.checkFile(ctx, s, a, r)
	}
	return r, nil
}

// checkCheckpoints replays to the version of every checkpoint with it and without.
func (l *Log) checkCheckpoints(g *listing, r *CheckReport) {
	for i := range g.checkpoints {
		c := &g.checkpoints[i]
		name := filepath.Base(c.files[0])
		with, err := l.replay(g, c, c.version)
		if err != nil {
			r.found("wrong_checkpoint", name, "%v", err)
			continue
		}
		if len(g.commits) == 0 || g.commits[0] != 0 {
			continue // the commits before it are gone
		}
		without, err := l.replay(g, nil, c.version)
		if err != nil {
			continue // found as a hole or an unreadable commit
		}
		for k := range without.files {
			if with.files[k] == nil {
				r.found("wrong_checkpoint", name, "the live file %s is not in it", k.path)
			}
		}
		for k := range with.files {
			if without.files[k] == nil {
				r.found("wrong_checkpoint", name, "the file %s in it is not live", k.path)
			}
		}
	}
}

func (l *Log) checkFile(ctx context.Context, s *Snapshot, a *Add, r *CheckReport) {
	path, err := l.reading(a.Path)
	if err != nil {
		r.found("outside_file", a.Path, "%v", err)
		return
	}
	info, err := l.FS.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		r.found("missing_file", a.Path, "it is not there")
		return
	case err != nil:
		r.found("unreadable_file", a.Path, "%v", err)
		return
	case info.Size() != a.Size:
		r.found("wrong_size", a.Path, "it has %d bytes, the log says %d", info.Size(), a.Size)
	}
	var columns types.Schema
	for _, f := range s.Schema {
		if !s.isPartition(f.Name) && f.Type.Kind != types.Null {
			columns = append(columns, without(f, keyCharVarchar)) // files hold texts without the blanks
		}
	}
	c := newStats(columns, s.Metadata, s.MappingMode(), false)
	c.prefix = 1 << 30 // whole texts
	f := s.DataFileOf(a)
	f.DV = nil
	err = s.NewReader(columns).each(ctx, f, func(rb arrow.RecordBatch) bool {
		vs := make([]*columnar.Vec, len(columns))
		for i, f := range columns {
			vs[i] = columnar.FromArrow(rb.Column(i), f.Type)
		}
		c.add(vs, int(rb.NumRows()))
		return true
	})
	if err != nil {
		r.found("unreadable_file", a.Path, "%v", err)
		return
	}
	r.Rows += c.rows
	if st := a.stats(); st != nil {
		compareStats(r, a.Path, columns, s.MappingMode(), st, parseStats(c.json()))
	} else if a.Stats != "" {
		r.found("wrong_stats", a.Path, "they cannot be read")
	}
	if a.DV == nil {
		return
	}
	gone, err := l.readDV(a.DV)
	if err != nil {
		text := err.Error()
		if e := errs.As(err); e != nil {
			text = e.Condition
		}
		r.found("wrong_deletion_vector", a.Path, "%s", text)
		return
	}
	n := int64(gone.GetCardinality())
	r.Rows, r.Deleted = r.Rows-n, r.Deleted+n
	if n != a.DV.Cardinality {
		r.found("wrong_deletion_vector", a.Path, "it hides %d rows, the log says %d", n, a.DV.Cardinality)
	}
	if n > 0 && int64(gone.Maximum()) >= c.rows {
		r.found("wrong_deletion_vector", a.Path, "it hides row %d of a file of %d", gone.Maximum(), c.rows)
	}
}

// compareStats holds what the log says of a file's rows against what they are.
func compareStats(r *CheckReport, path string, columns types.Schema, mode MappingMode, said, real *Stats) {
	if said.HasRecords && said.NumRecords != real.NumRecords {
		r.found("wrong_stats", path, "it has %d rows, the log says %d", real.NumRecords, said.NumRecords)
		return
	}
	for _, f := range columns {
		if wasFloat(f) {
			continue
		}
		name := physicalName(f, mode)
		if n, ok := said.Nulls[name]; ok && said.Tight {
			if m, ok := real.Nulls[name]; ok && n != m {
				r.found("wrong_stats", path, "%s is null in %d rows, the log says %d", f.Name, m, n)
			}
		}
		for _, b := range []struct {
			what       string
			said, real json.RawMessage
			upper      bool
		}{{"least", said.Min[name], real.Min[name], false}, {"greatest", said.Max[name], real.Max[name], true}} {
			x, ok := boundVec(b.said, f.Type, b.upper)
			y, ok2 := boundVec(b.real, f.Type, b.upper)
			if !ok || !ok2 {
				continue
			}
			if c, ok := compareVec(x, y); ok && (b.upper && c < 0 || !b.upper && c > 0) {
				r.found("wrong_stats", path, "the %s value of %s is %s, the log says %s", b.what, f.Name, rawText(b.real), rawText(b.said))
			}
		}
	}
}
