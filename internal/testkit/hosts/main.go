//go:build linux

// Command hosts tests real agent hosts, over stdio and over HTTP with the server of countersign up, with a scripted model on this machine. They request what
// needs an approval: a deployment and its rollback, a script, a workflow. Approvals are given at a pseudo-terminal, in the console in a headless browser, in
// the host's own view, and in countersign approvals, the last two in tmux. It compares the files on disk, the answers to the host and the audit log with what
// is promised, prints a table, and exits with 1 if a promise is broken. Before that it sets up two laptops for each host, and compares what the host finds of
// somebody's artefacts at each step from one to the other and back. With -sandboxes it tells another story alone: agents in three sandboxes of one repository,
// a person who merges their work, and the release of an ecosystem that the repository is a part of.
//
// It is not part of the CI gate, because the hosts are other projects' programs and change daily. .ci/hosts installs them and starts it.
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"
)

func main() {
	if strings.HasSuffix(filepath.Base(os.Args[0]), "-mcp") { // a server that the hosts of the two laptops start
		if err := serveMCP(os.Stdin, os.Stdout, strings.Join(os.Args[1:], "")); err != nil {
			os.Exit(1)
		}
		return
	}
	exe := flag.String("countersign", "countersign", "the program")
	dir := flag.String("dir", ".", "an empty directory for homes and projects, below no Git work tree")
	packages := flag.Bool("packages", false, "only print what npm has to install")
	onlySandboxes := flag.Bool("sandboxes", false, "only the story of three agents in sandboxes of one repository, with opencode")
	onlyLaptops := flag.Bool("laptops", false, "only the story of two laptops")
	flag.Usage = func() {
		fmt.Fprintln(flag.CommandLine.Output(), "usage: hosts [flags] [HOST...]")
		flag.PrintDefaults()
	}
	flag.Parse()
	names := flag.Args()
	if *onlySandboxes {
		names = []string{"opencode"}
	}
	chosen := slices.DeleteFunc(hosts(), func(h host) bool { return len(names) > 0 && !slices.Contains(names, h.name) })
	if len(chosen) < len(names) || len(chosen) == 0 {
		fmt.Fprintf(os.Stderr, "not all of these are hosts: %q\n", names)
		os.Exit(2)
	}
	if *packages {
		for _, h := range chosen {
			fmt.Printf("%s %s\n", h.pkg, h.version)
		}
		if *onlySandboxes {
			fmt.Println("pnpm 10.34.9")
		}
		return
	}
	if *onlySandboxes {
		os.Exit(tellSandboxes(*exe, *dir, chosen[0]))
	}
	failed, err := try(*exe, *dir, chosen, *onlyLaptops)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	if err != nil || failed > 0 {
		os.Exit(1)
	}
}

// tellSandboxes has opencode's agents and a person go through the story of sandboxes, and returns the exit code.
func tellSandboxes(exe, dir string, opencode host) int {
	m, err := newModel()
	if err == nil {
		err = sandboxes(exe, filepath.Join(dir, "sandboxes"), opencode, m)
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "three agents in sandboxes: BROKEN: %v\n", err)
		return 1
	}
	return 0
}

// try has each host do each job, over stdin and stdout and over HTTP, and says how many of them went wrong.
func try(exe, dir string, chosen []host, onlyLaptops bool) (failed int, err error) {
	m, err := newModel()
	if err != nil {
		return 0, err
	}
	table := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "HOST\tOVER\tJOB\tANSWERED IN\tRESULT")
	for _, h := range chosen {
		result := "as promised"
		if err := laptops(exe, filepath.Join(dir, h.name+"-laptops"), h, m); err != nil {
			failed++
			result = "BROKEN: " + strings.SplitN(err.Error(), "\n", 2)[0]
			fmt.Fprintf(os.Stderr, "%s, two laptops: %v\n", h.name, err)
		}
		fmt.Fprintf(table, "%s\tstdio\ttwo laptops\tterminal\t%s\n", h.name, result)
		if onlyLaptops {
			continue
		}
		for _, over := range []string{"stdio", "HTTP"} {
			wrong, err := tryOver(exe, dir, h, over, m, table)
			if failed += wrong; err != nil {
				return failed, fmt.Errorf("%s over %s: %w", h.name, over, err)
			}
		}
	}
	return failed, table.Flush()
}

// tryOver has a host do each job over one transport, and writes a line about each.
func tryOver(exe, dir string, h host, over string, m *model, table io.Writer) (failed int, err error) {
	d, err := newTrial(exe, filepath.Join(dir, h.name+"-"+over), h, over == "HTTP")
	if err != nil {
		return 0, err
	}
	defer func() {
		if left := d.leave(); err == nil {
			err = left
		}
	}()
	for _, j := range jobs(d) {
		client, err := d.does(h, m, j)
		result := "as promised"
		if err != nil {
			failed++
			result = "BROKEN: " + strings.SplitN(err.Error(), "\n", 2)[0]
			fmt.Fprintf(os.Stderr, "%s over %s, %s, in the %s: %v\n", h.name, over, j.name, j.place(), err)
		}
		if client == "" {
			client = h.name
		}
		fmt.Fprintf(os.Stderr, "%s over %s: %s, in the %s: %s\n", h.name, over, j.name, j.place(), result)
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\n", client, over, j.name, j.place(), result)
	}
	return failed, nil
}
