package project

import (
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// The limits of what is stored (packageflow contract §2.4).
const (
	MaxName        = 256  // characters
	MaxDescription = 2048 // characters
	MaxPath        = 4096 // bytes
	MaxCommand     = 8192 // bytes
)

// ID identifies a project; UUIDv4 text.
type ID string

// Project is the stored record of a registered directory. What can be read from the directory itself is Facts.
type Project struct {
	ID           ID        `json:"id"`
	Name         string    `json:"name"`
	Path         string    `json:"path"` // absolute, links resolved
	Description  string    `json:"description,omitempty"`
	Settings     Settings  `json:"settings"`
	CreatedAt    time.Time `json:"createdAt"`
	LastOpenedAt time.Time `json:"lastOpenedAt"`
	Revision     int64     `json:"revision"`
}

// Settings is what only the user sets for a project (packageflow-security contract §4.7, §4.8). The zero Settings permits nothing.
type Settings struct {
	EnvPass       []string `json:"envPass,omitempty"`              // names of additional variables that its processes inherit
	AllowLoopback bool     `json:"webhookAllowLoopback,omitempty"` // webhooks may reach this machine, at AllowHosts
	AllowHosts    []string `json:"webhookAllowHosts,omitempty"`    // host:port that webhooks may reach although plain HTTP, private or on another port
}

// NewProject returns a project to register; a blank name becomes the directory's. It fails with ErrArgument.
func NewProject(id ID, name, path, description string, now time.Time) (Project, error) {
	if name = strings.TrimSpace(name); name == "" {
		name = path[strings.LastIndexByte(path, '/')+1:]
	}
	p := Project{ID: id, Name: name, Path: path, Description: strings.TrimSpace(description), CreatedAt: now, LastOpenedAt: now, Revision: 1}
	if err := CheckText("name", p.Name, MaxName); err != nil {
		return Project{}, err
	}
	if err := CheckText("description", p.Description, MaxDescription); err != nil {
		return Project{}, err
	}
	return p, nil
}

// Matches reports whether the project's name, path or description contains query, ignoring case (packageflow contract §2.5).
func (p Project) Matches(query string) bool {
	query = strings.ToLower(strings.TrimSpace(query))
	for _, text := range []string{p.Name, p.Path, p.Description} {
		if strings.Contains(strings.ToLower(text), query) {
			return true
		}
	}
	return false
}

// CheckText rejects text that is longer than limit characters, is not UTF-8, or contains control characters other than those of plain text, with
// ErrArgument naming the field.
func CheckText(field, text string, limit int) error {
	switch {
	case !utf8.ValidString(text):
		return ErrArgument.WithMessage("%s is not UTF-8 text", field)
	case utf8.RuneCountInString(text) > limit:
		return ErrArgument.WithMessage("%s has %d characters; at most %d are allowed", field, utf8.RuneCountInString(text), limit)
	case strings.ContainsFunc(text, func(r rune) bool { return unicode.IsControl(r) && r != '\n' && r != '\t' }):
		return ErrArgument.WithMessage("%s contains a control character", field)
	}
	return nil
}

// CheckPath rejects everything except a plain absolute path, before any directory is examined (packageflow-security contract §4.1, syntax), with
// ErrPath. A $ is an ordinary character, because nothing here expands it.
func CheckPath(path string) error {
	switch {
	case path == "":
		return ErrPath.WithMessage("the path is empty; give the project's directory as in list_projects")
	case len(path) > MaxPath:
		return ErrPath.WithMessage("the path has %d bytes; at most %d are allowed", len(path), MaxPath)
	case !utf8.ValidString(path) || strings.ContainsFunc(path, unicode.IsControl):
		return ErrPath.WithMessage("the path is not UTF-8 text or contains control characters")
	case path[0] == '~':
		return ErrPath.WithMessage("%q: a leading ~ is not expanded; write the absolute path", path)
	case path[0] != '/':
		return ErrPath.WithMessage("%q is not an absolute path; call list_projects for the paths of projects", path)
	}
	for part := range strings.SplitSeq(path, "/") {
		if part == ".." {
			return ErrPath.WithMessage("%q has a \"..\" component; write the path without", path)
		}
	}
	return nil
}
