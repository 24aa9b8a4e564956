package mcphttp

import (
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/countersign-dev/countersign/adapters/mcp/mcpserver"
	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/policy"
	"github.com/countersign-dev/countersign/domain/tool"
)

// The headers with which a client narrows its tools. None of them adds anything.
const (
	headerToolsets = "X-Mcp-Toolsets"      // only these: names, separated by commas, or all
	headerTools    = "X-Mcp-Tools"         // single tools, added to the toolsets
	headerExclude  = "X-Mcp-Exclude-Tools" // single tools, removed whatever the other headers say
	headerReadOnly = "X-Mcp-Readonly"      // true: only tools that read
	headerMode     = "X-Mcp-Mode"          // ask, plan or execute: the maximum mode
)

// HeaderConfirmWait sets how long calls wait for the user if only users approve: a duration from 0s, which answers them at once with the ID of the
// pending approval, to mcpserver.MaxWait. mcpserver.MetaConfirmWait in a call's _meta overrides it for that call.
const HeaderConfirmWait = "X-Mcp-Confirm-Wait"

// ErrHeader is returned for an invalid narrowing header. The request is not served.
var ErrHeader = fault.New(fault.Invalid, "header_invalid", "a header that restricts the tools is invalid")

// everything selects every toolset.
const everything = "all"

// KnownNames is the names that headers may contain: all tools and toolsets, enabled or not.
type KnownNames struct{ toolsets, tools map[string]bool }

// NewKnownNames returns the names in a list of toolsets: an App's.
func NewKnownNames(all []tool.Toolset) KnownNames {
	k := KnownNames{toolsets: map[string]bool{}, tools: map[string]bool{}}
	for _, set := range all {
		k.toolsets[set.Name] = true
		for _, name := range slices.Concat(set.Served, set.Hidden) {
			k.tools[name] = true
		}
	}
	return k
}

// Tightened is the restriction from a request's headers.
type Tightened struct {
	Narrowing tool.Restriction
	Ceiling   policy.Mode // unset: none
}

// Tighten parses the headers of a request. It fails with ErrHeader for an unknown name or an invalid value.
func Tighten(h http.Header, known KnownNames) (Tightened, error) {
	var t Tightened
	for _, list := range []struct {
		header string
		known  map[string]bool
		into   *[]string
	}{
		{headerToolsets, known.toolsets, &t.Narrowing.Toolsets}, {headerTools, known.tools, &t.Narrowing.Tools}, {headerExclude, known.tools, &t.Narrowing.Exclude},
	} {
		if err := names(h, list.header, list.known, list.into); err != nil {
			return Tightened{}, err
		}
	}
	if slices.Contains(t.Narrowing.Toolsets, everything) {
		t.Narrowing.Toolsets, t.Narrowing.Tools = nil, nil
	}
	for _, word := range h[headerReadOnly] {
		switch strings.ToLower(strings.TrimSpace(word)) {
		case "true", "1":
			t.Narrowing.ReadOnly = true
		case "false", "0": // removes nothing, and restores nothing
		default:
			return Tightened{}, ErrHeader.WithMessage("%s: invalid value %q; use true or false", headerReadOnly, word)
		}
	}
	for _, word := range h[headerMode] {
		var m policy.Mode
		if m.UnmarshalText([]byte(strings.ToLower(strings.TrimSpace(word)))) != nil || m == policy.ModeUnset {
			return Tightened{}, ErrHeader.WithMessage("%s: unknown mode %q; use ask, plan or execute", headerMode, word)
		}
		t.Ceiling = lower(t.Ceiling, m)
	}
	return t, nil
}

// names parses one header that is a list of names.
func names(h http.Header, header string, known map[string]bool, into *[]string) error {
	lines, given := h[header]
	if !given {
		return nil
	}
	for _, line := range lines {
		for word := range strings.SplitSeq(line, ",") {
			word = strings.TrimSpace(word)
			if word == "" {
				continue
			}
			if !known[word] && (word != everything || header != headerToolsets) {
				return ErrHeader.WithMessage("%s: %q not found", header, word)
			}
			*into = append(*into, word)
		}
	}
	if len(*into) == 0 {
		return ErrHeader.WithMessage("%s is empty; omit it to use everything that is enabled", header)
	}
	return nil
}

// lower returns the lower of two maximum modes, either of which may be unset.
func lower(a, b policy.Mode) policy.Mode {
	if a == policy.ModeUnset || b != policy.ModeUnset && b < a {
		return b
	}
	return a
}

// Over applies the restriction to a principal and to its narrowings.
func (t Tightened) Over(p policy.Principal, within []tool.Restriction) (policy.Principal, []tool.Restriction) {
	p.Ceiling = lower(p.Ceiling, t.Ceiling)
	n := t.Narrowing
	if len(n.Toolsets)+len(n.Tools)+len(n.Exclude) > 0 || n.ReadOnly {
		within = append(slices.Clone(within), n)
	}
	return p, within
}

// confirmWait parses HeaderConfirmWait into a value for mcpserver.Options.Wait.
func confirmWait(h http.Header) (time.Duration, error) {
	lines := h[HeaderConfirmWait]
	if len(lines) == 0 {
		return 0, nil
	}
	wait, ok := mcpserver.ConfirmWait(strings.TrimSpace(lines[0]))
	if !ok || len(lines) > 1 || strings.TrimSpace(lines[0]) == "" {
		return 0, ErrHeader.WithMessage("%s: invalid duration %q; use 0s to 24h", HeaderConfirmWait, strings.Join(lines, ", "))
	}
	return wait, nil
}
