package ecosystemfile

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/countersign-dev/countersign/adapters/docfile"
	"github.com/countersign-dev/countersign/adapters/yamlcodec"
	"github.com/countersign-dev/countersign/domain/ecosystem"
	"github.com/countersign-dev/countersign/domain/fault"
)

// The file of a workspace root that selects an ecosystem, beside what other programs keep in it (amof contract §2).
const (
	agentFile  = ".amof/agent.yaml"
	agentLock  = ".amof/agent.lock"
	defaultKey = "default_ecosystem"
)

// Default implements ecosystemport.Places. What is no name of an ecosystem selects none.
func (f *PathFinder) Default(ctx context.Context, root string) (string, error) {
	if err := ctx.Err(); err != nil {
		return "", err
	}
	text, err := readAgent(root)
	if err != nil {
		return "", err
	}
	name, _, err := selected(root, text)
	if ecosystem.CheckName(name) != nil {
		name = ""
	}
	return name, err
}

// SetDefault implements ecosystemport.Places. The file is changed in one line; a comment behind the name stays.
func (f *PathFinder) SetDefault(ctx context.Context, root, name string) error {
	if name != "" {
		if err := ecosystem.CheckName(name); err != nil {
			return err
		}
	}
	dir := docfile.NewDir(root)
	lock, err := dir.Lock(ctx, agentLock)
	if err != nil {
		return storedPath(err, dir.File(agentFile))
	}
	defer lock.Retire() //nolint:errcheck // giving it up is all there is to it
	text, err := readAgent(root)
	if err != nil {
		return err
	}
	now, line, err := selected(root, text)
	if err != nil || now == name {
		return err
	}
	changed := edited(text, line, name)
	if after, _, err := selected(root, changed); err != nil || after != name {
		return ecosystem.ErrSettings.WithMessage("%s cannot be edited line by line; add %s: %s by hand", dir.File(agentFile), defaultKey, name)
	}
	return storedPath(dir.Write(agentFile, []byte(changed)), dir.File(agentFile))
}

func storedPath(err error, path string) error {
	if err == nil || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return ecosystem.ErrStorage.WithMessage("%s could not be written; check its permissions and the free disk space", path).WithCause(err)
}

func readAgent(root string) (string, error) {
	text, _, err := docfile.NewDir(root).Read(agentFile, maxSettings)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", ecosystem.ErrSettings.WithMessage("%s cannot be read; repair it, or move it away", filepath.Join(root, agentFile)).WithCause(err)
	}
	return withoutBOM(text), nil
}

// selected returns the name that the file says, and the line that says it, counted from 1; 0 when none does.
func selected(root, text string) (name string, line int, err error) {
	if pathBlank([]byte(text)) {
		return "", 0, nil
	}
	doc, err := yamlcodec.Parse([]byte(text), yamlcodec.Options{})
	if err == nil && doc.Given() && doc.Kind() != yamlcodec.Mapping {
		err = ecosystem.ErrSettings.WithMessage("it is %s where a mapping is expected", doc.Say())
	}
	if err != nil {
		return "", 0, ecosystem.ErrSettings.WithMessage("%s is not valid: %s", filepath.Join(root, agentFile), fault.From(err).Message)
	}
	for _, field := range doc.Fields() {
		if field.Key.Text() == defaultKey {
			if field.Value.Kind() == yamlcodec.Text || field.Value.Kind() == yamlcodec.Number {
				name = field.Value.Text()
			}
			return name, field.Key.Line(), nil
		}
	}
	return "", 0, nil
}

// edited returns the text with that line saying that name: a new line at the end where none says any, and none where no name is to be said.
func edited(text string, line int, name string) string {
	lines := strings.SplitAfter(text, "\n")
	if line == 0 {
		if text != "" && !strings.HasSuffix(text, "\n") {
			text += "\n"
		}
		if strings.TrimSpace(text) == "{}" {
			text = ""
		}
		return text + entry(name) + "\n"
	}
	i := line - 1
	if i >= len(lines) {
		return text
	}
	body := strings.TrimRight(lines[i], "\r\n")
	end := lines[i][len(body):]
	comment := ""
	if at := strings.Index(body, " #"); at >= 0 {
		comment = body[len(strings.TrimRight(body[:at], " ")):]
	}
	switch {
	case name != "":
		lines[i] = entry(name) + comment + end
	case comment != "":
		lines[i] = strings.TrimSpace(comment) + end
	default:
		lines[i] = ""
	}
	return strings.Join(lines, "")
}

// entry returns a line that says the name, in quotes where YAML would take it for something else.
func entry(name string) string {
	text, err := yamlcodec.Encode(yamlcodec.Pairs{{Key: defaultKey, Value: name}})
	if err != nil {
		return "" // never: a name is plain ASCII
	}
	return strings.TrimSuffix(string(text), "\n")
}
