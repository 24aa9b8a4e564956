package admincmd

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"

	"github.com/jedib0t/go-pretty/v6/text"
	"github.com/spf13/cobra"

	"github.com/countersign-dev/countersign/adapters/cli/command"
	"github.com/countersign-dev/countersign/app/deployments/mcpclients"
	"github.com/countersign-dev/countersign/domain/audit"
	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/owner"
)

// ErrUnhealthy is returned by doctor if a check failed; warnings are no failure.
var ErrUnhealthy = fault.New(fault.State, "doctor_found_failures", "a check failed")

// The results of a check. A check that could not be made is skipped.
const (
	healthy = "ok"
	warning = "warning"
	failing = "failed"
	skipped = "skipped"
)

// Thresholds of free space for the home, in bytes.
const (
	littleSpace = 1 << 30
	noSpace     = 100 << 20
)

// oldestGit is the oldest version of git that everything works with.
var oldestGit = [2]int{2, 39}

// finding is the result of one check. Advice is what to do, empty if nothing is to be done.
type finding struct {
	Check   string `json:"check"`
	State   string `json:"state"`
	Summary string `json:"summary"`
	Advice  string `json:"advice,omitempty"`
	Fixed   bool   `json:"fixed,omitempty"` // --fix repaired it; State is the one before

	fix func(ctx context.Context) error // nil: only a person can, as Advice says
}

// examination is the JSON output of doctor.
type examination struct {
	Healthy  bool      `json:"healthy"` // no check failed
	Version  string    `json:"version"`
	Home     string    `json:"home"`
	Findings []finding `json:"checks"`
}

// doctor makes the checks of one home.
type doctor struct {
	connectCommand
	core command.Core
	full bool
}

// DoctorCommand returns the command doctor.
func DoctorCommand(s *command.Shell, m Machine) *cobra.Command {
	var full, fix bool
	c := &cobra.Command{Use: "doctor", Short: "Check this installation, and repair it with --fix", Args: command.Args(0, 0),
		Long: "Check this installation: Countersign's home and its free space, the database, the audit log, the keys, the policy, the server and its port, interrupted\n" +
			"processes, git and node, connected agent hosts, and notification channels. For each problem it prints what to do.\n\n" +
			"--fix repairs what a program can: it makes the home and its keys private, and reconnects hosts whose entry starts another program. Each change\n" +
			"of a host's file is shown first and needs your approval, as in countersign connect.\n\n" +
			"Exit codes: 0 nothing failed (there may be warnings) · 4 a check failed.",
		Example: `  countersign doctor
  countersign doctor --fix
  countersign doctor --json`}
	c.Flags().BoolVar(&full, "full", false, "verify the whole audit log, not only the records since the last verification")
	c.Flags().BoolVar(&fix, "fix", false, "repair problems, after asking")
	c.RunE = func(cmd *cobra.Command, _ []string) error {
		if fix && s.JSON {
			return command.Usage(cmd, "--fix asks questions, so it cannot be combined with --json")
		}
		return examine(cmd.Context(), s, m, full, fix)
	}
	return c
}

func examine(ctx context.Context, s *command.Shell, m Machine, full, fix bool) error {
	report := examination{Healthy: true, Version: m.Version, Findings: []finding{}}
	failed := 0
	record := func(f finding) {
		if fix && f.fix != nil && f.State != healthy {
			s.Note("%s: %s", f.Check, command.Plain(f.Summary))
			if err := f.fix(ctx); err != nil { // what is not repaired stays a failure
				f.Summary += "; not repaired: " + fault.From(err).Message
			} else {
				f.Fixed = true
			}
		}
		if f.State == failing && !f.Fixed {
			failed++
		}
		report.Findings = append(report.Findings, f)
		if !s.JSON {
			f.print(s)
		}
	}

	core, err := s.Opened()
	if err != nil {
		record(finding{Check: "config", State: failing, Summary: fault.From(err).Message, Advice: "the other checks need it; to list the settings: countersign help environment"})
	} else {
		report.Home = core.Home
		d := doctor{connectCommand{s, m}, core, full}
		d.examine(ctx, record)
	}
	report.Healthy = failed == 0
	if s.JSON {
		if err := s.PrintJSON(report); err != nil {
			return err
		}
	} else if failed == 0 {
		s.Note("no check failed; countersign %s, home %s", m.Version, command.Plain(report.Home))
	}
	switch failed {
	case 0:
		return nil
	case 1:
		return ErrUnhealthy.WithMessage("1 check failed")
	}
	return ErrUnhealthy.WithMessage("%d checks failed", failed)
}

// print prints a finding in one line, and what to do in another.
func (f finding) print(s *command.Shell) {
	state, colour := f.State, text.FgGreen
	switch {
	case f.Fixed:
		state = "fixed"
	case f.State == warning:
		colour = text.FgYellow
	case f.State == failing:
		colour = text.FgRed
	case f.State == skipped:
		colour = text.Faint
	}
	s.Line("%s %-13s  %s", s.Paint(fmt.Sprintf("%-7s", state), colour), f.Check, command.Plain(f.Summary))
	if f.Advice != "" && !f.Fixed {
		s.Line("%-21s  → %s", "", command.Plain(f.Advice))
	}
}

// examine makes all checks, in the order in which one needs the other.
func (d doctor) examine(ctx context.Context, record func(finding)) {
	record(d.home())
	record(d.space())
	database := d.database(ctx)
	record(database)
	stored := []struct {
		name  string
		check func(context.Context) finding
	}{{"audit log", d.audit}, {"policy", d.policy}, {"processes", d.processes}, {"notifications", d.notifications}}
	for _, c := range stored {
		if database.State == failing {
			record(finding{Check: c.name, State: skipped, Summary: "needs the database"})
			continue
		}
		record(c.check(ctx))
	}
	record(d.server(ctx))
	record(d.git(ctx))
	record(d.node())
	record(d.path())
	if database.State == failing {
		record(finding{Check: "hosts", State: skipped, Summary: "needs the database"})
		return
	}
	for _, f := range d.hosts(ctx) {
		record(f)
	}
}

// home checks that only its owner can reach the home, and what is in it.
func (d doctor) home() finding {
	home := d.core.Home
	f := finding{Check: "home", State: healthy, Summary: home + ", readable by you only"}
	info, err := os.Stat(home)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		f.Summary = home + " does not exist yet; it is created when needed"
		return f
	case err != nil:
		f.State, f.Summary, f.Advice = failing, fmt.Sprintf("cannot read %s: %v", home, errors.Unwrap(err)), "make your user its owner, or set COUNTERSIGN_HOME to another directory"
		return f
	case !info.IsDir():
		f.State, f.Summary, f.Advice = failing, home+" is not a directory", "move it away, or set COUNTERSIGN_HOME to another directory"
		return f
	}
	if probe, err := os.CreateTemp(home, ".doctor-*"); err != nil {
		f.State, f.Summary, f.Advice = failing, fmt.Sprintf("cannot write to %s: %v", home, errors.Unwrap(err)), "free space on its disk, or make it writable for your user"
		return f
	} else {
		err := errors.Join(probe.Close(), os.Remove(probe.Name()))
		if err != nil {
			f.State, f.Summary = warning, err.Error()
		}
	}
	var open []string
	for _, path := range []string{home, filepath.Join(home, "keys")} {
		if info, err := os.Stat(path); err == nil && runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0 {
			open = append(open, path)
		}
	}
	keys, _ := os.ReadDir(filepath.Join(home, "keys")) // empty if there is none
	for _, k := range keys {
		if info, err := k.Info(); err == nil && runtime.GOOS != "windows" && info.Mode().IsRegular() && info.Mode().Perm()&0o077 != 0 {
			open = append(open, filepath.Join(home, "keys", k.Name()))
		}
	}
	if len(open) > 0 {
		f.State, f.Summary = failing, "other users of this machine can access "+strings.Join(open, ", ")
		f.Advice = "to make them private: countersign doctor --fix"
		f.fix = func(context.Context) error {
			var all error
			for _, path := range open {
				all = errors.Join(all, closeToOthers(path))
			}
			return all
		}
	}
	return f
}

// closeToOthers takes the permissions of everybody but the owner away from a file or directory.
func closeToOthers(path string) error {
	info, err := os.Lstat(path)
	if err != nil {
		return fault.From(err)
	}
	if info.Mode()&fs.ModeSymlink != 0 {
		return ErrUnhealthy.WithMessage("%s is a symbolic link; change the mode of its target by hand", path)
	}
	if err := os.Chmod(path, info.Mode().Perm()&0o700); err != nil {
		return fault.From(err)
	}
	return nil
}

func (d doctor) space() finding {
	dir := d.core.Home
	for {
		if _, err := os.Stat(dir); err == nil || dir == filepath.Dir(dir) {
			break
		}
		dir = filepath.Dir(dir)
	}
	free, err := d.web.Free(dir)
	f := finding{Check: "disk", State: healthy, Summary: bytesSaid(int64(min(free, 1<<62))) + " free for the home"}
	switch {
	case err != nil:
		f.State, f.Summary = skipped, fmt.Sprintf("cannot read the free space: %v", err)
	case free < noSpace:
		f.State, f.Advice = failing, "free some space: calls that cannot be recorded are not run"
	case free < littleSpace:
		f.State, f.Advice = warning, "free some space before it runs out: calls that cannot be recorded are not run"
	}
	return f
}

func (d doctor) database(ctx context.Context) finding {
	f := finding{Check: "database", State: healthy, Summary: "no damage"}
	if d.core.Damage == nil {
		f.State, f.Summary = skipped, "this program has no database file"
		return f
	}
	damage, err := d.core.Damage(ctx)
	switch {
	case err != nil:
		f.State, f.Summary = failing, fault.From(err).Message
	case len(damage) > 0:
		f.State, f.Summary = failing, "damaged: "+strings.Join(damage, "; ")
	default:
		return f
	}
	f.Advice = "restore a backup with countersign restore FILE; without one, move the file away to start with an empty database"
	if d.core.Copies != nil {
		if copies := d.core.Copies(); len(copies) > 0 {
			f.Advice += fmt.Sprintf("; %s is a copy from before the upgrade of %s", copies[0].Path, clock(copies[0].At))
		}
	}
	return f
}

func (d doctor) audit(ctx context.Context) finding {
	check, how := d.core.App.CheckNewAudit, "to verify all of it: countersign audit verify"
	if d.full {
		check, how = d.core.App.CheckAudit, "for details: countersign audit verify"
	}
	r, err := check(ctx)
	if err == nil {
		err = r.Err()
	}
	f := finding{Check: "audit log", State: healthy, Summary: counted(int(r.Records), "record") + ", one unbroken chain"}
	if r.Before > 0 {
		f.Summary = fmt.Sprintf("%s, verified in full at %s and intact since", counted(int(r.Records), "record"), at(*r.Full))
	}
	switch {
	case errors.Is(err, audit.ErrUnchecked):
		f.State, f.Summary, f.Advice = warning, fault.From(err).Message, "cannot read an anchor; to list the anchors: countersign audit status"
	case err != nil:
		f.State, f.Summary, f.Advice = failing, fault.From(err).Message, how
	}
	return f
}

func (d doctor) policy(ctx context.Context) finding {
	f := finding{Check: "policy", State: healthy, Summary: "you approve"}
	rules, err := d.core.App.PolicyInForce(ctx)
	switch {
	case err != nil:
		f.State, f.Summary = failing, fault.From(err).Message
	case len(rules.Missing) > 0:
		f.State, f.Summary, f.Advice = warning, strings.Join(rules.Missing, "; "), "to list the rules in force: countersign policy show"
	case rules.Approval.ByCaller():
		f.State, f.Summary, f.Advice = warning, "clients approve their own calls", "to see which setting does this: countersign policy show"
	}
	return f
}

func (d doctor) processes(ctx context.Context) finding {
	f := finding{Check: "processes", State: healthy, Summary: "no unfinished operations from processes of other machines or containers"}
	all, err := d.core.App.Owners(ctx)
	if err != nil {
		f.State, f.Summary = failing, fault.From(err).Message
		return f
	}
	var lost []string
	for _, o := range all {
		if o.Verdict == owner.Unknown.String() {
			lost = append(lost, o.Name)
		}
	}
	if len(lost) > 0 {
		f.State, f.Summary = warning, counted(len(lost), "process")+" with operations in progress in another container or on another machine: "+strings.Join(lost, ", ")
		f.Advice = "if you are sure that one ended: countersign owners forget " + lost[0]
	}
	return f
}

func (d doctor) notifications(ctx context.Context) finding {
	f := finding{Check: "notifications", State: healthy}
	if d.core.Notify == nil {
		f.State, f.Summary = skipped, "not supported by this program"
		return f
	}
	all, err := d.core.Notify.State(ctx)
	switch {
	case err != nil:
		f.State, f.Summary, f.Advice = failing, fault.From(err).Message, "see countersign help notifications"
		return f
	case len(all) == 0:
		f.Summary = "no channel is configured; only an open console shows new requests"
		f.Advice = "countersign help notifications"
		return f
	}
	var names, broken []string
	for _, c := range all {
		names = append(names, c.Name)
		if c.Failure != "" {
			broken = append(broken, c.Name+": "+ChannelStatus(c))
		}
	}
	f.Summary = strings.Join(names, ", ")
	if len(broken) > 0 {
		f.State, f.Summary, f.Advice = warning, strings.Join(broken, "; "), "to send a test message: countersign notify test"
	}
	return f
}

// server checks the running server, or else that its usual address is free.
func (d doctor) server(ctx context.Context) finding {
	f := finding{Check: "server", State: healthy}
	if s, runs := RunningServer(d.core, d.web); runs {
		f.Summary = ConsoleURL(s.URL)
		if s.Version != d.web.Version {
			f.State, f.Summary = warning, fmt.Sprintf("%s runs version %s, and this program is %s", ConsoleURL(s.URL), s.Version, d.web.Version)
			f.Advice = "stop it with Ctrl-C where it was started, then countersign up"
		}
		var dialer net.Dialer
		conn, err := dialer.DialContext(ctx, "tcp", s.Address)
		if err != nil {
			f.State, f.Summary = failing, fmt.Sprintf("process %d is recorded as the server at %s but does not respond: %v", s.PID, s.Address, err)
			f.Advice = "stop that process, then countersign up"
			return f
		}
		_ = conn.Close()
		return f
	}
	var config net.ListenConfig
	l, err := config.Listen(ctx, "tcp", defaultAddress)
	if err != nil {
		f.State, f.Summary = warning, fmt.Sprintf("not running, and its default address is not available: %v", err)
		f.Advice = "to use any free port: countersign up --addr 127.0.0.1:0"
		return f
	}
	_ = l.Close()
	f.Summary, f.Advice = "not running", "to start it: countersign up"
	return f
}

func (d doctor) git(ctx context.Context) finding {
	f := finding{Check: "git", State: healthy}
	if d.core.GitVersion == nil {
		f.State, f.Summary = skipped, "not used by this program"
		return f
	}
	version, err := d.core.GitVersion(ctx)
	f.Summary = version
	switch {
	case err != nil:
		f.State, f.Summary, f.Advice = failing, fault.From(err).Message, fmt.Sprintf("install git %d.%d or newer", oldestGit[0], oldestGit[1])
	case olderThan(version, oldestGit):
		f.State, f.Summary = warning, fmt.Sprintf("%s is older than %d.%d, so some commands fail", version, oldestGit[0], oldestGit[1])
		f.Advice = "install a newer git"
	}
	return f
}

// olderThan reports whether a version such as 2.38.1 is older than major.minor. What is no version is not.
func olderThan(version string, oldest [2]int) bool {
	parts := strings.SplitN(version, ".", 3)
	if len(parts) < 2 {
		return false
	}
	major, err := strconv.Atoi(parts[0])
	minor, err2 := strconv.Atoi(parts[1])
	if err != nil || err2 != nil {
		return false
	}
	return major < oldest[0] || major == oldest[0] && minor < oldest[1]
}

// hosts checks the entries of agent hosts, one finding each of those that are connected or not in order.
func (d doctor) hosts(ctx context.Context) []finding {
	o, err := d.Call(ctx, mcpclients.ListHosts.Name, asked{})
	if err != nil {
		return []finding{{Check: "hosts", State: failing, Summary: fault.From(err).Message}}
	}
	all, err := d.connectCommand.hosts(o)
	if err != nil {
		return []finding{{Check: "hosts", State: failing, Summary: fault.From(err).Message}}
	}
	var found []finding
	var missing []string
	for _, h := range all {
		f := finding{Check: h.Host, State: healthy, Summary: state(h)}
		switch h.State {
		case "connected":
		case "outdated":
			f.State = failing
			f.Summary = "its entry starts another program or another home: " + h.Detail
			f.Advice = "countersign connect " + h.Host
			f.fix = func(ctx context.Context) error {
				return d.connect(ctx, &flags{wanted: wanted{asked: asked{Host: h.Host, Scope: "user", Name: "countersign"}}})
			}
		case "unreadable":
			f.State, f.Advice = failing, "mend "+h.File+" by hand"
		case "other_entry":
			f.State, f.Advice = warning, "countersign connect "+h.Host+" --name ANOTHER adds a second entry"
		default:
			if h.Installed && len(h.Servers) == 0 {
				missing = append(missing, h.Host)
			}
			if len(h.Servers) == 0 {
				continue
			}
		}
		found = append(found, f)
	}
	if len(missing) > 0 {
		found = append(found, finding{Check: "hosts", State: healthy, Summary: "installed but not connected: " + strings.Join(missing, ", "), Advice: "countersign connect " + missing[0]})
	}
	if len(found) == 0 {
		found = append(found, finding{Check: "hosts", State: healthy, Summary: "no host is connected", Advice: "to list the hosts: countersign connect"})
	}
	return found
}
