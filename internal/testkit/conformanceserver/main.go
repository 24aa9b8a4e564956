//go:build conformance

// Command conformanceserver serves what the official conformance suite of MCP wants to find in a server, tools, prompts and resources of its own names, on
// this machine, at /mcp of a port of its own, which it prints. They are served by the product's own server and endpoint. It is built with the tag
// conformance alone and is part of no release: nothing in it is governed.
package main

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"

	"github.com/countersign-dev/countersign/adapters/httpauth"
	"github.com/countersign-dev/countersign/domain/policy"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := serve(ctx); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func serve(ctx context.Context) error {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Printf("http://%s/mcp\n", l.Addr())
	endpoint := suiteEndpoint(ctx)
	suite := httpauth.Identity{Principal: policy.Principal{ID: "suite", Grants: policy.All}, Credential: "suite"}
	mux := http.NewServeMux()
	mux.HandleFunc("/mcp", func(w http.ResponseWriter, r *http.Request) { endpoint.ServeVisitor(w, r, suite) })
	guard := httpauth.NewGuard(httpauth.Options{})
	return httpauth.Serve(ctx, l, guard.Middleware(mux), httpauth.ListenOptions{Ending: guard.End})
}
