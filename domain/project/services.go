package project

import (
	"fmt"
	"maps"
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/countersign-dev/countersign/domain/process"
)

// The bounds of services; ours.
const (
	maxServices    = 20 // the limit of background processes
	defaultReady   = time.Minute
	maxReady       = 30 * time.Minute
	defaultStarts  = 5 // restarts of a service
	maxStarts      = 1000
	defaultBackoff = time.Second
	maxServiceName = 64
)

// The restart policies of services.
const (
	RestartNo        = "no" // also the default
	RestartOnFailure = "on-failure"
	RestartAlways    = "always"
)

// Service is a program of a project that runs as a background process.
type Service struct {
	Name      string            `json:"name" yaml:"-"`
	Command   string            `json:"command" yaml:"command"`
	Dir       string            `json:"dir,omitempty" yaml:"dir"` // below that of the file
	Env       map[string]string `json:"env,omitempty" yaml:"env"`
	DependsOn []string          `json:"depends_on,omitempty" yaml:"depends_on"`
	Ready     Readiness         `json:"ready,omitzero" yaml:"ready"`
	Restart   string            `json:"restart,omitempty" yaml:"restart"`
	Restarts  int               `json:"max_restarts,omitempty" yaml:"max_restarts"`         // 0 is 5
	BackoffMS int64             `json:"restart_delay_ms,omitempty" yaml:"restart_delay_ms"` // before the first restart; it doubles up to half a minute. 0 is a second
}

// Readiness defines when a service is ready: one of the three, or as soon as it runs.
type Readiness struct {
	Port      int    `json:"port,omitempty" yaml:"port"` // something listens there on this machine
	HTTP      string `json:"http,omitempty" yaml:"http"` // a URL of this machine answers with a status below 400
	Log       string `json:"log,omitempty" yaml:"log"`   // a printed line matches this RE2
	TimeoutMS int64  `json:"timeout_ms,omitempty" yaml:"timeout_ms"`
}

// Timeout returns how long to wait until a service is ready.
func (r Readiness) Timeout() time.Duration {
	if r.TimeoutMS <= 0 {
		return defaultReady
	}
	return min(time.Duration(r.TimeoutMS)*time.Millisecond, maxReady)
}

// Waits reports whether there is anything to wait for.
func (r Readiness) Waits() bool { return r.Port != 0 || r.HTTP != "" || r.Log != "" }

// MaxRestarts returns how often the service is restarted.
func (s Service) MaxRestarts() int {
	switch {
	case s.Restart == "" || s.Restart == RestartNo:
		return 0
	case s.Restarts <= 0:
		return defaultStarts
	}
	return min(s.Restarts, maxStarts)
}

// Backoff returns the delay before the first restart.
func (s Service) Backoff() time.Duration {
	if s.BackoffMS <= 0 {
		return defaultBackoff
	}
	return min(time.Duration(s.BackoffMS)*time.Millisecond, time.Minute)
}

// ParseProcfile parses a Procfile: one line "name: command" per service, each ready as soon as it runs.
func ParseProcfile(text string) ([]Service, error) {
	var out []Service
	for n, line := range strings.Split(text, "\n") {
		if line = strings.TrimSpace(line); line == "" || line[0] == '#' {
			continue
		}
		name, command, found := strings.Cut(line, ":")
		if !found {
			return nil, ErrArgument.WithMessage("line %d of the Procfile is not \"name: command\"", n+1)
		}
		out = append(out, Service{Name: strings.TrimSpace(name), Command: strings.TrimSpace(command)})
	}
	return out, nil
}

// OrderServices checks services and sorts them so that each comes after its dependencies, otherwise in the given order. It fails with
// project.ErrArgument and process.ErrEnv.
func OrderServices(all []Service) ([]Service, error) {
	if len(all) == 0 {
		return nil, ErrArgument.WithMessage("the file has no services")
	}
	if len(all) > maxServices {
		return nil, ErrArgument.WithMessage("%d services; at most %d can run in the background", len(all), maxServices)
	}
	named := map[string]bool{}
	for _, s := range all {
		if named[s.Name] {
			return nil, ErrArgument.WithMessage("two services have the name %q", s.Name)
		}
		named[s.Name] = true
		if err := s.check(); err != nil {
			return nil, err
		}
	}
	for _, s := range all {
		for _, other := range s.DependsOn {
			if !named[other] {
				return nil, ErrArgument.WithMessage("service %q depends on the unknown service %q; use one of %s", s.Name, other, strings.Join(slices.Sorted(maps.Keys(named)), ", "))
			}
		}
	}
	var out []Service
	placed := map[string]bool{}
	for len(out) < len(all) {
		before := len(out)
		for _, s := range all {
			if !placed[s.Name] && !slices.ContainsFunc(s.DependsOn, func(other string) bool { return !placed[other] }) {
				out, placed[s.Name] = append(out, s), true
			}
		}
		if len(out) == before {
			var circle []string
			for _, s := range all {
				if !placed[s.Name] {
					circle = append(circle, s.Name)
				}
			}
			return nil, ErrArgument.WithMessage("these services depend on each other in a cycle: %s", strings.Join(circle, ", "))
		}
	}
	return out, nil
}

// PickServices returns the named services of an ordered list, with all their dependencies; all services if none is named. It fails with
// project.ErrArgument.
func PickServices(ordered []Service, names []string) ([]Service, error) {
	wanted := map[string]bool{}
	for _, name := range names {
		if !slices.ContainsFunc(ordered, func(s Service) bool { return s.Name == name }) {
			return nil, ErrArgument.WithMessage("service %q not found", name)
		}
		wanted[name] = true
	}
	var out []Service
	for _, s := range slices.Backward(ordered) {
		if len(names) > 0 && !wanted[s.Name] {
			continue
		}
		for _, other := range s.DependsOn {
			wanted[other] = true
		}
		out = append(out, s)
	}
	slices.Reverse(out)
	return out, nil
}

// serviceName is the form of names of services: they appear in logs and on command lines.
const serviceName = `^[A-Za-z0-9][A-Za-z0-9_.-]*$`

func (s Service) check() error {
	if ok, _ := regexp.MatchString(serviceName, s.Name); !ok || len(s.Name) > maxServiceName {
		return ErrArgument.WithMessage("invalid service name %q: use letters, digits, dots, dashes and underscores, at most %d characters", s.Name, maxServiceName)
	}
	for _, err := range []error{(NodeConfig{Command: s.Command, Cwd: s.Dir}).script(), process.CheckEnv(s.Env), s.Ready.check()} {
		if err != nil {
			return fmt.Errorf("service %s: %w", s.Name, err)
		}
	}
	switch {
	case strings.HasPrefix(s.Dir, "/"), slices.Contains(strings.Split(s.Dir, "/"), ".."):
		return ErrArgument.WithMessage("service %s: dir %q is not below the directory of the file", s.Name, s.Dir)
	case !slices.Contains([]string{"", RestartNo, RestartOnFailure, RestartAlways}, s.Restart):
		return ErrArgument.WithMessage("service %s: restart must be no, on-failure or always, not %q", s.Name, s.Restart)
	case s.Restarts < 0 || s.Restarts > maxStarts || s.BackoffMS < 0:
		return ErrArgument.WithMessage("service %s: max_restarts must be 0 to %d, and restart_delay_ms must not be negative", s.Name, maxStarts)
	}
	return nil
}

func (r Readiness) check() error {
	set := 0
	for _, is := range []bool{r.Port != 0, r.HTTP != "", r.Log != ""} {
		if is {
			set++
		}
	}
	switch {
	case set > 1:
		return ErrArgument.WithMessage("ready must have one of port, http and log")
	case r.Port < 0 || r.Port > 65535:
		return ErrArgument.WithMessage("invalid port %d", r.Port)
	case r.TimeoutMS < 0 || r.TimeoutMS > maxReady.Milliseconds():
		return ErrArgument.WithMessage("timeout_ms %d of ready is outside the range 0 to %d", r.TimeoutMS, maxReady.Milliseconds())
	}
	if _, err := regexp.Compile(r.Log); err != nil || len(r.Log) > maxPatternBytes {
		return ErrArgument.WithMessage("log of ready must be an RE2 regular expression of at most %d bytes", maxPatternBytes)
	}
	if r.HTTP == "" {
		return nil
	}
	at, err := url.Parse(r.HTTP)
	if err != nil || at.Scheme != "http" && at.Scheme != "https" || at.User != nil {
		return ErrArgument.WithMessage("%q is not an HTTP address", r.HTTP)
	}
	if ip, err := netip.ParseAddr(at.Hostname()); at.Hostname() != "localhost" && (err != nil || !ip.IsLoopback()) {
		return ErrArgument.WithMessage("%q is not an address of this machine; use 127.0.0.1 or localhost", r.HTTP)
	}
	return nil
}

const maxPatternBytes = 1000
