package projectfile

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"path/filepath"
	"slices"

	"github.com/countersign-dev/countersign/adapters/yamlcodec"
	"github.com/countersign-dev/countersign/domain/project"
)

// maxSettings bounds a file of settings, in bytes; one that has more is taken for one that cannot be read.
const maxSettings = 256 << 10

// settings returns what the directory's own files say to package managers, as far as it decides what they run. A file that is there and cannot
// be read is a setting too: nobody knows what it says.
func (f folder) settings() []project.ManagerSetting {
	var out []project.ManagerSetting
	for _, name := range append([]string{project.SettingsINI, project.SettingsYarn, project.SettingsBun}, project.SettingsYAML()...) {
		out = append(out, f.settingsIn(name, name)...)
	}
	return out
}

// userSettings returns what the user's own files say to package managers in the same way: they hold for every project. Files are named by their whole path.
func userSettings(v map[string]string) []project.ManagerSetting {
	home := v["HOME"]
	if home == "" {
		return nil // whoever needs one finds none either
	}
	config := v["XDG_CONFIG_HOME"]
	if config == "" {
		config = filepath.Join(home, ".config")
	}
	var out []project.ManagerSetting
	for _, file := range []struct{ dir, name, as string }{{home, project.SettingsINI, project.SettingsINI}, {home, project.SettingsYarn, project.SettingsYarn},
		{home, ".yarnrc.yml", ".yarnrc.yml"}, {home, ".bunfig.toml", project.SettingsBun}, {v["XDG_CONFIG_HOME"], ".bunfig.toml", project.SettingsBun},
		{filepath.Join(config, "pnpm"), "rc", project.SettingsINI}, {filepath.Join(config, "pnpm"), "config.yaml", "pnpm-workspace.yaml"}} {
		in, err := open(file.dir)
		if err != nil {
			continue
		}
		for _, s := range in.settingsIn(file.name, file.as) {
			s.File = filepath.ToSlash(filepath.Join(file.dir, file.name))
			out = append(out, s.OfUser())
		}
		_ = in.Close() // it was only read
	}
	return out
}

// settingsIn returns those of one file, in the form of files of that name.
func (f folder) settingsIn(name, as string) []project.ManagerSetting {
	data, err := f.read(name, maxSettings)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	var found []project.ManagerSetting
	if err == nil && slices.Contains(project.SettingsYAML(), as) {
		found, err = documentSettings(as, data)
	} else if err == nil {
		found = project.LineSettings(as, data)
	}
	if err != nil {
		found = []project.ManagerSetting{{File: name, Value: "the file cannot be read, so its settings are unknown"}}
	}
	return found
}

// documentSettings returns those of a YAML file: its outermost keys.
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

// written returns a value as one text: a scalar as it is, a list or a mapping as JSON.
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
