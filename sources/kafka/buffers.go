package kafka

import (
	"slices"
	"sync"
	"time"

	"streamlab/columnar"
	"streamlab/internal/wire"
)

// buffers is what reading one part needs: memory that is kept between parts and micro-batches, since touching new
// memory costs more than filling it.
type buffers struct {
	answer   []byte // of the broker
	unpacked []byte // room for decompression
	rows     *rows  // that are lent; nil before the first
}

// lent gives the vectors that a part lends its records in.
func (b *buffers) lent(p *part) *rows {
	columns := p.columns
	if columns == nil {
		columns = everyColumn[:len(p.schema())]
	}
	if b.rows == nil || !slices.Equal(b.rows.columns, columns) {
		b.rows = newRows(p.schema(), columns, p.tp, columnar.Slice, p.keys.Load(), p.values.Load())
		b.rows.most, b.rows.mostBytes = columnar.Slice, lentBytes
	}
	b.rows.tp = p.tp
	b.rows.again()
	return b.rows
}

var everyColumn = []int{0, 1, 2, 3, 4, 5, 6, 7}

// bufferPool keeps the buffers that nobody uses. The zero value is ready.
type bufferPool struct {
	mu   sync.Mutex
	idle []*buffers
}

const (
	maxIdle   = 16       // buffers
	maxAnswer = 16 << 20 // bytes of one of their slices
)

func (l *bufferPool) get() *buffers {
	l.mu.Lock()
	defer l.mu.Unlock()
	if n := len(l.idle); n > 0 {
		b := l.idle[n-1]
		l.idle = l.idle[:n-1]
		return b
	}
	return &buffers{}
}

func (l *bufferPool) put(b *buffers) {
	if b.rows != nil && b.rows.capacity() > maxAnswer {
		b.rows = nil
	}
	if cap(b.answer) > maxAnswer {
		b.answer = nil
	}
	if cap(b.unpacked) > maxAnswer {
		b.unpacked = nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.idle) < maxIdle {
		l.idle = append(l.idle, b)
	}
}

// leftovers keeps the ends of answers that lie behind the range they were asked for, by partition: the range of the next
// micro-batch begins there, and need not ask for them again. Kafka's own consumer does so too. A topic that was deleted
// and made anew has other records at the same offsets: what is left of an answer counts only as long as metadata, which
// is asked for before every micro-batch, names the topic that the answer came from. The zero value keeps nothing.
type leftovers struct {
	most int // bytes; 0: keep nothing
	mu   sync.Mutex
	ids  map[string]wire.TopicID // as metadata said last; none: the topic is not there, or the broker does not tell
	list map[wire.TopicPartition]leftover
	held int
}

type leftover struct {
	offset int64 // of the first record that was not read
	f      wire.Fetched
	since  time.Time
}

const (
	mostLeft = 64 << 20
	leftTime = time.Minute // what is older may have been deleted meanwhile
)

// see takes note of the topics that there are, and forgets what is left of others.
func (l *leftovers) see(topics []wire.Topic) {
	l.mu.Lock()
	defer l.mu.Unlock()
	before := l.ids
	l.ids = make(map[string]wire.TopicID, len(topics))
	for _, t := range topics {
		if t.Err == nil && t.ID != (wire.TopicID{}) {
			l.ids[t.Name] = t.ID
		}
	}
	for tp := range l.list {
		if id, ok := l.ids[tp.Topic]; !ok || id != before[tp.Topic] {
			l.drop(tp)
		}
	}
}

// identity is that of the topic that is about to be read.
func (l *leftovers) identity(topic string) wire.TopicID {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.ids[topic]
}

// keep says whether it took f and its buffer over; rest is what of its records is left, topic the identity before f was
// asked for. Aborted transactions of what was read cannot be told from those of the rest.
func (l *leftovers) keep(tp wire.TopicPartition, topic wire.TopicID, offset int64, f wire.Fetched, rest []byte) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.drop(tp)
	if topic == (wire.TopicID{}) || topic != l.ids[tp.Topic] {
		return false
	}
	if _, whole := wire.Behind(rest); !whole || len(f.Aborted) > 0 || l.held+cap(f.Buffer) > l.most {
		return false
	}
	if l.list == nil {
		l.list = map[wire.TopicPartition]leftover{}
	}
	f.Records = rest
	l.list[tp] = leftover{offset, f, time.Now()}
	l.held += cap(f.Buffer)
	return true
}

// take gives what is left of a partition from an offset on; anything else that is left of it is of no use any more.
func (l *leftovers) take(tp wire.TopicPartition, offset int64) (f wire.Fetched, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	x, ok := l.list[tp]
	l.drop(tp)
	if !ok || x.offset != offset || time.Since(x.since) > leftTime {
		return wire.Fetched{}, false
	}
	return x.f, true
}

// drop forgets what is left of a partition. The caller holds the lock.
func (l *leftovers) drop(tp wire.TopicPartition) {
	l.held -= cap(l.list[tp].f.Buffer)
	delete(l.list, tp)
}
