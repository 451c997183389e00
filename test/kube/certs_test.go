package kube

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"time"
)

// authority signs the certificates of one run. They are good for a day.
type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	pem  []byte
}

// pair is a certificate and its key, as PEM.
type pair struct{ cert, key []byte }

func newAuthority() (*authority, error) {
	a := &authority{cert: &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "railwright tests"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}}
	var err error
	if a.key, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader); err != nil {
		return nil, err
	}
	der, err := x509.CreateCertificate(rand.Reader, a.cert, a.cert, a.key.Public(), a.key)
	a.pem = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	return a, err
}

// issue makes a certificate for a user and its groups, which is good for a server on loopback too.
func (a *authority) issue(user string, groups ...string) (pair, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return pair{}, err
	}
	serial, err := rand.Int(rand.Reader, big.NewInt(1<<62))
	if err != nil {
		return pair{}, err
	}
	cert := &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: user, Organization: groups},
		NotBefore: a.cert.NotBefore, NotAfter: a.cert.NotAfter, KeyUsage: x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
		DNSNames:    []string{"localhost", "kubernetes.default.svc"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	der, err := x509.CreateCertificate(rand.Reader, cert, a.cert, key.Public(), a.key)
	if err != nil {
		return pair{}, err
	}
	private, err := x509.MarshalECPrivateKey(key) // the form that keys of service accounts have to have
	return pair{pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: private})}, err
}

func (c pair) write(path string) error {
	if err := os.WriteFile(path+".crt", c.cert, 0o600); err != nil {
		return err
	}
	return os.WriteFile(path+".key", c.key, 0o600)
}

// tls is the configuration of a client with this certificate.
func (a *authority) tls(c pair) (*tls.Config, error) {
	own, err := tls.X509KeyPair(c.cert, c.key)
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(a.pem)
	return &tls.Config{RootCAs: roots, Certificates: []tls.Certificate{own}}, err
}

// kubeconfig says how to reach a server as the user of a certificate. JSON is YAML.
func (a *authority) kubeconfig(url string, c pair) ([]byte, error) {
	return json.Marshal(object{
		"apiVersion": "v1", "kind": "Config", "current-context": "test",
		"clusters": []object{{"name": "test", "cluster": object{"server": url, "certificate-authority-data": a.pem}}},
		"users":    []object{{"name": "test", "user": object{"client-certificate-data": c.cert, "client-key-data": c.key}}},
		"contexts": []object{{"name": "test", "context": object{"cluster": "test", "user": "test"}}},
	})
}
