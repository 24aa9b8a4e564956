//go:build linux

// Command fixture prints figures about this module for its readers: large and small packages, long files and functions, unused or duplicate names,
// duplicate structs, totals, and with -calls the functions that a tool call runs. No figure is a rule.
package main

import (
	"flag"
	"fmt"
	"os"
)

func main() {
	calls := flag.Bool("calls", false, "also build the program with coverage counters and print which functions run_script and deploy_apply run (takes minutes)")
	list := flag.Bool("list", false, "with -calls: print every function")
	flag.Parse()
	m, err := load(os.DirFS("."))
	if err == nil {
		report(os.Stdout, m)
		if *calls {
			err = traced(os.Stdout, *list)
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
