package passkey_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/adapters/passkey"
	"github.com/countersign-dev/countersign/domain/canon"
	"github.com/countersign-dev/countersign/domain/enrolled"
	"github.com/countersign-dev/countersign/internal/testkit/softkey"
)

var (
	plan      = canon.SumBytes("test", []byte("plan"))
	challenge = enrolled.Challenge(plan, "cf_1")
)

func verify(t *testing.T, k enrolled.Key, over [32]byte, s passkey.Signed) error {
	t.Helper()
	doc, err := json.Marshal(s)
	require.NoError(t, err)
	return passkey.Verifier{}.Verify(k, over, doc)
}

func TestAnAssertionIsVerifiedFromBytesAlone(t *testing.T) {
	k := softkey.New(t)
	require.NoError(t, verify(t, k.Enrolled("laptop"), challenge, k.Signed(challenge, softkey.Origin)))
	k.Count = 7
	require.NoError(t, verify(t, k.Enrolled("laptop"), challenge, k.Signed(challenge, softkey.Origin)), "counters are nobody's business")
	k.Origin = "http://localhost:4000"
	require.NoError(t, verify(t, k.Enrolled("laptop"), challenge, k.Signed(challenge, k.Origin)), "the port of the day")
}

func TestWhatProvesNothing(t *testing.T) {
	k, other := softkey.New(t), softkey.New(t)
	signed := k.Signed(challenge, softkey.Origin)
	with := func(change func(*softkey.Key)) passkey.Signed {
		c := *k
		change(&c)
		return c.Signed(challenge, softkey.Origin)
	}
	for name, c := range map[string]struct {
		key    enrolled.Key
		over   [32]byte
		signed passkey.Signed
	}{
		"another plan":     {k.Enrolled("x"), enrolled.Challenge(canon.SumBytes("test", []byte("other")), "cf_1"), signed},
		"another question": {k.Enrolled("x"), enrolled.Challenge(plan, "cf_2"), signed},
		"another key":      {other.Enrolled("x"), challenge, signed},
		"not verified":     {k.Enrolled("x"), challenge, with(func(k *softkey.Key) { k.Flags = 1 })},
		"not touched":      {k.Enrolled("x"), challenge, with(func(k *softkey.Key) { k.Flags = 4 })},
		"another port":     {k.Enrolled("x"), challenge, with(func(k *softkey.Key) { k.Origin = "http://localhost:9999" })},
		"another scheme":   {k.Enrolled("x"), challenge, with(func(k *softkey.Key) { k.Origin = "https://localhost:8317" })},
		"another name": {k.Enrolled("x"), challenge, with(func(k *softkey.Key) {
			k.Origin = "http://evil.localhost:8317"
		})},
		"another RP":      {k.Enrolled("x"), challenge, with(func(k *softkey.Key) { k.RPID = "example.org" })},
		"within a page":   {k.Enrolled("x"), challenge, with(func(k *softkey.Key) { k.Cross = true })},
		"no signature":    {k.Enrolled("x"), challenge, passkey.Signed{Origin: signed.Origin, ClientData: signed.ClientData, AuthenticatorData: signed.AuthenticatorData}},
		"nothing":         {k.Enrolled("x"), challenge, passkey.Signed{}},
		"served elsewere": {k.Enrolled("x"), challenge, k.Signed(challenge, "http://127.0.0.1:8317")},
		"other bytes":     {k.Enrolled("x"), challenge, passkey.Signed{Origin: signed.Origin, ClientData: signed.ClientData, AuthenticatorData: append([]byte{1}, signed.AuthenticatorData[1:]...), Signature: signed.Signature}},
	} {
		t.Run(name, func(t *testing.T) { require.ErrorIs(t, verify(t, c.key, c.over, c.signed), enrolled.ErrUnproven) })
	}
	for _, doc := range []string{"", "{}", "null", `{"origin":1}`, `{"origin":"http://localhost:8317","more":1}`} {
		require.ErrorIs(t, passkey.Verifier{}.Verify(k.Enrolled("x"), challenge, json.RawMessage(doc)), enrolled.ErrUnproven, doc)
	}
}

func TestARegistrationIsTheKeyThatThenSigns(t *testing.T) {
	k := softkey.New(t)
	made, err := passkey.Registered(k.Registration(challenge), challenge, softkey.Origin)
	require.NoError(t, err)
	assert.Equal(t, k.Public(), made.Public)
	assert.Equal(t, "localhost", made.RPID)
	assert.Equal(t, []string{"internal"}, made.Transports)
	require.NoError(t, verify(t, made, challenge, k.Signed(challenge, softkey.Origin)))

	_, err = passkey.Registered(k.Registration(enrolled.Challenge(plan, "cf_2")), challenge, softkey.Origin)
	require.ErrorIs(t, err, enrolled.ErrKey, "asked for by another page")
	_, err = passkey.Registered(k.Registration(challenge), challenge, "http://localhost:1")
	require.ErrorIs(t, err, enrolled.ErrKey, "another origin")
	_, err = passkey.Registered(k.Registration(challenge), challenge, "http://127.0.0.1:8317")
	require.ErrorIs(t, err, enrolled.ErrKey, "no name")
	k.Flags = 1
	_, err = passkey.Registered(k.Registration(challenge), challenge, softkey.Origin)
	require.ErrorIs(t, err, enrolled.ErrKey)
	assert.Contains(t, err.Error(), "did not verify its user")
	_, err = passkey.Registered([]byte("{}"), challenge, softkey.Origin)
	require.ErrorIs(t, err, enrolled.ErrKey)
}

func TestWhichNamesHavePasskeys(t *testing.T) {
	for origin, want := range map[string]string{"http://localhost:8317": "localhost", "http://localhost": "localhost", "http://countersign.localhost:1": "countersign.localhost",
		"https://example.org": "example.org", "https://example.org:8443": "example.org"} {
		name, ok := passkey.RPID(origin)
		assert.True(t, ok, origin)
		assert.Equal(t, want, name)
	}
	for _, origin := range []string{"http://127.0.0.1:8317", "http://[::1]:8317", "https://10.0.0.1", "http://example.org", "http://notlocalhost", "localhost", "", "https://a@b.c", "https://b.c/x", "ftp://localhost"} {
		_, ok := passkey.RPID(origin)
		assert.False(t, ok, origin)
	}
}

func TestWhatCanBeEnrolled(t *testing.T) {
	k := softkey.New(t)
	require.NoError(t, passkey.Verifier{}.Usable(k.Enrolled("x")))
	for _, change := range []func(*enrolled.Key){
		func(k *enrolled.Key) { k.Public = []byte{1} }, func(k *enrolled.Key) { k.RPID = "127.0.0.1" }, func(k *enrolled.Key) { k.RPID = "http://localhost" },
		func(k *enrolled.Key) { k.Credential = "a+b" },
	} {
		broken := k.Enrolled("x")
		change(&broken)
		require.ErrorIs(t, passkey.Verifier{}.Usable(broken), enrolled.ErrKey)
	}
}
