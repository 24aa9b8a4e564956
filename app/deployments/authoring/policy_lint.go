package authoring

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/countersign-dev/countersign/app/deployments/planner"
	"github.com/countersign-dev/countersign/domain/deployment"
	"github.com/countersign-dev/countersign/domain/deployment/governance"
	"github.com/countersign-dev/countersign/domain/deployment/inspection"
	"github.com/countersign-dev/countersign/domain/redact"
	"github.com/countersign-dev/countersign/domain/tool"
	"github.com/countersign-dev/countersign/domain/visible"
)

// lint checks files and policy.
func (s *policyService) lint(ctx context.Context, sc tool.Scope, c planner.RepoInput) (none planner.Report[governance.Report], err error) {
	at, err := s.Compiler.Places.Resolve(ctx, c.Selection().Asked())
	if err != nil {
		return none, err
	}
	files, err := s.files(ctx, at)
	if err != nil {
		return none, err
	}
	broken, err := s.policy(ctx, at)
	if err != nil {
		return none, err
	}
	report := governance.NewReport(at.Repo, append(files.issues, broken...), files.skills, files.commands)
	inspection.Sort(files.findings)
	report.Findings = planner.Told(files.findings)
	fit(&report, sc.MaxOutput)
	for i := range report.Issues {
		report.Issues[i].Path = strings.ReplaceAll(report.Issues[i].Path, "/", string(s.Compiler.Sep))
	}
	if err := report.Fault(); err != nil {
		return none, err
	}
	return planner.NewReport(report), nil
}

// fit shortens the list to about limit bytes; one issue always stays. The summary counts all of them.
func fit(r *governance.Report, limit int) {
	const each = 1200 // bytes, with details
	if most := max(limit/each, 1); limit > 0 && len(r.Issues) > most {
		r.Issues, r.Omitted = r.Issues[:most], len(r.Issues)-most
	}
}

// looked is what came of looking into files.
type looked struct {
	issues           []governance.Issue
	findings         []inspection.Finding
	skills, commands int
}

// files looks into every skill and command of the repository, and in every text file for what a reader would not see.
func (s *policyService) files(ctx context.Context, at deployment.Locations) (out looked, err error) {
	list, err := s.Lister.List(ctx, at.Repo, governance.SkippedDirs())
	if err != nil {
		return out, err
	}
	mask := redact.New(redact.Options{})
	eye, owner := inspection.New(s.Compiler.Configs.Frontmatter), s.owner(ctx, at)
	for _, f := range list {
		skill, command := governance.IsSkill(f.Path), governance.IsCommand(f.Path)
		if f.Err != nil {
			out.issues = append(out.issues, unread(f.Path, f.Err))
			continue
		}
		doc, found, err := s.Machine.Read(ctx, s.in(at.Repo, f.Path))
		switch {
		case ctx.Err() != nil:
			return out, ctx.Err()
		case err != nil || !found:
			out.issues = append(out.issues, unread(f.Path, err))
			continue
		}
		out.issues = append(out.issues, hidden(f.Path, doc)...)
		out.issues = append(out.issues, literal(mask, f.Path, doc)...)
		if id, rest, of := owner(f.Path); of {
			out.findings = append(out.findings, eye.Inspect(inspection.File{ModuleID: id, Path: rest, Mode: deployment.PlainMode, Size: int64(len(doc)), Data: doc})...)
		}
		if skill {
			out.skills++
			out.issues = append(out.issues, governance.CheckSkill(f.Path, doc, s.Compiler.Configs.Frontmatter)...)
		}
		if command {
			out.commands++
			out.issues = append(out.issues, governance.CheckCommand(f.Path, doc, s.Compiler.Configs.Frontmatter)...)
		}
	}
	return out, nil
}

// owner gives the module that a file of the repository belongs to, with its path there; for an overlay's file no module, and the path as it is. Any other
// file is deployed nowhere. Without a config file that can be read nothing belongs to anything.
func (s *policyService) owner(ctx context.Context, at deployment.Locations) func(path string) (id, rest string, of bool) {
	config, _ := s.Compiler.Configs.Load(ctx, at.Repo)
	return func(path string) (string, string, bool) {
		for _, m := range config.Manifest.Modules {
			if m.Source.Git != nil {
				continue
			}
			if rest, in := strings.CutPrefix(path, m.Source.Local+"/"); in {
				return m.ID, rest, true
			}
			if path == m.Source.Local {
				return m.ID, path[strings.LastIndexByte(path, '/')+1:], true
			}
		}
		return "", path, strings.HasPrefix(path, "overlays/") || strings.HasPrefix(path, "projects/")
	}
}

// hidden returns what a reader would not see in a file, or in its name.
func hidden(path string, doc []byte) (out []governance.Issue) {
	issue := func(f visible.Finding) {
		out = append(out, governance.NewIssue(governance.HiddenCharacters, path, "it "+visible.FindingsReason([]visible.Finding{f}), deployment.FieldDetails("characters", f.What)))
	}
	if f, found := visible.FindHidden("its name", path); found {
		issue(f)
	}
	if !deployment.IsText(doc) {
		return out
	}
	if f, found := visible.FindHidden("its text", string(doc)); found {
		issue(f)
	}
	return out
}

// literal returns the secrets that a file holds themselves. Which they are is not said, only where: what is found here would be deployed, and then in
// every plan, snapshot and document that it goes into.
func literal(mask *redact.Redactor, path string, doc []byte) (out []governance.Issue) {
	if !deployment.IsText(doc) {
		return nil
	}
	text := strings.Split(string(doc), "\n")
	masked, found := mask.Lines(text)
	if found == 0 {
		return nil
	}
	var lines []int
	for i := range text {
		if masked[i] != text[i] {
			lines = append(lines, i+1)
		}
	}
	return []governance.Issue{governance.NewIssue(governance.LiteralSecret, path, fmt.Sprintf("it holds what looks like a secret, in line %s; write a reference like ${NAME} instead, remove the secret from the history, and replace the secret itself", numbers(lines)),
		deployment.FieldDetails("lines", lines))}
}

func numbers(lines []int) string {
	const shown = 5
	texts := make([]string, 0, shown)
	for _, n := range lines[:min(len(lines), shown)] {
		texts = append(texts, strconv.Itoa(n))
	}
	if more := len(lines) - shown; more > 0 {
		texts = append(texts, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(texts, ", ")
}

func unread(path string, err error) governance.Issue {
	if err == nil {
		err = deployment.ErrPath.WithMessage("it is gone")
	}
	return governance.NewIssue(governance.IORead, path, "it cannot be read: "+said(err), deployment.FieldDetails("error", said(err)))
}

// policy holds the repository to its agentpack.org.yaml, where it has one.
func (s *policyService) policy(ctx context.Context, at deployment.Locations) ([]governance.Issue, error) {
	org, found, err := s.Orgs.Org(ctx, at.Repo)
	switch {
	case errors.Is(err, deployment.ErrPolicyConfig), errors.Is(err, deployment.ErrPolicyVersion):
		return []governance.Issue{governance.NewIssue(governance.PolicyConfig, deployment.OrgFile, said(err), deployment.FieldDetails("error", said(err)))}, nil
	case errors.Is(err, deployment.ErrPermission):
		return []governance.Issue{unread(deployment.OrgFile, err)}, nil
	case err != nil || !found:
		return nil, err
	}
	subject := governance.PolicySubject{Org: org}
	config, err := s.Compiler.Configs.Load(ctx, at.Repo)
	switch {
	case err == nil:
		subject.Manifest = &config.Manifest
	case errors.Is(err, deployment.ErrLock), errors.Is(err, deployment.ErrLockVersion):
		subject.Manifest, subject.LockErr = &config.Manifest, said(err)
	case ctx.Err() != nil:
		return nil, ctx.Err()
	default:
		subject.ManifestErr = said(err)
	}
	text, there, err := s.Machine.Read(ctx, s.in(at.Repo, deployment.LockFile))
	if err != nil {
		subject.LockText, subject.LockErr = []byte{}, said(err)
	} else if there {
		subject.LockText = append([]byte{}, text...)
	}
	if err := s.pack(ctx, at, &subject); err != nil {
		return nil, err
	}
	return subject.Lint(), nil
}

// pack finds out what the policy pack is locked to, and what it is where no network is needed to see that.
func (s *policyService) pack(ctx context.Context, at deployment.Locations, subject *governance.PolicySubject) error {
	if !subject.Org.HasPack {
		return nil
	}
	lock, found, err := s.Orgs.OrgLock(ctx, at.Repo)
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil:
		subject.OrgLockErr = said(err)
	case found:
		subject.OrgLock = &lock
	}
	source, err := subject.Org.Pack()
	if err != nil || source.Git != nil {
		return nil
	}
	tree, err := s.Compiler.Sources.Local(ctx, at, source.Local)
	if err != nil {
		subject.OrgLockErr = said(err)
		return ctx.Err()
	}
	subject.PackSum = tree.Sum()
	return nil
}
