package mcpclients

import (
	"context"
	"encoding/json"
	"io/fs"
	"slices"
	"strings"

	"github.com/countersign-dev/countersign/domain/deployment"
	"github.com/countersign-dev/countersign/domain/deployment/target"
	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/ports/deployport"
)

// world returns the environment of the call. project stands for the project of the working directory.
func (s *service) world(ctx context.Context, project string) (Locations, error) {
	at, err := s.Places.Resolve(ctx, deployport.Selection{ProjectRoot: project})
	return Locations{Place: at, System: s.Here.System, Env: s.Here.Env, Paths: target.Paths{Sep: s.Here.Sep}}, err
}

// sight is a document as it was read.
type sight struct {
	path string // as the host knows it
	real string // with links resolved
	seen deployment.Seen
	data []byte
}

func (v sight) there() bool { return v.seen.Kind == deployment.Regular }

// look reads a document. It fails with ErrPath if it is not a file, and with ErrStale if it changes while it is read.
func (s *service) look(ctx context.Context, at deployment.Locations, path string) (sight, error) {
	v := sight{path: path}
	var err error
	if v.real, err = s.Here.Real(path); err != nil {
		return v, err
	}
	o, err := s.Machine.Observe(ctx, deployport.Look{Place: at, Paths: []string{v.real}})
	if err != nil {
		return v, err
	}
	switch v.seen = o.Files[v.real]; v.seen.Kind {
	case deployment.Absent:
		return v, nil
	case deployment.Regular:
	default:
		return v, deployment.ErrPath.WithMessage("%s is no file: a directory or something special stands there; move it away", v.real).
			WithDetails(deployment.ReasonDetails("destination_not_a_file", "fix_path", "retry_command").AddPath("path", v.real))
	}
	data, found, err := s.Machine.Read(ctx, v.real)
	if err != nil {
		return v, err
	}
	if v.data = data; !found || deployment.SumOf(data) != v.seen.Sum {
		return v, deployment.ErrStale.WithMessage("%s changed while it was read; try again", v.real)
	}
	return v, nil
}

// choose examines the possible documents of a host, and takes the one that has the entry, else the last existing one (which takes precedence in hosts
// that read several), else the first.
func (s *service) choose(ctx context.Context, w Locations, d ServersFile, name string) (sight, error) {
	var best sight
	for i, file := range d.Names {
		v, err := s.look(ctx, w.Place, w.Join(d.Dir, file))
		if err != nil {
			return v, err
		}
		if i == 0 || v.there() {
			best = v
		}
		if v.there() && len(d.Names) > 1 {
			if all, err := s.servers(s.shaped(d, v), v); err == nil && all[name] != nil {
				return v, nil
			}
		}
	}
	return best, nil
}

// shaped returns where servers are in a document, and in which dialect, by its shape. One that does not parse has none.
func (s *service) shaped(d ServersFile, v sight) ServersFile {
	return d.in(func(key []string) bool {
		values, err := s.Documents.Values(d.Format, v.data, []deployment.Key{{Path: key}})
		return err == nil && len(values) > 0
	})
}

// servers returns the entries in a document by name. For one that does not parse it fails with ErrConfig, naming the file and the line.
func (s *service) servers(d ServersFile, v sight) (map[string]target.Object, error) {
	values, err := s.Documents.Values(d.Format, v.data, []deployment.Key{{Path: d.At}})
	if err != nil {
		return nil, uneditable(v, err)
	}
	out := map[string]target.Object{}
	if len(values[0]) == 0 {
		return out, nil
	}
	var raw map[string]json.RawMessage
	if json.Unmarshal(values[0], &raw) != nil || raw == nil {
		return nil, uneditable(v, deployment.ErrConfig.WithMessage("%s is there and holds no servers: it is no object", strings.Join(d.At, ".")))
	}
	for name, text := range raw {
		o, err := target.ParseObject(text)
		if err != nil {
			o = target.Object{} // it is there, and nobody's that could be told
		}
		out[name] = o
	}
	return out, nil
}

// uneditable names the file in an error about its content.
func uneditable(v sight, err error) error {
	return deployment.ErrConfig.WithMessage("%s: %s; fix it first, nothing was changed", v.path, fault.From(err).Message).
		WithDetails(deployment.ReasonDetails("document_not_editable", "fix_document", "retry_command").AddPath("path", v.path)).WithCause(err)
}

// writable rejects a file that its owner has made read-only, although it could be replaced.
func (v sight) writable() error {
	const owner fs.FileMode = 0o200
	if !v.there() || v.seen.Mode&owner != 0 {
		return nil
	}
	return deployment.ErrPermission.WithMessage("%s is read-only (%v); make it writable first: chmod u+w", v.real, v.seen.Mode).
		WithDetails(deployment.Details{}.AddPath("path", v.real))
}

// shared reports whether other users of this machine may read a file.
func (v sight) shared() bool {
	const others fs.FileMode = 0o044
	return v.there() && v.seen.Mode&others != 0
}

// record is the record of a connection, so that it can be undone exactly.
type record struct {
	Host    string           `json:"host"`
	Scope   deployment.Scope `json:"scope"`
	Name    string           `json:"name"`
	Path    string           `json:"path"`
	Program string           `json:"program,omitempty"` // what it starts
	URL     string           `json:"url,omitempty"`     // over HTTP
	Made    [][]string       `json:"made,omitempty"`    // containers that were made for the entry
	Created bool             `json:"created,omitempty"` // the file was
}

// memory is a record and its file.
type memory struct {
	path  string
	seen  deployment.Seen
	found bool
	record
}

// The directories below COUNTERSIGN_HOME.
const (
	recordsDir = "connections"
	backupsDir = "backups"
)

// remembered returns the record of a server's entry in a document. A record that cannot be read counts as none.
func (s *service) remembered(ctx context.Context, w Locations, v sight, name string) (memory, error) {
	id := deployment.SumOf([]byte(v.real + "\n" + name)).String()[:24]
	m := memory{path: w.Join(s.Here.Home, recordsDir+"/"+id+".json")}
	file, err := s.look(ctx, w.Place, m.path)
	if err != nil {
		return m, err
	}
	m.seen = file.seen
	m.found = file.there() && json.Unmarshal(file.data, &m.record) == nil && m.Path == v.real && m.Name == name
	if !m.found {
		m.record = record{}
	}
	return m, nil
}

// ours reports whether Countersign made an entry, or is started by it.
func (m memory) ours(o target.Object, d target.Dialect) bool {
	url, _ := EntryEndpoint(o, d)
	argv := EntryCommand(o)
	return IsCountersignEntry(o) || m.found && (m.URL != "" && m.URL == url || m.Program != "" && len(argv) > 0 && m.Program == argv[0])
}

// names returns the names of Countersign's servers among the entries, sorted.
func (s *service) names(ctx context.Context, w Locations, d ServersFile, v sight, all map[string]target.Object) (out []string, err error) {
	for name, o := range all {
		if !IsCountersignEntry(o) {
			m, err := s.remembered(ctx, w, v, name)
			if err != nil {
				return nil, err
			}
			if !m.ours(o, d.Dialect) {
				continue
			}
		}
		out = append(out, name)
	}
	slices.Sort(out)
	return out, nil
}
