package governance

import (
	"slices"

	"github.com/countersign-dev/countersign/domain/deployment"
)

// Changes lists the changes of a lockfile since a commit (agentpack contract §5.17).
type Changes struct {
	Ref     string   `json:"base_ref"`
	Commit  string   `json:"base_commit,omitempty"`
	Added   []string `json:"modules_added"`
	Changed []change `json:"modules_changed"`
	Removed []string `json:"modules_removed"`
}

// change is the change of one module: only fields that differ are set.
type change struct {
	ID      string                           `json:"id"`
	Source  *Pair[deployment.ResolvedSource] `json:"resolved_source,omitempty"`
	Version *Pair[string]                    `json:"resolved_version,omitempty"`
	Sum     *Pair[deployment.Sum]            `json:"sha256,omitempty"`
	Type    *Pair[deployment.ModuleType]     `json:"type,omitempty"`
}

// Pair is a value before and after.
type Pair[T any] struct {
	After  T `json:"after"`
	Before T `json:"before"`
}

// CompareLocks returns what changed between two locks, sorted by module. Nil is a lock without modules.
func CompareLocks(before, after *deployment.Lock) Changes {
	c := Changes{Added: []string{}, Changed: []change{}, Removed: []string{}}
	if after != nil {
		for _, now := range after.Modules {
			then, there := before.Module(now.ID)
			if !there {
				c.Added = append(c.Added, now.ID)
			} else if change, differs := compare(then, now); differs {
				c.Changed = append(c.Changed, change)
			}
		}
	}
	if before != nil {
		for _, then := range before.Modules {
			if _, there := after.Module(then.ID); !there {
				c.Removed = append(c.Removed, then.ID)
			}
		}
	}
	slices.Sort(c.Added)
	slices.Sort(c.Removed)
	slices.SortFunc(c.Changed, func(a, b change) int {
		if a.ID < b.ID {
			return -1
		}
		return 1
	})
	return c
}

func compare(then, now deployment.LockedModule) (change, bool) {
	c := change{ID: now.ID, Version: pair(then.Version, now.Version), Sum: pair(then.Sum, now.Sum), Type: pair(then.Type, now.Type)}
	if !same(then.Source.Git, now.Source.Git) || !same(then.Source.Local, now.Source.Local) {
		c.Source = &Pair[deployment.ResolvedSource]{After: now.Source, Before: then.Source}
	}
	return c, c.Source != nil || c.Version != nil || c.Sum != nil || c.Type != nil
}

// pair returns nil for equal values.
func pair[T comparable](then, now T) *Pair[T] {
	if then == now {
		return nil
	}
	return &Pair[T]{After: now, Before: then}
}

func same[T comparable](a, b *T) bool {
	if a == nil || b == nil {
		return a == b
	}
	return *a == *b
}
