package bench

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"time"

	"streamlab/engine"
	"streamlab/errs"
	"streamlab/internal/safego"
	"streamlab/internal/wire"
)

// W11 reads a topic that holds the lines of the view's files, written once for each data folder and broker. The
// broker is the one that STREAMLAB_KAFKA names, or the embedded one in a process of its own.
const (
	topicParts   = 4
	topicBatch   = 500_000  // records of a micro-batch
	recordBatch  = 16 << 10 // bytes of a record batch of the input: what Kafka's own producer makes
	variantOut   = "through"
	variantNoOut = "consume"
)

// topics is a broker with an input topic.
type topics struct {
	addr, config string
	cluster      *wire.Cluster
	in           string
	rows         int64
}

// server is the address of the broker and which one it is.
func server() (addr, config string, err error) {
	if a := os.Getenv("STREAMLAB_KAFKA"); a != "" {
		return a, "kafka", nil
	}
	addr, err = embedded()
	return addr, "embedded", err
}

// child is the process that embedded started; while it is reachable its standard input is open.
//
//lint:ignore U1000 it is only held
var child *exec.Cmd

// embedded starts this program as a broker, which ends when its standard input does, with this process.
var embedded = sync.OnceValues(func() (string, error) {
	program, err := os.Executable()
	if err != nil {
		return "", err
	}
	c := exec.Command(program, "bench", "broker")
	child = c
	c.Stderr = os.Stderr
	out, err := c.StdoutPipe()
	if err == nil {
		_, err = c.StdinPipe()
	}
	if err == nil {
		err = c.Start()
	}
	line := ""
	if err == nil {
		line, err = bufio.NewReader(out).ReadString('\n')
	}
	if err != nil {
		return "", errs.Wrap(err, "EMBEDDED_BROKER_FAILED", "message", err.Error())
	}
	return strings.TrimSpace(line), nil
})

// openTopics gives the broker with the lines of the files in a topic of four partitions, line i in partition
// i mod 4. Close it.
func openTopics(ctx context.Context, files []string) (*topics, error) {
	addr, config, err := server()
	if err != nil {
		return nil, err
	}
	t := &topics{addr: addr, config: config, cluster: wire.New(wire.Config{Servers: []string{addr}})}
	if err := t.load(ctx, files); err != nil {
		t.Close()
		return nil, err
	}
	return t, nil
}

func (t *topics) Close() { t.cluster.Close() }

// load finds a topic with the lines of the files, or makes one. Its name is the hash of what it holds; one that
// was not filled to its end is left behind.
func (t *topics) load(ctx context.Context, files []string) error {
	h := sha256.New()
	var lines [][]byte
	for _, f := range files {
		data, err := os.ReadFile(f)
		if err != nil {
			return err
		}
		_, _ = h.Write(data)
		for len(data) > 0 {
			n := bytes.IndexByte(data, '\n')
			lines = append(lines, data[:n])
			data = data[n+1:]
		}
	}
	t.rows = int64(len(lines))
	for n := 0; ; n++ {
		t.in = fmt.Sprintf("bench-%x-%d", h.Sum(nil)[:8], n)
		ends, err := t.ends(ctx, t.in)
		if err == nil {
			sum := int64(0)
			for _, e := range ends {
				sum += e
			}
			if sum == t.rows {
				return nil
			}
			continue
		}
		if !errors.Is(err, errNoTopic) {
			return err
		}
		if err := t.cluster.CreateTopic(ctx, t.in, topicParts); err != nil {
			return err
		}
		return parallel(topicParts, func(p int) func() error {
			return func() error {
				out := &producer{topics: t, ctx: ctx, size: recordBatch, tp: wire.TopicPartition{Topic: t.in, Partition: int32(p)}}
				for i := p; i < len(lines); i += topicParts {
					if err := out.add(lines[i]); err != nil {
						return err
					}
				}
				return out.flush()
			}
		})
	}
}

var errNoTopic = errors.New("there is no such topic")

// ends gives the end of every partition of a topic.
func (t *topics) ends(ctx context.Context, topic string) (map[wire.TopicPartition]int64, error) {
	found, err := t.cluster.Metadata(ctx, []string{topic})
	if err != nil {
		return nil, err
	}
	at := map[wire.TopicPartition]int64{}
	for _, f := range found {
		for _, p := range f.Partitions {
			at[wire.TopicPartition{Topic: topic, Partition: p}] = wire.Latest
		}
	}
	if len(at) == 0 {
		return nil, errNoTopic
	}
	return t.cluster.ListOffsets(ctx, at, false)
}

// fresh makes an empty topic for a result; drop removes it.
func (t *topics) fresh(ctx context.Context) (string, error) {
	name := fmt.Sprintf("bench-out-%d-%d", os.Getpid(), time.Now().UnixNano())
	return name, t.cluster.CreateTopic(ctx, name, topicParts)
}

func (t *topics) drop(ctx context.Context, topic string) {
	_ = t.cluster.DeleteTopic(ctx, topic) // what stays behind disturbs nobody
}

// source is the input as rows of events.
func (t *topics) source(s *engine.Session, v View) *engine.DataFrame {
	return s.ReadStream().Format("kafka").Option("kafka.bootstrap.servers", t.addr).Option("subscribe", t.in).
		Option("startingOffsets", "earliest").Option("maxOffsetsPerTrigger", topicBatch).Load().
		SelectExpr("from_json(CAST(value AS STRING), '" + v.Schema + "') AS e").SelectExpr("e.*")
}

// result is what a topic holds, as rows of W1's result.
func (t *topics) result(ctx context.Context, s *engine.Session, topic string) *engine.DataFrame {
	return s.Read().Format("kafka").Option("kafka.bootstrap.servers", t.addr).Option("subscribe", topic).Load(ctx).
		SelectExpr("from_json(CAST(value AS STRING), 'event_id BIGINT, user_id BIGINT, eur DOUBLE, c STRING') AS r").SelectExpr("r.*")
}

// producer sends records to one partition; the next record batch is collected while one is on its way.
type producer struct {
	*topics
	ctx     context.Context
	size    int
	tp      wire.TopicPartition
	b, gone wire.Builder
	sent    *safego.Handle // the batch on its way; nil: none
}

func (p *producer) add(value []byte) error {
	p.b.Add(nil, value, nil, baseMs)
	if p.b.Size() < p.size {
		return nil
	}
	return p.send()
}

func (p *producer) arrived() error {
	if p.sent == nil {
		return nil
	}
	err := p.sent.Wait()
	p.sent = nil
	return err
}

func (p *producer) send() error {
	if err := p.arrived(); err != nil {
		return err
	}
	p.b, p.gone = p.gone, p.b
	raw, err := p.gone.Finish(0)
	if err != nil {
		return err
	}
	p.sent = safego.Go("producer", func() error {
		return p.cluster.Retry(p.ctx, time.Minute, func() error { // a new topic has no leader for a while
			_, err := p.cluster.Produce(p.ctx, p.tp, raw, -1, time.Minute)
			return err
		})
	})
	return nil
}

func (p *producer) flush() error {
	if p.b.Len() > 0 {
		if err := p.send(); err != nil {
			return err
		}
	}
	return p.arrived()
}

// limitTopics is W11: each worker has partitions of its own, fetches the next answer while it works on one, and
// with a topic for the result writes JSON to the partition of the same number.
func limitTopics(ctx context.Context, t *topics, out string, outs []output) (int64, error) {
	ends, err := t.ends(ctx, t.in)
	if err != nil {
		return 0, err
	}
	purchase := []byte("purchase")
	err = parallel(len(outs), func(w int) func() error {
		return func() error {
			o := &outs[w]
			var row []byte
			for p := int32(w); p < topicParts; p += int32(len(outs)) {
				to := &producer{topics: t, ctx: ctx, size: 512 << 10, tp: wire.TopicPartition{Topic: out, Partition: p}}
				err := t.each(ctx, p, ends, func(value []byte) error {
					var e event
					e.read(value)
					if e.price <= 100 || !bytes.Equal(e.kind, purchase) {
						return nil
					}
					if out == "" || o.check {
						o.i64(e.id)
						o.i64(e.user)
						o.f64(e.price * 0.908)
						o.text(e.country)
						o.end()
					}
					if out == "" {
						return nil
					}
					row = strconv.AppendInt(append(row[:0], `{"event_id":`...), e.id, 10)
					row = strconv.AppendInt(append(row, `,"user_id":`...), e.user, 10)
					row = strconv.AppendFloat(append(row, `,"eur":`...), e.price*0.908, 'f', -1, 64)
					row = append(append(append(row, `,"c":"`...), e.country...), `"}`...)
					if !o.check {
						o.rows++
					}
					return to.add(row)
				})
				if err == nil {
					err = to.flush()
				}
				if err != nil {
					return err
				}
			}
			return nil
		}
	})
	return t.rows, err
}

// each calls fold for the value of every record of a partition of the input.
func (t *topics) each(ctx context.Context, p int32, ends map[wire.TopicPartition]int64, fold func(value []byte) error) error {
	type answer struct {
		f wire.Fetched
		h *safego.Handle
	}
	q := wire.FetchRequest{Partition: wire.TopicPartition{Topic: t.in, Partition: p}, MinBytes: 1, MaxBytes: 4 << 20, MaxWait: time.Second}
	ask := func(buf []byte) *answer {
		a, q := &answer{}, q
		a.h = safego.Go("fetch", func() (err error) {
			if a.f, err = t.cluster.Fetch(ctx, q, buf); err == nil {
				err = a.f.Err
			}
			return err
		})
		return a
	}
	var spare, space []byte
	next := ask(nil)
	for q.Offset < ends[q.Partition] {
		a := next
		if err := a.h.Wait(); err != nil {
			return err
		}
		from := q.Offset
		if end, ok := wire.Behind(a.f.Records); ok {
			q.Offset = end
		}
		if q.Offset < ends[q.Partition] {
			next = ask(spare)
		}
		for rest := a.f.Records; ; {
			b, after, ok, err := wire.NextBatch(rest, &space)
			if err != nil {
				return err
			}
			if !ok {
				break
			}
			rest = after
			var r wire.Record
			for {
				ok, err := b.Next(&r)
				if err != nil {
					return err
				}
				if !ok {
					break
				}
				if r.Offset >= from {
					if err := fold(r.Value); err != nil {
						return err
					}
				}
			}
		}
		spare = a.f.Buffer
	}
	return nil
}
