package packs_test

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/app/packs"
	"github.com/countersign-dev/countersign/domain/pack"
	"github.com/countersign-dev/countersign/ports/packport"
)

// shelfOfFiles is a source of files of a hundred numbered lines; it counts how often each is opened, and holds no file called none.
type shelfOfFiles struct {
	mu     sync.Mutex
	opened map[packport.Location]int
	stop   context.CancelFunc
}

func (s *shelfOfFiles) Read(ctx context.Context, at packport.Location, from int, visit func(int, []byte) int) (int, error) {
	s.mu.Lock()
	s.opened[at]++
	s.mu.Unlock()
	if s.stop != nil {
		s.stop()
	}
	if ctx.Err() != nil {
		return 0, ctx.Err()
	}
	if at.Path == "none" {
		return 0, packport.ErrMissing.WithMessage("none does not exist")
	}
	for n := from; n <= 100; {
		next := visit(n, fmt.Appendf(nil, "%s%s line %d", at.Root, at.Path, n))
		if next <= n {
			return n, nil
		}
		n = next
	}
	return 100, nil
}

func refs(n int) []pack.Ref {
	out := make([]pack.Ref, n)
	for i := range out {
		out[i] = pack.Ref{Path: pack.Path(fmt.Sprintf("f%d", i%7)), Lines: pack.LineRange{Start: i + 1, End: i + 2}}
		if i%2 == 1 {
			out[i].Root = "api"
		}
	}
	return out
}

// TestEveryFileOnce: for any number of refs to it, and only the files of wanted refs.
func TestEveryFileOnce(t *testing.T) {
	source := &shelfOfFiles{opened: map[packport.Location]int{}}
	sight := packs.SourceReader{Excerpts: source}
	all := refs(60)
	all[5].Path = "none"
	f, err := sight.ReadRefs(t.Context(), all, packs.AllRefs(all))
	require.NoError(t, err)
	assert.Len(t, source.opened, 15)
	for at, n := range source.opened {
		assert.Equal(t, 1, n, at)
	}
	for i, r := range all {
		if i == 5 {
			assert.Equal(t, pack.RefStale, f.Evidence[i].Standing)
			assert.Equal(t, "none does not exist under source root", f.Evidence[i].Reason)
			require.ErrorIs(t, f.Faults[i], packport.ErrMissing)
			continue
		}
		require.NoError(t, f.Faults[i])
		assert.Equal(t, fmt.Sprintf("%s%s line %d", r.Root, r.Path, r.Lines.Start), f.Evidence[i].Text[0])
	}

	clear(source.opened)
	f, err = sight.ReadRefs(t.Context(), all, []int{3, 17})
	require.NoError(t, err)
	assert.Len(t, source.opened, 1, "both are f3 under api")
	assert.Equal(t, pack.RefUnreadable, f.Evidence[0].Standing, "what was not looked at claims nothing")
}

// TestCancelledLookIsAnError: it does not show that refs are unreadable.
func TestCancelledLookIsAnError(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	source := &shelfOfFiles{opened: map[packport.Location]int{}, stop: cancel}
	all := refs(60)
	_, err := packs.SourceReader{Excerpts: source}.ReadRefs(ctx, all, packs.AllRefs(all))
	require.ErrorIs(t, err, context.Canceled)
	assert.LessOrEqual(t, len(source.opened), 4, "the others are not begun")
}
