package projectfile

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"

	"github.com/countersign-dev/countersign/adapters/yamlcodec"
	"github.com/countersign-dev/countersign/domain/project"
)

// maxSettings bounds a file of settings, in bytes; one that has more is taken for one that cannot be read.
const maxSettings = 256 << 10

// settings are what the directory's own files say to package managers, as far as it decides what they run. A file that is there and cannot
// be read is a setting too: nobody knows what it says.
func (f folder) settings() []project.ManagerSetting {
	var out []project.ManagerSetting
	read := func(name string, parse func([]byte) ([]project.ManagerSetting, error)) {
		data, err := f.read(name, maxSettings)
		if errors.Is(err, fs.ErrNotExist) {
			return
		}
		var found []project.ManagerSetting
		if err == nil {
			found, err = parse(data)
		}
		if err != nil {
			found = []project.ManagerSetting{{File: name, Value: "the file cannot be read, so nobody can say what it sets"}}
		}
		out = append(out, found...)
	}
	for _, name := range []string{project.SettingsINI, project.SettingsYarn, project.SettingsBun} {
		read(name, func(data []byte) ([]project.ManagerSetting, error) { return project.LineSettings(name, data), nil })
	}
	for _, name := range project.SettingsYAML() {
		read(name, func(data []byte) ([]project.ManagerSetting, error) { return documentSettings(name, data) })
	}
	return out
}

// documentSettings are those of a YAML file: its outermost keys.
func documentSettings(name string, data []byte) ([]project.ManagerSetting, error) {
	if len(bytes.TrimSpace(data)) == 0 || !bytes.Contains(data, []byte(":")) {
		return nil, nil
	}
	doc, err := yamlcodec.Parse(data, yamlcodec.Options{MaxBytes: maxSettings})
	if err != nil {
		return nil, err
	}
	var out []project.ManagerSetting
	for _, field := range doc.Fields() {
		if s, yes := project.NewSetting(name, field.Key.Text(), written(field.Value)); yes {
			out = append(out, s)
		}
	}
	return out, nil
}

// written is a value as one text: a scalar as it is, a list or a mapping as JSON.
func written(n yamlcodec.Node) string {
	var value any
	if kind := n.Kind(); kind != yamlcodec.List && kind != yamlcodec.Mapping || n.Load(&value, yamlcodec.Options{MaxBytes: maxSettings}) != nil {
		return n.Text()
	}
	doc, err := json.Marshal(value)
	if err != nil {
		return "…"
	}
	return string(doc)
}
