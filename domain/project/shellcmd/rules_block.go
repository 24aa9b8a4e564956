package shellcmd

import (
	"slices"
	"strings"
)

// deleteRoot forbids deleting the system or a home, even without force, because no step can be asked.
func deleteRoot(c *check, r Run) {
	if !deletesTrees(r) {
		return
	}
	_, operands := SplitOptions(r.Args, "")
	if r.Fed {
		for _, text := range c.fed(r.At) {
			for field := range strings.FieldsSeq(text) {
				operands = append(operands, KnownArg(field))
			}
		}
	}
	for _, a := range operands {
		if what := c.lostPaths(r.At, a.Sure); what != "" {
			c.flag(r.At, "delete-root", VerdictBlock, "it deletes "+what+" with all its content; use a directory inside the project, such as ./dist")
			continue
		}
		if what := c.lostPaths(r.At, a.May); what != "" {
			c.flag(r.At, "delete-root", VerdictBlock, "if its variable is empty, it deletes "+what+"; write ${NAME:?} instead of $NAME, so that the shell stops then")
		}
	}
}

// deletesTrees reports whether a program deletes directories with their content, or may: unknown options count.
func deletesTrees(r Run) bool {
	switch r.Name {
	case "rimraf":
		return true
	case "rm", "grm", "srm", "del":
		return HasFlag(r.Args, "rR", "--recursive") || slices.ContainsFunc(r.Args, func(a Arg) bool { return a.Opaque() }) || slices.ContainsFunc(r.Args, func(a Arg) bool {
			return slices.ContainsFunc(a.Sure, func(text string) bool { return short(text) && strings.ContainsAny(text, "rR") })
		})
	}
	return false
}

// lostPaths returns what is lost when one of the paths is deleted with everything in it, or "".
func (c *check) lostPaths(at int, paths []string) string {
	for _, text := range paths {
		for _, p := range c.course.Absolute(at, text) {
			if what := c.lostPath(p); what != "" {
				return what
			}
		}
	}
	return ""
}

// findRoot forbids find to delete anything there either.
func findRoot(c *check, r Run) {
	if r.Name != "find" && r.Name != "gfind" {
		return
	}
	deletes := slices.ContainsFunc(r.Args, func(a Arg) bool { return a.First() == "-delete" })
	deletes = deletes || slices.ContainsFunc(c.starts[r.At], func(other Run) bool { return deleter(other.Name) })
	for _, p := range c.course.Script.Pipes {
		for at := p.To.From; !deletes && p.From.Has(r.At) && at < min(p.To.To, p.To.From+maxBefore); at++ {
			deletes = slices.ContainsFunc(c.starts[at], func(next Run) bool { return next.Fed && deleter(next.Name) })
		}
	}
	if !deletes {
		return
	}
	for _, a := range findPaths(r.Args) {
		if what := c.lostPaths(r.At, slices.Concat(a.Sure, a.May)); what != "" {
			c.flag(r.At, "find-root", VerdictBlock, "it deletes what it finds anywhere in "+what+"; start at a directory inside the project, as in find ./dist … -delete")
			return
		}
	}
}

func deleter(name string) bool {
	return slices.Contains([]string{"rm", "unlink", "shred", "rmdir", "srm"}, name)
}

// formatDisk forbids making or wiping a file system.
func formatDisk(c *check, r Run) {
	base, _, _ := strings.Cut(r.Name, ".")
	if slices.Contains([]string{"mkfs", "mke2fs", "mkswap", "newfs", "wipefs", "blkdiscard"}, base) ||
		r.Name == "diskutil" && len(r.Args) > 0 && strings.HasPrefix(strings.ToLower(r.Args[0].First()), "erase") {
		c.flag(r.At, "format-disk", VerdictBlock, r.Name+" overwrites a file system; run it yourself in a terminal if you need it")
	}
}

// permitRoot forbids changing the permissions of the whole system.
func permitRoot(c *check, r Run) {
	if !slices.Contains([]string{"chmod", "chown", "chgrp", "setfacl"}, r.Name) || !HasFlag(r.Args, "R", "--recursive") {
		return
	}
	_, operands := SplitOptions(r.Args, "")
	for _, a := range operands {
		for _, text := range a.May {
			for _, p := range c.course.Absolute(r.At, text) {
				if strings.Trim(p, "/."+MarkGlob) == "" {
					c.flag(r.At, "permissions-root", VerdictBlock, "it changes the permissions of the whole file system, which breaks the machine; use a directory inside the project")
					return
				}
			}
		}
	}
}

// power forbids shutting down the machine.
func power(c *check, r Run) {
	_, operands := SplitOptions(r.Args, "")
	verb := ""
	if len(operands) > 0 {
		verb = operands[0].First()
	}
	switch {
	case slices.Contains([]string{"shutdown", "reboot", "halt", "poweroff"}, r.Name):
	case r.Name == "systemctl" && slices.Contains([]string{"poweroff", "reboot", "halt", "kexec", "suspend", "hibernate"}, verb):
	case (r.Name == "init" || r.Name == "telinit") && (verb == "0" || verb == "6"):
	default:
		return
	}
	c.flag(r.At, "power", VerdictBlock, "it shuts down or restarts the machine; do that yourself")
}

// ownCommand forbids a stored command to approve what it or another one does.
func ownCommand(c *check, r Run) {
	if r.Name != "countersign" && r.Name != "countersignd" && r.Name != "countersign-mcp" {
		return
	}
	_, operands := SplitOptions(r.Args, "")
	if len(operands) > 0 && operands[0].First() == "approve" {
		c.flag(r.At, "own-command", VerdictBlock, "it approves requests in place of the user; approve in a terminal or in the console")
		return
	}
	c.flag(r.At, "own-command", VerdictHigh, "it runs Countersign, which can change permissions; call the tool instead of the command")
}

// redirects forbids redirects to a device, to Countersign's own files or outside the project.
func (c *check) redirects(at int) {
	for _, r := range c.course.Script.Commands[at].Redirects {
		if r.Writes() {
			c.written(at, c.course.Values(at, r.Target.Parts, false), false, true)
		}
	}
}

// writeFiles forbids the same for programs that write the files in their arguments.
func writeFiles(c *check, r Run) {
	recursive := deletesTrees(r) || r.Name == "mv"
	for _, a := range writes(r) {
		c.written(r.At, a.Sure, recursive, r.Name == "tee")
	}
}

// written checks one file that is written to. A redirect counts as outside even in a directory for temporary files, because another user may have put
// a link there.
func (c *check) written(at int, paths []string, recursive, redirect bool) {
	for _, text := range paths {
		for _, p := range c.course.Absolute(at, text) {
			own := c.owned(p, recursive)
			switch {
			case device(p):
				c.flag(at, "write-device", VerdictBlock, "it writes to the device "+DisplayText(p)+"; write to a file inside the project, or to /dev/null to discard output")
			case own != "":
				c.flag(at, "own-files", VerdictBlock, "it changes "+own+", which controls the permissions of programs and AI clients; change that file yourself")
			case p == "/dev/null", strings.HasPrefix(p, "/dev/") && !temporary(p), c.Project != "" && c.inProject(p), !redirect && temporary(p):
			default:
				c.flag(at, "outside", VerdictHigh, "it writes to "+DisplayText(p)+", outside the project; write to a file inside it, or check what is replaced")
			}
		}
	}
}

// writes returns the files that a program changes or deletes, according to its arguments.
func writes(r Run) []Arg {
	_, operands := SplitOptions(r.Args, "tms")
	switch r.Name {
	case "tee", "sponge", "touch", "unlink", "rmdir", "mkdir", "rm", "grm", "srm", "rimraf", "shred", "mv", "sqlite3", "ed", "ex":
		_, operands = SplitOptions(r.Args, "")
		return operands
	case "truncate":
		return operands
	case "chmod", "chown", "chgrp":
		return operands[min(1, len(operands)):]
	case "cp", "install", "ln", "rsync":
		for i, a := range r.Args {
			if name, value, joined := strings.Cut(a.First(), "="); joined && name == "--target-directory" {
				return []Arg{KnownArg(value)}
			} else if i+1 < len(r.Args) && (a.First() == "-t" || a.First() == "--target-directory") {
				return r.Args[i+1 : i+2]
			}
		}
		return operands[max(0, len(operands)-1):]
	case "sed", "gsed", "perl":
		if HasFlag(r.Args, "i", "--in-place") {
			return operands[min(1, len(operands)):]
		}
	case "dd":
		for _, a := range r.Args {
			if file, found := strings.CutPrefix(a.First(), "of="); found {
				return []Arg{KnownArg(file)}
			}
		}
	case "curl", "wget", "wget2", "aria2c":
		return outputs(r)
	}
	return nil
}
