// Command lenient is Countersign built into a program in which the caller approves, and in which $HOME is the account's directory: for tests that
// need a binary of their own and have nothing to do with approval.
package main

import (
	"os"
	"path/filepath"

	"github.com/countersign-dev/countersign/adapters/local"
	"github.com/countersign-dev/countersign/cmd/internal/wiring"
	"github.com/countersign-dev/countersign/domain/policy"
)

func main() {
	home := os.Getenv("HOME")
	os.Exit(wiring.Build{Approval: policy.ApprovalCaller,
		Trust: local.Trust{SystemFile: filepath.Join(home, "..", "system", "policy.yaml"), AnyOwner: true, AccountHome: home}}.Main(os.Args[1:]))
}
