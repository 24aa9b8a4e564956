package audit_test

import (
	"crypto/ed25519"
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/domain/audit"
)

// signer returns a key that is always the same.
func signer(n byte) ed25519.PrivateKey {
	return ed25519.NewKeyFromSeed([]byte{n, 31: n})
}

func public(k ed25519.PrivateKey) audit.Key { return audit.Key(k.Public().(ed25519.PublicKey)) }

func signed(k ed25519.PrivateKey, r audit.Record, at time.Time) audit.Head {
	h := audit.Head{Seq: r.Seq, Hash: r.Hash, At: at, Home: "/home", Machine: "m", Key: public(k)}
	h.Sig = ed25519.Sign(k, h.Statement())
	return h
}

func check(t *testing.T, records []audit.Record, end audit.End, about audit.Context, holdings ...audit.AnchorContents) audit.Report {
	c := audit.NewCheck(holdings...)
	if end.Signed != nil {
		c.Want(end.Signed.Seq)
	}
	for _, r := range records {
		event, err := json.Marshal(r.Event)
		require.NoError(t, err)
		if c.Next(audit.Raw{Seq: r.Seq, Event: event, Prev: r.Prev[:], Hash: r.Hash[:]}) != nil {
			break
		}
	}
	return c.End(end, about)
}

// The form of a head is fixed: what was signed must verify in every later version.
func TestAHeadIsFixed(t *testing.T) {
	h := signed(signer(1), five(t)[4], noon)
	assert.True(t, h.Signed())
	read, err := audit.ReadHead(h.Line())
	require.NoError(t, err)
	assert.Equal(t, h, read)
	assert.Equal(t, "audit.head.v1", string(h.Statement()[3:16]))
	assert.JSONEq(t, `{"seq":5,"hash":"sha256:895896684f4815d7b33d8dffc32de0e01eb00a512a48c73f74e4338213bc93a9","at":"2026-01-02T12:00:00.123456789Z","home":"/home","machine":"m",
		"key":"`+public(signer(1)).String()+`"}`, string(h.Statement()[17:]))
	for name, change := range map[string]func(*audit.Head){
		"seq": func(h *audit.Head) { h.Seq++ }, "hash": func(h *audit.Head) { h.Hash[0]++ }, "time": func(h *audit.Head) { h.At = h.At.Add(1) },
		"home": func(h *audit.Head) { h.Home += "x" }, "machine": func(h *audit.Head) { h.Machine += "x" }, "key": func(h *audit.Head) { h.Key = public(signer(2)) },
		"signature": func(h *audit.Head) { h.Sig = append([]byte{h.Sig[0] ^ 1}, h.Sig[1:]...) }, "no signature": func(h *audit.Head) { h.Sig = nil },
		"a year that no clock shows": func(h *audit.Head) { h.At = time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC) },
	} {
		other := h
		change(&other)
		assert.False(t, other.Signed(), name)
	}
	for _, none := range []string{"", "{}", `{"seq":0}`, `{"seq":1,"key":"ed25519:AAAA"}`, `{"seq":1,"key":"rsa:AAAA"}`, "torn {"} {
		_, err := audit.ReadHead([]byte(none))
		require.ErrorIs(t, err, audit.ErrHead, none)
	}
}

func TestCheck(t *testing.T) {
	k1, k2 := signer(1), signer(2)
	all := five(t)
	forged := chain(t, event(1), event(9), event(3), event(4), event(5))
	anchor := audit.Anchor{Kind: audit.AnchorFile, Where: "/media/heads"}
	added := chain(t, event(1), audit.SelfEvent(noon, audit.AnchorTool, audit.AnchorAdded, "terminal", anchor), event(3))
	accepted := chain(t, event(1), event(2), audit.SelfEvent(noon, audit.AcceptTool, "", "terminal", audit.Accepted{Reason: "lost"}))
	renewed := chain(t, event(1), event(2), audit.SelfEvent(noon, audit.KeyTool, "", "terminal", audit.KeyAdded{Key: public(k2), Follows: public(k1)}), event(4))
	ending := func(k ed25519.PrivateKey, records []audit.Record) audit.End {
		last := records[len(records)-1]
		h := signed(k, last, noon)
		return audit.End{Seq: last.Seq, Hash: last.Hash, Signed: &h}
	}
	about := audit.Context{Home: "/home", Machine: "m", Own: public(k1)}
	holds := func(heads ...audit.Head) audit.AnchorContents {
		return audit.AnchorContents{Anchor: audit.Anchor{Kind: "home"}, Heads: heads}
	}
	for name, c := range map[string]struct {
		records []audit.Record
		end     audit.End
		about   audit.Context
		holding audit.AnchorContents
		want    error
		to      int64
	}{
		"whole":                           {all, ending(k1, all), about, holds(signed(k1, all[1], noon), signed(k1, all[3], noon)), nil, 4},
		"rebuilt":                         {forged, ending(k1, forged), about, holds(signed(k1, all[0], noon), signed(k1, all[3], noon)), audit.ErrContradicted, 1},
		"cut":                             {all[:3], ending(k1, all[:3]), about, holds(signed(k1, all[1], noon), signed(k1, all[3], noon)), audit.ErrContradicted, 2},
		"cut before the end":              {all[:3], ending(k1, all), about, holds(signed(k1, all[1], noon), signed(k1, all[3], noon)), audit.ErrBroken, 2},
		"signed by nobody":                {all, audit.End{Seq: 5, Hash: all[4].Hash}, about, holds(signed(k1, all[4], noon)), audit.ErrUnsigned, 5},
		"never signed":                    {all, audit.End{Seq: 5, Hash: all[4].Hash}, audit.Context{}, holds(), nil, 0},
		"another key of this home":        {all, ending(k1, all), about, holds(signed(k2, all[4], noon)), audit.ErrContradicted, 0},
		"another home":                    {all, ending(k1, all), audit.Context{Home: "/moved", Machine: "m", Own: public(k1)}, holds(signed(k2, all[4], noon)), nil, 0},
		"moved, with its key":             {all, ending(k1, all), audit.Context{Home: "/moved", Machine: "m", Own: public(k1)}, holds(signed(k1, all[4], noon)), nil, 5},
		"a new key, on record":            {renewed, ending(k2, renewed), audit.Context{Home: "/home", Machine: "m", Own: public(k2)}, holds(signed(k1, renewed[1], noon), signed(k2, renewed[3], noon)), nil, 4},
		"an anchor on record, not listed": {added, ending(k1, added), about, holds(), audit.ErrContradicted, 0},
		"listed, not on record":           {all, ending(k1, all), audit.Context{Home: "/home", Machine: "m", Own: public(k1), Listed: []audit.Anchor{anchor}}, holds(), audit.ErrContradicted, 0},
		"accepted":                        {accepted, ending(k1, accepted), about, holds(signed(k1, all[4], noon.Add(-time.Second)), signed(k1, accepted[2], noon)), nil, 3},
		"accepted, and again since":       {accepted, ending(k1, accepted), about, holds(signed(k1, all[4], noon.Add(time.Second))), audit.ErrContradicted, 0},
		"taken away there":                {all, ending(k1, all), about, audit.AnchorContents{Anchor: anchor, Heads: []audit.Head{signed(k1, all[1], noon)}, Put: signed(k1, all[3], noon)}, audit.ErrContradicted, 2},
		"faded there":                     {all, ending(k1, all), about, audit.AnchorContents{Anchor: anchor, Put: signed(k1, all[3], noon), Fades: true}, nil, 0},
		"not to be had":                   {all, ending(k1, all), about, audit.AnchorContents{Anchor: anchor, Err: audit.ErrHead}, audit.ErrUnchecked, 0},
	} {
		t.Run(name, func(t *testing.T) {
			r := check(t, c.records, c.end, c.about, c.holding)
			if c.want == nil {
				require.NoError(t, r.Err())
			} else {
				require.ErrorIs(t, r.Err(), c.want)
			}
			assert.EqualValues(t, len(c.records), r.Records)
			require.Len(t, r.Anchors, 1)
			assert.Equal(t, c.to, r.Anchors[0].To)
		})
	}
}

func TestWhichKeyVouchesForWhat(t *testing.T) {
	k1, k2 := public(signer(1)), public(signer(2))
	records := chain(t, event(1), event(2), audit.SelfEvent(noon, audit.KeyTool, "", "terminal", audit.KeyAdded{Key: k2, Follows: k1}), event(4))
	h := signed(signer(2), records[3], noon)
	r := check(t, records, audit.End{Seq: 4, Hash: records[3].Hash, Signed: &h}, audit.Context{Own: k2})
	require.NoError(t, r.Err())
	assert.Equal(t, []audit.Stretch{{Key: k1, From: 1, To: 2}, {Key: k2, From: 3, To: 4}}, r.Keys)
}
