package planner

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/countersign-dev/countersign/domain/deployment"
)

// maxSamples is the number of paths in an ErrAdopt (agentpack contract §4.4).
const maxSamples = 20

// AdoptError returns ErrAdopt for changes that would overwrite or delete the user's own work; at least one is required.
func AdoptError(adoptions []deployment.Change) error {
	counts := map[deployment.Gate]int{}
	for _, c := range adoptions {
		counts[c.Gate]++
	}
	paths := deployment.PathsOf(adoptions)
	sample := paths[:min(len(paths), maxSamples)]
	what := sample[0] + " was not written by a deployment, or was edited since, and would be overwritten or deleted; look at it, then repeat with adopt (--adopt)"
	if n := len(paths); n > 1 {
		what = fmt.Sprintf("%d files were not written by a deployment, or were edited since, and would be overwritten or deleted (%s …); look at them, then repeat with adopt (--adopt)", n, sample[0])
	}
	held := byHolder(adoptions)
	if held != "" {
		what = held + "; leave it there, or look at it and repeat with adopt (--adopt) to take it over"
	}
	details := deployment.ReasonDetails("adopt_confirm_required", "retry_with_adopt").Add("flag", "--adopt").
		Add("adopt_updates", len(adoptions)).Add("unmanaged", counts[deployment.AdoptUpdate]).Add("drifted_updates", counts[deployment.DriftedUpdate]).
		Add("drifted_deletes", counts[deployment.DriftedDelete]).Add("sample_paths", sample)
	if held != "" {
		details = details.Add("hint", "add --adopt to take them over; once you roll that back, countersign agents deploy --apply --repo "+adoptions[0].Holder+" brings that repository's back")
	} else if counts[deployment.DriftedUpdate]+counts[deployment.DriftedDelete] > 0 {
		details = details.Add("hint", "countersign agents evolve propose takes edits into the config repository first; --adopt overwrites them, and a rollback brings them back; countersign agents deploy --apply --leave-edited deploys the rest")
	}
	return deployment.ErrAdopt.WithMessage("%s", what).WithDetails(details)
}

// byHolder names the other config repositories that deployed what would be overwritten; empty if that is not all of it.
func byHolder(adoptions []deployment.Change) string {
	var holders []string
	for _, c := range adoptions {
		if c.Holder == "" {
			return ""
		}
		holders = append(holders, c.Holder)
	}
	slices.Sort(holders)
	holders = slices.Compact(holders)
	switch {
	case len(adoptions) == 1:
		return adoptions[0].Path + " belongs to the config repository " + holders[0] + ", which has another version"
	case len(holders) == 1:
		return fmt.Sprintf("%d files (%s …) belong to the config repository %s, which has other versions", len(adoptions), adoptions[0].Path, holders[0])
	}
	return fmt.Sprintf("%d files (%s …) belong to the config repositories %s, which have other versions", len(adoptions), adoptions[0].Path, named(holders))
}

// LeftWarnings says which files a plan leaves alone, why, and how to decide about them.
func LeftWarnings(p deployment.Plan) (out []string) {
	var edited, own []string
	held := map[string][]string{}
	for _, c := range p.Left {
		switch {
		case c.Holder != "":
			held[c.Holder] = append(held[c.Holder], c.Path)
		case c.Gate == deployment.AdoptUpdate:
			own = append(own, c.Path)
		default:
			edited = append(edited, c.Path)
		}
	}
	const overwrite = "countersign agents deploy --apply --adopt overwrites or deletes"
	if len(edited) > 0 {
		out = append(out, "edited here, and left as they are: "+named(sorted(edited))+"; countersign agents evolve propose takes the edits into the config repository, and "+overwrite+" them")
	}
	if len(own) > 0 {
		out = append(out, "not written by a deployment, and left as they are: "+named(sorted(own))+"; countersign agents import takes files over, and "+overwrite+" them")
	}
	for _, repo := range slices.Sorted(maps.Keys(held)) {
		out = append(out, "owned by the config repository "+repo+", and left as they are: "+named(sorted(held[repo]))+"; countersign agents deploy --apply --adopt takes them over")
	}
	return out
}

func sorted(paths []string) []string {
	slices.Sort(paths)
	return slices.Compact(paths)
}

// maxEdited is how many files a warning names.
const maxEdited = 5

// EditWarnings names the edited files that a plan would overwrite or delete, and the alternatives.
func EditWarnings(p deployment.Plan) []string {
	edited := p.Edited()
	if len(edited) == 0 {
		return nil
	}
	return []string{"a deployment overwrites or deletes edits made here: " + named(deployment.PathsOf(edited)) +
		"; countersign agents evolve propose takes them into the config repository first, and what is overwritten stays in a snapshot"}
}

// deletionWarnings names the files to delete that existed before a deployment first wrote them: another profile, or only the user, may want them.
func deletionWarnings(p deployment.Plan, originals []deployment.Original) []string {
	were := map[string]bool{}
	for _, o := range originals {
		if o.Settled == "" && o.Kind != deployment.Absent {
			were[o.Path] = true
		}
	}
	gone := slices.DeleteFunc(slices.Clone(p.Changes), func(c deployment.Change) bool { return c.Op != deployment.OpDelete || !were[c.Path] })
	if len(gone) == 0 {
		return nil
	}
	return []string{"a deployment deletes what was there before any deployment: " + named(deployment.PathsOf(gone)) +
		"; the profile " + p.Profile + " does not have it (another one may: --profile), and a rollback brings it back"}
}

// named names the first of many paths.
func named(paths []string) string {
	text := strings.Join(paths[:min(len(paths), maxEdited)], ", ")
	if more := len(paths) - maxEdited; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}
