// Package files reads folders of JSON, CSV and text files, as a stream or as a table.
//
// As a stream each file is read once: what was selected is remembered in the source's log, one entry per
// selection, and an offset is the number of an entry, {"logOffset":N}. Files are taken by modification time,
// then path. Files must appear whole (be renamed into place), and are not looked at again.
package files

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"

	"streamlab/codec"
	"streamlab/columnar"
	"streamlab/errs"
	"streamlab/internal/fault"
	"streamlab/internal/vfs"
	"streamlab/sources"
	"streamlab/sql/types"
)

// Source is the file source.
type Source struct {
	shape
	log          sources.Log
	maxFiles     int64
	maxBytes     int64
	latestFirst  bool
	maxAge       int64 // ms; -1: infinite
	nameOnly     bool
	minAge       time.Duration
	maxCached    int
	discardRatio float64
	clean        string
	archive      string
	now          func() time.Time
	movedFrom    string // paths below it in the log stand below movedTo
	movedTo      string

	opened    bool
	seen      seenFiles
	counter   int64            // newest log entry; -1: none
	recent    map[int64][]file // entries that were added by this run
	unread    listing          // candidates of an earlier listing, in order
	frozen    bool             // AvailableNow: unread is all there is
	tooOld    int64
	ages      []entryAge // of the log's entries, by number
	malformed codecCounts
}

// New makes the source. Without a log only the schema is asked for: as in Spark bad options are then let
// pass, and end the query that opens the source (Check finds them earlier). Errors: INVALID_OPTION,
// _LEGACY_ERROR_TEMP_2048 without a schema, PATH_NOT_FOUND.
func New(def sources.Def) (sources.Source, error) {
	s := &Source{log: def.Log, counter: -1, recent: map[int64][]file{}, now: def.Now, movedFrom: def.MovedFrom, movedTo: def.MovedTo}
	if s.now == nil {
		s.now = time.Now
	}
	if err := s.configure(def); err != nil && def.Log != nil {
		return nil, err
	}
	if err := s.shape.setup(def, true); err != nil {
		return nil, err
	}
	return s, nil
}

// Check finds what would end a query on this source when it opens it: options with bad values, and columns
// that the format cannot read. It touches no file.
func Check(def sources.Def) error {
	s := &Source{}
	if err := s.configure(def); err != nil {
		return err
	}
	for _, name := range []string{"recursiveFileLookup", "ignoreMissingFiles", "ignoreCorruptFiles"} {
		if _, err := def.Options.Bool(name, false); err != nil {
			return err
		}
	}
	switch strings.ToLower(def.Format) {
	case "json", "csv": // Spark takes an unknown mode for PERMISSIVE and warns where nobody looks
		mode := def.Options.Text("mode", "PERMISSIVE")
		switch strings.ToUpper(mode) {
		case "PERMISSIVE", "DROPMALFORMED", "FAILFAST":
		default:
			return sources.Invalid("mode", mode, "must be PERMISSIVE, DROPMALFORMED or FAILFAST")
		}
	case "text":
		if def.Schema == nil {
			def.Schema = types.Schema{{Name: "value", Type: types.Of(types.String), Nullable: true}}
		}
	}
	if def.Schema == nil || isBinary(def.Format) {
		return nil
	}
	_, err := codec.NewReader(settingsOf(def), def.Schema, nil)
	return err
}

// configure reads the options that only streams have.
func (s *Source) configure(def sources.Def) error {
	o := def.Options
	for _, name := range []string{"modifiedBefore", "modifiedAfter"} {
		if v, ok := o.Get(name); ok {
			return sources.Invalid(name, v, "is not for streams")
		}
	}
	var err error
	if s.maxFiles, err = o.Int("maxFilesPerTrigger", 0, 1); err != nil {
		return err
	}
	if s.maxBytes, err = o.Int("maxBytesPerTrigger", 0, 1); err != nil {
		return err
	}
	if s.maxFiles > 0 && s.maxBytes > 0 {
		return sources.Invalid("maxBytesPerTrigger", strconv.FormatInt(s.maxBytes, 10), "cannot be set together with maxFilesPerTrigger")
	}
	if s.latestFirst, err = o.Bool("latestFirst", false); err != nil {
		return err
	}
	if s.nameOnly, err = o.Bool("fileNameOnly", false); err != nil {
		return err
	}
	age, err := o.Duration("maxFileAge", 7*24*time.Hour, time.Millisecond)
	if err != nil {
		return err
	}
	s.maxAge = age.Milliseconds()
	if s.latestFirst && (s.maxFiles > 0 || s.maxBytes > 0) {
		s.maxAge = -1
	}
	if s.minAge, err = o.Duration("minFileAge", 0, time.Millisecond); err != nil {
		return err
	}
	cached, err := o.Int("maxCachedFiles", 10000, 0)
	if err != nil {
		return err
	}
	s.maxCached = int(cached)
	ratio := o.Text("discardCachedInputRatio", "0.2")
	if s.discardRatio, err = strconv.ParseFloat(ratio, 64); err != nil || !(s.discardRatio >= 0 && s.discardRatio <= 1) {
		return sources.Invalid("discardCachedInputRatio", ratio, "must be between 0 and 1")
	}
	switch s.clean = strings.ToLower(o.Text("cleanSource", "off")); s.clean {
	case "off", "delete":
	case "archive":
		dir, ok := o.Get("sourceArchiveDir")
		if !ok || dir == "" {
			return errs.New("MISSING_OPTION", "format", "files with cleanSource = archive", "option", "sourceArchiveDir")
		}
		if s.archive, err = filepath.Abs(dir); err != nil {
			return err
		}
		if archiveInside(def.Path, s.archive) {
			return sources.Invalid("sourceArchiveDir", dir, "must not be a place that the source reads from")
		}
	default:
		return sources.Invalid("cleanSource", s.clean, "must be one of archive, delete, off")
	}
	return nil
}

// archiveInside compares the components that both paths have: the archive must not match the source.
func archiveInside(source, archive string) bool {
	a, b := strings.Split(strings.Trim(source, "/"), "/"), strings.Split(strings.Trim(archive, "/"), "/")
	for i := 0; i < min(len(a), len(b)); i++ {
		if a[i] != b[i] && !match(a[i], b[i]) {
			return false
		}
	}
	return true
}

type logLine struct {
	Path      string `json:"path"`
	Timestamp int64  `json:"timestamp"`
	BatchID   int64  `json:"batchId"`
}

func offset(n int64) sources.Offset {
	return sources.Offset(`{"logOffset":` + strconv.FormatInt(n, 10) + `}`)
}

func parseOffset(o sources.Offset) (int64, error) {
	if o == "" {
		return -1, nil
	}
	if n, ok := strings.CutPrefix(string(o), `{"logOffset":`); ok { // as we write it
		if v, err := strconv.ParseInt(strings.TrimSuffix(n, "}"), 10, 64); err == nil && strings.HasSuffix(n, "}") {
			return v, nil
		}
	}
	var v struct {
		LogOffset *int64 `json:"logOffset"`
	}
	if n, err := strconv.ParseInt(string(o), 10, 64); err == nil {
		return n, nil // the old form
	}
	if err := json.Unmarshal([]byte(o), &v); err != nil || v.LogOffset == nil {
		return 0, errs.New("OFFSET_FORM", "offset", o, "source", "FileStreamSource")
	}
	return *v.LogOffset, nil
}

// mostLeft is how many bytes of entries may lie about while the log is read.
const mostLeft = 8 << 20

// open restores what was seen from the log.
func (s *Source) open() error {
	if s.opened {
		return nil
	}
	s.seen.reset(s.maxAge, s.nameOnly)
	var newest []byte
	if s.log != nil {
		n, left := int64(0), 0
		for id, entry := range s.log.From(0) {
			// An entry and what it was unpacked from are left behind when the next one is read. What lives is
			// little, so that the collector would let many of them gather.
			if left += len(entry); left > mostLeft {
				left = 0
				runtime.GC()
			}
			s.counter = id
			newest = entry
			age := entryAge{n: id}
			if err := s.eachLine(entry, func(path []byte, mtime int64) {
				i := bytes.LastIndexByte(path, '/')
				s.seen.addPath(path[:max(i, 0)], path[i+1:], mtime)
				age.newest = max(age.newest, mtime)
			}); err != nil {
				return err
			}
			s.ages = append(s.ages, age)
			if n++; n%256 == 0 {
				s.seen.purge()
			}
		}
	}
	var last []file
	if newest != nil && !s.list.glob {
		var err error
		if last, err = s.parseEntry(newest); err != nil {
			return err
		}
	}
	if err := s.outside(last); err != nil {
		return err
	}
	if s.counter >= 0 { // and plans it with the columns of now
		if err := s.readable(); err != nil && (errs.Has(err, "UNSUPPORTED_DATA_TYPE_FOR_DATASOURCE") || errs.Has(err, "_LEGACY_ERROR_TEMP_1290")) {
			return err
		}
	}
	s.seen.purge()
	if s.seen.used >= manyFiles { // the listing that follows begins with what lives, not with what was read
		newest, last = nil, nil
		runtime.GC()
	}
	s.opened = true
	return nil
}

// outside refuses files of the last batch that the folder does not have: Spark asks for that batch again, and
// finds that they lie elsewhere.
func (s *Source) outside(last []file) error {
	for _, f := range last {
		if root := strings.TrimSuffix(s.list.path, "/") + "/"; !s.list.glob && !strings.HasPrefix(f.path, root) {
			return errs.New("SOURCE_FOLDER_CHANGED", "path", s.list.path, "file", f.path)
		}
	}
	return nil
}

// GoesOn says whether a source of the definition can go on from its log, as far as the log's newest entry tells.
// It reads no file and writes nothing. Errors: SOURCE_FOLDER_CHANGED, those of the log.
func GoesOn(def sources.Def) error {
	if hasGlob(def.Path) {
		return nil
	}
	_, newest, ok, err := def.Log.Latest()
	if err != nil || !ok {
		return err
	}
	s := &Source{movedFrom: def.MovedFrom, movedTo: def.MovedTo}
	if s.list.path = strings.TrimSuffix(def.Path, "/"); s.list.path == "" {
		s.list.path = "/"
	}
	last, err := s.parseEntry(newest)
	if err != nil {
		return err
	}
	return s.outside(last)
}

func ascii(b []byte) bool {
	for _, c := range b {
		if c >= 0x80 {
			return false
		}
	}
	return true
}

func appendEntry(dst []byte, n int64, files []file) []byte {
	if need := len(files) * 128; len(files) > 64 && cap(dst) < need {
		dst = make([]byte, 0, need)
	}
	dst = append(dst, "v1"...)
	for _, f := range files {
		dst = append(dst, "\n{\"path\":"...)
		from := len(dst)
		dst = append(dst, '"')
		dst = append(codec.AppendFileURL(dst, f.path), '"')
		if !ascii(dst[from:]) { // what a URL leaves as it is may still be no text
			dst = codec.AppendJSONText(dst[:from], []byte(codec.FileURL(f.path)))
		}
		dst = append(dst, ",\"timestamp\":"...)
		dst = strconv.AppendInt(dst, f.mtime, 10)
		dst = append(dst, ",\"batchId\":"...)
		dst = strconv.AppendInt(dst, n, 10)
		dst = append(dst, '}')
	}
	return dst
}

// parseLine reads a line as appendEntry writes it, when nothing in it is escaped; false if it is of another form.
// The path aliases the line.
func parseLine(line []byte) (path []byte, mtime int64, ok bool) {
	rest, ok := bytes.CutPrefix(line, []byte(`{"path":"`))
	if !ok || bytes.IndexByte(rest, '\\') >= 0 {
		return nil, 0, false
	}
	path, rest, ok = bytes.Cut(rest, []byte(`","timestamp":`))
	if !ok || bytes.IndexByte(path, '"') >= 0 {
		return nil, 0, false
	}
	when, rest, ok := bytes.Cut(rest, []byte(`,"batchId":`))
	if !ok {
		return nil, 0, false
	}
	if _, ok = bytes.CutSuffix(rest, []byte{'}'}); !ok {
		return nil, 0, false
	}
	mtime, err := strconv.ParseInt(view(when), 10, 64)
	return path, mtime, err == nil
}

// eachLine gives the files of an entry; the path is valid during the call.
func (s *Source) eachLine(entry []byte, give func(path []byte, mtime int64)) error {
	version, rest, more := bytes.Cut(entry, []byte{'\n'})
	if string(version) != "v1" {
		return errs.New("OFFSET_FORM", "offset", string(version), "source", "FileStreamSource")
	}
	for more {
		var line []byte
		line, rest, more = bytes.Cut(rest, []byte{'\n'})
		url, mtime, ok := parseLine(line)
		if !ok {
			var l logLine
			if json.Unmarshal(line, &l) != nil {
				return errs.New("OFFSET_FORM", "offset", string(line), "source", "FileStreamSource")
			}
			url, mtime = []byte(l.Path), l.Timestamp
		}
		path, plain := bytes.CutPrefix(url, []byte("file:///"))
		if plain = plain && bytes.IndexByte(path, '%') < 0; plain {
			path = url[len("file://"):]
		} else {
			path = []byte(codec.FilePath(string(url)))
		}
		if s.movedFrom != "" {
			if rest, ok := strings.CutPrefix(string(path), s.movedFrom+"/"); ok {
				path = []byte(filepath.Join(s.movedTo, rest))
			}
		}
		give(path, mtime)
	}
	return nil
}

func (s *Source) parseEntry(entry []byte) ([]file, error) {
	out := make([]file, 0, bytes.Count(entry, []byte{'\n'}))
	err := s.eachLine(entry, func(path []byte, mtime int64) {
		out = append(out, file{path: string(path), mtime: mtime, size: -1})
	})
	return out, err
}

// InitialOffset is none: there is no offset before the first file.
func (s *Source) InitialOffset(context.Context) (sources.Offset, error) { return "", nil }

// mostFiles is how many files a micro-batch takes when no option says anything else. Spark takes all, and as
// much memory as they need; whoever has fewer sees no difference.
const mostFiles = 50_000

// manyFiles is from how many files of a micro-batch on memory is looked after.
const manyFiles = 20_000

// DefaultReadLimit is what the options say.
func (s *Source) DefaultReadLimit() sources.ReadLimit {
	if s.maxFiles == 0 && s.maxBytes == 0 && !s.latestFirst {
		return sources.ReadLimit{MaxFiles: mostFiles}
	}
	return sources.ReadLimit{MaxFiles: s.maxFiles, MaxBytes: s.maxBytes}
}

// PrepareAvailableNow fixes the files that the run reads.
func (s *Source) PrepareAvailableNow(context.Context) error {
	if err := s.open(); err != nil {
		return err
	}
	s.unread.free()
	if err := s.candidates(); err != nil {
		s.unread.free()
		s.list.dirs = nil
		return err
	}
	s.frozen = true
	return nil
}

// candidates lists the files that are new, in the order of reading, as the unread ones.
func (s *Source) candidates() error {
	if s.clean == "off" && s.list.unchanged() && s.minAge == 0 {
		return nil
	}
	l := &s.unread
	some := false // only what is new was looked at
	if s.clean == "off" && s.minAge == 0 {
		var err error
		if some, err = s.list.fresh(l, s.seen.unknown); err != nil {
			return err
		}
	}
	if !some {
		if err := s.list.into(l, s.seen.unknown); err != nil {
			return err
		}
		s.tooOld = 0
	}
	if s.list.fromLog && s.clean != "off" {
		return errs.New("_LEGACY_ERROR_TEMP_2261")
	}
	young := int64(1) << 62
	if s.minAge > 0 {
		young = s.now().Add(-s.minAge).UnixMilli()
	}
	l.keep(func(x listed) bool {
		if x.mtime < s.seen.lastPurge {
			s.tooOld++
			return false
		}
		return x.mtime <= young
	})
	l.order(s.latestFirst)
	return s.partitionsStill(l)
}

// LatestOffset selects files and writes them to the log.
func (s *Source) LatestOffset(_ context.Context, start sources.Offset, limit sources.ReadLimit) (sources.Offset, error) {
	if err := s.open(); err != nil {
		return "", err
	}
	from, err := parseOffset(start)
	if err != nil {
		return "", err
	}
	if s.counter > from { // selected before a crash and not planned
		return offset(s.counter), nil
	}
	if len(s.unread.left()) == 0 && !s.frozen {
		if err := s.candidates(); err != nil {
			s.unread.free()
			s.list.dirs = nil // what was found is lost: the next trigger must list
			return "", err
		}
	}
	n := choose(s.unread.left(), limit)
	if n == 0 {
		return start, nil
	}
	if n >= manyFiles {
		// What the batch before has left behind is several times what lives: with batches of this size it
		// would decide how much memory the process takes. Collecting it is nothing against reading the files.
		runtime.GC()
	}
	selected := s.unread.take(n)
	s.discard(limit)
	for _, f := range selected {
		s.seen.add(f)
	}
	s.seen.purge()
	next := max(s.counter, from) + 1
	if s.log != nil {
		if err := s.log.Add(next, appendEntry(nil, next, selected)); err != nil {
			return "", err
		}
	}
	s.counter = next
	s.recent[next] = selected
	s.note(next, selected)
	return offset(next), nil
}

// choose says how many of the candidates a batch takes.
func choose(files []listed, limit sources.ReadLimit) int {
	n := len(files)
	if limit.MaxFiles > 0 {
		n = int(min(int64(n), limit.MaxFiles))
	}
	if limit.MaxBytes > 0 {
		sum := int64(0)
		for i, f := range files[:n] {
			sum += f.size
			if i > 0 && sum > limit.MaxBytes {
				return i
			}
		}
	}
	return n
}

// discard drops the rest of a listing when keeping it is not worth while or would be wrong. Under the limit that
// is there without options it is kept.
func (s *Source) discard(limit sources.ReadLimit) {
	left := s.unread.left()
	if s.frozen || len(left) == 0 || s.maxFiles == 0 && s.maxBytes == 0 && limit.MaxFiles == mostFiles {
		return
	}
	rest, whole := float64(len(left)), float64(limit.MaxFiles)
	if limit.MaxBytes > 0 {
		rest, whole = 0, float64(limit.MaxBytes)
		for _, f := range left {
			rest += float64(f.size)
		}
	}
	if s.latestFirst || rest < s.discardRatio*whole || s.maxCached == 0 {
		s.unread.free()
		s.list.dirs = nil // files are left: the next trigger must list
		return
	}
	if len(left) > s.maxCached {
		s.unread.cut(s.maxCached)
		s.list.dirs = nil
	}
}

func (s *Source) entry(n int64) ([]file, error) {
	if files, ok := s.recent[n]; ok {
		return files, nil
	}
	if s.log == nil {
		return nil, errs.New("OFFSET_FORM", "offset", offset(n), "source", "FileStreamSource")
	}
	data, ok, err := s.log.Get(n)
	if err != nil {
		return nil, err
	}
	if !ok {
		return nil, errs.New("OFFSET_FORM", "offset", offset(n), "source", "FileStreamSource")
	}
	return s.parseEntry(data)
}

// Repeatable says that files may be read before their batch begins.
func (s *Source) Repeatable() {}

// PlanPartitions gives the rows of the files of entries (start, end]. Files that are gone are left out.
func (s *Source) PlanPartitions(_ context.Context, start, end sources.Offset) ([]columnar.Partition, error) {
	if err := s.open(); err != nil {
		return nil, err
	}
	a, err := parseOffset(start)
	if err != nil {
		return nil, err
	}
	b, err := parseOffset(end)
	if err != nil {
		return nil, err
	}
	var files []file
	for n := a + 1; n <= b; n++ {
		more, err := s.entry(n)
		if err != nil {
			return nil, err
		}
		files = append(files, more...)
	}
	return s.shape.partitions(files, &s.malformed)
}

// Commit forgets what was selected until end, and cleans the files if the options say so. Cleaning is best
// effort: a file that cannot be moved or removed stays.
func (s *Source) Commit(_ context.Context, end sources.Offset) error {
	n, err := parseOffset(end)
	if err != nil {
		return err
	}
	if _, ok := s.recent[n]; !ok && n >= 0 && s.clean != "off" { // of the run before
		if files, err := s.entry(n); err == nil {
			if err := s.tidy(files); err != nil {
				return err
			}
		}
	}
	for k, files := range s.recent {
		if k <= n {
			delete(s.recent, k)
			if err := s.tidy(files); err != nil {
				return err
			}
		}
	}
	return s.forget()
}

// entryAge is when the newest file of a log entry was written.
type entryAge struct{ n, newest int64 }

func (s *Source) note(n int64, files []file) {
	a := entryAge{n: n}
	for _, f := range files {
		a.newest = max(a.newest, f.mtime)
	}
	s.ages = append(s.ages, a)
}

// keptEntries is how many entries stay although their files are too old to be read again: batches that a
// checkpoint retains may need them.
const keptEntries = 100

// forget drops entries whose files are all older than what is remembered, so that the log does not grow for
// ever. It does so now and then, as finding them costs a look at all keys.
func (s *Source) forget() error {
	log, ok := s.log.(sources.Forgetter)
	if !ok || s.maxAge < 0 {
		return nil
	}
	k := 0
	for k < len(s.ages) && s.ages[k].newest < s.seen.lastPurge && s.ages[k].n < s.counter-keptEntries {
		k++
	}
	if k < keptEntries {
		return nil
	}
	below := s.ages[k-1].n + 1
	s.ages = append(s.ages[:0], s.ages[k:]...)
	return log.Forget(below)
}

// tidy moves or removes files that were read.
func (s *Source) tidy(files []file) error {
	if s.clean == "off" || len(files) == 0 {
		return nil
	}
	if err := fault.Point("cleanup.before"); err != nil {
		return err
	}
	for i, f := range files {
		if i > 0 {
			if err := fault.Point("cleanup.mid"); err != nil {
				return err
			}
		}
		if !s.list.glob { // what links lead to elsewhere is not ours to move or remove
			rel, err := filepath.Rel(s.list.path, filepath.Dir(f.path))
			if err != nil || !filepath.IsLocal(rel) {
				continue
			}
			if link, err := vfs.Link(vfs.OS, s.list.path, rel); link != "" || err != nil {
				continue
			}
		}
		switch s.clean {
		case "delete":
			_ = vfs.OS.Remove(f.path)
		case "archive":
			to := filepath.Join(s.archive, f.path)
			if vfs.OS.MkdirAll(filepath.Dir(to), 0o755) == nil {
				_ = vfs.OS.Rename(f.path, to)
			}
		}
	}
	return nil
}

// Metrics are counts that Spark does not have, where they are not zero: files left out because of maxFileAge,
// records that did not fit.
func (s *Source) Metrics(sources.Offset) map[string]string {
	var m map[string]string
	put := func(name string, n int64) {
		if n > 0 {
			if m == nil {
				m = map[string]string{}
			}
			m[name] = strconv.FormatInt(n, 10)
		}
	}
	put("filesIgnoredTooOld", s.tooOld)
	put("malformedRecords", s.malformed.all.Load())
	put("droppedRecords", s.malformed.dropped.Load())
	return m
}

// Close forgets what was listed and seen. No file stays open between batches; what tells of new ones does.
func (s *Source) Close() error {
	s.list.news.close()
	s.unread.free()
	s.seen.slots.Free()
	s.opened = false
	return nil
}

// Schema is the data columns, then the partition columns.
func (s *Source) Schema() types.Schema { return s.schema }

// String is Spark's description.
func (s *Source) String() string { return fmt.Sprintf("FileStreamSource[file:%s]", s.list.path) }

// Description is Spark's.
func (s *Source) Description() string { return s.String() }
