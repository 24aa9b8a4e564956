// Command countersignd is the HTTP server alone: countersign serve under a name that needs no argument, for service managers.
package main

import (
	"os"

	"github.com/countersign-dev/countersign/cmd/internal/wiring"
)

// version is stamped in by release builds (-ldflags "-X main.version=…").
var version string

func main() { os.Exit(wiring.Main(version, append([]string{"serve"}, os.Args[1:]...))) }
