package command

import (
	"context"
	"fmt"

	"github.com/countersign-dev/countersign/domain/confirm"
)

// RedactedNote states how much of a request is redacted, in one line; empty if nothing is, or once it is revealed.
func RedactedNote(v confirm.View) string {
	switch {
	case v.Masked == 0 || v.Revealed:
		return ""
	case v.MustReveal:
		return fmt.Sprintf("redacted: %s; it may run, so reveal it before you approve", parts(v.Masked))
	}
	return "masked: " + parts(v.Masked)
}

func parts(n int) string {
	if n == 1 {
		return "1 part"
	}
	return fmt.Sprintf("%d parts", n)
}

// reveal shows a request without redaction to the user at the terminal; it returns that request, and whether its end was shown.
func (s *Shell) reveal(ctx context.Context, v confirm.View) (bare confirm.View, seen bool, err error) {
	a, err := s.App()
	if err != nil {
		return v, false, err
	}
	if bare, err = a.Reveal(ctx, v.ID); err != nil {
		return v, false, err
	}
	bare.Client = v.Client
	shown := s.Shown
	s.Shown = false // what was shown before was redacted
	seen, err = s.present(ctx, bare, false)
	s.Shown = shown
	return bare, seen, err
}

// askRevealing asks a question in which r reveals the redacted parts, as often as needed.
func (s *Shell) askRevealing(ctx context.Context, v *confirm.View, question string) (string, error) {
	for {
		asked, redacted := question, RedactedNote(*v) != ""
		if redacted {
			asked += " (r: show the redacted parts)"
		}
		word, err := s.Ask(ctx, asked)
		if err != nil || word != "r" || !redacted {
			return word, err
		}
		bare, seen, err := s.reveal(ctx, *v)
		if err != nil {
			return "", err
		}
		if seen {
			*v = bare
		}
	}
}
