package ui

import "github.com/countersign-dev/countersign/app"

// The application has every method that a Core may have.
var (
	_ Core       = (*app.App)(nil)
	_ waiter     = (*app.App)(nil)
	_ withdrawer = (*app.App)(nil)
	_ evaluator  = (*app.App)(nil)
)
