package planner

import (
	"fmt"
	"slices"

	"github.com/countersign-dev/countersign/domain/deployment"
)

// maxSamples is how many paths an adopt refusal names (agentpack contract §4.4).
const maxSamples = 20

// AdoptError is ErrAdopt for changes that would overwrite or delete somebody's own work; there has to be one at least.
func AdoptError(adoptions []deployment.Change) error {
	counts := map[deployment.Gate]int{}
	paths := make([]string, 0, len(adoptions))
	for _, c := range adoptions {
		counts[c.Gate]++
		paths = append(paths, c.Path)
	}
	slices.Sort(paths)
	sample := paths[:min(len(paths), maxSamples)]
	what := sample[0] + " was not written by a deployment, or was edited since, and would be overwritten or deleted; look at it, then repeat with adopt (--adopt)"
	if n := len(adoptions); n > 1 {
		what = fmt.Sprintf("%d files were not written by a deployment, or were edited since, and would be overwritten or deleted (%s …); look at them, then repeat with adopt (--adopt)", n, sample[0])
	}
	return deployment.ErrAdopt.Sayf("%s", what).With(deployment.ReasonDetails("adopt_confirm_required", "retry_with_adopt").Add("flag", "--adopt").
		Add("adopt_updates", len(adoptions)).Add("unmanaged", counts[deployment.AdoptUpdate]).Add("drifted_updates", counts[deployment.DriftedUpdate]).
		Add("drifted_deletes", counts[deployment.DriftedDelete]).Add("sample_paths", sample))
}
