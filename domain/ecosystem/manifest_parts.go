package ecosystem

import (
	"regexp"
	"slices"
	"strings"
)

// The bounds and defaults of spin and release (amof contract §20.5, §20.6).
const (
	spinTimeout    = 600  // seconds
	maxSpinTimeout = 3600 // seconds
	maxEstimate    = 24 * 3600
	maxPattern     = 1024 // bytes
	maxFiles       = 256

	standardTagPrefix = "v"
	standardChangelog = "CHANGELOG.md"

	// VersionPattern finds a version where a manifest says no pattern: behind the name version or __version__, in any spelling of
	// assignment, or alone in its line.
	VersionPattern = `(?mi)^\s*(?:"?(?:__)?version(?:__)?"?\s*[:=]\s*)?["']?v?(\d+\.\d+\.\d+(?:-[0-9a-z.-]+)?)["']?,?\s*$`
)

func (r *reader) spin(o object) Spin {
	o.known("deploy", "destroy", "status", "plan", "estimate_seconds", "timeout_seconds")
	s := Spin{
		Deploy: o.prose("deploy", maxProse), Destroy: o.prose("destroy", maxProse), Status: o.prose("status", maxProse), Plan: o.prose("plan", maxProse),
		TimeoutSeconds: spinTimeout,
	}
	s.EstimateSeconds, _ = o.number("estimate_seconds", 0, maxEstimate)
	if n, ok := o.number("timeout_seconds", 1, maxSpinTimeout); ok {
		s.TimeoutSeconds = n
	}
	if s.Inline() && s.Deploy == "" {
		o.doubt("deploy", "add deploy: with the command that deploys", "the deploy command is missing")
	}
	if s.Deploy != "" && s.Destroy == "" {
		o.doubt("destroy", "add destroy: with the command that undoes the deployment", "the destroy command is missing")
	}
	return s
}

func (r *reader) release(o object, m Manifest) Release {
	o.known("repos", "tag_prefix", "version_files", "changelog", "record_dir", "push", "versions")
	out := Release{
		Repos: o.released(m), TagPrefix: o.tagPrefix(), Changelog: standardChangelog, RecordDir: "ecosystems/" + m.Name + "/releases", Push: o.flag("push", false), Standard: o.absent("version_files"),
	}
	switch versions := o.text("versions"); versions {
	case "", "shared":
	case "independent":
		out.Independent = true
	default:
		o.wrong("versions", "write versions: shared, or versions: independent", "invalid value %q; use shared or independent", manifestClip(versions))
	}
	if file, ok := o.inRepo("changelog"); ok {
		out.Changelog = file
	}
	if dir, ok := o.inRepo("record_dir"); ok {
		out.RecordDir = dir
	}
	files := o.objects("version_files")
	if len(files) > maxFiles {
		o.wrong("version_files", "shorten the list", "%d files; at most %d are allowed", len(files), maxFiles)
		files = nil
	}
	for _, f := range files {
		if v, ok := f.versionFile(out.Repos); ok {
			out.VersionFiles = append(out.VersionFiles, v)
		}
	}
	return out
}

// released returns the repositories that are released: those that are named, else all that may be written to.
func (o object) released(m Manifest) []string {
	writable := RepoNames(m.Writable())
	if o.absent("repos") {
		return writable
	}
	var out []string
	o.texts("repos", func(at, name string) {
		switch {
		case slices.Contains(out, name):
			o.doubt(at, "remove it", "%s is named twice", manifestClip(name))
		case !slices.Contains(writable, name):
			o.wrong(at, "use enabled repositories that are not read-only: "+strings.Join(writable, ", "), "%q is not a repository that can be released", manifestClip(name))
		default:
			out = append(out, name)
		}
	})
	return out
}

// tagPrefix returns the prefix of the version in a tag. It is empty only if the manifest says so.
func (o object) tagPrefix() string {
	if o.absent("tag_prefix") {
		return standardTagPrefix
	}
	prefix := o.text("tag_prefix")
	if problem, _ := branchProblem(prefix + "1.0.0"); problem != "" {
		o.wrong("tag_prefix", "write tag_prefix: v", "%s", strings.Replace(problem, " branch ", " tag ", 1))
		return standardTagPrefix
	}
	return prefix
}

// inRepo returns a path that is not git's own.
func (o object) inRepo(key string) (string, bool) {
	file, ok := o.path(key)
	if ok && (file == "." || strings.Contains(strings.ToLower("/"+file+"/"), "/.git/")) {
		o.wrong(key, "use a different path", "%q is the directory itself or belongs to git", manifestClip(file))
		return "", false
	}
	return file, ok
}

func (o object) versionFile(released []string) (VersionFile, bool) {
	o.known("repo", "path", "pattern")
	v := VersionFile{Repo: o.text("repo"), Pattern: VersionPattern}
	if !slices.Contains(released, v.Repo) {
		o.wrong("repo", "use one of: "+strings.Join(released, ", "), "%q is not a released repository", manifestClip(v.Repo))
		return v, false
	}
	file, ok := o.inRepo("path")
	if !ok {
		if o.empty("path") {
			o.wrong("path", "add path: with the file that contains the version", "the path is missing")
		}
		return v, false
	}
	v.Path = file
	if pattern := o.text("pattern"); pattern != "" {
		v.Pattern = pattern
	}
	return v, o.groups(v.Pattern)
}

// groups reports a regular expression whose first group can be the version.
func (o object) groups(pattern string) bool {
	if len(pattern) > maxPattern {
		o.wrong("pattern", "shorten it", "the pattern has %d bytes; at most %d are allowed", len(pattern), maxPattern)
		return false
	}
	re, err := regexp.Compile(pattern)
	switch {
	case err != nil:
		o.wrong("pattern", "correct it; use RE2 syntax", "invalid regular expression %q", manifestClip(pattern))
	case re.NumSubexp() == 0:
		o.wrong("pattern", `put the version in a group: version = "(.*)"`, "the pattern has no group for the version")
	default:
		return true
	}
	return false
}
