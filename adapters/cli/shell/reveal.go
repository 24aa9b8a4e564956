package shell

import (
	"context"
	"fmt"

	"github.com/countersign-dev/countersign/adapters/cli/planview"
	"github.com/countersign-dev/countersign/adapters/cli/terminal"
	"github.com/countersign-dev/countersign/domain/confirm"
)

// Veiled says how much of a question is masked, in one line; empty for nothing, and once it is revealed.
func Veiled(v confirm.View) string {
	switch {
	case v.Masked == 0 || v.Revealed:
		return ""
	case v.MustReveal:
		return fmt.Sprintf("masked: %s; it may run, so reveal it before you approve", parts(v.Masked))
	}
	return "masked: " + parts(v.Masked)
}

func parts(n int) string {
	if n == 1 {
		return "1 part"
	}
	return fmt.Sprintf("%d parts", n)
}

// Reveal shows a question with nothing masked, to the person at the terminal, and is that question.
func (s *Shell) Reveal(ctx context.Context, v confirm.View) (confirm.View, error) {
	a, err := s.App()
	if err != nil {
		return v, err
	}
	bare, err := a.Reveal(ctx, v.ID)
	if err != nil {
		return v, err
	}
	s.Say("with nothing masked (keep it to yourself):")
	if len(bare.Arguments) > 0 {
		s.Say("arguments: " + terminal.Plain(string(bare.Arguments)))
	}
	planview.Tinted(planview.Whole(bare.Plan), s.Put)
	if len(bare.Exhibit) > 0 {
		planview.Tinted(planview.Whole(bare.Exhibit), s.Put)
	}
	return bare, nil
}

// askRevealing asks a question to which r is the wish to have what is masked revealed, as often as it takes.
func (s *Shell) askRevealing(ctx context.Context, v *confirm.View, question string) (string, error) {
	for {
		asked := question
		if veiled := Veiled(*v); veiled != "" {
			s.Say(veiled)
			asked += " (r reveals what is masked)"
		}
		word, err := s.Ask(ctx, asked)
		if err != nil || word != "r" || Veiled(*v) == "" {
			return word, err
		}
		if *v, err = s.Reveal(ctx, *v); err != nil {
			return "", err
		}
	}
}
