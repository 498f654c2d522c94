package kafka

import (
	"bytes"
	"context"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"

	"streamlab/columnar"
	"streamlab/errs"
	"streamlab/internal/broker"
	"streamlab/internal/wire"
	"streamlab/sinks"
	"streamlab/sources"
	source "streamlab/sources/kafka"
	"streamlab/sources/sourcetest"
)

// A row of 20 MB between small ones: brokers that take it give it back whole, with the fetch size that a
// consumer begins with; others refuse it by name.
func TestARecordOf20MB(t *testing.T) {
	const size = 20 << 20
	large := bytes.Repeat([]byte("0123456789abcdef"), size/16)
	schema := words[1:2]
	rows := func() []columnar.Partition {
		v := columnar.NewVec(schema[0].Type, 3)
		for i, x := range [][]byte{[]byte("before"), large, []byte("behind")} {
			v.Data = append(v.Data, x...)
			v.Off[i+1] = int32(len(v.Data))
		}
		return []columnar.Partition{columnar.Batches{List: []arrow.RecordBatch{columnar.RecordOf(schema, []*columnar.Vec{v}, columnar.AllRows(3))}}}
	}
	for _, most := range []int{64 << 20, 1 << 20} {
		b, err := broker.Start(broker.MaxMessage(most))
		if err != nil {
			t.Fatal(err)
		}
		c := wire.New(wire.Config{Servers: []string{b.Addr()}})
		if err := c.CreateTopic(context.Background(), "t", 1); err != nil {
			t.Fatal(err)
		}
		o := sources.Options{"kafka.bootstrap.servers": b.Addr(), "topic": "t"}
		s, err := New(sinks.Def{Options: o, Schema: schema})
		if err != nil {
			t.Fatal(err)
		}
		err = s.AddBatch(context.Background(), sinks.Batch{Schema: schema, Parts: rows()})
		if most < size {
			if !errs.Has(err, "KAFKA_RECORD_TOO_LARGE") {
				t.Errorf("a broker that takes %d bytes: %v", most, err)
			}
		} else if err != nil {
			t.Error(err)
		} else {
			def := sources.Def{Options: sources.Options{"kafka.bootstrap.servers": b.Addr(), "subscribe": "t", "startingOffsets": "earliest"}, Log: sourcetest.NewLog()}
			in, err := source.New(def)
			if err != nil {
				t.Fatal(err)
			}
			parts, err := in.PlanPartitions(context.Background(), `{"t":{"0":0}}`, `{"t":{"0":3}}`)
			if err != nil {
				t.Fatal(err)
			}
			at := in.Schema().Index("value")
			var got [][]byte
			for _, p := range parts {
				for rb, err := range p.Rows(context.Background()) {
					if err != nil {
						t.Fatal(err)
					}
					v := columnar.Vectors(rb, in.Schema())[at]
					for i := range int(rb.NumRows()) {
						got = append(got, bytes.Clone(v.Bytes(v.Row(i))))
					}
				}
			}
			if len(got) != 3 || string(got[0]) != "before" || !bytes.Equal(got[1], large) || string(got[2]) != "behind" {
				t.Errorf("%d records came back", len(got))
			}
			if err := in.Close(); err != nil {
				t.Error(err)
			}
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		c.Close()
		b.Close()
	}
}
