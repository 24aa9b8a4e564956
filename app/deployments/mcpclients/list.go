package mcpclients

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"

	"github.com/countersign-dev/countersign/app/deployments/planner"
	"github.com/countersign-dev/countersign/domain/deployment"
	"github.com/countersign-dev/countersign/domain/deployment/target"
	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/tool"
	"github.com/countersign-dev/countersign/ports/deployport"
)

// Query selects the hosts to list, and how they would be connected. It takes the same arguments as connect_host.
type Query struct {
	Host        string           `json:"host,omitempty" jsonschema:"description=only this one"`
	Scope       deployment.Scope `json:"scope,omitempty" jsonschema:"enum=user,enum=project,description=whose configuration (default user)"`
	Name        string           `json:"name,omitempty" jsonschema:"description=of the server (default countersign)"`
	URL         string           `json:"url,omitempty" jsonschema:"description=of a server that runs"`
	Toolsets    []string         `json:"toolsets,omitempty" jsonschema:"description=served to the host"`
	Sandbox     string           `json:"sandbox,omitempty" jsonschema:"description=of this project or sandbox: the gateway to its agent server"`
	ProjectRoot string           `json:"project_root,omitempty" jsonschema:"description=of the scope project"`
}

func (q Query) input(h string) Input {
	return Input{Host: h, Scope: q.Scope, Name: q.Name, URL: q.URL, Toolsets: q.Toolsets, Sandbox: q.Sandbox, ProjectRoot: q.ProjectRoot}
}

// Validate fails as that of Input.
func (q Query) Validate() error {
	if q.Host == "" {
		return q.input(AllHosts()[0].Name).Validate()
	}
	return q.input(q.Host).Validate()
}

// HostStatus is the status of a host.
type HostStatus struct {
	Host      string            `json:"host"`
	Title     string            `json:"title"`
	Aliases   []string          `json:"aliases"`
	Scope     deployment.Scope  `json:"scope"`
	File      string            `json:"file"`
	FilePosix string            `json:"file_posix"`
	Installed bool              `json:"installed"` // its command or its directory was found
	State     string            `json:"state"`     // connected, outdated, other_entry, not_connected, unreadable
	Detail    string            `json:"detail,omitempty"`
	Toolsets  []string          `json:"toolsets"`   // enabled in a server that the entry starts; all is every one. Empty for a URL: its token decides
	Servers   []string          `json:"servers"`    // the entries that are Countersign's, by name
	HostEntry string            `json:"host_entry"` // the name by which a server started from the entry knows it
	Connect   []string          `json:"connect"`    // the command that connects it
	Format    deployment.Format `json:"format"`
	Snippet   string            `json:"snippet"`           // the entry alone, as a document
	Command   []string          `json:"command,omitempty"` // the host's own command that adds it
}

// The states of a host in the list; the others are those of a result.
const (
	outdated   = "outdated"    // a Countersign entry that starts another program, or has another home
	otherEntry = "other_entry" // an entry of another program under that name
	unreadable = "unreadable"
)

// HostList is what list_hosts answers.
type HostList struct {
	Hosts []HostStatus `json:"hosts"`
}

// list examines every host, or one. A document that cannot be read is reported, and does not stop the others.
func (s *service) list(ctx context.Context, _ tool.Scope, q Query) (planner.Report[HostList], error) {
	names := []string{q.Host}
	if q.Host == "" {
		names = nil
		for _, h := range AllHosts() {
			names = append(names, h.Name)
		}
	}
	out := HostList{Hosts: []HostStatus{}}
	for _, name := range names {
		one, err := s.listed(ctx, q.input(name))
		if err != nil {
			return planner.Report[HostList]{}, err
		}
		out.Hosts = append(out.Hosts, one)
	}
	return planner.NewReport(out), nil
}

func (s *service) listed(ctx context.Context, in Input) (HostStatus, error) {
	h, err := FindHost(in.Host)
	if err != nil {
		return HostStatus{}, err
	}
	w, err := s.world(ctx, in.ProjectRoot)
	if err != nil {
		return HostStatus{}, err
	}
	d, err := h.Document(w, in.scope())
	if err != nil {
		return HostStatus{}, err
	}
	l := HostStatus{HostEntry: h.Entry(in.name(), in.scope()), Host: h.Name, Title: h.Title, Aliases: append([]string{}, h.Aliases...), Scope: in.scope(), Installed: s.installed(ctx, w, h), Servers: []string{}, Toolsets: []string{},
		Format: d.Format, File: w.Join(d.Dir, d.Names[0]), Connect: []string{ProgramName, "connect", h.Name}}
	if in.scope() != deployment.ScopeUser {
		l.Connect = append(l.Connect, "--scope", string(in.scope()))
	}
	k, err := s.resolve(ctx, in)
	if err != nil {
		if ctx.Err() != nil {
			return l, err
		}
		l.State, l.Detail = unreadable, fault.From(err).Message
		k = &work{in: in, world: w, host: h, doc: d}
	} else {
		l.File = k.sight.path
	}
	l.FilePosix = deployment.PosixPath(l.File)
	return l, s.describe(ctx, k, &l)
}

// describe returns the status of a host, and how to connect it by hand.
func (s *service) describe(ctx context.Context, k *work, l *HostStatus) error {
	if err := s.make(ctx, k); err != nil {
		return err
	}
	if err := s.byHand(k, l); err != nil || l.State == unreadable {
		return err
	}
	all, err := s.servers(k.doc, k.sight)
	if err != nil {
		return err
	}
	if l.Servers, err = s.names(ctx, k.world, k.doc, k.sight, all); err != nil {
		return err
	}
	if l.Servers == nil {
		l.Servers = []string{}
	}
	switch {
	case k.before == nil:
		l.State = notConnected
	case !k.ours:
		l.State, l.Detail = otherEntry, DescribeEntry(k.before, k.doc.Dialect)
	default:
		if args := EntryArguments(k.before); args != nil {
			l.Toolsets = s.named(Input{Toolsets: EntryToolsets(args)})
		}
		if l.State = s.standing(k); l.State == outdated {
			l.Detail = DescribeEntry(k.before, k.doc.Dialect)
			if home := EntryHome(k.before, k.doc.Dialect); home != "" {
				l.Detail += ", with the home " + home
			}
		}
	}
	return nil
}

// standing reports whether a Countersign entry starts this program for this home, with any other arguments, or has a URL.
func (s *service) standing(k *work) string {
	if at, _ := EntryEndpoint(k.before, k.doc.Dialect); at != "" && (!k.in.remote() || at == k.offer.URL) {
		return connected
	}
	argv, home := EntryCommand(k.before), cmp.Or(EntryHome(k.before, k.doc.Dialect), s.otherwise(k))
	if k.in.remote() || len(argv) == 0 || argv[0] != k.offer.Program || home != s.Here.Home {
		return outdated
	}
	return connected
}

// otherwise returns the home of a server whose entry names none: for a project it is that of the user who starts it.
func (s *service) otherwise(k *work) string {
	if s.Here.Chosen && k.in.scope() == deployment.ScopeUser {
		return k.world.Join(k.world.Place.UserHome, ".countersign")
	}
	return s.Here.Home
}

// byHand returns the entry as a document of its own, and the host's own command.
func (s *service) byHand(k *work, l *HostStatus) error {
	o := k.offer
	if o.Remote() {
		o.Secret = TokenPlaceholder
	}
	want, err := o.Server(k.host, k.doc.Dialect)
	if err != nil {
		return err
	}
	value, err := target.EncodeValue(want)
	if err != nil {
		return err
	}
	text, err := s.Documents.Set(k.doc.Format, nil, []deployment.Key{{Path: k.doc.at(o.Name), Value: json.RawMessage(value)}})
	if err != nil {
		return err
	}
	l.Snippet, l.Command = string(text), k.host.Command(o)
	return nil
}

// installed reports whether a host has left a trace on this machine.
func (s *service) installed(ctx context.Context, w Locations, h Host) bool {
	if s.Here.Installed(h.Program) {
		return true
	}
	return slices.ContainsFunc(h.Marks(w), func(dir string) bool {
		o, err := s.Machine.Observe(ctx, deployport.Look{Place: w.Place, Paths: []string{dir}})
		return err == nil && o.Files[dir].Kind != deployment.Absent
	})
}
