package delta

import (
	"strings"

	"streamlab/errs"
)

// check looks at a commit that won the version we wanted: nil if ours may follow it.
func (t *Txn) check(v int64, winner []Action, op Operation, actions []Action) error {
	info := winnerText(winner)
	conflict := func(condition string) error { return errs.New(condition, "version", v, "conflictingCommit", info) }
	snapshotIsolation := op.Isolation == "SnapshotIsolation"
	removed := map[fileKey]bool{} // what we remove
	for _, a := range actions {
		if a.Remove != nil {
			removed[fileKey{canonicalPath(a.Remove.Path), a.Remove.DV.id()}] = true
		}
	}
	for _, w := range winner {
		switch {
		case w.Protocol != nil:
			if err := checkWritable(t.log.Root, *w.Protocol); err != nil {
				return err
			}
			if t.protocol != nil || t.snap == nil {
				return conflict("DELTA_PROTOCOL_CHANGED")
			}
		case w.Metadata != nil:
			return conflict("DELTA_METADATA_CHANGED")
		case w.Domain != nil && w.Domain.Domain != rowTrackingDomain:
			for _, a := range actions {
				if a.Domain != nil && a.Domain.Domain == w.Domain.Domain {
					return conflict("DELTA_CONCURRENT_TRANSACTION")
				}
			}
		case w.Txn != nil && t.readApps[w.Txn.AppID]:
			return conflict("DELTA_CONCURRENT_TRANSACTION")
		}
	}
	if t.dependsOnData() && !snapshotIsolation {
		for _, w := range winner {
			if w.Add != nil && t.touches(w.Add.PartitionValues) {
				return conflict("DELTA_CONCURRENT_APPEND")
			}
		}
	}
	for _, w := range winner {
		if w.Remove == nil {
			continue
		}
		k := fileKey{canonicalPath(w.Remove.Path), w.Remove.DV.id()}
		if removed[k] {
			if t.readFiles[k] || t.readAll {
				return conflict("DELTA_CONCURRENT_DELETE_READ")
			}
			return conflict("DELTA_CONCURRENT_DELETE_DELETE")
		}
		if t.readAll || t.readFiles[k] {
			return conflict("DELTA_CONCURRENT_DELETE_READ")
		}
	}
	return nil
}

// touches says whether a file of these partition values belongs to what the transaction read.
func (t *Txn) touches(values map[string]*string) bool {
	if t.readAll {
		return true
	}
	if len(t.readWhere) == 0 {
		return len(t.readFiles) > 0 || t.NotBlind
	}
	for _, f := range t.readWhere {
		if f(values) {
			return true
		}
	}
	return false
}

func winnerText(winner []Action) string {
	for _, a := range winner {
		if c := a.CommitInfo; c != nil {
			return strings.TrimSpace(c.Operation + " " + c.EngineInfo)
		}
	}
	return "unknown"
}
