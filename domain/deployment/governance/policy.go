package governance

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/countersign-dev/countersign/domain/deployment"
	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/git"
)

// commitDigits is the length of a commit in a lockfile (agentpack contract §2.4).
const commitDigits = 40

// PolicySubject is a config repository and its policy, as far as they could be read.
type PolicySubject struct {
	Org         OrgConfig
	Manifest    *deployment.Manifest // nil: it cannot be read; the reason follows
	ManifestErr string
	LockText    []byte // of agentpack.lock.json; nil when there is none
	LockErr     string // why it is not valid; empty if it is
	OrgLock     *Lock  // nil when there is none
	OrgLockErr  string
	PackSum     deployment.Sum // of a policy pack in the repository itself; zero if it is not known
}

// Lint returns all policy violations of the repository (agentpack contract §5.17).
func (s PolicySubject) Lint() []Issue {
	return slices.Concat(s.pack(), s.distribution(), s.supplyChain())
}

// pack compares the policy pack with its lock, and with the allowlist.
func (s PolicySubject) pack() (out []Issue) {
	if !s.Org.HasPack {
		return nil
	}
	source, err := s.Org.Pack()
	if err != nil {
		return []Issue{NewIssue(PolicyConfig, deployment.OrgFile, fault.From(err).Message, deployment.FieldDetails("field", packField))}
	}
	if source.Git != nil && !s.Org.allows(source.Git.URL) {
		out = append(out, s.foreign(packRemotes, deployment.OrgFile, source.Git.URL, "the policy pack"))
	}
	problem := ""
	switch lock := s.OrgLock; {
	case s.OrgLockErr != "":
		problem = s.OrgLockErr
	case lock == nil:
		problem = "the policy pack is not locked"
	case strings.TrimSpace(lock.Pack.Source) != strings.TrimSpace(s.Org.PackSource):
		problem = "the policy pack was locked from " + lock.Pack.Source + ", and is " + s.Org.PackSource + " now"
	case !sameSource(source, lock.Pack.Resolved):
		problem = "the lock of the policy pack names a different source than it was locked from"
	case !s.PackSum.IsZero() && s.PackSum != lock.Pack.Sum:
		problem = "the files of the policy pack changed since it was locked"
	default:
		return out
	}
	return append(out, NewIssue(packLocked, deployment.OrgLockFile, problem+"; lock it with policy lock", deployment.FieldDetails("source", s.Org.PackSource)))
}

func sameSource(s deployment.Source, r deployment.ResolvedSource) bool {
	if s.Git == nil {
		return r.Git == nil && r.Local != nil && r.Local.Path == s.Local
	}
	return r.Local == nil && r.Git != nil && r.Git.URL == s.Git.URL && r.Git.Subdir == s.Git.Subdir && pinned(r.Git.Commit)
}

func pinned(commit string) bool {
	_, err := git.ParseCommit(commit)
	return err == nil && len(commit) == commitDigits
}

// foreign returns the issue of a remote that the allowlist does not allow.
func (s PolicySubject) foreign(rule rule, path, url, what string) Issue {
	return NewIssue(rule, path, what+" comes from "+NormalizeRemote(url)+", which is not among "+remotesField,
		deployment.FieldDetails("remote", url).Add("remote_normalized", NormalizeRemote(url)).Add("allowed_git_remotes", s.Org.AllowedRemotes))
}

// distribution checks what every manifest must have.
func (s PolicySubject) distribution() (out []Issue) {
	targets, modules := s.Org.RequiredTargets, s.Org.RequiredModules
	if slices.ContainsFunc(slices.Concat(targets, modules), blank) {
		out = append(out, NewIssue(distribution, deployment.OrgFile, "distribution_policy has a blank entry; remove it, or write a target or a module", nil))
	}
	if len(targets)+len(modules) == 0 {
		return out
	}
	if s.Manifest == nil {
		return append(out, s.unreadable(distribution))
	}
	var missing, disabled []string
	for _, name := range targets {
		if _, has := s.Manifest.Targets[strings.TrimSpace(name)]; !has && !blank(name) {
			missing = append(missing, name)
		}
	}
	if len(missing) > 0 {
		out = append(out, NewIssue(requiredTargets, deployment.ManifestFile, "required targets are not configured: "+strings.Join(missing, ", "),
			deployment.FieldDetails("missing", missing).Add("required_targets", targets)))
	}
	missing = nil
	for _, id := range modules {
		switch m, err := s.Manifest.Module(strings.TrimSpace(id)); {
		case blank(id):
		case err != nil:
			missing = append(missing, id)
		case !m.Enabled:
			disabled = append(disabled, id)
		}
	}
	if len(missing)+len(disabled) > 0 {
		out = append(out, NewIssue(requiredModules, deployment.ManifestFile, "required modules are missing or disabled: "+strings.Join(slices.Concat(missing, disabled), ", "),
			deployment.FieldDetails("missing", append([]string{}, missing...)).Add("disabled", append([]string{}, disabled...)).Add("required_modules", modules)))
	}
	return out
}

func blank(text string) bool { return strings.TrimSpace(text) == "" }

func (s PolicySubject) unreadable(rule rule) Issue {
	return NewIssue(rule, deployment.ManifestFile, "it cannot be checked against the policy: "+s.ManifestErr, deployment.FieldDetails("error", s.ManifestErr))
}

// supplyChain checks the sources of modules, and what they are locked to, against the policy.
func (s PolicySubject) supplyChain() (out []Issue) {
	for _, entry := range s.Org.AllowedRemotes {
		if NormalizeRemote(entry) == "" {
			out = append(out, NewIssue(supplyChain, deployment.OrgFile, remotesField+" has a blank entry; remove it, or write a host", deployment.FieldDetails("field", remotesField)))
			break
		}
	}
	if len(s.Org.AllowedRemotes) == 0 && !s.Org.RequireLock {
		return out
	}
	if s.Manifest == nil {
		return append(out, s.unreadable(supplyChain))
	}
	for _, m := range s.Manifest.Modules {
		if m.Source.Git != nil && !s.Org.allows(m.Source.Git.URL) {
			i := s.foreign(remotes, deployment.ManifestFile, m.Source.Git.URL, "module "+m.ID)
			i.Details.Add("module_id", m.ID)
			out = append(out, i)
		}
	}
	return append(out, s.lockfile()...)
}

// lockfile compares the lockfile with the manifest. One that is not needed is compared with the allowlist only.
func (s PolicySubject) lockfile() (out []Issue) {
	add := func(rule rule, message string, details deployment.Details) {
		out = append(out, NewIssue(rule, deployment.LockFile, message, details))
	}
	if s.LockText == nil {
		if s.Org.RequireLock {
			add(lockMissing, "the policy requires a lockfile; create it with lock", nil)
		}
		return out
	}
	var lock deployment.Lock
	if err := json.Unmarshal(s.LockText, &lock); err != nil || lock.Version != deployment.LockVersion {
		if s.Org.RequireLock {
			add(lockInvalid, s.LockErr, deployment.FieldDetails("error", s.LockErr))
		}
		return out
	}
	for _, l := range lock.Modules {
		if l.Source.Git != nil && !s.Org.allows(l.Source.Git.URL) {
			i := s.foreign(remotes, deployment.LockFile, l.Source.Git.URL, "module "+l.ID)
			i.Details.Add("module_id", l.ID)
			out = append(out, i)
		}
	}
	if !s.Org.RequireLock {
		return out
	}
	before := len(out)
	for _, m := range s.Manifest.Modules {
		if m.Enabled && m.Source.Git != nil {
			s.locked(&lock, m, add)
		}
	}
	if len(out) == before && s.LockErr != "" {
		add(lockInvalid, s.LockErr, deployment.FieldDetails("error", s.LockErr))
	}
	return out
}

// locked compares one module's entry with its source.
func (s PolicySubject) locked(lock *deployment.Lock, m deployment.Module, add func(rule, string, deployment.Details)) {
	about := func() deployment.Details { return deployment.FieldDetails("module_id", m.ID) }
	l, there := lock.Module(m.ID)
	git := l.Source.Git
	switch {
	case !there:
		add(lockMissingModule, "module "+m.ID+" is not in it; lock again", about())
		return
	case git == nil || l.Source.Local != nil:
		add(lockSourceMismatch, "module "+m.ID+" is locked as local, but comes from git; lock again", about())
		return
	case git.URL != m.Source.Git.URL:
		add(lockURLMismatch, "module "+m.ID+" is locked from a different URL than in agentpack.yaml; lock again", about().Add("manifest_url", m.Source.Git.URL).Add("lockfile_url", git.URL))
	case git.Subdir != m.Source.Git.Subdir:
		add(lockSourceMismatch, "module "+m.ID+" is locked from a different directory than in agentpack.yaml; lock again", about().Add("manifest_subdir", m.Source.Git.Subdir).Add("lockfile_subdir", git.Subdir))
	}
	if !pinned(git.Commit) {
		add(lockUnpinned, "module "+m.ID+" is locked to "+git.Commit+", which is not a commit of 40 hex digits; lock again", about().Add("commit", git.Commit))
	}
}
