package packs

import (
	"context"

	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/pack"
	"github.com/countersign-dev/countersign/ports/packport"
)

// Earlier returns what a ref showed earlier, masked: the text kept when its pack was finalized, else that of its commit, else the reason why there is
// none.
func (s SourceReader) Earlier(ctx context.Context, r pack.Ref) pack.EarlierText {
	if n := r.Snapshot; n != nil {
		return pack.EarlierText{Lines: n.Lines, Text: n.TextLines(), Source: "kept when the pack was finalized"}
	}
	if r.Commit == "" {
		return pack.EarlierText{Reason: "not kept; finalize with snapshot, or give refs a commit"}
	}
	commit := string(r.Commit)
	if s.History == nil {
		return pack.EarlierText{Reason: "of commit " + commit + ", not kept here; git show " + commit + ":" + string(r.Path) + " has it"}
	}
	at := packport.Location{Root: r.Root, Path: r.Path}
	text, err := s.History.Lines(ctx, at, r.Commit, r.Lines)
	if err != nil {
		return pack.EarlierText{Reason: "of commit " + commit + ": " + fault.From(err).Message}
	}
	then := pack.Evidence{Text: text}
	if first := max(1, r.Lines.Start-keyLines); keyLike(text) && first < r.Lines.Start {
		if then.Above, err = s.History.Lines(ctx, at, r.Commit, pack.LineRange{Start: first, End: r.Lines.Start - 1}); err != nil {
			return pack.EarlierText{Reason: "of commit " + commit + ": " + fault.From(err).Message}
		}
	}
	text, _ = s.mask(then)
	return pack.EarlierText{Lines: r.Lines, Text: text, Source: "commit " + commit}
}
