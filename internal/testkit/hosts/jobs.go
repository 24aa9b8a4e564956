//go:build linux

package main

import (
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

// job is something that an agent is told to do, and what has to come of it.
type job struct {
	name    string
	steps   []step
	asks    []string // the tools about which the user is asked, in this order
	console bool     // the user answers in the console, not in a terminal
	screen  bool     // the user sits before the host's terminal view, and answers in that of countersign approvals
	shows   string   // what the console, or the view, shows of it
	denied  bool     // the user says no
	killed  bool     // the host is killed while it waits, and the same call is made again by a new one after the user's yes
	changes []string // the files that are different afterwards, and only then; a leading ~ is the home
	says    string   // stands in the last result
}

// surface returns where the user answers.
func (j job) surface() string {
	if j.console {
		return "console"
	}
	return "terminal"
}

// place returns where the user answers, in words.
func (j job) place() string {
	if j.screen {
		return "view of approvals, the host in its own"
	}
	return j.surface()
}

// reading is how long the user looks before answering. What does not wait for them is done by then.
const reading = time.Second

// reason is why the user says no.
const reason = "not before lunch"

func given(values map[string]any) func([]string) map[string]any {
	return func([]string) map[string]any { return values }
}

// found returns what the pattern's group finds in the latest result that has it.
func found(pattern string, results []string) string {
	re := regexp.MustCompile(pattern)
	for _, text := range slices.Backward(results) {
		if m := re.FindStringSubmatch(text); m != nil {
			return m[1]
		}
	}
	return ""
}

func jobs(d *trial) []job {
	script := func(name string) []step {
		return []step{{"run_script", given(object{"project_path": d.project, "script_name": name})}}
	}
	deployed := []string{"AGENTS.md", "~/.codex/AGENTS.md"}
	workflow := func(results []string) string { return found(`(wf-[0-9a-f-]{36})`, results) }
	deploy := job{name: "deploy, deploy_apply", asks: []string{"deploy_apply"}, shows: "+# Working agreements", changes: deployed, says: `"applied": ?true`, steps: []step{
		{"deploy", given(object{})},
		{"deploy_apply", func(results []string) map[string]any {
			return object{"yes": true, "confirm_token": found(`confirm_token"[^0-9a-f]+([0-9a-f-]{36})`, results)}
		}},
	}}
	rollback := job{name: "rollback", asks: []string{"rollback"}, shows: "It is deleted.", changes: deployed, says: `rolled_back|"event`, steps: []step{{"rollback", given(object{"to": "initial", "yes": true})}}}
	runs := func(name string) job {
		return job{name: "run_script", asks: []string{"run_script"}, shows: "echo done > " + name, changes: []string{name}, says: `exit_?[cC]ode"?: ?0|success"?: ?true`, steps: script(name)}
	}
	denied := func(name string) job {
		return job{name: "run_script, denied", asks: []string{"run_script"}, shows: "echo done > " + name, denied: true, says: reason, steps: script(name)}
	}
	inConsole := func(j job) job {
		j.console = true
		return j
	}
	onScreen := func(j job) job {
		j.screen = true
		return j
	}
	return []job{
		deploy,
		rollback,
		runs("one"),
		{name: "a workflow", asks: []string{"create_workflow", "add_workflow_step", "run_workflow"}, changes: []string{"two"}, says: `success"?: ?true`, steps: []step{
			{"create_workflow", given(object{"name": "release"})},
			{"add_workflow_step", func(results []string) map[string]any {
				return object{"workflow_id": workflow(results), "name": "two", "command": "npm run two", "cwd": d.project}
			}},
			{"run_workflow", func(results []string) map[string]any {
				return object{"workflow_id": workflow(results), "project_path": d.project}
			}},
		}},
		denied("three"),
		{name: "run_script, host killed", asks: []string{"run_script"}, killed: true, changes: []string{"three"}, says: `success"?: ?true`, steps: script("three")},
		inConsole(deploy),
		inConsole(rollback),
		inConsole(runs("four")),
		inConsole(denied("five")),
		onScreen(denied("six")),
		onScreen(runs("six")),
	}
}

// asked is until a question about the tool waits, and no other. It fails when the host ends before. Meanwhile, something may be done now and then.
func (d *trial) asked(tool string, ended <-chan struct{}, meanwhile func() error) (question, error) {
	for until := time.Now().Add(patience); time.Now().Before(until); time.Sleep(200 * time.Millisecond) {
		list, err := d.questions()
		switch {
		case err != nil:
			return question{}, err
		case len(list) == 1 && list[0].Tool == tool:
			return list[0], nil
		}
		if err := meanwhile(); err != nil {
			return question{}, err
		}
		select {
		case <-ended:
			return question{}, fmt.Errorf("the host ended before a person was asked about %s", tool)
		default:
		}
	}
	return question{}, fmt.Errorf("nobody was asked about %s", tool)
}

// does has a host do a job, with the user beside it. It returns how the host called itself.
func (d *trial) does(h host, m *model, j job) (client string, err error) {
	before, err := d.tree()
	if err != nil {
		return "", err
	}
	_, from, err := d.record(0)
	if err != nil {
		return "", err
	}
	m.play(j.steps...)
	if j.screen {
		err = d.watched(h, m, j, before)
	} else {
		err = d.unwatched(h, m, j, before)
	}
	if err != nil {
		d.withdraws()
		return "", fmt.Errorf("%w\nresults: %q\n%v", err, m.results(), m.complaints())
	}
	results := m.results()
	if len(results) != len(j.steps) || !regexp.MustCompile(j.says).MatchString(results[len(results)-1]) {
		return "", fmt.Errorf("%d of %d results, and the last has to match %q", len(results), len(j.steps), j.says)
	}
	after, err := d.tree()
	if err != nil {
		return "", err
	}
	var want []string
	for _, name := range j.changes {
		if rest, ok := strings.CutPrefix(name, "~/"); ok {
			want = append(want, filepath.Join(d.home, rest))
		} else {
			want = append(want, filepath.Join(d.project, name))
		}
	}
	slices.Sort(want)
	if got := unlike(before, after); !slices.Equal(got, want) {
		return "", fmt.Errorf("changed are %q, and not %q", got, want)
	}
	return d.recorded(h, j, from)
}

// unwatched has a host do a job headless, with the user nearby who answers what Countersign asks.
func (d *trial) unwatched(h host, m *model, j job, before map[string]string) (err error) {
	s, err := d.starts(h, m.URL)
	if err != nil {
		return err
	}
	defer func() {
		s.kill()
		if err != nil {
			err = fmt.Errorf("%w\nthe host: %s", err, s.said.String())
		}
	}()
	for _, tool := range j.asks {
		q, err := d.asked(tool, s.ended, func() error { return nil })
		if err != nil {
			return err
		}
		time.Sleep(reading) // a call that does not wait for the user is done by then, which same would see
		if err := d.same(before, "before the person's answer"); err != nil {
			return err
		}
		if j.killed {
			s.kill()
		}
		if err := d.answers(q, j); err != nil {
			return err
		}
		if j.killed {
			if err := d.same(before, "by the answer alone, without the call"); err != nil {
				return err
			}
			if s, err = d.starts(h, m.URL); err != nil {
				return err
			}
		}
	}
	return s.waits()
}

// answers has the user answer where they do.
func (d *trial) answers(q question, j job) error {
	switch {
	case j.console:
		return d.inConsole(q, j)
	case j.screen:
		return d.onScreen(q, j)
	}
	return d.inTerminal(q, j)
}

// withdraws leaves no question for the next job.
func (d *trial) withdraws() {
	list, _ := d.questions()
	for _, q := range list {
		_ = d.command(d.exe, "deny", q.ID).Run()
	}
}

// inTerminal answers a question at a terminal.
func (d *trial) inTerminal(q question, j job) error {
	words := []string{"approve", q.ID}
	if j.denied {
		words = []string{"deny", q.ID, "--reason", reason}
	}
	if seen, err := d.atTerminal("y", words...); err != nil {
		return fmt.Errorf("countersign %s: %w\n%s", words[0], err, seen)
	}
	return nil
}

// same holds what is on disk to what was.
func (d *trial) same(before map[string]string, when string) error {
	now, err := d.tree()
	if changed := unlike(before, now); err == nil && len(changed) > 0 {
		err = fmt.Errorf("changed %s: %q", when, changed)
	}
	return err
}

// recorded holds the audit to what was done: each call that was asked about was answered by the user where they sat, and that is said of what came of it.
func (d *trial) recorded(h host, j job, from int) (client string, err error) {
	events, _, err := d.record(from)
	if err != nil {
		return "", err
	}
	verdict, surface := "approve", j.surface()
	if j.denied {
		verdict = "deny"
	}
	for _, tool := range j.asks {
		answered, ran := 0, 0
		for _, e := range events {
			switch {
			case e.Tool != tool:
			case e.Phase == "answer" && e.Verdict == verdict && e.Proof.Surface == surface && e.Proof.User == d.account && strings.HasPrefix(e.Proof.TTY, "/dev/pts/") != j.console && (e.Proof.Credential != "") == j.console:
				answered++
			case e.Phase == "answer":
				return "", fmt.Errorf("an answer that nobody gave is on record: %+v", e)
			case e.Phase == "outcome":
				if client = e.Client; !strings.Contains(client, h.client) {
					return "", fmt.Errorf("%s is on record as the client of %s", client, tool)
				}
				if e.Code == "" && !strings.HasPrefix(e.ApprovedBy, surface) {
					return "", fmt.Errorf("%s ran, and who approved it is on record as %q", tool, e.ApprovedBy)
				}
				if e.Code == "" {
					ran++
				}
			}
		}
		if may := map[bool]int{true: 0, false: 1}[j.denied]; answered != 1 || ran != may {
			return "", fmt.Errorf("on record, %s was answered %d times and ran %d times", tool, answered, ran)
		}
	}
	if client == "" {
		return "", errors.New("nothing is on record")
	}
	return client, nil
}
