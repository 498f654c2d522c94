package delta

import (
	"bytes"
	"context"
	"slices"
	"sort"
	"strconv"

	"github.com/apache/arrow-go/v18/arrow"

	"streamlab/columnar"
	"streamlab/errs"
	"streamlab/sql/catalog"
	"streamlab/sql/types"
)

// targetSize is how large OPTIMIZE lets a file become.
const targetSize = 1 << 30

// optimize packs the small files of each partition into larger ones, or, with ZORDER BY, writes the rows of
// each partition anew in the order of a curve through the columns. No row changes.
func (t *Table) optimize(ctx context.Context, m catalog.Maintenance) (types.Schema, [][]any, error) {
	txn, err := t.log.Begin()
	if err != nil {
		return nil, nil, err
	}
	s := txn.snap
	if s == nil {
		return nil, nil, t.log.NoTable()
	}
	if err := checkWritable(t.log.Root, s.Protocol); err != nil {
		return nil, nil, err
	}
	where := t.predicates(s, m.Where)
	for _, p := range where {
		if f := s.Schema[p.Column]; !s.isPartition(f.Name) {
			return nil, nil, errs.New("DELTA_NON_PARTITION_COLUMN_REFERENCE", "columnName", f.Name, "columnList", joined(s.PartitionColumns()))
		}
	}
	zcols := m.ZOrder
	if len(zcols) == 0 {
		zcols = nil
	}
	for _, c := range zcols {
		if s.isPartition(c) {
			return nil, nil, errs.New("DELTA_ZORDERING_ON_PARTITION_COLUMN", "colName", c)
		}
		if s.Schema.Index(c) < 0 {
			return nil, nil, errs.New("DELTA_ZORDERING_COLUMN_DOES_NOT_EXIST", "columnName", c)
		}
	}
	considered := s.prune(s.Files(), where)
	bins := s.bins(considered, len(zcols) > 0)
	var adds, removes []Action
	var addSizes, removeSizes []int64
	var dvs int64
	seen := map[string]bool{}
	now := t.log.Now().UnixMilli()
	undo := func(err error) (types.Schema, [][]any, error) {
		for _, a := range adds {
			t.log.discard(a.Add.Path)
		}
		return nil, nil, err
	}
	for _, bin := range bins {
		var files []DataFile
		for _, a := range bin {
			files = append(files, s.DataFileOf(a))
		}
		r := s.NewReader(s.Schema)
		var src columnar.Partition = &part{r: r, files: files}
		if len(zcols) > 0 {
			if src, err = zordered(ctx, src, s.Schema, zcols); err != nil {
				return undo(err)
			}
		}
		w, err := txn.Write(ctx, []columnar.Partition{src}, WriteOptions{NoDataChange: true})
		if err != nil {
			return undo(err)
		}
		for _, a := range w.Adds {
			adds = append(adds, Action{Add: a})
			addSizes = append(addSizes, a.Size)
		}
		for _, a := range bin {
			txn.ReadFile(a)
			if a.DV != nil {
				dvs++
			}
			removes = append(removes, Action{Remove: removal(a, now, false, statsRows)})
			removeSizes = append(removeSizes, a.Size)
			seen[partitionKey(a)] = true
		}
	}
	if len(removes) > 0 {
		op := Operation{Name: "OPTIMIZE", Params: Pairs{}, Metrics: Pairs{}, Isolation: "SnapshotIsolation"}
		op.Params.Set("predicate", predicateList(s, where))
		op.Params.Set("zOrderBy", JSONList(zcols))
		op.Params.Set("clusterBy", JSONList(s.ClusterBy()))
		op.Params.SetRaw("auto", "false")
		x := &op.Metrics
		lo, p25, p50, p75, hi := quartiles(addSizes)
		x.count("numRemovedFiles", int64(len(removes)))
		x.count("numRemovedBytes", sum(removeSizes))
		x.count("p25FileSize", p25)
		x.count("numDeletionVectorsRemoved", dvs)
		x.count("minFileSize", lo)
		x.count("p75FileSize", p75)
		x.count("p50FileSize", p50)
		x.count("numAddedBytes", sum(addSizes))
		x.count("numAddedFiles", int64(len(adds)))
		x.count("maxFileSize", hi)
		if _, err := txn.Commit(op, append(append([]Action{}, adds...), removes...)); err != nil {
			return undo(err)
		}
	}
	sizes := func(list []int64) map[string]any {
		lo, _, _, _, hi := quartiles(list)
		var avg float64
		if len(list) > 0 {
			avg = float64(sum(list)) / float64(len(list))
		}
		out := map[string]any{"min": lo, "max": hi, "avg": avg, "totalFiles": int64(len(list)), "totalSize": sum(list)}
		if len(list) == 0 {
			out["min"], out["max"] = nil, nil
		}
		return out
	}
	sizeType := types.StructOf(col("min", types.BigInt), col("max", types.BigInt), col("avg", types.Double), col("totalFiles", types.BigInt), col("totalSize", types.BigInt))
	metrics := types.StructOf(col("numFilesAdded", types.BigInt), col("numFilesRemoved", types.BigInt), types.Field{Name: "filesAdded", Type: sizeType, Nullable: true},
		types.Field{Name: "filesRemoved", Type: sizeType, Nullable: true}, col("partitionsOptimized", types.BigInt), col("numBins", types.BigInt),
		col("numBatches", types.BigInt), col("totalConsideredFiles", types.BigInt), col("totalFilesSkipped", types.BigInt),
		col("preserveInsertionOrder", types.Boolean))
	cell := map[string]any{"numFilesAdded": int64(len(adds)), "numFilesRemoved": int64(len(removes)), "filesAdded": sizes(addSizes), "filesRemoved": sizes(removeSizes),
		"partitionsOptimized": int64(len(seen)), "numBins": int64(len(bins)), "numBatches": int64(min(len(bins), 1)),
		"totalConsideredFiles": int64(len(considered)), "totalFilesSkipped": int64(len(considered) - len(removes)), "preserveInsertionOrder": len(zcols) == 0}
	return types.Schema{col("path", types.String), {Name: "metrics", Type: metrics, Nullable: true}}, [][]any{{"file:" + t.log.Root, cell}}, nil
}

func joined(list []string) string {
	out := ""
	for i, s := range list {
		if i > 0 {
			out += ", "
		}
		out += s
	}
	return out
}

func sum(list []int64) (n int64) {
	for _, x := range list {
		n += x
	}
	return n
}

func quartiles(list []int64) (lo, p25, p50, p75, hi int64) {
	if len(list) == 0 {
		return
	}
	s := slices.Sorted(slices.Values(list))
	at := func(q int) int64 { return s[min(len(s)*q/4, len(s)-1)] }
	return s[0], at(1), at(2), at(3), s[len(s)-1]
}

func partitionKey(a *Add) string {
	var b []byte
	for _, k := range sortedKeys(a.PartitionValues) {
		b = append(append(b, k...), 0)
		if v := a.PartitionValues[k]; v != nil {
			b = append(append(b, 1), *v...)
		}
		b = append(b, 0)
	}
	return string(b)
}

// bins groups files of one partition whose rows go into one file: small ones together, and a single one only
// if it hides rows. With all, every file of a partition is in one bin.
func (s *Snapshot) bins(files []*Add, all bool) [][]*Add {
	groups := map[string][]*Add{}
	var order []string
	for _, a := range files {
		if !all && a.Size >= targetSize && a.DV == nil {
			continue
		}
		k := partitionKey(a)
		if groups[k] == nil {
			order = append(order, k)
		}
		groups[k] = append(groups[k], a)
	}
	sort.Strings(order)
	var out [][]*Add
	for _, k := range order {
		list := groups[k]
		if all {
			out = append(out, list)
			continue
		}
		sort.SliceStable(list, func(i, j int) bool { return list[i].Size < list[j].Size })
		var bin []*Add
		var size int64
		flush := func() {
			if len(bin) > 1 || len(bin) == 1 && bin[0].DV != nil {
				out = append(out, bin)
			}
			bin, size = nil, 0
		}
		for _, a := range list {
			if size+a.Size > targetSize {
				flush()
			}
			bin = append(bin, a)
			size += a.Size
		}
		flush()
	}
	return out
}

// predicateList prints predicates for the history.
func predicateList(s *Snapshot, where []catalog.Predicate) string {
	var out []string
	for _, p := range where {
		v := ""
		if p.Value != nil {
			v = " " + string(displayCell(p.Value))
		}
		out = append(out, "('"+s.Schema[p.Column].Name+" "+p.Op+v+")")
	}
	return JSONList(out)
}

// zordered reads all rows and gives them in the order of a Z curve through the columns: the ranks of the
// values, bit by bit interleaved.
func zordered(ctx context.Context, src columnar.Partition, schema types.Schema, cols []string) (columnar.Partition, error) {
	var batches []arrow.RecordBatch
	type ref struct{ b, i int32 }
	var rows []ref
	for rb, err := range src.Rows(ctx) {
		if err != nil {
			return nil, err
		}
		for i := 0; i < int(rb.NumRows()); i++ {
			rows = append(rows, ref{int32(len(batches)), int32(i)})
		}
		batches = append(batches, rb)
	}
	ranks := make([][]uint16, len(cols))
	for k, name := range cols {
		c := schema.Index(name)
		vs := make([]*columnar.Vec, len(batches))
		for b, rb := range batches {
			vs[b] = columnar.FromArrow(rb.Column(c), schema[c].Type)
		}
		order := make([]int32, len(rows))
		for i := range order {
			order[i] = int32(i)
		}
		cmp := func(x, y int32) int { return compareRows(vs[rows[x].b], int(rows[x].i), vs[rows[y].b], int(rows[y].i)) }
		slices.SortStableFunc(order, cmp)
		ranks[k] = make([]uint16, len(rows))
		rank := 0
		for at, r := range order {
			if at > 0 && cmp(order[at-1], r) != 0 {
				rank = at
			}
			ranks[k][r] = uint16(int64(rank) * 65535 / int64(max(len(rows)-1, 1)))
		}
	}
	keys := make([][]byte, len(rows))
	for i := range rows {
		key := make([]byte, 0, 2*len(cols))
		var acc byte
		n := 0
		for bit := 15; bit >= 0; bit-- {
			for k := range cols {
				acc = acc<<1 | byte(ranks[k][i]>>bit&1)
				if n++; n == 8 {
					key = append(key, acc)
					acc, n = 0, 0
				}
			}
		}
		keys[i] = key
	}
	order := make([]int32, len(rows))
	for i := range order {
		order[i] = int32(i)
	}
	slices.SortStableFunc(order, func(x, y int32) int { return bytes.Compare(keys[x], keys[y]) })
	whole := make([]*columnar.Vec, len(schema))
	for c, f := range schema {
		v, err := concat(batches, c, f.Type)
		if err != nil {
			return nil, err
		}
		whole[c] = v
	}
	start := make([]int32, len(batches))
	for b := 1; b < len(batches); b++ {
		start[b] = start[b-1] + int32(batches[b-1].NumRows())
	}
	var out columnar.Batches
	out.Name = "zorder"
	as := schema.Arrow()
	for at := 0; at < len(order); at += readBatch {
		n := min(readBatch, len(order)-at)
		idx := make([]int32, n)
		for i := range idx {
			r := rows[order[at+i]]
			idx[i] = start[r.b] + r.i
		}
		vs := make([]*columnar.Vec, len(schema))
		for c := range schema {
			vs[c] = new(columnar.Vec)
			columnar.GatherIdx(vs[c], whole[c], idx)
		}
		out.List = append(out.List, columnar.Record(as, vs, columnar.AllRows(n)))
	}
	return out, nil
}

func compareRows(a *columnar.Vec, i int, b *columnar.Vec, j int) int {
	x, y := a.Phys == columnar.PNull || a.IsNull(i), b.Phys == columnar.PNull || b.IsNull(j)
	if x || y {
		switch {
		case x && y:
			return 0
		case x:
			return -1
		}
		return 1
	}
	switch a.Phys {
	case columnar.PI8:
		return order(a.I8[i], b.I8[j])
	case columnar.PI16:
		return order(a.I16[i], b.I16[j])
	case columnar.PI32:
		return order(a.I32[i], b.I32[j])
	case columnar.PI64:
		return order(a.I64[i], b.I64[j])
	case columnar.PF32:
		return orderFloat(float64(a.F32[i]), float64(b.F32[j]))
	case columnar.PF64:
		return orderFloat(a.F64[i], b.F64[j])
	case columnar.PDec:
		return a.Dec[i].Cmp(b.Dec[j])
	case columnar.PBytes:
		return bytes.Compare(a.Bytes(i), b.Bytes(j))
	}
	return 0
}

func displayCell(v *columnar.Vec) []byte {
	if v.IsNull(0) {
		return []byte("null")
	}
	switch v.Phys {
	case columnar.PI8:
		return strconv.AppendInt(nil, int64(v.I8[0]), 10)
	case columnar.PI16:
		return strconv.AppendInt(nil, int64(v.I16[0]), 10)
	case columnar.PI32:
		return strconv.AppendInt(nil, int64(v.I32[0]), 10)
	case columnar.PI64:
		return strconv.AppendInt(nil, v.I64[0], 10)
	case columnar.PBytes:
		return v.Bytes(0)
	}
	return []byte("?")
}
