package ecosystemport

import "context"

// Forge opens releases and requests on the sites that host repositories, through the site's own program: gh on GitHub, glab on GitLab. The program is started
// outside of every repository, with the login that the user gave it.
type Forge interface {
	// Program returns the program for a remote: "gh" or "glab". It is empty if the site has none; it fails with ecosystem.ErrForge if the site's
	// program is not installed.
	Program(remote string) (string, error)
	// Release makes a release of a tag that the site has, and returns its page. One that is there already stays as it is.
	Release(ctx context.Context, r ForgeRelease) (page string, err error)
	// Request returns the newest request of a branch; a zero one where there is none.
	Request(ctx context.Context, remote, branch string) (ForgeRequest, error)
	// Propose opens a request, and returns it.
	Propose(ctx context.Context, p ForgeProposal) (ForgeRequest, error)
	// Edit replaces the text of a request, by its page.
	Edit(ctx context.Context, remote, page, text string) error
}

// ForgeRelease is a release on the site of a repository.
type ForgeRelease struct {
	Remote     string `json:"remote"` // URL of the repository
	Tag        string `json:"tag"`
	Notes      string `json:"notes"`
	PreRelease bool   `json:"prerelease,omitempty"`
}

// ForgeProposal is a pull or merge request that is to be opened.
type ForgeProposal struct {
	Remote string `json:"remote"` // URL of the repository
	Branch string `json:"branch"`
	Base   string `json:"base"`
	Title  string `json:"title"`
	Text   string `json:"text"`
}

// ForgeRequest is a pull or merge request. State is open, merged or closed.
type ForgeRequest struct {
	Page  string `json:"url"`
	State string `json:"state"`
	Text  string `json:"-"`
}
