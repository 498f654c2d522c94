package wire

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"streamlab/internal/broker"
)

// authority signs certificates for one test.
type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	a := &authority{}
	tmpl := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "authority"}, NotBefore: time.Now().Add(-time.Hour),
		NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign}
	a.cert, a.key = a.make(t, tmpl)
	return a
}

func (a *authority) make(t *testing.T, tmpl *x509.Certificate) (*x509.Certificate, *ecdsa.PrivateKey) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	parent, signer := a.cert, a.key
	if parent == nil {
		parent, signer = tmpl, key
	}
	der, err := x509.CreateCertificate(rand.Reader, tmpl, parent, &key.PublicKey, signer)
	if err != nil {
		t.Fatal(err)
	}
	c, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return c, key
}

func (a *authority) issue(t *testing.T, name string, ips ...net.IP) (chain, key string) {
	t.Helper()
	c, k := a.make(t, &x509.Certificate{SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: name}, NotBefore: time.Now().Add(-time.Hour),
		NotAfter: time.Now().Add(time.Hour), DNSNames: []string{name}, IPAddresses: ips, KeyUsage: x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}})
	der, err := x509.MarshalPKCS8PrivateKey(k)
	if err != nil {
		t.Fatal(err)
	}
	return pemOf("CERTIFICATE", c.Raw), pemOf("PRIVATE KEY", der)
}

func pemOf(kind string, der []byte) string {
	return string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}))
}

// A broker that speaks TLS and wants the client's certificate: who is trusted, and by whom, is checked at both
// ends, and a refusal comes at once.
func TestEncryptedConnections(t *testing.T) {
	ours, foreign := newAuthority(t), newAuthority(t)
	roots, otherRoots := pemOf("CERTIFICATE", ours.cert.Raw), pemOf("CERTIFICATE", foreign.cert.Raw)
	rootFile := filepath.Join(t.TempDir(), "roots.pem")
	if err := os.WriteFile(rootFile, []byte(roots), 0o600); err != nil {
		t.Fatal(err)
	}
	chain, key := ours.issue(t, "client")
	otherChain, otherKey := foreign.issue(t, "client")
	for _, server := range []struct {
		name string
		ips  []net.IP
	}{{"at its address", []net.IP{net.IPv4(127, 0, 0, 1)}}, {"under another name", nil}} {
		sc, sk := ours.issue(t, "broker", server.ips...)
		pair, err := tls.X509KeyPair([]byte(sc), []byte(sk))
		if err != nil {
			t.Fatal(err)
		}
		pool := x509.NewCertPool()
		pool.AddCert(ours.cert)
		b, err := broker.Start(broker.TLS(&tls.Config{Certificates: []tls.Certificate{pair}, ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: pool}),
			broker.Login("SCRAM-SHA-512", "ann", "secret"))
		if err != nil {
			t.Fatal(err)
		}
		named := server.ips != nil
		for _, x := range []struct {
			what string
			set  map[string]string
			fits bool
		}{
			{"all of it", nil, named},
			{"roots in a file", map[string]string{"ssl.truststore.certificates": "", "ssl.truststore.location": rootFile, "ssl.truststore.type": "PEM"}, named},
			{"no check of the name", map[string]string{"ssl.endpoint.identification.algorithm": ""}, true},
			{"a foreign broker", map[string]string{"ssl.truststore.certificates": otherRoots}, false},
			{"a foreign broker without a check of the name", map[string]string{"ssl.truststore.certificates": otherRoots, "ssl.endpoint.identification.algorithm": ""}, false},
			{"the system's roots", map[string]string{"ssl.truststore.certificates": ""}, false},
			{"no certificate", map[string]string{"ssl.keystore.certificate.chain": ""}, false},
			{"a foreign certificate", map[string]string{"ssl.keystore.certificate.chain": otherChain, "ssl.keystore.key": otherKey}, false},
			{"no encryption", map[string]string{"security.protocol": "SASL_PLAINTEXT"}, false},
			{"no login", map[string]string{"security.protocol": "SSL"}, false},
		} {
			set := map[string]string{"bootstrap.servers": b.Addr(), "security.protocol": "SASL_SSL", "sasl.mechanism": "SCRAM-SHA-512",
				"sasl.jaas.config": `M required username="ann" password="secret";`, "ssl.truststore.certificates": roots,
				"ssl.keystore.certificate.chain": chain, "ssl.keystore.key": key, "default.api.timeout.ms": "200", "request.timeout.ms": "5000"}
			for k, v := range x.set {
				set[k] = v
			}
			conf, err := ReadConfig(func(k string) (string, bool) { v, ok := set[k[len("kafka."):]]; return v, ok })
			if err != nil {
				t.Fatal(x.what, err)
			}
			c := New(conf)
			begin := time.Now()
			err = c.Retry(context.Background(), 0, func() error { _, err := c.Metadata(context.Background(), nil); return err })
			if (err == nil) != x.fits || time.Since(begin) > 15*time.Second {
				t.Errorf("%s, the broker %s: %v after %v", x.what, server.name, err, time.Since(begin))
			}
			c.Close()
		}
		b.Close()
	}
}
