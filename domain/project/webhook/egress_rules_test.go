package webhook_test

import (
	"net/netip"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/domain/project"
	"github.com/countersign-dev/countersign/domain/project/webhook"
)

// networks returns the blocked prefixes of packageflow-security contract §4.7, copied from it, with the rule each one falls under.
func networks() map[webhook.EgressViolation][]string {
	return map[webhook.EgressViolation][]string{
		webhook.RuleLoopback: {"127.0.0.0/8", "::1/128"},
		webhook.RulePrivate:  {"10.0.0.0/8", "100.64.0.0/10", "172.16.0.0/12", "192.168.0.0/16", "fc00::/7"},
		webhook.RuleReserved: {
			"0.0.0.0/8", "169.254.0.0/16", "192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24",
			"224.0.0.0/4", "240.0.0.0/4", "::/128", "64:ff9b::/96", "64:ff9b:1::/48", "100::/64", "2001::/23", "2001:db8::/32", "2002::/16",
			"3fff::/20", "fe80::/10", "fec0::/10", "ff00::/8",
		},
		webhook.RuleMetadata: {"169.254.169.254/32", "169.254.170.2/32", "100.100.100.200/32", "192.0.0.192/32", "fd00:ec2::254/128"},
	}
}

// edges returns the first and the last address of a prefix.
func edges(t *testing.T, prefix string) (first, last netip.Addr) {
	p, err := netip.ParsePrefix(prefix)
	require.NoError(t, err)
	end := p.Addr().AsSlice()
	for bit := p.Bits(); bit < p.Addr().BitLen(); bit++ {
		end[bit/8] |= 1 << (7 - bit%8)
	}
	last, ok := netip.AddrFromSlice(end)
	require.True(t, ok)
	return p.Addr(), last
}

// mapped returns an IPv4 address in IPv6 form.
func mapped(a netip.Addr) netip.Addr { return netip.AddrFrom16(a.As16()) }

func TestEveryBlockedNetworkAtItsEdges(t *testing.T) {
	name := webhook.Endpoint{Scheme: "https", Host: "hooks.example.com", Port: 443}
	closed, listed := webhook.EgressRules{}, webhook.EgressRules{AllowHosts: []string{"hooks.example.com:443"}}
	open := webhook.EgressRules{AllowHosts: []string{"hooks.example.com:443"}, AllowLoopback: true}
	for rule, prefixes := range networks() {
		for _, prefix := range prefixes {
			first, last := edges(t, prefix)
			forms := []netip.Addr{first, last}
			if first.Is4() {
				forms = append(forms, mapped(first), mapped(last))
			}
			for _, addr := range forms {
				assert.Equal(t, rule, broken(t, closed.Admit(name, addr)), "%s of %s", addr, prefix)
				assert.Equal(t, rule == webhook.RulePrivate, listed.Admit(name, addr) == nil, "%s of %s, listed", addr, prefix)
				assert.Equal(t, rule == webhook.RulePrivate || rule == webhook.RuleLoopback, open.Admit(name, addr) == nil, "%s of %s, listed and loopback allowed", addr, prefix)
			}
		}
	}
}

func TestNeighboursOfBlockedNetworksAreFree(t *testing.T) {
	name := webhook.Endpoint{Scheme: "https", Host: "hooks.example.com", Port: 443}
	for _, addr := range []string{
		"1.0.0.0", "9.255.255.255", "11.0.0.0", "100.63.255.255", "100.128.0.0", "126.255.255.255", "128.0.0.0", "169.253.255.255", "169.255.0.0",
		"172.15.255.255", "172.32.0.0", "191.255.255.255", "192.0.1.0", "192.0.3.0", "192.88.98.255", "192.88.100.0", "192.167.255.255", "192.169.0.0",
		"198.17.255.255", "198.20.0.0", "198.51.99.255", "198.51.101.0", "203.0.112.255", "203.0.114.0", "223.255.255.255", "8.8.8.8",
		"2001:200::", "2001:db7:ffff::", "2001:db9::", "2003::", "2606:4700::1111", "3ffe:ffff::", "3fff:1000::",
	} {
		assert.NoError(t, webhook.EgressRules{}.Admit(name, netip.MustParseAddr(addr)), addr)
	}
	for _, addr := range []string{"4000::", "1fff:ffff::", "::2", "::ffff:0:1.2.3.4", "64:ff9a::", "fbff::", "fe00::"} {
		assert.Equal(t, webhook.RuleReserved, broken(t, webhook.EgressRules{}.Admit(name, netip.MustParseAddr(addr))), "%s is outside 2000::/3", addr)
	}
	assert.Error(t, webhook.EgressRules{}.Admit(name, netip.Addr{}), "no address at all")
	assert.Error(t, webhook.EgressRules{}.Admit(name, netip.MustParseAddr("2606:4700::1%eth0")), "a zone")
}

func TestOneBadAnswerRefusesAll(t *testing.T) {
	name := webhook.Endpoint{Scheme: "https", Host: "hooks.example.com", Port: 443}
	good, bad := netip.MustParseAddr("93.184.216.34"), netip.MustParseAddr("10.0.0.7")
	for _, addrs := range [][]netip.Addr{{good, bad}, {bad, good}, {good, good, bad}} {
		_, err := webhook.EgressRules{}.Vet(name, addrs)
		assert.Equal(t, webhook.RulePrivate, broken(t, err))
		assert.NotContains(t, err.Error(), "10.0.0.7", "the rule is named, the address is not")
	}
	_, err := webhook.EgressRules{}.Vet(name, nil)
	assert.ErrorIs(t, err, project.ErrExecutionFailed)

	target, err := webhook.EgressRules{}.Vet(name, []netip.Addr{good, mapped(netip.MustParseAddr("8.8.8.8"))})
	require.NoError(t, err)
	assert.Equal(t, webhook.EgressTarget{Scheme: "https", Host: "hooks.example.com", Port: 443, Addresses: []netip.Addr{good, netip.MustParseAddr("8.8.8.8")}}, target)
	assert.Empty(t, target.Dangers())
}

func TestDangers(t *testing.T) {
	risky := webhook.EgressTarget{Scheme: "http", Addresses: []netip.Addr{netip.MustParseAddr("127.0.0.1"), netip.MustParseAddr("::1"), netip.MustParseAddr("10.0.0.1"), netip.MustParseAddr("10.0.0.2")}}
	assert.Equal(t, []string{"the request is not encrypted", "it goes to this machine", "it goes into a private network"}, risky.Dangers())
}
