package sandboxfile

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/countersign-dev/countersign/adapters/docfile"
	"github.com/countersign-dev/countersign/domain/sandbox"
	"github.com/countersign-dev/countersign/ports/sandboxport"
)

const (
	publicSuffix = ".pub"
	publicLimit  = 16 << 10
	tempPrefix   = ".new-"
)

// keyOptions say where keys are. All but KeyGen are needed.
type keyOptions struct {
	Path    func(name string) string // of a project's private deploy key
	Home    string                   // keys that users bring lie below it
	KeyGen  string                   // the program ssh-keygen; empty looks on the PATH
	Exclude func(ctx context.Context, name string) (release func(), err error)
}

// DeployKeys is the keys. It implements sandboxport.Keys, and is safe for concurrent use.
type DeployKeys struct{ o keyOptions }

// NewDeployKeys returns the keys at those places. Nothing is opened or made yet.
func NewDeployKeys(o keyOptions) *DeployKeys { return &DeployKeys{o} }

// given is the path of a key that the user named.
type given struct {
	Path string `json:"provided_path"`
}

// Ensure implements sandboxport.Keys.
func (r *DeployKeys) Ensure(ctx context.Context, name string) (sandboxport.Key, error) {
	if err := sandbox.CheckProjectName(name); err != nil {
		return sandboxport.Key{}, err
	}
	if key, ok, err := r.whole(name); ok || err != nil {
		return key, err
	}
	release, err := r.o.Exclude(ctx, name)
	if err != nil {
		return sandboxport.Key{}, err
	}
	defer release()
	if key, ok, err := r.whole(name); ok || err != nil { // made while this call waited
		return key, err
	}
	path := r.o.Path(name)
	made := false
	switch _, err := os.Lstat(path); {
	case errors.Is(err, fs.ErrNotExist):
		err = r.generate(ctx, path, "opencode-mcp-"+name)
		if err != nil {
			return sandboxport.Key{}, err
		}
		made = true
	case err != nil:
		return sandboxport.Key{}, err
	default: // the public half may be registered somewhere: another pair would lock us out
		line, err := r.derive(ctx, path)
		if err != nil {
			return sandboxport.Key{}, err
		}
		if err := publish(path+publicSuffix, line); err != nil {
			return sandboxport.Key{}, err
		}
	}
	key, ok, err := r.whole(name)
	if err == nil && !ok {
		err = sandbox.ErrKeyInvalid.WithMessage("the deploy key %s disappeared while it was created; try again", path)
	}
	key.Made = made
	return key, err
}

// Peek implements sandboxport.Keys. Nothing is changed: of a pair without its public half, that half is derived and not stored.
func (r *DeployKeys) Peek(ctx context.Context, name string) (sandboxport.Key, bool, error) {
	if err := sandbox.CheckProjectName(name); err != nil {
		return sandboxport.Key{}, false, err
	}
	key, ok, err := r.whole(name)
	if ok || err != nil {
		return key, ok, err
	}
	path := r.o.Path(name)
	if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
		return sandboxport.Key{}, false, nil
	}
	line, err := r.derive(ctx, path)
	return sandboxport.Key{Path: path, PublicPath: path + publicSuffix, Public: line}, err == nil, err
}

// whole returns the project's pair when both halves are there. A private half that others may read is closed to them, or ssh would refuse it.
func (r *DeployKeys) whole(name string) (sandboxport.Key, bool, error) {
	path := r.o.Path(name)
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return sandboxport.Key{}, false, nil
	case err != nil:
		return sandboxport.Key{}, false, err
	case !info.Mode().IsRegular():
		return sandboxport.Key{}, false, sandbox.ErrKeyInvalid.WithMessage("the deploy key %s is not a regular file; move it away", path)
	}
	if info.Mode().Perm()&0o077 != 0 {
		if err := os.Chmod(path, 0o600); err != nil {
			return sandboxport.Key{}, false, err
		}
	}
	line, err := publicLine(path + publicSuffix)
	if errors.Is(err, fs.ErrNotExist) {
		return sandboxport.Key{}, false, nil
	}
	if err != nil {
		return sandboxport.Key{}, false, err
	}
	return sandboxport.Key{Path: path, PublicPath: path + publicSuffix, Public: line}, true, nil
}

// generate makes a pair at path, atomically: the public half arrives first, so that a private one is never without it.
func (r *DeployKeys) generate(ctx context.Context, path, comment string) error {
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	temp, err := os.MkdirTemp(dir, tempPrefix)
	if err != nil {
		return err
	}
	defer os.RemoveAll(temp)
	made := filepath.Join(temp, "key")
	if _, err := r.run(ctx, "-q", "-t", "ed25519", "-f", made, "-N", "", "-C", comment); err != nil {
		return err
	}
	for _, half := range []struct {
		suffix string
		mode   fs.FileMode
	}{{publicSuffix, 0o644}, {"", 0o600}} {
		if err := errors.Join(os.Chmod(made+half.suffix, half.mode), synced(made+half.suffix)); err != nil {
			return err
		}
		if err := os.Rename(made+half.suffix, path+half.suffix); err != nil {
			return err
		}
	}
	return synced(dir)
}

func synced(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

func (r *DeployKeys) derive(ctx context.Context, path string) (string, error) {
	out, err := r.run(ctx, "-y", "-P", "", "-f", path)
	if err != nil {
		return "", sandbox.ErrKeyInvalid.WithMessage("no public key can be derived from %s; if the key is damaged or has a passphrase, move it away to get a new pair", path).WithCause(err)
	}
	line, ok := keyLine(out)
	if !ok {
		return "", sandbox.ErrKeyInvalid.WithMessage("ssh-keygen printed no public key for %s", path)
	}
	return line, nil
}

func publish(path, line string) error {
	if err := docfile.NewDir(filepath.Dir(path)).Write(filepath.Base(path), []byte(line+"\n")); err != nil {
		return err
	}
	return os.Chmod(path, 0o644)
}

// run starts ssh-keygen without input and terminal, so it cannot prompt.
func (r *DeployKeys) run(ctx context.Context, args ...string) (out []byte, err error) {
	program := r.o.KeyGen
	if program == "" {
		if program, err = exec.LookPath("ssh-keygen"); err != nil {
			return nil, sandbox.ErrKeyNotFound.WithMessage("a deploy key needs ssh-keygen; install the OpenSSH client, or name your own key (user_ssh_key)").WithCause(err)
		}
	}
	bounded, cancel := context.WithTimeout(ctx, sandbox.ReachTimeout)
	defer cancel()
	cmd := exec.CommandContext(bounded, program, args...)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + r.o.Home, "LC_ALL=C", "SSH_ASKPASS_REQUIRE=never"}
	detach(cmd)
	var said bytes.Buffer
	cmd.Stderr = &said
	out, err = cmd.Output()
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case bounded.Err() != nil:
		return nil, sandbox.ErrTimeout.WithMessage("ssh-keygen took longer than %s", sandbox.ReachTimeout)
	case err != nil:
		return nil, sandbox.ErrKeyInvalid.WithMessage("ssh-keygen failed: %.300s", strings.TrimSpace(said.String())).WithCause(err)
	}
	return out, nil
}

// publicLine returns the public key in a file, which may come from anybody: a link to something else must not be shown as a key.
func publicLine(path string) (string, error) {
	text, _, err := docfile.NewDir(filepath.Dir(path)).Read(filepath.Base(path), publicLimit)
	if err != nil {
		return "", err
	}
	line, ok := keyLine(text)
	if !ok {
		return "", sandbox.ErrKeyInvalid.WithMessage("%s does not contain a public key; move it away", path)
	}
	return line, nil
}

// keyLine returns the first line of text when it is a public key: its kind, and base64 that begins with that kind.
func keyLine(text []byte) (string, bool) {
	line, _, _ := strings.Cut(strings.TrimSpace(string(text)), "\n")
	fields := strings.Fields(line)
	if len(fields) < 2 || strings.ContainsFunc(line, func(r rune) bool { return r < ' ' && r != '\t' && r != '\r' || r == 0x7f }) {
		return "", false
	}
	blob, err := base64.StdEncoding.DecodeString(fields[1])
	if err != nil || len(blob) < 4 {
		return "", false
	}
	n := binary.BigEndian.Uint32(blob)
	if uint64(n) > uint64(len(blob)-4) || string(blob[4:4+n]) != fields[0] {
		return "", false
	}
	return strings.TrimSpace(line), true
}
