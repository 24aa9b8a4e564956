package detect

import (
	"cmp"
	"slices"
	"strings"
)

// Row is a line of the contract's table. Where two claim the same text, the earlier one names it.
type Row uint8

// The rows, in the contract's order; SecretKey is its key-name rule.
const (
	PrivateKey Row = iota
	URLCredentials
	AnthropicKey
	OpenAIKey
	StripeKey
	GitHubToken
	GitLabToken
	NPMToken
	SlackToken
	WebhookURL
	AWSKeyID
	GoogleKey
	JWT
	VendorToken
	AuthHeader
	Bearer
	Cookie
	CLIFlag
	CLIUser
	Assignment
	KnownValue
	SecretKey
)

const marked = "[REDACTED:"

// Mark is what stands in the place of a secret.
func (r Row) Mark() string {
	return [...]string{"[REDACTED:private_key]", "[REDACTED:url_credentials]", "[REDACTED:anthropic_key]", "[REDACTED:openai_key]",
		"[REDACTED:stripe_key]", "[REDACTED:github_token]", "[REDACTED:gitlab_token]", "[REDACTED:npm_token]", "[REDACTED:slack_token]",
		"[REDACTED:webhook_url]", "[REDACTED:aws_key_id]", "[REDACTED:google_key]", "[REDACTED:jwt]", "[REDACTED:vendor_token]",
		"[REDACTED:auth_header]", "[REDACTED:bearer]", "[REDACTED:cookie]", "[REDACTED:cli_flag]", "[REDACTED:cli_user]",
		"[REDACTED:assignment]", "[REDACTED:known_value]", "[REDACTED:secret_key]"}[r]
}

// Finding is a secret in a text: where it begins, where it ends, and the row that claims it.
type Finding struct {
	From, To int
	Row      Row
}

// finder looks for the secrets of one text.
type finder struct {
	s       string
	found   []Finding
	covered int // where the last finding ends
	by      Row // and what it is
	dead    int // before here begins nothing of the row that failed last
	deadRow Row
}

// Find is every secret in s, in order and without overlap; known are texts that are secret wherever they stand.
func (a *Automaton) Find(s string, known []string) []Finding {
	f := finder{s: s}
	for _, k := range known {
		for from := 0; ; {
			i := strings.Index(s[from:], k)
			if i < 0 {
				break
			}
			f.found = append(f.found, Finding{from + i, from + i + len(k), KnownValue})
			from += i + len(k)
		}
	}
	a.scan(&f)
	return merge(f.found)
}

// scan is the one pass over the text.
func (a *Automaton) scan(f *finder) {
	state := uint16(0)
	for i := 0; i < len(f.s); i++ {
		if state = a.next[state|a.classes[f.s[i]]]; state >= a.first {
			f.look(a.ending(state), i+1)
		}
	}
}

// look asks the rules of the keywords that end at end.
func (f *finder) look(words []keyword, end int) {
	for i := range words {
		w := &words[i]
		if w.find == nil || end <= f.covered && w.row >= f.by {
			continue
		}
		at := end - len(w.text)
		if at < f.dead && w.row == f.deadRow {
			continue
		}
		from, to, ok := w.find(f.s, at, end)
		if !ok {
			if to > at {
				f.dead, f.deadRow = to, w.row
			}
			continue
		}
		f.found = append(f.found, Finding{from, to, w.row})
		if to >= f.covered {
			f.covered, f.by = to, w.row
		}
	}
}

// merge joins findings that overlap; the name is that of the one that begins first.
func merge(found []Finding) []Finding {
	if len(found) < 2 {
		return found
	}
	slices.SortFunc(found, func(a, b Finding) int { return cmp.Or(a.From-b.From, int(a.Row)-int(b.Row)) })
	out := found[:1]
	for _, f := range found[1:] {
		if last := &out[len(out)-1]; f.From < last.To {
			last.To = max(last.To, f.To)
			continue
		}
		out = append(out, f)
	}
	return out
}
