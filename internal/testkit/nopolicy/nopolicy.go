// Package nopolicy is a machine on which nobody has set a policy. Tests that open Countersign do so on it, so that neither the policy of the machine
// they run on nor the settings of the account that runs them count.
package nopolicy

import (
	"path/filepath"

	"github.com/countersign-dev/countersign/adapters/local"
)

// Trust returns layers of policy that do not exist; dir is a directory of the test's own.
func Trust(dir string) local.Trust {
	return local.Trust{SystemFile: filepath.Join(dir, "no-policy.yaml"), AccountHome: filepath.Join(dir, "no-account")}
}
