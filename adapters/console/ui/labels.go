package ui

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// label returns a member's name for users. A name that begins with a capital is that of a header or variable and stays unchanged.
func label(name string) string {
	if known, ok := labels()[name]; ok {
		return known
	}
	if name != "" && name[0] >= 'A' && name[0] <= 'Z' {
		return Printable(name)
	}
	var out strings.Builder
	for _, r := range strings.TrimSuffix(Printable(name), "_ms") { // shown as a duration
		switch {
		case r == '_' || r == '\n' || r == '\t':
			r = ' '
		case r >= 'A' && r <= 'Z':
			out.WriteByte(' ')
			r += 'a' - 'A'
		}
		out.WriteRune(r)
	}
	return strings.TrimSpace(out.String())
}

// labels returns the names of members for users that differ from their words.
func labels() map[string]string {
	return map[string]string{
		"argv": "process", "reads": "code files", "not_bound": "not covered", "cwd": "working directory", "timeout_ms": "time limit", "timeoutMs": "time limit", "timeout_seconds": "time limit", "env_passed": "environment variables",
		"dev_like": "runs until stopped", "pre": "pre command", "post": "post command", "toolchain_strategy": "toolchain", "order": "position",
		"package_manager": "package manager", "payloadBytes": "payload", "payloadCut": "payload truncated", "processId": "process", "will_push": "pushed",
		"will_commit": "committed first", "git_url": "repository", "base_dir": "directory", "branch_goes": "branch deleted", "dirty_files": "uncommitted changes",
		"unpushed_commits": "unpushed commits", "lost": "would be lost", "removes": "removes", "destroys": "destroys", "deletes": "deletes",
		"estimated_duration_seconds": "estimated duration", "remote_head": "remote head", "plan_command": "plan command", "commits_total": "commits",
		"module_id": "module", "machine_id": "machine", "changes": "changes", "op": "change", "reason": "reason", "rolled_back_to": "rolled back to", "start_command": "start command",
		"unified": "changed lines", "diff": "changed lines", "disk_estimate_bytes": "disk space", "skipped_reason": "skip reason", "to_snapshot_id": "snapshot",
	}
}

// unseen reports members that only bind a plan to stored data, or repeat another member. They are in the collapsed data.
func unseen(name string) bool {
	return strings.HasSuffix(name, "_posix") || strings.HasSuffix(name, "sha256") || slices.Contains([]string{
		"revision", "revisions", "total", "node_id", "workflow_id", "action_id", "number", "depth", "dirty_count", "remote_asked", "applied", "next_actions", "execute_hint",
		"preview_hash", "estimate_source", "repos_affected", "facts", "provisioner_kind",
	}, name)
}

// runs reports members that contain commands: they are shown as command lines.
func runs(name string) bool {
	return slices.Contains([]string{"command", "argv", "script", "start_command", "setup", "plan_command", "pre", "post", "hooks", "hook"}, name)
}

// loses reports members that list what would be lost.
func loses(name string) bool {
	return slices.Contains([]string{"lost", "removes", "destroys", "deletes", "dirty_files", "unpushed_commits", "strays", "pruned"}, name)
}

// warns reports members that list warnings.
func warns(name string) bool {
	return slices.Contains([]string{"warning", "warnings", "dangers", "problems", "conflicts", "strange"}, name)
}

// quantity returns a number for users: durations and sizes by the suffix of their name.
func quantity(name string, n json.Number) string {
	i, err := n.Int64()
	if err != nil {
		return n.String()
	}
	switch {
	case name == "order": // tools count from 0, lists for users from 1
		return strconv.FormatInt(i+1, 10)
	case strings.HasSuffix(name, "_ms") || strings.HasSuffix(name, "Ms"):
		return (time.Duration(i) * time.Millisecond).String()
	case strings.HasSuffix(name, "_seconds"):
		return (time.Duration(i) * time.Second).String()
	case strings.HasSuffix(name, "bytes") || strings.HasSuffix(name, "Bytes"):
		return size(i)
	}
	return n.String()
}

func size(bytes int64) string {
	const unit = 1024
	if bytes < unit {
		return fmt.Sprintf("%d bytes", bytes)
	}
	value, names := float64(bytes), "KMGT"
	for i := range names {
		if value /= unit; value < unit || i == len(names)-1 {
			return fmt.Sprintf("%.1f %cB", value, names[i])
		}
	}
	return ""
}

// hexadecimal reports a hash or commit ID, which is shown shortened.
func hexadecimal(s string) bool {
	return len(s) >= 40 && len(s) <= 64 && !strings.ContainsFunc(s, func(r rune) bool { return !(r >= '0' && r <= '9' || r >= 'a' && r <= 'f') })
}

// masked returns the kind of secret if a text is wholly redacted, or empty.
func masked(s string) string {
	inner, ok := strings.CutPrefix(s, "[REDACTED:")
	if !ok || strings.IndexByte(inner, ']') != len(inner)-1 {
		return ""
	}
	return strings.ReplaceAll(strings.TrimSuffix(inner, "]"), "_", " ")
}

// diffs reports a text that is a diff.
func diffs(s string) bool {
	return strings.HasPrefix(s, "--- ") || strings.HasPrefix(s, "diff ") || strings.HasPrefix(s, "@@ ") || strings.Contains(s, "\n@@ ")
}
