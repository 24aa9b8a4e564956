package planner

import (
	"context"
	"io/fs"

	"github.com/countersign-dev/countersign/domain/deployment"
	"github.com/countersign-dev/countersign/domain/deployment/inspection"
)

// Judgements caches what was found in files, by the sums of their contents: a deployment is planned once to be shown and once to be applied, and most
// files go to several targets. It is safe for concurrent use; a nil one caches nothing.
type Judgements struct{ held chan judgements } // one at a time has them

type judgements struct {
	handed   map[deployment.Sum]string
	findings map[judged][]inspection.Finding
}

// judged is everything that findings depend on.
type judged struct {
	module, path string
	mode         fs.FileMode
	sum          deployment.Sum
}

// maxJudged is the maximum number of cached files; beyond it the cache is cleared.
const maxJudged = 1 << 16

// NewJudgements returns an empty cache.
func NewJudgements() *Judgements {
	j := &Judgements{make(chan judgements, 1)}
	j.held <- judgements{map[deployment.Sum]string{}, map[judged][]inspection.Finding{}}
	return j
}

// with has do look at the judgements, or add to them.
func (j *Judgements) with(do func(judgements)) {
	if j == nil {
		return
	}
	all := <-j.held
	do(all)
	j.held <- all
}

// handover returns what a content is known to hand on.
func (j *Judgements) handover(of deployment.Sum) (what string, known bool) {
	j.with(func(all judgements) { what, known = all.handed[of] })
	return what, known
}

func (j *Judgements) setHandover(of deployment.Sum, what string) {
	j.with(func(all judgements) { remember(all.handed, of, what) })
}

// found returns what is known to be in a file.
func (j *Judgements) found(of judged) (found []inspection.Finding, known bool) {
	j.with(func(all judgements) { found, known = all.findings[of] })
	return found, known
}

func (j *Judgements) setFound(of judged, found []inspection.Finding) {
	j.with(func(all judgements) { remember(all.findings, of, found) })
}

func remember[K comparable, V any](all map[K]V, key K, value V) {
	if len(all) >= maxJudged {
		clear(all)
	}
	all[key] = value
}

// Handovers is FindHandovers for changes whose contents the config repository has.
func (c Compiler) Handovers(ctx context.Context, changes []deployment.Change) (Handovers, error) {
	return findHandovers(changes, func(change deployment.Change) (string, error) {
		sum := change.After.Sum
		if what, known := c.Judged.handover(sum); known {
			return what, nil
		}
		text, err := c.Sources.Content(ctx, change.After)
		if err != nil {
			return "", err
		}
		what := deployment.TextHandover(text)
		if !sum.IsZero() {
			c.Judged.setHandover(sum, what)
		}
		return what, nil
	})
}
