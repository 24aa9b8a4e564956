package webhook_test

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/project"
	"github.com/countersign-dev/countersign/domain/project/webhook"
)

// broken returns the rule an error says was broken.
func broken(t testing.TB, err error) webhook.EgressViolation {
	t.Helper()
	require.ErrorIs(t, err, project.ErrURLBlocked)
	details, ok := fault.From(err).Details.(webhook.Blocked)
	require.True(t, ok, "the details name the rule")
	return details.Rule
}

func TestURLsThatAreRefused(t *testing.T) {
	for raw, want := range map[string]webhook.EgressViolation{
		"":                                      webhook.RuleForm,
		"hooks.example.com/x":                   webhook.RuleForm,
		"//hooks.example.com/x":                 webhook.RuleForm,
		"https:hooks.example.com":               webhook.RuleForm,
		"https:///x":                            webhook.RuleForm,
		"https://":                              webhook.RuleForm,
		"https://hooks.example.com/a b":         webhook.RuleForm,
		"https://hooks.example.com/\r\nX: y":    webhook.RuleForm,
		"https://hooks.example.com\\@10.0.0.1/": webhook.RuleForm,
		"https://hooks.example.com/\x00":        webhook.RuleForm,
		"https://\xff.example.com/":             webhook.RuleForm,
		"https://hooks.example.com:x/":          webhook.RuleForm,
		"https://[::1/":                         webhook.RuleForm,
		"https://a.example/" + strings.Repeat("x", webhook.MaxURL): webhook.RuleForm,
		"file:///etc/passwd":                                     webhook.RuleScheme,
		"ftp://hooks.example.com/":                               webhook.RuleScheme,
		"javascript://hooks.example.com/":                        webhook.RuleScheme,
		"http://hooks.example.com/":                              webhook.RuleScheme,
		"HTTP://hooks.example.com/":                              webhook.RuleScheme,
		"https://me:pw@hooks.example.com/":                       webhook.RuleUserinfo,
		"https://hooks.example.com@127.0.0.1/":                   webhook.RuleUserinfo,
		"https://@hooks.example.com/":                            webhook.RuleUserinfo,
		"https://hooks.example.com/#x":                           webhook.RuleFragment,
		"https://hooks.example.com#@10.0.0.1/":                   webhook.RuleFragment,
		"https://{{host}}/x":                                     webhook.RuleHostTemplate,
		"https://hooks.{{zone}}.example/x":                       webhook.RuleHostTemplate,
		"https://hooks.example.com:{{port}}/x":                   webhook.RuleHostTemplate,
		"{{scheme}}://hooks.example.com/x":                       webhook.RuleHostTemplate,
		"https://hooks.example.com{{path}}":                      webhook.RuleHostTemplate,
		"https://{host}/x":                                       webhook.RuleHostTemplate,
		"https://a..example/":                                    webhook.RuleHost,
		"https://.example.com/":                                  webhook.RuleHost,
		"https://example.com../":                                 webhook.RuleHost,
		"https://-a.example/":                                    webhook.RuleHost,
		"https://a!b.example/":                                   webhook.RuleHost,
		"https://" + strings.Repeat("a", 64) + ".example/":       webhook.RuleHost,
		"https://" + strings.Repeat("abcdefg.", 40) + "example/": webhook.RuleHost,
		"https://１２７.０.０.１/":                                     webhook.RuleHost, // full width
		"https://127。0。0。1/":                                     webhook.RuleHost, // ideographic full stops
		"https://ⓔxample.com/":                                   webhook.RuleHost,
		"https://exa\u200bmple.com/":                             webhook.RuleHost, // zero-width space
		"https://2130706433/":                                    webhook.RuleNumericHost,
		"https://0x7f000001/":                                    webhook.RuleNumericHost,
		"https://0X7F000001/":                                    webhook.RuleNumericHost,
		"https://0177.0.0.1/":                                    webhook.RuleNumericHost,
		"https://127.1/":                                         webhook.RuleNumericHost,
		"https://0/":                                             webhook.RuleNumericHost,
		"https://0x/":                                            webhook.RuleNumericHost,
		"https://127.0.0.1./":                                    webhook.RuleNumericHost,
		"https://127.0.0.0x1/":                                   webhook.RuleNumericHost,
		"https://256.256.256.256/":                               webhook.RuleNumericHost,
		"https://example.123/":                                   webhook.RuleNumericHost,
		"https://[127.0.0.1]/":                                   webhook.RuleForm,
		"https://[hooks.example.com]/":                           webhook.RuleForm,
		"https://[fe80::1%25eth0]/":                              webhook.RuleZone,
		"https://metadata.google.internal/":                      webhook.RuleMetadata,
		"https://METADATA.google.internal./":                     webhook.RuleMetadata,
		"https://169.254.169.254/":                               webhook.RuleMetadata,
		"https://169.254.170.2/":                                 webhook.RuleMetadata,
		"https://100.100.100.200/":                               webhook.RuleMetadata,
		"https://192.0.0.192/":                                   webhook.RuleMetadata,
		"https://[fd00:ec2::254]/":                               webhook.RuleMetadata,
		"https://[::ffff:169.254.169.254]/":                      webhook.RuleMetadata,
		"https://localhost/":                                     webhook.RuleLocalName,
		"https://LocalHost./":                                    webhook.RuleLocalName,
		"https://api.localhost/":                                 webhook.RuleLocalName,
		"https://printer.local/":                                 webhook.RuleLocalName,
		"https://vault.internal/":                                webhook.RuleLocalName,
		"https://hooks.example.com:80/":                          webhook.RulePort,
		"https://hooks.example.com:22/":                          webhook.RulePort,
		"https://hooks.example.com:8080/":                        webhook.RulePort,
		"https://hooks.example.com:0/":                           webhook.RulePort,
		"https://hooks.example.com:/":                            webhook.RulePort,
		"https://hooks.example.com:65979/":                       webhook.RulePort, // 443 modulo 65536
		"https://127.0.0.1/":                                     webhook.RuleLoopback,
		"https://[::1]/":                                         webhook.RuleLoopback,
		"https://[::ffff:127.0.0.1]/":                            webhook.RuleLoopback,
		"https://[::ffff:7f00:1]/":                               webhook.RuleLoopback,
		"https://[0:0:0:0:0:0:0:1]/":                             webhook.RuleLoopback,
		"https://10.0.0.1/":                                      webhook.RulePrivate,
		"https://[::ffff:10.0.0.1]/":                             webhook.RulePrivate,
		"https://[fd12::1]/":                                     webhook.RulePrivate,
		"https://0.0.0.0/":                                       webhook.RuleReserved,
		"https://[::]/":                                          webhook.RuleReserved,
		"https://[::127.0.0.1]/":                                 webhook.RuleReserved, // IPv4-compatible
		"https://[64:ff9b::7f00:1]/":                             webhook.RuleReserved, // NAT64
		"https://[2002:7f00:1::]/":                               webhook.RuleReserved, // 6to4
		"https://[2001:0:7f00:1::]/":                             webhook.RuleReserved, // Teredo
		"https://[4000::1]/":                                     webhook.RuleReserved,
		"https://169.254.1.1/":                                   webhook.RuleReserved,
	} {
		_, err := webhook.EgressRules{}.Endpoint(raw)
		if assert.Error(t, err, raw) {
			assert.Equal(t, want, broken(t, err), raw)
		}
	}
}

func TestURLsThatPass(t *testing.T) {
	for raw, want := range map[string]webhook.Endpoint{
		"https://hooks.example.com":               {Scheme: "https", Host: "hooks.example.com", Port: 443},
		"HTTPS://Hooks.Example.COM./a?b=c":        {Scheme: "https", Host: "hooks.example.com", Port: 443},
		"https://hooks.example.com:8443/":         {Scheme: "https", Host: "hooks.example.com", Port: 8443},
		"https://hooks.example.com:0443/":         {Scheme: "https", Host: "hooks.example.com", Port: 443},
		"https://bücher.example/":                 {Scheme: "https", Host: "xn--bcher-kva.example", Port: 443},
		"https://BÜCHER.example/":                 {Scheme: "https", Host: "xn--bcher-kva.example", Port: 443},
		"https://b%C3%BCcher.example/":            {Scheme: "https", Host: "xn--bcher-kva.example", Port: 443},
		"https://münchen.de/{{a}}?x={{b}}":        {Scheme: "https", Host: "xn--mnchen-3ya.de", Port: 443},
		"https://правда.example/":                 {Scheme: "https", Host: "xn--80aafi6cg.example", Port: 443},
		"https://他们为什么不说中文.example/":              {Scheme: "https", Host: "xn--ihqwcrb4cv8a8dqg056pqjye.example", Port: 443},
		"https://למההםפשוטלאמדבריםעברית.example/": {Scheme: "https", Host: "xn--4dbcagdahymbxekheh6e0a7fei0b.example", Port: 443},
		"https://3年b組金八先生.example/":               {Scheme: "https", Host: "xn--3b-ww4c5e180e575a65lsy2b.example", Port: 443}, // RFC 3492 §7.1 (L)
		"https://xn--bcher-kva.example/":          {Scheme: "https", Host: "xn--bcher-kva.example", Port: 443},
		"https://_dmarc.example.com/":             {Scheme: "https", Host: "_dmarc.example.com", Port: 443},
		"https://1.example.com/":                  {Scheme: "https", Host: "1.example.com", Port: 443},
		"https://8.8.8.8/":                        {Scheme: "https", Host: "8.8.8.8", Port: 443, Addr: netip.MustParseAddr("8.8.8.8")},
		"https://[2606:4700:0:0::1111]/":          {Scheme: "https", Host: "2606:4700::1111", Port: 443, Addr: netip.MustParseAddr("2606:4700::1111")},
		"https://notlocalhost.example/":           {Scheme: "https", Host: "notlocalhost.example", Port: 443},
		"https://hooks.example.com/@10.0.0.1/":    {Scheme: "https", Host: "hooks.example.com", Port: 443},
	} {
		have, err := webhook.EgressRules{}.Endpoint(raw)
		if assert.NoError(t, err, raw) {
			assert.Equal(t, want, have, raw)
		}
	}
}

func TestWhatAListedHostOpens(t *testing.T) {
	listed := func(hosts ...string) webhook.EgressRules { return webhook.EgressRules{AllowHosts: hosts} }
	loopback := func(hosts ...string) webhook.EgressRules {
		return webhook.EgressRules{AllowHosts: hosts, AllowLoopback: true}
	}
	for _, c := range []struct {
		raw   string
		rules webhook.EgressRules
		want  webhook.EgressViolation // empty: allowed
	}{
		{"http://hooks.example.com/", listed("hooks.example.com:80"), ""},
		{"http://hooks.example.com/", listed("HOOKS.example.com.:80"), ""},
		{"http://hooks.example.com/", listed("hooks.example.com:443"), webhook.RuleScheme},
		{"http://hooks.example.com:8080/", listed("hooks.example.com:8080"), ""},
		{"https://hooks.example.com:8080/", listed("hooks.example.com:8080"), ""},
		{"https://hooks.example.com:8081/", listed("hooks.example.com:8080"), webhook.RulePort},
		{"https://www.hooks.example.com:8080/", listed("hooks.example.com:8080"), webhook.RulePort},
		{"https://bücher.example:8080/", listed("bücher.example:8080"), ""},
		{"https://vault.internal:8200/", listed("vault.internal:8200"), ""},
		{"https://vault.internal/", listed("vault.internal:8200"), webhook.RuleLocalName},
		{"https://10.1.2.3:8080/", listed("10.1.2.3:8080"), ""},
		{"https://[::ffff:10.1.2.3]:8080/", listed("10.1.2.3:8080"), webhook.RulePort},
		{"https://[fd00::1]:8080/", listed("[fd00:0::1]:8080"), ""},
		{"https://100.64.1.1/", listed("100.64.1.1:443"), ""},
		{"https://localhost:3000/", listed("localhost:3000"), webhook.RuleLoopback},
		{"https://localhost:3000/", loopback(), webhook.RuleLocalName},
		{"https://127.0.0.1/", loopback(), webhook.RuleLoopback},
		{"http://127.0.0.1:3000/", loopback("localhost:3000"), webhook.RuleScheme},
		{"http://localhost:3000/", loopback("localhost:3000"), ""},
		{"http://127.0.0.1:3000/", loopback("127.0.0.1:3000"), ""},
		{"http://[::1]:3000/", loopback("[::1]:3000"), ""},
		{"http://169.254.169.254/", loopback("169.254.169.254:80"), webhook.RuleMetadata},
		{"https://metadata.google.internal/", loopback("metadata.google.internal:443"), webhook.RuleMetadata},
		{"https://100.100.100.200/", listed("100.100.100.200:443"), webhook.RuleMetadata},
		{"https://[fd00:ec2::254]/", listed("[fd00:ec2::254]:443"), webhook.RuleMetadata},
		{"https://169.254.1.1/", listed("169.254.1.1:443"), webhook.RuleReserved},
		{"https://0.0.0.0:3000/", loopback("0.0.0.0:3000"), webhook.RuleReserved},
		{"http://localhost:7777/", webhook.EgressRules{AllowLoopback: true, AllowHosts: []string{"localhost:7777"}, Never: []uint16{7777}}, webhook.RuleOwnPort},
		{"https://hooks.example.com:8443/", webhook.EgressRules{Never: []uint16{8443}}, webhook.RuleOwnPort},
		{"https://2130706433/", loopback("2130706433:443"), webhook.RuleNumericHost},
	} {
		_, err := c.rules.Endpoint(c.raw)
		if c.want == "" {
			assert.NoError(t, err, "%s %+v", c.raw, c.rules)
		} else if assert.Error(t, err, "%s %+v", c.raw, c.rules) {
			assert.Equal(t, c.want, broken(t, err), "%s %+v", c.raw, c.rules)
		}
	}
}

func TestEntriesOfTheList(t *testing.T) {
	for _, entry := range []string{"localhost:3000", "127.0.0.1:3000", "[::1]:3000", "10.0.0.1:80", "hooks.example.com:443", "bücher.example:8080"} {
		assert.NoError(t, webhook.EgressRules{AllowHosts: []string{entry}}.Validate(), entry)
	}
	for _, entry := range []string{
		"", "localhost", "localhost:", "localhost:0", "localhost:70000", "localhost:x", ":80", "http://localhost:80", "*:80", "*.example.com:443",
		"[fe80::1%eth0]:80", "::1:80", "2130706433:80", "a b:80", "me@host:80",
		"169.254.169.254:80", "metadata.google.internal:80", "169.254.1.1:80", "0.0.0.0:80", "[ff02::1]:80", "100.100.100.200:80",
	} {
		assert.ErrorIs(t, webhook.EgressRules{AllowHosts: []string{"hooks.example.com:443", entry}}.Validate(), project.ErrURLBlocked, entry)
	}
}
