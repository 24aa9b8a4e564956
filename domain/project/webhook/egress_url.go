package webhook

import (
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/countersign-dev/countersign/domain/project"
)

// EgressViolation names the rule that an address violates, in the details of project.ErrURLBlocked.
type EgressViolation string

// The rules, in the order in which they are applied (packageflow-security contract §4.7).
const (
	RuleForm         EgressViolation = "form"          // not a URL, or has blanks, control characters or backslashes
	RuleScheme       EgressViolation = "scheme"        // https; http only for listed hosts
	RuleUserinfo     EgressViolation = "userinfo"      // no name and password
	RuleFragment     EgressViolation = "fragment"      // nothing after a #
	RuleHostTemplate EgressViolation = "host_template" // no variable in scheme, host and port
	RuleHost         EgressViolation = "host"          // a host name or a plain address
	RuleNumericHost  EgressViolation = "numeric_host"  // no address in an unusual notation
	RuleZone         EgressViolation = "zone"          // no zone identifier
	RuleMetadata     EgressViolation = "metadata"      // never a cloud's metadata service
	RuleLocalName    EgressViolation = "local_name"    // names of this machine and network only if listed
	RulePort         EgressViolation = "port"          // 443, 8443 and listed ones
	RuleOwnPort      EgressViolation = "own_port"      // never Countersign itself
	RuleLoopback     EgressViolation = "loopback"      // this machine only if allowed and listed
	RulePrivate      EgressViolation = "private"       // private networks only if listed
	RuleReserved     EgressViolation = "reserved"      // never addresses that do not belong to a host on the internet
	ruleRules        EgressViolation = "allow_list"    // an invalid entry in the list of allowed hosts
)

// Blocked is the details of project.ErrURLBlocked: the rule and the host as written, never an address that a name resolves to.
type Blocked struct {
	Rule EgressViolation `json:"rule"`
	Host string          `json:"host,omitempty"`
}

// BlockedError returns project.ErrURLBlocked for the violation of a rule, with this message.
func BlockedError(rule EgressViolation, host, format string, args ...any) error {
	return project.ErrURLBlocked.WithMessage(format, args...).WithDetails(Blocked{Rule: rule, Host: host})
}

// MaxURL is the maximum length of a URL in bytes; ours.
const MaxURL = 8 << 10

// URL is a URL, or a template of one, split into its parts.
type URL struct {
	Endpoint
	Path  string // as it was written
	Query string // as it was written, with its question mark; empty when there is none
}

// ParseURL splits a URL or a template before anything is filled in, so that no value can move the boundary between host and path. A URL that no Rules
// permit is project.ErrURLBlocked, with a Blocked as its details.
func ParseURL(raw string) (URL, error) {
	switch {
	case raw == "":
		return URL{}, BlockedError(RuleForm, "", "the webhook has no URL")
	case len(raw) > MaxURL:
		return URL{}, BlockedError(RuleForm, "", "the URL has %d bytes; at most %d are allowed", len(raw), MaxURL)
	case !utf8.ValidString(raw) || strings.ContainsFunc(raw, func(c rune) bool { return c <= ' ' || c == 0x7f || c == '\\' }):
		return URL{}, BlockedError(RuleForm, "", "the URL contains spaces, backslashes or control characters")
	}
	scheme, rest, ok := strings.Cut(raw, "://")
	if !ok {
		return URL{}, BlockedError(RuleForm, "", "the URL does not begin with https://")
	}
	end := strings.IndexAny(rest, "/?#")
	if end < 0 {
		end = len(rest)
	}
	origin, tail := scheme+"://"+rest[:end], rest[end:]
	lower := strings.ToLower(scheme)
	switch {
	case strings.ContainsAny(origin, "{}"):
		return URL{}, BlockedError(RuleHostTemplate, "", "scheme, host and port of a webhook must not contain variables; write them out")
	case lower != "https" && lower != "http":
		return URL{}, BlockedError(RuleScheme, "", "the URL does not begin with https:// or http://")
	case strings.Contains(rest[:end], "@"):
		return URL{}, BlockedError(RuleUserinfo, "", "the URL contains a user name or password; send credentials in a header")
	case strings.Contains(tail, "#"):
		return URL{}, BlockedError(RuleFragment, "", "the URL has a fragment (#…), which is never sent; remove it")
	}
	path, query, asks := strings.Cut(tail, "?")
	if asks {
		query = "?" + query
	}
	e, err := readOrigin(origin)
	return URL{Endpoint: e, Path: path, Query: query}, err
}

// Endpoint is the destination of a URL, as far as the URL itself says it.
type Endpoint struct {
	Scheme string // "https" or "http"
	Host   string // in lower-case ASCII, without a final dot; addresses without brackets
	Port   uint16
	Addr   netip.Addr // when Host is an address; otherwise zero
}

// Authority returns host:port.
func (e Endpoint) Authority() string { return hostPort(e.Host, e.Port) }

func hostPort(host string, port uint16) string {
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	return host + ":" + strconv.Itoa(int(port))
}

// Origin returns scheme, host and port as they are sent: the port only when it is not the scheme's own.
func (e Endpoint) Origin() string {
	authority := e.Authority()
	if e.Port == defaultPort(e.Scheme) {
		authority = strings.TrimSuffix(authority, ":"+strconv.Itoa(int(e.Port)))
	}
	return e.Scheme + "://" + authority
}

func defaultPort(scheme string) uint16 {
	if scheme == "http" {
		return 80
	}
	return 443
}

// readOrigin reads scheme, host and port.
func readOrigin(origin string) (Endpoint, error) {
	u, err := url.Parse(origin)
	if err != nil || u.Host == "" || u.Opaque != "" || u.Path != "" {
		return Endpoint{}, BlockedError(RuleForm, "", "the URL's host or port cannot be read")
	}
	e := Endpoint{Scheme: strings.ToLower(u.Scheme)}
	if e.Host, e.Addr, err = readHost(u.Hostname(), strings.HasPrefix(u.Host, "[")); err != nil {
		return Endpoint{}, err
	}
	e.Port = defaultPort(e.Scheme)
	if port := u.Port(); port != "" || strings.HasSuffix(u.Host, ":") {
		n, err := strconv.ParseUint(port, 10, 16)
		if err != nil || n == 0 {
			return Endpoint{}, BlockedError(RulePort, e.Host, "invalid port %q; use a number from 1 to 65535", port)
		}
		e.Port = uint16(n)
	}
	return e, nil
}

// readHost returns a host in the form in which it is compared, resolved and sent; addr is set for an address. Forms that some resolver reads as an
// address and another as a name are rejected, so that every program means the same host.
func readHost(raw string, bracketed bool) (host string, addr netip.Addr, err error) {
	if strings.Contains(raw, "%") {
		return "", addr, BlockedError(RuleZone, "", "the host has a zone identifier or an escape; write a plain name or address")
	}
	host, err = ascii(strings.TrimSuffix(raw, "."))
	if err != nil {
		return "", addr, err
	}
	if addr, err = netip.ParseAddr(host); err == nil {
		if addr.Is6() != bracketed || strings.HasSuffix(raw, ".") {
			return "", netip.Addr{}, BlockedError(RuleNumericHost, host, "host %q is an address in an unusual form", raw)
		}
		return addr.String(), addr, nil
	}
	if bracketed {
		return "", netip.Addr{}, BlockedError(RuleHost, "", "no IPv6 address between the brackets")
	}
	if numeric(host) {
		return "", netip.Addr{}, BlockedError(RuleNumericHost, host, "host %q is a number, but not an address such as 192.0.2.1", raw)
	}
	return host, netip.Addr{}, nil
}

// numeric reports names whose last label is a number, also in hexadecimal; some resolvers read them as addresses: 2130706433, 127.1, 0x7f000001,
// 0177.0.0.1.
func numeric(host string) bool {
	last := host[strings.LastIndexByte(host, '.')+1:]
	digits := "0123456789"
	if hex, ok := strings.CutPrefix(last, "0x"); ok {
		last, digits = hex, "0123456789abcdef"
	}
	return strings.Trim(last, digits) == ""
}
