// Package wire speaks to Kafka clusters: connections, the handful of requests that a source and a sink
// need, and record batches read and written in place.
//
// It stands on the protocol package of kafka-go, which encodes requests and decodes answers, but keeps the
// connections itself: metadata is asked for when it is wanted (kafka-go answers it from a cache that is
// seconds old), the offsets of all partitions of a broker are one request, and the answers to fetches are
// walked as bytes, because the record batches' last offsets and largest timestamps, which kafka-go drops,
// are needed to pass over compacted records and to read topics whose times are the broker's.
//
// A Cluster may be used by many goroutines at once; a request has a connection for itself while it runs.
package wire

import (
	"crypto/tls"
	"crypto/x509"
	"net"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/segmentio/kafka-go/sasl"
	"github.com/segmentio/kafka-go/sasl/plain"
	"github.com/segmentio/kafka-go/sasl/scram"

	"streamlab/errs"
)

// Config says how to reach a cluster.
type Config struct {
	Servers  []string // host:port of any of its brokers; asked in this order
	ClientID string
	TLS      *tls.Config    // nil: no encryption
	SASL     sasl.Mechanism // nil: no authentication
	Timeout  time.Duration  // for one request, above what the request itself waits; 30 s if 0
	Wait     time.Duration  // how long an unreachable cluster is waited for; 60 s if 0
}

// ReadConfig reads Kafka's client settings; get finds an option by its name with "kafka." in front, without
// regard to case. Errors: INVALID_OPTION, UNSUPPORTED_FEATURE for what Go cannot do (Kerberos, Java key
// stores), and KAFKA_PASSWORD_IN_THE_CLEAR. What a name stands for is looked at when it is dialled.
func ReadConfig(get func(name string) (string, bool)) (Config, error) {
	text := func(name, def string) string {
		if v, ok := get("kafka." + name); ok {
			return strings.TrimSpace(v)
		}
		return def
	}
	var c Config
	for _, s := range strings.Split(text("bootstrap.servers", ""), ",") {
		if s = strings.TrimSpace(s); s != "" {
			c.Servers = append(c.Servers, s)
		}
	}
	c.ClientID = text("client.id", "streamlab")
	var err error
	if c.Timeout, err = millis("request.timeout.ms", text("request.timeout.ms", "30000")); err != nil {
		return c, err
	}
	if c.Wait, err = millis("default.api.timeout.ms", text("default.api.timeout.ms", "60000")); err != nil {
		return c, err
	}
	protocol := strings.ToUpper(text("security.protocol", "PLAINTEXT"))
	switch protocol {
	case "PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL":
	default:
		return c, invalid("kafka.security.protocol", protocol, "must be PLAINTEXT, SSL, SASL_PLAINTEXT or SASL_SSL")
	}
	if strings.HasSuffix(protocol, "SSL") {
		if c.TLS, err = readTLS(text); err != nil {
			return c, err
		}
	}
	if strings.HasPrefix(protocol, "SASL_") {
		if c.SASL, err = readSASL(text); err != nil {
			return c, err
		}
	}
	if c.inTheClear() {
		for _, s := range c.Servers {
			host, _, err := net.SplitHostPort(s)
			if err != nil {
				host = s
			}
			if ip := net.ParseIP(host); ip != nil && !ip.IsLoopback() {
				return c, errs.New("KAFKA_PASSWORD_IN_THE_CLEAR", "address", s)
			}
		}
	}
	return c, nil
}

// inTheClear says that the password would travel as it is: PLAIN without TLS, which only the own machine may get.
func (c Config) inTheClear() bool { return c.TLS == nil && c.SASL != nil && c.SASL.Name() == "PLAIN" }

func invalid(option, value, requirement string) error {
	return errs.New("INVALID_OPTION", "option", option, "value", value, "requirement", requirement)
}

func unsupported(what string) error {
	return errs.New("UNSUPPORTED_FEATURE", "feature", what)
}

func millis(name, text string) (time.Duration, error) {
	n, err := strconv.ParseInt(text, 10, 32)
	if err != nil || n < 0 {
		return 0, invalid("kafka."+name, text, "must be a number of milliseconds")
	}
	return time.Duration(n) * time.Millisecond, nil
}

// readTLS maps the ssl.* settings. Certificates are PEM: as text in the options, or in files.
func readTLS(text func(name, def string) string) (*tls.Config, error) {
	c := &tls.Config{MinVersion: tls.VersionTLS12}
	read := func(store, inline string) (string, error) {
		if v := text(inline, ""); v != "" {
			return v, nil
		}
		place := text("ssl."+store+".location", "")
		if place == "" {
			return "", nil
		}
		if kind := text("ssl."+store+".type", "JKS"); !strings.EqualFold(kind, "PEM") {
			return "", unsupported("A Kafka " + store + " of type " + kind + " (only PEM)")
		}
		b, err := os.ReadFile(place)
		if err != nil {
			return "", errs.Wrap(err, "INVALID_OPTION", "option", "kafka.ssl."+store+".location", "value", place,
				"requirement", "must name a file that can be read")
		}
		return string(b), nil
	}
	roots, err := read("truststore", "ssl.truststore.certificates")
	if err != nil {
		return nil, err
	}
	if roots != "" {
		c.RootCAs = x509.NewCertPool()
		if !c.RootCAs.AppendCertsFromPEM([]byte(roots)) {
			return nil, invalid("kafka.ssl.truststore.certificates", "…", "must hold PEM certificates")
		}
	}
	chain, err := read("keystore", "ssl.keystore.certificate.chain")
	if err != nil {
		return nil, err
	}
	if chain != "" {
		if text("ssl.key.password", "") != "" {
			return nil, unsupported("An encrypted private key (kafka.ssl.key.password)")
		}
		key := text("ssl.keystore.key", chain)
		pair, err := tls.X509KeyPair([]byte(chain), []byte(key))
		if err != nil {
			return nil, errs.Wrap(err, "INVALID_OPTION", "option", "kafka.ssl.keystore.key", "value", "…",
				"requirement", "must be the PEM key of the certificate")
		}
		c.Certificates = []tls.Certificate{pair}
	}
	if text("ssl.endpoint.identification.algorithm", "https") == "" {
		// The user switched the check of the host name off; the chain is checked all the same.
		c.InsecureSkipVerify = true
		c.VerifyConnection = func(s tls.ConnectionState) error {
			o := x509.VerifyOptions{Roots: c.RootCAs, Intermediates: x509.NewCertPool()}
			for _, cert := range s.PeerCertificates[1:] {
				o.Intermediates.AddCert(cert)
			}
			_, err := s.PeerCertificates[0].Verify(o)
			return err
		}
	}
	return c, nil
}

// readSASL takes user name and password from a JAAS line.
func readSASL(text func(name, def string) string) (sasl.Mechanism, error) {
	name := strings.ToUpper(text("sasl.mechanism", "GSSAPI"))
	jaas := text("sasl.jaas.config", "")
	user, password := jaasField(jaas, "username"), jaasField(jaas, "password")
	switch name {
	case "PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512":
		if user == "" {
			return nil, invalid("kafka.sasl.jaas.config", "…", "must give username and password")
		}
	default:
		return nil, unsupported("The Kafka SASL mechanism " + name + " (only PLAIN, SCRAM-SHA-256 and SCRAM-SHA-512)")
	}
	switch name {
	case "PLAIN":
		return plain.Mechanism{Username: user, Password: password}, nil
	case "SCRAM-SHA-256":
		return scram.Mechanism(scram.SHA256, user, password)
	}
	return scram.Mechanism(scram.SHA512, user, password)
}

// jaasField finds name="value" in a JAAS line; quotes may be single, double or absent, a backslash escapes.
func jaasField(jaas, name string) string {
	for rest := jaas; ; {
		i := strings.Index(rest, name)
		if i < 0 {
			return ""
		}
		before := i == 0 || strings.ContainsRune(" \t\n\r", rune(rest[i-1]))
		rest = rest[i+len(name):]
		v := strings.TrimLeft(rest, " \t")
		if !before || !strings.HasPrefix(v, "=") {
			continue
		}
		v = strings.TrimLeft(v[1:], " \t")
		if v == "" {
			return ""
		}
		var b strings.Builder
		quote := v[0]
		if quote != '"' && quote != '\'' {
			end := strings.IndexAny(v, " \t\n\r;")
			if end < 0 {
				end = len(v)
			}
			return v[:end]
		}
		for j := 1; j < len(v) && v[j] != quote; j++ {
			if v[j] == '\\' && j+1 < len(v) {
				j++
			}
			b.WriteByte(v[j])
		}
		return b.String()
	}
}
