// Package forge opens releases and requests on GitHub and GitLab, through gh and glab where they are installed. It starts them at the top of the file system,
// so that nothing in a repository has a say, with arguments alone: what they are told is in no shell.
//
// Its API may change at any time.
package forge

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/countersign-dev/countersign/adapters/gitcli"
	"github.com/countersign-dev/countersign/domain/ecosystem"
	"github.com/countersign-dev/countersign/domain/git"
	"github.com/countersign-dev/countersign/ports/ecosystemport"
)

const (
	gh   = "gh"
	glab = "glab"
)

// Programs is an ecosystemport.Forge.
type Programs struct{}

var _ ecosystemport.Forge = Programs{}

// site returns the program for a remote, and the repository as that names it; empty for a site without one.
func site(remote string) (program, repository string) {
	u, err := git.ParseURL(remote)
	if err != nil || u.IsLocal() || u.Host() == "" {
		return "", ""
	}
	switch {
	case u.GitHub():
		return gh, u.Host() + "/" + u.Path()
	case strings.Contains("."+u.Host(), ".gitlab."):
		return glab, "https://" + u.Host() + "/" + u.Path()
	}
	return "", ""
}

// Program implements ecosystemport.Forge.
func (Programs) Program(remote string) (string, error) {
	program, _ := site(remote)
	if program == "" {
		return "", nil
	}
	_, err := find(program)
	return program, err
}

// page returns the last line that is a URL.
func page(out string) (found string) {
	for line := range strings.Lines(out) {
		if line = strings.TrimSpace(line); strings.HasPrefix(line, "https://") || strings.HasPrefix(line, "http://") {
			found = line
		}
	}
	return found
}

// Release implements ecosystemport.Forge, for GitHub alone.
func (Programs) Release(ctx context.Context, r ecosystemport.ForgeRelease) (string, error) {
	program, repository := site(r.Remote)
	if program != gh {
		return "", ecosystem.ErrForge.WithMessage("%s is not on GitHub; make the release of %s there by hand", r.Remote, r.Tag)
	}
	if out, err := run(ctx, gh, "", "release", "view", r.Tag, "--repo", repository, "--json", "url", "--jq", ".url"); err == nil {
		return page(out), nil
	} else if ctx.Err() != nil {
		return "", err
	}
	args := []string{"release", "create", r.Tag, "--repo", repository, "--verify-tag", "--title", r.Tag, "--notes-file", "-"}
	if r.PreRelease {
		args = append(args, "--prerelease")
	}
	out, err := run(ctx, gh, r.Notes, args...)
	return page(out), err
}

// Request implements ecosystemport.Forge. The program takes the user's login along, so that a site that nobody has approved is not asked.
func (Programs) Request(ctx context.Context, remote, branch string) (ecosystemport.ForgeRequest, error) {
	program, repository := site(remote)
	if program != "" {
		if err := gitcli.Reach(ctx, remote); err != nil {
			return ecosystemport.ForgeRequest{}, err
		}
	}
	var found []struct {
		URL   string `json:"url"`
		Web   string `json:"web_url"`
		State string `json:"state"`
		Body  string `json:"body"`
		Words string `json:"description"`
	}
	var out string
	var err error
	switch program {
	case gh:
		out, err = run(ctx, gh, "", "pr", "list", "--repo", repository, "--head", branch, "--state", "all", "--limit", "1", "--json", "url,state,body")
	case glab:
		out, err = run(ctx, glab, "", "mr", "list", "--repo", repository, "--source-branch", branch, "--all", "--per-page", "1", "--output", "json")
	default:
		return ecosystemport.ForgeRequest{}, nil
	}
	if err != nil {
		return ecosystemport.ForgeRequest{}, err
	}
	if err := json.Unmarshal([]byte(out), &found); err != nil {
		return ecosystemport.ForgeRequest{}, ecosystem.ErrForge.WithMessage("the answer of %s about the requests of %s is invalid", program, branch).WithCause(err)
	}
	if len(found) == 0 {
		return ecosystemport.ForgeRequest{}, nil
	}
	state := strings.ToLower(found[0].State)
	if state == "opened" {
		state = "open"
	}
	return ecosystemport.ForgeRequest{Page: found[0].URL + found[0].Web, State: state, Text: found[0].Body + found[0].Words}, nil
}

// Propose implements ecosystemport.Forge.
func (Programs) Propose(ctx context.Context, p ecosystemport.ForgeProposal) (ecosystemport.ForgeRequest, error) {
	program, repository := site(p.Remote)
	var out string
	var err error
	switch program {
	case gh:
		out, err = run(ctx, gh, p.Text, "pr", "create", "--repo", repository, "--head", p.Branch, "--base", p.Base, "--title", p.Title, "--body-file", "-")
	case glab:
		out, err = run(ctx, glab, "", "mr", "create", "--yes", "--repo", repository, "--source-branch", p.Branch, "--target-branch", p.Base, "--title", p.Title, "--description", p.Text)
	default:
		err = ecosystem.ErrForge.WithMessage("no program can open a request at %s; open one there from %s into %s", p.Remote, p.Branch, p.Base)
	}
	if err != nil {
		return ecosystemport.ForgeRequest{}, err
	}
	return ecosystemport.ForgeRequest{Page: page(out), State: "open", Text: p.Text}, nil
}

// Edit implements ecosystemport.Forge.
func (Programs) Edit(ctx context.Context, remote, page, text string) error {
	program, repository := site(remote)
	number := page[strings.LastIndexByte(page, '/')+1:]
	if number == "" || strings.Trim(number, "0123456789") != "" {
		return ecosystem.ErrForge.WithMessage("%q is not the page of a request; add the links to the other requests by hand", page)
	}
	var err error
	if program == glab {
		_, err = run(ctx, glab, "", "mr", "update", number, "--repo", repository, "--description", text)
	} else {
		_, err = run(ctx, gh, text, "pr", "edit", number, "--repo", repository, "--body-file", "-")
	}
	return err
}
