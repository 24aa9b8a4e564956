// Package fakeserver is a program that replaces opencode in tests: it takes the same arguments, returns documents of the same form for the requests that
// Countersign makes, and fails in the ways that its environment names. It stores nothing and uses no network.
package fakeserver

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Version is what the program says it is.
const Version = "1.18.33-fake"

// Variable holds how a server misbehaves, words separated by commas:
//
//	slow=DURATION      listens only after that time
//	gate=ADDRESS       connects there before it listens, waits until the other end has nothing more to say, and keeps the connection to its own end
//	exit=CODE          ends at once with that code, and says why
//	password=WORD      takes that password and no other
//	hang               never answers a health check
//	freeze=COUNT       answers so many health checks, and none after them
//	unhealthy          says that it is not healthy
//	old                does not know /global/health
//	stubborn           does not heed SIGTERM
//	loud=LINES         prints that many lines before it listens
//	child=MEGABYTES    starts another process that holds so much memory
const Variable = "OPENCODE_FAKE"

// Name is what the file is called that a test puts in place of the program.
const Name = "opencode"

// Install makes the running test binary stand in dir under the program's name, and returns its path. The binary's TestMain has to call RunIfAsked.
func Install(dir string) (string, error) {
	self, err := os.Executable()
	if err != nil {
		return "", err
	}
	bin := filepath.Join(dir, Name)
	return bin, os.Symlink(self, bin)
}

// RunIfAsked is the program, which does not return, when this process was started under its name.
func RunIfAsked() {
	if filepath.Base(os.Args[0]) == Name {
		os.Exit(Run())
	}
}

// Run returns the program: its result is the exit code.
func Run() int {
	quirks := parse(os.Getenv(Variable))
	command := ""
	if len(os.Args) > 1 {
		command = os.Args[1]
	}
	switch command {
	case "serve", "web":
		return serve(os.Args[2:], quirks)
	case "models":
		if _, hang := quirks["hang"]; hang {
			time.Sleep(time.Hour) // until it is ended; waiting for nothing at all is a deadlock to a program without cgo
		}
		if code, fails := quirks["exit"]; fails {
			fmt.Fprintln(os.Stderr, "Error: the configuration is not valid")
			return number(code)
		}
		fmt.Println("opencode/big-pickle\nanthropic/claude-fake-1\n\nno model line\nopencode/big-pickle\nopenai/gpt-fake/preview")
		return 0
	case "hold":
		return hold(os.Args[2:])
	case "--version":
		fmt.Println(Version)
		return 0
	}
	fmt.Fprintf(os.Stderr, "unknown command %q\n", command)
	return 1
}

func parse(text string) map[string]string {
	quirks := map[string]string{}
	for word := range strings.SplitSeq(text, ",") {
		name, value, _ := strings.Cut(strings.TrimSpace(word), "=")
		quirks[name] = value
	}
	return quirks
}

func number(text string) int {
	n, _ := strconv.Atoi(text)
	return n
}

// hold keeps memory until the process is ended.
func hold(args []string) int {
	memory := make([]byte, number(args[0])<<20)
	for i := range memory {
		memory[i] = byte(i)
	}
	fmt.Println("holding")
	_, _ = io.Copy(io.Discard, os.Stdin) // until the process that started it has ended
	return int(memory[0])
}

// flags returns those that the program takes for serve.
func flags(args []string) (host, port string) {
	host, port = "127.0.0.1", "0"
	for i := 0; i+1 < len(args); i += 2 {
		switch args[i] {
		case "--hostname":
			host = args[i+1]
		case "--port":
			port = args[i+1]
		}
	}
	return host, port
}

func serve(args []string, quirks map[string]string) int {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer stop()
	if _, stubborn := quirks["stubborn"]; stubborn {
		ctx = context.Background()
	}
	if code, fails := quirks["exit"]; fails {
		fmt.Fprintln(os.Stderr, "Error: the server cannot start today; the password is "+os.Getenv("OPENCODE_SERVER_PASSWORD"))
		return number(code)
	}
	for i := range number(quirks["loud"]) {
		fmt.Printf("line %d of the server's output\n", i+1)
	}
	if wait, err := time.ParseDuration(quirks["slow"]); err == nil {
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return 143
		}
	}
	if gate := quirks["gate"]; gate != "" {
		conn, err := net.Dial("tcp", gate)
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		defer conn.Close()
		defer context.AfterFunc(ctx, func() { _ = conn.SetReadDeadline(time.Now()) })()
		if _, err := io.Copy(io.Discard, conn); err != nil {
			return 143
		}
	}
	if megabytes := quirks["child"]; megabytes != "" {
		end, err := keep(megabytes)
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		defer end()
	}
	host, port := flags(args)
	listener, err := net.Listen("tcp", net.JoinHostPort(host, port))
	if err != nil {
		fmt.Fprintln(os.Stderr, "ServeError: Failed to start server:", err)
		return 1
	}
	fmt.Printf("opencode server listening on http://%s\n", listener.Addr())
	password := os.Getenv("OPENCODE_SERVER_PASSWORD")
	if other := quirks["password"]; other != "" {
		password = other
	}
	server := &http.Server{Handler: handler(password, quirks), ReadHeaderTimeout: time.Minute}
	defer context.AfterFunc(ctx, func() { _ = server.Close() })()
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 143
}

// keep starts a process that holds memory, and waits until it does.
func keep(megabytes string) (end func(), err error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	in, tell, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	hear, out, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	child, err := os.StartProcess(self, []string{Name, "hold", megabytes}, &os.ProcAttr{Files: []*os.File{in, out, os.Stderr}, Env: os.Environ()})
	if err != nil {
		return nil, err
	}
	_, err = hear.Read(make([]byte, 16))
	return func() {
		_ = tell.Close()
		_ = child.Kill()
		_, _ = child.Wait()
	}, err
}
