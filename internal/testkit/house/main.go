//go:build linux

// Command fixture prints what a reader of this module may want to look at: large and small packages, long files and functions, names that nobody uses or
// that exist twice, structs that are declared twice, totals, and with -calls which functions a call of a tool runs. No figure of it is a rule: a reader
// decides.
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
