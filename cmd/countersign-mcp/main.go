// Command countersign-mcp is the stdio server alone: countersign mcp under a name that needs no argument, configured by environment
// variables. It reads those of the original context-pack server.
package main

import (
	"os"

	"github.com/countersign-dev/countersign/cmd/internal/wiring"
)

// version is stamped in by release builds (-ldflags "-X main.version=…").
var version string

func main() { os.Exit(run(wiring.Build{Version: version, Desktop: true})) }

func run(b wiring.Build) int { return b.Main(append([]string{"mcp"}, os.Args[1:]...)) }
