// Package governance implements an organisation's rules for a config repository: the content of agentpack.org.yaml, the issues of a repository, and
// the changes of its lockfile (agentpack contract §5.17). Only the policy commands use it.
//
// The package is pure: it turns decoded documents and files into issues.
//
// Its API may change at any time.
package governance

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/countersign-dev/countersign/domain/deployment"
	"github.com/countersign-dev/countersign/domain/fault"
)

// OrgVersion is the only version of agentpack.org.yaml and agentpack.org.lock.json.
const OrgVersion = 1

// OrgConfig is agentpack.org.yaml, decoded. Its texts are not checked yet.
type OrgConfig struct {
	Path            string // absolute, native: for messages
	HasPack         bool   // there is a policy_pack
	PackSource      string
	RequiredTargets []string
	RequiredModules []string
	AllowedRemotes  []string // empty: every remote is allowed
	RequireLock     bool
}

// The fields of agentpack.org.yaml, as messages and details name them.
const (
	packField    = "policy_pack.source"
	remotesField = "supply_chain_policy.allowed_git_remotes"
)

// Pack returns the source of the policy pack. It fails with ErrPolicyConfig if there is none, or its source is invalid.
func (o OrgConfig) Pack() (deployment.Source, error) {
	if strings.TrimSpace(o.PackSource) == "" {
		return deployment.Source{}, o.refuse("it names no policy pack; set "+packField+" to local:<path> or git:<url>",
			deployment.FieldDetails("missing", []string{packField}).Add("field", packField))
	}
	source, err := deployment.ParseSource(o.PackSource)
	if err != nil {
		return deployment.Source{}, o.refuse(packField+": "+fault.From(err).Message, deployment.FieldDetails("field", packField).Add("value", o.PackSource).Add("error", err.Error()))
	}
	return source, nil
}

// Allow fails with ErrPolicyConfig for a source whose remote is not in the allowlist, and for an allowlist with a blank entry. A source in the
// repository itself is always allowed.
func (o OrgConfig) Allow(s deployment.Source) error {
	for i, entry := range o.AllowedRemotes {
		if NormalizeRemote(entry) == "" {
			field := fmt.Sprintf("%s[%d]", remotesField, i)
			return o.refuse(field+" is blank; write a host or a URL prefix, or remove it", deployment.FieldDetails("field", field).Add("value", entry))
		}
	}
	if s.Git == nil || o.allows(s.Git.URL) {
		return nil
	}
	return o.refuse("the remote "+NormalizeRemote(s.Git.URL)+" is not among "+remotesField+"; add it, or use a policy pack from an allowed remote",
		deployment.FieldDetails("remote", s.Git.URL).Add("remote_normalized", NormalizeRemote(s.Git.URL)).Add("allowed_git_remotes", o.AllowedRemotes))
}

func (o OrgConfig) refuse(problem string, details deployment.Details) error {
	return deployment.ErrPolicyConfig.WithMessage("%s: %s", o.Path, problem).WithDetails(details.AddPath("path", o.Path))
}

// allows reports whether the allowlist allows a remote. Without an allowlist every remote is allowed.
func (o OrgConfig) allows(url string) bool {
	if len(o.AllowedRemotes) == 0 {
		return true
	}
	remote := NormalizeRemote(url)
	for part := range strings.SplitSeq(strings.NewReplacer("%2e", ".", "%2f", "/", `\`, "/").Replace(remote), "/") {
		if part == "." || part == ".." { // it could lead to another place
			return false
		}
	}
	for _, entry := range o.AllowedRemotes {
		allowed := NormalizeRemote(entry)
		if allowed != "" && (remote == allowed || strings.HasPrefix(remote, allowed+"/")) {
			return true
		}
	}
	return false
}

// NormalizeRemote returns a URL, or an entry of an allowlist, in the form for comparison: lower case, without scheme, user, final slashes and .git;
// git@host:path is host/path (agentpack contract §5.17).
func NormalizeRemote(url string) string {
	s := strings.TrimRight(strings.ToLower(strings.TrimSpace(url)), "/")
	s = strings.TrimSuffix(s, ".git")
	scheme, rest, isURL := strings.Cut(s, "://")
	switch {
	case isURL && (scheme == "https" || scheme == "http" || scheme == "ssh"):
		host, path, _ := strings.Cut(rest, "/")
		host = host[strings.LastIndexByte(host, '@')+1:]
		return strings.TrimRight(host+"/"+path, "/")
	case isURL:
		return s
	}
	user, rest, hasUser := strings.Cut(s, "@")
	if host, path, ok := strings.Cut(rest, ":"); hasUser && ok && !strings.Contains(user+host, "/") {
		return host + "/" + strings.TrimLeft(path, "/")
	}
	return s
}

// Lock is agentpack.org.lock.json. It holds no time, so that locking twice changes no byte.
type Lock struct {
	Version int      `json:"version"`
	Pack    packLock `json:"policy_pack"`
}

// packLock is the resolved version of a policy pack. Its JSON keys are in the order of the format.
type packLock struct {
	Source          string                    `json:"source"` // as in agentpack.org.yaml
	Resolved        deployment.ResolvedSource `json:"resolved_source"`
	ResolvedVersion string                    `json:"resolved_version"`
	Sum             deployment.Sum            `json:"sha256"`
	Manifest        []deployment.Entry        `json:"file_manifest"`
}

// NewLock returns the lock of a pack with these files.
func NewLock(source string, resolved deployment.ResolvedSource, files deployment.Tree) Lock {
	l := Lock{OrgVersion, packLock{Source: source, Resolved: resolved, ResolvedVersion: deployment.LocalVersion, Sum: files.Sum(), Manifest: files.Entries()}}
	if resolved.Git != nil {
		l.Pack.ResolvedVersion = resolved.Git.Commit
	}
	return l
}

// Encode returns the content of the lock's file: two spaces, a final line break.
func (l Lock) Encode() ([]byte, error) {
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	err := e.Encode(l)
	return out.Bytes(), err
}
