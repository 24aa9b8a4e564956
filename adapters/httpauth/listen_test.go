package httpauth_test

import (
	"crypto/x509"
	"encoding/pem"
	"net"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/adapters/httpauth"
)

func TestWhereItListens(t *testing.T) {
	t.Parallel()
	for address, host := range map[string]string{"127.0.0.1:0": "127.0.0.1", ":0": "127.0.0.1", "localhost:0": "127.0.0.1", "[::1]:0": "::1", "127.3.2.1:0": "127.3.2.1"} {
		l, err := httpauth.Listen(t.Context(), address, false)
		if address == "[::1]:0" && err != nil {
			continue // a machine without IPv6
		}
		require.NoError(t, err, address)
		got, _, err := net.SplitHostPort(l.Addr().String())
		require.NoError(t, err)
		assert.Equal(t, host, got, address)
		l.Close()
	}
	for _, address := range []string{"0.0.0.0:0", "[::]:0", "192.0.2.1:0", "[::ffff:192.0.2.1]:0"} {
		_, err := httpauth.Listen(t.Context(), address, false)
		require.ErrorIs(t, err, httpauth.ErrUnprotected, address)
		assert.ErrorContains(t, err, "--tls-cert")
	}
	l, err := httpauth.Listen(t.Context(), "0.0.0.0:0", true)
	require.NoError(t, err)
	l.Close()
	for _, address := range []string{"", "127.0.0.1", "8317", "example.org:80", "127.0.0.1:x", "127.0.0.1:70000", "127.0.0.1:-1", "127.0.0.1:http", "http://127.0.0.1:1", "192.0.2.1:1"} {
		_, err := httpauth.Listen(t.Context(), address, true)
		require.ErrorIs(t, err, httpauth.ErrAddress, address)
	}
}

func TestAnAddressThatIsTaken(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	_, err = httpauth.Listen(t.Context(), l.Addr().String(), false)
	require.ErrorIs(t, err, httpauth.ErrTaken)
	assert.ErrorContains(t, err, l.Addr().String())
	assert.ErrorContains(t, err, "127.0.0.1:0")
	if _, proc := os.Stat("/proc/net/tcp"); proc == nil {
		assert.ErrorContains(t, err, "process "+strconv.Itoa(os.Getpid())+" ", "who it is")
	}
}

func TestCertificates(t *testing.T) {
	t.Parallel()
	none, err := httpauth.Certificate("", "")
	require.NoError(t, err)
	assert.Nil(t, none)
	fake := httptest.NewUnstartedServer(nil)
	fake.StartTLS()
	defer fake.Close()
	pair := fake.TLS.Certificates[0]
	key, err := x509.MarshalPKCS8PrivateKey(pair.PrivateKey)
	require.NoError(t, err)
	dir := t.TempDir()
	certFile, keyFile := filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	require.NoError(t, os.WriteFile(certFile, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: pair.Certificate[0]}), 0o600))
	require.NoError(t, os.WriteFile(keyFile, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: key}), 0o600))
	got, err := httpauth.Certificate(certFile, keyFile)
	require.NoError(t, err)
	assert.Equal(t, pair.Certificate, got.Certificates[0].Certificate)
	for _, wrong := range [][2]string{{certFile, ""}, {"", keyFile}, {keyFile, certFile}, {certFile, certFile}, {filepath.Join(dir, "none"), keyFile}} {
		_, err := httpauth.Certificate(wrong[0], wrong[1])
		require.ErrorIs(t, err, httpauth.ErrCertificate, wrong)
	}
}
