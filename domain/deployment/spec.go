package deployment

import (
	"path"
	"strings"

	"github.com/countersign-dev/countersign/domain/relpath"
)

// ParseSource reads a source as people type it: local:<path>, or git:<url>[#key=value&key=value] with the keys ref, subdir and shallow
// (agentpack contract §2.3). It fails with ErrConfig; what it gives is not known to exist.
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
	return Source{}, badSpec("it begins with neither local: nor git:")
}

func badSpec(problem string) error {
	return ErrConfig.Sayf("the source cannot be used: %s; write local:<path below the config repository> or git:<url>[#ref=…&subdir=…&shallow=…]", problem).
		With(ReasonDetails("source_spec_invalid", "fix_config", "retry_command").Add("error", problem))
}

// below is a path that stays in the config repository or a checkout, in its shortest form.
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
			return g, badSpec("there is no option " + key + "; there are ref, subdir and shallow")
		}
	}
	return g, nil
}

// SpecName is what a module of that source is called unless somebody says otherwise: a file's or directory's name without its last
// extension; of a git source the last part of subdir, or of the URL (agentpack contract §5.2).
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
