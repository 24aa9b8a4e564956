package webhookhttp

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"net/http"
	"syscall"

	"github.com/countersign-dev/countersign/domain/fault"
)

// noConnection is a failure before a byte of the request was sent.
type noConnection struct {
	cause   error
	passing bool
}

func (e *noConnection) Error() string { return "no connection: " + e.cause.Error() }
func (e *noConnection) Unwrap() error { return e.cause }

// unreached wraps what kept a connection from coming about. A refusal by rule and a name that does not exist will not pass.
func unreached(err error) error {
	var refused *fault.Error
	var unknown *net.DNSError
	passing := !errors.As(err, &refused) && !(errors.As(err, &unknown) && unknown.IsNotFound)
	return &noConnection{cause: err, passing: passing}
}

// innermost is the fault inside an error, so that nothing around it, which may name addresses, goes along.
func innermost(err error) error {
	var f *fault.Error
	if errors.As(err, &f) {
		return f
	}
	return err
}

// describe says what went wrong in our own words: the standard library's name addresses and repeat URLs.
func describe(err error) string {
	var (
		name      *net.DNSError
		authority x509.UnknownAuthorityError
		hostname  x509.HostnameError
		invalid   x509.CertificateInvalidError
		record    tls.RecordHeaderError
		alert     tls.AlertError
		timeout   net.Error
		none      *noConnection
	)
	switch {
	case errors.As(err, &name) && name.IsNotFound:
		return "unknown host"
	case errors.As(err, &name):
		return "the name servers do not answer for that host now"
	case errors.As(err, &authority):
		return "its certificate is not signed by a trusted authority"
	case errors.As(err, &hostname):
		return "its certificate is for another host"
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		return "its certificate has expired, or is not valid yet"
	case errors.As(err, &invalid):
		return "its certificate is not valid"
	case errors.As(err, &record), errors.Is(err, http.ErrSchemeMismatch):
		return "it does not speak TLS at that port"
	case errors.As(err, &alert):
		return "it ended the TLS handshake: " + alert.Error()
	case errors.Is(err, syscall.ECONNREFUSED):
		return "nothing listens on that port"
	case errors.As(err, &none) && errors.As(err, &timeout) && timeout.Timeout():
		return "the connection timed out"
	case errors.As(err, &none):
		return "the connection failed"
	}
	return "the connection was lost before the answer was complete"
}
