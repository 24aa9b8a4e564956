package ecogit

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/countersign-dev/countersign/adapters/gitcli"
)

// absoluteOrigin returns settings that have git read a relative address of origin from where the repository is. Git reads it from the directory that it
// runs in, so that one address would be another place in each worktree.
func absoluteOrigin(ctx context.Context, dir string) []gitcli.Setting {
	info, err := os.Lstat(filepath.Join(dir, ".git"))
	if err != nil || info.IsDir() {
		return nil // this is the repository's own working tree
	}
	said, err := word(ctx, dir, "config", "--local", "--get-regexp", `^remote\.origin\.(push)?url$`)
	if err != nil {
		return nil
	}
	var settings []gitcli.Setting
	for _, line := range lines(said) {
		_, url, _ := strings.Cut(line, " ")
		if !relative(url) {
			continue
		}
		common, err := word(ctx, dir, "rev-parse", "--path-format=absolute", "--git-common-dir")
		if err != nil {
			return nil
		}
		at := filepath.ToSlash(filepath.Join(filepath.Dir(common), filepath.FromSlash(url)))
		one := gitcli.Setting{Name: "url." + at + ".insteadOf", Value: url}
		if !slices.Contains(settings, one) {
			settings = append(settings, one)
		}
	}
	return settings
}

// relative reports an address that is a path without a beginning.
func relative(url string) bool {
	head, _, _ := strings.Cut(url, "/")
	return url != "" && !filepath.IsAbs(url) && !strings.Contains(head, ":") && !strings.HasPrefix(url, "~")
}
