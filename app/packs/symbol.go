package packs

import (
	"context"
	"slices"
	"strings"

	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/outline"
	"github.com/countersign-dev/countersign/domain/pack"
	"github.com/countersign-dev/countersign/ports/packport"
)

// maxSymbolFile is how much of a file is searched for a definition, in bytes.
const maxSymbolFile = 4 << 20

// definition returns the lines of the definition with that name in a ref's file, as far as one ref may reach.
func (s SourceReader) definition(ctx context.Context, r pack.Ref, symbol string) (pack.LineRange, error) {
	var text strings.Builder
	full := false
	_, err := s.Excerpts.Read(ctx, packport.Location{Root: r.Root, Path: r.Path}, 1, func(n int, line []byte) int {
		if text.Len()+len(line) >= maxSymbolFile {
			full = true
			return 0
		}
		text.Write(line)
		text.WriteByte('\n')
		return n + 1
	})
	if err != nil {
		return pack.LineRange{}, err
	}
	found := outline.Find(string(r.Path), text.String())
	if i := slices.IndexFunc(found, func(d outline.Definition) bool { return d.Name == symbol }); i >= 0 {
		return pack.NewLineRange(found[i].First, min(found[i].Last, found[i].First+pack.MaxSpan-1))
	}
	say := "; name its lines"
	names := make([]string, len(found))
	for i, d := range found {
		names[i] = d.Name
	}
	if near := fault.Nearest(symbol, names); near != "" {
		say = "; did you mean " + near + "?"
	}
	if full {
		say = " in its first 4 MiB; name its lines"
	}
	return pack.LineRange{}, pack.ErrTarget.WithMessage("%s defines no %s that can be found%s", r.Path, symbol, say)
}
