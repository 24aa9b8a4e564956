package archtest

import "slices"

// Row is one line of the import law: what the packages it covers may import, and why no more than that.
type Row struct {
	Packages []string // directories in the module; "a/..." is a and everything below it; the longest pattern that matches rules
	Std      []string // standard library packages, or Any
	Module   []string // directories in the module, same patterns
	Modules  []string // other modules, each with everything in it
	Reason   string   // one sentence that a finding repeats
}

// Any as the only standard library entry of a Row lets everything in.
const Any = "*"

// Stem is the vocabulary of one capability: one name a layer, the same everywhere.
type Stem struct {
	Name   string   // domain/pack
	Port   string   // ports/packport
	Slice  string   // app/packs
	Store  string   // adapters/packfile
	Adapts []string // the other modules its store needs

	Engines []string // packages of ours that its store is built on, besides documents and YAML
}

// Stems are the five capabilities of the product.
func Stems() []Stem {
	return []Stem{
		{Name: "pack", Port: "packport", Slice: "packs", Store: "packfile", Adapts: []string{frontmatter}},
		{Name: "deployment", Port: "deployport", Slice: "deployments", Store: "deployfile", Adapts: []string{xSys}, Engines: []string{"adapters/gitcli"}},
		{Name: "project", Port: "projectport", Slice: "projects", Store: "projectfile", Adapts: []string{shellSyntax}, Engines: []string{"adapters/docedit"}},
		{Name: "sandbox", Port: "sandboxport", Slice: "sandboxes", Store: "sandboxfile", Engines: []string{"adapters/docedit"}},
		{Name: "ecosystem", Port: "ecosystemport", Slice: "ecosystems", Store: "ecosystemfile"},
	}
}

// Dirs are the directories that belong to the capability, whether they exist or not.
func (s Stem) Dirs() []string {
	return []string{"domain/" + s.Name, "ports/" + s.Port, "app/" + s.Slice, "adapters/" + s.Store}
}

// Public are the packages that other modules may rely on. What they export is testdata/api.golden.
func Public() []string {
	return []string{
		"adapters/chat", "adapters/httpapi", "adapters/local", "adapters/mcp/mcpserver",
		"app", "app/bind", "app/control", "app/deployments", "app/ecosystems", "app/packs", "app/projects", "app/sandboxes",
		"domain/audit", "domain/confirm", "domain/fault", "domain/policy", "domain/tool", "ports", "ports/porttest",
	}
}

// The other modules that a row may name. Everything else needs a row of its own, and a reason.
const (
	mcpSDK       = "github.com/modelcontextprotocol/go-sdk"
	cobra        = "github.com/spf13/cobra"
	pflag        = "github.com/spf13/pflag"
	prettyTables = "github.com/jedib0t/go-pretty/v6"
	xTerm        = "golang.org/x/term"
	jq           = "github.com/itchyny/gojq"
	bubbletea    = "charm.land/bubbletea/v2"
	xTime        = "golang.org/x/time"
	xSys         = "golang.org/x/sys"
	xSync        = "golang.org/x/sync"
	xText        = "golang.org/x/text"
	xCrypto      = "golang.org/x/crypto"
	sqlite       = "modernc.org/sqlite"
	fsnotify     = "github.com/fsnotify/fsnotify"
	beeep        = "github.com/gen2brain/beeep"
	goKeyring    = "github.com/zalando/go-keyring"
	flock        = "github.com/gofrs/flock"
	yaml         = "go.yaml.in/yaml/v4"
	frontmatter  = "github.com/adrg/frontmatter"
	uuid         = "github.com/google/uuid"
	hujson       = "github.com/tailscale/hujson"
	toml         = "github.com/BurntSushi/toml"
	goInternal   = "github.com/rogpeppe/go-internal"
	deriveSchema = "github.com/invopop/jsonschema"
	checkSchema  = "github.com/google/jsonschema-go"
	shellSyntax  = "mvdan.cc/sh/v3"
	goldmark     = "github.com/yuin/goldmark"
	vmMetrics    = "github.com/VictoriaMetrics/metrics"
	webauthn     = "github.com/go-webauthn/webauthn"
	chromium     = "github.com/chromedp/chromedp"

	chromiumProtocol = "github.com/chromedp/cdproto"
	colourProfile    = "github.com/charmbracelet/colorprofile"
	terminalText     = "github.com/charmbracelet/x/ansi"
)

const testify = "github.com/stretchr/testify"

// testLibraries are what tests and suites may lean on.
var testLibraries = []string{testify, "github.com/rogpeppe/go-internal", "go.uber.org/goleak", "pgregory.net/rapid"}

// pure is the part of the standard library that cannot touch the machine. Package time is in it for its types; Pure bans its clock.
var pure = []string{
	"bytes", "cmp", "context", "crypto/sha256", "encoding", "encoding/base32", "encoding/base64", "encoding/binary", "encoding/hex",
	"encoding/json", "errors", "fmt", "io", "io/fs", "iter", "maps", "math", "math/bits", "net/netip", "net/url", "path", "regexp", "slices", "strconv", "strings", "time",
	"unicode", "unicode/utf8",
}

// kernel are the domain packages every capability may build on.
var kernel = []string{
	"domain/access", "domain/audit", "domain/canon", "domain/confirm", "domain/enrolled", "domain/fault", "domain/git", "domain/notice", "domain/outline", "domain/owner", "domain/policy", "domain/process",
	"domain/redact", "domain/relpath", "domain/spelling", "domain/tool", "domain/visible",
}

// Law is the import table of this module.
func Law() []Row {
	rows := slices.Concat(domainRows(), coreRows(), drivingRows(), drivenRows(), outerRows())
	for _, s := range Stems() {
		rows = append(rows, stemRows(s)...)
	}
	return rows
}

func domainRows() []Row {
	return []Row{
		{Packages: []string{"domain/fault"}, Std: pure,
			Reason: "every package depends on the one error, so it depends on nothing that can fail"},
		{Packages: []string{"domain/redact"}, Std: pure, Module: []string{"domain/fault"},
			Reason: "masking is text in, text out, wherever the text comes from"},
		{Packages: []string{"domain/outline"}, Std: pure,
			Reason: "what a text defines is read off the text alone"},
		{Packages: []string{"domain/spelling"}, Std: []string{"strings"},
			Reason: "which word was meant is a question of letters alone"},
		{Packages: []string{"domain/visible"}, Std: pure,
			Reason: "what a reader cannot see is a question of characters alone"},
		{Packages: []string{"domain/canon", "domain/owner", "domain/policy", "domain/relpath", "domain/git"}, Std: pure, Module: []string{"domain/fault"},
			Reason: "a kernel value is a rule by itself; it only needs a way to fail"},
		{Packages: []string{"domain/process"}, Std: pure, Module: []string{"domain/fault", "domain/redact", "domain/relpath"},
			Reason: "a process runs in a directory that cannot leave its root, with an environment whose secrets go by name, and knows nothing else"},
		{Packages: []string{"domain/enrolled"}, Std: pure, Module: []string{"domain/canon", "domain/fault"},
			Reason: "which key proves what is a question of bytes, names and sums"},
		{Packages: []string{"domain/confirm"}, Std: pure, Module: []string{"domain/canon", "domain/fault", "domain/policy"},
			Reason: "confirmations are hashes over decisions, and know no tool"},
		{Packages: []string{"domain/audit"}, Std: append([]string{"crypto/ed25519"}, pure...), Module: []string{"domain/canon", "domain/fault", "domain/policy"},
			Reason: "audit records are hashes over decisions and know no tool; whether a head was signed is arithmetic"},
		{Packages: []string{"domain/access"}, Std: pure, Module: []string{"domain/canon", "domain/fault", "domain/policy", "domain/tool"},
			Reason: "what lets a request in says how far it reaches, in the words of the door"},
		{Packages: []string{"domain/notice"}, Std: pure,
			Reason: "what people are told knows no plan, no argument and no token, so that no message can carry one"},
		{Packages: []string{"domain/deployment/target"}, Std: append([]string{"embed"}, pure...),
			Module: []string{"domain/canon", "domain/deployment/...", "domain/fault", "domain/git", "domain/process", "domain/relpath", "domain/spelling"},
			Reason: "where hosts read is data, in the binary, and needs no machine"},
		{Packages: []string{"domain/deployment/inspection"}, Std: pure, Module: []string{"domain/deployment", "domain/visible"}, Modules: []string{xText},
			Reason: "what a text reads like is a question of Unicode's tables, which the library has, and of words"},
		{Packages: []string{"domain/tool"}, Std: pure, Module: kernel,
			Reason: "the vocabulary of the door is made of kernel values and must not know what stands behind it"},
	}
}

func stemRows(s Stem) []Row {
	values := []string{"domain/canon", "domain/fault", "domain/git", "domain/process", "domain/relpath", "domain/spelling", "domain/visible"}
	own := "domain/" + s.Name + "/..."
	return []Row{
		{Packages: []string{own}, Std: pure, Module: append([]string{own}, values...),
			Reason: "capabilities never meet: what two of them need moves into the kernel"},
		{Packages: []string{"ports/" + s.Port}, Std: pure, Module: append([]string{own}, kernel...),
			Reason: "a port is written in the words of its own domain"},
		{Packages: []string{"app/" + s.Slice + "/..."}, Std: pure, Modules: []string{xSync},
			Module: slices.Concat(kernel, []string{own, "app/bind", "app/" + s.Slice + "/...", "ports", "ports/" + s.Port}),
			Reason: "use cases reach the world through ports and other capabilities through the door"},
		{Packages: []string{"adapters/" + s.Store + "/..."}, Std: []string{Any}, Modules: append([]string{xSync}, s.Adapts...),
			Module: slices.Concat(kernel, []string{own, "ports", "ports/" + s.Port, "adapters/docfile", "adapters/yamlcodec", "adapters/" + s.Store + "/..."}, s.Engines),
			Reason: "a capability's on-disk format serves that capability alone"},
	}
}

func coreRows() []Row {
	return []Row{
		{Packages: []string{"ports"}, Std: pure, Module: kernel,
			Reason: "what the core needs from outside is said in kernel words"},
		{Packages: []string{"app"}, Std: slices.Concat(pure, []string{"log/slog", "runtime/debug", "sync", "sync/atomic"}), Modules: []string{xSync},
			Module: append([]string{"ports"}, kernel...),
			Reason: "the pipeline knows no capability and no technology; capabilities are handed to it as values"},
		{Packages: []string{"app/bind"}, Std: slices.Concat(pure, []string{"reflect", "sync"}), Modules: []string{deriveSchema, checkSchema}, Module: kernel,
			Reason: "the only reflection in the product is here, so that the schema library can be exchanged in one place"},
		{Packages: []string{"app/control"}, Std: pure, Modules: []string{xSync}, Module: slices.Concat(kernel, []string{"app", "app/bind", "ports"}),
			Reason: "the pipeline's own tools are tools like any other"},
	}
}

func drivingRows() []Row {
	door := slices.Concat(kernel, []string{"app", "adapters/present"})
	const reason = "a transport sees the door, the presenters and the kernel; never a use case, a repository or a port"
	const people = "what people use sees the door, and the types of what tools take and answer, which are declared once; archtest.Answers looks at what it takes of them"
	answers := []string{"app/control"}
	for _, s := range Stems() {
		answers = append(answers, "app/"+s.Slice+"/...")
	}
	return []Row{
		{Packages: []string{"adapters/mcp/..."}, Std: []string{Any}, Module: append([]string{"adapters/mcp/...", "adapters/httpauth"}, door...), Modules: []string{xSync, mcpSDK}, Reason: reason},
		{Packages: []string{"adapters/cli/..."}, Std: []string{Any}, Module: append(slices.Concat([]string{"adapters/cli/...", "adapters/gitcli", "adapters/system"}, answers), door...),
			Modules: []string{xSync, cobra, pflag, prettyTables, xTerm, jq, bubbletea, colourProfile, terminalText}, Reason: people},
		{Packages: []string{"adapters/mcp/wire"}, Std: []string{Any},
			Reason: "framing finds where messages begin and end, and knows nothing of what they say"},
		{Packages: []string{"adapters/chat", "adapters/httpauth"}, Std: []string{Any}, Module: door, Modules: []string{xSync}, Reason: reason},
		{Packages: []string{"adapters/httpapi/..."}, Std: []string{Any}, Module: append([]string{"adapters/httpapi/...", "adapters/httpauth"}, door...),
			Modules: []string{xSync, vmMetrics}, Reason: reason},
		{Packages: []string{"adapters/console/..."}, Std: []string{Any}, Module: slices.Concat([]string{"adapters/console/...", "adapters/httpauth", "adapters/httpapi/events", "adapters/passkey"}, answers, door),
			Modules: []string{xSync, goldmark}, Reason: people},
		{Packages: []string{"adapters/present"}, Std: []string{Any}, Module: kernel,
			Reason: "a contract's wire form is a pure function of an outcome"},
	}
}

func drivenRows() []Row {
	inner := []string{"domain/...", "ports/..."}
	return []Row{
		{Packages: []string{"adapters/system"}, Std: []string{Any}, Module: append([]string{"adapters/docfile", "adapters/osproc"}, inner...),
			Modules: []string{xSync, xSys, xTime, fsnotify, uuid},
			Reason:  "clock, randomness, free space, who runs, what changes in files and how often something may happen come from the operating system through one package"},
		{Packages: []string{"adapters/isolation"}, Std: []string{Any}, Module: append([]string{"domain/sandbox"}, inner...), Modules: []string{xSys},
			Reason: "what the kernel keeps from programs is asked of it in one package"},
		{Packages: []string{"adapters/passkey"}, Std: []string{Any}, Module: inner, Modules: []string{webauthn},
			Reason: "what browsers sign is judged in one package, so that the library that does it stays exchangeable"},
		{Packages: []string{"adapters/notify"}, Std: []string{Any}, Module: append([]string{"adapters/docfile"}, inner...), Modules: []string{beeep},
			Reason: "people are told in one package, by rules that stand in the domain, so that the library that knows each desktop stays exchangeable"},
		{Packages: []string{"adapters/forge"}, Std: []string{Any}, Module: append([]string{"adapters/gitcli", "domain/ecosystem", "ports/ecosystemport"}, inner...),
			Reason: "the programs of the sites that host repositories are started in one package, outside of every repository; they reach what git may reach"},
		{Packages: []string{"adapters/keychain"}, Std: []string{Any}, Module: inner, Modules: []string{goKeyring},
			Reason: "the keychain of the system is read in one package, so that the library that knows each system stays exchangeable"},
		{Packages: []string{"adapters/sshkeys"}, Std: []string{Any}, Module: inner, Modules: []string{xCrypto},
			Reason: "ssh keys and their agent are known in one package, and what they sign is judged there"},
		{Packages: []string{"adapters/yamlcodec"}, Std: []string{Any}, Module: inner, Modules: []string{yaml},
			Reason: "the YAML library stays exchangeable behind one package"},
		{Packages: []string{"adapters/docfile"}, Std: []string{Any}, Module: inner, Modules: []string{xSync, flock},
			Reason: "durable documents are an engine below the stores and know none of them"},
		{Packages: []string{"adapters/anchoring"}, Std: []string{Any}, Module: append([]string{"adapters/docfile"}, inner...),
			Reason: "what the record is held against is files, the system's journal and places handed in; it knows no store"},
		{Packages: []string{"adapters/sqlitestore"}, Std: []string{Any}, Module: append([]string{"adapters/docfile"}, inner...), Modules: []string{xSync, sqlite},
			Reason: "SQL is spoken in one package"},
		{Packages: []string{"adapters/homearchive"}, Std: []string{Any}, Module: append([]string{"adapters/anchoring", "adapters/docfile", "adapters/sqlitestore"}, inner...),
			Reason: "a backup is of a home as its parts keep it: their files, locks and copies are asked of them"},
		{Packages: []string{"adapters/docedit"}, Std: []string{Any}, Module: append([]string{"adapters/yamlcodec"}, inner...), Modules: []string{hujson, toml, goInternal},
			Reason: "documents of other programs are edited in one place, whatever library reads them"},
		{Packages: []string{"adapters/opencode"}, Std: []string{Any}, Module: inner,
			Reason: "what speaks to agent servers knows how they are spoken to, and nothing of who may"},
		{Packages: []string{"adapters/webhookhttp"}, Std: []string{Any}, Module: inner,
			Reason: "requests to hosts outside are made, and those from outside taken, in one package, by rules that stand in the domain"},
		{Packages: []string{"adapters/gitcli/...", "adapters/osproc"}, Std: []string{Any},
			Module: append([]string{"adapters/docfile", "adapters/yamlcodec", "adapters/gitcli/...", "adapters/osproc"}, inner...), Modules: []string{xSync},
			Reason: "a driven adapter implements ports over one technology and knows no other adapter"},
	}
}

func outerRows() []Row {
	return []Row{
		{Packages: []string{"adapters/local/..."}, Std: []string{Any}, Module: []string{"domain/...", "ports/...", "app/...", "adapters/..."}, Modules: []string{xSync},
			Reason: "wiring knows everything but the commands, and adapts nothing itself"},
		{Packages: []string{"cmd/..."}, Std: []string{Any}, Module: []string{"domain/...", "app/...", "adapters/...", "cmd/internal/..."},
			Reason: "a command chooses adapters and starts them"},
		{Packages: []string{"internal/testkit/stdiotest", "internal/testkit/archtest"}, Std: []string{Any}, Modules: append([]string{xSync}, testLibraries...),
			Reason: "what judges the product from outside shares no code with it"},
		{Packages: []string{"internal/testkit/conformanceserver"}, Std: []string{Any}, Module: []string{"domain/...", "adapters/mcp/...", "adapters/httpauth"}, Modules: []string{mcpSDK},
			Reason: "what the official suite wants to find is served by the product's own server, and is not in the product"},
		{Packages: []string{"internal/testkit/securitykey"}, Std: []string{Any}, Modules: append([]string{xCrypto}, testLibraries...),
			Reason: "what plays a security key shares no code with what judges it"},
		{Packages: []string{"internal/testkit/hosts"}, Std: []string{Any}, Module: []string{"internal/testkit/browser", "internal/testkit/laptop"}, Modules: []string{xSys},
			Reason: "what drives agent hosts, a person's terminal and their browser sees the program as they do, and shares no code with it"},
		{Packages: []string{"internal/testkit/house"}, Std: []string{Any}, Module: []string{"internal/testkit/golden"}, Modules: append([]string{xSys}, testLibraries...),
			Reason: "what measures the product reads its source and starts its program, and shares no code with it"},
		{Packages: []string{"internal/testkit/browser"}, Std: []string{Any}, Modules: []string{chromium, chromiumProtocol},
			Reason: "what drives a browser sees pages as people do, and shares no code with what serves them"},
		{Packages: []string{"ports/porttest"}, Std: []string{Any}, Module: append([]string{"ports"}, kernel...), Modules: []string{testify},
			Reason: "who writes an adapter outside this module runs the suites of its ports, which know no adapter and no test tool of ours"},
		{Packages: []string{"internal/testkit/memstore"}, Std: []string{Any}, Module: []string{"domain/...", "ports/..."}, Modules: []string{xSync},
			Reason: "storage in memory is what tests of use cases stand on, and knows no store of the product"},
		{Packages: []string{"internal/testkit/packtest", "internal/testkit/cataloguetest"}, Std: []string{Any},
			Module: []string{"domain/...", "ports/...", "internal/testkit/clock", "internal/testkit/ids"}, Modules: testLibraries,
			Reason: "a conformance suite proves ports and knows no adapter"},
		{Packages: []string{"internal/testkit/resultschema"}, Std: []string{Any}, Module: []string{"domain/tool", "adapters/present"}, Modules: append([]string{checkSchema}, testLibraries...),
			Reason: "what holds answers to published schemas reads both as a client does"},
		{Packages: []string{"internal/testkit/..."}, Std: []string{Any}, Module: []string{"domain/...", "ports/...", "app/...", "adapters/...", "internal/testkit/..."},
			Modules: append([]string{xSync}, testLibraries...),
			Reason:  "suites and tools for tests may see the product, and the product never sees them"},
	}
}
