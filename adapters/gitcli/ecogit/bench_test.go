package ecogit_test

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/countersign-dev/countersign/adapters/gitcli/ecogit"
	"github.com/countersign-dev/countersign/domain/ecosystem"
	"github.com/countersign-dev/countersign/internal/testkit/cputime"
	"github.com/countersign-dev/countersign/internal/testkit/gitfixture"
)

// many are n clones of one origin of 50 files. mixed: one in ten has a change, one in ten a commit of its own, one in ten is on a branch that follows
// none. Otherwise all are on such a branch with a commit of their own, as in the middle of a ticket.
func many(b *testing.B, n int, mixed bool) []ecosystem.Checkout {
	archive := "first\n"
	for i := range 50 {
		archive += fmt.Sprintf("-- d%d/f%d.txt --\nline %d\n", i%7, i, i)
	}
	r, top := gitfixture.New(b, archive), b.TempDir()
	places := make([]ecosystem.Checkout, n)
	for i := range n {
		dir := filepath.Join(top, fmt.Sprint("r", i))
		r.Git("clone", "--quiet", r.Remote, dir)
		branch := !mixed || i%10 == 7
		if branch {
			r.Git("-C", dir, "checkout", "--quiet", "-b", "feature/x")
		}
		if !mixed || i%10 == 5 {
			r.Git("-C", dir, "commit", "--quiet", "--allow-empty", "--message", "ahead")
		}
		if i%10 == 3 {
			require.NoError(b, os.WriteFile(filepath.Join(dir, "new"), []byte("x"), 0o600))
		}
		places[i] = ecosystem.Checkout{Name: filepath.Base(dir), Dir: dir}
	}
	return places
}

// BenchmarkSurvey compares the survey of 200 repositories with a plain git status of each, as many at a time, turn by turn: ratio must stay below 1.2.
// In the middle of a ticket a first look asks git twice, which later ones need not.
func BenchmarkSurvey(b *testing.B) {
	mixed, ticket := many(b, 200, true), many(b, 200, false)
	kept := ecogit.NewSurveyor()
	b.Run("mixed", func(b *testing.B) { compare(b, mixed, ecogit.NewSurveyor) })
	b.Run("ticket", func(b *testing.B) { compare(b, ticket, func() *ecogit.Surveyor { return kept }) })
	b.Run("again", func(b *testing.B) { again(b, mixed, kept) })
	b.Run("ticket-first-look", func(b *testing.B) { compare(b, ticket, ecogit.NewSurveyor) })
}

// again compares a survey of repositories in which nothing has changed since the last one with an lstat of each of their files, in processor time.
func again(b *testing.B, places []ecosystem.Checkout, s *ecogit.Surveyor) {
	s.Survey(b.Context(), places)
	var ours, floor time.Duration
	for b.Loop() {
		began := cputime.All()
		s.Survey(b.Context(), places)
		ours += cputime.All() - began
		b.StopTimer()
		floor += cputime.Of(func() {
			for _, c := range places {
				require.NoError(b, filepath.WalkDir(c.Dir, func(_ string, d fs.DirEntry, err error) error {
					switch {
					case err != nil:
						return err
					case d.IsDir() && d.Name() == ".git":
						return fs.SkipDir
					}
					_, err = d.Info()
					return err
				}))
			}
		})
		b.StartTimer()
	}
	b.ReportMetric(float64(ours.Milliseconds())/float64(b.N), "cpu-ms")
	b.ReportMetric(float64(ours)/float64(floor), "x-floor")
}

func compare(b *testing.B, places []ecosystem.Checkout, surveyor func() *ecogit.Surveyor) {
	plain := func() {
		var group errgroup.Group
		group.SetLimit(2 * runtime.GOMAXPROCS(0))
		for _, c := range places {
			group.Go(func() error {
				_, err := exec.Command("git", "-C", c.Dir, "status").Output()
				return err
			})
		}
		require.NoError(b, group.Wait())
	}
	plain() // both find the files read, and the second look is what is measured of a surveyor that remembers
	surveyor().Survey(b.Context(), places)
	var ours, theirs, busy, floor time.Duration
	for b.Loop() {
		s := surveyor()
		begin, used := time.Now(), cputime.All()
		found := s.Survey(b.Context(), places)
		ours, busy = ours+time.Since(begin), busy+cputime.All()-used
		b.StopTimer()
		require.Len(b, found, len(places))
		begin, used = time.Now(), cputime.All()
		plain()
		theirs, floor = theirs+time.Since(begin), floor+cputime.All()-used
		b.StartTimer()
	}
	b.ReportMetric(float64(ours)/float64(theirs), "ratio")
	b.ReportMetric(float64(busy)/float64(floor), "cpu-ratio")
}
