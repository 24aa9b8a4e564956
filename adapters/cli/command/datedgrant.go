package command

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/countersign-dev/countersign/domain/confirm"
)

// The words that widen a dated grant, each by one option.
const (
	anyArguments = "any-arguments"
	anyHost      = "any-host"
)

// UntilHint describes what ParseUntil accepts.
const UntilHint = "8h, 30m or 3d, at most 30d, optionally followed by any-arguments or any-host"

// ParseUntil parses the duration of a dated grant and its options: "8h", "3d any-host". Empty text is confirm.DatedFirst.
func ParseUntil(text string) (confirm.Until, error) {
	u := confirm.Until{For: confirm.DatedFirst}
	for i, word := range strings.Fields(strings.ToLower(text)) {
		switch {
		case word == anyArguments:
			u.AnyArgs = true
		case word == anyHost:
			u.AnyEntry = true
		case i == 0:
			d, err := age(word)
			if err != nil {
				return u, err
			}
			u.For = d
		default:
			return u, ErrUsage.WithMessage("invalid duration %q; use for example: %s", word, UntilHint)
		}
	}
	return u, u.Check()
}

// age parses a duration in hours and minutes, or in days.
func age(word string) (time.Duration, error) {
	if days, ok := strings.CutSuffix(word, "d"); ok {
		if n, err := strconv.Atoi(days); err == nil && n > 0 {
			return time.Duration(min(n, int(2*confirm.DatedMost/(24*time.Hour)))) * 24 * time.Hour, nil // Check rejects durations that are too long
		}
	}
	d, err := time.ParseDuration(word)
	if err != nil {
		return 0, ErrUsage.WithMessage("invalid duration %q; use for example: %s", word, UntilHint)
	}
	return d, nil
}

// Moment returns a time in the user's time zone, with its date if that is not today.
func Moment(at, now time.Time) string {
	at, now = at.Local(), now.Local()
	if at.Format(time.DateOnly) == now.Format(time.DateOnly) {
		return at.Format("15:04")
	}
	return at.Format("Mon 2 Jan 15:04")
}

// offered returns the part of an approval prompt about dated grants.
func offered(v confirm.View) string {
	if !v.Datable() {
		return ""
	}
	now := time.Now()
	return "/u: until " + Moment(now.Add(confirm.DatedFirst), now) + " or another time"
}

// until returns the decision that gives a dated grant or, if the user does not want that after all, approves only this call. With leave, only "n"
// denies.
func (s *Shell) until(ctx context.Context, v confirm.View, said confirm.Decision, given *confirm.Until, leave bool) (_ confirm.Decision, err error) {
	if said.Until, err = s.askUntil(ctx, v, given); err != nil || said.Until != nil {
		said.Approve = said.Until != nil
		return said, err
	}
	question := "Approve once instead? [y/N]"
	if leave {
		question = "Approve once instead? [y/n; Enter: decide later]"
	}
	word, err := s.Ask(ctx, question)
	word = strings.ToLower(word)
	if leave && err == nil && word != "y" && word != "yes" && !refuses(word) {
		return said, left(v)
	}
	said.Approve = word == "y" || word == "yes"
	return said, err
}

// askUntil asks for the duration if none is given, shows what the grant would be bound to and what not, and asks for approval of all of it.
func (s *Shell) askUntil(ctx context.Context, v confirm.View, given *confirm.Until) (*confirm.Until, error) {
	u := given
	for u == nil {
		word, err := s.Ask(ctx, "For how long? (Enter: 8h; or "+UntilHint+")")
		if err != nil {
			return nil, err
		}
		said, err := ParseUntil(word)
		if err == nil && said.AnyArgs && v.Reach.Loose.IsZero() {
			err = ErrUsage.WithMessage("the arguments of %s determine what it does, so any-arguments is not available", Plain(v.Tool))
		}
		if err != nil {
			s.Say(Plain(err.Error()))
			continue
		}
		u = &said
	}
	bound, unbound := v.Bound(*u)
	s.Say("allowed without asking: " + Plain(bound))
	s.Say("not bound: " + Plain(unbound))
	now := time.Now()
	word, err := s.Ask(ctx, fmt.Sprintf("Approve, and allow this until %s? [y/N]", Moment(now.Add(u.For), now)))
	if word = strings.ToLower(word); err != nil || word != "y" && word != "yes" {
		return nil, err
	}
	return u, nil
}

// DecideAll shows the complete plans of several requests one after the other, and asks once for all of them. It fails with ErrUnanswered if no user
// can be asked, and if the end of a plan was not shown.
func (s *Shell) DecideAll(ctx context.Context, views []confirm.View) (bool, error) {
	if !s.Interactive() {
		return false, ErrUnanswered.WithMessage("approving needs a terminal that shows the plans first").WithDetails(Hint("run countersign approve with the IDs in a terminal"))
	}
	for i, v := range views {
		s.Say(fmt.Sprintf("%d of %d: %s", i+1, len(views), Plain(v.ID)))
		seen, err := s.present(ctx, v, false)
		if err != nil {
			return false, err
		}
		if !seen {
			return false, ErrUnanswered.WithMessage("nothing was decided: the plan of %s was not shown to the end", v.ID).WithDetails(Hint("countersign approve " + v.ID + " to see it again"))
		}
	}
	word, err := s.Ask(ctx, fmt.Sprintf("Approve all %d? [y/N]", len(views)))
	word = strings.ToLower(word)
	return word == "y" || word == "yes", err
}
