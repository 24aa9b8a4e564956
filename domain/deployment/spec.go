package deployment

import (
	"path"
	"strconv"
	"strings"

	"github.com/countersign-dev/countersign/domain/relpath"
)

// ParseSource parses a source as users type it: local:<path>, or git:<url>[#key=value&key=value] with the keys ref, subdir and shallow (agentpack
// contract §2.3). It fails with ErrConfig; it does not check that the source exists.
func ParseSource(spec string) (Source, error) {
	kind, rest, ok := strings.Cut(strings.TrimSpace(spec), ":")
	switch {
	case ok && kind == "local":
		clean, err := below(rest)
		return Source{Local: clean}, err
	case ok && kind == "git":
		git, err := parseGit(rest)
		if err != nil {
			return Source{}, err
		}
		return Source{Git: &git}, nil
	}
	return Source{}, badSpec("it does not begin with local: or git:")
}

// ParseRepository parses a git repository as users write it: owner/repo[/path][@ref] on GitHub, a URL of a github.com page (…/tree/<ref>/<path>), or
// any URL that git accepts, including an absolute path, followed by #ref=…&subdir=… if needed. An empty Ref stands for the branch of the repository's
// HEAD. It fails with ErrConfig; it does not check that the repository exists.
func ParseRepository(spec string) (GitSource, error) {
	spec = strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(spec), "git:"))
	if spec == "" {
		return GitSource{}, badRepository("it is empty")
	}
	if rest, ok := strings.CutPrefix(spec, "https://github.com/"); ok && !strings.ContainsAny(rest, "#@?") {
		parts := strings.Split(strings.Trim(rest, "/"), "/")
		if len(parts) > 3 && (parts[2] == "tree" || parts[2] == "blob") {
			return gitHub(parts[0], strings.TrimSuffix(parts[1], ".git"), parts[3], parts[4:])
		}
	}
	if shorthand(spec) {
		named, ref, given := strings.Cut(spec, "@")
		if given && ref == "" {
			return GitSource{}, badRepository("the ref after @ is missing")
		}
		parts := strings.Split(strings.TrimSuffix(named, "/"), "/")
		return gitHub(parts[0], strings.TrimSuffix(parts[1], ".git"), ref, parts[2:])
	}
	g, err := parseGit(spec)
	if err == nil && (!strings.ContainsAny(g.URL, `/:\`) || strings.ContainsAny(g.URL, " \t\n")) {
		return g, badRepository(strconv.Quote(spec) + " is not owner/repo or a URL")
	}
	if err == nil && !strings.Contains(spec, "ref=") {
		g.Ref = ""
	}
	return g, err
}

func gitHub(owner, repo, ref string, path []string) (GitSource, error) {
	g := GitSource{URL: "https://github.com/" + owner + "/" + repo + ".git", Ref: ref, Shallow: true}
	if len(path) == 0 {
		return g, nil
	}
	clean, err := below(strings.Join(path, "/"))
	if err == nil && clean != "." {
		g.Subdir = clean
	}
	return g, err
}

// shorthand reports whether spec is owner/repo with a path and a ref, and cannot be anything else: at least two names, without colons, not starting
// at the root of a file system or the working directory.
func shorthand(spec string) bool {
	named, _, _ := strings.Cut(spec, "@")
	owner, rest, ok := strings.Cut(named, "/")
	repo, _, _ := strings.Cut(rest, "/")
	return ok && name(owner) && name(repo) && !strings.ContainsAny(named, `:\#`) && !strings.HasPrefix(spec, "~")
}

// name reports whether GitHub accepts the name for an owner or a repository.
func name(text string) bool {
	return text != "" && strings.Trim(text, ".") != "" && !strings.ContainsFunc(text, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '_' || r == '.')
	})
}

func badRepository(problem string) error {
	return ErrConfig.WithMessage("invalid repository: %s; write owner/repo[/path][@ref], or a git URL, optionally with #ref=…&subdir=…", problem).
		WithDetails(ReasonDetails("source_spec_invalid", "retry_command").Add("error", problem))
}

func badSpec(problem string) error {
	return ErrConfig.WithMessage("invalid source: %s; write local:<path below the config repository> or git:<url>[#ref=…&subdir=…&shallow=…]", problem).
		WithDetails(ReasonDetails("source_spec_invalid", "fix_config", "retry_command").Add("error", problem))
}

// below returns the shortest form of a path that stays in the config repository or a checkout.
func below(text string) (string, error) {
	p, err := relpath.Parse(text)
	if err != nil {
		return "", badSpec(err.Error())
	}
	return p.Clean().String(), nil
}

func parseGit(rest string) (GitSource, error) {
	url, options, given := strings.Cut(rest, "#")
	g := GitSource{URL: strings.TrimSpace(url), Ref: DefaultRef, Shallow: true}
	if g.URL == "" {
		return g, badSpec("the URL is missing")
	}
	if !given {
		return g, nil
	}
	for option := range strings.SplitSeq(options, "&") {
		key, value, ok := strings.Cut(option, "=")
		if !ok {
			return g, badSpec("an option after # has no =")
		}
		switch key {
		case "ref":
			if value != "" {
				g.Ref = value
			}
		case "subdir":
			if value == "" {
				continue
			}
			clean, err := below(value)
			if err != nil {
				return g, err
			}
			if clean != "." {
				g.Subdir = clean
			}
		case "shallow":
			g.Shallow = value == "true" || value == "1"
		default:
			return g, badSpec("unknown option " + key + "; use ref, subdir or shallow")
		}
	}
	return g, nil
}

// SpecName returns the default name of a module of that source: a file's or directory's name without its last extension; for a git source the last
// part of subdir, or of the URL (agentpack contract §5.2).
func (s Source) SpecName() string {
	if s.Git == nil {
		name := path.Base(s.Local)
		if stem := strings.TrimSuffix(name, path.Ext(name)); stem != "" {
			return stem
		}
		return name
	}
	if s.Git.Subdir != "" {
		return path.Base(s.Git.Subdir)
	}
	url := strings.TrimRight(s.Git.URL, "/")
	return strings.TrimSuffix(url[strings.LastIndexAny(url, `/:\`)+1:], ".git")
}
