// Package socket reads lines of UTF-8 text from a TCP server, for testing. It is not fault tolerant: what a
// crash finds unread is lost, because a server does not send its lines again.
//
// The offset is the number of the last line received, from 0; -1 is none. The connection is opened when the
// first micro-batch is planned. After a restart the numbers go on from the checkpoint, but the lines are new.
package socket

import (
	"bufio"
	"context"
	"io"
	"net"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/apache/arrow-go/v18/arrow"

	"streamlab/columnar"
	"streamlab/errs"
	"streamlab/internal/safego"
	"streamlab/sources"
	"streamlab/sql/types"
)

// Options describes the options of the source.
func Options() []sources.OptionDoc {
	return []sources.OptionDoc{
		{Name: "host", Doc: "The server."},
		{Name: "port", Doc: "Its port."},
		{Name: "includeTimestamp", Default: "false", Doc: "Adds the column timestamp: when the line came."},
		{Name: "numPartitions", Doc: "Partitions that lines are dealt to; default the parallelism of the session."},
		{Name: "maxBufferedLines", Default: "1000000", Doc: "Lines held that no batch has read; more are left with the server."},
	}
}

type line struct {
	text string
	at   int64 // µs, whole ms
}

type source struct {
	host, port string
	stamped    bool
	parts      int
	room       int
	now        func() time.Time
	schema     types.Schema

	conn   net.Conn
	handle *safego.Handle
	frozen int64 // the end of an availableNow run; -2: none
	avail  bool

	mu      sync.Mutex
	space   sync.Cond // lines were dropped, or closed is set
	lines   []line    // numbers first, first+1, …
	first   int64     // number of lines[0]
	closed  bool
	changed chan struct{}
}

// New makes the source. Errors: _LEGACY_ERROR_TEMP_1295, 1296 and 1297 for host, port and includeTimestamp,
// _LEGACY_ERROR_TEMP_2242 for a schema.
func New(def sources.Def) (sources.Source, error) {
	s := &source{now: def.Now, frozen: -2, changed: make(chan struct{}, 1)}
	s.space.L = &s.mu
	if s.now == nil {
		s.now = time.Now
	}
	var ok bool
	if s.host, ok = def.Options.Get("host"); !ok {
		return nil, errs.New("_LEGACY_ERROR_TEMP_1295")
	}
	if s.port, ok = def.Options.Get("port"); !ok {
		return nil, errs.New("_LEGACY_ERROR_TEMP_1296")
	}
	var err error
	if s.stamped, err = def.Options.Bool("includeTimestamp", false); err != nil {
		return nil, errs.New("_LEGACY_ERROR_TEMP_1297")
	}
	if def.Schema != nil {
		return nil, errs.New("_LEGACY_ERROR_TEMP_2242", "provider", "TextSocketSourceProvider")
	}
	if n, err := strconv.Atoi(s.port); err != nil || n < 0 || n > 65535 {
		return nil, sources.Invalid("port", s.port, "must be the number of a port")
	}
	parts, err := def.Options.Int("numPartitions", int64(runtime.GOMAXPROCS(0)), 1)
	if err != nil {
		return nil, err
	}
	room, err := def.Options.Int("maxBufferedLines", 1_000_000, 1)
	if err != nil {
		return nil, err
	}
	s.parts, s.room = int(min(parts, 100_000)), int(room)
	s.schema = types.Schema{{Name: "value", Type: types.Of(types.String), Nullable: true}}
	if s.stamped {
		s.schema = append(s.schema, types.Field{Name: "timestamp", Type: types.Of(types.Timestamp), Nullable: true})
	}
	return s, nil
}

func (s *source) Schema() types.Schema { return s.schema }

func (s *source) String() string { return "TextSocketV2[host: " + s.host + ", port: " + s.port + "]" }

// open connects and begins to read; the next line has the number after start.
func (s *source) open(ctx context.Context, start int64) error {
	if s.conn != nil {
		return nil
	}
	var d net.Dialer
	c, err := d.DialContext(ctx, "tcp", net.JoinHostPort(s.host, s.port))
	if err != nil {
		return errs.Wrap(err, "SOCKET_CONNECTION_FAILED", "host", s.host, "port", s.port, "message", err.Error())
	}
	s.conn, s.first = c, start+1
	s.handle = safego.Go("socket "+s.host+":"+s.port, func() error { return s.receive(c) })
	return nil
}

// receive reads lines until the server ends, with room for s.room of them.
func (s *source) receive(r io.Reader) error {
	b := bufio.NewReaderSize(r, 64<<10)
	var text []byte
	carriage := false // the last byte was \r: a \n behind it belongs to it
	for {
		c, err := b.ReadByte()
		if err != nil {
			if len(text) > 0 {
				s.put(text)
			}
			return nil // the query goes on idly, as Spark's does
		}
		if c == '\n' && carriage {
			carriage = false
			continue
		}
		carriage = c == '\r'
		if c != '\n' && c != '\r' {
			text = append(text, c)
			continue
		}
		if !s.put(text) {
			return nil
		}
		text = text[:0]
	}
}

func (s *source) put(text []byte) bool {
	l := line{strings.ToValidUTF8(string(text), "\uFFFD"), s.now().UnixMilli() * 1000}
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(s.lines) >= s.room && !s.closed {
		s.space.Wait()
	}
	if s.closed {
		return false
	}
	s.lines = append(s.lines, l)
	select {
	case s.changed <- struct{}{}:
	default:
	}
	return true
}

// Changed tells of lines that came.
func (s *source) Changed() <-chan struct{} { return s.changed }

func parse(o sources.Offset) (int64, error) {
	if o == "" {
		return -1, nil
	}
	n, err := strconv.ParseInt(string(o), 10, 64)
	if err != nil {
		return 0, errs.New("OFFSET_FORM", "offset", o, "source", "socket")
	}
	return n, nil
}

func (s *source) InitialOffset(context.Context) (sources.Offset, error) { return "-1", nil }

// PrepareAvailableNow ends the run with what is there when its first batch is planned.
func (s *source) PrepareAvailableNow(context.Context) error {
	s.avail = true
	return nil
}

func (s *source) LatestOffset(ctx context.Context, start sources.Offset, _ sources.ReadLimit) (sources.Offset, error) {
	from, err := parse(start)
	if err != nil {
		return "", err
	}
	if err := s.open(ctx, from); err != nil {
		return "", err
	}
	s.mu.Lock()
	last := s.first + int64(len(s.lines)) - 1
	s.mu.Unlock()
	if s.avail {
		if s.frozen == -2 {
			s.frozen = last
		}
		last = s.frozen
	}
	return sources.Offset(strconv.FormatInt(max(last, from), 10)), nil
}

func (s *source) PlanPartitions(ctx context.Context, start, end sources.Offset) ([]columnar.Partition, error) {
	from, err := parse(start)
	if err != nil {
		return nil, err
	}
	until, err := parse(end)
	if err != nil {
		return nil, err
	}
	if err := s.open(ctx, until); err != nil { // a batch that is run again: its lines are gone
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	low, high := max(0, from+1-s.first), min(int64(len(s.lines)), until+1-s.first)
	if low >= high {
		return nil, nil
	}
	dealt := make([]part, s.parts)
	for i := low; i < high; i++ {
		p := &dealt[(i-low)%int64(s.parts)]
		p.lines = append(p.lines, s.lines[i])
	}
	var out []columnar.Partition
	for i := range dealt {
		if dealt[i].lines != nil {
			dealt[i].schema, dealt[i].name = s.schema, s.host+":"+s.port+"/"+strconv.Itoa(i)
			out = append(out, &dealt[i])
		}
	}
	return out, nil
}

// Commit drops the lines up to end.
func (s *source) Commit(_ context.Context, end sources.Offset) error {
	n, err := parse(end)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if drop := min(n+1-s.first, int64(len(s.lines))); drop > 0 {
		s.lines = append([]line(nil), s.lines[drop:]...)
		s.first += drop
		s.space.Broadcast()
	}
	return nil
}

func (s *source) Close() error {
	s.mu.Lock()
	s.closed = true
	s.space.Broadcast()
	s.mu.Unlock()
	if s.conn == nil {
		return nil
	}
	err := s.conn.Close()
	if e := s.handle.Wait(); err == nil {
		err = e
	}
	return err
}

// part is some lines of a batch.
type part struct {
	name   string
	schema types.Schema
	lines  []line
}

func (p *part) String() string         { return p.name }
func (p *part) NumRows() (int64, bool) { return int64(len(p.lines)), true }

func (p *part) Rows(ctx context.Context) columnar.Rows {
	return func(yield func(arrow.RecordBatch, error) bool) {
		for lines := p.lines; len(lines) > 0; {
			if err := ctx.Err(); err != nil {
				yield(nil, err)
				return
			}
			n := min(len(lines), columnar.MaxBatch)
			text := columnar.NewVec(types.Of(types.String), n)
			vs := []*columnar.Vec{text}
			for i, l := range lines[:n] {
				text.Data = append(text.Data, l.text...)
				text.Off[i+1] = int32(len(text.Data))
			}
			if len(p.schema) > 1 {
				at := columnar.NewVec(types.Of(types.Timestamp), n)
				for i, l := range lines[:n] {
					at.I64[i] = l.at
				}
				vs = append(vs, at)
			}
			if !yield(columnar.RecordOf(p.schema, vs, columnar.AllRows(n)), nil) {
				return
			}
			lines = lines[n:]
		}
	}
}
