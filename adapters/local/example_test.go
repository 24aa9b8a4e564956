package local_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"

	"github.com/countersign-dev/countersign/adapters/local"
	"github.com/countersign-dev/countersign/app"
	"github.com/countersign-dev/countersign/app/packs"
	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/policy"
)

// A host of your own mounts the core in a few lines: typed calls, the same policy, confirmations and audit as every transport.
func Example() {
	dir, _ := os.MkdirTemp("", "host-")
	defer os.RemoveAll(dir)

	host, err := local.Open(local.Config{Dir: dir, Packs: local.Packs{Root: dir, Source: "."}, Options: local.Defaults()})
	if err != nil {
		log.Fatal(err)
	}
	defer host.Close() // writes what is on its way and stops what it started

	ctx, me := context.Background(), host.As(policy.Principal{ID: "host", Grants: policy.Read | policy.Write})
	in := packs.InputArgs{Action: "create", Name: "login-bug", TTLMinutes: new(uint64(60))}

	made, err := app.Do(ctx, me, packs.Input, in) // in and out are typed by the handle
	var ask *app.ApprovalRequiredError
	if errors.As(err, &ask) { // policy wants the user's yes: show ask.Request.Plan; the token answers where Options say that the caller approves
		made, err = app.Do(ctx, me.WithToken(ask.Request.Token), packs.Input, in)
	}
	if err != nil {
		log.Fatal(fault.From(err).Code)
	}
	list, err := app.Do(ctx, me, packs.Output, packs.OutputArgs{Query: "login"})
	fmt.Println(made.Action, len(list) > 0, err)
	// Output: create true <nil>
}
