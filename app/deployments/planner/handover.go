package planner

import (
	"fmt"
	"strings"

	"github.com/countersign-dev/countersign/domain/deployment"
	"github.com/countersign-dev/countersign/domain/deployment/target"
	"github.com/countersign-dev/countersign/domain/policy"
)

// Handovers is the files of a plan that give agents programs or permissions, each with a description.
type Handovers []handing

type handing struct{ path, what string }

// The limits: files that a warning names, and bytes of a text that are read.
const (
	maxHanded = 10
	maxRead   = 1 << 20
)

// FindHandovers finds them. read returns the content after a change, for files whose text decides; a nil content is unknown, and counts as harmless.
func FindHandovers(changes []deployment.Change, read func(deployment.Change) ([]byte, error)) (Handovers, error) {
	return findHandovers(changes, func(c deployment.Change) (string, error) {
		text, err := read(c)
		return deployment.TextHandover(text), err
	})
}

// findHandovers finds them. judge describes the content of a change.
func findHandovers(changes []deployment.Change, judge func(deployment.Change) (string, error)) (h Handovers, err error) {
	for _, c := range changes {
		path := deployment.PosixPath(c.Path)
		what := deployment.HandoverOf(path, c.Mode)
		if c.Op == deployment.OpDelete && !deployment.IsRestrictive(path) {
			continue // a deleted file runs nothing
		}
		if what == "" && c.Op != deployment.OpDelete && c.Link == "" && deployment.MayHandOver(path) {
			if c.After.Size > maxRead {
				what = "too long to be looked through"
			} else if what, err = judge(c); err != nil {
				return nil, err
			}
		}
		switch {
		case c.Op == deployment.OpDelete:
		case c.Link != "":
			what = "a link to " + c.Link
		case what == "" && strings.HasPrefix(c.Target, target.OwnPrefix):
			what = "a path that the config repository chose, and that no known agent reads"
		}
		if what != "" {
			h = append(h, handing{c.Path, what})
		}
	}
	return h, nil
}

// Assessment returns high risk if there are any, so that they are never auto-approved.
func (h Handovers) Assessment() policy.Assessment {
	if len(h) == 0 {
		return policy.Assessment{}
	}
	return policy.Assessment{Risk: policy.RiskHigh}
}

// Warnings says so to the user who decides, in one line; nil if there are none.
func (h Handovers) Warnings() []string {
	if len(h) == 0 {
		return nil
	}
	var kinds []string
	paths := map[string][]string{}
	for _, one := range h {
		if len(paths[one.what]) == 0 {
			kinds = append(kinds, one.what)
		}
		paths[one.what] = append(paths[one.what], one.path)
	}
	for i, what := range kinds {
		all := paths[what]
		list := strings.Join(all[:min(len(all), maxHanded)], ", ")
		if more := len(all) - maxHanded; more > 0 {
			list += fmt.Sprintf(" and %d more", more)
		}
		kinds[i] = what + ": " + list
	}
	return []string{"this gives agents programs or permissions, and what they do with them is not part of this plan: " + strings.Join(kinds, "; ")}
}
