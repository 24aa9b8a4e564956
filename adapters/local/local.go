package local

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/countersign-dev/countersign/adapters/anchoring"
	"github.com/countersign-dev/countersign/adapters/gitcli"
	"github.com/countersign-dev/countersign/adapters/homearchive"
	"github.com/countersign-dev/countersign/adapters/notify"
	"github.com/countersign-dev/countersign/adapters/osproc"
	"github.com/countersign-dev/countersign/adapters/passkey"
	"github.com/countersign-dev/countersign/adapters/sandboxfile"
	"github.com/countersign-dev/countersign/adapters/sqlitestore"
	"github.com/countersign-dev/countersign/adapters/sshkeys"
	"github.com/countersign-dev/countersign/adapters/system"
	"github.com/countersign-dev/countersign/app"
	"github.com/countersign-dev/countersign/app/sandboxes"
	"github.com/countersign-dev/countersign/domain/enrolled"
	"github.com/countersign-dev/countersign/domain/policy"
	"github.com/countersign-dev/countersign/domain/redact"
	"github.com/countersign-dev/countersign/domain/tool"
	"github.com/countersign-dev/countersign/ports"
)

// database is the file in a home that nearly all of its state is in.
const database = "countersign.db"

// Config says where data is stored and how the core is configured. The zero Config keeps its state in the directory from the environment and allows
// no change; start Options from Defaults, or take the whole Config from Environment.
type Config struct {
	Dir         string              // directory of Countersign's own state; default $COUNTERSIGN_HOME, else ~/.countersign
	Packs       Packs               // where context packs are
	Deployments Deployments         // where deployments work
	Projects    Projects            // how projects' programs are started
	Sandboxes   Sandboxes           // how the gateway of agent servers is started
	Ecosystems  Ecosystems          // how the runs of ecosystems are carried out
	Notify      Notify              // how users are notified of pending approvals
	Options     app.Options         // policy and limits
	Trust       Trust               // location of the policy layers that no caller chooses
	Toolsets    []string            // enabled if Options.Serve selects nothing; unknown ones are ignored. Empty: all
	Journal     string              // socket of the system's journal, for heads of the audit log; default anchoring.JournalSocket
	Log         *slog.Logger        // default: discard
	Notice      func(line string)   // called with messages for users about events that are not failures; may be nil
	Known       func() []string     // secrets of this process, redacted wherever they appear; called once, when needed; may be nil
	Env         func(string) string // default os.Getenv
}

// Local is the core with the resources that it holds open.
type Local struct {
	*app.App
	config         Config
	operator       policy.Policy // the policy that no user settings change while the process runs
	store          *sqlitestore.Store
	archive        *homearchive.Archive
	audit          *anchoring.AnchoredLog
	notifier       *notify.Notifier
	processes      func() *osproc.Processes        // of projects
	servers        func() *osproc.Processes        // of sandboxes
	files          func() *sandboxfile.Store       // likewise
	projectManager func() sandboxes.ProjectManager // likewise
	ecosystem      func() *EcosystemHost           // of ecosystems
	atClose        []func() error
}

// Defaults returns the default options: the toolsets' own modes up to execute, execute_with_confirm.
func Defaults() app.Options {
	return app.Options{Policy: policy.Policy{Ceiling: policy.Execute, Level: policy.ExecuteWithConfirm}}
}

// Open assembles the core. The caller closes it. It fails with app.ErrWiring when Config names what does not exist.
func Open(c Config) (*Local, error) {
	c, err := c.complete()
	if err != nil {
		return nil, err
	}
	archive := c.archive()
	if err := archive.Resume(context.Background()); err != nil {
		return nil, err
	}
	above, err := c.Trust.fixed(c.Dir)
	if err != nil {
		return nil, err
	}
	forgotten, err := c.Trust.forgotten()
	if err != nil {
		return nil, err
	}
	c.Options.Forgotten = slices.Concat(c.Options.Forgotten, forgotten)
	store := sqlitestore.Open(filepath.Join(c.Dir, database))
	store.OnUpgrade(c.upgraded)
	record := c.recorded(store)
	archive.KeepIn(record, sqlitestore.NewCatalogue(store).Rules.List)
	leases := system.NewLeases(filepath.Join(c.Dir, "owners"))
	owners := system.NewOwners(leases, system.Clock{}, c.Log)
	core := c.core(store, record, leases, owners)
	told := c.notifier(core)
	core.Notifier = told
	fixed := policy.Resolve(c.Options.Policy, slices.Concat(above, c.Options.Below)...)
	c.Options.Above, c.Options.Serve.ReadOnly = above, c.Options.Serve.ReadOnly || fixed.ReadOnly
	c.Options.Strange = c.Trust.strange(c.Dir)
	l := &Local{config: c, store: store, archive: archive, operator: fixed.Policy, audit: record, notifier: told, atClose: []func() error{owners.Close}}
	sets := l.toolsets(core)
	c.Options.Serve = c.selection(sets)
	caps, options := choose(sets, c.Options)
	if slices.ContainsFunc(caps, func(c tool.Capability) bool { return c.Name == EcosystemToolset }) {
		options = l.ecosystem().Over(options)
	}
	options.Place, options.Sight = c.place(), viewID()
	account, closing := c.Trust.account(c.Dir)
	if account != nil {
		account.OnUpgrade(c.upgraded)
		core.Account, core.AccountAudit = account, account
		l.atClose = append(l.atClose, closing)
	}
	if l.App, err = app.New(core, options, caps...); err != nil {
		return nil, errors.Join(err, store.Close())
	}
	return l, nil
}

// core returns what the core needs besides toolsets. It opens nothing.
func (c Config) core(store *sqlitestore.Store, record ports.AuditLog, leases ports.Leases, owners ports.ProcessIdentity) app.Dependencies {
	redactor := sync.OnceValue(func() *redact.Redactor {
		var known []string
		if c.Known != nil {
			known = c.Known()
		}
		return redact.New(redact.Options{Known: known})
	})
	return app.Dependencies{
		Clock: system.Clock{}, IDs: system.IDs{}, Tokens: system.Tokens{}, Ledger: sqlitestore.NewLedger(store), Dated: sqlitestore.NewDated(store), Audit: record, Settings: store, Sessions: store.Sessions(),
		Runs: sqlitestore.NewRuns(store), Owner: owners, Leases: leases, Outreach: gitcli.Outreach{}, Bell: system.NewBell(filepath.Join(c.Dir, "signals"), c.Log), Limiter: system.NewLimiter(system.Clock{}, rates), Redact: redactor, Log: c.Log, Home: func() string { return homeIdentity(c.Dir) },
		Keys: sqlitestore.NewKeys(store), Verifiers: map[enrolled.Kind]ports.KeyVerifier{enrolled.Passkey: passkey.Verifier{}, enrolled.SecurityKey: sshkeys.Verifier{}},
	}
}

// place identifies the working directory for tools, and other settings that select their directories. It differs between processes in different
// directories.
func (c Config) place() string {
	dir, err := filepath.Abs(c.Deployments.Dir)
	if err != nil { // the directory was deleted
		return "?"
	}
	around := []string{dir, c.Packs.Source, c.Packs.Root}
	for _, name := range []string{"HOME", "AGENTPACK_HOME", "AGENTPACK_PROJECT_ROOT", "CODEX_HOME", "AMOF_HOME", "AMOF_WORKSPACE_ROOT"} {
		around = append(around, c.Env(name))
	}
	if scope := c.Env("AGENTPACK_SCOPE"); scope != "" { // other processes cannot compute plans narrowed by --scope
		around = append(around, scope)
	}
	return strings.Join(around, "\n")
}

// viewID distinguishes processes of one place that see different files: those of another mount namespace or user.
func viewID() string {
	mounts, _ := os.Readlink("/proc/self/ns/mnt") // elsewhere there are none
	return mounts + " " + strconv.Itoa(os.Getuid())
}

// Owner returns the user of this machine, with the permissions from the options: all, or read-only.
func (l *Local) Owner() policy.Principal {
	if l.config.Options.Serve.ReadOnly {
		return policy.Principal{ID: "local", Grants: app.ReadOnlyPermissions}
	}
	return policy.Principal{ID: "local", Grants: policy.All}
}

// SourceRoot is the absolute directory that the paths of anchors begin at.
func (l *Local) SourceRoot() string { return l.config.Packs.Source }

// Close writes pending data and closes what was opened. A second Close does nothing.
func (l *Local) Close() error {
	l.notifier.Close(context.Background())
	err := l.App.Close(context.Background())
	record := func() error {
		l.audit.Close(context.Background()) //nolint:errcheck // what an anchor does not know yet, the next process puts there
		return nil
	}
	finish := func() error { return l.archive.Finish(context.Background()) } // complete a prepared restore, now that nothing here is open
	for _, closing := range append(l.atClose, record, l.store.Close, finish) {
		if closeErr := closing(); err == nil {
			err = closeErr
		}
	}
	return err
}

func (c Config) complete() (Config, error) {
	if c.Env == nil {
		c.Env = os.Getenv
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.Journal == "" {
		c.Journal = anchoring.JournalSocket
	}
	var err error
	if c.Dir, err = c.home(); err != nil {
		return c, err
	}
	c.Packs, err = c.Packs.complete(c.Env)
	return c, err
}

// home is the directory of Countersign's own state.
func (c Config) home() (string, error) {
	if c.Dir != "" {
		return c.Dir, nil
	}
	if dir := c.Env("COUNTERSIGN_HOME"); dir != "" {
		return dir, nil
	}
	home, err := os.UserHomeDir()
	if err != nil { // hosts start servers with a minimal environment
		if me, lookUp := user.Current(); lookUp == nil && me.HomeDir != "" {
			home, err = me.HomeDir, nil
		}
	}
	if err != nil {
		return "", app.ErrWiring.WithMessage("the home directory is unknown; set COUNTERSIGN_HOME").WithCause(err)
	}
	return filepath.Join(home, ".countersign"), nil
}
