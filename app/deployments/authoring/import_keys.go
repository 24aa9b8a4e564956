package authoring

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/countersign-dev/countersign/domain/deployment"
	"github.com/countersign-dev/countersign/domain/deployment/target"
	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/redact"
	"github.com/countersign-dev/countersign/ports/deployport"
)

// ImportReference is a secret that stood in a document and that a module refers to instead. Its value is told nowhere.
type ImportReference struct {
	At       string `json:"at"`          // within the server: env.NAME or headers.NAME
	Source   string `json:"source_path"` // the document, which is left as it is
	Variable string `json:"variable"`    // of the environment: what the module refers to
}

// keys finds what modules can be made of in a document that is the person's: a server each, or the settings.
func (c *scanner) keys(ctx context.Context, p importPlace) error {
	doc, e, err := c.document(ctx, p, p.Path)
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil:
		c.f.warnings = append(c.f.warnings, e.Path+" was left out: "+fault.From(err).Message)
	case doc != nil && p.Of == deployment.ModuleSettings:
		c.settings(p, e, doc)
	case doc != nil:
		c.servers(p, e, doc)
	}
	return nil
}

// document is a person's document, nil where there is none.
func (c *scanner) document(ctx context.Context, p importPlace, name string) (target.Object, deployport.Found, error) {
	entries, err := c.entries(ctx, p.Dir)
	i := slices.IndexFunc(entries, func(e deployport.Found) bool { return e.Name == name && e.Kind == deployment.Regular })
	if err != nil || i < 0 {
		return nil, deployport.Found{Path: c.paths().Join(p.Dir, name)}, err
	}
	e := entries[i]
	if doc, ok := c.docs[e.Path]; ok {
		return doc, e, nil
	}
	data, found, err := c.Machine.Read(ctx, e.Path)
	if err != nil || !found {
		return nil, e, err
	}
	root, err := c.Documents.Root(p.Format, data)
	if err != nil {
		return nil, e, err
	}
	doc, err := target.ParseObject(root)
	if err == nil {
		c.docs[e.Path] = doc
	}
	return doc, e, err
}

// servers finds the MCP servers of a document.
func (c *scanner) servers(p importPlace, e deployport.Found, doc target.Object) {
	below := map[string]any(doc)
	for _, key := range p.At {
		below, _ = below[key].(map[string]any)
	}
	for _, name := range slices.Sorted(maps.Keys(below)) {
		path := append(slices.Clone(p.At), name)
		key := strings.Join(path, ".")
		value, ok := below[name].(map[string]any)
		if !ok {
			c.f.leaveKey(e.Path, key, leftForm)
			continue
		}
		one := candidate{Found: e, module: deployment.Module{Type: p.Of, Enabled: true, Scope: scopeOf(p.ActiveRule)}, scope: scopeOf(p.ActiveRule),
			from: []target.ActiveRule{p.ActiveRule}, where: []string{e.Path}, name: name, key: key, path: path}
		server, err := p.Dialect.Described(value)
		if err != nil {
			server, one.aside = plainly(p.Dialect, value), asideChanges
		}
		if server, one.refs, err = referring(server, name, e.Path); err != nil {
			c.f.leaveKey(e.Path, key, leftSecret)
			continue
		}
		if len(one.refs) > 0 {
			one.aside = asideSecret
		}
		c.keep(one, name, server)
	}
}

// plainly is a server as it stands, for one that the words of modules do not describe to the letter.
func plainly(d target.Dialect, value map[string]any) target.Object {
	out := target.Object{}
	for key, v := range value {
		switch key {
		case d.Env:
			key = "env"
		case d.Headers:
			key = "headers"
		case d.URL, d.Events:
			if key != "" {
				key = "url"
			}
		}
		out[key] = v
	}
	delete(out, "type")
	return out
}

// settings finds what a person has set of an agent's settings.
func (c *scanner) settings(p importPlace, e deployport.Found, doc target.Object) {
	own := target.Object{}
	var path []string
	for _, key := range slices.Sorted(maps.Keys(doc)) {
		switch {
		case !target.OwnSetting(p.Agent, key):
		case secretive(key, doc[key]):
			c.f.leaveKey(e.Path, key, leftSecret)
		default:
			own[key], path = doc[key], []string{key}
		}
	}
	if len(own) > 0 {
		c.keep(candidate{Found: e, module: deployment.Module{Type: p.Of, Enabled: true, Scope: scopeOf(p.ActiveRule)}, scope: scopeOf(p.ActiveRule),
			from: []target.ActiveRule{p.ActiveRule}, where: []string{e.Path}, name: p.Agent, path: path}, p.Agent, own)
	}
}

// keep makes a module of an object.
func (c *scanner) keep(one candidate, name string, object target.Object) {
	at := one.Path + "\x00" + string(one.module.Type) + "\x00" + one.key
	text, err := target.EncodeValue(object)
	one.err = err
	one.tree = deployment.Tree{made(name+".json", append(text, '\n'))}
	if i, known := c.at[at]; known {
		if have := &c.out[i]; have.tree.Sum() == one.tree.Sum() {
			have.from, have.where = append(have.from, one.from...), append(have.where, one.where...)
		}
		return
	}
	c.at[at] = len(c.out)
	c.out = append(c.out, one)
}

// private reports the name of a value that its owner would not show.
func private(name string) bool {
	name = strings.ToLower(name)
	return slices.ContainsFunc([]string{"token", "secret", "passw", "apikey", "api_key", "api-key", "private", "credential", "authorization", "cookie"},
		func(word string) bool { return strings.Contains(name, word) }) || strings.HasSuffix(name, "_key") || strings.HasSuffix(name, "_pat") || name == "pat"
}

// literal reports a text that is a secret by what it looks like.
func looksSecret(text string) bool {
	_, n := redact.New(redact.Options{}).Text(text)
	return n > 0
}

// secretive reports a value with a secret in it.
func secretive(name string, value any) bool {
	switch v := value.(type) {
	case string:
		return private(name) && v != "" && !onlyReference(v) || looksSecret(v)
	case []any:
		return slices.ContainsFunc(v, func(one any) bool { return secretive("", one) })
	case map[string]any:
		for key, one := range v {
			if secretive(key, one) {
				return true
			}
		}
	}
	return false
}

// onlyReference reports a text whose secret part is a reference.
func onlyReference(text string) bool { return len(target.References(text)) > 0 && !looksSecret(text) }

// referring is a server with references instead of the secrets in its environment and its headers. It fails where a secret stands anywhere else.
func referring(server target.Object, name, source string) (target.Object, []ImportReference, error) {
	out := maps.Clone(server)
	var refs []ImportReference
	for _, table := range []string{"env", "headers"} {
		values, ok := server[table].(map[string]any)
		if !ok {
			continue
		}
		with := map[string]any{}
		for _, key := range slices.Sorted(maps.Keys(values)) {
			text, is := values[key].(string)
			if with[key] = values[key]; !is || !secretive(key, text) {
				continue
			}
			variable, before := key, ""
			if table == "headers" {
				variable = name + "_" + key
				if scheme, _, ok := strings.Cut(text, " "); ok && strings.EqualFold(key, "Authorization") {
					variable, before = name+"_token", scheme+" "
				}
			}
			variable = variableOf(variable)
			with[key] = before + "${" + variable + "}"
			refs = append(refs, ImportReference{table + "." + key, source, variable})
		}
		out[table] = with
	}
	if secretive("", map[string]any(out)) {
		return nil, nil, deployment.ErrConfig.Sayf("a secret stands where no reference can")
	}
	return out, refs, nil
}

// variableOf is a name as that of a variable.
func variableOf(name string) string {
	var b strings.Builder
	for i, r := range strings.ToUpper(name) {
		switch {
		case r >= 'A' && r <= 'Z' || r == '_' || i > 0 && r >= '0' && r <= '9':
			b.WriteRune(r)
		default:
			b.WriteByte('_')
		}
	}
	return b.String()
}

// longestText is how large a file may be that is looked through for secrets.
const longestText = 1 << 20

// secretless fails where a text of the candidate holds what looks like a secret: what is imported is shared.
func secretless(c *candidate, read func(deployment.Content) ([]byte, error)) error {
	if c.module.Type == deployment.ModuleMCP || c.module.Type == deployment.ModuleSettings {
		return nil // looked through value by value
	}
	for _, f := range c.tree {
		if f.Content.Size > longestText {
			continue
		}
		data, err := read(f.Content)
		if err != nil {
			return err
		}
		if deployment.IsText(data) && looksSecret(string(data)) {
			return deployment.ErrConfig.Sayf("%s holds what looks like a secret; write a reference like ${NAME} instead, and import again", f.Path)
		}
	}
	return nil
}
