package httpauth

import (
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"github.com/countersign-dev/countersign/domain/fault"
)

// The errors of requests that are rejected before authentication.
var (
	ErrHost     = fault.New(fault.Denied, "host_foreign", "unknown host name")
	ErrOrigin   = fault.New(fault.Denied, "origin_foreign", "requests from other origins are not allowed")
	ErrHostName = fault.New(fault.Invalid, "host_name_invalid", "invalid host; use a name, an IP address or an https origin")
)

// Host is an additional name under which a server is reached.
type Host struct {
	Name   string // in lower case, without a port
	Origin string // URL of a proxy that terminates TLS: "https://example.org"; else empty
}

// ParseHost parses a name ("example.org"), an IP address, or the origin of a proxy ("https://example.org:8443"). It fails with ErrHostName.
func ParseHost(text string) (Host, error) {
	name := strings.ToLower(strings.TrimSpace(text))
	wrong := ErrHostName.WithMessage("invalid host %q; use a name or an IP address without a port, or the https origin of the reverse proxy", text)
	if !strings.Contains(name, "://") {
		bare := name
		if strings.HasPrefix(name, "[") && strings.HasSuffix(name, "]") {
			bare = name[1 : len(name)-1]
		}
		if ip, err := netip.ParseAddr(bare); err == nil && ip.Zone() == "" {
			return Host{Name: bare}, nil
		}
		if name == "" || strings.ContainsFunc(name, func(r rune) bool { return !inName(r) }) {
			return Host{}, wrong
		}
		return Host{Name: name}, nil
	}
	u, err := url.Parse(name)
	if err != nil || u.Scheme != "https" || u.Hostname() == "" || u.User != nil || strings.TrimSuffix(name, "/") != "https://"+u.Host {
		return Host{}, wrong
	}
	return Host{Name: u.Hostname(), Origin: "https://" + plainHost(u.Host, true)}, nil
}

func inName(r rune) bool {
	return 'a' <= r && r <= 'z' || '0' <= r && r <= '9' || r == '-' || r == '.' || r == '_'
}

// BaseURL returns the URL at which a browser reaches a server that listens at that address: with the first of its names, if it has any.
func BaseURL(at net.Addr, names []Host, secure bool) string {
	host, port, err := net.SplitHostPort(at.String())
	if err != nil {
		host = at.String()
	}
	if len(names) > 0 {
		if names[0].Origin != "" {
			return names[0].Origin
		}
		host = names[0].Name
	} else if ip, err := netip.ParseAddr(host); err == nil && ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	return place{host: plainHost(net.JoinHostPort(host, port), secure), secure: secure}.origin()
}

// ReachableHosts returns the names of a server that listens at that address: the given ones, and the address itself, which DNS cannot redirect.
func ReachableHosts(at net.Addr, names []Host) []Host {
	host, _, err := net.SplitHostPort(at.String())
	if ip, wrong := netip.ParseAddr(host); err != nil || wrong != nil || ip.IsUnspecified() {
		return names
	}
	if slices.ContainsFunc(names, func(h Host) bool { return h.Name == host }) {
		return names
	}
	return append(slices.Clone(names), Host{Name: host})
}

// place is the host that a request was sent to.
type place struct {
	host   string // with a port unless it is the scheme's default, in lower case
	port   string
	secure bool // the browser uses TLS, to this server or to a proxy
}

// placed returns the host that the request was sent to. It fails with ErrHost unless that is this machine's own name, which no web page can take
// over, or one from the configuration.
func (g *Guard) placed(r *http.Request) (place, error) {
	name, port := split(r.Host)
	front, named := g.hosts[name]
	if !named && !loopback(name) {
		return place{}, ErrHost
	}
	p := place{secure: g.tls || front.Origin != ""}
	p.host, p.port = plainHost(r.Host, p.secure), portOf(port, p.secure)
	return p, nil
}

// portOf returns the port, or the scheme's default if there is none.
func portOf(port string, secure bool) string {
	switch {
	case port != "":
		return port
	case secure:
		return "443"
	}
	return "80"
}

// origin returns the Origin header of pages of that host.
func (p place) origin() string {
	if p.secure {
		return "https://" + p.host
	}
	return "http://" + p.host
}

// split splits a Host header: the name in lower case, and the port.
func split(host string) (name, port string) {
	name = host
	if n, p, err := net.SplitHostPort(host); err == nil {
		name, port = n, p
	}
	return strings.ToLower(strings.TrimSuffix(strings.TrimPrefix(name, "["), "]")), port
}

// plainHost returns a host in lower case, without the default port of its scheme.
func plainHost(host string, secure bool) string {
	if secure {
		return strings.TrimSuffix(strings.ToLower(host), ":443")
	}
	return strings.TrimSuffix(strings.ToLower(host), ":80")
}

// loopback reports whether the name always resolves to this machine.
func loopback(name string) bool {
	if name == "localhost" || name == "127.0.0.1" {
		return true
	}
	ip, err := netip.ParseAddr(name)
	return err == nil && ip.Zone() == "" && ip.Unmap().IsLoopback()
}

// safe reports whether the method changes nothing.
func safe(method string) bool {
	return method == http.MethodGet || method == http.MethodHead || method == http.MethodOptions
}

// sent fails with ErrOrigin if a page of another origin sent the request, as far as browsers report it: a foreign Origin, or a change that did not
// come from a page of the same origin.
func sent(r *http.Request, p place) error {
	if origins := r.Header["Origin"]; len(origins) > 1 || len(origins) == 1 && !strings.EqualFold(origins[0], p.origin()) {
		return ErrOrigin
	}
	if site := r.Header["Sec-Fetch-Site"]; len(site) > 0 && !safe(r.Method) && (len(site) > 1 || site[0] != "same-origin" && site[0] != "none") {
		return ErrOrigin.WithMessage("changes are accepted only from pages of this server")
	}
	return nil
}

// told reports whether a browser stated that a page of this origin sent the request; sent has checked the statement.
func told(r *http.Request) bool {
	return r.Header.Get("Origin") != "" || r.Header.Get("Sec-Fetch-Site") == "same-origin"
}
