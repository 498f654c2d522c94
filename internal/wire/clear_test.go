package wire

import (
	"context"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"streamlab/errs"
)

func plainLogin(servers, protocol, mechanism string) (Config, error) {
	set := map[string]string{"kafka.bootstrap.servers": servers, "kafka.security.protocol": protocol, "kafka.sasl.mechanism": mechanism,
		"kafka.sasl.jaas.config": `M required username="ann" password="secret";`}
	return ReadConfig(func(k string) (string, bool) { v, ok := set[k]; return v, ok })
}

// A password that travels as it is may go to the own machine only; what hides or does not send it may go anywhere.
func TestPasswordsInTheClearAreForThisMachineOnly(t *testing.T) {
	for _, x := range []struct {
		servers, protocol, mechanism string
		refused                      bool
	}{
		{"192.0.2.9:9092", "SASL_PLAINTEXT", "PLAIN", true},
		{"127.0.0.1:9092,192.0.2.9:9092", "sasl_plaintext", "plain", true},
		{"[2001:db8::1]:9092", "SASL_PLAINTEXT", "PLAIN", true},
		{"0.0.0.0:9092", "SASL_PLAINTEXT", "PLAIN", true},
		{"127.8.8.8:9092,[::1]:9092,localhost:9092", "SASL_PLAINTEXT", "PLAIN", false},
		{"192.0.2.9:9092", "SASL_SSL", "PLAIN", false},
		{"192.0.2.9:9092", "SASL_PLAINTEXT", "SCRAM-SHA-256", false},
		{"192.0.2.9:9092", "PLAINTEXT", "PLAIN", false},
	} {
		_, err := plainLogin(x.servers, x.protocol, x.mechanism)
		if x.refused != errs.Has(err, "KAFKA_PASSWORD_IN_THE_CLEAR") || !x.refused && err != nil {
			t.Errorf("%v: %v", x, err)
		}
		if err != nil && strings.Contains(err.Error(), "secret") {
			t.Errorf("the error tells the password: %v", err)
		}
	}
}

// Names are resolved late, and a broker on this machine may send its clients to another one: the address that a
// connection really has decides. Nothing may have been sent there.
func TestPasswordsDoNotFollowANameOffTheMachine(t *testing.T) {
	conf, err := plainLogin("localhost:9092", "SASL_PLAINTEXT", "PLAIN")
	if err != nil {
		t.Fatal(err)
	}
	own := outwardAddress(t)
	l, err := net.Listen("tcp", net.JoinHostPort(own, "0"))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	got := make(chan int, 1)
	go func() {
		c, err := l.Accept()
		if err != nil {
			got <- -1
			return
		}
		defer c.Close()
		b, _ := io.ReadAll(c)
		got <- len(b)
	}()
	begin := time.Now()
	conf.Servers = []string{l.Addr().String()} // as a name in front of it would have become
	c := New(conf)
	defer c.Close()
	err = c.Retry(context.Background(), 0, func() error { _, err := c.Metadata(context.Background(), nil); return err })
	if !errs.Has(err, "KAFKA_PASSWORD_IN_THE_CLEAR") || time.Since(begin) > 10*time.Second {
		t.Errorf("%v after %v", err, time.Since(begin))
	}
	if n := <-got; n != 0 {
		t.Errorf("%d bytes were sent", n)
	}
}

// outwardAddress is an address of this machine that is not its loopback.
func outwardAddress(t *testing.T) string {
	addrs, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range addrs {
		if n, ok := a.(*net.IPNet); ok && !n.IP.IsLoopback() && n.IP.To4() != nil {
			return n.IP.String()
		}
	}
	t.Skip("this machine has no address beside its loopback")
	return ""
}
