package projectfile

import (
	"context"
	"errors"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/countersign-dev/countersign/adapters/yamlcodec"
	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/project"
)

// maxServicesFile is how large a file of services may be, in bytes.
const maxServicesFile = 256 << 10

// serviceFiles returns the names under which services are looked for.
func serviceFiles() []string {
	return []string{"services.yaml", "services.yml", "Procfile.dev", "Procfile"}
}

// Services implements projectport.Directories.
func (d *directories) Services(ctx context.Context, dir, file string) ([]project.Service, string, error) {
	in, err := openTree(ctx, dir)
	if err != nil {
		return nil, "", err
	}
	defer in.Close()
	names := serviceFiles()
	if file != "" {
		names = []string{file}
	}
	for _, name := range names {
		if path.IsAbs(name) || slices.Contains(strings.Split(name, "/"), "..") {
			return nil, "", project.ErrArgument.WithMessage("the file %q is not in the directory", name)
		}
		doc, err := in.read(name, maxServicesFile)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			continue
		case err != nil:
			return nil, "", project.ErrArgument.WithMessage("%s cannot be read: %v", name, reason(err))
		}
		all, err := readServices(name, doc)
		return all, name, err
	}
	if len(names) == 1 {
		return nil, "", project.ErrArgument.WithMessage("%s not found in %s", names[0], dir)
	}
	return nil, "", project.ErrArgument.WithMessage("no services file found in %s; create one of: %s", dir, strings.Join(names, ", "))
}

func readServices(name string, doc []byte) ([]project.Service, error) {
	if ext := path.Ext(name); ext != ".yaml" && ext != ".yml" {
		return project.ParseProcfile(string(doc))
	}
	var file struct {
		Services map[string]project.Service `yaml:"services"`
	}
	if err := yamlcodec.Decode(doc, &file, yamlcodec.Options{KnownFields: true, MaxBytes: maxServicesFile}); err != nil {
		return nil, project.ErrArgument.WithMessage("%s: %s", name, fault.From(err).Message)
	}
	var out []project.Service
	for name, s := range file.Services {
		s.Name = name
		out = append(out, s)
	}
	slices.SortFunc(out, func(a, b project.Service) int { // as they stand in the file
		line := func(name string) int { return yamlcodec.Line(doc, "services."+name) }
		if n := line(a.Name) - line(b.Name); n != 0 {
			return n
		}
		return strings.Compare(a.Name, b.Name)
	})
	return out, nil
}
