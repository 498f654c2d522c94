// Package broker is the Kafka broker inside the program: what the server name "embedded" stands for in labs,
// demonstrations and tests. It listens on a port of the loopback interface, holds its topics in memory and
// ends with the program.
//
// It is franz-go's fake cluster with one broker: real enough for every request that the sources and sinks
// make, transactions and authentication included, and no more than that.
package broker

import (
	"crypto/tls"
	"fmt"
	"os"
	"strconv"
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
}

// Option changes how a broker starts.
type Option func(*[]kfake.Opt)

// Port fixes the port: a broker that was stopped can come back where it was.
func Port(n int) Option { return func(o *[]kfake.Opt) { *o = append(*o, kfake.Ports(n)) } }

// Folder keeps the topics in a folder, so that they outlive the broker.
func Folder(dir string) Option { return func(o *[]kfake.Opt) { *o = append(*o, kfake.DataDir(dir)) } }

// CreateTopics makes the broker create a topic when a producer first asks for it.
func CreateTopics() Option {
	return func(o *[]kfake.Opt) { *o = append(*o, kfake.AllowAutoTopicCreation()) }
}

// Login makes the broker ask for a user: mechanism PLAIN, SCRAM-SHA-256 or SCRAM-SHA-512.
func Login(mechanism, user, password string) Option {
	return func(o *[]kfake.Opt) { *o = append(*o, kfake.EnableSASL(), kfake.Superuser(mechanism, user, password)) }
}

// MaxMessage is how many bytes a record batch may have; 1 MiB without it.
func MaxMessage(n int) Option {
	return func(o *[]kfake.Opt) {
		*o = append(*o, kfake.BrokerConfigs(map[string]string{"message.max.bytes": strconv.Itoa(n)}))
	}
}

// TLS makes the broker speak it; clients that the configuration wants a certificate of must show one.
func TLS(c *tls.Config) Option { return func(o *[]kfake.Opt) { *o = append(*o, kfake.TLS(c)) } }

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
	return &Broker{cluster: c, addr: c.ListenAddrs()[0]}, nil
}

// Addr is host:port.
func (b *Broker) Addr() string { return b.addr }

// Close stops the broker; clients see their connections end. A broker of another process is left alone.
func (b *Broker) Close() {
	if b.cluster != nil {
		b.cluster.Close()
	}
}

// running are the brokers of the program by the key that For was given; they end with it.
var running = struct {
	sync.Mutex
	byKey map[string]*Broker
}{byKey: map[string]*Broker{}}

// Parent is the environment variable that gives a child process the address of the broker of the process that
// started it: what the child writes there is still there when the child has been killed.
const Parent = "STREAMLAB_BROKER"

// Running is the address of the broker that For started for a key; "" if there is none.
func Running(key string) string {
	running.Lock()
	defer running.Unlock()
	if b := running.byKey[key]; b != nil {
		return b.addr
	}
	return ""
}

// For is the program's broker of a lab, started by the first call with its key, or the one that Parent names.
// It creates topics when a producer first asks for them.
func For(key string) (*Broker, error) {
	running.Lock()
	defer running.Unlock()
	if b := running.byKey[key]; b != nil {
		return b, nil
	}
	if addr := os.Getenv(Parent); addr != "" {
		b := &Broker{addr: addr}
		running.byKey[key] = b
		return b, nil
	}
	b, err := Start(CreateTopics())
	if err == nil {
		running.byKey[key] = b
	}
	return b, err
}

// Asked says whether a value of kafka.bootstrap.servers means the embedded broker.
func Asked(servers string) bool { return strings.EqualFold(strings.TrimSpace(servers), Embedded) }

func (b *Broker) String() string { return fmt.Sprintf("embedded broker at %s", b.addr) }
