//go:build conformance

// Command conformanceserver serves the fixtures of the official conformance suite on this machine, at /mcp of a port of its own, which it prints.
//
// It refuses to be in any release.
package main

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"

	"github.com/countersign-dev/countersign/adapters/httpguard"
	"github.com/countersign-dev/countersign/adapters/httpguard/serving"
	"github.com/countersign-dev/countersign/adapters/mcp/conformance"
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
	endpoint := conformance.Endpoint(ctx)
	suite := httpguard.Visitor{Principal: policy.Principal{ID: "suite", Grants: policy.All}, Credential: "suite"}
	mux := http.NewServeMux()
	mux.HandleFunc("/mcp", func(w http.ResponseWriter, r *http.Request) { endpoint.ServeVisitor(w, r, suite) })
	guard := httpguard.New(httpguard.Options{})
	return serving.Serve(ctx, l, guard.Around(mux), serving.Options{Ending: guard.End})
}
