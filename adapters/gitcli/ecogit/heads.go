package ecogit

import (
	"context"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/countersign-dev/countersign/adapters/gitcli"
	"github.com/countersign-dev/countersign/domain/git"
	"github.com/countersign-dev/countersign/domain/sandbox"
	"github.com/countersign-dev/countersign/ports/ecosystemport"
)

// Heads implements ecosystemport.PushGit. Of a branch that is asked for by its name, commits that another branch has count as kept.
func (c *PushClient) Heads(ctx context.Context, dir, prefix string, ask bool) (found ecosystemport.LocalHeads, err error) {
	if !repository(dir) {
		return found, nil
	}
	all, err := refs(ctx, dir)
	if err != nil {
		return found, err
	}
	found, known, err := atRemotes(ctx, dir, all, ask)
	if err != nil {
		return found, err
	}
	wanted := git.HeadsPrefix + prefix
	var backups []string
	for _, ref := range all {
		switch under := strings.HasPrefix(ref.Name, git.HeadsPrefix); {
		case strings.HasPrefix(ref.Name, sandbox.BackupsRoot):
			backups = append(backups, ref.Object)
		case !under:
		case prefix == "" || ref.Name == wanted || strings.HasPrefix(ref.Name, wanted+"/"):
			found.Heads = append(found.Heads, ecosystemport.Head{Branch: strings.TrimPrefix(ref.Name, git.HeadsPrefix), Commit: ref.Object})
		default:
			known = append(known, ref.Object)
		}
	}
	below := below(known)
	count := func(tips string, args ...string) (int, error) {
		out, err := gitPush(ctx, dir, gitcli.Command{Stdin: []byte(tips + below), Args: append([]string{"rev-list", "--count", "--ignore-missing", "--stdin"}, args...)})
		if err != nil {
			return 0, named(dir, err)
		}
		return strconv.Atoi(strings.TrimSpace(string(out)))
	}
	every := ""
	for _, head := range found.Heads {
		every += head.Commit + "\n"
	}
	for _, commit := range backups {
		every += commit + "\n"
	}
	if some, err := count(every, "--max-count=1"); some == 0 || err != nil { // most often there is nothing to count
		return found, err
	}
	for i := range found.Heads {
		if found.Heads[i].Unpushed, err = count(found.Heads[i].Commit + "\n"); err != nil {
			return found, err
		}
	}
	for _, commit := range backups {
		alone, err := count(commit+"\n", "--max-count=1")
		if err != nil {
			return found, err
		}
		found.Backup += alone
	}
	return found, nil
}

// atRemotes returns the commits that remotes are known to have: origin by what it says now if it is asked and answers, and else, like every other remote, by
// what was last fetched of it. Of a branch that has moved to commits that were never fetched, what was last fetched counts, because nobody can say without a
// fetch whether those stand on it.
func atRemotes(ctx context.Context, dir string, all []git.Ref, ask bool) (found ecosystemport.LocalHeads, known []string, err error) {
	url, err := quiet(ctx, dir, "remote", "get-url", "--", "origin")
	if err != nil {
		return found, nil, err
	}
	var there map[string]string
	if found.Remote = url != ""; found.Remote && ask {
		if there, err = remoteHeads(ctx, dir, git.HeadsPrefix+"*", tags+"*"); ctx.Err() != nil {
			return found, nil, err
		}
		found.Asked = err == nil
	}
	if found.Remote && !found.Asked {
		found.Seen = lastSeen(ctx, dir)
	}
	fetched := map[string]string{}
	for _, ref := range all {
		name, ofOrigin := strings.CutPrefix(ref.Name, git.RemotesPrefix)
		switch {
		case ofOrigin && found.Asked:
			fetched[name] = ref.Object
		case strings.HasPrefix(ref.Name, remotes):
			known = append(known, ref.Object)
		}
		if tag, is := strings.CutPrefix(ref.Name, tags); is && found.Asked && there[ref.Name] != ref.Object {
			found.Tags = append(found.Tags, tag)
		}
	}
	have, err := present(ctx, dir, there)
	if err != nil {
		return found, nil, err
	}
	known = append(known, have...)
	slices.Sort(have)
	for ref, commit := range there {
		branch, is := strings.CutPrefix(ref, git.HeadsPrefix)
		if _, here := slices.BinarySearch(have, commit); is && !here && fetched[branch] != "" {
			found.Moved, known = append(found.Moved, branch), append(known, fetched[branch])
		}
	}
	slices.Sort(found.Moved)
	return found, known, nil
}

// below makes git exclude everything that those commits contain.
func below(known []string) string {
	var text strings.Builder
	for _, commit := range known {
		text.WriteString("^" + commit + "\n")
	}
	return text.String()
}

// lastSeen returns when something of origin last changed in a repository, as far as its files tell.
func lastSeen(ctx context.Context, dir string) (last time.Time) {
	for _, name := range []string{"FETCH_HEAD", "logs/" + strings.TrimSuffix(git.RemotesPrefix, "/"), strings.TrimSuffix(git.RemotesPrefix, "/")} {
		place, err := quiet(ctx, dir, "rev-parse", "--git-path", name)
		if err != nil || place == "" {
			continue
		}
		if !filepath.IsAbs(place) {
			place = filepath.Join(dir, place)
		}
		_ = filepath.WalkDir(place, func(_ string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return nil //nolint:nilerr // what cannot be looked at tells nothing
			}
			if info, err := d.Info(); err == nil && info.ModTime().After(last) {
				last = info.ModTime()
			}
			return nil
		})
	}
	return last
}
