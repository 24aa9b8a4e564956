//go:build linux

package main

import (
	"crypto/ed25519"
	"crypto/rand"
	"database/sql"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/crypto/ssh"
	sshagent "golang.org/x/crypto/ssh/agent"

	"github.com/countersign-dev/countersign/adapters/local"
	"github.com/countersign-dev/countersign/adapters/sshkeys"
	"github.com/countersign-dev/countersign/domain/confirm"
	"github.com/countersign-dev/countersign/domain/enrolled"
	"github.com/countersign-dev/countersign/domain/policy"
	"github.com/countersign-dev/countersign/internal/testkit/securitykey"
)

// toucher is a machine on which the user has security keys in an ssh agent, beside a plain key, and one project.
type toucher struct {
	*consoleFixture
	key, spare *securitykey.Key
	socket     string // of the agent
	plain      string // of one with nothing but a plain key
	mark       args
}

func newToucher(t *testing.T) *toucher {
	needs(t, "npm")
	t.Parallel()
	u := &toucher{key: securitykey.Ed25519(t, "ssh:"), spare: securitykey.ECDSA(t, "ssh:")}
	u.key.Comment, u.spare.Comment = "on the ring", "in the drawer"
	_, plain, err := ed25519.GenerateKey(rand.Reader)
	require.NoError(t, err)
	ring := sshagent.NewKeyring()
	require.NoError(t, ring.Add(sshagent.AddedKey{PrivateKey: plain, Comment: "plain"}))
	u.plain = securitykey.Agent(t, ring)
	u.socket = securitykey.Agent(t, ring, u.key, u.spare)
	u.consoleFixture = newBureau(t, "SSH_AUTH_SOCK="+u.socket)
	u.mark = args{"project_path": u.shop(map[string]string{"mark": "echo done >> mark"}, nil), "script_name": "mark"}
	return u
}

// marks returns how often the script has run.
func (u *toucher) marks() int {
	u.t.Helper()
	text, err := os.ReadFile(filepath.Join(u.at("shop"), "mark"))
	if !errors.Is(err, fs.ErrNotExist) {
		require.NoError(u.t, err)
	}
	return strings.Count(string(text), "done")
}

// fingerprint returns what the key is found by.
func fingerprint(k *securitykey.Key) string { return ssh.FingerprintSHA256(k.Public) }

// enrols enrols the key that is on the ring: at a terminal, and approved in the console.
func (u *toucher) enrols() {
	u.t.Helper()
	s := u.sits(140, 50, "keys", "add", "--key", fingerprint(u.key))
	s.sees("touch the security key on the ring now", "a decision in the console", "Waiting; Ctrl-C")
	q := u.questions(1)[0]
	seen, code := u.atTerminal("y", "approve", q.ID)
	assert.Equal(u.t, 6, code, "a terminal alone enrols nothing: %s", seen)
	assert.Contains(u.t, seen, "needs a decision in the console")
	v := u.visitor()
	form := v.form("/approvals/" + q.ID)
	form.Set("decision", "approve")
	status, text := v.send("POST", "/approvals/"+q.ID, form)
	require.Equal(u.t, 200, status, text)
	s.sees("enrolled the security key on the ring")
	<-s.exited
	require.Zero(u.t, s.cmd.ProcessState.ExitCode())
}

// audited holds the record to being whole, with every proof in it.
func (u *toucher) audited() {
	u.t.Helper()
	out, problems, code := u.try("audit", "verify")
	assert.Zero(u.t, code, "%s%s", out, problems)
}

// TestATouchApproves: the user enrols a security key, has policy require it, and touches it for what agents ask, on either face of the terminal.
func TestATouchApproves(t *testing.T) {
	u := newToucher(t)
	u.must("policy", "require", "touch", "for", "high", "type") // which does not stand in the way of the first key
	u.enrols()
	var keys struct {
		Count int
		Keys  []struct {
			ID, Handle string
			Counts     bool
		}
	}
	u.typed(&keys, "keys", "list")
	require.Equal(t, 1, keys.Count)
	assert.True(t, keys.Keys[0].Counts)
	assert.Equal(t, fingerprint(u.key), keys.Keys[0].Handle)

	h := u.serve()
	h.send("offered", "run_script", u.mark)
	s := u.sits(140, 60, "approve", u.questions(1)[0].ID)
	s.sees("t: with a touch of your security key")
	s.types("t\n")
	s.sees("touch your security key", "approved cf_")
	_, failed := h.answer("offered")
	require.Nil(t, failed, "%+v", failed)

	u.must("policy", "require", "touch", "for", "run_script")
	assert.Contains(t, u.must("policy", "show"), "approving run_script needs")
	h.send("required", "run_script", u.mark)
	id := u.questions(1)[0].ID
	for name, flags := range map[string]byte{"signed without a touch": securitykey.Absent, "did not sign with": securitykey.Refuses} {
		u.key.Presents(flags)
		seen, code := u.atTerminal("y", "approve", id)
		assert.Equal(t, 6, code, seen)
		assert.Contains(t, seen, name)
	}
	u.key.Presents(securitykey.Touched)
	held, blocked := make(chan struct{}), make(chan struct{})
	u.key.Before(func() {
		close(held)
		<-blocked
	})
	s = u.sits(140, 60, "approve", id)
	s.sees("Approve with a touch of your security key? [y/n/a")
	s.types("y\n")
	<-held
	s.sees("touch your security key")
	s.types("\x03")
	<-s.exited
	assert.NotZero(t, s.cmd.ProcessState.ExitCode())
	close(blocked)
	u.key.Before(nil)
	u.questions(1)
	assert.Equal(t, 1, u.marks())
	seen, code := u.atTerminal("y", "approve", id)
	require.Zero(t, code, seen)
	_, failed = h.answer("required")
	require.Nil(t, failed, "%+v", failed)
	assert.Equal(t, 2, u.marks())

	h.send("screen", "run_script", u.mark)
	s = u.sits(140, 60, "approvals")
	s.sees("1 pending")
	s.types("\r")
	s.sees("approving needs a security key or a passkey", "echo done")
	held, blocked = make(chan struct{}), make(chan struct{})
	u.key.Before(func() {
		close(held)
		<-blocked
	})
	s.types("a")
	<-held
	s.sees("touch your security key", "Esc: cancel")
	s.types("\x1b")
	s.sees("nothing was decided")
	close(blocked)
	u.key.Before(nil)
	s.types("a")
	s.sees("approved", "No pending approvals")
	s.types("q")
	assert.Zero(t, s.leaves())
	_, failed = h.answer("screen")
	require.Nil(t, failed, "%+v", failed)
	assert.Equal(t, 3, u.marks())
	h.leaves()

	// Every further key wants one that is enrolled; so does taking one away, and taking the requirement back.
	seen, code = u.atTerminal("y", "keys", "add", "--name", "spare")
	require.Zero(t, code, seen)
	assert.Contains(t, seen, "touch the security key spare now")
	assert.Contains(t, seen, `touch your security key "on the ring" now`)
	before := u.spare.Asked()
	seen, code = u.atTerminal("y", "policy", "require", "none", "for", "run_script")
	require.Zero(t, code, seen)
	assert.Contains(t, seen, "touch your security key")
	seen, code = u.atTerminal("y", "keys", "remove", keys.Keys[0].ID)
	require.Zero(t, code, seen)
	assert.Equal(t, before, u.spare.Asked(), "the first one was plugged in")
	u.audited()
}

// TestTouchAttacks: what a program of the same user does that reaches the ssh agent, and the code of this software, and no person. A row fails when the
// script has run, or when its approval was taken.
func TestTouchAttacks(t *testing.T) {
	u := newToucher(t)
	u.enrols()
	u.must("policy", "require", "touch", "for", "run_script")
	h := u.serve("--confirm-wait", "0s")
	h.fails("CONFIRMATION_PENDING", "run_script", u.mark)
	id := u.questions(1)[0].ID
	in, err := local.Open(local.Config{Dir: filepath.Join(u.home, ".countersign"), Trust: local.Trust{SystemFile: filepath.Join(u.base, "none"), AccountHome: u.home}})
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, in.Close()) })
	views, err := in.Confirmations(t.Context(), "")
	require.NoError(t, err)
	plan := views[0].PlanHash
	keys := sshkeys.Agent{Path: u.socket}
	approve := func(k enrolled.Key, signed json.RawMessage) error {
		proof := confirm.Proof{Surface: confirm.SurfaceTouch, User: "me", TTY: "/dev/pts/0", Host: "here", Credential: k.Credential, Evidence: signed}
		_, err := in.Answer(t.Context(), confirm.Decision{ID: id, Approve: true, By: "terminal", Shown: plan, Proof: proof})
		return err
	}
	key := enrolled.Key{Kind: enrolled.SecurityKey, Name: "on the ring", Credential: fingerprint(u.key), Public: u.key.Public.Marshal()}
	sign := func(k enrolled.Key, challenge [32]byte) json.RawMessage {
		signed, err := keys.Sign(t.Context(), k, challenge)
		require.NoError(t, err)
		return signed
	}
	right := enrolled.Challenge(plan, id)
	for name, attack := range map[string]func(t *testing.T){
		"no terminal": func(t *testing.T) {
			asked := u.key.Asked()
			for _, flags := range [][]string{nil, {"--yes"}} {
				_, problems, code := u.try(append([]string{"approve", id}, flags...)...)
				assert.Equal(t, 6, code, problems)
			}
			_, problems, code := u.try("keys", "add", "--yes")
			assert.Equal(t, 6, code, problems)
			assert.Equal(t, asked, u.key.Asked(), "the key does not even blink")
		},
		"a terminal of its own": func(t *testing.T) {
			u.key.Presents(securitykey.Refuses)
			defer u.key.Presents(securitykey.Touched)
			for _, typed := range []string{"y", "t", "a"} {
				seen, code := u.atTerminal(typed, "approve", id)
				assert.NotZero(t, code, seen)
			}
			seen, code := u.atTerminal("y", "policy", "require", "person", "for", "run_script")
			assert.Equal(t, 6, code, seen)
		},
		"an ssh agent with plain keys alone, and none": func(t *testing.T) {
			env := u.env
			defer func() { u.env = env }()
			for socket, says := range map[string]string{u.plain: "only plain", "": "SSH_AUTH_SOCK is not set"} {
				u.env = append(slices.Clone(env), "SSH_AUTH_SOCK="+socket)
				for _, command := range [][]string{{"approve", id}, {"keys", "add"}} {
					seen, code := u.atTerminal("y", command...)
					assert.NotZero(t, code, seen)
					assert.Contains(t, seen, says)
				}
			}
		},
		"one yes for several": func(t *testing.T) {
			seen, code := u.atTerminal("y", "approve", id, "cf_other")
			assert.Equal(t, 2, code, seen)
			assert.Contains(t, seen, "cannot be approved together with others: it needs a security key or a passkey")
		},
		"a signature for another plan": func(t *testing.T) {
			other := plan
			other[0]++
			require.ErrorIs(t, approve(key, sign(key, enrolled.Challenge(other, id))), enrolled.ErrUnproven)
		},
		"a signature for another question": func(t *testing.T) {
			require.ErrorIs(t, approve(key, sign(key, enrolled.Challenge(plan, "cf_other"))), enrolled.ErrUnproven)
		},
		"a signature that nobody touched the key for": func(t *testing.T) {
			u.key.Presents(securitykey.Absent)
			defer u.key.Presents(securitykey.Touched)
			signed, err := json.Marshal(sshkeys.Signed{Signature: u.key.SSHSIG(sshkeys.Namespace, right[:])})
			require.NoError(t, err)
			require.ErrorIs(t, approve(key, signed), enrolled.ErrUnproven)
		},
		"a security key that nobody enrolled": func(t *testing.T) {
			own := enrolled.Key{Kind: enrolled.SecurityKey, Name: "mine", Credential: fingerprint(u.spare), Public: u.spare.Public.Marshal()}
			signed := sign(own, right)
			require.ErrorIs(t, approve(own, signed), enrolled.ErrUnproven)
			own.Credential = key.Credential
			require.ErrorIs(t, approve(own, signed), enrolled.ErrUnproven, "under the name of one that is")
		},
		"a plain key": func(t *testing.T) {
			public, private, err := ed25519.GenerateKey(rand.Reader)
			require.NoError(t, err)
			plain, err := ssh.NewPublicKey(public)
			require.NoError(t, err)
			doc, err := json.Marshal(args{"kind": "security_key", "name": "plain", "handle": ssh.FingerprintSHA256(plain), "public": plain.Marshal()})
			require.NoError(t, err)
			out, problems, code := u.try("tools", "call", "enroll_key", "--args", string(doc))
			assert.NotZero(t, code)
			assert.Contains(t, out+problems, "is a plain ssh key")
			signer, err := ssh.NewSignerFromSigner(private)
			require.NoError(t, err)
			sig, err := signer.Sign(rand.Reader, right[:])
			require.NoError(t, err)
			signed, err := json.Marshal(sshkeys.Signed{Signature: ssh.Marshal(sig)})
			require.NoError(t, err)
			require.ErrorIs(t, approve(enrolled.Key{Credential: ssh.FingerprintSHA256(plain)}, signed), enrolled.ErrUnproven)
		},
		"a key put into the database": func(t *testing.T) {
			db, err := sql.Open("sqlite", "file:"+filepath.Join(u.home, ".countersign", "countersign.db")+"?_pragma=busy_timeout(20000)")
			require.NoError(t, err)
			defer db.Close() //nolint:errcheck // it is only read back by others
			body, err := json.Marshal(enrolled.Key{Kind: enrolled.SecurityKey, Name: "mine", Credential: fingerprint(u.spare), Public: u.spare.Public.Marshal()})
			require.NoError(t, err)
			_, err = db.Exec("INSERT INTO enrolled_keys (id, kind, handle, body) VALUES ('ek_mine', 'security_key', ?, ?)", fingerprint(u.spare), body)
			require.NoError(t, err)
			own := enrolled.Key{Kind: enrolled.SecurityKey, Credential: fingerprint(u.spare), Public: u.spare.Public.Marshal()}
			require.ErrorIs(t, approve(own, sign(own, right)), enrolled.ErrUnproven)
			_, err = db.Exec("DELETE FROM enrolled_keys WHERE id = 'ek_mine'")
			require.NoError(t, err)
		},
		"the word of a terminal": func(t *testing.T) {
			_, err := in.Answer(t.Context(), confirm.Decision{ID: id, Approve: true, By: "terminal", Shown: plan, Proof: confirm.Proof{Surface: confirm.SurfaceTerminal, User: "me"}})
			require.ErrorIs(t, err, confirm.ErrProof)
			require.ErrorIs(t, approve(key, nil), enrolled.ErrUnproven)
		},
		"a browser": func(t *testing.T) {
			v := u.visitor()
			form := v.form("/approvals/" + id)
			form.Set("decision", "approve")
			status, text := v.send("POST", "/approvals/"+id, form)
			assert.NotEqual(t, 200, status, text)
		},
		"the requirement taken back": func(t *testing.T) {
			_, problems, code := u.try("policy", "require", "person", "for", "run_script", "--yes")
			assert.Equal(t, 6, code, problems)
		},
	} {
		u.part(name, func(t *testing.T) {
			attack(t)
			h.fails("CONFIRMATION_PENDING", "run_script", u.mark)
			assert.Zero(t, u.marks())
		})
	}
	require.NoError(t, approve(key, sign(key, right)), "what the attacks lack is the touch, for this plan")
	_, failed := outcome(t, h.Call("run_script", u.mark))
	require.Nil(t, failed, "%+v", failed)
	assert.Equal(t, 1, u.marks())
	assert.Equal(t, policy.ProvingTouch, views[0].Needs)

	// What a key approved that is taken away before a call has used it approves nothing any more.
	h.fails("CONFIRMATION_PENDING", "run_script", u.mark)
	views, err = in.Confirmations(t.Context(), "")
	require.NoError(t, err)
	at := slices.IndexFunc(views, func(v confirm.View) bool { return v.Tool == "run_script" })
	require.GreaterOrEqual(t, at, 0)
	id = views[at].ID
	require.NoError(t, approve(key, sign(key, enrolled.Challenge(plan, id))))
	all, err := in.Keys(t.Context())
	require.NoError(t, err)
	require.Len(t, all, 1)
	seen, code := u.atTerminal("y", "keys", "remove", all[0].ID)
	require.Zero(t, code, seen)
	h.fails("CONFIRMATION_PENDING", "run_script", u.mark)
	assert.Equal(t, 1, u.marks())
	u.audited()
}
