package configrepo

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/countersign-dev/countersign/adapters/docfile"
	"github.com/countersign-dev/countersign/adapters/yamlcodec"
	"github.com/countersign-dev/countersign/domain/deployment"
	"github.com/countersign-dev/countersign/domain/deployment/governance"
	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/ports/deployport"
)

// maxPolicyBytes is how large a policy or its lock may be.
const maxPolicyBytes = 16 << 20

// PolicyReader implements deployport.Orgs and deployport.Lister.
type PolicyReader struct{}

// NewPolicyReader is the reader.
func NewPolicyReader() *PolicyReader { return &PolicyReader{} }

// policyDocument is the written form of agentpack.org.yaml.
type policyDocument struct {
	Version *int `yaml:"version"`
	Pack    *struct {
		Source string `yaml:"source"`
	} `yaml:"policy_pack"`
	Distribution struct {
		Targets []string `yaml:"required_targets"`
		Modules []string `yaml:"required_modules"`
	} `yaml:"distribution_policy"`
	SupplyChain struct {
		Remotes []string `yaml:"allowed_git_remotes"`
		Lock    bool     `yaml:"require_lockfile"`
	} `yaml:"supply_chain_policy"`
}

// Org implements deployport.Orgs. A key that is not known is an error: a policy that is misspelt would be none.
func (*PolicyReader) Org(ctx context.Context, repo string) (governance.OrgConfig, bool, error) {
	path := filepath.Join(repo, deployment.OrgFile)
	data, found, err := readPolicy(ctx, repo, deployment.OrgFile)
	if err != nil || !found {
		return governance.OrgConfig{}, false, err
	}
	var head struct {
		Version *int `yaml:"version"`
	}
	if err := yamlcodec.Decode(data, &head, yamlcodec.Options{}); err != nil {
		return governance.OrgConfig{}, false, invalid(path, fault.From(err).Message)
	}
	if err := version(path, head.Version); err != nil {
		return governance.OrgConfig{}, false, err
	}
	var doc policyDocument
	if err := yamlcodec.Decode(data, &doc, yamlcodec.Options{KnownFields: true}); err != nil {
		return governance.OrgConfig{}, false, invalid(path, fault.From(err).Message)
	}
	out := governance.OrgConfig{Path: path, RequiredTargets: doc.Distribution.Targets, RequiredModules: doc.Distribution.Modules,
		AllowedRemotes: doc.SupplyChain.Remotes, RequireLock: doc.SupplyChain.Lock}
	if doc.Pack != nil {
		out.HasPack, out.PackSource = true, doc.Pack.Source
	}
	return out, true, nil
}

// OrgLock implements deployport.Orgs.
func (*PolicyReader) OrgLock(ctx context.Context, repo string) (governance.Lock, bool, error) {
	path := filepath.Join(repo, deployment.OrgLockFile)
	data, found, err := readPolicy(ctx, repo, deployment.OrgLockFile)
	if err != nil || !found {
		return governance.Lock{}, false, err
	}
	var head struct {
		Version *int `json:"version"`
	}
	var lock governance.Lock
	if err := json.Unmarshal(data, &head); err != nil {
		return lock, false, invalid(path, err.Error())
	}
	if err := version(path, head.Version); err != nil {
		return lock, false, err
	}
	if err := json.Unmarshal(data, &lock); err != nil {
		return lock, false, invalid(path, err.Error())
	}
	if p := lock.Pack; p.Source == "" || p.ResolvedVersion == "" || p.Sum.IsZero() || (p.Resolved.Git == nil) == (p.Resolved.Local == nil) {
		return lock, false, invalid(path, "policy_pack needs source, exactly one resolved_source, resolved_version and sha256")
	}
	return lock, true, nil
}

// DecodeLock implements deployport.Orgs.
func (*PolicyReader) DecodeLock(data []byte, path string) (*deployment.Lock, error) {
	return DecodeLock(data, path)
}

func version(path string, v *int) error {
	switch {
	case v == nil:
		return invalid(path, "version is missing").WithDetails(deployment.FieldDetails("error", "version is missing").Add("missing", []string{"version"}).AddPath("path", path))
	case *v != governance.OrgVersion:
		return deployment.ErrPolicyVersion.WithMessage("%s has version %d, and only %d is supported; use a program that supports it", path, *v, governance.OrgVersion).
			WithDetails(deployment.FieldDetails("version", *v).Add("supported", []int{governance.OrgVersion}).AddPath("path", path))
	}
	return nil
}

func invalid(path, problem string) *fault.Error {
	return deployment.ErrPolicyConfig.WithMessage("%s is not valid: %s", path, problem).WithDetails(deployment.FieldDetails("error", problem).AddPath("path", path))
}

// readPolicy is a file of the repository; no link leads out of it.
func readPolicy(ctx context.Context, repo, name string) (data []byte, found bool, err error) {
	if err := ctx.Err(); err != nil {
		return nil, false, err
	}
	path := filepath.Join(repo, name)
	data, _, err = docfile.NewDir(repo).Read(name, maxPolicyBytes)
	switch {
	case err == nil:
		return data, true, nil
	case errors.Is(err, fs.ErrNotExist):
		if _, there := os.Lstat(path); there == nil { // a link to nothing must not switch a policy off
			return nil, false, invalid(path, "it is a dangling link")
		}
		return nil, false, nil
	case errors.Is(err, fs.ErrPermission):
		return nil, false, policyUnreadable(path, err)
	}
	return nil, false, invalid(path, err.Error())
}

// policyUnreadable is an error of the file system in the words of the capability.
func policyUnreadable(path string, err error) error {
	details := deployment.Details{}.AddPath("path", path)
	if errors.Is(err, fs.ErrPermission) {
		return deployment.ErrPermission.WithMessage("cannot read %s: permission denied; change its permissions", path).WithDetails(details).WithCause(err)
	}
	return deployment.ErrPath.WithMessage("%s cannot be listed: %v", path, err).WithDetails(details).WithCause(err)
}

// List implements deployport.Lister.
func (*PolicyReader) List(ctx context.Context, dir string, skip []string) ([]deployport.Listed, error) {
	root, err := filepath.EvalSymlinks(dir)
	if err == nil {
		var info fs.FileInfo
		if info, err = os.Stat(root); err == nil && !info.IsDir() {
			err = fs.ErrInvalid
		}
	}
	if err != nil {
		return nil, deployment.ErrPath.WithMessage("directory %s not found", dir).WithDetails(deployment.Details{}.AddPath("path", dir)).WithCause(err)
	}
	var out []deployport.Listed
	err = filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		rel, relErr := filepath.Rel(root, path)
		slash := filepath.ToSlash(rel)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case relErr != nil:
			return relErr
		case err != nil:
			out = append(out, deployport.Listed{Path: slash, Err: policyUnreadable(path, err)})
			if e != nil && e.IsDir() {
				return fs.SkipDir
			}
		case e.IsDir() && path != root && slices.Contains(skip, e.Name()):
			return fs.SkipDir
		case e.Type().IsRegular() || e.Type() == fs.ModeSymlink && leadsToFile(root, path):
			out = append(out, deployport.Listed{Path: slash})
		}
		return nil
	})
	slices.SortFunc(out, func(a, b deployport.Listed) int { return strings.Compare(a.Path, b.Path) })
	return out, err
}

// leadsToFile reports a link to a regular file inside root.
func leadsToFile(root, link string) bool {
	to, err := filepath.EvalSymlinks(link)
	if err != nil {
		return false
	}
	rel, err := filepath.Rel(root, to)
	if err != nil || !filepath.IsLocal(rel) {
		return false
	}
	info, err := os.Lstat(to)
	return err == nil && info.Mode().IsRegular()
}
