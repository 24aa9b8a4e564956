// Command countersign is Countersign's command line and, with countersign mcp, the server that agent hosts start.
package main

import (
	"os"

	"github.com/countersign-dev/countersign/cmd/internal/wiring"
)

// version is stamped in by release builds (-ldflags "-X main.version=…").
var version string

func main() { os.Exit(wiring.Main(version, os.Args[1:])) }
