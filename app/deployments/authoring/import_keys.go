package authoring

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/countersign-dev/countersign/domain/deployment"
	"github.com/countersign-dev/countersign/domain/deployment/target"
	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/ports/deployport"
)

// keys finds what modules can be made of in a document of the user's: one per server, or the settings.
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

// document returns a document of the user's, nil if there is none.
func (c *scanner) document(ctx context.Context, p importPlace, name string) (target.Object, deployport.Found, error) {
	entries, err := c.entries(ctx, p.Dir)
	i := slices.IndexFunc(entries, func(e deployport.Found) bool { return e.Name == name && e.Kind == deployment.Regular })
	if err != nil || i < 0 {
		return nil, deployport.Found{Path: c.paths().Join(p.Dir, name)}, err
	}
	e := entries[i]
	if c.leadsOut(ctx, p, e.Path) {
		return nil, e, nil
	}
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
		one.server = server
		off := one.aside != "" || server["disabled"] == true || server["enabled"] == false
		with, refs, err := referring(server, name, e.Path, off)
		if err == nil && len(refs) > 0 && !off { // it will be disabled
			with, refs, err = referring(server, name, e.Path, true)
		}
		if err != nil {
			c.f.leaveKey(e.Path, key, leftSecret)
			continue
		}
		if one.refs = refs; len(refs) > 0 {
			one.aside = asideSecret
		}
		c.keep(one, name, with)
	}
}

// plainly returns a server unchanged, if the neutral description of modules cannot express it exactly.
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

// settings finds what the user has set of an agent's settings.
func (c *scanner) settings(p importPlace, e deployport.Found, doc target.Object) {
	own := target.Object{}
	var path []string
	for _, key := range slices.Sorted(maps.Keys(doc)) {
		switch {
		case key == "$schema":
			c.f.leaveKey(e.Path, key, leftSchema)
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
