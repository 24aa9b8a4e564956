package egress_test

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/project"
	"github.com/countersign-dev/countersign/domain/project/webhook/egress"
)

// broken is the rule an error says was broken.
func broken(t testing.TB, err error) egress.Rule {
	t.Helper()
	require.ErrorIs(t, err, project.ErrURLBlocked)
	details, ok := fault.From(err).Details.(egress.Blocked)
	require.True(t, ok, "the details name the rule")
	return details.Rule
}

func TestURLsThatAreRefused(t *testing.T) {
	for raw, want := range map[string]egress.Rule{
		"":                                      egress.RuleForm,
		"hooks.example.com/x":                   egress.RuleForm,
		"//hooks.example.com/x":                 egress.RuleForm,
		"https:hooks.example.com":               egress.RuleForm,
		"https:///x":                            egress.RuleForm,
		"https://":                              egress.RuleForm,
		"https://hooks.example.com/a b":         egress.RuleForm,
		"https://hooks.example.com/\r\nX: y":    egress.RuleForm,
		"https://hooks.example.com\\@10.0.0.1/": egress.RuleForm,
		"https://hooks.example.com/\x00":        egress.RuleForm,
		"https://\xff.example.com/":             egress.RuleForm,
		"https://hooks.example.com:x/":          egress.RuleForm,
		"https://[::1/":                         egress.RuleForm,
		"https://a.example/" + strings.Repeat("x", egress.MaxURL): egress.RuleForm,
		"file:///etc/passwd":                                     egress.RuleScheme,
		"ftp://hooks.example.com/":                               egress.RuleScheme,
		"javascript://hooks.example.com/":                        egress.RuleScheme,
		"http://hooks.example.com/":                              egress.RuleScheme,
		"HTTP://hooks.example.com/":                              egress.RuleScheme,
		"https://me:pw@hooks.example.com/":                       egress.RuleUserinfo,
		"https://hooks.example.com@127.0.0.1/":                   egress.RuleUserinfo,
		"https://@hooks.example.com/":                            egress.RuleUserinfo,
		"https://hooks.example.com/#x":                           egress.RuleFragment,
		"https://hooks.example.com#@10.0.0.1/":                   egress.RuleFragment,
		"https://{{host}}/x":                                     egress.RuleHostTemplate,
		"https://hooks.{{zone}}.example/x":                       egress.RuleHostTemplate,
		"https://hooks.example.com:{{port}}/x":                   egress.RuleHostTemplate,
		"{{scheme}}://hooks.example.com/x":                       egress.RuleHostTemplate,
		"https://hooks.example.com{{path}}":                      egress.RuleHostTemplate,
		"https://{host}/x":                                       egress.RuleHostTemplate,
		"https://a..example/":                                    egress.RuleHost,
		"https://.example.com/":                                  egress.RuleHost,
		"https://example.com../":                                 egress.RuleHost,
		"https://-a.example/":                                    egress.RuleHost,
		"https://a!b.example/":                                   egress.RuleHost,
		"https://" + strings.Repeat("a", 64) + ".example/":       egress.RuleHost,
		"https://" + strings.Repeat("abcdefg.", 40) + "example/": egress.RuleHost,
		"https://１２７.０.０.１/":                                     egress.RuleHost, // full width
		"https://127。0。0。1/":                                     egress.RuleHost, // ideographic full stops
		"https://ⓔxample.com/":                                   egress.RuleHost,
		"https://exa\u200bmple.com/":                             egress.RuleHost, // zero-width space
		"https://2130706433/":                                    egress.RuleNumericHost,
		"https://0x7f000001/":                                    egress.RuleNumericHost,
		"https://0X7F000001/":                                    egress.RuleNumericHost,
		"https://0177.0.0.1/":                                    egress.RuleNumericHost,
		"https://127.1/":                                         egress.RuleNumericHost,
		"https://0/":                                             egress.RuleNumericHost,
		"https://0x/":                                            egress.RuleNumericHost,
		"https://127.0.0.1./":                                    egress.RuleNumericHost,
		"https://127.0.0.0x1/":                                   egress.RuleNumericHost,
		"https://256.256.256.256/":                               egress.RuleNumericHost,
		"https://example.123/":                                   egress.RuleNumericHost,
		"https://[127.0.0.1]/":                                   egress.RuleForm,
		"https://[hooks.example.com]/":                           egress.RuleForm,
		"https://[fe80::1%25eth0]/":                              egress.RuleZone,
		"https://metadata.google.internal/":                      egress.RuleMetadata,
		"https://METADATA.google.internal./":                     egress.RuleMetadata,
		"https://169.254.169.254/":                               egress.RuleMetadata,
		"https://169.254.170.2/":                                 egress.RuleMetadata,
		"https://100.100.100.200/":                               egress.RuleMetadata,
		"https://192.0.0.192/":                                   egress.RuleMetadata,
		"https://[fd00:ec2::254]/":                               egress.RuleMetadata,
		"https://[::ffff:169.254.169.254]/":                      egress.RuleMetadata,
		"https://localhost/":                                     egress.RuleLocalName,
		"https://LocalHost./":                                    egress.RuleLocalName,
		"https://api.localhost/":                                 egress.RuleLocalName,
		"https://printer.local/":                                 egress.RuleLocalName,
		"https://vault.internal/":                                egress.RuleLocalName,
		"https://hooks.example.com:80/":                          egress.RulePort,
		"https://hooks.example.com:22/":                          egress.RulePort,
		"https://hooks.example.com:8080/":                        egress.RulePort,
		"https://hooks.example.com:0/":                           egress.RulePort,
		"https://hooks.example.com:/":                            egress.RulePort,
		"https://hooks.example.com:65979/":                       egress.RulePort, // 443 modulo 65536
		"https://127.0.0.1/":                                     egress.RuleLoopback,
		"https://[::1]/":                                         egress.RuleLoopback,
		"https://[::ffff:127.0.0.1]/":                            egress.RuleLoopback,
		"https://[::ffff:7f00:1]/":                               egress.RuleLoopback,
		"https://[0:0:0:0:0:0:0:1]/":                             egress.RuleLoopback,
		"https://10.0.0.1/":                                      egress.RulePrivate,
		"https://[::ffff:10.0.0.1]/":                             egress.RulePrivate,
		"https://[fd12::1]/":                                     egress.RulePrivate,
		"https://0.0.0.0/":                                       egress.RuleReserved,
		"https://[::]/":                                          egress.RuleReserved,
		"https://[::127.0.0.1]/":                                 egress.RuleReserved, // IPv4-compatible
		"https://[64:ff9b::7f00:1]/":                             egress.RuleReserved, // NAT64
		"https://[2002:7f00:1::]/":                               egress.RuleReserved, // 6to4
		"https://[2001:0:7f00:1::]/":                             egress.RuleReserved, // Teredo
		"https://[4000::1]/":                                     egress.RuleReserved,
		"https://169.254.1.1/":                                   egress.RuleReserved,
	} {
		_, err := egress.Rules{}.Endpoint(raw)
		if assert.Error(t, err, raw) {
			assert.Equal(t, want, broken(t, err), raw)
		}
	}
}

func TestURLsThatPass(t *testing.T) {
	for raw, want := range map[string]egress.Endpoint{
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
		have, err := egress.Rules{}.Endpoint(raw)
		if assert.NoError(t, err, raw) {
			assert.Equal(t, want, have, raw)
		}
	}
}

func TestWhatAListedHostOpens(t *testing.T) {
	listed := func(hosts ...string) egress.Rules { return egress.Rules{AllowHosts: hosts} }
	loopback := func(hosts ...string) egress.Rules { return egress.Rules{AllowHosts: hosts, AllowLoopback: true} }
	for _, c := range []struct {
		raw   string
		rules egress.Rules
		want  egress.Rule // empty: allowed
	}{
		{"http://hooks.example.com/", listed("hooks.example.com:80"), ""},
		{"http://hooks.example.com/", listed("HOOKS.example.com.:80"), ""},
		{"http://hooks.example.com/", listed("hooks.example.com:443"), egress.RuleScheme},
		{"http://hooks.example.com:8080/", listed("hooks.example.com:8080"), ""},
		{"https://hooks.example.com:8080/", listed("hooks.example.com:8080"), ""},
		{"https://hooks.example.com:8081/", listed("hooks.example.com:8080"), egress.RulePort},
		{"https://www.hooks.example.com:8080/", listed("hooks.example.com:8080"), egress.RulePort},
		{"https://bücher.example:8080/", listed("bücher.example:8080"), ""},
		{"https://vault.internal:8200/", listed("vault.internal:8200"), ""},
		{"https://vault.internal/", listed("vault.internal:8200"), egress.RuleLocalName},
		{"https://10.1.2.3:8080/", listed("10.1.2.3:8080"), ""},
		{"https://[::ffff:10.1.2.3]:8080/", listed("10.1.2.3:8080"), egress.RulePort},
		{"https://[fd00::1]:8080/", listed("[fd00:0::1]:8080"), ""},
		{"https://100.64.1.1/", listed("100.64.1.1:443"), ""},
		{"https://localhost:3000/", listed("localhost:3000"), egress.RuleLoopback},
		{"https://localhost:3000/", loopback(), egress.RuleLocalName},
		{"https://127.0.0.1/", loopback(), egress.RuleLoopback},
		{"http://127.0.0.1:3000/", loopback("localhost:3000"), egress.RuleScheme},
		{"http://localhost:3000/", loopback("localhost:3000"), ""},
		{"http://127.0.0.1:3000/", loopback("127.0.0.1:3000"), ""},
		{"http://[::1]:3000/", loopback("[::1]:3000"), ""},
		{"http://169.254.169.254/", loopback("169.254.169.254:80"), egress.RuleMetadata},
		{"https://metadata.google.internal/", loopback("metadata.google.internal:443"), egress.RuleMetadata},
		{"https://100.100.100.200/", listed("100.100.100.200:443"), egress.RuleMetadata},
		{"https://[fd00:ec2::254]/", listed("[fd00:ec2::254]:443"), egress.RuleMetadata},
		{"https://169.254.1.1/", listed("169.254.1.1:443"), egress.RuleReserved},
		{"https://0.0.0.0:3000/", loopback("0.0.0.0:3000"), egress.RuleReserved},
		{"http://localhost:7777/", egress.Rules{AllowLoopback: true, AllowHosts: []string{"localhost:7777"}, Never: []uint16{7777}}, egress.RuleOwnPort},
		{"https://hooks.example.com:8443/", egress.Rules{Never: []uint16{8443}}, egress.RuleOwnPort},
		{"https://2130706433/", loopback("2130706433:443"), egress.RuleNumericHost},
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
		assert.NoError(t, egress.Rules{AllowHosts: []string{entry}}.Validate(), entry)
	}
	for _, entry := range []string{
		"", "localhost", "localhost:", "localhost:0", "localhost:70000", "localhost:x", ":80", "http://localhost:80", "*:80", "*.example.com:443",
		"[fe80::1%eth0]:80", "::1:80", "2130706433:80", "a b:80", "me@host:80",
		"169.254.169.254:80", "metadata.google.internal:80", "169.254.1.1:80", "0.0.0.0:80", "[ff02::1]:80", "100.100.100.200:80",
	} {
		assert.ErrorIs(t, egress.Rules{AllowHosts: []string{"hooks.example.com:443", entry}}.Validate(), project.ErrURLBlocked, entry)
	}
}
