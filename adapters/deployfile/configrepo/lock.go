package configrepo

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/countersign-dev/countersign/domain/deployment"
	domaingit "github.com/countersign-dev/countersign/domain/git"
)

// DecodeLock reads and validates agentpack.lock.json (agentpack contract §2.4). Its modules come sorted by identifier. It fails with
// ErrLockVersion for another version, and with ErrLock for everything else that is wrong.
func DecodeLock(data []byte, path string) (*deployment.Lock, error) {
	var head struct {
		Version *json.Number `json:"version"`
	}
	if err := json.Unmarshal(data, &head); err != nil {
		return nil, badLock(path, jsonProblem(data, err))
	}
	switch {
	case head.Version == nil:
		return nil, badLock(path, "version is missing")
	case head.Version.String() != fmt.Sprint(deployment.LockVersion):
		const hint = "use a program that supports it, or recreate the lockfile with lock"
		return nil, deployment.ErrLockVersion.WithMessage("%s has version %s, and only %d is supported; %s", path, *head.Version, deployment.LockVersion, hint).
			WithDetails(deployment.FieldDetails("version", *head.Version).Add("supported", []int{deployment.LockVersion}).Add("hint", hint).AddPath("path", path))
	}
	var l deployment.Lock
	if err := json.Unmarshal(data, &l); err != nil {
		return nil, badLock(path, jsonProblem(data, err))
	}
	if problem := lockProblem(l); problem != "" {
		return nil, badLock(path, problem)
	}
	slices.SortFunc(l.Modules, func(a, b deployment.LockedModule) int { return cmp.Compare(a.ID, b.ID) })
	return &l, nil
}

func badLock(path, problem string) error {
	return deployment.ErrLock.WithMessage("%s is not valid: %s; recreate it with lock, or restore it from version control", path, problem).
		WithDetails(deployment.FieldDetails("error", problem).AddPath("path", path))
}

// jsonProblem is a JSON error with the line it is on, where the library says where.
func jsonProblem(data []byte, err error) string {
	var offset int64
	switch e := err.(type) {
	case *json.SyntaxError:
		offset = e.Offset
	case *json.UnmarshalTypeError:
		offset = e.Offset
	default:
		return err.Error()
	}
	before := data[:min(max(offset, 0), int64(len(data)))]
	return fmt.Sprintf("line %d: %v", bytes.Count(before, []byte("\n"))+1, err)
}

// lockProblem is the first thing wrong with what a lock says.
func lockProblem(l deployment.Lock) string {
	seen := map[string]bool{}
	for i, m := range l.Modules {
		if m.ID == "" {
			return fmt.Sprintf("modules[%d] has no id", i)
		}
		problem := ""
		switch {
		case seen[m.ID]:
			problem = "is listed twice"
		case !slices.Contains(deployment.ModuleTypes(), m.Type):
			problem = fmt.Sprintf("has the unknown type %q", m.Type)
		case m.Sum.IsZero():
			problem = "has no sha256"
		case m.Version == "":
			problem = "has no resolved_version"
		default:
			if problem = idProblem(deployment.Module{ID: m.ID, Type: m.Type}); problem == "" {
				problem = sourceProblem(m)
			}
			if problem == "" {
				problem = entriesProblem(m.Manifest)
			}
		}
		if problem != "" {
			return fmt.Sprintf("module %q %s", m.ID, problem)
		}
		seen[m.ID] = true
	}
	return ""
}

// sourceProblem holds a lock to what a manifest is held to: its URLs reach git just the same.
func sourceProblem(m deployment.LockedModule) string {
	local, git := m.Source.Local, m.Source.Git
	switch {
	case (local == nil) == (git == nil):
		return "needs exactly one resolved_source"
	case local != nil:
		_, problem := localPath(local.Path)
		return saying("has an invalid local_path: ", problem)
	}
	if _, err := domaingit.ParseCommit(git.Commit); err != nil || len(git.Commit) != 40 {
		return fmt.Sprintf("has the commit %q, which is not 40 hex digits", git.Commit)
	}
	if problem := URLProblem(git.URL); problem != "" {
		return saying("has an invalid git url: ", problem)
	}
	if git.Subdir == "" {
		return ""
	}
	_, problem := localPath(git.Subdir)
	return saying("has an invalid subdir: ", problem)
}

func saying(what, problem string) string {
	if problem == "" {
		return ""
	}
	return what + problem
}

func entriesProblem(entries []deployment.Entry) string {
	for i, e := range entries {
		switch _, problem := localPath(e.Path); {
		case problem != "":
			return fmt.Sprintf("has an invalid path in file_manifest[%d]: %s", i, problem)
		case e.Sum.IsZero():
			return fmt.Sprintf("has no sha256 for %s", e.Path)
		case e.Bytes < 0:
			return fmt.Sprintf("has a negative size for %s", e.Path)
		}
	}
	return ""
}

// EncodeLock is the lockfile's bytes (agentpack contract §2.4): modules sorted by identifier, two spaces, a final line break. It fails
// with ErrLock for a lock that DecodeLock would refuse.
func EncodeLock(l deployment.Lock) ([]byte, error) {
	l.Version = deployment.LockVersion
	l.GeneratedAt = l.GeneratedAt.UTC()
	l.Modules = append([]deployment.LockedModule{}, l.Modules...) // never null
	slices.SortFunc(l.Modules, func(a, b deployment.LockedModule) int { return cmp.Compare(a.ID, b.ID) })
	for i := range l.Modules {
		l.Modules[i].Manifest = append([]deployment.Entry{}, l.Modules[i].Manifest...)
	}
	if problem := lockProblem(l); problem != "" {
		return nil, badLock(deployment.LockFile, problem)
	}
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(l); err != nil {
		return nil, badLock(deployment.LockFile, err.Error())
	}
	return out.Bytes(), nil
}
