package worktree

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/countersign-dev/countersign/adapters/gitcli"
	"github.com/countersign-dev/countersign/domain/git"
	"github.com/countersign-dev/countersign/domain/sandbox"
)

// BackupSet puts commits under the backup refs of a sandbox.
type BackupSet struct {
	Refs []string // that keep what had to be kept, older ones included

	at    *gitcli.Repo
	name  string
	when  time.Time
	there map[string]string // backups of the sandbox that exist: ref → commit
	set   sandbox.BackupSet
}

// BeginBackupSet begins a set of backups.
func BeginBackupSet(ctx context.Context, at *gitcli.Repo, name string, when time.Time) (*BackupSet, error) {
	there, err := Refs(ctx, at.Main(), sandbox.BackupPrefix(name))
	if err != nil {
		return nil, err
	}
	k := &BackupSet{at: at, name: name, when: when, there: there}
	k.next()
	return k, nil
}

func (k *BackupSet) next() {
	k.set = sandbox.NextBackup(k.name, k.when, func(ref string) bool { _, ok := k.there[ref]; return ok })
}

// Keep puts a commit under a ref, unless one of the sandbox has it already.
func (k *BackupSet) Keep(ctx context.Context, kind sandbox.BackupKind, commit string) error {
	for ref, is := range k.there {
		if is == commit {
			k.note(ref)
			return nil
		}
	}
	if _, taken := k.there[k.set.Ref(kind)]; taken {
		k.next()
	}
	ref := k.set.Ref(kind)
	if _, err := k.at.Main().Word(ctx, "update-ref", ref, commit, strings.Repeat("0", len(commit))); err != nil {
		return err
	}
	k.there[ref] = commit
	k.note(ref)
	return nil
}

func (k *BackupSet) note(ref string) {
	if !slices.Contains(k.Refs, ref) {
		k.Refs = append(k.Refs, ref)
	}
}

// Uncommitted keeps what of a worktree was not committed, and what of its submodules and of other repositories in it is nowhere else; base is what
// to stand on before the first commit.
func (k *BackupSet) Uncommitted(ctx context.Context, t *gitcli.Tree, h UnsavedWork, base string) error {
	if !t.Exists() {
		h.Changes, h.Setup = nil, nil
	} else if err := k.submodules(ctx, t, h.nested); err != nil {
		return err
	}
	if len(h.Setup) > 0 || slices.ContainsFunc(h.Changes, func(c git.Change) bool { return c.Kind != git.Ignored }) {
		about := k.name
		if h.Branch != "" {
			about += ", branch " + h.Branch
		}
		if h.Head != "" {
			base = h.Head
		}
		commit, err := CommitWork(ctx, t, base, about, k.when)
		if err != nil {
			return err
		}
		if err := k.Keep(ctx, sandbox.BackupStash, commit); err != nil {
			return err
		}
	}
	for _, commit := range h.Stashes {
		if err := k.Keep(ctx, sandbox.BackupStash, commit); err != nil {
			return err
		}
	}
	return nil
}

// submodules keeps, in the clone, the commits of a worktree's submodules that none of their remotes has, and what was not committed in them:
// their repositories go with the worktree. So do other repositories in it.
func (k *BackupSet) submodules(ctx context.Context, t *gitcli.Tree, nested []nestedRepo) error {
	paths, err := t.Submodules(ctx)
	if err != nil {
		return err
	}
	for i, path := range paths {
		sub, err := t.Submodule(ctx, path)
		if err != nil {
			return err
		}
		h, err := workIn(ctx, sub)
		if err != nil {
			return err
		}
		alone, err := OnlyInRepo(ctx, sub, h.Head)
		if err != nil {
			return err
		}
		if alone {
			if err := k.bring(ctx, sub, sandbox.SubmoduleBackup(i+1, false), h.Head); err != nil {
				return err
			}
		}
		if len(h.Changes) == 0 {
			continue
		}
		if err := k.changes(ctx, sub, h, i+1, "submodule "+path); err != nil {
			return err
		}
	}
	return k.repositories(ctx, nested, len(paths))
}

// repositories keeps, in the clone, what is nowhere else of repositories that lie in a worktree; number of them were kept before.
func (k *BackupSet) repositories(ctx context.Context, nested []nestedRepo, number int) error {
	for _, n := range nested {
		number++
		if n.ignored && len(n.work.Changes) > 0 { // the files of others are kept with those of the worktree
			if err := k.changes(ctx, n.tree, n.work, number, "repository "+n.path); err != nil {
				return err
			}
		}
		for i, tip := range slices.Concat(n.tips, n.work.Stashes) {
			if i > 0 {
				number++
			}
			if err := k.bring(ctx, n.tree, sandbox.SubmoduleBackup(number, false), tip); err != nil {
				return err
			}
		}
	}
	return nil
}

// changes backs up the uncommitted changes of a repository inside a worktree.
func (k *BackupSet) changes(ctx context.Context, sub *gitcli.Tree, h UnsavedWork, number int, about string) error {
	commit, err := CommitWork(ctx, sub, h.Head, k.name+", "+about, k.when)
	if err != nil {
		return err
	}
	return k.bring(ctx, sub, sandbox.SubmoduleBackup(number, true), commit)
}

const carried = "refs/countersign/carried" // in a submodule, while its commit is brought over

// bring keeps a submodule's commit in the clone.
func (k *BackupSet) bring(ctx context.Context, sub *gitcli.Tree, kind sandbox.BackupKind, commit string) error {
	if _, err := sub.Word(ctx, "update-ref", carried, commit); err != nil {
		return err
	}
	if _, err := k.at.Main().Git(ctx, gitcli.Command{Protocols: "file", Args: []string{"fetch", "--quiet", "--no-tags", "--update-shallow", "--no-recurse-submodules",
		"--no-write-fetch-head", "--no-auto-maintenance", "--upload-pack=git-upload-pack", "--", sub.Common, carried}}); err != nil {
		return err
	}
	if _, err := sub.Word(ctx, "update-ref", "-d", carried); err != nil {
		return err
	}
	return k.Keep(ctx, kind, commit)
}
