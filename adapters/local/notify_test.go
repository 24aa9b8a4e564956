package local_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/adapters/local"
	"github.com/countersign-dev/countersign/internal/testkit/nopolicy"
)

// told returns the channels, by name and place, that config.yaml and the environment make.
func told(t *testing.T, text string, over local.Config, pairs map[string]string) ([]string, error) {
	t.Helper()
	home := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(home, "config.yaml"), []byte(text), 0o600))
	if pairs == nil {
		pairs = map[string]string{}
	}
	pairs["COUNTERSIGN_HOME"] = home
	c, err := local.EnvironmentOver(over, environment(t, pairs))
	if err != nil {
		return nil, err
	}
	l, err := local.Open(c)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, l.Close()) })
	all, err := l.Notifier().State(t.Context())
	var names []string
	for _, c := range all {
		names = append(names, strings.TrimSpace(c.Name+" "+c.Where))
	}
	return names, err
}

func TestChannelsOfTheConfiguration(t *testing.T) {
	names, err := told(t, `notify:
  desktop: false
  reminder: 90m
  per_minute: 2
  ntfy: {url: "https://ntfy.example", topic: mine, token: "env:NTFY_TOKEN"}
  webhook: {url: "file:/home/me/hook-url", secret: "file:/home/me/hook", preset: slack}
  mail: {smtp: "127.0.0.1:25", from: me@example.org, to: [you@example.org], starttls: false}
`, local.Config{Trust: nopolicy.Trust(t.TempDir()), Options: local.Defaults(), Notify: local.Notify{Desktop: true}}, map[string]string{"DISPLAY": ":0", "DBUS_SESSION_BUS_ADDRESS": "unix:path=/nowhere"})
	require.NoError(t, err)
	assert.Equal(t, []string{"ntfy https://ntfy.example", "webhook file:/home/me/hook-url", "mail smtp://127.0.0.1:25"}, names)
}

// TestTheDesktopIsToldWhereThereIsOne, by programs that chose so, unless the configuration says otherwise.
func TestTheDesktopIsToldWhereThereIsOne(t *testing.T) {
	session := map[string]string{"DISPLAY": ":0", "DBUS_SESSION_BUS_ADDRESS": "unix:path=/nowhere"}
	command := local.Config{Trust: nopolicy.Trust(t.TempDir()), Options: local.Defaults(), Notify: local.Notify{Desktop: true}}
	embedded := local.Config{Trust: nopolicy.Trust(t.TempDir()), Options: local.Defaults()}
	for name, c := range map[string]struct {
		text string
		over local.Config
		want []string
	}{
		"a command": {"\n", command, []string{"desktop this desktop"}}, "an embedding program": {"\n", embedded, nil},
		"switched off": {"notify: {desktop: false}\n", command, nil}, "switched on": {"notify: {desktop: true}\n", embedded, []string{"desktop this desktop"}},
	} {
		names, err := told(t, c.text, c.over, session)
		require.NoError(t, err, name)
		assert.Equal(t, c.want, names, name)
	}
	names, err := told(t, "\n", command, nil)
	require.NoError(t, err)
	assert.Empty(t, names, "no session of a desktop")
}

func TestChannelsThatAreNotUnderstood(t *testing.T) {
	const secret = "tk_not-to-be-repeated"
	for text, says := range map[string]string{
		"notify: {fax: true}\n":                                                       "fax",
		"notify: {ntfy: {url: 'https://x', topic: t, tokn: y}}\n":                     "tokn",
		"notify: {ntfy: {url: 'https://x', topic: t, token: " + secret + "}}\n":       "env:NAME or file:PATH",
		"notify: {ntfy: {url: 'https://x'}}\n":                                        "notify.ntfy: a topic",
		"notify: {webhook: {url: 'https://x', template: '{{.Arguments}}'}}\n":         "{{.Arguments}}",
		"notify: {webhook: {url: 'https://x', secret: " + secret + "}}\n":             "env:NAME or file:PATH",
		"notify: {mail: {smtp: host, from: a@b.c, to: [a@b.c]}}\n":                    "with a port",
		"notify: {reminder: soon}\n":                                                  "notify.reminder",
		"notify: {per_minute: 1000}\n":                                                "per_minute",
		"notify: {desktop: perhaps}\n":                                                "notify.desktop",
		"notify: {mail: {smtp: 'h:25', from: a@b.c, to: [a@b.c], starttls: maybe}}\n": "starttls",
	} {
		_, err := told(t, text, local.Config{Trust: nopolicy.Trust(t.TempDir()), Options: local.Defaults()}, nil)
		require.ErrorIs(t, err, local.ErrConfig, text)
		assert.Contains(t, err.Error(), says, text)
		assert.NotContains(t, err.Error(), secret)
	}
}
