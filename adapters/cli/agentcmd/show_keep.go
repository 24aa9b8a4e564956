package agentcmd

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/countersign-dev/countersign/adapters/cli/command"
	"github.com/countersign-dev/countersign/adapters/present"
	"github.com/countersign-dev/countersign/app/deployments"
)

// snapshotKind is what made a snapshot.
func snapshotKind(kind, rolledBackTo string) string {
	if rolledBackTo != "" {
		return kind + " to " + rolledBackTo
	}
	return kind
}

// Snapshots shows the data of snapshots list.
func (s Screen) Snapshots(data json.RawMessage) error {
	d, err := DecodeData[deployments.SnapshotsData](data)
	if err != nil {
		return err
	}
	if len(d.Snapshots) == 0 {
		s.Line("no snapshots: nothing was deployed yet")
		return nil
	}
	rows := make([][]string, len(d.Snapshots))
	for i, p := range d.Snapshots {
		rows[i] = []string{p.ID, p.CreatedAt.UTC().Format(time.DateTime), snapshotKind(p.Kind, p.RolledBackTo), p.Status, strings.Join(p.Targets, ", "), strconv.Itoa(p.Changes), strconv.Itoa(p.Managed)}
	}
	s.Table([]string{"id", "made (UTC)", "kind", "status", "targets", "changes", "files"}, rows)
	return nil
}

// Snapshot shows the data of snapshots show.
func (s Screen) Snapshot(data json.RawMessage) error {
	d, err := DecodeData[deployments.SnapshotDetail](data)
	if err != nil {
		return err
	}
	s.Line("%s  %s  %s  %s", s.Tinted(d.ID, command.Heading), d.CreatedAt.Format(time.RFC3339Nano), command.Plain(snapshotKind(d.Kind, d.RolledBackTo)), command.Plain(d.Status))
	s.Line("profile %s, %s: %s, project %s", command.Plain(d.Profile), command.Plain(strings.Join(d.Targets, ", ")), count(d.Managed, "file", "files"), command.Plain(d.Project))
	changes := make([]present.Change, len(d.FileChanges))
	for i, c := range d.FileChanges {
		changes[i] = present.Change{Target: c.Target, Op: c.Op, Path: c.Path, Before: c.Before, After: c.After}
	}
	s.Changes(present.Plan{Changes: changes}, true)
	return nil
}

// Pruned shows the data of snapshots prune.
func (s Screen) Pruned(data json.RawMessage, done bool) error {
	d, err := DecodeData[deployments.PruneData](data)
	if err != nil {
		return err
	}
	s.Line("%s %s, keeping %d: %s", DoneVerb(done, "forgot", "forget"), count(len(d.Pruned), "snapshot", "snapshots"), d.Kept, command.Plain(strings.Join(d.Pruned, " ")))
	if done {
		s.Line("%d bytes freed", d.Freed)
	}
	return nil
}

// Score shows the data of score.
func (s Screen) Score(data json.RawMessage) error {
	d, err := DecodeData[deployments.ScoreData](data)
	if err != nil {
		return err
	}
	if len(d.Modules) == 0 {
		s.Line("no modules, and no events")
		return nil
	}
	rows := make([][]string, len(d.Modules))
	for i, m := range d.Modules {
		rate := "-"
		if m.Rate != nil {
			rate = fmt.Sprintf("%.1f%%", *m.Rate*100)
		}
		seen := "never"
		if m.LastSeen != nil {
			seen = m.LastSeen.Format(time.RFC3339Nano)
		}
		rows[i] = []string{m.ID, strconv.Itoa(m.Total), strconv.Itoa(m.Failures), rate, seen}
	}
	s.Table([]string{"module", "events", "failures", "rate", "last seen"}, rows)
	return nil
}

// issue is one violation of a policy.
type issue struct {
	Rule    string `json:"rule"`
	Path    string `json:"path_posix"`
	Message string `json:"message"`
}

// Issues shows violations of a policy.
func (s Screen) Issues(issues []issue) {
	for _, i := range issues {
		s.Line("%s  %s  %s", s.Tinted(i.Rule, command.Removed), command.Plain(i.Path), command.Plain(i.Message))
	}
}

// Lint shows the data of policy lint, which succeeds where there are no violations.
func (s Screen) Lint(data json.RawMessage) error {
	d, err := DecodeData[struct {
		Issues  []issue `json:"issues"`
		Root    string  `json:"root"`
		Summary struct {
			Violations int `json:"violations"`
			Files      int `json:"files_scanned"`
		} `json:"summary"`
	}](data)
	if err != nil {
		return err
	}
	s.Issues(d.Issues)
	s.FindingsIn(data)
	s.Line("%s in %s, %s looked at", count(d.Summary.Violations, "violation", "violations"), command.Plain(d.Root), count(d.Summary.Files, "file", "files"))
	return nil
}

// Audit shows the data of policy audit.
func (s Screen) Audit(data json.RawMessage) error {
	type named struct {
		ID string `json:"id"`
	}
	d, err := DecodeData[struct {
		Modules []struct {
			named
			Type    string `json:"type"`
			Version string `json:"resolved_version"`
			Sum     string `json:"sha256"`
			Files   int    `json:"files"`
			Bytes   int64  `json:"bytes"`
		} `json:"modules"`
		Change *struct {
			Base    string            `json:"base_ref"`
			Added   []json.RawMessage `json:"modules_added"`
			Removed []json.RawMessage `json:"modules_removed"`
			Changed []named           `json:"modules_changed"`
		} `json:"change_summary"`
	}](data)
	if err != nil {
		return err
	}
	rows := make([][]string, len(d.Modules))
	for i, m := range d.Modules {
		rows[i] = []string{m.ID, m.Type, m.Version, m.Sum[:min(len(m.Sum), 12)], strconv.Itoa(m.Files), strconv.FormatInt(m.Bytes, 10)}
	}
	s.Table([]string{"module", "type", "version", "sha256", "files", "bytes"}, rows)
	if c := d.Change; c != nil {
		s.Line("since %s: %d added, %d removed, %d changed", command.Plain(c.Base), len(c.Added), len(c.Removed), len(c.Changed))
	}
	return nil
}
