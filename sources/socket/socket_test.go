package socket

import (
	"context"
	"net"
	"strings"
	"testing"

	"streamlab/errs"
	"streamlab/sources"
	"streamlab/sources/sourcetest"
)

// serve sends texts to the first client, one per receive from the channel, and ends with it.
func serve(t *testing.T) (sources.Options, chan<- string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	texts := make(chan string)
	done := make(chan struct{})
	go func() {
		defer close(done)
		c, err := l.Accept()
		if err != nil {
			return
		}
		defer c.Close()
		for s := range texts {
			if _, err := c.Write([]byte(s)); err != nil {
				return
			}
		}
	}()
	t.Cleanup(func() { l.Close(); <-done })
	host, port, _ := net.SplitHostPort(l.Addr().String())
	return sources.Options{"host": host, "port": port, "numPartitions": "2"}, texts
}

// batch reads what is there after start once at least one line is.
func batch(t *testing.T, s sources.Source, start sources.Offset) (sources.Offset, []string) {
	t.Helper()
	for {
		end, err := s.LatestOffset(context.Background(), start, sources.ReadLimit{})
		if err != nil {
			t.Fatal(err)
		}
		if end == start {
			<-s.(sources.Notifier).Changed()
			continue
		}
		parts, err := s.PlanPartitions(context.Background(), start, end)
		if err != nil {
			t.Fatal(err)
		}
		return end, sourcetest.Rows(t, s.Schema(), parts)
	}
}

func TestLinesComeInOrderAndOnce(t *testing.T) {
	o, texts := serve(t)
	s, err := New(sources.Def{Options: o})
	if err != nil {
		t.Fatal(err)
	}
	if end, err := s.LatestOffset(context.Background(), "-1", sources.ReadLimit{}); err != nil || end != "-1" {
		t.Fatal(end, err)
	}
	var got []string
	at := sources.Offset("-1")
	for _, text := range []string{"a\nb\r\n", "\rc\n\xff"} {
		texts <- text
		for want := strings.Count(text, "\n") + strings.Count(text, "\r") - strings.Count(text, "\r\n"); want > 0; {
			end, rows := batch(t, s, at)
			got, want = append(got, rows...), want-len(rows)
			if err := s.Commit(context.Background(), end); err != nil {
				t.Fatal(err)
			}
			at = end
		}
	}
	close(texts) // the last line has no end of line
	end, rows := batch(t, s, at)
	if got = append(got, rows...); strings.Join(got, "|") != "a|b||c|\uFFFD" || end != "4" {
		t.Errorf("%q %s", got, end)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

func TestAfterARestartNumbersGoOn(t *testing.T) {
	o, texts := serve(t)
	s, err := New(sources.Def{Options: o})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	defer close(texts)
	parts, err := s.PlanPartitions(context.Background(), "5", "7") // a batch whose lines are lost
	if err != nil || len(parts) != 0 {
		t.Fatal(parts, err)
	}
	texts <- "new\n"
	if end, rows := batch(t, s, "7"); end != "8" || strings.Join(rows, "|") != "new" {
		t.Error(end, rows)
	}
}

func TestAFullBufferLeavesLinesWithTheServer(t *testing.T) {
	o, texts := serve(t)
	o["maxBufferedLines"] = "2"
	s, err := New(sources.Def{Options: o})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.LatestOffset(context.Background(), "-1", sources.ReadLimit{}); err != nil {
		t.Fatal(err)
	}
	texts <- "1\n2\n3\n4\n5\n"
	close(texts)
	at, n := sources.Offset("-1"), 0
	for n < 5 {
		end, rows := batch(t, s, at)
		if len(rows) > 2 {
			t.Fatalf("%d lines were held", len(rows))
		}
		n += len(rows)
		if err := s.Commit(context.Background(), end); err != nil {
			t.Fatal(err)
		}
		at = end
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

func TestOptions(t *testing.T) {
	for _, x := range []struct {
		o    sources.Options
		want string
	}{
		{sources.Options{}, "_LEGACY_ERROR_TEMP_1295"},
		{sources.Options{"host": "h"}, "_LEGACY_ERROR_TEMP_1296"},
		{sources.Options{"host": "h", "port": "1", "includeTimestamp": "1"}, "_LEGACY_ERROR_TEMP_1297"},
		{sources.Options{"host": "h", "port": "x"}, "INVALID_OPTION"},
		{sources.Options{"host": "h", "port": "1", "maxBufferedLines": "0"}, "INVALID_OPTION"},
	} {
		if _, err := New(sources.Def{Options: x.o}); !errs.Has(err, x.want) {
			t.Errorf("%v: %v", x.o, err)
		}
	}
}
