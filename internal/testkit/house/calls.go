//go:build linux

package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// modulePath is how this module is named in coverage counters.
const modulePath = "github.com/countersign-dev/countersign"

// traced builds the program with coverage counters, starts it as an MCP server, calls run_script and deploy_apply while the user approves at a terminal,
// and writes which functions ran in the server: all of them, and those that do not run in a server that starts, lists its tools and ends. What ran in the
// terminal's process and in children is not counted, nor are functions of other modules.
func traced(w io.Writer, list bool) error {
	dir, err := os.MkdirTemp("", "house")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir) //nolint:errcheck // it is a temporary directory
	r := &rig{dir: dir, exe: filepath.Join(dir, "countersign"), project: filepath.Join(dir, "home", "shop")}
	if err := errors.Join(os.MkdirAll(r.project, 0o755), os.MkdirAll(filepath.Join(dir, "rest"), 0o755),
		os.WriteFile(filepath.Join(r.project, "package.json"), []byte(`{"name":"shop","scripts":{"build":"echo built"}}`), 0o600)); err != nil {
		return err
	}
	build := exec.Command("go", "build", "-cover", "-coverpkg=./...", "-o", r.exe, "./cmd/countersign")
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("go build -cover: %w\n%s", err, out)
	}
	for _, arguments := range [][]string{{"project", "add", "--yes"}, {"agents", "init", "--yes"},
		{"agents", "add", "instructions", "local:modules/instructions/base", "--tags", "base", "--yes"}} {
		if err := r.person(arguments...); err != nil {
			return err
		}
	}
	base, err := r.served("base", func(*server) error { return nil })
	if err != nil {
		return err
	}
	for _, tool := range []string{"run_script", "deploy_apply"} {
		all, err := r.served(tool, func(s *server) error {
			if tool == "run_script" {
				_, err := s.approved(tool, map[string]any{"project_path": r.project, "script_name": "build"})
				return err
			}
			offered, err := s.call("deploy", map[string]any{})
			if err != nil {
				return err
			}
			token := find(offered, "confirm_token")
			_, err = s.approved(tool, map[string]any{"yes": true, "confirm_token": token})
			return err
		})
		if err != nil {
			return fmt.Errorf("%s: %w", tool, err)
		}
		more := without(all, base)
		fmt.Fprintf(w, "\n%s runs %d functions in %d packages, %d in %d of which a server does not run that is only started, asked for its tools and ended (counted at run time by coverage counters, in the server's process)\n",
			tool, len(all), len(dirs(all)), len(more), len(dirs(more)))
		if list {
			for _, f := range more {
				fmt.Fprintln(w, " ", f)
			}
		}
	}
	return nil
}

// rig is a machine of its own: a home, a project, the program.
type rig struct{ dir, exe, project string }

func (r *rig) command(counters string, arguments ...string) *exec.Cmd {
	cmd := exec.Command(r.exe, arguments...) //nolint:gosec // what was just built
	cmd.Dir = r.project
	cmd.Env = []string{"HOME=" + filepath.Join(r.dir, "home"), "PATH=" + os.Getenv("PATH"), "GOCOVERDIR=" + filepath.Join(r.dir, counters)}
	return cmd
}

// person runs a command at a terminal of its own, to its end.
func (r *rig) person(arguments ...string) error {
	ours, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer ours.Close() //nolint:errcheck // nothing is left in it
	if err := unix.IoctlSetPointerInt(int(ours.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		return err
	}
	n, err := unix.IoctlGetInt(int(ours.Fd()), unix.TIOCGPTN)
	if err != nil {
		return err
	}
	theirs, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		return err
	}
	cmd := r.command("rest", arguments...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = theirs, theirs, theirs
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	err = cmd.Start()
	_ = theirs.Close()
	if err != nil {
		return err
	}
	seen, _ := io.ReadAll(ours) // it ends with an error once no process holds the other side
	if err := cmd.Wait(); err != nil {
		return fmt.Errorf("countersign %s: %w\n%s", strings.Join(arguments, " "), err, seen)
	}
	return nil
}

// server is the program as a host starts it.
type server struct {
	*rig
	in  io.WriteCloser
	out *bufio.Reader
	ids int
}

// served starts a server, lists its tools, does something with it, ends it, and returns the functions that ran in it.
func (r *rig) served(counters string, do func(*server) error) ([]string, error) {
	if err := os.MkdirAll(filepath.Join(r.dir, counters), 0o755); err != nil {
		return nil, err
	}
	cmd := r.command(counters, "mcp", "--toolsets", "projects,deployments", "--confirm-wait", "1h")
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	s := &server{rig: r, in: in, out: bufio.NewReader(out)}
	_, err = s.request("initialize", map[string]any{"protocolVersion": "2025-06-18", "capabilities": map[string]any{}, "clientInfo": map[string]any{"name": "house", "version": "1"}})
	if err == nil {
		err = s.send(map[string]any{"jsonrpc": "2.0", "method": "notifications/initialized"})
	}
	if err == nil {
		_, err = s.request("tools/list", map[string]any{})
	}
	if err == nil {
		err = do(s)
	}
	_ = in.Close()
	_, _ = io.Copy(io.Discard, s.out)
	if ended := cmd.Wait(); err == nil {
		err = ended
	}
	if err != nil {
		return nil, err
	}
	text, err := exec.Command("go", "tool", "covdata", "func", "-i="+filepath.Join(r.dir, counters)).Output() //nolint:gosec // the directory is ours
	return ran(string(text), modulePath), err
}

func (s *server) send(message any) error {
	line, err := json.Marshal(message)
	if err != nil {
		return err
	}
	_, err = s.in.Write(append(line, '\n'))
	return err
}

// request sends a request and returns its result.
func (s *server) request(method string, params any) (json.RawMessage, error) {
	s.ids++
	if err := s.send(map[string]any{"jsonrpc": "2.0", "id": s.ids, "method": method, "params": params}); err != nil {
		return nil, err
	}
	for {
		line, err := s.out.ReadBytes('\n')
		if err != nil {
			return nil, fmt.Errorf("%s is not answered: %w", method, err)
		}
		var answer struct {
			ID     int             `json:"id"`
			Result json.RawMessage `json:"result"`
			Error  json.RawMessage `json:"error"`
		}
		if json.Unmarshal(line, &answer) != nil || answer.ID != s.ids {
			continue
		}
		if len(answer.Error) > 0 {
			return nil, fmt.Errorf("%s: %s", method, answer.Error)
		}
		return answer.Result, nil
	}
}

// call calls a tool and fails where the tool does.
func (s *server) call(tool string, arguments any) (json.RawMessage, error) {
	result, err := s.request("tools/call", map[string]any{"name": tool, "arguments": arguments})
	if err == nil && strings.Contains(string(result), `"isError":true`) {
		err = fmt.Errorf("%s: %s", tool, result)
	}
	return result, err
}

// approved calls a tool and has the user approve the request that it makes.
func (s *server) approved(tool string, arguments any) (json.RawMessage, error) {
	approval := make(chan error, 1)
	go func() { approval <- s.approve() }()
	result, err := s.call(tool, arguments)
	return result, errors.Join(err, <-approval)
}

// approve waits until a request is pending, and approves it at a terminal.
func (s *server) approve() error {
	for range 600 {
		listed, err := s.command("rest", "confirmations", "--json").Output()
		if err != nil {
			return fmt.Errorf("confirmations: %w", err)
		}
		if at := strings.Index(string(listed), `"cf_`); at >= 0 {
			id, _, _ := strings.Cut(string(listed)[at+1:], `"`)
			return s.person("approve", id, "--yes")
		}
		time.Sleep(100 * time.Millisecond) // nothing tells another program of requests
	}
	return errors.New("no approval request came")
}

// find returns the text of a member of a JSON document, at any depth, also in text that is JSON itself; "" if there is none.
func find(document json.RawMessage, member string) string {
	_, rest, _ := strings.Cut(strings.ReplaceAll(string(document), `\"`, `"`), `"`+member+`":"`)
	value, _, _ := strings.Cut(rest, `"`)
	return value
}

// ran returns the functions that ran at all, as go tool covdata func prints them, in a module.
func ran(text, of string) (functions []string) {
	for line := range strings.Lines(text) {
		fields := strings.Fields(line)
		where, ours := strings.CutPrefix(line, of+"/")
		if !ours || len(fields) < 3 || fields[len(fields)-1] == "0.0%" {
			continue
		}
		where, _, _ = strings.Cut(where, "\t")
		functions = append(functions, strings.TrimSuffix(strings.TrimSpace(where), ":")+": "+fields[len(fields)-2])
	}
	return functions
}

// without returns the functions that are not among the others.
func without(functions, others []string) []string {
	return slices.DeleteFunc(slices.Clone(functions), func(f string) bool { return slices.Contains(others, f) })
}

// dirs returns the packages of functions.
func dirs(functions []string) (out []string) {
	for _, f := range functions {
		file, _, _ := strings.Cut(f, ":")
		out = append(out, filepath.Dir(file))
	}
	slices.Sort(out)
	return slices.Compact(out)
}
