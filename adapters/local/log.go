package local

import (
	"io"
	"log/slog"
	"slices"
	"strings"
)

// ownTargets are the names under which directives like "target=level" mean this program.
var ownTargets = []string{"", "countersign", "context_pack", "mcp_context_pack"}

// Logger writes structured lines to w at the level of COUNTERSIGN_LOG, else CONTEXT_PACK_LOG, else otherwise. The value is off, a level (trace,
// debug, info, warn, error), or directives like mcp_context_pack=debug, separated by commas; directives about other programs, and invalid ones, are
// ignored (context-pack contract §6.6).
func Logger(w io.Writer, env func(string) string, otherwise string) *slog.Logger {
	for _, text := range []string{env("COUNTERSIGN_LOG"), env("CONTEXT_PACK_LOG"), otherwise} {
		level, off, ok := logLevel(text)
		switch {
		case off:
			return slog.New(slog.DiscardHandler)
		case ok:
			return slog.New(slog.NewTextHandler(w, &slog.HandlerOptions{Level: level}))
		}
	}
	return slog.New(slog.DiscardHandler)
}

func logLevel(text string) (level slog.Level, off, ok bool) {
	for directive := range strings.SplitSeq(text, ",") {
		target, word, named := strings.Cut(strings.TrimSpace(directive), "=")
		if !named {
			target, word = "", target
		}
		target, _, _ = strings.Cut(strings.TrimSpace(target), "::")
		if !slices.Contains(ownTargets, target) {
			continue
		}
		switch word := strings.ToLower(strings.TrimSpace(word)); word {
		case "off":
			off, ok = true, false
		case "trace", "debug":
			level, off, ok = slog.LevelDebug, false, true
		case "info":
			level, off, ok = slog.LevelInfo, false, true
		case "warn", "warning":
			level, off, ok = slog.LevelWarn, false, true
		case "error":
			level, off, ok = slog.LevelError, false, true
		}
	}
	return level, off, ok
}
