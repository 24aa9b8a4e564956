package pack

import (
	"cmp"
	"strings"
)

// validate checks a stored state against every rule an edit keeps.
func validate(s State) error {
	if s.Name != "" {
		if n, err := ParseName(string(s.Name)); err != nil || string(n) != string(s.Name) {
			return ErrValue.WithMessage("name %q is invalid", s.Name)
		}
	}
	switch {
	case s.Status.String() == "":
		return ErrValue.WithMessage("the status is missing")
	case s.Revision < 1:
		return ErrValue.WithMessage("the revision is below 1")
	case s.CreatedAt.IsZero() || s.UpdatedAt.IsZero() || s.ExpiresAt.IsZero():
		return ErrValue.WithMessage("a time is missing")
	}
	if err := checkTags(s.Tags); err != nil {
		return err
	}
	return checkSections(s.Sections)
}

func checkTags(tags []string) error {
	for i, t := range tags {
		if strings.TrimSpace(t) == "" {
			return ErrValue.WithMessage("tag %d is blank", i+1)
		}
	}
	return nil
}

func checkSections(sections []Section) error {
	seen := map[Key]bool{}
	for _, sec := range sections {
		if err := checkPart("section_key", sec.Key, sec.Title, "section title", seen); err != nil {
			return err
		}
		if err := checkRefs(sec); err != nil {
			return err
		}
		keys := map[Key]bool{}
		for _, d := range sec.Diagrams {
			if err := checkPart("diagram_key", d.Key, d.Title, "diagram title", keys); err != nil {
				return err
			}
			if strings.TrimSpace(d.Mermaid) == "" {
				return ErrValue.WithMessage("diagram %s::%s has no mermaid text", sec.Key, d.Key)
			}
		}
	}
	return nil
}

// checkPart checks the form and uniqueness of a key, and that the title is set.
func checkPart(what string, key Key, title, field string, seen map[Key]bool) error {
	if !validKey(string(key)) {
		return ErrValue.WithMessage("%s %q must match ^[a-z0-9][a-z0-9_-]{1,63}$", what, key)
	}
	if seen[key] {
		return ErrValue.WithMessage("%s %q occurs twice", what, key)
	}
	seen[key] = true
	if strings.TrimSpace(title) == "" {
		return ErrValue.WithMessage("%q has a blank %s", key, field)
	}
	return nil
}

func checkRefs(sec Section) error {
	seen := map[Key]bool{}
	for _, r := range sec.Refs {
		if err := checkPart("ref_key", r.Key, "-", "", seen); err != nil {
			return err
		}
		if err := checkRef(r); err != nil {
			return ErrValue.WithMessage("ref %s::%s: %v", sec.Key, r.Key, err)
		}
	}
	return nil
}

func checkRef(r Ref) error {
	path, badPath := ParsePath(string(r.Path))
	if badPath == nil && path != r.Path {
		badPath = ErrValue.WithMessage("path %q is not in stored form", r.Path)
	}
	_, badLines := NewLineRange(r.Lines.Start, r.Lines.End)
	_, badRoot := ParseRoot(string(r.Root))
	_, badCommit := ParseCommit(string(r.Commit))
	var badSnapshot error
	if n := r.Snapshot; n != nil {
		_, badSnapshot = NewLineRange(n.Lines.Start, n.Lines.End)
	}
	return cmp.Or(badPath, badLines, badRoot, badCommit, badSnapshot)
}
