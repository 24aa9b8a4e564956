package planner

import (
	"fmt"
	"strings"

	"github.com/countersign-dev/countersign/domain/deployment"
	"github.com/countersign-dev/countersign/domain/deployment/target"
	"github.com/countersign-dev/countersign/domain/policy"
)

// Handovers is the files of a plan that hand power on to agents, each with what it hands on.
type Handovers []handing

type handing struct{ path, what string }

// The bounds of looking: how many of them a warning names, and how many bytes of a text are read.
const (
	maxHanded = 10
	maxRead   = 1 << 20
)

// FindHandovers finds them. read is the content that a change leaves, for files whose text decides; a nil content is not known, and is taken for nothing.
func FindHandovers(changes []deployment.Change, read func(deployment.Change) ([]byte, error)) (Handovers, error) {
	return findHandovers(changes, func(c deployment.Change) (string, error) {
		text, err := read(c)
		return deployment.TextHandover(text), err
	})
}

// findHandovers finds them. judge is what the content of a change hands on.
func findHandovers(changes []deployment.Change, judge func(deployment.Change) (string, error)) (h Handovers, err error) {
	for _, c := range changes {
		path := deployment.PosixPath(c.Path)
		what := deployment.HandoverOf(path, c.Mode)
		if c.Op == deployment.OpDelete && !deployment.IsRestrictive(path) {
			continue // what is gone runs nothing
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
			what = "a place that the config repository chose, and that no agent known here reads"
		}
		if what != "" {
			h = append(h, handing{c.Path, what})
		}
	}
	return h, nil
}

// Assessment is of high risk where power is handed on, so that nothing that was allowed beforehand covers it.
func (h Handovers) Assessment() policy.Assessment {
	if len(h) == 0 {
		return policy.Assessment{}
	}
	return policy.Assessment{Risk: policy.RiskHigh}
}

// Warnings say so to whoever decides, in one line; nil where nothing is handed on.
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
	return []string{"this hands power on, and what agents then do with it is not bound by this plan: " + strings.Join(kinds, "; ")}
}
