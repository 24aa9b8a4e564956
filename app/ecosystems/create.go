package ecosystems

import (
	"context"
	"errors"
	"fmt"
	"path"
	"strings"
	"time"

	"github.com/countersign-dev/countersign/app/ecosystems/runs"
	"github.com/countersign-dev/countersign/domain/ecosystem"
	"github.com/countersign-dev/countersign/domain/tool"
)

// lockWait is how long a change waits for another one of the same ecosystem.
const lockWait = 10 * time.Second

// NewRepo is a repository of a new ecosystem.
type NewRepo struct {
	Name     string `json:"name" jsonschema:"minLength=1"`
	URL      string `json:"url" jsonschema:"minLength=1"`
	Branch   string `json:"branch,omitempty"`
	ReadOnly bool   `json:"readonly,omitempty"`
}

// CreateInput is an ecosystem to make.
type CreateInput struct {
	Name        string    `json:"name" jsonschema:"minLength=1"`
	Description string    `json:"description,omitempty"`
	Repos       []NewRepo `json:"repos" jsonschema:"maxItems=256"`
	Provisioner string    `json:"provisioner,omitempty" jsonschema:"description=local or noop or a directory of provisioners/"`
	runs.ModeInput
}

// Resources returns the ecosystem.
func (in CreateInput) Resources() []string { return []string{in.Name} }

// Created is a new ecosystem.
type Created struct {
	Status   string              `json:"status"`
	Name     string              `json:"name"`
	Path     string              `json:"path"`     // of its directory, absolute
	Manifest string              `json:"manifest"` // the text of its ecosystem.yaml
	Warnings []ecosystem.Problem `json:"warnings"`
	runs.Envelope
}

// createPlan is an ecosystem about to be made.
type createPlan struct {
	runs.Plan
	layout   ecosystem.Layout
	document ecosystem.Draft
	warnings []ecosystem.Problem
}

func (s service) planCreate(ctx context.Context, _ tool.Scope, in CreateInput) (createPlan, error) {
	if err := ecosystem.CheckName(in.Name); err != nil {
		return createPlan{}, err
	}
	root, err := s.Places.Root(ctx)
	if err != nil {
		return createPlan{}, err
	}
	l, err := s.Places.Layout(ctx, root, in.Name)
	if err != nil {
		return createPlan{}, err
	}
	if _, err := s.Manifests.Load(ctx, l); err == nil || errors.Is(err, ecosystem.ErrManifest) {
		return createPlan{}, ecosystem.ErrExists.WithMessage("there is an ecosystem %s already, at %s", in.Name, l.Dir)
	} else if !errors.Is(err, ecosystem.ErrUnknown) {
		return createPlan{}, err
	}
	p := createPlan{layout: l, document: ecosystem.Draft{Name: in.Name, Description: in.Description, Provisioner: in.Provisioner}}
	for _, r := range in.Repos {
		p.document.Repos = append(p.document.Repos, ecosystem.Repo{Name: r.Name, URL: r.URL, Branch: r.Branch, ReadOnly: r.ReadOnly, Enabled: true})
	}
	found := runs.Ecosystem{Layout: l}
	found.Loaded.Manifest = p.document.Read()
	if err := found.Sound(); err != nil {
		return createPlan{}, err
	}
	p.warnings = known(found.Loaded.Manifest.Warnings)
	preview := map[string]any{"path": l.Dir, "manifest_path": l.Manifest, "name": in.Name, "description": in.Description, "provisioner": tool.NilIfZero(in.Provisioner),
		"repos": views(found.Manifest().Repos), "clones": false}
	what, affects := "write the directory "+l.Dir+" with a manifest; nothing is cloned", []string{l.Dir}
	if makes, err := s.Manifests.Initializes(ctx, l); err != nil {
		return createPlan{}, err
	} else if makes {
		preview["git_init"] = root
		what, affects = "make "+root+" a git repository, and "+what, append(affects, root)
	}
	p.Plan, err = runs.Plan{Tool: Create.Name, Summary: fmt.Sprintf("creation of %s (%s)", in.Name, count(len(in.Repos), "repository")), Preview: preview,
		Explanation: runs.Explanation{What: what, Affects: affects},
		Current:     map[string]any{"exists": false, "workspace_root": root}, Risk: runs.Risk{Level: "low"}, Warnings: said(p.warnings),
		Hint: "amof_set_mode execute, then the same call"}.Sealed(found)
	return p, err
}

// said is problems as lines.
func said(found []ecosystem.Problem) (lines []string) {
	for _, p := range found {
		lines = append(lines, p.Path+": "+p.Message)
	}
	return lines
}

func (s service) create(ctx context.Context, sc tool.Scope, p createPlan) (Created, error) {
	ctx, release, err := s.States.Lock(ctx, p.layout, lockWait)
	if err != nil {
		return Created{}, err
	}
	defer release()
	written, err := s.Manifests.Create(ctx, p.layout, p.document)
	if err != nil {
		return Created{}, err
	}
	name := p.layout.Name
	return Created{Status: "success", Name: name, Path: p.layout.Dir, Manifest: written, Warnings: p.warnings,
		Envelope: s.Show(sc, runs.Subject{Ecosystem: name}, runs.AnswerText{Summary: clip("Created " + name + " with " + count(len(p.document.Repos), "repository")), Details: []string{p.layout.Dir}},
			runs.SuggestAction("install", name, nil), runs.SuggestAction("validate", name, nil), runs.SuggestAction("switch_ecosystem", name, nil))}, nil
}

// JournalInput is an entry to write.
type JournalInput struct {
	Title string `json:"title" jsonschema:"minLength=1,maxLength=200"`
	Body  string `json:"body" jsonschema:"minLength=1,maxLength=100000"`
	runs.Target
}

// JournalAnswer is where the entry is.
type JournalAnswer struct {
	Status string `json:"status"`
	Name   string `json:"name"` // of the file
	Path   string `json:"path"` // absolute
	runs.Envelope
}

// journalPlan is an entry about to be written.
type journalPlan struct {
	runs.Plan
	layout ecosystem.Layout
	name   string // of the file, relative to the ecosystem, without its extension
	text   string
}

const journalDir = "journal"

func (s service) planJournal(ctx context.Context, sc tool.Scope, in JournalInput) (journalPlan, error) {
	title := strings.Join(strings.Fields(in.Title), " ")
	if title == "" || strings.TrimSpace(in.Body) == "" {
		return journalPlan{}, ecosystem.ErrArguments.WithMessage("a journal entry has a title and a body, and neither is blank")
	}
	f, err := s.Find(ctx, sc, in.Ecosystem)
	if err != nil {
		return journalPlan{}, err
	}
	now := s.Clock.Now().UTC()
	p := journalPlan{layout: f.Layout, name: path.Join(journalDir, now.Format("20060102_150405")+"_"+slug(title)),
		text: fmt.Sprintf("# %s\n\nDate: %s\n\n%s\n\nTags: journal, %s\n", title, now.Format(time.RFC3339), strings.TrimSpace(in.Body), f.Layout.Name)}
	file := path.Join(f.Layout.Dir, p.name+".md")
	p.Plan, err = runs.Plan{Tool: CreateJournal.Name, Summary: "journal entry of " + f.Layout.Name, Preview: map[string]any{"path": file, "text": p.text},
		Explanation: runs.Explanation{What: "write one file into the journal of " + f.Layout.Name, Affects: []string{file}}, Current: map[string]any{"exists": false},
		Risk: runs.Risk{Level: "low"}, Hint: "amof_set_mode execute, then the same call"}.Sealed(f)
	return p, err
}

// sameSecond is how many entries of one title a second may have.
const sameSecond = 50

func (s service) journal(ctx context.Context, sc tool.Scope, p journalPlan) (JournalAnswer, error) {
	ctx, release, err := s.States.Lock(ctx, p.layout, lockWait)
	if err != nil {
		return JournalAnswer{}, err
	}
	defer release()
	file := p.name + ".md"
	at, err := s.Manifests.Write(ctx, p.layout, file, []byte(p.text))
	for n := 2; errors.Is(err, ecosystem.ErrExists) && n <= sameSecond; n++ {
		file = fmt.Sprintf("%s-%d.md", p.name, n)
		at, err = s.Manifests.Write(ctx, p.layout, file, []byte(p.text))
	}
	if err != nil {
		return JournalAnswer{}, err
	}
	return JournalAnswer{Status: "success", Name: path.Base(file), Path: at,
		Envelope: s.Show(sc, runs.Subject{Ecosystem: p.layout.Name}, runs.AnswerText{Summary: clip("Wrote " + path.Base(file)), Details: []string{at}}, runs.SuggestAction("describe", p.layout.Name, nil))}, nil
}

// slug returns a title as a part of a file's name: at most 48 small letters and digits, with dashes between.
func slug(title string) string {
	const most = 48
	var b strings.Builder
	for _, c := range strings.ToLower(title) {
		if c >= 'a' && c <= 'z' || c >= '0' && c <= '9' {
			b.WriteRune(c)
		} else if b.Len() > 0 && !strings.HasSuffix(b.String(), "-") {
			b.WriteByte('-')
		}
		if b.Len() == most {
			break
		}
	}
	if s := strings.TrimRight(b.String(), "-"); s != "" {
		return s
	}
	return "entry"
}
