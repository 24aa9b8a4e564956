package main

import (
	"fmt"
	"net"
	"net/http"
	"os"
	"os/signal"
	"slices"
	"syscall"
	"time"
)

// maxServing ends a server that a script which failed has left behind.
const maxServing = 2 * time.Minute

// playAgentServer is a command for scripts: an agent server that knows health and its password and nothing else. It takes opencode's arguments,
// prints a line when it serves, and one for every request that is not about health.
func playAgentServer() {
	argument := func(flag string) string {
		at := slices.Index(os.Args, flag)
		if at < 0 || at+1 == len(os.Args) {
			return ""
		}
		return os.Args[at+1]
	}
	if len(os.Args) > 1 && os.Args[1] == "models" {
		fmt.Println("provider/one\nprovider/two")
		return
	}
	if os.Getenv("OPENCODE_BREAK") != "" {
		fmt.Fprintln(os.Stderr, "the agent server cannot start: it is broken")
		os.Exit(1)
	}
	listener, err := net.Listen("tcp", net.JoinHostPort(argument("--hostname"), argument("--port")))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	time.AfterFunc(maxServing, func() { os.Exit(1) })
	fmt.Printf("serving with password %s\n", os.Getenv("OPENCODE_SERVER_PASSWORD"))
	ended := make(chan os.Signal, 1)
	signal.Notify(ended, syscall.SIGTERM)
	go func() {
		<-ended
		fmt.Println("asked to end")
		os.Exit(0)
	}()
	fmt.Fprintln(os.Stderr, http.Serve(listener, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, password, _ := r.BasicAuth(); password != os.Getenv("OPENCODE_SERVER_PASSWORD") {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		if r.URL.Path != "/global/health" {
			fmt.Println(r.Method, r.URL.Path)
		}
		fmt.Fprint(w, `{"healthy":true,"version":"1.2.3"}`)
	})))
	os.Exit(1)
}
