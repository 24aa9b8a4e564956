package webhook

import (
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/countersign-dev/countersign/domain/project"
)

// EgressRules are the destinations that the user permits for webhooks, and the limits that cannot be lifted (packageflow-security contract §4.7). The
// zero value permits only the default: https to public addresses, ports 443 and 8443.
type EgressRules struct {
	// AllowLoopback lets webhooks reach this machine, at hosts of AllowHosts only.
	AllowLoopback bool `json:"webhookAllowLoopback"`
	// AllowHosts are host:port entries. A webhook to exactly that host and port may be plain http, use that port, have a local name, and resolve to a
	// private network. Names and addresses are compared as written: a listed name does not list its address.
	AllowHosts []string `json:"webhookAllowHosts"`
	// Never are the ports of Countersign's own servers. No webhook uses them, on any host.
	Never []uint16 `json:"-"`
}

// Validate rejects entries of AllowHosts that could never match or would permit what is always forbidden, with project.ErrURLBlocked.
func (r EgressRules) Validate() error {
	for _, entry := range r.AllowHosts {
		host, _, ok := readEntry(entry)
		if !ok {
			return BlockedError(ruleRules, "", "invalid address %q; use host:port, for example localhost:3000 or [fd00::1]:8080", entry)
		}
		if host == metadataHost {
			return BlockedError(RuleMetadata, host, "%s cannot be allowed", entry)
		}
		if addr, err := netip.ParseAddr(host); err == nil {
			if rule, never := classify(addr).never(); never {
				return BlockedError(rule, host, "%s cannot be allowed: not the address of a host", entry)
			}
		}
	}
	return nil
}

// readEntry returns an entry of AllowHosts in the form of endpoints.
func readEntry(entry string) (host string, port uint16, ok bool) {
	i := strings.LastIndexByte(entry, ':')
	if i < 0 || strings.ContainsAny(entry, "/@{}*") {
		return "", 0, false
	}
	host, bracketed := entry[:i], strings.HasPrefix(entry, "[")
	if bracketed {
		host = strings.TrimSuffix(host[1:], "]")
	}
	n, err := strconv.ParseUint(entry[i+1:], 10, 16)
	if err != nil || n == 0 {
		return "", 0, false
	}
	host, _, err = readHost(host, bracketed)
	return host, uint16(n), err == nil
}

// lists reports whether the user listed that host and port.
func (r EgressRules) lists(e Endpoint) bool {
	return slices.ContainsFunc(r.AllowHosts, func(entry string) bool {
		host, port, ok := readEntry(entry)
		return ok && host == e.Host && port == e.Port
	})
}

const metadataHost = "metadata.google.internal"

// Endpoint parses a URL and applies every rule that needs no name server, in the order of the contract. It fails with project.ErrURLBlocked, whose
// details are a Blocked. Admit checks the addresses of a host that is a name.
func (r EgressRules) Endpoint(raw string) (Endpoint, error) {
	u, err := ParseURL(raw)
	if err != nil {
		return Endpoint{}, err
	}
	e := u.Endpoint
	listed := r.lists(e)
	switch {
	case e.Scheme != "https" && !listed:
		return Endpoint{}, BlockedError(RuleScheme, e.Host, "%s would be reached without encryption; use https, or list it in webhookAllowHosts", e.Authority())
	case e.Host == metadataHost:
		return Endpoint{}, BlockedError(RuleMetadata, e.Host, "webhooks never reach %s", e.Host)
	case localName(e.Host) && !listed:
		return Endpoint{}, BlockedError(RuleLocalName, e.Host, "%s is a local name; to allow it, list %s in webhookAllowHosts", e.Host, e.Authority())
	case loopbackName(e.Host) && !r.AllowLoopback:
		return Endpoint{}, BlockedError(RuleLoopback, e.Host, "%s is this machine; webhookAllowLoopback is off", e.Host)
	case e.Port != 443 && e.Port != 8443 && !listed:
		return Endpoint{}, BlockedError(RulePort, e.Host, "webhooks use ports 443 and 8443; to allow another, list %s in webhookAllowHosts", e.Authority())
	case slices.Contains(r.Never, e.Port):
		return Endpoint{}, BlockedError(RuleOwnPort, e.Host, "port %d is Countersign's own; webhooks never reach it", e.Port)
	case e.Addr.IsValid():
		return e, r.Admit(e, e.Addr)
	}
	return e, nil
}

func loopbackName(host string) bool { return strings.HasSuffix("."+host, ".localhost") }

func localName(host string) bool {
	return loopbackName(host) || strings.HasSuffix("."+host, ".local") || strings.HasSuffix("."+host, ".internal")
}

// Admit checks the addresses of an endpoint's host, or the one that a connection really reached: one bad address is enough to fail. It fails with
// project.ErrURLBlocked and does not say which address it was.
func (r EgressRules) Admit(e Endpoint, addrs ...netip.Addr) error {
	listed := r.lists(e)
	for _, addr := range addrs {
		c := classify(addr)
		rule, never := c.never()
		switch {
		case c == public:
		case never && rule == RuleMetadata:
			return BlockedError(rule, e.Host, "%s resolves to a cloud metadata service, which webhooks never reach", e.Host)
		case never:
			return BlockedError(rule, e.Host, "%s resolves to an address that is not a host on the internet", e.Host)
		case c == loopback && !r.AllowLoopback:
			return BlockedError(RuleLoopback, e.Host, "%s resolves to this machine; webhookAllowLoopback is off", e.Host)
		case c == loopback && !listed:
			return BlockedError(RuleLoopback, e.Host, "%s resolves to this machine; to allow it, list %s in webhookAllowHosts", e.Host, e.Authority())
		case c == private && !listed:
			return BlockedError(RulePrivate, e.Host, "%s resolves to a private network; to allow it, list %s in webhookAllowHosts", e.Host, e.Authority())
		}
	}
	return nil
}

// A class is a kind of address, for the rules of webhooks.
type class uint8

const (
	special class = iota // the zero class is always forbidden
	metadata
	loopback
	private
	public
)

// never returns the rule that forbids the class whatever the user permitted.
func (c class) never() (EgressViolation, bool) {
	switch c {
	case metadata:
		return RuleMetadata, true
	case loopback, private, public:
		return "", false
	}
	return RuleReserved, true
}

// classify returns the class of an address. IPv4 in IPv6 counts as the embedded address; the other ways to embed an IPv4 address are reserved.
func classify(addr netip.Addr) class {
	if !addr.IsValid() || addr.Zone() != "" {
		return special
	}
	addr = addr.Unmap()
	if slices.Contains(metadataAddrs(), addr) {
		return metadata
	}
	for _, row := range prefixes() {
		if slices.ContainsFunc(row.of, func(p string) bool { return netip.MustParsePrefix(p).Contains(addr) }) {
			return row.class
		}
	}
	if addr.Is6() && !netip.MustParsePrefix("2000::/3").Contains(addr) {
		return special
	}
	return public
}

func metadataAddrs() []netip.Addr {
	return []netip.Addr{
		netip.MustParseAddr("169.254.169.254"), netip.MustParseAddr("169.254.170.2"), netip.MustParseAddr("100.100.100.200"),
		netip.MustParseAddr("192.0.0.192"), netip.MustParseAddr("fd00:ec2::254"),
	}
}

// prefixes returns the blocked networks of packageflow-security contract §4.7. Shared address space (100.64.0.0/10) counts as private: it is
// what overlay networks use between the user's own machines.
func prefixes() []struct {
	class class
	of    []string
} {
	return []struct {
		class class
		of    []string
	}{
		{loopback, []string{"127.0.0.0/8", "::1/128"}},
		{private, []string{"10.0.0.0/8", "100.64.0.0/10", "172.16.0.0/12", "192.168.0.0/16", "fc00::/7"}},
		{special, []string{
			"0.0.0.0/8", "169.254.0.0/16", "192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "198.18.0.0/15", "198.51.100.0/24",
			"203.0.113.0/24", "224.0.0.0/4", "240.0.0.0/4",
			"::/128", "64:ff9b::/96", "64:ff9b:1::/48", "100::/64", "2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20", "fe80::/10",
			"fec0::/10", "ff00::/8",
		}},
	}
}

// EgressTarget is a checked endpoint, which the user sees before a request is made.
type EgressTarget struct {
	Scheme    string       `json:"scheme"`
	Host      string       `json:"host"`
	Port      uint16       `json:"port"`
	Addresses []netip.Addr `json:"addresses"`
}

// Vet returns the target for an endpoint with those addresses. It fails as Admit does, and with project.ErrExecutionFailed if there is no address at
// all.
func (r EgressRules) Vet(e Endpoint, addrs []netip.Addr) (EgressTarget, error) {
	if len(addrs) == 0 {
		return EgressTarget{}, project.ErrExecutionFailed.WithMessage("no address found for %s; check the webhook's URL", e.Host)
	}
	if err := r.Admit(e, addrs...); err != nil {
		return EgressTarget{}, err
	}
	t := EgressTarget{Scheme: e.Scheme, Host: e.Host, Port: e.Port}
	for _, addr := range addrs {
		t.Addresses = append(t.Addresses, addr.Unmap())
	}
	return t, nil
}

// Dangers returns the reasons to call a request to the target risky (packageflow-security contract §5.1): plain http, this machine, a private
// network. Empty for most.
func (t EgressTarget) Dangers() (found []string) {
	if t.Scheme == "http" {
		found = append(found, "the request is not encrypted")
	}
	for _, addr := range t.Addresses {
		switch c := classify(addr); {
		case c == loopback && !slices.Contains(found, "it goes to this machine"):
			found = append(found, "it goes to this machine")
		case c == private && !slices.Contains(found, "it goes into a private network"):
			found = append(found, "it goes into a private network")
		}
	}
	return found
}
