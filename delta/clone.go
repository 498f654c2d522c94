package delta

import (
	"path/filepath"

	"github.com/google/uuid"

	"streamlab/errs"
	"streamlab/sql/catalog"
	"streamlab/sql/types"
)

// clone makes a table that begins with the files of another, which stay where they are: the log names them by
// absolute paths. What is later added, changed or removed concerns the clone only; VACUUM of the other table
// may take its files away. Errors: DELTA_CLONE_UNSUPPORTED_SOURCE, DELTA_UNSUPPORTED_NON_EMPTY_CLONE,
// DELTA_UNSUPPORTED_CLONE_REPLACE_SAME_TABLE.
func (p *Provider) clone(l *Log, txn *Txn, c catalog.Creation) (catalog.Table, error) {
	src, ok := c.Clone.Table.(*Table)
	if !ok {
		return nil, errs.New("DELTA_CLONE_UNSUPPORTED_SOURCE", "name", c.Clone.Name, "format", catalog.DefinitionOf(c.Clone.Table).Provider)
	}
	s := src.snap
	if txn.snap != nil && !c.Replace {
		return nil, errs.New("DELTA_TABLE_ALREADY_EXISTS", "tableName", c.Name)
	}
	if txn.snap != nil && txn.snap.NumFiles() > 0 {
		return nil, errs.New("DELTA_UNSUPPORTED_NON_EMPTY_CLONE")
	}
	if l.Root == s.Log.Root {
		return nil, errs.New("DELTA_UNSUPPORTED_CLONE_REPLACE_SAME_TABLE", "tableName", c.Name)
	}
	m := s.Metadata.clone()
	m.ID = uuid.NewString()
	for _, k := range sortedKeys(c.Properties) {
		m.Configuration.Set(k, c.Properties[k])
	}
	if err := checkProperties(m.Configuration); err != nil {
		return nil, err
	}
	need, err := txn.needs(m, s.Schema)
	if err != nil {
		return nil, err
	}
	txn.metadata, txn.schema = m, s.Schema
	if need = mergeProtocols(need, s.Protocol); txn.snap == nil || !need.equal(txn.snap.Protocol) {
		txn.protocol = &need
	}
	removes, _ := txn.Removes(true)
	acts := removes
	removed := int64(0)
	if txn.snap != nil {
		removed = txn.snap.SizeInBytes()
	}
	for _, a := range s.Files() {
		b := *a
		b.DataChange = true
		if b.Path, err = s.Log.absolute(a.Path); err != nil {
			return nil, err
		}
		if a.DV != nil && a.DV.StorageType == "u" {
			rel, ok := dvPath(a.DV)
			if !ok {
				return nil, errs.New("DELTA_DELETION_VECTOR_SIZE_MISMATCH", "deletionVector", a.DV.StorageType+":"+a.DV.PathOrDV)
			}
			dv := *a.DV
			if dv.PathOrDV, err = s.Log.absolute(encodePath(rel)); err != nil {
				return nil, err
			}
			dv.StorageType = "p"
			b.DV = &dv
		}
		acts = append(acts, Action{Add: &b})
	}
	for _, name := range sortedKeys(s.domains) {
		d := s.domains[name]
		acts = append(acts, Action{Domain: &d})
	}
	params, metrics := Pairs{}, Pairs{}
	params.Set("source", c.Clone.Name)
	params.SetRaw("sourceVersion", string(marshal(s.Version)))
	metrics.count("removedFilesSize", removed)
	metrics.count("numRemovedFiles", int64(len(removes)))
	metrics.count("sourceTableSize", s.SizeInBytes())
	metrics.count("numCopiedFiles", 0)
	metrics.count("copiedFilesSize", 0)
	metrics.count("sourceNumOfFiles", int64(s.NumFiles()))
	txn.NotBlind = true
	if _, err := txn.Commit(Operation{Name: "CLONE", Params: params, Metrics: metrics}, acts); err != nil {
		return nil, err
	}
	t, err := p.table(l, c.Definition)
	if err != nil {
		return nil, err
	}
	return &clonedTable{Table: t.(*Table), row: []any{s.SizeInBytes(), int64(s.NumFiles()), int64(len(removes)), int64(0), removed, int64(0)}}, nil
}

// clonedTable is a clone just made, with what the statement answers.
type clonedTable struct {
	*Table
	row []any
}

// Made is the clone without its answer, and the answer.
func (c *clonedTable) Made() (catalog.Table, types.Schema, [][]any) {
	schema := types.Schema{col("source_table_size", types.BigInt), col("source_num_of_files", types.BigInt), col("num_removed_files", types.BigInt),
		col("num_copied_files", types.BigInt), col("removed_files_size", types.BigInt), col("copied_files_size", types.BigInt)}
	return c.Table, schema, [][]any{c.row}
}

// absolute is the path of a file of this table as the log of another names it.
func (l *Log) absolute(path string) (string, error) {
	full, err := l.reading(path)
	if err != nil {
		return "", err
	}
	return "file:" + encodePath(filepath.ToSlash(full)), nil
}

// mergeProtocols is the least protocol that allows what two allow.
func mergeProtocols(a, b Protocol) Protocol {
	names := map[string]bool{}
	for _, p := range []Protocol{a, b} {
		for _, f := range p.Features() {
			names[f] = true
		}
	}
	out := Protocol{MinReader: max(a.MinReader, b.MinReader), MinWriter: max(a.MinWriter, b.MinWriter)}
	if out.MinWriter == 7 {
		out.WriterFeatures = sortedKeys(names)
	}
	if out.MinReader == 3 {
		out.ReaderFeatures = []string{}
		for _, f := range sortedKeys(names) {
			if features[f].reader {
				out.ReaderFeatures = append(out.ReaderFeatures, f)
			}
		}
	}
	return out
}
