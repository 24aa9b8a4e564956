package mcpclients

import (
	"bytes"
	"context"
	"encoding/json"
	"net/url"
	"slices"
	"strings"

	"github.com/countersign-dev/countersign/domain/canon"
	"github.com/countersign-dev/countersign/domain/deployment"
	"github.com/countersign-dev/countersign/domain/deployment/target"
	"github.com/countersign-dev/countersign/domain/policy"
	"github.com/countersign-dev/countersign/domain/tool"
)

// Input says which host to connect, and how.
type Input struct {
	Host        string           `json:"host" jsonschema:"description=claude-code or codex or cursor or vscode or gemini-cli or opencode"`
	Scope       deployment.Scope `json:"scope,omitempty" jsonschema:"enum=user,enum=project,description=whose configuration (default user)"`
	Name        string           `json:"name,omitempty" jsonschema:"description=what the host calls the server (default countersign)"`
	URL         string           `json:"url,omitempty" jsonschema:"description=of a server that runs: connect over HTTP with a token instead of starting a program"`
	Toolsets    []string         `json:"toolsets,omitempty" jsonschema:"description=served to the host (default: those that are served by themselves; all is every one)"`
	Sandbox     string           `json:"sandbox,omitempty" jsonschema:"description=of this project or sandbox: connect to the gateway to its agent server"`
	Remove      bool             `json:"remove,omitempty" jsonschema:"description=take the entry away"`
	Force       bool             `json:"force,omitempty" jsonschema:"description=replace or remove an entry of that name that is not Countersign's"`
	ProjectRoot string           `json:"project_root,omitempty" jsonschema:"description=of the scope project (default: the project around the working directory)"`
	DryRun      bool             `json:"dry_run,omitempty" jsonschema:"description=show the plan and write nothing"`
}

// maxName is the maximum length of a server's name, in bytes. It is part of its token's.
const maxName = 40

// Validate fails with tool.ErrArguments for a name or a toolset that hosts do not accept, and for an invalid url; with ErrHost; and with ErrShared
// for a token in a project's file.
func (in Input) Validate() error {
	if _, err := FindHost(in.Host); err != nil {
		return err
	}
	if in.Name != "" && (len(in.Name) > maxName || !plain(in.Name)) {
		return tool.ErrArguments.WithMessage("name: %q is no name of a server: letters, digits, - and _, at most %d", in.Name, maxName)
	}
	for _, name := range in.Toolsets {
		if !plain(name) {
			return tool.ErrArguments.WithMessage("toolsets: %q is no name of a toolset", name)
		}
	}
	switch {
	case in.Sandbox != "" && in.URL != "":
		return tool.ErrArguments.WithMessage("sandbox and url: a host is connected to one or the other; leave one out")
	case in.Sandbox != "" && len(in.Toolsets) > 0:
		return tool.ErrArguments.WithMessage("toolsets: the gateway serves its own tools alone; leave toolsets out")
	case in.Remove || !in.remote():
		return nil
	case in.scope() == deployment.ScopeProject:
		return ErrShared.WithMessage("a project's file is shared with everybody who has the repository, and a token in it would be everybody's; connect for the scope user, or without HTTP")
	case in.Sandbox != "":
		return nil
	}
	if at, err := url.Parse(in.URL); err != nil || at.Scheme != "http" && at.Scheme != "https" || at.Host == "" || at.User != nil {
		return tool.ErrArguments.WithMessage("url: %q is no address of a server, such as http://127.0.0.1:7447/mcp", in.URL)
	}
	return nil
}

// remote reports whether the connection is over HTTP.
func (in Input) remote() bool { return in.URL != "" || in.Sandbox != "" }

func plain(name string) bool {
	return name != "" && name[0] != '-' && !strings.ContainsFunc(name, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '_')
	})
}

// Resources returns the host, for settings and the audit.
func (in Input) Resources() []string { return []string{in.Host} }

// Claims of a dry run are those of a read.
func (in Input) Claims() (policy.Class, policy.Effects) {
	if in.DryRun {
		return policy.ClassRead, policy.Read
	}
	return policy.ClassWrite, policy.Read | policy.Write | policy.Delete
}

func (in Input) scope() deployment.Scope {
	if in.Scope == "" {
		return deployment.ScopeUser
	}
	return in.Scope
}

func (in Input) name() string {
	switch {
	case in.Name != "":
		return in.Name
	case in.Sandbox != "":
		return GatewayName
	}
	return ProgramName
}

// Plan is the change of one document.
type Plan struct {
	Tool    tool.Name      `json:"tool"`
	Summary string         `json:"summary"`
	Context PlanView       `json:"context"`
	Before  deployment.Sum `json:"before_sha256"`
	After   deployment.Sum `json:"after_sha256"` // with a placeholder for a token that is still to be created

	hash canon.Hash
	work work
}

// PlanView is the part of it that the user sees.
type PlanView struct {
	Host     string           `json:"host"`
	Scope    deployment.Scope `json:"scope"`
	Server   string           `json:"server"`
	File     string           `json:"file"`
	LeadsTo  string           `json:"leads_to,omitempty"` // target of the file if it is a symbolic link: that one is written
	Entry    json.RawMessage  `json:"entry,omitempty"`
	Replaces json.RawMessage  `json:"replaces,omitempty"`  // an entry of another program
	Opens    []string         `json:"opens,omitempty"`     // what becomes possible
	LetInBy  string           `json:"let_in_by,omitempty"` // what happens to the host's token
	Backups  string           `json:"copies,omitempty"`    // directory of a copy of the present document
	Diff     string           `json:"diff,omitempty"`
	Warnings []string         `json:"warnings,omitempty"`
}

// Hash returns the hash of the plan: everything it shows, with the sums of the document before and after.
func (p *Plan) Hash() canon.Hash { return p.hash }

// Prompt returns one line for the approval request.
func (p *Plan) Prompt() string { return p.Summary }

// NoOp reports whether the host is already as wanted.
func (p *Plan) NoOp() bool { return !p.work.changes() }

// Assessment requires an approval of what is allowed. A new token is high risk, because it stays valid.
func (p *Plan) Assessment() policy.Assessment {
	switch {
	case !p.Insists():
		return policy.Assessment{}
	case p.work.mints():
		return policy.Assessment{Human: policy.Preview, Risk: policy.RiskHigh}
	}
	return policy.Assessment{Human: policy.Preview}
}

// Insists makes the user approve what becomes possible, whatever was approved beforehand.
func (p *Plan) Insists() bool { return len(p.Context.Opens) > 0 && !p.work.in.DryRun }

// Needs returns a terminal or a logged-in browser, and the strongest proof that policy requires for any call: no entry permits more than its approval
// proves.
func (p *Plan) Needs() policy.Proving {
	if !p.Insists() {
		return policy.ProvingNone
	}
	return max(policy.ProvingPerson, p.work.rules.Needs)
}

// work is a plan in full.
type work struct {
	in     Input
	world  Locations
	host   Host
	doc    ServersFile
	offer  Connection
	sight  sight
	memory memory
	before target.Object // the present entry; nil: none
	ours   bool          // it is Countersign's
	kept   []string      // its arguments, if it starts this program
	serves []string      // the toolsets that it will enable, or that its token covered
	good   bool          // it has a valid token
	want   target.Object // nil: none
	after  []byte
	gone   bool // the file is deleted: it was made for the entry, and contains nothing else
	revoke bool // the entry's token is revoked
	rules  PolicyInfo
}

func (k *work) changes() bool { return k.writes() || k.revoke }

// writes reports whether the document changes.
func (k *work) writes() bool { return k.gone || !bytes.Equal(k.after, k.sight.data) }

// mints reports whether a token is to be created, or that of the gateway to be written.
func (k *work) mints() bool { return !k.in.Remove && k.offer.Remote() && !k.good }

// prepare computes the plan.
func (s *service) prepare(ctx context.Context, _ tool.Scope, in Input) (*Plan, error) {
	k, err := s.resolve(ctx, in)
	if err != nil {
		return nil, err
	}
	if k.before != nil && !k.ours && !in.Force {
		return nil, foreign(k)
	}
	if !in.Remove {
		if err := s.make(ctx, k); err != nil {
			return nil, err
		}
	}
	if err := s.edit(k); err != nil {
		return nil, err
	}
	if k.rules, err = s.Rules(ctx); err != nil {
		return nil, err
	}
	if k.revoke, err = s.revokes(ctx, k); err != nil {
		return nil, err
	}
	if k.writes() {
		if err := k.sight.writable(); err != nil {
			return nil, err
		}
	}
	return s.plan(ctx, k)
}

// resolve finds the document and reads it.
func (s *service) resolve(ctx context.Context, in Input) (*work, error) {
	k := &work{in: in}
	var err error
	if k.host, err = FindHost(in.Host); err != nil {
		return nil, err
	}
	if k.world, err = s.world(ctx, in.ProjectRoot); err != nil {
		return nil, err
	}
	if at := k.world.Place; in.scope() == deployment.ScopeProject && !at.Marked && at.ProjectRoot == at.UserHome {
		return nil, deployment.ErrProject.WithMessage("the home directory is no project; change into one, or connect for the scope user")
	}
	if k.doc, err = k.host.Document(k.world, in.scope()); err != nil {
		return nil, err
	}
	if k.sight, err = s.choose(ctx, k.world, k.doc, in.name()); err != nil {
		return nil, err
	}
	k.doc = s.shaped(k.doc, k.sight)
	if root := k.world.Place.ProjectRoot; in.scope() == deployment.ScopeProject && !deployment.IsBelow(root, k.sight.real, s.Here.Sep) {
		return nil, deployment.ErrPath.WithMessage("%s leads out of the project, to %s; connect for the scope user instead", k.sight.path, k.sight.real).
			WithDetails(deployment.Details{}.AddPath("path", k.sight.path))
	}
	all, err := s.servers(k.doc, k.sight)
	if err != nil {
		return nil, err
	}
	if k.memory, err = s.remembered(ctx, k.world, k.sight, in.name()); err != nil {
		return nil, err
	}
	k.before = all[in.name()]
	k.ours = k.before != nil && k.memory.ours(k.before, k.doc.Dialect)
	return k, nil
}

// revokes reports whether a token was made for this entry that is no longer used.
func (s *service) revokes(ctx context.Context, k *work) (bool, error) {
	_, secret := EntryEndpoint(k.before, k.doc.Dialect)
	if s.Keys == nil || !k.in.Remove && k.in.URL != "" || k.memory.URL == "" && secret == "" {
		return false, nil
	}
	return s.Keys.Live(ctx, k.key(), secret)
}

func foreign(k *work) error {
	way := "force (--force) replaces it, another name (--name) puts this one beside it"
	if k.in.Remove {
		way = "force (--force) takes it away all the same"
	}
	return ErrForeign.WithMessage("%s already has a server named %q, and it is not Countersign's: it %s; %s", k.sight.path, k.in.name(), DescribeEntry(k.before, k.doc.Dialect), way).
		WithDetails(deployment.ReasonDetails("host_entry_foreign", "retry_with_force", "retry_with_name").AddPath("path", k.sight.path).Add("entry", RedactedEntry(k.before)))
}

// make computes the wanted entry. In a Countersign entry that starts this program, the arguments that the call does not name stay; in one with the
// same URL and a valid token, the token stays.
func (s *service) make(ctx context.Context, k *work) error {
	if k.ours && !k.in.remote() { // what is not named stays
		k.kept = EntryArguments(k.before)
		if len(k.in.Toolsets) == 0 {
			k.in.Toolsets = EntryToolsets(k.kept)
		}
	}
	o := Connection{Name: k.in.name(), Scope: k.in.scope(), URL: k.in.URL, Toolsets: k.in.Toolsets, Kept: k.kept}
	if k.in.Sandbox != "" {
		if err := s.gateway(ctx, k, &o); err != nil {
			return err
		}
	} else if o.Remote() {
		if s.Keys == nil {
			return ErrServer
		}
		o.Secret = TokenPlaceholder
		if at, secret := EntryEndpoint(k.before, k.doc.Dialect); at == o.URL && secret != "" {
			good, err := s.Keys.Good(ctx, k.key(), secret, s.reach(k.in))
			if err != nil {
				return err
			}
			if k.good = good; good {
				o.Secret = secret
			}
		}
	} else if err := s.local(k, &o); err != nil {
		return err
	}
	k.offer = o
	var err error
	k.want, err = o.Server(k.host, k.doc.Dialect)
	return err
}

// gateway sets the connection to the gateway of sandboxes. It contains the gateway's token only if the entry has it already.
func (s *service) gateway(ctx context.Context, k *work, o *Connection) error {
	at, err := s.access(ctx, k.in.Sandbox)
	if err != nil {
		return err
	}
	o.URL, o.Secret = at.URL, TokenPlaceholder
	if url, secret := EntryEndpoint(k.before, k.doc.Dialect); url == at.URL && secret == at.Secret {
		o.Secret, k.good = secret, true
	}
	return nil
}

// access returns how to reach the gateway. It fails with ErrServer if there is none, or if it has no token.
func (s *service) access(ctx context.Context, sandbox string) (GatewayAccess, error) {
	if s.Gateway == nil {
		return GatewayAccess{}, ErrServer
	}
	at, err := s.Gateway(ctx, sandbox)
	if err == nil && at.Secret == "" {
		err = ErrServer.WithMessage("the gateway of sandboxes has no token; countersign sandbox init makes one")
	}
	return at, err
}

// local makes the connection start this program.
func (s *service) local(k *work, o *Connection) error {
	o.Program = ProgramName
	if o.Scope == deployment.ScopeProject {
		return nil // other users have it elsewhere
	}
	if s.Here.Chosen {
		o.Home = s.Here.Home
	}
	var err error
	o.Program, _, err = s.Here.Program()
	return err
}

// everything is the word for every toolset.
const everything = "all"

// reach returns the toolsets that a token covers; none is every one.
func (s *service) reach(in Input) []string {
	switch {
	case slices.Contains(in.Toolsets, everything):
		return nil
	case len(in.Toolsets) > 0:
		return in.Toolsets
	}
	return s.Default
}

// named returns the same, with the word for every one.
func (s *service) named(in Input) []string {
	if in.Sandbox != "" {
		return []string{"gateway"}
	}
	if sets := s.reach(in); len(sets) > 0 {
		return sets
	}
	return []string{everything}
}

// tools describes the tools that the host's agent may call through an entry.
func (s *service) tools(in Input) string {
	if in.Sandbox != "" {
		return "the tools of the gateway, which read and write to the agents of " + in.Sandbox + " (of its project, where it is a sandbox without isolation)"
	}
	sets := s.reach(in)
	if len(sets) == 0 {
		return "every tool that is served"
	}
	what := "the tools of " + strings.Join(sets, ", ")
	if in.URL == "" && len(in.Toolsets) == 0 {
		what += " (or of those that config.yaml says are served)"
	}
	return what
}

// key returns the name of the host's token.
func (k *work) key() string {
	if k.in.name() == ProgramName {
		return "connect:" + k.host.Name
	}
	return "connect:" + k.host.Name + ":" + k.in.name()
}

// edit computes the wanted document.
func (s *service) edit(k *work) error {
	k.after = k.sight.data
	top := k.doc.at(k.in.name())
	if k.in.Remove {
		if k.before == nil {
			return nil
		}
		var err error
		if k.after, err = s.Documents.Remove(k.doc.Format, k.sight.data, []deployment.Key{{Path: top}}, k.memory.Made); err != nil {
			return uneditable(k.sight, err)
		}
		k.gone = k.memory.Created && len(bytes.TrimSpace(k.after)) == 0
		return nil
	}
	set, drop, err := k.keys()
	if err != nil {
		return err
	}
	if len(drop) > 0 {
		if k.after, err = s.Documents.Remove(k.doc.Format, k.after, drop, nil); err != nil {
			return uneditable(k.sight, err)
		}
	}
	if k.after, err = s.Documents.Set(k.doc.Format, k.after, set); err != nil {
		return uneditable(k.sight, err)
	}
	return nil
}

// keys returns what is to be set and removed.
func (k *work) keys() (set, drop []deployment.Key, err error) {
	before := k.before
	if !k.ours {
		before = nil
	}
	return EntryKeys(k.doc.at(k.in.name()), before, k.want, k.doc.Dialect)
}
