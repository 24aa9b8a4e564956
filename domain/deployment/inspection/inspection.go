// Package inspection scans the files of modules for what a user should know before agents read them: invisible characters, text that asks an agent to
// ignore its instructions or to send something away, commands, permissions granted in advance, and network addresses. It judges text, not intent: a
// finding is a reason to read, and no finding is no guarantee.
//
// Its API may change at any time.
package inspection

import (
	"bytes"
	"cmp"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/countersign-dev/countersign/domain/deployment"
	"github.com/countersign-dev/countersign/domain/visible"
)

// Severity is the severity of a finding. Its text form is low, medium or high.
type Severity string

// The severities. A high one requires the user to type a name before the content is taken over.
const (
	Low    Severity = "low"
	Medium Severity = "medium"
	High   Severity = "high"
)

// rank orders severities, the highest first.
func (s Severity) rank() int { return slices.Index([]Severity{High, Medium, Low}, s) }

// Rule is the subject of a finding.
type Rule string

// The rules.
const (
	HiddenText     Rule = "hidden_characters"    // text that a reader does not see, or reads as something else
	Bidirectional  Rule = "reading_order"        // characters that change the order in which text is read
	Override       Rule = "sets_rules_aside"     // asks an agent to ignore its instructions or to hide something from its user
	Exfiltration   Rule = "sends_secrets"        // asks for secrets to be sent somewhere
	RemoteCode     Rule = "runs_downloaded_code" // runs what it downloads
	Destruction    Rule = "destroys_files"       // a command that deletes without limits
	RunsCommands   Rule = "runs_commands"        // runs commands as soon as it is used
	Programs       Rule = "program"              // a file that an agent would run
	AllowedTools   Rule = "allowed_tools"        // tools that may be used without asking
	OptionName     Rule = "option_like_name"     // a name that commands read as an option
	NetworkAddress Rule = "network_address"      // addresses that an agent may be sent to
	Unread         Rule = "not_looked_through"   // too long, or not text
)

// Finding is one thing to know about a file.
type Finding struct {
	Severity Severity `json:"severity"`
	Rule     Rule     `json:"rule"`
	ModuleID string   `json:"module_id,omitempty"` // empty for a file that belongs to no single module
	Path     string   `json:"path"`                // in the module, with slashes
	Line     int      `json:"line,omitempty"`      // counted from 1; 0 if it is about the whole file
	Text     string   `json:"text"`                // what was found, in one line without hidden characters
}

// String returns the finding in one line.
func (f Finding) String() string {
	at := f.Path
	if f.Line > 0 {
		at += fmt.Sprintf(":%d", f.Line)
	}
	if f.ModuleID != "" {
		at += " of " + f.ModuleID
	}
	return fmt.Sprintf("%s: %s in %s: %s", f.Severity, strings.ReplaceAll(string(f.Rule), "_", " "), visible.OneLine(at), f.Text)
}

// The limits of a scan.
const (
	MaxBytes = 1 << 20 // bytes of one file that are scanned
	maxEach  = 3       // findings of one rule that are listed for one file
	maxText  = 160     // characters of a line that are shown
)

// secrets are words for what must not leave a machine.
const secrets = `(api[ _-]?keys?|access[ _-]?tokens?|auth(entication)?[ _-]?tokens?|secrets?|credentials?|passwords?|private keys?|ssh keys?|session cookies?|environment variables|\.env\b|id_rsa|id_ed25519|~/\.ssh|~/\.aws|~/\.netrc|~/\.npmrc|\.git-credentials|\$\{?[a-z_]*(token|secret|password|api_?key)[a-z_]*)`

// Inspector scans files. It must not be used concurrently.
type Inspector struct {
	frontmatter deployment.FrontmatterFunc
	matchers    []compiled
	vocabulary  *vocabulary // the words of all matchers
	addresses   *expression // the URLs of a line
	folded      []byte      // the present text in the form in which words are searched
}

// New returns an inspector that uses this function to read frontmatter. Use one for many files: compiling its expressions takes longer than scanning
// a short file, and is done when a text first contains one of their words.
func New(frontmatter deployment.FrontmatterFunc) *Inspector {
	known := &vocabulary{}
	all := matchers()
	for i := range all {
		for _, word := range all[i].words {
			all[i].some |= known.add(word)
		}
	}
	return &Inspector{frontmatter: frontmatter, matchers: all, vocabulary: known,
		addresses: &expression{form: `\b(https?|wss?|ftp|ssh)://([^\s/"'<>` + "`" + `)\]]+)`}}
}

// expression is a regular expression that is compiled when it is first needed.
type expression struct {
	form string
	made *regexp.Regexp
}

func (e *expression) compiled() *regexp.Regexp {
	if e.made == nil {
		e.made = regexp.MustCompile(e.form)
	}
	return e.made
}

// matchers are tried on every line in lower case that has one of their words in it.
func matchers() (out []compiled) {
	fetches := []string{"curl", "wget", "fetch", "iwr", "invoke-webrequest"}
	transfers := []string{"curl", "wget", "nc ", "ncat", "scp", "rsync", "http "}
	for _, m := range []matcher{
		{Override, High, []string{"ignore", "disregard", "forget", "override", "bypass"},
			`\b(ignore|disregard|forget|override|bypass)\b[^.;!?]{0,30}\b(previous|prior|above|earlier|preceding|existing|system|safety|other|all|any|your)\b[^.;!?]{0,30}\b(instructions?|rules?|prompts?|guidelines?|guardrails?|restrictions?|polic(y|ies))\b`},
		{Override, High, []string{"tell", "inform", "mention", "reveal", "notify", "alert"},
			`\b(do not|don't|never|without)\b[^.;!?]{0,12}\b(tell|telling|inform|informing|mention|mentioning|reveal|revealing|notify|notifying|alert|alerting)\b[^.;!?]{0,20}\b(the )?(user|human|person|operator|developer)\b`},
		{Override, High, []string{"hide", "conceal", "keep"}, `\b(hide|conceal|keep)\b[^.;!?]{0,30}\bfrom (the )?(user|human|person|operator)\b`},
		{Exfiltration, High, []string{"send", "upload", "post", "transmit", "leak", "forward", "submit", "email", "copy"},
			`\b(send|upload|post|transmit|leak|forward|submit|email|copy)\b[^;!?]{0,60}` + secrets + `[^;!?]{0,60}\b(to|at|via)\b.{0,20}(https?://|[a-z0-9-]+\.[a-z]{2,}\b|webhook|server|endpoint|address)`},
		{Exfiltration, High, []string{"exfiltrat"}, `\bexfiltrat`},
		{Exfiltration, High, transfers, `\b(curl|wget|nc|ncat|scp|rsync|http)\b.{0,200}` + secrets},
		{Exfiltration, High, transfers, secrets + `.{0,120}\|\s*(curl|wget|nc|ncat)\b`},
		{RemoteCode, High, fetches, `\b(curl|wget|fetch|iwr|invoke-webrequest)\b[^|;&]{0,300}\|\s*(sudo\s+)?(env\s+)?(ba|z|da|fi|k)?sh\b`},
		{RemoteCode, High, fetches, `\b(curl|wget|fetch|iwr|invoke-webrequest)\b[^|;&]{0,300}\|\s*(sudo\s+)?(python|perl|ruby|node|php|iex)[0-9.]*\b`},
		{RemoteCode, High, fetches, `\b(eval|source|iex)\b.{0,20}(\$\(|<\(|\()\s*(curl|wget|iwr)\b`},
		{RemoteCode, High, []string{"base64"}, `\bbase64\b\s+(-d|--decode)\b[^|]{0,120}\|\s*(ba|z|da)?sh\b`},
		{Destruction, High, []string{"rm "}, `\brm\s+(-[a-z]+\s+)*-[a-z]*(rf|fr)[a-z]*\s+(--no-preserve-root\s+)?["']?(/|~|\$home|\$\{home\})["']?(\s|/?\*|$|[;&|])`},
		{Destruction, High, []string{"mkfs", "dd "}, `\b(mkfs(\.[a-z0-9]+)?\s+/dev/|dd\s+.{0,80}of=/dev/(sd|nvme|disk|hd))`},
		{NetworkAddress, Medium, []string{"http"}, `\bhttps?://(\d{1,3}\.){3}\d{1,3}\b`},
		{NetworkAddress, Medium, []string{"bit.ly", "tinyurl.com", "t.co", "goo.gl", "is.gd", "pastebin.com", "webhook.site", "requestbin.", "ngrok", "transfer.sh"},
			`\b(https?://)?(bit\.ly|tinyurl\.com|t\.co|goo\.gl|is\.gd|pastebin\.com|webhook\.site|requestbin\.[a-z]+|[a-z0-9-]+\.ngrok(-free)?\.(io|app|dev)|transfer\.sh)(/|\s|$)`},
	} {
		out = append(out, compiled{matcher: m, expression: &expression{form: m.form}})
	}
	return out
}

// matcher is what a rule looks for in a line: one of some words, which most files do not contain, and then a form.
type matcher struct {
	rule     Rule
	severity Severity
	words    []string
	form     string
}

type compiled struct {
	matcher
	some       wordSet // its words
	expression *expression
}

// maySee reports whether a text has one of the words in it.
func (m matcher) maySee(text string) bool {
	return slices.ContainsFunc(m.words, func(word string) bool { return strings.Contains(text, word) })
}

// sees reports whether the rule matches a line in lower case.
func (m compiled) sees(line string) bool {
	return m.maySee(line) && m.expression.compiled().MatchString(line)
}

// prose reports whether the rule is about what text asks for, and not about a command.
func (m matcher) prose() bool {
	return m.rule == Override || m.rule == Exfiltration && !slices.Contains(m.words, "curl")
}

// File is a file to scan. Data is its text, or the beginning of it.
type File struct {
	ModuleID string
	Path     string
	Mode     fs.FileMode
	Size     int64
	Data     []byte
}

// Inspect returns the findings of a file, the most severe first. Of a rule, the first few are listed, with the number of the others.
func (i *Inspector) Inspect(f File) []Finding {
	c := collector{Inspector: i, file: f}
	if hidden, is := visible.FindHidden("", f.Path); is {
		c.add(HiddenText, High, 0, "its name: "+hidden.String())
	}
	if name := optionName(f); name != "" {
		c.add(OptionName, Medium, 0, name+" begins with a hyphen, so commands read it as an option")
	}
	if what := program(f); what != "" {
		c.add(Programs, Medium, 0, what)
	}
	switch {
	case !deployment.IsText(f.Data):
		c.add(Unread, Low, 0, fmt.Sprintf("it is not text (%d bytes)", f.Size))
		return c.done()
	case f.Size > int64(len(f.Data)) || len(f.Data) > MaxBytes:
		c.add(Unread, Medium, 0, fmt.Sprintf("it has %d bytes, but only the first %d were checked", f.Size, min(len(f.Data), MaxBytes)))
	}
	data := f.Data[:min(len(f.Data), MaxBytes)]
	text := string(data)
	c.hidden(text)
	c.head(data)
	c.lines(text)
	return c.done()
}

// optionName returns the part of a file's path, or its module's own name, that begins with a hyphen; empty if there is none.
func optionName(f File) string {
	if !strings.HasPrefix(f.Path, "-") && !strings.Contains(f.Path, "/-") && !strings.Contains(f.ModuleID, ":-") {
		return "" // almost all
	}
	_, own, _ := strings.Cut(f.ModuleID, ":")
	for _, name := range append(strings.Split(f.Path, "/"), own) {
		if strings.HasPrefix(name, "-") {
			return short(name)
		}
	}
	return ""
}

// program returns in a few words why an agent would run a file; empty if it would not.
func program(f File) string {
	switch {
	case f.Mode == deployment.ExecutableMode:
		return "it is executable"
	case bytes.HasPrefix(f.Data, []byte("#!")):
		line, _, _ := bytes.Cut(f.Data, []byte("\n"))
		return "it is a script: " + short(string(line))
	case slices.Contains(programs, strings.ToLower(path.Ext(f.Path))):
		return "its name is that of a program"
	}
	return ""
}

// programs are the suffixes of names of programs.
var programs = []string{".sh", ".bash", ".zsh", ".js", ".mjs", ".cjs", ".ts", ".py", ".rb", ".pl", ".ps1", ".bat", ".cmd", ".exe"}

// collector collects the findings of one file.
type collector struct {
	*Inspector
	file     File
	findings []Finding
	more     map[Rule]int
}

func (c *collector) add(rule Rule, severity Severity, line int, text string) {
	same := 0
	for _, f := range c.findings {
		if f.Rule == rule && f.Severity == severity {
			if f.Line == line && line > 0 {
				return
			}
			same++
		}
	}
	if same == maxEach {
		if c.more == nil {
			c.more = map[Rule]int{}
		}
		c.more[rule]++
		return
	}
	c.findings = append(c.findings, Finding{Severity: severity, Rule: rule, ModuleID: c.file.ModuleID, Path: c.file.Path, Line: line, Text: text})
}

func (c *collector) done() []Finding {
	for i := range slices.Backward(c.findings) {
		if n := c.more[c.findings[i].Rule]; n > 0 {
			c.findings[i].Text += fmt.Sprintf(" (and %d more)", n)
			delete(c.more, c.findings[i].Rule)
		}
	}
	Sort(c.findings)
	return c.findings
}

// hidden finds invisible characters. Those that change the reading order, and those that can carry a whole text unseen, are severe.
func (c *collector) hidden(text string) {
	found, is := visible.FindHidden("", text)
	if !is {
		return
	}
	severity, rule := Medium, HiddenText
	at := -1
	for i, r := range text {
		if turns(r) {
			severity, rule, at = High, Bidirectional, i
			break
		}
		if carries(r) && at < 0 {
			severity, at = High, i
		}
	}
	line := 0
	if at >= 0 {
		line = 1 + strings.Count(text[:at], "\n")
	}
	c.add(rule, severity, line, short(found.String()))
}

// turns reports whether a character changes the order in which text is read.
func turns(r rune) bool {
	return r >= '\u202a' && r <= '\u202e' || r >= '\u2066' && r <= '\u2069'
}

// carries reports whether a character is in a range in which a whole text can be written invisibly.
func carries(r rune) bool {
	return r >= '\U000e0000' && r <= '\U000e007f' || r >= '\U000e0100' && r <= '\U000e01ef'
}

// allows are the members of frontmatter that grant permissions in advance; the last two run programs.
var allows = []string{"allowed-tools", "tools", "permissionMode", "permission", "permissions", "hooks", "mcpServers"}

// head finds permissions granted in advance in the frontmatter.
func (c *collector) head(text []byte) {
	if !bytes.HasPrefix(bytes.TrimPrefix(text, []byte("\ufeff")), []byte("---")) || !slices.ContainsFunc(allows, func(name string) bool { return bytes.Contains(text, []byte(name)) }) {
		return // most files have none of it, and parsing YAML is slow
	}
	fields, found, err := c.frontmatter(text)
	if err != nil || !found {
		return
	}
	for _, name := range allows[:len(allows)-2] {
		value, there := fields[name]
		if !there {
			continue
		}
		said := strings.Join(words(value), ", ")
		severity := Low
		for _, one := range words(value) {
			severity = worse(severity, leave(one))
		}
		if name == "tools" && severity == Low {
			continue // a list of tools that restricts an agent
		}
		c.add(AllowedTools, severity, 0, short(name+": "+said))
	}
	for _, name := range allows[len(allows)-2:] {
		if _, there := fields[name]; there {
			c.add(RunsCommands, High, 0, "its frontmatter has "+name+", which run programs")
		}
	}
}

// words returns the texts in a value of frontmatter.
func words(value any) []string {
	switch v := value.(type) {
	case string:
		return split(v)
	case []any:
		var out []string
		for _, one := range v {
			out = append(out, words(one)...)
		}
		return out
	case []string:
		return v
	case map[string]any:
		var out []string
		for name, one := range v {
			for _, word := range words(one) {
				out = append(out, name+"="+word)
			}
		}
		slices.Sort(out)
		return out
	case nil:
		return nil
	}
	return []string{fmt.Sprint(value)}
}

// split divides a list of tools at commas and blanks outside of parentheses.
func split(list string) []string {
	depth := 0
	return strings.FieldsFunc(list, func(r rune) bool {
		switch r {
		case '(':
			depth++
		case ')':
			depth = max(depth-1, 0)
		}
		return depth == 0 && (r == ',' || r == ' ' || r == '\n')
	})
}

// leave returns how much one tool that may be used without asking permits.
func leave(one string) Severity {
	name, bound, bounded := strings.Cut(strings.TrimSpace(one), "(")
	bound = strings.TrimSpace(strings.TrimSuffix(bound, ")"))
	name = strings.ToLower(strings.TrimSpace(name))
	switch {
	case name == "*" || name == "bypasspermissions" || strings.HasSuffix(name, "=allow"):
		return High
	case slices.Contains([]string{"bash", "shell", "powershell", "execute", "terminal"}, name) && (!bounded || bound == "" || bound == "*" || bound == "*:*" || bound == ":*"):
		return High
	case slices.Contains([]string{"webfetch", "websearch", "write", "edit", "multiedit", "notebookedit"}, name), name == "bash", strings.HasPrefix(name, "mcp__"):
		return Medium
	}
	return Low
}

func worse(a, b Severity) Severity {
	if b.rank() < a.rank() {
		return b
	}
	return a
}

// lines finds what is written in lines, each by itself and as the paragraph or the command that they form.
func (c *collector) lines(text string) {
	if runs := c.file.Data; deployment.RunsShell(runs) || bytes.Contains(runs, []byte("!{")) {
		c.add(RunsCommands, Medium, 0, "it runs commands when it is used")
	}
	var urls bool
	c.folded, urls = fold(c.folded[:0], text)
	said := c.vocabulary.in(c.folded)
	var likely []compiled
	for _, m := range c.matchers {
		if m.some&said != 0 {
			likely = append(likely, m)
		}
	}
	if !urls && len(likely) == 0 {
		return
	}
	hosts, first, number := map[string]bool{}, 0, 0
	for original := range strings.Lines(text) {
		number++
		line := asRead(original)
		for _, m := range likely {
			if m.sees(line) {
				c.add(m.rule, m.severity, number, short(original))
			} else if without := bare(line); without != line && m.sees(without) {
				c.add(m.rule, m.severity, number, short(original))
			}
		}
		if !urls || !strings.Contains(line, "://") {
			continue
		}
		for _, m := range c.addresses.compiled().FindAllStringSubmatch(line, -1) {
			if host := hostOf(m[2]); host != "" && !hosts[host] {
				hosts[host] = true
				first = cmp.Or(first, number)
			}
		}
	}
	if len(likely) > 0 {
		c.passages(text, likely)
	}
	if len(hosts) > 0 {
		names := make([]string, 0, len(hosts))
		for host := range hosts {
			names = append(names, visible.OneLine(host))
		}
		slices.Sort(names)
		const most = 10
		list := strings.Join(names[:min(len(names), most)], ", ")
		if more := len(names) - most; more > 0 {
			list += fmt.Sprintf(" and %d more", more)
		}
		c.add(NetworkAddress, Low, first, list)
	}
}

// passages finds what is written across line ends: text in paragraphs, commands that continue in the next line. What was found in one of the lines is
// not reported again.
func (c *collector) passages(text string, likely []compiled) {
	for _, p := range passages(c.file.Path, text) {
		line, starts := p.joined()
		for _, m := range likely {
			if m.prose() != p.prose || !m.maySee(line) {
				continue
			}
			at := m.expression.compiled().FindStringIndex(line)
			if at == nil || c.told(m.rule, p.first, p.first+len(p.lines)-1) {
				continue
			}
			from, _ := slices.BinarySearch(starts, at[0]+1)
			to, _ := slices.BinarySearch(starts, at[1])
			if to-from > 0 { // within one line it was found already
				c.add(m.rule, m.severity, p.first+from-1, short(strings.Join(trimmed(p.lines[from-1:to]), " ")))
			}
		}
	}
}

func trimmed(lines []string) (out []string) {
	for _, line := range lines {
		out = append(out, strings.TrimSpace(line))
	}
	return out
}

// told reports whether a finding of a rule in these lines exists.
func (c *collector) told(rule Rule, first, last int) bool {
	return slices.ContainsFunc(c.findings, func(f Finding) bool { return f.Rule == rule && f.Line >= first && f.Line <= last })
}

// hostOf returns the host between scheme and path of a URL; empty for examples and the machine itself.
func hostOf(authority string) string {
	host := authority[strings.LastIndexByte(authority, '@')+1:]
	if i := strings.LastIndexByte(host, ':'); i >= 0 {
		host = host[:i]
	}
	host = strings.TrimRight(host, ".,;:*_")
	switch {
	case host == "localhost", host == "127.0.0.1", host == "example.com", strings.HasSuffix(host, ".example.com"), host == "example.org", strings.ContainsAny(host, "{}$[]\\"):
		return ""
	}
	return host
}

// short returns a line as it is shown.
func short(line string) string {
	line = visible.OneLine(line)
	if runes := []rune(line); len(runes) > maxText {
		return string(runes[:maxText]) + "…"
	}
	return line
}

// Sort sorts findings for display: the most severe first, then by module, path and line.
func Sort(all []Finding) {
	slices.SortFunc(all, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(a.Severity.rank(), b.Severity.rank()), cmp.Compare(a.ModuleID, b.ModuleID), cmp.Compare(a.Path, b.Path),
			cmp.Compare(a.Line, b.Line), cmp.Compare(a.Rule, b.Rule))
	})
}

// Severe returns the modules with findings of high severity, each once and sorted.
func Severe(all []Finding) []string {
	var out []string
	for _, f := range all {
		if f.Severity == High && !slices.Contains(out, f.ModuleID) {
			out = append(out, f.ModuleID)
		}
	}
	slices.Sort(out)
	return out
}

// Name returns what a user types to accept severe findings: the module's id, or all of them, with commas between.
func Name(all []Finding) string { return strings.Join(Severe(all), ",") }
