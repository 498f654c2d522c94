// Package broker is the Kafka broker inside the program: what the server name "embedded" stands for in labs,
// demonstrations and tests. It listens on a port of the loopback interface, holds its topics in memory and
// ends with the program; a topic comes into being when it is first asked for with AddTopic.
//
// It is franz-go's fake cluster with one broker: real enough for every request that the sources and sinks
// make, transactions and authentication included, and no more than that.
package broker

import (
	"fmt"
	"strings"
	"sync"

	"github.com/twmb/franz-go/pkg/kfake"

	"streamlab/errs"
)

// Embedded is the server name that stands for the broker of the program.
const Embedded = "embedded"

// A Broker is a running broker. Safe for concurrent use.
type Broker struct {
	cluster *kfake.Cluster
	addr    string

	mu     sync.Mutex
	topics map[string]bool
}

// Option changes how a broker starts.
type Option func(*[]kfake.Opt)

// Port fixes the port: a broker that was stopped can come back where it was.
func Port(n int) Option { return func(o *[]kfake.Opt) { *o = append(*o, kfake.Ports(n)) } }

// Folder keeps the topics in a folder, so that they outlive the broker.
func Folder(dir string) Option { return func(o *[]kfake.Opt) { *o = append(*o, kfake.DataDir(dir)) } }

// Login makes the broker ask for a user: mechanism PLAIN, SCRAM-SHA-256 or SCRAM-SHA-512.
func Login(mechanism, user, password string) Option {
	return func(o *[]kfake.Opt) { *o = append(*o, kfake.EnableSASL(), kfake.Superuser(mechanism, user, password)) }
}

// Start runs a broker. Errors: EMBEDDED_BROKER_FAILED.
func Start(options ...Option) (*Broker, error) {
	opts := []kfake.Opt{kfake.NumBrokers(1), kfake.DefaultNumPartitions(1)}
	for _, o := range options {
		o(&opts)
	}
	c, err := kfake.NewCluster(opts...)
	if err != nil {
		return nil, errs.Wrap(err, "EMBEDDED_BROKER_FAILED", "message", err.Error())
	}
	return &Broker{cluster: c, addr: c.ListenAddrs()[0], topics: map[string]bool{}}, nil
}

// Addr is host:port.
func (b *Broker) Addr() string { return b.addr }

// Close stops the broker; clients see their connections end.
func (b *Broker) Close() { b.cluster.Close() }

var shared struct {
	sync.Mutex
	b *Broker
}

// Shared is the broker of the program, started by the first call.
func Shared() (*Broker, error) {
	shared.Lock()
	defer shared.Unlock()
	if shared.b == nil {
		b, err := Start()
		if err != nil {
			return nil, err
		}
		shared.b = b
	}
	return shared.b, nil
}

// Resolve replaces the server name "embedded" in the option kafka.bootstrap.servers (in any letter case) by
// the address of the program's broker, and gives that broker; nil if the options do not ask for it.
func Resolve(options map[string]string) (*Broker, error) {
	for k, v := range options {
		if strings.EqualFold(k, "kafka.bootstrap.servers") && strings.EqualFold(strings.TrimSpace(v), Embedded) {
			b, err := Shared()
			if err != nil {
				return nil, err
			}
			options[k] = b.addr
			return b, nil
		}
	}
	return nil, nil
}

func (b *Broker) String() string { return fmt.Sprintf("embedded broker at %s", b.addr) }
