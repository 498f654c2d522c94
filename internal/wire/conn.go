package wire

import (
	"bufio"
	"context"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	kafka "github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/protocol"
	"github.com/segmentio/kafka-go/protocol/apiversions"
	"github.com/segmentio/kafka-go/protocol/saslauthenticate"
	"github.com/segmentio/kafka-go/protocol/saslhandshake"

	"streamlab/errs"
)

// conn is a connection to one broker with one request at a time.
type conn struct {
	addr     string
	c        net.Conn
	r        *bufio.Reader
	client   string
	timeout  time.Duration
	sent     int32
	used     time.Time // when it became idle
	versions map[protocol.ApiKey][2]int16
}

func dial(ctx context.Context, addr string, conf Config) (*conn, error) {
	d := net.Dialer{Timeout: 10 * time.Second}
	raw, err := d.DialContext(ctx, "tcp", addr)
	if err != nil {
		return nil, err
	}
	if conf.TLS != nil {
		c := conf.TLS.Clone()
		if c.ServerName == "" {
			host, _, err := net.SplitHostPort(addr)
			if err != nil {
				host = addr
			}
			c.ServerName = host
		}
		t := tls.Client(raw, c)
		if err := t.HandshakeContext(ctx); err != nil {
			raw.Close()
			return nil, err
		}
		raw = t
	}
	if conf.inTheClear() && !loopback(raw.RemoteAddr()) {
		// Asked here and not of the configured servers only: brokers name each other, and names stand for addresses.
		raw.Close()
		return nil, errs.New("KAFKA_PASSWORD_IN_THE_CLEAR", "address", addr)
	}
	c := &conn{addr: addr, c: raw, r: bufio.NewReaderSize(raw, 64<<10), client: conf.ClientID, timeout: conf.Timeout}
	if c.timeout == 0 {
		c.timeout = 30 * time.Second
	}
	if err := c.greet(ctx, conf); err != nil {
		raw.Close()
		return nil, err
	}
	return c, nil
}

func loopback(a net.Addr) bool {
	t, ok := a.(*net.TCPAddr)
	return ok && t.IP.IsLoopback()
}

// greet asks for the versions the broker speaks and authenticates.
func (c *conn) greet(ctx context.Context, conf Config) error {
	m, err := c.exchange(ctx, 0, &apiversions.Request{}, 0)
	if err != nil {
		return err
	}
	v := m.(*apiversions.Response)
	if v.ErrorCode != 0 {
		return kafka.Error(v.ErrorCode)
	}
	c.versions = map[protocol.ApiKey][2]int16{}
	for _, k := range v.ApiKeys {
		c.versions[protocol.ApiKey(k.ApiKey)] = [2]int16{k.MinVersion, k.MaxVersion}
	}
	if conf.SASL == nil {
		return nil
	}
	m, err = c.call(ctx, &saslhandshake.Request{Mechanism: conf.SASL.Name()}, 0)
	if err != nil {
		return err
	}
	if code := m.(*saslhandshake.Response).ErrorCode; code != 0 {
		return &AuthError{kafka.Error(code)}
	}
	session, token, err := conf.SASL.Start(ctx)
	if err != nil {
		return &AuthError{err}
	}
	for done := false; !done; {
		m, err := c.call(ctx, &saslauthenticate.Request{AuthBytes: token}, 0)
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return &AuthError{errors.New("the broker ended the connection")} // how some refuse a password
		}
		if err != nil {
			return err
		}
		a := m.(*saslauthenticate.Response)
		if a.ErrorCode != 0 {
			return &AuthError{fmt.Errorf("%w: %s", kafka.Error(a.ErrorCode), a.ErrorMessage)}
		}
		if done, token, err = session.Next(ctx, a.AuthBytes); err != nil {
			return &AuthError{err}
		}
	}
	return nil
}

// AuthError is a refused login: asking again does not help.
type AuthError struct{ Err error }

func (e *AuthError) Error() string { return "authentication: " + e.Err.Error() }
func (e *AuthError) Unwrap() error { return e.Err }

// version is the newest version of an API that both sides speak, at most limit.
func (c *conn) version(key protocol.ApiKey, limit int16) (int16, error) {
	r, ok := c.versions[key]
	v := min(limit, r[1])
	if !ok || v < r[0] {
		return 0, fmt.Errorf("the broker %s speaks %v of the request %s, this client up to %d", c.addr, r, key, limit)
	}
	return v, nil
}

// call sends a request of kafka-go's and reads its answer; wait is how long the broker may hold it.
func (c *conn) call(ctx context.Context, m protocol.Message, wait time.Duration) (protocol.Message, error) {
	v, err := c.version(m.ApiKey(), m.ApiKey().MaxVersion())
	if err != nil {
		return nil, err
	}
	return c.exchange(ctx, v, m, wait)
}

func (c *conn) exchange(ctx context.Context, version int16, m protocol.Message, wait time.Duration) (protocol.Message, error) {
	var answer protocol.Message
	err := c.within(ctx, wait, func() error {
		c.sent++
		if err := protocol.WriteRequest(c.c, version, c.sent, c.client, m); err != nil {
			return err
		}
		id, a, err := protocol.ReadResponse(c.r, m.ApiKey(), version)
		if err == nil && id != c.sent {
			err = errors.New("an answer to another request")
		}
		answer = a
		return err
	})
	return answer, err
}

// raw sends a whole frame (size first, the correlation id at 8) and reads the answer's body into buf.
func (c *conn) raw(ctx context.Context, wait time.Duration, buf []byte, frame ...[]byte) ([]byte, error) {
	err := c.within(ctx, wait, func() error {
		err := c.send(frame...)
		if err == nil {
			buf, err = c.receive(buf)
		}
		return err
	})
	return buf, err
}

// send writes a whole frame with the next correlation id.
func (c *conn) send(frame ...[]byte) error {
	c.sent++
	binary.BigEndian.PutUint32(frame[0][8:], uint32(c.sent))
	b := net.Buffers(frame)
	_, err := b.WriteTo(c.c)
	return err
}

// receive reads the body of the answer to the last request into buf, or into a new one if it is longer.
func (c *conn) receive(buf []byte) ([]byte, error) {
	var head [8]byte
	if _, err := io.ReadFull(c.r, head[:]); err != nil {
		return buf, err
	}
	size := int(int32(binary.BigEndian.Uint32(head[:]))) - 4
	if size < 0 || size > 1<<30 {
		return buf, fmt.Errorf("an answer of %d bytes", size)
	}
	if id := binary.BigEndian.Uint32(head[4:]); id != uint32(c.sent) {
		return buf, errors.New("an answer to another request")
	}
	if cap(buf) < size {
		buf = make([]byte, size+size/8) // answers to equal requests differ a little
	}
	buf = buf[:size]
	_, err := io.ReadFull(c.r, buf)
	return buf, err
}

// within runs an exchange under a deadline that ctx cuts short.
func (c *conn) within(ctx context.Context, wait time.Duration, f func() error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := c.c.SetDeadline(time.Now().Add(c.timeout + wait)); err != nil {
		return err
	}
	stop := context.AfterFunc(ctx, func() { _ = c.c.SetDeadline(time.Unix(1, 0)) })
	err := f()
	if !stop() && err == nil {
		return ctx.Err()
	}
	if err != nil && ctx.Err() != nil {
		return ctx.Err()
	}
	return err
}

func (c *conn) close() { _ = c.c.Close() }
