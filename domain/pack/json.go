package pack

import (
	"encoding/hex"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
)

// The JSON of a pack is written member by member, because reflection takes ten times as long and every change of a pack writes it several times. The
// members and their order are those of the types' tags.

// appendJSON appends text as a JSON string, without HTML escapes.
func appendJSON(to []byte, s string) []byte {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c > '~' || c == '"' || c == '\\' {
			quoted, err := plainJSON(s)
			if err != nil { // every text has a JSON form
				return append(to, `""`...)
			}
			return append(to, quoted...)
		}
	}
	to = append(to, '"')
	to = append(to, s...)
	return append(to, '"')
}

// member appends a member that holds text; name includes everything before the value.
func member(to []byte, name, value string) []byte { return appendJSON(append(to, name...), value) }

func optionalMember(to []byte, name string, value Optional) []byte {
	to = append(to, name...)
	if value == "" {
		return append(to, "null"...)
	}
	return appendJSON(to, string(value))
}

func numberMember(to []byte, name string, value int) []byte {
	return strconv.AppendInt(append(to, name...), int64(value), 10)
}

// MarshalJSON writes times as RFC 3339 in UTC with 0, 3, 6 or 9 fraction digits, and absent lists as [].
func (s State) MarshalJSON() ([]byte, error) {
	to := make([]byte, 0, 512)
	to = numberMember(to, `{"schema_version":`, s.SchemaVersion)
	to = member(to, `,"id":`, string(s.ID))
	to = optionalMember(to, `,"name":`, s.Name)
	to = optionalMember(to, `,"title":`, s.Title)
	to = optionalMember(to, `,"brief":`, s.Brief)
	status, err := s.Status.MarshalText()
	if err != nil {
		return nil, err
	}
	to = member(to, `,"status":`, string(status))
	to = append(to, `,"tags":[`...)
	for i, t := range s.Tags {
		to = appendJSON(comma(to, i), t)
	}
	to = append(to, `],"sections":`...)
	to = AppendSections(to, s.Sections)
	to = strconv.AppendUint(append(to, `,"revision":`...), s.Revision, 10)
	if len(s.Removed) > 0 {
		removed, err := json.Marshal(s.Removed)
		if err != nil {
			return nil, err
		}
		to = append(append(to, `,"removed":`...), removed...)
	}
	to = member(to, `,"created_at":`, FormatTime(s.CreatedAt))
	to = member(to, `,"updated_at":`, FormatTime(s.UpdatedAt))
	to = member(to, `,"expires_at":`, FormatTime(s.ExpiresAt))
	return append(to, '}'), nil
}

// refs returns the number of refs.
func (s State) refs() (n int) {
	for i := range s.Sections {
		n += len(s.Sections[i].Refs)
	}
	return n
}

func comma(to []byte, i int) []byte {
	if i > 0 {
		return append(to, ',')
	}
	return to
}

// AppendSections appends sections as a JSON array.
func AppendSections(to []byte, sections []Section) []byte {
	to = slices.Grow(to, 128+400*State{Sections: sections}.refs())
	to = append(to, '[')
	for i := range sections {
		s := &sections[i]
		to = member(comma(to, i), `{"key":`, string(s.Key))
		to = member(to, `,"title":`, s.Title)
		to = optionalMember(to, `,"description":`, s.Description)
		to = append(to, `,"refs":[`...)
		for j := range s.Refs {
			to = s.Refs[j].append(comma(to, j))
		}
		to = append(to, `],"diagrams":[`...)
		for j, d := range s.Diagrams {
			to = member(comma(to, j), `{"key":`, string(d.Key))
			to = member(to, `,"title":`, d.Title)
			to = member(to, `,"mermaid":`, d.Mermaid)
			to = append(optionalMember(to, `,"why":`, d.Why), '}')
		}
		to = append(to, ']')
		if s.ChangedAt != 0 {
			to = strconv.AppendUint(append(to, `,"changed_at_revision":`...), s.ChangedAt, 10)
		}
		to = append(to, '}')
	}
	return append(to, ']')
}

func (r *Ref) append(to []byte) []byte {
	to = member(to, `{"key":`, string(r.Key))
	to = member(to, `,"path":`, string(r.Path))
	to = r.Lines.append(append(to, `,"lines":`...))
	to = optionalMember(to, `,"title":`, r.Title)
	to = optionalMember(to, `,"why":`, r.Why)
	to = optionalMember(to, `,"group":`, r.Group)
	if r.Root != "" {
		to = member(to, `,"root":`, string(r.Root))
	}
	if r.Commit != "" {
		to = member(to, `,"commit":`, string(r.Commit))
	}
	if a := r.Anchor; a != nil {
		to = append(to, `,"anchor":{"hash":"`...)
		if !a.Hash.IsZero() {
			to = hex.AppendEncode(append(to, "sha256:"...), a.Hash[:])
		}
		to = a.Print.append(append(to, `","print":"`...))
		to = a.Before.append(append(to, `","before":"`...))
		to = a.After.append(append(to, `","after":"`...))
		to = append(to, `"}`...)
	}
	if n := r.Snapshot; n != nil {
		to = n.Lines.append(append(to, `,"snapshot":{"lines":`...))
		to = member(to, `,"text":`, n.Text)
		if n.Masked != 0 {
			to = numberMember(to, `,"masked":`, n.Masked)
		}
		to = append(to, '}')
	}
	return append(to, '}')
}

func (l LineRange) append(to []byte) []byte {
	to = numberMember(to, `{"start":`, l.Start)
	return append(numberMember(to, `,"end":`, l.End), '}')
}

// append appends the sixteen digits of the text form.
func (p Fingerprint) append(to []byte) []byte {
	digits := strconv.FormatUint(uint64(p), 16)
	to = append(to, strings.Repeat("0", 16-len(digits))...)
	return append(to, digits...)
}
