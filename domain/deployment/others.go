package deployment

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// reasonOther is the beginning of the reason of a change to a file that another config repository deployed.
const reasonOther = "belongs to the config repository "

// OthersByPath returns the entries of other config repositories by path. Usually there are none.
func (o Observed) OthersByPath() Others {
	if len(o.Others) == 0 {
		return nil
	}
	all := make(Others, len(o.Others))
	for i := range o.Others {
		all[o.Others[i].Path] = append(all[o.Others[i].Path], &o.Others[i])
	}
	return all
}

// Contends reports whether two owners conflict over one file. Blocks with their own labels do not, and neither do single keys of one document, unless
// both want the same key, or one within the other, with different values.
func Contends(ours, theirs *Part) bool {
	if ours == nil || theirs == nil {
		return true
	}
	if ours.Format == FormatMarkdown || theirs.Format == FormatMarkdown {
		return ours.Format != theirs.Format || ours.Label == theirs.Label
	}
	return slices.ContainsFunc(ours.Keys, theirs.contends)
}

// contends reports whether a key conflicts with the part's own.
func (p *Part) contends(k Key) bool { return slices.ContainsFunc(p.Keys, k.Contends) }

// Contends reports whether two keys conflict: the same one with different values, or one within the other. Values of one list do not conflict.
func (k Key) Contends(other Key) bool {
	n := min(len(k.Path), len(other.Path))
	switch {
	case !slices.Equal(k.Path[:n], other.Path[:n]):
		return false
	case len(k.Path) != len(other.Path) || k.Item != other.Item:
		return true
	}
	return !k.Item && !sameValue(k.Value, other.Value)
}

// sameValue reports whether two JSON values are equal except for white space.
func sameValue(a, b json.RawMessage) bool {
	if bytes.Equal(a, b) {
		return true
	}
	var x, y bytes.Buffer
	return json.Compact(&x, a) == nil && json.Compact(&y, b) == nil && bytes.Equal(x.Bytes(), y.Bytes())
}

// Others holds the entries of other config repositories by path.
type Others map[string][]*Owned

// Holder returns the config repository that deployed something other than what d wants; empty if there is none. have is this owner's entry, or nil.
// If both have one, they agreed until now: the file is shared, and its content belongs to both.
func (o Others) Holder(d *Desired, have *Owned, now Seen) (repo string, shared bool) {
	for _, other := range o[d.Path] {
		if !Contends(d.Part, other.Part) {
			continue
		}
		if repo == "" {
			repo, shared = other.Repo, true
		}
		shared = shared && d.shares(have, other, now)
	}
	return repo, shared
}

// shares reports whether this owner's entry exists together with another one's: both are equal, or the file has this one's content.
func (d *Desired) shares(have, other *Owned, now Seen) bool {
	switch {
	case have == nil || (have.Part == nil) != (other.Part == nil):
		return false
	case have.Part == nil:
		return have.Sum == other.Sum || now.Sum == have.Sum
	case have.Part.Format == FormatMarkdown:
		return have.PartSum == other.PartSum || d.Merge.Now == have.PartSum
	case Contends(have.Part, other.Part):
		return d.Merge.Now == have.PartSum
	}
	return !slices.ContainsFunc(d.Part.Keys, func(k Key) bool {
		return other.Part.contends(k) && !slices.ContainsFunc(have.Part.Keys, func(h Key) bool { return slices.Equal(h.Path, k.Path) })
	})
}

// HasKey returns the config repository that deployed another value for a key that is wanted here and that this owner does not have as well.
func (o Others) HasKey(path string, k Key, have *Owned) string {
	for _, other := range o[path] {
		if other.Part == nil || !other.Part.contends(k) {
			continue
		}
		if have == nil || have.Part == nil || !slices.ContainsFunc(have.Part.Keys, func(h Key) bool { return h.Same(k) && !other.Part.contends(h) }) {
			return other.Repo
		}
	}
	return ""
}

// StateOf returns the state of a wanted file. A file that another config repository deployed was never deployed by this one, whatever its content,
// and counts as not deployed.
func (o Others) StateOf(d *Desired, have *Owned, now Seen) FileState {
	state := d.State(have, now)
	if len(o[d.Path]) == 0 || state == StateUpToDate || state == StateMissing || state == "" {
		return state
	}
	if holder, shared := o.Holder(d, have, now); holder != "" && !shared {
		if d.Part != nil && have != nil && state.IsEdited() && d.Merge.Now != have.PartSum && !Contends(have.Part, o.partOf(holder, d.Path)) {
			return state // its own keys were edited
		}
		return StateNotDeployed
	}
	return state
}

func (o Others) partOf(repo, path string) *Part {
	for _, other := range o[path] {
		if other.Repo == repo {
			return other.Part
		}
	}
	return nil
}

// yield makes a change of a file that another config repository deployed need adopt, and lists what is taken over. A missing file cannot be lost by
// anybody; its deployer is named all the same.
func (c *Change) yield(d *Desired, others []*Owned) (taken []Takeover) {
	for _, other := range others {
		if !Contends(d.Part, other.Part) {
			continue
		}
		if c.Holder == "" {
			c.Holder, c.Reason = other.Repo, reasonOther+other.Repo
			if c.Op == OpUpdate {
				c.Gate = AdoptUpdate
			}
		}
		taken = append(taken, Takeover{From: *other, Left: other.without(d.Part)})
	}
	return taken
}

// Takeover is an entry of another config repository that a plan takes over, with what that repository keeps of the file. Left is nil if it keeps
// nothing. Keys that both can have stay with it; the planner computes the sum over them.
type Takeover struct {
	From Owned
	Left *Owned
}

// without returns the entry without what the part takes.
func (f *Owned) without(part *Part) *Owned {
	if part == nil || f.Part == nil || f.Part.Format == FormatMarkdown || part.Format == FormatMarkdown {
		return nil
	}
	left := *f
	kept := *f.Part
	kept.Keys = slices.DeleteFunc(slices.Clone(f.Part.Keys), part.contends)
	if left.Part = &kept; len(kept.Keys) == 0 {
		return nil
	}
	return &left
}

// takeOver adds what is taken over, each entry once, because two targets may want one file.
func (p *Plan) takeOver(taken []Takeover) {
	for _, t := range taken {
		i := slices.IndexFunc(p.Taken, func(have Takeover) bool { return have.From.is(&t.From) })
		if i < 0 {
			p.Taken = append(p.Taken, t)
			continue
		}
		if p.Taken[i].Left != nil && t.Left != nil {
			kept := *p.Taken[i].Left.Part
			kept.Keys = slices.DeleteFunc(slices.Clone(kept.Keys), func(k Key) bool { return !slices.ContainsFunc(t.Left.Part.Keys, k.Same) })
			left := *p.Taken[i].Left
			if left.Part = &kept; len(kept.Keys) > 0 {
				p.Taken[i].Left = &left
				continue
			}
		}
		p.Taken[i].Left = nil
	}
}

// is reports whether two entries have the same place and owner.
func (f *Owned) is(other *Owned) bool {
	return f.Repo == other.Repo && f.Owner == other.Owner && f.Target == other.Target && f.Root == other.Root && f.Path == other.Path
}

// inherit passes on who made a document and what is in it: an owner that takes over everything of another one also removes it later.
func (p *Plan) inherit() {
	for _, t := range p.Taken {
		if t.Left != nil {
			continue
		}
		from := t.From
		if from.Part == nil {
			from.Over = from.Sum
		}
		for i := range p.Owned {
			if f := &p.Owned[i]; f.Path == from.Path && f.Part != nil {
				f.Inherit(from)
			}
		}
	}
}

// Inherit makes a part remove, when it is removed, what another part of the same document would: the document, the containers in it, and what
// surrounds a block.
func (f *Owned) Inherit(from Owned) {
	f.Made, f.Created = slices.Concat(f.Made, from.Made), f.Created || from.Created
	if f.Over.IsZero() && f.Part.Format == FormatMarkdown {
		f.Over = from.Over
	}
}

// maxHeld is the number of another owner's paths that a warning names.
const maxHeld = 10

// HeldWarnings names the files of other config repositories that this plan wants too, one line per repository; nil if there are none.
func (p Plan) HeldWarnings() []string {
	return byHolder(p.Changes, "the config repository %s deployed %s, and this one has different content for it; to take it over, use --adopt")
}

// byHolder returns one line for every other owner of changed files.
func byHolder(changes []Change, format string) (out []string) {
	held := map[string][]string{}
	for _, c := range changes {
		if c.Holder != "" {
			held[c.Holder] = append(held[c.Holder], c.Path)
		}
	}
	for _, repo := range slices.Sorted(maps.Keys(held)) {
		all := slices.Compact(slices.Sorted(slices.Values(held[repo])))
		list := strings.Join(all[:min(len(all), maxHeld)], ", ")
		if more := len(all) - maxHeld; more > 0 {
			list += fmt.Sprintf(" and %d more", more)
		}
		out = append(out, fmt.Sprintf(format, repo, list))
	}
	return out
}

// LeaveOthers removes from a rollback what other config repositories own by now, and adds warnings that say so and name the repositories whose files
// stay.
func (p Plan) LeaveOthers(o Observed) (Plan, []string) {
	said := byHolder(p.Changes, "kept, deployed later by the config repository %s: %s")
	left := map[string]bool{}
	for _, c := range p.Changes {
		if c.Holder != "" {
			left[c.Path] = true
		}
	}
	p.Changes = slices.DeleteFunc(slices.Clone(p.Changes), func(c Change) bool { return left[c.Path] })
	p.Owned, p.Taken = slices.DeleteFunc(slices.Clone(p.Owned), func(f Owned) bool { return left[f.Path] }), nil
	count := map[string]int{}
	for i := range o.Others {
		count[o.Others[i].Repo]++
	}
	for _, repo := range slices.Sorted(maps.Keys(count)) {
		text := "not included: %d files in these directories belong to the config repository %s"
		if count[repo] == 1 {
			text = "not included: %d file in these directories belongs to the config repository %s"
		}
		said = append(said, fmt.Sprintf(text, count[repo], repo))
	}
	return p, said
}
