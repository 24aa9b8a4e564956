package ecosystemport

import (
	"context"

	"github.com/countersign-dev/countersign/domain/ecosystem"
)

// Surveyor reads the git status of checkouts.
type Surveyor interface {
	// Survey returns the git status of each checkout, in their order, without contacting a remote. A checkout that is missing, broken or too slow is reported in
	// its result (Missing, Problem).
	Survey(ctx context.Context, checkouts []ecosystem.Checkout) []ecosystem.GitStatus
}
