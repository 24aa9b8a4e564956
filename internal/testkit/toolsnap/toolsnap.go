// Package toolsnap keeps the published form of every tool in a golden file, so that a change of what hosts and models see appears in a diff. Other tests
// check schemas and hints.
package toolsnap

import (
	"encoding/json"
	"iter"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/domain/policy"
	"github.com/countersign-dev/countersign/domain/tool"
	"github.com/countersign-dev/countersign/internal/testkit/golden"
)

const suffix = ".json"

// shape is a tool as its snapshot holds it.
type shape struct {
	Name        tool.Name       `json:"name"`
	Title       string          `json:"title"`
	Description string          `json:"description"`
	Toolset     string          `json:"toolset"`
	Contract    tool.Contract   `json:"contract"`
	Category    string          `json:"category,omitempty"`
	Class       policy.Class    `json:"class"`
	Effects     string          `json:"effects"`
	Confirm     policy.Strength `json:"confirm"`
	People      bool            `json:"for_people_alone,omitempty"`
	Risk        policy.Risk     `json:"risk,omitempty"`
	Mode        policy.Mode     `json:"default_mode,omitempty"`
	Preview     tool.Name       `json:"preview,omitempty"`
	Timeout     string          `json:"timeout,omitempty"`
	MaxOutput   int             `json:"max_output_bytes,omitempty"`
	CarriesOut  bool            `json:"carries_out,omitempty"`
	Annotations any             `json:"annotations,omitempty"`
	Input       json.RawMessage `json:"input_schema"`
}

// Check compares every tool with dir/<name>.json, and fails as well when a snapshot has lost its tool. annotations are the hints a
// transport publishes for a tool; nil leaves them out. With -update the files are written and orphans removed.
func Check(t golden.T, dir string, specs iter.Seq[tool.Spec], annotations func(tool.Spec) any) {
	t.Helper()
	var known []string
	for s := range specs {
		known = append(known, string(s.Name)+suffix)
		got, err := golden.Indent(published(s, annotations))
		require.NoError(t, err, "tool %s", s.Name)
		file := filepath.Join(dir, string(s.Name)+suffix)
		if want, err := os.ReadFile(file); err == nil && !golden.Updating() {
			moved := differing(want, got)
			assert.Empty(t, moved, "the public shape of tool %s has moved: %s", s.Name, strings.Join(moved, ", "))
		}
		golden.Compare(t, file, got)
	}
	require.NotEmpty(t, known, "there are no tools to take snapshots of")
	orphans(t, dir, known)
}

func published(s tool.Spec, annotations func(tool.Spec) any) shape {
	out := shape{
		Name: s.Name, Title: s.Title, Description: s.Description, Toolset: s.Toolset, People: s.UserOnly, Contract: s.Contract, Category: s.Category, Class: s.Class,
		Effects: s.Effects.String(), Confirm: s.Confirm, Risk: s.Risk, Mode: s.Mode, Preview: s.Preview, MaxOutput: s.MaxOutput,
		CarriesOut: s.RunsOtherCalls, Input: s.Input,
	}
	if s.Timeout > 0 {
		out.Timeout = s.Timeout.String()
	}
	if annotations != nil {
		out.Annotations = annotations(s)
	}
	return out
}

// differing names the members that are not the same in two documents, sorted.
func differing(want, got []byte) (moved []string) {
	var before, after map[string]json.RawMessage
	if json.Unmarshal(want, &before) != nil || json.Unmarshal(got, &after) != nil {
		return []string{"the snapshot is not a JSON object"}
	}
	names := maps.Clone(before)
	maps.Copy(names, after)
	for _, name := range slices.Sorted(maps.Keys(names)) {
		if string(before[name]) != string(after[name]) {
			moved = append(moved, name)
		}
	}
	return moved
}

// orphans reports, or with -update removes, snapshots of tools that are gone.
func orphans(t golden.T, dir string, known []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	for _, e := range entries {
		if slices.Contains(known, e.Name()) || !snapshot(filepath.Join(dir, e.Name())) {
			continue
		}
		if golden.Updating() {
			require.NoError(t, os.Remove(filepath.Join(dir, e.Name())))
			continue
		}
		assert.Fail(t, "tool is gone", "%s has a snapshot and no tool; hosts that use it will break", e.Name())
	}
}

// snapshot reports whether the file is one of ours: a shape whose name is the file's.
func snapshot(file string) bool {
	text, err := os.ReadFile(file)
	var s shape
	return err == nil && json.Unmarshal(text, &s) == nil && string(s.Name)+suffix == filepath.Base(file)
}
