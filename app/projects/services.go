package projects

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/countersign-dev/countersign/app/bind"
	"github.com/countersign-dev/countersign/app/projects/runner"
	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/policy"
	"github.com/countersign-dev/countersign/domain/process"
	"github.com/countersign-dev/countersign/domain/project"
	"github.com/countersign-dev/countersign/domain/tool"
)

// The typed handles of the tools about services.
var (
	ServicesUp   = tool.Ref[ServicesUpInput, ServiceList]{Name: "services_up"}
	ServicesDown = tool.Ref[ServicesDownInput, ServiceList]{Name: "services_down"}
	ListServices = tool.Ref[ServicesInput, ServiceList]{Name: "list_services"}
)

// categoryServices is the category of the tools in lists.
const categoryServices = runner.CategoryBackground

// attachedTimeout is the timeout of a call that stays with its services.
const attachedTimeout = 30 * 24 * time.Hour

// The interval of readiness checks.
const probeEvery = 100 * time.Millisecond

func (s scriptService) serviceEntries() []tool.Entry {
	up := runner.ExecuteSpec(categoryServices, "Services up", "Start the services of a file (services.yaml or a Procfile) in the background, in order, each when those it depends on are ready. get_background_process_output reads them.", servicesUpSchema)
	up.Timeout = attachedTimeout
	return []tool.Entry{
		bind.Command(ServicesUp, up, s.planUp, s.up),
		bind.Command(ServicesDown, stopping(runner.ExecuteSpec(categoryServices, "Services down", "Stop services that run, in reverse order.", servicesDownSchema)), s.planDown, s.down),
		bind.Query(ListServices, runner.ReadSpec(categoryServices, "List services", "List the services of a file in a project's directory, and which of them run.", servicesSchema), s.services),
	}
}

// ServicesInput names a file of services.
type ServicesInput struct {
	Path string `json:"projectPath" jsonschema:"minLength=1"`
	File string `json:"file,omitempty" jsonschema:"description=default: services.yaml or services.yml or Procfile.dev or Procfile"`
}

// Resources returns the project's path.
func (in ServicesInput) Resources() []string { return []string{in.Path} }

// ServicesUpInput names services to start.
type ServicesUpInput struct {
	Path     string   `json:"projectPath" jsonschema:"minLength=1"`
	File     string   `json:"file,omitempty" jsonschema:"description=default: services.yaml or services.yml or Procfile.dev or Procfile"`
	Names    []string `json:"names,omitempty" jsonschema:"description=these and what they depend on (default: all)"`
	Restart  bool     `json:"restart,omitempty" jsonschema:"description=stop and start those named that run"`
	Attached bool     `json:"attached,omitempty" jsonschema:"description=stay until all have ended; cancelling stops them"`
}

// Resources returns the project's path.
func (in ServicesUpInput) Resources() []string { return []string{in.Path} }

// ServicesDownInput names services to stop.
type ServicesDownInput struct {
	Path  string   `json:"projectPath" jsonschema:"minLength=1"`
	File  string   `json:"file,omitempty"`
	Names []string `json:"names,omitempty" jsonschema:"description=default: all"`
}

// Resources returns the project's path.
func (in ServicesDownInput) Resources() []string { return []string{in.Path} }

// ServiceItem is a service, and the process that it runs or last ran.
type ServiceItem struct {
	Name      string     `json:"name"`
	Command   string     `json:"command"`
	Status    string     `json:"status"` // "not started", or a status of list_background_processes
	ProcessID process.ID `json:"processId,omitempty"`
	PID       int        `json:"pid,omitempty"`
	Restarts  int        `json:"restarts,omitempty"` // as far as its output shows
	StartedAt *time.Time `json:"startedAt,omitempty"`
	ExitCode  *int       `json:"exitCode,omitempty"`
	DependsOn []string   `json:"dependsOn,omitempty"`
	Ready     string     `json:"ready,omitempty"` // condition of readiness, in words
}

// ServiceList is the services of a file.
type ServiceList struct {
	Path     string        `json:"path"`
	File     string        `json:"file"`
	Services []ServiceItem `json:"services"`
}

// foundServices is the services of a file in the order in which they start, and the location of the file.
type foundServices struct {
	site runner.Site
	file string
	all  []project.Service
}

// label returns the label of the file.
func (f foundServices) label() string { return path.Join(f.site.Dir, f.file) }

func (s scriptService) findServices(ctx context.Context, dir, file string) (foundServices, error) {
	site, err := s.Sites.Worktree(ctx, dir)
	if err != nil {
		return foundServices{}, err
	}
	all, name, err := s.Runner.Dirs.Services(ctx, site.Dir, file)
	if err != nil {
		return foundServices{}, err
	}
	ordered, err := project.OrderServices(all)
	return foundServices{site, name, ordered}, err
}

// states returns the newest process of each service of a file.
func (s scriptService) states(ctx context.Context, label string) (map[string]process.State, error) {
	all, err := s.Runner.Processes.List(ctx)
	out := map[string]process.State{}
	for _, state := range slices.Backward(all) {
		if s.ours(state) && state.Labels[runner.LabelServices] == label {
			out[state.Labels[runner.LabelScript]] = state
		}
	}
	return out, err
}

func (s scriptService) services(ctx context.Context, _ tool.Scope, in ServicesInput) (ServiceList, error) {
	found, err := s.findServices(ctx, in.Path, in.File)
	if err != nil {
		return ServiceList{}, err
	}
	return s.listed(ctx, found, found.all)
}

// listed returns the services with their states, and those that still run although their file no longer names them.
func (s scriptService) listed(ctx context.Context, found foundServices, all []project.Service) (ServiceList, error) {
	out := ServiceList{Path: found.site.Dir, File: found.file, Services: []ServiceItem{}}
	states, err := s.states(ctx, found.label())
	if err != nil {
		return out, err
	}
	for _, one := range all {
		item := ServiceItem{Name: one.Name, Command: one.Command, Status: "not started", DependsOn: one.DependsOn, Ready: readyWords(one.Ready)}
		if state, ran := states[one.Name]; ran {
			s.fill(ctx, &item, state)
		}
		out.Services = append(out.Services, item)
		delete(states, one.Name)
	}
	for _, name := range slices.Sorted(maps.Keys(states)) {
		if state := states[name]; len(all) == len(found.all) && !state.Status.Final() {
			item := ServiceItem{Name: name, Command: state.Labels[runner.LabelCommand]}
			s.fill(ctx, &item, state)
			out.Services = append(out.Services, item)
		}
	}
	return out, nil
}

// restarted is the beginning of the line printed before a service is restarted.
const restarted = "[countersign] start "

func (s scriptService) fill(ctx context.Context, item *ServiceItem, state process.State) {
	v := runner.ProcessOf(state)
	item.Status, item.ProcessID, item.PID, item.StartedAt, item.ExitCode = v.Status, v.ID, v.PID, &v.StartedAt, v.ExitCode
	chunk, err := s.Runner.Processes.Output(ctx, state.ID, 0)
	if err != nil || !strings.HasPrefix(strings.Join(state.Argv, " "), shell+" -c ") {
		return
	}
	for _, line := range slices.Backward(chunk.Lines) {
		if rest, is := strings.CutPrefix(line.Text, restarted); is {
			n, _, _ := strings.Cut(rest, " ")
			item.Restarts, _ = strconv.Atoi(n) // a service that prints such a line itself only misleads about this
			return
		}
	}
}

func readyWords(r project.Readiness) string {
	switch {
	case r.Port != 0:
		return fmt.Sprintf("something listens at port %d", r.Port)
	case r.HTTP != "":
		return r.HTTP + " answers"
	case r.Log != "":
		return fmt.Sprintf("it prints a line that matches %q", r.Log)
	}
	return ""
}

// serviceStep is a service that is ready to start.
type serviceStep struct {
	service  project.Service
	command  runner.Command
	examined runner.ExamineResult
	spec     process.Spec
	running  process.ID // it is already running, and is left alone or stopped first
}

// shownService is what the user sees of a service.
type shownService struct {
	Name     string                   `json:"name"`
	Command  string                   `json:"command"`
	Argv     []string                 `json:"argv"`
	Dir      string                   `json:"cwd"`
	Env      map[string]string        `json:"env,omitempty"`
	After    []string                 `json:"after,omitempty"`
	Ready    string                   `json:"ready_when,omitempty"`
	ReadyMS  int64                    `json:"ready_timeout_ms,omitempty"`
	Restart  string                   `json:"restart,omitempty"`
	Runs     string                   `json:"runs_already,omitempty"`
	Scripts  []runner.StartedScript   `json:"scripts,omitempty"`
	Settings []project.ManagerSetting `json:"settings,omitempty"`
	process.Code
	Findings runner.Findings `json:"findings,omitempty"`
}

// upPlan is the plan to start services.
type upPlan struct {
	runner.Plan
	in    ServicesUpInput
	found foundServices
	steps []serviceStep
}

// shell runs commands that need one, and those that are restarted.
const shell = "/bin/sh"

// again is the program that restarts a service according to its policy: the policy, the maximum number, and the first pause in milliseconds, then the
// command. The signal that ends the process group ends both.
const again = `policy=$1 most=$2 pause=$3; shift 3; n=0
while :; do
  "$@"; code=$?
  if [ "$policy" = on-failure ] && [ "$code" -eq 0 ] || [ "$n" -ge "$most" ]; then exit "$code"; fi
  n=$((n+1))
  echo "` + restarted + `$n of $most after exit code $code, in $pause ms" >&2
  sleep "$((pause/1000)).$(printf %03d $((pause%1000)))"
  pause=$((pause*2)); [ "$pause" -le 30000 ] || pause=30000
done`

func (s scriptService) planUp(ctx context.Context, _ tool.Scope, in ServicesUpInput) (upPlan, error) {
	found, err := s.findServices(ctx, in.Path, in.File)
	if err != nil {
		return upPlan{}, err
	}
	if in.Restart && len(in.Names) == 0 {
		return upPlan{}, project.ErrArgument.WithMessage("restart is for services that names says")
	}
	chosen, err := project.PickServices(found.all, in.Names)
	if err != nil {
		return upPlan{}, err
	}
	states, err := s.states(ctx, found.label())
	if err != nil {
		return upPlan{}, err
	}
	p := upPlan{in: in, found: found}
	var shown, bare []shownService
	risk, names := policy.RiskMedium, []string{}
	for _, one := range chosen {
		step, view, err := s.serviceStep(ctx, found, one)
		if err != nil {
			f := fault.From(err)
			return upPlan{}, f.WithMessage("service %q: %s", one.Name, f.Message)
		}
		if state, ran := states[one.Name]; ran && !state.Status.Final() {
			step.running, view.Runs = state.ID, "it stays"
			if in.Restart && slices.Contains(in.Names, one.Name) {
				view.Runs = "it is stopped first"
			}
		}
		p.steps, shown, names = append(p.steps, step), append(shown, view), append(names, one.Name)
		risk = max(risk, view.Findings.Risk())
		view.Code = process.Code{}
		bare = append(bare, view)
	}
	site := found.site
	plan := func(steps []shownService) (runner.Plan, error) {
		return runner.NewPlan(ServicesUp.Name, fmt.Sprintf("start services of %s: %s", found.file, strings.Join(names, ", ")),
			map[string]any{"project": projectRef{site.Project.ID, site.Project.Name, site.Project.Path}, "file": found.file, "stops_with_the_call": in.Attached, "steps": steps},
			policy.Assessment{Strength: policy.Simple, Risk: risk, Scope: string(site.Project.ID) + "/services/" + found.label()})
	}
	less, err := plan(bare)
	if err != nil {
		return p, err
	}
	p.Plan, err = plan(shown)
	p.Plan = p.Plan.BoundBut(less).WithProject(site.Project.Name).Covering("services", found.file, site.Project.Name)
	return p, err
}

// serviceStep determines how a service is started.
func (s scriptService) serviceStep(ctx context.Context, found foundServices, one project.Service) (serviceStep, shownService, error) {
	dir, _, err := s.Runner.Dirs.Resolve(ctx, path.Join(found.site.Dir, one.Dir), []string{found.site.Root})
	if err != nil {
		return serviceStep{}, shownService{}, err
	}
	around, err := s.Runner.Around(ctx, found.site.Root, dir)
	if err != nil {
		return serviceStep{}, shownService{}, err
	}
	env, err := s.Runner.Environment(around, found.site.Project, one.Env)
	if err != nil {
		return serviceStep{}, shownService{}, err
	}
	step := serviceStep{service: one, command: runner.Command{Root: found.site.Root, Dir: dir, Texts: []string{one.Command}}}
	if step.examined, err = s.Runner.Examine(ctx, around, step.command); err != nil {
		return step, shownService{}, err
	}
	argv, plain := s.Runner.Parser.Parse(one.Command).Argv()
	if !plain {
		argv = []string{shell, "-c", one.Command}
	}
	view := shownService{Name: one.Name, Command: one.Command, Argv: argv, Dir: dir, Env: one.Env, After: one.DependsOn, Ready: readyWords(one.Ready), Scripts: step.examined.Scripts,
		Settings: step.examined.Settings, Code: step.examined.Code,
		Findings: append(slices.Clone(step.examined.Findings), s.Runner.Hidden(append(step.examined.Parts(), one.Command)...)...)}
	if one.Ready.Waits() {
		view.ReadyMS = one.Ready.Timeout().Milliseconds()
	}
	if most := one.MaxRestarts(); most > 0 {
		view.NotBound = append(slices.Clone(view.NotBound), "files are read again at every restart")
		view.Restart = fmt.Sprintf("%s, at most %d times, first after %v", one.Restart, most, one.Backoff())
		argv = append([]string{shell, "-c", again, "service", one.Restart, strconv.Itoa(most), strconv.FormatInt(one.Backoff().Milliseconds(), 10)}, argv...)
	}
	step.spec = process.Spec{Argv: argv, Dir: dir, Env: env.Vars, Secrets: env.Secrets}
	return step, view, nil
}

// stillService fails with project.ErrConflict if a service would start something other than what was approved.
func (s scriptService) stillService(ctx context.Context, found foundServices, step serviceStep, same func(now, before runner.ExamineResult) bool) error {
	now, _, err := s.serviceStep(ctx, found, step.service)
	if err == nil && (!same(now.examined, step.examined) || now.spec.Dir != step.spec.Dir) {
		err = project.ErrConflict.WithMessage("what service %s starts was changed since it was confirmed: %s; call again to see the new plan", step.service.Name, now.examined.Changed(step.examined))
	}
	return err
}

// up starts the services one after the other. If one fails, those that were started are stopped.
func (s scriptService) up(ctx context.Context, sc tool.Scope, p upPlan) (ServiceList, error) {
	for _, step := range p.steps {
		if err := s.stillService(ctx, p.found, step, runner.ExamineResult.Same); err != nil {
			return ServiceList{}, err
		}
	}
	var begun []process.ID
	failed := func(err error) (ServiceList, error) {
		return ServiceList{}, errors.Join(err, s.stopAll(context.WithoutCancel(ctx), begun))
	}
	for i, step := range p.steps {
		if step.running != "" {
			if !p.in.Restart || !slices.Contains(p.in.Names, step.service.Name) {
				continue
			}
			if _, err := s.Runner.Processes.Stop(ctx, step.running, runner.StopGrace); err != nil {
				return failed(err)
			}
		}
		if i > 0 { // earlier ones may have run for long
			if err := s.stillService(ctx, p.found, step, runner.ExamineResult.Alike); err != nil {
				return failed(err)
			}
		}
		spec := step.spec
		spec.Labels = runner.Labels(p.found.site.Project, sc, map[string]string{runner.LabelScript: step.service.Name, runner.LabelServices: p.found.label(),
			runner.LabelCommand: step.service.Command, runner.LabelPlace: fmt.Sprintf("%03d", s.place(p.found, step.service.Name))})
		state, err := s.Runner.Processes.Start(ctx, spec)
		if err != nil {
			return failed(err)
		}
		begun = append(begun, state.ID)
		sc.Progress(tool.Progress{Done: int64(i), Total: int64(len(p.steps)), Message: fmt.Sprintf("service %s runs as %s (pid %d)", step.service.Name, state.ID, state.PID)})
		if err := s.awaitReady(ctx, step.service, state.ID); err != nil {
			return failed(err)
		}
	}
	if !p.in.Attached {
		return s.listed(ctx, p.found, s.of(p))
	}
	for _, id := range begun {
		if err := s.ended(ctx, id); err != nil {
			break
		}
	}
	if err := s.stopAll(context.WithoutCancel(ctx), begun); err != nil {
		return ServiceList{}, err
	}
	out, err := s.listed(context.WithoutCancel(ctx), p.found, s.of(p))
	if err == nil && ctx.Err() != nil {
		err = project.ErrCancelled.WithMessage("the services were stopped with the call that started them").WithDetails(out)
	}
	return out, err
}

func (s scriptService) of(p upPlan) (out []project.Service) {
	for _, step := range p.steps {
		out = append(out, step.service)
	}
	return out
}

func (s scriptService) place(found foundServices, name string) int {
	return slices.IndexFunc(found.all, func(one project.Service) bool { return one.Name == name })
}

// ended waits until a process has ended.
func (s scriptService) ended(ctx context.Context, id process.ID) error {
	for at := process.Cursor(0); ; {
		chunk, err := s.Runner.Processes.Watch(ctx, id, at)
		switch {
		case err != nil:
			return err
		case ctx.Err() != nil:
			return ctx.Err()
		case chunk.Ended:
			return nil
		}
		at = chunk.Next
	}
}

// stopAll stops processes, the last started first.
func (s scriptService) stopAll(ctx context.Context, ids []process.ID) error {
	var failures error
	for _, id := range slices.Backward(ids) {
		_, err := s.Runner.Processes.Stop(ctx, id, runner.StopGrace)
		failures = errors.Join(failures, err)
	}
	return failures
}

// awaitReady waits until a service is ready. It fails with project.ErrExecutionFailed if it ends before, and with ErrExecutionTimeout if it takes too
// long.
func (s scriptService) awaitReady(ctx context.Context, one project.Service, id process.ID) error {
	if !one.Ready.Waits() {
		return nil
	}
	limited, cancel := context.WithTimeout(ctx, one.Ready.Timeout())
	defer cancel()
	pattern, err := regexp.Compile(one.Ready.Log)
	if err != nil {
		return err
	}
	at := process.Cursor(0)
	for {
		pause, end := context.WithTimeout(limited, probeEvery)
		chunk, err := s.Runner.Processes.Watch(pause, id, at)
		ready := false
		switch {
		case err != nil:
		case one.Ready.Log != "":
			ready = slices.ContainsFunc(chunk.Lines, func(l process.Line) bool { return pattern.MatchString(l.Text) })
		case one.Ready.Port != 0:
			ready = s.Probes.Listens(limited, one.Ready.Port)
		default:
			ready = s.Probes.Answers(limited, one.Ready.HTTP)
		}
		if at = chunk.Next; err == nil && !ready && !chunk.Ended && one.Ready.Log == "" {
			<-pause.Done()
		}
		end()
		switch {
		case err != nil:
			return err
		case ready && !chunk.Ended:
			return nil
		case chunk.Ended:
			return project.ErrExecutionFailed.WithMessage("service %s ended before it was ready; get_background_process_output of %s shows what it printed", one.Name, id)
		case ctx.Err() != nil:
			return project.ErrCancelled.WithMessage("waiting for service %s was cancelled", one.Name)
		case limited.Err() != nil:
			return project.ErrExecutionTimeout.WithMessage("service %s was not ready within %v: %s; get_background_process_output of %s shows what it printed", one.Name, one.Ready.Timeout(), readyWords(one.Ready), id)
		}
	}
}

// downPlan is the plan to stop services, in that order.
type downPlan struct {
	runner.Plan
	found foundServices
	ids   []process.ID
}

func (s scriptService) planDown(ctx context.Context, sc tool.Scope, in ServicesDownInput) (downPlan, error) {
	found, err := s.findServices(ctx, in.Path, in.File)
	if err != nil {
		return downPlan{}, err
	}
	states, err := s.states(ctx, found.label())
	if err != nil {
		return downPlan{}, err
	}
	for _, name := range in.Names {
		if _, ran := states[name]; !ran && s.place(found, name) < 0 {
			return downPlan{}, project.ErrArgument.WithMessage("service %q not found", name)
		}
	}
	running := []process.State{}
	for _, name := range slices.Sorted(maps.Keys(states)) {
		if state := states[name]; !state.Status.Final() && (len(in.Names) == 0 || slices.Contains(in.Names, name)) {
			running = append(running, state)
		}
	}
	slices.SortStableFunc(running, func(a, b process.State) int {
		return strings.Compare(b.Labels[runner.LabelPlace], a.Labels[runner.LabelPlace])
	})
	p := downPlan{found: found}
	stops, names, risk := []stopAbout{}, []string{}, policy.RiskMedium
	for _, state := range running {
		v := runner.ProcessOf(state)
		one := stopAbout{ID: v.ID, PID: v.PID, Script: v.ScriptName, Project: v.ProjectPath, Command: state.Labels[runner.LabelCommand], StartedAt: v.StartedAt, Client: v.Client}
		if v.Client != sc.Client {
			one.Other, risk = "it was started by another client, whose work this ends", policy.RiskHigh
		}
		stops, names, p.ids = append(stops, one), append(names, v.ScriptName), append(p.ids, v.ID)
	}
	summary := fmt.Sprintf("stop services of %s: %s", found.file, strings.Join(names, ", "))
	if len(names) == 0 {
		summary = fmt.Sprintf("no service of %s runs", found.file)
	}
	p.Plan, err = runner.NewPlan(ServicesDown.Name, summary, map[string]any{"file": found.file, "stops": stops},
		policy.Assessment{Strength: policy.Simple, Risk: risk, Scope: string(found.site.Project.ID) + "/services/" + found.label()})
	return p, err
}

func (s scriptService) down(ctx context.Context, _ tool.Scope, p downPlan) (ServiceList, error) {
	slices.Reverse(p.ids)
	if err := s.stopAll(ctx, p.ids); err != nil {
		return ServiceList{}, err
	}
	return s.listed(ctx, p.found, p.found.all)
}
