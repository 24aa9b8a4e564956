package target

import (
	"bytes"
	"slices"
	"strings"

	"github.com/countersign-dev/countersign/domain/deployment"
)

// same reports whether two desired files for one path are compatible.
func same(a, b deployment.Desired) bool { return a.Mode == b.Mode && sameContent(a, b) }

func sameContent(a, b deployment.Desired) bool {
	if a.Part == nil || b.Part == nil {
		return a.Part == nil && b.Part == nil && a.Content.Sum == b.Content.Sum
	}
	return a.Part.Format == b.Part.Format && a.Part.Block == b.Part.Block && slices.EqualFunc(a.Part.Keys, b.Part.Keys, func(x, y deployment.Key) bool {
		return x.Item == y.Item && slices.Equal(x.Path, y.Path) && bytes.Equal(x.Value, y.Value)
	})
}

// claim is one side of a conflict in machine-readable form (agentpack contract §2.9).
type claim struct {
	Target  string   `json:"target"`
	Sum     string   `json:"sha256"`
	Modules []string `json:"module_ids"`
}

func claimOf(d deployment.Desired) claim {
	c := claim{Target: d.Target, Sum: d.Content.Sum.String(), Modules: d.Modules}
	if d.Part != nil {
		data := []byte(d.Part.Block)
		for _, k := range d.Part.Keys {
			data = append(append(append(data, strings.Join(k.Path, "\x00")...), '\n'), k.Value...)
		}
		c.Sum = deployment.SumOf(data).String()
	}
	return c
}

func (c claim) String() string {
	return "target " + c.Target + ", " + strings.Join(c.Modules, ", ") + " (" + c.Sum + ")"
}

// conflict returns the error for two different contents of one path, or a file where the other needs a directory.
func conflict(have, d deployment.Desired) error {
	what := "two modules write different content"
	switch {
	case have.Path != d.Path:
		what = "one writes a file, another needs a directory there for " + d.Path
	case (have.Part == nil) != (d.Part == nil):
		what = "one writes the whole file, the other a part of it"
	case sameContent(have, d):
		what = "one makes it executable, the other does not"
	}
	return clash(have.Path, what, claimOf(have), claimOf(d))
}

// keyConflict returns the error for two values of one key of a document, or a key within another one.
func keyConflict(have, d deployment.Desired, old, k deployment.Key) error {
	side := func(d deployment.Desired, k deployment.Key) claim {
		return claim{d.Target, deployment.SumOf(k.Value).String(), []string{k.Module}}
	}
	what := "they set different values for the key " + strings.Join(k.Path, ".")
	if len(old.Path) != len(k.Path) {
		what = "the keys " + strings.Join(old.Path, ".") + " and " + strings.Join(k.Path, ".") + " overlap"
	}
	return clash(have.Path, what, side(have, old), side(d, k))
}

func clash(path, what string, existing, wanted claim) error {
	return deployment.ErrDesired.WithMessage("%s: %s: %s and %s; change one of the modules, or exclude it from the target with its targets list", path, what, existing, wanted).
		WithDetails(deployment.ReasonDetails("desired_state_conflict", "resolve_desired_state_conflict", "retry_command").
			Add("target", wanted.Target).AddPath("path", path).Add("existing", existing).Add("new", wanted))
}
