package httpauth

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"github.com/countersign-dev/countersign/domain/fault"
)

// The errors of listen addresses.
var (
	ErrAddress     = fault.New(fault.Invalid, "listen_address_invalid", "invalid listen address; use an IP address and a port")
	ErrUnprotected = fault.New(fault.Invalid, "listen_address_unprotected", "TLS is required for addresses that other machines can reach")
	ErrTaken       = fault.New(fault.Conflict, "listen_address_taken", "the listen address is in use")
	ErrCertificate = fault.New(fault.Invalid, "tls_certificate_invalid", "the certificate or its key cannot be used")
)

// Listen opens a listener at an address: "127.0.0.1:8317"; without a host, or with localhost, it is the loopback interface; with port 0, a free port.
// Addresses that other machines can reach fail with ErrUnprotected unless beyond allows them. It fails with ErrAddress and ErrTaken.
func Listen(ctx context.Context, address string, beyond bool) (net.Listener, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, ErrAddress.WithMessage("invalid listen address %q; use for example 127.0.0.1:8317, or 127.0.0.1:0 for any free port", address)
	}
	if host == "" || host == "localhost" { // not resolved: a hosts file may contain anything
		host = "127.0.0.1"
	}
	ip, err := netip.ParseAddr(host)
	if n, wrong := strconv.ParseUint(port, 10, 16); err != nil || wrong != nil || n > 65535 {
		return nil, ErrAddress.WithMessage("invalid listen address %q; use an IP address and a port, for example 127.0.0.1:8317", address)
	}
	if !ip.Unmap().IsLoopback() && !beyond {
		return nil, ErrUnprotected.WithMessage("other machines can reach %s, so TLS is required; use --tls-cert and --tls-key, or --allow-plain-http behind "+
			"a reverse proxy with TLS", address)
	}
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", net.JoinHostPort(host, port))
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return nil, ErrTaken.WithMessage("%s is in use by %s; stop that, or use another address (--addr 127.0.0.1:0 for any free port)", address, holder(port)).WithCause(err)
	case errors.Is(err, fs.ErrPermission):
		return nil, ErrAddress.WithMessage("this user may not listen on %s; use a port from 1024 on", address).WithCause(err)
	case err != nil:
		return nil, ErrAddress.WithMessage("cannot listen on %s: %v", address, err).WithCause(err)
	}
	return l, nil
}

// Certificate returns the TLS configuration for the certificate and key in those files; nil without files. It fails with ErrCertificate.
func Certificate(cert, key string) (*tls.Config, error) {
	if cert == "" && key == "" {
		return nil, nil
	}
	if cert == "" || key == "" {
		return nil, ErrCertificate.WithMessage("--tls-cert and --tls-key must be used together: the certificate (PEM) and its private key")
	}
	pair, err := tls.LoadX509KeyPair(cert, key)
	if err != nil {
		return nil, ErrCertificate.WithMessage("the certificate %s with the key %s: %v", cert, key, err).WithCause(err)
	}
	return &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}, nil
}

// holder returns the program that listens at the port, as far as the system reports it.
func holder(port string) string {
	const unknown = "another program"
	n, err := strconv.ParseUint(port, 10, 16)
	if err != nil {
		return unknown
	}
	sockets := map[string]bool{}
	for _, table := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
		text, err := os.ReadFile(table)
		if err != nil {
			continue
		}
		for line := range strings.SplitSeq(string(text), "\n") {
			const address, state, inode, listening = 1, 3, 9, "0A"
			f := strings.Fields(line)
			if len(f) > inode && f[state] == listening && strings.HasSuffix(f[address], fmt.Sprintf(":%04X", n)) {
				sockets["socket:["+f[inode]+"]"] = true
			}
		}
	}
	if len(sockets) == 0 {
		return unknown
	}
	open, _ := filepath.Glob("/proc/[0-9]*/fd/*") // those of other users are not visible
	for _, file := range open {
		if to, err := os.Readlink(file); err == nil && sockets[to] {
			process := filepath.Dir(filepath.Dir(file))
			name, _ := os.ReadFile(filepath.Join(process, "comm"))
			return strings.TrimSpace(fmt.Sprintf("process %s %s", filepath.Base(process), strings.TrimSpace(string(name))))
		}
	}
	return unknown
}
