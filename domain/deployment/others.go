package deployment

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// reasonOther begins the reason of a change in a file that another config repository deployed.
const reasonOther = "belongs to the config repository "

// othersByPath are the entries of other config repositories. Mostly there are none.
func (o Observed) othersByPath() map[string][]*Owned {
	if len(o.Others) == 0 {
		return nil
	}
	all := make(map[string][]*Owned, len(o.Others))
	for i := range o.Others {
		all[o.Others[i].Path] = append(all[o.Others[i].Path], &o.Others[i])
	}
	return all
}

// Contends reports whether two owners cannot both have their way with one file. Blocks with labels of their own stand side by side, in the
// order in which they came, and so do single keys of one document, unless both want the same one, or one within the other, with different values.
func Contends(ours, theirs *Part) bool {
	if ours == nil || theirs == nil {
		return true
	}
	if ours.Format == FormatMarkdown || theirs.Format == FormatMarkdown {
		return ours.Format != theirs.Format || ours.Label == theirs.Label
	}
	for _, k := range ours.Keys {
		for _, other := range theirs.Keys {
			n := min(len(k.Path), len(other.Path))
			if slices.Equal(k.Path[:n], other.Path[:n]) && (len(k.Path) != len(other.Path) || !bytes.Equal(k.Value, other.Value)) {
				return true
			}
		}
	}
	return false
}

// yield has a change of a file that another config repository deployed need adopt. A file that is gone is nobody's to lose; who deployed it is
// said all the same.
func (c *Change) yield(d *Desired, others []*Owned) {
	for _, other := range others {
		if !Contends(d.Part, other.Part) {
			continue
		}
		c.Holder, c.Reason = other.Repo, reasonOther+other.Repo
		if c.Op == OpUpdate {
			c.Gate = AdoptUpdate
		}
		return
	}
}

// maxHeld is how many paths of another owner a warning names.
const maxHeld = 10

// HeldWarnings say which files other config repositories deployed that this plan wants too, in a line for each of them; nil where there is none.
func (p Plan) HeldWarnings() []string {
	return byHolder(p.Changes, "the config repository %s deployed %s, which this one wants otherwise; --adopt takes over what is there")
}

// byHolder is a line for every other owner of changed files.
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

// LeaveOthers takes out of a way back what other config repositories have by now, and says so, and which of them have files there that stay.
func (p Plan) LeaveOthers(o Observed) (Plan, []string) {
	said := byHolder(p.Changes, "what the config repository %s deployed since stays: %s")
	left := map[string]bool{}
	for _, c := range p.Changes {
		if c.Holder != "" {
			left[c.Path] = true
		}
	}
	p.Changes = slices.DeleteFunc(slices.Clone(p.Changes), func(c Change) bool { return left[c.Path] })
	p.Owned = slices.DeleteFunc(slices.Clone(p.Owned), func(f Owned) bool { return left[f.Path] })
	count := map[string]int{}
	for i := range o.Others {
		count[o.Others[i].Repo]++
	}
	for _, repo := range slices.Sorted(maps.Keys(count)) {
		text := "%d files in these directories belong to the config repository %s and are not part of this"
		if count[repo] == 1 {
			text = "%d file in these directories belongs to the config repository %s and is not part of this"
		}
		said = append(said, fmt.Sprintf(text, count[repo], repo))
	}
	return p, said
}
