package configrepo

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/countersign-dev/countersign/adapters/docfile"
	"github.com/countersign-dev/countersign/domain/deployment"
	"github.com/countersign-dev/countersign/ports/deployport"
)

// Configs reads manifests and lockfiles. It implements deployport.Configs.
type Configs struct{ targets Targets }

// NewConfigs is the configs of a product that knows these targets, each with the scopes it can be deployed to.
func NewConfigs(targets map[string][]deployment.Scope) *Configs { return &Configs{targets} }

// Load implements deployport.Configs.
func (c *Configs) Load(ctx context.Context, repo string) (deployport.Config, error) {
	if err := ctx.Err(); err != nil {
		return deployport.Config{}, err
	}
	data, _, err := readManifest(repo)
	if err != nil {
		return deployport.Config{}, err
	}
	m, warnings, err := DecodeManifest(data, filepath.Join(repo, deployment.ManifestFile), c.targets)
	if err != nil {
		return deployport.Config{}, err
	}
	out := deployport.Config{Manifest: m, Warnings: warnings}
	out.Lock, out.LockSum, err = readLock(repo)
	return out, err // the manifest is there beside an error of the lockfile
}

// Edit implements deployport.Configs. The write is of the file itself where agentpack.yaml is a link within the repository.
func (c *Configs) Edit(ctx context.Context, repo string, edits ...deployport.ManifestEdit) (deployment.Write, error) {
	if err := ctx.Err(); err != nil {
		return deployment.Write{}, err
	}
	data, info, err := readManifest(repo)
	if err != nil {
		return deployment.Write{}, err
	}
	path := filepath.Join(repo, deployment.ManifestFile)
	out, err := EditManifest(data, path, c.targets, edits...)
	if err != nil {
		return deployment.Write{}, err
	}
	if at, err := os.Lstat(path); err == nil && at.Mode()&fs.ModeSymlink != 0 {
		if path, err = filepath.EvalSymlinks(path); err != nil {
			return deployment.Write{}, unreadable(path, err)
		}
	}
	mode := info.Mode().Perm()
	content := deployment.ContentOf(out)
	return deployment.Write{
		Op: deployment.OpUpdate, Path: path, Root: repo,
		Before: deployment.Seen{Kind: deployment.Regular, Sum: deployment.SumOf(data), Size: int64(len(data)), Mode: mode},
		After:  deployment.Seen{Kind: deployment.Regular, Sum: content.Sum, Size: content.Size, Mode: mode},
		Data:   content,
	}, nil
}

// EncodeLock implements deployport.Configs.
func (c *Configs) EncodeLock(l deployment.Lock) ([]byte, error) { return EncodeLock(l) }

// Frontmatter implements deployport.Configs.
func (c *Configs) Frontmatter(doc []byte) (fields map[string]any, found bool, err error) {
	return Frontmatter(doc)
}

func readManifest(repo string) ([]byte, fs.FileInfo, error) {
	path := filepath.Join(repo, deployment.ManifestFile)
	data, info, err := docfile.NewDir(repo).Read(deployment.ManifestFile, MaxManifestBytes)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		const hint = "create one with countersign agents init, or name another config repository with --repo"
		return nil, nil, deployment.ErrConfigMissing.WithMessage("%s not found; %s", path, hint).
			WithDetails(deployment.ReasonDetails("config_missing", "run_init", "retry_with_repo", "retry_command").AddPath("path", path).Add("hint", hint))
	case errors.Is(err, docfile.ErrTooLarge):
		return nil, nil, deployment.ErrConfig.WithMessage("%s is larger than the limit of %d bytes; split its modules into several config repositories (--repo), or remove unrelated content", path, MaxManifestBytes).
			WithDetails(deployment.FieldDetails("max_bytes", MaxManifestBytes).AddPath("path", path)).WithCause(err)
	case err != nil:
		return nil, nil, unreadable(path, err)
	}
	return data, info, nil
}

func readLock(repo string) (*deployment.Lock, deployment.Sum, error) {
	path := filepath.Join(repo, deployment.LockFile)
	data, _, err := docfile.NewDir(repo).Read(deployment.LockFile, maxLockBytes)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if _, there := os.Lstat(path); there == nil { // a link to nothing must not unpin everything
			return nil, deployment.Sum{}, deployment.ErrLock.WithMessage("%s is a dangling link; remove it, or put the lockfile there", path).
				WithDetails(deployment.FieldDetails("error", "dangling link").AddPath("path", path))
		}
		return nil, deployment.Sum{}, nil
	case err != nil:
		return nil, deployment.Sum{}, unreadable(path, err)
	}
	lock, err := DecodeLock(data, path)
	if err != nil {
		return nil, deployment.Sum{}, err
	}
	return lock, deployment.SumOf(data), nil
}

// unreadable is an error of the file system in the words of the capability.
func unreadable(path string, err error) error {
	details := deployment.Details{}.AddPath("path", path)
	switch {
	case errors.Is(err, fs.ErrPermission):
		return deployment.ErrPermission.WithMessage("cannot read %s: permission denied; change its permissions", path).WithDetails(details).WithCause(err)
	case errors.Is(err, syscall.ENAMETOOLONG):
		return deployment.ErrPathLong.WithMessage("the path %s is too long for this system", path).WithDetails(details).WithCause(err)
	case errors.Is(err, syscall.ELOOP), strings.HasSuffix(err.Error(), "too many links"): // the library's own error has no name
		return deployment.ErrPath.WithMessage("%s is behind circular links; replace the link with the file", path).WithDetails(details.Add("error", err.Error())).WithCause(err)
	}
	why := strings.TrimSpace(strings.ReplaceAll(err.Error(), path, ""))
	return deployment.ErrPath.WithMessage("%s cannot be read: %s", path, why).WithDetails(details.Add("error", err.Error())).WithCause(err)
}
