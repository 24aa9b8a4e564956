//go:build linux

package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"time"
)

// parts are the repositories of the ecosystem, each before those that depend on it.
var parts = []string{"lib", "shop", "site"}

// ticket is one change in all of them.
const ticket = "STORE-7"

// founds makes an ecosystem of the three repositories and installs it.
func (s *story) founds() {
	s.git(s.work, "init", "-q", "--bare", "store.git")
	s.git(s.work, "init", "-q", "store")
	s.git("store", "remote", "add", "origin", filepath.Join(s.work, "store.git"))
	s.ground.project = filepath.Join(s.work, "store")
	words := []string{"eco", "create", "store", "--provisioner", "noop"}
	for _, name := range parts {
		words = append(words, "--repo", name+"="+filepath.Join(s.work, name+".git"))
	}
	s.person(words...)
	manifest := filepath.Join(s.project, "ecosystems/store/ecosystem.yaml")
	for i, name := range parts[1:] {
		s.must(replaced(manifest, name+".git\n", name+".git\n  depends_on: ["+parts[i]+"]\n"))
	}
	s.reads("eco", "validate")
	s.git(s.project, "add", "-A")
	s.git(s.project, "commit", "-q", "-m", "the store")
	s.git(s.project, "push", "-q", "-u", "origin", "main")
	s.shows(s.person("eco", "install"), "install of store: success")
	for _, name := range parts {
		s.holds(s.git(s.part(name), "rev-parse", "HEAD") == s.git(name+".git", "rev-parse", "main"), "%s is installed as its remote has it", name)
	}
	s.tells("an ecosystem of lib, shop and site, each depending on the one before, is installed")
}

// part is the checkout of a repository of the ecosystem.
func (s *story) part(name string) string {
	return filepath.Join(s.work, "store/worktrees/store/repos", name)
}

// tickets has the person do a ticket in all three, and merge it in the order of dependencies.
func (s *story) tickets() {
	s.person("eco", "ticket", "start", ticket)
	for _, name := range parts {
		dir := filepath.Join(s.work, "store/worktrees/store/tickets", ticket, name)
		s.writes(dir, map[string]string{"CURRENCY": "EUR\n"})
		s.git(dir, "add", "-A")
		s.git(dir, "commit", "-q", "-m", "feat: "+name+" counts in euros")
	}
	seen := s.person("eco", "ticket", "merge", ticket, "--push")
	result := seen[strings.LastIndex(seen, "REPOSITORY"):]
	last := -1
	for _, name := range parts {
		i := strings.Index(result, "\n"+name+" ")
		s.holds(i > last, "%s is merged after what it depends on:\n%s", name, result)
		last = i
		s.holds(s.git(name+".git", "show", "main:CURRENCY") == "EUR", "the remote of %s has the ticket", name)
	}
	s.person("eco", "ticket", "end", ticket, "--cleanup", "local")
	s.tells("ticket %s: merged and pushed in all three, in the order of dependencies", ticket)
}

// tags are a repository's, and its remote's.
func (s *story) tags(name string) (here, there string) {
	return s.git(s.part(name), "tag"), s.git(name+".git", "tag")
}

// releases has a release killed while it is pushed, and finished by a push.
func (s *story) releases() {
	killed := make(chan error, 1)
	go func() { killed <- s.kills() }()
	seen, err := s.atTerminal("y", "eco", "release", "bump", "minor", "--push")
	s.by["terminal, at the command"]++
	s.must(<-killed)
	s.holds(err != nil, "the release that was killed fails:\n%s", seen)
	out := 0
	for _, name := range parts {
		here, there := s.tags(name)
		s.holds(here == "v0.1.0", "%s has the tag: %q", name, here)
		if there == here {
			out++
		}
	}
	s.holds(out < len(parts), "the kill came before everything was pushed")
	s.shows(s.reads("eco", "release", "status"), "v0.1.0 is not pushed everywhere", "countersign eco push")
	s.shows(s.person("eco", "push"), "push of store: success")
	s.released("v0.1.0", parts...)
	s.tells("release v0.1.0: killed with -9 when %d of 3 were pushed; eco push finished it: tags, versions and changelogs are everywhere", out)
}

// kills ends the worker of a release as soon as the first repository is pushed. It polls for the tag: nothing tells of a ref that git writes, and the time
// between two pushes is short.
func (s *story) kills() error {
	first := filepath.Join(s.work, parts[0]+".git", "refs/tags/v0.1.0")
	for until := time.Now().Add(patience); time.Now().Before(until); time.Sleep(100 * time.Microsecond) {
		if _, err := os.Stat(first); err != nil {
			continue
		}
		list, err := os.ReadDir("/proc")
		if err != nil {
			return err
		}
		for _, p := range list {
			line, _ := os.ReadFile(filepath.Join("/proc", p.Name(), "cmdline"))
			var pid int
			if words := string(line); strings.Contains(words, "ecosystem-worker\x00") && strings.Contains(words, s.project+"\x00") {
				if _, err := fmt.Sscan(p.Name(), &pid); err != nil {
					return err
				}
				return syscall.Kill(pid, syscall.SIGKILL)
			}
		}
		return errors.New("no worker carries out the release")
	}
	return errors.New("nothing is pushed")
}

// released is that a version is everywhere: at every remote the tag, on what main is there, and in its files.
func (s *story) released(tag string, noted ...string) {
	for _, name := range parts {
		remote := name + ".git"
		s.holds(s.git(remote, "rev-parse", tag+"^{commit}") == s.git(remote, "rev-parse", "main"), "%s is main at the remote of %s", tag, name)
		s.holds(s.git(remote, "cat-file", "-t", tag) == "tag", "%s of %s is an annotated tag", tag, name)
		s.shows(s.git(remote, "show", "main:package.json"), `"version": "`+tag[1:]+`"`)
		s.shows(s.git(remote, "show", "main:CHANGELOG.md"), "["+tag[1:]+"]")
		s.holds(s.git(s.part(name), "status", "--porcelain") == "", "%s is clean", name)
	}
	for _, name := range noted {
		s.shows(s.git(name+".git", "show", "main:CHANGELOG.md"), "counts in euros")
	}
	s.shows(s.git("store.git", "show", "main:ecosystems/store/releases/"+tag+".json"), tag)
}

// archives removes the workspace, installs it again, and releases once more.
func (s *story) archives() {
	s.shows(s.person("eco", "archive", "--message", "The season is over"), "archive of store: success")
	_, err := os.Stat(s.part("shop"))
	s.holds(errors.Is(err, os.ErrNotExist), "the workspace is gone: %v", err)
	s.shows(s.person("eco", "install"), "install of store: success")
	s.shows(s.reads("eco", "release", "status"), "v0.1.0")
	s.writes(s.part("lib"), map[string]string{"CURRENCY": "CHF\n"})
	s.git(s.part("lib"), "commit", "-q", "-a", "-m", "fix: lib counts in francs")
	s.shows(s.person("eco", "release", "bump", "--push"), "v0.1.1")
	s.released("v0.1.1")
	s.shows(s.git("lib.git", "show", "main:CHANGELOG.md"), "counts in francs", "counts in euros")
	s.tells("archived, installed again, and released as v0.1.1, which goes on from v0.1.0")
}

// judges holds the audit to the story: every mutation that asked was approved by the user, in a terminal or in the console, and by nobody else.
func (s *story) judges() {
	events, _, err := s.record(0)
	s.must(err)
	answered, changed := map[string]int{}, 0
	for _, e := range events {
		switch {
		case e.Phase == "answer" && e.Tool == "access": // a key of the browser, which the login at the terminal issued
			s.holds(e.Verdict == "issue" && (e.ApprovedBy == "login" || strings.HasPrefix(e.ApprovedBy, "call ")), "a key is issued by a login: %+v", e)
		case e.Phase == "answer":
			s.holds(e.Verdict == "approve" && e.Proof.User == s.account, "an answer is the user's yes: %+v", e)
			s.holds(e.Proof.Surface == "console" && e.Proof.Credential != "" || e.Proof.Surface == "terminal" && strings.HasPrefix(e.Proof.TTY, "/dev/pts/"), "an answer has its proof: %+v", e)
			answered[e.Proof.Surface]++
		case e.Phase == "outcome":
			if e.ApprovedBy != "" {
				s.holds(e.Code == "", "what was approved went well: %+v", e)
				s.holds(regexp.MustCompile(`^(console|terminal)`).MatchString(e.ApprovedBy), "what ran was approved by a person: %+v", e)
				changed++
			}
		}
	}
	for _, tool := range []string{"run_script", "run_task", "git_stage", "git_commit", "sandbox_merge", "sandbox_agent", "amof_release_bump", "amof_archive_ecosystem"} {
		ran := false
		for _, e := range events {
			ran = ran || e.Tool == tool && e.Phase == "outcome" && e.ApprovedBy != "" && e.Code == ""
		}
		s.holds(ran, "%s is on record as done after a yes", tool)
	}
	s.holds(answered["console"] == s.by["console"], "the console's %d answers are on record: %d", s.by["console"], answered["console"])
	s.tells("the audit log is intact: %d answers in terminals and %d in the console, all by %s; %d changes ran, each after one of them", answered["terminal"], answered["console"], s.account, changed)
}
