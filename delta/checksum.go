package delta

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"sort"
	"strings"
)

// checksum is what %020d.crc says of a version: enough to notice that a log was changed behind its back.
type checksum struct {
	TxnID             string           `json:"txnId,omitempty"`
	TableSizeBytes    *int64           `json:"tableSizeBytes"`
	NumFiles          *int64           `json:"numFiles"`
	NumDeletedRecords *int64           `json:"numDeletedRecordsOpt,omitempty"`
	NumDVs            *int64           `json:"numDeletionVectorsOpt,omitempty"`
	NumMetadata       int64            `json:"numMetadata"`
	NumProtocol       int64            `json:"numProtocol"`
	InCommitTimestamp *int64           `json:"inCommitTimestampOpt,omitempty"`
	Txns              []SetTransaction `json:"setTransactions"`
	Domains           []Domain         `json:"domainMetadata"`
	Metadata          *Metadata        `json:"metadata"`
	Protocol          *Protocol        `json:"protocol"`
	Sizes             *sizeHistogram   `json:"fileSizeHistogram,omitempty"`
	Deleted           *deletedCounts   `json:"deletedRecordCountsHistogramOpt,omitempty"`
	AllFiles          []*Add           `json:"allFiles,omitempty"`
}

type sizeHistogram struct {
	Bounds []int64 `json:"sortedBinBoundaries"`
	Counts []int64 `json:"fileCounts"`
	Bytes  []int64 `json:"totalBytes"`
}

type deletedCounts struct {
	Counts [10]int64 `json:"deletedRecordCounts"`
}

const (
	filesInChecksum = 50       // a table with more has no list of them in its checksum, as Spark's
	maxChecksum     = 64 << 20 // bytes of a checksum that is read
)

// sizeBounds are where the bins of the histogram of file sizes begin.
var sizeBounds = func() []int64 {
	const kb, mb, gb = int64(1 << 10), int64(1 << 20), int64(1 << 30)
	out := []int64{0}
	for x := 8 * kb; x <= 4*mb; x *= 2 {
		out = append(out, x)
	}
	grow := func(step, to int64) {
		for out[len(out)-1] < to {
			out = append(out, out[len(out)-1]+step)
		}
	}
	grow(4*mb, 40*mb)
	grow(8*mb, 120*mb)
	grow(4*mb, 144*mb)
	grow(16*mb, 576*mb)
	grow(64*mb, 1408*mb)
	grow(128*mb, 2*gb)
	grow(256*mb, 4*gb)
	for x := 8 * gb; x <= 256*gb; x *= 2 {
		out = append(out, x)
	}
	return out
}()

// checksum is that of the snapshot, without what only its commit knows.
func (s *Snapshot) checksum() *checksum {
	size, files, hidden, dvs := int64(0), int64(len(s.files)), int64(0), int64(0)
	h := &sizeHistogram{Bounds: sizeBounds, Counts: make([]int64, len(sizeBounds)), Bytes: make([]int64, len(sizeBounds))}
	var deleted deletedCounts
	for _, a := range s.files {
		size += a.Size
		bin := sort.Search(len(sizeBounds), func(i int) bool { return sizeBounds[i] > a.Size }) - 1
		h.Counts[max(bin, 0)]++
		h.Bytes[max(bin, 0)] += a.Size
		n := int64(0)
		if a.DV != nil {
			dvs++
			n = a.DV.Cardinality
		}
		hidden += n
		deleted.Counts[deletedBin(n)]++
	}
	c := &checksum{TableSizeBytes: &size, NumFiles: &files, NumMetadata: 1, NumProtocol: 1, Metadata: s.Metadata, Protocol: &s.Protocol,
		Sizes: h, Txns: []SetTransaction{}, Domains: []Domain{}}
	if s.Protocol.Supports("deletionVectors") {
		c.NumDeletedRecords, c.NumDVs, c.Deleted = &hidden, &dvs, &deleted
	}
	for _, app := range sortedKeys(s.txns) {
		c.Txns = append(c.Txns, s.txns[app])
	}
	for _, name := range sortedKeys(s.domains) {
		c.Domains = append(c.Domains, s.domains[name])
	}
	if len(s.files) <= filesInChecksum {
		for _, a := range s.Files() {
			b := *a
			b.DataChange = false
			c.AllFiles = append(c.AllFiles, &b)
		}
	}
	return c
}

// deletedBin is the bin of a file with n hidden rows: 0, below 10, below 100, …
func deletedBin(n int64) int {
	switch {
	case n == 0:
		return 0
	case n >= math.MaxInt32:
		return 9
	}
	bin := 1
	for limit := int64(10); n >= limit && bin < 8; limit *= 10 {
		bin++
	}
	return bin
}

func checksumName(v int64) string { return strings.TrimSuffix(commitName(v), ".json") + ".crc" }

// writeChecksum writes the checksum of a version that has none. It is not synced: a torn one is none.
func (l *Log) writeChecksum(s *Snapshot, txnID string) error {
	c := s.checksum()
	c.TxnID = txnID
	if s.On("delta.enableInCommitTimestamps") {
		at, err := l.Timestamp(s.Version)
		if err != nil {
			return err
		}
		c.InCommitTimestamp = &at
	}
	name := filepath.Join(l.dir(), checksumName(s.Version))
	tmp := filepath.Join(l.dir(), "."+checksumName(s.Version)+"."+txnID+".tmp")
	f, err := l.FS.OpenFile(tmp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	_, err = f.Write(marshal(c))
	if err = finishFile(f, err, false); err == nil {
		err = l.FS.Rename(tmp, name)
	}
	if err != nil {
		_ = l.removeFile(tmp)
	}
	return err
}

// readChecksum reads the checksum of a version; nil if there is none.
func (l *Log) readChecksum(v int64) (*checksum, error) {
	f, err := l.FS.Open(filepath.Join(l.dir(), checksumName(v)))
	if os.IsNotExist(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	text, err := io.ReadAll(io.LimitReader(f, maxChecksum+1))
	if err2 := f.Close(); err == nil {
		err = err2
	}
	if err == nil && len(text) > maxChecksum {
		err = fmt.Errorf("it is larger than %d bytes", maxChecksum)
	}
	if err != nil {
		return nil, err
	}
	c := &checksum{}
	return c, json.Unmarshal(text, c)
}

// checkChecksum compares the checksum of a snapshot's version, if there is one.
func (l *Log) checkChecksum(s *Snapshot, r *CheckReport) {
	name := checksumName(s.Version)
	c, err := l.readChecksum(s.Version)
	if err != nil {
		r.found("wrong_checksum", name, "%v", err)
		return
	}
	if c == nil {
		return
	}
	real := s.checksum()
	count := func(what string, said, is *int64) {
		if said != nil && is != nil && *said != *is {
			r.found("wrong_checksum", name, "it counts %d %s, the log has %d", *said, what, *is)
		}
	}
	count("files", c.NumFiles, real.NumFiles)
	count("bytes", c.TableSizeBytes, real.TableSizeBytes)
	count("deletion vectors", c.NumDVs, real.NumDVs)
	count("deleted rows", c.NumDeletedRecords, real.NumDeletedRecords)
	if m := c.Metadata; m != nil && (m.ID != s.Metadata.ID || m.SchemaString != s.Metadata.SchemaString) {
		r.found("wrong_checksum", name, "its metadata is not that of the log")
	}
	if p := c.Protocol; p != nil && (p.MinReader != s.Protocol.MinReader || p.MinWriter != s.Protocol.MinWriter) {
		r.found("wrong_checksum", name, "its protocol is %d/%d, that of the log %d/%d", p.MinReader, p.MinWriter, s.Protocol.MinReader, s.Protocol.MinWriter)
	}
	if c.Txns != nil {
		for _, t := range c.Txns {
			if v, ok := s.Txn(t.AppID); !ok || v != t.Version {
				r.found("wrong_checksum", name, "it has version %d of the application %s, the log %d", t.Version, t.AppID, v)
			}
		}
	}
	if len(c.AllFiles) == 0 {
		return
	}
	for _, a := range c.AllFiles {
		live := s.files[fileKey{canonicalPath(a.Path), a.DV.id()}]
		switch {
		case live == nil:
			r.found("wrong_checksum", name, "the file %s in it is not live", a.Path)
		case live.Size != a.Size || !bytes.Equal([]byte(live.Stats), []byte(a.Stats)):
			r.found("wrong_checksum", name, "it knows the file %s otherwise", a.Path)
		}
	}
}
