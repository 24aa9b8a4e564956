package overlay

import (
	"bytes"
	"encoding/json"

	"github.com/countersign-dev/countersign/domain/deployment"
)

// The kinds of origins, as they are written.
const (
	gitOrigin   = "git"
	localOrigin = "local_path"
)

// MarshalJSON writes the union (agentpack contract §3.2): its kind first, then the kind's own fields in the order of the format. An origin without a
// kind is null.
func (o Origin) MarshalJSON() ([]byte, error) {
	switch {
	case o.Git != nil:
		return plain(struct {
			Kind string `json:"kind"`
			deployment.ResolvedGit
		}{gitOrigin, *o.Git})
	case o.Local != nil:
		out := struct {
			Kind   string  `json:"kind"`
			Path   string  `json:"repo_rel_path"`
			Commit *string `json:"repo_git_rev"`
			Dirty  *bool   `json:"repo_dirty"`
		}{Kind: localOrigin, Path: o.Local.Path, Dirty: o.Local.Dirty}
		if o.Local.Commit != "" {
			out.Commit = &o.Local.Commit
		}
		return plain(out)
	}
	return []byte("null"), nil
}

// plain returns v as JSON with & unescaped, as in a URL.
func plain(v any) ([]byte, error) {
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return out.Bytes(), err
}

// UnmarshalJSON reads the union. It fails with ErrBaseline for an unknown kind; null leaves o unchanged.
func (o *Origin) UnmarshalJSON(data []byte) error {
	if bytes.Equal(bytes.TrimSpace(data), []byte("null")) {
		return nil
	}
	var in struct {
		Kind string `json:"kind"`
		deployment.ResolvedGit
		Path string  `json:"repo_rel_path"`
		Rev  *string `json:"repo_git_rev"`
		Was  *bool   `json:"repo_dirty"`
	}
	if err := json.Unmarshal(data, &in); err != nil {
		return err
	}
	switch in.Kind {
	case gitOrigin:
		*o = Origin{Git: &in.ResolvedGit}
	case localOrigin:
		local := LocalOrigin{Path: in.Path, Dirty: in.Was}
		if in.Rev != nil {
			local.Commit = *in.Rev
		}
		*o = Origin{Local: &local}
	default:
		return deployment.ErrBaseline.WithMessage("the upstream of the baseline has the unknown kind %q; create the overlay's baseline again", in.Kind)
	}
	return nil
}

// Encode returns the content of the baseline's file: two spaces, a final line break (agentpack contract §3.2).
func (b Baseline) Encode() ([]byte, error) {
	b.CreatedAt = b.CreatedAt.UTC()
	if b.Manifest == nil {
		b.Manifest = []deployment.Entry{}
	}
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	err := e.Encode(b)
	return out.Bytes(), err
}
