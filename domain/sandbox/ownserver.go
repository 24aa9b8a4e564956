package sandbox

import (
	"encoding/hex"
	"iter"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/countersign-dev/countersign/domain/canon"
)

// A sandbox without isolation is worked in by the project's server. One with isolation has a server of its own, which its isolation keeps inside.

// notOwn is the failure of a sandbox that can have no server of its own.
func notOwn(name, why string) error {
	return ErrArguments.WithMessage("sandbox %s cannot have a separate agent server: %s", name, why)
}

// CheckOwnServer fails for a sandbox that cannot have a server of its own, and says what it has in its place.
func CheckOwnServer(b Sandbox) error {
	switch kind, noNetwork, err := ParseIsolation(b.Isolation); {
	case err != nil:
		return err
	case kind == IsolationNone:
		return notOwn(b.Name, "it is not isolated, so the project's server works in it; omit the sandbox, or isolate it first")
	case kind == IsolationContainer:
		return notOwn(b.Name, "ports in its container are not reachable from outside; use claude or codex, or isolate it with landlock or bubblewrap")
	case noNetwork:
		return notOwn(b.Name, "it is isolated from the network, which a server needs; use landlock or bubblewrap without -offline")
	}
	return nil
}

// ServerOf returns the server of the sandbox of that name, zero where it has none of its own; for no name that of the project.
func (p Project) ServerOf(box string) Server {
	if box == "" {
		return p.Server
	}
	if s := p.Sandboxes[SandboxKey(box)].Server; s != nil {
		return *s
	}
	return Server{}
}

// SetServer records the server of the sandbox of that name, or for no name that of the project. A sandbox that is not there stays so.
func (p *Project) SetServer(box string, s Server) {
	if box == "" {
		p.Server = s
		return
	}
	b, there := p.Sandboxes[SandboxKey(box)]
	if !there {
		return
	}
	b.Server = &s
	p.Sandboxes = maps.Clone(p.Sandboxes)
	p.Sandboxes[SandboxKey(box)] = b
}

// Servers yields the project's server, with no name, and those that sandboxes have of their own, by name.
func (p Project) Servers() iter.Seq2[string, Server] {
	return func(yield func(string, Server) bool) {
		if !yield("", p.Server) {
			return
		}
		for _, name := range SandboxNames(p) {
			if s := p.Sandboxes[SandboxKey(name)].Server; s != nil && !yield(name, *s) {
				return
			}
		}
	}
}

// Runs reports whether any server of the project is recorded as running.
func (p Project) Runs() bool {
	for _, s := range p.Servers() {
		if s.Status == Running {
			return true
		}
	}
	return false
}

// RunningIn returns the names of the sandboxes whose own servers are recorded as running.
func RunningIn(p Project) (names []string) {
	for name, s := range p.Servers() {
		if name != "" && s.Status == Running {
			names = append(names, name)
		}
	}
	return names
}

// ServerID returns what the gateway's table calls a server: that of a project by its URL, that of a sandbox by the URL and the sandbox's name.
func ServerID(url, box string) string {
	if box == "" {
		return url
	}
	return url + "#" + box
}

// SplitServerID is the reverse of ServerID.
func SplitServerID(id string) (url, box string) {
	if i := strings.LastIndexByte(id, '#'); i >= 0 && CheckName(id[i+1:]) == nil {
		return id[:i], id[i+1:]
	}
	return id, ""
}

// The uses of derived secrets.
const (
	forServer  = "server"
	forGateway = "gateway"
)

// derived returns the secret that stands for one server alone, out of the one that stands for all: who has it learns nothing of the other, nor of those of other servers.
func derived(secret, use, id, key string) string {
	if secret == "" || key == "" {
		return ""
	}
	sum, err := canon.Sum("sandbox.secret.v1", []string{secret, use, id, key})
	if err != nil { // texts can be summed
		return ""
	}
	return hex.EncodeToString(sum[:])
}

// ServerPassword returns the password of a server of a sandbox's own. The programs in the sandbox know it, so it is not the one of the other servers.
func ServerPassword(password, id, key string) string { return derived(password, forServer, id, key) }

// GatewayToken returns the token that lets in to one server through the gateway, or for that of a project to the project's; empty without the gateway's own or without a key.
func GatewayToken(token, id, key string) string { return derived(token, forGateway, id, key) }

// SecretKey tells what was made at that time from what had its name before, in secrets that are derived.
func SecretKey(made time.Time) string {
	if made.IsZero() {
		return "0"
	}
	return strconv.FormatInt(made.UnixNano(), 36)
}

// Covers reports that a scope, the ID of a server, takes in the server of that ID, of the repository at url. An empty scope takes in all.
func Covers(scope, id, url string) bool {
	return slices.Contains([]string{"", id, url}, scope)
}
