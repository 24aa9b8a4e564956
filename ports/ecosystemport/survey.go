package ecosystemport

import (
	"context"

	"github.com/countersign-dev/countersign/domain/ecosystem"
)

// Surveyor looks at checkouts.
type Surveyor interface {
	// Survey is what git says of each checkout, in their order and without asking any remote. It never fails as a whole: what is missing, broken
	// or too slow says so itself (Missing, Problem).
	Survey(ctx context.Context, checkouts []ecosystem.Checkout) []ecosystem.GitStatus
}
